"""The program of a litmus test: its variables, its threads, and what a choice of one path for each thread executes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.litmus.threads import ThreadOperation, ThreadPath, Variable
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.core import Bool, Int, constant
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace
from ptxspec.terms.registries import RULES
from ptxspec.terms.vocabulary import variables_in

#: a thread of a test stands for a warp of threads that do the same, where a barrier counts them
WARP = contracts.warps.LANES
#: ways in which the arrivals at barriers may belong to phases, at most
MOST_PHASES = 10_000


class Piece(NamedTuple):
    """Bytes of memory that every operation accesses all or none of; bits of the operations that access them, and that write
    them."""

    bytes: ByteRange
    accessed_by: int
    written_by: int
    read_by: int


@lru_cache(maxsize=1024)
def _initializing(here: ByteRange, text: str) -> Operation:
    """The write that gives bytes their first value: the same each time, so that what is known of it stays known."""
    nowhere = ThreadPlace(-1, -1, -1)
    return Operation(OperationKind.WRITE, None, nowhere, 0, text, address=here, location=here)


class ObjectOrder(NamedTuple):
    """An order of the steps on all objects, each after those before it. `sources` has the step, or the write that initializes the
    object, from which each reads, by the piece and the reader; `before` relates each step that writes to those that do later, and
    `phases` what takes part in a phase to the waits that see that complete, both as rows. `broken` is the rule that a step
    breaks, and which step does, if one does."""

    sources: dict[tuple[int, int], int]
    before: list[int]
    phases: list[int]
    broken: str = ""


class Combination:
    """One path for each thread. `operations` are first those that initialize memory, then those of the threads."""

    def __init__(self, variables: Mapping[str, Variable], paths: Sequence[ThreadPath]):
        self.paths = paths
        self.noted: list[ThreadOperation | None] = []
        self.operations: list[Operation] = []
        self._initial: dict[int, int] = {}
        for variable in variables.values():
            if not variable.location:
                here = ByteRange(variable.name, 0, variable.size)
                self._initial[len(self.operations)] = variable.initial
                text = f"{variable.name} = {variable.initial}" if variable.size <= 8 else f"{variable.name} at first"
                self.noted.append(None)
                self.operations.append(_initializing(here, text))
        for path in paths:
            self.noted += path.operations
            self.operations += [noted.operation for noted in path.operations]
        self.pieces = self._pieces()

    def _pieces(self) -> list[Piece]:
        bounds: dict[str, set[int]] = {}
        for operation in self.operations:
            here = operation.location
            if here is not None:
                bounds.setdefault(here.object, set()).update((here.offset, here.offset + here.size))
        pieces = []
        for name, ends in bounds.items():
            cuts = sorted(ends)
            for begin, end in pairwise(cuts):
                here = ByteRange(name, begin, end - begin)
                pieces.append(
                    Piece(here, *(self._bits_of(here, what) for what in ("accesses_memory", "writes", "reads")))
                )
        return pieces

    def _bits_of(self, here: ByteRange, what: str) -> int:
        is_so = getattr(contracts.operations, what)
        return sum(
            1 << i
            for i, operation in enumerate(self.operations)
            if is_so(operation) and operation.location is not None and operation.location.covers(here)
        )

    # what is read --------------------------------------------------------------------------------------------------------

    def readings(
        self, may_go_on: Callable[[list[list[int]]], bool], order: ObjectOrder
    ) -> Iterator[tuple[list[list[int]], dict[str, int] | None]]:
        """For each choice of the writes that pieces are read from: that as rows for each piece, and what is read; None if a value
        would be its own reason. Choices with which a path is not taken are left out, and those of which a part, as rows, may not
        go on. What is read of objects follows from the order of their steps."""
        slots = [*order.sources]
        slots += [
            (number, reader)
            for reader in range(len(self.operations))
            for number, piece in enumerate(self.pieces)
            if piece.read_by >> reader & 1 and (number, reader) not in order.sources
        ]
        yield from self._read_from(slots, order.sources, may_go_on)

    def _read_from(
        self,
        slots: list[tuple[int, int]],
        sources: dict[tuple[int, int], int],
        may_go_on: Callable[[list[list[int]]], bool],
    ) -> Iterator[tuple[list[list[int]], dict[str, int] | None]]:
        values = self._values(sources)
        if not all(evaluate(c, values) for c, names in self._conditions if names <= values.keys()):
            return
        rows = [[0] * len(self.operations) for _ in self.pieces]
        for (number, reader), writer in sources.items():
            rows[number][writer] |= 1 << reader
        if sources and not may_go_on(rows):
            return
        if len(sources) == len(slots):
            yield rows, values if len(values) == self._reads else None
            return
        number, reader = slots[len(sources)]
        for writer in range(len(self.operations)):
            if self.pieces[number].written_by >> writer & 1 and writer != reader:
                yield from self._read_from(slots, {**sources, (number, reader): writer}, may_go_on)

    @cached_property
    def _conditions(self) -> list[tuple[Bool, frozenset[str]]]:
        """The conditions of the paths, with the variables in each."""
        return [(c, _variables(c)) for path in self.paths for c in path.conditions]

    @cached_property
    def _reads(self) -> int:
        """How many operations read."""
        return sum(noted is not None and bool(noted.reads) for noted in self.noted)

    def _values(self, sources: Mapping[tuple[int, int], int]) -> dict[str, int]:
        """What each read returns, as far as that is known."""
        values: dict[str, int] = {}
        waiting = [i for i, noted in enumerate(self.noted) if noted is not None and noted.reads]
        while waiting:
            left = [i for i in waiting if not self._read(i, sources, values)]
            if len(left) == len(waiting):
                break
            waiting = left
        return values

    def _read(self, reader: int, sources: Mapping[tuple[int, int], int], values: dict[str, int]) -> bool:
        """Compute what an operation reads, if what it reads from is known."""
        noted, location = self.noted[reader], self.operations[reader].location
        assert noted is not None and location is not None
        result = 0
        for number, piece in enumerate(self.pieces):
            if piece.read_by >> reader & 1:
                writer = sources.get((number, reader))
                if writer is None or not self._reasons[writer] <= values.keys():
                    return False
                result |= self.written(writer, piece, values) << (8 * (piece.bytes.offset - location.offset))
        values[noted.reads] = result
        return True

    @cached_property
    def _reasons(self) -> list[frozenset[str]]:
        """For each operation the variables on which what it writes depends."""
        return [
            frozenset() if noted is None or noted.writes is None else _variables(noted.writes) for noted in self.noted
        ]

    def written(self, writer: int, piece: Piece, values: Mapping[str, int]) -> int:
        """What a write leaves in a piece."""
        noted, location = self.noted[writer], self.operations[writer].location
        assert location is not None
        if noted is None:
            whole = self._initial[writer]
        else:
            assert noted.writes is not None
            whole = value_of(noted.writes, values)
        return whole >> (8 * (piece.bytes.offset - location.offset)) & (1 << 8 * piece.bytes.size) - 1

    # objects -------------------------------------------------------------------------------------------------------------

    @cached_property
    def object_orders(self) -> list[ObjectOrder]:
        """The orders of the steps on objects with which the paths are taken. Raises Unsupported if there are too many, or if what
        a step makes of an object depends on what is read elsewhere."""
        steps: dict[str, list[int]] = {}
        for i, operation in enumerate(self.operations):
            if operation.on_object:
                assert operation.location is not None
                steps.setdefault(operation.location.object, []).append(i)
        orders = [ObjectOrder({}, [0] * len(self.operations), [0] * len(self.operations))]
        for name, members in steps.items():
            orders = [_joined(order, more) for order in orders for more in self._orders_of(name, members)]
            if len(orders) > MOST_PHASES:
                raise Unsupported(f"steps on objects may be in more than {MOST_PHASES:,} orders")
        return orders

    def _orders_of(self, name: str, members: list[int]) -> list[ObjectOrder]:
        """Those of one object."""
        (number,) = (k for k, piece in enumerate(self.pieces) if piece.bytes.object == name)
        (first,) = (i for i in bits(self.pieces[number].written_by) if self.operations[i].thread is None)
        precedes, of = contracts.operations.precedes, self.operations  # what contradicts that breaks an axiom
        before = {i: frozenset(k for k in members if precedes(of[k], of[i])) for i in members}
        made: list[ObjectOrder] = []
        for order in _linear(frozenset(members), before, lambda line: self._taken(number, first, line) is not None):
            taken = self._taken(number, first, order)
            assert taken is not None
            made.append(taken)
            if len(made) > MOST_PHASES:
                raise Unsupported(f"steps on {name} may be in more than {MOST_PHASES:,} orders")
        return made

    def _taken(self, number: int, first: int, line: tuple[int, ...]) -> ObjectOrder | None:
        """What becomes of an object when steps are taken in this order; None if some path is not taken then."""
        page, writes = contracts.objects, contracts.operations.writes
        word, source, values, phase, broken = self._initial[first], first, {}, 0, ""
        order = ObjectOrder({}, [0] * len(self.operations), [0] * len(self.operations))
        phase_of: dict[int, int] = {}
        written: list[int] = []
        for i in line:
            noted = self.noted[i]
            assert noted is not None
            order.sources[number, i], values[noted.reads], phase_of[i] = source, word, phase
            needs = [*noted.rules, *([] if noted.until is None else [("", noted.until)])]
            terms = [term for _, term in needs] + ([] if noted.writes is None else [noted.writes])
            if not _variables(*terms) <= values.keys():
                raise Unsupported(f"{self.operations[i].text}: what it does to the object depends on what is read")
            if not broken:
                broken = next((f"{noted_rule(name)}: {self.operations[i].text}" for name, term in noted.rules
                               if not evaluate(term, values)), "")  # fmt: skip
            if noted.until is not None and evaluate(noted.until, values):
                for k, other in phase_of.items():
                    if other == phase - 1:
                        order.phases[k] |= 1 << i
            if writes(self.operations[i]):
                assert noted.writes is not None
                after = value_of(noted.writes, values)
                phase += int(evaluate(page.phase_of(constant(word)) != page.phase_of(constant(after)), {}))
                for k in written:
                    order.before[k] |= 1 << i
                written.append(i)
                word, source = after, i
        if not all(evaluate(c, values) for c, names in self._conditions if names and names <= values.keys()):
            return None
        order.before[first] |= sum(1 << k for k in written)
        return order._replace(broken=broken)

    # barriers ------------------------------------------------------------------------------------------------------------

    @cached_property
    def phases(self) -> list[list[int]]:
        """The ways in which arrivals and waits may belong to phases, as rows of those that belong to one; none if on each a
        thread waits for ever."""
        meetings = contracts.synchronization
        barriers: dict[tuple[str, int], list[int]] = {}
        for i, operation in enumerate(self.operations):
            if operation.barrier:
                place = operation.place.cta if operation.barrier != "cluster" else operation.place.cluster
                barriers.setdefault((operation.barrier, place), []).append(i)
        ways: list[list[list[frozenset[int]]]] = []
        for (name, place), members in barriers.items():
            ways.append(self._phases_of(name, place, members, meetings))
        rows = []
        for choice in product(*ways):
            row, phases = [0] * len(self.operations), [phase for barrier in choice for phase in barrier]
            if not self._may_come_about(phases):
                continue
            for phase in phases:
                for i in phase:
                    row[i] |= sum(1 << k for k in phase)
            rows.append(row)
            if len(rows) > MOST_PHASES:
                raise Unsupported(f"the threads may meet at barriers in more than {MOST_PHASES:,} ways")
        return rows

    def _may_come_about(self, phases: list[frozenset[int]]) -> bool:
        """Whether phases end in some order: a thread that waits for one comes to the next only then."""
        waits, precedes = contracts.synchronization.waits, contracts.operations.precedes
        operations = self.operations
        before = {
            later: [
                phase
                for phase in phases
                if phase is not later
                and any(waits(operations[i]) and precedes(operations[i], operations[k]) for i in phase for k in later)
            ]
            for later in phases
        }
        try:
            TopologicalSorter(before).prepare()
        except CycleError:
            return False
        return True

    def _phases_of(self, name: str, place: int, members: list[int], meetings: Any) -> list[list[frozenset[int]]]:
        """The ways in which operations at one barrier belong to phases. At the barrier of a cluster, and at one of all threads
        of a CTA, each thread that comes at all takes part in each phase until it ends."""
        threads = {i: self.operations[i].thread for i in members}
        lines: dict[int | None, list[int]] = {}
        for i in members:
            lines.setdefault(threads[i], []).append(i)
        if name == "cluster":
            phases: dict[int, set[int]] = {}
            for line in lines.values():
                for kind in (meetings.arrives, meetings.waits):
                    for number, i in enumerate(i for i in line if kind(self.operations[i])):
                        phases.setdefault(number, set()).add(i)
            return [[frozenset(p) for p in phases.values()]]
        counts = {self._count(i) for i in members}
        if counts == {None}:
            longest = max(map(len, lines.values()))
            return [[frozenset(line[n] for line in lines.values() if n < len(line)) for n in range(longest)]]
        if len(counts) > 1:
            raise Unsupported(f"barrier {name}: {_rule('barrier counts differ')}")
        (count,) = counts
        if not count or count % WARP:
            raise Unsupported(f"barrier {name}: {_rule('barrier count')}")
        waits = meetings.waits
        if any(not waits(self.operations[i]) for line in lines.values() for i in line[:-1]):
            raise Unsupported(f"barrier {name}: a thread that arrives again without having waited is not followed")
        return list(self._quorums(tuple(tuple(line) for line in lines.values()), count // WARP))

    def _count(self, i: int) -> int | None:
        noted = self.noted[i]
        assert noted is not None
        return noted.threads

    def _quorums(self, lines: tuple[tuple[int, ...], ...], count: int) -> Iterator[list[frozenset[int]]]:
        """The ways in which so many threads at a time complete phases, until no more do; all waits must be among them."""
        heads = [k for k, line in enumerate(lines) if line]
        waits = contracts.synchronization.waits
        if not heads:
            yield []
            return
        if len(heads) < count:
            if not any(waits(self.operations[i]) for line in lines for i in line):
                yield []
            return
        for chosen in combinations(heads, count):
            phase = frozenset(lines[k][0] for k in chosen)
            rest = tuple(line[1:] if k in chosen else line for k, line in enumerate(lines))
            for more in self._quorums(rest, count):
                yield [phase, *more]


def _joined(order: ObjectOrder, more: ObjectOrder) -> ObjectOrder:
    """The orders of the steps on several objects, and on one more."""
    before, phases = (
        [x | y for x, y in zip(a, b, strict=True)]
        for a, b in ((order.before, more.before), (order.phases, more.phases))
    )
    return ObjectOrder({**order.sources, **more.sources}, before, phases, order.broken or more.broken)


def _linear(
    members: frozenset[int],
    before: Mapping[int, frozenset[int]],
    may_go_on: Callable[[tuple[int, ...]], bool],
    line: tuple[int, ...] = (),
) -> Iterator[tuple[int, ...]]:
    """The orders of some numbers in which each comes after those `before` it, as far as a part of them may go on."""
    if len(line) == len(members):
        yield line
        return
    for i in sorted(members.difference(line)):
        if before[i] <= frozenset(line) and may_go_on((*line, i)):
            yield from _linear(members, before, may_go_on, (*line, i))


def bits(word: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while word:
        low = word & -word
        yield low.bit_length() - 1
        word ^= low


def noted_rule(name: str) -> str:
    """The sentence of a rule of steps."""
    return RULES[name].sentence


def _rule(name: str) -> str:
    """The sentence of a rule of barriers."""
    contracts.resolved("machine.barriers")  # declares it
    return RULES[name].sentence


def value_of(term: Int, values: Mapping[str, int]) -> int:
    """A term's value. Raises Unsupported if it is one that PTX leaves open."""
    try:
        result = evaluate(term, values)
    except NoChoice as error:
        raise Unsupported(f"what is written depends on a result that PTX leaves open: {error}") from None
    return int(result)


def _variables(*terms: Any) -> frozenset[str]:
    return frozenset(variables_in(terms))
