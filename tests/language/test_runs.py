"""A long text is read by its runs of instructions, and instructions like those before are checked by what is known of them. Both
give what reading each word and checking each instruction gives: the same tree, the same checked module, the same complaints."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import effort
import pytest
from test_mutations import RICH, STRANGE, TOKENS
from verdicts import HEADER, body

from ptxspec.language import parser
from ptxspec.language.check import check
from ptxspec.language.diagnostics import PtxError
from ptxspec.language.known_shapes import KnownInstructions
from ptxspec.language.operand_templates import _NAME, _NUMBER
from ptxspec.language.parser import parse
from ptxspec.language.runs import Unfit, _Parts
from ptxspec.language.syntax import syntax
from ptxspec.language.tree import Instruction
from ptxspec_workshop.generate.fuzzing.random_module import RandomModule

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from changes import KINDS, mutated
from seeds import modules

#: a text is read by its words alone if it is shorter than this
WORDS, RUNS = 1 << 60, 0


@contextmanager
def way(patch: pytest.MonkeyPatch, length: int) -> Iterator[None]:
    """Read texts of this length by their runs, and check instructions by what is known; others not."""
    with patch.context() as context:
        context.setattr(parser, "LONG", length)
        if length == WORDS:
            context.setattr(KnownInstructions, "find", lambda *_: None)
        yield


def exact(value: Any) -> Any:
    """A value with the classes of its parts: tuples of two classes may be equal."""
    if isinstance(value, tuple | list):
        return type(value).__name__, [exact(v) for v in value]
    if isinstance(value, dict):
        return {k: exact(v) for k, v in value.items()}
    if isinstance(value, int):
        return type(value).__name__, int(value), getattr(value, "text", "")
    return value


def checked(text: str) -> Any:
    """What checking gives, as values that can be compared."""
    module = check(text)
    return [
        (
            kernel.name,
            kernel.registers,
            kernel.places,
            kernel.labels,
            kernel.sizes,
            kernel.gaps,
            [
                (
                    op.plan.form,
                    op.plan.parts,
                    id(op.plan.meaning),
                    exact(op[1:4]),
                    exact(op.call and op.call[2:]),
                    op[5:],
                )
                for op in kernel.code
            ],
        )
        for kernel in (*module.kernels.values(), *module.functions.values())
    ] + [module.places, module.sizes, module.used, module.address_size]


def outcome(act: Callable[[str], Any], text: str) -> Any:
    """What comes of a text: a value, or everything that is said of it."""
    try:
        return act(text)
    except PtxError as error:
        return error.as_dict()


def agree(patch: pytest.MonkeyPatch, text: str) -> Any:
    """AssertionError if both ways differ; what comes of checking."""
    with way(patch, WORDS):
        tree, module = outcome(lambda t: exact(parse(t)), text), outcome(checked, text)
    with way(patch, RUNS):
        assert outcome(lambda t: exact(parse(t)), text) == tree
        assert outcome(checked, text) == module
    return module


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", sorted(modules()))
def test_what_nvcc_prints(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = modules()[name]
    agree(monkeypatch, text)
    runs = syntax().runs.split(text).runs.values()
    in_runs = sum(isinstance(item, Instruction) for run in runs for item in run)
    written = sum(isinstance(item, Instruction) for f in parse(text).functions for item in f.body or ())
    assert in_runs <= written and (in_runs >= 0.9 * written or "call" in text)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.slow
def test_what_went_wrong(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accidents that happen to modules, most of which make errors of syntax or of other rules."""
    source = random.Random(part)
    names = sorted(name for name, text in modules().items() if len(text) < 9000)
    wrong = 0
    for _ in range(60):
        text = mutated(source.choice([*KINDS]), modules()[source.choice(names)], source)
        wrong += text is not None and isinstance(agree(monkeypatch, text), dict)
    assert wrong >= 15


