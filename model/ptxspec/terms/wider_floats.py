"""Arithmetic of narrow formats by wider arithmetic of the processor: half precision and bfloat16 to nearest, and single precision
in one direction.

Every number of half precision and of bfloat16 is one of single precision, and every product of two numbers of single precision is
exact in double precision.

Sums and products: single precision has 24 bits. That is twice the bits of half precision and two more, so that rounding twice
gives what rounding once does. A product of bfloat16 has 16 bits. It is exact in single precision, unless it is so small that both
ways make zero of it. All pairs were compared once (`tests/terms/test_wider_floats.py`).

All else: a product is exact in double precision. A sum is rounded there, and what it lacks is exact (Knuth's TwoSum, whose only
condition is that nothing overflows). That is at most half a unit of the double's last place. So it does not change the sign of
the difference of the double and the number of single precision next to it, and it is known on which side of that number the
exact result is. The result rounded in a direction is that number, or the next one on this side.

A fused multiply-add of the narrow formats is *rounded to odd* in single precision first: if it is no number of that, it becomes
that one of the two neighbours whose last bit is 1. Where the wider format has at least two bits more, rounding this gives what
rounding the exact number does, because it is a tie, or a number of the narrower format, only if the exact number is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: the formats, each with the roundings that are computed so, and with what the processor must have for it
FORMATS = {"f16": (("rn",), "+f16c"), "bf16": (("rn",), ""), "f32": (("rz", "rm", "rp"), "")}
#: what is computed so, and the processor's operation
_OPERATIONS = {"sum": "fadd", "product": "fmul", "fused": ""}

#: appends `%n = text` and names it, and gives LLVM's type of so many elements
Append = Callable[[str], str]
TypeOf = Callable[[str], str]


def has(name: str, static: tuple[Any, ...], features: str) -> bool:
    """Whether an operation is computed so on a processor with these features."""
    type, rounding, ftz = static
    roundings, needed = FORMATS.get(type.name, ((), ""))
    return name in _OPERATIONS and rounding in roundings and needed in features and not ftz


def computed(name: str, format: str, rounding: str, args: list[str], append: Append, of: TypeOf) -> str:
    """The bits of an operation's result, of bits of its operands; not of NaNs, nor where the result is one."""
    numbers = [_single(a, format, append, of) for a in args]
    if format == "f32":
        return _Doubled(name, numbers, append, of).directed(rounding)
    if name == "fused":
        return _narrowed(_Doubled(name, numbers, append, of).odd(), format, append, of)
    result = append(f"{_OPERATIONS[name]} {of('float')} {', '.join(numbers)}")
    return _narrowed(append(f"bitcast {of('float')} {result} to {of('i32')}"), format, append, of)


def _single(bits: str, format: str, append: Append, of: TypeOf) -> str:
    """A number of the format in single precision."""
    if format == "f32":
        return append(f"bitcast {of('i32')} {bits} to {of('float')}")
    if format == "f16":
        half = append(f"bitcast {of('i16')} {bits} to {of('half')}")
        return append(f"fpext {of('half')} {half} to {of('float')}")
    word = append(f"zext {of('i16')} {bits} to {of('i32')}")
    word = append(f"shl {of('i32')} {word}, {_constant('i32', 16, of)}")
    return append(f"bitcast {of('i32')} {word} to {of('float')}")


def _narrowed(bits: str, format: str, append: Append, of: TypeOf) -> str:
    """A number of single precision, rounded to the format. A carry out of the fraction belongs into the exponent."""
    word, single = of("i32"), of("float")
    if format == "f16":
        number = append(f"bitcast {word} {bits} to {single}")
        half = append(f"fptrunc {single} {number} to {of('half')}")
        return append(f"bitcast {of('half')} {half} to {of('i16')}")
    sixteen, one = _constant("i32", 16, of), _constant("i32", 1, of)
    last = append(f"and {word} {append(f'lshr {word} {bits}, {sixteen}')}, {one}")
    below_half = append(f"add {word} {bits}, {_constant('i32', 0x7FFF, of)}")
    rounded = append(f"lshr {word} {append(f'add {word} {below_half}, {last}')}, {sixteen}")
    return append(f"trunc {word} {rounded} to {of('i16')}")


