"""From one thread to another by small rewrites that are right, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ptxspec.query.rewrites.steps import RewriteStep
from ptxspec.query.rewrites.table import lacking

#: states of a thread that are looked at, at most
MOST_STATES = 2_000


class ChainElement(NamedTuple):
    """A step on the way, without what it reads and writes, and the numbers of the original's steps for which it stands."""

    step: RewriteStep
    origins: tuple[int, ...]


class Chain(NamedTuple):
    """The rewrites in words, and what they end with."""

    words: tuple[str, ...]
    elements: tuple[ChainElement, ...]


def chains(
    before: Sequence[RewriteStep], after: Sequence[RewriteStep], check_time: Callable[[], None]
) -> Iterator[Chain]:
    """The ways from some steps to others, short ones first: reordering two that follow one another, changing an order or a scope,
    merging two into one, and putting a fence in. Each rewrite is right beside any other threads. `check_time` is called again and
    again, and may raise an exception."""
    goal = tuple(step.shape for step in after)
    first = Chain((), tuple(ChainElement(step.shape, (k,)) for k, step in enumerate(before)))
    waiting, known = deque([first]), {first.elements}
    while waiting and len(known) < MOST_STATES:
        chain = waiting.popleft()
        if tuple(element.step for element in chain.elements) == goal:
            yield chain
        check_time()
        for words, elements in _further(chain.elements, goal):
            if elements not in known:
                known.add(elements)
                waiting.append(Chain((*chain.words, words), elements))


class _Small(NamedTuple):
    """A rewrite of so many steps: what they become, the number of the one that stands for each, and that in words."""

    new: tuple[ChainElement, ...]
    stands: tuple[int, ...]
    words: str


def _further(
    elements: tuple[ChainElement, ...], goal: tuple[RewriteStep, ...]
) -> Iterator[tuple[str, tuple[ChainElement, ...]]]:
    """What becomes of steps by one rewrite that is right."""
    for at in range(len(elements) + 1):
        for small in _rewrites(elements[at : at + 2], goal, len(elements)):
            old = elements[at : at + len(small.stands)]
            if _is_right([e.step for e in old], [e.step for e in small.new], small.stands):
                yield small.words, (*elements[:at], *small.new, *elements[at + len(old) :])


def _rewrites(pair: tuple[ChainElement, ...], goal: tuple[RewriteStep, ...], length: int) -> Iterator[_Small]:
    """Rewrites before two steps, of the first of them, or of both."""
    if length < len(goal):
        for step in dict.fromkeys(step for step in goal if not step.location):
            yield _Small((ChainElement(step, ()),), (), f"{step.words} is put in")
    if not pair:
        return
    a = pair[0]
    for step in dict.fromkeys(goal):
        if step != a.step and _alike(step, a.step):
            yield _Small((a._replace(step=step),), (0,), f"{a.step.words} becomes {step.words}")
    if len(pair) < 2:
        return
    b = pair[1]
    if a.step != b.step:
        yield _Small((b, a), (1, 0), f"{b.step.words} goes before {a.step.words}")
    if length > len(goal) and _alike(a.step, b.step):
        for step in dict.fromkeys((a.step, b.step)):
            merged = ChainElement(step, (*a.origins, *b.origins))
            yield _Small((merged,), (0, 0), f"{a.step.words} and {b.step.words} become {step.words}")


def _alike(a: RewriteStep, b: RewriteStep) -> bool:
    """Whether two steps differ in their orders and scopes alone."""
    return a._replace(order=None, scope=None) == b._replace(order=None, scope=None)


def _is_right(before: Sequence[RewriteStep], after: Sequence[RewriteStep], stands: tuple[int, ...]) -> bool:
    """Whether a rewrite is right: of locations by any names."""
    names = dict.fromkeys(step.location for step in before if step.location)
    short = {name: f"location {k}" for k, name in enumerate(names)} | {"": ""}
    renamed = [tuple(step._replace(location=short[step.location]) for step in steps) for steps in (before, after)]
    return not lacking(renamed[0], renamed[1], stands)
