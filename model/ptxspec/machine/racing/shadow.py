"""What is remembered of each four bytes that threads share, and how an access is held against it.

Like the driver, this is written in the part of Python that native/compiling.py compiles: the exact engine runs it as it stands.
Each CTA has a clock, which advances when its threads synchronize. What threads of a CTA did at a time up to `cta_times[cta]` is
ordered before what any of them does now; likewise for warps, for pairs of warps, for lanes and for clusters. Orders that come
about by releases and acquires are known to the host alone (knowledge.py): accesses that are not ordered here are suspects, about
which it decides.

A cell has, of the last write, the thread, the instruction, the time and the bytes; and of the instruction that read it last, an
entry: a warp with lanes, or a CTA with warps. Up to three more entries, of readers and of writers of other bytes, are in `more`.
If there are more of them, the last one makes room.
"""

from __future__ import annotations

from typing import Protocol

from ptxspec.machine.driver.places import LANES
from ptxspec.machine.driver.protocol import Column
from ptxspec.machine.events import NO_INSTRUCTION, WORDS, EventKind

#: the words of an event that are used here
ROW = len(WORDS)
KIND, FIRST, INSTRUCTION, THREAD, LOCATION, SIZE, VALUE, HIGH = (WORDS.index(w) for w in WORDS[:8])
READ, WRITE, FENCE, ARRIVE = (int(k) for k in (EventKind.READ, EventKind.WRITE, EventKind.FENCE, EventKind.ARRIVE))
COMPLETE, RELEASE, NO_OP = int(EventKind.COMPLETE), int(EventKind.RELEASE), NO_INSTRUCTION
#: words of a cell: the writer; when, which bytes, and how many entries there are in `more`; the entry of readers, and since when
WORDS_OF_CELL, MOST_MORE, WORDS_OF_MORE = 4, 3, 6
#: the writer is a thread, one more than its number, and behind it the instruction; then the time, the bytes, and the count
OF_THREAD, WRITER_OP, TIMES, BYTES, COUNT = (1 << 40) - 1, 40, (1 << 31) - 1, 32, 40
#: an entry is a warp or a CTA, one more than its number, which bytes, the instruction, whether it is of a CTA, whether they
#: wrote, and of a CTA the first thread; then the lanes or the warps, and the time
UNIT, ENTRY_BYTES, ENTRY_OP, OPS, OF_CTA, WROTE, MEMBER = (1 << 28) - 1, 28, 32, (1 << 18) - 1, 50, 51, 52
ALIKE, MARKS, TIME = (1 << 52) - 1, (1 << 32) - 1, 32
CELL, ALL = 4, 15
#: what an instruction has to do with synchronization: nothing; it is a barrier of all threads of the CTA; one of so many threads,
#: where it waits, or only arrives; an arrival at that of the cluster, one that tells nobody, and a wait there; one of lanes
NOTHING, WHOLE_CTA, COUNTED, COUNTED_ARRIVAL, CLUSTER_ARRIVAL, RELAXED_ARRIVAL, CLUSTER_WAIT, WARP = range(8)
#: how near threads are to one another: one thread, of one CTA, of one cluster, of one grid
SAME_THREAD, SAME_CTA, SAME_CLUSTER, SAME_GRID = range(4)
LEVELS = 4
#: the words of a suspect: where the event accessed what, by which thread and instruction, and whether it writes; the other
#: access's thread, instruction, time, and whether that writes
WORDS_OF_SUSPECT, MOST_SUSPECTS, RESERVED = 9, 4096, 256
#: pairs of instructions of which it is known how often they raced, and how often is enough
PAIRS, ENOUGH = 4096, 1000


