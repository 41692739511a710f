"""What a kernel reads before it writes it: whatever the allowing side needs, and anything on the side that is to refine it."""

from __future__ import annotations

from typing import Any

import pytest

import ptxspec
from ptxspec.query.paths import replaying

HEAD = ".version 8.0 .target sm_80 .address_size 64 "


def returns(body: str, declared: str = "") -> str:
    """A function of two numbers, whose result is d."""
    return f"{HEAD}.visible .func (.reg .u32 d) f(.reg .u32 a, .reg .u32 b) {{ .reg .u32 x, y; .reg .pred p; {declared} {body} ret; }}"


def stores(body: str, declared: str = "") -> str:
    """An entry that stores d."""
    return (
        f"{HEAD}.visible .entry k(.param .u64 o, .param .u32 n) {{ .reg .b64 q; .reg .u32 a, d, x, y, w<2>; .reg .pred p; {declared}"
        f" ld.param.u64 q, [o]; ld.param.u32 a, [n]; {body} st.global.u32 [q], d; }}"
    )


def refines(left: str, right: str, **options: Any) -> ptxspec.Verdict:
    return ptxspec.prove(left, right, relation="refines", **options)


#: (what is allowed, what is done, whether that is allowed)
CLAIMS: list[tuple[str, str, bool]] = [
    ("mov.u32 d, x;", "mov.u32 d, 7;", True),
    ("mov.u32 d, 7;", "mov.u32 d, x;", False),
    ("mov.u32 d, x;", "mov.u32 d, a;", True),
    ("mov.u32 d, x;", "mov.u32 d, y;", True),
    ("mov.u32 d, x;", "mov.u32 d, x;", True),
    ("add.u32 d, x, a;", "mov.u32 d, 0;", True),
    ("mul.lo.u32 d, x, 3;", "mul.lo.u32 d, a, 3;", True),
    ("and.b32 d, x, 15;", "mov.u32 d, 16;", False),
    ("and.b32 d, x, 15;", "and.b32 d, y, 7;", True),
    ("and.b32 d, x, 7;", "and.b32 d, y, 15;", False),
    # one execution finds the same each time it reads
    ("sub.u32 d, x, x;", "mov.u32 d, 0;", True),
    ("sub.u32 d, x, x;", "mov.u32 d, 1;", False),
    ("sub.u32 d, x, y;", "mov.u32 d, 1;", True),
    # predicates, and what is left as it was
    ("selp.u32 d, 1, 2, p;", "mov.u32 d, 2;", True),
    ("selp.u32 d, 1, 2, p;", "mov.u32 d, 3;", False),
    ("mov.u32 d, 2;", "selp.u32 d, 1, 2, p;", False),
    ("setp.eq.u32 p, a, 0; @p mov.u32 d, 5;", "mov.u32 d, 5;", True),
    ("mov.u32 d, 5;", "setp.eq.u32 p, a, 0; @p mov.u32 d, 5;", False),
    # where to go
    ("@p bra L; mov.u32 d, 1; ret; L: mov.u32 d, 2;", "mov.u32 d, 2;", True),
    ("@p bra L; mov.u32 d, 1; ret; L: mov.u32 d, 2;", "mov.u32 d, 3;", False),
    # a trap may be chosen, and excuses the other side
    ("@p trap; mov.u32 d, 1;", "mov.u32 d, 3;", True),
    ("mov.u32 d, 1;", "@p trap; mov.u32 d, 1;", False),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "holds"), CLAIMS)
def test_registers_of_a_function(left: str, right: str, holds: bool) -> None:
    verdict = refines(returns(left), returns(right))
    assert verdict.status == ("proved" if holds else "refuted"), verdict


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("left", "right", "holds"),
    [
        ("mov.u32 d, x;", "mov.u32 d, 7;", True),
        ("mov.u32 d, 7;", "mov.u32 d, x;", False),
        ("mov.u32 d, w0;", "add.u32 d, a, 1;", True),
        ("add.u32 d, a, 1;", "add.u32 d, w1, 1;", False),
        ("ld.shared.u32 d, [s];", "mov.u32 d, a;", True),
        ("mov.u32 d, a;", "ld.shared.u32 d, [s];", False),
        ("st.shared.u32 [s], 5; ld.shared.u32 d, [s];", "mov.u32 d, 6;", False),
        ("ld.local.u32 d, [t+4];", "ld.shared.u32 d, [s];", True),
    ],
)
def test_registers_and_memory_of_an_entry(left: str, right: str, holds: bool) -> None:
    declared = ".shared .align 4 .b8 s[8]; .local .align 4 .b8 t[8];"
    verdict = refines(stores(left, declared), stores(right, declared), buffers={"o": 4})
    assert verdict.status == ("proved" if holds else "refuted"), verdict


