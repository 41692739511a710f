"""A grid: one batch of CTAs after the other, rounds of turns, and what the host is needed for."""

from ptxspec.machine.driver.arrivals import arrive, execute, note_ends
from ptxspec.machine.driver.choices import chosen_turns
from ptxspec.machine.driver.codes import (
    ANSWERED,
    ASK,
    ASKING,
    CTA_BARRIER,
    DONE,
    EMPTIED,
    LIMIT,
    NEW,
    OUT,
    PAUSE,
    RENEW,
    RUNNING,
    STUCK,
    WHOLE_CTA,
)  # fmt: skip
from ptxspec.machine.driver.cta_barriers import cta_arrive_together
from ptxspec.machine.driver.objects import release_from_objects
from ptxspec.machine.driver.places import BARRIERS, EVERYONE, LANES, make_ready
from ptxspec.machine.driver.protocol import DriverMachine
from ptxspec.machine.driver.turns import turns
from ptxspec.machine.driver.warp_collectives import release_resuming, release_unmasked

#: arrivals that are looked at together
TOGETHER = 256

#: a worker takes this part of the CTAs that are left, divided by how many workers there are: much at first, since neighbours
#: touch the same lines of memory, and little in the end, so that all end together
PART = 2


def run(m: DriverMachine) -> int:
    """Run until the grid is done, or the host is needed: which of the two, and for what."""
    if m.meets and m.stage == ANSWERED:
        m.stage = RUNNING
        for i in range(m.requests):
            make_ready(m, m.requesters[i])
        m.passing = m.passing + m.requests
        code = release_waiters(m, m.others_can_run)
        if code:
            return code
    while True:
        if m.stage == NEW or m.stage == EMPTIED:
            if m.first >= m.until and not take_part(m):
                return DONE
            code = begin_batch(m)
            if code:
                return code
        if m.chooses:
            status = chosen_turns(m, m.steps + budget(m))
        else:
            status = turns(m, m.steps + budget(m))
        if status > 0:
            return status
        if m.steps > last_step(m):
            return LIMIT
        m.extra_cost = m.extra_cost + m.price_of_round
        code = collect_arrivals(m, status == OUT)
        if code:
            return code
        if m.steps + m.extra_cost >= m.pause_at:
            return PAUSE


def take_part(m: DriverMachine) -> int:
    """Take CTAs that no worker has taken, whole batches but for the grid's last; whether there were any."""
    start = m.take_ctas(0, 0)
    while start < m.ctas:
        until = m.ctas
        if m.workers > 1:
            share = m.slots * PART * m.workers
            until = start + (m.ctas - start + share - 1) // share * m.slots
            if until > m.ctas:
                until = m.ctas
        next_cta = m.take_ctas(start, until)
        if next_cta == start:
            m.first = start
            m.until = until
            return 1
        start = next_cta
    return 0


def begin_batch(m: DriverMachine) -> int:
    """Let the next CTAs begin."""
    if m.stage == NEW and m.host_empties:
        return RENEW
    m.resident_ctas = m.ctas - m.first
    if m.resident_ctas > m.slots:
        m.resident_ctas = m.slots
    m.resident_threads = m.resident_ctas * m.threads
    m.begin()
    for i in range(m.slots):  # who has ended is asked wherever CTAs reach into one another's memory
        m.gone[i] = 0
    if m.meets:
        reset(m)
    m.extra_cost = 0
    m.batch_start = m.steps
    m.last_block = m.blocks - 1
    m.ends_noted = 0
    for i in range(m.blocks + 2):
        m.counts[i] = 0
    m.counts[0] = m.resident_threads
    m.in_order = 1
    if m.chooses:
        m.in_order = 0
        for i in range(m.resident_threads):
            m.lists[i] = i
    m.stage = RUNNING
    return 0


def last_step(m: DriverMachine) -> int:
    """The last step that may be taken."""
    if m.step_limit >= 0:
        return m.step_limit
    return m.work + m.batch_start - m.extra_cost


def budget(m: DriverMachine) -> int:
    """How many steps may be taken before the next look: one more than are allowed, so that all that are may be taken."""
    left = last_step(m) - m.steps + 1
    if left < 1:
        return 1
    if left > m.round_length:
        return m.round_length
    return left


def collect_arrivals(m: DriverMachine, more: int) -> int:
    """Let threads that have come to a barrier or a collective arrive there; `more` says whether others can still run."""
    if not m.meets:
        if not more:
            next_batch(m)
        return 0
    m.released = 0
    m.passing = 0
    m.requests = 0
    waiters = m.blocks + 1
    start = waiters * m.capacity
    count = m.counts[waiters]
    i = 0
    while i < count:
        thread = m.lists[start + i]
        op = m.waits_at[thread]
        arrivals = 0
        if m.waits_for[op] == CTA_BARRIER:
            arrivals = consecutive_arrivals(m, start + i, count - i, thread, op)
            if m.aligned[op]:
                arrivals = in_whole_warps(m, thread, arrivals)
        if arrivals and m.fixed[op] == WHOLE_CTA and at_once(m) and cta_arrive_together(m, thread, op, arrivals):
            m.extra_cost = m.extra_cost + m.price_of[op] * arrivals
            i += arrivals
        elif arrivals:
            for k in range(arrivals):
                m.extra_cost = m.extra_cost + m.price_of[op]
                code = execute(m, thread + k, op)
                if code:
                    return code
            i += arrivals
        else:
            m.extra_cost = m.extra_cost + m.price_of[op]
            code = arrive(m, thread)
            if code:
                return code
            i += 1
    m.counts[waiters] = 0
    if m.requests:
        m.others_can_run = more
        m.stage = ASKING
        return ASK
    return release_waiters(m, more)