class ShadowMachine(Protocol):
    """What the functions below work on."""

    # numbers
    threads: int
    warps_in_cta: int
    cluster: int
    """threads and warps a CTA, CTAs a cluster"""
    ranges: int
    """how many ranges there are"""
    classes: int
    first: int
    """the first CTA of the batch, of which the cells of shared memory are"""
    merges: int
    """whether readers of several warps become one entry: where nobody acquires, it does not matter who they were"""
    knows: int
    """whether the host knows of orders that are not known here"""
    by_pairs: int
    by_lanes: int
    by_clusters: int
    """whether there are orders between warps, lanes, and threads of a cluster"""
    suspects: int
    """how many there are"""
    thread: int
    cta: int
    warp: int
    lane: int
    clock: int
    """whose event was the last, and the clock of its CTA"""
    # arrays
    rows: Column
    """the events"""
    range_begin: Column
    range_end: Column
    range_cell: Column
    """of each range of the host's memory, in their order, where it begins and ends, and its first cell"""
    low_of: Column
    size_of: Column
    cell_of: Column
    """of each instruction, the range that it last accessed: where it begins, how long it is, and its first cell"""
    class_of: Column
    """of each instruction's reads and writes, which class of operations they are of"""
    role: Column
    asks_host: Column
    quick: Column
    forgotten: Column
    """of each instruction, its part in synchronization, whether the host looks at its accesses, too, and whether these are weak
    ones of four bytes, in a kernel without proxies; and whether no later write is held against what it reads"""
    part_of: Column
    """of each instruction, the bytes of one of its operations, or more: packed values are accessed by two"""
    spared: Column
    """of two classes and a level, whether the operations are in no race if they overlap completely: they are morally strong, or
    steps on one object"""
    connected: Column
    """likewise, whether base causality orders them, whatever their proxies are"""
    is_weak: Column
    cells: Column
    more: Column
    values: Column
    """of each cell, its words, the other entries, and what was written last"""
    clocks: Column
    cta_times: Column
    warp_times: Column
    pair_times: Column
    lane_times: Column
    cluster_times: Column
    passed: Column
    arrived: Column
    """of each thread, how often it has passed the barrier of its cluster, and arrived there"""
    pairs: Column
    raced: Column
    """the pairs of instructions that raced, one more than their numbers are, and how often"""
    suspected: Column


def look(m: ShadowMachine, begin: int, count: int) -> int:
    """Look at events from `begin` on: the number of the first at which the host must look, or `count`."""
    resident = -1
    ordered = 0
    clock = 0
    first = m.first
    low = 0
    high = 0
    mine = 0
    lane = 0
    warp = 0
    team = 0
    member = 0
    for i in range(begin, count):
        at = i * ROW
        kind = m.rows[at + KIND]
        op = m.rows[at + INSTRUCTION]
        if m.rows[at + FIRST] != first:
            return i
        if kind > WRITE:
            resident = -1
            if kind == FENCE or (kind <= RELEASE and meets(m, at, kind, op)):
                return i
        elif kind >= READ:
            if m.rows[at + THREAD] == resident:
                pass
            elif m.rows[at + THREAD] == resident + 1 and resident >= 0 and lane >> LANES - 1 == 0 and member < high:
                resident += 1
                member += 1
                lane = lane + lane
                m.thread = member - 1
                m.lane = m.lane + 1
            else:
                resident = m.rows[at + THREAD]
                turn(m, at)
                ordered = m.cta_times[m.cta]
                clock = m.clock
                low = m.cta * m.threads
                high = low + m.threads
                mine = m.warp + 1 | ALL << ENTRY_BYTES
                lane = 1 << m.lane
                warp = 1 << m.warp - m.cta * m.warps_in_cta
                team = m.cta + 1 | ALL << ENTRY_BYTES | 1 << OF_CTA
                member = m.thread + 1
            done = 0
            if m.quick[op]:  # what most accesses are, without a call
                place = m.rows[at + LOCATION] - m.low_of[op]
                if 0 <= place and place < m.size_of[op]:
                    cell = m.cell_of[op] + place // CELL
                    base = cell * WORDS_OF_CELL
                    writer = m.cells[base] & OF_THREAD
                    written = m.cells[base + 1]
                    entry = m.cells[base + 2]
                    since = m.cells[base + 3]
                    if (
                        not writer
                        or writer == member
                        or (written & TIMES <= ordered and low < writer and writer <= high)
                    ):
                        if kind == READ:
                            if (entry ^ (mine | op << ENTRY_OP)) & ALIKE == 0 and since >> TIME == clock:
                                m.cells[base + 3] = since | lane
                                done = 1
                            elif (entry ^ (team | op << ENTRY_OP)) & ALIKE == 0 and since >> TIME == clock:
                                m.cells[base + 3] = since | warp
                                done = 1
                            elif entry == 0:
                                m.cells[base + 2] = mine | op << ENTRY_OP
                                m.cells[base + 3] = lane | clock << TIME
                                done = 1
                        elif written >> COUNT == 0:
                            alone = entry == 0 or (
                                entry & UNIT == mine & UNIT and since & MARKS == lane and not entry >> OF_CTA
                            )
                            if alone or (since >> TIME <= ordered and of_cta(m, entry)):
                                m.cells[base] = member | op << WRITER_OP
                                m.cells[base + 1] = clock | ALL << BYTES
                                m.cells[base + 2] = 0
                                m.cells[base + 3] = 0
                                m.values[cell] = m.rows[at + VALUE] & MARKS
                                done = 1
            if not done:
                if m.asks_host[op] or m.suspects > MOST_SUSPECTS - RESERVED:
                    return i
                look_at(m, i)
    return count


