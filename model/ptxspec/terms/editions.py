"""Editions: from which PTX ISA version to which, and on which targets, a sentence of the manual stands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import blame


class Epoch(NamedTuple):
    """What a module says of itself: its PTX ISA version, the number of its target, and the features that this has beside, which
    only some chips have: the names of the targets that stand for them, its own first. None: all features."""

    version: tuple[int, int]
    target: int
    features: tuple[str, ...] | None = None

    @property
    def target_name(self) -> str:
        """The target as a module names it."""
        return self.features[0] if self.features else f"sm_{self.target}"

    def has(self, only: tuple[str, ...]) -> bool:
        """Whether the target has the features of one of these targets; of no targets: always."""
        return not only or self.features is None or not set(only).isdisjoint(self.features)


#: later than every version, on a later target than all: the epoch of what says neither
NEWEST = Epoch((1 << 30, 0), 1 << 30)


class Edition(NamedTuple):
    """The epochs with PTX ISA versions from `since` to below `before` (None: all later ones) and targets from `target` to below
    `before_target`."""

    since: tuple[int, int] = (1, 0)
    before: tuple[int, int] | None = None
    target: int = 10
    before_target: int | None = None

    def holds(self, epoch: Epoch) -> bool:
        """Whether the epoch is one of them."""
        return (
            epoch.version >= self.since
            and (self.before is None or epoch.version < self.before)
            and epoch.target >= self.target
            and (self.before_target is None or epoch.target < self.before_target)
        )

    @property
    def versions(self) -> list[tuple[int, int]]:
        """The versions at which it begins or ends; not the first of all."""
        return [v for v in (self.since, self.before) if v is not None and v != (1, 0)]

    @property
    def targets(self) -> list[int]:
        """The targets at which it begins or ends; not the first of all."""
        return [t for t in (self.target, self.before_target) if t is not None and t != 10]

    def __str__(self) -> str:
        """In words, e.g. "from PTX ISA 9.0 on" or "before sm_20, before PTX ISA 1.5"."""
        bounds = [] if self.target == 10 else [f"from sm_{self.target} on"]
        bounds += [] if self.before_target is None else [f"before sm_{self.before_target}"]
        bounds += [] if self.since == (1, 0) else [f"from PTX ISA {shown(self.since)} on"]
        bounds += [] if self.before is None else [f"before PTX ISA {shown(self.before)}"]
        return ", ".join(bounds) or "always"


def shown(version: tuple[int, int]) -> str:
    """A version as modules write it."""
    return f"{version[0]}.{version[1]}"


def edition(since: str, before: str | None, target: str, before_target: str | None) -> Edition:
    """An edition as pages write it: versions such as "9.0", targets such as "sm_20"."""
    return Edition(
        version(since),
        None if before is None else version(before),
        target_number(target),
        None if before_target is None else target_number(before_target),
    )


def version(text: str) -> tuple[int, int]:
    """A PTX ISA version as pages write it. Raises TermError, which names the page's line, for what is none."""
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    if match is None:
        raise blame(f"{text!r} is no version of PTX ISA: write it like '9.0'")
    return int(match[1]), int(match[2])


def target_number(text: str) -> int:
    """The number of a target as pages write it. Raises TermError, which names the page's line, for what is none."""
    match = re.fullmatch(r"sm_(\d+)", text)
    if match is None:
        raise blame(f"{text!r} is no target: write it like 'sm_20'")
    return int(match[1])


def feature_name(text: str) -> str:
    """The name of a target that stands for features of some chips alone, as pages write it. Raises TermError, which names the
    page's line, for what is none."""
    if re.fullmatch(r"sm_(\d+)[af]", text) is None:
        raise blame(f"{text!r} is no target of some chips alone: write it like 'sm_100f'")
    return text


def before(version: tuple[int, int], target: int) -> Epoch:
    """The newest epoch of which it is not true that it has this version and this target, both or later ones."""
    if target > 10:
        return Epoch(NEWEST.version, target - 1)
    major, minor = version
    return Epoch((major, minor - 1) if minor else (major - 1, NEWEST.target), NEWEST.target)


def beginnings(editions: Iterable[Edition]) -> list[Epoch]:
    """For every set of epochs that some editions do not tell apart, the first of them."""
    editions = list(editions)
    versions = sorted({(1, 0), *(v for e in editions for v in e.versions)})
    targets = sorted({10, *(t for e in editions for t in e.targets)})
    return [Epoch(v, t) for v in versions for t in targets]
