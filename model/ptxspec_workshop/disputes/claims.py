"""What the pages under `docs/disputes/` state: readings of an instruction that are tempting and differ from the definition, and
cases in which an assembler makes machine code that leaves something else than the definitions do.

A page states them with `dispute(...)`, `fault(...)` and `open_result(...)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ptxspec.language.forms import page_name
from ptxspec.literate.stating import called_at, trimmed
from ptxspec_workshop.disputes.kernels import kernel

#: the package whose modules are the pages
PAGES = "ptxspec.disputes"
#: the assemblers that were asked, and the levels of optimization
VERSIONS = ("13.0", "13.5")
LEVELS = (0, 1, 2, 3)


class ClaimLocation(NamedTuple):
    """Where a claim is stated: the file and the line."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{page_name(self.path)}:{self.line}"


class Dispute(NamedTuple):
    """A tempting reading. `ptx` is a fragment, `reading` one that computes what the reading expects; `at` are operands, as bits,
    that are shown. `assume` keeps out what is beside the point, as in ptxspec.prove, and `expected` is the verdict on their being
    the same: mostly "refuted", and then they differ at `at`."""

    title: str
    ptx: str
    reading: str
    at: dict[str, int]
    assume: str | None
    expected: str
    place: ClaimLocation


class AssemblerFault(NamedTuple):
    """A fragment that an assembler gets wrong. `failing` says which versions fail, and at which levels. `entry` is the number in
    the register of ambiguities. With `is_open` the result is one that PTX leaves open, and the machine code takes another
    choice than the profile of the machine has."""

    title: str
    entry: str
    ptx: str
    inputs: dict[str, str]
    results: dict[str, str]
    failing: dict[str, tuple[int, ...]]
    is_open: bool
    place: ClaimLocation

    @property
    def text(self) -> str:
        """The kernel that is assembled."""
        return kernel(self.ptx, self.inputs, self.results)

    @property
    def ways(self) -> frozenset[tuple[str, int]]:
        """The pairs of a version and a level that fail."""
        return frozenset((version, level) for version, levels in self.failing.items() for level in levels)


class Extent(NamedTuple):
    """An instruction that reads a register which many others wrote, of which the record keeps what it left. `ptx` computes `d` of
    the register's bits `r`, as PTX states, and `machine` computes what the machine left after those that make a fault of it."""

    reader: str
    ptx: str
    machine: str
    place: ClaimLocation


#: every claim of the pages loaded so far, in order
DISPUTES: list[Dispute] = []
EXTENTS: list[Extent] = []
FAULTS: list[AssemblerFault] = []


def dispute(
    title: str, ptx: str, reading: str, *, assume: str | None = None, expected: str = "refuted", **at: int
) -> Dispute:
    """State the verdict on `ptx` computing what `reading` does; `at` are operands that are shown."""
    claim = Dispute(title, trimmed(ptx), trimmed(reading), dict(at), assume, expected, ClaimLocation(*called_at()))
    DISPUTES.append(claim)
    return claim


class FaultClaims(NamedTuple):
    """States what versions of an assembler make of programs: faults, or, if `is_open`, another choice than the profile of the
    machine has, of a result that PTX leaves open."""

    is_open: bool

    def __call__(
        self,
        title: str,
        entry: str,
        ptx: str,
        inputs: Mapping[str, str],
        results: Mapping[str, str],
        failing: Mapping[str, str],
    ) -> AssemblerFault:
        """State it of `ptx`. `inputs` and `results` name registers with their types, as in {"a": "b32"}; `failing` maps a
        version to the levels at which it is so, as in {"13.0": "123"}."""
        place = ClaimLocation(*called_at())
        unknown = set(failing) - set(VERSIONS)
        levels = {version: tuple(map(int, digits)) for version, digits in failing.items()}
        unknown |= {str(level) for by_version in levels.values() for level in by_version if level not in LEVELS}
        if unknown:
            raise ValueError(f"{place}: {title}: no version or level {', '.join(sorted(unknown))} was asked")
        fault = AssemblerFault(title, entry, trimmed(ptx), dict(inputs), dict(results), levels, self.is_open, place)
        FAULTS.append(fault)
        return fault


#: states that versions of an assembler get a program wrong
fault = FaultClaims(False)
#: states that they leave another result than the profile of the machine says, where PTX leaves it open
open_result = FaultClaims(True)


def extent(reader: str, ptx: str, *, machine: str) -> Extent:
    """State how a fault reaches from one instruction to another: see Extent."""
    claim = Extent(reader, trimmed(ptx), trimmed(machine), ClaimLocation(*called_at()))
    EXTENTS.append(claim)
    return claim


class Claims(NamedTuple):
    """All that the pages state."""

    disputes: tuple[Dispute, ...]
    faults: tuple[AssemblerFault, ...]
    extents: tuple[Extent, ...]


@cache
def load_all() -> Claims:
    """Every claim of the pages under docs/disputes/."""
    from ptxspec.literate import finder

    for name, _ in finder.pages(PAGES):
        finder.load(name)
    return Claims(tuple(DISPUTES), tuple(FAULTS), tuple(EXTENTS))
