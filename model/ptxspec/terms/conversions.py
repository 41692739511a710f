"""Conversions from and to floating-point formats by the processor's own.

Every format of FORMATS but double precision has all its numbers in single precision, and that in double precision. So a number
is first brought into a format of the processor that has it, and then rounded from there (`nearby.py`). An integer of 64 bits is
two numbers of double precision: their sum is rounded, and what it lacks is known. NaNs are
none of a conversion's operands: its instruction has chosen their results by another way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Int
from ptxspec.terms.nearby import FORMATS, FloatWriter
from ptxspec.terms.wider_floats import lost

if TYPE_CHECKING:
    from ptxspec.terms.lowering import Lowering
    from ptxspec.terms.native import Emitter
    from ptxspec.terms.types import Type

_ROUNDINGS = ("rn", "rz", "rm", "rp")
#: LLVM's functions that round to an integral number
_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
#: bits of a significand, with which an integer is a number of the format
_BITS = {"float": 24, "double": 53}

#: the bits of a result, and how many; None if it is not computed so on this processor
Computed = tuple[str, int] | None


def _has(emitter: Emitter, *types: Type) -> bool:
    """Whether the processor has these formats, or computes in wider ones."""
    names = {type.name for type in types}
    return names <= FORMATS.keys() and ("f16" not in names or emitter.processor_has("f16c"))


def converted(to: Type, rounding: str, x: Int, type: Type, ftz: bool, lowering: Lowering, emitter: Emitter) -> Computed:
    """A pattern in another format."""
    if not _has(emitter, to, type) or rounding not in _ROUNDINGS:
        return None
    bits = lowering.low(x, type.width)
    writer = emitter.writer(bits)
    number, real = writer.real(bits, type.name)
    return rounded(writer, number, real, to.name, rounding, ftz), to.width


def rounded(writer: FloatWriter, number: str, real: str, format: str, rounding: str, ftz: bool) -> str:
    """The pattern of a number of single or double precision in another format."""
    if format == "f64" and real != "double":
        number, real = writer.cast("fpext", number, real, "double"), "double"
    bits = writer.rounded(number, real, format, rounding)
    return writer.flushed(bits, format, rounding, number, real) if ftz else bits


def from_integer(type: Type, rounding: str, x: Int, lowering: Lowering, emitter: Emitter) -> Computed:
    """An integer of up to 64 bits in a format."""
    width, signed = bits_for(x.lo, x.hi)
    if not _has(emitter, type) or rounding not in _ROUNDINGS or width > 64:
        return None
    cast, size = ("sitofp" if signed else "uitofp"), width - signed
    word = 32 if width <= 32 else 64
    bits = lowering.low(x, word)
    writer = emitter.writer(bits)
    bits = writer.spread(bits, f"i{word}")
    real = "float" if size <= _BITS["float"] and type.name != "f64" else "double"
    if size <= _BITS[real]:
        number = writer.cast(cast, bits, f"i{word}", real)
        return writer.rounded(number, real, type.name, rounding), type.width
    upper = writer.op("lshr", "i64", bits, writer.const("i64", 32))
    high = writer.cast(cast, writer.cast("trunc", upper, "i64", "i32"), "i32", "double")
    high = writer.op("fmul", "double", high, writer.const("double", 2.0**32))
    low = writer.cast("uitofp", writer.cast("trunc", bits, "i64", "i32"), "i32", "double")
    total = writer.op("fadd", "double", high, low)
    return writer.rounded(total, "double", type.name, rounding, lost(writer, total, high, low)), type.width


def _integral(
    rounding: str, x: Int, type: Type, lowering: Lowering, emitter: Emitter
) -> tuple[FloatWriter, str, str] | None:
    """The number of a pattern, rounded to an integral one, with its format, and what writes such numbers."""
    if not _has(emitter, type) or rounding not in _INTEGRAL or not emitter.processor_has("sse4.1"):
        return None
    bits = lowering.low(x, type.width)
    writer = emitter.writer(bits)
    number, real = writer.real(bits, type.name)
    return writer, writer.function(_INTEGRAL[rounding], number, real), real


def to_integral(type: Type, rounding: str, x: Int, lowering: Lowering, emitter: Emitter) -> Computed:
    """A pattern's number, rounded to an integral one of the same format, which has all that are as great as its own fractions."""
    integral = _integral(rounding, x, type, lowering, emitter)
    if integral is None:
        return None
    writer, number, real = integral
    return writer.pattern(number, real, type.name), type.width


def to_integer(to: Type, rounding: str, x: Int, type: Type, lowering: Lowering, emitter: Emitter) -> Computed:
    """A pattern's number, rounded to an integer and clamped."""
    integral = _integral(rounding, x, type, lowering, emitter)
    if integral is None:
        return None
    writer, number, real = integral
    word, least, beyond = f"i{to.width}", float(to.min), float(to.max + 1)
    is_least = writer.op("fcmp oge", real, number, writer.const(real, least))
    is_most = writer.op("fcmp olt", real, number, writer.const(real, beyond))
    # LLVM may make anything of the conversion of another number, or of a NaN
    inside = writer.select(writer.op("and", "i1", is_least, is_most), real, number, writer.const(real, 0.0))
    integer = writer.cast("fptosi" if to.signed else "fptoui", inside, real, word)
    clamped = writer.select(is_least, word, integer, writer.const(word, to.min))
    return writer.select(is_most, word, clamped, writer.const(word, to.max)), to.width
