"""What a symbolic execution of a text gives: its results as terms, and what its instructions did; or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, assert_never

from ptxspec.language.checked import Op, Plan
from ptxspec.language.diagnostics import Source
from ptxspec.language.parser import statement
from ptxspec.machine.flow import destinations
from ptxspec.terms import effects
from ptxspec.terms.core import Bool
from ptxspec.terms.editions import Epoch
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import FALSE, TRUE


class Unsupported(Exception):
    """A fragment, or a request, that a function does not support. `evaluate`, `explain`, `allowed` and `find` do not support
    instructions that access memory, branch, or depend on other threads.

    >>> try:
    ...     ptxspec.evaluate("bar.sync 0;")
    ... except ptxspec.Unsupported as error:
    ...     print(str(error).partition(":")[0])
    bar.sync has an effect (barrier)
    """


def description_of(effect: effects.Effect) -> tuple[str, str]:
    """A word for an effect, and what it does beyond computing values of one thread."""
    match effect:
        case effects.Load(life=effects.Life()) | effects.Update(life=effects.Life()):
            return "object", "takes a step on an object in memory"
        case effects.Load():
            return "load", "reads memory"
        case effects.Store():
            return "store", "writes memory"
        case effects.Update():
            return "update", "reads and writes memory"
        case effects.Fence():
            return "fence", "orders accesses to memory"
        case effects.GridDependency():
            return "grids", "lets dependent grids begin, or waits for others"
        case effects.Check():
            return "check", "checks an address, and may end the launch"
        case effects.Report() | effects.Examine() | effects.Initialize():
            raise AssertionError("only the checks of a launch cause this")
        case effects.Await():
            return "object", "waits for an object in memory"
        case effects.Initiate() | effects.Follow() | effects.Advance():
            return "copy", "starts an asynchronous copy, or waits for one"
        case effects.Collective():
            return "collective", "depends on the other lanes of the warp"
        case effects.Arrive() | effects.Wait() | effects.ClusterArrive() | effects.ClusterWait():
            return "barrier", "waits for other threads"
        case effects.Branch() | effects.IndexedBranch():
            return "branch", "goes elsewhere in a kernel"
        case effects.Call():
            return "call", "goes elsewhere in a kernel"
        case effects.Return():
            return "return", "goes elsewhere in a kernel"
        case effects.Exit():
            return "exit", "ends the thread"
        case effects.Stop():
            return "stop", "ends the launch"
        case effects.ImageAccess():
            return "image", "accesses a texture or a surface"
        case effects.StackEnd() | effects.Reserve() | effects.Release():
            return "stack", "uses the stack of a thread"
        case _:
            assert_never(effect)


#: what to do with instructions that have no place in a fragment
INSTEAD = (
    "to execute it, put it into a kernel and launch that: ptxspec.load(text).launch(…), or the command ptxspec run"
)


def refused(mnemonic: str, effect: effects.Effect) -> Unsupported:
    """Why an instruction with an effect cannot stand in a fragment, and what to do instead."""
    word, does = description_of(effect)
    return Unsupported(f"{mnemonic} has an effect ({word}): it {does}, which fragments cannot do; {INSTEAD}")


#: what is taken for granted of one thread, and of one warp, where memory is accessed or ordered
ALONE = "One thread, alone: no other thread accesses the memory meanwhile."
WARP_ALONE = "One warp, alone: no other warp accesses the memory meanwhile."


class InstructionStep(NamedTuple):
    """One instruction of a fragment, and what it wrote: register -> term of its raw bits (or a Bool), and the type that the
    instruction's form gives to what it wrote. `guard` is its guard as written, and `holds` the term that says whether it lets the
    instruction through; None without one. `reached` is the term that says whether the thread comes to it at all; None if
    it always does. `plan` says how the operands fill the form, and `sources` what they hold: a term for each variable of the
    definition's meaning."""

    text: str
    page: str
    line: int
    writes: dict[str, Any]
    types: dict[str, Type]
    guard: str | None = None
    holds: Any = None
    reached: Any = None
    plan: Plan | None = None
    sources: Mapping[str, Any] = {}