def of_cta(m: ShadowMachine, entry: int) -> int:
    """Whether an entry is of threads of the CTA whose turn it is."""
    unit = (entry & UNIT) - 1
    if entry >> OF_CTA & 1:
        return unit == m.cta
    return m.cta * m.warps_in_cta <= unit and unit < (m.cta + 1) * m.warps_in_cta


def look_at(m: ShadowMachine, i: int) -> int:
    """Hold the access of an event against the others."""
    at = i * ROW
    op = m.rows[at + INSTRUCTION]
    kind = m.rows[at + KIND]
    if kind == WRITE or m.class_of[2 * op] >= 0:
        access(m, at, op, kind == WRITE)
    return 0


def meets(m: ShadowMachine, at: int, kind: int, op: int) -> int:
    """A thread meets others. Whether the host must look at that."""
    role = NOTHING
    if op != NO_OP:
        role = m.role[op]
    elif kind == COMPLETE:
        role = WHOLE_CTA
    if role == NOTHING:
        return 0
    turn(m, at)
    if role == WHOLE_CTA:
        if kind != COMPLETE:
            return 0
        if m.knows:
            return 1
        m.cta_times[m.cta] = m.clock
        advance(m)
        return 0
    if role == COUNTED or role == COUNTED_ARRIVAL:
        return kind != RELEASE
    if role == WARP:
        if kind != RELEASE:
            return 0
        warp_meets(m, m.rows[at + VALUE])
        return m.knows
    if kind == ARRIVE:
        m.by_clusters = 1
        place = 2 * m.thread + m.arrived[m.thread] % 2
        m.cluster_times[place] = 0
        if role == CLUSTER_ARRIVAL:
            m.cluster_times[place] = m.clock
        m.arrived[m.thread] = m.arrived[m.thread] + 1
        advance(m)
        return m.knows
    if kind == RELEASE:
        m.passed[m.thread] = m.passed[m.thread] + 1
        return m.knows
    return 0


def advance(m: ShadowMachine) -> int:
    """The clock of the CTA advances: what its threads do from now on is not what was ordered before."""
    m.clock = m.clock + 1
    m.clocks[m.cta] = m.clock
    return 0


def warp_meets(m: ShadowMachine, mask: int) -> int:
    """A lane goes on with the others of a mask."""
    begin = (m.warp - m.cta * m.warps_in_cta) * LANES
    there = m.threads - begin
    if there > LANES:
        there = LANES
    everyone = (1 << there) - 1
    if mask & everyone == everyone:
        m.warp_times[m.warp] = m.clock
        advance(m)
        return 0
    m.by_lanes = 1
    base = m.cta * m.threads + begin
    for k in range(there):
        if mask >> k & 1:
            for j in range(there):
                known = m.lane_times[(base + k) * LANES + j]
                if known > m.lane_times[m.thread * LANES + j]:
                    m.lane_times[m.thread * LANES + j] = known
            m.lane_times[m.thread * LANES + k] = m.clock
    advance(m)
    return 0


