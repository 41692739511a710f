"""The barriers of a CTA, and the threads that wait there: steps of spec/machine/barriers.md."""

from ptxspec.machine.driver.codes import AT_CTA, CTA_ARRIVES
from ptxspec.machine.driver.places import BARRIERS, LANES, fault, hold, let_go, ready


def cta_arrive(m, lane, op):
    """A thread arrives at a barrier, and waits there if its instruction says so."""
    number = m.number[lane]
    cta = lane // m.threads
    in_cta = lane - cta * m.threads
    warp = in_cta // LANES
    place = cta * BARRIERS
    if 0 <= number and number < BARRIERS:
        place += number
    named = m.named[lane]
    rule, done, _, arrived, holding = m.arrive_at_cta(
        place, place * m.warps_in_cta + warp,
        number, named, named < 0, m.reduces[op], m.value[lane], in_cta % LANES,
        m.warp_states[cta * m.warps_in_cta + warp], m.cta_states[cta],
    )  # fmt: skip
    if rule:
        m.fault_place = place
        return fault(m, CTA_ARRIVES, rule, lane)
    if not m.in_use[place]:
        m.in_use[place] = 1
        m.in_use_of[cta] = m.in_use_of[cta] + 1
    if m.stays[op]:
        hold(m, lane, AT_CTA)
        m.link[lane] = 0
        if m.head[place]:
            m.link[m.tail[place] - 1] = lane + 1
        else:
            m.head[place] = lane + 1
        m.tail[place] = lane + 1
    else:
        m.passing = m.passing + 1
        ready(m, lane)
    if done:
        cta_release(m, cta, place, arrived, holding)
    return 0


def cta_release(m, cta, place, arrived, holding):
    """A barrier has completed: those that wait there go on, and learn how many arrived and for how many the predicate holds."""
    m.in_use[place] = 0
    m.in_use_of[cta] = m.in_use_of[cta] - 1
    following = m.head[place]
    m.head[place] = 0
    while following:
        lane = following - 1
        following = m.link[lane]
        m.learned_named[lane] = arrived
        m.learned_value[lane] = holding
        let_go(m, lane)
        ready(m, lane)


def cta_lose(m, cta, in_cta, gone, alive):
    """A thread has ended, after which these lanes of its warp are gone, and so many threads of its CTA alive."""
    for number in range(BARRIERS):
        place = cta * BARRIERS + number
        if m.in_use[place]:
            done, _, arrived, holding = m.lose_at_cta(
                place, place * m.warps_in_cta + in_cta // LANES, in_cta % LANES, gone, alive
            )
            if done:
                cta_release(m, cta, place, arrived, holding)
