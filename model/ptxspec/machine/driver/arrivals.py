"""A thread that comes to where it meets others, and one that ends: steps of spec/machine/threads.md, and those of
spec/machine/warps.md by which a warp comes together."""

from ptxspec.machine.driver.cluster_barriers import cluster_arrive, cluster_lose
from ptxspec.machine.driver.codes import ASKS, AT_CLUSTER, AT_CTA, MEETS, NOWHERE, TOGETHER, WARPS_MEET, WITH_WARPS
from ptxspec.machine.driver.cta_barriers import cta_arrive, cta_lose
from ptxspec.machine.driver.places import LANES, fault, hold
from ptxspec.machine.driver.protocol import DriverMachine
from ptxspec.machine.driver.warp_collectives import give_at_warp, leave, warp_arrive, warp_lose


def arrive(m: DriverMachine, thread: int) -> int:
    """A thread comes to the instruction at which it is said to wait."""
    op = m.waits_at[thread]
    if not m.aligned[op]:
        return execute(m, thread, op)
    cta = thread // m.threads
    in_cta = thread - cta * m.threads
    warp = cta * m.warps_in_cta + in_cta // LANES
    rule, over, lanes = m.meet(warp, op, in_cta % LANES, m.warp_states[warp], m.whole[op])
    if rule:
        return fault(m, MEETS, rule, thread)
    hold(m, thread, TOGETHER)
    if over:
        return execute_together(m, cta, warp - cta * m.warps_in_cta, lanes)
    m.meeting_at[warp] = op + 1
    return 0


def execute(m: DriverMachine, thread: int, op: int) -> int:
    """A thread executes its instruction as far as it can without the others."""
    whom = m.whom[op]
    if whom == AT_CTA:
        return cta_arrive(m, thread, op)
    if whom == AT_CLUSTER:
        return cluster_arrive(m, thread, op)
    if whom == ASKS:
        m.asking[m.asked] = thread
        m.asked = m.asked + 1
        return 0
    return warp_arrive(m, thread, op)


def execute_together(m: DriverMachine, cta: int, warp_in_cta: int, lanes: int) -> int:
    """All lanes of a warp have come to an instruction, and execute it, or wait for other warps."""
    group = 0
    m.meeting_at[cta * m.warps_in_cta + warp_in_cta] = 0
    begin = warp_in_cta * LANES
    end = begin + LANES
    if end > m.threads:
        end = m.threads
    for thread in range(cta * m.threads + begin, cta * m.threads + end):
        if m.held[thread] == TOGETHER:
            op = m.waits_at[thread]
            if m.whom[op] == AT_CTA or m.whom[op] == AT_CLUSTER:
                m.held[thread] = NOWHERE
                m.waiting = m.waiting - 1
                code = execute(m, thread, op)
                if code:
                    return code
            else:
                give_at_warp(m, thread, op)
                m.learned_named[thread] = lanes
                if m.warps[op] > 1:
                    m.held[thread] = WITH_WARPS
                    group = thread + 1
                else:
                    leave(m, thread)
    if group:
        return warps_together(m, cta, warp_in_cta, group - 1)
    return 0


def warps_together(m: DriverMachine, cta: int, warp_in_cta: int, thread: int) -> int:
    """A warp has come to an instruction of several, a thread of it last. When all have, their threads go on."""
    op = m.waits_at[thread]
    count = m.warps[op]
    first = warp_in_cta - warp_in_cta % count
    rule, over = m.meet_warps(cta * m.warps_in_cta + first, op, warp_in_cta - first, count)
    if rule:
        return fault(m, WARPS_MEET, rule, thread)
    if over:
        begin = cta * m.threads + first * LANES
        for i in range(begin, begin + count * LANES):
            if m.held[i] == WITH_WARPS:
                leave(m, i)
    return 0


def ends(m: DriverMachine) -> int:
    """Note all threads that have ended since this was last asked, in that order."""
    for i in range(m.seen_to_end, m.counts[m.blocks]):
        code = end(m, m.lists[m.blocks * m.capacity + i])
        if code:
            return code
    m.seen_to_end = m.counts[m.blocks]
    return 0


def end(m: DriverMachine, thread: int) -> int:
    """A thread has ended: others wait for it no longer."""
    cta = thread // m.threads
    in_cta = thread - cta * m.threads
    warp = cta * m.warps_in_cta + in_cta // LANES
    gone, alive = m.end_thread(warp, cta, in_cta % LANES)
    if m.in_use_of[cta] > 0:
        cta_lose(m, cta, in_cta, gone, alive)
    if m.in_clusters:
        cluster_lose(m, thread)
    if m.groups_in[warp] > 0:
        warp_lose(m, warp, gone)
    if m.meeting_at[warp] > 0:
        over, lanes = m.leave_meeting(warp, gone, m.whole[m.meeting_at[warp] - 1])
        if over:
            return execute_together(m, cta, in_cta // LANES, lanes)
    return 0
