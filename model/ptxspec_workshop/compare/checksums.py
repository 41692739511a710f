"""Definitions of what the multifunction unit computes, compiled, and the checksums of what they give for 2^32 operands."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from ptxspec import contracts
from ptxspec.evidence.choices import ones
from ptxspec.evidence.compiled_loops import compile_loops
from ptxspec_workshop.generate.multifunction_operands import (
    BLOCK,
    FUNCTIONS,
    WORD,
    MultifunctionInstruction,
    mix,
    operands,
)


def compiled(functions: Iterable[MultifunctionInstruction]) -> list[Callable[[list[np.ndarray]], np.ndarray]]:
    """For each function its definition as compiled code, from columns of operands to the results."""
    loops = compile_loops([f.meaning for f in functions], ones, level=2)
    return [partial(_first, loop) for loop in loops]


def _first(loop: Callable[[list[np.ndarray]], list[np.ndarray]], columns: list[np.ndarray]) -> np.ndarray:
    return loop(columns)[0]


def checksum(
    function: MultifunctionInstruction, run: Callable[[list[np.ndarray]], np.ndarray], block: int, part: int = 1 << 16
) -> int:
    """What a definition gives for a block, computed in parts that fit into the processor's caches."""
    total = 0
    with np.errstate(over="ignore"):
        for start in range(block * BLOCK, (block + 1) * BLOCK, part):
            i = np.arange(start, start + part, dtype=np.uint64)
            answer = run(operands(function.kind, i)).astype(np.uint64)
            total += int(mix(mix(i) + answer).sum(dtype=np.uint64))
    return total & WORD


def differing(function: MultifunctionInstruction, recorded: np.ndarray, blocks: Iterable[int]) -> list[int]:
    """Those of the blocks whose answers are not what the definition gives."""
    (run,) = compiled([function])
    return [block for block in blocks if checksum(function, run, block) != int(recorded[block])]


def table_digests() -> dict[str, str]:
    """By page, the SHA-256 digest of its table's coefficients, written in decimal with commas: all A, all B, all C."""
    digests = {}
    for page in sorted({f.page for f in FUNCTIONS}):
        table = contracts.unit_function(page).TABLE
        numbers = ",".join(str(n) for column in table for n in column)
        digests[page] = hashlib.sha256(numbers.encode()).hexdigest()
    return digests
