"""What a kernel becomes before it runs, under either engine, and what both ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

import numpy as np

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Checked, Kernel, Op
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.debugging import origin
from ptxspec.language.parser import statement
from ptxspec.machine.call_graph import entry_size, stack_moves
from ptxspec.machine.contraction import contracted
from ptxspec.machine.errors import Violation, Where
from ptxspec.machine.events import UNINITIALIZED, UNOBSERVED, ObservedEvents
from ptxspec.machine.flow import Block, FlowGraph, operand_registers, reads_clock, values_of
from ptxspec.machine.heap import needs_heap
from ptxspec.machine.memory import check_alignment, is_of_threads, parts_of
from ptxspec.machine.operations import AsynchronousUse, asynchronous_use
from ptxspec.machine.overruns import Overruns
from ptxspec.machine.registers_in_flight import RegisterRow, locate_registers
from ptxspec.machine.special import variables_of
from ptxspec.machine.system import system_function
from ptxspec.machine.whole_kernels import linked
from ptxspec.terms.core import Int, integer
from ptxspec.terms.effects import (
    Arrive,
    Await,
    ClusterArrive,
    ClusterWait,
    Collective,
    ImageAccess,
    Life,
    Load,
    Pause,
    Stop,
    Store,
    Update,
    Wait,
)
from ptxspec.terms.exact import evaluate
from ptxspec.terms.profiles import Profile
from ptxspec.terms.steps import State
from ptxspec.terms.types import Type

if TYPE_CHECKING:
    from ptxspec.machine.initialization import ShadowedKernel

#: words that each resident thread has at most for what it waits for and learns
WORDS = 32
#: words that a thread gives with its request to the host, and words that it is answered with
REQUEST, ANSWER = 16, 4


class KernelProgram(NamedTuple):
    """A kernel ready for an engine: its blocks, the addresses of its variables, and the profile that chooses."""

    kernel: Kernel
    flow: FlowGraph
    profile: Profile
    bases: dict[str, int]
    functions: dict[str, int]
    clustered: bool
    """whether it runs in clusters of more than one CTA"""
    has_heap: bool
    """whether its module has a heap"""
    accesses_images: bool
    """whether it asks textures or surfaces for anything"""
    asks_host: bool
    """whether it asks textures, surfaces or the system for anything"""
    overruns: dict[int, str] = {}
    """the accesses that leave the variable which their address is formed from, and what is said of each"""
    spreads: bool = False
    """whether several threads of the host may run its CTAs"""
    state_bytes: int = 0
    """bytes that a resident thread takes at most"""
    sources: dict[int, str] = {}
    """the operations that read beyond the variable which their address is formed from, and what is said of each"""
    asynchronous: AsynchronousUse | None = None
    """what it has to do with asynchronous operations"""
    address_size: int = 64
    """the bits of an address"""
    ignores_upper_halves: bool = False
    """whether the upper half of a register does not count that holds an address of 32 bits"""
    row: RegisterRow = RegisterRow({})
    """the registers of a thread that may be in flight"""
    shadows: ShadowedKernel | None = None
    """what its reports are about, if it is checked what is initialized"""

    def shared_size(self, dynamic: int) -> int:
        """The bytes of shared memory of a CTA, of which the launch asks for so many."""
        return contracts.memory_rules.shared_size(
            self.kernel.sizes[contracts.state_spaces.SIZED_AT_LAUNCH], self.bases["dynamic"], dynamic
        )

    def sizes(self, shared: int) -> dict[str, int]:
        """The bytes of each thread's or CTA's part of the state spaces in parts, where a CTA has so many of shared memory."""
        parts = {space: self.kernel.sizes[space] for space in parts_of(self.kernel.sizes)}
        return parts | {contracts.state_spaces.SIZED_AT_LAUNCH: shared}

    def cta_bytes(self, shared: int) -> int:
        """The bytes of a CTA's parts of state spaces."""
        size = sum(size for space, size in self.sizes(shared).items() if not is_of_threads(space))
        return size if self.shadows is None else 2 * size

    def address_of(self, name: str) -> int:
        """A variable's address in its state space, or a function's."""
        if name in self.functions:
            return self.functions[name]
        place = self.kernel.places[name]
        if place.opaque:
            return place.offset
        return place.offset + self.bases.get(place.space, 0) if place.offset >= 0 else self.bases["dynamic"]


def function_addresses(checked: Checked) -> dict[str, int]:
    """The addresses of a module's functions and entries."""
    page = contracts.functions
    return {name: page.address_of(i) for i, name in enumerate((*checked.signatures, *checked.kernels))}


