"""What a kernel has to do with asynchronous operations (spec/machine/asynchrony.md), and what the functions of
`machine/asynchrony.py` work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple, Protocol

from ptxspec import contracts
from ptxspec.base.options import Copies
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op
from ptxspec.language.constant_bits import constant_bits
from ptxspec.machine.driver.protocol import Column
from ptxspec.machine.flow import values_of
from ptxspec.terms.effects import Advance, Initiate
from ptxspec.terms.exact import evaluate
from ptxspec.terms.registries import CompletionMechanism, ObjectCompletion
from ptxspec.terms.steps import State, Step
from ptxspec.terms.types import TYPES

#: how many completion mechanisms a kernel may use
MECHANISMS = 4


class OperationsMachine(Protocol):
    """What these functions work on: numbers, arrays and steps."""

    # the CTAs that are resident at once, and the threads of each
    slots: int
    threads: int
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
    # the turns that have begun while pieces had not landed
    turns: int
    # whether somebody is told of events
    observes_operations: int
    # how many words a thread's record of each completion mechanism has
    words0: int
    words1: int
    words2: int
    words3: int

    # an operation's: its record, who initiated it, at which instruction, how it completes, its mark there, the object on which it
    # completes or 0 (its mark then says whether it has), the thread's next one (or the next that is free), and its place among
    # those of which pieces have not landed, plus 1
    operation: Column
    operation_thread: Column
    operation_op: Column
    operation_mechanism: Column
    operation_mark: Column
    operation_object: Column
    operation_next: Column
    operation_place: Column
    # the operations of which pieces have not landed
    unlanded_operations: Column
    # a list's first node; a node's operation, and the next node
    line_list: Column
    node_operation: Column
    node_next: Column
    # a thread's: its first and its last operation in flight, and its records of completion mechanisms
    first_operation: Column
    last_operation: Column
    completion0: Column
    completion1: Column
    completion2: Column
    completion3: Column
    # what has been drawn
    draws: Column

    def initiate(self, number: int, target: int, size: int, source: int, read: int, unit: int, /) -> None:
        """An operation is initiated."""

    def footprint(self, number: int, /) -> tuple[int, int, int, int]:
        """An operation's target, size, source, and how many bytes it reads."""

    def has_landed(self, number: int, piece: int, /) -> int:
        """Whether a piece has landed, or there is none."""

    def land(self, number: int, piece: int, /) -> tuple[int, int, int]:
        """A piece lands: where it begins, the bytes that are copied, the zeros behind them."""

    def land_all(self, number: int, /) -> tuple[int, int]:
        """All pieces land: the bytes that are copied, the zeros behind them."""

    def spares_target(self, number: int, begin: int, size: int, /) -> int:
        """Whether an access touches nothing that an operation writes."""

    def spares_source(self, number: int, begin: int, size: int, /) -> int:
        """Whether a write touches nothing that an operation reads."""

    def draw_landing(self, draws: int, seed: int, able: int, /) -> int:
        """Choose one of so many."""

    def mark0(self, thread: int, /) -> int:
        """What marks an operation that the thread initiates now, by the first completion mechanism."""

    def mark1(self, thread: int, /) -> int: ...
    def mark2(self, thread: int, /) -> int: ...
    def mark3(self, thread: int, /) -> int: ...

    def is_complete0(self, thread: int, mark: int, /) -> int:
        """Whether the thread knows an operation with this mark to be complete, by the first completion mechanism."""

    def is_complete1(self, thread: int, mark: int, /) -> int: ...
    def is_complete2(self, thread: int, mark: int, /) -> int: ...
    def is_complete3(self, thread: int, mark: int, /) -> int: ...

    def complete0(self, word: int, count: int, /) -> int:
        """The object with these bits learns, by the first mechanism, that an operation of so many bytes is complete."""

    def complete1(self, word: int, count: int, /) -> int: ...
    def complete2(self, word: int, count: int, /) -> int: ...
    def complete3(self, word: int, count: int, /) -> int: ...

    # what an engine supplies

    def read_object(self, place: int, /) -> int:
        """The 64 bits of an object at a location."""

    def write_object(self, place: int, word: int, /) -> None:
        """Let an object have these bits."""

    def copy_bytes(self, target: int, source: int, count: int, /) -> None:
        """Copy so many bytes from one location to another."""

    def clear_bytes(self, target: int, count: int, /) -> None:
        """Let so many bytes at a location be zeros."""

    def tell_operation(self, kind: int, op: int, thread: int, number: int, target: int, size: int, /) -> None:
        """An event of an operation has happened: see events.EventKind."""

    def tell_bytes(self, kind: int, op: int, thread: int, number: int, place: int, count: int, /) -> None:
        """An operation has read or written so many bytes at a location."""


