"""Threads that wait at instructions that a warp executes together: steps of spec/machine/warps.md.

The groups of a warp have a place each in `groups`, at most as many as the warp has lanes; one that nobody waits in is free.
"""

from ptxspec.machine.driver.codes import ARRIVE, AT_PLACE, IN_GROUP, JOINS, RELEASE
from ptxspec.machine.driver.places import LANES, fault, hold, let_go, ready
from ptxspec.machine.driver.protocol import DriverMachine


def warp_arrive(m: DriverMachine, thread: int, op: int) -> int:
    """A thread comes to an instruction of its warp."""
    give_at_warp(m, thread, op)
    named = m.named[thread]
    if named < 0:
        hold(m, thread, AT_PLACE)
        m.free[m.frees] = thread
        m.frees = m.frees + 1
        return 0
    cta = thread // m.threads
    in_cta = thread - cta * m.threads
    warp = cta * m.warps_in_cta + in_cta // LANES
    place = warp_place(m, warp, m.group_of(m.spelling[op], op, m.converged[op]), named)
    rule = m.join_group(place, named, in_cta % LANES)
    if rule:
        return fault(m, JOINS, rule, thread)
    hold(m, thread, IN_GROUP)
    m.link[thread] = m.group_head[place]
    m.group_head[place] = thread + 1
    if m.may_go(place, named, m.warp_states[warp]):
        warp_leave(m, warp, place)
    return 0


def give_at_warp(m: DriverMachine, thread: int, op: int) -> None:
    """A thread arrives, and gives what is written in the program, if that is known."""
    if m.fixed[op]:
        m.named[thread] = m.fixed_named[op]
        m.value[thread] = m.fixed_value[op]
    if m.observes:
        m.tell(ARRIVE, op, thread, m.named[thread])


def warp_place(m: DriverMachine, warp: int, kind: int, mask: int) -> int:
    """The place of the group that these tell from others, which is new if nobody waits in it yet."""
    free = -1
    for place in range(warp * LANES, (warp + 1) * LANES):
        if m.group_head[place]:
            if m.group_kind[place] == kind and m.group_mask[place] == mask:
                return place
        elif free < 0:
            free = place
    m.group_kind[free] = kind
    m.group_mask[free] = mask
    m.groups[free] = 0
    m.groups_in[warp] = m.groups_in[warp] + 1
    return free


def warp_leave(m: DriverMachine, warp: int, place: int) -> None:
    """The lanes of a group go on at the end of this look."""
    following = m.group_head[place]
    m.group_head[place] = 0
    m.groups_in[warp] = m.groups_in[warp] - 1
    while following:
        thread = following - 1
        following = m.link[thread]
        m.learned_named[thread] = m.groups[place]
        leave(m, thread)


def leave(m: DriverMachine, thread: int) -> None:
    """A thread goes on at the end of this look."""
    let_go(m, thread)
    m.going[m.goes] = thread
    m.goes = m.goes + 1


def warp_lose(m: DriverMachine, warp: int, gone: int) -> None:
    """A thread has ended, after which these lanes of its warp are gone."""
    for place in range(warp * LANES, (warp + 1) * LANES):
        if m.group_head[place]:
            if m.may_go(place, m.group_mask[place], gone):
                warp_leave(m, warp, place)


def look_at_warps(m: DriverMachine, some_go: int, others_run: int) -> int:
    """Let those go on that wait for whoever comes, if it is time."""
    if m.frees == 0:
        m.look_in_vain(0, 0, some_go, others_run)
        return 0
    impatient = 0
    for i in range(m.frees):
        if not m.patient[m.waits_at[m.free[i]]]:
            impatient = 1
    all_go, these_go = m.look_in_vain(0, impatient, some_go, others_run)
    if not all_go and not these_go:
        return 0
    for i in range(m.frees):
        thread = m.free[i]
        if all_go or not m.patient[m.waits_at[thread]]:
            at = m.resume[m.waits_at[thread]] + 1
            warp = warp_of(m, thread)
            if m.earliest[warp] == 0 or at < m.earliest[warp]:
                m.earliest[warp] = at
    kept = 0
    for i in range(m.frees):
        thread = m.free[i]
        goes = all_go or not m.patient[m.waits_at[thread]]
        if goes and m.resume[m.waits_at[thread]] + 1 == m.earliest[warp_of(m, thread)]:
            m.learned_named[thread] = 0
            leave(m, thread)
        else:
            m.free[kept] = thread
            kept += 1
    m.frees = kept
    for i in range(m.goes):
        m.earliest[warp_of(m, m.going[i])] = 0
    return 0


def warp_of(m: DriverMachine, thread: int) -> int:
    """The number of a thread's warp among all that are resident."""
    cta = thread // m.threads
    return cta * m.warps_in_cta + (thread - cta * m.threads) // LANES


def go(m: DriverMachine) -> None:
    """Those go on that may. Each learns in the upper half of what was named which lanes of its warp go on at the same place;
    one that named none, that these are the members."""
    for i in range(m.goes):
        thread = m.going[i]
        place = meeting(m, thread)
        m.met[place] = m.met[place] | 1 << (thread % m.threads) % LANES
    for i in range(m.goes):
        thread = m.going[i]
        together = m.met[meeting(m, thread)]
        members = m.members_of(m.learned_named[thread], together, m.named[thread] >= 0)
        m.learned_named[thread] = members | together << 32
        m.learned_value[thread] = m.value[thread]
        for k in range(thread * m.more_words, (thread + 1) * m.more_words):
            m.learned_words[k] = m.words[k]
        if m.observes:
            m.tell(RELEASE, m.waits_at[thread], thread, m.named[thread])
        ready(m, thread)
    for i in range(m.goes):
        first = warp_of(m, m.going[i]) * LANES
        for place in range(first, first + LANES):
            m.met[place] = 0
            m.met_at[place] = 0
    m.goes = 0


def meeting(m: DriverMachine, thread: int) -> int:
    """The place in `met` for the lanes of a warp that go on at this thread's instruction."""
    first = warp_of(m, thread) * LANES
    at = m.waits_at[thread] + 1
    for place in range(first, first + LANES):
        if m.met_at[place] == at or m.met_at[place] == 0:
            m.met_at[place] = at
            return place
    return first