class Beyond(NamedTuple):
    """Executions of which nothing is known: where they end, in words, and the condition under which there are any."""

    where: str
    holds: Any


class Ordering(NamedTuple):
    """An instruction that takes part in the order of memory: what it orders, its text, and its line."""

    what: str
    text: str
    line: int


def ordering_of(op: Op, source: Source) -> Ordering:
    """What an instruction orders, and how, in words that are the same for instructions that may stand for one another."""
    effect = op.plan.meaning.effect
    results = "to a register" if any(destinations(op)) else "without a result"
    what = f"{type(effect).__name__} {results} {_ordered(effect)}"
    return Ordering(what, statement(source.text, op.position), source.line(op.position))


def _ordered(effect: effects.Effect | None) -> tuple[Any, ...]:
    """What two effects of one kind have to agree in so that one may stand for the other in the order of memory, but for
    operands."""
    match effect:
        case effects.Fence():
            return effect.order, effect.scope, effect.proxies, effect.restricted
        case effects.GridDependency():
            return (effect.action,)
        case effects.Load() | effects.Store() | effects.Update():
            return effect.count, effect.type.bytes, effect.order, effect.scope, effect.proxy
        case effects.Wait():
            return ()
        case _:
            raise AssertionError(f"no effect that orders memory: {effect}")


class SymbolicFragment(NamedTuple):
    """A checked fragment. `registers` gives every name's type; `inputs` are those read before they are written, `carried`
    those among them that are read only because a guarded instruction may leave them as they were; `outputs` maps each name
    that is written to the term of its register's final value; `left` has the type that the last instruction to write a name
    gives it, whatever the width of its register; `steps` are the instructions. `formats` has the type of each name that holds a
    format which cannot be declared, or packed values, as it is first read or last written. `taken` gives the type as which an
    instruction first takes an input (one of numbers before one of bits).

    `faults` says on which inputs the execution is undefined, `beyond` on which it goes where it was not followed, and `given`
    is what holds of its inputs anyway; `notes` says what was taken for granted. `bytes` are those outputs that are bytes of
    memory, `memory` the buffers and variables that there are. `obligations` are what has to be shown of an invariant: in words,
    and the condition under which it fails; `stepped` is that the invariant holds where its loop was stepped over. If a side
    `steps_over` one, what the loop leaves is any state that the invariant allows, be it reached or not. `side` is the text as a
    kernel, if it is no straight line. `epoch` has the version and the target that the text says, None if it says neither.
    `unwritten` has, by name, the terms of what registers and memory of a kernel or a function hold before anything is written;
    of those that are `idle`, no path reads that. `scratch` are the registers whose last value a later instruction reads.
    `orders` has the instructions that take part in the order of memory, and `events` what was executed of them, if that was
    asked for. `named` has the types of registers as the text names them, whichever lane they are of; what a module declares is
    not among them."""

    text: str
    registers: dict[str, Type]
    inputs: tuple[str, ...]
    carried: frozenset[str]
    outputs: dict[str, Any]
    steps: tuple[InstructionStep, ...]
    formats: dict[str, Type]
    taken: dict[str, Type]
    left: dict[str, Type]
    faults: Bool = FALSE
    beyond: tuple[Beyond, ...] = ()
    given: Bool = TRUE
    notes: tuple[str, ...] = ()
    bytes: frozenset[str] = frozenset()
    memory: frozenset[str] = frozenset()
    obligations: tuple[Any, ...] = ()
    stepped: Bool = TRUE
    steps_over: bool = False
    side: Any = None
    epoch: Epoch | None = None
    unwritten: dict[str, Any] = {}
    scratch: frozenset[str] = frozenset()
    idle: tuple[str, ...] = ()
    orders: tuple[Ordering, ...] = ()
    events: tuple[Any, ...] = ()
    named: Mapping[str, Type] = {}
