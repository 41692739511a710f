"""Numbers of floating-point formats in LLVM's text, and how one that a format has not is rounded to it.

A number is brought into a wider format of the processor, exactly or so that it is known on which side of the wider number the
exact one is. The processor rounds that to nearest. Whether the exact number is more or less than the result, and with it the
result in any other rounding, is a matter of comparing.

Rounding *to odd* prepares a number for being rounded twice: if it is none of the format, it becomes that one of the two
neighbours whose last bit is 1. Where this format has at least two bits more than the next one, and reaches as far, rounding it
again gives what rounding the exact number does, in every direction, because it is a tie, or a number of the next format, only if
the exact number is.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from ptxspec.base.records import NamedTuple

Append = Callable[[str], str]
TypeOf = Callable[[str], str]
Spread = Callable[[str, str], str]


class Format(NamedTuple):
    """A format of numbers: bits of a pattern, bits of precision, the exponent of the last place of a subnormal number, and LLVM's
    type; none for a format that is the upper half of a float."""

    width: int
    precision: int
    least: int
    real: str

    @property
    def word(self) -> str:
        return f"i{self.width}"

    @property
    def least_normal(self) -> float:
        return 2.0 ** (self.least + self.precision - 1)


FORMATS = {
    "f16": Format(16, 11, -24, "half"),
    "bf16": Format(16, 8, -133, ""),
    "f32": Format(32, 24, -149, "float"),
    "f64": Format(64, 53, -1074, "double"),
}


class FloatWriter:
    """Writes operations of words or of vectors, each a line that `append` names. `of` gives the type of as many elements, and
    `spread` such a vector of what may be a word or a constant, given the type of the elements. `needs` takes declarations."""

    def __init__(self, append: Append, of: TypeOf, spread: Spread, needs: set[str]):
        self.append, self.of, self.spread, self.needs = append, of, spread, needs

    def const(self, element: str, value: float) -> str:
        """A constant, as LLVM writes it: in all elements, if there are several; and a real number by its bits."""
        written = f"0x{struct.pack('>d', value).hex()}" if element in ("float", "double") else str(int(value))
        return written if self.of(element) == element else f"splat ({element} {written})"

    def op(self, operation: str, element: str, *operands: str) -> str:
        return self.append(f"{operation} {self.of(element)} {', '.join(operands)}")

    def cast(self, operation: str, value: str, element: str, to: str) -> str:
        return self.append(f"{operation} {self.of(element)} {value} to {self.of(to)}")

    def function(self, name: str, operand: str, element: str) -> str:
        """LLVM's function of a number."""
        type = self.of(element)
        mangled = f"@llvm.{name}.{_mangled(type)}"
        self.needs.add(f"declare {type} {mangled}({type})")
        return self.append(f"call {type} {mangled}({type} {operand})")

    def select(self, truth: str, element: str, x: str, y: str) -> str:
        return self.append(f"select {self.of('i1')} {truth}, {self.of(element)} {x}, {self.of(element)} {y}")

    def real(self, bits: str, format: str) -> tuple[str, str]:
        """A number by its pattern: in its own format if the processor computes in it, else in single precision; and in which."""
        of = FORMATS[format]
        bits = self.spread(bits, of.word)
        if format in ("f32", "f64"):
            return self.cast("bitcast", bits, of.word, of.real), of.real
        if format == "f16":
            return self.cast("fpext", self.cast("bitcast", bits, "i16", "half"), "half", "float"), "float"
        word = self.op("shl", "i32", self.cast("zext", bits, "i16", "i32"), self.const("i32", 16))
        return self.cast("bitcast", word, "i32", "float"), "float"

    def pattern(self, number: str, real: str, format: str) -> str:
        """The pattern of the number of a format that is nearest to one of a wider format, ties to even; of double precision only
        single precision is made. A carry out of the fraction belongs into the exponent."""
        of = FORMATS[format]
        if of.real == real:
            return self.cast("bitcast", number, real, of.word)
        assert (real, format) != ("double", "f16"), "few processors have that"
        if of.real:
            return self.cast("bitcast", self.cast("fptrunc", number, real, of.real), of.real, of.word)
        bits = self.cast("bitcast", number, "float", "i32")
        sixteen, unit = self.const("i32", 16), self.const("i32", 1)
        last = self.op("and", "i32", self.op("lshr", "i32", bits, sixteen), unit)
        carried = self.op("add", "i32", self.op("add", "i32", bits, self.const("i32", 0x7FFF)), last)
        return self.cast("trunc", self.op("lshr", "i32", carried, sixteen), "i32", "i16")

    def rounded(self, number: str, real: str, format: str, rounding: str, rest: str = "") -> str:
        """The pattern of a number of a wider format, or of the same one, in another format; with a `rest`, a number of double
        precision, see `nearby`."""
        if rest:
            near = self.nearby(number, real, "f64", rest)
            if format == "f64":
                return near.bits if rounding == "rn" else near.directed(rounding)
            number = self.cast("bitcast", near.odd(), "i64", "double")
        if real == "double" and format in ("f16", "bf16"):
            number, real = self.cast("bitcast", self.nearby(number, real, "f32").odd(), "i32", "float"), "float"
        if rounding == "rn" or real == FORMATS[format].real:
            return self.pattern(number, real, format)
        return self.nearby(number, real, format).directed(rounding)

    def nearby(self, number: str, real: str, format: str, rest: str = "") -> Nearby:
        """The number of a narrower format next to one, and on which side of it the exact number is. That is the wider number, or
        what `rest` has the sign of more, but less than a unit of the wider one's last place."""
        bits = self.pattern(number, real, format)
        back, narrow = self.real(bits, format)
        side = self.op("fsub", real, number, self.cast("fpext", back, narrow, real) if narrow != real else back)
        if rest:
            side = self.op("fadd", real, side, rest)
        return Nearby(self, bits, FORMATS[format].word, side, real)

    def flushed(self, bits: str, format: str, rounding: str, number: str, real: str, rest: str = "") -> str:
        """A rounded result where one is flushed that is smaller than the smallest normal number L after rounding as if the
        exponent had no lower bound; of the exact number as above. Below L such numbers would lie L · 2^-precision apart: to
        nearest, the middle of the last one and L becomes L, and away from zero all that is more than the last one."""
        of = FORMATS[format]
        least, apart = of.least_normal, 0.0 if real == of.real else of.least_normal * 2.0**-of.precision
        bounds = []
        for away, bound, below, up_to in (("rp", least, "olt", "ole"), ("rm", -least, "ogt", "oge")):
            toward_zero = -apart if bound > 0 else apart
            comparison = up_to if rounding == away and apart else below
            bound += {"rn": toward_zero / 2, away: toward_zero}.get(rounding, 0.0)
            more = self.op("fsub", real, number, self.const(real, bound))
            more = self.op("fadd", real, more, rest) if rest else more
            bounds.append(self.op(f"fcmp {comparison}", real, more, self.const(real, 0.0)))
        sign_alone = self.op("and", of.word, bits, self.const(of.word, -(1 << of.width - 1)))
        return self.select(self.op("and", "i1", *bounds), of.word, sign_alone, bits)


