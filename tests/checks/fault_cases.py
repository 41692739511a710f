"""The kernels of the suite: how each is launched, what it computes where it is right, and what is found where it has its fault.

A kernel is a CUDA source, compiled with and without FAULT, or PTX written by hand. Of the latter, lines that end in `// RIGHT` are
those of the right kernel alone, and what follows `// FAULT` is a line of the other one. `//@ NAME` names lines: what is found is said
by such names, as the two places of a race.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ptxspec

SUITE = Path(__file__).parent / "suite"
Arrays = Sequence[Any]
Wanted = dict[int, Any]


class Piece(NamedTuple):
    """An argument that points into a Memory: to so many bytes that the host fills with zeros, or, where the kernel has its fault,
    not; or in either case not."""

    size: int
    filled: bool = True


class Case(NamedTuple):
    """A kernel. `args` makes the arguments, and `want` gives, from the arguments as they were, what those of some numbers hold in
    the end: an array, or a function that says whether it is right. `at` has the places where its fault is found: for each a name
    or two of lines, in any order, of the instructions that race, or of where a value matters and where it comes from. `kind` is that of the findings; `rules` are rules of launches that the fault may break as well, or
    alone, where it has no findings. `schedules` are those in which the fault shows, if it does not show in all. `image` is the shape of the surface `image`, and
    of the texture `texture` of the same texels, if the kernel has one."""

    name: str
    grid: Any
    block: Any
    args: Callable[[], list[Any]]
    want: Callable[..., Wanted]
    at: str = ""
    kind: str = "race"
    rules: tuple[str, ...] = ()
    cluster: int | None = None
    dynamic_shared: int = 0
    schedules: tuple[str, ...] | None = None
    image: tuple[int, ...] | None = None

    @property
    def source(self) -> Path:
        path = SUITE / f"{self.name}.cu"
        return path if path.exists() else path.with_suffix(".ptx")

    @property
    def places(self) -> set[frozenset[str]]:
        return {frozenset(place.split("-")) for place in self.at.split()}


def text_of(case: Case, fault: bool) -> str:
    """The PTX of a kernel."""
    if case.source.suffix == ".cu":
        return case.source.with_suffix(".fault.ptx" if fault else ".ptx").read_text()
    text = case.source.read_text()
    if not fault:
        return text
    without = re.sub(r"^.*// RIGHT$", "", text, flags=re.M)
    return re.sub(r"^( *)// FAULT ", r"\1", without, flags=re.M)


@lru_cache(2)  # a module keeps its code: those of all cases would be gigabytes
def module_of(name: str, fault: bool) -> ptxspec.Module:
    case = BY_NAME[name]
    return ptxspec.load(text_of(case, fault), f"{name}.ptx")


@cache
def marks_of(name: str) -> dict[int, str]:
    """The names of lines of a kernel's source: the names by the numbers of the lines."""
    case, marks = BY_NAME[name], {}
    for number, line in enumerate(case.source.read_text().splitlines(), 1):
        if mark := re.search(r"//@ (\w+)", line):
            marks[number] = mark[1]
    return marks


@cache
def origins_of(name: str, fault: bool) -> list[int]:
    """By the lines of PTX (from 0) the lines of CUDA that they were compiled from: of what was inlined, where that was."""
    case = BY_NAME[name]
    outer: dict[str, int] = {}
    lines, here = [], 0
    for line in text_of(case, fault).splitlines():
        if at := re.match(r"\s*\.loc\s+(\d+ \d+ \d+)(?:.*inlined_at (\d+ \d+ \d+))?", line):
            here = outer[at[1]] = outer[at[2]] if at[2] else int(at[1].split()[1])
        lines.append(here)
    return lines


def mark_at(case: Case, fault: bool, line: int) -> str:
    """The name of the line that a line of PTX comes from."""
    if case.source.suffix == ".cu":
        line = origins_of(case.name, fault)[line - 1]
    return marks_of(case.name).get(line, f"line {line}")


def numbers(count: int, most: int = 50) -> np.ndarray:
    return ((np.arange(count) * 37 + 11) % most).astype(np.int32)


def zeros(count: int, dtype: Any = np.int32) -> np.ndarray:
    return np.zeros(count, dtype)


def filled(count: int, value: int) -> np.ndarray:
    return np.full(count, value, np.int32)


def rising(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int32)


def counted(keys: np.ndarray, most: int) -> np.ndarray:
    return np.bincount(keys & (most - 1), minlength=most).astype(np.int32)


def neighbours(a: np.ndarray) -> np.ndarray:
    return a[:-2] + a[1:-1] + a[2:]


def total(a: np.ndarray) -> np.ndarray:
    return np.array([a.sum()], np.int32)


