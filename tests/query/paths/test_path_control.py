"""Branches, several exits, loops, invariants, functions: what is the same on every path, and what is not."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.query import questions
from ptxspec.query.solvers import SolverAnswer

HEAD = ".version 8.0 .target sm_80 .address_size 64 "
SMALLER = "setp.lt.s32 p, a, b; @p bra L; mov.u32 d, b; bra E; L: mov.u32 d, a; E:"
SWITCH = """t: .branchtargets A, B, C;
    brx.idx i, t;
    A: mov.u32 d, 1; exit;
    B: mov.u32 d, 2; ret;
    C: mov.u32 d, 3;"""
SUM = """mov.u32 s, 0;
L:  add.u32 s, s, n;
    sub.u32 n, n, 1;
    setp.ne.u32 q, n, 0;
    @q bra L;"""
TRIPLE = """mov.u32 s, 0; mov.u32 i, 0;
L:  setp.ge.u32 q, i, n;
    @q bra E;
    add.u32 s, s, 3;
    add.u32 i, i, 1;
    bra L;
E:"""
CHAIN = "add.cc.u32 x, a, c; @p bra L; addc.u32 y, b, e; bra X; L: addc.u32 y, e, b; X: mov.b64 d, {x, y};"
SQUARES = (
    HEAD
    + """
.func (.reg .u32 r) square(.reg .u32 x) { mul.lo.u32 r, x, x; ret; }
.visible .func (.reg .u32 d) f(.reg .u32 a, .reg .u32 b)
{ .reg .u32 t, u; call (t), square, (a); call (u), square, (b); sub.u32 d, t, u; ret; }"""
)
PRODUCT = (
    HEAD
    + """
.visible .func (.reg .u32 d) g(.reg .u32 a, .reg .u32 b)
{ .reg .u32 t, u; add.u32 t, a, b; sub.u32 u, a, b; mul.lo.u32 d, t, u; ret; }"""
)
FACTORIAL = (
    HEAD
    + """
.func (.reg .u32 r) factorial(.reg .u32 x)
{ .reg .pred p; .reg .u32 t;
  setp.le.u32 p, x, 1; mov.u32 r, 1; @p ret;
  sub.u32 t, x, 1; call (t), factorial, (t); mul.lo.u32 r, x, t; ret; }
.visible .func (.reg .u32 d) f(.reg .u32 a) { call (d), factorial, (a); ret; }"""
)


ALLOCATES = (
    HEAD
    + """.extern .func (.param .b64 r) malloc(.param .b64 n);
