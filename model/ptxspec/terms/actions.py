"""The words by which a definition does more than compute: each notes an effect, or uses the condition code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import Bool, Int, blame, integer, truth, truth_variable, variable
from ptxspec.terms.editions import NEWEST, Edition, Epoch
from ptxspec.terms.effects import (
    NUMBER,
    Advance,
    Arrive,
    Await,
    Branch,
    Call,
    Check,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Exit,
    Fence,
    Follow,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initiate,
    Life,
    Load,
    Release,
    RepeatedAccess,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
)
from ptxspec.terms.in_registers import Carried, InRegisters
from ptxspec.terms.kinds import Special
from ptxspec.terms.orders import Order, Proxy, Scope
from ptxspec.terms.registries import CompletionMechanism, ObjectCompletion
from ptxspec.terms.steps import State, Step, taken
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import low_bits, select, sign_extend


@dataclass
class DefinitionTrace:
    """What the definition that is being evaluated does: its effect, its use of the condition code, and what it asked of the epoch
    of the module (by the register's entry and the edition)."""

    epoch: Epoch = NEWEST
    effect: Effect | None = None
    more: list[Effect] = field(default_factory=list)
    loaded: int = 0
    carry_read: bool = False
    carry_written: Bool | None = None
    borrows: bool = False
    specials: tuple[str, ...] = ()
    editions: dict[tuple[str, Edition], bool] = field(default_factory=dict)


#: that of the definition that is being evaluated, which is the last: one may be evaluated while another is
_traces: list[DefinitionTrace] = []


@contextmanager
def tracing(epoch: Epoch = NEWEST) -> Iterator[DefinitionTrace]:
    """Note what the words below are used for, in a module of that epoch."""
    _traces.append(DefinitionTrace(epoch))
    try:
        yield _traces[-1]
    finally:
        _traces.pop()


def current() -> DefinitionTrace | None:
    """The trace of the definition that is being evaluated, if one is."""
    return _traces[-1] if _traces else None


def _traced(what: str) -> DefinitionTrace:
    if not _traces:
        raise blame(f"{what} outside an instruction's definition")
    return _traces[-1]


def _note(effect: Effect) -> None:
    name = type(effect).__name__
    trace = _traced(name)
    if trace.effect is None:
        trace.effect = effect
    elif isinstance(effect, Load | Store) and isinstance(trace.effect, (Collective, type(effect))):
        trace.more.append(effect)
    elif isinstance(effect, Check | Fence) and isinstance(trace.effect, Collective):
        trace.more.append(effect)
    elif isinstance(effect, Initiate) and isinstance(trace.effect, Initiate | Collective):
        trace.more.append(effect)
    elif isinstance(effect, Collective) and isinstance(trace.effect, Advance) and not trace.more:
        trace.more.append(effect)
    elif isinstance(effect, Check | Await | Follow) and isinstance(trace.effect, Load | Update) and trace.effect.life:
        trace.more.append(effect)
    elif isinstance(effect, Check | Initiate) and isinstance(trace.effect, Load):
        trace.more.append(effect)
    elif isinstance(trace.effect, Check) and _is_repeated(effect):
        trace.more.append(effect)
    else:
        raise blame(f"a second effect ({name}, after {type(trace.effect).__name__}) in one instruction")


def _is_repeated(effect: Effect) -> bool:
    """Whether an instruction has such an effect as often as something says that was checked before."""
    if isinstance(effect, Initiate):
        return effect.times is not None
    return isinstance(effect, Load | Store | Update) and effect.repeated is not None


#: state spaces of which a generic address must lie in one; none: it may lie anywhere
Spaces = tuple[str, ...]


def _check_scope(order: Order | None, scope: Scope | None) -> None:
    """Blame a definition that says for which threads a weak access orders something, or does not say it of another one."""
    if (order in (None, Order.WEAK)) != (scope is None):
        what = "no order" if order is None else f"the order {order.value}"
        raise blame(f"{what} with {'no scope' if scope is None else f'the scope {scope.value}'}")


class Demand(NamedTuple):
    """What must hold before an access: a rule of the machine, by its name, and the condition."""

    rule: str
    holds: Bool


def load(
    space: str,
    at: Int,
    type: Type,
    count: int = 1,
    demand: Demand | None = None,
    into: Spaces = (),
    *,
    order: Order = Order.WEAK,
    scope: Scope | None = None,
    proxy: Proxy = Proxy.GENERIC,
    **how: Any,
) -> list[Int]:
    """Read `count` consecutive values of `type` from an address of a state space ("generic": of whichever it falls in, which must
    be one of `into` if there are any). `demand` is what must hold before. `order`, `scope` and `proxy` say how the access takes
    part in the order in which other threads see memory: one that is not weak has a scope. `how` names cache operators and the
    like, which change no value. A warp that has met may load several times, and so may an instruction that does nothing else;
    likewise `store`."""
    trace = _traced("a load")
    values = [variable(f"%loaded{trace.loaded + i}", type.width) for i in range(count)]
    trace.loaded += count
    rule, holds = demand or ("", None)
    _check_scope(order, scope)
    _note(Load(space, integer(at), type, count, how, rule, holds, into, order, scope, proxy))
    return [sign_extend(v, type.width) if type.signed else v for v in values]


def load_each(
    times: Int,
    space: str,
    at: Int,
    type: Type,
    count: int,
    begin: Callable[[Int], Int],
    fold: Callable[[Int, Int], Int],
    of: Type,
    *,
    order: Order = Order.WEAK,
    scope: Scope | None = None,
    proxy: Proxy = Proxy.GENERIC,
) -> list[Int]:
    """Load so many times, at least once, behind a check: `at` depends on the `number_of_operation`. What is given is, for each of
    the `count` values, what is left at last: begin(what was first loaded), then fold(what is left so far, what was loaded). It
    has the type `of`. The others are as for `load`."""
    folds = []
    left = [variable(f"%folded{i}", of.width) for i in range(count)]
    for i, before in enumerate(left):
        raw = variable(f"%loaded{i}", type.width)
        value = _read_as(raw, type)
        folded = select(NUMBER == 0, begin(value), fold(_read_as(before, of), value))
        folds.append(low_bits(folded, of.width))
    _check_scope(order, scope)
    repeated = RepeatedAccess(times, of, tuple(folds))
    _note(Load(space, integer(at), type, count, {}, "", None, (), order, scope, proxy, repeated=repeated))
    return [_read_as(value, of) for value in left]


def _read_as(bits: Int, type: Type) -> Int:
    """What bits say that were read as a value of a type."""
    return sign_extend(bits, type.width) if type.signed else bits


def store(
    space: str,
    at: Int,
    type: Type,
    values: list[Int],
    demand: Demand | None = None,
    into: Spaces = (),
    *,
    order: Order = Order.WEAK,
    scope: Scope | None = None,
    proxy: Proxy = Proxy.GENERIC,
    times: Int | None = None,
    **how: Any,
) -> None:
    """Write consecutive values of `type` to an address; `demand` is what must hold before. With `times` it is done so many times,
    at least once, behind a check: the terms depend on the `number_of_operation`. The others are as for `load`."""
    rule, holds = demand or ("", None)
    words = tuple(low_bits(v, type.width) for v in values)
    _check_scope(order, scope)
    repeated = _repetition(times, type)
    _note(Store(space, integer(at), type, words, how, rule, holds, into, order, scope, proxy, repeated=repeated))


def _repetition(times: Int | None, type: Type) -> RepeatedAccess | None:
    return None if times is None else RepeatedAccess(times, type)


def fence_accesses(order: Order, scope: Scope, restricted: str | None = None) -> None:
    """Order the thread's accesses before the instruction with those after it, as the threads of the scope observe them; if it is
    `restricted`, those only that the modifier of this name speaks of. A thread by itself cannot tell."""
    _check_scope(order, scope)
    _note(Fence(order, scope, (), restricted))


def fence_proxies(
    later: Proxy,
    earlier: Proxy,
    order: Order | None = None,
    scope: Scope | None = None,
    restricted: str | None = None,
) -> None:
    """The same for earlier accesses through one proxy and later ones through another; without an order and a scope, in both
    directions."""
    _check_scope(order, scope)
    _note(Fence(order, scope, (later, earlier), restricted))


def depend_on_grids(action: str) -> None:
    """Let the grids that depend on this one begin ("launch_dependents"), or see what those have left that it depends on
    ("wait")."""
    _note(GridDependency(action))


def check_address(rule: str, at: Int, holds: Bool) -> None:
    """End the launch, as the rule of this name says, unless something holds of an address at which nothing is accessed."""
    _note(Check(rule, integer(at), holds))


def check(rule: str, holds: Bool) -> None:
    """End the launch, as the rule of this name says, unless something holds of what a warp that has met gave."""
    _note(Check(rule, None, holds))


def update(
    space: str,
    at: Int,
    type: Type,
    change: Callable[[Int], Int | int],
    into: Spaces = (),
    *,
    demand: Demand | None = None,
    order: Order = Order.WEAK,
    scope: Scope | None = None,
    **how: Any,
) -> Int:
    """Read a value of `type`, write change(value) in its place, with no other access between, and give what was read. `demand` is
    what must hold before the value is written. The others are as for `load`."""
    raw = variable("%loaded0", type.width)
    old = sign_extend(raw, type.width) if type.signed else raw
    new = low_bits(integer(change(old)), type.width)
    _check_scope(order, scope)
    _note(Update(space, integer(at), type, (new,), how, into, order, scope, **_demanded(demand)))
    return old


def update_each(
    space: str,
    at: Int,
    type: Type,
    values: list[Int],
    change: Callable[[Int, Int], Int | int],
    into: Spaces = (),
    *,
    demand: Demand | None = None,
    order: Order = Order.WEAK,
    scope: Scope | None = None,
    proxy: Proxy = Proxy.GENERIC,
    times: Int | None = None,
    **how: Any,
) -> list[Int]:
    """The same for as many consecutive values of `type` as there are in `values`: in the place of each comes
    change(what was there, the value that stands at its place in `values`). What was read is given. With `times` it is done so
    many times, as for `store`, and what is given is of no use."""
    raw = [variable(f"%loaded{i}", type.width) for i in range(len(values))]
    old = [_read_as(v, type) for v in raw]
    new = tuple(low_bits(integer(change(o, v)), type.width) for o, v in zip(old, values, strict=True))
    _check_scope(order, scope)
    more = {**_demanded(demand), "repeated": _repetition(times, type)}
    _note(Update(space, integer(at), type, new, how, into, order, scope, proxy, **more))
    return old


def _demanded(demand: Demand | None) -> dict[str, Any]:
    """What an update asks for before it writes."""
    return {} if demand is None else {"rules": (demand.rule,), "conditions": (demand.holds,)}


def take(
    space: str,
    at: Int,
    step: Step,
    *operands: Int | int,
    into: Spaces = (),
    order: Order = Order.WEAK,
    scope: Scope | None = None,
    life: Life | None = None,
    **how: Any,
) -> Any:
    """Take a step on the object that lies at an address: on the record whose bits lie there, with no other access between. The
    step takes the record and the operands, and may change the record; its results are given. `life` says that the object begins
    or ends by it, or must be there; without, whatever lies there is taken for one. The others are as for `load`."""
    (port,) = step.states
    kind: type[State] = port.type
    if f"b{kind.object_bits()}" not in TYPES:
        raise blame(f"no object in memory has {kind.object_bits()} bits: {kind.__name__}")
    type = TYPES[f"b{kind.object_bits()}"]
    before = kind.unpacked(variable("%loaded0", type.width))
    requirements, given = taken(step, before, *operands)
    results = list(given) if len(step.outputs) > 1 else [given]
    _check_scope(order, scope)
    if step.changes or life is None:
        after = results.pop(0) if step.changes else before
        rules, conditions = (tuple(part) for part in zip(*requirements, strict=True)) if requirements else ((), ())
        new = (low_bits(after.packed, type.width),)
        _note(
            Update(space, integer(at), type, new, how, into, order, scope, Proxy.GENERIC, rules, conditions, life, kind)
        )
    else:
        _note(Load(space, integer(at), type, 1, how, "", None, into, order, scope, life=life))
        for rule, holds in requirements:
            _note(Check(rule, None, holds))
    return results[0] if len(results) == 1 else tuple(results)


def await_object(step: Step, at: Int, operand: Int, until: Bool) -> None:
    """Go on if something holds of the object at an address, on which the instruction has just taken a step with this operand.
    Where it does not hold again and again, wait until other threads or asynchronous operations have acted, and execute the
    instruction again; go on if nothing else can run."""
    word = variable("%loaded0", step.states[0].type.object_bits())
    _note(Await(until, step, integer(at), word, operand))


class ElementChange(NamedTuple):
    """How an asynchronous operation changes memory: elements of `type` become what a step makes of them and of what is read, each
    as by an atomic operation, relaxed at a scope, or by a weak one without a scope."""

    type: Type
    step: Step
    scope: Scope | None


class Arrangement(NamedTuple):
    """Where the bytes of an operation are: those that are read come behind `lead` others; offsets in the target and in the source
    differ in the bits of `reorder`; two bytes that are not read become `fill`. There are so many operations, or just one."""

    lead: Int | int = 0
    reorder: Int | int = 0
    fill: Int | int = 0
    times: Int | None = None


class Initiation(NamedTuple):
    """What holds where an operation is initiated, and what it does to what is there."""

    demand: Demand | None = None
    when: Bool | None = None
    change: ElementChange | None = None
    arrangement: Arrangement = Arrangement()


def initiate_copy(
    space: str,
    to: Int,
    of: str,
    source: Int,
    size: Int,
    read: Int,
    completion: CompletionMechanism | ObjectCompletion,
    *,
    together: int,
    object: tuple[str, Int] | None = None,
    align: Int | int | None = None,
    proxy: Proxy = Proxy.GENERIC,
    demand: Demand | None = None,
    when: Bool | None = None,
    change: ElementChange | None = None,
    arrangement: Arrangement = Arrangement(),
    **how: Any,
) -> None:
    """Initiate an asynchronous copy: it writes `size` bytes at an address of a state space: the first `read` with what lies at
    `source` in the space `of`, the others with zeros. Both addresses are multiples of `align`, a constant power of two, which is
    `size`, then a constant, if it is not given. It is complete when the mechanism `completion` says so, which may be an `object`
    in memory, by its state space and address. `together` bytes, a power of two, become visible at once. `demand` is what must
    hold before. An instruction may initiate several copies, each of them only `when` a condition holds. With a `change`, what is
    read changes what is there, element by element. Several copies may be initiated in one way, by an `arrangement`: the
    terms depend on the `number_of_operation`. `how` names cache operators and the like."""
    target, begin = (space, integer(to)), (of, integer(source))
    more = Initiation(demand, when, change, arrangement)
    _initiate(target, begin, integer(size), integer(read), completion, together, object, align, proxy, how, more)


def initiate_read(
    space: str,
    at: Int,
    size: int,
    completion: CompletionMechanism,
    *,
    proxy: Proxy = Proxy.GENERIC,
    when: Bool | None = None,
) -> None:
    """Initiate an asynchronous operation that reads `size` bytes at an address of a state space, a multiple of that, and writes
    nothing: what it reads stays as it is until it is complete. The others are as for `initiate_copy`."""
    where, more = (space, integer(at)), Initiation(when=when)
    _initiate(where, where, integer(0), integer(size), completion, size, None, size, proxy, {}, more)


def number_of_operation() -> Int:
    """The number of an operation among those that an instruction initiates in one way, from 0 on."""
    return NUMBER


def initiate_carried(
    space: str,
    to: Int,
    type: Type,
    values: list[Int],
    completion: CompletionMechanism | ObjectCompletion,
    *,
    object: tuple[str, Int] | None = None,
    align: Int | int | None = None,
    proxy: Proxy = Proxy.GENERIC,
    demand: Demand | None = None,
    change: ElementChange | None = None,
    **how: Any,
) -> None:
    """Initiate an asynchronous operation that writes values of `type`, at most 16 bytes, or changes with them what is there. Its
    registers may be written at once. The others are as for `initiate_copy`."""
    carried = Carried(type, tuple(low_bits(integer(value), type.width) for value in values))
    size, more = integer(carried.bytes), Initiation(demand, None, change)
    _initiate((space, integer(to)), ("", carried), size, size, completion, type.bytes, object, align, proxy, how, more)


def element_change(type: Type, scope: Scope | None, change: Callable[[Int, Int], Int]) -> ElementChange:
    """Let each element of `type` become change(what was there, what is read), as by an atomic operation, relaxed at a scope;
    without one, no other operation may write there."""

    def on_words(old: Int, value: Int) -> Int:
        was, given = (low_bits(word, type.width) for word in (old, value))
        if type.signed:
            was, given = sign_extend(was, type.width), sign_extend(given, type.width)
        return low_bits(integer(change(was, given)), type.width)

    word = TYPES["u64"]
    on_words.__annotations__ = {"old": word, "value": word, "return": word}
    return ElementChange(type, Step(on_words), scope)


def initiate_load(
    space: str,
    at: Int,
    type: Type,
    count: int,
    completion: CompletionMechanism | ObjectCompletion,
    *,
    object: tuple[str, Int] | None = None,
    align: Int | int | None = None,
    proxy: Proxy = Proxy.GENERIC,
    **how: Any,
) -> list[Int]:
    """Initiate an asynchronous operation that reads `count` consecutive values of `type` at an address of a state space, and
    writes them to the instruction's destinations. What is given stands for these values, which no register holds yet: the
    definition returns all of it as it is, and computes nothing with it. The others are as for `initiate_copy`."""
    into = InRegisters(type, tuple(variable(f"%arriving{i}", type.width) for i in range(count)))
    _initiate_with_registers(("", into), (space, integer(at)), into, completion, object, align, proxy, how)
    return list(into.values)


def initiate_store(
    space: str,
    at: Int,
    type: Type,
    values: list[Int],
    completion: CompletionMechanism | ObjectCompletion,
    *,
    object: tuple[str, Int] | None = None,
    align: Int | int | None = None,
    proxy: Proxy = Proxy.GENERIC,
    **how: Any,
) -> None:
    """Initiate an asynchronous operation that reads registers, and writes their values of `type` at an address of a state space.
    The values are operands as they are. The others are as for `initiate_copy`."""
    held = [value.args[0] if value.op == "signed" else value for value in values]
    if any(term.op != "var" or term.attrs[1] != type.width for term in held):
        raise blame(f"an asynchronous operation reads registers as they are: operands of {type.width} bits")
    of = InRegisters(type, tuple(held))
    _initiate_with_registers((space, integer(at)), ("", of), of, completion, object, align, proxy, how)


def _initiate_with_registers(
    target: tuple[str, Int | InRegisters],
    source: tuple[str, Int | InRegisters],
    registers: InRegisters,
    completion: CompletionMechanism | ObjectCompletion,
    object: tuple[str, Int] | None,
    align: Int | int | None,
    proxy: Proxy,
    how: dict[str, Any],
) -> None:
    """Note an operation that writes, or reads, these registers: a register at a time becomes visible."""
    if registers.type.kind == "pred":
        raise blame("no predicate is in flight: it has no bytes")
    size = integer(registers.bytes)
    _initiate(target, source, size, size, completion, registers.type.bytes, object, align, proxy, how)


def _initiate(
    target: tuple[str, Int | InRegisters],
    source: tuple[str, Int | InRegisters | Carried],
    size: Int,
    read: Int,
    completion: CompletionMechanism | ObjectCompletion,
    together: int,
    object: tuple[str, Int] | None,
    align: Int | int | None,
    proxy: Proxy,
    how: dict[str, Any],
    more: Initiation = Initiation(),
) -> None:
    """Note an operation, whose target and source are given with their state spaces."""
    if together < 1 or together & (together - 1):
        raise blame(f"{together} is no power of two")
    if (object is not None) != isinstance(completion, ObjectCompletion):
        raise blame(f"{completion.name}: an operation that completes on an object names it, no other does")
    among, place = ("", None) if object is None else (object[0], integer(object[1]))
    multiple = integer(size if align is None else align)
    rule, holds = more.demand or ("", None)
    change, element = (None, 0) if more.change is None else (more.change.step, more.change.type.bytes)
    scope = None if more.change is None else more.change.scope
    strength = (Order.WEAK if scope is None else Order.RELAXED, scope)
    lead, reorder, fill, times = more.arrangement
    effect = Initiate(*target, *source, size, read, multiple, completion, together, how, among, place, *strength, proxy)
    effect = replace(effect, lead=integer(lead), reorder=integer(reorder), fill=integer(fill), times=times)
    _note(replace(effect, change=change, element=element, when=more.when, rule=rule, holds=holds))


def follow(after: CompletionMechanism, completion: ObjectCompletion, space: str, at: Int) -> None:
    """Initiate an asynchronous operation without bytes, which is complete when those are that the thread has initiated before and
    that complete by the mechanism `after`. It completes on the object at an address of a state space."""
    _note(Follow(after, completion, space, integer(at)))


def advance(completion: CompletionMechanism, step: Step, *operands: Int | int) -> None:
    """Change the thread's record of a completion mechanism by a step, which takes the record and the operands, and gives the
    record. Then those of the thread's operations end that are complete."""
    if [port.type for port in step.states] != [completion.record] or step.changes != 1 or step.results:
        raise blame(f"{step.__name__} does not change a record of {completion.name}, and nothing else")
    if len(step.operands) != len(operands):
        raise blame(f"{step.__name__} has {len(step.operands)} operands")
    _note(Advance(completion, step, tuple(integer(operand) for operand in operands)))


class Collected(NamedTuple):
    """What the lanes of a warp put together: `members` has a 1 for every lane that takes part, `values` what each lane gave
    (for a lane that takes no part, no value in particular), `lane` is the thread's own. `at_once` has a 1 for every lane that
    executes the instruction at the same time, on this machine, be it for members of its own: these have given a value, too."""

    members: Int
    values: list[Int]
    lane: Int
    at_once: Int


def collective(
    value: Int | int,
    width: int,
    members: Int | None = None,
    *,
    patient: bool = False,
    converged: bool = False,
    order: Order | None = None,
) -> Collected:
    """Wait for the other threads of the warp that are named in `members` (a 1 a lane), and see the value, of `width` bits,
    that each of them gives. Without `members`, those take part that come to the instruction together; `patient` ones wait
    for those that may still come however long these take. `converged` threads meet only at the same instruction. With
    an `order`, it orders the memory accesses of those who take part as a barrier does."""
    mask = None if members is None else low_bits(members, 32)
    _note(Collective(low_bits(value, width), mask, patient, converged=converged, order=order))
    given = [low_bits(variable(f"%lane{i}", 64), width) for i in range(32)]
    return Collected(variable("%members", 32), given, low_bits(variable("%own", 32), 5), variable("%at_once", 32))


class CollectedWords(NamedTuple):
    """What the lanes of a whole warp gave, several values each: `values` has a list for each lane; `lane` is the thread's own."""

    values: list[list[Int]]
    lane: Int


def collective_words(values: Sequence[Int | int], width: int, warps: int = 1) -> CollectedWords:
    """Wait for all other threads of the warp at this very instruction, and see the values, of `width` bits, that each of them
    gives. A thread that has ended is waited for, too. Of several `warps`, a power of two, those of all of them are waited for."""
    first, *more = (low_bits(integer(value), width) for value in values)
    _note(Collective(first, integer((1 << 32) - 1), False, tuple(more), aligned=True, whole=True, warps=warps))
    return collected_words(len(values), width, warps)


def come_together() -> None:
    """Wait for all other threads of the warp that have not ended, at this very instruction."""
    _note(Collective(integer(0), integer((1 << 32) - 1), False, aligned=True))


def collected_words(count: int, width: int, warps: int = 1) -> CollectedWords:
    """What `collective_words` shows of so many values: it is the same for all that are as many and as wide."""
    lanes = 32 * warps
    given = [[low_bits(variable(name, 64), width) for name in lane_words(i, count)] for i in range(lanes)]
    return CollectedWords(given, low_bits(variable("%own", 32), lanes.bit_length() - 1))


def lane_words(lane: int, count: int) -> list[str]:
    """The names of what a lane of the warp gave."""
    return [f"%lane{lane}", *(f"%lane{lane}.{k}" for k in range(1, count))]


def access_image(
    image: Int,
    rule: Callable[..., Any],
    *operands: Int | int,
    proxy: Proxy,
    sampler: Int | None = None,
    answers: int = 0,
) -> list[Int]:
    """Ask the image that a handle stands for: what is to be done is what `rule` says of it (see `read_image`), given the
    description of the image, that of the sampler, and the operands. Memory is accessed through `proxy`. It gives `answers`
    numbers, of which the low 64 bits are known."""
    _note(ImageAccess(image, sampler, rule, tuple(map(integer, operands)), proxy))
    return [variable(f"%answer{i}", 64) for i in range(answers)]


def branch(target: Special) -> None:
    """Go on at a label."""
    _note(Branch(target))


def branch_among(index: Int, targets: Special) -> None:
    """Go on at the label of this number in a list."""
    _note(IndexedBranch(integer(index), targets))


def enter(function: Special | Int) -> None:
    """Call a function, by its name or by its address: pass the operands p, go on there, and let r have the results."""
    _note(Call(function))


def leave(what: str) -> None:
    """End the function ("return") or the thread ("exit")."""
    ends: dict[str, Effect] = {"return": Return(), "exit": Exit()}
    if what not in ends:
        raise blame(f"{what} ends neither a function nor a thread")
    _note(ends[what])


def stack_end() -> Int:
    """The address in local memory at which the thread's stack ends. It is noted that the program has saved it."""
    _note(StackEnd())
    return variable("%stack_end", 64)


def reserve(place: Callable[[Int], tuple[Int | int, Int | int]]) -> Int:
    """Let the thread's stack hold one more piece of memory, filled with zeros, until the function returns. place(end) says where
    it begins and how many bytes it has, where `end` is that of the stack. Gives where it begins."""
    begin, size = map(integer, place(variable("%stack_end", 64)))
    _note(Reserve(begin, size))
    return begin


def release(end: Int) -> None:
    """Let the thread's stack end at this address again."""
    _note(Release(integer(end)))


class Arrived(NamedTuple):
    """Of the threads that came to a barrier: how many there were, and for how many the predicate held."""

    threads: Int
    holding: Int


def stop(rule: str) -> None:
    """End the launch as the rule of this name says: it is the thread's own doing, and no fault."""
    _note(Stop(rule))


def arrive_in_cluster(*, aligned: bool = False, order: Order = Order.RELEASE) -> None:
    """Be counted at the barrier of the cluster without waiting there; `order` is RELEASE or RELAXED. If it is `aligned`, first
    wait for all threads of the warp that have not ended, at this very instruction; likewise the functions below."""
    _note(ClusterArrive(aligned, order))


def wait_for_cluster(*, aligned: bool = False) -> None:
    """Wait until the threads of the cluster have been counted at its barrier as often as this one."""
    _note(ClusterWait(aligned))


def wait_at_barrier(barrier: Int | int, threads: Int | None = None, *, aligned: bool = False) -> None:
    """Wait until the CTA's threads (or so many of them) have come to the barrier of this number."""
    _note(Wait(integer(barrier), threads, integer(0), reduction=False, aligned=aligned))


def count_at_barrier(barrier: Int | int, threads: Int | None, holds: Bool, *, aligned: bool = False) -> Arrived:
    """Wait as at a barrier, and learn how many of those that came hold a predicate."""
    _note(Wait(integer(barrier), threads, select(holds, 1, 0), reduction=True, aligned=aligned))
    return Arrived(variable("%arrived", 32), variable("%holding", 32))


def arrive_at_barrier(barrier: Int | int, threads: Int, *, aligned: bool = False) -> None:
    """Be counted at a barrier without waiting there."""
    _note(Arrive(integer(barrier), threads, aligned))


def condition_code(borrow: bool = False) -> Bool:
    """CC.CF: the carry or borrow that the last instruction with `.cc` left. `borrow` says that a borrow is expected: the bit is
    the same, but machines may store the two in different ways."""
    trace = _traced("the condition code")
    trace.carry_read = True
    trace.borrows |= borrow
    return truth_variable(CONDITION_CODE)


def set_condition_code(carry: Bool | bool, borrow: bool = False) -> None:
    """Leave a carry, or if `borrow` says so a borrow, in CC.CF."""
    if not _traces or _traces[-1].carry_written is not None:
        raise blame("the condition code is set outside an instruction's definition, or twice in one")
    _traces[-1].carry_written = truth(carry)
    _traces[-1].borrows |= borrow


def special(name: str) -> Int:
    """What the special register of this name, one of 32 bits, holds for the thread."""
    trace = _traced(name)
    if name not in trace.specials:
        trace.specials += (name,)
    return variable(name, 32)


#: the name under which the condition code is kept among a kernel's registers: no identifier has a dot
CONDITION_CODE = "CC.CF"
