"""Launching a grid: arguments in, threads run batch by batch, arrays back."""

from __future__ import annotations

import importlib
import operator
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxspec.language.checked import Checked, Kernel, Pointer
from ptxspec.machine.batch import Batch, Extents, Waiting
from ptxspec.machine.engine import (
    TURN,
    Engine,
    Fault,
    Program,
    Running,
    describe,
    function_addresses,
    is_image,
    program,
    resident,
)
from ptxspec.machine.errors import LaunchError, Violation, Where
from ptxspec.machine.exact import ExactEngine
from ptxspec.machine.images import Sampler, Surface, Texture
from ptxspec.machine.imaging import ImageFault, Unit
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


#: what the host makes of arrays for textures, samplers and surfaces
OPAQUE_TYPES: dict[type, str] = {Texture: "texref", Sampler: "samplerref", Surface: "surfref"}
IMAGES = tuple(OPAQUE_TYPES)


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
        self._bound: dict[str, Any] = {}

    @property
    def kernels(self) -> list[str]:
        """The names of the entries."""
        return list(self.checked.kernels)

    def _image(self, space: str) -> np.ndarray:
        image = np.zeros(self.checked.sizes[space], np.uint8)
        for place in self.checked.places.values():
            if place.space == space and place.initial is not None:
                data = bytearray(place.initial)
                for pointer in place.pointers:
                    at = pointer.offset
                    data[at : at + pointer.size] = self._address(pointer).to_bytes(pointer.size, "little")
                image[place.offset : place.offset + place.size] = np.frombuffer(data, np.uint8)
        return image

    def _address(self, pointer: Pointer) -> int:
        """What an initializer gets that names a function or a variable."""
        addresses = function_addresses(self.checked)
        found = addresses.get(pointer.name)
        if found is None:
            layout = importlib.import_module("ptxspec.spec.state_spaces.generic_addressing")
            place = self.checked.places[pointer.name]
            found = place.offset + pointer.addend + (layout.GLOBAL_BASE if place.space == "global" else 0)
            if pointer.generic:
                found += layout.base(place.space)
        found %= 1 << 64
        if pointer.mask is not None:
            return importlib.import_module("ptxspec.spec.variables.initializers").masked(pointer.mask, found)
        return found % (1 << 8 * pointer.size)

    def bind(self, name: str, thing: Texture | Sampler | Surface) -> None:
        """Say what a module's .texref, .samplerref or .surfref stands for, from now on. Raises KeyError for a name that is none,
        and TypeError for a thing of another kind. Manual: 5.3."""
        place = self.checked.places.get(name)
        if place is None or not place.opaque:
            known = ", ".join(p.name for p in self.checked.places.values() if p.opaque) or "none"
            raise KeyError(f"the module has no opaque variable {name!r}; there are {known}")
        _check_kind(name, place.opaque, thing)
        self._bound[name] = thing

    def _images(self, kernel: Kernel, args: Sequence[Any]) -> tuple[dict[int, Any], dict[int, str]]:
        """What each handle stands for, and what it is called: variables of the module, parameters, and images passed by value."""
        page: Any = importlib.import_module("ptxspec.spec.variables.opaque_types")
        bound: dict[int, Any] = {}
        names: dict[int, str] = {}
        for name, place in self.checked.places.items():
            if place.opaque:
                names[place.offset] = name
                if name in self._bound:
                    bound[place.offset] = self._bound[name]
        for i, (place, value) in enumerate(zip(kernel.parameters, args, strict=False)):
            if place.opaque:
                _check_kind(f"argument {i} ({place.name})", place.opaque, value)
                bound[place.offset], names[place.offset] = value, place.name
            elif isinstance(value, IMAGES):
                handle = page.handle(page.HOST_HANDLES, i + 1, OPAQUE_TYPES[type(value)])
                bound[handle], names[handle] = value, f"argument {i} ({place.name})"
        return bound, names

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
        parameter's type; bytes fill a parameter that is an array; a Texture, a Sampler or a Surface fills a parameter of its
        opaque type, and its handle is passed for a 64-bit one. `profile` names the choices for results that PTX leaves
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
        len(args)  # a sequence, not what could be gone through but once
        unit = Unit(*self._images(kernel, args), self._profiles[profile], engine == "native")
        args = [unit.handle_of(a) if isinstance(a, IMAGES) else a for a in args]
        buffers, parameters, arrays = self._arguments(kernel, args)
        if (name, profile) not in self._programs:
            self._programs[name, profile] = program(self.checked, name, self._profiles[profile])
        ready = self._programs[name, profile]
        kernel = ready.kernel
        slots = max(1, min(extents.ctas, resident(kernel) // extents.threads))
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
                    self._finish(kernel, batch, running, unit, step_limit)
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
        unit.finish()
        self._data["global"][:] = memory.arena[: memory.module_size]
        return Outcome(steps)

    def _finish(self, kernel: Kernel, batch: Batch, running: Running, unit: Unit, limit: int) -> None:
        """Let a batch run until all its threads have ended."""
        meetings = Meetings(kernel, batch.extents.threads)
        asks = np.array([is_image(op) for op in kernel.code], bool)
        while True:
            left = limit - running.steps + 1  # one more than is allowed, so that a launch may take all that is
            stopped = running.run(min(left, TURN))
            if stopped.fault is not None:
                raise self._fault(kernel, batch, stopped.fault)
            if running.steps > limit:
                raise LaunchError("step limit", f"the launch did not end within {limit:,} thread-instructions")
            asking = asks[stopped.waiting.op]
            passing = meetings.arrive(stopped.waiting.where(~asking))
            if asking.any():
                passing = passing.joined(self._serve(kernel, batch, running, unit, stopped.waiting.where(asking)))
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

    def _serve(self, kernel: Kernel, batch: Batch, running: Running, unit: Unit, threads: Waiting) -> Waiting:
        """Let the images answer those threads that ask them, instruction by instruction, and lane by lane."""
        if (np.diff(threads.lane) < 0).any():
            threads = Waiting(*(column[np.argsort(threads.lane, kind="stable")] for column in threads))
        alike = (threads.op == threads.op[0]).all()
        for at in threads.op[:1].tolist() if alike else np.unique(threads.op).tolist():
            lanes = threads.lane if alike else threads.lane[threads.op == at]
            try:
                unit.serve(kernel.code[at], lanes, running.request, running.answer)
            except ImageFault as fault:
                raise self._fault(kernel, batch, Fault(fault.lane, at, None, fault.error)) from None
        return threads

    def _where(self, kernel: Kernel, batch: Batch, lane: int, op: int) -> Where:
        thread, cta = batch.where(lane)
        source = self.checked.source
        at = kernel.code[op]
        return Where(thread, cta, *source.place(at.position), describe(at, source.text))

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
            if place.opaque:
                continue
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
        return self._variable(name).copy()

    def write(self, name: str, value: bytes | np.ndarray | np.generic) -> None:
        """Set a module's variable in .global or .const, from its beginning on, for the launches to come: bytes, or an array or
        scalar whose bytes are taken in the order of its elements. Raises KeyError for another name, and ValueError if the
        variable has fewer bytes."""
        data = value if isinstance(value, bytes | bytearray) else np.ascontiguousarray(value).tobytes()
        variable = self._variable(name)
        if len(data) > len(variable):
            raise ValueError(f"{name} has {len(variable)} bytes, not {len(data)}")
        variable[: len(data)] = np.frombuffer(data, np.uint8)

    def _variable(self, name: str) -> np.ndarray:
        """The bytes of a variable, not a copy."""
        place = self.checked.places.get(name)
        if place is None or place.space not in self._data or "@" in name:
            known = sorted(n for n, p in self.checked.places.items() if p.space in self._data and "@" not in n)
            raise KeyError(f"no variable in .global or .const is called {name}; there are {', '.join(known) or 'none'}")
        return self._data[place.space][place.offset : place.offset + place.size]


def _check_kind(what: str, opaque: str, thing: Any) -> None:
    wanted = next(kind for kind, name in OPAQUE_TYPES.items() if name == opaque.split()[0])
    if not isinstance(thing, wanted):
        raise TypeError(
            f"{what} is a .{opaque.split()[0]}: a {wanted.__name__} is needed, not {thing.__class__.__name__}"
        )


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
