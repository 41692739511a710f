"""Pictures of a warpgroup's matrices, against formulas of one's own: what is written in each square, row by row."""

from __future__ import annotations

import re

import pytest

from ptxspec_workshop.site import fragment_pictures


def squares(markdown: str) -> list[str]:
    """What stands in the squares of a picture, in the order in which they are drawn."""
    return re.findall(r">([^<>]*\d[^<>]*)</text>", markdown.partition("\n\n")[0])


def test_fragments_of_a_warpgroup() -> None:
    """Of half precision and single precision: a lane has two elements side by side of A and of D."""
    found = squares(fragment_pictures.of_warpgroup("f16", "f32", "16"))
    a = [f"{4 * (r % 8) + k % 8 // 2}:{r // 8 + 2 * (k // 8)}" for r in range(16) for k in range(16)]
    d = [f"{4 * (r % 8) + c % 8 // 2}:{4 * (c // 8) + 2 * (r // 8) + c % 2}" for r in range(16) for c in range(16)]
    assert found == [*a, *d]


def test_metadata_of_a_warpgroup() -> None:
    found = squares(fragment_pictures.metadata("e4m3", "0"))
    assert found == [f"{4 * (r % 8) + r // 8 + 2 * (n // 8)}:{4 * (n % 8)}" for r in range(16) for n in range(16)]
    assert squares(fragment_pictures.metadata("tf32", "1"))[:5] == ["2:0", "2:4", "2:8", "2:12", "3:0"]


@pytest.mark.parametrize("major", ["K", "MN"])
def test_a_swizzled_matrix_in_memory(major: str) -> None:
    """The piece at a place of a line of memory is the one whose number differs by the line's."""
    found = squares(fragment_pictures.in_memory(major, "128", "16"))
    pieces = [(line, piece ^ line % 8) for line in range(16) for piece in range(8)]
    assert found == [f"{line}: {8 * piece}–{8 * piece + 7}" for line, piece in pieces]


def test_a_matrix_without_swizzle_in_memory() -> None:
    """Eight lines' pieces lie together; then the next elements of these lines, then the next eight lines."""
    found = squares(fragment_pictures.in_memory("K", "none", "16"))
    pieces = [(8 * part + line, k) for part in range(2) for k in range(2) for line in range(8)]
    assert found == [f"{line}: {8 * k}–{8 * k + 7}" for line, k in pieces]
