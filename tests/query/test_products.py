"""Claims of products and quotients: decided soon where both sides share them, and what is put for them holds of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ptxspec
from ptxspec.query.functions import OPERATION, exchanged, given_that, with_any_functions
from ptxspec.query.products import with_any_products
from ptxspec.query.questions import ask
from ptxspec.terms.arithmetic import quotient
from ptxspec.terms.core import truth, variable
from ptxspec.terms.exact import evaluate
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
SUMS = ("add.f32 x, a, b; add.f32 d, x, c;", "add.f32 x, b, a; add.f32 d, c, x;")
#: two sides, an assumption, and how many seconds a solver has, who needs minutes without names for products
SHARED: list[tuple[tuple[str, str], str | None, dict[str, Any]]] = [
    (REMAINDER, "b != 0", {}),
    (LOW_HALF, None, {}),
    (CARRIES, None, {}),
    (SUMS, None, {}),
]


@pytest.mark.parametrize(("sides", "assume", "how"), SHARED)
def test_a_product_that_both_sides_share_is_a_number(
    sides: tuple[str, str], assume: str | None, how: dict[str, Any]
) -> None:
    verdict = ptxspec.prove(*sides, assume=assume, timeout=30, **how)
    assert verdict.status == "proved"


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


def test_an_input_of_few_bits_is_run_where_the_assumption_excludes_what_is_open() -> None:
    claim = ("mul.rn.f16 d, a, b;", "cvt.f32.f16 x, a; cvt.f32.f16 y, b; mul.rn.f32 z, x, y; cvt.rn.f16.f32 d, z;")
    verdict = ptxspec.prove(*claim, assume="a < 0x7c00 and b < 0x80", timeout=20)
    assert verdict.status in ("proved", "exhausted")
