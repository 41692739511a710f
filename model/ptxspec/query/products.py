"""Claims in which products and quotients are any numbers that meet a few facts: what holds of all those holds of these.

Solvers take a product of two inputs apart into bits, and find it hard that two sums of such products are equal. Often a claim
needs nothing of a product but that it is the same number on both sides. So the same product has one name: a remainder is
written with the quotient, and a factor of which only parts are multiplied elsewhere is the sum of its parts.
"""

from __future__ import annotations

import itertools
from typing import Any

from ptxspec.query.functions import OPERATION, exchanged
from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Bool, Int, constant, make_int, truth
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import absolute, bit_length, low_bits, maximum, rebuilt, sign_extend, within

#: products of parts that are named instead of products, at most
MOST = 64
#: products of which two at a time are looked at, whether one has the other's factors with zeros at their ends
FEW = 8


def with_any_products(claim: Bool) -> Bool:
    """A claim with products and quotients of two inputs as functions that are not known, and facts that hold of them. If nothing
    makes it true, nothing makes the claim true. The claim itself, if it has none."""
    if not has_products(claim):
        return claim
    without = rebuilt(claim, _without_remainder, None)
    found, names = _named(without, _parted(without))
    return truth(found & exchanged(names.products))


def with_any_significands(claim: Bool) -> Bool:
    """The same, where one product is another one of longer factors, with zeros at their ends: as those of significands are, of
    one number in two formats."""
    found, names = _named(claim, {})
    for product in names.products:
        x, y = product.args
        found = found & ((product == 0) == ((x == 0) | (y == 0)))
    for one, other in itertools.combinations(names.products[:FEW], 2):
        if one.attrs[1] != other.attrs[1]:
            found = found & _shifted(*sorted((one, other), key=lambda name: name.attrs[1]))
    return truth(found)


def _shifted(product: Any, longer: Any) -> Bool:
    """That a product is another one's with zeros at its end, if its factors are the other one's with zeros at their ends."""
    (x, y), (u, v) = product.args, longer.args
    i, j = (maximum(bit_length(its) - bit_length(own), 0) for own, its in ((x, u), (y, v)))
    found: Bool = ~((u == x << i) & (v == y << j)) | (longer == product << (i + j))
    return found


def _named(claim: Bool, parted: dict[int, tuple[Any, int]]) -> tuple[Bool, _Names]:
    """A claim with names for products and quotients, and the facts that hold of them; the names."""
    names = _Names(parted)
    found: Any = rebuilt(claim, names.replace, None)
    for fact in names.facts:
        found = found & fact
    return truth(found), names


def has_products(claim: Bool) -> bool:
    """Whether a claim has products or quotients of two numbers that are no constants."""
    return any(t.op in ("mul", "quotient", "remainder") and _is_open(t) for t in below(claim))


def _is_open(term: Any) -> bool:
    """Whether neither operand is a constant."""
    return all(a.op != "const" for a in term.args)


def below(term: Any) -> list[Any]:
    """The terms below one, each once."""
    seen: dict[int, Any] = {}
    stack = [term]
    while stack:
        t = stack.pop()
        if id(t) not in seen:
            seen[id(t)] = t
            stack.extend(t.args)
    return list(seen.values())


def _without_remainder(term: Any, args: tuple[Any, ...]) -> Any:
    """x - (x / y) * y, which is x where y is 0."""
    if term.op != "remainder" or args[1].op == "const":
        return None
    x, y = args
    low, high = term.lo, term.hi
    return within(x - make_int("quotient", (x, y)) * y, low, high)


def _parted(claim: Any) -> dict[int, tuple[Any, int]]:
    """By the terms' ids, at which bit factors are taken apart: those of which a part is a factor of another product."""
    factors = [f for t in below(claim) if t.op == "mul" and _is_open(t) for f in t.args]
    found: dict[int, tuple[Any, int]] = {}
    for factor in factors:
        whole, place = _part(factor)
        if whole is not None and any(f is whole for f in factors):
            found.setdefault(id(whole), (whole, place))
    return found


def _part(term: Any) -> tuple[Any, int]:
    """(the term, the bit) if a term is another's bits below some bit, or from it on; else (None, 0)."""
    if term.op == "low":
        inner, place = _part(term.args[0])
        return (inner, place) if inner is not None else (term.args[0], term.attrs[0])
    if term.op == "shr" and term.args[1].op == "const":
        return term.args[0], term.args[1].attrs[0]
    return None, 0


class _Names:
    """Names of products and quotients."""

    def __init__(self, parted: dict[int, tuple[Any, int]]):
        self.parted = parted
        self.facts: list[Bool] = []
        self.count = 0
        self.products: list[Any] = []
        self._known: dict[tuple[str, int, int], Any] = {}

    def replace(self, term: Any, args: tuple[Any, ...]) -> Any:
        if term.op == "mul" and all(a.op != "const" for a in args):
            return self.product(*args)
        if term.op == "quotient" and args[1].op != "const":
            return self.quotient(*args)
        return None

    def product(self, x: Int, y: Int) -> Int:
        """A product, or the sum of the products of its factors' parts."""
        found: Int = constant(0)
        for one, place in self._parts(x):
            for other, its in self._parts(y):
                part = self._product(one, other)
                part = part << (place + its) if place + its else part
                found = part if found.op == "const" else found + part
        return found

    def _parts(self, x: Int) -> list[tuple[Int, int]]:
        if id(x) not in self.parted or self.count > MOST:
            return [(x, 0)]
        place = self.parted[id(x)][1]
        return [(low_bits(x, place), 0), (x >> place, place)]

    def _product(self, x: Int, y: Int) -> Int:
        if x.op == "const" or y.op == "const":
            return x * y
        if ("mul", id(y), id(x)) in self._known:
            return self._known["mul", id(y), id(x)]  # type: ignore[no-any-return]
        return self._named("mul", x, y, x * y)

    def quotient(self, x: Int, y: Int) -> Int:
        key = ("quotient", id(x), id(y))
        if key in self._known:
            return self._known[key]  # type: ignore[no-any-return]
        found = self._named("quotient", x, y, make_int("quotient", (x, y)))
        rest = x - self.product(found, y)
        size = absolute(y)
        self.facts.append((y == 0) & (found == 0) | ~(y == 0) & (absolute(rest) < size) & ~((rest < 0) & ~(x < 0)))
        self.facts.append(~((rest > 0) & (x < 0)))
        return found

    def _named(self, what: str, x: Int, y: Int, itself: Int) -> Int:
        """The name of a number, of which the range of the term itself is known."""
        key = (what, id(x), id(y))
        if key not in self._known:
            self.count += 1
            width, signed = bits_for(itself.lo, itself.hi)
            attrs = (OPERATION, width, "unspecified", TYPES["b64"], None, what, "")
            name = make_int("freedom", (x, y), attrs)
            if what == "mul":
                self.products.append(name)
            number = sign_extend(name, width) if signed else name
            self.facts.append(~(number < itself.lo) & ~(constant(itself.hi) < number))
            self._known[key] = within(number, itself.lo, itself.hi)
        return self._known[key]  # type: ignore[no-any-return]
