"""What fails made small, by taking parts away as long as it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from ptxspec_workshop.generate.fuzzing.random_program import RandomProgram

T = TypeVar("T")


def fewer(parts: Sequence[T], fails: Callable[[Sequence[T]], bool], end: float) -> list[T]:
    """Delta debugging: the parts less those that are not needed for the failure, until the clock (time.monotonic) says `end`.
    Runs of parts are taken away from the last to the first, long ones before short ones."""
    left = list(parts)
    length = max(1, len(left) // 2)
    while left:
        before = len(left)
        start = len(left) - length
        while start > -length and time.monotonic() < end:
            smaller = left[: max(start, 0)] + left[start + length :]
            if len(smaller) < len(left) and fails(smaller):
                left = smaller
            start -= length
        if time.monotonic() >= end or (length == 1 and len(left) == before):
            return left
        length = max(1, length // 2)
    return left


def reduced(program: RandomProgram, fails: Callable[[RandomProgram], bool], seconds: float = 30) -> RandomProgram:
    """The program with as many statements taken away as `fails` allows, in the time there is, and blocks in the place of the
    statements around them."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = program.size
        program = _with_fewer_statements(program, fails, end)
        for i in reversed(range(program.size)):
            opened = program.opened(i)
            if opened.size < program.size and opened.size and time.monotonic() < end and fails(opened):
                program = opened
        if program.size == before:
            break
    return program


def _with_fewer_statements(program: RandomProgram, fails: Callable[[RandomProgram], bool], end: float) -> RandomProgram:
    """Statements are counted through the tree: one that is taken away takes those in it along."""
    every = range(program.size)
    tried: dict[str, bool] = {program.text(): True}

    def without_the_rest(kept: Sequence[int]) -> RandomProgram:
        return program.without(set(every).difference(kept))

    def still_fails(kept: Sequence[int]) -> bool:
        smaller = without_the_rest(kept)
        text = smaller.text()
        if text not in tried:
            tried[text] = fails(smaller)
        return tried[text]

    return without_the_rest(fewer(every, still_fails, end))