def test_the_counterexample_names_the_register_and_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    launch = replaying.run
    monkeypatch.setattr(replaying, "run", lambda *asked: ran.append(launch(*asked)) or ran[-1])
    verdict = refines(stores("mov.u32 d, 7;"), stores("and.b32 d, x, 0xff;"), buffers={"o": 4}, contract="none")
    found = verdict.counterexample
    assert found is not None and "x" not in found.inputs
    assert len(ran) == 2
    (choice,) = (c for c in found.choices if c.entry == "unwritten")
    assert choice.operation == "x" and choice.bits & 0xFF != 7
    assert ran[1].results["o[0]"] == choice.bits & 0xFF


def test_a_choice_may_lead_where_nothing_was_followed() -> None:
    """The left side may count to any number: it is followed to 16, which refutes nothing."""
    counts = "mov.u32 d, 0; L: add.u32 d, d, 1; setp.lt.u32 p, d, x; @p bra L;"
    verdict = refines(returns(counts), returns("mov.u32 d, 100;"))
    assert verdict.status == "unknown" and "beyond 16 iterations" in verdict.reason, verdict
    # within the bound its choices are known
    within = refines(returns("and.b32 x, x, 7; " + counts), returns("mov.u32 d, 100;"))
    assert within.status == "refuted"
    assert refines(returns("and.b32 x, x, 7; " + counts), returns("mov.u32 d, 5;")).status == "proved"


def test_equal_sides_find_the_same_under_one_name() -> None:
    same = ptxspec.prove(returns("add.u32 d, x, x;"), returns("shl.b32 d, x, 1;"))
    assert same.status == "proved"
    assert (
        "Read before it is written: x. It holds any value, the same on both sides under one name."
        in same.statement.notes
    )
    other = ptxspec.prove(returns("mov.u32 d, x;"), returns("mov.u32 d, y;"))
    assert other.status == "refuted"
    assert ptxspec.prove(returns("mov.u32 d, x;"), returns("mov.u32 d, 7;")).status == "refuted"


def test_the_statement_says_who_finds_what() -> None:
    notes = refines(returns("add.u32 d, x, y;"), returns("mov.u32 d, y;")).statement.notes
    assert "Read by the left side before it is written: x, y. There it finds what it needs." in notes
    assert "Read by the right side before it is written: y. There it finds any value." in notes
    notes = refines(returns("mov.u32 d, a;"), returns("mov.u32 d, a;")).statement.notes
    assert not any("before it is written" in note for note in notes)


@pytest.mark.parametrize(
    ("body", "read"),
    [
        # behind a guard that leaves early, and where two ways meet
        ("setp.gt.u32 p, a, b; @p bra D; add.u32 x, a, 1; add.u32 d, x, b; bra E; D: mov.u32 d, 0; E:", ""),
        ("setp.gt.u32 p, a, b; mov.u32 d, 0; @p bra D; add.u32 x, a, 1; mul.lo.u32 y, x, x; add.u32 d, y, b; D:", ""),
        ("setp.gt.u32 p, a, b; mov.u32 d, 0; @p bra D; add.u32 x, a, 1; D: add.u32 d, d, x;", "x"),
        # under one guard, or one condition
        ("setp.gt.u32 p, a, b; @p add.u32 x, a, 1; mov.u32 d, 0; @p add.u32 d, x, 1;", ""),
        ("setp.gt.u32 p, a, b; @p add.u32 x, a, 1; mov.u32 d, 0; @!p add.u32 d, x, 1;", "x"),
        ("setp.gt.u32 p, a, b; @p add.u32 x, a, 1; mov.u32 d, 0; @!p bra E; add.u32 d, x, 1; E:", ""),
        ("setp.gt.u32 p, a, b; @p bra A; mov.u32 x, 1; bra B; A: mov.u32 x, 2; B: mov.u32 d, x;", ""),
        ("setp.gt.u32 p, a, b; @p bra A; mov.u32 x, 1; A: mov.u32 d, x;", "x"),
        # of no effect, and read all the same; written before; in a loop
        ("xor.b32 d, x, x;", "x"),
        ("mov.u32 x, 1; mov.u32 d, x;", ""),
        ("mov.u32 d, 0; L: add.u32 d, d, x; add.u32 x, a, 1; setp.lt.u32 p, d, 3; @p bra L;", "x"),
        ("mov.u32 d, 0; L: add.u32 x, a, 1; add.u32 d, d, x; setp.lt.u32 p, d, 3; @p bra L;", ""),
        # predicates, results that some path leaves alone, and calls
        ("setp.gt.u32 r, a, b; mov.u32 d, 0; @r bra D; setp.eq.u32 p, a, b; @p mov.u32 d, 1; D:", ""),
        ("selp.u32 d, a, b, p;", "p"),
        ("setp.gt.u32 p, a, b; @p mov.u32 d, a;", "d"),
    ],
)
def test_what_is_read_is_decided_on_each_path(body: str, read: str) -> None:
    text = returns(body, ".reg .pred r;")
    equal, other = ptxspec.prove(text, text + " "), refines(text, text + " ")
    assert equal.statement is not None and other.statement is not None
    assert set(equal.statement.inputs) - {"a", "b"} == ({read} if read else set())
    said = [n for n in equal.statement.notes if n.startswith("Read before")]
    assert said == [
        f"Read before it is written: {read}. It holds any value, the same on both sides under one name."
    ] * bool(read)
    assert any("before it is written" in n for n in other.statement.notes) == bool(read)
    if not read:
        assert equal.status == "proved" or "iterations" in equal.reason
        assert not any("unwritten" in n for n in other.statement.notes)


