"""Effects: what an instruction does beyond writing registers. They are a closed union of classes.

Whoever must answer for every effect asks with `match` and ends in `assert_never`: a new class is an error of types there. The
fields are terms over the meaning's inputs, or static values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from enum import Enum
from typing import Any, ClassVar, TypeAlias, assert_never

from ptxspec.base.records import record
from ptxspec.terms.core import Bool, Int, Term, integer, variable
from ptxspec.terms.in_registers import Carried, InRegisters
from ptxspec.terms.kinds import Special
from ptxspec.terms.orders import Order, Proxy, Scope
from ptxspec.terms.registries import CompletionMechanism, ObjectCompletion
from ptxspec.terms.steps import State, Step
from ptxspec.terms.types import Type

#: the number of an operation, or of an access, among those that an instruction has in the same way
NUMBER = variable("%number", 32)
ZERO = integer(0)
#: a kind of records
StateKind: TypeAlias = type[State]

# Memory ----------------------------------------------------------------------------------------------------------------


class Life(Enum):
    """What an access to an object in memory is to it: the object begins, is there before and after, or ends."""

    BEGINS = "begins"
    LASTS = "lasts"
    ENDS = "ends"


@record(frozen=True)
class RepeatedAccess:
    """So many accesses of one instruction, at least one: each has its number, from 0 on, as NUMBER in the terms. After each of
    the loads, `folds` are values of `type` that depend on what was loaded and on those before, `%folded0` and so on."""

    times: Int
    type: Type
    folds: tuple[Int, ...] = ()


@record(frozen=True)
class Load:
    """Read `count` consecutive values of `type` from an address of a state space ("generic": of whichever it falls in). `how`
    names cache operators and the like: two loads that differ in these alone are the same to the machine. If there is a `rule`,
    what it says must hold before. A generic address must lie in one of the state spaces `into`, if there are any. `order`,
    `scope` (None for a weak one) and `proxy` say how it takes part in the order in which other threads see memory. One of the
    `shadow` reads not the bytes, but which of their bits are initialized. With a `life` it is a step on an object in memory. If
    it is `repeated`, there are several."""

    space: str
    address: Int
    type: Type
    count: int
    how: Mapping[str, Any] = field(compare=False)
    rule: str = ""
    holds: Bool | None = None
    into: tuple[str, ...] = ()
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    shadow: bool = False
    life: Life | None = None
    repeated: RepeatedAccess | None = None

    @property
    def bytes(self) -> int:
        """How many bytes it reads."""
        return self.type.bytes * self.count


@record(frozen=True)
class Store:
    """Write consecutive values of `type` to an address of a state space. If there is a `rule`, what it says must hold before.
    The other fields are as of a load."""

    space: str
    address: Int
    type: Type
    values: tuple[Int, ...]
    how: Mapping[str, Any] = field(compare=False)
    rule: str = ""
    holds: Bool | None = None
    into: tuple[str, ...] = ()
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    shadow: bool = False
    repeated: RepeatedAccess | None = None
    #: no step on an object in memory only writes
    life: ClassVar[None] = None

    @property
    def count(self) -> int:
        """How many values it writes."""
        return len(self.values)

    @property
    def bytes(self) -> int:
        """How many bytes it writes."""
        return self.type.bytes * self.count


@record(frozen=True)
class Update:
    """Read as many consecutive values of `type` as there are `values`, and write these in their place, with no other access
    between. Before anything is written, `conditions` must hold, or the launch ends as the first of the `rules` says whose
    condition does not. The other fields are as of a load; the `record` is that of an object, if it takes a step on one."""

    space: str
    address: Int
    type: Type
    values: tuple[Int, ...]
    how: Mapping[str, Any] = field(compare=False)
    into: tuple[str, ...] = ()
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    rules: tuple[str, ...] = ()
    conditions: tuple[Bool, ...] = ()
    life: Life | None = None
    record: StateKind | None = None
    repeated: RepeatedAccess | None = None

    @property
    def count(self) -> int:
        """How many values it reads, and writes."""
        return len(self.values)

    @property
    def bytes(self) -> int:
        """How many bytes it reads, and writes."""
        return self.type.bytes * self.count


@record(frozen=True)
class Check:
    """End the launch, as the rule of this name says, unless something `holds`; if it is about an address, nothing is accessed
    there. The `note` is what the report says of it."""

    rule: str
    address: Int | None
    holds: Bool
    note: str = field(default="", compare=False)


@record(frozen=True)
class Report:
    """Note that a check has found something here, `what` it is, and at how many bytes at an address, or none. Checks of a launch
    cause it, and no instruction."""

    what: str
    address: Int | None
    size: int


@record(frozen=True)
class Examine:
    """Note that a check has found something here, `what` it is, if not all bits of `size` bytes at an address of a state space
    are initialized; `to` is the address that the note has. Checks of a launch cause it, and no instruction."""

    what: str
    space: str
    address: Int
    size: Int
    to: Int


@record(frozen=True)
class Initialize:
    """Change which bits of `size` bytes at an address are initialized: as many as are to be `read`, as those at `source` in the
    space `of`, and the others all, or none. Without a space `of`, all bytes become `initialized`, or none. Checks of a launch
    cause it, and no instruction."""

    space: str
    address: Int
    size: Int
    initialized: bool
    of: str = ""
    source: Int | None = None
    read: Int | None = None


# The order in which other threads see memory ----------------------------------------------------------------------------


@record(frozen=True)
class Fence:
    """Order the thread's accesses before it with those after it, as the threads of a scope observe them. Between `proxies` it
    orders earlier accesses by the second with later ones by the first; one without an order does so in both directions. One that
    is `restricted` orders only the accesses that the modifier of this name speaks of."""

    order: Order | None
    scope: Scope | None
    proxies: tuple[Proxy, ...] = ()
    restricted: str | None = None


@record(frozen=True)
class GridDependency:
    """Let the grids that depend on this one begin ("launch_dependents"), or see what those have left that it depends on
    ("wait")."""

    action: str


# Asynchronous operations --------------------------------------------------------------------------------------------------


@record(frozen=True)
class Initiate:
    """Initiate an asynchronous operation, which writes `size` bytes at `to` in a state space: `read` of them, behind the first
    `lead`, with what lies at `source` in the space `of`, or with values that it has carried with it, the others with `fill`,
    which is what two bytes become. Offsets in the target and in the source differ in the bits of `reorder`. Both addresses are
    multiples of `align`, a constant power of two. It is complete when the mechanism `completion` says so; if that is an object
    in memory, it lies at `object` in the space `among`. `together` bytes, a power of two, become visible at once. With a
    `change`, each element of `element` bytes becomes what that step makes of it and of the element that is read. It is initiated
    only `when` a condition holds, if there is one; if there is a `rule`, what it says must hold then. The other fields are as of
    a load. Where it writes or reads registers, these stand in place of an address, and there is no state space, until each has a
    location. With `times`, there are so many operations: each has its number, from 0 on, as NUMBER in the terms."""

    space: str
    to: Int | InRegisters
    of: str
    source: Int | InRegisters | Carried
    size: Int
    read: Int
    align: Int
    completion: CompletionMechanism | ObjectCompletion
    together: int
    how: Mapping[str, Any] = field(compare=False)
    among: str = ""
    object: Int | None = None
    order: Order = Order.WEAK
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    change: Step | None = None
    element: int = 0
    when: Bool | None = None
    rule: str = ""
    holds: Bool | None = None
    lead: Int = ZERO
    reorder: Int = ZERO
    fill: Int = ZERO
    times: Int | None = None

    @property
    def only_reads(self) -> bool:
        """Whether it writes nothing: until it ends, nobody writes its source."""
        return self.size is ZERO


@record(frozen=True)
class Follow:
    """Initiate an asynchronous operation without bytes, which is complete when all those are that the thread has initiated before
    and that complete by the mechanism `after`; these end with it. It completes, as `completion` says, on the object that lies at
    `object` in the space `among`."""

    after: CompletionMechanism
    completion: ObjectCompletion
    among: str
    object: Int


@record(frozen=True)
class Advance:
    """Change the thread's record of a completion mechanism by a step, which takes the record and the operands; then the thread's
    operations that are complete end."""

    completion: CompletionMechanism
    step: Step
    operands: tuple[Int, ...]


# Other threads ---------------------------------------------------------------------------------------------------------


@record(frozen=True)
class Collective:
    """Give a value to the threads of the warp that `mask` names, and have theirs; without a mask, those take part that come to
    the instruction together. `patient` ones wait for those that may still come however long these take. `more` are the other
    values that are given, where an instruction gives several. `converged` ones meet only at the same instruction. `aligned` ones
    wait there for all threads of their warp that have not ended, and if the warp must be `whole`, for the others, too. The
    threads of several `warps` in succession may take part. With an `order`, it orders the accesses of those who take part."""

    value: Int
    mask: Int | None
    patient: bool
    more: tuple[Int, ...] = ()
    converged: bool = False
    aligned: bool = False
    whole: bool = False
    warps: int = 1
    order: Order | None = None


@record(frozen=True)
class Arrive:
    """Be counted at a barrier of the CTA, of its threads or of so many, and go on. If it is `aligned`, first wait for all threads
    of the warp that have not ended, at this very instruction; likewise the classes below."""

    barrier: Int
    threads: Int | None
    aligned: bool = False


@record(frozen=True)
class Wait:
    """Be counted at a barrier of the CTA, and wait until all have come. With a `reduction` each learns how many came, and for
    how many of them `value` was 1."""

    barrier: Int
    threads: Int | None
    value: Int
    reduction: bool
    aligned: bool = False


@record(frozen=True)
class ClusterArrive:
    """Be counted at the barrier of the cluster, and go on. With the order RELEASE, what the thread did before is known to those
    that wait there."""

    aligned: bool = False
    order: Order = Order.RELEASE


@record(frozen=True)
class ClusterWait:
    """Wait until the threads of the cluster have been counted at its barrier as often as this one."""

    aligned: bool = False


@record(frozen=True)
class Await:
    """Go on if `until` holds of an object in memory, as the instruction has just read it, or does not hold for the first time in
    succession. Else let other threads run, and asynchronous operations complete, and execute the instruction again; if neither
    can, go on. The object lies at `address`, and had the bits `word` when the `step` was taken on it, with this operand. The
    instruction stands behind the label `again`, once it has one."""

    until: Bool
    step: Step
    address: Int
    word: Int
    operand: Int
    again: str = ""


# The course of a program -----------------------------------------------------------------------------------------------


@record(frozen=True)
class Branch:
    """Go on at a label."""

    target: Special


@record(frozen=True)
class IndexedBranch:
    """Go on at the label of this number in a list."""

    index: Int
    targets: Special


@record(frozen=True)
class Call:
    """Call a function, by its name or by its address."""

    function: Special | Int


@record(frozen=True)
class Return:
    """End the function; that which was launched ends its thread."""


@record(frozen=True)
class Exit:
    """End the thread."""


@record(frozen=True)
class Stop:
    """End the launch, as the rule of this name says."""

    rule: str


# Images, and the stack of a thread ---------------------------------------------------------------------------------------


@record(frozen=True)
class ImageAccess:
    """Ask the image that a handle stands for, as `rule` says, given its description, that of the sampler, and the operands. It
    accesses memory through `proxy`."""

    image: Int
    sampler: Int | None
    rule: Callable[..., Any]
    operands: tuple[Int, ...]
    proxy: Proxy


@record(frozen=True)
class StackEnd:
    """Save where the thread's stack ends."""