#: the numbers and the arrays; each element has eight bytes
NUMBERS = tuple(
    name
    for name, type in OperationsMachine.__annotations__.items()
    if type == "int" and name not in ("slots", "threads")
)
ARRAYS = tuple(name for name, type in OperationsMachine.__annotations__.items() if type == "Column")


def _of_words(function: Callable[[Any, Any], Any]) -> Step:
    """A step that takes the bits of an object and a number of bytes, and gives the bits."""
    function.__annotations__ = {"word": TYPES["u64"], "count": TYPES["u32"], "return": TYPES["u64"]}
    return Step(function)


_SAME = _of_words(lambda word, count: word)


@cache
def _on_words(completes: Step) -> Step:
    """A step on an object as one on its bits."""
    kind: type[State] = completes.states[0].type
    return _of_words(lambda word, count: completes(kind.unpacked(word), count).packed)


class AsynchronousUse(NamedTuple):
    """What a kernel has to do with asynchronous operations: the completion mechanisms, the steps by which it changes records
    of them, each with the number of its mechanism, and the state spaces that operations write and read."""

    mechanisms: tuple[CompletionMechanism | ObjectCompletion, ...]
    advances: tuple[tuple[int, Step], ...]
    targets: tuple[str, ...]
    sources: tuple[str, ...]

    def may_disturb(self, space: str, write: bool) -> bool:
        """Whether an access to a state space may touch what an operation writes, or write what it reads."""
        return space in self.targets or (write and space in self.sources)

    def mechanism(self, effect: Initiate | Advance) -> int:
        """The number of an effect's completion mechanism."""
        return self.mechanisms.index(effect.completion)

    def advance(self, effect: Advance) -> int:
        """The number of an effect's step."""
        return self.advances.index((self.mechanism(effect), effect.step))

    def steps(self) -> dict[str, tuple[Step, tuple[str | None, ...]]]:
        """By their names here, the steps with the arrays in which the records lie that they are given. What a mechanism lacks is
        of async-groups, and never taken."""
        page, records = contracts.asynchrony, ("operation",)
        taken: dict[str, tuple[Step, tuple[str | None, ...]]] = {
            "initiate": (page.initiate, records),
            "footprint": (page.footprint, records),
            "has_landed": (page.has_landed, records),
            "land": (page.land, records),
            "land_all": (page.land_all, records),
            "spares_target": (page.spares_target, records),
            "spares_source": (page.spares_source, records),
            "draw_landing": (contracts.schedule.draw, ("draws",)),
        }
        for i in range(MECHANISMS):
            mechanism = self.mechanisms[i] if i < len(self.mechanisms) else page.ASYNC_GROUPS
            of_threads, completes = page.ASYNC_GROUPS, _SAME
            if isinstance(mechanism, ObjectCompletion):
                completes = _on_words(mechanism.completes)
            else:
                of_threads = mechanism
            taken[f"mark{i}"] = (of_threads.initiates, (f"completion{i}",))
            taken[f"is_complete{i}"] = (of_threads.is_complete, (f"completion{i}",))
            taken[f"complete{i}"] = (completes, ())
        for i, (number, step) in enumerate(self.advances):
            taken[f"advance{i}"] = (step, (f"completion{number}",))
        return taken

    def words(self) -> list[int]:
        """How many words a thread's record of each completion mechanism has."""
        words = [0 if isinstance(m, ObjectCompletion) else len(m.record.fields) for m in self.mechanisms]
        return words + [0] * (MECHANISMS - len(words))

    def numbers(self, copies: Copies) -> dict[str, int]:
        """The numbers that a launch begins with."""
        way, _, digits = copies.partition(":")
        seed = int(digits or 0) & (1 << 64) - 1
        words = {f"words{i}": count for i, count in enumerate(self.words())}
        chosen = {"landing_way": contracts.asynchrony.LANDING[way], "landing_seed": seed - (seed >> 63 << 64)}
        return dict.fromkeys(NUMBERS, 0) | words | chosen

    def lengths(self, threads: int) -> dict[str, int]:
        """How many elements each array has, where so many threads are resident."""
        from ptxspec.machine.asynchrony import LISTS  # with a page that few kernels need

        nodes, operations = contracts.limits.LINES + 1, contracts.limits.OPERATIONS + 1
        words = {f"completion{i}": threads * count for i, count in enumerate(self.words())}
        lengths = {
            "operation": operations * len(contracts.asynchrony.Operation.fields), "line_list": 2 * LISTS,
            "node_operation": nodes, "node_next": nodes, "first_operation": threads, "last_operation": threads,
            "draws": len(contracts.schedule.draw.states[0].words),
        }  # fmt: skip
        return {name: (lengths | words).get(name, operations) for name in ARRAYS}