def turn(m: ShadowMachine, at: int) -> int:
    """The event is of this thread."""
    thread = m.rows[at + THREAD] + m.rows[at + FIRST] * m.threads
    if thread != m.thread:
        m.thread = thread
        m.cta = thread // m.threads
        in_cta = thread - m.cta * m.threads
        m.warp = m.cta * m.warps_in_cta + in_cta // LANES
        m.lane = in_cta % LANES
    m.clock = m.clocks[m.cta]
    return 0


def access(m: ShadowMachine, at: int, op: int, writes: int) -> int:
    """An access is held against what the cells remember, which then remember it."""
    turn(m, at)
    place = m.rows[at + LOCATION]
    offset = place - m.low_of[op]
    if offset < 0 or offset >= m.size_of[op]:
        k = range_at(m, place)
        if k < 0:
            return 0
        m.low_of[op] = m.range_begin[k]
        m.size_of[op] = m.range_end[k] - m.range_begin[k]
        m.cell_of[op] = m.range_cell[k]
        offset = place - m.low_of[op]
    cell = m.cell_of[op] + offset // CELL
    size = m.rows[at + SIZE]
    value = m.rows[at + VALUE]
    byte = offset % CELL
    done = 0
    while done < size:
        part = CELL - byte
        if part > size - done:
            part = size - done
        if part > m.part_of[op]:
            part = m.part_of[op]
        mask = ((1 << part) - 1) << byte
        word = (value & MARKS) << (8 * byte) & MARKS
        if writes:
            write(m, at, cell, mask, op, word)
        else:
            read(m, at, cell, mask, op)
        done += part
        byte += part
        value = value >> (8 * part)
        if done == 8:
            value = m.rows[at + HIGH]
        if byte == CELL:
            byte = 0
            cell += 1
    return 0


def range_at(m: ShadowMachine, place: int) -> int:
    """The range that an address of the host is in, or -1."""
    low = 0
    high = m.ranges
    while low < high:
        middle = (low + high) // 2
        if place < m.range_begin[middle]:
            high = middle
        else:
            low = middle + 1
    if low > 0 and place < m.range_end[low - 1]:
        return low - 1
    return -1


def read(m: ShadowMachine, at: int, cell: int, mask: int, op: int) -> int:
    """So many bytes of a cell are read."""
    base = cell * WORDS_OF_CELL
    kind = m.class_of[2 * op]
    writer = m.cells[base]
    written = m.cells[base + 1]
    if writer and written >> BYTES & mask:
        held_against_writer(m, at, writer, written, mask, op, kind, 0, 0)
    count = written >> COUNT
    for k in range(count):
        entry = m.more[cell * WORDS_OF_MORE + 2 * k]
        if entry >> ENTRY_BYTES & mask and entry >> WROTE & 1:
            held_against_entry(m, at, entry, m.more[cell * WORDS_OF_MORE + 2 * k + 1], op, kind, 0)
    if m.forgotten[op]:
        return 0
    mine = m.warp + 1 | mask << ENTRY_BYTES | op << ENTRY_OP
    entry = m.cells[base + 2]
    since = m.cells[base + 3]
    if joins(m, entry, since, mine, kind):
        m.cells[base + 2] = joined(m, entry, since, mine)
        m.cells[base + 3] = joined_since(m, entry, since, mine)
        return 0
    for k in range(count):
        place = cell * WORDS_OF_MORE + 2 * k
        entry = m.more[place]
        since = m.more[place + 1]
        if not entry >> WROTE & 1 and joins(m, entry, since, mine, kind):
            m.more[place] = joined(m, entry, since, mine)
            m.more[place + 1] = joined_since(m, entry, since, mine)
            return 0
    keep(m, cell, mine, 1 << m.lane | m.clock << TIME)
    return 0


def joins(m: ShadowMachine, entry: int, since: int, mine: int, kind: int) -> int:
    """Whether a reader takes the place of an entry: nobody's, one that it becomes a part of, or that of readers who are ordered
    before it; of its class, and of the same bytes."""
    if entry == 0:
        return 1
    if (entry ^ mine) >> ENTRY_BYTES & ALL or m.class_of[2 * (entry >> ENTRY_OP & OPS)] != kind:
        return 0
    if shares(m, entry, since, mine):
        return 1
    return entry_before(m, entry, since)


