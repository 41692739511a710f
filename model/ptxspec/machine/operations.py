"""What a kernel has to do with asynchronous operations (spec/machine/asynchrony.md), and what the functions of
`machine/asynchrony.py` work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from types import GenericAlias
from typing import Any, NamedTuple, Protocol, TypeAlias

from ptxspec import contracts
from ptxspec.base.options import Copies
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op
from ptxspec.language.constant_bits import constant_bits
from ptxspec.machine.driver.protocol import Column
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.flow import is_on_object, values_of
from ptxspec.machine.operation_classes import OperationClass, levels_of_strength
from ptxspec.machine.special import variables_of
from ptxspec.terms.core import Int, integer
from ptxspec.terms.effects import Access, Advance, Asynchronous, Follow, Initiate, Load, Store, Update
from ptxspec.terms.exact import evaluate
from ptxspec.terms.profiles import Profile
from ptxspec.terms.registries import CompletionMechanism, ObjectCompletion
from ptxspec.terms.steps import State, Step, taken
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import number as number_of
from ptxspec.terms.vocabulary import resolve, select

#: how many classes of changes by asynchronous operations there are, at most
MOST_CLASSES: int = contracts.limits.CLASSES


class Clusters(Protocol):
    """What says how near threads are: how many a CTA has, and how many CTAs a cluster."""

    threads: int
    cluster: int


class OperationsMachine(Clusters, Protocol):
    """What these functions work on: numbers, arrays and steps."""

    # the CTAs that are resident at once
    slots: int
    # how pieces land, and the seed
    landing_way: int
    landing_seed: int
    # the operations and the lines that have been in use; the first of each that is free again; the lines in use now; and the
    # operations of which pieces have not landed
    operations: int
    free_operation: int
    nodes: int
    free_node: int
    lines: int
    unlanded: int
    # the turns that have begun while pieces had not landed, and how often operations landed since nothing could run
    turns: int
    # how often objects have changed; the operation that completes on one against a rule, and the rule, by its number among those
    # of the step, or 0 where there is no object
    object_changes: int
    completion_fault: int
    completion_rule: int
    # whether somebody is told of events, and of faults that are known when CTAs have ended
    observes_operations: int
    reports_faults: int
    # how many words a thread's record of its completion mechanisms has
    record_words: int

    # an operation's: its record, who initiated it, at which instruction, how it completes, its mark there, the object on which it
    # completes or 0 (its mark then says whether it has), whether that begins and ends, the mechanism of those that it follows,
    # plus 1, the step by which it changes memory, plus 1, whether it carries what it writes, how many bytes are in the lists of
    # what is read, what it carries, the thread's next one (or the next that is free) and the one before it, and its place among
    # those of which pieces have not landed, plus 1. An object that has begun is among them, as if an operation wrote it: in place
    # of whether it carries something it has the turn at which an operation completed a phase of it last, in place of what it
    # follows the mechanism by which operations complete on it, plus 1, and in place of what it carries how many are to do so that
    # are in flight, and how many bytes these have left at the end
    operation: Column
    operation_thread: Column
    operation_op: Column
    operation_mechanism: Column
    operation_mark: Column
    operation_object: Column
    operation_lives: Column
    operation_follows: Column
    operation_change: Column
    operation_carries: Column
    operation_listed: Column
    operation_low: Column
    operation_high: Column
    operation_next: Column
    operation_before: Column
    operation_place: Column
    # the operations of which pieces have not landed, or whose objects have not learned that all have
    unlanded_operations: Column
    # a list's first node; a node's operation, and the next node
    line_list: Column
    node_operation: Column
    node_next: Column
    # a thread's: its first and its last operation in flight, and its record of completion mechanisms
    first_operation: Column
    last_operation: Column
    completion: Column
    # what has been drawn
    draws: Column

    def initiate(
        self,
        number: int,
        target: int,
        size: int,
        source: int,
        read: int,
        unit: int,
        lead: int,
        reorder: int,
        fill: int,
        /,
    ) -> None:
        """An operation is initiated."""

    def footprint(self, number: int, /) -> tuple[int, int, int, int]:
        """An operation's target, size, source, and how many bytes it reads."""

    def is_piece(self, number: int, piece: int, /) -> int:
        """Whether there is a piece of this number."""

    def has_landed(self, number: int, piece: int, /) -> int:
        """Whether a piece has landed, or there is none."""

    def land(self, number: int, piece: int, /) -> tuple[int, int, int, int, int]:
        """A piece lands: where it begins, the bytes that are filled, those that are copied, from where, those that are filled
        behind them."""

    def is_whole(self, number: int, /) -> int:
        """Whether all pieces may land together."""

    def land_all(self, number: int, /) -> tuple[int, int, int, int, int]:
        """All pieces land together, as one."""

    def fill_of(self, number: int, /) -> int:
        """What two bytes become that an operation fills."""

    def spares_target(self, number: int, begin: int, size: int, /) -> int:
        """Whether an access touches nothing that an operation writes."""

    def spares_source(self, number: int, begin: int, size: int, /) -> int:
        """Whether a write touches nothing that an operation reads."""

    def draw_landing(self, draws: int, seed: int, able: int, /) -> int:
        """Choose one of so many."""

    def mark(self, thread: int, mechanism: int, /) -> int:
        """What marks an operation that the thread initiates now, by the completion mechanism of a number."""

    def is_known_complete(self, thread: int, mechanism: int, mark: int, /) -> int:
        """Whether the thread knows an operation with this mark to be complete."""

    def is_known_read(self, thread: int, mechanism: int, mark: int, /) -> int:
        """Whether the thread knows an operation with this mark to have read its source."""

    def element_size(self, change: int, /) -> int:
        """How many bytes an element has that the step of this number changes."""

    def class_of_change(self, change: int, /) -> int:
        """The number of the class of what the step of this number does to an element: see AsynchronousUse.spared_by."""

    def change(self, change: int, old: int, value: int, /) -> int:
        """What the step of this number makes of an element in memory and of one that an operation reads."""

    def complete(self, mechanism: int, word: int, count: int, /) -> tuple[int, int]:
        """The object with these bits learns, by the mechanism of a number, that an operation of so many bytes is complete: its
        bits then, and the number of the rule that it breaks, from 1 on, or 0."""

    def phase_of(self, word: int, /) -> int:
        """The number of the phase in which an object is that has these bits."""

    def excess(self, mechanism: int, word: int, left: int, /) -> int:
        """By the mechanism of a number, how many bytes the object with these bits would have learned of and not known, if so many
        more came."""

    # what an engine supplies

    def read_object(self, place: int, /) -> int:
        """The 64 bits of an object at a location."""

    def write_object(self, place: int, word: int, /) -> None:
        """Let an object have these bits."""

    def copy_bytes(self, target: int, source: int, count: int, /) -> None:
        """Copy so many bytes from one location to another."""

    def write_carried(self, target: int, begin: int, count: int, low: int, high: int, /) -> None:
        """Write so many bytes of two words, from one on, to a location."""

    def read_element(self, place: int, size: int, /) -> int:
        """The element of so many bytes at a location."""

    def write_element(self, place: int, size: int, value: int, /) -> None:
        """Let an element at a location have this value."""

    def fill_bytes(self, target: int, count: int, fill: int, /) -> None:
        """Let each two of so many bytes at a location be these; if they are not zeros, the bytes are an even number."""

    def tell_operation(self, kind: int, op: int, thread: int, number: int, target: int, size: int, /) -> None:
        """An event of an operation has happened: see events.EventKind."""

    def tell_bytes(self, kind: int, op: int, thread: int, number: int, place: int, count: int, /) -> None:
        """An operation has read or written so many bytes at a location."""