def program(
    checked: Checked,
    name: str,
    profile: Profile,
    clustered: bool,
    contracts_all: bool = False,
    chosen: bool = False,
    observed: ObservedEvents = UNOBSERVED,
    alone: bool = True,
) -> KernelProgram:
    kernel = linked(checked, name)
    if contracts_all:
        kernel = contracted(kernel)
    kernel, row = locate_registers(kernel)
    shadows = None
    if UNINITIALIZED in observed.checks:
        from ptxspec.machine.initialization import with_shadows  # which few launches need

        shadows = with_shadows(kernel, observed)
        kernel = shadows.kernel
    layout = contracts.generic_addressing
    without_size = (p.align for p in kernel.places.values() if p.offset < 0)
    dynamic = contracts.memory_rules.dynamic_part(kernel.sizes[contracts.state_spaces.SIZED_AT_LAUNCH], without_size)
    bases = {contracts.state_spaces.OF_BUFFERS: layout.GLOBAL_BASE, "dynamic": dynamic}
    accesses_images = any(isinstance(op.plan.meaning.effect, ImageAccess) for op in kernel.code)
    ready = KernelProgram(
        kernel,
        FlowGraph(kernel, chosen, observed, alone),
        profile,
        bases,
        function_addresses(checked),
        clustered,
        needs_heap(checked.signatures),
        accesses_images,
        accesses_images or any(system_function(kernel, op) is not None for op in kernel.code),
    )
    ready = ready._replace(asynchronous=asynchronous_use(kernel, profile))
    overruns = Overruns(kernel, ready.flow, ready.address_of, checked.places, checked.address_size)
    return ready._replace(
        overruns=overruns.accesses,
        sources=overruns.sources,
        spreads=may_spread(ready),
        state_bytes=state_bytes(ready),
        address_size=checked.address_size,
        ignores_upper_halves=bool(evaluate(contracts.access.ignores_upper_halves(), {}, profile.value)),
        row=row,
        shadows=shadows,
    )


def constant_of(program: KernelProgram, type: Type | None, operand: Any) -> int | None:
    """The value of a source operand that is no register: a constant, or a variable's address. None too for what lies in the
    frame of a function, or in the CTA's part of what a cluster shares: see in_frame and in_part."""
    if isinstance(operand, tree.Number | tree.Float):
        assert type is not None
        return constant_bits(operand, type)
    if in_frame(program, operand) is not None or in_part(program, operand) is not None:
        return None
    if isinstance(operand, tree.Sum):
        return contracts.variables.behind(program.address_of(operand.base.text), operand.offset, program.address_size)
    if isinstance(operand, tree.Name) and operand.text not in program.kernel.registers:
        if operand.text in program.kernel.places or operand.text in program.functions:
            return program.address_of(operand.text)
    return None


def in_frame(program: KernelProgram, operand: Any) -> int | None:
    """How far from the beginning of the frame an operand lies, if it names something there and frames move."""
    name = operand.base if isinstance(operand, tree.Sum) else operand
    if not program.kernel.functions or not isinstance(name, tree.Name) or name.text in program.kernel.registers:
        return None
    place = program.kernel.places.get(name.text)
    if place is None or not place.framed:
        return None
    return place.offset + (operand.offset if isinstance(operand, tree.Sum) else 0)


def in_part(program: KernelProgram, operand: Any) -> int | None:
    """How far from the beginning of the CTA's part of shared memory an operand lies, if it names something there and CTAs have
    parts."""
    name = operand.base if isinstance(operand, tree.Sum) else operand
    if not program.clustered or not isinstance(name, tree.Name) or name.text in program.kernel.registers:
        return None
    place = program.kernel.places.get(name.text)
    if place is None or place.space != contracts.access.stored(contracts.generic_addressing.CLUSTER):
        return None
    return program.address_of(name.text) + (operand.offset if isinstance(operand, tree.Sum) else 0)


def call_target(program: KernelProgram, op: Op, block: Block, function: str | int) -> tuple[str, int]:
    """(the function that a call reaches, the block at which it begins). Raises Violation if there is none."""
    ways: dict[str, Any] = dict(block.ways)
    if isinstance(function, str):
        if function not in ways:
            raise Violation("no body", f"{function} is declared, and nothing defines it as it is declared")
        return function, ways[function]
    for name in ways:
        if program.functions[name] == function:
            return name, ways[name]
    raise Violation("call target", f"{function:#x} is the address of no function that this call may reach")


