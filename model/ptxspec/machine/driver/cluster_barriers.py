"""The barrier of a cluster, and the threads that wait there: steps of spec/machine/clusters.md."""

from ptxspec.machine.driver.codes import ARRIVE, CLUSTER_ARRIVES, CLUSTER_BARRIER, CLUSTER_WAITS, COMPLETE, RELEASE
from ptxspec.machine.driver.places import begin_wait, end_wait, fault, make_ready
from ptxspec.machine.driver.protocol import DriverMachine
from ptxspec.machine.events import NO_INSTRUCTION


def cluster_arrive(m: DriverMachine, thread: int, op: int) -> int:
    """A thread arrives, or begins to wait."""
    cluster = thread // (m.threads * m.cluster)
    if not m.waits[op]:
        rule, done = m.arrive_at_cluster(cluster, thread)
        if rule:
            return fault(m, CLUSTER_ARRIVES, rule, thread)
        if m.observes:
            m.tell(ARRIVE, op, thread, 0)
        m.passing = m.passing + 1
        make_ready(m, thread)
        if done:
            if m.observes:
                m.tell(COMPLETE, op, thread, 0)
            cluster_release(m, cluster)
        return 0
    rule = m.wait_at_cluster(thread)
    if rule:
        return fault(m, CLUSTER_WAITS, rule, thread)
    begin_wait(m, thread, CLUSTER_BARRIER)
    m.link[thread] = m.cluster_head[cluster]
    m.cluster_head[cluster] = thread + 1
    cluster_release(m, cluster)
    return 0


def cluster_release(m: DriverMachine, cluster: int) -> None:
    """Those that may pass go on."""
    following = m.cluster_head[cluster]
    before = 0
    while following:
        thread = following - 1
        following = m.link[thread]
        if m.passes_cluster(cluster, thread):
            if before:
                m.link[before - 1] = following
            else:
                m.cluster_head[cluster] = following
            if m.observes:
                m.tell(RELEASE, m.waits_at[thread], thread, 0)
            end_wait(m, thread)
            make_ready(m, thread)
        else:
            before = thread + 1


def cluster_lose(m: DriverMachine, thread: int) -> None:
    """A thread has ended."""
    cluster = thread // (m.threads * m.cluster)
    if m.lose_at_cluster(cluster, thread):
        if m.observes:
            m.tell(COMPLETE, NO_INSTRUCTION, thread, 0)
        cluster_release(m, cluster)