def shares(m: ShadowMachine, entry: int, since: int, mine: int) -> int:
    """Whether a reader becomes one of an entry: by the same instruction, at the same time."""
    if since >> TIME != m.clock or (entry ^ mine) >> ENTRY_OP & OPS or not of_cta(m, entry):
        return 0
    return m.merges or entry & UNIT == mine & UNIT


def joined(m: ShadowMachine, entry: int, since: int, mine: int) -> int:
    """The entry of readers with one more."""
    if not shares(m, entry, since, mine):
        return mine
    if entry >> OF_CTA & 1 or entry & UNIT == mine & UNIT:
        return entry
    warp = (entry & UNIT) - 1 - m.cta * m.warps_in_cta
    member = warp * LANES + lowest(m, since & MARKS)
    return m.cta + 1 | entry & ALIKE & ~UNIT | 1 << OF_CTA | member << MEMBER


def joined_since(m: ShadowMachine, entry: int, since: int, mine: int) -> int:
    """Its second word."""
    if not shares(m, entry, since, mine):
        return 1 << m.lane | m.clock << TIME
    warp = m.warp - m.cta * m.warps_in_cta
    if entry >> OF_CTA & 1:
        return since | 1 << warp
    if entry & UNIT == mine & UNIT:
        return since | 1 << m.lane
    return 1 << (entry & UNIT) - 1 - m.cta * m.warps_in_cta | 1 << warp | m.clock << TIME


def lowest(m: ShadowMachine, marks: int) -> int:
    """The place of the lowest 1."""
    place = 0
    while not marks >> place & 1:
        place += 1
    return place


def keep(m: ShadowMachine, cell: int, entry: int, since: int) -> int:
    """Keep an entry beside the others of a cell."""
    base = cell * WORDS_OF_CELL
    count = m.cells[base + 1] >> COUNT
    if count < MOST_MORE:
        m.cells[base + 1] = m.cells[base + 1] + (1 << COUNT)
    else:
        count = MOST_MORE - 1
    m.more[cell * WORDS_OF_MORE + 2 * count] = entry
    m.more[cell * WORDS_OF_MORE + 2 * count + 1] = since
    return 0


def write(m: ShadowMachine, at: int, cell: int, mask: int, op: int, word: int) -> int:
    """So many bytes of a cell are written."""
    base = cell * WORDS_OF_CELL
    kind = m.class_of[2 * op + 1]
    writer = m.cells[base]
    written = m.cells[base + 1]
    same = 0
    if writer and written >> BYTES & mask:
        if written >> BYTES & ALL == mask and m.values[cell] == word:
            same = 1
        held_against_writer(m, at, writer, written, mask, op, kind, 1, same)
    reader = m.cells[base + 2]
    if reader >> ENTRY_BYTES & mask:
        held_against_entry(m, at, reader, m.cells[base + 3], op, kind, 1)
    count = written >> COUNT & MOST_MORE
    kept = 0
    for k in range(count):
        place = cell * WORDS_OF_MORE + 2 * k
        entry = m.more[place]
        since = m.more[place + 1]
        if entry >> ENTRY_BYTES & mask:
            held_against_entry(m, at, entry, since, op, kind, 1)
        if stays(m, entry >> ENTRY_BYTES & ALL, mask, kind):
            m.more[cell * WORDS_OF_MORE + 2 * kept] = entry
            m.more[cell * WORDS_OF_MORE + 2 * kept + 1] = since
            kept += 1
    if reader and not stays(m, reader >> ENTRY_BYTES & ALL, mask, kind):
        m.cells[base + 2] = 0
        m.cells[base + 3] = 0
    m.cells[base] = m.thread + 1 | op << WRITER_OP
    m.cells[base + 1] = m.clock | mask << BYTES | kept << COUNT
    m.values[cell] = word
    if writer:
        weaker = m.is_weak[m.class_of[2 * (writer >> WRITER_OP) + 1]] and not m.is_weak[kind]
        if weaker or (written >> BYTES & ALL) & ~mask:
            keep_writer(m, cell, writer, written)
    return 0


