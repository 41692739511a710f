"""Threads that wait at instructions that a warp executes together: steps of spec/machine/warps.md.

The groups of a warp have a place each in `groups`, at most as many as the warp has lanes; one that nobody waits in is free.
"""

from ptxspec.machine.driver.codes import AT_PLACE, IN_GROUP, JOINS
from ptxspec.machine.driver.places import LANES, fault, hold, let_go, ready
from ptxspec.machine.driver.protocol import Machine


def warp_arrive(m: Machine, lane: int, op: int) -> int:
    """A thread comes to an instruction of its warp."""
    if m.fixed[op]:
        m.named[lane] = m.fixed_named[op]
        m.value[lane] = m.fixed_value[op]
    named = m.named[lane]
    if named < 0:
        hold(m, lane, AT_PLACE)
        m.free[m.frees] = lane
        m.frees = m.frees + 1
        return 0
    cta = lane // m.threads
    in_cta = lane - cta * m.threads
    warp = cta * m.warps_in_cta + in_cta // LANES
    kind, mask = m.group_of(m.spelling[op], op, named, 1)
    place = warp_place(m, warp, kind, mask)
    rule = m.join_group(place, named, in_cta % LANES)
    if rule:
        return fault(m, JOINS, rule, lane)
    hold(m, lane, IN_GROUP)
    m.link[lane] = m.group_head[place]
    m.group_head[place] = lane + 1
    if m.may_go(place, named, m.warp_states[warp]):
        warp_leave(m, warp, place)
    return 0


def warp_place(m: Machine, warp: int, kind: int, mask: int) -> int:
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


def warp_leave(m: Machine, warp: int, place: int) -> None:
    """The lanes of a group go on at the end of this look."""
    following = m.group_head[place]
    m.group_head[place] = 0
    m.groups_in[warp] = m.groups_in[warp] - 1
    while following:
        lane = following - 1
        following = m.link[lane]
        m.learned_named[lane] = m.groups[place]
        leave(m, lane)


def leave(m: Machine, lane: int) -> None:
    """A lane goes on at the end of this look."""
    let_go(m, lane)
    m.going[m.goes] = lane
    m.goes = m.goes + 1


def warp_lose(m: Machine, warp: int, gone: int) -> None:
    """A thread has ended, after which these lanes of its warp are gone."""
    for place in range(warp * LANES, (warp + 1) * LANES):
        if m.group_head[place] and m.may_go(place, m.group_mask[place], gone):
            warp_leave(m, warp, place)


def look_at_warps(m: Machine, some_go: int, others_run: int) -> int:
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
        lane = m.free[i]
        if all_go or not m.patient[m.waits_at[lane]]:
            at = m.resume[m.waits_at[lane]] + 1
            warp = warp_of(m, lane)
            if m.earliest[warp] == 0 or at < m.earliest[warp]:
                m.earliest[warp] = at
    kept = 0
    for i in range(m.frees):
        lane = m.free[i]
        goes = all_go or not m.patient[m.waits_at[lane]]
        if goes and m.resume[m.waits_at[lane]] + 1 == m.earliest[warp_of(m, lane)]:
            m.learned_named[lane] = 0
            leave(m, lane)
        else:
            m.free[kept] = lane
            kept += 1
    m.frees = kept
    for i in range(m.goes):
        m.earliest[warp_of(m, m.going[i])] = 0
    return 0


def warp_of(m: Machine, lane: int) -> int:
    """The number of a thread's warp among all that are resident."""
    cta = lane // m.threads
    return cta * m.warps_in_cta + (lane - cta * m.threads) // LANES


def go(m: Machine) -> None:
    """Those go on that may. Each learns in the upper half of what was named which lanes of its warp go on at the same place;
    one that named none, that these are the members."""
    for i in range(m.goes):
        lane = m.going[i]
        place = meeting(m, lane)
        m.met[place] = m.met[place] | 1 << (lane % m.threads) % LANES
    for i in range(m.goes):
        lane = m.going[i]
        together = m.met[meeting(m, lane)]
        members = m.members_of(m.learned_named[lane], together, m.named[lane] >= 0)
        m.learned_named[lane] = members | together << 32
        m.learned_value[lane] = m.value[lane]
        ready(m, lane)
    for i in range(m.goes):
        first = warp_of(m, m.going[i]) * LANES
        for place in range(first, first + LANES):
            m.met[place] = 0
            m.met_at[place] = 0
    m.goes = 0


def meeting(m: Machine, lane: int) -> int:
    """The place in `met` for the lanes of a warp that go on at this lane's instruction."""
    first = warp_of(m, lane) * LANES
    at = m.waits_at[lane] + 1
    for place in range(first, first + LANES):
        if m.met_at[place] == at or m.met_at[place] == 0:
            m.met_at[place] = at
            return place
    return first
