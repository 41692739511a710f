"""Where an address comes from: the buffer or the variable whose beginning is part of its sum, and how far behind that it lies.

A register holds an address as a term, computed modulo a power of two. Modulo that power it is a sum of terms with factors. If the
beginning of one region stands in it once, and that of no other, the rest is the distance from that beginning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxspec.terms.core import Bool, Int, constant
from ptxspec.terms.vocabulary import TRUE, low_bits, select

#: how many regions an address may be chosen among by conditions
MOST_CASES = 64


class LinearForm(NamedTuple):
    """Terms with their factors, by the terms' ids, and a constant."""

    parts: dict[int, tuple[Any, int]]
    constant: int

    def plus(self, other: LinearForm, factor: int, modulus: int) -> LinearForm:
        parts = dict(self.parts)
        for key, (term, times) in other.parts.items():
            total = (parts.get(key, (term, 0))[1] + factor * times) % modulus
            parts[key] = (term, total)
        kept = {key: part for key, part in parts.items() if part[1]}
        return LinearForm(kept, (self.constant + factor * other.constant) % modulus)

    def term(self, bits: int) -> Int:
        """The sum as a term, modulo 2^bits."""
        half, total = 1 << (bits - 1), constant(0)
        for term, times in self.parts.values():
            total = total + term * (times if times < half else times - 2 * half)
        offset = self.constant if self.constant < half else self.constant - 2 * half
        return low_bits(total + offset, bits)


class AddressCase(NamedTuple):
    """The name of a region, how far behind its beginning an address lies, and where that is so; and whether what counts of the
    address is all of it, or the machine ignores the rest."""

    region: str
    offset: Int
    holds: Bool
    counts: Bool = TRUE


class Addresses:
    """The regions' beginnings, by the ids of their terms."""

    def __init__(self) -> None:
        self.bases: dict[int, tuple[Any, str]] = {}
        self._sums: dict[tuple[int, int], tuple[Any, LinearForm]] = {}

    def add(self, base: Int, region: str) -> None:
        self.bases[id(base)] = base, region

    def cases(self, address: Int, holds: Bool = TRUE) -> list[AddressCase] | None:
        """The regions that an address is formed from, each with its condition; None if it is formed from none."""
        if address.op == "select":
            c, x, y = address.args
            bits, sums = 64, [self.sum(a, 64) for a in (x, y)]
            if self._named(sums[0]) != self._named(sums[1]):
                cases = [self.cases(x, holds & c), self.cases(y, holds & ~c)]
                if None in cases or sum(len(f or ()) for f in cases) > MOST_CASES:
                    return None
                return [case for f in cases for case in f or ()]
        bits = address.attrs[0] if address.op == "low" else 64
        total = self.sum(address, bits)
        named = self._named(total)
        if len(named) != 1 or total.parts[named[0]][1] != 1:
            return None
        rest = LinearForm({k: p for k, p in total.parts.items() if k != named[0]}, total.constant)
        return [AddressCase(self.bases[named[0]][1], rest.term(bits), holds)]

    def _named(self, total: LinearForm) -> list[int]:
        return [key for key in total.parts if key in self.bases]

    def sum(self, term: Any, bits: int) -> LinearForm:
        """A term modulo 2^bits. Without recursion along chains, which are as long as a loop is taken often."""
        stack, done = [term], self._sums
        while stack:
            t = stack[-1]
            if (id(t), bits) in done:
                stack.pop()
                continue
            below = self._below(t, bits)
            waiting = [a for a in below if (id(a), bits) not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            done[id(t), bits] = t, self._made(t, bits, [done[id(a), bits][1] for a in below])
        return done[id(term), bits][1]

    def _below(self, t: Any, bits: int) -> list[Any]:
        """The terms whose sums a term's sum is made of; none if it counts as one thing."""
        if id(t) in self.bases:
            return []
        match t.op:
            case "add" | "sub":
                return list(t.args)
            case "mul" | "shl" if t.args[1].op == "const":
                return [t.args[0]]
            case "mul" if t.args[0].op == "const":
                return [t.args[1]]
            case "low" | "signed" if t.attrs[0] >= bits:
                return [t.args[0]]
            case "and" if t.args[1].op == "const" and low_bits(t.args[1], bits).attrs[0] == (1 << bits) - 1:
                return [t.args[0]]
            case "bounded":
                return [t.args[0]]
            case "select":
                return [t.args[1], t.args[2]]
        return []

    def _made(self, t: Any, bits: int, below: list[LinearForm]) -> LinearForm:
        modulus = 1 << bits
        if t.op == "const":
            return LinearForm({}, t.attrs[0] % modulus)
        if not below:
            return LinearForm({id(t): (t, 1)}, 0)
        nothing = LinearForm({}, 0)
        match t.op:
            case "add":
                return below[0].plus(below[1], 1, modulus)
            case "sub":
                return below[0].plus(below[1], -1, modulus)
            case "mul":
                factor = t.args[1] if t.args[1].op == "const" else t.args[0]
                return nothing.plus(below[0], factor.attrs[0], modulus)
            case "shl":
                return nothing.plus(below[0], 1 << t.args[1].attrs[0], modulus)
            case "select":
                return self._chosen(t, bits, below[0], below[1])
        return below[0]

    def _chosen(self, t: Any, bits: int, x: LinearForm, y: LinearForm) -> LinearForm:
        """What is common to both ways, and a choice between the rests; the term itself if the ways begin from other regions."""
        same = {k: p for k, p in x.parts.items() if k in self.bases and y.parts.get(k) == p}
        if [k for k in self._named(x) if k not in same] or [k for k in self._named(y) if k not in same]:
            return LinearForm({id(t): (t, 1)}, 0)
        if not same:
            return LinearForm({id(t): (t, 1)}, 0)
        rests = [LinearForm({k: p for k, p in s.parts.items() if k not in same}, s.constant).term(bits) for s in (x, y)]
        chosen = select(t.args[0], *rests)
        if chosen.op == "const":
            return LinearForm(same, chosen.attrs[0])
        return LinearForm({**same, id(chosen): (chosen, 1)}, 0)
