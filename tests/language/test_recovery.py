"""Many errors in one run: each is told of once, at its place, and none hides another."""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from pathlib import Path

import effort
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_mutations import RICH, check
from verdicts import HEADER, REGISTERS, body, complaints

import ptxspec
from ptxspec.language.diagnostics import MOST_ERRORS
from ptxspec.language.parser import parse
from ptxspec.language.syntax import syntax

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from mutants import modules


def marked(text: str) -> list[tuple[int, int]]:
    """The (line, column) of each mark."""
    places, plain = [], ""
    for piece in text.split("¦")[:-1]:
        plain += piece
        places.append((plain.count("\n") + 1, len(plain) - plain.rfind("\n")))
    return places


@pytest.mark.parametrize(
    "text",
    [
        # in instructions: the checker goes on
        body("mov.u32 %r1 ¦5;\nadd.u32 %r1, ¦;\nadd.u32 %r1, ¦%x, 1;\nbra ¦L;"),
        body("mov.u32 %r1, 1\n¦mov.u32 %r2, 2\n¦mov.u32 %r3, ¦%f1;"),
        body("ld.global.u32 %r1, [%rd1¦;\nld.global.u32 %r1, ¦%rd1;"),
        body("st.global.v2.u32 [%rd1], {%r1, ¦[;\nmov.u32 %r1, ¦`;\nmov.u32 %r1, ¦%f1;"),
        body("mov.u32 %r1, 1¦@;\n{ mov.u32 ¦, 1;\n{ ¦frob; } }\nmov.u32 ¦%f1, 1;"),
        # in declarations: what the checker says would follow from what is missing
        body(".reg .u32 ¦;\nmov.u32 ¦, x;\nmov.u32 y, 1;"),
        HEADER + ".global .u32 x ¦1;\n.global .u32 y[¦;\n.entry k() { ret ¦}\n.entry ¦5() { ret; }\n",
        HEADER + ".entry a() { ¦.frob; }\n.entry b() { ret; \n.global .u32 x = ¦;¦" ,
        HEADER + ".global .u32 x[2] = {1 ¦2};\n.section .a { .b8 1¦; }\n.global .u32 y ¦2;\n",
        HEADER + ".func f(.param .u32 ¦);\n.func (¦;\n.entry k(.param .b8 x[¦]) { mov.u32 %r1, 1 2; }\n.pragma ¦1;",
        HEADER + ".entry k() { ret;\n¦.entry l() { ret ¦}\n",
    ],
)  # fmt: skip
def test_each_error_is_told_of_once(text: str) -> None:
    found = complaints(text.replace("¦", ""))
    assert [(d.line, d.column) for d in found] == marked(text), [str(d) for d in found]
    for one in found:
        assert one.page is not None or "declared" in one.message or "no instruction" in one.message


def test_a_complaint_of_the_grammar_names_the_page_of_the_rule() -> None:
    pages = {d.page for d in complaints(body("mov.u32 5 5;\n.reg .u32 ;\n.loc 1 ;\nld.global.u32 %r1, [;"))}
    assert pages == {f"spec/syntax/{name}.md" for name in ("statements", "declarations", "debugging", "operands")}


def test_there_are_not_too_many() -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(body("mov.u32 , ;\n" * 5000))
    assert len(caught.value.diagnostics) == MOST_ERRORS and caught.value.more == 4900
    assert str(caught.value).endswith("\n\nand 4,900 more") and caught.value.as_dict()["more"] == 4900


@pytest.mark.parametrize("name", sorted(modules())[::11])
def test_errors_in_what_nvcc_prints(name: str) -> None:
    """Where a semicolon is missing, that is said on the line of the next word, and nothing else is."""
    text = modules()[name]
    rng = random.Random(name)
    lines = text.split("\n")
    places = [
        i
        for i, line in enumerate(lines)
        if line.startswith("\t") and line.endswith(";") and "%" in line and "\t." not in line
    ]
    chosen = sorted(rng.sample(places, min(3, len(places))))
    chosen = [i for k, i in enumerate(chosen) if k == 0 or i > chosen[k - 1] + 1]
    for i in chosen:
        lines[i] = lines[i][:-1]
    with pytest.raises(ptxspec.PtxError) as caught:
        parse("\n".join(lines))
    expected = []
    for i in chosen:
        after = i + 1
        while not lines[after].strip() or lines[after].strip().startswith("//"):
            after += 1
        expected.append(after + 1)
    found = [d.line for d in caught.value.diagnostics]
    assert found == expected


WORDS = [*sorted(set(syntax().lexicon.split(RICH).words) - {""}), "/*", '"', "#", "\n", "`", "é", "0x", "[", "("]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from(["", HEADER, HEADER + ".entry k() {\n"]))
def test_words_in_any_order(words: list[str], before: str) -> None:
    check(before + " ".join(words))


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_pieces_of_modules(data: st.DataObject) -> None:
    """Parts cut out of what nvcc printed, put together anew."""
    names = sorted(modules())
    parts = []
    for _ in range(data.draw(st.integers(1, 4))):
        text = modules()[data.draw(st.sampled_from(names))]
        begin = data.draw(st.integers(0, len(text)))
        parts.append(text[begin : begin + data.draw(st.integers(0, 2000))])
    check(data.draw(st.sampled_from(["", HEADER])) + "".join(parts))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["", HEADER, HEADER + ".entry k() { mov.u32 x, "]))
@pytest.mark.slow
def test_any_text(text: str, before: str) -> None:
    check(before + text)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "unit",
    [
        "mov.u32 ;",
        ".entry k( ",
        "} ",
        "{ ",
        ".reg ",
        "[ { ( ",
        '"',
        "/* ",
        "@ ",
        ".global .u32 x = { ",
        "# \n",
        "ret ",
        "` ",
    ],
)
@pytest.mark.slow
def test_memory_and_time(unit: str) -> None:
    """Of 20,000 errors: no more than for so much text without."""
    text = HEADER + ".entry k() {\n" + unit * 20_000
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150_000_000
    effort.check(time.process_time() - began, 40_000)
    assert len(caught.value.diagnostics) <= MOST_ERRORS


def test_declarations_that_hold_are_known() -> None:
    """After an error in an instruction, registers declared later are still known."""
    text = f"{HEADER}.entry k() {{\n{REGISTERS}\nmov.u32 %r1 1;\n.reg .u32 late;\nmov.u32 late, 1;\n}}"
    assert len(complaints(text)) == 1