.visible .func f(.reg .b64 d) { .param .b64 n; .param .b64 r; call (r), malloc, (n); ret; }"""
)


def gives(number: int) -> str:
    return HEAD + f".visible .func (.reg .u32 d) f(.reg .u32 a) {{ mov.u32 d, {number}; ret; }}"


@pytest.mark.parametrize(
    ("left", "right", "assume"),
    [
        (SMALLER, "min.s32 d, a, b;", None),
        (SMALLER, "setp.lt.s32 p, a, b; selp.b32 d, a, b, p;", None),
        ("@p bra L; mov.u32 d, 1; ret; L: mov.u32 d, 2;", "selp.b32 d, 2, 1, p;", None),
        ("@!p exit; mov.u32 d, 1;", "@p mov.u32 d, 1;", None),
        (SWITCH, "add.u32 d, i, 1;", "i < 3"),
        (SUM, "add.u32 t, n, 1; mul.lo.u32 s, n, t; shr.u32 s, s, 1;", "n > 0 and n < 10"),
        (CHAIN, "mov.b64 k, {a, b}; mov.b64 l, {c, e}; add.u64 d, k, l;", None),
        ("mov.b64 d, {a, b}; mov.b64 {x, y}, d;", "mov.u32 x, a; mov.u32 y, b;", None),
        (FACTORIAL, gives(24), "a == 4"),
        ("{ .reg .u32 t; add.u32 t, a, a; mov.u32 d, t; }", "shl.b32 d, a, 1;", None),
    ],
)
def test_the_same_on_every_path(left: str, right: str, assume: str | None) -> None:
    verdict = ptxspec.prove(left, right, assume=assume)
    assert verdict.status == "proved", verdict


@pytest.mark.parametrize(
    ("left", "right", "assume"),
    [
        (SMALLER, "max.s32 d, a, b;", None),
        (SMALLER, "min.u32 d, a, b;", None),
        ("@p bra L; mov.u32 d, 1; ret; L: mov.u32 d, 2;", "selp.b32 d, 1, 2, p;", None),
        (SWITCH, "add.u32 d, i, 2;", "i < 3"),
        (SUM, "add.u32 t, n, 1; mul.lo.u32 s, n, t; shr.u32 s, s, 2;", "n > 0"),
        (CHAIN, "mov.b64 k, {a, b}; mov.b64 l, {c, e}; sub.u64 d, k, l;", None),
        (SQUARES, PRODUCT.replace("add.u32 t", "sub.u32 t"), None),
        (FACTORIAL, gives(23), "a == 4"),
    ],
)
def test_a_path_on_which_they_differ(left: str, right: str, assume: str | None) -> None:
    verdict = ptxspec.prove(left, right, assume=assume)
    assert verdict.status == "refuted" and verdict.counterexample is not None, verdict
    assert verdict.counterexample.differing


def test_squares_as_a_product() -> None:
    verdict = ptxspec.prove(SQUARES.replace("32", "16"), PRODUCT.replace("32", "16"))
    assert verdict.status == "proved", verdict


def test_a_counterexample_shows_the_steps_of_its_path() -> None:
    found = ptxspec.prove(SMALLER, "max.s32 d, a, b;", assume="a == 1 and b == 2").counterexample
    assert found is not None
    assert [s.instruction for s in found.left] == ["setp.lt.s32 p, a, b;", "bra L;", "mov.u32 d, a;"]


def test_an_index_beyond_its_list_is_undefined() -> None:
    verdict = ptxspec.prove(SWITCH, "add.u32 d, i, 1;")
    assert verdict.status == "refuted" and "the left side is undefined" in verdict.reason
    assert verdict.counterexample is not None and verdict.counterexample.inputs["i"] >= 3
    assert ptxspec.prove(SWITCH, SWITCH).status == "proved"


# loops -----------------------------------------------------------------------------------------------------------------


def test_nothing_is_said_beyond_the_bound() -> None:
    short = "add.u32 t, n, 1; mul.lo.u32 s, n, t; shr.u32 s, s, 1;"
    verdict = ptxspec.prove(SUM, short, assume="n > 0 and n < 100")
    assert verdict.status == "unknown"
    assert verdict.reason == "unknown beyond 16 iterations of the loop at line 2, on the left side"
    assert ptxspec.prove(SUM, short, assume="n > 0 and n < 24", unroll=24).status == "proved"
    assert ptxspec.prove(SUM, short, assume="n > 0 and n < 24", unroll=3).status == "unknown"


def test_loops_in_loops_and_a_loop_without_end() -> None:
    nest = """mov.u32 d, 0; mov.u32 i, 0;
    A: mov.u32 j, 0;
    B: add.u32 d, d, a; add.u32 j, j, 1; setp.lt.u32 p, j, 3; @p bra B;
    add.u32 i, i, 1; setp.lt.u32 p, i, 4; @p bra A;"""
    assert ptxspec.prove(nest, "mul.lo.u32 d, a, 12;", unroll=4).status == "proved"
    assert ptxspec.prove(nest, "mul.lo.u32 d, a, 11;", unroll=4).status == "refuted"
    assert ptxspec.prove(nest, "mul.lo.u32 d, a, 12;", unroll=2).status == "unknown"
    assert ptxspec.prove("L: mov.u32 d, 1; bra L;", "mov.u32 d, 1;").status == "unknown"
    assert ptxspec.prove("mov.u32 d, 1; trap;", "mov.u32 d, 2; trap;").status == "proved"
    assert ptxspec.prove("mov.u32 d, 1; trap;", "mov.u32 d, 1;").status == "refuted"


def test_an_invariant_steps_over_a_loop() -> None:
    verdict = ptxspec.prove(TRIPLE, "mul.lo.u32 s, n, 3;", invariant="i <= n and s == (3*i & 0xffffffff)")
    assert verdict.status == "proved" and "that it ends is not claimed" in verdict.reason
    down = "mov.u32 s, 0; L: setp.eq.u32 q, n, 0; @q bra E; add.u32 s, s, 3; sub.u32 n, n, 1; bra L; E:"
    claim = "s == (3*(entry(n) - n) & 0xffffffff)"
    assert ptxspec.prove(down, "mul.lo.u32 s, n, 3;", invariant=claim).status == "proved"


@pytest.mark.parametrize(
    ("invariant", "said"),
    [
        ("i <= n and s == 3*i", "going through the loop at line 2 once preserves it fails for"),
        ("i <= n and s == (3*i + 1 & 0xffffffff)", "it holds where the loop at line 2 is entered fails for"),
        ("1 == 2", "it holds where the loop at line 2 is entered fails for"),
        ("s == (3*i & 0xffffffff)", "the invariant says too little: it allows"),
    ],
)
def test_what_fails_of_an_invariant_is_told(invariant: str, said: str) -> None:
    verdict = ptxspec.prove(TRIPLE, "mul.lo.u32 s, n, 3;", invariant=invariant)
    assert verdict.status == "unknown" and said in verdict.reason, verdict


@pytest.mark.parametrize("tautology", ["0 == 0", "i >= 0", "s == s"])
def test_an_invariant_that_says_nothing_decides_nothing(tautology: str) -> None:
    again = TRIPLE.replace("s, s, 3", "s, 3, s")
    for other in ("mul.lo.u32 s, n, 3;", TRIPLE, again):
        for left, right in ((TRIPLE, other), (other, TRIPLE)):
            verdict = ptxspec.prove(left, right, invariant=tautology)
            assert verdict.status == "unknown" and "the invariant says too little: it allows" in verdict.reason, verdict
            assert verdict.counterexample is None
    verdict = ptxspec.prove(TRIPLE, "mul.lo.u32 s, n, 3;", invariant=tautology, relation="refines")
    assert verdict.status == "unsupported" and "an invariant steps over a loop where" in verdict.reason


def test_the_loops_of_two_sides_leave_states_of_their_own() -> None:
    faster = TRIPLE.replace("s, s, 3", "s, s, 4")
    for invariant in ("0 == 0", "i <= n", "s == s"):
        verdict = ptxspec.prove(TRIPLE, faster, invariant=invariant)
        assert verdict.status == "refuted" and verdict.counterexample is not None
        assert verdict.counterexample.inputs.keys() == {"n"}  # from the start, through the loop
    claim = "i <= n and s == (3*i & 0xffffffff)"
    assert ptxspec.prove(TRIPLE, TRIPLE.replace("s, s, 3", "s, 3, s"), invariant=claim).status == "proved"


def test_a_difference_that_no_launch_bears_out_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop, gone through by a walk that forgets what it added, differs; a launch does not."""
    monkeypatch.setattr("ptxspec.query.paths.walking.together", lambda arrivals, read: arrivals[0])
    verdict = ptxspec.prove(TRIPLE, "mul.lo.u32 s, n, 3;", invariant="i >= 0", assume="n < 4")
    assert verdict.status == "unknown", verdict