def test_memory_is_read_where_a_load_finds_it() -> None:
    declared = ".shared .align 4 .b8 s[8];"
    for body, read in (
        ("setp.gt.u32 p, a, 7; @p st.shared.u32 [s], a; mov.u32 d, 0; @p ld.shared.u32 d, [s];", None),
        ("setp.gt.u32 p, a, 7; @p st.shared.u32 [s], a; mov.u32 d, 0; ld.shared.u32 d, [s];", "s[0..3]"),
        ("st.shared.u16 [s], 1; ld.shared.u32 d, [s];", "s[2..3]"),
        ("st.shared.u32 [s+4], 1; ld.shared.u32 d, [s+4];", None),
    ):
        text = stores(body, declared)
        statement = ptxspec.prove(text, text + " ", buffers={"o": 4}).statement
        assert statement is not None
        said = [n for n in statement.notes if n.startswith("Read before")]
        assert [n.partition(". ")[0] for n in said] == [f"Read before it is written: {read}"] * bool(read), (body, said)


def test_a_counterexample_shows_what_is_read_alone() -> None:
    text = returns("setp.gt.u32 p, a, b; mov.u32 d, 0; @p bra D; add.u32 x, a, 1; add.u32 d, x, b; D:")
    verdict = ptxspec.prove(text, text.replace("a, 1", "a, 2"))
    assert verdict.status == "refuted" and verdict.counterexample is not None
    assert verdict.counterexample.inputs.keys() == {"a", "b"}


def test_statements_name_bytes_and_lanes_by_ranges_and_are_short_where_they_are_shown() -> None:
    verdict = ptxspec.prove("add.u32 d, a, b;", "add.u32 d, b, a;", warp=True)
    assert verdict.statement is not None
    claim = "For all values of a[0..31] (.u32) and b[0..31] (.u32), both sides leave the same in d[0..31] (.u32)."
    assert verdict.statement.words()[0] == claim
    sums = "".join(f"add.u32 d{i}, a{i}, b{i};" for i in range(20))
    statement = ptxspec.prove(sums, sums + "add.u32 x, d1, d2;").statement
    assert statement is not None
    assert "a19 (.u32)" in statement.words()[0] and "20 more" not in statement.words()[0]
    claim = statement.words(8)[0]
    assert "b3 (.u32) and 32 more, both sides" in claim and claim.endswith("d7 (.u32) and 12 more.")
    body = "".join(f"add.u32 d, d, x{i};" for i in range(20))
    text = returns("mov.u32 d, 0;" + body, ".reg .u32 x<20>;")
    statement = ptxspec.prove(text, text + " ").statement
    assert statement is not None
    (note,) = [n for n in statement.words(8) if n.startswith("Read before")]
    expected = ", ".join(f"x{i}" for i in range(8))
    said = "It holds any value, the same on both sides under one name."
    assert note == f"Read before it is written: {expected} and 12 more. {said}"


def test_names_of_a_fragment_are_inputs_of_both_sides() -> None:
    """A fragment declares nothing, so that nothing tells an input from a register that nobody wrote."""
    for text in ("mov.u32 d, x;", "bra L; L: mov.u32 d, x;"):
        assert refines(text, "mov.u32 d, 7;").status == "refuted"
        assert refines(text, "mov.u32 d, x;").status == "proved"


def test_lanes_have_registers_of_their_own() -> None:
    left, right = "mov.u32 d, x;", "mov.u32 d, %tid.x;"
    head = ".reg .b64 at;"
    body = "mov.u32 y, %tid.x; mad.wide.u32 q, y, 4, q;"
    texts = [stores(f"{body} {one}", head) for one in (left, right)]
    assert refines(*texts, buffers={"o": 128}, warp=True).status == "proved"
    assert refines(*texts[::-1], buffers={"o": 128}, warp=True).status == "refuted"
