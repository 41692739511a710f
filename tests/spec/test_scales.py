"""Which lane's register, and which byte of it, has a scale: against the manual's description, worked out with plain integers."""

from __future__ import annotations

import itertools

import pytest
from ptxspec.spec.matrices.scales import Selected, scales_of_column, scales_of_row

from ptxspec.terms import integer
from ptxspec.terms.exact import evaluate

#: the register of each lane: every byte says the lane and its place
REGISTERS = [sum((8 * lane + byte) % 256 << 8 * byte for byte in range(4)) for lane in range(32)]
#: bits beyond those that count
BEYOND = (0, 4, 0x100)


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_selectors_choose_a_lane_of_the_group_and_a_byte(blocks: int) -> None:
    given = [integer(word) for word in REGISTERS]
    for number, lane, thread, byte, beyond in itertools.product(
        (0, 3, 7), (0, 13), range(4), range(0, 4, blocks), BEYOND
    ):
        everywhere = (number,) * 32
        of_b = Selected(given[lane], integer(byte + beyond), integer(thread + beyond))
        found = scales_of_column(given, integer(lane), everywhere, of_b, blocks)
        at = 4 * number + thread
        assert [evaluate(x, {}) for x in found] == [8 * at + byte + block for block in range(blocks)]
        for half in (0, 1):
            rows = (number + 8 * half,) * 32
            of_a = Selected(given[lane], integer(byte + beyond), integer((thread & 1) + beyond))
            found = scales_of_row(given, integer(lane), rows, of_a, blocks)
            at = 4 * number + 2 * (thread & 1) + half
            assert [evaluate(x, {}) for x in found] == [8 * at + byte + block for block in range(blocks)]
