"""A thread that comes to where it meets others, and one that ends."""

from ptxspec.machine.driver.cluster_barriers import cluster_arrive, cluster_lose
from ptxspec.machine.driver.codes import ASKS, AT_CLUSTER, AT_CTA
from ptxspec.machine.driver.cta_barriers import cta_arrive, cta_lose
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.driver.protocol import Machine
from ptxspec.machine.driver.warp_collectives import warp_arrive, warp_lose


def arrive(m: Machine, thread: int) -> int:
    """A thread comes to the instruction at which it is said to wait."""
    op = m.waits_at[thread]
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


def ends(m: Machine) -> None:
    """Note all threads that have ended since this was last asked, in that order."""
    for i in range(m.seen_to_end, m.counts[m.blocks]):
        end(m, m.lists[m.blocks * m.capacity + i])
    m.seen_to_end = m.counts[m.blocks]


def end(m: Machine, thread: int) -> None:
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