#: the numbers and the arrays; each element has eight bytes
NUMBERS = tuple(
    name
    for name, type in OperationsMachine.__annotations__.items()
    if type == "int" and name not in ("slots", "object_changes")
)
ARRAYS = tuple(name for name, type in OperationsMachine.__annotations__.items() if type == "Column")


@cache
def _on_words(completes: Step) -> Callable[[Int, Int], tuple[Int, Int]]:
    """A step on an object as a function of its bits and a number of bytes: the bits, and which rule is broken."""
    kind: type[State] = completes.states[0].type

    def on_words(word: Int, count: Int) -> tuple[Int, Int]:
        requirements, after = taken(completes, kind.unpacked(word), count)
        broken = integer(0)
        for number, requirement in reversed(list(enumerate(requirements, 1))):
            broken = select(requirement.condition, broken, number)
        return after.packed, broken

    return on_words


class AsynchronousUse(NamedTuple):
    """What a kernel has to do with asynchronous operations: the completion mechanisms; the steps by which it changes records of
    them, each with the number of its mechanism; the steps by which operations change memory, each with the class of what it does
    to an element; the state spaces that operations write or in which objects begin, and those that operations read."""

    mechanisms: tuple[CompletionMechanism | ObjectCompletion, ...]
    advances: tuple[tuple[int, Step], ...]
    changes: tuple[tuple[Step, OperationClass], ...]
    targets: tuple[str, ...]
    sources: tuple[str, ...]
    profile: Profile

    def may_disturb(self, space: str, write: bool) -> bool:
        """Whether an access to a state space may touch what an operation writes, or write what it reads."""
        return space in self.targets or (write and space in self.sources)

    def mechanism(self, effect: Initiate | Follow | Advance) -> int:
        """The number of an effect's completion mechanism."""
        return self.mechanisms.index(effect.completion)

    def follows(self, effect: Initiate | Follow) -> int:
        """The number, from 1 on, of the mechanism of the operations that one follows; 0 if it follows none."""
        return 1 + self.mechanisms.index(effect.after) if isinstance(effect, Follow) else 0

    def change(self, effect: Initiate | Follow) -> int:
        """The number, from 1 on, of the step by which an operation changes memory; 0 if it writes it."""
        if isinstance(effect, Follow) or effect.change is None:
            return 0
        return 1 + self.changes.index((effect.change, OperationClass.of_change(effect)))

    @property
    def classes(self) -> list[OperationClass]:
        """The classes of the changes."""
        return list(dict.fromkeys(of for _, of in self.changes))

    def spared_by(self, accesses: OperationClass) -> int:
        """Which changes of memory operations of a class may touch before these are complete, since they are morally strong with
        them: a bit for each class of changes, for each distance of the threads (asynchrony.nearness)."""
        return sum(
            holds << number + MOST_CLASSES * near
            for number, of in enumerate(self.classes)
            for near, holds in enumerate(levels_of_strength(accesses, of))
        )

    def spared(self, op: Op) -> int:
        """The same of what an instruction does to memory."""
        match op.plan.meaning.effect:
            case Load(life=None) | Store() | Update(life=None) as effect if self.changes:
                return self.spared_by(OperationClass.of_access(effect, bool(op.plan.meaning.results)))
            case Initiate() as effect if effect.change is not None:
                return self.spared_by(OperationClass.of_change(effect))
        return 0

    def is_spared(self, spared: int, change: int, near: int) -> bool:
        """Whether changes by the step of a number, from 1 on, are spared, where the threads are so near."""
        return bool(spared >> self.classes.index(self.changes[change - 1][1]) + MOST_CLASSES * near & 1)

    def advance(self, effect: Advance) -> int:
        """The number of an effect's step."""
        return self.advances.index((self.mechanism(effect), effect.step))

    def steps(self) -> dict[str, tuple[Step, tuple[str | None, ...]]]:
        """By their names here, the steps with the arrays in which the records lie that they are given."""
        page, records = contracts.asynchrony, ("operation",)
        taken: dict[str, tuple[Step, tuple[str | None, ...]]] = {
            "initiate": (page.initiate, records),
            "footprint": (page.footprint, records),
            "is_piece": (page.is_piece, records),
            "has_landed": (page.has_landed, records),
            "land": (page.land, records),
            "is_whole": (page.is_whole, records),
            "land_all": (page.land_all, records),
            "fill_of": (page.fill_of, records),
            "spares_target": (page.spares_target, records),
            "spares_source": (page.spares_source, records),
            "draw_landing": (contracts.schedule.draw, ("draws",)),
        }
        records_of_thread = ("completion",)
        taken |= {
            "mark": (mark_by_number(self.mechanisms), records_of_thread),
            "is_known_complete": (step_by_number(self.mechanisms, "is_complete"), records_of_thread),
            "is_known_read": (step_by_number(self.mechanisms, "has_read"), records_of_thread),
            "complete": (completed_by_number(self.mechanisms), ()),
            "excess": (excess_by_number(self.mechanisms), ()),
            "phase_of": (_phase_of(), ()),
            "element_size": (_looked_up(tuple(of.size for _, of in self.changes)), ()),
            "class_of_change": (_looked_up(tuple(self.classes.index(of) for _, of in self.changes)), ()),
            "change": (_chosen(self.changes, self.profile), ()),
        }
        for i, (number, step) in enumerate(self.advances):
            taken[f"advance{i}"] = (step_in_record(self.mechanisms, number, step), records_of_thread)
        return taken

    @property
    def record_words(self) -> int:
        """How many words a thread's record of its completion mechanisms has."""
        return len(_record_of(self.mechanisms).fields)

    def numbers(self, copies: Copies) -> dict[str, int]:
        """The numbers that a launch begins with."""
        way, _, digits = copies.partition(":")
        seed = int(digits or 0) & (1 << 64) - 1
        words = {"record_words": self.record_words}
        chosen = {"landing_way": contracts.asynchrony.LANDING[way], "landing_seed": seed - (seed >> 63 << 64)}
        return dict.fromkeys(NUMBERS, 0) | words | chosen

    def lengths(self, threads: int) -> dict[str, int]:
        """How many elements each array has, where so many threads are resident."""
        from ptxspec.machine.asynchrony import LISTS  # with a page that few kernels need

        nodes, operations = contracts.limits.LINES + 1, contracts.limits.OPERATIONS + 1
        lengths = {
            "completion": threads * self.record_words,
            "operation": operations * len(contracts.asynchrony.Operation.fields), "line_list": 2 * LISTS,
            "node_operation": nodes, "node_next": nodes, "first_operation": threads, "last_operation": threads,
            "draws": len(contracts.schedule.draw.states[0].words),
        }  # fmt: skip
        return {name: lengths.get(name, operations) for name in ARRAYS}


