"""What the checks of a launch find: faults that break no rule at an access, and make what a program computes depend on luck."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from ptxspec.base.options import CHECKS, Check
from ptxspec.language.diagnostics import see
from ptxspec.machine.errors import LaunchError, Where, told

#: findings that are kept
MOST_KEPT = 100


class LaunchFinding(NamedTuple):
    """A fault that a check of a launch has found. `kind` is "race", "source of a copy", "announced bytes", "uninitialized" or
    "leak", and `note` says in words what is wrong and what is missing. `where` is the thread and the instruction, of a leak the
    one that asked for the memory; `other` is the earlier one, of a race, the copy, of a CTA that exits before that has read, or
    where a value that is not initialized comes from. `size` bytes at `address` of the state space `space` are at fault; of a
    register that is "", 0 and 0. `page` is the document and the line that state the rule. The same two instructions may be at
    fault many times: `count` says how often, and the rest is of the first time; of a leak it is the number of pieces that one
    instruction has asked for.

    >>> text = '''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k() { .shared .b32 s;  .reg .b32 i;  mov.u32 i, %tid.x;  st.shared.u32 [s], i;  ret; }'''
    >>> outcome = ptxspec.load(text).launch("k", block=2, check="race", findings="collect")
    >>> [(finding.kind, finding.where.thread, finding.other.thread, finding.size) for finding in outcome.findings]
    [('race', (1, 0, 0), (0, 0, 0), 4)]
    """

    kind: str
    note: str
    where: Where
    other: Where | None
    space: str
    address: int
    size: int
    page: str
    count: int = 1  # type: ignore[assignment]  # a tuple counts otherwise

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.note}", *told(self.where)]
        if self.size:
            lines.append(f"  address {self.address:#x} of .{self.space}, {self.size} bytes")
        if self.other is not None:
            lines += ["  after", *told(self.other)]
        if self.count > 1:
            lines.append(f"  {self.count:,} times")
        return "\n".join([*lines, f"  {see(self.page)}"])


class FindingCollector:
    """Keeps what checks find: of those that are alike the first, and how many there are; MOST_KEPT of those that are not."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, LaunchFinding] = {}
        self._counts: dict[Hashable, int] = {}
        #: those that are not kept
        self.omitted = 0

    def report(self, key: Hashable, make: Callable[[], LaunchFinding], count: int = 1) -> None:
        """Note a finding, which is like all others of its key."""
        if key in self._counts:
            self._counts[key] += count
        elif len(self._kept) < MOST_KEPT:
            self._kept[key], self._counts[key] = make(), count
        else:
            self.omitted += count

    @property
    def some(self) -> bool:
        """Whether there are any."""
        return bool(self._kept)

    def findings(self) -> tuple[LaunchFinding, ...]:
        """All that are kept, in the order in which they were first found."""
        return tuple(finding._replace(count=self._counts[key]) for key, finding in self._kept.items())

    def error(self) -> LaunchError:
        """What a launch ends with that has findings."""
        results = self.findings()
        error = LaunchError(
            results[0].kind, self._summary(results), results[0].where, page=results[0].page, other=results[0].other
        )
        return error

    def _summary(self, findings: tuple[LaunchFinding, ...]) -> str:
        rest = len(findings) - 1 + self.omitted
        more = f" ({rest:,} more finding{'' if rest == 1 else 's'})" if rest else ""
        return f"{findings[0].note}{more}"


def checks_of(check: Check | None) -> frozenset[str]:
    """The kinds of faults that are looked for. Raises ValueError for a check that there is not."""
    if check is None:
        return frozenset()
    if check == "all":
        return frozenset(CHECKS)
    if check not in CHECKS:
        raise ValueError(f"check is {', '.join(map(repr, CHECKS))} or 'all', not {check!r}")
    return frozenset([check])
