"""A thread that comes to where it meets others, and one that ends: steps of spec/machine/threads.md, and those of
spec/machine/warps.md by which a warp comes together."""

from ptxspec.machine.driver.cluster_barriers import cluster_arrive, cluster_lose
from ptxspec.machine.driver.codes import (
    ALL_LANES,
    CLUSTER_BARRIER,
    CTA_BARRIER,
    HOST,
    MEETS,
    NOT_WAITING,
    OBJECT,
    WARP_GROUP,
    WARPS_MEET,
)
from ptxspec.machine.driver.cta_barriers import cta_arrive, cta_lose
from ptxspec.machine.driver.objects import wait_for_object
from ptxspec.machine.driver.places import LANES, begin_wait, fault
from ptxspec.machine.driver.protocol import DriverMachine
from ptxspec.machine.driver.warp_collectives import give_to_warp, resume_later, warp_arrive, warp_lose


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
    begin_wait(m, thread, ALL_LANES)
    if over:
        return execute_together(m, cta, warp - cta * m.warps_in_cta, lanes)
    m.aligned_at[warp] = op + 1
    return 0


def execute(m: DriverMachine, thread: int, op: int) -> int:
    """A thread executes its instruction as far as it can without the others."""
    waits_for = m.waits_for[op]
    if waits_for == CTA_BARRIER:
        return cta_arrive(m, thread, op)
    if waits_for == CLUSTER_BARRIER:
        return cluster_arrive(m, thread, op)
    if waits_for == HOST:
        m.requesters[m.requests] = thread
        m.requests = m.requests + 1
        return 0
    if waits_for == OBJECT:
        return wait_for_object(m, thread)
    return warp_arrive(m, thread, op)


def execute_together(m: DriverMachine, cta: int, warp_in_cta: int, lanes: int) -> int:
    """All lanes of a warp have come to an instruction, and execute it, or wait for other warps."""
    group = 0
    m.aligned_at[cta * m.warps_in_cta + warp_in_cta] = 0
    begin = warp_in_cta * LANES
    end = begin + LANES
    if end > m.threads:
        end = m.threads
    for thread in range(cta * m.threads + begin, cta * m.threads + end):
        if m.wait_state[thread] == ALL_LANES:
            op = m.waits_at[thread]
            if m.waits_for[op] == CTA_BARRIER or m.waits_for[op] == CLUSTER_BARRIER:
                m.wait_state[thread] = NOT_WAITING
                m.waiting = m.waiting - 1
                code = execute(m, thread, op)
                if code:
                    return code
            else:
                give_to_warp(m, thread, op)
                m.learned_named[thread] = lanes
                if m.warps[op] > 1:
                    m.wait_state[thread] = WARP_GROUP
                    group = thread + 1
                else:
                    resume_later(m, thread)
    if group:
        return warps_arrive_together(m, cta, warp_in_cta, group - 1)
    return 0


def warps_arrive_together(m: DriverMachine, cta: int, warp_in_cta: int, thread: int) -> int:
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
            if m.wait_state[i] == WARP_GROUP:
                resume_later(m, i)
    return 0


def note_ends(m: DriverMachine) -> int:
    """Note the threads that have ended since the last call, in that order."""
    for i in range(m.ends_noted, m.counts[m.blocks]):
        code = thread_ended(m, m.lists[m.blocks * m.capacity + i])
        if code:
            return code
    m.ends_noted = m.counts[m.blocks]
    return 0


def thread_ended(m: DriverMachine, thread: int) -> int:
    """A thread has ended: others wait for it no longer."""
    cta = thread // m.threads
    in_cta = thread - cta * m.threads
    warp = cta * m.warps_in_cta + in_cta // LANES
    gone, alive = m.end_thread(warp, cta, in_cta % LANES)
    if m.barriers_in_use[cta] > 0:
        cta_lose(m, cta, in_cta, gone, alive)
    if m.in_clusters:
        cluster_lose(m, thread)
    if m.group_count[warp] > 0:
        warp_lose(m, warp, gone)
    if m.aligned_at[warp] > 0:
        over, lanes = m.leave_meeting(warp, gone, m.whole[m.aligned_at[warp] - 1])
        if over:
            return execute_together(m, cta, in_cta // LANES, lanes)
    return 0