def at_once(m: DriverMachine) -> int:
    """Whether arrivals at a barrier of the whole CTA may be counted together."""
    return not m.observes or not m.each_arrival


def next_batch(m: DriverMachine) -> None:
    """The threads of all resident CTAs have ended."""
    m.end_batch()
    m.first = m.first + m.slots
    m.ended = m.ended + m.resident_ctas
    m.stage = NEW


def consecutive_arrivals(m: DriverMachine, at: int, most: int, thread: int, op: int) -> int:
    """How many threads of one CTA, with consecutive numbers, have come one after the other to this instruction."""
    left = (thread // m.threads + 1) * m.threads - thread
    if left < most:
        most = left
    count = 1
    while count < most:  # many at a time, in vectors, where this is compiled
        part = most - count
        if part > TOGETHER:
            part = TOGETHER
        differ = 0
        for k in range(part):
            i = count + k
            differ = differ | (m.lists[at + i] ^ (thread + i)) | (m.waits_at[thread + i] ^ op)
        if differ:
            break
        count += part
    while count < most and m.lists[at + count] == thread + count and m.waits_at[thread + count] == op:
        count += 1
    return count


def in_whole_warps(m: DriverMachine, thread: int, count: int) -> int:
    """How many of so many threads of one CTA, from this one on, are all threads of their warps that have not ended."""
    cta = thread // m.threads
    first = thread - cta * m.threads
    end = first + count
    warp = cta * m.warps_in_cta
    if first % LANES:
        lanes = EVERYONE ^ ((1 << first % LANES) - 1)
        if end // LANES == first // LANES:
            lanes = lanes & ((1 << end % LANES) - 1)
        if not m.all_there(lanes, m.warp_states[warp + first // LANES]):
            return 0
        if end // LANES == first // LANES:
            return count
    if end % LANES and not m.all_there((1 << end % LANES) - 1, m.warp_states[warp + end // LANES]):
        count = count - end % LANES
    return count


def release_waiters(m: DriverMachine, more: int) -> int:
    """Let the waiters that are released go on."""
    if m.waiting == 0 and m.passing == 0 and m.released == 0:
        if not more:
            next_batch(m)
        return 0
    code = note_ends(m)
    if code:
        return code
    others = more or m.passing > 0
    release_unmasked(m, m.released > 0, others)
    if m.waits_for_objects and m.awaiting_count > 0:
        code = release_from_objects(m, others)
        if code:
            return code
    if m.is_stuck(m.released > 0, others, m.waiting > 0):
        return STUCK
    release_resuming(m)
    return 0


def reset(m: DriverMachine) -> None:
    """Begin with no waiters, no arrivals and no ended threads."""
    m.waiting = 0
    m.unmasked_count = 0
    m.resuming_count = 0
    m.awaiting_count = 0
    for i in range(m.slots):
        m.barriers_in_use[i] = 0
        m.begin_cta(i, m.threads)
    for i in range(m.slots * BARRIERS):
        m.in_use[i] = 0
        m.head[i] = 0
    for i in range(m.slots * BARRIERS * m.barrier_words):
        m.barriers[i] = 0
    warps = m.slots * m.warps_in_cta
    for i in range(warps * BARRIERS * m.part_words):
        m.parts[i] = 0
    for i in range(warps):
        m.begin_warp(i, 0)
        m.group_count[i] = 0
        m.aligned_at[i] = 0
        m.earliest[i] = 0
    for i in range(m.slots):
        m.begin_warp((i + 1) * m.warps_in_cta - 1, m.lacking)
    for i in range(warps * LANES):
        m.group_head[i] = 0
        m.released_lanes[i] = 0
        m.released_at[i] = 0
    for i in range(warps * m.meeting_words):
        m.meetings[i] = 0
    for i in range(warps * m.warp_meeting_words):
        m.warp_meetings[i] = 0
    for i in range(m.patience_words):
        m.patience[i] = 0
    for i in range(m.vigil_words):
        m.vigils[i] = 0
    if m.waits_for_objects:
        for i in range(m.slots * m.threads):
            m.vain_at[i] = 0
    if m.in_clusters:
        for i in range(m.slots // m.cluster):
            m.cluster_head[i] = 0
            m.begin_cluster(i, m.threads * m.cluster)
        for i in range(m.slots * m.threads * m.visit_words):
            m.visits[i] = 0
