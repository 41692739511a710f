"""Threads that wait at instructions that a warp executes together: steps of spec/machine/warps.md.

The groups of a warp have a place each in `groups`, at most as many as the warp has lanes; one that nobody waits in is free.
"""

from ptxspec.machine.driver.codes import ARRIVE, JOINS, MASKED_GROUP, RELEASE, UNMASKED
from ptxspec.machine.driver.places import LANES, begin_wait, end_wait, fault, make_ready
from ptxspec.machine.driver.protocol import DriverMachine


def warp_arrive(m: DriverMachine, thread: int, op: int) -> int:
    """A thread comes to an instruction of its warp."""
    give_to_warp(m, thread, op)
    named = m.named[thread]
    if named < 0:
        begin_wait(m, thread, UNMASKED)
        m.unmasked[m.unmasked_count] = thread
        m.unmasked_count = m.unmasked_count + 1
        return 0
    cta = thread // m.threads
    in_cta = thread - cta * m.threads
    warp = cta * m.warps_in_cta + in_cta // LANES
    place = group_place(m, warp, m.group_of(m.spelling[op], op, m.converged[op]), named)
    rule = m.join_group(place, named, in_cta % LANES)
    if rule:
        return fault(m, JOINS, rule, thread)
    begin_wait(m, thread, MASKED_GROUP)
    m.link[thread] = m.group_head[place]
    m.group_head[place] = thread + 1
    if m.may_go(place, named, m.warp_states[warp]):
        release_group(m, warp, place)
    return 0


def give_to_warp(m: DriverMachine, thread: int, op: int) -> None:
    """A thread arrives, and gives what is written in the program, if that is known."""
    if m.fixed[op]:
        m.named[thread] = m.fixed_named[op]
        m.value[thread] = m.fixed_value[op]
    if m.observes:
        m.tell(ARRIVE, op, thread, m.named[thread])


def group_place(m: DriverMachine, warp: int, kind: int, mask: int) -> int:
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
    m.group_count[warp] = m.group_count[warp] + 1
    return free


def release_group(m: DriverMachine, warp: int, place: int) -> None:
    """The lanes of a group resume once all arrivals are noted."""
    following = m.group_head[place]
    m.group_head[place] = 0
    m.group_count[warp] = m.group_count[warp] - 1
    while following:
        thread = following - 1
        following = m.link[thread]
        m.learned_named[thread] = m.groups[place]
        resume_later(m, thread)


def resume_later(m: DriverMachine, thread: int) -> None:
    """A thread resumes once all arrivals are noted."""
    end_wait(m, thread)
    m.resuming[m.resuming_count] = thread
    m.resuming_count = m.resuming_count + 1


def warp_lose(m: DriverMachine, warp: int, gone: int) -> None:
    """A thread has ended, after which these lanes of its warp are gone."""
    for place in range(warp * LANES, (warp + 1) * LANES):
        if m.group_head[place]:
            if m.may_go(place, m.group_mask[place], gone):
                release_group(m, warp, place)


def release_unmasked(m: DriverMachine, some_released: int, others_run: int) -> int:
    """Let those go on that wait for whoever comes, if it is time."""
    if m.unmasked_count == 0:
        m.look_in_vain(0, 0, some_released, others_run)
        return 0
    impatient = 0
    for i in range(m.unmasked_count):
        if not m.patient[m.waits_at[m.unmasked[i]]]:
            impatient = 1
    release_all, release_impatient = m.look_in_vain(0, impatient, some_released, others_run)
    if not release_all and not release_impatient:
        return 0
    for i in range(m.unmasked_count):
        thread = m.unmasked[i]
        if release_all or not m.patient[m.waits_at[thread]]:
            block = m.resume[m.waits_at[thread]] + 1
            warp = warp_of(m, thread)
            if m.earliest[warp] == 0 or block < m.earliest[warp]:
                m.earliest[warp] = block
    kept = 0
    for i in range(m.unmasked_count):
        thread = m.unmasked[i]
        released = release_all or not m.patient[m.waits_at[thread]]
        if released and m.resume[m.waits_at[thread]] + 1 == m.earliest[warp_of(m, thread)]:
            m.learned_named[thread] = 0
            resume_later(m, thread)
        else:
            m.unmasked[kept] = thread
            kept += 1
    m.unmasked_count = kept
    for i in range(m.resuming_count):
        m.earliest[warp_of(m, m.resuming[i])] = 0
    return 0


def warp_of(m: DriverMachine, thread: int) -> int:
    """The number of a thread's warp among all that are resident."""
    cta = thread // m.threads
    return cta * m.warps_in_cta + (thread - cta * m.threads) // LANES


def release_resuming(m: DriverMachine) -> None:
    """Those go on that may. Each learns in the upper half of what was named which lanes of its warp go on at the same place;
    one that named none, that these are the members."""
    for i in range(m.resuming_count):
        thread = m.resuming[i]
        place = release_place(m, thread)
        m.released_lanes[place] = m.released_lanes[place] | 1 << (thread % m.threads) % LANES
    for i in range(m.resuming_count):
        thread = m.resuming[i]
        together = m.released_lanes[release_place(m, thread)]
        members = m.members_of(m.learned_named[thread], together, m.named[thread] >= 0)
        m.learned_named[thread] = members | together << 32
        m.learned_value[thread] = m.value[thread]
        for k in range(thread * m.more_words, (thread + 1) * m.more_words):
            m.learned_words[k] = m.words[k]
        if m.observes:
            m.tell(RELEASE, m.waits_at[thread], thread, m.named[thread])
        make_ready(m, thread)
    for i in range(m.resuming_count):
        first = warp_of(m, m.resuming[i]) * LANES
        for place in range(first, first + LANES):
            m.released_lanes[place] = 0
            m.released_at[place] = 0
    m.resuming_count = 0


def release_place(m: DriverMachine, thread: int) -> int:
    """The place in `released_lanes` for the lanes of a warp that go on at this thread's instruction."""
    first = warp_of(m, thread) * LANES
    at = m.waits_at[thread] + 1
    for place in range(first, first + LANES):
        if m.released_at[place] == at or m.released_at[place] == 0:
            m.released_at[place] = at
            return place
    return first
