"""Whether a rewrite of a thread's adjacent operations is right in every program, shown without looking at programs.

Each operation of the original has one of the rewritten program that stands for it; the others of the program, of this thread and
of all others, stand for themselves. An execution of the rewritten program becomes one of the original: reads read from the
same writes, and what is chosen of two operations is what is chosen of those that stand for them. If each pair of
each relation of that execution has a pair that stands for it, an axiom which the original breaks is broken by the rewritten
program too, since no axiom takes pairs away; so the original allows all that the rewritten program does.

What is computed of a relation are the pairs that *may* be related in the original, and those among them that may have no pair
to stand for them, which are *lost*. All other operations are there at once, as the kinds of operations that there are: of two
of them nothing is assumed but that neither the rewrite nor a relation's definition tells them from before. A lost step of a
closure is made good if whatever comes before it, or whatever follows it, leads on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import product
from operator import and_, or_
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.rewrites.steps import RewriteStep
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace
from ptxspec.terms.orders import Order, Proxy, Scope
from ptxspec.terms.relations import Claim, MemoryModel, Relation

#: where the thread of the rewrite runs, and where others may, one of each kind
HERE = ThreadPlace(0, 0, 0)
ELSEWHERE = (ThreadPlace(0, 0, 0), ThreadPlace(1, 0, 0), ThreadPlace(2, 1, 0), ThreadPlace(3, 2, 1))
#: positions of the thread before and behind all of a rewrite
BEFORE, BEHIND = -1, 1_000


class _Reads:
    """Reads on which an operation depends: any, of which nothing is known."""

    def __contains__(self, operation: object) -> bool:
        return isinstance(operation, Operation) and bool(contracts.operations.reads(operation))


_ANY: Any = _Reads()
#: the kinds of operations that may be around: programs without asynchronous operations, as the page says
_ASYNCHRONOUS = (OperationKind.SOURCES_READ, OperationKind.COMPLETION, OperationKind.GROUP_WAIT)
_AROUND = [kind for kind in OperationKind if kind not in _ASYNCHRONOUS]


class Pairs(NamedTuple):
    """A relation of a rewrite's operations and those around. For each operation of the rewrite, by number: bits of those of the
    rewrite that it is related to (`inner`), of the kinds around that it is related to (`out`), and of the kinds that are related
    to it (`back`). `around` says whether two others may be related."""

    inner: tuple[int, ...]
    out: tuple[int, ...]
    back: tuple[int, ...]
    around: bool

    def _with(self, other: Pairs, join: Callable[[int, int], int], around: bool) -> Pairs:
        inner, out, back = (tuple(map(join, a, b)) for a, b in zip(self[:3], other[:3], strict=True))
        return Pairs(inner, out, back, around)

    def __or__(self, other: Pairs) -> Pairs:
        return self._with(other, or_, self.around or other.around)

    def __and__(self, other: Pairs) -> Pairs:
        return self._with(other, and_, self.around and other.around)

    def without(self, other: Pairs) -> Pairs:
        """The pairs that the other one certainly does not have; of two around, all."""
        return self._with(other, lambda x, y: x & ~y, self.around)

    def inverse(self) -> Pairs:
        n = range(len(self.inner))
        return Pairs(
            tuple(sum(1 << q for q in n if self.inner[q] >> p & 1) for p in n), self.back, self.out, self.around
        )

    def then(self, other: Pairs, everything: int) -> Pairs:
        """The composition: through an operation of the rewrite, or through others. `everything` are the bits of all kinds, or 0
        if none may be there."""
        n = range(len(self.inner))
        met = [sum(1 << q for q in n if everything and self.out[p] & other.back[q]) for p in n]
        inner = [met[p] | _union(other.inner[r] for r in n if self.inner[p] >> r & 1) for p in n]
        out = [
            _union(other.out[r] for r in n if self.inner[p] >> r & 1)
            | (everything if other.around and self.out[p] else 0)
            for p in n
        ]
        back = [
            _union(self.back[r] for r in n if other.inner[r] >> q & 1)
            | (everything if self.around and other.back[q] else 0)
            for q in n
        ]
        around = (self.around and other.around) or any(self.back[p] and other.out[p] for p in n)
        return Pairs(tuple(inner), tuple(out), tuple(back), bool(everything) and around)

    def closed(self, everything: int) -> Pairs:
        rows = self
        while (further := rows | rows.then(rows, everything)) != rows:
            rows = further
        return rows

    @property
    def any(self) -> bool:
        return self.around or any(map(any, self[:3]))


def _union(words: Iterator[int]) -> int:
    result = 0
    for word in words:
        result |= word
    return result


def kinds_around(places: Sequence[ByteRange]) -> list[Operation]:
    """One operation of each kind that may be around a rewrite which accesses these bytes: before it and behind it in its thread,
    and in others."""
    threads = [(0, HERE, BEFORE), (0, HERE, BEHIND), *((1 + k, place, 0) for k, place in enumerate(ELSEWHERE))]
    elsewhere = ByteRange("elsewhere", 0, 4)
    ranges = [(elsewhere, elsewhere)]
    for place in places:
        alias, part = place._replace(object=f"alias of {place.object}"), place._replace(size=max(1, place.size // 2))
        ranges += [(place, place), (alias, place), *([] if part == place else [(part, part)])]
        if part == place:  # of a byte there is no part: then the other one is larger
            ranges.append((place._replace(size=2), place._replace(size=2)))
    ordered = [(Order.WEAK, None), *product([o for o in Order if o not in (Order.WEAK, Order.SC)], Scope)]
    kinds: list[Operation] = []
    memory = (OperationKind.READ, OperationKind.WRITE, OperationKind.ATOMIC, OperationKind.REDUCTION)
    for (thread, where, at), kind in product(threads, _AROUND):

        def add(order: Order | None, scope: Scope | None = None, **more: Any) -> None:
            kinds.append(Operation(kind, thread, where, at, "", order, scope, depends_on=_ANY, **more))  # noqa: B023

        if kind in memory:
            for (order, scope), (address, here), proxy in product(ordered, ranges, (Proxy.GENERIC, Proxy.TEXTURE)):
                add(order, scope, address=address, location=here, proxy=proxy)
        elif kind is OperationKind.FENCE:
            for order, scope in product(Order, Scope):
                add(order, scope)
        elif kind is OperationKind.PROXY_FENCE:
            pairs = [pair for p in (Proxy.TEXTURE, Proxy.ALIAS) for pair in ((p, Proxy.GENERIC), (Proxy.GENERIC, p))]
            for order, scope, pair in product((None, *Order), Scope, pairs):
                add(order, scope, proxies=pair)
        else:
            for order in (None, *Order):
                add(order, barrier="barrier")
    nowhere = ThreadPlace(-1, -1, -1)
    for here in dict.fromkeys(here for _, here in ranges):
        kinds.append(Operation(OperationKind.WRITE, None, nowhere, 0, "", address=here, location=here))
    return kinds


class Row(NamedTuple):
    """Of an operation and a predicate: the kinds around of which it is true behind the operation, and before it."""

    out: int
    back: int


@lru_cache(maxsize=8)
def claims(model: MemoryModel) -> dict[str, Claim]:
    """The axioms, by their names: the same relations each time."""
    return {name: axiom.claim(model) for name, axiom in contracts.axioms.ALL.items()}


@lru_cache(maxsize=64)
def _around(places: tuple[ByteRange, ...], known: bool = False) -> tuple[Operation, ...]:
    return tuple(replace(o, depends_on=()) for o in _around(places)) if known else tuple(kinds_around(places))


_rows: dict[tuple[object, ...], Row] = {}


def _row(relation: Relation, step: RewriteStep, known: bool, places: tuple[ByteRange, ...]) -> Row:
    """The row of a step, at any position of a rewrite; if `known`, of what is known to be so."""
    key = relation, step.shape, known, places
    if key not in _rows:
        holds, operation = relation.predicate, _operation(step, 0, known)
        assert holds is not None
        out = back = 0
        for i, other in enumerate(_around(places, known)):
            out |= bool(holds(operation, other)) << i
            back |= bool(holds(other, operation)) << i
        _rows[key] = Row(out, back)
    return _rows[key]


def _operation(step: RewriteStep, at: int, known: bool) -> Operation:
    operation = step.operation(0, HERE, at)
    if not known:
        object.__setattr__(operation, "depends_on", _ANY)
    return operation


class _Program:
    """One side of a rewrite, and what may be related in it, or is known to be."""

    def __init__(self, steps: Sequence[RewriteStep], places: tuple[ByteRange, ...]):
        self.steps, self.places = steps, places
        self.everything = (1 << len(_around(places))) - 1
        self._leaves: dict[tuple[Relation, bool], Pairs] = {}
        self._known: dict[Relation, Pairs] = {}
        self._operations = {known: [_operation(s, i, known) for i, s in enumerate(steps)] for known in (False, True)}

    def pairs(self, relation: Relation, known: bool = False) -> Pairs:
        """The pairs of a predicate. Of two around, it may be true and is not known to be."""
        key = relation, known
        if key not in self._leaves:
            holds, operations = relation.predicate, self._operations[known]
            assert holds is not None
            rows = [_row(relation, step, known, self.places) for step in self.steps]
            inner = tuple(sum(bool(holds(a, b)) << k for k, b in enumerate(operations)) for a in operations)
            self._leaves[key] = Pairs(inner, tuple(r.out for r in rows), tuple(r.back for r in rows), not known)
        return self._leaves[key]

    def nothing(self) -> Pairs:
        none = (0,) * len(self.steps)
        return Pairs(none, none, none, False)

    def known(self, relation: Relation) -> Pairs:
        """Pairs that are related in every execution, with no others between than operations of the rewrite."""
        if relation not in self._known:
            self._known[relation] = self._computed_known(relation)
        return self._known[relation]

    def _computed_known(self, relation: Relation) -> Pairs:
        match relation.operator:
            case "pairs":
                return self.pairs(relation, True)
            case "given" | "accesses byte" | "any byte":
                return self.nothing()
            case "closure":
                return self.known(relation.parts[0]).closed(0)
            case "inverse":
                return self.known(relation.parts[0]).inverse()
            case "or same":
                same = tuple(1 << i for i in range(len(self.steps)))
                return self.known(relation.parts[0]) | self.nothing()._replace(inner=same)
            case "difference":
                return self.nothing()
        first, second = (self.known(part) for part in relation.parts)
        if relation.operator == "then":
            return first.then(second, 0)
        return first | second if relation.operator == "union" else first & second


class Simulation:
    """A rewrite: the operations of the original and those that replace them, and for each of the original the number of the one
    that stands for it."""

    def __init__(
        self, model: MemoryModel, before: Sequence[RewriteStep], after: Sequence[RewriteStep], stands: Sequence[int]
    ):
        steps = [s for s in (*before, *after) if s.location]
        places = tuple(dict.fromkeys(ByteRange(s.location, 0, s.size) for s in steps))
        self.model, self.stands = model, tuple(stands)
        self.old, self.new = _Program(before, places), _Program(after, places)
        self.everything = self.old.everything
        self._strong = contracts.scopes.morally_strong(model)
        self._may: dict[Relation, Pairs] = {}
        self._lost: dict[Relation, Pairs] = {}
        page = contracts.rewrites
        self._never_reflexive = [c.relation for c in claims(model).values() if c.says in ("irreflexive", "acyclic")]
        self._never_reflexive += [page.keeps_observations(model).relation, page.keeps_patterns(model).relation]
        these, precedes = page.keeps_base_causality(model).relation.parts
        if all(row >> i & 1 for i, row in enumerate(self.old.pairs(these).inner)):
            self._never_reflexive.append(precedes)
        #: writes for which one stands that follows them: nothing reads from them
        self.unread = {p for p, q in enumerate(stands) if before[p].does_write and q in stands[p + 1 :]}

    def _image(self, pairs: Pairs) -> Pairs:
        """The pairs of the original for which pairs of the rewritten program stand."""
        inner = tuple(
            sum(1 << q for q, to in enumerate(self.stands) if pairs.inner[at] >> to & 1) for at in self.stands
        )
        out, back = (tuple(part[at] for at in self.stands) for part in (pairs.out, pairs.back))
        return Pairs(inner, out, back, pairs.around)

    @property
    def merged(self) -> Pairs:
        """Pairs for which one operation stands."""
        same = (sum(1 << q for q, to in enumerate(self.stands) if to == at) for at in self.stands)
        return self.old.nothing()._replace(inner=tuple(same))

    # what an execution chooses ------------------------------------------------------------------------------------------

    def _chosen(self, relation: Relation) -> tuple[Pairs, Pairs]:
        """Of what an execution chooses: the pairs that may be chosen, and those that are lost."""
        (given,) = relation.givens
        if given == "reads from":
            readers = self.old.pairs(_MAY_READ).without(
                self._before(contracts.causality.causality(self.model)).inverse()
            )
            for p in self.unread:
                inner = tuple(0 if i == p else row for i, row in enumerate(readers.inner))
                out = tuple(0 if i == p else row for i, row in enumerate(readers.out))
                readers = readers._replace(inner=inner, out=out)
            return readers, readers & self.merged
        if given == "same phase":
            return self.old.nothing()._replace(around=True), self.old.nothing()
        concerned = _FENCES if given == "fenced before" else _WRITES
        may = self.old.pairs(concerned) & self.old.pairs(self._strong)
        image = self._image(self.new.pairs(concerned, True) & self.new.pairs(self._strong, True))
        # the first of two for which one stands is the one that is first in the program
        order = self.old.pairs(_IN_ORDER)
        backwards = (self.merged & may).without(order)
        may = Pairs(tuple(x & ~y for x, y in zip(may.inner, backwards.inner, strict=True)), *may[1:])
        lost = may.without(image)._replace(around=False)
        return may, lost

    def _before(self, relation: Relation) -> Pairs:
        """The pairs for which known ones of the rewritten program stand."""
        return self._image(self.new.known(relation))

    # relations ----------------------------------------------------------------------------------------------------------

    def may(self, relation: Relation) -> Pairs:
        """The pairs of the original that may be related."""
        if relation not in self._may:
            may = self._computed_may(relation)
            if any(
                _is_alike(relation, other) for other in self._never_reflexive
            ):  # of two for which one stands, that would be related to itself
                never = self.merged.without(self.lost(relation))
                may = may._replace(inner=tuple(x & ~y for x, y in zip(may.inner, never.inner, strict=True)))
            self._may[relation] = may
        return self._may[relation]

    def _computed_may(self, relation: Relation) -> Pairs:
        match relation.operator:
            case "pairs":
                return self.old.pairs(relation)
            case "given":
                return self._chosen(relation)[0]
            case "accesses byte":
                return self.old.pairs(_ACCESS)
            case "any byte":
                return self.may(relation.parts[0])
            case "closure":
                closed = self.may(relation.parts[0]).closed(self.everything)
                # who observes is morally strong with whom it observes, step by step: they access the same bytes
                is_observed = relation is contracts.synchronization.observation(self.model)
                return closed & self.old.pairs(_SAME_BYTES) if is_observed else closed
            case "inverse":
                return self.may(relation.parts[0]).inverse()
            case "or same":
                same = tuple(1 << i for i in range(len(self.stands)))
                return self.may(relation.parts[0]) | Pairs(same, *self.old.nothing()[1:3], True)
        first, second = (self.may(part) for part in relation.parts)
        match relation.operator:
            case "union":
                return first | second
            case "intersection":
                return first & second
            case "then":
                return first.then(second, self.everything)
        raise AssertionError(f"{relation.operator}: more pairs could break fewer axioms")

    def lost(self, relation: Relation) -> Pairs:
        """The pairs of the original that may be related although none stands for them, which is not so of known ones."""
        if relation not in self._lost:
            computed = self._computed_lost(relation)
            self._lost[relation] = computed.without(self._before(relation)) if computed.any else computed
        return self._lost[relation]

    def _computed_lost(self, relation: Relation) -> Pairs:
        parts = relation.parts
        match relation.operator:
            case "pairs":
                return self.old.pairs(relation).without(self._image(self.new.pairs(relation)))._replace(around=False)
            case "given":
                return self._chosen(relation)[1]
            case "accesses byte":
                return self.old.pairs(_ACCESS).without(self._image(self.new.pairs(_ACCESS)))._replace(around=False)
            case "any byte" | "or same":
                return self.lost(parts[0])
            case "inverse":
                return self.lost(parts[0]).inverse()
            case "closure":
                return self._lost_by_steps(parts[0])
        first, second = (self.lost(part) for part in parts)
        match relation.operator:
            case "union":
                return first | (second if not self._goes_on_without(*parts) else self._lost_before(parts[1]))
            case "intersection":
                return (first & self.may(parts[1])) | (second & self.may(parts[0]))
            case "then":
                through = self.everything
                return first.then(self.may(parts[1]), through) | self.may(parts[0]).then(second, through)
        raise AssertionError(relation.operator)

    def _goes_on_without(self, last: Relation, chain: Relation) -> bool:
        """Of a pair of `last`, or steps and then a pair of `last`: whether a lost pair of `last` is made good, because whatever
        leads to it by a step is known to be in a pair of `last` without it."""
        if chain.operator != "then" or chain.parts[1] is not last or chain.parts[0].operator != "closure":
            return False
        return self._led_to(self.lost(last), self.may(chain.parts[0].parts[0]), self._before(last))

    def _lost_before(self, chain: Relation) -> Pairs:
        """The pairs of a chain of two relations that are lost because one of the first is."""
        return self.lost(chain.parts[0]).then(self.may(chain.parts[1]), self.everything)

    def _lost_by_steps(self, step: Relation) -> Pairs:
        """The pairs that are lost where steps of a relation lead from one to the other."""
        lost, may = self.lost(step), self.may(step)
        if not lost.any:
            return lost
        merged = lost & self.merged
        open_ones = lost.without(merged)
        whole = may.closed(self.everything)
        result = merged.closed(0)
        if not open_ones.any:
            return result
        known = self._image(self.new.known(step).closed(0))
        before, behind = self._led_to(open_ones, may, known), self._led_on(open_ones, may, known)
        result = result | open_ones
        if not before:
            result = result | whole.then(open_ones, self.everything)
        if not behind:
            result = result | open_ones.then(whole, self.everything)
        if not before and not behind:
            result = result | whole.then(open_ones, self.everything).then(whole, self.everything)
        return result

    def _led_to(self, lost: Pairs, may: Pairs, known: Pairs) -> bool:
        """Whether all that may lead to the first operation of a lost step is known to lead to the second one."""
        if lost.around or any(lost.out) or any(lost.back):
            return False
        n = range(len(self.stands))
        return all(
            not may.back[p] & ~known.back[q] and all(known.inner[r] >> q & 1 for r in n if may.inner[r] >> p & 1)
            for p in n
            for q in n
            if lost.inner[p] >> q & 1
        )

    def _led_on(self, lost: Pairs, may: Pairs, known: Pairs) -> bool:
        """Whether all to which the second operation of a lost step may lead is known to follow the first one."""
        return self._led_to(lost.inverse(), may.inverse(), known.inverse())

    # axioms -------------------------------------------------------------------------------------------------------------

    def keeps(self, claim: Claim) -> bool:
        """Whether the original keeps an axiom if the rewritten program does."""
        if claim.says == "acyclic" and self._keeps_cycles(claim.relation):
            return True
        lost = self._lost_by_steps(claim.relation) if claim.says == "acyclic" else self.lost(claim.relation)
        if claim.says == "empty":
            return not lost.any
        lost = lost & self._lost_of_chains(claim.relation)
        return not lost.around and not any(row >> i & 1 for i, row in enumerate(lost.inner))

    def _lost_of_chains(self, relation: Relation) -> Pairs:
        """The lost pairs of a relation, of each chain of relations in it by itself, from the left: more is known of some."""
        if relation.operator == "then":
            first, second = relation.parts
            if second.operator == "union":
                return reduce(or_, (self._lost_of_chains(first >> part) for part in second.parts))
            if second.operator == "then":
                return self._lost_of_chains(first >> second.parts[0] >> second.parts[1])
        return self.lost(relation)

    def _keeps_cycles(self, step: Relation) -> bool:
        """Whether a cycle of steps in the original is one without its lost steps, too: what leads to the first operation of each
        leads to the second one, or what follows the second one follows the first. Of two steps there and back, one of which is
        known and the other one not lost, there is none: the rewritten program would have that cycle."""
        lost, known = self.lost(step), self._image(self.new.known(step).closed(0))
        if (lost & self.merged).any:
            return False
        never = self._before(step).inverse().without(lost)
        may = self.may(step).without(never)
        return self._led_to(lost, may, known) or self._led_on(lost, may, known)

    @property
    def broken(self) -> str:
        """An axiom, or else what a program leaves, of which it is not shown that the original allows what the rewritten
        program does; "" if that is shown of all."""
        for name, claim in claims(self.model).items():
            if not self.keeps(claim):
                return name
        # a write that is the last one stays the last one
        if self.lost(contracts.coherence.coherence(self.model)).without(self.merged).any:
            return "the last write"
        # a race of mixed size stays one
        page, causality = contracts.races, contracts.causality.causality(self.model)
        for order in (causality, self._strong):
            if (self.lost(order) & self.old.pairs(_MIXED)).any:
                return page.mixed_size_races.__name__
        return ""


def _is_alike(a: Relation, b: Relation) -> bool:
    """Whether two expressions are the same."""
    same = (a.operator, a.predicate, a.givens, len(a.parts)) == (b.operator, b.predicate, b.givens, len(b.parts))
    return a is b or (same and all(map(_is_alike, a.parts, b.parts)))


def _may_read(a: Operation, b: Operation) -> bool:
    page = contracts.operations
    return bool(page.writes(a) and page.reads(b) and page.same_location(a, b) and a is not b)


def _accesses(a: Operation, b: Operation) -> bool:
    return a is b and bool(contracts.operations.accesses_memory(a))


def _mixed(a: Operation, b: Operation) -> bool:
    return bool(contracts.races.conflict(a, b) and not contracts.operations.overlap_completely(a, b))


def _access_the_same(a: Operation, b: Operation) -> bool:
    return a.address == b.address


#: what is so of two operations by themselves, of which an execution chooses
_MAY_READ, _ACCESS, _MIXED, _SAME_BYTES = (
    Relation("pairs", predicate=f) for f in (_may_read, _accesses, _mixed, _access_the_same)
)
_FENCES = Relation("pairs", predicate=lambda a, b: a is not b and contracts.synchronization.ordered_fences(a, b))
_WRITES = Relation("pairs", predicate=lambda a, b: a is not b and contracts.coherence.ordered_writes(a, b))
_IN_ORDER = Relation("pairs", predicate=lambda a, b: contracts.operations.precedes(a, b))
