"""Compiled kernels, and a launch that runs under them."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np

import ptxspec.machine.native.context as context
from ptxspec import contracts
from ptxspec.base.options import Copies
from ptxspec.language.checked import Op
from ptxspec.machine import hosts
from ptxspec.machine.arrays import address_of, untouched
from ptxspec.machine.batch import Extents
from ptxspec.machine.call_graph import BEGINS, ENDS, stack_moves
from ptxspec.machine.counting import Counters, counters
from ptxspec.machine.driver import inventory
from ptxspec.machine.engine import PreparedProgram, ThreadFault
from ptxspec.machine.errors import Violation
from ptxspec.machine.events import MOST_NOTED, WORDS
from ptxspec.machine.flow import Block
from ptxspec.machine.fresh import Fresh
from ptxspec.machine.kernel_tables import kernel_tables
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.native.array_pool import ArrayPool, WorkerArrays, set_array
from ptxspec.machine.native.code import ENTRIES, Code, driver
from ptxspec.machine.native.context import FIELD, ROOM, VARIABLE, bits_of
from ptxspec.machine.native.global_blocks import sites
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.registers import IN_ROWS
from ptxspec.machine.operations import extent_of
from ptxspec.machine.program import (
    ANSWER,
    REQUEST,
    WIDEST_SHOWN,
    KernelProgram,
    call_target,
    check_end,
    check_read,
    check_source,
    check_variable,
    no_room,
    resident,
    shown_registers,
    stopped,
    unmet,
    unmet_of_object,
)
from ptxspec.machine.special import FACTS, LAUNCH
from ptxspec.terms.effects import (
    Access,
    Advance,
    Arrive,
    Await,
    Branch,
    Call,
    Check,
    ClusterArrive,
    ClusterWait,
    Collective,
    Examine,
    Exit,
    Fence,
    Follow,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initialize,
    Initiate,
    Life,
    Load,
    Release,
    Report,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
)
from ptxspec.terms.registries import OBJECT_BITS, ObjectCompletion

#: where the context has the mark of pages that are saved
_SAVED_MARK = FIELD["saved_mark"]


class NativeEngine:
    """Compiles kernels once and keeps the code."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[int, bool, bool], CompiledKernel] = {}
        #: when pieces of asynchronous operations land, in the launches from now on
        self.copies: Copies = "early"

    def prepared(self, program: KernelProgram, spread: bool, watch: Callable[[], None]) -> CompiledKernel:
        key = (id(program.flow), hosts.is_checked(), spread)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = CompiledKernel(program, resident(program), spread, watch)
        compiled.copies, compiled.code.watch = self.copies, watch
        return compiled


class CompiledKernel:
    """A kernel's machine code, and the layout of what it works on."""

    def __init__(self, program: KernelProgram, capacity: int, spread: bool, watch: Callable[[], None]):
        self.layout = Layout(program, capacity, spread)
        self.code = Code(self.layout, watch)
        self._tables = kernel_tables(program, "native")
        self.drive = driver(
            self.layout.checked,
            bool(self._tables.numbers["meets"]),
            program.flow.chosen,
            program.flow.observed.meetings,
            program.flow.observed.each_arrival,
        ).address("drive")
        self._blocks, self._ops = len(program.flow.blocks), len(program.kernel.code)
        self._pool: tuple[inventory.MachineShape, int, ArrayPool] | None = None
        self.copies: Copies = "early"

    def arrays(self, slots: int, extents: Extents, worker: int) -> WorkerArrays:
        """The arrays of a worker, for launches of which so many CTAs are resident at once. Those of the last shape are kept."""
        layout, threads = self.layout, extents.threads
        warps, clusters = slots * contracts.warps.warps_of(threads), slots // extents.cluster_size
        shape = inventory.MachineShape(
            self._blocks, self._ops, layout.capacity, slots * threads, slots, warps, clusters, layout.more_words
        )
        if self._pool is None or self._pool[:2] != (shape, threads):
            bytes_of = {
                "registers": layout.register_bytes + 8, "special": layout.special_bytes + 8, "tile": layout.tile_bytes + 8,
                "last_blocks": 8 * sites(self._ops),
            }  # fmt: skip
            self._pool = shape, threads, ArrayPool(shape, threads, self._tables, bytes_of)
        return self._pool[2].arrays(worker)

    def start(
        self, memory: LaunchMemory, extents: Extents, slots: int, worker: int, watch: Callable[[], None]
    ) -> NativeRun:
        return NativeRun(self, self.layout.program, memory, extents, slots, worker)


