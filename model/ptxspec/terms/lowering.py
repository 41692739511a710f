"""From exact integers to machine words: what the native and the symbolic interpretation share.

`Lowering.low(t, n)` is the low n bits of the term t. Sums, products and bitwise operations need only the low n bits of their
arguments; shifts to the right, quotients and comparisons need their arguments whole, at the width that their range asks
for. All decisions about widths and signs are made here, once; a backend only emits operations on words of equal width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import make
from ptxspec.terms.exact import DEPTH, TooDeep, from_below
from ptxspec.terms.vocabulary import invalid_operands, known_result, maximum, meaning_of, minimum, select

#: operators that are computed at whatever width is wanted
_OF_LOW_BITS = frozenset({"add", "sub", "mul", "and", "or", "xor", "shl", "select"})


class Backend(Protocol):
    """Operations on words of n bits (values are the backend's own) and on truth values."""

    def room(self, n: int) -> int:
        """The width of words in which a number of n bits is best kept: n or more."""

    def narrows(self, width: int, n: int) -> bool:
        """Whether to compute in words of `width` bits, fewer than n, what fits there, where words of n bits are wanted."""

    def const(self, value: int, n: int) -> Any: ...
    def truth_const(self, value: bool) -> Any: ...
    def truncate(self, v: Any, n: int, to: int) -> Any: ...
    def extend(self, v: Any, n: int, to: int, signed: bool) -> Any: ...
    def binary(self, op: str, x: Any, y: Any, n: int) -> Any:
        """add sub mul and or xor shl lshr ashr udiv sdiv urem srem; a shift count is below n, a divisor is not 0."""

    def select(self, c: Any, x: Any, y: Any, n: int) -> Any: ...
    def compare(self, op: str, x: Any, y: Any, n: int) -> Any:
        """eq ult slt"""

    def logic(self, op: str, x: Any, y: Any) -> Any:
        """and or xor of truth values"""

    def bit_length(self, v: Any, n: int) -> Any: ...
    def popcount(self, v: Any, n: int) -> Any: ...
    def lookup(self, table: tuple[int, ...], v: Any, n: int, to: int) -> Any:
        """The entry at the place v, a word of n bits that is below the table's length, as a word of `to` bits, which hold it."""

    def supplies(self, name: str, static: tuple[Any, ...]) -> bool: ...
    def call(self, name: str, static: tuple[Any, ...], args: list[Any]) -> Any: ...
    def intrinsic(self, name: str, arguments: tuple[Any, ...], lowering: Lowering) -> tuple[Any, int] | None:
        """The bits of a result of a function marked by `intrinsic`, and how many these are; None to have it lowered as it
        stands."""

    def freedom(self, term: Any, lowering: Lowering) -> Any:
        """The bits of a result that PTX leaves open."""

    def invalid(self, name: str, type: Any, operands: Callable[[], list[Any]]) -> Any:
        """Whether the operands of a supplied operation are invalid; None to have that computed."""


class Lowering:
    """Lowers terms over the variables of `env` (a register's word at its own width, or a truth value)."""

    def __init__(self, backend: Backend, env: Mapping[str, Any] | Callable[[str], Any]):
        self.backend = backend
        self.env = env if callable(env) else env.__getitem__
        self._words: dict[tuple[int, int], Any] = {}
        self._truths: dict[int, Any] = {}
        self._kept: list[Any] = []  # so that the terms' ids stay theirs
        self._left = DEPTH

    def resize(self, v: Any, n: int, to: int, signed: bool) -> Any:
        if to == n:
            return v
        return self.backend.truncate(v, n, to) if to < n else self.backend.extend(v, n, to, signed)

    def low(self, t: Any, n: int) -> Any:
        """The low n bits of an Int."""
        word = self._words.get((id(t), n))
        return self._reach(t, n) if word is None else word

    def _reach(self, t: Any, n: int | None) -> Any:
        """The low n bits, or without n the truth value, of a term not met before. A term may be as deep as a fragment is long,
        so that what lies too deep is begun anew from there."""
        if self._left == 0:
            raise TooDeep((t, n))
        if self._left == DEPTH:
            return from_below((t, n), lambda what: self._emit(*what))
        return self._emit(t, n)

    def _emit(self, t: Any, n: int | None) -> Any:
        left, self._left = self._left, self._left - 1
        try:
            word = self._truth(t) if n is None else self._number(t, n)
        finally:
            self._left = left
        if n is None:
            self._truths[id(t)] = word
        else:
            self._words[id(t), n] = word
        self._kept.append(t)
        return word

    def _number(self, t: Any, n: int) -> Any:
        """The low n bits of an Int not met before."""
        known = known_result(t)
        if known is not None:
            computed = self.backend.intrinsic(known.function, known.arguments, self)
            if computed is not None:
                return self.resize(*computed, n, t.lo < 0)
        if t.op in _OF_LOW_BITS:
            width, signed = self._room(t.lo, t.hi)
            if self.backend.narrows(width, n):
                return self.resize(self.low(t, width), width, n, signed)
        return getattr(self, f"_{t.op}", self._modular)(t, n)

    def _room(self, lo: int, hi: int) -> tuple[int, bool]:
        """(width, signed): words that hold lo … hi whole."""
        width, signed = bits_for(lo, hi)
        return self.backend.room(width), signed

    def whole(self, t: Any) -> tuple[Any, int, bool]:
        """An Int at a width that holds its range: (word, width, signed)."""
        width, signed = self._room(t.lo, t.hi)
        return self.low(t, width), width, signed

    def pair(self, a: Any, b: Any) -> tuple[Any, Any, int, bool]:
        """Two Ints at one width that holds both."""
        width, signed = self._room_of_both(a, b)
        return self.low(a, width), self.low(b, width), width, signed

    def _room_of_both(self, a: Any, b: Any) -> tuple[int, bool]:
        (wa, sa), (wb, sb) = bits_for(a.lo, a.hi), bits_for(b.lo, b.hi)
        signed = sa or sb
        return self.backend.room(max(wa + (signed and not sa), wb + (signed and not sb))), signed

    def _compared(self, a: Any, b: Any) -> tuple[Any, Any, int, bool]:
        """Two Ints at one width, or numbers that compare as they do: of a power of two that is greater than the other number, it
        need not be known how great it is."""
        if "shl" in (a.op, b.op):
            less, other = (_shifted_beyond(x, y) for x, y in ((a, b), (b, a)))
            if self.backend.narrows(self._room_of_both(less, other)[0], self._room_of_both(a, b)[0]):
                self._kept += [less, other]
                a, b = less, other
        return self.pair(a, b)

    def _modular(self, t: Any, n: int) -> Any:
        """add, sub, mul, and, or, xor: the low bits depend only on low bits."""
        a, b = t.args
        return self.backend.binary(t.op, self.low(a, n), self.low(b, n), n)

    def _const(self, t: Any, n: int) -> Any:
        return self.backend.const(t.attrs[0] & ((1 << n) - 1), n)

    def _var(self, t: Any, n: int) -> Any:
        name, width = t.attrs
        return self.resize(self.env(name), width, n, False)

    def _select(self, t: Any, n: int) -> Any:
        c, a, b = t.args
        return self.backend.select(self.truth(c), self.low(a, n), self.low(b, n), n)

    def _low(self, t: Any, n: int) -> Any:
        (a,), (k,) = t.args, t.attrs
        if n <= k:
            return self.low(a, n)
        width = min(self.backend.room(k), n)
        word = self.low(a, width)
        if width > k:
            word = self.backend.binary("and", word, self.backend.const((1 << k) - 1, width), width)
        return self.resize(word, width, n, False)

    def _signed(self, t: Any, n: int) -> Any:
        (a,), (k,) = t.args, t.attrs
        if n <= k:
            return self.low(a, n)
        width = min(self.backend.room(k), n)
        word = self.low(a, width)
        if width > k:
            by = self.backend.const(width - k, width)
            word = self.backend.binary("ashr", self.backend.binary("shl", word, by, width), by, width)
        return self.resize(word, width, n, True)

    def _bounded(self, t: Any, n: int) -> Any:
        width, signed = self._room(t.lo, t.hi)
        return self.low(t.args[0], n) if n <= width else self.resize(self.low(t.args[0], width), width, n, signed)

    def _shl(self, t: Any, n: int) -> Any:
        a, count = t.args
        zero = self.backend.const(0, n)
        if count.lo >= n:
            return zero
        shifted = self.backend.binary("shl", self.low(a, n), self.low(count, n), n)
        if count.hi < n:
            return shifted
        return self.backend.select(self._less(count, n), shifted, zero, n)

    def _less(self, count: Any, limit: int) -> Any:
        """count < limit, for a count that is never negative."""
        width = self.backend.room(max(bits_for(count.lo, count.hi)[0], limit.bit_length()))
        return self.backend.compare("ult", self.low(count, width), self.backend.const(limit, width), width)

    def _shr(self, t: Any, n: int) -> Any:
        a, count = t.args
        width, signed = self._room(a.lo, a.hi)
        once = self._shifted_once(a, count, width)
        if once is not None:
            return self.low(once, n)
        if count.op == "const" and count.attrs[0] < width:
            by = count.attrs[0]
            enough = min(width, self.backend.room(n + by))  # the bits above are shifted out of sight
            op = "ashr" if signed and enough == width else "lshr"
            shifted = self.backend.binary(op, self.low(a, enough), self.backend.const(by, enough), enough)
            return self.resize(shifted, enough, n, signed)
        word = self.low(a, width)
        # a count at or beyond the width leaves only copies of the sign, or zeros
        beyond = self.backend.const(width - 1, width)
        amount = self.low(count, width)
        if count.hi >= width:
            within = self._less(count, width)
            amount = self.backend.select(within, amount, beyond, width)
        shifted = self.backend.binary("ashr" if signed else "lshr", word, amount, width)
        if count.hi >= width and not signed:
            shifted = self.backend.select(within, shifted, self.backend.const(0, width), width)
        return self.resize(shifted, width, n, signed)

    def _shifted_once(self, a: Any, count: Any, width: int) -> Any:
        """Where what is to be shifted to the right was shifted to the left before, in wider words than that needs: the difference
        of the two shifts; None elsewhere."""
        if a.op != "shl" or a.args[1].op != "const":
            return None
        x, left = a.args
        if not self.backend.narrows(self._room(x.lo, x.hi)[0], width):
            return None
        once = select(count < left, x << maximum(left - count, 0), x >> maximum(count - left, 0))
        self._kept.append(once)
        return once

    def _divide(self, t: Any, n: int) -> Any:
        x, y, width, signed = self.pair(*t.args)
        b, is_quotient = self.backend, t.op == "quotient"
        zero, unit, minus = b.const(0, width), b.const(1, width), b.const((1 << width) - 1, width)
        by_zero = b.compare("eq", y, zero, width)
        divisor = b.select(by_zero, unit, y, width)
        if signed:  # the quotient by −1 may need one bit more: its low bits are those of the negation
            by_minus = b.compare("eq", y, minus, width)
            divisor = b.select(by_minus, unit, divisor, width)
        op = ("s" if signed else "u") + ("div" if is_quotient else "rem")
        result = b.binary(op, x, divisor, width)
        if is_quotient:
            if signed:
                result = b.select(by_minus, b.binary("sub", zero, x, width), result, width)
            result = b.select(by_zero, zero, result, width)
        else:
            result = b.select(by_zero, x, result, width)
        # when the quotient can outgrow `width` it does so by one bit, at the most negative over −1 alone
        if n > width and signed and is_quotient:
            wide = b.extend(result, width, n, True)
            negated = b.binary("sub", b.const(0, n), b.extend(x, width, n, True), n)
            return b.select(by_minus, negated, wide, n)
        return self.resize(result, width, n, signed)

    _quotient = _remainder = _divide

    def _bit_length(self, t: Any, n: int) -> Any:
        word, width, _ = self.whole(t.args[0])
        return self.resize(self.backend.bit_length(word, width), width, n, False)

    def _popcount(self, t: Any, n: int) -> Any:
        word, width, _ = self.whole(t.args[0])
        return self.resize(self.backend.popcount(word, width), width, n, False)

    def _root(self, t: Any, n: int) -> Any:
        """Digit by digit from the top: `rest` is what is left of the radicand, `root` the root so far, both in the place of
        the digit that is tried."""
        rest, width, _ = self.whole(t.args[0])
        b, root = self.backend, self.backend.const(0, width)
        for place in range((bits_for(t.args[0].lo, t.args[0].hi)[0] - 1) & ~1, -1, -2):
            digit = b.const(1 << place, width)
            tried = b.binary("or", root, digit, width)
            too_large = b.compare("ult", rest, tried, width)
            rest = b.select(too_large, rest, b.binary("sub", rest, tried, width), width)
            half = b.binary("lshr", root, b.const(1, width), width) if width > 1 else b.const(0, width)
            root = b.select(too_large, half, b.binary("or", half, digit, width), width)
        return self.resize(root, width, n, False)

    def _call(self, t: Any, n: int) -> Any:
        name, width, *static = t.attrs
        if self.backend.supplies(name, tuple(static)):
            word = self.backend.call(name, tuple(static), [self.low(a, width) for a in t.args])
        else:
            body, names = meaning_of(t)
            inputs = {name: self.low(a, width) for name, a in zip(names, t.args, strict=True)}
            word = Lowering(self.backend, inputs).low(body, width)
        return self.resize(word, width, n, False)

    def _lookup(self, t: Any, n: int) -> Any:
        (index,), (table,) = t.args, t.attrs
        word, places, _ = self.whole(index)
        width, signed = self._room(min(table), max(table))
        return self.resize(self.backend.lookup(table, word, places, width), width, n, signed)

    def _freedom(self, t: Any, n: int) -> Any:
        return self.resize(self.backend.freedom(t, self), t.attrs[1], n, False)

    def truth(self, t: Any) -> Any:
        """A Bool."""
        word = self._truths.get(id(t))
        return self._reach(t, None) if word is None else word

    def _truth(self, t: Any) -> Any:
        b = self.backend
        if t.op == "const":
            return b.truth_const(t.attrs[0])
        if t.op == "var":
            return self.env(t.attrs[0])
        of = invalid_operands(t)
        if of is not None:
            name, type, operands = of
            shortcut = b.invalid(name, type, lambda: [self.low(o, type.width) for o in operands])
            if shortcut is not None:
                return shortcut
        if t.op in ("eq", "lt"):
            x, y, width, signed = self._compared(*t.args)
            return b.compare("eq" if t.op == "eq" else "slt" if signed else "ult", x, y, width)
        if t.op == "not":
            return b.logic("xor", self.truth(t.args[0]), b.truth_const(True))
        return b.logic({"all": "and", "any": "or", "differ": "xor"}[t.op], *map(self.truth, t.args))


def _shifted_beyond(x: Any, other: Any) -> Any:
    """Of a positive constant that is shifted to the left, one that is shifted no further than beyond all that `other` may be; of
    all else x."""
    if x.op != "shl" or x.args[0].op != "const" or x.args[0].attrs[0] <= 0:
        return x
    return make("shl", (x.args[0], minimum(x.args[1], max(other.hi, 0).bit_length())))