def stays(m: ShadowMachine, bytes: int, mask: int, kind: int) -> int:
    """Whether an entry is still needed when some bytes are written: of others it is, and behind an operation that is not weak."""
    return bytes & ~mask != 0 or not m.is_weak[kind]


def keep_writer(m: ShadowMachine, cell: int, writer: int, written: int) -> int:
    """Keep the writer of a cell beside the one that takes its place, unless an entry tells of it."""
    thread = (writer & OF_THREAD) - 1
    cta = thread // m.threads
    in_cta = thread - cta * m.threads
    warp = cta * m.warps_in_cta + in_cta // LANES
    entry = warp + 1 | (written >> BYTES & ALL) << ENTRY_BYTES | writer >> WRITER_OP << ENTRY_OP | 1 << WROTE
    since = 1 << in_cta % LANES | (written & TIMES) << TIME
    for k in range(m.cells[cell * WORDS_OF_CELL + 1] >> COUNT):
        place = cell * WORDS_OF_MORE + 2 * k
        if m.more[place] == entry and m.more[place + 1] >> TIME == since >> TIME:
            m.more[place + 1] = m.more[place + 1] | since
            return 0
    keep(m, cell, entry, since)
    return 0


def held_against_writer(
    m: ShadowMachine, at: int, writer: int, written: int, mask: int, op: int, kind: int, writes: int, same: int
) -> int:
    """An access of bytes that another one wrote."""
    other = (writer & OF_THREAD) - 1
    by = writer >> WRITER_OP
    before = m.class_of[2 * by + 1]
    time = written & TIMES
    near = (before * m.classes + kind) * LEVELS + level(m, other)
    ordered = 0
    if other == m.thread or thread_before(m, other, time):
        ordered = 1
    if m.connected[near]:
        if ordered:
            return 0
        if m.spared[near] and written >> BYTES & ALL == mask:
            return 0
    if same and m.is_weak[before] and m.is_weak[kind]:
        return 0
    suspect(m, at, op, writes, other, by, time, 1, ordered)
    return 0


def held_against_entry(m: ShadowMachine, at: int, entry: int, since: int, op: int, kind: int, writes: int) -> int:
    """An access of bytes that those of an entry read, or wrote."""
    by = entry >> ENTRY_OP & OPS
    wrote = entry >> WROTE & 1
    before = m.class_of[2 * by + wrote]
    other = member_of(m, entry, since)
    near = (before * m.classes + kind) * LEVELS + level(m, other)
    ordered = 0
    if entry_before(m, entry, since):
        ordered = 1
    if m.connected[near] and (ordered or m.spared[near]):
        return 0
    suspect(m, at, op, writes, other, by, since >> TIME, wrote, ordered)
    return 0


def member_of(m: ShadowMachine, entry: int, since: int) -> int:
    """A thread of an entry, another one than that whose event it is, if there is one."""
    unit = (entry & UNIT) - 1
    marks = since & MARKS
    if entry >> OF_CTA & 1:
        begin = unit * m.threads
        mine = m.warp - m.cta * m.warps_in_cta
        if unit == m.cta and (entry >> MEMBER) // LANES == mine and marks & ~(1 << mine):
            return begin + lowest(m, marks & ~(1 << mine)) * LANES
        return begin + (entry >> MEMBER)
    if unit == m.warp and marks & ~(1 << m.lane):
        marks = marks & ~(1 << m.lane)
    cta = unit // m.warps_in_cta
    return cta * m.threads + (unit - cta * m.warps_in_cta) * LANES + lowest(m, marks)


def level(m: ShadowMachine, other: int) -> int:
    """How near a thread is to the one whose event it is."""
    if other == m.thread:
        return SAME_THREAD
    begin = m.cta * m.threads
    if begin <= other and other < begin + m.threads:
        return SAME_CTA
    if m.cluster > 1 and other // (m.threads * m.cluster) == m.cta // m.cluster:
        return SAME_CLUSTER
    return SAME_GRID


