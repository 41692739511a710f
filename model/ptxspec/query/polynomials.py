"""Terms that are equal by the laws of sums, products and carries, made one term.

Solvers take numbers apart into bits, and find it hard that a product is the sum of the products of its parts, or that two
chains of carries add up to the same. Exact integers obey the laws of a ring, and what a word drops or carries is a floor. So each
term is known as a polynomial over *atoms*, which are inputs, floors, and whatever these laws do not tell of, and terms with one
polynomial are one number: the first of them stands for all. proofs/carries-and-products.md states the laws, and has them proved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ptxspec.query.solvers.domains import Domain, demanded
from ptxspec.terms.core import Bool, constant, truth
from ptxspec.terms.vocabulary import FALSE, TRUE, rebuilt, with_arguments, within

#: the numbers of the atoms that are multiplied, in order -> how often the product is added
Polynomial = dict[tuple[int, ...], int]
#: the least and the greatest number that something may be
Range = tuple[int, int]
#: a polynomial that can be looked up
Key = tuple[tuple[tuple[int, ...], int], ...]

#: products in a polynomial, above which a term is an atom; and in those that a choice between two terms multiplies
MOST, MOST_CHOSEN = 96, 24
#: factors of a product, above which it is an atom
MOST_FACTORS = 12
#: bits to which a floor is taken of floors
MOST_BITS = 1024
_ONE: tuple[int, ...] = ()


def _constant(value: int) -> Polynomial:
    return {_ONE: value} if value else {}


def _sum(p: Polynomial, q: Polynomial, factor: int = 1) -> Polynomial:
    """p + factor · q."""
    total = dict(p)
    for product, count in q.items():
        coefficient = total.get(product, 0) + factor * count
        if coefficient:
            total[product] = coefficient
        else:
            total.pop(product, None)
    return total


def _times(p: Polynomial, factor: int) -> Polynomial:
    return {product: factor * count for product, count in p.items()} if factor else {}


def _value(p: Polynomial) -> int | None:
    """The number that a polynomial is; None if it has atoms."""
    return p.get(_ONE, 0) if all(product == _ONE for product in p) else None


def _key(p: Polynomial) -> Key:
    return tuple(sorted(p.items()))


class Normal:
    """The polynomials of terms, where a condition holds."""

    def __init__(self, given: Bool, domains: Mapping[str, Domain]):
        self._domains = domains
        #: of each atom, by its number: its range, and if it is the floor of a polynomial by 2^n, these two
        self._ranges: list[Range] = []
        self._floors: list[tuple[Polynomial, int] | None] = []
        self._numbers: dict[Any, int] = {}
        #: of an atom that combines the bits of two polynomials: how, and these with their ranges
        self._bits: dict[int, tuple[str, Polynomial, Range, Polynomial, Range]] = {}
        #: ranges of polynomials without a constant, where the condition says more than that of their atoms
        self._known: dict[Key, Range] = {}
        self._noted_ranges: list[tuple[Polynomial, int, int]] = []
        #: by n: floors by 2^n of what is left of these polynomials without multiples of 2^n; how many of them were looked at
        self._by_rest: dict[int, tuple[dict[Key, Polynomial], int]] = {}
        #: by id: the polynomial of a term, of a truth value as 0 or 1; and the terms, so that their ids stay theirs
        self._polynomials: dict[int, Polynomial] = {}
        self._kept: list[Any] = []
        self._terms: dict[tuple[bool, Key], Any] = {}
        self._memo: dict[int, Any] = {}
        for part in demanded(self.term(given)):
            if part.op == "const":
                continue
            self._note_range(part)
            self._terms[True, _key(self._polynomial(part))] = TRUE
            self._terms[True, _key(self._not(self._polynomial(part)))] = FALSE
        self._kept.append(given)
        self._memo = {}

    def _note_range(self, part: Any) -> None:
        """Keep what a comparison that holds says of the range of a polynomial."""
        holds, test = (False, part.args[0]) if part.op == "not" else (True, part)
        if test.op not in ("lt", "eq") or (test.op == "eq" and not holds):
            return
        x, y = test.args
        p = _sum(self._polynomial(x), self._polynomial(y), -1)
        lo, hi = self._range(p)
        self._noted(p, *((0, 0) if test.op == "eq" else (lo, min(hi, -1)) if holds else (max(lo, 0), hi)))

    def _noted(self, p: Polynomial, lo: int, hi: int) -> Range:
        """The range of a polynomial, of which it is kept that it lies in lo … hi."""
        least, most = self._range(p)
        if least >= lo and most <= hi:
            return least, most
        lo, hi = max(lo, least), min(hi, most)
        constant, key, sign = _stripped(p)
        ends = sorted((sign * (lo - constant), sign * (hi - constant)))
        self._known[key] = ends[0], ends[1]
        self._noted_ranges.append((p, lo, hi))
        return lo, hi

    def term(self, term: Any) -> Any:
        """The term, with one term for all that have one polynomial."""
        self._kept.append(term)
        return rebuilt(term, self._replace, self._memo)

    def _replace(self, term: Any, args: tuple[Any, ...]) -> Any:
        made = with_arguments(term, args)
        is_truth, seen = isinstance(made, Bool), self._polynomials.get(id(made))
        if made.op == "const" or (seen is not None and self._terms.get((is_truth, _key(seen))) is made):
            return made
        p = self._truth(made) if is_truth else self._integer(made, max(term.lo, made.lo), min(term.hi, made.hi))
        value = _value(p)
        if value is not None:
            return truth(bool(value)) if is_truth else constant(value)
        representative = self._terms.setdefault((is_truth, _key(p)), made)
        if representative is made:
            self._keep(made, p)
        if is_truth:
            return representative
        lo, hi = self._noted(p, max(term.lo, made.lo), min(term.hi, made.hi))
        known = constant(lo) if lo == hi else within(representative, lo, hi)
        if known is not representative and id(known) not in self._polynomials:
            self._keep(known, p)
        return known

    def _keep(self, term: Any, p: Polynomial) -> None:
        self._polynomials[id(term)] = p
        self._kept.append(term)

    def _polynomial(self, term: Any) -> Polynomial:
        """The polynomial of a term that was seen."""
        if term.op == "const":
            return _constant(int(term.attrs[0]))
        p = self._polynomials.get(id(term))
        if p is None:  # made on the way to another term, and no more than an atom
            p = self._truth(term) if isinstance(term, Bool) else self._integer(term, term.lo, term.hi)
            self._keep(term, p)
        return p

    # Atoms and ranges ------------------------------------------------------------------------------------------------------

    def _atom(self, key: Any, lo: int, hi: int, floor: tuple[Polynomial, int] | None = None) -> Polynomial:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._ranges)
            self._ranges.append((lo, hi))
            self._floors.append(floor)
        known = self._ranges[number]
        self._ranges[number] = max(lo, known[0]), min(hi, known[1])
        return {(number,): 1}

    def _opaque(self, term: Any, lo: int, hi: int) -> Polynomial:
        """A term as an atom."""
        return self._atom((term.op, term.attrs, *[_key(self._polynomial(a)) for a in term.args]), lo, hi)

    def _range(self, p: Polynomial) -> Range:
        lo = hi = 0
        for product, count in p.items():
            least = most = count
            for number in product:
                ends = [x * y for x in (least, most) for y in self._ranges[number]]
                least, most = min(ends), max(ends)
            lo, hi = lo + least, hi + most
        if self._known:
            constant, key, sign = _stripped(p)
            known = self._known.get(key)
            if known is not None:
                least, most = sorted((sign * known[0], sign * known[1]))
                lo, hi = max(lo, least + constant), min(hi, most + constant)
        return lo, hi

    def _within(self, p: Polynomial, lo: int, hi: int) -> Range:
        least, most = self._range(p)
        return max(lo, least), min(hi, most)

    # Laws ------------------------------------------------------------------------------------------------------------------

    def _product(self, p: Polynomial, q: Polynomial, most: int = MOST) -> Polynomial | None:
        """p · q; None if it is too long."""
        if len(p) * len(q) > most or max(map(len, p), default=0) + max(map(len, q), default=0) > MOST_FACTORS:
            return None
        product: Polynomial = {}
        for x, count in p.items():
            for y, times in q.items():
                atoms, sign = self._atoms(x + y)
                product = _sum(product, {atoms: sign * count * times})
        return product

    def _atoms(self, product: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """(a product without squares of 0 and 1, or of 0 and −1, in order; its sign)"""
        atoms: list[int] = []
        sign = 1
        for number in sorted(product):
            if atoms and atoms[-1] == number and self._ranges[number] in ((0, 1), (-1, 0)):
                sign *= sum(self._ranges[number])
            else:
                atoms.append(number)
        return tuple(atoms), sign

    def _floor(self, p: Polynomial, n: int, lo: int, hi: int) -> Polynomial:
        """⌊p / 2^n⌋, for a polynomial that lies in lo … hi."""
        lo, hi = self._within(p, lo, hi)
        floor = self._by_floors(p, n, lo, hi)
        self._noted(floor, lo >> n, hi >> n)
        return floor

    def _by_floors(self, p: Polynomial, n: int, lo: int, hi: int) -> Polynomial:
        total: Polynomial = {}
        while True:
            lo, hi = self._within(p, lo, hi)
            if lo >> n == hi >> n:
                return _sum(total, _constant(lo >> n))
            if -1 <= lo and hi <= 0:
                return _sum(total, p)
            whole, rest = _parts(p, n)
            if whole:  # ⌊(x + 2^n y) / 2^n⌋ = ⌊x / 2^n⌋ + y
                total, p = _sum(total, whole), rest
                lo, hi = self._range(p)
                continue
            known = self._known_floor(p, n)
            if known is not None:
                return _sum(total, known)
            twos = min(_twos(count) for product, count in p.items() if product != _ONE)
            if twos:  # ⌊(2^k x + c) / 2^n⌋ = ⌊x / 2^(n−k)⌋, for 0 ≤ c < 2^k
                by = min(twos, n)
                p = {product: count >> by for product, count in p.items() if count >> by}
                n, lo, hi = n - by, lo >> by, hi >> by
                continue
            inner = self._inner(p)
            if inner is not None and n + inner[2] <= MOST_BITS:  # ⌊(⌊x / 2^m⌋ + y) / 2^n⌋ = ⌊(x + 2^m y) / 2^(m+n)⌋
                number, below, by = inner
                p = _sum(_times(_sum(p, {(number,): 1}, -1), 1 << by), below)
                n, lo, hi = n + by, lo << by, (hi << by) + (1 << by) - 1
                continue
            single = [product[0] for product, count in p.items() if len(product) == 1 == count]
            bits = self._bits.get(single[0]) if len(p) == len(single) == 1 else None
            if bits is not None:  # ⌊(x ^ y) / 2^n⌋ = ⌊x / 2^n⌋ ^ ⌊y / 2^n⌋
                op, x, in_x, y, in_y = bits
                shifted = [
                    (self._floor(t, n, *ends), (ends[0] >> n, ends[1] >> n)) for t, ends in ((x, in_x), (y, in_y))
                ]
                return _sum(total, self._bitwise(op, *shifted[0], *shifted[1]))
            return _sum(total, self._atom(("floor", _key(p), n), lo >> n, hi >> n, (p, n)))

    def _known_floor(self, rest_of: Polynomial, n: int) -> Polynomial | None:
        """The floor of a polynomial that is, but for multiples of 2^n, one of which the floor is a known number."""
        floors, done = self._by_rest.get(n, ({}, 0))
        for p, lo, hi in self._noted_ranges[done:]:
            if lo >> n == hi >> n:
                whole, rest = _parts(p, n)
                floors.setdefault(_key(rest), _sum(_constant(lo >> n), whole, -1))
        self._by_rest[n] = floors, len(self._noted_ranges)
        return floors.get(_key(rest_of))

    def _inner(self, p: Polynomial) -> tuple[int, Polynomial, int] | None:
        """(number, polynomial, bits) of a floor that is added once; of several that of the most bits."""
        inner = None
        for product, count in sorted(p.items()):
            floor = self._floors[product[0]] if len(product) == 1 and count == 1 else None
            if floor is not None and (inner is None or floor[1] > inner[2]):
                inner = (product[0], *floor)
        return inner

    def _low(self, p: Polynomial, n: int, lo: int, hi: int) -> Polynomial:
        """p modulo 2^n."""
        low = _sum(p, self._floor(p, n, lo, hi), -(1 << n))
        self._noted(low, 0, (1 << n) - 1)
        return low

    def _is_negative(self, p: Polynomial, lo: int, hi: int) -> Polynomial:
        """1 where a polynomial that lies in lo … hi is less than 0, else 0."""
        lo, hi = self._within(p, lo, hi)
        n = max((~lo).bit_length() if lo < 0 else 0, hi.bit_length() if hi > 0 else 0)
        return _times(self._floor(p, n, lo, hi), -1)

    def _is_zero(self, p: Polynomial, lo: int, hi: int) -> Polynomial:
        """1 where a polynomial that lies in lo … hi is 0, else 0."""
        lo, hi = self._within(p, lo, hi)
        if not lo <= 0 <= hi:
            return {}
        if hi - lo <= 1:
            return _sum(_constant(1), p, -1 if hi else 1)
        p = self._without_sign(p)
        n = max(-lo, hi).bit_length()  # where |p| < 2^n, p is 0 if it is a multiple of 2^n
        p = {product: c for product, count in p.items() if (c := count - (_whole(count, n) << n))}
        if not p:
            return _constant(1)
        if p[min(p)] < 0:
            p = _times(p, -1)
        least, most = self._range(p)
        modulus = n if max(-least, most) >> n else None
        if modulus is None:
            if not least <= 0 <= most:
                return {}
            common = math.gcd(*(count for product, count in p.items() if product != _ONE))
            if p.get(_ONE, 0) % common:
                return {}
            p = {product: count // common for product, count in p.items()}
            single = self._single(p)
            if single is not None:
                return single
        return self._atom(("zero", _key(p), modulus), 0, 1)

    def _without_sign(self, p: Polynomial) -> Polynomial:
        """A polynomial of the same magnitude, times 1 − 2s for an s that is 0 or 1 where that makes it shorter."""
        for number in sorted(
            {number for product in p for number in product if self._ranges[number] in ((0, 1), (-1, 0))}
        ):
            sign = _sum(_constant(1), {(number,): sum(self._ranges[number])}, -2)
            other = self._product(p, sign)
            if other is not None and len(other) < len(p):
                p = other
        return p

    def _single(self, p: Polynomial) -> Polynomial | None:
        """1 where a polynomial is 0, else 0, if it is an atom that is 0 or 1, or 0 or −1, and a constant."""
        atoms = [product for product in p if product != _ONE]
        if len(atoms) != 1 or len(atoms[0]) != 1 or abs(p[atoms[0]]) != 1:
            return None
        ends = self._ranges[atoms[0][0]]
        zero = -p.get(_ONE, 0) * p[atoms[0]]  # the value of the atom where the polynomial is 0
        if ends not in ((0, 1), (-1, 0)) or zero not in ends:
            return None
        size: Polynomial = {atoms[0]: sum(ends)}
        return size if zero else self._not(size)

    def _not(self, p: Polynomial) -> Polynomial:
        return _sum(_constant(1), p, -1)

    # Operators -------------------------------------------------------------------------------------------------------------

    def _truth(self, term: Any) -> Polynomial:
        """A truth value as 0 or 1."""
        parts = [self._polynomial(a) for a in term.args]
        p: Polynomial | None = None
        if term.op in ("eq", "lt"):
            x, y = term.args
            difference = _sum(parts[0], parts[1], -1)
            lo, hi = x.lo - y.hi, x.hi - y.lo
            p = (self._is_zero if term.op == "eq" else self._is_negative)(difference, lo, hi)
        elif term.op == "not":
            p = self._not(parts[0])
        elif term.op in ("all", "any", "differ"):
            both = self._product(parts[0], parts[1], MOST_CHOSEN)
            if both is not None:
                factor = {"all": 0, "any": -1, "differ": -2}[term.op]
                p = _sum(_sum(parts[0], parts[1]), both, factor) if factor else both
        if p is None or len(p) > MOST:
            p = self._opaque(term, 0, 1)
        known = self._terms.get((True, _key(p)))
        return p if known is None or known.op != "const" else _constant(int(known.attrs[0]))

    def _integer(self, term: Any, lo: int, hi: int) -> Polynomial:
        p = self._by_law(term, lo, hi)
        return self._opaque(term, lo, hi) if p is None or len(p) > MOST else p

    def _by_law(self, term: Any, lo: int, hi: int) -> Polynomial | None:
        """The polynomial of a term that the laws tell of."""
        op, args, attrs = term.op, term.args, term.attrs
        if op == "var":
            domain = self._domains.get(attrs[0])
            return None if domain is None else self._atom(attrs, max(lo, domain.low), min(hi, domain.high))
        if op in ("freedom", "call", "lookup", "root", "bit_length", "popcount"):
            return None
        parts = [self._polynomial(a) for a in args]
        if op == "bounded":
            return parts[0]
        if op == "add":
            return _sum(parts[0], parts[1])
        if op == "sub":
            return _sum(parts[0], parts[1], -1)
        if op == "mul":
            return self._product(parts[0], parts[1])
        if op == "select":
            return self._chosen(*parts)
        if op in ("shl", "shr"):
            count = _value(parts[1])
            if count is None or count > MOST_BITS:
                return None
            return _times(parts[0], 1 << count) if op == "shl" else self._floor(parts[0], count, args[0].lo, args[0].hi)
        if op == "low":
            return self._low(parts[0], attrs[0], args[0].lo, args[0].hi)
        if op == "signed":
            return self._signed(parts[0], attrs[0], args[0].lo, args[0].hi)
        if op in ("quotient", "remainder"):
            return self._divided(op, args, parts)
        return self._bitwise(op, parts[0], (args[0].lo, args[0].hi), parts[1], (args[1].lo, args[1].hi))

    def _chosen(self, c: Polynomial, p: Polynomial, q: Polynomial) -> Polynomial | None:
        """p where c is 1, q where it is 0."""
        product = self._product(c, _sum(p, q, -1), MOST_CHOSEN)
        return None if product is None else _sum(q, product)

    def _signed(self, p: Polynomial, n: int, lo: int, hi: int) -> Polynomial:
        """The low n bits as a two's complement number."""
        lo, hi = self._within(p, lo, hi)
        if -(1 << (n - 1)) <= lo and hi < 1 << (n - 1):
            return p
        p = self._low(p, n, lo, hi)
        return _sum(p, self._floor(p, n - 1, 0, (1 << n) - 1), -(1 << n))

    def _divided(self, op: str, args: tuple[Any, ...], parts: list[Polynomial]) -> Polynomial | None:
        """A quotient as that of the magnitudes, with its sign, and a remainder as what it leaves."""
        signs: list[Polynomial] = []
        sizes: list[Polynomial] = []
        for a, p in zip(args, parts, strict=True):
            negative = self._is_negative(p, a.lo, a.hi)
            size = self._chosen(negative, _times(p, -1), p)
            if size is None:
                return None
            signs.append(_sum(_constant(1), negative, -2))
            sizes.append(size)
        x = args[0]
        most = self._within(sizes[0], 0, max(abs(x.lo), abs(x.hi)))[1]
        by = _value(sizes[1])
        quotient: Polynomial | None
        if by is not None and by > 0 and by & (by - 1) == 0:
            quotient = self._floor(sizes[0], by.bit_length() - 1, 0, most)
        else:
            quotient = self._atom(("quotient", *map(_key, sizes)), 0, most)
        for sign in signs:
            quotient = None if quotient is None else self._product(quotient, sign)
        if op == "quotient" or quotient is None:
            return quotient
        product = self._product(quotient, parts[1])
        return None if product is None else _sum(parts[0], product, -1)

    def _bitwise(self, op: str, p: Polynomial, in_p: Range, q: Polynomial, in_q: Range) -> Polynomial:
        """x | y, x & y or x ^ y."""
        in_p, in_q = self._within(p, *in_p), self._within(q, *in_q)
        if in_p == in_q == (0, 1):
            both = self._product(p, q, MOST_CHOSEN)
            if both is not None:
                return both if op == "and" else _sum(_sum(p, q), both, -1 if op == "or" else -2)
        total = self._by_place(op, p, in_p, q, in_q)
        total = self._by_place(op, q, in_q, p, in_p) if total is None else total
        if total is not None:
            return total
        first, second = sorted((_key(p), _key(q)))
        lo, hi = _bitwise_range(op, in_p, in_q)
        number = next(iter(self._atom((op, first, second), lo, hi)))[0]
        self._bits[number] = op, p, in_p, q, in_q
        return {(number,): 1}

    def _by_place(self, op: str, p: Polynomial, in_p: Range, q: Polynomial, in_q: Range) -> Polynomial | None:
        """The same as a sum, where the bits of x lie above those of y, or x is a mask."""
        (lo, hi), (least, most) = in_p, in_q
        if not p:
            return {} if op == "and" else q
        if op != "and" and least >= 0 and min(map(_twos, p.values())) >= most.bit_length():
            return _sum(p, q)
        if op == "or":
            return None
        value = _value(p)
        if op == "and" and value is not None:
            return self._masked(q, least, most, value)
        mask, is_set = self._mask(p, lo, hi, least, most)
        if is_set is None:
            return None
        return self._product(is_set, q) if op == "and" else self._chosen(is_set, _sum(_constant(mask), q, -1), q)

    def _mask(self, p: Polynomial, lo: int, hi: int, least: int, most: int) -> tuple[int, Polynomial | None]:
        """(a mask of all bits of numbers from `least` to `most`; 1 where a polynomial is that mask, 0 where it is 0), or None
        instead for a polynomial that is others, too."""
        if -1 <= lo and hi <= 0:
            return -1, _times(p, -1)
        mask = (1 << max(most.bit_length(), hi.bit_length())) - 1
        if least < 0 or lo < 0 or any(count % mask for count in p.values()):
            return mask, None
        is_set = {product: count // mask for product, count in p.items()}
        return mask, is_set if self._within(is_set, 0, hi // mask)[1] <= 1 else None

    def _masked(self, p: Polynomial, lo: int, hi: int, mask: int) -> Polynomial | None:
        """x & mask, for a mask with one run of ones."""
        low = _twos(mask)
        run = mask >> low
        if run & (run + 1):
            return None
        above = p if mask < 0 else self._low(p, low + run.bit_length(), lo, hi)
        return _sum(above, self._low(p, low, lo, hi), -1) if low else above


def _stripped(p: Polynomial) -> tuple[int, Key, int]:
    """(the constant of a polynomial, the rest or what is opposite to it, 1 or −1)"""
    rest = {product: count for product, count in p.items() if product != _ONE}
    sign = -1 if rest and rest[min(rest)] < 0 else 1
    return p.get(_ONE, 0), _key(_times(rest, sign)), sign


def _parts(p: Polynomial, n: int) -> tuple[Polynomial, Polynomial]:
    """(x, y), where the polynomial is 2^n x + y."""
    whole = {product: w for product, count in p.items() if (w := _whole(count, n, product == _ONE))}
    return whole, _sum(p, whole, -(1 << n))


def _whole(count: int, n: int, is_constant: bool = False) -> int:
    """How often 2^n is taken out of a number. What is left of a constant is from 0 to 2^n − 1, of another the half of that on
    both sides of 0."""
    return count >> n if is_constant else -(((1 << n >> 1) - count) >> n)


def _bitwise_range(op: str, first: Range, second: Range) -> Range:
    """The range of a bitwise operator's result."""
    if op == "and" and (first[0] >= 0 or second[0] >= 0):
        return 0, min(hi for lo, hi in (first, second) if lo >= 0)
    width = max((~end if end < 0 else end).bit_length() for end in (*first, *second))
    return (0 if first[0] >= 0 and second[0] >= 0 else -1 << width), (1 << width) - 1


def _twos(count: int) -> int:
    """How often 2 divides a number other than 0."""
    return (count & -count).bit_length() - 1
