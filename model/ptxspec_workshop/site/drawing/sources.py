"""Which bits of its operands the bits of a result are: found by asking a definition, and checked on random operands."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

#: what is asked: operands by name to results by name, all as unsigned numbers
Function: TypeAlias = Callable[[dict[str, int]], Mapping[str, int]]
#: operands or results by name, with their widths in bits
Widths: TypeAlias = Mapping[str, int]
#: rows of random operands on which what was found is checked
CHECKS = 24
_SEED = "which bits"


class Bit(NamedTuple):
    """A bit of an operand."""

    name: str
    place: int


#: what a result's bit is: an operand's bit, or always 0 or 1
Source: TypeAlias = "Bit | int"


class BitRun(NamedTuple):
    """Neighbouring bits of a result, from `low` on, that are neighbouring bits of an operand, one bit of it, or constant.

    `first` is what the lowest of them is, and `step` where the next is taken: 1 above, −1 below, 0 the same.
    """

    low: int
    length: int
    first: Source
    step: int

    @property
    def high(self) -> int:
        return self.low + self.length - 1

    @property
    def taken(self) -> tuple[int, int]:
        """The lowest and the highest bit of the operand that is taken."""
        assert isinstance(self.first, Bit)
        ends = self.first.place, self.first.place + self.step * (self.length - 1)
        return min(ends), max(ends)


def sources(function: Function, operands: Widths, results: Widths) -> dict[str, list[Source]]:
    """For each bit of each result, from the lowest on, what it is.

    Raises ValueError if a bit is neither a copy of an operand's bit nor constant.
    """
    numbered = [Bit(name, place) for name, width in operands.items() for place in range(width)]

    def evaluate(holds: Callable[[int], bool]) -> Mapping[str, int]:
        values = dict.fromkeys(operands, 0)
        for position, bit in enumerate(numbered, 1):
            values[bit.name] |= int(holds(position)) << bit.place
        return function(values)

    none, every = evaluate(lambda _: False), evaluate(lambda _: True)
    digits = [evaluate(partial(_has_bit, k)) for k in range(len(numbered).bit_length())]
    by_result: dict[str, list[Source]] = {}
    for name, width in results.items():
        by_result[name] = []
        for place in range(width):
            if none[name] >> place & 1 == every[name] >> place & 1:
                by_result[name].append(none[name] >> place & 1)
                continue
            position = sum((digit[name] >> place & 1) << k for k, digit in enumerate(digits))
            if not 0 < position <= len(numbered):
                raise _no_copy(name, place)
            by_result[name].append(numbered[position - 1])
    _check(function, operands, by_result)
    return by_result


def _has_bit(k: int, position: int) -> bool:
    return bool(position >> k & 1)


def _no_copy(name: str, place: int) -> ValueError:
    return ValueError(f"bit {place} of {name} is no copy of an operand's bit")


def _check(function: Function, operands: Widths, by_result: Mapping[str, list[Source]]) -> None:
    """Hold what was found against random operands."""
    source = random.Random(_SEED)
    for _ in range(CHECKS):
        values = {name: source.getrandbits(width) for name, width in operands.items()}
        results = function(dict(values))
        for name, bits in by_result.items():
            for place, bit in enumerate(bits):
                expected = values[bit.name] >> bit.place & 1 if isinstance(bit, Bit) else bit
                if results[name] >> place & 1 != expected:
                    raise _no_copy(name, place)


def runs(bits: list[Source]) -> list[BitRun]:
    """Bits of a result, from the lowest on, put together as far as they go on alike."""
    result: list[BitRun] = []
    for place, bit in enumerate(bits):
        if result and _goes_on(result[-1], bit):
            last = result[-1]
            step = last.step if last.length > 1 else _distance(last.first, bit)
            result[-1] = BitRun(last.low, last.length + 1, last.first, step)
        else:
            result.append(BitRun(place, 1, bit, 0))
    return result


def _distance(first: Source, then: Source) -> int:
    return then.place - first.place if isinstance(first, Bit) and isinstance(then, Bit) else 0


def _goes_on(run: BitRun, bit: Source) -> bool:
    first = run.first
    if not isinstance(first, Bit) or not isinstance(bit, Bit):
        return first == bit
    if bit.name != first.name:
        return False
    if run.length == 1:
        return abs(bit.place - first.place) <= 1
    return bit.place == first.place + run.step * run.length


class RegisterElement(NamedTuple):
    """Neighbouring bits of a register that hold one value."""

    name: str
    low: int
    high: int


def parts(
    function: Function, operands: Widths, taken: Sequence[RegisterElement], made: Sequence[RegisterElement]
) -> dict[RegisterElement, list[RegisterElement]]:
    """For each element of the results the elements of the operands that it depends on: those of which a change brought one about,
    somewhere among random operands.

    Raises ValueError for an element of a result that depends on nothing.
    """
    source = random.Random(_SEED)
    needed: dict[RegisterElement, set[RegisterElement]] = {element: set() for element in made}
    for _ in range(CHECKS):
        values = {name: source.getrandbits(width) for name, width in operands.items()}
        before = function(dict(values))
        for element in taken:
            others = source.getrandbits(element.high - element.low + 1) << element.low
            after = function({**values, element.name: values[element.name] ^ others})
            for result in made:
                changed = (before[result.name] ^ after[result.name]) >> result.low
                if changed & (1 << result.high - result.low + 1) - 1:
                    needed[result].add(element)
    for result, elements in needed.items():
        if not elements:
            raise ValueError(f"bits {result.low} to {result.high} of {result.name} depend on no operand")
    return {result: sorted(elements) for result, elements in needed.items()}
