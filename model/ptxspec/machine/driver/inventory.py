"""What the driver consists of: its functions, the arrays that they work on, and the steps of the pages that they take."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.machine.driver import (
    arrivals,
    choices,
    cluster_barriers,
    cta_barriers,
    grid,
    objects,
    places,
    turns,
    warp_collectives,
)
from ptxspec.machine.driver.codes import CHOICES
from ptxspec.machine.driver.scripted_steps import scripted
from ptxspec.terms.steps import Step

#: every function of the driver
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    places.enqueue, places.make_ready, places.begin_wait, places.end_wait, places.fault, cta_barriers.cta_arrive,
    cta_barriers.cta_arrive_together, cta_barriers.cta_release, cta_barriers.cta_lose, cluster_barriers.cluster_arrive,
    cluster_barriers.cluster_release, cluster_barriers.cluster_lose, warp_collectives.warp_arrive,
    warp_collectives.group_place, warp_collectives.release_group, warp_collectives.resume_later,
    warp_collectives.give_to_warp, warp_collectives.warp_lose, warp_collectives.release_unmasked, warp_collectives.warp_of,
    warp_collectives.release_resuming, warp_collectives.release_place, objects.wait_for_object,
    objects.release_from_objects, arrivals.arrive, arrivals.execute,
    arrivals.execute_together, arrivals.warps_arrive_together, arrivals.note_ends, arrivals.thread_ended, turns.turns,
    turns.turn, choices.chosen_turns, choices.place_of, choices.turn_of, grid.run, grid.take_part, grid.begin_batch, grid.reset,
    grid.last_step, grid.budget, grid.collect_arrivals, grid.next_batch, grid.consecutive_arrivals, grid.in_whole_warps,
    grid.release_waiters, grid.at_once,
)  # fmt: skip


class MachineShape(NamedTuple):
    """How large a launch's machine is: basic blocks, instructions, how many threads a list may have, threads and CTAs that are
    resident at once, the warps of all of them, their clusters, and the values that a thread gives its warp beside the first, at
    most."""

    blocks: int
    ops: int
    capacity: int
    threads: int
    ctas: int
    warps: int
    clusters: int
    more_words: int


#: arrays of which nothing is read that has not been written in the same launch
WRITTEN_FIRST = frozenset({"lists", "scratch", "choices"})
#: the arrays of a kernel whose threads meet nowhere; with all others they wait for one another
OF_TURNS = WRITTEN_FIRST | {"counts", "landing", "choosing", "gone"}


class ArrayLayout(NamedTuple):
    """An array of the machine: bytes of an element, and how many there are."""

    unit: int
    length: Callable[[MachineShape], int]


@cache
def steps() -> dict[str, tuple[Step, tuple[str | None, ...]]]:
    """By the driver's name for it, each step with the arrays in which the records lie that it is given (None: fields, one by
    one)."""
    barriers, clusters = contracts.barriers, contracts.clusters
    warps, threads = contracts.warps, contracts.threads
    return {
        "arrive_at_cta": (barriers.arrive, ("barriers", "parts", None)),
        "arrive_together": (barriers.arrive_together, ("barriers",)),
        "lose_at_cta": (barriers.lose, ("barriers", "parts")),
        "arrive_at_cluster": (clusters.arrive, ("cluster_barriers", "visits")),
        "begin_cluster": (clusters.begin, ("cluster_barriers",)),
        "wait_at_cluster": (clusters.wait, ("visits",)),
        "passes_cluster": (clusters.passes, ("cluster_barriers", "visits")),
        "lose_at_cluster": (clusters.lose, ("cluster_barriers", "visits")),
        "group_of": (warps.group_of, ()),
        "join_group": (warps.join_group, ("groups",)),
        "may_go": (warps.may_go, ("groups",)),
        "all_there": (warps.all_there, ()),
        "meet": (warps.meet, ("meetings",)),
        "meet_warps": (warps.meet_warps, ("warp_meetings",)),
        "leave_meeting": (warps.leave, ("meetings",)),
        "look_in_vain": (warps.look, ("patience",)),
        "look_at_objects": (contracts.asynchrony.look_at_objects, ("vigils",)),
        "members_of": (warps.members, ()),
        "begin_cta": (threads.begin, ("cta_states",)),
        "begin_warp": (threads.begin_warp, ("warp_states",)),
        "is_stuck": (threads.is_stuck, ()),
        "draw": (contracts.schedule.draw, ("choosing",)),
        "end_thread": (threads.end, ("warp_states", "cta_states")),
    }


@cache
def rows() -> dict[str, int]:
    """How many words a record of each array has."""
    lengths: dict[str, int] = {}
    for step, arrays in steps().values():
        for port, array in zip(step.states, arrays, strict=True):
            if array is not None:
                lengths[array] = len(port.words)
    return lengths


@cache
def columns() -> dict[str, ArrayLayout]:
    """The machine's arrays, by name."""
    words, barriers, lanes_in_warp = rows(), places.BARRIERS, places.LANES

    def a_thread(s: MachineShape) -> int:
        return s.threads

    def a_place(s: MachineShape) -> int:
        return s.ctas * barriers

    def a_group(s: MachineShape) -> int:
        return s.warps * lanes_in_warp

    of_thread = (
        "number", "named", "value", "waits_at", "link", "wait_state", "unmasked", "resuming", "requesters",
        "awaiting", "vain_at",
    )  # fmt: skip
    of_instruction = (
        "resume", "beyond", "waits_for", "waits", "reduces", "patient", "converged", "aligned", "whole", "warps", "spelling",
        "price_of", "fixed", "fixed_number", "fixed_named", "fixed_value",
    )  # fmt: skip
    counted: dict[str, Callable[[MachineShape], int]] = {
        **dict.fromkeys(of_thread, a_thread),
        # a warp's thirty-two are read together, even where the last warp of a CTA is smaller
        **dict.fromkeys(("learned_named", "learned_value"), lambda s: s.threads + lanes_in_warp),
        "words": lambda s: s.threads * s.more_words,
        "learned_words": lambda s: (s.threads + lanes_in_warp) * s.more_words,
        **dict.fromkeys(("in_use", "head", "tail"), a_place),
        **dict.fromkeys(("group_kind", "group_mask", "group_head", "released_lanes", "released_at"), a_group),
        **dict.fromkeys(of_instruction, lambda s: s.ops),
        **dict.fromkeys(("barriers_in_use", "gone"), lambda s: s.ctas),
        **dict.fromkeys(("earliest", "group_count", "aligned_at"), lambda s: s.warps),
        "counts": lambda s: s.blocks + 2,
        "landing": lambda s: s.blocks,
        "cluster_head": lambda s: s.clusters,
        "barriers": lambda s: s.ctas * barriers * words["barriers"],
        "parts": lambda s: s.warps * barriers * words["parts"],
        "warp_states": lambda s: s.warps * words["warp_states"],
        "cta_states": lambda s: s.ctas * words["cta_states"],
        "cluster_barriers": lambda s: s.clusters * words["cluster_barriers"],
        "visits": lambda s: s.threads * words["visits"],
        "groups": lambda s: s.warps * lanes_in_warp * words["groups"],
        "meetings": lambda s: s.warps * words["meetings"],
        "warp_meetings": lambda s: s.warps * words["warp_meetings"],
        "patience": lambda s: words["patience"],
        "vigils": lambda s: words["vigils"],
        "choosing": lambda s: words["choosing"],
        "choices": lambda s: CHOICES,
    }
    layouts = {name: ArrayLayout(8, length) for name, length in counted.items()}
    layouts["lists"] = ArrayLayout(4, lambda s: (s.blocks + 2) * s.capacity)
    layouts["scratch"] = layouts["waits_at"] = ArrayLayout(4, a_thread)
    return layouts


