"""The walk through a kernel's blocks: what its registers and its memory hold in the end, as terms of what they held at first.

Blocks are taken in the order in which a machine prefers them, each with all ways to it joined. A way back, to a block that came
before, is taken as often as the question allows; what would go on then is *beyond*, and nothing is said of it. What breaks a rule
of the machine is a *fault*, and what follows it counts for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.language.scopes import MODULE
from ptxspec.language.specials import first_name
from ptxspec.machine.flow import Block, FlowGraph, ending
from ptxspec.query.execution import KernelExecution
from ptxspec.query.outcomes import (
    ALONE,
    WARP_ALONE,
    Beyond,
    InstructionStep,
    SymbolicFragment,
    Unsupported,
    description_of,
)
from ptxspec.query.paths.arrivals import PathState, Registers, leaves, together
from ptxspec.query.paths.calling import Calling
from ptxspec.query.paths.collectives import Collectives
from ptxspec.query.paths.inductive import Inductive
from ptxspec.query.paths.memory import SymbolicMemory
from ptxspec.query.paths.options import Options
from ptxspec.query.paths.ordering import Orders
from ptxspec.query.paths.places import Regions
from ptxspec.query.paths.sides import Side, side
from ptxspec.terms import effects
from ptxspec.terms.core import Bool, Int
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, substitute, variables_in

#: instructions that a walk executes at most, those of a loop as often as it is taken
MOST_STEPS = 30_000


class Walk(KernelExecution):
    """One side, executed on all its paths."""

    def __init__(self, side: Side, options: Options):
        super().__init__(side.source, side.kernel, side.checked)
        self.side, self.options, self.lanes = side, options, options.lanes
        self.flow = FlowGraph(side.kernel)
        self.faults: Bool = FALSE
        self.beyond: list[Beyond] = []
        #: by name, what registers and memory hold before anything is written, where that is no parameter
        self.unwritten: dict[str, Any] = {}
        #: those of them that some path reads before it writes them
        self.read_first: dict[str, None] = {}
        self._firsts: dict[int, str] = {}
        self.notes: dict[str, None] = {}
        multicast = any(buffer.devices for buffer in options.buffers)
        self.memory = SymbolicMemory(side.checked.address_size, multicast)
        self.places = Regions(self)
        self.calling = Calling(self)
        self.collectives = Collectives(self)
        self.orders = Orders(self)
        self.waiting: dict[Any, tuple[tuple[int, int], list[PathState]]] = {}
        self.ends: list[PathState] = []
        self._instances, self._block_number = 0, 0
        self._noted_last: tuple[int, int] | None = None
        self.inductive = None if options.invariant is None else Inductive(self, options.invariant)
        self.loop = None if self.inductive is None else self.inductive.loop
        functions = self.kernel.functions or {"": side.main}
        #: what the ends of bodies stand for, which nobody wrote
        self._silent = {id(f.code[-1]) for f in functions.values()}

    # inputs --------------------------------------------------------------------------------------------------------------

    def public(self, name: str, lane: int, activation: int = 0) -> str:
        name = name.removesuffix(self.side.suffix)
        name = f"{name}#{activation}" if activation and not name.endswith(MODULE) else name
        return name if self.lanes == 1 else f"{name}[{lane}]"

    def first_value(self, name: str, lane: int, carried: bool = False, activation: int = 0) -> Any:
        """What a register holds that nothing has written: an input, or a pointer to a buffer."""
        type = self.kernel.registers.get(name)
        pointer = None if type is None else self.places.pointer(name.removesuffix(self.side.suffix))
        if type is not None and pointer is not None:
            return low_bits(pointer, type.width)
        return super().first_value(name, lane, carried, activation)

    def at_first(self, shown: str, type: Type, carried: bool = False) -> Any:
        """What a register holds before it is written: an input, or, in a kernel or a function, open."""
        if self.side.what == "fragment":
            return super().at_first(shown, type, carried)
        value: Any
        if self.options.open_at_first:
            bits = TYPES["b1"] if type.kind == "pred" else type
            value = contracts.state_spaces.unwritten(bits, shown)
            value = value == 1 if type.kind == "pred" else value
        else:
            value = super().at_first(shown, type, carried)
        self.begins_as(shown, value)
        return value

    def begins_as(self, shown: str, term: Any) -> None:
        """Note what nobody has written."""
        self.unwritten[shown], self._firsts[id(term)] = term, shown

    def uses(self, value: Any, holds: Bool, deep: bool = False) -> None:
        """Note which of what nobody has written a value may be that is used where a condition holds."""
        if len(self.read_first) < len(self.unwritten) and holds is not FALSE:
            self.read_first |= dict.fromkeys(sorted(leaves(value, holds, self._firsts, deep)))

    def special(self, name: str, lane: int) -> Any:
        """A special register: an input, or what the lane says."""
        known = self.collectives.special(first_name(name), lane)
        return super().special(name, lane) if known is None else known

    def read(self, way: PathState, name: str, lane: int, carried: bool = False) -> Any:
        value = super().read(way, name, lane, carried)
        if not carried:
            self.uses(value, way.reached[lane])
        return value

    # the walk ------------------------------------------------------------------------------------------------------------

    def run(self) -> PathState:
        """Execute everything; where all that ends is together."""
        if self.flow.blocks:
            empty = PathState((TRUE,) * self.lanes, tuple({} for _ in range(self.lanes)))
            self._expect(0, self.calling.entered(empty), None)
        while self.waiting:
            key = min(self.waiting, key=lambda k: self.waiting[k][0])
            (_, number), ways = self.waiting.pop(key)
            self._block(number, together(ways, self._unwritten(ways[0])))
        if not self.ends:
            return PathState((FALSE,) * self.lanes, tuple(map(self._untouched, range(self.lanes))))
        return together(self.ends, self._unwritten(self.ends[0]))

    def _untouched(self, lane: int) -> Registers:
        """What the registers that are written held at first: where no way comes to an end, no value in particular."""
        names = [name for name in self.kernel.registers if self.public(name, lane) in self.left]
        return {name: self.first_value(name, lane, True) for name in names}

    def _unwritten(self, way: PathState) -> Any:
        return lambda registers, name, lane: self.first_value(name, lane, True, way.activation)

    def expect(self, number: int | None, way: PathState, source: int | None) -> None:
        """Go on at a block later; None is the end of the thread."""
        if not way.possible:
            return
        if number is None:
            self.ends.append(way._replace(stack=()))
        else:
            self._expect(number, way, source)

    def _expect(self, number: int, way: PathState, source: int | None) -> None:
        if self.inductive is not None and self.loop is not None and number == self.loop.head:
            if source in self.loop.blocks:
                self.inductive.again(way)
                return
        elif source is not None and number <= source:  # a way back
            way = self._again(number, way)
            if not way.possible:
                return
        key = number, tuple((f.call, f.activation) for f in way.stack)
        order = -len(way.stack), number
        self.waiting.setdefault(key, (order, []))[1].append(way)

    def _again(self, number: int, way: PathState) -> PathState:
        """A loop begun again, if it may be."""
        count = way.counts.get(number, 0) + 1
        if count > self.options.unroll:
            where = f"beyond {self.options.unroll} iterations of the loop at line {self.line(self.flow.blocks[number].start)}"
            self.stops_at(where, way)
            return way._replace(reached=(FALSE,) * self.lanes)
        outer = {b: n for b, n in way.counts.items() if b < number}
        return way._replace(counts={**outer, number: count})

    def stops_at(self, where: str, way: PathState) -> None:
        """Note that nothing is known of executions that go on here."""
        for reached in way.reached:
            self.open(where, reached)

    def open(self, where: str, holds: Bool) -> None:
        """Note that nothing is known of executions that have broken no rule yet and meet a condition."""
        if holds is not FALSE:
            self.beyond.append(Beyond(where, holds & ~self.faults))

    def line(self, index: int) -> int:
        return self.source.line(self.kernel.code[index].position)

    def _block(self, number: int, way: PathState) -> None:
        block = self.flow.blocks[number]
        if block.finishes is not None:  # what it finishes is done where it began
            self.expect(block.next, way, number)
            return
        way = way._replace(registers=tuple(dict(r) for r in way.registers))
        self._block_number = number
        if self.inductive is not None and self.loop is not None and number == self.loop.head:
            way = self.inductive.entered(way)
        for index in range(block.start, block.end):
            self._instances += self.lanes
            if self._instances > MOST_STEPS * self.lanes:
                why = f"more than {MOST_STEPS:,} instructions are executed; loops may be unrolled less often"
                raise Unsupported(why)
            op = self.kernel.code[index]
            if ending(op) is not None:
                self._ends(op, index, block, number, way)
                return
            self.execute(op, way)
        self.expect(block.next, way, number)

    # instructions --------------------------------------------------------------------------------------------------------

    def address_of(self, name: str, way: PathState, lane: int) -> Int:
        return self.places.address(name, way, lane)

    def note(self, op: Op, step: InstructionStep, done: Bool) -> None:
        if id(op) in self._silent:
            return
        step = step._replace(holds=None, reached=done, plan=None, sources={})
        instance = id(op), self._instances
        if instance == self._noted_last:  # another lane of the warp
            last = self.steps.pop()
            writes, types = last.writes | step.writes, last.types | step.types
            step = last._replace(writes=writes, types=types, reached=last.reached | done)
        self._noted_last = instance
        self.steps.append(step)

    def fault(self, holds: Bool) -> None:
        """Let the execution be undefined where a condition holds."""
        if self.inductive is not None and self.loop is not None and self._block_number in self.loop.blocks:
            self.inductive.faults(holds)
        else:
            self.faults = self.faults | holds

    def unsupported(self, op: Op, effect: effects.Effect) -> Unsupported:
        word, does = description_of(effect)
        return Unsupported(f"{op.plan.form.mnemonic} has an effect ({word}): it {does}, which is not followed here")

    def act(self, effect: effects.Effect, op: Op, env: dict[str, Any], done: Bool, lane: int) -> None:
        match effect:
            case effects.Load(life=effects.Life()) | effects.Update(life=effects.Life()):
                raise self.unsupported(op, effect)
            case effects.Load() | effects.Store() | effects.Update():
                self._access(effect, op, env, done, lane)
            case effects.Fence() | effects.GridDependency():
                if self.orders.at(op, done):
                    self.orders.add(op, done, lane, env.values())
            case effects.Check():
                self.fault(done & ~substitute(effect.holds, env, {}))
            case _:
                raise self.unsupported(op, effect)

    def _access(self, effect: effects.Access, op: Op, env: dict[str, Any], done: Bool, lane: int) -> None:
        """Read or write memory where a condition holds."""
        memo: dict[int, Any] = {}
        address = substitute(effect.address, env, memo)
        space, write = op.space or effect.space, not isinstance(effect, effects.Load)
        size = effect.type.bytes
        self.places.check_named(address, self.line_of(op))
        cases = self.memory.reached(space, address, effect.into)
        allowed = self.memory.allowed(cases, address, effect.bytes, write)
        if isinstance(effect, effects.Load | effects.Store) and effect.holds is not None:
            allowed = allowed & substitute(effect.holds, env, memo)
        self.fault(done & ~allowed)
        self.collectives.accessed(cases, effect, done, lane, self.line_of(op))
        if space != contracts.state_spaces.OF_PARAMETERS:
            self.notes[ALONE if self.lanes == 1 else WARP_ALONE] = None
        is_event = self.orders.at(op, done, cases)
        if not isinstance(effect, effects.Store):
            loaded = self.memory.load(cases, size, effect.count, done)
            for value in loaded:
                self.uses(value, done, deep=True)
            env.update({f"%loaded{i}": value for i, value in enumerate(loaded)})
        values: list[Int] = []
        if isinstance(effect, effects.Update):
            for condition in effect.conditions:
                self.fault(done & ~substitute(condition, env, {}))
        if not isinstance(effect, effects.Load):
            memo = {}
            values = [self.executions.substitute(v, env, memo, done) for v in effect.values]
            self.memory.store(cases, values, size, done, None if is_event or not self.options.interfered else lane)
        if is_event:
            self.orders.add(op, done, lane, [self.orders.where(cases), *values])

    def line_of(self, op: Op) -> int:
        return self.source.line(op.position)

    # where blocks end ----------------------------------------------------------------------------------------------------

    def _ends(self, op: Op, index: int, block: Block, number: int, way: PathState) -> None:
        """The last instruction of a block."""
        effect = ending(op)
        holds = tuple(self.guard(op, way, lane) for lane in range(self.lanes))
        if isinstance(effect, effects.Collective | effects.Wait):
            self.collectives.meet(op, effect, way, holds)
            follows = block.next
            if block.taken != follows:  # the results come later: the block behind that in which they do
                assert block.taken is not None
                follows = self.flow.blocks[block.taken].next
            self.expect(follows, way, number)
            return
        goes = self._where(way, holds)
        self.note(op, self.step(op), goes.reached[0])
        match effect:
            case effects.Branch():
                self.expect(block.taken, goes, number)
            case effects.IndexedBranch():
                indices: list[Int] = []
                for lane in range(self.lanes):
                    index_in_list = substitute(effect.index, self.sources(op, goes, lane), {})
                    is_listed = contracts.control_flow.in_list(index_in_list, len(block.ways))
                    self.fault(goes.reached[lane] & ~is_listed)
                    indices.append(index_in_list)
                for chosen, to in block.ways:  # each label of the list
                    self.expect(to, self._where(goes, tuple(i == chosen for i in indices)), number)
            case effects.Return():
                self.calling.leave(goes, index, self)
            case effects.Exit():
                if self.side.what == "function":
                    raise self.unsupported(op, effect)
                self.expect(None, goes, number)
            case effects.Stop():
                for reached in goes.reached:
                    self.fault(reached)
            case effects.Call():
                self.calling.enter(op, index, block, number, goes)
            case (
                effects.Arrive()
                | effects.ClusterArrive()
                | effects.ClusterWait()
                | effects.ImageAccess()
                | effects.Await()
            ):
                raise self.unsupported(op, effect)
            case None:
                raise AssertionError(op)
            case _:
                assert_never(effect)
        if op.guard is not None:
            self.expect(block.next, self._where(way, tuple(~h for h in holds)), number)

    def _where(self, way: PathState, holds: tuple[Bool, ...]) -> PathState:
        """A way for those lanes for which a condition holds, with registers of its own."""
        reached = tuple(r & h for r, h in zip(way.reached, holds, strict=True))
        return way._replace(reached=reached, registers=tuple(dict(r) for r in way.registers))


def read_paths(text: str, path: str, types: Mapping[str, Type] | None, options: Options) -> SymbolicFragment:
    """Execute one side symbolically. Raises PtxError for a text that is wrong, Unsupported for what is not followed."""
    walk = Walk(side(text, path, types or {}, options), options)
    return fragment_of(text, walk, walk.run())


def _results(walk: Walk, end: PathState) -> dict[str, tuple[Any, Type]]:
    """What is left in registers, returned, and left in memory, by name: (value, type)."""
    results: dict[str, tuple[Any, Type]] = {}
    if walk.side.what == "function":
        results |= walk.calling.results(end)
        walk.registers |= {n: type.bits if type.kind != "pred" else type for n, (_, type) in results.items()}
    for lane, registers in enumerate(end.registers if walk.side.what == "fragment" else ()):
        for name, value in registers.items():
            shown = walk.public(name, lane)
            if walk.lanes > 1 and name in walk.places.buffers and shown in walk.left:
                why = f"lanes write {name}, which points to a buffer: {shown} would be a byte and a lane's"
                raise Unsupported(why)
            if shown in walk.left and "@" not in shown:
                results[shown] = value, walk.left[shown]
    # for whichever thread sees it, in place of what is left in memory, what is seen of each event
    return results | (walk.orders.results() if walk.orders.interfered else walk.places.written())


def fragment_of(text: str, walk: Walk, end: PathState) -> SymbolicFragment:
    """What a walk has found, as the prover takes it."""
    results = _results(walk, end)
    outputs, left = ({name: pair[i] for name, pair in results.items()} for i in (0, 1))
    registers = {**left, **walk.registers, **walk.memory.inputs, **walk.memory.bases}
    inductive = walk.inductive
    obligations = () if inductive is None else tuple(inductive.obligations)
    # the variables on which what is compared, or shown of a step, depends
    terms = [*outputs.values(), *(o.fails for o in obligations), walk.faults, *(end.holds for end in walk.beyond)]
    for step in walk.steps:
        terms += [*step.writes.values(), *(t for t in (step.holds, step.reached) if t is not None)]
    used = variables_in(terms)
    given = walk.memory.guaranteed(used)
    if inductive is not None:
        registers |= inductive.types
    inputs = [name for name in (*walk.inputs, *walk.memory.inputs) if name in used or name in walk.inputs]
    inputs += [name for name in walk.memory.bases if name in used]
    inputs += [] if inductive is None else list(inductive.types)
    idle = tuple(name for name in walk.unwritten if name not in walk.read_first)
    carried = frozenset(name for name, only in walk.inputs.items() if only)
    return SymbolicFragment(
        text=text,
        registers=registers,
        inputs=tuple(name for name in dict.fromkeys(inputs) if name not in idle),
        carried=carried,
        outputs=outputs,
        steps=tuple(walk.steps),
        formats=walk.formats,
        taken=walk.taken,
        left=left,
        faults=walk.faults,
        beyond=tuple(walk.beyond),
        given=given,
        notes=tuple(walk.notes),
        bytes=frozenset(() if walk.orders.interfered else walk.places.written()),
        memory=frozenset(b.name for b in walk.options.buffers if not b.of)
        | {p.name for p in walk.side.checked.places.values() if p.space == contracts.state_spaces.OF_BUFFERS},
        obligations=obligations,
        stepped=TRUE if inductive is None else inductive.assumed & end.reached[0],
        steps_over=walk.loop is not None,
        side=walk.side,
        unwritten=walk.unwritten,
        scratch=walk.side.scratch,
        idle=idle,
        orders=tuple(walk.orders.met.values()),
        events=tuple(walk.orders.traced),
        named=walk.side.kernel.registers if walk.side.what == "fragment" else {},
    )