def _mangled(type: str) -> str:
    """A type as LLVM has it in the names of its functions."""
    match = re.fullmatch(r"<(\d+) x (\w+)>", type)
    count, element = (f"v{match[1]}", match[2]) if match else ("", type)
    return count + {"float": "f32", "double": "f64"}.get(element, element)


class Nearby:
    """A number of a format next to an exact one, `bits` in words, and what the exact one is more than it: `side`, of which only
    the sign counts."""

    def __init__(self, writer: FloatWriter, bits: str, word: str, side: str, real: str):
        self.writer, self.bits, self.word, self.side, self.real = writer, bits, word, side, real
        self.one, self.zero = writer.const(word, 1), writer.const(word, 0)
        self.negative = writer.op("icmp slt", word, bits, self.zero)

    def _is(self, comparison: str) -> str:
        """Whether the exact number differs so from the number next to it."""
        return self.writer.op(f"fcmp {comparison}", self.real, self.side, self.writer.const(self.real, 0.0))

    def _moved(self, where: str, toward_zero: str) -> str:
        """The number next to that, where it is so: the next one toward zero, or the next one away from it."""
        step = self.writer.select(toward_zero, self.word, self.writer.const(self.word, -1), self.one)
        other = self.writer.op("add", self.word, self.bits, step)
        return self.writer.select(where, self.word, other, self.bits)

    def _nearer_zero(self) -> str:
        """Whether the exact number, if it differs, is nearer to zero."""
        return self.writer.op("xor", "i1", self.negative, self._is("olt"))

    def odd(self) -> str:
        """The bits of the exact number, rounded to odd."""
        even = self.writer.op("icmp eq", self.word, self.writer.op("and", self.word, self.bits, self.one), self.zero)
        return self._moved(self.writer.op("and", "i1", self._is("one"), even), self._nearer_zero())

    def directed(self, rounding: str) -> str:
        """The bits of the exact number, rounded in a direction."""
        if rounding == "rp":
            return self._moved(self._is("ogt"), self.negative)
        if rounding == "rm":
            positive = self.writer.op("xor", "i1", self.negative, self.writer.const("i1", 1))
            return self._moved(self._is("olt"), positive)
        nearer_zero = self._nearer_zero()
        return self._moved(self.writer.op("and", "i1", self._is("one"), nearer_zero), nearer_zero)
