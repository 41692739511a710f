"""Launching a grid: arguments in, threads run batch by batch, arrays back."""

from __future__ import annotations

import importlib
import operator
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxspec.language.check import Checked, Kernel
from ptxspec.machine.batch import Batch, Extents
from ptxspec.machine.engine import (
    RESIDENT,
    TURN,
    Engine,
    Fault,
    Program,
    Running,
    describe,
    function_addresses,
    program,
)
from ptxspec.machine.errors import LaunchError, Violation, Where
from ptxspec.machine.exact import ExactEngine
from ptxspec.machine.meeting import MeetingFault, Meetings
from ptxspec.machine.memory import AddressSpace, Allocation, Memory
from ptxspec.machine.native import NativeEngine
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type

#: limits of a launch: threads a CTA, extents of a grid and of a CTA, bytes of shared memory a CTA
MOST_THREADS = 1024
MOST_GRID = (2**31 - 1, 65535, 65535)
MOST_BLOCK = (1024, 1024, 64)
MOST_SHARED = 227 * 1024


class Outcome(NamedTuple):
    """What a launch did: thread-instructions executed."""

    steps: int


class Module:
    """A loaded PTX module. Its variables keep their values from launch to launch."""

    def __init__(self, checked: Checked):
        self.checked = checked
        self._data = {space: self._image(space) for space in ("global", "const")}
        self._space = AddressSpace(checked.sizes["global"])
        self._engines: dict[str, Engine] = {}
        self._profiles: dict[str, Profile] = {}
        self._programs: dict[tuple[str, str], Program] = {}
        self._launches = 0

    @property
    def kernels(self) -> list[str]:
        """The names of the entries."""
        return list(self.checked.kernels)

    def _image(self, space: str) -> np.ndarray:
        image = np.zeros(self.checked.sizes[space], np.uint8)
        for place in self.checked.places.values():
            if place.space == space and place.initial is not None:
                data = bytearray(place.initial)
                for at, name, addend in place.names:
                    data[at : at + 8] = (self._address_of(name) + addend & (1 << 64) - 1).to_bytes(8, "little")
                image[place.offset : place.offset + place.size] = np.frombuffer(data, np.uint8)
        return image

    def _address_of(self, name: str) -> int:
        """What an initializer gets that names a function or a variable."""
        addresses = function_addresses(self.checked)
        if name in addresses:
            return addresses[name]
        layout = importlib.import_module("ptxspec.spec.state_spaces.generic_addressing")
        place = self.checked.places[name]
        return place.offset + (layout.GLOBAL_BASE if place.space == "global" else 0)

    def launch(
        self,
        name: str,
        grid: int | Sequence[int] = 1,
        block: int | Sequence[int] = 1,
        args: Sequence[Any] = (),
        *,
        dynamic_shared: int = 0,
        profile: str = "hopper",
        engine: str = "native",
        step_limit: int = 10**11,
    ) -> Outcome:
        """Run an entry over a grid.

        `grid` and `block` are extents (x, y, z); missing ones are 1. `args` has one value a parameter, in order: a NumPy array
        becomes a buffer in global memory whose address is passed, written back into the array when the launch has ended; a
        NumPy scalar is passed by value and must have the parameter's size; a Python int or float is converted to the
        parameter's type; bytes fill a parameter that is an array. `profile` names the choices for results that PTX leaves
        open, `engine` is "native" or "exact", `step_limit` is the most thread-instructions to execute.

        Raises LaunchError if the program breaks a rule, and ValueError or TypeError for arguments that do not fit; the
        arrays are then as they were.
        """
        kernel = self.checked.kernels.get(name)
        if kernel is None:
            raise ValueError(f"no entry is called {name!r}; there are {', '.join(self.kernels) or 'none'}")
        try:
            dynamic_shared = operator.index(dynamic_shared)
        except TypeError:
            raise TypeError(f"dynamic_shared is an integer, not {dynamic_shared!r}") from None
        extents = Extents(_extents("grid", grid, MOST_GRID), _extents("block", block, MOST_BLOCK))
        self._check_shape(kernel, extents, dynamic_shared)
        if not isinstance(step_limit, int | np.integer) or isinstance(step_limit, bool):
            raise TypeError(f"step_limit is an integer, not {step_limit!r}")
        step_limit = int(step_limit)
        if engine not in ("native", "exact"):
            raise ValueError(f"an engine is 'native' or 'exact', not {engine!r}")
        if profile not in self._profiles:
            self._profiles[profile] = Profile(profile)
        if engine not in self._engines:
            self._engines[engine] = NativeEngine() if engine == "native" else ExactEngine()
        runner = self._engines[engine]
        buffers, parameters, arrays = self._arguments(kernel, args)
        if (name, profile) not in self._programs:
            self._programs[name, profile] = program(self.checked, name, self._profiles[profile])
        ready = self._programs[name, profile]
        kernel = ready.kernel
        slots = max(1, min(extents.ctas, RESIDENT // extents.threads))
        shared = max(kernel.sizes["shared"], ready.bases["dynamic"] + dynamic_shared if dynamic_shared else 0)
        self._launches += 1
        extents = extents._replace(launch=self._launches, shared=shared, dynamic_shared=dynamic_shared)
        memory = Memory(
            self._space, self._data, buffers, parameters, shared, kernel.sizes["local"], slots, slots * extents.threads
        )
        steps = 0
        try:
            if ready.flow.blocks:
                running = None
                for first in range(0, extents.ctas, slots):
                    batch = Batch(extents, first, min(slots, extents.ctas - first))
                    if running is None:
                        running = runner.start(ready, memory, batch)
                    else:
                        memory.clear()
                        running.restart(batch)
                    self._finish(kernel, batch, running, step_limit)
                steps = running.steps if running is not None else 0
        except NoChoice as open_result:
            raise self._open(open_result, None, profile) from None
        finally:
            self._space.past.extend(a for a, _ in buffers)
        for (_, array), (allocation, _) in zip(arrays, buffers, strict=True):
            if allocation.writable and array.size:
                at = memory.place(allocation)
                data = memory.arena[at : at + allocation.size]
                array[...] = data.view(array.dtype).reshape(array.shape)
        self._data["global"][:] = memory.arena[: memory.module_size]
        return Outcome(steps)

    def _finish(self, kernel: Kernel, batch: Batch, running: Running, limit: int) -> None:
        """Let a batch run until all its threads have ended."""
        meetings = Meetings(kernel, batch.extents.threads)
        while True:
            left = limit - running.steps + 1  # one more than is allowed, so that a launch may take all that is
            stopped = running.run(min(left, TURN))
            if stopped.fault is not None:
                raise self._fault(kernel, batch, stopped.fault)
            if running.steps > limit:
                raise LaunchError("step limit", f"the launch did not end within {limit:,} thread-instructions")
            passing = meetings.arrive(stopped.waiting)
            running.resume(passing)
            if not meetings.anybody and not len(passing):
                if stopped.out_of_steps:
                    continue
                return
            try:
                go = meetings.released(running.ended(), stopped.out_of_steps or len(passing) > 0)
            except MeetingFault as fault:
                where = self._where(kernel, batch, fault.lane, fault.op)
                raise LaunchError(fault.rule, fault.note, where) from None
            running.resume(go)

    def _where(self, kernel: Kernel, batch: Batch, lane: int, op: int) -> Where:
        thread, cta = batch.where(lane)
        source = self.checked.source
        at = kernel.code[op]
        return Where(thread, cta, source.path, source.line(at.position), describe(at, source.text))

    def _fault(self, kernel: Kernel, batch: Batch, fault: Fault) -> LaunchError:
        where = self._where(kernel, batch, fault.lane, fault.op)
        if isinstance(fault.error, NoChoice):
            return self._open(fault.error, where, "")
        assert isinstance(fault.error, Violation)
        return LaunchError(fault.error.rule, fault.error.note, where, fault.address)

    def _open(self, error: NoChoice, where: Where | None, profile: str) -> LaunchError:
        slug = error.freedom.attrs[0]
        note = f"the {error.freedom.attrs[2]} result {slug!r} was needed, and the profile chooses nothing"
        if where is None:
            note += "; the native engine needs a profile with every choice, the exact engine only those that are met"
        return LaunchError("no choice", note, where, page="spec/ambiguities.md")

    def _check_shape(self, kernel: Kernel, extents: Extents, dynamic_shared: int) -> None:
        if extents.threads > MOST_THREADS:
            raise ValueError(f"a CTA has at most {MOST_THREADS} threads, not {extents.threads}")
        for directive, numbers in kernel.performance.items():
            if directive in (".reqnctapercluster", ".explicitcluster", ".blocksareclusters"):
                raise ValueError(f"{kernel.name} has {directive}: clusters of CTAs are not supported")
            full = (*numbers, 1, 1)[:3]
            if directive == ".reqntid" and extents.block != full:
                raise ValueError(f"{kernel.name} requires CTAs of {full}, not {extents.block}")
            if directive == ".maxntid" and extents.threads > full[0] * full[1] * full[2]:
                raise ValueError(f"{kernel.name} allows CTAs of at most {full[0] * full[1] * full[2]} threads")
        total = kernel.sizes["shared"] + dynamic_shared
        if dynamic_shared < 0 or total > MOST_SHARED:
            raise ValueError(f"{total} bytes of shared memory; a CTA has between 0 and {MOST_SHARED}")

    def _arguments(
        self, kernel: Kernel, args: Sequence[Any]
    ) -> tuple[list[tuple[Allocation, np.ndarray]], bytes, list[tuple[str, np.ndarray]]]:
        if len(args) != len(kernel.parameters):
            names = ", ".join(p.name for p in kernel.parameters)
            raise TypeError(f"{kernel.name} takes {len(kernel.parameters)} arguments ({names}), not {len(args)}")
        block = bytearray(kernel.sizes["param"])
        buffers: list[tuple[Allocation, np.ndarray]] = []
        arrays: list[tuple[str, np.ndarray]] = []
        for i, (place, (type, is_array), value) in enumerate(
            zip(kernel.parameters, kernel.parameter_types, args, strict=True)
        ):
            what = f"argument {i} ({place.name})"
            if isinstance(value, np.ndarray) and value.ndim == 0:
                value = value[()]
            if isinstance(value, np.ndarray):
                if is_array or type.width != 64 or type.is_float:
                    raise TypeError(f"{what}: the parameter is {'an array of bytes' if is_array else type}, no pointer")
                known = next((a for (_, array), (a, _) in zip(arrays, buffers, strict=True) if array is value), None)
                if known is None:
                    for name, other in arrays:
                        if _overlap(other, value):
                            raise ValueError(f"{what} shares memory with {name} but is another array")
                    if value.dtype.hasobject:
                        raise TypeError(f"{what}: an array of Python objects has no bytes to pass")
                    if value.flags.writeable and _overlaps_itself(value):
                        raise ValueError(
                            f"{what}: elements of the array share memory; pass a copy, or a read-only view"
                        )
                    known = self._space.allocate(what, value.nbytes, bool(value.flags.writeable))
                    data = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
                    buffers.append((known, data))
                    arrays.append((what, value))
                data_bytes = known.base.to_bytes(8, "little")
            else:
                data_bytes = _scalar(what, value, type, place.size, is_array)
            block[place.offset : place.offset + place.size] = data_bytes
        return buffers, bytes(block), arrays

    def read(self, name: str) -> np.ndarray:
        """The bytes of a module's variable in .global or .const, as they are now. Raises KeyError for another name."""
        place = self.checked.places[name]
        return self._data[place.space][place.offset : place.offset + place.size].copy()


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share a byte; True too where that would take long to find out."""
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements of an array share a byte."""
    if not array.size:
        return False
    steps = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    span, nested = array.itemsize, True
    for step, count in steps:
        if step == 0:
            return True
        nested &= step >= span
        span += step * (count - 1)
    if nested:  # each step goes beyond all that the shorter ones span, as in every view by slices or transposition
        return False
    starts = np.zeros(1, np.int64)
    for step, count in steps:
        starts = np.add.outer(starts, step * np.arange(count)).ravel()
    starts.sort()
    return bool((np.diff(starts) < array.itemsize).any())


def _scalar(what: str, value: Any, type: Type, size: int, is_array: bool) -> bytes:
    """The bytes of an argument passed by value."""
    if isinstance(value, bytes | bytearray):
        if len(value) != size:
            raise TypeError(f"{what}: {len(value)} bytes for a parameter of {size}")
        return bytes(value)
    if is_array:
        raise TypeError(f"{what}: the parameter is an array of {size} bytes; pass bytes")
    if isinstance(value, np.generic):
        if value.nbytes != size:
            raise TypeError(f"{what}: {value.dtype} has {value.nbytes} bytes, the parameter {type} has {size}")
        allowed = "f" if type.is_float else "iu" if type.is_integer else "iuf"
        if value.dtype.kind not in allowed:
            raise TypeError(f"{what}: {value.dtype} for a parameter of type {type}")
        return value.tobytes()
    if isinstance(value, bool):
        raise TypeError(f"{what}: a bool has no size; pass a NumPy scalar")
    if isinstance(value, int) and not type.is_float:
        if not -(1 << (type.width - 1)) <= value < 1 << type.width:
            raise TypeError(f"{what}: {value} does not fit into {type}")
        return (value & (1 << type.width) - 1).to_bytes(size, "little")
    if isinstance(value, int | float) and type.is_float:
        try:
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
        except (OverflowError, struct.error):
            raise TypeError(f"{what}: {value} is beyond the range of {type}") from None
    raise TypeError(f"{what}: {value.__class__.__name__} for a parameter of type {type}")


def _extents(what: str, value: int | Sequence[int], most: tuple[int, int, int]) -> tuple[int, int, int]:
    parts = (value,) if isinstance(value, int | np.integer) else tuple(value)
    if not 1 <= len(parts) <= 3 or not all(isinstance(p, int | np.integer) for p in parts):
        raise TypeError(f"{what} is one, two or three integers, not {value!r}")
    full = (*map(int, parts), 1, 1)[:3]
    if any(not 1 <= p <= m for p, m in zip(full, most, strict=True)):
        raise ValueError(f"{what} {full}: each extent is at least 1 and at most {most}")
    return full  # type: ignore[return-value]
