"""What the driver's functions work on: numbers, arrays and steps, each declared once. Whole numbers of 64 bits are all there
is."""

from __future__ import annotations

from typing import Protocol


class Column(Protocol):
    """An array of whole numbers."""

    def __getitem__(self, index: int, /) -> int:
        """An element."""

    def __setitem__(self, index: int, value: int, /) -> None:
        """Let an element have a value."""


class DriverMachine(Protocol):
    """The machine: its numbers, its arrays (as `inventory.columns` lays them out), the steps of the pages that it takes (as
    `inventory.steps` finds them), and what an engine supplies.

    A step is given, for each record, the record's number in its array, or the record's fields one by one; then operands. It gives
    the number of the rule that was broken, from 1 on, or 0, if it can break one; then its results."""

    # what a launch is: its CTAs, the workers that share them, the CTAs of a worker that are resident at once, the one behind
    # those that it has taken, the threads of a CTA, the CTAs of a cluster, and the warps of a CTA
    ctas: int
    workers: int
    slots: int
    until: int
    threads: int
    cluster: int
    warps_in_cta: int
    # the kernel's blocks, the room of each of their lists, and the blocks in which lanes read what others gave
    blocks: int
    capacity: int
    landings: int
    # whether threads meet at all, and in clusters; whether the host empties the memory of the CTAs; the lanes of a CTA's last
    # warp that have no thread
    meets: int
    in_clusters: int
    host_empties: int
    lacking: int
    # how many steps a turn takes, and a round of turns; what a launch may take (none if below 0), or else what its work may cost;
    # what a round costs; and the cost at which the host looks at the clock
    turn_length: int
    round_length: int
    step_limit: int
    work: int
    price_of_round: int
    pause_at: int
    # the stage of the launch; the first CTA of the batch, its CTAs and its threads; the CTAs that have ended
    stage: int
    first: int
    resident_ctas: int
    resident_threads: int
    ended: int
    # whether all resident threads begin, in the order of their numbers, and stand in no list yet
    in_order: int
    # steps taken; what has been paid beside them in this batch; the steps when it began; the block whose threads had turns
    # last, and how many of them had one; those among the ended that have been noted
    steps: int
    extra_cost: int
    batch_start: int
    last_block: int
    taken: int
    ends_noted: int
    # threads that wait; how many words a record of some arrays has
    waiting: int
    barrier_words: int
    part_words: int
    patience_words: int
    meeting_words: int
    warp_meeting_words: int
    visit_words: int
    vigil_words: int
    # whether threads wait for objects in memory; how often objects have changed, and how often when the driver looked; and how
    # many threads wait for objects
    waits_for_objects: int
    object_changes: int
    object_changes_seen: int
    awaiting_count: int
    # who chooses whose turn it is, and the seed; the choices that are noted since the host was here, those that it gave then, and
    # whether it has no others
    chooses: int
    seed: int
    noted: int
    given: int
    exhausted: int
    # values that a thread gives its warp beside the first, at most; and whether somebody is told of events
    more_words: int
    observes: int
    each_arrival: int
    # threads since the last turns: released, arrived without waiting, with a request to the host; whether others could run then
    released: int
    passing: int
    requests: int
    others_can_run: int
    # waiters without a mask, and threads that resume once all arrivals are noted
    unmasked_count: int
    resuming_count: int
    # a thread that waits against a rule: the step and its rule, which it is, the instruction, and what it named
    fault_step: int
    fault_rule: int
    fault_thread: int
    fault_op: int
    fault_place: int
    fault_number: int
    fault_named: int

    # a thread's: what it gives where it waits, where that is, the next waiter of a list, what it waits for, what it learned; then
    # lists of threads; and 1 more than the instruction at which it has last looked at an object in vain
    number: Column
    named: Column
    value: Column
    waits_at: Column
    link: Column
    wait_state: Column
    unmasked: Column
    resuming: Column
    requesters: Column
    awaiting: Column
    vain_at: Column
    learned_named: Column
    learned_value: Column
    words: Column
    learned_words: Column
    # a barrier's, of each CTA: whether it is in use, and the first and the last thread that waits there
    in_use: Column
    head: Column
    tail: Column
    # a group's place in its warp: what tells it from others, its first thread; and lanes that are released at one instruction
    group_kind: Column
    group_mask: Column
    group_head: Column
    released_lanes: Column
    released_at: Column
    # an instruction's: see kernel_tables.py
    resume: Column
    beyond: Column
    waits_for: Column
    waits: Column
    reduces: Column
    patient: Column
    converged: Column
    aligned: Column
    whole: Column
    warps: Column
    spelling: Column
    price_of: Column
    fixed: Column
    fixed_number: Column
    fixed_named: Column
    fixed_value: Column
    # a CTA's: barriers in use, and threads that have ended; a warp's: the first block at which lanes go on, groups that wait, and
    # 1 more than the instruction at which lanes wait for all others, or 0
    barriers_in_use: Column
    gone: Column
    earliest: Column
    group_count: Column
    aligned_at: Column
    # a block's: how many threads stand there, and which; blocks in which lanes read what others gave; a cluster's first waiting
    # thread
    counts: Column
    lists: Column
    landing: Column
    cluster_head: Column
    # the threads that have their turns, and those that were chosen
    scratch: Column
    choices: Column
    # records of the pages
    barriers: Column
    parts: Column
    warp_states: Column
    cta_states: Column
    cluster_barriers: Column
    visits: Column
    groups: Column
    meetings: Column
    warp_meetings: Column
    patience: Column
    vigils: Column
    choosing: Column

    def arrive_at_cta(
        self, barrier: int, part: int, number: int, named: int, whole: int, reduction: int, holds: int, lane: int, gone: int,
        alive: int, /
    ) -> tuple[int, int, int, int, int]:  # fmt: skip
        """A thread arrives at a barrier of its CTA: (rule, whether it completes, its phase, how many arrived, how many hold)."""

    def arrive_together(self, barrier: int, count: int, alive: int, /) -> tuple[int, int]:
        """So many threads arrive at a barrier of the whole CTA: (whether they could be counted, whether it completes)."""

    def lose_at_cta(self, barrier: int, part: int, lane: int, gone: int, alive: int, /) -> tuple[int, int, int, int]:
        """A thread of the CTA has ended: (whether the barrier completes, its phase, how many arrived, how many hold)."""

    def arrive_at_cluster(self, barrier: int, visits: int, /) -> tuple[int, int]:
        """A thread arrives at the barrier of its cluster: (rule, whether it completes)."""

    def begin_cluster(self, barrier: int, threads: int, /) -> None:
        """A cluster of so many threads begins."""

    def wait_at_cluster(self, visits: int, /) -> int:
        """A thread begins to wait at the barrier of its cluster: the rule."""

    def passes_cluster(self, barrier: int, visits: int, /) -> int:
        """Whether a thread that waits at the barrier of its cluster may go on."""

    def lose_at_cluster(self, barrier: int, visits: int, /) -> int:
        """A thread of the cluster has ended: whether the barrier completes."""

    def group_of(self, spelling: int, place: int, converged: int, /) -> int:
        """What tells the group that a lane waits in from others with the same mask."""

    def join_group(self, group: int, mask: int, lane: int, /) -> int:
        """A lane joins a group: the rule."""

    def may_go(self, group: int, mask: int, gone: int, /) -> int:
        """Whether a group may go on."""

    def all_there(self, lanes: int, gone: int, /) -> int:
        """Whether these lanes are all of their warp that are not gone."""

    def meet(self, meeting: int, place: int, lane: int, gone: int, whole: int, /) -> tuple[int, int, int]:
        """A lane comes to an instruction that its warp executes together: (rule, whether all have come, which lanes)."""

    def meet_warps(self, meeting: int, place: int, warp: int, warps: int, /) -> tuple[int, int]:
        """A warp comes to an instruction of several: (rule, whether all have come)."""

    def leave_meeting(self, meeting: int, gone: int, whole: int, /) -> tuple[int, int]:
        """A thread of the warp has ended: (whether all have come, which lanes)."""

    def look_in_vain(self, patience: int, impatient: int, some_go: int, others_run: int, /) -> tuple[int, int]:
        """A look at those that wait for whoever comes: (whether all go on, whether the impatient do)."""

    def look_at_objects(self, vigil: int, changed: int, /) -> int:
        """Threads wait for objects: what they do."""

    def members_of(self, arrived: int, together: int, masked: int, /) -> int:
        """Whose values a lane learns."""

    def begin_cta(self, cta: int, threads: int, /) -> None:
        """A CTA of so many threads begins."""

    def begin_warp(self, warp: int, lacking: int, /) -> None:
        """A warp begins, some of whose lanes have no thread."""

    def is_stuck(self, some_go: int, others_run: int, some_wait: int, /) -> int:
        """Whether nothing can release those that wait."""

    def draw(self, choosing: int, seed: int, able: int, /) -> int:
        """Choose one of so many threads that can run: its place among them."""

    def end_thread(self, warp: int, cta: int, lane: int, /) -> tuple[int, int]:
        """A thread has ended: (the lanes of its warp that are gone, the threads of its CTA that are alive)."""

    # what an engine supplies

    def threads_run(self, block: int, count: int, limit: int, /) -> int:
        """A turn for each of the first threads of `scratch`, which stand at a block, until the steps reach the limit; `taken`
        says how many had one. 0, or why the driver goes back to the host."""

    def take_ctas(self, start: int, until: int, /) -> int:
        """The first CTA that no worker has taken. If it is `start`, those before `until` are taken now."""

    def begin(self) -> int | None:
        """Let the threads of a batch have their registers, and the CTAs their memory."""

    def end_batch(self) -> int | None:
        """The threads of a batch have ended."""

    def land_objects(self) -> int:
        """The operations land that complete on objects: whether one of these did so against a rule."""

    def tell(self, kind: int, op: int, thread: int, value: int, /) -> int | None:
        """An event has happened, if that is observed: see events.EventKind."""


#: the machine's numbers, in the order in which they are declared
NUMBERS = tuple(name for name, type in DriverMachine.__annotations__.items() if type == "int")
#: its arrays
ARRAYS = tuple(name for name, type in DriverMachine.__annotations__.items() if type == "Column")
