"""What is said of threads that wait against a rule, or for others that never come."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ptxspec.language.checked import Kernel
from ptxspec.machine.batch import Extents
from ptxspec.machine.driver import codes, inventory
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.engine import EngineRun
from ptxspec.machine.program import spelled_object
from ptxspec.terms.effects import Await, Effect, Follow, Initiate, Life, Update
from ptxspec.terms.registries import ObjectCompletion
from ptxspec.terms.steps import State

#: the rule, a note, and the thread and instruction at which it is reported
Report = tuple[str, str, int, int]
#: what tells an instruction of the kernel, by its number
Describe = Callable[[int], str]

_STEPS = {
    codes.CTA_ARRIVES: "arrive_at_cta",
    codes.JOINS: "join_group",
    codes.CLUSTER_ARRIVES: "arrive_at_cluster",
    codes.CLUSTER_WAITS: "wait_at_cluster",
    codes.MEETS: "meet",
    codes.WARPS_MEET: "meet_warps",
}


def misuse(running: EngineRun, describe: Describe) -> Report:
    """Of a thread whose step broke a rule."""
    step, number = running.get("fault_step"), running.get("fault_rule")
    thread, op = running.get("fault_thread"), running.get("fault_op")
    rule = inventory.steps()[_STEPS[step]][0].meaning.requirements[number - 1].rule
    if step == codes.MEETS:
        return rule, _whereabouts(running, describe, thread), thread, op
    if step == codes.WARPS_MEET:
        return rule, f"another warp of its group waits at another instruction than {describe(op)}", thread, op
    named = int(arrival_values(running, "named", np.array([thread]))[0])
    if step == codes.JOINS:
        lane = thread % running.get("threads") % LANES
        return rule, f"lane {lane} is not in the mask {named:#010x}", thread, op
    if step == codes.CTA_ARRIVES:
        named, barrier = running.get("fault_named"), running.get("fault_number")
        kind = inventory.steps()["arrive_at_cta"][0].states[0].type
        place = running.get("fault_place") * len(kind.fields) + list(kind.fields).index("named")
        names = sorted([int(running.column("barriers")[place]) or -1, named])
        counts = " and ".join("all" if n < 0 else str(n) for n in names)
        notes = {
            "barrier number": f"barrier {barrier}",
            "barrier count": f"{named} threads",
            "barrier counts differ": f"barrier {barrier}: {counts}",
            "barrier kinds differ": f"barrier {barrier}: some come for a reduction, others not",
        }
        return rule, notes[rule], thread, op
    notes = {
        "second arrival": "the thread has arrived before, and not waited since",
        "wait without arrival": "the thread has not arrived since it waited last, if it did",
    }
    return rule, notes[rule], thread, op


def stuck(running: EngineRun, extents: Extents, kernel: Kernel, describe: Describe) -> Report:
    """Of threads that wait, where nothing can run any more."""
    wait_state = running.column("wait_state")[: running.get("resident_threads")]
    reports = (
        (codes.MASKED_GROUP, _stuck_warp),
        (codes.ALL_LANES, _stuck_together),
        (codes.WARP_GROUP, _stuck_warps),
        (codes.CTA_BARRIER, _stuck_cta),
        (codes.CLUSTER_BARRIER, _stuck_cluster),
        (codes.OBJECT, partial(_stuck_object, kernel)),
    )
    for state, report in reports:
        waiters = np.flatnonzero(wait_state == state)
        if len(waiters):
            return report(running, extents, waiters, describe)
    raise AssertionError("no waiter is stuck")


def _stuck_object(kernel: Kernel, running: EngineRun, extents: Extents, threads: Any, describe: Describe) -> Report:
    """Who waits for which object, what it holds, and what might change it."""
    thread = int(threads[0])
    at = int(running.column("waits_at")[thread])
    effect = kernel.code[at].plan.meaning.effect
    assert isinstance(effect, Await)
    kind, every = effect.step.states[0].type, (1 << 64) - 1
    address, operand, word = (
        int(arrival_values(running, name, np.array([thread]))[0]) & every for name in ("number", "named", "value")
    )
    (asked,) = effect.step.operands
    note = (
        f"{len(threads)} threads wait for objects, and nothing else can run; that at {address:#x} has "
        f"{spelled_object(kind, word)}; the thread asks for {asked.name} {operand & (1 << asked.type.width) - 1:#x}"
    )
    ways = [i for i, op in enumerate(kernel.code) if _changes_object(op.plan.meaning.effect, kind)]
    if ways:
        note += f"; what changes such objects: {', '.join(dict.fromkeys(map(describe, ways)))}"
    return "stuck object", note, thread, at


def _changes_object(effect: Effect | None, kind: type[State]) -> bool:
    """Whether an effect changes objects of a kind, or initiates an operation that completes on one."""
    match effect:
        case Update(life=Life.LASTS):
            return True
        case Initiate() | Follow():
            return isinstance(effect.completion, ObjectCompletion) and effect.completion.record is kind
        case _:
            return False


def _ended(running: EngineRun) -> Any:
    """The resident threads that have ended."""
    blocks = running.get("blocks")
    begin = blocks * running.get("capacity")
    return np.asarray(running.column("lists")[begin : begin + int(running.column("counts")[blocks])], np.int64)


def _stuck_warps(running: EngineRun, extents: Extents, threads: Any, describe: Describe) -> Report:
    """Of warps that wait for others of their group."""
    thread = int(threads[0])
    op, size = int(running.column("waits_at")[thread]), extents.threads
    count = int(running.column("warps")[op])
    there = sorted({int(t) % size // LANES for t in threads if t // size == thread // size})
    group = [w for w in there if w // count == there[0] // count]
    note = (
        f"{describe(op)} is executed by {count} warps together; only warp{'s' * (len(group) > 1)} "
        f"{', '.join(map(str, group))} of the CTA came, and nothing else can run"
    )
    return "aligned group", note, thread, op


def arrival_values(running: EngineRun, name: str, threads: Any) -> Any:
    """What threads gave where they wait."""
    at = running.column("waits_at")[threads]
    known = running.column("fixed")[at] != codes.UNKNOWN
    return np.where(known, running.column(f"fixed_{name}")[at], running.column(name)[threads])


def _lanes_by_place(running: EngineRun, thread: int) -> dict[int, int]:
    """For each instruction at which threads of a thread's warp wait, or to which they have just come, the mask of their lanes."""
    size = running.get("threads")
    first = thread - thread % size % LANES
    mates = range(first, min(first + LANES, thread - thread % size + size))
    arrivals = running.get("blocks") + 1
    begin = arrivals * running.get("capacity")
    queue = running.column("lists")[begin : begin + int(running.column("counts")[arrivals])].tolist()
    queue = queue[queue.index(thread) :] if thread in queue else []
    by_instruction: dict[int, int] = {}
    for mate in mates:
        if int(running.column("wait_state")[mate]) != codes.NOT_WAITING or mate in queue:
            op = int(running.column("waits_at")[mate])
            by_instruction[op] = by_instruction.get(op, 0) | 1 << mate - first
    return by_instruction


