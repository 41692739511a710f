"""The barriers of a CTA, and the threads that wait there: steps of spec/machine/barriers.md."""

from ptxspec.machine.driver.codes import ARRIVE, COMPLETE, CTA_ARRIVES, CTA_BARRIER, RELEASE
from ptxspec.machine.driver.places import BARRIERS, LANES, begin_wait, end_wait, fault, make_ready
from ptxspec.machine.driver.protocol import DriverMachine
from ptxspec.machine.events import NO_INSTRUCTION


def cta_arrive(m: DriverMachine, thread: int, op: int) -> int:
    """A thread arrives at a barrier, and waits there if its instruction says so."""
    number = m.number[thread]
    named = m.named[thread]
    value = m.value[thread]
    if m.fixed[op]:
        number = m.fixed_number[op]
        named = m.fixed_named[op]
        value = m.fixed_value[op]
    cta = thread // m.threads
    in_cta = thread - cta * m.threads
    warp = in_cta // LANES
    place = cta * BARRIERS
    if 0 <= number and number < BARRIERS:
        place += number
    rule, done, _, arrived, holding = m.arrive_at_cta(
        place, place * m.warps_in_cta + warp,
        number, named, named < 0, m.reduces[op], value, in_cta % LANES,
        m.warp_states[cta * m.warps_in_cta + warp], m.cta_states[cta],
    )  # fmt: skip
    if rule:
        m.fault_place = place
        m.fault_number = number
        m.fault_named = named
        return fault(m, CTA_ARRIVES, rule, thread)
    if m.observes:
        if m.each_arrival or named >= 0:
            m.tell(ARRIVE, op, thread, number)
    if not m.in_use[place]:
        m.in_use[place] = 1
        m.barriers_in_use[cta] = m.barriers_in_use[cta] + 1
    if m.waits[op]:
        begin_wait(m, thread, CTA_BARRIER)
        m.link[thread] = 0
        if m.head[place]:
            m.link[m.tail[place] - 1] = thread + 1
        else:
            m.head[place] = thread + 1
        m.tail[place] = thread + 1
    else:
        m.passing = m.passing + 1
        make_ready(m, thread)
    if done:
        if m.observes:
            m.tell(COMPLETE, op, thread, number)
        cta_release(m, cta, place, arrived, holding)
    return 0


def cta_arrive_together(m: DriverMachine, thread: int, op: int, count: int) -> int:
    """So many threads of one CTA, from this one on, come to a barrier of the whole CTA, and are all that have come there;
    whether they could be counted at once."""
    cta = thread // m.threads
    place = cta * BARRIERS + m.fixed_number[op]
    if m.in_use[place]:
        return 0
    fits, done = m.arrive_together(place, count, m.cta_states[cta])
    if not fits:
        return 0
    block = m.resume[op]
    if not m.waits[op] or done:
        begin = block * m.capacity + m.counts[block]
        for i in range(count):
            m.lists[begin + i] = thread + i
        m.counts[block] = m.counts[block] + count
    if block == m.blocks:
        m.gone[cta] = m.gone[cta] + count
    if not m.waits[op]:
        m.passing = m.passing + count
    elif done:
        m.released = m.released + count
    if m.observes:
        if done:
            m.tell(COMPLETE, op, thread, m.fixed_number[op])
    if not done:
        m.in_use[place] = 1
        m.barriers_in_use[cta] = m.barriers_in_use[cta] + 1
        if m.waits[op]:
            m.head[place] = thread + 1
            m.tail[place] = thread + count
            m.waiting = m.waiting + count
            for i in range(count):
                m.wait_state[thread + i] = CTA_BARRIER
                m.link[thread + i] = thread + i + 2
            m.link[thread + count - 1] = 0
    return 1


def cta_release(m: DriverMachine, cta: int, place: int, arrived: int, holding: int) -> None:
    """A barrier has completed: those that wait there go on, and learn how many arrived and for how many the predicate holds."""
    m.in_use[place] = 0
    m.barriers_in_use[cta] = m.barriers_in_use[cta] - 1
    following = m.head[place]
    m.head[place] = 0
    while following:
        thread = following - 1
        following = m.link[thread]
        m.learned_named[thread] = arrived
        m.learned_value[thread] = holding
        if m.observes:
            if m.each_arrival:
                m.tell(RELEASE, m.waits_at[thread], thread, place - cta * BARRIERS)
        end_wait(m, thread)
        make_ready(m, thread)


def cta_lose(m: DriverMachine, cta: int, in_cta: int, gone: int, alive: int) -> None:
    """A thread has ended, after which these lanes of its warp are gone, and so many threads of its CTA alive."""
    for number in range(BARRIERS):
        place = cta * BARRIERS + number
        if m.in_use[place]:
            done, _, arrived, holding = m.lose_at_cta(
                place, place * m.warps_in_cta + in_cta // LANES, in_cta % LANES, gone, alive
            )
            if done:
                if m.observes:
                    m.tell(COMPLETE, NO_INSTRUCTION, cta * m.threads + in_cta, number)
                cta_release(m, cta, place, arrived, holding)
