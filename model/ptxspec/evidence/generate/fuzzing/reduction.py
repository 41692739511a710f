"""A random program made small, by taking statements away as long as it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable

from ptxspec.evidence.generate.fuzzing.random_program import Program


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float = 30) -> Program:
    """The program with as many statements taken away as `fails` allows, in the time there is."""
    end = time.monotonic() + seconds
    length = max(1, program.size // 2)
    while time.monotonic() < end:
        before = program.size
        start = program.size - length
        while start > -length and time.monotonic() < end:
            smaller = program.without(range(max(start, 0), start + length))
            if smaller.size < program.size and fails(smaller):
                program = smaller
            start -= length
        if length > 1:
            length //= 2
            continue
        for i in reversed(range(program.size)):
            opened = program.opened(i)
            if opened.size < program.size and opened.size and time.monotonic() < end and fails(opened):
                program = opened
        if program.size == before:
            break
    return program