def test_a_difference_is_found_by_going_through_the_loop() -> None:
    verdict = ptxspec.prove(TRIPLE, "mul.lo.u32 s, n, 4;", invariant="i <= n and s == (3*i & 0xffffffff)")
    assert verdict.status == "refuted" and verdict.counterexample is not None
    assert verdict.counterexample.inputs["n"] > 0


def test_accesses_in_a_loop_have_to_be_allowed_by_its_invariant() -> None:
    text = """mov.u32 s, 0; mov.u64 r, p; mov.u32 i, 0;
    L: setp.ge.u32 q, i, n; @q bra E;
    ld.global.u8 x, [r]; add.u64 r, r, 1; add.u32 s, s, 3; add.u32 i, i, 1; bra L;
    E:"""
    ask = {"invariant": "s == 3*i and i <= n and r == p + i", "buffers": {"p": 16}}
    assert ptxspec.prove(text, "mul.lo.u32 s, n, 3;", assume="n <= 16", **ask).status == "proved"
    verdict = ptxspec.prove(text, "mul.lo.u32 s, n, 3;", assume="n <= 17", **ask)
    assert verdict.status == "unknown" and "every access in the loop at line 2 is allowed" in verdict.reason


def test_what_an_invariant_is_not_for() -> None:
    store = "L: st.global.u32 [p], a; sub.u32 a, a, 1; setp.ne.u32 q, a, 0; @q bra L;"
    verdict = ptxspec.prove(store, "mov.u32 a, 0;", invariant="a > 0", buffers={"p": 4})
    assert verdict.status == "unsupported" and "says nothing of memory" in verdict.reason
    two = "A: sub.u32 a, a, 1; setp.ne.u32 q, a, 0; @q bra A; B: sub.u32 b, b, 1; setp.ne.u32 q, b, 0; @q bra B;"
    assert "loops at the lines" in ptxspec.prove(two, "mov.u32 a, 0;", invariant="a > 0").reason
    with pytest.raises(ptxspec.AssumptionError, match="is no input"):
        ptxspec.prove(TRIPLE, "mov.u32 s, 0;", invariant="zz == 1")