@pytest.mark.parametrize("part", range(4))
@pytest.mark.slow
def test_strange_words(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word more, fewer or another, anywhere in a text that has all there is."""
    source = random.Random(part)
    words = TOKENS.findall(re.sub(r"# 5.*\n", "", RICH))
    wrong = 0
    for _ in range(150):
        changed = list(words)
        at = source.randrange(len(changed))
        changed[at : at + source.randrange(2)] = source.choice([[], [source.choice(STRANGE)], [source.choice(words)]])
        wrong += isinstance(agree(monkeypatch, "".join(changed)), dict)
    assert wrong >= 50


@pytest.mark.parametrize("seed", range(12))
def test_random_modules(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not isinstance(agree(monkeypatch, RandomModule(seed).text()), dict)


@pytest.mark.parametrize(
    "text",
    [
        body("mov.u32 %r1, %r2}{;\nmov.u32 %r1, {%r2;\nmov.b64 %rd1, {%r1, %r2}};\nmov.b64 %rd1, {{%r1, %r2};"),
        body("add.u32 %r1, , %r2;\nadd.u32 %r1, %r2,;\nadd.u32 %r1 %r2, %r3;\n@ mov.u32 %r1, 1;\n@!!%p1 bra L;\nL: ret;"),
        body("add .u32 %r1, %r2, %r3;\nadd.u32 .sat %r1, %r2, %r3;\nadd.u32%r1, %r2, 1;\nbra L;\nL:\nL:\nret;"),
        body("mov.u32 %r1, [%r2;\nld.global.u32 %r1, [%rd1+];\nld.global.u32 %r1, [%rd1+-8];\nmov.u32 %r1, 1 + 2;"),
        body("mov.u32 %r1, 0x1f; mov.u32 %r1, 31; mov.u32 %r1, 037; mov.u32 %r1, 08; mov.u32 %r1, 99999999999999999999;"),
        body("ret; // a comment; ret;\n/* ret; */ ret;\nmov.u32 %r1, /* ; */ 1;\nmov.u32 // ;\n %r1, 1;"),
        body("WARP_SZ: ret;\n_: ret;\na%b: ret;\n.x: ret;\n1: ret;\nL: .branchtargets L;\nM: // a\n .branchtargets M;"),
        body(".reg .u32 x;\n{ mov.u32 x, 1; .reg .f32 x; mov.f32 x, 1.0; }\nmov.u32 x, 1;\nx: mov.u32 x, 2;"),
        body(".reg .u32 y<3>;\n{ mov.u32 y1, 1;\ny1: mov.u32 y1, 2; bra y1; }\nmov.u32 y1, y3;\n@y1 ret;"),
        ".version 2.3\n.target sm_20\n.reg .u32 r;\n.entry k() { .reg .u32 x; mov.u32 x, 1; mov.u32 r, 1; mov.u32 q, 1; mov.u32 q, x; }\n"
        ".reg .u32 q;\n.entry l() { mov.u32 q, r; exit; }",
        # variables: those of the module and of a function, before and behind their declarations, hidden, in frames and in banks
        HEADER + ".shared .f32 s[4];\n.entry k(.param .u32 s, .param .u64 p) { .reg .f32 x; .reg .u32 r; ld.shared.f32 x, [s];"
        "ld.param.u32 r, [s]; ld.param.u32 r, [p+4]; { .shared .f32 s; ld.shared.f32 x, [s]; st.shared.f32 [s], x; }"
        "@!x ld.param.u32 r, [p]; st.param.u32 [p], r; ld.shared.f32 x, [t]; }\n.shared .f32 t;\n.entry l() { .reg .f32 x;"
        "ld.shared.f32 x, [t]; ld.shared.f32 x, [s]; ld.global.f32 x, [t]; }",
        HEADER + ".func (.param .u32 o) f(.param .u32 i) { .reg .u32 r; .reg .pred p; ld.param.u32 r, [i]; st.param.u32 [o], r;"
        "ld.param.u32 r, [o]; st.param.u32 [i], r; ret; }\n.entry k(.param .u32 a) { .reg .u32 r; .reg .pred p; ld.param.u32 r, [a];"
        "{ .param .u32 g; .param .u32 t; st.param.u32 [g], r; @p st.param.u32 [g], r; call (t), f, (g); ld.param.u32 r, [t];"
        "@p ld.param.u32 r, [t]; @p ld.param.u32 r, [a]; st.param.u32 [a], r; ld.param::func.u32 r, [a]; ld.param::entry.u32 r, [t]; } }",
        HEADER + ".const .f32 c = {1.0};\n.global .attribute(.managed) .u32 m;\n.entry k() { .reg .u32 r; .reg .f32 x; .reg .v2 .f32 v;"
        "ld.const.f32 x, [c]; ld.const.f32 x, [c+4]; ld.global.u32 r, [m]; ld.global.u32 r, [m].unified; ld.global.u32 r, [m];"
        "red.global.add.u32 [m], r; red.global.add.u32 [m], 1; st.global.v2.f32 [m], v; st.global.v2.u32 [m], {r, r}; }",
        HEADER + ".global .u32 x = 1 ? 2 : y;\n.global .u32 z[2] = {1, x };\nret;\n.entry k() { ret; }\nret;",
        HEADER + ".reg .u32 r;\n.entry k() { mov.u32 r, 1; }\n.func f() { mov.u32 q, 1; ret; }\n.reg .u32 q;",
        HEADER + ".func f() { ret; }\n.entry k() { .reg .u64 a; mov.u64 a, f; mov.u64 a, f; call f; mov.u64 a, k; ret; }",
    ],
)  # fmt: skip
def test_what_is_near_a_run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(monkeypatch, text)
    agree(monkeypatch, text)  # with what is known of the first time


def test_what_breaks_a_rule_breaks_it_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the instruction has its form nevertheless."""
    wrong = "st.param.u32 [p], r;\n"
    text = f"{HEADER}.entry k(.param .u32 p) {{\n.reg .u32 r;\n{wrong * 3}}}\n"
    for _ in range(2):
        assert len(agree(monkeypatch, text)["diagnostics"]) == 3


def parts() -> Any:
    """What reads the parts of statements of a new text."""
    made = syntax().runs
    return made, _Parts(made)


def test_an_operand_of_a_template_is_what_the_parser_makes_of_its_words() -> None:
    """Of every template that the corpus has, with other names and numbers, some of them twice."""
    for text in modules().values():
        syntax().runs.split(text)
    runs, reader = parts()
    source, alike = random.Random(1), 0
    for template, make in list(runs.templates._known.items()):
        for _ in range(20):
            names = source.choices(["%r1", "x", "_x", "$L__BB0_1", "%rd12345", "a$b", "WARP", "add", "%p"], k=3)
            numbers = [str(source.choice([1, 2, 4, 255, source.randrange(1, 10**9)])) for _ in range(2)]
            choices = {_NAME: names, _NUMBER: numbers, None: ["%tid.x", "0x1f", "WARP_SZ", "1.5", "generic", "_"]}
            words = [part if isinstance(part, str) else source.choice(choices[part]) for part in template]
            if make is not None:
                assert exact(make(words)) == exact(reader._operand(words)), words
                alike += 1
    assert alike >= 200


@pytest.mark.parametrize(
    "operand",
    ["-~-~-~-~-{}", "~{}", "!{}", "(.s64) {}", "-{}", "{} ? {} : {}", "{} + {}", "0{}", "{}U", "[%rd1+-{}]", "[%rd1+{} * 2]",
     "[{}]", "{{1, {}}}", "x+{}", "x[{}]", "x[%r1+{}]", "[x, {{{}, %r1}}]", "WARP_SZ", "%r{}|%r1", "!%r{}", "-%r{}.b0"],
)  # fmt: skip
def test_what_depends_on_a_number_in_any_way_is_read_as_by_the_parser(operand: str) -> None:
    runs, reader = parts()
    for number in (2, 3, 1, 10**9 - 1, 10**9, 1 << 63, 1 << 64, 0, 7, 8):
        text = operand.replace("{}", str(number)).replace("{{", "{").replace("}}", "}")
        parsed = reader._operand(runs.lexicon.words(text))
        try:
            read = reader.read("operand", text)
        except Unfit:
            read = None
        assert exact(read) == exact(parsed), text


@pytest.mark.parametrize(
    "piece", ["x:", "x::", "{a ", "a {", "a [", "a:\n", "; a ", "a a,", ";", "@a ", "a // ;\n", "/* a", "a.a:"]
)
def test_hostile_texts_take_no_longer_than_they_are(piece: str) -> None:
    def take(count: int) -> float:
        return effort.seconds(lambda: syntax().runs.split(piece * count))

    effort.grows_in_proportion(take, 4000, most=6.5)
