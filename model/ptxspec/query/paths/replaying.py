"""A side run by a launch: the same text, its registers and memory as a counterexample has them, under the exact engine.

Nothing of the walk is used: the driver, the memory and the blocks are the machine's. So a mistake in how paths are followed shows
as a counterexample that a launch does not bear out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from typing import Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.specials import special_registers
from ptxspec.machine.batch import Extents
from ptxspec.machine.engine import Engine
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.exact_engine import ExactEngine, ExactRun, InterpretedKernel
from ptxspec.machine.fresh import Fresh
from ptxspec.machine.launch import LaunchBounds, Launches, LaunchOptions, LaunchShape, RequestedLaunch
from ptxspec.machine.launch_plan import LaunchSettings
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.owned import Memory as OwnedMemory
from ptxspec.machine.program import KernelProgram
from ptxspec.machine.special import SpecialValues, unchanging
from ptxspec.query.paths.options import Options
from ptxspec.query.paths.sides import Side
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import CONVENTION

#: instructions that a launch executes at most
_STEPS = 1_000_000


class LaunchResult(NamedTuple):
    """What a launch left: registers and bytes by the names that results have, or that it broke a rule."""

    results: dict[str, Any]
    faulted: str | None


class _InitialState(Fresh):
    """What registers and memory hold at first."""

    def __new__(cls, side: Side, options: Options, values: Mapping[str, Any]) -> _InitialState:
        state = super().__new__(cls, 0)
        state.side, state.options, state.values = side, options, values
        return state

    side: Side
    options: Options
    values: Mapping[str, Any]

    def begun(self, live: Set[str], every: Collection[str]) -> set[str]:
        """All of them: one that a path does not write is told as it was, though nothing reads it."""
        return set(every)

    def registers(self, name: str, bits: int, first: int, count: int) -> np.ndarray:
        size, buffers = max(1, bits // 8), {b.name for b in self.options.buffers}
        rows = np.zeros((count, size), np.uint8)
        for lane in range(count):
            value = self.values.get(name, 0)
            if self.options.lanes > 1 and name not in buffers:  # whose bytes are called so
                value = self.values.get(f"{name}[{lane}]", value)
            rows[lane] = np.frombuffer(int(value).to_bytes(size, "little"), np.uint8)
        return rows

    def bytes_of(self, what: str, first: int, count: int, each: int) -> np.ndarray:
        rows = np.zeros((count, each), np.uint8)
        for name, place in self.side.kernel.places.items():
            if f".{place.space}" != what:
                continue
            for row in range(count):
                apart = f".{row}" if what == ".local" and self.options.lanes > 1 else ""
                for i in range(min(place.size, each - place.offset)):
                    shown = f"{name.partition('@')[0]}{apart}[{i}]"
                    rows[row, place.offset + i] = self.values.get(shown, 0)
        return rows


class _Engine(ExactEngine):
    """The exact engine, which shows the run of its last launch."""

    run: ExactRun | None = None

    def prepared(self, program: KernelProgram, spread: bool, watch: Callable[[], None]) -> InterpretedKernel:
        engine, interpreted = self, super().prepared(program, spread, watch)

        class Shown(InterpretedKernel):
            def start(
                self, memory: LaunchMemory, extents: Extents, slots: int, worker: int, watch: Callable[[], None]
            ) -> ExactRun:
                engine.run = super().start(memory, extents, slots, worker, watch)
                return engine.run

        return Shown(*interpreted)


class _Launches(Launches):
    """Launches whose threads begin with registers that are given."""

    first: _InitialState
    chosen_engine: _Engine

    def _fresh(self, seed: Any) -> Fresh:
        return self.first

    def engine(self, how: LaunchSettings) -> Engine:
        return self.chosen_engine


class _Picked(Profile):
    """A profile, and for the conventions that it leaves open what the machine of a counterexample does."""

    def __init__(self, name: str, pick: Callable[[Any, tuple[int, ...]], int]):
        super().__init__(name)
        self.pick = pick

    def value(self, freedom: Any, operands: tuple[int, ...]) -> int:
        if freedom.attrs[2] == CONVENTION and not self.chooses(freedom):
            return self.pick(freedom, operands)
        return super().value(freedom, operands)


class Memories(NamedTuple):
    """The caller's memory in which the buffers of a question lie, and the address of each pointer."""

    memory: OwnedMemory
    addresses: dict[str, int]