@record(frozen=True)
class Reserve:
    """Let the thread's stack hold `size` more bytes, zeros, from the address `begin` on."""

    begin: Int
    size: Int


@record(frozen=True)
class Release:
    """Let the thread's stack end where it ended before, and give back what came after."""

    end: Int


# The union, and groups of its members ------------------------------------------------------------------------------------

#: those that access memory
Access: TypeAlias = Load | Store | Update
#: those that only order accesses for other threads: the thread by itself cannot tell
Fencing: TypeAlias = Fence | GridDependency
#: those that are about asynchronous operations
Asynchronous: TypeAlias = Initiate | Follow | Advance
#: those that ask for the stack of a thread
StackUse: TypeAlias = StackEnd | Reserve | Release
#: those by which a thread goes elsewhere, or ends
Jump: TypeAlias = Branch | IndexedBranch | Call | Return | Exit
#: those at a barrier of a CTA, and at that of a cluster
CtaBarrier: TypeAlias = Arrive | Wait
ClusterBarrier: TypeAlias = ClusterArrive | ClusterWait
#: those at which a thread is handed to what lets threads meet, or to the unit that holds the images, and goes on when told
Pause: TypeAlias = Collective | CtaBarrier | ClusterBarrier | Await | ImageAccess
#: those that end a basic block
Ending: TypeAlias = Jump | Stop | Pause

