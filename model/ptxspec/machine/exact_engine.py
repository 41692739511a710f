"""The exact engine: every thread's instructions over Python integers. Slow, and short enough to read in one sitting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

import numpy as np

from ptxspec import contracts
from ptxspec.base.options import Copies
from ptxspec.language import tree
from ptxspec.machine.batch import Extents
from ptxspec.machine.call_graph import (
    BEGINS,
    ENDS,
    FRAME,
    call_results,
    kept_bytes,
    passed_beyond,
    stack_moves,
)
from ptxspec.machine.counting import Counters, counter_of, counters, is_counted
from ptxspec.machine.driver import grid, inventory, protocol
from ptxspec.machine.driver.codes import FAULT, WHOLE_CTA
from ptxspec.machine.driver.places import BARRIERS, LANES, enqueue
from ptxspec.machine.driver.warp_collectives import warp_of
from ptxspec.machine.engine import PreparedProgram, ThreadFault
from ptxspec.machine.errors import Violation
from ptxspec.machine.events import MOST_NOTED, NO_INSTRUCTION, OF_ORDERS, UNOBSERVED, WORDS, EventKind
from ptxspec.machine.flow import Block
from ptxspec.machine.fresh import Fresh
from ptxspec.machine.kernel_tables import KernelTables, kernel_tables
from ptxspec.machine.memory import LaunchMemory, Place
from ptxspec.machine.operations import extent_of
from ptxspec.machine.program import (
    ANSWER,
    REQUEST,
    KernelProgram,
    arrival_operands,
    call_target,
    check_demand,
    check_end,
    check_read,
    check_room,
    check_source,
    check_variable,
    image_request,
    in_frame,
    more_words,
    shown_registers,
    stopped,
    unmet_of_object,
)
from ptxspec.machine.scripts import Function, Scripts, runs
from ptxspec.machine.special import SpecialValues, unchanging
from ptxspec.machine.system import system_function
from ptxspec.terms.actions import lane_words
from ptxspec.terms.core import Int, integer, truth
from ptxspec.terms.effects import (
    Access,
    Advance,
    Arrive,
    Asynchronous,
    Await,
    Branch,
    Call,
    Check,
    Checking,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Ending,
    Examine,
    Exit,
    Fencing,
    Follow,
    ImageAccess,
    IndexedBranch,
    Initialize,
    Initiate,
    Jump,
    Life,
    Load,
    Pause,
    Release,
    Report,
    Reserve,
    Return,
    StackEnd,
    StackUse,
    Stop,
    Store,
    Update,
    Wait,
)
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.in_registers import Carried
from ptxspec.terms.registries import OBJECT_BITS, changing
from ptxspec.terms.vocabulary import TRUE

if TYPE_CHECKING:
    from ptxspec.machine.in_flight import ExactOperations
    from ptxspec.machine.stale_reads import StaleReads


#: what is told of a thread that enters a block: the machine, the thread, the block, and how many instructions came before
BlockObserver = Callable[[Any, int, Block, int], None]
#: what is told of a thread that ends: its coordinates, those of its CTA, and its registers
EndObserver = Callable[[tuple[int, int, int], tuple[int, int, int], Mapping[str, Any]], None]


class ExactEngine:
    """Runs a kernel by evaluating the terms of its instructions."""

    def __init__(self) -> None:
        self._programs: dict[int, InterpretedKernel] = {}
        #: when pieces of asynchronous operations land, in the launches from now on
        self.copies: Copies = "early"
        #: who is told of each block that a thread enters, in the launches from now on
        self.seen: BlockObserver | None = None
        #: who is told of each thread that ends, likewise
        self.left: EndObserver | None = None
        #: what reads return that need not return the newest value, likewise
        self.stale: StaleReads | None = None

    def prepared(self, program: KernelProgram, spread: bool, watch: Callable[[], None]) -> InterpretedKernel:
        assert not spread
        key = id(program.flow)
        if key not in self._programs:
            self._programs[key] = InterpretedKernel(program, kernel_tables(program, "exact"))
        return self._programs[key]._replace(copies=self.copies, seen=self.seen, left=self.left, stale=self.stale)


class InterpretedKernel(NamedTuple):
    """A program, what is known of it, when pieces of its operations land, who watches blocks and ends, and what reads return that
    need not return the newest value."""

    program: KernelProgram
    tables: KernelTables
    copies: Copies = "early"
    seen: BlockObserver | None = None
    left: EndObserver | None = None
    stale: StaleReads | None = None

    def start(
        self, memory: LaunchMemory, extents: Extents, slots: int, worker: int, watch: Callable[[], None]
    ) -> ExactRun:
        return ExactRun(self, memory, extents, slots, watch)


class ExactMachine:
    """What the driver works on: its numbers are attributes, its arrays lists, its steps functions."""


class Activation(NamedTuple):
    """What the caller finds when a call returns: the block at which it goes on, the registers that were put by, how much of the
    stack was in use, the function that was called, and its own frame."""

    back: int
    saved: dict[str, Any]
    used: int
    name: str
    frame: int


#: what a block gives instead of another one's number: the thread waits
WAITS = -1


class ThreadFaulted(Exception):
    """A thread broke a rule, or needs a choice that nothing makes."""

    def __init__(self, fault: ThreadFault):
        super().__init__(fault)
        self.fault = fault


class AccessPlan(NamedTuple):
    """How an instruction accesses memory: what gives its address and what it demands before, by a thread's registers; whether the
    access leaves a variable for certain; what is accessed; where a generic address must lie; whether
    the access is to the shadow of that memory; and the changes by asynchronous operations that are spared."""

    address: Function
    holds: Function | None
    overruns: bool
    space: str
    size: int
    write: bool
    into: tuple[str, ...]
    shadow: bool
    spared: int


class ExactRun:
    """One launch."""

    def __init__(
        self, prepared: InterpretedKernel, memory: LaunchMemory, extents: Extents, slots: int, watch: Callable[[], None]
    ):
        program = prepared.program
        self.watch, self.tables, self.seen, self.left = watch, prepared.tables, prepared.seen, prepared.left
        self.stale = prepared.stale
        self.program, self.memory, self.extents = program, memory, extents
        self.blocks, self.code = program.flow.blocks, program.kernel.code
        self.variables = contracts.variables
        self.functions = contracts.functions
        self.moves, self.narrow = stack_moves(program.kernel), program.flow.narrow
        self.choose, self.by_warps = program.profile.value, program.flow.by_warps
        self.scripts = Scripts(program, self)
        self.plans: dict[int, AccessPlan] = {}
        self.address: int | None = None
        #: for an instruction that only computes, or orders accesses, where the run of such instructions ends
        self.plain = runs(program)
        self.observed = program.flow.observed
        self.is_observed = self.observed != UNOBSERVED
        self.counters: Counters | None = counters(program) if self.observed.counts else None
        self.noted: list[tuple[int, ...]] = []
        if self.is_observed:
            self.plain = {index: index + 1 for index in self.plain}
        self.changing = {
            name: register.meaning() for name in program.flow.special if (register := changing(name)) is not None
        }
        self.special = SpecialValues(unchanging(program.flow.special), program.clustered, extents)
        self.failed: ThreadFault | None = None
        self.machine = self._machine(slots)
        self.operations = self._operations(self.machine, prepared.copies)

    def _operations(self, m: Any, copies: Copies) -> ExactOperations | None:
        if self.program.asynchronous is None:
            return None
        from ptxspec.machine.in_flight import ExactOperations  # a page that few kernels need

        used, row = self.program.asynchronous, self.program.row
        operations = ExactOperations(m, used, copies, self.note_operation, self.observed, row)
        self.memory.in_flight = operations.in_flight
        return operations

    def _machine(self, slots: int) -> Any:
        m: Any = ExactMachine()
        threads, cluster = self.extents.threads, self.extents.cluster_size
        warps = slots * contracts.warps.warps_of(threads)
        self.more_words = more_words(self.program)
        shape = inventory.MachineShape(
            len(self.blocks), len(self.code), slots * threads, slots * threads, slots, warps, slots // cluster,
            self.more_words,
        )  # fmt: skip
        for name in protocol.NUMBERS:
            setattr(m, name, self.tables.numbers.get(name, 0))
        for name, column in inventory.columns().items():
            values = self.tables.tables.get(name, ())
            setattr(m, name, [*values, *[0] * (column.length(shape) - len(values))])
        m.gone = self.memory.gone
        m.tell = lambda kind, op, thread, value: self.note(EventKind(kind), op, thread, value=value)
        for name, taken in inventory.steps().items():
            setattr(m, name, inventory.scripted_step(*taken, m))
        m.land_objects, m.take_ctas = lambda: 0, self.take_ctas
        m.threads_run, m.begin, m.end_batch, m.capacity = self.threads_run, self.begin, self.end_batch, slots * threads
        rows = slots * threads if self.program.asks_host else 0
        self.request, self.answer = np.zeros((REQUEST, rows), np.int64), np.zeros((ANSWER, rows), np.int64)
        return m

    # what the host asks ------------------------------------------------------------------------------------------------

    def get(self, name: str) -> int:
        """A number of the machine."""
        return int(getattr(self.machine, name))

    def set(self, name: str, value: int) -> None:
        setattr(self.machine, name, value)

    def counted(self) -> Counters:
        """What has been counted."""
        assert self.counters is not None
        return self.counters

    def column(self, name: str) -> Any:
        """An array of the machine."""
        return np.array(getattr(self.machine, name), np.int64)

    def give(self, name: str, values: Sequence[int]) -> None:
        """Let the first elements of an array have these values."""
        getattr(self.machine, name)[: len(values)] = values

    def restart(self, prepared: PreparedProgram, launch: int) -> bool:
        return False

    def run(self) -> int:
        """Run until the host is needed; why, as the driver says it."""
        return grid.run(self.machine)

    def fault(self) -> ThreadFault:
        """What ended the launch, at an instruction."""
        return self.completion_fault() if self.failed is None else self.failed

    def completion_fault(self) -> ThreadFault:
        """That an operation has completed on an object against a rule."""
        broken = None if self.operations is None else self.operations.fault()
        assert broken is not None
        thread, op, violation = broken
        return ThreadFault(thread, op, None, violation)

    def empty(self) -> None:
        """Take the memory of the CTAs, which the host has emptied."""

    # turns -------------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let the threads of a batch have their registers."""
        threads = self.machine.resident_threads
        fresh = {name: False if type.kind == "pred" else 0 for name, type in self.program.kernel.registers.items()}
        if self.moves:
            fresh[BEGINS] = fresh[ENDS] = self.memory.sizes[contracts.state_spaces.OF_FRAMES]
        self.registers: list[dict[str, Any]] = [dict(fresh) for _ in range(threads)]
        if self.memory.fresh is not None:
            self.fill(self.memory.fresh, self.machine.first * self.extents.threads)
        self.stacks: list[list[Activation]] = [[] for _ in range(threads)]

    def take_ctas(self, start: int, until: int) -> int:
        """Take CTAs, as no other worker does."""
        taken = int(self.memory.next_cta[0])
        if taken == start:
            self.memory.next_cta[0] = until
        return taken

    def end_batch(self) -> None:
        """The threads of a batch have ended."""
        if self.operations is not None:
            self.operations.batch_ends()

    def fill(self, fresh: Fresh, first: int) -> None:
        """Let registers that may be read before they are written begin as a seed decides."""
        types = self.program.kernel.registers
        for name in fresh.begun(self.program.flow.live_in[0], types) - {BEGINS, ENDS, FRAME}:
            rows = fresh.registers(name, types[name].width, first, len(self.registers))
            for registers, word in zip(self.registers, rows, strict=True):
                value = int.from_bytes(word.tobytes(), "little")
                registers[name] = bool(value) if types[name].kind == "pred" else value

    def threads_run(self, block: int, count: int, limit: int) -> int:
        """A turn for each of so many threads that stand at a block, until the steps reach the limit."""
        m, taken = self.machine, 0
        try:
            while taken < count:
                self.watch()
                threads = self.together(m.scratch, taken, count) if self.by_warps else [m.scratch[taken]]
                m.steps += self.warps_turn(block, threads) if self.by_warps else self.turn(block, threads[0])
                taken += len(threads)
                if m.steps >= limit:
                    break
        except ThreadFaulted as faulted:
            self.failed = faulted.fault
            return FAULT
        m.taken = taken
        return 0

    def turn(self, number: int, thread: int) -> int:
        """Run one thread from a block on until its turn is over; how many instructions it has executed."""
        steps = self.program.flow.steps
        m, took, count, ends = self.machine, 0, len(self.blocks), contracts.schedule.ends_turn
        chosen = self.program.flow.chosen
        if self.operations is not None and self.operations.turn_begins():
            raise ThreadFaulted(self.completion_fault())
        while True:
            block = self.blocks[number]
            self.before = m.steps + took - steps(0, block.start)
            if self.counters is not None:
                self.counters.entries[number] += 1
            if self.seen is not None:
                self.seen(m, thread, block, m.steps + took)
            following = self.block(block, thread)
            took += steps(block.start, block.end)
            if following is None:
                following = count
            stops = following in (WAITS, count) or chosen
            if stops or ends(number, following, following in self.narrow, took, m.turn_length):
                enqueue(m, thread, count + 1 if following == WAITS else following)
                if following == count:
                    self.ended(thread)
                return took
            number = following

    def together(self, scratch: Sequence[int], first: int, end: int) -> list[int]:
        """The threads that have their turn with the first of those in a list."""
        threads, joins = [scratch[first]], contracts.schedule.joins
        while first + len(threads) < end:
            following = scratch[first + len(threads)]
            if not joins(self.warp_of(threads[-1]), threads[-1], self.warp_of(following), following):
                break
            threads.append(following)
        return threads

    def warp_of(self, thread: int) -> int:
        """The number of a thread's warp among all that are resident."""
        number: int = warp_of(self.machine, thread)
        return number

    def warps_turn(self, number: int, threads: list[int]) -> int:
        """Run threads of one warp from a block on until each one's turn is over; how many instructions they have executed."""
        steps = self.program.flow.steps
        m, took, executed, count, ends = self.machine, 0, 0, len(self.blocks), contracts.schedule.ends_turn
        at = dict.fromkeys(threads, number)
        while at:
            number = min(at.values())
            block, lanes = self.blocks[number], [thread for thread in threads if at.get(thread) == number]
            self.before = m.steps + took - steps(0, block.start)
            if self.counters is not None:
                self.counters.entries[number] += len(lanes)
            if self.seen is not None:
                for thread in lanes:
                    self.seen(m, thread, block, m.steps + took)
            goes_on = self.block_together(block, lanes)
            took += steps(block.start, block.end)
            executed += steps(block.start, block.end) * len(lanes)
            for thread in lanes:
                to = goes_on[thread]
                following = count if to is None else to
                if following in (WAITS, count) or ends(number, following, False, took, m.turn_length):
                    enqueue(m, thread, count + 1 if following == WAITS else following)
                    if following == count:
                        self.ended(thread)
                    del at[thread]
                else:
                    at[thread] = following
        return executed

    def block_together(self, block: Block, lanes: list[int]) -> dict[int, int | None]:
        """Run threads through a block, instruction by instruction; where each goes on, as `block` says it."""
        goes_on: dict[int, int | None] = dict.fromkeys(lanes, block.next)
        if block.finishes is not None:
            for thread in lanes:
                self.finish(block.finishes, thread)
            return goes_on
        index = block.start
        while index < block.end:
            behind = self.plain.get(index, index + 1)
            part = block._replace(start=index, end=behind)
            for thread in lanes:
                to = self.block(part, thread)
                if behind == block.end:
                    goes_on[thread] = to
            index = behind
        effect = self.code[block.end - 1].plan.meaning.effect
        waiting = [thread for thread in lanes if goes_on[thread] == WAITS]
        if isinstance(effect, Collective) and waiting and self.goes_on_at_once(effect, waiting):
            goes_on |= dict.fromkeys(waiting, block.taken)
        elif isinstance(effect, Wait) and waiting and self.passes_at_once(block.end - 1, waiting):
            goes_on |= dict.fromkeys(waiting, block.taken)
        return goes_on

    def passes_at_once(self, op: int, threads: list[int]) -> bool:
        """Whether threads of a warp need not wait at a barrier."""
        m, page = self.machine, contracts.schedule
        if m.fixed[op] != WHOLE_CTA:
            return False
        cta = threads[0] // self.extents.threads
        lanes = sum(1 << thread % self.extents.threads % LANES for thread in threads)
        in_use = bool(m.in_use[cta * BARRIERS + m.fixed_number[op]])
        return page.passes_at_once(integer(lanes), integer(m.cta_states[cta]), truth(in_use)) is TRUE

    def goes_on_at_once(self, effect: Collective, threads: list[int]) -> bool:
        """Let threads of a warp have what they learn of one another at a collective, if they need not wait there; whether they
        do."""
        m, page = self.machine, contracts.schedule
        members = sum(1 << thread % self.extents.threads % LANES for thread in threads)
        for thread in threads:
            mask = None if effect.mask is None else m.named[thread]
            if (
                page.goes_on_at_once(
                    integer(members), None if mask is None else integer(mask), effect.aligned, effect.warps
                )
                is not TRUE
            ):
                return False
        for thread in threads:
            m.learned_named[thread] = members | members << 32
            m.learned_value[thread] = m.value[thread]
            for k in range(thread * m.more_words, (thread + 1) * m.more_words):
                m.learned_words[k] = m.words[k]
        return True

    def ended(self, thread: int) -> None:
        """Let those know of it who follow when threads end."""
        self.note(EventKind.EXIT, NO_INSTRUCTION, thread)
        if self.left is not None:
            held = self.registers[thread] | self.held_in_row(thread)
            self.left(*self.extents.where(thread, self.machine.first), held)

    def held_in_row(self, thread: int) -> dict[str, int]:
        """What the registers of a thread hold that may be in flight, as far as pieces have landed."""
        row, space = self.program.row, contracts.state_spaces.OF_REGISTERS
        if not row.size:
            return {}
        begin = thread * self.memory.strides[space]
        return row.held(self.memory.buffers_of[space][begin : begin + row.size].tobytes())

    def block(self, block: Block, thread: int) -> int | None:
        """Run one thread through a block; the block at which it goes on, None where it ends, WAITS where it waits."""
        if block.finishes is not None:
            self.finish(block.finishes, thread)
            return block.next
        registers, index = self.registers[thread], block.start
        while index < block.end:
            behind = self.plain.get(index)
            if self.is_observed:
                self.observe_execution(index, thread)
            if behind is not None:
                try:
                    self.scripts.run(index, behind)(registers, thread, {}, self.choose)
                except NoChoice as open_result:
                    raise ThreadFaulted(ThreadFault(thread, self.index, None, open_result)) from None
                index = behind
                continue
            op = self.code[index]
            effect = op.plan.meaning.effect
            assert effect is not None and not isinstance(effect, Fencing)
            self.at(index)
            if op.guard is None or registers[op.guard[0]] != op.guard[1]:
                if isinstance(effect, Ending):
                    return self.ends(effect, op, index, block, thread)
                self.act(effect, op, index, thread)
            index += 1
        return block.next

    def observe_execution(self, index: int, thread: int) -> None:
        """Count an instruction, and note its execution, if its guard holds."""
        op = self.code[index]
        if index in self.program.kernel.added:
            return
        if op.guard is None or self.registers[thread][op.guard[0]] != op.guard[1]:
            if self.counters is not None:
                self.counters.active[index] += 1
            self.note(EventKind.EXECUTE, index, thread)
            if isinstance(op.plan.meaning.effect, Fencing):
                self.note(EventKind.FENCE, index, thread)

    def act(
        self, effect: Access | Check | Checking | Asynchronous | StackUse, op: Any, index: int, thread: int
    ) -> None:
        """Do what an instruction does beside computing, and let its destinations have their values."""
        env: dict[str, Any] = {}
        self.address = None
        try:
            match effect:
                case Load():
                    self.load(effect, op, env, thread)
                case Store():
                    self.store(effect, op, env, thread)
                case Update():
                    self.load(effect, op, env, thread)
                    for rule, holds in zip(
                        effect.rules, self.values("keeps", effect.conditions, env, thread), strict=True
                    ):
                        if not holds:
                            raise unmet_of_object(effect, rule, env["%loaded0"])
                    self.store(effect, op, env, thread)
                case Check():
                    self.check(effect, env, thread)
                case Report():
                    self.report(effect, env, thread)
                case Examine():
                    self.examine(effect, thread)
                case Initialize():
                    self.initialize(effect, thread)
                case Initiate():
                    self.initiate(effect, op, index, thread)
                case Follow():
                    self.follow(effect, index, thread)
                case Advance():
                    self.advance(effect, thread)
                case StackEnd() | Reserve() | Release():
                    self.move_stack(effect, env, thread)
                case _:
                    assert_never(effect)
            self.write(index, env, thread)
        except (Violation, NoChoice) as broken:
            raise self.faulted(broken, thread, index) from None
        if isinstance(effect, Asynchronous) and self.operations is not None and self.operations.fault():
            raise ThreadFaulted(self.completion_fault())

    def ends(self, effect: Ending, op: Any, index: int, block: Block, thread: int) -> int | None:
        """What the last instruction of a block does; where the thread goes then."""
        env: dict[str, Any] = {}
        self.address = None
        try:
            match effect:
                case Stop():
                    raise stopped(effect)
                case Call() if system_function(self.program.kernel, op):
                    self.note(EventKind.CALL, index, thread, value=self.program.functions[op.call.function])
                    self.ask_system(op, thread, index)
                case Branch() | IndexedBranch() | Call() | Return() | Exit():
                    return self.leads(effect, op, index, block, env, thread)
                case Await():
                    again, holds = (
                        self.machine.vain_at[thread] == index + 1,
                        self.values("until", (effect.until,), env, thread),
                    )
                    self.machine.vain_at[thread] = 0 if holds[0] else index + 1
                    if holds[0] or not again:
                        return block.next
                    self.wait(effect, env, thread, index)
                case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess():
                    self.wait(effect, env, thread, index)
                case _:
                    assert_never(effect)
        except (Violation, NoChoice) as broken:
            raise self.faulted(broken, thread, index) from None
        return WAITS

    def faulted(self, broken: Violation | NoChoice, thread: int, index: int) -> ThreadFaulted:
        """Which thread it was, at which instruction, that broke a rule, at the last address, or lacks a choice."""
        address = self.address if isinstance(broken, Violation) and not broken.nowhere else None
        op, held = self.code[index], self.registers[thread]
        acts = isinstance(op.plan.meaning.effect, Access | Check | Initiate)
        names = shown_registers(op, self.program.kernel) if acts else ()
        return ThreadFaulted(ThreadFault(thread, index, address, broken, {name: int(held[name]) for name in names}))

    def leads(self, effect: Jump, op: Any, index: int, block: Any, env: dict[str, Any], thread: int) -> int | None:
        """The block to which an instruction sends a thread; None for its end."""
        match effect:
            case Call():
                return self.enter(effect, op, index, block, env, thread)
            case Return() if self.stacks[thread]:
                self.note(EventKind.RETURN, index, thread)
                return self.stacks[thread][-1].back
            case IndexedBranch():
                (chosen,) = self.values("target", (effect.index,), env, thread)
                if not contracts.control_flow.in_list(chosen, len(block.ways)):
                    raise Violation("branch index", f"index {chosen} of a list of {len(block.ways)}")
                way: int | None = block.ways[chosen][1]
                return way
            case Branch() | Return() | Exit():
                taken: int | None = block.taken
                return taken
            case _:
                assert_never(effect)

    def wait(self, effect: Pause, env: dict[str, Any], thread: int, index: int) -> None:
        """Write down what a thread gives where it waits for others."""
        if isinstance(effect, ImageAccess):
            for i, word in enumerate(self.values("request", image_request(effect), env, thread)):
                word &= (1 << 64) - 1
                self.request[i, thread] = word - (word >> 63 << 64)
        m = self.machine
        m.number[thread], m.named[thread], value = self.values("wait", arrival_operands(effect), env, thread)
        m.value[thread] = value - (value >> 63 << 64)
        if isinstance(effect, Collective) and effect.more:
            for k, word in enumerate(self.values("more", effect.more, env, thread), thread * self.more_words):
                m.words[k] = word - (word >> 63 << 64)
        m.waits_at[thread] = index

    def finish(self, index: int, thread: int) -> None:
        """Give a thread that waited for others, or called a function, its results."""
        op = self.code[index]
        if system_function(self.program.kernel, op):
            self.take_answer(op.call, thread)
        elif op.call is not None:
            self.come_back(op, index, thread)
        else:
            self.at(index)
            self.address = None
            try:
                self.write(index, self.learned(op.plan.meaning.effect, thread), thread)
            except (Violation, NoChoice) as broken:
                raise self.faulted(broken, thread, index) from None

    def learned(self, effect: Effect | None, thread: int) -> dict[str, Any]:
        """What a thread that waited has learned, by the names that the instruction's results have for it."""
        named, values, more = self.machine.learned_named, self.machine.learned_value, self.machine.learned_words
        match effect:
            case ImageAccess():
                return {f"%answer{i}": word & (1 << 64) - 1 for i, word in enumerate(self.answer[:, thread].tolist())}
            case Collective():
                lanes = LANES * effect.warps
                lane_index = thread % self.extents.threads % lanes
                first = thread - lane_index
                env = {f"%lane{i}": int(values[first + i]) & (1 << 64) - 1 for i in range(lanes)}
                for i in range(lanes if effect.more else 0):
                    for k, name in enumerate(lane_words(i, 1 + len(effect.more))[1:]):
                        env[name] = int(more[(first + i) * self.more_words + k]) & (1 << 64) - 1
                members, at_once = int(named[thread]) & 0xFFFFFFFF, int(named[thread]) >> 32 & 0xFFFFFFFF
                return {**env, "%own": lane_index, "%members": members, "%at_once": at_once}
            case Wait():
                return {"%arrived": int(named[thread]), "%holding": int(values[thread])}
        raise AssertionError(f"no thread learns anything of {effect}")

    def at(self, index: int) -> None:
        """Note which instruction is being executed."""
        self.index = index
        self.elapsed = self.before + self.program.flow.steps(0, index)

    def values(self, what: str, terms: Sequence[Any], env: dict[str, Any], thread: int) -> tuple[Any, ...]:
        """The values of terms of the instruction that is being executed; `what` tells them from others of it."""
        result: tuple[Any, ...] = self.scripts.values(self.index, what, terms)(
            self.registers[thread], thread, env, self.choose
        )
        return result

    def write(self, index: int, env: dict[str, Any], thread: int) -> None:
        """Let an instruction's destinations have their values."""
        self.scripts.results(index)(self.registers[thread], thread, env, self.choose)

    def part(self, thread: int) -> int:
        """Where the part of shared memory begins that belongs to the thread's CTA."""
        return contracts.generic_addressing.part_begins(thread // self.extents.threads % self.extents.cluster_size)

    def element(self, operand: tree.Indexed, start: int, index: int) -> int:
        """The address of an element, by the words of the page."""
        return self.variables.element_address(start, index, operand.scale, operand.offset, operand.bits)

    def read_special(self, name: str, thread: int) -> int:
        if name in self.changing:
            return int(evaluate(self.changing[name], {"%elapsed": self.elapsed}))
        m = self.machine
        return self.special.read(name, thread % m.threads, m.first + thread // m.threads)

    # calls ---------------------------------------------------------------------------------------------------------------

    def enter(self, effect: Call, op: Any, index: int, block: Any, env: dict[str, Any], thread: int) -> int:
        """Pass a call's arguments, open a frame, and give the block at which the function begins."""
        flow, registers, stack = self.program.flow, self.registers[thread], self.stacks[thread]
        to = op.call.function or self.values("function", (effect.function,), env, thread)[0]
        self.note(EventKind.CALL, index, thread, value=self.program.functions[to] if isinstance(to, str) else to)
        name, begins = call_target(self.program, op, block, to)
        saved = {n: registers[n] for n in flow.saved(index)}
        used = (stack[-1].used if stack else 0) + kept_bytes(self.program.kernel, saved)
        kernel, end = self.program.kernel, registers.get(ENDS, 0)
        callee, caller_size = kernel.functions[name], kernel.functions[flow.function_of(index)].frame_size
        size = self.functions.whole_frame(callee.frame_size, passed_beyond(kernel, op.call))
        frame = self.functions.frame_of_call(registers[FRAME], caller_size, end, size, self.moves)
        check_room(kernel, frame, frame + size, used, end)
        # of an array without a size, nothing may be passed
        count = min(len(op.call.arguments), len(op.call.signature.parameters))
        values = [self.passed(op, index, k, thread) for k in range(count)]
        assert callee.signature is not None  # it is no entry
        for value, formal in zip(values, callee.signature.parameters, strict=False):
            self.receive(value, formal, frame, thread)
        if self.moves:
            self.memory.extend(thread, end, frame, size)
            registers[BEGINS] = registers[ENDS] = frame
        stack.append(Activation(block.taken, saved, used, name, registers[FRAME]))
        registers[FRAME] = frame
        return begins

    def ask_system(self, op: Any, thread: int, index: int) -> None:
        """Put a thread among those that wait for the system."""
        for i in range(len(op.call.arguments)):
            value = self.passed(op, index, i, thread)
            word = int.from_bytes(value, "little") if isinstance(value, bytes) else int(value)
            self.request[i, thread] = word - (word >> 63 << 64)
        self.machine.waits_at[thread] = index

    def take_answer(self, call: Any, thread: int) -> None:
        """Take the result of a function of the system."""
        registers = self.registers[thread]
        for operand, formal in zip(call.results, call.signature.returns, strict=True):
            number = int(self.answer[0, thread]) & (1 << 8 * formal.size) - 1
            if operand.text in registers:
                registers[operand.text] = number
            elif operand.text != "_":
                at = registers[FRAME] + self.program.kernel.places[operand.text].offset
                self.set_local(thread, at, number.to_bytes(formal.size, "little"))

    def come_back(self, op: Any, index: int, thread: int) -> None:
        """Close the frame of the function that was called, and take its results."""
        registers, kernel = self.registers[thread], self.program.kernel
        call = op.call
        _, saved, _, name, frame = self.stacks[thread].pop()
        returns = call_results(kernel, call, name)
        results = [
            registers[str(f.register)]
            if f.place is None
            else self.in_local(thread, registers[FRAME] + f.place.offset, f.size)
            for f in returns
        ]
        if self.moves:
            self.memory.cut(thread, saved[ENDS], registers[ENDS])
        registers.update(saved)
        registers[FRAME] = frame
        for operand, value, formal in zip(call.results, results, returns, strict=True):
            if operand.text == "_":
                continue
            if operand.text in registers:
                number = value if formal.place is None else int.from_bytes(value, "little")
                registers[operand.text] = number
            else:
                to = registers[FRAME] + kernel.places[operand.text].offset
                data = value if isinstance(value, bytes) else int(value).to_bytes(formal.size, "little")
                self.set_local(thread, to, data)

    def passed(self, op: Any, index: int, k: int, thread: int) -> Any:
        """The k-th argument of a call: a number, or the bytes of a variable."""
        operand, formal = op.call.arguments[k], op.call.signature.parameters[k]
        offset = in_frame(self.program, operand)
        if offset is not None:
            size = self.program.kernel.places[operand.text].size if formal.is_open else formal.size
            return self.in_local(thread, self.registers[thread][FRAME] + offset, size)
        return self.scripts.argument(index, k, formal.type)(self.registers[thread], thread, {}, self.choose)

    def receive(self, value: Any, formal: Any, frame: int, thread: int) -> None:
        if formal.place is None:
            number = int.from_bytes(value, "little") if isinstance(value, bytes) else value
            self.registers[thread][str(formal.register)] = number
        else:
            data = value if isinstance(value, bytes) else int(value).to_bytes(formal.size, "little")
            self.set_local(thread, frame + formal.place.offset, data)

    def in_local(self, thread: int, at: int, size: int) -> bytes:
        start = thread * self.memory.strides[contracts.state_spaces.OF_FRAMES] + at
        return self.memory.frames[start : start + size].tobytes()

    def set_local(self, thread: int, at: int, data: bytes) -> None:
        start = thread * self.memory.strides[contracts.state_spaces.OF_FRAMES] + at
        self.memory.frames.data[start : start + len(data)] = data

    def move_stack(self, effect: StackUse, env: dict[str, Any], thread: int) -> None:
        """Reserve memory on the thread's stack, or give some back."""
        registers = self.registers[thread]
        end = env["%stack_end"] = registers[ENDS]
        match effect:
            case Reserve():
                begin, size = self.values("reserve", (effect.begin, effect.size), env, thread)
                check_room(self.program.kernel, begin, begin + size, 0, end)
                self.memory.extend(thread, end, begin, size)
                self.set_local(thread, begin, bytes(size))
                registers[ENDS] = begin
            case Release():
                (to,) = self.values("release", (effect.end,), env, thread)
                check_end(to, end, registers[BEGINS], self.memory.states_of_stack(thread))
                self.memory.cut(thread, to, end)
                registers[ENDS] = to
            case StackEnd():
                self.memory.save_end(thread, end)
            case _:
                assert_never(effect)

    # memory --------------------------------------------------------------------------------------------------------------

    def load(self, effect: Load | Update, op: Any, env: dict[str, Any], thread: int) -> None:
        size = effect.type.bytes
        array, at = self.place(effect, op, env, thread)
        self.count(array, effect.bytes)
        stale, grid_thread = self.stale_of(array, thread)
        for i in range(effect.count):
            if stale is None:
                data = array[at + i * size : at + (i + 1) * size].tobytes()
            else:
                data = stale.read(self.index, grid_thread, array, at + i * size, size, isinstance(effect, Update))
            env[f"%loaded{i}"] = value = int.from_bytes(data, "little")
            self.note_access(EventKind.READ, thread, array, at + i * size, size, value)

    def store(self, effect: Store | Update, op: Any, env: dict[str, Any], thread: int) -> None:
        size = effect.type.bytes
        array, at = self.place(effect, op, env, thread)
        if isinstance(effect, Store):
            self.count(array, effect.bytes)
        stale, grid_thread = self.stale_of(array, thread)
        for i, value in enumerate(self.values("stored", effect.values, env, thread)):
            data = value.to_bytes(size, "little")
            if stale is not None:
                stale.write(self.index, grid_thread, array, at + i * size, data)
            array.data[at + i * size : at + (i + 1) * size] = data
            self.note_access(EventKind.WRITE, thread, array, at + i * size, size, value)
        if effect.life is not None:
            assert self.operations is not None
            self.operations.change_object(effect.life, thread, self.index, (array, at))

    def stale_of(self, array: np.ndarray, thread: int) -> tuple[StaleReads | None, int]:
        """What says which values are read from an array, if these need not be the newest, and the thread's number in the grid."""
        if self.stale is None or not self.stale.covers(array):
            return None, thread
        return self.stale, self.stale.thread_of(thread, self.machine.first)

    def initiate(self, effect: Initiate, op: Any, index: int, thread: int) -> None:
        """Initiate an asynchronous operation, or none."""
        assert self.operations is not None and isinstance(effect.to, Int)
        if effect.when is not None and not self.values("when", (effect.when,), {}, thread)[0]:
            return
        (to,) = self.values("begins", (effect.to,), {}, thread)
        if effect.holds is not None:
            self.address = to
            check_demand(effect.rule, *self.values("holds", (effect.holds,), {}, thread))
            self.address = None  # that a copy reads too much is said of none
        _, align = extent_of(op)
        slot = thread // self.extents.threads
        size, read = self.values("initiated", (effect.size, effect.read), {}, thread)
        lead, reorder, fill = self.values("arranged", (effect.lead, effect.reorder, effect.fill), {}, thread)
        if effect.only_reads:
            self.address = to
            place = self.memory.ranged(effect.space, to, align, read, False, slot, thread)
            self.operations.initiate(effect, thread, index, place, 0, place, read, None)
            return
        if effect.reorder.hi == 0:
            check_read(lead + read, size)
        self.address = to
        check_variable(self.program, index, to, align)
        target = self.memory.ranged(effect.space, to, align, size, True, slot, thread, spared=self.spared(op))
        begin, carried = None, b""
        if isinstance(effect.source, Carried):
            width = effect.source.type.bytes
            values = self.values("carried", effect.source.values, {}, thread)
            carried = b"".join(value.to_bytes(width, "little") for value in values)
        else:
            assert isinstance(effect.source, Int)
            (source,) = self.values("source", (effect.source,), {}, thread)
            self.address = source
            check_source(self.program, index, source, align)
            begin = self.memory.ranged(effect.of, source, align, read, False, slot, thread)
            self.count(begin[0], read)
        self.count(target[0], size)
        where: Place | None = None
        if effect.object is not None:
            where = self.object(effect.completion, effect.among, effect.object, thread)
        self.address = to
        self.operations.initiate(
            effect, thread, index, target, size, begin, read, where, carried, (lead, reorder, fill)
        )

    def object(self, completion: Any, among: str, at: Int, thread: int) -> Place:
        """Where an object lies on which an operation is to complete."""
        (self.address,) = self.values("object", (at,), {}, thread)
        life = Life.LASTS if completion.lives else None
        slot = thread // self.extents.threads
        return self.memory.access(among, self.address, OBJECT_BITS // 8, True, slot, thread, life=life)

    def follow(self, effect: Follow, index: int, thread: int) -> None:
        """Initiate an operation that follows others."""
        assert self.operations is not None
        where = self.object(effect.completion, effect.among, effect.object, thread)
        self.operations.follow(effect, thread, index, where)

    def advance(self, effect: Advance, thread: int) -> None:
        """Change the thread's record of a completion mechanism."""
        assert self.operations is not None
        self.operations.advance(effect, thread, self.values("operands", effect.operands, {}, thread))

    def check(self, effect: Check, env: dict[str, Any], thread: int) -> None:
        if effect.address is not None:
            (self.address,) = self.values("address", (effect.address,), env, thread)
        (holds,) = self.values("holds", (effect.holds,), env, thread)
        check_demand(effect.rule, holds, effect.note)

    def report(self, effect: Report, env: dict[str, Any], thread: int) -> None:
        """Note that a check has found something."""
        (address,) = self.values("address", (integer(0) if effect.address is None else effect.address,), env, thread)
        self.note(EventKind.REPORT, self.index, thread, location=address, size=effect.size)

    def examine(self, effect: Examine, thread: int) -> None:
        """Note that a check has found something, if not all bits of a range are initialized."""
        at, size, to = self.values("examined", (effect.address, effect.size, effect.to), {}, thread)
        array, begin = self.memory.ranged(
            effect.space, at, 1, size, False, thread // self.extents.threads, thread, True
        )
        if not (array[begin : begin + size] == 0xFF).all():
            self.note(EventKind.REPORT, self.index, thread, location=to, size=size)

    def initialize(self, effect: Initialize, thread: int) -> None:
        """Change which bits of a range are initialized."""
        none, slot = integer(0), thread // self.extents.threads
        given = [none if term is None else term for term in (effect.source, effect.read)]
        to, size, source, read = self.values("initialized", (effect.address, effect.size, *given), {}, thread)
        array, at = self.memory.ranged(effect.space, to, 1, size, True, slot, thread, True)
        if size:
            array[at : at + size] = 0xFF if effect.initialized else 0
        if effect.of and read:
            other, begin = self.memory.ranged(effect.of, source, 1, read, False, slot, thread, True)
            array[at : at + read] = other[begin : begin + read]

    def place(self, effect: Access, op: Any, env: dict[str, Any], thread: int) -> Any:
        plan = self.plans.get(self.index) or self.plan(effect, op)
        registers = self.registers[thread]
        (address,) = plan.address(registers, thread, env, self.choose)
        self.address = address
        if plan.holds is not None and not isinstance(effect, Update):
            check_demand(effect.rule, *plan.holds(registers, thread, env, self.choose))
        if plan.overruns:
            check_variable(self.program, self.index, address, plan.size)
        slot = thread // self.extents.threads
        return self.memory.access(
            plan.space, address, plan.size, plan.write, slot, thread, plan.into, plan.shadow, effect.life, plan.spared
        )

    # events --------------------------------------------------------------------------------------------------------------

    def observe(self, tell: Callable[[np.ndarray], None]) -> None:
        """Let events be told to `tell`, in a launch that is observed."""
        self.tell = tell

    def tell_events(self) -> None:
        """Tell of the events that have been noted."""
        if self.noted:
            rows = np.array(self.noted, np.uint64).view(np.int64)
            self.noted.clear()
            self.tell(rows)

    def note(self, kind: EventKind, instruction: int, thread: int, **fields: int) -> None:
        """Note an event, if that kind is observed; what is not given is 0."""
        if self.stale is not None and kind in OF_ORDERS:
            self.stale.take(kind, instruction, self.stale.thread_of(thread, self.machine.first), fields.get("value", 0))
        if kind in self.observed.kinds:
            if len(self.noted) == MOST_NOTED:
                self.tell_events()
            event = {
                "kind": kind,
                "first": self.machine.first,
                "instruction": instruction,
                "thread": thread,
                **fields,
            }
            self.noted.append(tuple(event.get(word, 0) & (1 << 64) - 1 for word in WORDS))

    def note_operation(self, kind: EventKind, instruction: int, thread: int, **fields: int) -> None:
        """Note an event of an asynchronous operation."""
        if self.stale is not None and kind is EventKind.WRITE:
            self.stale.forget(fields["location"], fields["size"])
        self.note(kind, instruction, thread, **fields)

    def note_access(self, kind: EventKind, thread: int, array: np.ndarray, at: int, size: int, value: int) -> None:
        """Note that a value is read or written, if that is observed."""
        if self.index in self.program.kernel.added:
            return
        if kind in self.observed.kinds and self.observed.tells_of(self.memory.space_of(array)):
            self.note(
                kind, self.index, thread, location=array.ctypes.data + at, size=size, value=value, high=value >> 64
            )

    def count(self, array: np.ndarray, size: int) -> None:
        """Count bytes that the instruction moves in an array which an access found, by its state space; if the launch counts."""
        if self.counters is not None and self.index not in self.program.kernel.added:
            space = self.memory.space_of(array)
            if is_counted(space):
                self.counters.moved[counter_of(self.index, space)] += size

    def plan(self, effect: Access, op: Any) -> AccessPlan:
        """How the instruction that is being executed accesses memory; kept."""
        index, scripts = self.index, self.scripts
        demand = None if isinstance(effect, Update) else effect.holds
        plan = self.plans[index] = AccessPlan(
            scripts.values(index, "address", (effect.address,)),
            None if demand is None else scripts.values(index, "holds", (demand,)),
            index in self.program.overruns,
            op.space or effect.space,
            effect.bytes,
            not isinstance(effect, Load),
            effect.into,
            not isinstance(effect, Update) and effect.shadow,
            self.spared(op),
        )
        return plan

    def spared(self, op: Any) -> int:
        """The changes by asynchronous operations that an instruction may touch."""
        return 0 if self.program.asynchronous is None else self.program.asynchronous.spared(op)