def check_room(kernel: Kernel, begin: int, end: int, used: int, stack_end: int = 0) -> None:
    """Raise Violation if a piece of a stack, which ends at `stack_end` if it moves, has no room in its thread's local memory, or
    if calls have put by too many bytes."""
    least, most = 0, kernel.sizes[contracts.state_spaces.OF_FRAMES]
    if stack_moves(kernel):
        least, most = contracts.functions.least_end(entry_size(kernel)), stack_end
    if not contracts.functions.has_room(begin, end, used, least, most):
        raise no_room(kernel)


def no_room(kernel: Kernel) -> Violation:
    """What a call or an allocation breaks for which there is no room."""
    what = "the calls, and what is on the stack beside them," if stack_moves(kernel) else "the calls"
    return Violation("stack", f"{what} need more than {contracts.functions.STACK} bytes")


def check_end(to: int, end: int, begins: int, alive: np.ndarray) -> None:
    """Raise Violation unless a stack that ends at `end` may be cut back to another end. `alive` has the states of the bytes of
    local memory."""
    page = contracts.functions
    if not page.may_end(to, end, begins):
        raise Violation("release", f"{to:#x} is no end that the stack had: they lie from {end:#x} to {begins:#x}")
    if not page.was_saved(int(alive[to - 1])):
        raise Violation("release", f"{to:#x} is no end that stacksave has returned")


def may_spread(program: KernelProgram) -> bool:
    """Whether several threads of the host may run a kernel's CTAs at the same time: it asks the host for nothing, reads no
    clock, its asynchronous operations write memory of a CTA alone, what it updates elsewhere is one word at a time and no object,
    and nobody chooses whose turn it is."""
    updates, asynchronous = _updates_in_common(program), program.asynchronous
    alone = all(e.count == 1 and e.type.width <= 64 and not e.conditions for e in updates)
    if not alone or program.flow.chosen or program.asks_host:
        return False
    page = contracts.state_spaces
    if asynchronous is not None and not {*page.in_parts(), page.OF_REGISTERS}.issuperset(asynchronous.targets):
        return False
    return not any(reads_clock(op) for op in program.kernel.code)


def updates_in_common(program: KernelProgram) -> bool:
    """Whether a kernel updates memory that CTAs of several threads of the host may update."""
    return bool(_updates_in_common(program))


def _updates_in_common(program: KernelProgram) -> list[Update]:
    """A kernel's updates of memory that is not a CTA's or a thread's alone."""
    in_parts = contracts.state_spaces.in_parts()
    effects = (op.plan.meaning.effect for op in program.kernel.code)
    return [effect for effect in effects if isinstance(effect, Update) and effect.space not in in_parts]


def resident(program: KernelProgram) -> int:
    """How many of a kernel's threads are resident at once."""
    return contracts.limits.resident_threads(program.accesses_images, program.clustered)


