"""Claims of products and quotients: decided soon where both sides share them, and what is put for them holds of them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from effort import at_most

import ptxspec
from ptxspec.base.options import Solver
from ptxspec.query import records
from ptxspec.query.abstractions import (
    OPERATION,
    below,
    exchanged,
    given_that,
    subdomains,
    with_any_functions,
    with_any_products,
    with_any_significands,
    with_meanings,
)
from ptxspec.query.questions import ask
from ptxspec.query.solvers import kept
from ptxspec.query.solvers.domains import demanded
from ptxspec.terms.arithmetic import quotient
from ptxspec.terms.core import truth, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import freedoms_in

REMAINDER = ("div.u32 q, a, b; mul.lo.u32 m, q, b; sub.u32 d, a, m;", "rem.u32 d, a, b;")
LOW_HALF = (
    "mul.lo.u64 d, a, b;",
    "mov.b64 {al, ah}, a; mov.b64 {bl, bh}, b; mul.wide.u32 p, al, bl; mul.lo.u32 q, ah, bl; mul.lo.u32 r, al, bh; "
    "add.u32 s, q, r; mov.b64 {pl, ph}, p; add.u32 ph, ph, s; mov.b64 d, {pl, ph};",
)
CARRIES = (
    "mad.lo.cc.u32 d, a, b, c; madc.hi.u32 e, a, b, f;",
    "mul.wide.u32 p, b, a; mov.b64 q, {c, f}; add.u64 r, p, q; mov.b64 {d, e}, r;",
)
HALVES = "mov.b64 {al, ah}, a; mov.b64 {bl, bh}, b; "
#: the high half by the products of halves: with a carry that is added to the next sum, and with the condition code
HIGH_HALF = (
    "mul.hi.u64 d, a, b;",
    HALVES
    + "mul.wide.u32 p, al, bl; mul.wide.u32 q, al, bh; mul.wide.u32 r, ah, bl; mul.wide.u32 s, ah, bh; shr.u64 k, p, 32; "
    "add.u64 t, r, k; and.b64 u, t, 0xffffffff; shr.u64 v, t, 32; add.u64 w, q, u; shr.u64 x, w, 32; add.u64 y, s, v; add.u64 d, y, x;",
)
HIGH_BY_CARRIES = (
    "mul.hi.u64 d, a, b;",
    HALVES + "mul.hi.u32 w, al, bl; mad.lo.cc.u32 w, al, bh, w; madc.hi.u32 x, al, bh, 0; mad.lo.cc.u32 w, ah, bl, w; "
    "madc.hi.cc.u32 x, ah, bl, x; addc.u32 y, 0, 0; mad.lo.cc.u32 x, ah, bh, x; madc.hi.u32 y, ah, bh, y; mov.b64 d, {x, y};",
)
BOTH_HALVES = (
    "mul.lo.u64 e, a, b; mul.hi.u64 d, a, b;",
    HIGH_BY_CARRIES[1].replace("mul.hi.u32 w", "mul.lo.u32 z, al, bl; mul.hi.u32 w") + "mov.b64 e, {z, w};",
)
#: with carries as C has them: a sum that is less than what was added
HIGH_BY_COMPARISON = (
    "mul.hi.u64 d, a, b;",
    HALVES
    + "mul.wide.u32 p, al, bl; mul.wide.u32 q, al, bh; mul.wide.u32 r, ah, bl; mul.wide.u32 s, ah, bh; add.u64 m, q, r; "
    "setp.lt.u64 c, m, r; selp.u64 h, 0x100000000, 0, c; shl.b64 n, m, 32; add.u64 l, p, n; setp.lt.u64 g, l, n; selp.u64 i, 1, 0, g; "
    "shr.u64 j, m, 32; add.u64 j, j, h; add.u64 j, j, i; add.u64 d, s, j;",
)
SIGNED_HIGH_HALF = (
    "mul.hi.s64 d, a, b;",
    HIGH_HALF[1].replace("add.u64 d, y, x;", "add.u64 h, y, x; shr.s64 m, a, 63; and.b64 m, m, b; sub.u64 h, h, m; ")
    + "shr.s64 n, b, 63; and.b64 n, n, a; sub.u64 d, h, n;",
)
WIDE = (
    "mul.wide.u32 d, a, b;",
    "mov.b32 {al, ah}, a; mov.b32 {bl, bh}, b; mul.wide.u16 p, al, bl; mul.wide.u16 q, al, bh; mul.wide.u16 r, ah, bl; "
    "mul.wide.u16 s, ah, bh; mov.b64 d, {p, s}; cvt.u64.u32 x, q; shl.b64 x, x, 16; add.u64 d, d, x; cvt.u64.u32 y, r; "
    "shl.b64 y, y, 16; add.u64 d, d, y;",
)
SIGNED_REMAINDER = (REMAINDER[0].replace("u32", "s32"), "rem.s32 d, a, b;")
REMAINDER_OF_SIZES = (
    "rem.s32 d, a, b;",
    "abs.s32 x, a; abs.s32 y, b; rem.u32 r, x, y; neg.s32 s, r; setp.lt.s32 p, a, 0; selp.b32 d, s, r, p;",
)
HOPPER = {"profile": "hopper"}
SUMS = ("add.f32 x, a, b; add.f32 d, x, c;", "add.f32 x, b, a; add.f32 d, c, x;")
#: two sides, an assumption, and how many seconds a solver has, who needs minutes without names for products
SHARED: list[tuple[tuple[str, str], str | None, dict[str, Any]]] = [
    (REMAINDER, "b != 0", {}),
    (LOW_HALF, None, {}),
    (CARRIES, None, {}),
    (SUMS, None, {}),
]

#: two sides, an assumption, and more: one number, by the laws of sums, products and carries
BY_LAWS: list[tuple[tuple[str, str], str | None, dict[str, Any]]] = [
    (HIGH_HALF, None, {}),
    (HIGH_BY_CARRIES, None, {}),
    (BOTH_HALVES, None, {}),
    (HIGH_BY_COMPARISON, None, {}),
    (SIGNED_HIGH_HALF, None, {}),
    (LOW_HALF, None, {}),
    (WIDE, None, {}),
    (REMAINDER, "b != 0", {}),
    (SIGNED_REMAINDER, "b != 0", HOPPER),
    (REMAINDER_OF_SIZES, "b != 0", HOPPER),
    (SIGNED_REMAINDER[::-1], "b != 0", {"relation": "refines"}),
]


@pytest.mark.parametrize(("sides", "assume", "how"), BY_LAWS)
@pytest.mark.parametrize("solver", ["z3", "portfolio"])
def test_sides_that_are_one_number_are_so_before_a_solver_is_asked(
    sides: tuple[str, str], assume: str | None, how: dict[str, Any], solver: Solver
) -> None:
    with kept.kept_at(None), at_most(4000):
        verdict = ptxspec.prove(*sides, assume=assume, timeout=20, solver=solver, **how)
    assert verdict.status == "proved"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sides", "was", "now", "how"),
    [
        (HIGH_HALF, "add.u64 t, r, k", "mov.b64 t, r", {}),
        (HIGH_HALF, "and.b64 u, t, 0xffffffff", "mov.b64 u, t", {}),
        (HIGH_BY_CARRIES, "addc.u32 y, 0, 0", "mov.u32 y, 0", {}),
        (HIGH_BY_CARRIES, "madc.hi.cc.u32 x", "mad.hi.cc.u32 x", {}),
        (HIGH_BY_COMPARISON, "setp.lt.u64 c, m, r", "setp.lt.s64 c, m, r", {}),
        (SIGNED_HIGH_HALF, "and.b64 n, n, a", "and.b64 n, n, b", {}),
        (WIDE, "cvt.u64.u32 y, r", "cvt.u64.u32 y, q", {}),
        (SIGNED_REMAINDER, "sub.s32 d, a, m;", "sub.s32 d, a, m; setp.lt.s32 p, d, 0; @p add.s32 d, d, b;", HOPPER),
        (REMAINDER_OF_SIZES, "setp.lt.s32 p, a, 0", "setp.lt.s32 p, b, 0", HOPPER),
    ],
)  # fmt: skip
def test_a_side_that_is_nearly_the_same_number_is_refuted(
    sides: tuple[str, str], was: str, now: str, how: dict[str, Any]
) -> None:
    """A carry that is lost, a sign of another operand, a floor in the place of a quotient that is rounded toward zero."""
    others = [side.replace(was, now) for side in sides]
    assert others != [*sides]
    with kept.kept_at(None), at_most(20_000):
        verdict = ptxspec.prove(*others, assume="b != 0", timeout=40, **how)
    assert verdict.status == "refuted" and verdict.counterexample is not None


def test_without_a_profile_a_remainder_has_another_sign_too() -> None:
    assert ptxspec.prove(*SIGNED_REMAINDER, assume="b != 0").status == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize(("sides", "assume", "how"), [BY_LAWS[1], BY_LAWS[8]])
def test_a_proof_by_laws_has_a_certificate(sides: tuple[str, str], assume: str | None, how: dict[str, Any]) -> None:
    made = records.certificate(records.recorded(*sides, assume=assume, **how))
    assert [query["status"] for query in made["queries"]][:2] == ["unanswered", "unsat"]
    assert records.check(made).holds
    question = made["question"]
    others = {
        "left": question["left"].replace("sub.s32", "add.s32"),
        "right": question["right"].replace("addc", "add"),
    }
    assert not records.check({**made, "question": {**question, **others}}).holds
    assert not records.check({**made, "queries": made["queries"][:1]}).holds


#: a product of half precision, by the product of a wider format
BY_SINGLE = (
    "mul.f16 d, a, b;", "cvt.f32.f16 x, a; cvt.f32.f16 y, b; mul.rn.f32 z, x, y; cvt.rn.f16.f32 d, z;"
)  # fmt: skip
BY_DOUBLE = ("mul.f16 d, a, b;", BY_SINGLE[1].replace("f32", "f64"))
OF_BF16 = ("mul.rn.bf16 d, a, b;", BY_SINGLE[1].replace("f16", "bf16"))
SQUARE = ("mul.f16 d, a, a;", "cvt.f32.f16 x, a; mul.rn.f32 z, x, x; cvt.rn.f16.f32 d, z;")


@pytest.mark.slow
@pytest.mark.parametrize(
    "sides",
    [
        SQUARE,
        *(
            pytest.param(sides, marks=pytest.mark.long)
            for sides in (
                BY_SINGLE,
                BY_DOUBLE,
                OF_BF16,
                (BY_SINGLE[0], BY_SINGLE[1].replace("mul.rn", "mul.rz")),  # which is exact
            )
        ),
    ],
)
@pytest.mark.parametrize("solver", ["z3", "portfolio"])
def test_a_product_of_half_precision_is_that_of_a_wider_format(sides: tuple[str, str], solver: Solver) -> None:
    with kept.kept_at(None), at_most(60_000):
        verdict = ptxspec.prove(*sides, timeout=120, solver=solver)
    assert verdict.status == "proved"


@pytest.mark.parametrize("sides", [BY_SINGLE, BY_DOUBLE, OF_BF16])
@pytest.mark.parametrize(("was", "now"), [("cvt.rn", "cvt.rz"), ("cvt.rn", "cvt.rp"), ("z, x, y", "z, x, x")])
def test_another_rounding_of_a_product_is_refuted(sides: tuple[str, str], was: str, now: str) -> None:
    with kept.kept_at(None), at_most(20_000):
        verdict = ptxspec.prove(sides[0], sides[1].replace(was, now), timeout=40)
    assert verdict.status == "refuted"


@pytest.mark.slow
def test_the_only_inputs_that_differ_are_found_by_their_class_and_replayed() -> None:
    """One pair of operands in 2^32, which no sample has."""
    other = " setp.eq.u16 p, a, 3; setp.eq.u16 q, b, 0x5c01; and.pred p, p, q; @p mov.b16 d, 0;"
    with kept.kept_at(None), at_most(40_000):
        verdict = ptxspec.prove(BY_SINGLE[0], BY_SINGLE[1] + other, timeout=60)
    assert verdict.status == "refuted" and verdict.counterexample is not None
    assert verdict.counterexample.inputs == {"a": 3, "b": 0x5C01}


def test_a_product_in_a_format_that_is_too_narrow_is_refuted() -> None:
    narrow = "cvt.rn.bf16.f16 x, a; cvt.rn.bf16.f16 y, b; mul.rn.bf16 z, x, y; cvt.rn.f16.bf16 d, z;"
    with kept.kept_at(None), at_most(20_000):
        assert ptxspec.prove("mul.f16 d, a, b;", narrow, timeout=40).status == "refuted"


@pytest.mark.slow
def test_a_proof_by_classes_has_a_certificate() -> None:
    made = records.certificate(records.recorded(*SQUARE))
    said = [query["purpose"] for query in made["queries"] if query["status"] == "unsat"]
    # a solver that answers the question itself, before the classes are asked, needs one query
    assert len(said) == 1 or (len(said) == 13 and any("a is subnormal from 0x200" in purpose for purpose in said))
    assert records.check(made).holds
    del made["queries"][-1]
    assert not records.check(made).holds


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_cases_have_all_inputs_among_them(type: str) -> None:
    found = [*subdomains({"a": TYPES[type], "b": TYPES[type]})]
    ends = {n for case in found for part in demanded(case.holds) for n in _constants(part)}
    patterns = sorted(sign | size for sign in (0, 0x8000) for end in ends for size in (end, end + 1) if size < 0x8000)
    for a in patterns:
        for b in patterns[:: len(patterns) // 7]:
            parts = {f"{n}.{part}": value for n, x in (("a", a), ("b", b)) for part, value in (("sign", x >> 15 == 1), ("magnitude", x & 0x7FFF))}  # fmt: skip
            met = [case for case in found if evaluate(case.holds, parts)]
            assert met
            for case in met:
                assert [evaluate(case.inputs[n], parts) for n in ("a", "b")] == [a, b]


def _constants(part: Any) -> set[int]:
    return {t.attrs[0] for t in below(part) if t.op == "const" and t.lo >= 0 and t.hi > 1}


def test_the_facts_hold_of_products_of_significands() -> None:
    asked, source = ask(*BY_SINGLE, profile="hopper"), random.Random(1)
    claim = with_meanings(asked.differs)
    named = with_any_significands(claim)
    assert len([f for f in freedoms_in(named) if f.attrs[0] == OPERATION]) == 2

    def itself(freedom: Any, operands: tuple[int, ...]) -> int:
        return operands[0] * operands[1]

    for _ in range(200):
        values = {n: source.choice([source.getrandbits(16), source.getrandbits(10), 0, 0x7C00]) for n in ("a", "b")}
        assert evaluate(named, values, itself) == evaluate(claim, values) == evaluate(asked.differs, values), values


@pytest.mark.slow
@pytest.mark.parametrize(("sides", "assume", "how"), SHARED)
def test_a_product_that_both_sides_share_is_a_number(
    sides: tuple[str, str], assume: str | None, how: dict[str, Any]
) -> None:
    verdict = ptxspec.prove(*sides, assume=assume, timeout=30, **how)
    assert verdict.status == "proved"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sides", "assume"),
    [
        ((REMAINDER[0].replace("a, m", "a, q"), REMAINDER[1]), "b != 0"),
        (REMAINDER, None),  # what a remainder by zero is, no quotient says
        ((LOW_HALF[0], LOW_HALF[1].replace("q, ah, bl", "q, ah, bh")), None),
        ((CARRIES[0].replace("madc.hi", "mad.hi"), CARRIES[1]), None),
        (("mul.lo.u32 d, a, b;", "mul.lo.u32 d, a, c;"), None),
    ],
)
def test_what_is_refuted_is_so_by_products_and_not_by_any_numbers(sides: tuple[str, str], assume: str | None) -> None:
    verdict = ptxspec.prove(*sides, assume=assume, timeout=30)
    assert verdict.status == "refuted" and verdict.counterexample is not None


@pytest.mark.parametrize(
    ("left", "right"),
    [REMAINDER, LOW_HALF, CARRIES, ("rem.s32 d, a, b;", "div.s32 d, a, b;"), ("mul.wide.s32 d, a, b;", "mul.wide.s32 d, b, c;")],
)  # fmt: skip
def test_the_facts_hold_of_products_and_quotients(left: str, right: str) -> None:
    """With the products themselves in the place of their names, the claim has the truth that it had."""
    asked, source = ask(left, right, profile="hopper"), random.Random(left)
    claim = asked.differs
    named = with_any_products(claim)
    assert named is not claim and any(f.attrs[0] == OPERATION for f in freedoms_in(named))

    def itself(freedom: Any, operands: tuple[int, ...]) -> int:
        x, y = operands
        return (x * y if freedom.attrs[5] == "mul" else quotient(x, y)) & ((1 << freedom.attrs[1]) - 1)

    seen = set()
    for _ in range(300):
        values = {n: source.choice((source.getrandbits(t.width), source.getrandbits(t.width) >> (t.width - 3),
                                    (1 << t.width) - 1, 1 << (t.width - 1))) for n, t in asked.inputs.types.items()}  # fmt: skip
        seen.add(evaluate(claim, values, itself))
        assert evaluate(named, values, itself) == evaluate(claim, values, itself), values
    assert seen == {True, False} or (left, right) in (LOW_HALF, CARRIES, REMAINDER)


def test_a_claim_without_products_stays_as_it_is() -> None:
    a, b = variable("a", 32), variable("b", 32)
    claim = truth(a * 3 + b != b * 7)
    assert with_any_products(claim) is claim and with_any_functions(claim, False) is claim


def test_what_is_assumed_is_left_out_of_a_claim() -> None:
    asked = ask(*REMAINDER, assume="b != 0")
    assert {f.attrs[0] for f in freedoms_in(asked.differs)} == {"division-by-zero", "remainder-by-zero"}
    assert not freedoms_in(given_that(asked.given, asked.differs))
    either = truth((variable("a", 8) == 1) | (variable("b", 8) == 1))
    assert given_that(either, either).attrs == (True,)


def test_operands_are_exchanged_of_sums_and_products_alone() -> None:
    sum_, other = ask("add.rn.f32 d, a, b;", "add.rn.f32 d, b, a;"), ask("div.rn.f32 d, a, b;", "div.rn.f32 d, b, a;")
    found = [with_any_functions(asked.differs, False) for asked in (sum_, other)]
    names = [[f for f in freedoms_in(claim) if f.attrs[0] == OPERATION] for claim in found]
    assert [len(n) for n in names] == [2, 2]
    values, told = {"a": 0x3F800000, "b": 0x40000000}, []
    for claim in found:
        told.append(evaluate(claim, values, lambda freedom, operands: operands[0]))
    assert told == [False, True]  # that x is the function of x and y is no sum
    assert exchanged(names[1]).op != "const"


@pytest.mark.slow
def test_an_input_of_few_bits_is_run_where_the_assumption_excludes_what_is_open() -> None:
    claim = ("mul.rn.f16 d, a, b;", "cvt.f32.f16 x, a; cvt.f32.f16 y, b; mul.rn.f32 z, x, y; cvt.rn.f16.f32 d, z;")
    verdict = ptxspec.prove(*claim, assume="a < 0x7c00 and b < 0x80", timeout=20)
    assert verdict.status in ("proved", "exhausted")