#: what completes a kernel's operations, in the order of their numbers
Mechanisms: TypeAlias = tuple[CompletionMechanism | ObjectCompletion, ...]


@lru_cache(256)
def _record_of(mechanisms: Mechanisms) -> type[State]:
    """A record that has the fields of the thread's records of all these mechanisms, one after the other."""
    records = [(number, m.record) for number, m in enumerate(mechanisms) if isinstance(m, CompletionMechanism)]
    fields = {f"{name}{number}": type for number, record in records for name, type in record.fields.items()}
    return type("ThreadRecord", (State,), {"__annotations__": fields or {"none": TYPES["u32"]}})


def _part(mechanisms: Mechanisms, number: int, record: State) -> tuple[State, int]:
    """The record of the mechanism of a number, which is one of threads, and where its fields begin."""
    ours = [(i, m.record) for i, m in enumerate(mechanisms) if isinstance(m, CompletionMechanism)]
    begin = sum(len(kind.fields) for i, kind in ours if i < number)
    kind = dict(ours)[number]
    return kind(*record[begin : begin + len(kind.fields)]), begin


def _with_part(record: State, begin: int, part: State) -> State:
    """A record of all mechanisms with other fields from there on."""
    return type(record)(*record[:begin], *part, *record[begin + len(part) :])