def state_bytes(program: KernelProgram) -> int:
    """Bytes that a resident thread takes at most, as the native engine lays them out: registers, memory of its own, the stack of
    its calls, what special registers say, and its places in the lists of threads. What no thread has touched takes no memory of
    the machine."""
    kernel = program.kernel
    registers = sum(max(1, type.width // 8) for type in kernel.registers.values())
    memories = 1 if program.shadows is None else 2
    local = sum(kernel.sizes[space] for space in parts_of(kernel.sizes) if is_of_threads(space))
    if stack_moves(kernel):
        local += kernel.sizes[contracts.state_spaces.OF_FRAMES]
    calls = contracts.functions.STACK if kernel.functions else 0
    requests = 8 * (REQUEST + ANSWER) if program.asks_host else 0
    special = 8 * len(program.flow.special)
    given = 2 * 8 * more_words(program)
    return registers + memories * local + calls + requests + special + given + 4 * len(program.flow.blocks) + 8 * WORDS


def image_request(effect: ImageAccess) -> list[Int]:
    """What a thread gives the unit that holds the images: two handles, and the operands."""
    return [effect.image, integer(0) if effect.sampler is None else effect.sampler, *effect.operands]


def more_words(program: KernelProgram) -> int:
    """How many values a thread gives its warp beside the first, at most."""
    effects = (op.plan.meaning.effect for op in program.kernel.code)
    return max((len(e.more) for e in effects if isinstance(e, Collective)), default=0)


class ArrivalOperands(NamedTuple):
    """What a thread that waits gives those that let it go on: the barrier's number, the mask or the number of threads (all bits 1
    without one), and its value."""

    number: Int
    named: Int
    value: Int


def arrival_operands(effect: Pause) -> ArrivalOperands:
    """What a thread gives where it waits."""
    none, every = integer(0), integer(-1)
    match effect:
        case Collective():
            return ArrivalOperands(none, every if effect.mask is None else effect.mask, effect.value)
        case Arrive():
            return ArrivalOperands(effect.barrier, every if effect.threads is None else effect.threads, none)
        case Wait():
            return ArrivalOperands(effect.barrier, every if effect.threads is None else effect.threads, effect.value)
        case ClusterArrive() | ClusterWait() | ImageAccess():
            return ArrivalOperands(none, every, none)
        case Await():
            return ArrivalOperands(effect.address, effect.operand, effect.word)
        case _:
            assert_never(effect)


def constant_arrival(program: KernelProgram, op: Op) -> tuple[int, int, int] | None:
    """What every thread gives that waits at an instruction, as signed words, if that is written in the program."""
    effect = op.plan.meaning.effect
    if not isinstance(effect, Pause) or isinstance(effect, ImageAccess):
        return None
    known: dict[str, int] = {}
    for type, symbol, operand in values_of(op):
        value = constant_of(program, type, operand)
        if value is not None and symbol.op == "var":
            known[symbol.attrs[0]] = value
    terms = arrival_operands(effect)
    if not set().union(*(variables_of(term) for term in terms)) <= known.keys():
        return None
    words = (evaluate(term, known) & (1 << 64) - 1 for term in terms)
    number, named, value = (word - (word >> 63 << 64) for word in words)
    return number, named, value


def stopped(effect: Stop) -> Violation:
    """What an instruction that ends the launch reports."""
    return Violation(effect.rule, "the thread executed this instruction")


def check_variable(program: KernelProgram, index: int, address: int, size: int) -> None:
    """Raise Violation if an access leaves the variable that its address is formed from."""
    report = program.overruns.get(index)
    if report is not None:
        check_alignment(address, size)
        raise Violation("out of bounds", report)


def check_demand(rule: str, holds: bool, note: str = "") -> None:
    """Raise Violation if what an instruction demands of its operands does not hold."""
    if not holds:
        raise unmet(rule, note)


def unmet(rule: str, note: str = "") -> Violation:
    """What an instruction reports whose demand does not hold."""
    return Violation(rule, note or "what the instruction asks of its operands does not hold")


def unmet_of_object(effect: Update, rule: str, word: int) -> Violation:
    """What a step on an object reports whose demand does not hold; the object has these bits."""
    if effect.record is None or effect.life is Life.BEGINS:
        return unmet(rule)
    return Violation(rule, f"the object has {spelled_object(effect.record, word)}")


def spelled_object(record: type[State], word: int) -> str:
    """What an object in memory holds that has these bits."""
    return ", ".join(f"{name} {value}" for name, value in record.numbers(word).items())


def check_source(program: KernelProgram, index: int, address: int, size: int) -> None:
    """Raise Violation if an operation reads beyond the variable that its address is formed from."""
    report = program.sources.get(index)
    if report is not None:
        check_alignment(address, size)
        raise Violation("out of bounds", report)


def check_read(read: int, size: int) -> None:
    """Raise Violation if an operation that writes so many bytes may not read so many."""
    if not contracts.asynchrony.fits(read, size):
        raise Violation("copy size", f"{read} bytes are to be read, and {size} filled")


#: of so many registers of an instruction that broke a rule the values are shown, those with at most so many bits
MOST_SHOWN, WIDEST_SHOWN = 8, 64


def shown_registers(op: Op, kernel: Kernel) -> list[str]:
    """The registers whose values are shown if an instruction breaks a rule: none if that is about a register in flight."""
    effect = op.plan.meaning.effect
    if isinstance(effect, Load | Store) and effect.space == contracts.state_spaces.OF_REGISTERS:
        return []
    named = [name for name in operand_registers(op, kernel) if not name.startswith("@")]
    return [name for name in named if kernel.registers[name].width <= WIDEST_SHOWN][:MOST_SHOWN]


def describe(op: Op, text: str) -> str:
    """The instruction as it was written."""
    return statement(text, op.position)


def where_is(checked: Checked, op: Op, thread: tuple[tuple[int, int, int], tuple[int, int, int]]) -> Where:
    """An instruction that a thread executes, which is known by its %tid and its %ctaid, as messages name it."""
    source, position = checked.source, op.position
    instruction, column = describe(op, source.text), source.column(position)
    return Where(*thread, *source.place(position), instruction, column, origin(source, position))