def asynchronous_use(kernel: Kernel) -> AsynchronousUse | None:
    """What a kernel has to do with asynchronous operations; None if nothing. Raises NotImplementedError for what neither engine
    has: more completion mechanisms than MECHANISMS, or a step of one that may break a rule."""
    effects = [e for op in kernel.code if isinstance(e := op.plan.meaning.effect, Initiate | Advance)]
    if not effects:
        return None
    mechanisms = tuple(dict.fromkeys(effect.completion for effect in effects))
    if len(mechanisms) > MECHANISMS:
        raise NotImplementedError(f"{kernel.name} uses {len(mechanisms)} completion mechanisms, more than {MECHANISMS}")
    advances = tuple(dict.fromkeys((mechanisms.index(e.completion), e.step) for e in effects if isinstance(e, Advance)))
    objects = [m.completes for m in mechanisms if isinstance(m, ObjectCompletion)]
    for step in (*(step for _, step in advances), *objects):
        if step.meaning.requirements:
            raise NotImplementedError(f"the step {step.__name__} of a completion mechanism may break a rule")
    begun = [effect for effect in effects if isinstance(effect, Initiate)]
    return AsynchronousUse(mechanisms, advances, _reached(e.space for e in begun), _reached(e.of for e in begun))


def _reached(names: Iterable[str]) -> tuple[str, ...]:
    """The state spaces that operations reach which name these, in order; a generic address reaches any that has addresses."""
    named, page = {contracts.access.stored(name) for name in names}, contracts.state_spaces
    reached = tuple(space for space in page.addressable() if space in named or "generic" in named)
    return reached + tuple(named & {page.OF_REGISTERS})


def extent_of(op: Op) -> tuple[int, int]:
    """(how many bytes an instruction writes that initiates an operation, what its addresses are multiples of)"""
    effect = op.plan.meaning.effect
    assert isinstance(effect, Initiate)
    known: dict[str, int] = {}
    for type, symbol, operand in values_of(op):
        if type is not None and isinstance(operand, tree.Number):
            known[symbol.attrs[0]] = constant_bits(operand, type)
    return int(evaluate(effect.size, known)), int(evaluate(effect.align, known))