@lru_cache(256)
def mark_by_number(mechanisms: Mechanisms) -> Step:
    """The steps by which threads initiate operations, of all these mechanisms, as one that is given the number."""
    kind = _record_of(mechanisms)
    ours = [(number, m.initiates) for number, m in enumerate(mechanisms) if isinstance(m, CompletionMechanism)]
    changes = any(initiates.changes for _, initiates in ours)

    def mark(record: State, mechanism: Int) -> Any:
        after, answer = record, integer(0)
        for number, initiates in ours:
            part, begin = _part(mechanisms, number, record)
            given = initiates(part)
            changed, here = given if initiates.changes else (part, given)
            whole = _with_part(record, begin, changed)
            after, answer = select(mechanism == number, whole, after), select(mechanism == number, here, answer)
        return (after, answer) if changes else answer

    returned = GenericAlias(tuple, (kind, TYPES["u64"])) if changes else TYPES["u64"]
    mark.__annotations__ = {"record": kind, "mechanism": TYPES["u64"], "return": returned}
    return Step(mark)


@lru_cache(256)
def step_by_number(mechanisms: Mechanisms, what: str) -> Step:
    """The steps of this name of all these mechanisms, which ask of a mark, as one that is given the number; 0 of one that lacks
    it."""

    def asked(record: State, mechanism: Int, mark: Int) -> Int:
        answer = integer(0)
        for number, each in enumerate(mechanisms):
            step = None if isinstance(each, ObjectCompletion) else getattr(each, what)
            if step is not None:
                holds = step(_part(mechanisms, number, record)[0], mark)
                answer = select(mechanism == number, number_of(holds), answer)
        return answer

    types = dict.fromkeys(("mechanism", "mark", "return"), TYPES["u64"])
    asked.__annotations__ = {"record": _record_of(mechanisms), **types}
    return Step(asked)


