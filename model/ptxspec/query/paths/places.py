"""The regions of memory that a side's text names: variables, parameters, and the buffers of the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxspec import contracts
from ptxspec.language.checked import Place
from ptxspec.machine.special import variables_of
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.memory import Region, SymbolicByte
from ptxspec.query.paths.options import Buffer
from ptxspec.terms.core import Int, constant, variable
from ptxspec.terms.types import TYPES, Type

if TYPE_CHECKING:
    from ptxspec.query.paths.arrivals import PathState
    from ptxspec.query.paths.walking import Walk


class Regions:
    """Makes regions when they are first asked for."""

    def __init__(self, walk: Walk):
        self.walk, self.spaces = walk, contracts.state_spaces
        self.buffers = {b.name: b for b in walk.options.buffers}
        self.used: set[str] = set()
        self.regions: dict[Any, Region] = {}
        #: the regions whose bytes are compared in the end
        self.compared: dict[str, Region] = {}

    # buffers -------------------------------------------------------------------------------------------------------------

    def pointer(self, name: str) -> Int | None:
        """The address that a register or a parameter holds at first which points to a buffer; None for another name."""
        buffer = self.buffers.get(name)
        if buffer is None:
            return None
        self.used.add(name)
        target = self.buffers[buffer.of] if buffer.of else buffer
        region = self._multicast(target) or self.regions.get(target.name)
        if region is None:
            region = self.walk.memory.add(
                target.name,
                target.space,
                target.size,
                target.align,
                writable=target.writable,
                is_private=target.private,
            )
            if target.private:
                self.walk.notes[f"No other thread accesses {target.name}."] = None
            self.regions[target.name] = self.compared[target.name] = region
        return contracts.variables.behind(region.base, buffer.offset, 64) if buffer.offset else region.base

    def _multicast(self, buffer: Buffer) -> Region | None:
        """The region of a multimem address, or of a copy, which are made together; None for another buffer."""
        whole = buffer if buffer.copy_of is None else self.buffers[buffer.copy_of[0]]
        if not whole.devices:
            return None
        if whole.name not in self.regions:
            for region in self.walk.memory.add_multicast(whole.name, whole.size, whole.align, whole.devices):
                self.regions[region.name] = self.compared[region.name] = region
        return self.regions[buffer.name]

    def check_named(self, address: Int, line: int) -> None:
        """Raise Unsupported for an address that is formed from no region, but from inputs."""
        names = variables_of(address)
        if not names or names & self.walk.memory.regions.keys():
            return
        first = min(names)
        how = f'buffers={{"{first}": 64}} if {first} points to 64 bytes, or {{"{first}": ("p", 16)}} if to byte 16 of those of p'
        raise Unsupported(
            f"line {line}: what the address points to ({', '.join(sorted(names))}) is not said; say {how}"
        )

    def written(self) -> dict[str, tuple[Int, Type]]:
        """The bytes that are compared and a store may reach, by name: (value, type)."""
        regions = self.compared.values()
        return {f"{r.name}[{i}]": (r.piece(i).byte, TYPES["b8"]) for r in regions for i in sorted(r.written)}

    # variables and parameters ----------------------------------------------------------------------------------------------

    def address(self, name: str, way: PathState, lane: int) -> Int:
        """The address of a variable or a parameter, in its state space."""
        return self.region(name, way, lane).base

    def region(self, name: str, way: PathState, lane: int) -> Region:
        place = self.walk.kernel.places[name]
        return self.of_place(name, place, way.activation if place.framed else 0, lane)

    def of_place(self, name: str, place: Place, activation: int, lane: int) -> Region:
        """The region of a variable; of those in frames, for an activation of their function."""
        space = self.spaces.OF_FRAMES if place.framed else place.space
        facts = self.spaces.SPACES[space]
        is_private = facts.shared_by == self.spaces.THREAD
        key: Any = (activation, place.offset, lane) if place.framed else (name, lane) if is_private else name
        if key in self.regions:
            return self.regions[key]
        if place.opaque or place.in_a_bank or place.size == 0:
            raise Unsupported(f"{name}: opaque variables, banks and variables without a size are not followed")
        shown = name.partition("@")[0] + (f"#{activation}" if activation else "")
        if shown in self.buffers and space != self.spaces.OF_PARAMETERS:
            raise Unsupported(f"{shown} is a variable, so that it is no pointer to a buffer")
        shown += f".{lane}" if is_private and self.walk.lanes > 1 else ""
        if space == self.spaces.OF_PARAMETERS:
            return self._parameter(shown, place, key)
        initial = None
        if not facts.written:  # the bytes that a constant begins with
            if place.pointers:
                raise Unsupported(f"{place.name}: initializers with addresses are not followed")
            data = (place.initial or b"").ljust(place.size, b"\0")
            initial = lambda i: SymbolicByte(constant(data[i]), 0, 1)  # noqa: E731
        elif not facts.initialized:
            initial = self._unwritten(shown)
        region = self.walk.memory.add(shown, space, place.size, place.aligned, initial, facts.written)
        if facts.written and facts.initialized:
            self.compared[shown] = region
        self.regions[key] = region
        return region

    def _unwritten(self, name: str) -> Any:
        """The bytes that a variable of the thread or the CTA begins with, which nobody wrote."""
        walk = self.walk
        unknown = walk.memory.unknown(name)

        def initial(i: int) -> SymbolicByte:
            shown = f"{name}[{i}]"
            if walk.options.open_at_first:
                walk.begins_as(shown, contracts.state_spaces.unwritten(TYPES["b8"], shown))
                return SymbolicByte(walk.unwritten[shown], 0, 1)
            byte = unknown(i)
            walk.begins_as(shown, byte.term)
            return byte

        return initial

    def _parameter(self, name: str, place: Place, key: Any) -> Region:
        """A parameter of an entry: a pointer to a buffer, a number, or an array's bytes."""
        memory = self.walk.memory
        value, initial = self.pointer(name), memory.unknown(name)
        if value is None and not place.element and f"b{8 * place.size}" in TYPES:
            value = variable(name, 8 * place.size)
            memory.inputs[name] = TYPES[f"b{8 * place.size}"]
        if value is not None:
            number = value

            def initial(i: int) -> SymbolicByte:
                return SymbolicByte(number, i, place.size)

        region = memory.add(f"&{name}", self.spaces.OF_PARAMETERS, place.size, place.aligned, initial, writable=False)
        self.regions[key] = region
        return region