def laid_out(options: Options, values: Mapping[str, Any]) -> Memories | None:
    """The buffers with the bytes that they hold at first; None if one of them is nothing that a caller can own."""
    if any(b.space != contracts.state_spaces.OF_BUFFERS or not b.writable for b in options.buffers):
        return None
    memory, addresses = OwnedMemory(), dict[str, int]()
    for buffer in options.buffers:
        if buffer.devices:
            copies = memory.multicast(buffer.size, buffer.devices, max(256, buffer.align))
            addresses |= {f"{buffer.name}.{k}": int(copy) for k, copy in enumerate(copies.copies)}
            addresses[buffer.name] = int(copies.address)
    for buffer in options.buffers:
        if not buffer.of and not buffer.devices:
            data = bytes(values.get(f"{buffer.name}[{i}]", 0) for i in range(buffer.size))
            if buffer.copy_of is None:
                addresses[buffer.name] = int(memory.put(data, max(256, buffer.align)))
            else:
                memory.write(addresses[buffer.name], data)
    for buffer in options.buffers:
        if buffer.of:
            addresses[buffer.name] = addresses[buffer.of] + buffer.offset
    return Memories(memory, addresses)


def run(
    side: Side,
    options: Options,
    values: Mapping[str, Any],
    where: Memories,
    profile: str,
    pick: Callable[[Any, tuple[int, ...]], int],
) -> LaunchResult | None:
    """Launch a side; `values` has the inputs by name, `pick` chooses what conventions are. None if a launch cannot begin so: a
    function has no entry, and a thread does not choose what its special registers say."""
    if side.what == "function" or not _as_launched(options, values):
        return None
    values = {**values, **where.addresses}
    launches = _Launches(side.checked)
    launches.first, launches.chosen_engine = _InitialState(side, options, values), _Engine()
    for name, place in side.checked.places.items():
        if place.space == contracts.state_spaces.OF_BUFFERS and not place.opaque and place.size:
            launches.write(name, bytes(values.get(f"{name}[{i}]", 0) for i in range(place.size)))
    # a side that may be contracted is not launched
    contract, picked = "none" if options.contract == "any" else options.contract, _Picked(profile, pick)
    wanted = LaunchOptions("exact", picked, 1, None, "early", contract, "auto", False)
    grid, bounds = LaunchShape(1, options.lanes, None, 0, False), LaunchBounds(_STEPS, None, None, None)
    try:
        launches.launch(side.main.name, RequestedLaunch(grid, bounds, wanted), _arguments(side, values), [where.memory])
    except LaunchError as error:
        if error.rule == "no choice":
            return None
        return LaunchResult({}, str(error).partition("\n")[0])
    return LaunchResult(_results(side, options, launches, where), None)


def _as_launched(options: Options, values: Mapping[str, Any]) -> bool:
    """Whether special registers among the inputs are as a launch of one thread, or one warp, has them."""
    names = unchanging(n for n in values if n in special_registers())
    seen = SpecialValues(names, False, Extents((1, 1, 1), (options.lanes, 1, 1)))
    return all(values[name] == seen.read(name, 0, 0) for name in names)


def _arguments(side: Side, values: Mapping[str, Any]) -> list[Any]:
    arguments: list[Any] = []
    for place in side.main.parameters:
        if place.element:
            arguments.append(bytes(values.get(f"{place.name}[{i}]", 0) for i in range(place.size)))
        else:
            data = int(values.get(place.name, 0)).to_bytes(place.size, "little")
            arguments.append(np.frombuffer(data, f"<u{place.size}")[0])
    return arguments


def _results(side: Side, options: Options, launches: _Launches, where: Memories) -> dict[str, Any]:
    results: dict[str, Any] = {}
    state = launches.chosen_engine.run
    if state is not None and side.what == "fragment":
        for lane in range(options.lanes):
            for name, value in state.registers[lane].items():
                results[name if options.lanes == 1 else f"{name}[{lane}]"] = value
    for buffer in options.buffers:
        if not buffer.of and not buffer.devices:
            data = where.memory.read(where.addresses[buffer.name], buffer.size)
            results |= {f"{buffer.name}[{i}]": byte for i, byte in enumerate(data)}
    for name, place in side.checked.places.items():
        if place.space == contracts.state_spaces.OF_BUFFERS and not place.opaque:
            data = launches.variable(name).tobytes()
            results |= {f"{name}[{i}]": byte for i, byte in enumerate(data)}
    return results
