"""Litmus tests as they are written: what is read, what is refused and at which line, and that nothing else is an answer."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

import ptxspec
from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.shapes import shapes
from ptxspec.query.outcomes import Unsupported

MP = """PTX MP
"a message (in quotes, // no comment)"
(* a comment *)
{ x = 0; flag = 0; P1:r1 = 7; }
 P0@cta 0,gpu 0       | P1@cta 1,gpu 0          ;
 st.weak x, 1         | ld.acquire.gpu r0, flag ; // a comment
 st.release.gpu flag, 1 | ld.weak r1, x         ;
exists (P1:r0 == 1 /\\ P1:r1 == 0)
"""


def with_cells(
    *cells: str, memory: str = "x = 0; y = 0;", condition: str = "exists (x == 0)", place: str = "cta 0,gpu 0"
) -> str:
    rows = "\n".join(f"{cell} ;" for cell in cells)
    return f"PTX t\n{{ {memory} }}\nP0@{place} ;\n{rows}\n{condition}\n"


def test_the_parts_of_a_test() -> None:
    test = read(MP, "mp.litmus")
    assert test.name == "MP" and test.quantifier == "exists" and len(test.places) == 2
    assert list(test.variables) == ["x", "flag"] and test.registers == {(1, "r1"): 7}
    assert [cell.text for cell in test.columns[1]] == ["ld.acquire.gpu r0, flag", "ld.weak r1, x"]
    assert [cell.line for cell in test.columns[0]] == [6, 7]
    assert test.places[0].cta != test.places[1].cta and test.places[0].gpu == test.places[1].gpu


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("exists (x == 1 /\\ P0:r0 == 1)", True),
        ("exists (x = 1 && 0:r0 = 1)", True),
        ("exists (x == 2 \\/ P0:r0 > 0)", True),
        ("exists (x == 2 || x < 1)", False),
        ("~exists (~(x == 1))", True),
        ("exists (not x == 1)", False),
        ("forall (x == 1 /\\ (P0:r0 == 1 \\/ P0:r0 == 0x5))", True),
        ("forall (x >= 1)", True),
        ("forall (x <= 0)", False),
        ("~ exists (P0:r9 != 0)", True),
        ("locations [x; 0:r0]\nexists (1 == 1)", True),
    ],
)
def test_conditions(condition: str, holds: bool) -> None:
    text = with_cells("st.weak x, 1", "ld.weak r0, x", condition=condition)
    assert ptxspec.litmus(text).holds is holds
    assert ptxspec.litmus(text, by="solver").holds is holds


@pytest.mark.parametrize(
    ("cells", "register"),
    [
        (["ld r0, 5"], 5),
        (["mov r0, 5"], 5),
        (["ld r0, 5", "add r1, r0, 2", "sub r0, r1, 1"], 6),
        (["ld r0, 6", "mul r0, r0, 7", "div r0, r0, 2"], 21),
        (["ld r0, 6", "and r1, r0, 3", "or r2, r1, 8", "xor r0, r2, 1"], 11),
        (["mov.u32 r0, 3", "mad.lo.u32 r0, r0, r0, 1"], 10),
        (["st.weak x, 9", "ld.weak r0, x"], 9),
        (["st.global.u32 [x], 9", "ld.global.u32 r0, [x]"], 9),
        (["st.volatile x, 9", "ld.volatile r0, x"], 9),
        (["st.mmio.sys x, 9", "ld.mmio.sys r0, x"], 9),
        (["st.weak x, 9", "atom.relaxed.gpu.add r0, x, 1"], 9),
        (["atom.relaxed.gpu.sub r1, x, 1", "ld.weak r0, x"], 0xFFFFFFFF),
        (["atom.relaxed.gpu.inc r1, x, 9", "red.relaxed.gpu.max x, 7", "ld.weak r0, x"], 7),
        (["atom.relaxed.gpu.cas r1, x, 0, 3", "atom.relaxed.gpu.exch r0, x, 4"], 3),
        (["red.acq_rel.sys.add x, 2", "ld.weak r0, x"], 2),
        (["goto END", "ld r0, 1", "END:"], 0),
        (["ld r0, 1", "beq r0, 1, END", "ld r0, 2", "END:"], 1),
        (["LOOP: add r0, r0, 1", "blt r0, 3, LOOP"], 3),
        (["setp.eq.u32 p, r0, 0", "@p mov.u32 r0, 8"], 8),
        (["setp.eq.u32 p|q, r0, 1", "@q st.weak x, 5", "ld.weak r0, x"], 5),
        (["mov.u64 d0, y", "st.global.u32 [d0], 4", "ld.weak r0, y"], 4),
        (["st.weak.global.v2.u32 [pair], {1, 2}", "ld.weak.global.u32 r0, [pair+4]"], 2),
        (["st.shared.u32 [s], 6", "ld.relaxed.cta r0, s"], 6),
        (["st.weak.global.u16 [x+2], 1", "ld.weak r0, x"], 0x10000),
    ],
)
def test_what_a_thread_computes(cells: list[str], register: int) -> None:
    text = with_cells(
        *cells, memory="x = 0; y = 0; .b64 pair = 0; .shared .b32 s = 0;", condition=f"forall (P0:r0 == {register:#x})"
    )
    assert ptxspec.litmus(text, loops=5).holds, text
    assert ptxspec.litmus(text, loops=5, by="solver").holds, text


def test_an_address_that_is_read() -> None:
    """The address depends on a value: each location that it may be is looked at."""
    text = """PTX pointer
    { .b64 p = 0; x = 3; y = 4; }
    P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
    mov.u64 d0, y  | ld.relaxed.gpu.global.u64 d1, [p] ;
    st.relaxed.gpu.global.u64 [p], d0 | setp.eq.u64 q, d1, 0 ;
     | @q bra END ;
     | ld.global.u32 r0, [d1] ;
     | END: ;
    exists (P1:r0 == 4)"""
    assert ptxspec.litmus(text).holds and ptxspec.litmus(text, by="solver").holds
    assert not ptxspec.litmus(text.replace("r0 == 4", "r0 == 3")).holds


def test_what_is_not_declared_is_zero() -> None:
    text = "PTX t { x = 0; } P0@cta 0,gpu 0 ; ld.weak r0, z ; exists (P0:r0 == 0)"
    verdict = ptxspec.litmus(text)
    assert verdict.holds and verdict.notes == ("z is not declared: it holds 0 at first",)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "begins with PTX"),
        ("C t\n{}", 1, "begins with PTX"),
        ("PTX t\n\nP0@cta 0 ;", 3, "expected {"),
        ("PTX t\n{ x = 0;", 2, "expected }"),
        ("PTX t\n{ x = 0;\n x = 1; }", 3, "declared twice"),
        ("PTX t\n{ x = zero; }", 2, "no integer"),
        ("PTX t\n{ x = 0x100000000; }", 2, "does not fit"),
        ("PTX t\n{ .b256 x = 0; }", 2, "8, 16, 32, 64 or 128 bits"),
        ("PTX t\n{ .local .b32 x = 0; }", 2, r"\.global or \.shared"),
        ("PTX t\n{ s @ surface aliases x; }", 2, "not declared before s"),
        ("PTX t\n{ x = 0; s @ async aliases x; }", 2, "no proxy of a variable"),
        ("PTX t\n{ x : 0; }", 2, "expected x = 0"),
        ("PTX t\n{ x = 0; }\nP1@cta 0,gpu 0 ;", 3, "expected P0@"),
        ("PTX t\n{ x = 0; }\nP0@gpu 0 ;", 3, "in which CTA"),
        ("PTX t\n{ x = 0; }\nP0@cta 0,cta 1 ;", 3, "each with a number"),
        ("PTX t\n{ x = 0; }\nP0@cta 0,cluster 0 | P1@cta 1 ;", 3, "either all threads are in clusters"),
        ("PTX t\n{ x = 0; }\nP0@cta 0 ;\n st.weak x, 1 | st.weak x, 2 ;\nexists (x == 1)", 4, "a row of 2 cells"),
        ("PTX t\n{ .shared .b32 s = 0; }\nP0@cta 0 | P1@cta 1 ;\nexists (s == 1)", 4, "another variable in each CTA"),
        ("PTX t\n{ .shared mbarrier b = 0; }", 2, "expects 1 to 2"),
        ("PTX t\n{ .shared latch b = 1; }", 2, "latch is no object: mbarrier"),
        (with_cells("st.weak x, 1", condition=""), 6, "expected exists"),
        (with_cells("st.weak x, 1").replace("1 ;", "1"), 4, "expected ;"),
        (with_cells("st.weak x, 1", condition="exists (x == )"), 5, r"\) is no variable|expected a condition"),
        (with_cells("st.weak x, 1", condition="exists (x + 1)"), 5, "expected a condition|expected =="),
        (with_cells("st.weak x, 1", condition="exists (x == 1"), 5, "expected a condition"),
        (with_cells("st.weak x, 1", condition="exists (x == 1) x"), 5, "nothing behind"),
        (with_cells("st.weak x, 1", condition="exists (z == 1)"), 5, "z is no variable"),
        (with_cells("st.weak x, 1", condition="exists (P3:r0 == 1)"), 5, "no thread P3"),
        (with_cells("st.weak x, 1", condition="sometimes (x == 1)"), 5, "expected ;|expected exists"),
        (with_cells("ld.weak r0, x", "st.release x, 1"), 5, "st.release"),
        (with_cells("mov r0"), 4, "mov"),
        (with_cells("frobnicate r0, x"), 4, "frobnicate"),
        (with_cells("suld.weak r0, x"), 4, "whose proxy is generic"),
        (with_cells("bne r0, 1"), 4, "two values and a label"),
        (with_cells("atom.relaxed.gpu.add x, 1"), 4, "too few operands"),
        (with_cells("atom.relaxed.gpu.sub r0, x, r1"), 4, "has to be a number"),
        (with_cells("goto NOWHERE"), 4, "NOWHERE"),
        ("PTX t { x = 0; P4:r0 = 1; } P0@cta 0 ; st.weak x, 1 ; exists (x == 1)", 1, "P4 has an initial register"),
        ("PTX " + "x" * 200_000, 1, "100,000 are the most"),
        (with_cells("st.weak x, 1", condition="exists " + "(" * 500 + "x == 1"), 5, "parentheses"),
    ],
)
def test_what_is_wrong_is_said(text: str, line: int, message: str) -> None:
    with pytest.raises(ptxspec.LitmusError, match=message) as caught:
        ptxspec.litmus(text, path="t.litmus")
    assert caught.value.line == line and str(caught.value).startswith(f"t.litmus:{line}: ")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["mov.u32 r0, %tid.x"], "tid"),
        (["shfl.sync.bfly.b32 r0, r1, 1, 31, -1"], "does more than"),
        (["ld.weak.global.u32 r0, [x+64]"], "no variable"),
        (["bar.sync 0, 3", "bar.sync 0, 2"], "agree on how many"),
        (["bar.sync 0, 0"], "multiple of the warp size"),
        (["bar.arrive 0, 2", "bar.arrive 0, 2"], "arrives again without having waited"),
        (["div.u32 r0, 1, 0", "st.weak x, r0", "ld.weak r1, x"], "leaves open"),
    ],
)
def test_what_is_not_followed_is_named(cells: list[str], message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        ptxspec.litmus(with_cells(*cells, condition="exists (x == 1)"))


def test_loops_are_taken_so_often() -> None:
    text = with_cells("LOOP: add r0, r0, 1", "blt r0, 4, LOOP", condition="exists (P0:r0 == 4)")
    assert ptxspec.litmus(text, loops=3).holds and not ptxspec.litmus(text, loops=2).holds
    assert ptxspec.litmus(text, loops=2).notes[0] == "loops are taken at most 2 times"
    for loops in (-1, 101, 1.5):
        with pytest.raises(ValueError, match="0 to 100"):
            ptxspec.litmus(text, loops=loops)  # type: ignore[arg-type]


def test_a_barrier_that_never_completes() -> None:
    text = """PTX stuck { x = 0; }
    P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;
    bar.sync 0, 2  | st.weak x, 1 ;
    exists (x == 1)"""
    verdict = ptxspec.litmus(text)
    assert verdict.status == "forbidden" and "threads may wait at a barrier that never completes" in verdict.notes


def test_barriers_that_wait_for_each_other() -> None:
    text = """PTX crossed { x = 0; }
    P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;
    bar.sync 0     | bar.sync FIRST ;
    bar.sync 1     | bar.sync SECOND ;
    st.weak x, 1   | ;
    exists (x == 1)"""
    assert ptxspec.litmus(text.replace("FIRST", "0").replace("SECOND", "1")).status == "allowed"
    crossed = text.replace("FIRST", "1").replace("SECOND", "0")
    for by in ("enumeration", "solver"):
        verdict = ptxspec.litmus(crossed, by=by)
        assert verdict.status == "forbidden"
    assert "threads may wait at a barrier that never completes" in ptxspec.litmus(crossed).notes


def test_reasons_are_a_cycle_in_words() -> None:
    verdict = ptxspec.litmus(MP)
    (reason,) = verdict.reasons
    assert (reason.axiom, reason.executions) == ("Causality", 1)
    assert reason.steps == (
        "P1.2 reads what P0.1 overwrites",
        "  P1.2 reads from (x = 0)",
        "  (x = 0) precedes P0.1 in coherence order",
        "P0.1 precedes P1.2 in causality order",
        "  P0.1 precedes P0.2 in program order",
        "  P0.2 synchronizes with P1.1",
        "  P1.1 precedes P1.2 in program order",
    )


def test_the_witness_is_an_execution() -> None:
    verdict = ptxspec.litmus(MP.replace("acquire", "relaxed"))
    witness = verdict.witness
    assert verdict.status == "allowed" and verdict.holds and witness is not None
    assert witness.final == {"P1:r0": 1, "P1:r1": 0}
    assert witness.reads_from == {"P1.1": "P0.2", "P1.2": "(x = 0)"}
    assert [(o.reads, o.writes) for o in witness.operations] == [(None, 1), (None, 1), (1, None), (0, None)]
    picture = witness.svg()
    assert picture.count("<path") >= 4 and "ld.relaxed.gpu" in picture


def test_twelve_events_in_four_threads_take_little(tmp_path: Path) -> None:
    cells = ["st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1 | ld.relaxed.gpu r0, x | ld.relaxed.gpu r0, y",
             "fence.sc.gpu | fence.sc.gpu | fence.sc.gpu | fence.sc.gpu",
             "ld.relaxed.gpu r1, y | ld.relaxed.gpu r1, x | ld.relaxed.gpu r1, y | ld.relaxed.gpu r1, x"]  # fmt: skip
    places = " | ".join(f"P{i}@cta {i},gpu 0" for i in range(4))
    rows = "\n".join(f"{row} ;" for row in cells)
    condition = "exists (P2:r0 == 1 /\\ P2:r1 == 0 /\\ P3:r0 == 1 /\\ P3:r1 == 0)"
    verdict = ptxspec.litmus(f"PTX big {{ x = 0; y = 0; }}\n{places} ;\n{rows}\n{condition}")
    assert verdict.status == "forbidden" and verdict.seconds < 5


# texts that are damaged -----------------------------------------------------------------------------------------------

PIECES = [
    "(",
    ")",
    "{",
    "}",
    ";",
    "|",
    "@",
    ":",
    "exists",
    "P0",
    "P9:r0",
    "0",
    "-1",
    "\x00",
    "é",
    '"',
    "(*",
    "//",
    "[x]",
    "goto",
    ",",
    ".",
]


def damaged(seed: int) -> str:
    source = random.Random(f"damaged {seed}")
    cases = [case for shape in shapes().values() for case in shape.cases]
    text = source.choice(cases).text
    for _ in range(source.randrange(1, 4)):
        at, length = source.randrange(len(text) + 1), source.randrange(0, 6)
        text = text[:at] + source.choice(["", source.choice(PIECES), text[at : at + 3] * 2]) + text[at + length :]
    return text


def answered(seed: int) -> bool:
    """Whether a damaged text is still a test; what is wrong with others is said."""
    try:
        ptxspec.litmus(damaged(seed), path="t")
    except ptxspec.LitmusError as error:
        assert error.message and error.line >= 1
        return False
    except Unsupported as error:
        assert str(error)
        return False
    return True


@pytest.mark.slow
def test_damaged_texts_are_refused_or_decided() -> None:
    assert 20 < sum(map(answered, range(300))) < 280


@pytest.mark.slow
def test_many_damaged_texts() -> None:
    assert sum(map(answered, range(1000, 6000))) > 250


# time -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("by", ["enumeration", "solver"])
def test_time_is_limited(by: ptxspec.LitmusMethod) -> None:
    """A test with more executions than anybody looks at."""
    places = " | ".join(f"P{i}@cta {i},gpu 0" for i in range(8))
    row = " | ".join(f"atom.relaxed.gpu.add r{{}}, x, {i + 1}" for i in range(8))
    rows = "\n".join(f"{row.replace('{}', str(k))} ;" for k in range(4))
    text = f"PTX many {{ x = 0; }}\n{places} ;\n{rows}\nexists (x == 77777)"
    began = time.monotonic()
    verdict = ptxspec.litmus(text, by=by, timeout=1.0)
    assert (verdict.status, verdict.holds) == ("unknown", None) and verdict.notes
    assert time.monotonic() - began < 20


def test_paths_are_limited() -> None:
    cells = [f"ld.relaxed.gpu r{i}, x; bne r{i}, {i}, L{i}; st.relaxed.gpu x, {i}; L{i}:" for i in range(12)]
    rows = [part.strip() for cell in cells for part in cell.split(";")]
    with pytest.raises(Unsupported, match=r"more than (1,000 paths|60 operations)"):
        ptxspec.litmus(with_cells(*rows))


def test_numbers_of_a_condition() -> None:
    text = "PTX t\n{ x = 0; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == VALUE)"
    assert {ptxspec.litmus(text.replace("VALUE", number)).status for number in ("1", "01", "0x1")} == {"allowed"}