class _Doubled:
    """A result in double precision, and the number of single precision next to it, `bits`; `side` has the sign of what the exact
    result is more than that."""

    def __init__(self, name: str, numbers: list[str], append: Append, of: TypeOf):
        self.append, self.of, self.double, self.word = append, of, of("double"), of("i32")
        wide = [append(f"fpext {of('float')} {number} to {self.double}") for number in numbers]
        first, *last = wide if name == "sum" else [self._real("fmul", *wide[:2]), *wide[2:]]
        self.parts = [first, *last]
        self.total = self._real("fadd", first, last[0]) if last else first
        near = append(f"fptrunc {self.double} {self.total} to {of('float')}")
        self.bits = append(f"bitcast {of('float')} {near} to {self.word}")
        self.side = self._real("fsub", self.total, append(f"fpext {of('float')} {near} to {self.double}"))
        if last:  # what the sum lacks
            second = self._real("fsub", self.total, first)
            rest = self._real("fsub", first, self._real("fsub", self.total, second))
            self.side = self._real("fadd", self.side, self._real("fadd", rest, self._real("fsub", last[0], second)))
        self.one, self.zero = _constant("i32", 1, of), _constant("i32", 0, of)
        self.negative = append(f"icmp slt {self.word} {self.bits}, {self.zero}")

    def _real(self, operation: str, x: str, y: str) -> str:
        return self.append(f"{operation} {self.double} {x}, {y}")

    def _truths(self, operation: str, x: str, y: str) -> str:
        return self.append(f"{operation} {self.of('i1')} {x}, {y}")

    def _is(self, comparison: str) -> str:
        """Whether the exact result differs so from the number next to it."""
        return self.append(f"fcmp {comparison} {self.double} {self.side}, {_constant('double', 0.0, self.of)}")

    def _moved(self, where: str, toward_zero: str) -> str:
        """The number next to that, where it is so: the next one toward zero, or the next one away from it."""
        minus = _constant("i32", -1, self.of)
        step = self.append(f"select {self.of('i1')} {toward_zero}, {self.word} {minus}, {self.word} {self.one}")
        other = self.append(f"add {self.word} {self.bits}, {step}")
        return self.append(f"select {self.of('i1')} {where}, {self.word} {other}, {self.word} {self.bits}")

    def odd(self) -> str:
        """The bits of the result, rounded to odd."""
        last = self.append(f"and {self.word} {self.bits}, {self.one}")
        even = self.append(f"icmp eq {self.word} {last}, {self.zero}")
        nearer_zero = self._truths("xor", self.negative, self._is("olt"))
        return self._moved(self._truths("and", self._is("one"), even), nearer_zero)

    def directed(self, rounding: str) -> str:
        """The bits of the result, rounded in a direction."""
        if rounding == "rp":
            return self._moved(self._is("ogt"), self.negative)
        if rounding == "rm":
            positive = self._truths("xor", self.negative, _constant("i1", 1, self.of))
            return self._zero_downward(self._moved(self._is("olt"), positive))
        nearer_zero = self._truths("xor", self.negative, self._is("olt"))
        return self._moved(self._truths("and", self._is("one"), nearer_zero), nearer_zero)

    def _zero_downward(self, bits: str) -> str:
        """A sum that is zero has a sign, unless both numbers are zeros without one."""
        if len(self.parts) == 1:
            return bits
        words = [self.append(f"bitcast {self.double} {part} to {self.of('i64')}") for part in self.parts]
        either = self.append(f"or {self.of('i64')} {', '.join(words)}")
        high = self.append(f"lshr {self.of('i64')} {either}, {_constant('i64', 32, self.of)}")
        sign = self.append(f"trunc {self.of('i64')} {high} to {self.word}")
        sign = self.append(f"and {self.word} {sign}, {_constant('i32', -(1 << 31), self.of)}")
        none = self.append(f"fcmp oeq {self.double} {self.total}, {_constant('double', 0.0, self.of)}")
        return self.append(f"select {self.of('i1')} {none}, {self.word} {sign}, {self.word} {bits}")


def _constant(element: str, value: float, of: TypeOf) -> str:
    """A constant, as LLVM writes it: in all elements, if there are several."""
    return str(value) if of(element) == element else f"splat ({element} {value})"
