"""What the threads of a random program have: registers, cells of memory, and what these hold at first."""

from __future__ import annotations

import random

import numpy as np

from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.terms.types import TYPES

THREADS = 64
#: the registers that instructions work on, by width; predicates under 1
REGISTERS: dict[int, list[str]] = {
    32: [f"%r{i}" for i in range(10)],
    64: [f"%rd{i}" for i in range(6)],
    16: [f"%h{i}" for i in range(4)],
    1: [f"%p{i}" for i in range(4)],
}
#: what a thread's row of 8-byte cells holds: the registers, then a cell in global and one in shared memory, then local memory
NAMED = [(name, width) for width, names in REGISTERS.items() for name in names]
GLOBAL = len(NAMED)
SHARED, LOCAL, LOCAL_CELLS = GLOBAL + 1, GLOBAL + 2, 4
CELLS = 32
CELL_NAMES = [
    *[name for name, _ in NAMED],
    "global",
    "shared",
    *[f"local+{8 * i}" for i in range(LOCAL_CELLS)],
    "",
    "",
]


def inputs(seed: int) -> np.ndarray:
    """What the registers and cells hold at first: a row a thread, special values and random ones."""
    source = random.Random(f"inputs {seed}")
    edges = {w: special(TYPES[f"u{w}"]) + special(TYPES[f"f{w}"]) for w in (16, 32, 64)}
    widths = [w for _, w in NAMED] + [64] * (CELLS - len(NAMED))
    columns = []
    for width in widths:
        column = [_value(source, width, edges) for _ in range(THREADS)]
        columns.append(column[:1] * THREADS if source.random() < 0.05 else column)
    return np.array(columns, np.uint64).T.copy()


def _value(source: random.Random, width: int, edges: dict[int, list[int]]) -> int:
    if width == 1:
        return source.getrandbits(1)
    chance = source.random()
    if chance < 0.4:
        return source.choice(edges[width])
    value = source.getrandbits(width)
    if chance < 0.6:
        return value >> source.randrange(width)
    if chance < 0.8:  # a floating-point number of middling size
        fraction = {16: 10, 32: 23, 64: 52}[width]
        exponent = (1 << (width - 2 - fraction)) - 1 + source.randint(-4, 5)
        return value & ~(((1 << (width - 1 - fraction)) - 1) << fraction) | exponent << fraction
    return value
