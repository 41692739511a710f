"""Bounds asked of many operands side by side: what is known there is what the page's function says of each."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from ptxspec.language.forms import registry
from ptxspec.terms.core import HERE, TermError, variable
from ptxspec.terms.lanes import Judge, Lanes, Parted, UnfitLanes
from ptxspec.terms.vocabulary import Approximation, freedoms_in, is_allowed

pytestmark = pytest.mark.sample(4)

OPCODES = ("div", "rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh")
#: patterns of single precision where something changes: powers of two, the ends of the formats, full turns, whole exponents
SPECIAL = [1, 0x7FFFFF, 0x800000, 0x800001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40000000, 0x40800000, 0x3FC90FDB, 0x40C90FDB,
           0x439D1463, 0x43000000, 0x42FE0000, 0xC2FC0000, 0xC3150000, 0x7E800000, 0x7F7FFFFF, 0xBF800000, 0xFF7FFFFF]  # fmt: skip


def _bounded() -> list[Any]:
    """A freedom for every bound of single or half precision."""
    found = {}
    for opcode in OPCODES:
        for form in registry().opcodes[opcode].forms:
            meaning = form.meaning(next(iter(form.absences)))
            for freedom in freedoms_in(*(v for r in meaning.results for v in r.values)):
                if isinstance(freedom.attrs[4], Approximation) and freedom.attrs[1] <= 32:
                    found[freedom.attrs, freedom.args[-1].op == "const" and freedom.args[-1].attrs] = freedom
    return list(found.values())


BOUNDED = _bounded()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("freedom", BOUNDED, ids=lambda f: f.attrs[0])
def test_what_is_known_side_by_side_is_what_the_page_says(freedom: Any) -> None:
    judge, width = Judge(freedom), freedom.attrs[1]
    rng = np.random.default_rng(1)
    asked: list[tuple[int, ...]] = []
    patterns = [p >> (32 - width) for p in SPECIAL] + [int(x) for x in rng.integers(1, 1 << (width - 1), 20)]
    for row in range(60):
        first = patterns[row % len(patterns)]
        others = [int(rng.choice(patterns)) for _ in judge.places[1:]]
        rest = iter([first, *others])
        asked.append(tuple(a.attrs[0] if a.op == "const" else next(rest) for a in freedom.args))
    rows = []
    for operands in asked:
        try:
            near = freedom.attrs[4].nearest(*operands)
        except (ArithmeticError, ValueError):  # outside of the freedom: an infinity, or a number without a logarithm
            continue
        steps = (0, 1, -1, 2, -3, 40, 1 << (width - 12), 1 << (width - 1))
        rows += [(operands, (near + step) & ((1 << width) - 1)) for step in steps]
    columns = [np.array([o[i] for o, _ in rows], np.uint32) for i in judge.places]
    allowed, known = judge(np.array([bits for _, bits in rows], np.uint32), columns)
    assert known.mean() > (0.7 if "ex2-half" not in freedom.attrs[0] else 0.1)
    said = {True: 0, False: 0}
    for (operands, bits), one, sure in zip(rows, allowed.tolist(), known.tolist(), strict=True):
        if sure:
            said[one] += 1
            assert one == is_allowed(freedom, operands, bits), f"{bits:#x} for {operands}"
    assert said[True] > 5 and said[False] > 5


def test_a_number_at_the_bound_itself_is_left_to_the_page() -> None:
    """rcp.approx is off by one ulp at most: of 1, by exactly that much below."""
    freedom = next(f for f in BOUNDED if f.attrs[0] == "approximate-rcp" and not f.args[-1].attrs[0])
    below = np.full(64, 0x3F800000 - 2, np.uint32)
    allowed, known = Judge(freedom)(below, [np.full(64, 0x3F800000, np.uint32)])
    assert is_allowed(freedom, (0x3F800000, 0), 0x3F800000 - 2)
    assert not (known & ~allowed).any()


def test_operands_of_double_precision_are_not_asked_side_by_side() -> None:
    form = registry().opcodes["rsqrt"].forms
    freedoms = [
        f for one in form for r in one.meaning(next(iter(one.absences))).results for f in freedoms_in(*r.values)
    ]
    wide = next(f for f in freedoms if f.attrs[1] == 64 and isinstance(f.attrs[4], Approximation))
    with pytest.raises(UnfitLanes):
        Judge(wide)


def _known(*values: float) -> Lanes:
    found = np.array(values)
    return Lanes(found, found, found.size)


def _encloses(lanes: Lanes, exact: list[Fraction]) -> bool:
    ends = zip(*(np.broadcast_to(end, len(exact)).tolist() for end in (lanes.low, lanes.high)), exact, strict=True)
    return all((low == -inf or Fraction(low) <= x) and (high == inf or x <= Fraction(high)) for low, high, x in ends)


def test_a_product_below_double_precision_is_enclosed() -> None:
    tiny = _known(2.0**-600, 3 * 2.0**-540, 5 * 2.0**-1000)
    squares = [Fraction(x) ** 2 for x in tiny.low.tolist()]
    assert _encloses(tiny * tiny, squares) and _encloses((tiny * tiny) * (tiny * tiny), [x**2 for x in squares])
    assert _encloses(tiny / _known(2.0**900, 2.0**1000, 7.0), [Fraction(x) / y for x, y in zip(
        tiny.low.tolist(), (2**900, 2**1000, 7), strict=True)])  # fmt: skip
    power = tiny.scaled(-600)  # not a number of double precision any more, though the factor is a power of two
    assert not power.is_known and _encloses(power, [Fraction(x) * Fraction(2) ** -600 for x in tiny.low.tolist()])
    assert tiny.scaled(40).is_known


def test_numbers_beyond_double_precision_are_not_known() -> None:
    huge = _known(2.0**900, 3 * 2.0**1000)
    with np.errstate(all="ignore"):
        product = huge * huge
    with pytest.raises(Parted) as parts:
        bool(product > huge)
    assert not parts.value.true.any() and not parts.value.false.any()
    with pytest.raises((UnfitLanes, Parted)):
        bool(2 ** product.each("floor_log2") > huge)
    with pytest.raises(ZeroDivisionError):
        huge / 0


def test_sums_of_great_whole_numbers_are_intervals() -> None:
    great = _known(2.0**60)._taken(Fraction(2) ** 60)
    assert not great.is_whole and _encloses(great + 1, [Fraction(2) ** 60 + 1])
    assert (_known(1.0)._taken(7) + 1).is_known


def test_powers_of_intervals_are_enclosed() -> None:
    between = Lanes(np.array([-1100.0, -3.5, 1000.0, 2000.0]), np.array([-1080.0, 3.5, 1030.0, 2001.0]), 4)
    found = 2**between
    assert found.low.tolist() == [0.0, 2.0**-4, 2.0**1000, 2.0**1000]
    assert found.high[1:].tolist() == [16.0, inf, inf] and found.high[0] > 0
    with pytest.raises(UnfitLanes):
        2 ** _known(0.5, 0.25)


def test_python_branches_on_no_term_otherwise() -> None:
    assert HERE.known is None
    with pytest.raises(TermError):
        bool(variable("x", 8) == 1)
