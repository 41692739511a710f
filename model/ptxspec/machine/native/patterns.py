"""In which pattern the bytes lie that a warp loads or stores, by the steps of its lanes' addresses (vectors.py)."""

from __future__ import annotations

from enum import IntEnum

from ptxspec.machine.driver.places import LANES
from ptxspec.machine.native.warp_registers import WORD
from ptxspec.terms.vectors import NO_STEPS, STEPS, VectorEmitter, of_steps

#: the bits of a lane's number, and all of them
LANE_BITS = LANES.bit_length() - 1
EVERY = (1 << LANE_BITS) - 1
#: how many lanes, with their lowest bits, are looked at together: they are a part of a row, or what other lanes repeat
ROW_BITS = 3
ROW = 1 << ROW_BITS


class Pattern(IntEnum):
    """How the bytes of the lanes lie."""

    ANYWHERE = 0
    #: the same for all lanes, for each half of them, and for each eight
    ALIKE = 1
    TWO_ALIKE = 2
    FOUR_ALIKE = 3
    #: side by side, those of all lanes, of each half, and of each eight
    ROW = 4
    TWO_ROWS = 5
    FOUR_ROWS = 6
    #: at as many places as a row has lanes: the lowest bits of a lane's number say at which, or the highest
    LOW_BITS = 7
    HIGH_BITS = 8


def _of_equals(bits: int, whole: Pattern, halves: Pattern, eights: Pattern) -> Pattern:
    """Which of three it is, if the steps of these bits are as they are in the first."""
    for lowest, pattern in ((LANE_BITS, whole), (LANE_BITS - 1, halves), (ROW_BITS, eights)):
        if bits & (1 << lowest) - 1 == (1 << lowest) - 1:
            return pattern
    return Pattern.ANYWHERE


def _of_none(bits: int) -> Pattern:
    """The pattern if the steps of these bits are none."""
    alike = _of_equals(bits, Pattern.ALIKE, Pattern.TWO_ALIKE, Pattern.FOUR_ALIKE)
    low, high = EVERY >> ROW_BITS << ROW_BITS, EVERY >> ROW_BITS
    if alike is not Pattern.ANYWHERE:
        return alike
    if bits & low == low:
        return Pattern.LOW_BITS
    return Pattern.HIGH_BITS if bits & high == high else Pattern.ANYWHERE


#: patterns by which steps are none, and by which are those of a row
OF_NONE = tuple(int(_of_none(bits)) for bits in range(EVERY + 1))
OF_ROWS = tuple(int(_of_equals(bits, Pattern.ROW, Pattern.TWO_ROWS, Pattern.FOUR_ROWS)) for bits in range(EVERY + 1))


def _of_a_row(size: int) -> str:
    """The steps of lanes whose bytes lie side by side, so many of each."""
    return f"<{', '.join(f'i64 {size << bit if bit < LANE_BITS else 0}' for bit in range(STEPS))}>"


def pattern_of(e: VectorEmitter, steps: str, size: int) -> str:
    """The pattern (a word of 32 bits) of lanes that access so many bytes each."""
    rows = e.lookup(OF_ROWS, _bits(e, f"icmp eq {of_steps(64)} {steps}, {_of_a_row(size)}"), LANE_BITS, 32)
    others = e.lookup(OF_NONE, _bits(e, f"icmp eq {of_steps(64)} {steps}, {NO_STEPS}"), LANE_BITS, 32)
    return e.select(e.compare("eq", rows, str(int(Pattern.ANYWHERE)), 32), others, rows, 32)


def is_row(e: VectorEmitter, steps: str, size: int, bits: int = LANE_BITS) -> str:
    """Whether the bytes of all lanes lie side by side, so many of each; of lanes that differ in so many low bits."""
    return _are_all(e, f"icmp eq {of_steps(64)} {steps}, {_of_a_row(size)}", bits)


def is_alike(e: VectorEmitter, steps: str, bits: int = LANE_BITS) -> str:
    """Whether the bytes of all lanes are the same; of lanes that differ in so many low bits."""
    return _are_all(e, f"icmp eq {of_steps(64)} {steps}, {NO_STEPS}", bits)


def are_multiples(e: VectorEmitter, steps: str, size: int) -> str:
    """Whether all steps are multiples of a power of two."""
    low = e.emit(f"and {of_steps(64)} {steps}, splat (i64 {size - 1})")
    return e.compare("eq", _bits(e, f"icmp eq {of_steps(64)} {low}, {NO_STEPS}"), str(EVERY), LANE_BITS)


def taken(e: VectorEmitter, steps: str, acting: str) -> str:
    """The steps, but for those that none of the lanes takes which act: they lead nowhere."""
    type, truths = f"<{STEPS} x {WORD}>", f"<{STEPS} x i1>"
    first = e.emit(f"insertelement {type} poison, {WORD} {acting}, i64 0")
    spread = e.emit(f"shufflevector {type} {first}, {type} poison, <{STEPS} x i32> zeroinitializer")
    takers = (sum(1 << k for k in range(LANES) if k >> bit & 1) for bit in range(STEPS))
    some = e.emit(f"and {type} {spread}, <{', '.join(f'{WORD} {lanes}' for lanes in takers)}>")
    are_taken = e.emit(f"icmp ne {type} {some}, zeroinitializer")
    return e.emit(f"select {truths} {are_taken}, {of_steps(64)} {steps}, {of_steps(64)} {NO_STEPS}")


def behind(e: VectorEmitter, steps: str, lane: int) -> str:
    """How far a lane's bytes are from those of the first."""
    offset = "0"
    for bit in range(LANE_BITS):
        if lane >> bit & 1:
            offset = e.binary("add", offset, e.emit(f"extractelement {of_steps(64)} {steps}, i64 {bit}"), 64)
    return offset


def _are_all(e: VectorEmitter, comparison: str, bits: int) -> str:
    """Whether a comparison of steps holds for so many low bits of a lane's number."""
    low = e.truncate(_bits(e, comparison), LANE_BITS, bits) if bits < LANE_BITS else _bits(e, comparison)
    return e.compare("eq", low, "-1", bits)


def _bits(e: VectorEmitter, comparison: str) -> str:
    """For which bits of a lane's number a comparison of steps holds."""
    truths = e.emit(f"bitcast <{STEPS} x i1> {e.emit(comparison)} to i{STEPS}")
    return e.truncate(truths, STEPS, LANE_BITS)
