"""Arithmetic of narrow formats by wider arithmetic of the processor: half precision and bfloat16 to nearest, and single precision
in one direction, or where small results are flushed.

Every number of half precision and of bfloat16 is one of single precision, and every product of two numbers of single precision is
exact in double precision.

Sums and products: single precision has 24 bits. That is twice the bits of half precision and two more, so that rounding twice
gives what rounding once does. A product of bfloat16 has 16 bits. It is exact in single precision, unless it is so small that both
ways make zero of it. All pairs were compared once (`tests/terms/test_wider_floats.py`).

All else: a product is exact in double precision. A sum is rounded there, and what it lacks is exact (Knuth's TwoSum, whose only
condition is that nothing overflows). That is at most half a unit of the double's last place. So it does not change the sign of
the difference of the double and the number of single precision next to it, and it is known on which side of that number the
exact result is (`nearby.py`). A fused multiply-add of the narrow formats is rounded to odd in single precision first.

Flushing: whether a result is flushed depends on the exact one. Products of half precision are exact in single precision, and so
are sums that are smaller than its smallest normal number. Between two numbers of which each is even in single precision, rounding
to odd leaves a fused multiply-add where it is.
"""

from __future__ import annotations

from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.terms.nearby import FloatWriter

#: the operations that are computed so, by the format, the rounding, and whether small results are flushed; each with what the
#: processor must have for it
_COMPUTED = {
    ("f16", "rn", False): "+f16c",
    ("f16", "rn", True): "+f16c",
    ("bf16", "rn", False): "",
    ("f32", "rn", True): "",
    **{("f32", rounding, ftz): "" for rounding in ("rz", "rm", "rp") for ftz in (False, True)},
}
#: the processor's operation, if it is one
_OPERATIONS = {"sum": "fadd", "product": "fmul", "fused": ""}


def has(name: str, static: tuple[Any, ...], features: str) -> bool:
    """Whether an operation is computed so on a processor with these features."""
    type, rounding, ftz = static
    needed = _COMPUTED.get((type.name, rounding, bool(ftz)))
    return name in _OPERATIONS and needed is not None and needed in features


class ExactResult(NamedTuple):
    """A number of the processor's format `real`, and `rest`, with the sign of what the exact result is more than that, if it may
    be; `parts` are the last two numbers that were added."""

    number: str
    real: str
    rest: str = ""
    parts: tuple[str, ...] = ()


def computed(name: str, format: str, rounding: str, args: list[str], writer: FloatWriter) -> str:
    """The bits of an operation's result, of bits of its operands; not of NaNs, nor where the result is one."""
    if format != "f32":
        exact = _single(name, format, args, writer)
        return writer.pattern(exact.number, exact.real, format)
    exact = _double(name, format, args, writer)
    near = writer.nearby(exact.number, exact.real, format, exact.rest)
    bits = near.directed(rounding)
    return _zero_downward(exact, bits, writer) if rounding == "rm" else bits


def flushed(name: str, format: str, rounding: str, args: list[str], bits: str, writer: FloatWriter) -> str:
    """The same where small results are flushed, of the bits where they are not."""
    exact = (_double if format == "f32" else _single)(name, format, args, writer)
    return writer.flushed(bits, format, rounding, exact.number, exact.real, exact.rest)


def _single(name: str, format: str, args: list[str], writer: FloatWriter) -> ExactResult:
    """A result of a narrow format in single precision."""
    if name != "fused":
        numbers = [writer.real(a, format)[0] for a in args]
        return ExactResult(writer.op(_OPERATIONS[name], "float", *numbers), "float")
    exact = _double(name, format, args, writer)
    odd = writer.nearby(exact.number, exact.real, "f32", exact.rest).odd()
    return ExactResult(writer.cast("bitcast", odd, "i32", "float"), "float")


def _double(name: str, format: str, args: list[str], writer: FloatWriter) -> ExactResult:
    """A result in double precision."""

    def real(operation: str, *operands: str) -> str:
        return writer.op(operation, "double", *operands)

    wide = [writer.cast("fpext", writer.real(a, format)[0], "float", "double") for a in args]
    first, *last = wide if name == "sum" else [real("fmul", *wide[:2]), *wide[2:]]
    if not last:
        return ExactResult(first, "double", parts=(first,))
    total = real("fadd", first, last[0])
    return ExactResult(total, "double", lost(writer, total, first, last[0]), (first, last[0]))


def lost(writer: FloatWriter, total: str, first: str, second: str) -> str:
    """What a sum of two numbers of double precision lacks."""

    def less(x: str, y: str) -> str:
        return writer.op("fsub", "double", x, y)

    added = less(total, first)
    return writer.op("fadd", "double", less(first, less(total, added)), less(second, added))


def _zero_downward(exact: ExactResult, bits: str, writer: FloatWriter) -> str:
    """A sum that is zero has a sign, unless both numbers are zeros without one."""
    if len(exact.parts) == 1:
        return bits
    words = [writer.cast("bitcast", part, "double", "i64") for part in exact.parts]
    high = writer.op("lshr", "i64", writer.op("or", "i64", *words), writer.const("i64", 32))
    sign = writer.op("and", "i32", writer.cast("trunc", high, "i64", "i32"), writer.const("i32", -(1 << 31)))
    none = writer.op("fcmp oeq", "double", exact.number, writer.const("double", 0.0))
    return writer.select(none, "i32", sign, bits)
