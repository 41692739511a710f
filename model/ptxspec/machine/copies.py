"""Copies that finish later: which are under way, and what they fill and read. Steps of spec/machine/copies.md.

Both engines take these functions where a thread comes to an instruction: the exact one runs them, the native one compiles them
into a kernel that copies. Shared memory of all resident CTAs is counted in granules here. A copy is known by the first granule
that it fills, since no two copies fill one at a time. Those of a thread that are under way are a list, in the order in which they
began.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from ptxspec import contracts
from ptxspec.machine.driver.protocol import Column
from ptxspec.terms.steps import Step

GRANULE: int = contracts.copies().GRANULE
WORDS: int = len(contracts.copies().Copies.fields)


class Machine(Protocol):
    """What these functions work on: arrays (`outstanding.py` lays them out), and steps."""

    # how many CTAs are resident at once, and their threads
    slots: int
    threads: int

    # a granule's: whether a copy fills it; and of the copy whose first it is: who began it, at which instruction, in which group,
    # where it reads in global memory, how many bytes, how many it fills, and the granule of the thread's next copy, plus 1
    filling: Column
    copy_thread: Column
    copy_op: Column
    copy_group: Column
    copy_source: Column
    copy_read: Column
    copy_size: Column
    copy_next: Column
    # a byte of global memory: how many copies read it
    reading: Column
    # a thread's: its groups, and the granules of its first and its last copy that is under way, plus 1
    copies: Column
    first_copy: Column
    last_copy: Column

    def begin_copy(self, copies: int, /) -> int:
        """A thread begins a copy: the group that it belongs to."""

    def commit_copies(self, copies: int, /) -> None:
        """A thread commits a group."""

    def wait_for_groups(self, copies: int, most: int, /) -> None:
        """A thread waits for all groups but the last so many."""

    def wait_for_copies(self, copies: int, /) -> None:
        """A thread waits for all copies."""

    def is_finished(self, copies: int, group: int, /) -> int:
        """Whether a thread has waited for a group."""


def copy_begins(m: Machine, thread: int, op: int, place: int, source: int, size: int, read: int) -> None:
    """A thread begins a copy that fills `size` bytes from the granule `place` on, and reads `read` at `source`."""
    m.copy_thread[place] = thread
    m.copy_op[place] = op
    m.copy_group[place] = m.begin_copy(thread)
    m.copy_source[place] = source
    m.copy_read[place] = read
    m.copy_size[place] = size
    m.copy_next[place] = 0
    for i in range(place, place + size // GRANULE):
        m.filling[i] = 1
    for i in range(source, source + read):
        m.reading[i] = m.reading[i] + 1
    if m.first_copy[thread]:
        m.copy_next[m.last_copy[thread] - 1] = place + 1
    else:
        m.first_copy[thread] = place + 1
    m.last_copy[thread] = place + 1


def copies_are_committed(m: Machine, thread: int) -> None:
    """A thread commits a group."""
    m.commit_copies(thread)


def groups_are_awaited(m: Machine, thread: int, most: int) -> None:
    """A thread waits for all groups but the last so many."""
    m.wait_for_groups(thread, most)
    copies_finish(m, thread)


def copies_are_awaited(m: Machine, thread: int) -> None:
    """A thread waits for all copies."""
    m.wait_for_copies(thread)
    copies_finish(m, thread)


def copies_finish(m: Machine, thread: int) -> None:
    """Those of a thread's copies are under way no longer that it has waited for."""
    following = m.first_copy[thread]
    while following and m.is_finished(thread, m.copy_group[following - 1]):
        copy_ends(m, following - 1)
        following = m.copy_next[following - 1]
    m.first_copy[thread] = following


def copy_ends(m: Machine, place: int) -> None:
    """A copy is under way no longer."""
    for i in range(place, place + m.copy_size[place] // GRANULE):
        m.filling[i] = 0
    source = m.copy_source[place]
    for i in range(source, source + m.copy_read[place]):
        m.reading[i] = m.reading[i] - 1
    m.copy_size[place] = 0


def copies_are_forgotten(m: Machine) -> None:
    """Let no thread have begun anything: others are resident now."""
    for thread in range(m.slots * m.threads):
        following = m.first_copy[thread]
        while following:
            copy_ends(m, following - 1)
            following = m.copy_next[following - 1]
        m.first_copy[thread] = 0
    for i in range(m.slots * m.threads * WORDS):
        m.copies[i] = 0


#: every one of these functions
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    copy_begins, copies_are_committed, groups_are_awaited, copies_are_awaited, copies_finish, copy_ends, copies_are_forgotten,
)  # fmt: skip


@cache
def steps() -> dict[str, tuple[Step, tuple[str | None, ...]]]:
    """By their names here, the steps with the arrays in which the records lie that they are given."""
    page, own = contracts.copies(), ("copies",)
    return {
        "begin_copy": (page.begin, own),
        "commit_copies": (page.commit, own),
        "wait_for_groups": (page.wait, own),
        "wait_for_copies": (page.wait_for_all, own),
        "is_finished": (page.is_finished, own),
    }
