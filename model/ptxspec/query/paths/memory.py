"""The memory of a thread that is executed symbolically: regions of bytes, each byte a piece of a term.

A region is a buffer, a variable or a parameter. Where it begins is an input, so that what is proved holds wherever it lies; an
address formed from its beginning reaches no other region. What lies in a region at first is an input too, one variable a byte.
Accesses are checked by the step of spec/machine/access.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.query.paths.addresses import AddressCase, Addresses
from ptxspec.query.paths.arrivals import assumed
from ptxspec.terms.core import Bool, Int, constant, integer, make_int, variable
from ptxspec.terms.storage import Broke, Broken, Way
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, TRUE, bit, low_bits, select


class SymbolicByte(NamedTuple):
    """A byte: the one of this number of a term that has `width` bytes."""

    term: Int
    number: int
    width: int

    def follows(self, first: SymbolicByte, distance: int) -> bool:
        """Whether it is so many bytes behind another one of the same term."""
        return self.term is first.term and self.width == first.width and self.number == first.number + distance

    @property
    def byte(self) -> Int:
        return low_bits(self.term >> (8 * self.number), 8)


@dataclass(eq=False)
class Region:
    """So many bytes of a state space. `initial` says what a byte is at first; `written` are the bytes that a store may reach, and
    `since` says by lane and number where bytes were written since the last event that others see. No other thread accesses one
    that `is_private`. That of a multimem address has no bytes, but `copies`: how far these lie behind it, and their names."""

    name: str
    space: str
    size: int
    align: int
    base: Int
    initial: Callable[[int], SymbolicByte]
    writable: bool
    is_private: bool
    bytes: dict[int, SymbolicByte] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    since: dict[tuple[int, int], Bool] = field(default_factory=dict)
    copies: tuple[tuple[int, str], ...] = ()

    def piece(self, i: int) -> SymbolicByte:
        if i not in self.bytes:
            self.bytes[i] = self.initial(i)
        return self.bytes[i]

    def join(self, at: int, count: int) -> Int:
        """So many bytes from an offset on, as one number."""
        pieces = [self.piece(at + k) for k in range(count)]
        result: Int = constant(0)
        k = 0
        while k < count:
            first, run = pieces[k], 1
            while k + run < count and pieces[k + run].follows(first, run):
                run += 1
            part = first.term if run == first.width else low_bits(first.term >> (8 * first.number), 8 * run)
            result = part if run == count else result | (part << (8 * k))
            k += run
        return result

    def put(self, at: int, count: int, value: Int, writes: bool = True) -> None:
        """Let so many bytes be those of a number."""
        for k in range(count):
            self.bytes[at + k] = SymbolicByte(value, k, count)
        if writes:
            self.written.update(range(at, at + count))


class SymbolicMemory:
    """All regions of one side. `inputs` has what the sides read of memory: variables, by name, with their types."""

    def __init__(self, address_bits: int, multicast: bool = False) -> None:
        self.address_bits = address_bits
        #: where ordinary regions end: before memory of several devices, if there is any
        self.end = contracts.multicast.COPIES if multicast else 1 << address_bits
        self.addresses = Addresses()
        self.regions: dict[str, Region] = {}
        self.inputs: dict[str, Type] = {}
        self.bases: dict[str, Type] = {}
        self.page, self.layout = contracts.access, contracts.generic_addressing
        self.spaces = contracts.state_spaces
        self._interferences: list[tuple[Bool, Int]] = []

    # regions -------------------------------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        space: str,
        size: int,
        align: int,
        initial: Callable[[int], SymbolicByte] | None = None,
        writable: bool = True,
        is_private: bool = False,
    ) -> Region:
        """A region, which begins at an input of its name."""
        facts = self.spaces.SPACES[space]
        narrow = self.page.is_narrow(space)
        bits = facts.address_bits if narrow else self.address_bits
        least = 0 if narrow else self.layout.GLOBAL_BASE
        end = self.layout.part_begins(1) if narrow else self.end
        most = max(least, end - size - align)
        base = make_int("bounded", (variable(name, bits),), (least, most))
        is_private = is_private or not writable or facts.shared_by == self.spaces.THREAD
        region = Region(name, space, size, align, base, initial or self.unknown(name), writable, is_private)
        self._added(region)
        self.bases[name] = TYPES[f"b{bits}"]
        self.addresses.add(base, name)
        return region

    def _added(self, region: Region) -> None:
        for holds, number in self._interferences:
            self._leave(region, holds, number)
        self.regions[region.name] = region

    def add_multicast(self, name: str, size: int, align: int, devices: int) -> list[Region]:
        """The region of a multimem address, which begins at an input of its name, and those of the copies that devices have."""
        page, space = contracts.multicast, self.spaces.OF_BUFFERS
        first, half = page.multimem_address(0, devices), 1 << page.PLACE_BITS - 1
        base = make_int("bounded", (variable(name, 64),), (first + contracts.memory_rules.CALLERS_BASE, first + half))
        places = [(page.copy_address(0, k) - first, f"{name}.{k}") for k in range(devices)]
        whole = Region(name, space, 0, align, base, self.unknown(name), True, False, copies=tuple(places))
        regions = [whole]
        for behind, copy in places:
            begin = low_bits(base + behind, 64)
            regions.append(Region(copy, space, size, align, begin, self.unknown(copy), True, False))
        for region in regions:
            self._added(region)
        self.bases[name] = TYPES["b64"]
        self.addresses.add(base, name)
        return regions

    def unknown(self, name: str) -> Callable[[int], SymbolicByte]:
        """Bytes that are inputs."""

        def initial(i: int) -> SymbolicByte:
            self.inputs[f"{name}[{i}]"] = TYPES["b8"]
            return SymbolicByte(variable(f"{name}[{i}]", 8), 0, 1)

        return initial

    def interfere(self, holds: Bool, number: Int) -> None:
        """Let other threads, if a condition holds, leave anything in what they may access: the same at an event of this number
        wherever it is met."""
        self._interferences.append((holds, number))
        for region in self.regions.values():
            self._leave(region, holds, number)

    def _leave(self, region: Region, holds: Bool, number: Int) -> None:
        if region.is_private:
            return
        was, before = dict(region.bytes), region.initial

        def initial(i: int) -> SymbolicByte:
            byte: Int = constant(0)
            for k in range(number.hi, number.lo - 1, -1):
                name = f"{region.name}[{i}]@{k}"
                self.inputs[name] = TYPES["b8"]
                left = variable(name, 8)
                byte = left if k == number.hi else select(number == k, left, byte)
            if holds is TRUE:
                return SymbolicByte(byte, 0, 1)
            return SymbolicByte(select(holds, byte, (was[i] if i in was else before(i)).byte), 0, 1)

        region.bytes.clear()
        region.initial = initial

    def guaranteed(self, used: set[str]) -> Bool:
        """What is so of the beginnings of regions that are used: they are aligned, and those of one space are apart."""
        holds: Bool = TRUE
        regions = [r for r in self.regions.values() if r.name in used and r.base.op == "bounded"]
        for i, region in enumerate(regions):
            base = region.base.args[0]
            lo, hi = region.base.attrs
            holds = holds & (base >= lo) & (base <= hi) & self.page.aligned(base, region.align)
            for other in regions[:i]:
                if other.space == region.space:
                    other_base = other.base.args[0]
                    holds = holds & ((base + region.size <= other_base) | (other_base + other.size <= base))
        return holds

    # accesses ------------------------------------------------------------------------------------------------------------

    def reached(self, space: str, address: Int, into: Collection[str] = ()) -> list[AddressCase]:
        """The regions that an address of a state space may reach: those that it is formed from, or else any. A generic one must
        lie in one of the state spaces `into`, if there are any."""
        cases = [self._counted(space, case) for case in self._reached(space, address)]
        return [c for c in cases if space != "generic" or self.page.may_lie(self.regions[c.region].space, into)]

    def _counted(self, space: str, case: AddressCase) -> AddressCase:
        """The same in as many bits as count of an address: a region lies in these, so that the rest is that of the distance."""
        offset = self.page.counted(space, case.offset, True)
        if offset is case.offset or offset.hi >= case.offset.hi:
            return case
        counts = (case.offset == offset) | (self.page.ignores_upper_halves() == 1)
        return case._replace(offset=offset, counts=counts)

    def _reached(self, space: str, address: Int) -> list[AddressCase]:
        cases, reached = self.addresses.cases(address), []
        for region in self.regions.values() if cases is None else ():  # it is formed from none, and may lie in any
            if self._may_reach(space, region):
                offset = low_bits(address - region.base - self._window(space, region), 64)
                holds = self.page.inside(self.page.counted(space, offset, True), 1, constant(region.size))
                reached.append(AddressCase(region.name, offset, holds))
        for case in cases or ():
            region = self.regions[case.region]
            reached += self._copies_reached(region, case)
            if self._may_reach(space, region):
                window = self._window(space, region)
                offset = low_bits(case.offset - window, 64) if window else case.offset
                reached.append(case._replace(offset=offset))
        return reached

    def _copies_reached(self, region: Region, case: AddressCase) -> list[AddressCase]:
        """The copies that an address may reach which is formed from a multimem address."""
        reached = []
        for behind, name in region.copies:
            offset = low_bits(case.offset - behind, 64)
            inside = self.page.inside(offset, 1, constant(self.regions[name].size))
            reached.append(AddressCase(name, offset, case.holds & inside, case.counts))
        return [case for case in reached if case.holds is not FALSE]

    def _may_reach(self, space: str, region: Region) -> bool:
        wanted = space.partition("::")[0]
        return wanted == region.space or (wanted == "generic" and self.layout.is_generic(region.space))

    def _window(self, space: str, region: Region) -> int:
        """What a generic address of a region has that its address in the space lacks."""
        return self.layout.base(region.space) if space == "generic" else 0

    def allowed(self, cases: list[AddressCase], address: Int, size: int, write: bool) -> Bool:
        """Whether an access is: it lies in a region that may be written if it is to be, and is aligned."""
        result: Bool = FALSE
        for case in cases:
            region = self.regions[case.region]
            known = case.offset if region.align >= size else address
            storage = RegionStorage(region, case.offset)
            self.page.located(region.space, known, size, write, storage)
            result = result | (case.holds & case.counts & storage.allowed)
        return result

    def load(self, cases: list[AddressCase], size: int, count: int, holds: Bool) -> list[Int]:
        """So many values of `size` bytes, where an access is allowed and a condition holds."""
        values: list[Int] = [constant(0)] * count
        for case in reversed(cases):
            region = self.regions[case.region]
            for i in range(count):
                value = self._chosen(region, case.offset, size * count, i * size, size)
                value = assumed(value, holds)
                values[i] = value if case.holds is TRUE else select(case.holds, value, values[i])
        return values

    def store(
        self, cases: list[AddressCase], values: list[Int], size: int, holds: Bool, lane: int | None = None
    ) -> None:
        """Write values of `size` bytes where a condition holds and the access is allowed; `lane` is whose store it is, if others
        see it only at an event that comes later."""
        for case in cases:
            region, total = self.regions[case.region], size * len(values)
            here = holds & case.holds
            for at in self.positions(region, case.offset, total):
                exactly = here if case.offset.op == "const" else here & (case.offset == at)
                for i, value in enumerate(values):
                    place = at + i * size
                    old = None if exactly.op == "const" and exactly.attrs[0] else region.join(place, size)
                    region.put(place, size, value if old is None else select(exactly, value, old))
                if lane is not None and not region.is_private:
                    for k in range(at, at + total):
                        region.since[lane, k] = region.since.get((lane, k), FALSE) | exactly

    def positions(self, region: Region, offset: Int, size: int) -> range:
        """The offsets at which an access to a region may be that is allowed."""
        step = min(size, region.align)
        first = max(0, -(-offset.lo // step) * step)
        return range(first, min(offset.hi, region.size - size) + 1, step)

    def _chosen(self, region: Region, offset: Int, total: int, within: int, size: int) -> Int:
        """A value of an access of `total` bytes at an offset of a region."""
        places = self.positions(region, offset, total)
        if not places:
            return integer(0)
        if len(places) == 1:
            return region.join(places[0] + within, size)
        step = places.step
        values: list[Int] = [region.join(at + within, size) for at in range(0, places[-1] + 1, step)]
        index = offset >> (step.bit_length() - 1)
        position = 0
        while len(values) > 1:
            values += values[-1:] * (len(values) % 2)
            odd = bit(index, position) == 1
            values = [select(odd, values[k + 1], values[k]) for k in range(0, len(values), 2)]
            position += 1
        return values[0]


#: no bytes, and no thread
NONE = integer(0)


class RegionStorage:
    """A region as an access reaches it: what the step asks. `allowed` becomes the condition under which no rule is broken."""

    ignores_upper_halves, clustered = True, False
    rank, threads, members = NONE, NONE, NONE

    def __init__(self, region: Region, offset: Int):
        """`offset` is that of the access in the region."""
        self.region, self.offset = region, offset
        self.allowed: Bool = TRUE

    def nowhere(self) -> None:
        raise AssertionError("a proof is about no asynchronous operation")

    def require(self, holds: Bool, broken: Broke) -> None:
        self.allowed = self.allowed & holds

    def refuse(self, broken: Broke) -> None:
        self.allowed = FALSE

    def first(self, ways: Sequence[Way[None]], otherwise: Callable[[], None]) -> None:
        raise AssertionError("an access in a proof names its state space")

    def own(self, shared_by: str, address: Int) -> tuple[Int, Int]:
        return NONE, self.offset

    def held(self, space: str) -> Int:
        return integer(self.region.size)

    def apart(self, space: str) -> Int:
        return NONE

    def ended(self, cta: Int) -> Int:
        return NONE

    def stack_states(self, space: str, start: Int, size: int) -> Int | None:
        return None

    def heap_states(self, address: Int, size: int) -> Int | None:
        """A region is no part of the heap."""
        return None

    def each_state(self, space: str, start: Int, count: Int, holds: Callable[[Int], Bool]) -> Bool:
        raise AssertionError("a proof is about no asynchronous operation")

    def in_block(self, address: Int, write: bool) -> tuple[Int, Int]:
        return self.offset, integer(contracts.access.reachable(self.region.size, self.region.writable, write))

    def broken_in_global(self, address: Int, size: Int | int, write: bool) -> Broken:
        raise AssertionError("a proof says nothing of what an access broke")

    def at(self, space: str, start: Int, size: Int | int, write: bool) -> None:
        """The bytes are the region's."""

    def at_block(self, address: Int, offset: Int, size: Int | int, write: bool) -> None:
        """The bytes are the region's."""