def _whereabouts(running: EngineRun, describe: Describe, thread: int) -> str:
    """Which lanes of a thread's warp are where."""
    return _listed(_lanes_by_place(running, thread), describe)


def _listed(places: dict[int, int], describe: Describe) -> str:
    """Which lanes are at which instruction."""
    return ", ".join(f"lanes {lanes:#010x} are at {describe(op)}" for op, lanes in sorted(places.items()))


def _stuck_together(running: EngineRun, extents: Extents, threads: Any, describe: Describe) -> Report:
    """Of lanes that wait for all others of their warp."""
    thread = int(threads[0])
    op = int(running.column("waits_at")[thread])
    places = _lanes_by_place(running, thread)
    if len(places) == 1:
        every = (1 << LANES) - 1
        return (
            "stuck warp",
            f"lanes {places[op]:#010x} wait for lanes {every:#010x}, and nothing else can run",
            thread,
            op,
        )
    return "aligned", f"{_whereabouts(running, describe, thread)}, and nothing else can run", thread, op


def _stuck_warp(running: EngineRun, extents: Extents, threads: Any, describe: Describe) -> Report:
    """Who waits for whom in a warp."""
    named, at = arrival_values(running, "named", threads), running.column("waits_at")[threads]
    in_cta = threads % extents.threads
    warp, lane = threads // extents.threads * running.get("warps_in_cta") + in_cta // LANES, in_cta % LANES
    spelling, converged = running.column("spelling"), running.column("converged")
    meets = np.where(converged[at], at + len(spelling), spelling[at])  # what tells groups apart
    mates = (warp == warp[0]) & (meets == meets[0])
    group = mates & (named == named[0])
    bits = int(np.bitwise_or.reduce(np.int64(1) << lane[group]))
    note = f"lanes {bits:#010x} wait for lanes {int(named[0]):#010x}, and nothing else can run"
    if mates.sum() > group.sum():
        note += "; other lanes came under another mask"
    elsewhere = {op: lanes for op, lanes in _lanes_by_place(running, int(threads[0])).items() if not lanes & bits}
    if elsewhere:
        note += f"; {_listed(elsewhere, describe)}"
    return "stuck warp", note, int(threads[0]), int(at[0])


def _stuck_cta(running: EngineRun, extents: Extents, threads: Any, describe: Describe) -> Report:
    """Who waits where in a CTA."""
    at = running.column("waits_at")[threads]
    numbers, named = (arrival_values(running, name, threads) for name in ("number", "named"))
    cta = threads // extents.threads
    here = cta == cta[0]
    mates = here & (numbers == numbers[0])
    elsewhere = here & ~mates
    gone = int((_ended(running) // extents.threads == cta[0]).sum())
    expected = extents.threads - gone if named[0] < 0 else int(named[0])
    note = f"{mates.sum()} threads wait at barrier {numbers[0]} for {expected}, and nothing else can run"
    if elsewhere.any():
        note += f"; {elsewhere.sum()} threads of the CTA wait at barrier {numbers[elsewhere][0]}"
    if gone:
        note += f"; {gone} threads of the CTA have ended"
    return "stuck barrier", note, int(threads[0]), int(at[0])


def _stuck_cluster(running: EngineRun, extents: Extents, threads: Any, describe: Describe) -> Report:
    """Who does not arrive in a cluster."""
    kind = inventory.steps()["wait_at_cluster"][0].states[0].type
    arrivals = running.column("visits").reshape(-1, len(kind.fields))[:, list(kind.fields).index("arrivals")]
    every = np.arange(running.get("resident_threads"))
    of_cluster = every // (extents.threads * extents.cluster_size)
    here = of_cluster == of_cluster[threads[0]]
    here[_ended(running)] = False
    late = np.flatnonzero(here & (arrivals[: len(every)] < arrivals[threads[0]]))
    rank = int(late[0]) // extents.threads % extents.cluster_size
    note = (
        f"{len(late)} threads of the cluster, the first of them in the CTA of rank {rank}, do not arrive at its "
        "barrier, and nothing else can run"
    )
    return "stuck barrier", note, int(threads[0]), int(running.column("waits_at")[threads[0]])
