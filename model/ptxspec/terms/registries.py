"""What pages declare for the machine: state spaces, special registers and what is guaranteed of them, completion mechanisms,
functions of the system, and rules, of programs that run and of their texts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn, Protocol, TypeVar

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import Bool, Int, blame, integer, variable
from ptxspec.terms.static_rules import Facts, StaticRule
from ptxspec.terms.steps import State, Step
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import low_bits


class StateSpace(NamedTuple):
    """A state space, and what is so of all variables in it: see `state_space`."""

    name: str
    shared_by: str
    addressable: bool
    declared: bool
    initialized: bool
    written: bool
    address_bits: int
    most: int
    path: str
    line: int


#: every state space that the pages declare, by name
STATE_SPACES: dict[str, StateSpace] = {}


def state_space(
    name: str,
    *,
    shared_by: str,
    addressable: bool = True,
    declared: bool = True,
    initialized: bool = False,
    written: bool = False,
    address_bits: int = 32,
    most: int = 0,
) -> StateSpace:
    """Declare a state space. `shared_by` says whose threads see the same variable: "a thread", "a CTA", "a grid" or "a context".
    `addressable`: its variables have addresses, for which a register has at least `address_bits`; `declared`: a program declares
    variables in it; `initialized`: they may have initializers, and then exist once, from before the first launch on; `written`:
    stores reach it; `most`: the bytes that it holds."""
    if name in STATE_SPACES:
        raise blame(f"the state space {name} is declared twice")
    if shared_by not in ("a thread", "a CTA", "a grid", "a context"):
        raise blame(f"a state space is shared by a thread, a CTA, a grid or a context, not by {shared_by}")
    frame = sys._getframe(1)
    place = (frame.f_code.co_filename, frame.f_lineno)
    STATE_SPACES[name] = StateSpace(
        name, shared_by, addressable, declared, initialized, written, address_bits, most, *place
    )
    return STATE_SPACES[name]


class SpecialRegister(NamedTuple):
    """A read-only register. `read(thread)` gives its value, or one value a component; `also` are narrower types that it may be
    read as, by its low bits. If it `changes` while the program runs, `read` is given the moment instead of the thread."""

    name: str
    type: Type
    components: str
    read: Callable[[Any], Any]
    since: tuple[int, int]
    target: int
    also: tuple[Type, ...]
    changes: bool
    path: str
    line: int

    @property
    def names(self) -> list[str]:
        """The name with each component; a vector's components have two names each."""
        colors = "rgba"[: len(self.components)]
        return [f"{self.name}.{c}" for c in self.components + colors] or [self.name]

    def meaning(self) -> Int:
        """The value of a register that changes, over the variable %elapsed."""
        return low_bits(integer(self.read(Moment())), self.type.width)


class Moment:
    """What a register that changes may ask of the moment at which a thread reads it."""

    def __init__(self) -> None:
        #: what the launch has executed so far; see spec/special-registers/clocks.md
        self.elapsed = variable("%elapsed", 64)


#: every special register the pages define, by name
SPECIAL_REGISTERS: dict[str, SpecialRegister] = {}


def changing(name: str) -> SpecialRegister | None:
    """The special register of that name, if it is one that changes while a program runs."""
    register = SPECIAL_REGISTERS.get(name)
    return register if register is not None and register.changes else None