class NativeRun:
    """A launch under the compiled code. Its numbers are fields of the context, by the names that the driver has for them."""

    def __init__(
        self,
        compiled: CompiledKernel,
        program: KernelProgram,
        memory: LaunchMemory,
        extents: Extents,
        slots: int,
        worker: int,
    ):
        self.layout, self.program, self.memory = compiled.layout, program, memory
        layout, capacity = self.layout, self.layout.capacity
        self.extents, self._compiled, self._copies = extents, compiled, compiled.copies
        self.flow = program.flow
        #: the context as it was when the first launch began to run, but that what lasts is known
        self._begun: np.ndarray | None = None
        #: those of the code that it runs
        self._entries: tuple[int, ...] = ()
        self._worker = compiled.arrays(slots, extents, worker)
        self._worker.owner = self
        #: where the machine code finds all it touches, and the arrays among that
        self.context, self.arrays = self._worker.begun()
        self.numbers, self.steps_at = self.context.data, FIELD["steps"]
        rows = capacity if program.asks_host else 0
        self.request, self.answer = np.zeros((REQUEST, rows), np.int64), np.zeros((ANSWER, rows), np.int64)
        more = {
            "gone": memory.gone, "stack": untouched(slots * extents.threads * layout.stack + 8),
            "request": self.request, "answer": self.answer, "banks": self._banks(),
            **{array: memory.buffers_of[s] for s, array in hosts.SPACES.items() if s not in hosts.PARTS},
        }  # fmt: skip
        if program.flow.observed.counts:
            self.counters = counters(program)
            more |= dict(zip(hosts.COUNTERS, self.counters[: len(hosts.COUNTERS)], strict=True))
        if program.asynchronous is not None:
            from ptxspec.machine.in_flight import InFlight, address  # a page that few kernels need

            lengths = program.asynchronous.lengths(slots * extents.threads)
            operations = {name: untouched(8 * length).view(np.int64) for name, length in lengths.items()}
            memory.in_flight = InFlight(operations, address, program.row, program.asynchronous)
            more |= operations
        for name, array in more.items():
            self._lies(name, array)
        self.record = hosts.new_record()
        self._noted = self.record.data
        self._raised: BaseException | None = None
        numbers = {
            "record": address_of(self.record), "next_cta": address_of(memory.next_cta), "capacity": capacity,
            **{f"{array}_stride": memory.strides[s] for s, array in layout.parts.items()},
            **{f"{array}_size": memory.sizes[s] for s, array in (hosts.SPACES | layout.parts).items()},
            **dict(zip(FACTS, extents.facts(), strict=True)),
        }  # fmt: skip
        if program.asynchronous is not None:
            numbers |= program.asynchronous.numbers(compiled.copies)
        if program.flow.observed.kinds:
            self.noted = np.zeros((MOST_NOTED, len(WORDS)), np.int64)
            self._lies("events", self.noted)
            self._tells = ctypes.CFUNCTYPE(None)(self._tell_now)
            numbers["tell_at"] = ctypes.cast(self._tells, ctypes.c_void_p).value or 0
        for name, value in numbers.items():
            self.set(name, value)
        self._pointer = address_of(self.context)
        self._drive = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(compiled.drive)
        self._begin(False)

    def _begin(self, is_owner: bool) -> None:
        """Take what each launch has of its own. `is_owner` says whether the arrays are as this run left them."""
        memory = self.memory
        rows = memory.blocks.rows
        if not is_owner or self.arrays["global_blocks"] is not rows:  # numbers of rows mean others
            self.arrays["last_blocks"].fill(0)
            self._lies("global_blocks", rows)
        self.set("saved_mark", memory.blocks.saved_mark)
        if memory.heap is not None:
            self._lies("heap_states", memory.heap_states)
            self.set("heap_base", memory.heap.base)
            self.set("heap_size", len(memory.heap.data))
        self.empty()

    def restart(self, prepared: PreparedProgram, launch: int) -> bool:
        observed, memory = self.flow.observed, self.memory
        if prepared is not self._compiled or self._compiled.copies != self._copies or self._begun is None:
            return False
        if observed.counts or observed.kinds or self.program.asynchronous is not None or memory.fresh is not None:
            return False
        is_owner = self._worker.owner is self
        self._worker.owner = self
        self._worker.clear()
        is_known = is_owner and not self.layout.tells_of_launch and self.get("known")  # not if it had no CTA
        self.context[:] = self._begun
        self.set("known", int(is_known))
        self.set(LAUNCH, launch)
        self._begin(is_owner)
        return True

    @property
    def repeats(self) -> bool:
        """Whether `again` may begin launches like this one: whether it has nothing of its own but parameters."""
        observed, memory = self.flow.observed, self.memory
        alone = observed.counts or observed.kinds or self.program.asynchronous is not None or memory.fresh is not None
        alone = alone or self.layout.tells_of_launch or memory.heap is not None or bool(self.get("host_empties"))
        return not alone and bool(self.get("known"))

    def again(self, mark: int) -> bool:
        """Begin a launch as the last one was; `mark` is that of the pages it has saved. False if others had the arrays."""
        if self._worker.owner is not self or self._begun is None:
            return False
        if self.layout.meets:
            self._worker.clear()
        self.numbers[:] = self._begun_numbers
        self.numbers[_SAVED_MARK] = mark
        return True

    def _banks(self) -> np.ndarray:
        """For each bank of constants how many bytes it holds, and where they are."""
        page, memory = contracts.banks, self.memory
        held = np.zeros((page.BANKS, 2), np.int64)
        for number in range(page.BANKS):
            space = page.space_of(number)
            if memory.sizes[space]:
                held[number] = memory.sizes[space], address_of(memory.buffers_of[space])
        return held

    def _lies(self, name: str, array: np.ndarray) -> None:
        """Let an array be where the machine code finds it, in this launch and in those that follow."""
        if self.arrays.get(name) is array:
            return
        self.arrays[name] = array
        for words in (self.context, self._begun):
            if words is not None:
                set_array(words, name, array)

    def get(self, name: str) -> int:
        """A number of the machine."""
        number: int = self.numbers[FIELD[name]]
        return number

    def set(self, name: str, value: int) -> None:
        self.numbers[FIELD[name]] = value

    def empty(self) -> None:
        """Take the memory of the CTAs, which the host has emptied."""
        memory = self.memory
        for space, array in self.layout.parts.items():
            self._lies(array, memory.buffers_of[space])
        self._lies("alive", memory.alive)
        if stack_moves(self.program.kernel):
            for name in (BEGINS, ENDS):
                at = self.layout.offsets[name]
                row = self.arrays["registers"][at : at + 8 * self.layout.capacity].view(np.uint64)
                row[:] = memory.sizes[contracts.state_spaces.OF_FRAMES]
        if memory.fresh is not None:
            self._fill(memory.fresh)

    def _fill(self, fresh: Fresh) -> None:
        """Let registers that may be read before they are written begin as a seed decides; those of the engine as zeros."""
        count, first = len(self.memory.gone) * self.extents.threads, self.get("first") * self.extents.threads
        registers = self.program.kernel.registers
        for name in registers.keys() & IN_ROWS - {BEGINS, ENDS}:
            size = bits_of(registers[name]) // 8
            self.arrays["registers"][self.layout.offsets[name] :][: size * count] = 0
        for name in self.layout.live[0] - IN_ROWS:
            rows = fresh.registers(name, registers[name].width, first, count)
            self.arrays["registers"][self.layout.offsets[name] :][: rows.size] = rows.reshape(-1)

    def run(self) -> int:
        """Run until the host is needed; why, as the driver says it."""
        if self._begun is None:
            self._begun = self.context.copy()
            self._begun[FIELD["known"]] = 1
            self._begun_numbers = self._begun.data
        code = self._compiled.code
        if code.is_final and code.entries is self._entries:
            reason: int = self._drive(self._pointer)
        else:
            reason = self._run_noted(code)
        if self._noted[hosts.WHICH]:
            hosts.complain(self.record, [op.plan.form.mnemonic for op in self.program.kernel.code])
        return reason

    def _run_noted(self, code: Code) -> int:
        """Run the fastest code that is worth its time, and note the seconds that it takes."""
        if code.is_due:
            code.improve()
        if code.entries is not self._entries:
            self._take(code.entries)
        began = time.perf_counter()
        reason: int = self._drive(self._pointer)
        code.note(time.perf_counter() - began)
        return reason

    def _take(self, entries: tuple[int, ...]) -> None:
        """Run the code of these entries from now on."""
        self._entries = entries
        for words in (self.context, self._begun):
            if words is not None:
                for field, address in zip(ENTRIES.values(), entries, strict=True):
                    words[FIELD[field]] = address

    def fault(self) -> ThreadFault:
        """What ended the launch, at an instruction."""
        broken = self.program.asynchronous is not None and self.get("completion_fault")
        if broken:
            assert self.memory.in_flight is not None
            initiator, at, violation = self.memory.in_flight.completion(broken, self.get("completion_rule"))
            return ThreadFault(initiator, at, None, violation)
        thread, index, why = self.get("failed_thread"), self.get("failed_op"), self.get("failed_why")
        op, address = self.program.kernel.code[index], self.get("failed_address") & (1 << 64) - 1
        effect = op.plan.meaning.effect
        error = self._violation(op, index, thread, address, why)
        if not isinstance(effect, Access | Check | Initiate):
            return ThreadFault(thread, index, None, error)
        names = shown_registers(op, self.program.kernel)
        values = {n: self.get(f"failed_value{i}") & (1 << WIDEST_SHOWN) - 1 for i, n in enumerate(names)}
        nowhere = error.nowhere or why == context.READ or (isinstance(effect, Check) and effect.address is None)
        return ThreadFault(thread, index, None if nowhere else address, error, values)

    def _violation(self, op: Op, index: int, thread: int, value: int, why: int) -> Violation:
        """What an instruction broke, by the rules that the exact engine uses. `value` is the address, or the other number that
        the check which failed is about."""
        program, effect = self.program, op.plan.meaning.effect
        try:
            match effect:
                case Stop():
                    return stopped(effect)
                case Check():
                    return unmet(effect.rule, effect.note)
                case Load() | Store() | Update():
                    if why % 256 == context.DEMAND:
                        if isinstance(effect, Update):
                            return self._unmet_of_object(effect, effect.rules[why // 256], thread, value)
                        return unmet(effect.rule)
                    if why == VARIABLE:
                        check_variable(program, index, value, effect.bytes)
                    space, write = op.space or effect.space, not isinstance(effect, Load)
                    slot = thread // self.extents.threads
                    shadow = not isinstance(effect, Update) and effect.shadow
                    if why == context.IN_FLIGHT:
                        return no_room_in_flight(space)
                    spared = self._spared(op)
                    self.memory.access(
                        space, value, effect.bytes, write, slot, thread, effect.into, shadow, effect.life, spared
                    )
                case Initialize():
                    slot = thread // self.extents.threads
                    self.memory.ranged(effect.space, value, 1, 1, True, slot, thread, True)
                case Initiate():
                    return self._violation_of_operation(effect, index, thread, value, why)
                case Follow() if why == context.IN_FLIGHT:
                    return no_room_in_flight(effect.among)
                case Follow():
                    self._object(effect, value, thread)
                case Reserve():
                    return no_room(program.kernel)
                case Release():
                    rows = (self.arrays["registers"][self.layout.offsets[name] :] for name in (ENDS, BEGINS))
                    end, begins = (int(row.view(np.uint64)[thread]) for row in rows)
                    check_end(value, end, begins, self.memory.states_of_stack(thread))
                case Call() if why == ROOM:
                    return no_room(program.kernel)
                case Call():
                    assert op.call is not None
                    call_target(program, op, self._block_of(index), op.call.function or value)
                case IndexedBranch():
                    return Violation("branch index", f"index {value} of a list of {len(self._block_of(index).ways)}")
                case None | Report() | Examine() | Fence() | GridDependency() | Advance() | StackEnd():
                    pass
                case Branch() | Return() | Exit():
                    pass
                case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess() | Await():
                    pass
                case _:
                    assert_never(effect)
        except Violation as violation:
            return violation
        raise AssertionError("the native engine refused what the rules allow")

    def _block_of(self, index: int) -> Block:
        """The block that an instruction belongs to."""
        return next(b for b in self.program.flow.blocks if b.finishes is None and b.start <= index < b.end)

    def _violation_of_operation(self, effect: Initiate, op: int, thread: int, value: int, why: int) -> Violation:
        """What an instruction broke that initiates an asynchronous operation; `value` is the address, or the number of bytes that
        are to be read."""
        (size, align), (count, which) = extent_of(self.program.kernel.code[op]), divmod(why, 256)
        slot = thread // self.extents.threads
        try:
            match which:
                case context.DEMAND:
                    return unmet(effect.rule)
                case context.READ:
                    assert size is not None
                    check_read(value, size)
                case context.SOURCE:
                    self.memory.ranged(effect.of, value, align, count, False, slot, thread)
                case context.IN_FLIGHT:
                    return no_room_in_flight(effect.space)
                case context.OBJECT:
                    self._object(effect, value, thread)
                case context.SOURCE_VARIABLE:
                    check_source(self.program, op, value, align)
                case context.TARGET:
                    spared = self._spared(self.program.kernel.code[op])
                    self.memory.ranged(effect.space, value, align, count, True, slot, thread, spared=spared)
                case _:
                    check_variable(self.program, op, value, align)
        except Violation as violation:
            return violation
        raise AssertionError("the native engine refused an operation that the memory allows")

    def _spared(self, op: Op) -> int:
        """The changes by asynchronous operations that an instruction may touch."""
        return 0 if self.program.asynchronous is None else self.program.asynchronous.spared(op)

    def _unmet_of_object(self, effect: Update, rule: str, thread: int, address: int) -> Violation:
        """What a step on an object broke, which has not changed that."""
        slot = thread // self.extents.threads
        array, at = self.memory.access(
            effect.space, address, effect.bytes, True, slot, thread, effect.into, life=effect.life
        )
        return unmet_of_object(effect, rule, int.from_bytes(array[at : at + effect.bytes].tobytes(), "little"))

    def _object(self, effect: Initiate | Follow, address: int, thread: int) -> None:
        """Raise Violation if an operation may not complete on an object at an address."""
        assert isinstance(effect.completion, ObjectCompletion)
        life, slot = Life.LASTS if effect.completion.lives else None, thread // self.extents.threads
        self.memory.access(effect.among, address, OBJECT_BITS // 8, True, slot, thread, life=life)

    def observe(self, tell: Callable[[np.ndarray], None]) -> None:
        """Let events be told to `tell`, in a launch that is observed."""
        self._tell = tell

    def _tell_now(self) -> None:
        """Compiled code has no more room for events. What is raised here, it cannot take."""
        try:
            self.tell_events()
        except BaseException as error:
            self._raised = self._raised or error
            self.set("noted_events", 0)

    def tell_events(self) -> None:
        """Tell of the events that have been noted."""
        count = self.get("noted_events")
        self.set("noted_events", 0)
        if self._raised is not None:
            raise self._raised
        if count:
            self._tell(self.noted[:count])

    def counted(self) -> Counters:
        """What has been counted."""
        return self.counters

    def column(self, name: str) -> Any:
        """An array of the machine."""
        return self.arrays[name]

    def give(self, name: str, values: Sequence[int]) -> None:
        """Let the first elements of an array have these values."""
        self.arrays[name][: len(values)] = values


def no_room_in_flight(space: str) -> Violation:
    """That there is no room for another operation in flight, or for another object."""
    from ptxspec.machine.in_flight import too_many  # a page that few kernels need

    return too_many(space)
