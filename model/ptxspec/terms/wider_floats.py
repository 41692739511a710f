"""Arithmetic of half precision and of bfloat16 by wider arithmetic of the processor: to nearest, with subnormal numbers.

Every number of the two formats is one of single precision, and every product of two is exact in double precision.

Sums and products: single precision has 24 bits. That is twice the bits of half precision and two more, so that rounding twice
gives what rounding once does. A product of bfloat16 has 16 bits. It is exact in single precision, unless it is so small that both
ways make zero of it. All pairs of operands were compared once (`tests/terms/test_wider_floats.py`).

Fused: the product is exact in double precision. The sum is rounded there, and what it lacks is exact (Knuth's TwoSum, whose only
condition is that nothing overflows). Both together are *rounded to odd* in single precision: if they are no number of that, they
become that one of the two neighbours whose last bit is 1. Where the wider format has at least two bits more, rounding this gives
what rounding the exact number does, because it is a tie, or a number of the narrower format, only if the exact number is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: the formats, each with what the processor must have for it
NEEDED = {"f16": "+f16c", "bf16": ""}
#: what is computed so, and the processor's operation
_OPERATIONS = {"sum": "fadd", "product": "fmul", "fused": ""}

#: appends `%n = text` and names it, and gives LLVM's type of so many elements
Append = Callable[[str], str]
TypeOf = Callable[[str], str]


def has(name: str, static: tuple[Any, ...], features: str) -> bool:
    """Whether an operation is computed so on a processor with these features."""
    type, rounding, ftz = static
    needed = NEEDED.get(type.name)
    return name in _OPERATIONS and needed is not None and needed in features and rounding == "rn" and not ftz


def computed(name: str, format: str, args: list[str], append: Append, of: TypeOf) -> str:
    """The bits of an operation's result, of bits of its operands; not of NaNs, nor where the result is one."""
    numbers = [_single(a, format, append, of) for a in args]
    if name == "fused":
        bits = _fused(numbers, append, of)
    else:
        result = append(f"{_OPERATIONS[name]} {of('float')} {', '.join(numbers)}")
        bits = append(f"bitcast {of('float')} {result} to {of('i32')}")
    return _narrowed(bits, format, append, of)


def _single(bits: str, format: str, append: Append, of: TypeOf) -> str:
    """A number of the format in single precision."""
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


def _fused(numbers: list[str], append: Append, of: TypeOf) -> str:
    """The bits of x · y + z in single precision, rounded to odd."""
    double, single, word = of("double"), of("float"), of("i32")

    def real(operation: str, x: str, y: str) -> str:
        return append(f"{operation} {double} {x}, {y}")

    x, y, z = (append(f"fpext {single} {number} to {double}") for number in numbers)
    product = real("fmul", x, y)
    total = real("fadd", product, z)
    of_z = real("fsub", total, product)
    lacking = real("fadd", real("fsub", product, real("fsub", total, of_z)), real("fsub", z, of_z))
    near = append(f"fptrunc {double} {total} to {single}")
    bits = append(f"bitcast {single} {near} to {word}")
    # by its sign, on which side of it the exact number lies
    side = real("fadd", real("fsub", total, append(f"fpext {single} {near} to {double}")), lacking)
    inexact = append(f"fcmp one {double} {side}, {_constant('double', 0.0, of)}")
    one = _constant("i32", 1, of)
    even = append(f"icmp eq {word} {append(f'and {word} {bits}, {one}')}, {_constant('i32', 0, of)}")
    negative = append(f"icmp slt {word} {bits}, {_constant('i32', 0, of)}")
    below = append(f"fcmp olt {double} {side}, {_constant('double', 0.0, of)}")
    toward_zero = append(f"xor {of('i1')} {negative}, {below}")
    step = append(f"select {of('i1')} {toward_zero}, {word} {_constant('i32', -1, of)}, {word} {one}")
    odd = append(f"add {word} {bits}, {step}")
    moved = append(f"and {of('i1')} {inexact}, {even}")
    return append(f"select {of('i1')} {moved}, {word} {odd}, {word} {bits}")


def _constant(element: str, value: float, of: TypeOf) -> str:
    """A constant, as LLVM writes it: in all elements, if there are several."""
    return str(value) if of(element) == element else f"splat ({element} {value})"
