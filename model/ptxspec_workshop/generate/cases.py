"""What a GPU is asked: a case is one kernel with the rows that its threads are given.

Every kernel has the parameters `in` and `out`, a row of 8-byte cells a thread each, and `argument`, some bytes. Its threads leave
their answers in the first cells of their rows of `out`. The kinds of cases are in function_cases.py, warp_cases.py,
effect_cases.py and cluster_cases.py; who runs them knows only what stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ptxspec.language.forms import Form

Extents = tuple[int, int, int]

#: bytes from one thread's row to the next, and cells in a row
STRIDE = 128
CELLS = STRIDE // 8
#: what the rows of `out` hold before a launch
FILL = 0xA5A5A5A5A5A5A5A5
#: kernels of a module
CHUNK = 96


class Launch(NamedTuple):
    """One launch of a kernel: the rows of `in`, a thread each; the parameter `argument`, if the kernel has one; and the shape.
    Without `block`, one CTA has all threads."""

    cells: np.ndarray
    argument: bytes | None = bytes(64)
    grid: Extents = (1, 1, 1)
    block: int | None = None
    cluster: Extents | None = None

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.block or len(self.cells)


class KernelQuestion(Protocol):
    """What can be launched: its name among the answers, its launches, and what is kept of the rows that these leave."""

    @property
    def name(self) -> str: ...

    @property
    def launches(self) -> Sequence[Launch]: ...

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """The answer: a row a thread, the launches one after another, a column a value."""
        ...


class Case(KernelQuestion, Protocol):
    """A question about one form, with a kernel of its own."""

    @property
    def alike(self) -> Any:
        """Equal for cases between which our machine sees no difference."""
        ...

    @property
    def apart(self) -> Any:
        """Equal for cases whose kernels may stand in one module."""
        ...

    def text(self, name: str) -> str:
        """The kernel, under the name that it has in a module."""
        ...

    def module(self, texts: Sequence[str]) -> str:
        """The module in which kernels of such cases stand."""
        ...

    def operands(self, row: int) -> tuple[int, ...]:
        """What a row of the answer is of, to be shown."""
        ...

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Which rows of two answers differ."""
        ...


C = TypeVar("C", bound=Case)


def chunks(cases: Sequence[C]) -> list[list[C]]:
    """The cases by the module that they stand in."""
    by_module: dict[Any, list[C]] = {}
    for case in cases:
        by_module.setdefault((type(case), case.apart), []).append(case)
    return [group[i : i + CHUNK] for group in by_module.values() for i in range(0, len(group), CHUNK)]


def named(chunk: Sequence[C]) -> dict[str, C]:
    """The cases of one module by the names of their kernels: k0, k1, …"""
    return {f"k{i}": case for i, case in enumerate(chunk)}


def module_of(chunk: Sequence[Case]) -> str:
    """The text of a chunk's module."""
    return chunk[0].module([case.text(name) for name, case in named(chunk).items()])


def unlike(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Which rows of two answers differ in any column."""
    rows: np.ndarray = (left != right).any(axis=1)
    return rows


def blank_rows(count: int) -> np.ndarray:
    """Rows of `in` with zeros in all cells."""
    return np.zeros((count, CELLS), np.uint64)


def key(form: Form, absent: Iterable[str]) -> str:
    """The name of the answers of a form some of whose operands are left out."""
    return f"{form} less {', '.join(absent)}" if absent else str(form)


#: what stands before the kernels of a module of today
HEAD = (".version 9.0", ".target sm_90", ".address_size 64")


def plain_module(
    texts: Sequence[str], declarations: Sequence[str] = (), version: str = "9.0", target: str = "sm_90"
) -> str:
    """A module of some kernels, behind what they share."""
    head = (f".version {version}", f".target {target}", *HEAD[2:])
    return "\n".join([*head, *declarations, *texts, ""])


def entry(name: str, lines: Iterable[str], argument: int = 64) -> str:
    """A kernel with the parameters of all cases, of which the third has so many bytes."""
    head = f".visible .entry {name}(.param .u64 in, .param .u64 out, .param .align 16 .b8 argument[{argument}])"
    return "\n".join([head, "{", *(f"  {line}" for line in lines), "}"])
