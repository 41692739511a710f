"""Cases for clusters of CTAs: what reaches the shared memory of another CTA, the barrier of a cluster, and the special registers.

A kernel (cluster_kernels.py) runs alone, in a grid of a few small CTAs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, assert_never

import numpy as np

from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.evidence.kernels.signatures import inputs_of, says_how
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Access, ClusterBarrier, Load, Store, Update, seen_alone
from ptxspec_workshop.generate.cases import Extents, Launch, blank_rows, plain_module, unlike
from ptxspec_workshop.generate.cluster_kernels import (
    ADDRESSES,
    BLOCK,
    CLUSTER,
    GRID,
    SPACE,
    barrier_lines,
    entry_in_clusters,
    in_space,
    load_lines,
    registers_text,
    store_lines,
    update_text,
)

SEED = "clusters"
#: how many cells of a row are kept, and are shown
KEPT = 4


class ClusterCase(NamedTuple):
    """One kernel: its name among the answers, its text under the name it has in a module, what is equal for cases that do the
    same on our machine, the rows of `in`, the shape of its launch, and the target of its module."""

    name: str
    written: Callable[[str], str]
    alike: Any
    cells: np.ndarray
    grid: Extents = GRID
    cluster: Extents | None = CLUSTER
    block: int = BLOCK
    most: int = KEPT
    target: str = "sm_90"

    @property
    def launches(self) -> list[Launch]:
        return [Launch(self.cells, grid=self.grid, block=self.block, cluster=self.cluster)]

    @property
    def apart(self) -> Any:
        return self.target

    def text(self, name: str) -> str:
        return self.written(name)

    def module(self, texts: Sequence[str]) -> str:
        return plain_module(texts, target=self.target)

    def operands(self, row: int) -> tuple[int, ...]:
        return tuple(map(int, self.cells[row, :KEPT]))

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        (out,) = outs
        return out[:, : self.most]

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


def asks(form: Form) -> bool:
    """Whether the form is asked about in clusters alone."""
    effect = form.meaning(form.absences[-1]).effect
    if effect is None:
        return form.syntax.opcode in ADDRESSES and (in_space(form) or form.modifiers["type"].width == 64)
    return isinstance(effect, ClusterBarrier)


def _reaches(form: Form) -> bool:
    """Whether the form is an access that is asked about at another CTA's memory: to the shared memory of the cluster, or a plain
    generic one. Left out are values of 128 bits, vectors with an order or an update, and `.weak`, which says nothing: they have
    their answers elsewhere, in the thread's own CTA."""
    effect = form.meaning(form.absences[-1]).effect
    if not isinstance(effect, Access) or form.modifiers.get("weak"):
        return False
    if effect.type.width > 64 or form.syntax.opcode not in ("ld", "st", "atom", "red"):
        return False
    if form.modifiers.get("vec") and (isinstance(effect, Update) or form.modifiers.get("order")):
        return False
    return effect.space == SPACE or (effect.space == "generic" and not says_how(form, effect))


def cases(forms: Iterable[Form]) -> list[ClusterCase]:
    """The cases of some forms."""
    result = []
    for form in forms:
        effect = form.meaning(form.absences[-1]).effect
        if asks(form) and effect is None:
            with_offset = " with an offset" if any(o.offset for o in form.syntax.operands) else ""
            result.append(_case(form, f"{form}{with_offset}", ADDRESSES[form.syntax.opcode](form)))
        elif isinstance(effect, ClusterBarrier):
            result.append(_case(form, str(form), barrier_lines(form)))
        elif _reaches(form):
            result.append(_access(form))
    return result


def _access(form: Form) -> ClusterCase:
    effect = form.meaning().effect
    assert isinstance(effect, Access)
    name = f"{form} of another CTA"
    same = (seen_alone(effect), form.meaning().results)
    match effect:
        case Update():
            data = _cells_of_update(tuple(t for _, t in inputs_of(form.meaning())))
            return ClusterCase(name, lambda entry_name: update_text(form, effect, entry_name), same, data)
        case Load():
            lines = load_lines(form, effect)
        case Store():
            lines = store_lines(form, effect)
        case _:
            assert_never(effect)
    return _case(form, name, lines, (*same, form.modifiers.get("vec")))


@cache
def _cells_of_update(types: tuple[Any, ...]) -> np.ndarray:
    data = blank_rows(_threads(GRID))
    for i, row in enumerate(rows(types, len(data), SEED)):
        data[i, : len(row)] = row
    return data


def _threads(grid: Extents) -> int:
    return grid[0] * grid[1] * grid[2] * BLOCK


@cache
def _cells() -> np.ndarray:
    source = random.Random(SEED)
    data = blank_rows(_threads(GRID))
    data[:, :4] = [[source.getrandbits(64) for _ in range(4)] for _ in data]
    return data


def _case(form: Form, name: str, lines: Sequence[str], same: Any = None) -> ClusterCase:
    return ClusterCase(name, lambda entry_name: entry_in_clusters(entry_name, lines), same or name, _cells())


#: shapes of grids and clusters whose special registers are asked for
SHAPES: tuple[tuple[Extents, Extents | None], ...] = (
    ((4, 4, 2), None), ((4, 4, 2), (1, 1, 1)), ((4, 4, 2), (2, 1, 1)), ((4, 4, 2), (2, 2, 1)), ((4, 4, 2), (1, 2, 2)),
    ((4, 4, 2), (4, 2, 1)), ((6, 1, 5), (3, 1, 1)), ((2, 7, 1), (1, 7, 1)), ((3, 1, 5), (1, 1, 5)),
)  # fmt: skip


def registers() -> list[ClusterCase]:
    """The cases for the special registers."""
    result = []
    for grid, cluster in SHAPES:
        shown = "x".join(map(str, cluster)) if cluster else "none"
        cells = blank_rows(grid[0] * grid[1] * grid[2])
        name = f"special registers, grid {'x'.join(map(str, grid))}, cluster {shown}"
        result.append(ClusterCase(name, registers_text, name, cells, grid, cluster, 1, 10))
    return result
