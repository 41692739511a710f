"""The threads of a litmus test: on each path through its instructions, the operations that a thread executes.

What a read returns is a variable. The values that a path writes, and the condition under which it is taken, are terms over the
variables of its reads; so a path is known before it is chosen what its reads return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, assert_never

from ptxspec.language.checked import Checked, Kernel, Op
from ptxspec.language.parser import statement
from ptxspec.machine.flow import FlowGraph, ending
from ptxspec.query.execution import KernelExecution
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.arrivals import PathState
from ptxspec.terms import effects
from ptxspec.terms.core import Bool, Int, constant, variable
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace, kind_of_access
from ptxspec.terms.orders import Order, Proxy
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, substitute, variables_in

#: paths of a thread at most, and operations on one
MOST_PATHS, MOST_OPERATIONS = 1_000, 60
#: in a comment behind what stands for an instruction that only a test has: the proxy of a fence, the order of a reduction
PROXY_MARK, ORDER_MARK = "// for the proxy ", "// with the order "


class Variable(NamedTuple):
    """A variable of a test: its size in bytes, what it holds at first, the variable whose location it has, the one whose virtual
    address it stands for, and the proxy by which it is accessed."""

    name: str
    size: int
    initial: int = 0
    location: str = ""
    address: str = ""
    proxy: Proxy = Proxy.GENERIC


class ThreadOperation(NamedTuple):
    """An operation of a path, with the name of the variable that stands for what it reads, and the term that it writes. `threads`
    is how many take part in a barrier, None for all of the CTA."""

    operation: Operation
    reads: str = ""
    writes: Int | None = None
    threads: int | None = None


class ThreadPath(NamedTuple):
    """What a thread executes where all conditions over what it reads hold, and what its registers hold then. `ended` is False if
    it went through a loop more often than was asked for, and nothing is said of what it does then. The operations of its last
    turn begin at `turn`, and the registers are the same before and behind it where `repeats` holds."""

    operations: tuple[ThreadOperation, ...]
    conditions: tuple[Bool, ...]
    registers: dict[str, Any]
    ended: bool
    turn: int = 0
    repeats: Bool = FALSE


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
    #: what decided on the way that was taken
    decided_by: frozenset[str] = frozenset()


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
    ):
        """`thread` is its number, and where it runs; `addresses` are those of the variables, by name. A loop is taken `loops`
        times at most."""
        super().__init__(checked.source, kernel, checked)
        self.flow = FlowGraph(kernel)
        (self.thread, self.place), self.variables = thread, variables
        self.addresses, self.loops = addresses, loops
        self._objects = sorted((address, name) for name, address in addresses.items())
        self._path = _Partial(0, 0)
        self._place: ByteRange | None = None

    # operands ------------------------------------------------------------------------------------------------------------

    def address_of(self, name: str, way: PathState, lane: int) -> Int:
        address: Int = constant(self.addresses[name])
        return address

    def at_first(self, shown: str, type: Any, carried: bool = False) -> Any:
        """Registers begin as zeros, unless the test says otherwise."""
        return FALSE if type.kind == "pred" else constant(0)

    def special(self, name: str, lane: int) -> Any:
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
        guard = self.guard(op, self._way(path), 0)
        for holds, condition in ((True, guard), (False, ~guard)):
            if condition is not FALSE:
                yield holds, self._where(path, condition)

    def _where(self, path: _Partial, condition: Bool) -> _Partial:
        """The path where a condition holds."""
        decided = path.decided_by | variables_in([condition])
        conditions = path.conditions if condition is TRUE else (*path.conditions, condition)
        return replace(path, conditions=conditions, registers=dict(path.registers), decided_by=decided)

    def _way(self, path: _Partial) -> PathState:
        return PathState((TRUE,), (path.registers,))

    def _at(self, path: _Partial, number: int | None) -> _Partial | ThreadPath:
        """The path at another block, or at the end of the thread."""
        if number is None:
            return ThreadPath(path.operations, path.conditions, path.registers, True)
        counts, returns = path.counts, path.returns
        if number <= path.block:
            counts = {**counts, number: counts.get(number, 0) + 1}
            if counts[number] > self.loops:
                turn, before = returns.get(number, (0, {}))
                repeats = _same(before, path.registers) if before else FALSE
                return ThreadPath(path.operations, path.conditions, path.registers, False, turn, repeats)
            returns = {**returns, number: (len(path.operations), path.registers)}
        return replace(path, block=number, index=self.flow.blocks[number].start, counts=counts, returns=returns)

    def _executed(self, op: Op, path: _Partial) -> Iterator[_Partial]:
        """The path behind an instruction after which the next one follows; one for each place that it may access."""
        effect = op.plan.meaning.effect
        if op.plan.meaning.more:
            raise Unsupported(f"{op.plan.form.mnemonic} has several effects, which no litmus test may have")
        is_access = isinstance(effect, effects.Load | effects.Store | effects.Update)
        for place, case in self._places(op, effect, path) if is_access else ((None, path),):  # type: ignore[arg-type]
            case = replace(case, registers=dict(case.registers), index=path.index + 1, position=path.position + 1)
            self._path, self._place = replace(case, position=path.position), place
            self.execute(op._replace(guard=None) if effect is not None else op, self._way(case))
            yield replace(case, operations=self._path.operations)

    def _places(self, op: Op, effect: effects.Access, path: _Partial) -> Iterator[tuple[ByteRange, _Partial]]:
        """The bytes that an access may reach, each with the path where it does."""
        env = self.sources(op, self._way(path), 0)
        address = substitute(effect.address, env)
        if address.lo == address.hi:
            yield self._place_at(address.lo, effect, op), path
            return
        bytes = effect.bytes
        for start, name in self._objects:
            for offset in range(0, self.variables[name].size - bytes + 1, bytes):
                condition = address == start + offset
                if condition is not FALSE:
                    yield ByteRange(name, offset, bytes), self._where(path, condition)

    def _place_at(self, address: int, effect: effects.Access, op: Op) -> ByteRange:
        """The bytes that an access to an address reaches."""
        bytes = effect.bytes
        for start, name in self._objects:
            if start <= address and address + bytes <= start + self.variables[name].size:
                return ByteRange(name, address - start, bytes)
        raise Unsupported(f"{self._text(op)} accesses no variable of the test")

    # effects -------------------------------------------------------------------------------------------------------------

    def _text(self, op: Op) -> str:
        return statement(self.source.text, op.position).rstrip(";").strip()

    def act(self, effect: effects.Effect, op: Op, env: dict[str, Any], done: Bool, lane: int) -> None:
        match effect:
            case effects.Load(life=effects.Life()) | effects.Update(life=effects.Life()):
                raise self._unsupported(op)
            case effects.Load() | effects.Store() | effects.Update():
                self._access(effect, op, env)
            case effects.Fence() if effect.proxies:
                order, proxies = effect.order, self._proxies(op) or effect.proxies
                self._add(OperationKind.PROXY_FENCE, op, order=order, scope=effect.scope, proxies=proxies)
            case effects.Fence():
                self._add(OperationKind.FENCE, op, order=effect.order, scope=effect.scope)
            case _:
                raise self._unsupported(op)

    def _marked(self, op: Op, mark: str) -> str:
        """What a comment behind an instruction says that PTX cannot."""
        return self.source.text[op.position :].partition("\n")[0].partition(mark)[2].strip()

    def _proxies(self, op: Op) -> tuple[Proxy, ...]:
        """The proxies of a fence that PTX does not have."""
        proxy = self._marked(op, PROXY_MARK)
        return (Proxy(proxy), Proxy.GENERIC) if proxy else ()

    def _unsupported(self, op: Op) -> Unsupported:
        return Unsupported(
            f"{op.plan.form.mnemonic} does more than access memory, order accesses, branch or meet at barriers"
        )

    def _access(self, effect: effects.Access, op: Op, env: dict[str, Any]) -> None:
        """Note the operations of an access: one for each element."""
        place, path = self._place, self._path
        assert place is not None
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
            self._add(
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

    def _add(
        self,
        kind: OperationKind,
        op: Op,
        accessed: ByteRange | None = None,
        reads: str = "",
        writes: Int | None = None,
        threads: int | None = None,
        depends: frozenset[str] = frozenset(),
        **fields: Any,
    ) -> None:
        """Note an operation: the bytes of a variable that it accesses, the names of the variables on which it depends, and fields
        of the operation."""
        path = self._path
        if accessed is not None:
            variable = self.variables[accessed.object]
            fields["address"] = accessed._replace(object=variable.address or variable.name)
            fields["location"] = accessed._replace(object=variable.location or variable.name)
            fields["proxy"] = fields["proxy"] if variable.proxy is Proxy.GENERIC else variable.proxy
        depends = depends | path.decided_by
        fields["depends_on"] = tuple(before.operation for before in path.operations if before.reads in depends)
        operation = Operation(kind, self.thread, self.place, path.position, self._text(op), **fields)
        noted = ThreadOperation(operation, reads, writes, threads)
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
            case (
                effects.IndexedBranch()
                | effects.Call()
                | effects.Stop()
                | effects.Collective()
                | effects.ImageAccess()
                | effects.Await()
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
                self._add(kinds.ARRIVAL, op, order=effect.order, barrier="cluster")
            case effects.ClusterWait():
                self._add(kinds.WAIT, op, barrier="cluster")
            case effects.Arrive() | effects.Wait():
                if isinstance(effect, effects.Wait) and effect.reduction:
                    raise Unsupported(
                        f"{op.plan.form.mnemonic}: a reduction at a barrier is not followed in a litmus test"
                    )
                env = self.sources(op, self._way(path), 0)
                number = substitute(effect.barrier, env)
                threads = None if effect.threads is None else substitute(effect.threads, env)
                if number.lo != number.hi or (threads is not None and threads.lo != threads.hi):
                    raise Unsupported(f"{self._text(op)}: which barrier it is depends on what is read")
                kind = kinds.BARRIER if isinstance(effect, effects.Wait) else kinds.ARRIVAL
                count = None if threads is None else self.taking_part(threads.lo)
                self._add(kind, op, barrier=f"CTA {number.lo}", threads=count)
        return replace(path, operations=self._path.operations)


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
