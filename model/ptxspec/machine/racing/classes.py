"""The operations of a kernel's instructions, as the memory model speaks of them, and what its pages say of each two of them.

Operations that the pages cannot tell apart, but for who executes them and which bytes they access, are of one class.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import assert_never

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Kernel, Op
from ptxspec.machine.operation_classes import HERE, OTHERS, OperationClass, morally_strong
from ptxspec.machine.racing import shadow
from ptxspec.terms import effects
from ptxspec.terms.operations import Operation, OperationKind
from ptxspec.terms.orders import Order, Proxy, Scope
from ptxspec.terms.registries import OBJECT_BITS, ObjectCompletion

#: no operation; and the read of one that writes, too, which is looked at when it does
NO_CLASS, LATER = -1, -2
#: where two threads run that are so near to one another, and their numbers
_PLACES = dict(
    zip((shadow.SAME_THREAD, shadow.SAME_CTA, shadow.SAME_CLUSTER, shadow.SAME_GRID), (HERE, *OTHERS), strict=True)
)


class OperationClasses:
    """Those of a kernel. `reads[i]` and `writes[i]` are the classes of what the i-th instruction reads and writes, `fences[i]`
    that of a fence. Where operations complete on objects, what the i-th instruction's operation does to its object has the number
    `objects` + i."""

    def __init__(self, kernel: Kernel, threads: int):
        """`threads` are those of a CTA."""
        self.all: list[OperationClass] = []
        count = len(kernel.code)
        self.reads, self.writes, self.fences = [NO_CLASS] * count, [NO_CLASS] * count, [NO_CLASS] * count
        self.roles = [_role(op.plan.meaning.effect, threads) for op in kernel.code]
        self.objects = 0
        #: the instructions by which products of warpgroups read memory
        self._of_products = {i for i, op in enumerate(kernel.code) if _is_of_product(op)}
        #: those with which objects begin
        self.begins = {i for i, op in enumerate(kernel.code) if _begins_object(op.plan.meaning.effect)}
        for i, op in enumerate(kernel.code):
            self._note(i, op)
        completing = [_completes_on_object(op.plan.meaning.effect) for op in kernel.code]
        if any(completing):
            self.objects = count
            for lists, none in ((self.reads, NO_CLASS), (self.writes, NO_CLASS), (self.fences, NO_CLASS)):
                lists += [none] * count
            self.roles += [shadow.NOTHING] * count
            end = contracts.objects.AT_THE_END
            made = OperationClass(
                OperationKind.ATOMIC, end["order"], end["scope"], Proxy.GENERIC, OBJECT_BITS // 8, on_object=True
            )
            for i, completes in enumerate(completing, count):
                if completes:
                    self.reads[i], self.writes[i] = LATER, self._number(made)
        self._strong = self._table(morally_strong())
        self._connected = self._table(contracts.races.needs_no_proxy_fence)
        self._spared = self._strong | self._table(contracts.races.are_on_objects)
        #: what `links` has answered: many accesses are of few classes
        self._links: dict[tuple[int, int], bool] = {}

    def _note(self, i: int, op: Op) -> None:
        kinds, whole = OperationKind, op.plan.meaning.effect
        match whole:
            case effects.Load() | effects.Store() | effects.Update() as effect:
                made = OperationClass.of_access(effect, bool(op.plan.meaning.results))
                number = self._number(made)
                if made.kind is not kinds.READ:
                    self.writes[i] = number
                self.reads[i] = {kinds.READ: number, kinds.WRITE: NO_CLASS}.get(made.kind, LATER)
            case effects.Initiate() as effect:
                reads = OperationClass(kinds.READ, Order.WEAK, None, effect.proxy, shadow.CELL)
                writes = OperationClass.of_change(effect) if effect.change else reads._replace(kind=kinds.WRITE)
                self.reads[i], self.writes[i] = self._number(reads), self._number(writes)
            case effects.ImageAccess() as effect:
                for kind, numbers in ((kinds.READ, self.reads), (kinds.WRITE, self.writes)):
                    numbers[i] = self._number(OperationClass(kind, Order.WEAK, None, effect.proxy, shadow.CELL))
            case effects.Fence() as effect:
                of_proxies = kinds.PROXY_FENCE if effect.proxies else kinds.FENCE
                made = OperationClass(of_proxies, effect.order, effect.scope, Proxy.GENERIC, 0, effect.proxies)
                self.fences[i] = self._number(made)
            case (
                effects.GridDependency()
                | effects.Check()
                | effects.Report()
                | effects.Examine()
                | effects.Advance()
                | effects.Follow()
                | effects.Await()
                | None
            ):
                pass
            case effects.Initialize() | effects.StackEnd() | effects.Reserve() | effects.Release():
                pass
            case (
                effects.Collective()
                | effects.Arrive()
                | effects.Wait()
                | effects.ClusterArrive()
                | effects.ClusterWait()
            ):
                pass  # see _role
            case (
                effects.Branch()
                | effects.IndexedBranch()
                | effects.Call()
                | effects.Return()
                | effects.Exit()
                | effects.Stop()
            ):
                pass
            case _:
                assert_never(whole)

    def _number(self, made: OperationClass) -> int:
        if made not in self.all:
            self.all.append(made)
        return self.all.index(made)

    def _table(self, holds: Callable[[Operation, Operation], bool]) -> np.ndarray:
        """Of which two classes something holds, by how near their threads are."""
        table = np.zeros((len(self.all), len(self.all), shadow.LEVELS), np.int64)
        for level, (thread, place) in _PLACES.items():
            for i, first in enumerate(self.all):
                for k, second in enumerate(self.all):
                    table[i, k, level] = holds(first.operation(), second.operation(thread, place, 1))
        return table

    @cached_property
    def tables(self) -> dict[str, np.ndarray]:
        """What shadow.py looks up, by its names."""
        pairs = [word for both in zip(self.reads, self.writes, strict=True) for word in both]
        weak = [int(not contracts.operations.is_strong(kind.operation())) for kind in self.all]
        tables = {
            "class_of": pairs, "role": self.roles, "asks_host": [int(self._asks(i)) for i in range(len(self.reads))],
            "part_of": [self.all[n].size if n >= 0 else shadow.CELL for n in map(max, self.reads, self.writes)],
            "quick": [int(self._is_quick(i)) for i in range(len(self.reads))],
            "forgotten": [int(i in self._of_products) for i in range(len(self.reads))],
            "spared": self._spared.ravel().tolist(), "connected": self._connected.ravel().tolist(), "is_weak": weak,
        }  # fmt: skip
        return {name: np.array(words or [0], np.int64) for name, words in tables.items()}

    # what the pages say of classes -----------------------------------------------------------------------------------------

    @cached_property
    def synchronizes(self) -> bool:
        """Whether some instruction releases or acquires."""
        page = contracts.synchronization
        return any(page.releases(o) or page.acquires(o) for o in (kind.operation() for kind in self.all))

    @cached_property
    def has_narrow(self) -> bool:
        """Whether some strong operation has a scope that does not include the grid."""
        far = _PLACES[shadow.SAME_GRID]
        strong = [kind for kind in self.all if contracts.operations.is_strong(kind.operation())]
        return not all(contracts.scopes.scope_includes(kind.operation(), kind.operation(*far)) for kind in strong)

    def _asks(self, i: int) -> bool:
        """Whether the host looks at the accesses of an instruction."""
        number = max(self.reads[i], self.writes[i])
        strong = number >= 0 and contracts.operations.is_strong(self.all[number].operation())
        return self.synchronizes and (strong or i in self.begins)

    def _is_quick(self, i: int) -> bool:
        """Whether the accesses of an instruction are weak ones of four bytes, in a kernel without proxies."""
        numbers = {self.reads[i], self.writes[i]} - {NO_CLASS}
        if i in self._of_products:
            return False
        if not self._connected.all() or len(numbers) != 1 or (number := numbers.pop()) < 0:
            return False
        return self.all[number].size == shadow.CELL and not contracts.operations.is_strong(self.all[number].operation())

    def are_on_objects(self, first: int, second: int) -> bool:
        """Whether operations of two classes are steps on an object."""
        return contracts.races.are_on_objects(self.all[first].operation(), self.all[second].operation())

    def strong(self, first: int, second: int, level: int) -> bool:
        """Whether operations of two classes are morally strong, if they overlap completely."""
        return bool(self._strong[first, second, level])

    def connected(self, first: int, second: int, level: int) -> bool:
        """Whether base causality orders accesses of two classes without a proxy fence."""
        return bool(self._connected[first, second, level])

    def is_atomic(self, kind: int) -> bool:
        return contracts.operations.is_atomic(self.all[kind].operation())

    def is_release(self, kind: int) -> bool:
        return contracts.synchronization.releases(self.all[kind].operation())

    def begins_acquire(self, kind: int) -> bool:
        """Whether an operation of the class can begin an acquire pattern that some later one ends."""
        fence = OperationClass(OperationKind.FENCE, Order.ACQUIRE, Scope.SYS, Proxy.GENERIC, 0)
        return contracts.synchronization.acquire_pattern(self.all[kind].operation(), fence.operation(position=1))

    def releases(self, first: int, last: int) -> bool:
        """Whether two classes begin and end a release pattern; if they are the same, it is one operation."""
        return self._pattern(contracts.synchronization.release_pattern, first, last)

    def acquires(self, first: int, last: int) -> bool:
        """Likewise an acquire pattern."""
        return self._pattern(contracts.synchronization.acquire_pattern, first, last)

    def _pattern(self, holds: Callable[[Operation, Operation], bool], first: int, last: int) -> bool:
        begin = self.all[first].operation()
        return holds(begin, begin if first == last else self.all[last].operation(position=1))

    def is_sequential(self, kind: int) -> bool:
        """Whether an operation is a fence of those that have an order among themselves."""
        operation = self.all[kind].operation()
        return contracts.operations.is_fence(operation) and contracts.synchronization.ordered_fences(
            operation, operation
        )

    def scopes_within(self, kind: int, cta: int, cluster: int) -> list[tuple[int, int]]:
        """The scopes that the scope of an operation includes, itself among them, each with the number of the threads that it is
        of: two fences are morally strong if they have one of these in common."""
        fences, keys = self.all[kind], []
        for level in (shadow.SAME_CTA, shadow.SAME_CLUSTER, shadow.SAME_GRID):
            if contracts.scopes.scope_includes(fences.operation(), fences.operation(*_PLACES[level])):
                keys.append((level, {shadow.SAME_CTA: cta, shadow.SAME_CLUSTER: cta // cluster}.get(level, 0)))
        return keys

    def links(self, fence: int, kind: int) -> bool:
        """Whether a proxy fence orders accesses of a class with generic ones, in either direction, in its CTA."""
        if (fence, kind) not in self._links:
            page, by, at = contracts.causality, self.all[kind].operation(), self.all[fence].operation()
            self._links[fence, kind] = page.leads_out(by, at) or page.leads_in(at, by)
        return self._links[fence, kind]


def _completes_on_object(effect: effects.Effect | None) -> bool:
    """Whether an instruction initiates an operation that completes on an object in memory."""
    return isinstance(effect, effects.Initiate | effects.Follow) and isinstance(effect.completion, ObjectCompletion)


def _begins_object(effect: effects.Effect | None) -> bool:
    """Whether an object begins with an instruction."""
    return isinstance(effect, effects.Load | effects.Update) and effect.life is effects.Life.BEGINS


def _is_of_product(op: Op) -> bool:
    """Whether a product of a warpgroup reads memory by an instruction."""
    role = op.plan.form.definition.product
    return role is not None and role.step is None and isinstance(op.plan.meaning.effect, effects.Load)


def _role(effect: effects.Effect | None, threads: int) -> int:
    """What an instruction has to do with synchronization."""
    page, place = contracts.synchronization, HERE[1]

    def meets(kind: OperationKind, order: Order | None = None) -> bool:
        arrival = Operation(kind, 0, place, 0, "", order)
        return page.meet(arrival, Operation(OperationKind.BARRIER, 1, place, 0, ""))

    match effect:
        case effects.Wait():
            count = effect.threads
            whole = count is None or (count.lo == count.hi == threads)
            return shadow.WHOLE_CTA if whole else shadow.COUNTED
        case effects.Arrive():
            return shadow.COUNTED_ARRIVAL
        case effects.ClusterArrive():
            tells = meets(OperationKind.ARRIVAL, effect.order)
            return shadow.CLUSTER_ARRIVAL if tells else shadow.RELAXED_ARRIVAL
        case effects.ClusterWait():
            return shadow.CLUSTER_WAIT
        case effects.Collective() if effect.order is not None:
            return shadow.WARP if meets(OperationKind.BARRIER, effect.order) else shadow.NOTHING
        case _:
            return shadow.NOTHING