# functions, and what is not followed -------------------------------------------------------------------------------------


def test_recursion_is_bounded() -> None:
    verdict = ptxspec.prove(FACTORIAL, gives(24), assume="a == 40")
    assert verdict.status == "unknown" and "beyond 16 activations of factorial" in verdict.reason


def test_calls_in_loops_count_the_loop() -> None:
    text = (
        HEAD
        + """
    .func (.reg .u32 r) more(.reg .u32 x) { add.u32 r, x, 3; ret; }
    .visible .func (.reg .u32 d) f(.reg .u32 n)
    { .reg .pred q; mov.u32 d, 0; bra H;
    X: call (d), more, (d);
    H: sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra X; ret; }"""
    )
    short = HEAD + ".visible .func (.reg .u32 d) f(.reg .u32 n) { sub.u32 n, n, 1; mul.lo.u32 d, n, 3; ret; }"
    assert ptxspec.prove(text, short, assume="n > 0 and n < 6").status == "proved"
    assert ptxspec.prove(text, short.replace("n, 3", "n, 4"), assume="n > 0 and n < 6").status == "refuted"
    verdict = ptxspec.prove(text, short, assume="n > 0 and n < 60", unroll=5)
    assert verdict.status == "unknown" and "beyond 5 iterations of the loop" in verdict.reason


def test_parameters_in_memory_are_passed() -> None:
    twice = (
        HEAD
        + """
    .func (.param .b32 r) twice(.param .b32 x)
    { .reg .u32 a; ld.param.u32 a, [x]; add.u32 a, a, a; st.param.b32 [r], a; ret; }
    .visible .func (.param .b32 d) f(.param .b32 a)
    { .reg .u32 v; .param .b32 pa; .param .b32 pr;
      ld.param.u32 v, [a]; st.param.b32 [pa], v; call (pr), twice, (pa); ld.param.b32 v, [pr]; st.param.b32 [d], v; ret; }"""
    )
    shift = (
        HEAD
        + """.visible .func (.param .b32 d) f(.param .b32 a)
    { .reg .u32 v; ld.param.u32 v, [a]; shl.b32 v, v, 1; st.param.b32 [d], v; ret; }"""
    )
    assert ptxspec.prove(twice, shift).status == "proved"
    assert ptxspec.prove(twice, shift.replace("v, 1", "v, 2")).status == "refuted"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cp.async.commit_group;", "has an effect (copy)"),
        ("bar.sync 0;", "has an effect (barrier)"),
        ("mov.u32 d, %clock;", "changes while a program runs"),
        ("shfl.sync.bfly.b32 d, a, 1, 31, -1;", "ask with warp=True"),
        (ALLOCATES, "malloc has no body here"),
        (HEAD + ".global .u32 x;  .visible .entry a() { ret; } .visible .entry b() { ret; }", "has several entries"),
    ],
)
def test_what_is_not_followed_is_said(text: str, said: str) -> None:
    verdict = ptxspec.prove(text, "mov.u32 d, 0;")
    assert verdict.status == "unsupported" and said in verdict.reason, verdict


@pytest.mark.parametrize("unroll", [0, -1, 5000, True, "3"])
def test_a_bound_is_a_number(unroll: object) -> None:
    with pytest.raises(ValueError, match="unroll is an integer"):
        ptxspec.prove("mov.u32 d, a;", "mov.u32 d, a;", unroll=unroll)  # a wrong type is the point


def test_every_input_run_is_no_verdict_on_what_was_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no solver answers, inputs that leave the bound of a loop are run as well, and nothing is known of them."""
    loop = "mov.u16 i, 0; L: add.u16 i, i, 1; setp.lt.u16 p, i, n; @p bra L; mov.u16 d, i;"
    monkeypatch.setattr(questions, "solve", lambda *_, **__: SolverAnswer("timeout", {}, {}))
    within = ptxspec.prove(loop, "mov.u16 d, n;", assume="0 < n and n < 9", unroll=10)
    assert within.status == "exhausted"
    beyond = ptxspec.prove(loop, "mov.u16 d, n;", assume="0 < n", unroll=10)
    assert beyond.status == "unknown" and "beyond" in beyond.reason