def thread_before(m: ShadowMachine, other: int, time: int) -> int:
    """Whether what a thread did at a time is known to be ordered before what is done now."""
    in_cta = other - m.cta * m.threads
    if 0 <= in_cta and in_cta < m.threads:
        if time <= m.cta_times[m.cta]:
            return 1
        warp = m.cta * m.warps_in_cta + in_cta // LANES
        if warp == m.warp:
            if time <= m.warp_times[warp]:
                return 1
            if m.by_lanes and time <= m.lane_times[m.thread * LANES + in_cta % LANES]:
                return 1
        if m.by_pairs and time <= m.pair_times[m.warp * m.warps_in_cta + in_cta // LANES]:
            return 1
    if m.by_clusters and m.passed[m.thread]:
        if other // (m.threads * m.cluster) == m.cta // m.cluster:
            return time <= m.cluster_times[2 * other + (m.passed[m.thread] - 1) % 2]
    return 0


def entry_before(m: ShadowMachine, entry: int, since: int) -> int:
    """Likewise of all threads of an entry, but for the one whose event it is."""
    unit = (entry & UNIT) - 1
    marks = since & MARKS
    time = since >> TIME
    here = of_cta(m, entry)
    if here and time <= m.cta_times[m.cta]:
        return 1
    if entry >> OF_CTA & 1:
        first = unit * m.warps_in_cta
        for k in range(m.warps_in_cta):
            if marks >> k & 1 and not warp_before(m, first + k, (1 << LANES) - 1, time):
                return 0
        return 1
    return warp_before(m, unit, marks, time)


def warp_before(m: ShadowMachine, warp: int, lanes: int, time: int) -> int:
    """Likewise of some lanes of a warp."""
    in_cta = warp - m.cta * m.warps_in_cta
    if 0 <= in_cta and in_cta < m.warps_in_cta:
        if warp == m.warp and (time <= m.warp_times[warp] or lanes == 1 << m.lane):
            return 1
        if m.by_pairs and time <= m.pair_times[m.warp * m.warps_in_cta + in_cta]:
            return 1
    if not m.by_lanes and not m.by_clusters:
        return 0
    cta = warp // m.warps_in_cta
    begin = (warp - cta * m.warps_in_cta) * LANES
    for k in range(LANES):
        if lanes >> k & 1 and begin + k < m.threads and cta * m.threads + begin + k != m.thread:
            if not thread_before(m, cta * m.threads + begin + k, time):
                return 0
    return 1


def suspect(
    m: ShadowMachine, at: int, op: int, writes: int, other: int, by: int, time: int, wrote: int, ordered: int
) -> int:
    """Note a suspect, unless these two instructions have raced often enough. Program order and barriers may have `ordered` it."""
    pair = (op << 24) + by + 1
    slot = (op * 31 + by) % PAIRS
    if m.pairs[slot] == pair and m.raced[slot] >= ENOUGH:
        return 0
    place = m.suspects * WORDS_OF_SUSPECT
    m.suspected[place] = m.rows[at + LOCATION]
    m.suspected[place + 1] = m.thread
    m.suspected[place + 2] = op
    m.suspected[place + 3] = writes
    m.suspected[place + 4] = other
    m.suspected[place + 5] = by
    m.suspected[place + 6] = time
    m.suspected[place + 7] = wrote
    m.suspected[place + 8] = ordered
    m.suspects = m.suspects + 1
    return 0


#: what an engine compiles
FUNCTIONS = (
    look, look_at, of_cta, meets, advance, warp_meets, turn, access, range_at, read, joins, joined, joined_since, lowest,
    keep, write, stays, keep_writer, held_against_writer, held_against_entry, member_of, shares, level, thread_before,
    entry_before, warp_before, suspect,
)  # fmt: skip

#: the machine's numbers, and its arrays
NUMBERS = tuple(name for name, type in ShadowMachine.__annotations__.items() if type == "int")
ARRAYS = tuple(name for name, type in ShadowMachine.__annotations__.items() if type == "Column")
