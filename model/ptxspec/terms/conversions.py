"""Conversions to floating-point formats by the processor's own.

Every format of FORMATS but double precision has all its numbers in single precision, and that in double precision. So a number
is first brought into a format of the processor that has it, and then rounded from there (`nearby.py`). NaNs are none of a
conversion's operands: its instruction has chosen their results by another way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.terms.core import Int
from ptxspec.terms.nearby import FORMATS, Writer

if TYPE_CHECKING:
    from ptxspec.terms.lowering import Lowering
    from ptxspec.terms.native import Emitter
    from ptxspec.terms.types import Type

_ROUNDINGS = ("rn", "rz", "rm", "rp")


def converted(
    to: Type, rounding: str, x: Int, type: Type, ftz: bool, lowering: Lowering, emitter: Emitter
) -> tuple[str, int] | None:
    """The bits of a pattern in another format, and how many; None if they are not computed so on this processor."""
    if not {to.name, type.name} <= FORMATS.keys() or rounding not in _ROUNDINGS:
        return None
    if "f16" in (to.name, type.name) and not emitter.processor_has("f16c"):
        return None
    bits = lowering.low(x, type.width)
    writer = emitter.writer(bits)
    number, real = writer.real(bits, type.name)
    return rounded(writer, number, real, to.name, rounding, ftz), to.width


def rounded(writer: Writer, number: str, real: str, format: str, rounding: str, ftz: bool) -> str:
    """The pattern of a number of single or double precision in another format."""
    if format == "f64" and real != "double":
        number, real = writer.cast("fpext", number, real, "double"), "double"
    bits = writer.rounded(number, real, format, rounding)
    return writer.flushed(bits, format, rounding, number, real) if ftz else bits
