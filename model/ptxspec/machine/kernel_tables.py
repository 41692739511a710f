"""The driver's tables of a kernel: of each instruction what the threads that come to it wait for, and how, what they give, and
where they go on. Worked out once a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.driver import codes, inventory
from ptxspec.machine.driver.places import BARRIERS
from ptxspec.machine.program import KernelProgram, constant_arrival, more_words
from ptxspec.machine.system import system_function
from ptxspec.terms.effects import (
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
    Examine,
    Exit,
    Fence,
    Follow,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initialize,
    Initiate,
    Load,
    Release,
    Report,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
)


class KernelTables(NamedTuple):
    """The numbers and tables of the driver's machine that are the same in every launch of a kernel."""

    numbers: Mapping[str, int]
    tables: Mapping[str, list[int]]


class Role(NamedTuple):
    """What threads wait for at an instruction, as driver/codes.py has it. And how: whether a thread waits there, however long
    others take (`patient`), and learns how many have come (`reduces`); whether it meets only those at the very instruction
    (`converged`), or first waits there for all of its warp (`aligned`), for lanes that have ended, too (`whole`), and for so many
    `warps`."""

    waits_for: int = codes.NOT_WAITING
    waits: bool = True
    reduces: bool = False
    patient: bool = False
    converged: bool = False
    aligned: bool = False
    whole: bool = False
    warps: int = 1


def role_of(effect: Effect | None) -> Role:
    """What an effect means for the threads that come to the instruction."""
    match effect:
        case Collective():
            return Role(
                codes.WARP,
                patient=effect.patient,
                converged=effect.converged,
                aligned=effect.aligned,
                whole=effect.whole,
                warps=effect.warps,
            )
        case Arrive():
            return Role(codes.CTA_BARRIER, waits=False, aligned=effect.aligned)
        case Wait():
            return Role(codes.CTA_BARRIER, reduces=effect.reduction, aligned=effect.aligned)
        case ClusterArrive():
            return Role(codes.CLUSTER_BARRIER, waits=False, aligned=effect.aligned)
        case ClusterWait():
            return Role(codes.CLUSTER_BARRIER, aligned=effect.aligned)
        case ImageAccess():
            return Role(codes.HOST)
        case Await():
            return Role(codes.OBJECT)
        case Fence() | GridDependency():
            return Role()
        case None | Load() | Store() | Update() | Check() | StackEnd() | Reserve() | Release():
            return Role()
        case Report() | Examine() | Initialize():
            return Role()
        case Initiate() | Follow() | Advance():
            return Role()
        case Branch() | IndexedBranch() | Call() | Return() | Exit() | Stop():
            return Role()
        case _:
            assert_never(effect)


def roles_of(program: KernelProgram) -> list[Role]:
    """What threads wait for at each instruction of a kernel; at some calls it is the system's answer."""
    roles = []
    for op in program.kernel.code:
        asks = system_function(program.kernel, op) is not None
        role = role_of(op.plan.meaning.effect)
        roles.append(role._replace(waits_for=codes.HOST) if asks else role)
    return roles


def threads_meet(program: KernelProgram) -> bool:
    """Whether threads of a kernel wait for others, or for the host."""
    return any(role.waits_for != codes.NOT_WAITING for role in roles_of(program))


def kernel_tables(program: KernelProgram, engine: str) -> KernelTables:
    """The numbers and tables of a kernel under the engine of this name."""
    code, blocks = program.kernel.code, program.flow.blocks
    roles, prices = roles_of(program), contracts.limits.WORK[engine]
    price_of = [prices.waiting + prices.image * (role.waits_for == codes.HOST) for role in roles]
    for i, op in enumerate(code):
        if system_function(program.kernel, op) is not None:
            price_of[i] = prices.waiting + prices.system
    landings = [i for i, b in enumerate(blocks) if b.finishes is not None and roles[b.finishes].waits_for == codes.WARP]
    resumes, beyond = [0] * len(code), [0] * len(code)
    for block in blocks:
        if block.finishes is None and block.end:
            resumes[block.end - 1] = len(blocks) if block.taken is None else block.taken
            beyond[block.end - 1] = len(blocks) if block.next is None else block.next
    spellings: dict[str, int] = {}
    arrivals = [_arrival(program, op) for op in code]
    rows, schedule, scopes = inventory.rows(), contracts.schedule, {role.waits_for for role in roles}
    numbers = {
        "blocks": len(blocks), "landings": len(landings), "meets": int(threads_meet(program)),
        "in_clusters": int(codes.CLUSTER_BARRIER in scopes), "waits_for_objects": int(codes.OBJECT in scopes),
        "turn_length": schedule.TURN, "round_length": schedule.ROUND, "barrier_words": rows["barriers"],
        "part_words": rows["parts"], "patience_words": rows["patience"], "vigil_words": rows["vigils"],
        "meeting_words": rows["meetings"], "warp_meeting_words": rows["warp_meetings"], "visit_words": rows["visits"],
        "more_words": more_words(program), "observes": int(program.flow.observed.meetings),
        "each_arrival": int(program.flow.observed.each_arrival),
    }  # fmt: skip
    tables = {
        "resume": resumes,
        "beyond": beyond,
        "landing": landings,
        "price_of": price_of,
        # instructions that are spelled alike have one number: lanes meet at any of them
        "spelling": [spellings.setdefault(op.plan.form.mnemonic, len(spellings)) for op in code],
        **{field: [int(getattr(role, field)) for role in roles] for field in Role._fields},
        **{
            f"fixed{field}": [row[k] for row in arrivals] for k, field in enumerate(("", "_number", "_named", "_value"))
        },
    }
    return KernelTables(numbers, tables)


def _arrival(program: KernelProgram, op: Op) -> tuple[int, int, int, int]:
    """What is known of those that meet at an instruction, as driver/codes.py has it, and what each gives then."""
    given = constant_arrival(program, op)
    if given is None:
        return codes.UNKNOWN, 0, 0, 0
    return codes.FIXED if barrier_of_all(program, op) is None else codes.WHOLE_CTA, *given


def barrier_of_all(program: KernelProgram, op: Op) -> int | None:
    """The number of the barrier at which an instruction arrives, if that is known, and all threads of the CTA take part, for no
    reduction; else None."""
    given, role = constant_arrival(program, op), role_of(op.plan.meaning.effect)
    if given is None or role.waits_for != codes.CTA_BARRIER or role.reduces:
        return None
    number, named, _ = given
    return number if named < 0 and 0 <= number < BARRIERS else None