#: those that the checks of a launch add
Checking: TypeAlias = Report | Examine | Initialize

Effect: TypeAlias = Access | Fencing | Check | Checking | Asynchronous | StackUse | Ending


def lands(effect: Effect | None) -> bool:
    """Whether the results are known only after others have acted: threads that come to the instruction too, or the unit that
    holds the images."""
    return isinstance(effect, Collective | ImageAccess) or (isinstance(effect, Wait) and effect.reduction)


def terms_of(effect: Effect) -> list[Term]:
    """The terms that stand in an effect's fields."""
    values = [getattr(effect, f.name) for f in fields(effect)]
    values = [v.values if isinstance(v, InRegisters | Carried) else v for v in values]
    values = [(v.times, *v.folds) if isinstance(v, RepeatedAccess) else v for v in values]
    return [t for v in values for t in (v if isinstance(v, tuple) else (v,)) if isinstance(t, Term)]


def orders_memory(effect: Effect | None) -> bool:
    """Whether an effect takes part in the order in which other threads see memory: a fence, or an access that is not weak."""
    match effect:
        case Fence() | GridDependency():
            return True
        case Load() | Store() | Update() | Initiate():
            return effect.order is not Order.WEAK
        case None | Check() | Report() | Examine() | Initialize() | Advance() | StackEnd() | Reserve() | Release():
            return False
        case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess() | Await() | Follow():
            return False
        case Branch() | IndexedBranch() | Call() | Return() | Exit() | Stop():
            return False
        case _:
            assert_never(effect)


def seen_alone(access: Access) -> Access:
    """What an access does as far as a thread by itself can tell, whatever its order among others."""
    return replace(access, order=Order.WEAK, scope=None, proxy=Proxy.GENERIC)