def special_register(
    name: str,
    type: Any,
    components: str = "",
    since: str = "1.0",
    target: str = "sm_10",
    also: tuple[Any, ...] = (),
    changes: bool = False,
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Mark a function of a thread as what reading the special register gives. The thread offers `index` (its number in the
    CTA, counted along x, then y, then z), `cta` (the CTA's number in the grid, likewise), `block` and `grid` (their three
    extents), `launch` (the launch's number), `shared` and `dynamic_shared` (bytes a CTA has, and how many of them the launch
    asked for), `cluster` (three extents, in CTAs) and `explicit_cluster` (whether it was said that there are clusters). The
    arithmetic must hold for NumPy arrays of threads too: only + - * // % and shifts. A register that `changes` is a function of
    the moment, which offers `elapsed`, and is written in terms."""
    if name in SPECIAL_REGISTERS:
        raise blame(f"the special register {name} is defined twice")
    if changes and components:
        raise blame(f"the special register {name} changes, so that it has no components")
    major, minor = since.split(".")
    number = int(target.removeprefix("sm_"))

    def mark(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        code = read.__code__
        place = (code.co_filename, code.co_firstlineno)
        SPECIAL_REGISTERS[name] = SpecialRegister(
            name, type, components, read, (int(major), int(minor)), number, also, changes, *place
        )
        return read

    return mark


class Guarantee(NamedTuple):
    """What always holds for the values of some special registers, named with their components."""

    names: tuple[str, ...]
    holds: Callable[..., Bool]
    path: str
    line: int


#: what the pages guarantee of special registers
GUARANTEES: list[Guarantee] = []


def guaranteed(*names: str) -> Callable[[Callable[..., Bool]], Callable[..., Bool]]:
    """Mark a function of the values of these special registers, as terms of their raw bits, as what holds for every thread of
    every launch, whatever the machine. It is a statement about the first of them: a question in which that one has a part
    counts on it, and so brings in the others."""
    unknown = [n for n in names if n.split(".")[0] not in SPECIAL_REGISTERS]
    if unknown:
        raise blame(f"no special register is called {', '.join(unknown)}")

    def mark(holds: Callable[..., Bool]) -> Callable[..., Bool]:
        code = holds.__code__
        GUARANTEES.append(Guarantee(names, holds, code.co_filename, code.co_firstlineno))
        return holds

    return mark


class CompletionMechanism(NamedTuple):
    """How threads learn that asynchronous operations are complete: a record of each thread, and steps. `initiates` takes the
    record and gives what marks an operation that is initiated then, 64 bits; `is_complete` takes the record and such a mark, and
    so does `has_read`, if there is one, which tells whether the operation has read all that it reads."""

    name: str
    initiates: Step
    is_complete: Step
    has_read: Step | None = None

    @property
    def record(self) -> type[State]:
        """The kind of record that each thread has."""
        kind: type[State] = self.initiates.states[0].type
        return kind


class ObjectCompletion(NamedTuple):
    """How an object in memory learns that asynchronous operations are complete: a step that takes the object's record and the
    number of bytes of an operation, and gives the record. `lives` says whether such objects begin and end. Where there is one,
    the step `excess` takes the record at the end, and a number of bytes that operations have left to deliver, and tells how many
    bytes the object has not been told of before."""

    name: str
    completes: Step
    lives: bool = False
    excess: Step | None = None

    @property
    def record(self) -> type[State]:
        """The kind of record that lies in memory."""
        kind: type[State] = self.completes.states[0].type
        return kind


Mechanism = TypeVar("Mechanism", CompletionMechanism, ObjectCompletion)
#: every completion mechanism that the pages declare, by name
COMPLETION_MECHANISMS: dict[str, CompletionMechanism | ObjectCompletion] = {}


def completion_mechanism(
    name: str, *, initiates: Step, is_complete: Step, has_read: Step | None = None
) -> CompletionMechanism:
    """Declare a completion mechanism. A thread's record is zeros at first."""
    mechanism = CompletionMechanism(name, initiates, is_complete, has_read)
    tests = [is_complete] if has_read is None else [is_complete, has_read]
    shapes = [(len(step.states), len(step.operands), len(step.results)) for step in (initiates, *tests)]
    kinds = {step.states[0].type for step in (initiates, *tests)}
    if shapes != [(1, 0, 1), *[(1, 1, 1)] * len(tests)] or kinds != {mechanism.record}:
        raise blame(f"{name}: `initiates` takes a record and gives a mark, a test takes both and gives a truth")
    return _declared(mechanism)


#: how many bits such an object has
OBJECT_BITS = 64


def object_completion(
    name: str, *, completes: Step, lives: bool = False, excess: Step | None = None
) -> ObjectCompletion:
    """Declare that operations may complete on an object in memory, which begins and ends if it `lives`."""
    if (len(completes.states), len(completes.operands), completes.changes, len(completes.results)) != (1, 1, 1, 0):
        raise blame(f"{name}: `completes` takes a record and a number of bytes, and gives the record")
    if excess is not None and (len(excess.states), len(excess.operands), len(excess.results)) != (1, 1, 1):
        raise blame(f"{name}: `excess` takes a record and a number of bytes, and gives a number of bytes")
    mechanism = ObjectCompletion(name, completes, lives, excess)
    if mechanism.record.object_bits() != OBJECT_BITS:
        raise blame(f"{name}: the object has {mechanism.record.object_bits()} bits, not {OBJECT_BITS}")
    return _declared(mechanism)


def _declared(mechanism: Mechanism) -> Mechanism:
    """The mechanism, once it is among those that pages declare."""
    if mechanism.name in COMPLETION_MECHANISMS:
        raise blame(f"the completion mechanism {mechanism.name} is declared twice")
    COMPLETION_MECHANISMS[mechanism.name] = mechanism
    return mechanism


class SystemThread(Protocol):
    """What a function that the system provides may do for the thread that calls it. Addresses are generic."""

    def load(self, address: int, size: int) -> bytes:
        """The bytes at an address that is a multiple of `size`."""

    def text(self, address: int, most: int | None = None, size: int = 1) -> bytes:
        """The characters, of `size` bytes each, up to one that is zero, and no more than `most`."""

    def show(self, text: bytes) -> None:
        """Hand a text to whoever started the launch."""

    def allocate(self, size: int) -> int:
        """The address of so many bytes more of global memory, 0 if there is no room."""

    def release(self, address: int) -> bool:
        """Give back what `allocate` gave, and say whether that was there."""

    def stop(self, rule: str, note: str) -> NoReturn:
        """End the launch: this rule is broken."""


class SystemFunction(NamedTuple):
    """A function that the system provides: how many bytes each of its parameters and its result have (0: none), what it does
    for a thread, and whether it needs a heap."""

    name: str
    takes: tuple[int, ...]
    gives: int
    act: Callable[..., int | None]
    uses_heap: bool


#: every function of the system that the pages define, by name
SYSTEM_FUNCTIONS: dict[str, SystemFunction] = {}


def system_function(
    name: str, *, takes: tuple[int, ...], gives: int = 0, uses_heap: bool = False
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Mark what a function of the system does for a thread. It is given the thread and a number for each parameter; `takes` and
    `gives` are sizes in bytes."""
    if name in SYSTEM_FUNCTIONS:
        raise blame(f"the function {name} is defined twice")

    def mark(act: Callable[..., int | None]) -> Callable[..., int | None]:
        SYSTEM_FUNCTIONS[name] = SystemFunction(name, takes, gives, act, uses_heap)
        return act

    return mark


class Rule(NamedTuple):
    """A rule that a running program must keep: its name, the sentence, and the line of the page that states it."""

    name: str
    sentence: str
    path: str
    line: int


#: every rule the pages state, by name
RULES: dict[str, Rule] = {}


def rule(name: str, sentence: str) -> Rule:
    """State a rule. A violation is reported with the sentence and the document's line."""
    if name in RULES:
        raise blame(f"the rule {name!r} is stated twice")
    frame = sys._getframe(1)
    RULES[name] = Rule(name, sentence, frame.f_code.co_filename, frame.f_lineno)
    return RULES[name]


#: every static rule that the pages state, by name
STATIC_RULES: dict[str, StaticRule[*tuple[Any, ...]]] = {}


def static_rule(
    sentence: str,
) -> Callable[[Callable[[*Facts], bool]], StaticRule[*Facts]]:
    """State a rule of texts: the function says whether facts keep it. The sentence is said where they do not. `{name}` in it is a
    fact by the name of its parameter, a name of the page, or what the checker adds; `{TABLE[name]}` looks a fact up, and
    `{version:.}` joins a sequence by what follows the colon."""

    def mark(holds: Callable[[*Facts], bool]) -> StaticRule[*Facts]:
        if holds.__name__ in STATIC_RULES:
            raise blame(f"the static rule {holds.__name__} is stated twice")
        made = StaticRule(sentence, holds)
        STATIC_RULES[made.name] = made
        return made

    return mark
