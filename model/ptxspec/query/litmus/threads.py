"""The threads of a litmus test: on each path through its instructions, the operations that a thread executes.

What a read returns is a variable. The values that a path writes, and the condition under which it is taken, are terms over the
variables of its reads; so a path is known before it is chosen what its reads return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, assert_never

from ptxspec import contracts
from ptxspec.language.checked import Checked, Kernel, Op
from ptxspec.language.parser import statement
from ptxspec.machine.flow import FlowGraph, ending
from ptxspec.query.execution import KernelExecution
from ptxspec.query.litmus.joins import JoinPoints
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.arrivals import PathState
from ptxspec.terms import effects
from ptxspec.terms.core import Bool, Int, constant, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.in_registers import Carried, InRegisters
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace, kind_of_access
from ptxspec.terms.orders import Order, Proxy
from ptxspec.terms.registries import OBJECT_BITS, RULES, CompletionMechanism, ObjectCompletion
from ptxspec.terms.steps import State, Step, taken
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, substitute, variables_in

#: the bytes of a variable that a tensor map may describe, and where in a map the address lies, and its bytes
TENSOR_BYTES, ADDRESS_OF_MAP = 16, (0, 8)
#: paths of a thread at most, and operations on one
MOST_PATHS, MOST_OPERATIONS = 1_000, 60
#: in a comment behind what stands for an instruction that only a test has: the proxy of a fence, the order of a reduction, the
#: variable that a product reads
PROXY_MARK, ORDER_MARK, FACTOR_MARK = "// for the proxy ", "// with the order ", "// of the variable "
#: what a product has read, in the terms of its results
PRODUCT = "%product"


class Variable(NamedTuple):
    """A variable of a test: its size in bytes, what it holds at first, the variable whose location it has, the one whose virtual
    address it stands for, the proxy by which it is accessed, its state space, whether it is an object that has begun, and the
    variable whose box it describes, if it is a tensor map."""

    name: str
    size: int
    initial: int = 0
    location: str = ""
    address: str = ""
    proxy: Proxy = Proxy.GENERIC
    space: str = ""
    is_object: bool = False
    map_of: str = ""

    @property
    def is_tensor(self) -> bool:
        """Whether a tensor map may describe it."""
        return self.space == "global" and self.size == TENSOR_BYTES and self.proxy is Proxy.GENERIC


class ThreadOperation(NamedTuple):
    """An operation of a path, with the name of the variable that stands for what it reads, and the term that it writes. `threads`
    is how many take part in a barrier, None for all of the CTA. Of a step on an object, `until` is what it waits for, if it does,
    and `rules` are what must hold, each with the name of its rule."""

    operation: Operation
    reads: str = ""
    writes: Int | None = None
    threads: int | None = None
    until: Bool | None = None
    rules: tuple[tuple[str, Bool], ...] = ()


class ThreadPath(NamedTuple):
    """What a thread executes where all conditions over what it reads hold, and what its registers hold then. `ended` is False if
    it went through a loop more often than was asked for, and nothing is said of what it does then. The operations of its last
    turn begin at `turn`, and the registers are the same before and behind it where `repeats` holds. `broken` says which rule is
    broken on it, and by which instruction, if one is: then nothing is said of the program."""

    operations: tuple[ThreadOperation, ...]
    conditions: tuple[Bool, ...]
    registers: dict[str, Any]
    ended: bool
    turn: int = 0
    repeats: Bool = FALSE
    broken: str = ""


@dataclass
class _Partial:
    """A path as far as it was followed."""

    block: int
    index: int
    registers: dict[str, Any] = field(default_factory=dict)
    conditions: tuple[Bool, ...] = ()
    operations: tuple[ThreadOperation, ...] = ()
    counts: dict[int, int] = field(default_factory=dict)
    #: of each block that a loop has come back to, the operations and the registers then
    returns: dict[int, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    position: int = 0
    #: what decided on the way that was taken, and the instruction at which the ways meet again, if they do
    decisions: tuple[tuple[int | None, frozenset[str]], ...] = ()
    #: the asynchronous operations so far: of each its mechanism of completion, and its number there; and the mechanisms' records
    initiated: tuple[tuple[CompletionMechanism | ObjectCompletion, int], ...] = ()
    groups: dict[str, State] = field(default_factory=dict)
    broken: str = ""

    @property
    def decided_by(self) -> frozenset[str]:
        """On what it depends whether the next instruction is executed."""
        return frozenset().union(*(reads for _, reads in self.decisions))


class ThreadWalk(KernelExecution):
    """A thread, followed on all of its paths."""

    def __init__(
        self,
        checked: Checked,
        kernel: Kernel,
        thread: tuple[int, ThreadPlace],
        variables: Mapping[str, Variable],
        addresses: dict[str, int],
        loops: int,
        others: Mapping[int, str] = {},
        specials: Mapping[str, int] = {},
    ):
        """`thread` is its number, and where it runs; `addresses` are those that the names of variables stand for. A loop is taken
        `loops` times at most. `others` has the variables by their addresses, if not all have the names that the thread has
        for them, and `specials` the special registers that a thread may read."""
        super().__init__(checked.source, kernel, checked)
        self.flow, self.specials = FlowGraph(kernel), specials
        self.joins = JoinPoints(kernel, self.flow)
        (self.thread, self.place), self.variables = thread, variables
        self.addresses, self.loops = addresses, loops
        self._objects = sorted(others.items() if others else ((address, name) for name, address in addresses.items()))
        self._path = _Partial(0, 0)
        #: what the tensor map holds that is read
        self._held: int | None = None
        self._place: ByteRange | None = None

    # operands ------------------------------------------------------------------------------------------------------------

    def address_of(self, name: str, way: PathState, lane: int) -> Int:
        address: Int = constant(self.addresses[name])
        return address

    def at_first(self, shown: str, type: Any, carried: bool = False) -> Any:
        """Registers begin as zeros, unless the test says otherwise."""
        return FALSE if type.kind == "pred" else constant(0)

    def special(self, name: str, lane: int) -> Any:
        if name in self.specials:
            return constant(self.specials[name])
        raise Unsupported(f"{name} is read: a litmus test says of a thread which CTA it belongs to, and no more")

    def taking_part(self, threads: int) -> int | None:
        """How many threads take part in a barrier for which an instruction says so many; None: all of the CTA."""
        return threads

    # paths ---------------------------------------------------------------------------------------------------------------

    def paths(self, registers: dict[str, Any]) -> list[ThreadPath]:
        """All paths, from these registers on."""
        todo, ends = [_Partial(0, self.flow.blocks[0].start if self.flow.blocks else 0, dict(registers))], []
        while todo:
            for partial in self._followed(todo.pop()):
                if isinstance(partial, ThreadPath):
                    ends.append(partial)
                else:
                    todo.append(partial)
            if len(todo) + len(ends) > MOST_PATHS:
                raise Unsupported(f"a thread has more than {MOST_PATHS:,} paths: loops may be taken fewer times")
        return ends

    def _followed(self, path: _Partial) -> Iterator[_Partial | ThreadPath]:
        """Where a path goes by the next instruction."""
        if not self.flow.blocks:
            yield ThreadPath((), (), path.registers, True)
            return
        block = self.flow.blocks[path.block]
        if any(join == path.index for join, _ in path.decisions):
            path = replace(path, decisions=tuple(each for each in path.decisions if each[0] != path.index))
        if block.finishes is not None or path.index == block.end:
            yield self._at(path, block.next)
            return
        op = self.kernel.code[path.index]
        for holds, case in self._cases(op, path):
            if not holds and ending(op) is None:
                yield replace(case, index=path.index + 1, position=path.position + 1)
            elif ending(op) is not None:
                yield from self._ended(op, case, holds)
            else:
                yield from self._executed(op, case)

    def _cases(self, op: Op, path: _Partial) -> Iterator[tuple[bool, _Partial]]:
        """Whether the guard lets the instruction through, and the path where it does or does not. One that only computes has one
        case: its results depend on the guard."""
        if op.guard is None or (op.plan.meaning.effect is None and not op.plan.meaning.more):
            yield True, path
            return
        guard, join = self.guard(op, self._way(path), 0), self.joins.behind(path.block, path.index)
        for holds, condition in ((True, guard), (False, ~guard)):
            if condition is not FALSE:
                yield holds, self._where(path, condition, join)

    def _where(self, path: _Partial, condition: Bool, join: int | None = None) -> _Partial:
        """The path where a condition holds, which decides on what is executed before a join, if there is one."""
        decisions = (*path.decisions, (join, frozenset(variables_in([condition]))))
        conditions = path.conditions if condition is TRUE else (*path.conditions, condition)
        return replace(path, conditions=conditions, registers=dict(path.registers), decisions=decisions)

    def _way(self, path: _Partial) -> PathState:
        return PathState((TRUE,), (path.registers,))

    def _at(self, path: _Partial, number: int | None) -> _Partial | ThreadPath:
        """The path at another block, or at the end of the thread."""
        if number is None:
            return ThreadPath(path.operations, path.conditions, path.registers, True, broken=path.broken)
        counts, returns = path.counts, path.returns
        if number <= path.block:
            counts = {**counts, number: counts.get(number, 0) + 1}
            if counts[number] > self.loops:
                turn, before = returns.get(number, (0, {}))
                repeats = _same(before, path.registers) if before else FALSE
                return ThreadPath(path.operations, path.conditions, path.registers, False, turn, repeats, path.broken)
            returns = {**returns, number: (len(path.operations), path.registers)}
        return replace(path, block=number, index=self.flow.blocks[number].start, counts=counts, returns=returns)

    def _executed(self, op: Op, path: _Partial) -> Iterator[_Partial]:
        """The path behind an instruction after which the next one follows; one for each place that it may access."""
        effect = op.plan.meaning.effect
        if op.plan.meaning.more:
            raise Unsupported(f"{op.plan.form.mnemonic} has several effects, which no litmus test may have")
        is_access = isinstance(effect, effects.Load | effects.Store | effects.Update)
        for place, reached in self._places(op, effect, path) if is_access else ((None, path),):  # type: ignore[arg-type]
            for held, case in self._contents(op, effect, place, reached):
                case = replace(case, registers=dict(case.registers), index=path.index + 1, position=path.position + 1)
                self._path, self._place, self._held = replace(case, position=path.position), place, held
                self.execute(op._replace(guard=None) if effect is not None else op, self._way(case))
                done = self._path
                yield replace(
                    case, operations=done.operations, initiated=done.initiated, groups=done.groups, broken=done.broken
                )

    def _places(self, op: Op, effect: effects.Access, path: _Partial) -> Iterator[tuple[ByteRange, _Partial]]:
        """The bytes that an access may reach, each with the path where it does."""
        env = self.sources(op, self._way(path), 0)
        address = substitute(effect.address, env)
        bytes, space = effect.bytes, op.space or effect.space
        if address.lo == address.hi:
            yield self.bytes_at(address.lo, bytes, space, op), path
            return
        for start, name in self._objects:
            if not self._is_within(start, self.variables[name].space, space):
                continue
            for offset in range(0, self.variables[name].size - bytes + 1, bytes):
                condition = address == start + offset
                if condition is not FALSE:
                    yield ByteRange(name, offset, bytes), self._where(path, condition)

    def _contents(
        self, op: Op, effect: effects.Effect | None, place: ByteRange | None, path: _Partial
    ) -> Iterator[tuple[int | None, _Partial]]:
        """What a tensor map may hold in the bytes that an instruction reads of it, each with the path where it does: it describes
        the box of one variable or of another. None for another instruction."""
        if not isinstance(effect, effects.Load) or effect.proxy is not Proxy.TENSORMAP or place is None:
            yield None, path
            return
        if not self.variables[place.object].map_of:
            raise Unsupported(f"{self.text(op)}: {place.object} is no tensor map of the test")
        size = effect.bytes
        held = (contents_of_map(at) >> 8 * place.offset for at, name in self._objects if self.variables[name].is_tensor)
        for contents in dict.fromkeys(low & (1 << 8 * size) - 1 for low in held):
            holds = variable(self._read_of_map(path), 8 * size) == contents
            yield contents, replace(path, conditions=(*path.conditions, holds))  # which decides on nothing but the box

    def _read_of_map(self, path: _Partial) -> str:
        """The variable that stands for what an instruction reads of a tensor map."""
        return f"{self.thread}.{path.position}.map"

    def reads_of_maps(self, op: Op) -> frozenset[str]:
        """The variables that stand for what an instruction has read of a tensor map."""
        noted = [n for n in self._path.operations if n.operation.proxy is Proxy.TENSORMAP]
        return frozenset(n.reads for n in noted if n.operation.text == self.text(op))

    @property
    def position(self) -> int:
        """How many instructions of the path precede the one that is executed."""
        return self._path.position

    # effects -------------------------------------------------------------------------------------------------------------

    def text(self, op: Op) -> str:
        """An instruction, to be shown."""
        of, text = self._marked(op, FACTOR_MARK), statement(self.source.text, op.position).rstrip(";").strip()
        return f"{text} of {of}" if of else text

    def act(self, effect: effects.Effect, op: Op, env: dict[str, Any], done: Bool, lane: int) -> None:
        match effect:
            case effects.Load(life=effects.Life()) | effects.Update(life=effects.Life()):
                self._step(effect, op, env)
            case effects.Load() | effects.Store() | effects.Update():
                self._access(effect, op, env)
            case effects.Check():
                self._check(effect, op, env)
            case effects.Initiate():
                self._initiate(effect, op, env)
            case effects.Follow():
                self._follow(effect, op, env)
            case effects.Advance():
                self._advance(effect, op, env)
            case effects.Fence(restricted=str()) if not effect.proxies or effect.order is not None:
                raise Unsupported(f"{self.text(op)}: a fence that is restricted to some accesses is not followed")
            case effects.Fence() if effect.proxies:
                order, proxies, within = effect.order, self._proxies(op) or effect.proxies, effect.restricted or ""
                self.perform(
                    OperationKind.PROXY_FENCE, op, order=order, scope=effect.scope, proxies=proxies, within=within
                )
            case effects.Fence():
                self.perform(OperationKind.FENCE, op, order=effect.order, scope=effect.scope)
            case _:
                raise self._unsupported(op)

    def _check(self, effect: effects.Check, op: Op, env: dict[str, Any]) -> None:
        """Note that something must hold: of the object on which a step is taken, or of the path."""
        holds, noted = self.executions.substitute(effect.holds, env, {}, TRUE), self._path.operations
        if not variables_in([holds]):
            broken = "" if evaluate(holds, {}) else f"{RULES[effect.rule].sentence}: {self.text(op)}"
            self._path = replace(self._path, broken=self._path.broken or broken)
        elif noted and noted[-1].operation.on_object:
            self._path = self._told(self._path, rules=(*noted[-1].rules, (effect.rule, holds)))
        else:
            raise Unsupported(f"{self.text(op)}: whether it keeps a rule depends on what is read")

    def _marked(self, op: Op, mark: str) -> str:
        """What a comment behind an instruction says that PTX cannot."""
        return marked(self.source.text, op, mark)

    def _proxies(self, op: Op) -> tuple[Proxy, ...]:
        """The proxies of a fence that PTX does not have."""
        proxy = self._marked(op, PROXY_MARK)
        return (Proxy(proxy), Proxy.GENERIC) if proxy else ()

    def _unsupported(self, op: Op) -> Unsupported:
        return Unsupported(
            f"{op.plan.form.mnemonic} does more than access memory, order accesses, branch or meet at barriers"
        )

    # objects and asynchronous operations ----------------------------------------------------------------------------------

    def _step(self, effect: effects.Load | effects.Update, op: Op, env: dict[str, Any]) -> None:
        """Note a step on an object."""
        place, path = self._place, self._path
        assert place is not None
        if effect.life is not effects.Life.LASTS:
            raise Unsupported(f"{self.text(op)}: objects of a litmus test have begun, and do not end")
        self.check_object(place, op)
        name = f"{self.thread}.{path.position}.0"
        env["%loaded0"] = variable(name, effect.type.width)
        memo: dict[int, Any] = {}

        def term(value: Any) -> Any:
            return self.executions.substitute(value, env, memo, TRUE)

        kind, written = OperationKind.READ, None
        rules: tuple[tuple[str, Bool], ...] = ()
        if isinstance(effect, effects.Update):
            kind, written = OperationKind.ATOMIC, low_bits(term(effect.values[0]), effect.type.width)
            rules = tuple(zip(effect.rules, map(term, effect.conditions), strict=True))
        self.perform(
            kind, op, place, name, written, depends=_reads_of(env, name), rules=rules, order=effect.order,
            scope=effect.scope, on_object=True,
        )  # fmt: skip

    def check_object(self, place: ByteRange, op: Op) -> None:
        """Raise Unsupported if bytes are not those of an object."""
        if not self.variables[place.object].is_object:
            raise Unsupported(f"{self.text(op)}: {place.object} is no object of the test")

    def _told(self, path: _Partial, **more: Any) -> _Partial:
        """The path, with more said of its last operation, which is a step on an object."""
        *before, last = path.operations
        return replace(path, operations=(*before, last._replace(**more)))

    def _follow(self, effect: effects.Follow, op: Op, env: dict[str, Any]) -> None:
        """Note the arrival at an object that comes after all operations of a mechanism so far."""
        kind, begun = OperationKind.COMPLETION, self._path.initiated
        after = frozenset((k, kind) for k, (how, _) in enumerate(begun, 1) if how is effect.after)
        followed = InitiatedOperation(self, op, env, self._begun(effect.completion))
        followed.completes_on(effect.completion, (effect.among, effect.object), constant(0), after)

    def _initiate(self, effect: effects.Initiate, op: Op, env: dict[str, Any]) -> None:
        """Note what an asynchronous operation does."""
        if effect.times is not None or isinstance(effect.to, InRegisters) or isinstance(effect.source, InRegisters):
            raise Unsupported(f"{self.text(op)}: such an asynchronous operation is not followed")
        initiated = InitiatedOperation(self, op, env, len(self._path.initiated) + 1)
        if effect.when is None or initiated.number_of(effect.when, "whether it begins"):
            self._begun(effect.completion)
            initiated.note(effect)
            env[PRODUCT] = low_bits(initiated.value, 32)

    def _begun(self, completion: CompletionMechanism | ObjectCompletion) -> int:
        """The number of an operation that the thread initiates now."""
        path, group = self._path, 0
        if isinstance(completion, CompletionMechanism):
            group = int(evaluate(completion.initiates(self._record(completion)), {}))
        self._path = replace(path, initiated=(*path.initiated, (completion, group)))
        return len(path.initiated) + 1

    def _record(self, completion: CompletionMechanism) -> State:
        """The record that the thread has of a mechanism."""
        kind = completion.record
        return self._path.groups.get(completion.name, kind(*(0 for _ in kind.fields)))

    def _advance(self, effect: effects.Advance, op: Op, env: dict[str, Any]) -> None:
        """Change the record of a mechanism, and note what the thread knows to be over then."""
        how = effect.completion
        operands = [self.executions.substitute(value, env, {}, TRUE) for value in effect.operands]
        before = self._record(how)
        _, after = taken(effect.step, before, *operands)
        self._path = replace(self._path, groups={**self._path.groups, how.name: after})
        ends = ((how.is_complete, OperationKind.COMPLETION), (how.has_read, OperationKind.SOURCES_READ))
        awaits = [
            (number, kind)
            for number, (other, group) in enumerate(self._path.initiated, 1)
            for asks, kind in (ends if other is how else ())
            if asks is not None and not _is_so(asks, before, group) and _is_so(asks, after, group)
        ]
        if awaits:
            self.perform(OperationKind.GROUP_WAIT, op, awaits=frozenset(awaits))

    def bytes_at(self, address: int, bytes: int, space: str, op: Op) -> ByteRange:
        """The bytes of a variable at an address of a state space."""
        for start, name in self._objects:
            if start <= address and address + bytes <= start + self.variables[name].size:
                if self._is_within(start, self.variables[name].space, space):
                    return ByteRange(name, address - start, bytes)
        raise Unsupported(f"{self.text(op)} accesses no variable of the test")

    def _is_within(self, start: int, has: str, space: str) -> bool:
        """Whether an access to a state space may reach a variable that begins at an address and is in a space: one of the
        thread's own CTA, unless it is to the memory of all CTAs of the cluster."""
        windows = contracts.generic_addressing
        if space == "generic":
            return not windows.base(has)
        is_own = start in self.addresses.values()
        return windows.window(space) == windows.window(has) and (is_own or space == windows.CLUSTER)

    def _access(self, effect: effects.Access, op: Op, env: dict[str, Any]) -> None:
        """Note the operations of an access: one for each element."""
        place, path = self._place, self._path
        assert place is not None
        if self._held is not None:
            self._read_map(effect, op, env, self._held)
            return
        if self.variables[place.object].map_of and not isinstance(effect, effects.Load) and place[1:] != ADDRESS_OF_MAP:
            raise Unsupported(f"{self.text(op)}: of a tensor map, a litmus test replaces the address alone")
        variables = variables_in(env.values())
        parts = 2 if effect.type.elements == 2 else 1
        width, bytes = effect.type.width // parts, effect.type.bytes // parts
        names = [f"{self.thread}.{path.position}.{i}" for i in range(effect.count * parts)]
        if not isinstance(effect, effects.Store):
            for i in range(effect.count):
                value: Int = constant(0)
                for k in range(parts):
                    value = value | variable(names[i * parts + k], width) << (k * width)
                env[f"%loaded{i}"] = value
        kind = kind_of_access(effect, bool(op.plan.meaning.results))
        memo: dict[int, Any] = {}
        values = () if isinstance(effect, effects.Load) else effect.values
        words = [self.executions.substitute(v, env, memo, TRUE) for v in values]
        for i, name in enumerate(names):
            written = low_bits(words[i // parts] >> (i % parts * width), width) if words else None
            depends = variables if written is None else variables | variables_in([written])
            self.perform(
                kind,
                op,
                order=Order(order) if (order := self._marked(op, ORDER_MARK)) else effect.order,
                scope=effect.scope,
                proxy=effect.proxy,
                accessed=ByteRange(place.object, place.offset + i * bytes, bytes),
                reads=name if kind is not OperationKind.WRITE else "",
                writes=written,
                depends=frozenset(depends) - {name},
            )

    def _read_map(self, effect: effects.Access, op: Op, env: dict[str, Any], held: int) -> None:
        """Note that an instruction reads bytes of a tensor map, which hold this: all at once."""
        width = effect.type.width
        for i in range(effect.count):
            env[f"%loaded{i}"] = constant(held >> i * width & (1 << width) - 1)
        self.perform(
            OperationKind.READ, op, self._place, self._read_of_map(self._path), order=effect.order, proxy=effect.proxy
        )

    def perform(
        self,
        kind: OperationKind,
        op: Op,
        accessed: ByteRange | None = None,
        reads: str = "",
        writes: Int | None = None,
        threads: int | None = None,
        depends: frozenset[str] = frozenset(),
        until: Bool | None = None,
        rules: tuple[tuple[str, Bool], ...] = (),
        **fields: Any,
    ) -> None:
        """Note an operation: the bytes of a variable that it accesses, the names of the variables on which it depends, what a
        step on an object waits for and must keep, and fields of the operation."""
        path = self._path
        if accessed is not None:
            variable = self.variables[accessed.object]
            if variable.is_object and not fields.get("on_object"):
                raise Unsupported(f"{self.text(op)} accesses the bytes of an object, which PTX leaves undefined")
            fields["space"] = variable.space
            fields["address"] = accessed._replace(object=variable.address or variable.name)
            fields["location"] = accessed._replace(object=variable.location or variable.name)
            fields.setdefault("proxy", Proxy.GENERIC)
            fields["proxy"] = fields["proxy"] if variable.proxy is Proxy.GENERIC else variable.proxy
        depends = depends | path.decided_by
        fields["depends_on"] = tuple(before.operation for before in path.operations if before.reads in depends)
        position = fields.pop("stage", path.position)
        operation = Operation(kind, self.thread, self.place, position, self.text(op), **fields)
        noted = ThreadOperation(operation, reads, writes, threads, until, rules)
        self._path = replace(path, operations=(*path.operations, noted))
        if len(self._path.operations) > MOST_OPERATIONS:
            raise Unsupported(f"a thread executes more than {MOST_OPERATIONS} operations")

    # ends of blocks ------------------------------------------------------------------------------------------------------

    def _ended(self, op: Op, path: _Partial, holds: bool) -> Iterator[_Partial | ThreadPath]:
        """Where the last instruction of a block leads."""
        block, effect = self.flow.blocks[path.block], ending(op)
        path = replace(path, position=path.position + 1)
        if not holds:
            yield self._at(path, block.next)
            return
        match effect:
            case effects.Branch():
                yield self._at(path, block.taken)
            case effects.Exit() | effects.Return():
                yield self._at(path, None)
            case effects.Arrive() | effects.Wait() | effects.ClusterArrive() | effects.ClusterWait():
                yield self._at(self._met(op, effect, path), block.next)
            case effects.Await():
                env = self.sources(op, self._way(path), 0)
                until = self.executions.substitute(effect.until, env, {}, TRUE)
                yield self._at(self._told(path, until=until), block.next)
            case (
                effects.IndexedBranch()
                | effects.Call()
                | effects.Stop()
                | effects.Collective()
                | effects.ImageAccess()
                | None
            ):
                raise self._unsupported(op)
            case _:
                assert_never(effect)

    def _met(self, op: Op, effect: effects.CtaBarrier | effects.ClusterBarrier, path: _Partial) -> _Partial:
        """The path with an operation at a barrier."""
        self._path = replace(path, position=path.position - 1)
        kinds = OperationKind
        match effect:
            case effects.ClusterArrive():
                self.perform(kinds.ARRIVAL, op, order=effect.order, barrier="cluster")
            case effects.ClusterWait():
                self.perform(kinds.WAIT, op, barrier="cluster")
            case effects.Arrive() | effects.Wait():
                if isinstance(effect, effects.Wait) and effect.reduction:
                    raise Unsupported(
                        f"{op.plan.form.mnemonic}: a reduction at a barrier is not followed in a litmus test"
                    )
                env = self.sources(op, self._way(path), 0)
                number = substitute(effect.barrier, env)
                threads = None if effect.threads is None else substitute(effect.threads, env)
                if number.lo != number.hi or (threads is not None and threads.lo != threads.hi):
                    raise Unsupported(f"{self.text(op)}: which barrier it is depends on what is read")
                kind = kinds.BARRIER if isinstance(effect, effects.Wait) else kinds.ARRIVAL
                count = None if threads is None else self.taking_part(threads.lo)
                self.perform(kind, op, barrier=f"CTA {number.lo}", threads=count)
        return replace(path, operations=self._path.operations)


class InitiatedOperation:
    """Notes what an asynchronous operation does, which has this number in its thread: one stage after the other, as the page of
    the memory model has them. What it does in one stage is in no order."""

    def __init__(self, walk: ThreadWalk, op: Op, env: dict[str, Any], number: int):
        """`env` is what the operands of the instruction hold."""
        self.walk, self.op, self.env, self.number = walk, op, env, number
        self.memo: dict[int, Any] = {}
        self.stages = 0
        #: what it writes, and what that depends on
        self.value: Int = constant(0)
        self.depends = _reads_of(env) | walk.reads_of_maps(op)

    def term(self, value: Any) -> Any:
        """A term of the instruction, of what is read."""
        return self.walk.executions.substitute(value, self.env, self.memo, TRUE)

    def number_of(self, value: Any, what: str) -> int:
        """A term that does not depend on what is read. Raises Unsupported if it does."""
        term = self.term(value)
        if variables_in([term]):
            raise Unsupported(f"{self.walk.text(self.op)}: {what} depends on what is read")
        return int(evaluate(term, {}))

    def note(self, effect: effects.Initiate) -> None:
        """Note all that it does."""
        if effect.holds is not None and not self.number_of(effect.holds, "whether it may begin"):
            raise Unsupported(f"{self.walk.text(self.op)} breaks a rule: {RULES[effect.rule].sentence}")
        if any(self.number_of(t, "where it reads") for t in (effect.lead, effect.reorder, effect.fill)):
            raise Unsupported(f"{self.walk.text(self.op)}: such an asynchronous operation is not followed")
        page = contracts.asynchronous_operations
        notes = {OperationKind.READ: self._reads, OperationKind.WRITE: self._writes}
        for kind in page.STAGES:
            if kind in notes:
                notes[kind](effect)
            elif kind is OperationKind.COMPLETION or self._tells_of_reading(effect.completion):
                self._add(kind, proxies=page.fenced(effect.proxy))
            self.stages += 1
        if isinstance(effect.completion, ObjectCompletion):
            self.completes_on(effect.completion, (effect.among, effect.object), effect.size, frozenset())

    def _tells_of_reading(self, completion: CompletionMechanism | ObjectCompletion) -> bool:
        """Whether a thread may wait until it has read its source."""
        return isinstance(completion, CompletionMechanism) and completion.has_read is not None

    def _reads(self, effect: effects.Initiate) -> None:
        """It reads its source, if that is in memory."""
        size = self.number_of(effect.read, "how much it reads")
        if isinstance(effect.source, Carried):
            width = effect.source.type.width
            for k, word in enumerate(effect.source.values):
                self.value = self.value | low_bits(self.term(word), width) << k * width
        elif size:
            name = self._name("of")
            place = self._place(effect.of, effect.source, size, "its source")
            self._add(OperationKind.READ, place, name, depends=self.depends, order=Order.WEAK, proxy=effect.proxy)
            self.value, self.depends = variable(name, 8 * size), self.depends | {name}

    def _writes(self, effect: effects.Initiate) -> None:
        """It writes its target, if it has one: what it does not read becomes zero. Or it changes what is there, element by
        element."""
        if effect.only_reads:
            return
        size = self.number_of(effect.size, "its size")
        place = self._place(effect.space, effect.to, size, "its target")
        strength = {"order": effect.order, "scope": effect.scope, "proxy": effect.proxy}
        if effect.change is None:
            written = low_bits(self.value, 8 * size)
            self._add(OperationKind.WRITE, place, "", written, depends=self.depends, **strength)
            return
        for at in range(0, size, effect.element):
            name, bits = self._name(f"at{at}of"), 8 * effect.element
            changed = effect.change(variable(name, bits), low_bits(self.value >> 8 * at, bits))
            element = ByteRange(place.object, place.offset + at, effect.element)
            kind = contracts.asynchronous_operations.CHANGE
            self._add(kind, element, name, low_bits(changed, bits), depends=self.depends, **strength)

    def completes_on(
        self,
        completion: ObjectCompletion,
        object: tuple[str, Any],
        size: Int,
        awaits: frozenset[tuple[int, OperationKind]],
    ) -> None:
        """Note the step on an object, at an address of a state space, by which so many bytes are complete, after the ends of
        other operations."""
        place = self._place(*object, OBJECT_BITS // 8, "its object")
        self.walk.check_object(place, self.op)
        name = self._name("on")
        before = completion.record.unpacked(variable(name, OBJECT_BITS))
        rules, after = taken(completion.completes, before, self.term(size))
        self._add(
            OperationKind.ATOMIC, place, name, low_bits(after.packed, OBJECT_BITS), rules=tuple(rules), on_object=True,
            awaits=awaits, **contracts.objects.AT_THE_END,
        )  # fmt: skip

    def _name(self, what: str) -> str:
        """The variable of what it reads."""
        return f"{self.walk.thread}.{self.walk.position}.{what}{self.number}"

    def _place(self, space: str, address: Any, size: int, what: str) -> ByteRange:
        return self.walk.bytes_at(self.number_of(address, what), size, space, self.op)

    def _add(self, kind: OperationKind, *what: Any, **fields: Any) -> None:
        """Note one operation."""
        fields |= {"stage": self.stages, "asynchronous": self.number, "initiated": self.walk.position}
        self.walk.perform(kind, self.op, *what, **fields)


def marked(text: str, op: Op, mark: str) -> str:
    """What a comment behind an instruction of a text says that PTX cannot."""
    return text[op.position :].partition("\n")[0].partition(mark)[2].strip()


def contents_of_map(address: int) -> int:
    """The bytes of a tensor map that describes the box of a variable at an address, as a number."""
    from ptxspec.machine.tensor_maps import TensorMap  # with pages that few tests need

    words = (TENSOR_BYTES // 4,)
    return int.from_bytes(TensorMap(address, box=words, dims=words, type="u32").encode(), "little")


def _is_so(asks: Step, record: State, group: int) -> bool:
    """Whether a mechanism's record says something of the operations of a group."""
    return bool(evaluate(asks(record, constant(group)), {}))


def _reads_of(env: Mapping[str, Any], *without: str) -> frozenset[str]:
    """The variables in what operands hold."""
    return frozenset(variables_in(env.values())) - set(without)


def _same(before: dict[str, Any], registers: dict[str, Any]) -> Bool:
    """When registers hold what they held before."""
    same: Bool = TRUE
    for name, value in registers.items():
        if name not in before:
            return FALSE
        earlier = before[name]
        if value is not earlier:
            same = same & (~(value ^ earlier) if isinstance(value, Bool) else value == earlier)
    return same
