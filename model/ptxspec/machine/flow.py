"""A kernel's basic blocks, in the order in which the machine prefers them, and which registers are live between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, assert_never

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Read, Written, parts_of
from ptxspec.language.scopes import MODULE
from ptxspec.machine import call_graph
from ptxspec.machine.events import UNOBSERVED, EventKind, ObservedEvents
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import truth_variable, variable
from ptxspec.terms.effects import (
    Access,
    Arrive,
    Asynchronous,
    Await,
    Branch,
    Call,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Ending,
    Exit,
    Fencing,
    ImageAccess,
    IndexedBranch,
    Load,
    Return,
    StackUse,
    Stop,
    Update,
    Wait,
    lands,
)
from ptxspec.terms.registries import changing
from ptxspec.terms.types import TYPES


class Block(NamedTuple):
    """Instructions `start` … `end` − 1. `taken` is the block that the last one branches to, `next` the one that follows; both
    are numbers of blocks, None for the end of the thread. A block that `finishes` an instruction holds no others: in it the
    threads that waited for one another get their results."""

    start: int
    end: int
    taken: int | None
    next: int | None
    finishes: int | None = None
    ways: tuple[tuple[Any, int | None], ...] = ()
    """where an indirect branch or call may go: (index or function's name, block)"""


class FlowGraph:
    """The blocks of a kernel, numbered by preference: of two blocks at which threads stand, the lower runs first."""

    def __init__(self, kernel: Kernel, chosen: bool = False, observed: ObservedEvents = UNOBSERVED, alone: bool = True):
        """`chosen` says whether the launch chooses whose turn it is: an access begins a block then, and a turn is one block.
        `observed` says what is observed of it, and `alone` whether it wants turns of threads."""
        self.kernel, self.chosen, self.observed, self.alone = kernel, chosen, observed, alone
        code = kernel.code
        accesses = [
            i
            for i, op in enumerate(code)
            if chosen and isinstance(op.plan.meaning.effect, Access | Asynchronous | Fencing) and i not in kernel.added
        ]
        bounds = _cut(sorted({*leaders(kernel), *accesses}), len(code))
        number = {start: i for i, start in enumerate(bounds)}
        raw: list[Block] = []
        landings: list[Block] = []
        bodies = {*kernel.starts.values(), len(code)}
        for i, start in enumerate(bounds):
            end = bounds[i + 1] if i + 1 < len(bounds) else len(code)
            follows = None if end in bodies else i + 1  # from the end of one function no way leads into the next
            landing = len(bounds) + len(landings)
            taken, next_one, ways = self._leading(code[end - 1], follows, number, landing)
            if taken == landing:
                landings.append(Block(end, end, None, follows, end - 1))
            raw.append(Block(start, end, taken, next_one, None, ways))
        raw += landings
        edges = {i: successors(b) for i, b in enumerate(raw)}
        self._add_returns(raw, edges)
        page = contracts.divergence
        order = page.order(edges, 0) if raw else []
        place = {old: new for new, old in enumerate(order)}
        self.blocks = [
            Block(
                raw[old].start,
                raw[old].end,
                _at(place, raw[old].taken),
                _at(place, raw[old].next),
                raw[old].finishes,
                tuple((what, _at(place, way)) for what, way in raw[old].ways),
            )
            for old in order
        ]

    @cached_property
    def _written(self) -> list[int]:
        """How many instructions of the text come before each one of the kernel, and in all."""
        added = self.kernel.added
        return [0, *accumulate(int(i not in added) for i in range(len(self.kernel.code)))]

    def steps(self, start: int, end: int) -> int:
        """How many steps the instructions from one on to another one are: those that checks add are none."""
        return self._written[end] - self._written[start]

    @cached_property
    def special(self) -> frozenset[str]:
        """The special registers that instructions read."""
        kernel = self.kernel
        names = {name for op in kernel.code for name in op.plan.meaning.specials}
        names |= {o.text for op in kernel.code for _, o in sources(op) if isinstance(o, tree.Name)}
        return frozenset(names - kernel.registers.keys() - kernel.places.keys())

    @cached_property
    def by_warps(self) -> bool:
        """Whether turns are those of warps: see spec/machine/schedule.md."""
        effects = {type(op.plan.meaning.effect) for op in self.kernel.code}
        has_local_memory = self.kernel.sizes[contracts.state_spaces.OF_FRAMES] > 0
        plain = not has_local_memory and not self.kernel.functions
        plain &= not any(issubclass(e, Call | Asynchronous | ImageAccess | StackUse) for e in effects)
        plain &= not any(is_on_object(op.plan.meaning.effect) for op in self.kernel.code)
        plain &= not self.chosen and not self.observed.by_threads
        written = len(self.kernel.code) - len(self.kernel.added)
        return contracts.schedule.by_warps(written, plain, self.alone)

    @cached_property
    def narrow(self) -> frozenset[int]:
        """The narrow loops: blocks that go back to themselves or on to another one, and only compute."""
        loops: set[int] = set()
        page = contracts.schedule
        if self.by_warps:  # whose threads execute any loop side by side
            return frozenset()
        if self.observed.kinds & {EventKind.EXECUTE, EventKind.FENCE}:  # which are told one by one
            return frozenset()
        for number, block in enumerate(self.blocks):
            if block.finishes is not None or self.chosen:
                continue
            *others, last = self.kernel.code[block.start : block.end]
            if self.observed.counts and any(op.guard for op in others):  # whose guards are counted one by one
                continue
            if isinstance(ending(last), Branch) and last.guard is not None:
                computes = all(
                    isinstance(op.plan.meaning.effect, Fencing | None) and not reads_clock(op) for op in others
                )
                if page.is_narrow(number, (block.taken, block.next), computes):
                    loops.add(number)
        return frozenset(loops)

    def _leading(
        self, last: Op, follows: int | None, number: dict[int, int], landing: int
    ) -> tuple[int | None, int | None, tuple[tuple[Any, int | None], ...]]:
        """Where the block that ends with this instruction leads: as Block has it. `landing` is for those that wait there and get
        their results later; those go to what follows whom a guard does not let through."""
        kernel, effect = self.kernel, ending(last)
        match effect:
            case None:
                return follows, follows, ()
            case Branch():
                taken = number.get(kernel.labels[branch_target(last, effect)])
                return taken, follows if last.guard else taken, ()
            case IndexedBranch():
                ways = tuple((k, number.get(kernel.labels[label])) for k, label in enumerate(last.targets))
                return None, follows if last.guard else None, ways
            case Return() | Exit() | Stop():
                return None, follows if last.guard else None, ()
            case Call():
                called = tuple((n, number[kernel.starts[n]]) for n in call_graph.calls(kernel, last))
                return landing, follows if last.guard else landing, called
            case Await():
                return number[kernel.labels[effect.again]], follows, ()
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess():
                if not lands(effect):
                    return follows, follows, ()
                return landing, follows if last.guard else landing, ()
            case _:
                assert_never(effect)

    def _add_returns(self, raw: list[Block], edges: dict[int, list[int]]) -> None:
        """Let the returns of each function lead to where its calls go on."""
        kernel = self.kernel
        if not kernel.functions:
            return
        goes_on: dict[str, list[int]] = {}
        for block in raw:
            if block.finishes is None and block.end and isinstance(ending(kernel.code[block.end - 1]), Call):
                for name, _ in block.ways:
                    assert block.taken is not None
                    goes_on.setdefault(name, []).append(block.taken)
        for i, block in enumerate(raw):
            if block.finishes is None and isinstance(ending(kernel.code[block.end - 1]), Return):
                edges[i] = edges[i] + goes_on.get(self.function_of(block.end - 1), [])

    def function_of(self, index: int) -> str:
        """The function in which an instruction stands."""
        beginnings, names = self._functions
        return names[bisect_right(beginnings, index) - 1] if names else self.kernel.name

    @cached_property
    def _functions(self) -> tuple[list[int], list[str]]:
        """Where each function begins, in order, and its name."""
        functions = sorted((start, name) for name, start in self.kernel.starts.items())
        return [start for start, _ in functions], [name for _, name in functions]

    @cached_property
    def _landings(self) -> dict[int, int]:
        """For each call, and each instruction at which threads wait, the block in which they get their results."""
        return {b.finishes: i for i, b in enumerate(self.blocks) if b.finishes is not None}

    def left_behind(self, index: int) -> set[str]:
        """The registers that a return leaves to the caller: those of the results, those that are the thread's and no function's,
        and those that another call of the function finds as it was left."""
        return self._left_by(self.function_of(index)) | self._lasting.get(self.function_of(index), set())

    def _left_by(self, function: str) -> set[str]:
        signature = self.kernel.functions[function].signature
        registers = {f.register for f in signature.returns if f.register} if signature else set()
        return registers | self._of_thread

    @cached_property
    def _lasting(self) -> dict[str, set[str]]:
        """By function, the registers that it, or one that it calls, may read before writing them."""
        kernel = self.kernel
        given = {
            name: {f.register for f in function.signature.parameters if f.register} if function.signature else set()
            for name, function in kernel.functions.items()
        }
        entered = {b.start: i for i, b in enumerate(self.blocks) if b.finishes is None}
        lasting: dict[str, set[str]] = {}
        while True:
            live = self._live_if(lasting)
            more = {
                name: live[entered[start]] - given[name] - set(call_graph.KEPT)
                for name in kernel.functions
                if (start := kernel.starts[name]) in entered  # some thread may come there
            }
            if more == lasting:
                return lasting
            lasting = more

    def saved(self, index: int) -> list[str]:
        """The registers that a call puts by, those among them that say where the frame lies if that depends on more than the
        function."""
        kernel, page = self.kernel, contracts.functions
        stack_registers = (
            [call_graph.FRAME, call_graph.BEGINS, call_graph.ENDS] if call_graph.stack_moves(kernel) else []
        )
        after = self.blocks[self._landings[index]].next
        live = set() if after is None else self.live_in[after] - set(call_graph.KEPT)
        again = self.function_of(index) in self._recursive
        return stack_registers + sorted(page.put_by(live, result_registers(kernel.code[index]), self._of_thread, again))

    @cached_property
    def _of_thread(self) -> set[str]:
        """The registers that all functions share: the condition code, and those that the module declares."""
        return {name for name in self.kernel.registers if name == CONDITION_CODE or name.endswith(MODULE)}

    @cached_property
    def _recursive(self) -> set[str]:
        return call_graph.recursive(self.kernel) if self.kernel.functions else set()

    @cached_property
    def live_in(self) -> list[set[str]]:
        """For each block the registers that it, or a block after it, may read before writing them."""
        return self._live_if(self._lasting)

    def _live_if(self, lasting: dict[str, set[str]]) -> list[set[str]]:
        """The same, if these are the registers that returns leave to further calls of a function."""
        reads: list[set[str]] = []
        writes: list[set[str]] = []
        for block in self.blocks:
            read: set[str] = set()
            written: set[str] = set()
            for op in self.kernel.code[block.start : block.end]:
                read |= registers_read(op, self.kernel) - written
                if op.guard is None and not op.plan.meaning.lands:
                    written |= set(registers_written(op))
            if block.finishes is not None:
                op = self.kernel.code[block.finishes]
                read |= registers_read(op, self.kernel)
                written |= set(registers_written(op))
                if op.call is not None:
                    written |= set(result_registers(op))
            last = self.kernel.code[block.end - 1] if block.finishes is None else None
            if last is not None and isinstance(ending(last), Return) and self.kernel.functions:
                function = self.function_of(block.end - 1)
                read |= self._left_by(function) | lasting.get(function, set())
            reads.append(read)
            writes.append(written)
        return _backward_dataflow([successors(b) for b in self.blocks], reads, writes)


def leaders(kernel: Kernel) -> list[int]:
    """Where basic blocks begin: at the first instruction of a body, at a label, and behind what ends a block."""
    starts = {0, *kernel.labels.values(), *kernel.starts.values()}
    starts |= {i + 1 for i, op in enumerate(kernel.code) if ending(op)}
    return sorted(s for s in starts if s < len(kernel.code))


def _at(place: dict[int, int], block: int | None) -> int | None:
    return None if block is None else place[block]


def _cut(bounds: list[int], end: int) -> list[int]:
    """Where blocks begin, once those are cut that are too long; all end at `end` at the latest."""
    longest = contracts.limits.LONGEST_BLOCK
    return [at for i, start in enumerate(bounds) for at in range(start, [*bounds[i + 1 : i + 2], end][0], longest)]


def _backward_dataflow(leads: list[list[int]], reads: list[set[str]], writes: list[set[str]]) -> list[set[str]]:
    """For each block what it reads, or what those read to which it leads and it does not write."""
    before: list[list[int]] = [[] for _ in leads]
    for i, following in enumerate(leads):
        for s in following:
            before[s].append(i)
    live = [set(r) for r in reads]
    todo = list(range(len(leads)))  # the last comes first: most ways lead on
    waiting = [True] * len(leads)
    while todo:
        block = todo.pop()
        waiting[block] = False
        for i in before[block]:
            more = live[block] - writes[i] - live[i]
            if more:
                live[i] |= more
                if not waiting[i]:
                    waiting[i] = True
                    todo.append(i)
    return live


def successors(block: Block) -> list[int]:
    """The blocks that a block leads to; those of returns, which depend on the call, are left out."""
    return [s for s in (block.taken, block.next, *(way for _, way in block.ways)) if s is not None]


def turn_successors(block: Block, kernel: Kernel) -> list[int]:
    """The blocks at which a thread goes on in the same function and the same turn when it has gone through a block."""
    effect = None if block.finishes is not None else ending(kernel.code[block.end - 1])
    targets = [block.next]
    match effect:
        case Branch():
            targets.append(block.taken)
        case IndexedBranch():
            targets += [way for _, way in block.ways]
        case _:
            pass
    return [to for to in targets if to is not None]


def result_registers(op: Op) -> list[str]:
    """The registers that get a call's results, and `.reg` variables in which the function left them."""
    assert op.call is not None
    return [r.text for r in op.call.results if isinstance(r, tree.Name)]


def ending(op: Op) -> Ending | None:
    """The effect by which an instruction ends its block, or None."""
    effect = op.plan.meaning.effect
    return effect if isinstance(effect, Ending) else None


def is_on_object(effect: Effect | None) -> bool:
    """Whether an effect is a step on an object in memory that begins and ends."""
    return isinstance(effect, Load | Update) and effect.life is not None


def branch_target(op: Op, effect: Branch) -> str:
    """The label that a branch goes to."""
    name = effect.target.name
    for part, operand in zip(op.plan.parts, op.operands, strict=True):
        if part == Read(name) and isinstance(operand, tree.Name):
            return operand.text
    raise AssertionError(f"{op.plan.form} has no operand {name}")


def destination_operands(op: Op) -> Iterator[tuple[Any, int]]:
    """Each destination operand with the number of its result; groups and pairs taken apart."""
    for part, operand in parts_of(op):
        if not isinstance(part, Written):
            continue
        if isinstance(operand, tree.Pair):
            yield operand.first, part.number
            yield operand.second, part.number + 1
        else:
            yield operand, part.number


def destinations(op: Op) -> Iterator[tuple[str, Any, Any]]:
    """(register, type of the result, term) of everything an instruction writes, the sink left out."""
    for operand, number in destination_operands(op):
        if operand == tree.Name("_"):
            continue
        result = op.plan.meaning.results[number]
        elements = operand.elements if isinstance(operand, tree.Braces) else (operand,)
        for element, value in zip(elements, result.values, strict=True):
            if element.text != "_":
                yield element.text, result.type, value
    if op.plan.meaning.carry is not None:
        yield CONDITION_CODE, TYPES["pred"], op.plan.meaning.carry


def registers_written(op: Op) -> list[str]:
    return [name for name, _, _ in destinations(op)]


def sources(op: Op) -> Iterator[tuple[Any, tree.Operand]]:
    """Each source operand with the input of the meaning that it fills; groups taken apart."""
    inputs = {i.name: i for i in op.plan.meaning.inputs}
    for part, operand in parts_of(op):
        if isinstance(part, Read):
            yield inputs[part.name], operand


def values_of(op: Op) -> Iterator[tuple[Any, Any, tree.Operand]]:
    """(type, variable, operand) for each variable of an instruction's meaning; a label has none."""
    for place, operand in sources(op):
        elements = operand.elements if isinstance(operand, tree.Braces) else (operand,)
        if place.types:  # a tuple may be written with more elements than it has
            yield from zip(place.types, place.variables, elements, strict=False)
        elif place.variables:
            for symbol, element in zip(place.variables, elements, strict=True):
                yield place.type, symbol, element
    if op.plan.meaning.carry_read:
        yield TYPES["pred"], truth_variable(CONDITION_CODE), tree.Name(CONDITION_CODE)
    for name in op.plan.meaning.specials:
        yield TYPES["u32"], variable(name, 32), tree.Name(name)


def reads_clock(op: Op) -> bool:
    """Whether an instruction reads a special register that changes while the program runs."""
    return any(isinstance(o, tree.Name) and changing(o.text) is not None for _, _, o in values_of(op))


def registers_in(operand: Any) -> Iterator[str]:
    """What may be the names of registers in an operand, in their order."""
    match operand:
        case tree.Name():
            yield operand.text
        case tree.Not():
            yield from registers_in(operand.name)
        case tree.Address():
            yield from registers_in(operand.base)
        case tree.Indexed():
            yield from registers_in(operand.register)
        case tree.Braces() | tree.Parens():
            for element in operand.elements:
                yield from registers_in(element)


def spelled(register: str) -> str:
    """A register's name as the text has it."""
    return register.partition("@")[0]


def operand_registers(op: Op, kernel: Kernel) -> list[str]:
    """The registers that the source operands of an instruction name, in their order, each once."""
    names = (name for _, operand in sources(op) for name in registers_in(operand))
    return list(dict.fromkeys(name for name in names if name in kernel.registers))


def registers_read(op: Op, kernel: Kernel) -> set[str]:
    """Every register whose old value an instruction needs, its guard and, if it is guarded, its destinations among them."""
    registers = set(operand_registers(op, kernel))
    if op.plan.meaning.carry_read:
        registers.add(CONDITION_CODE)
    if op.guard is not None:
        registers.add(op.guard[0])
        registers.update(registers_written(op))
    return registers
