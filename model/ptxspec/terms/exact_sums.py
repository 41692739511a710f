"""Sums of numbers, rounded once: added in double precision, with all that this loses.

Each number is one of double precision. Of two of them the sum and what it lacks are exact (TwoSum). So the exact sum is that of
all the numbers, one after the other, and of what was lost each time. Mostly nothing was lost.

Otherwise what was lost is added up in double precision, and to the sum. Each of these additions loses 2^-53 of its result at
most: all together 2^-45 of the sizes of what was lost, and 2^-53 of the sum. So the exact sum lies between two numbers that are a
little farther than that from the sum. Rounding never puts numbers in another order: where both become one number, the exact sum
does. Where they do not, the page's function is asked, with numbers.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptxspec.base.records import NamedTuple
from ptxspec.terms import outside
from ptxspec.terms.core import Bool, Int, integer, truth
from ptxspec.terms.nearby import FloatWriter
from ptxspec.terms.vocabulary import INTRINSICS, select
from ptxspec.terms.wider_floats import lost

if TYPE_CHECKING:
    from ptxspec.terms.lowering import Lowering
    from ptxspec.terms.native import Emitter
    from ptxspec.terms.types import Type

#: the most numbers: what is lost by adding up what was lost is less than 2^-45 of it
MOST = 128
#: exponents of powers of two that are normal numbers of double precision by far
_LEAST, _GREATEST = -900, 900


def rounded_sum(
    type: Type, rounding: str, numbers: Sequence[Any], lowering: Lowering, emitter: Emitter
) -> tuple[str, int] | None:
    """The bits of a sum of numbers ±size · 2^exponent, and how many; None if it is not computed so."""
    if type.name not in ("f16", "bf16", "f32") or len(numbers) > MOST or not all(map(_is_double, numbers)):
        return None
    if type.name == "f16" and not emitter.processor_has("f16c"):
        return None
    if sum(x.size.hi << (x.exponent.hi - _LEAST) for x in numbers) >> (_GREATEST - _LEAST):
        return None
    words = [_words(x, lowering) for x in numbers]
    writer = emitter.writer(*(word for words_of_one in words for word in words_of_one))
    doubles = [_double(*words_of_one, x.size.hi, writer) for words_of_one, x in zip(words, numbers, strict=True)]
    ends = _between(writer, doubles)
    word = f"i{type.width}"
    low, high = (writer.rounded(end, "double", type.name, rounding) for end in ends)
    function = _function(type, rounding, len(numbers), emitter)
    given = [(low, word), (high, word), *((x, "double") for x in doubles)]
    return emitter.call_where_different(function, word, given), type.width


def _is_double(x: Any) -> bool:
    """Whether a number is one of double precision, and no subnormal one, whatever its size and its exponent are."""
    return bool(x.size.lo >= 0 and x.size.hi < 1 << 53 and x.exponent.lo >= _LEAST and x.exponent.hi <= _GREATEST)


def _words(x: Any, lowering: Lowering) -> tuple[str, str]:
    """The words of a number: its size, in 32 bits if it fits, and its sign with its exponent, as double precision has them."""
    field: Int = x.exponent + 1023 + select(x.negative, 1 << 11, 0)
    return lowering.low(x.size, _width(x.size.hi)), lowering.low(field, 32)


def _width(most: int) -> int:
    """The bits of a signed word that a size fits into."""
    return 32 if most < 1 << 31 else 64


def _double(size: str, field: str, most: int, writer: FloatWriter) -> str:
    """The number of double precision."""
    element = f"i{_width(most)}"
    number = writer.cast("sitofp", writer.spread(size, element), element, "double")
    wide = writer.cast("zext", writer.spread(field, "i32"), "i32", "i64")
    power = writer.cast("bitcast", writer.op("shl", "i64", wide, writer.const("i64", 52)), "i64", "double")
    return writer.op("fmul", "double", number, power)


def _between(writer: FloatWriter, numbers: Sequence[str]) -> tuple[str, str]:
    """Two numbers of double precision between which the exact sum of others is. Both are the sum if it is exact, +0 if it is
    zero."""

    def op(operation: str, *operands: str) -> str:
        return writer.op(operation, "double", *operands)

    def size(number: str) -> str:
        bits = writer.op(
            "and", "i64", writer.cast("bitcast", number, "double", "i64"), writer.const("i64", (1 << 63) - 1)
        )
        return writer.cast("bitcast", bits, "i64", "double")

    def const(value: float) -> str:
        return writer.const("double", value)

    total = numbers[0]
    missing = all_missing = const(0.0)
    for number in numbers[1:]:
        before, total = total, op("fadd", total, number)
        rest = lost(writer, total, before, number)
        missing, all_missing = op("fadd", missing, rest), op("fadd", all_missing, size(rest))
    total = op("fadd", total, missing)
    unknown = op("fadd", op("fmul", all_missing, const(2.0**-44)), op("fmul", size(total), const(2.0**-51)))
    is_exact = op("fcmp oeq", all_missing, const(0.0))
    unknown = writer.select(is_exact, "double", const(0.0), unknown)
    return op("fsub", total, unknown), op("fadd", total, unknown)


def _function(type: Type, rounding: str, count: int, emitter: Emitter) -> str:
    """The name of a function of two patterns and so many numbers: the first pattern if both are equal, else what the page says of
    the numbers."""

    def asked(*numbers: float) -> int:
        return integer(INTRINSICS["rounded_sum"](type, rounding, list(map(_exactly, numbers)))).__index__()

    name, word = f"ptxspec_sum_{type.name}_{rounding}_{count}", f"i{type.width}"
    slow = outside.symbol_of(f"{name}_asked", asked, [ctypes.c_double] * count)
    numbers = ", ".join(f"double %x{i}" for i in range(count))
    emitter.needs.add(f"declare i64 @{slow}({', '.join(['double'] * count)}) {outside.PURE}")
    emitter.needs.add(
        f"""define internal {word} @{name}({word} %low, {word} %high, {numbers}) noinline {{
  %decided = icmp eq {word} %low, %high
  br i1 %decided, label %done, label %ask
done:
  ret {word} %low
ask:
  %asked = call i64 @{slow}({numbers})
  %bits = trunc i64 %asked to {word}
  ret {word} %bits
}}"""
    )
    return name


class _Number(NamedTuple):
    """A number as the page has them."""

    negative: Bool
    size: Int
    exponent: Int


def _exactly(x: float) -> _Number:
    part, exponent = math.frexp(abs(x))
    return _Number(truth(x < 0), integer(int(math.ldexp(part, 53))), integer(exponent - 53))