def scripted_step(step: Step, arrays: tuple[str | None, ...], machine: Any) -> Callable[..., Any]:
    """The step as a Python function, as the driver calls it: of the records' numbers or their fields, and of operands. It
    changes the records. It gives, if the step can break a rule, that rule's number, from 1 on, or 0; then the step's results.
    One value is given as it is, several as a tuple."""
    function = scripted(step)
    rules = [r.rule for r in step.meaning.requirements]
    kept = [
        (None if array is None else getattr(machine, array), len(port.words))
        for port, array in zip(step.states, arrays, strict=True)
    ]
    changes, results = step.changes, len(step.results)
    alone = results + bool(rules) == 1

    def take(*given: int) -> Any:
        words: list[int] = []
        at = 0
        where: list[tuple[Any, int, int]] = []
        for array, length in kept:
            if array is None:
                words += given[at : at + length]
                at += length
            else:
                start = given[at] * length
                where.append((array, start, length))
                words += array[start : start + length]
                at += 1
        rule, *outputs = function(*words, *given[at:])
        if rule is not None:
            broken = 1 + rules.index(rule)
            return broken if alone else (broken, *[0] * results)
        at = 0
        for array, start, length in where[:changes]:
            array[start : start + length] = outputs[at : at + length]
            at += length
        if rules:
            return 0 if alone else (0, *outputs[at:])
        return outputs[at] if alone else tuple(outputs[at:])

    return take