@lru_cache(256)
def completed_by_number(mechanisms: Mechanisms) -> Step:
    """How objects learn that operations are complete, as one step that is given the number of the mechanism."""

    def complete(mechanism: Int, word: Int, count: Int) -> tuple[Int, Int]:
        after, broken = word, integer(0)
        for number, each in enumerate(mechanisms):
            if isinstance(each, ObjectCompletion):
                given = _on_words(each.completes)(word, count)
                after, broken = (select(mechanism == number, x, y) for x, y in zip(given, (after, broken), strict=True))
        return after, broken

    results = GenericAlias(tuple, (TYPES["u64"], TYPES["u32"]))
    operands = dict.fromkeys(("mechanism", "word", "count"), TYPES["u64"])
    complete.__annotations__ = {**operands, "return": results}
    return Step(complete)


@lru_cache(256)
def excess_by_number(mechanisms: Mechanisms) -> Step:
    """How much objects have learned of that they did not know of, as one step that is given the number of the mechanism."""

    def excess(mechanism: Int, word: Int, left: Int) -> Int:
        answer = integer(0)
        for number, each in enumerate(mechanisms):
            if isinstance(each, ObjectCompletion) and each.excess is not None:
                answer = select(mechanism == number, each.excess(each.record.unpacked(word), left), answer)
        return answer

    excess.__annotations__ = dict.fromkeys(("mechanism", "word", "left", "return"), TYPES["u64"])
    return Step(excess)


@cache
def _phase_of() -> Step:
    """The phase in which an object is, as a step."""

    def phase_of(word: Int) -> Int:
        phase: Int = contracts.objects.phase_of(word)
        return phase

    phase_of.__annotations__ = dict.fromkeys(("word", "return"), TYPES["u64"])
    return Step(phase_of)


@lru_cache(256)
def step_in_record(mechanisms: Mechanisms, number: int, step: Step) -> Step:
    """A step on the record of the mechanism of a number, as one on that of all mechanisms."""
    kind = _record_of(mechanisms)

    def advance(record: State, *operands: Int) -> State:
        part, begin = _part(mechanisms, number, record)
        changed: State = step(part, *operands)
        return _with_part(record, begin, changed)

    advance.__annotations__ = {"record": kind, **{port.name: port.type for port in step.operands}, "return": kind}
    return Step(advance)


