"""Instructions that PTX has and no page describes: told apart from mistakes, and refused when an entry that comes to them is launched."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from verdicts import complaints

import ptxspec
from ptxspec import contracts
from ptxspec.base.places import DOCUMENTS
from ptxspec.language.check import check
from ptxspec.language.forms import opcodes
from ptxspec.language.gaps import coverage

HERE = Path(__file__).parent
REGISTERS = (
    ".reg .pred %p<9>; .reg .b8 %c<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<40>; .reg .f64 %fd<16>;"
    " .reg .b128 %q<4>;"
)
#: (a target, an instruction) for each gap
EXAMPLES = [
    tuple(line.split(" ", 1))
    for line in (HERE / "what_no_page_describes.txt").read_text().splitlines()
    if not line.startswith("#")
]


def module(target: str, instruction: str, version: str = "9.5") -> str:
    registers = REGISTERS.replace(".b128", ".b128" if version >= "8.3" else ".b64")
    head = f".version {version}\n.target {target}\n.address_size 64\n"
    return f"{head}.visible .entry k()\n{{\n{registers}\n{instruction}\nret;\n}}\n.visible .entry other() {{ ret; }}\n"


@pytest.mark.parametrize(("target", "instruction"), EXAMPLES, ids=[i.split(" ")[0].rstrip(";") for _, i in EXAMPLES])
def test_a_module_with_a_gap_loads(target: str, instruction: str) -> None:
    loaded = ptxspec.load(module(target, instruction), "k.ptx")
    assert loaded.launch("other").steps == 1
    with pytest.raises(ptxspec.GapError) as caught:
        loaded.launch("k")
    (one,) = caught.value.diagnostics
    assert (one.path, one.line, one.column, one.page) == ("k.ptx", 7, 1, "spec/gaps.md")
    assert one.source == instruction and one.message.endswith("), but no page describes it")
    assert instruction.startswith(one.message.split(" is PTX (")[0])


@pytest.mark.parametrize(("target", "instruction"), EXAMPLES, ids=[i.split(" ")[0].rstrip(";") for _, i in EXAMPLES])
def test_ptxas_takes_it(target: str, instruction: str, newest_assembler: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(module(target, instruction))
    command = [newest_assembler, f"-arch={target}", "-O0", str(path), "-o", str(tmp_path / "k.cubin")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert not run.returncode, run.stdout + run.stderr


def test_every_family_has_an_example() -> None:
    page = contracts.gaps
    seen = {page.family_of(instruction.split(" ")[0].rstrip(";")) for _, instruction in EXAMPLES}
    twins = {  # one of two of which the other has an example
        "tcgen05.wait::st", "tcgen05.fence::after_thread_sync",
    }  # fmt: skip
    assert set(page.FAMILIES) - seen <= twins


def test_every_further_form_has_an_example() -> None:
    page = contracts.gaps
    used = [instruction.split(" ")[0].split(".") for _, instruction in EXAMPLES]
    for opcode, forms in page.FORMS.items():
        for more in forms:
            assert any(
                words[0] == opcode and any(set(m.split(".")) <= set(words) for m in more.marks) for words in used
            ), (opcode, more.what)


#: what a page says of something that it leaves out
LEFT_OUT = re.compile(r"\b(?:not\s+describe|not\s+described|no\s+page\s+describes|this\s+page\s+does\s+not)\b")
PAGES = sorted({*DOCUMENTS.glob("spec/**/*.md")} - {*DOCUMENTS.glob("spec/*.md")})


def paragraphs(page: Path) -> list[str]:
    """The prose of a page."""
    return re.split(r"\n\s*\n", re.sub(r"^(`{3,}).*?^\1`*$", "", page.read_text(), flags=re.M | re.S))


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(DOCUMENTS)) for p in PAGES])
def test_what_a_page_leaves_out_is_a_gap(page: Path) -> None:
    """A page that says so names the list of gaps, and that has what the page names; what is left out never stops a module."""
    listed = contracts.gaps
    opcode = page.stem.split(".")[0]
    for paragraph in filter(LEFT_OUT.search, paragraphs(page)):
        assert "gaps.md)" in paragraph, paragraph
        named = set(re.findall(r"`\.([\w:]+)`", paragraph))
        families = [f for name, f in listed.FAMILIES.items() if name.split(".")[0] == opcode]
        marks = [{w for mark in more.marks for w in mark.split(".")} for more in listed.FORMS.get(opcode, ())]
        assert families or named, paragraph
        assert families or named in marks, paragraph


def test_a_page_tells_of_the_further_forms_of_its_opcode() -> None:
    for opcode, forms in contracts.gaps.FORMS.items():
        pages = [p for p in PAGES if p.stem.split(".")[0] == opcode and p.parts[-3] == "instructions"]
        told = {
            w for p in pages for one in paragraphs(p) if "gaps.md)" in one for w in re.findall(r"`\.([\w:]+)`", one)
        }
        for more in forms:
            assert {word for mark in more.marks for word in mark.split(".")} <= told, (opcode, more.what)


@pytest.mark.parametrize(
    ("version", "target", "instruction", "message"),
    [
        ("9.5", "sm_100a", "tcgen05.wait::ld.sync.alinged;", "tcgen05.wait::ld has no .alinged; did you mean .aligned"),
        ("9.5", "sm_90", "cp.asinc.bulk.commit_group;", "there is no cp.asinc.bulk.commit_group; did you mean .async for .asinc?"),
        ("8.5", "sm_80", "tcgen05.wait::ld.sync.aligned;", "tcgen05.wait::ld.sync.aligned needs PTX ISA 8.6; the module says 8.5"),
        ("8.6", "sm_80", "st.bulk.weak.shared::cta [%rd0], %rd1, 0;", "st.bulk.weak.shared::cta needs target sm_100; the module says sm_80"),
        ("9.5", "sm_90", "wgma.fence.sync.aligned;", "wgma is no instruction of PTX; did you mean wgmma?"),
        ("9.5", "sm_100a", "cvt.rn.satfinite.e2m1x2.f23 %c0, %f0, %f1;", "there is no cvt.rn.satfinite.e2m1x2.f23"),
        ("8.5", "sm_90", "st.bulk.weak.shared::cta [%rd0], %rd1, 0;", "needs PTX ISA 8.6"),
        ("9.5", "sm_90", "st.bulk.weak.shared::cta [%rd0], %rd1, 0;", "needs target sm_100"),
        ("9.5", "sm_100", "st.bulk.weak.shared::cta [%unheard], %rd1, 0;", "%unheard is not declared"),
        ("9.5", "sm_100", "@%unheard st.bulk.weak.shared::cta [%rd0], %rd1, 0;", "the guard %unheard is not declared"),
    ],
)  # fmt: skip
def test_a_mistake_is_no_gap(version: str, target: str, instruction: str, message: str) -> None:
    found = complaints(module(target, instruction, version))
    assert message in found[0].message


CALLED = """.version 8.6
.target sm_100a
.address_size 64
.func inner() { tcgen05.fence::before_thread_sync; ret; }
.func middle() { call inner; ret; }
.func spare() { tcgen05.fence::before_thread_sync; tcgen05.wait::ld.sync.aligned; ret; }
.global .u64 pointer[1] = { spare };
.visible .entry direct() { call middle; ret; }
.visible .entry indirect() {
.reg .b64 f;
ld.global.u64 f, [pointer];
p: .callprototype _ ();
call f, p;
ret;
}
.visible .entry without() { ret; }
"""


def test_gaps_of_called_functions_count() -> None:
    loaded = ptxspec.load(CALLED, "k.ptx")
    assert loaded.launch("without").steps == 1
    for entry, lines in ("direct", [4]), ("indirect", [6, 6]):
        for engine in ("native", "exact"):
            with pytest.raises(ptxspec.GapError) as caught:
                loaded.launch(entry, engine=engine)
            assert [d.line for d in caught.value.diagnostics] == lines


def test_gaps_of_linked_modules_are_shown_in_their_own_text() -> None:
    library = CALLED.replace(".func inner", ".visible .func inner").replace(".visible .entry without() { ret; }\n", "")
    main = ".version 8.6 .target sm_100a .address_size 64\n.extern .func inner();\n.visible .entry k() { call inner; ret; }\n"
    loaded = ptxspec.link([main, library], ["main.ptx", "library.ptx"])
    with pytest.raises(ptxspec.GapError) as caught:
        loaded.launch("k")
    (one,) = caught.value.diagnostics
    assert (one.path, one.line, one.column) == ("library.ptx", 4, 26)
    assert one.source.startswith(".visible .func inner")


def test_arrays_are_as_they_were_and_arguments_are_not_looked_at() -> None:
    loaded = ptxspec.load(CALLED)
    values = np.arange(4)
    with pytest.raises(ptxspec.PtxError):
        loaded.launch("direct", args=[values])
    assert values.tolist() == [0, 1, 2, 3]


def test_the_checker_counts_them_as_instructions() -> None:
    checked = check(CALLED)
    assert checked.functions["spare"].written == 3 and len(checked.functions["spare"].gaps) == 2


def test_a_question_about_one_says_so() -> None:
    with pytest.raises(ptxspec.PtxError, match=r"tcgen05\.fence::before_thread_sync is PTX"):
        ptxspec.evaluate("tcgen05.fence::before_thread_sync;")
    with pytest.raises(ptxspec.PtxError, match=r"is PTX .*no page describes it"):
        ptxspec.prove("set.lt.u8x4 d, a, b;", "set.lt.u8x4 d, b, a;")


def test_an_opcode_with_families_among_the_gaps_is_described_in_part() -> None:
    found = coverage()
    assert (
        "cp" in found.in_part
        and "set" in found.in_part
        and "bfe" in found.wholly
        and "wgmma" in found.wholly
        and "tcgen05" in found.not_at_all
        and "multimem" in found.in_part
    )
    parts = found.wholly, found.in_part, found.not_at_all
    assert sorted(name for part in parts for name in part) == sorted(opcodes())
    assert found.families == len(contracts.gaps.FAMILIES)


def test_every_opcode_is_in_the_list() -> None:
    known = opcodes()
    assert known["add"] and known["ld"] and known["wgmma"] and known["multimem"] and not known["tcgen05"]
    assert {i.split(" ")[0].split(".")[0].rstrip(";") for _, i in EXAMPLES} <= set(known)