def product(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    return (a.reshape(n, n) @ b.reshape(n, n)).ravel()


def odd(a: np.ndarray) -> np.ndarray:
    return a[a % 2 == 1]


#: the schedules in which a fault shows that does not show in all of them
RANDOM = tuple(f"random:{seed}" for seed in range(1, 9))
IN_TURN = ("round-robin", "warps")
SCHEDULES = (*IN_TURN, *RANDOM)

SHARED = [
    Case("reduce_tree", 2, 64, lambda: [numbers(128), zeros(2)], lambda x, _: {1: x.reshape(2, 64).sum(1)}, "add"),
    Case("reduce_filled", 2, 64, lambda: [numbers(128), zeros(2)], lambda x, _: {1: x.reshape(2, 64).sum(1)}, "put-add"),
    Case("scan_in_place", 1, 64, lambda: [numbers(64), zeros(64)], lambda x, _: {1: x.cumsum()}, "get-put"),
    Case("scan_work", 1, 64, lambda: [numbers(128), zeros(1)], lambda x, _: {1: total(x)}, "add add-out"),
    Case("transpose_tile", (2, 2), (8, 8), lambda: [numbers(256), zeros(256)],
         lambda x, _: {1: x.reshape(16, 16).T.ravel()}, "put-get"),
    Case("stencil_halo", 2, 64, lambda: [numbers(130), zeros(128)], lambda x, _: {1: neighbours(x)}, "put-get halo-get"),
    Case("stencil_late_halo", 2, 64, lambda: [numbers(130), zeros(128)], lambda x, _: {1: neighbours(x)}, "halo-get"),
    Case("matmul_filled", (2, 2), (8, 8), lambda: [numbers(256), numbers(256, 9), zeros(256)],
         lambda a, b, _: {2: product(a, b, 16)}, "put-get"),
    Case("matmul_used", (2, 2), (8, 8), lambda: [numbers(256), numbers(256, 9), zeros(256)],
         lambda a, b, _: {2: product(a, b, 16)}, "put-get"),
    Case("double_buffer", 1, 64, lambda: [numbers(256), zeros(64)],
         lambda x, _: {1: np.roll(x.reshape(4, 64), -1, 1).sum(0)}, "put-get"),
    Case("wrong_place", 1, 64, lambda: [numbers(64), zeros(64)], lambda x, _: {1: x[::-1]}, "put-get"),
    Case("histogram_shared", 1, 64, lambda: [numbers(64), zeros(4)], lambda x, _: {1: counted(x, 4)}, "add"),
    Case("append_shared", 1, 64, lambda: [numbers(64), zeros(1)], lambda x, _: {1: total(odd(x))}, "count item"),
    Case("queue_shared", 1, 64, lambda: [numbers(64), zeros(1)], lambda x, _: {1: total(odd(x))}, "put-get"),
    Case("broadcast", 1, 64, lambda: [numbers(1), zeros(64)], lambda x, _: {1: x[0] + rising(64)}, "put-get"),
    Case("scratch_reuse", 1, 64, lambda: [numbers(2), zeros(64)], lambda x, _: {1: x.sum() + rising(64)}, "put-get"),
    Case("zeroed_late", 1, 64, lambda: [numbers(64), zeros(4)], lambda x, _: {1: counted(x, 4)}, "zero-add"),
    Case("flushed_early", 1, 64, lambda: [numbers(64), zeros(4)], lambda x, _: {1: counted(x, 4)}, "add-get"),
    Case("bitonic", 1, 64, lambda: [numbers(64, 97), zeros(64)], lambda x, _: {1: np.sort(x)}, "get-put put"),
    Case("shared_maximum", 1, 64, lambda: [numbers(64), zeros(1)], lambda x, _: {1: x.max(keepdims=True)}, "max"),
    Case("dynamic_parts", 1, 64, lambda: [numbers(64) + 1, zeros(64)], lambda x, _: {1: -x}, "first-second",
         dynamic_shared=512),
    Case("named_full", 1, 64, lambda: [numbers(32), zeros(32)], lambda x, _: {1: x}, "put-get"),
    Case("named_empty", 1, 64, lambda: [numbers(64), zeros(32)], lambda x, _: {1: x[:32] + x[32:]}, "get-again"),
    Case("arrive_is_no_wait", 1, 64, lambda: [numbers(64), zeros(64)], lambda x, _: {1: np.roll(x, 32)}, "put-get"),
    Case("partial_count", 1, 96, lambda: [numbers(96), zeros(96)], lambda x, _: {1: np.roll(x, -32)}, "put-get"),
    Case("reduction_barrier", 1, 64, lambda: [numbers(64), zeros(64)], lambda x, _: {1: x[::-1] + len(odd(x))}, "put-get"),
    Case("two_groups", 1, 128, lambda: [numbers(128), zeros(128)],
         lambda x, _: {1: x.reshape(2, 64)[:, ::-1].ravel()}, "put-get"),
]  # fmt: skip

WARPS = [
    Case("warp_reduce", 1, 32, lambda: [numbers(32), zeros(1)], lambda x, _: {1: total(x)}, "add"),
    Case("warp_scan", 1, 32, lambda: [numbers(32), zeros(32)], lambda x, _: {1: x.cumsum()}, "get-put"),
    Case("warp_divergence", 1, 32, lambda: [numbers(32), zeros(32)],
         lambda x, _: {1: np.where(rising(32) % 2, x[rising(32) ^ 3] + 7, x[rising(32) ^ 1] * 3)}, "put-get"),
    Case("warp_mask", 1, 32, lambda: [numbers(32), zeros(32)], lambda x, _: {1: x[::-1]}, "put-get"),
    Case("warp_shuffle", 1, 32, lambda: [numbers(32), zeros(32)],
         lambda x, _: {1: x[rising(32) ^ 1] + x[rising(32) ^ 1] ** 2}, "put-get"),
    Case("warp_vote", 1, 32, lambda: [numbers(32), zeros(32)], lambda x, _: {1: np.roll(x, -1)}, "put-get"),
    Case("warp_leader", 1, 128, lambda: [numbers(4), zeros(128)],
         lambda x, _: {1: x.repeat(32) * 101 + (x.repeat(32) + 1) * rising(128)}, "put-get"),
    Case("warp_neighbour", 1, 64, lambda: [numbers(64), zeros(64)],
         lambda x, _: {1: x.reshape(2, 32)[:, ::-1].ravel()}, "put-get"),
    Case("warp_aggregated", 1, 128, lambda: [numbers(128), zeros(4)], lambda x, _: {1: counted(x, 4)}, "add"),
    Case("warp_transpose", 1, 32, lambda: [numbers(256), zeros(256)],
         lambda x, _: {1: np.concatenate([t.T.ravel() + np.roll(t, -1, 0).T.ravel() for t in x.reshape(2, 32, 4)])},
         "put-get put-own"),
    Case("warp_partial_mask", 1, 32, lambda: [numbers(16), zeros(16)], lambda x, _: {1: x[::-1]}, "put-get"),
]  # fmt: skip


def passed(name: str, at: str = "put-get", **how: Any) -> Case:
    """Two CTAs, of which the first passes a number to the second."""
    return Case(name, 2, 1, lambda: [filled(1, 20), zeros(1), zeros(1), zeros(1)], lambda x, *_: {2: x + 1}, at, **how)


def passed_by_all(name: str) -> Case:
    return Case(
        name, 2, 32, lambda: [numbers(32), zeros(32), zeros(32), zeros(1)], lambda x, *_: {2: x[::-1] + 1}, "put-get"
    )


def grid_barrier(name: str, at: str = "put-get") -> Case:
    return Case(name, 3, 32, lambda: [numbers(96), zeros(96), zeros(96), zeros(1)], lambda x, *_: {2: x[::-1] + 1}, at)


def lock(name: str, at: str = "add", **how: Any) -> Case:
    return Case(name, 4, 1, lambda: [zeros(1), zeros(1)], lambda *_: {0: zeros(1), 1: filled(1, 10)}, at, **how)


def look_back(name: str, **how: Any) -> Case:
    return Case(name, 6, 1, lambda: [numbers(6), zeros(6), zeros(6), zeros(6)], lambda x, *_: {2: x.cumsum()},
                "sum-look prefix-look", **how)  # fmt: skip


def searched(target: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Whether a table of 64 places holds the keys."""
    return lambda table: sorted(table[table != 0].tolist()) == sorted(set(target.tolist()))


def linked(nodes: int) -> Callable[[np.ndarray], bool]:
    """Whether each node leads to another one, and one of them to none."""
    return lambda following: 0 in following[1:] and len(set(following[1:].tolist())) == nodes


EDGES = np.array([1, 2, 3, 1, 2, 5, 6, 1, 7, 7, 7, 2, 3, 4, 5, 6], np.int32)

GRID = [
    Case("histogram_global", 2, 64, lambda: [numbers(128), zeros(8)], lambda x, _: {1: counted(x, 8)}, "add"),
    Case("counter_global", 4, 32, lambda: [numbers(128), zeros(1)], lambda x, _: {1: filled(1, len(odd(x)))}, "add"),
    Case("narrow_atomic", 2, 64, lambda: [numbers(128), zeros(8)], lambda x, _: {1: counted(x, 8)}, "add"),
    Case("maximum_global", 2, 64, lambda: [numbers(128), zeros(1)], lambda x, _: {1: x.max(keepdims=True)}, "max"),
    Case("overlapping_tiles", 3, 32, lambda: [zeros(96)],
         lambda _: {0: np.concatenate([rising(32) + 1000 * b for b in range(3)])}, "put"),
    Case("one_too_many", 2, 32, lambda: [zeros(129)],
         lambda _: {0: np.concatenate([rising(64), rising(64) + 1000, [0]])}, "put"),
    Case("stencil_in_place", 2, 32, lambda: [numbers(66), zeros(66)],
         lambda x, _: {1: np.concatenate([[0], neighbours(x), [0]])}, "get-put"),
    Case("transpose_in_place", (2, 2), (8, 8), lambda: [numbers(256)], lambda x: {0: x.reshape(16, 16).T.ravel()}, "get-put"),
    Case("breadth_first", 2, 8, lambda: [zeros(16), EDGES.copy(), filled(8, -1), zeros(1)],
         lambda *_: {2: np.array([-1] + [1] * 7), 3: filled(1, 7)}, "look-take"),
    Case("compaction", 2, 32, lambda: [numbers(64), zeros(64), zeros(1)],
         lambda x, *_: {1: lambda got: sorted(got[got > 0].tolist()) == sorted(odd(x).tolist())}, "count put"),
    Case("plain_poll", 2, 32, lambda: [zeros(1), zeros(64)], lambda *_: {0: filled(1, 64)}, "add-get"),
    Case("plain_reset", 2, 32, lambda: [zeros(1)], lambda _: {0: filled(1, 64)}, "zero-add"),
    Case("same_value", 2, 32, lambda: [numbers(64) - 25, zeros(1)], lambda *_: {1: filled(1, 1)}, "put"),
    passed("flag_release"),
    passed("flag_acquire"),
    passed("flag_narrow_fence"),
    passed("flag_relaxed"),
    passed("flag_narrow_type", "put-get set-wait"),
    passed_by_all("flag_early"),
    passed_by_all("flag_unpublished"),
    Case("last_block_release", 4, 32, lambda: [numbers(128), zeros(4), zeros(1), zeros(1)],
         lambda x, *_: {3: total(x)}, "put-get"),
    Case("last_block_acquire", 4, 32, lambda: [numbers(128), zeros(4), zeros(1), zeros(1)],
         lambda x, *_: {3: total(x)}, "put-get", schedules=("random:3",)),
    Case("last_block_early", 3, 32, lambda: [numbers(96), zeros(96), zeros(1), zeros(1)],
         lambda x, *_: {3: total(2 * x)}, "put-get"),
    look_back("look_back"),
    look_back("look_back_reader", schedules=RANDOM),
    Case("look_back_packed", 6, 1, lambda: [numbers(6), zeros(6, np.uint64), zeros(6)], lambda x, *_: {2: x.cumsum()}, "put-get"),
    grid_barrier("grid_barrier_release"),
    grid_barrier("grid_barrier_acquire"),
    grid_barrier("grid_barrier_narrow", "put-get count count-wait"),
    grid_barrier("grid_barrier_early"),
    grid_barrier("grid_barrier_alone"),
    Case("no_grid_barrier", 2, 32, lambda: [numbers(64), zeros(64), zeros(64)],
         lambda x, *_: {2: x.reshape(2, 32)[:, ::-1].ravel() + 1}, "put-get"),
    lock("spin_lock_release"),
    lock("spin_lock_acquire"),
    lock("spin_lock_narrow"),
    lock("spin_lock_plain_unlock", "add unlock lock-unlock"),
    Case("spin_lock_lanes", 1, 4, lambda: [zeros(1), zeros(1)], lambda *_: {1: filled(1, 40)}, "add"),
    lock("spin_lock_typed"),
    Case("ticket_lock_release", 4, 1, lambda: [zeros(1), zeros(1), zeros(1)], lambda *_: {2: filled(1, 15)}, "add"),
    Case("ticket_lock_acquire", 4, 1, lambda: [zeros(1), zeros(1), zeros(1)], lambda *_: {2: filled(1, 15)}, "add"),
    Case("sequence_lock", 2, 1, lambda: [zeros(1), zeros(2), filled(1, 9)], lambda *_: {2: zeros(1)}, "put-get", schedules=RANDOM),
    Case("dekker", 2, 1, lambda: [zeros(2), zeros(1), zeros(1)], lambda *_: {2: filled(1, 3)}, "add"),
    Case("peterson", 2, 1, lambda: [zeros(2), zeros(1), zeros(1)], lambda *_: {2: filled(1, 3)}, "add"),
    Case("peterson_acquire", 2, 1, lambda: [zeros(2), zeros(1), zeros(1)], lambda *_: {2: filled(1, 3)}, "add",
         schedules=("random:3", "random:5", "random:6", "random:8")),
    Case("wavefront", 3, 1, lambda: [zeros(24), zeros(3)],
         lambda *_: {0: np.array([[2, 3, 4, 5, 6, 7, 8, 9], [3, 6, 10, 15, 21, 28, 36, 45], [4, 10, 20, 35, 56, 84, 120, 165]])
                     .ravel()}, "put-get"),
    Case("ring", 2, 1, lambda: [numbers(16), zeros(4), zeros(16), zeros(1), zeros(1)], lambda x, *_: {2: x}, "put-get",
         schedules=(*IN_TURN, "random:3")),
    Case("once", 4, 1, lambda: [zeros(1), zeros(1), zeros(4)], lambda *_: {2: 42 + rising(4)}, "test-take test-ready"),
    Case("table_insert", 2, 32, lambda: [numbers(64) * 8 + 1, zeros(64), zeros(64)],
         lambda x, *_: {1: searched(x)}, "look-put put"),
    Case("linked_list", 2, 32, lambda: [zeros(1), zeros(65)], lambda *_: {1: linked(64)}, "push"),
    Case("carry_chain", 4, 1, lambda: [numbers(4), zeros(4), zeros(4), zeros(4)],
         lambda x, *_: {3: x.cumsum() - x}, "put-get"),
]  # fmt: skip


def message(name: str, at: str = "put-get", **how: Any) -> Case:
    """The same in PTX: the number is 7."""
    return Case(name, 2, 1, lambda: [zeros(1), zeros(2), zeros(1)], lambda *_: {2: filled(1, 7)}, at, **how)


def last_of_all(name: str) -> Case:
    return Case(name, 4, 1, lambda: [zeros(4), zeros(1), zeros(1)], lambda *_: {2: filled(1, 46)}, "put-get")


MESSAGES = [
    message("mp_narrow", "put-get set-wait"),
    message("mp_narrow_release", "put-get set-wait"),
    message("mp_narrow_acquire", "put-get set-wait"),
    message("mp_relaxed_release"),
    message("mp_relaxed_acquire"),
    message("mp_weak_flag", "put-get set-wait"),
    message("mp_weak_wait", "put-get set-wait"),
    message("mp_fence_late"),
    message("mp_fence_narrow"),
    message("mp_fence_one_narrow"),
    message("mp_exchange"),
    message("mp_red"),
    message("mp_stored_late"),
    message("mp_other_place"),
    message("mp_pattern"),
    message("mp_cluster", "put-get set-wait", cluster=2),
    message("mp_two_clusters", "put-get set-wait", cluster=1),
    Case("mp_in_cta", 1, 64, lambda: [zeros(1), zeros(2), zeros(1)], lambda *_: {2: filled(1, 7)}, "put-get"),
    Case("mp_shared_flag", 1, 64, lambda: [zeros(1)], lambda *_: {0: filled(1, 7)}, "put-get set-wait"),
    Case("mp_generic", 1, 64, lambda: [zeros(1)], lambda *_: {0: filled(1, 7)}, "put-get"),
    Case("mp_relay", 2, 2, lambda: [zeros(1), zeros(2), zeros(1)], lambda *_: {2: filled(1, 7)}, "put-get"),
    Case("mp_chain", 3, 1, lambda: [zeros(1), zeros(1), zeros(1)], lambda *_: {2: filled(1, 7)}, "put-get",
         schedules=(*IN_TURN, "random:2", "random:8")),
    last_of_all("last_block_fences"),
    Case("grid_barrier_fences", 4, 1, lambda: [zeros(4), zeros(1), zeros(4)],
         lambda *_: {2: np.array([13, 12, 11, 10])}, "put-get"),
]  # fmt: skip


def in_cluster(name: str, at: str = "put-get", **how: Any) -> Case:
    return Case(name, 2, 32, lambda: [numbers(64), zeros(64)], lambda x, _: {1: np.roll(x, 32)}, at, cluster=2, **how)


CLUSTERS = [
    in_cluster("dsmem_read"),
    in_cluster("dsmem_relaxed"),
    in_cluster("dsmem_between"),
    in_cluster("dsmem_write_between"),
    in_cluster("dsmem_exit", "get", rules=("use after end",), schedules=IN_TURN),
    Case("dsmem_push", 2, 32, lambda: [numbers(64), zeros(64)], lambda x, _: {1: 2 * np.roll(x, 32) + 100}, "get-again",
         cluster=2),
    Case("dsmem_atomic", 2, 32, lambda: [zeros(1)], lambda _: {0: filled(1, 64)}, "add", cluster=2),
]  # fmt: skip

IMAGE = (1, 64, 1)

PROXIES = [
    Case("nc_after_barrier", 1, 32, lambda: [zeros(32), zeros(32)], lambda *_: {1: (rising(32) ^ 1) * 3 + 1}, "put-get"),
    Case("nc_same_thread", 1, 32, lambda: [zeros(32), zeros(32)], lambda *_: {1: rising(32) * 3 + 1}, "put-get"),
    Case("nc_in_place", 2, 32, lambda: [numbers(64), numbers(64)], lambda x, _: {1: 2 * x[rising(64) ^ 1]}, "put-get"),
    Case("ldu_after_barrier", 1, 32, lambda: [zeros(1), zeros(32)], lambda *_: {1: filled(32, 5)}, "put-get"),
    Case("constant_written", 1, 32, lambda: [zeros(32)], lambda *_: {0: filled(32, 6)}, "put", rules=("read only",)),
    Case("surface_texels", 1, 32, lambda: [zeros(1)], lambda _: {0: filled(1, 1)}, "put", image=IMAGE),
    Case("texture_read", 1, 32, lambda: [zeros(32)], lambda _: {0: zeros(32)}, "get", rules=("written image",), image=IMAGE),
    Case("surface_read", 1, 32, lambda: [zeros(32)], lambda _: {0: zeros(32)}, "get", rules=("written image",), image=IMAGE),
]  # fmt: skip

WAITED = "copy not waited for"

COPIES = [
    Case("copy_one_short", 1, 32, lambda: [numbers(512), zeros(32)],
         lambda x, _: {1: x.reshape(4, 32, 4)[:, :, 0].sum(0)}, "copy-get", rules=(WAITED,)),
    Case("copy_no_barrier", 1, 32, lambda: [numbers(128), zeros(32)],
         lambda x, _: {1: x.reshape(32, 4)[::-1, 0]}, "copy-get", rules=(WAITED,)),
    Case("copy_barrier_first", 1, 32, lambda: [numbers(128), zeros(32)],
         lambda x, _: {1: x.reshape(32, 4)[::-1, 0]}, "copy-get", rules=(WAITED,)),
    Case("copy_source", 1, 32, lambda: [numbers(128), zeros(32)],
         lambda x, _: {1: x.reshape(32, 4)[:, 0]}, "copy-put", rules=("source of a copy",)),
    Case("copy_refill", 1, 32, lambda: [numbers(256), zeros(32)],
         lambda x, _: {1: x.reshape(2, 32, 4)[:, ::-1, 0].sum(0)}, "copy-get", rules=(WAITED,)),
    Case("copy_of_others", 1, 32, lambda: [zeros(32), zeros(32)], lambda *_: {1: (31 - rising(32)) * 5 + 2}, "copy-put",
         rules=("source of a copy",)),
    Case("copy_overlap", 1, 32, lambda: [numbers(128), zeros(32)], lambda x, _: {1: x.reshape(32, 4)[:, 0]}, "copy",
         rules=(WAITED,)),
]  # fmt: skip

SIZES = [
    Case("bytes_beside", 1, 32, lambda: [zeros(32, np.uint8)],
         lambda _: {0: (rising(32) * 257 + 1).astype(np.uint8)}, "put"),
    Case("word_over_halves", 1, 32, lambda: [zeros(32, np.uint16), zeros(32)],
         lambda *_: {1: (rising(32) * 7 + 1).astype(np.uint16).view(np.int32).repeat(2)}, "put-get"),
    Case("vectors_overlap", 1, 32, lambda: [zeros(128)],
         lambda _: {0: (rising(32)[:, None] * 10 + [1, 2, 2, 1]).ravel()}, "put"),
    Case("atomics_of_two_sizes", 1, 32, lambda: [zeros(2)], lambda _: {0: np.array([32, 1])}, "add-both"),
    Case("packed_halves", 1, 32, lambda: [zeros(2, np.float16)], lambda _: {0: np.array([31, 32], np.float16)}, "add-put"),
    Case("strong_elements", 2, 1, lambda: [zeros(2), zeros(1)], lambda *_: {1: filled(1, 3)}, "put-get"),
    Case("bit_fields", 1, 32, lambda: [zeros(32, np.uint16)], lambda _: {0: rising(32) + 1}, "put"),
    Case("bits_of_a_word", 2, 64, lambda: [numbers(128), zeros(4, np.uint32)],
         lambda x, _: {1: np.packbits(x % 2 == 1, bitorder="little").view(np.uint32)}, "put"),
]  # fmt: skip

RACES = {"shared memory": SHARED, "warps": WARPS, "grid": GRID, "messages": MESSAGES, "clusters": CLUSTERS, "proxies": PROXIES,
         "copies": COPIES, "sizes": SIZES}  # fmt: skip


def unset(
    name: str, args: Callable[[], list[Any]], want: Callable[..., Wanted], grid: Any = 1, block: Any = 32, **how: Any
) -> Case:
    """A kernel whose fault is a value that nobody has written."""
    return Case(name, grid, block, args, want, "use use-from", "uninitialized", **how)


def carried(x: np.ndarray) -> np.ndarray:
    """Sums of two numbers of 64 bits, that lie side by side in words."""
    return x.view(np.uint64).reshape(-1, 2).sum(1, dtype=np.uint64).view(np.int32)


RECORD = np.dtype([("small", np.int8), ("large", np.int32)], align=True)

UNINITIALIZED = [
    unset("u_partial_tile", lambda: [numbers(20), np.int32(20), zeros(32)], lambda x, *_: {2: total(x).repeat(32)}),
    unset("u_halo", lambda: [numbers(64), np.int32(64), zeros(64)],
          lambda x, *_: {2: neighbours(np.concatenate([[0], x, [0]]))}, grid=2),
    unset("u_reduce_odd", lambda: [numbers(24), zeros(1)], lambda x, _: {1: total(x)}, block=24),
    unset("u_loop_bound", lambda: [numbers(32), zeros(32)],
          lambda x, _: {1: np.array([(x * (t + rising(32))).sum() for t in range(32)])}),
    unset("u_dynamic", lambda: [numbers(32), np.int32(48), zeros(32)], lambda x, *_: {2: x[::-1]}, dynamic_shared=192),
    unset("u_shared_flag", lambda: [numbers(32), zeros(32)], lambda *_: {1: rising(32)}),
    unset("u_shared_bins", lambda: [numbers(32), zeros(4)], lambda x, _: {1: counted(x, 4)}),
    unset("u_shared_least", lambda: [numbers(32), zeros(32)], lambda x, _: {1: x - x.min()}),
    unset("u_scan_first", lambda: [numbers(32), zeros(32)], lambda x, _: {1: x.cumsum() - x}),
    unset("u_local_array", lambda: [numbers(32), zeros(64)],
          lambda x, _: {1: np.concatenate([counted(row, 8) for row in x.reshape(8, 4)])}, block=8),
    unset("u_out_parameter", lambda: [numbers(32), np.int32(11), zeros(8)],
          lambda x, *_: {2: np.array([1 + 2 * row.index(11) if 11 in row else 0 for row in x.reshape(8, 4).tolist()])}, block=8),
    unset("u_malloc", lambda: [numbers(2), zeros(1)], lambda x, _: {1: total(x)}, block=1),
    unset("u_struct", lambda: [numbers(32), zeros(32)], lambda x, _: {1: x[::-1] + 31 - rising(32)}),
    unset("u_padding", lambda: [np.array((3, 4), RECORD)[()], zeros(1)], lambda *_: {1: filled(1, 7)}, block=1),
    unset("u_second_stage", lambda: [numbers(32), Piece(128, False), zeros(32)], lambda x, *_: {2: 2 * x[rising(32) ^ 1] + 1}),
    unset("u_allocated", lambda: [numbers(32), Piece(128), zeros(32)], lambda x, *_: {2: x}),
    unset("u_allocated_way", lambda: [numbers(32), Piece(128)], lambda x, _: {1: x}),
    unset("u_allocated_counter", lambda: [numbers(32), Piece(4), zeros(1)], lambda x, *_: {2: filled(1, len(odd(x)))}),
    unset("u_matmul", lambda: [numbers(144), numbers(144, 9), zeros(144)], lambda a, b, _: {2: product(a, b, 12)},
          grid=(2, 2), block=(8, 8)),
    unset("u_branch", lambda: [zeros(32)], lambda _: {0: np.where(rising(32) < 16, 3, 5)}),
    unset("u_predicate", lambda: [zeros(32)], lambda _: {0: np.where(rising(32) < 16, 0, rising(32))}),
    unset("u_accumulator", lambda: [numbers(128), zeros(32)], lambda x, _: {1: x.reshape(32, 4).sum(1)}),
    unset("u_accumulator_float", lambda: [numbers(128).astype(np.float32), zeros(32, np.float32)],
          lambda x, _: {1: (x * x).reshape(32, 4).sum(1)}),
    unset("u_carry", lambda: [(numbers(128, 2**20) * 12345), zeros(64)], lambda x, _: {1: carried(x)}),
    unset("u_half_word", lambda: [zeros(32)], lambda _: {0: rising(32) * 65537}),
    unset("u_half_unused", lambda: [zeros(32)], lambda _: {0: rising(32)}),
    unset("u_selected", lambda: [zeros(32)], lambda _: {0: rising(32)}),
    unset("u_shuffle", lambda: [zeros(32)], lambda _: {0: (31 - rising(32)) * 3}),
    unset("u_vector", lambda: [zeros(32)], lambda _: {0: 2 * rising(32) + 1}),
    unset("u_address", lambda: [numbers(4), zeros(32)], lambda x, _: {1: x[rising(32) & 3]}),
    unset("u_copied", lambda: [Piece(16, False), zeros(4)], lambda *_: {1: np.array([1, 2, 0, 0])}, block=1),
    unset("u_call", lambda: [zeros(32)], lambda _: {0: np.where(rising(32) < 16, rising(32), 9)}),
]  # fmt: skip


def leaking(
    name: str, args: Callable[[], list[Any]], want: Callable[..., Wanted], block: int = 8, at: str = "got", **how: Any
) -> Case:
    """A kernel whose fault is memory from the heap that nobody can free any more."""
    return Case(name, how.pop("grid", 1), block, args, want, at, "leak", **how)


LEAKS = [
    leaking("l_early_return", lambda: [np.concatenate([numbers(16), rising(16)]), zeros(32)], lambda x, _: {1: np.sort(x.reshape(8, 4)).ravel()}),
    leaking("l_list", lambda: [numbers(32), zeros(8)], lambda x, _: {1: x.reshape(8, 4).sum(1)}),
    leaking("l_shared_pointer", lambda: [numbers(32), zeros(32)], lambda x, _: {1: x.reshape(2, 16)[:, ::-1].ravel()}, 16, grid=2),
    leaking("l_grown", lambda: [numbers(40), np.int32(40), zeros(1)], lambda x, *_: {2: total(odd(x))}, 1, "first got"),
    leaking("l_ring", lambda: [numbers(8), zeros(8)], lambda x, _: {1: x + 1}, at="got second"),
    leaking("l_tree", lambda: [numbers(40, 23), np.int32(40), zeros(1)], lambda x, *_: {2: filled(1, len(set(x.tolist())))}, 1),
    leaking("l_stack", lambda: [numbers(64), zeros(64)], lambda x, _: {1: x}, 32, grid=2),
    leaking("l_replaced", lambda: [numbers(8), zeros(8, np.uint64)],
            lambda *_: {1: lambda handed: len(set(handed.tolist()) - {0}) == 8}, at="got"),
]  # fmt: skip

#: faults that no check tells: `at` is empty
UNSEEN = [
    Case("x_peterson_order", 2, 1, lambda: [zeros(2), zeros(1), zeros(1)], lambda *_: {2: filled(1, 3)}),
    Case("x_relaxed_data", 2, 1, lambda: [filled(1, 20), zeros(1), zeros(1), zeros(1)], lambda x, *_: {2: x + 1}),
    Case("x_warp_volatile", 1, 32, lambda: [numbers(32), zeros(1)], lambda x, _: {1: total(x)}),
    Case("x_lost_update", 2, 16, lambda: [zeros(1)], lambda _: {0: filled(1, 32)}),
]

#: what notes of findings say, besides
WORDS = {
    "narrow_atomic": ".cta does not include both threads",
    "flag_narrow_fence": ".cta",
    "flag_narrow_type": ".cta does not include both threads",
    "grid_barrier_narrow": ".cta does not include both threads",
    "spin_lock_narrow": ".cta",
    "spin_lock_plain_unlock": "weak",
    "plain_poll": "weak",
    "plain_reset": "weak",
    "zeroed_late": "weak",
    "once": "weak",
    "mp_narrow": ".cta does not include both threads",
    "mp_narrow_release": ".cta",
    "mp_narrow_acquire": ".cta",
    "mp_weak_flag": "weak",
    "mp_weak_wait": "weak",
    "mp_fence_narrow": ".cta",
    "mp_fence_one_narrow": ".cta",
    "mp_cluster": ".cta does not include both threads",
    "mp_two_clusters": ".cluster does not include both threads",
    "dsmem_read": "barrier.cluster",
    "dsmem_relaxed": "barrier.cluster",
    "dsmem_atomic": ".cta does not include both threads",
    "nc_after_barrier": "texture proxy",
    "nc_same_thread": "texture proxy",
    "nc_in_place": "texture proxy",
    "ldu_after_barrier": "constant proxy",
    "atomics_of_two_sizes": "of 8 and 4 bytes",
    "packed_halves": "weak",
    "u_address": "%n was not initialized, and it is an address",
    "u_allocated_counter": "an atomic operation",
    "u_allocated_way": "the way that the thread takes",
    "u_branch": "%x was not initialized, and it is stored to memory that the host sees",
    "u_carry": "CC.CF was not initialized",
    "u_half_word": "a value was not initialized, and it is stored to memory that the host sees",
    "u_predicate": "%p was not initialized, and the way that the thread takes depends on it",
    "u_shared_bins": "an atomic operation",
    "strong_elements": "bytes",
    "warp_reduce": "bar.warp.sync",
    "warp_shuffle": "bar.warp.sync",
    "broadcast": "bar.sync",
    "wrong_place": "bar.sync",
}

CASES = [*(case for group in RACES.values() for case in group), *UNINITIALIZED, *LEAKS]
BY_NAME = {case.name: case for case in [*CASES, *UNSEEN]}