@lru_cache(256)
def _looked_up(numbers: tuple[int, ...]) -> Step:
    """The number of each step by which operations change memory, as a step."""

    def looked_up(change: Int) -> Int:
        number_there = integer(0)
        for at, number in enumerate(numbers):
            number_there = select(change == at, number, number_there)
        return number_there

    looked_up.__annotations__ = dict.fromkeys(("change", "return"), TYPES["u32"])
    return Step(looked_up)


@lru_cache(256)
def _chosen(changes: tuple[tuple[Step, OperationClass], ...], profile: Profile) -> Step:
    """The steps by which operations change memory, with what a profile chooses of them, as one that is given the number."""

    def chosen(change: Int, old: Int, value: Int) -> Int:
        after = old
        for number, (step, _) in reversed(list(enumerate(changes))):
            of_step = _settled(step(old, value), profile)
            after = of_step if number == len(changes) - 1 else select(change == number, of_step, after)
        return after

    chosen.__annotations__ = {"change": TYPES["u32"]} | dict.fromkeys(("old", "value", "return"), TYPES["u64"])
    return Step(chosen)


def _settled(term: Int, profile: Profile) -> Int:
    """A term with what a profile chooses; what is chosen may be open in its turn."""
    settled: Int = resolve(term, profile.term)
    return term if settled is term else _settled(settled, profile)


def asynchronous_use(kernel: Kernel, profile: Profile) -> AsynchronousUse | None:
    """What a kernel has to do with asynchronous operations under a profile; None if nothing. Raises NotImplementedError for what
    neither engine has: a step of a completion mechanism that may break a rule; and NoChoice if the
    profile leaves open what an operation changes memory to; and LaunchError if its changes are of too many classes."""
    effects = [e for op in kernel.code if isinstance(e := op.plan.meaning.effect, Asynchronous)]
    objects = [e for op in kernel.code if is_on_object(e := op.plan.meaning.effect) and isinstance(e, Access)]
    if not effects and not objects:
        return None
    used = (m for e in effects for m in ((e.completion, e.after) if isinstance(e, Follow) else (e.completion,)))
    mechanisms = tuple(dict.fromkeys(used))
    advances = tuple(dict.fromkeys((mechanisms.index(e.completion), e.step) for e in effects if isinstance(e, Advance)))
    for _, step in advances:
        if step.meaning.requirements:
            raise NotImplementedError(f"the step {step.__name__} of a completion mechanism may break a rule")
    begun = [effect for effect in effects if isinstance(effect, Initiate)]
    changes = tuple(dict.fromkeys((e.change, OperationClass.of_change(e)) for e in begun if e.change is not None))
    if (classes := len({of for _, of in changes})) > MOST_CLASSES:
        note = f"{kernel.name} has operations of {classes} classes that change memory; {MOST_CLASSES} are the most"
        raise LaunchError("classes of operations", note)
    targets = (*(e.space for e in begun if not e.only_reads), *(e.space for e in objects))
    return AsynchronousUse(
        mechanisms, advances, changes, _reached(targets), _reached(e.of for e in begun if e.of), profile
    )


def _reached(names: Iterable[str]) -> tuple[str, ...]:
    """The state spaces that operations reach which name these, in order; a generic address reaches any that has addresses."""
    named, page = {contracts.access.stored(name) for name in names}, contracts.state_spaces
    reached = tuple(space for space in page.addressable() if space in named or "generic" in named)
    return reached + tuple(named & {page.OF_REGISTERS})


def extent_of(op: Op) -> tuple[int | None, int]:
    """(how many bytes an instruction writes that initiates an operation, if that is a constant; what its addresses are multiples
    of)"""
    effect = op.plan.meaning.effect
    assert isinstance(effect, Initiate)
    known: dict[str, int] = {}
    for type, symbol, operand in values_of(op):
        if type is not None and isinstance(operand, tree.Number):
            known[symbol.attrs[0]] = constant_bits(operand, type)
    size = evaluate(effect.size, known) if variables_of(effect.size) <= known.keys() else None
    return None if size is None else int(size), int(evaluate(effect.align, known))
