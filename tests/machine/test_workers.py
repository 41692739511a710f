"""CTAs that are spread over threads of the host."""

from __future__ import annotations

import gc
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from weakref import ref

import numpy as np
import pytest
from launching import kernel

import ptxspec
from ptxspec.machine import launch_plan, workers
from ptxspec.machine.native import code

pytestmark = pytest.mark.sample(4)

#: seconds that nobody waits for, unless something is wrong, however busy the machine is
PATIENCE = 120
SUM = kernel("atom.global.add.u32 %r4, [%rd0], 1; red.global.max.u32 [%rd0+4], %r1;")


def spread(source: str, count: int, grid: int = 64, block: int = 256, **how: object) -> np.ndarray:
    out = np.zeros(grid * block, np.uint32)
    ptxspec.load(source).launch("k", grid, block, [out], workers=count, **how)
    return out


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many workers each launch had."""
    seen: list[int] = []
    run_grid = launch_plan.LaunchPlan._run_grid

    def counted(plan: launch_plan.LaunchPlan, *given: object) -> int:
        steps = run_grid(plan, *given)
        seen.append(len(plan._memories))
        return steps

    monkeypatch.setattr(launch_plan.LaunchPlan, "_run_grid", counted)
    return seen


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_same_comes_out(count: int, used: list[int]) -> None:
    source = kernel(
        ".shared .u32 s[256]; mov.u32 %r5, %tid.x; mul.lo.u32 %r4, %r1, 3; shl.b32 %r6, %r5, 2; mov.u32 %r7, s;"
        "add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r4; bar.sync 0; xor.b32 %r6, %r6, 4; mov.u32 %r7, s;"
        "add.u32 %r7, %r7, %r6; ld.shared.u32 %r4, [%r7]; mov.u32 %r8, %ctaid.x; mad.lo.u32 %r9, %r8, 256, %r5;"
        "ld.param.u64 %rd3, [out]; mad.wide.u32 %rd3, %r9, 4, %rd3; add.u32 %r4, %r4, %r8; st.global.u32 [%rd3], %r4;"
    )
    assert spread(source, count).tolist() == spread(source, 1).tolist()
    assert used == [count, 1]


def test_no_update_is_lost(used: list[int]) -> None:
    out = spread(SUM, 4, grid=400)
    assert out[0] == 400 * 256 and used == [4]


@pytest.mark.parametrize("schedule", ["round-robin", "warps"])
def test_what_a_cta_has_alone_is_updated_without_a_race(
    schedule: str, used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shared memory, which no other thread of the host touches: only the update of global memory is an atomic one there."""
    source = kernel(
        ".shared .u32 s; mov.u32 %r5, s; st.shared.u32 [%r5], 0; bar.sync 0; atom.shared.add.u32 %r4, [%r5], %r1; bar.sync 0;"
        "ld.shared.u32 %r6, [%r5]; atom.global.add.u32 %r7, [%rd0], %r6;"
    )
    texts: list[str] = []
    source_of = code.CodeSource
    monkeypatch.setattr(
        code, "CodeSource", lambda text, *args, **how: texts.append(text) or source_of(text, *args, **how)
    )
    monkeypatch.setattr(code, "PATIENCE", 0.0)
    out = spread(source, 2, grid=400, schedule=schedule)
    assert out[0] == 400 * 256 * (255 * 128) % 2**32 and used == [2]
    assert sum(text.count(" cmpxchg ") for text in texts) == 1


@pytest.mark.parametrize(
    "text, how",
    [("mov.u32 %r4, %clock; st.global.u32 [%rd0], %r4;", {}), ("st.global.u32 [%rd0], 1;", {"step_limit": 10**9}),
     ("st.global.u32 [%rd0], 1;", {"engine": "exact"}),
     (".shared .align 4 .b8 s[1024]; mov.u32 %r5, s; mad.lo.u32 %r5, %r1, 4, %r5; cp.async.ca.shared.global [%r5], [%rd1], 4; cp.async.wait_all;",
      {"copies": "random:3"})],
)  # fmt: skip
def test_one_thread_where_the_order_shows(text: str, how: dict, used: list[int]) -> None:
    spread(kernel(text), 4, **how)
    assert used == [1]


def test_a_fault_in_one_ends_all_and_leaves_the_arrays() -> None:
    source = kernel("mov.u32 %r5, %ctaid.x; setp.eq.u32 %p0, %r5, 40; st.global.u32 [%rd0], 5; @%p0 trap;")
    out = np.zeros(64 * 256, np.uint32)
    with pytest.raises(ptxspec.LaunchError) as error:
        ptxspec.load(source).launch("k", 64, 256, [out], workers=3)
    assert error.value.rule == "trap" and error.value.where.cta == (40, 0, 0) and not out.any()


def test_an_endless_loop_in_all_of_them_ends() -> None:
    before = threading.active_count()
    with pytest.raises(ptxspec.LaunchError, match="time limit"):
        spread(
            kernel("L: add.u32 %r5, %r5, %r4; xor.b32 %r4, %r5, %r1; st.global.u32 [%rd1], %r4; bra L;"),
            2,
            time_limit=0.3,
        )
    assert threading.active_count() <= before + 2


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
def test_what_is_no_number_of_threads(count: object) -> None:
    with pytest.raises(ValueError, match="workers is an integer"):
        ptxspec.load(SUM).launch("k", args=[np.zeros(2, np.uint32)], workers=count)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell has what it starts in the background ignore interruptions."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def meeting(*values: int) -> list[Callable[[], int]]:
    """Works that give these values when all of them have begun."""
    barrier = threading.Barrier(len(values))
    return [lambda value=value: (barrier.wait(PATIENCE), value)[1] for value in values]


def after(first: Callable[[], int]) -> tuple[Callable[[], int], Callable[[], int]]:
    """A work that ends when the second has begun, which does what `first` does."""
    begun = threading.Event()
    return lambda: int(begun.wait(PATIENCE)), lambda: (begun.set(), first())[1]


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_while_others_work_stops_them() -> None:
    """The first work is done, and its thread waits for the second when the user interrupts it."""
    stopped, main = threading.Event(), threading.get_ident()

    def long() -> int:
        time.sleep(0.05)
        signal.pthread_kill(main, signal.SIGINT)
        assert stopped.wait(PATIENCE)
        return 1

    with pytest.raises(KeyboardInterrupt):
        workers.together(after(long), stopped.set)
    assert stopped.is_set()


def test_what_all_give_is_summed_and_the_first_failure_is_raised() -> None:
    assert workers.together(meeting(1, 2, 4), lambda: None) == 7
    stopped = threading.Event()

    def fails() -> int:
        raise ValueError("first")

    def follows() -> int:
        assert stopped.wait(PATIENCE)
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        workers.together([follows, fails, follows], stopped.set)


def test_nobody_waits_for_a_work_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """No processor is there for the second thread until the first has done its work."""
    late: list[tuple[Callable[..., None], tuple[object, ...]]] = []
    monkeypatch.setattr(workers, "POOL", workers.WorkerPool())
    with monkeypatch.context() as context:
        context.setattr(workers._thread, "start_new_thread", lambda *thread: late.append(thread))
        done: list[int] = []
        assert workers.together([lambda: 1, lambda: done.append(2) or 2], lambda: None) == 1
    ((run, given),) = late
    threading.Thread(target=run, args=given, daemon=True).start()
    assert workers.together(meeting(1, 2), lambda: None) == 3  # after that it does works that are not withdrawn
    assert done == []


def test_threads_wait_for_further_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many are started as there are works at a time; each work is let go when it is done."""
    monkeypatch.setattr(workers, "POOL", workers.WorkerPool())
    started: list[object] = []
    start = workers._thread.start_new_thread
    monkeypatch.setattr(workers._thread, "start_new_thread", lambda *thread: started.append(start(*thread)))
    numbers: list[set[int]] = []
    for count in (2, 2, 2, 3, 3, 2):
        kept = meeting(*[1] * count)
        met = ref(kept[1])
        assert workers.together(kept, lambda: None) == count
        end = time.monotonic() + PATIENCE
        while workers.POOL._idle < len(started) and time.monotonic() < end:
            time.sleep(0.001)
        numbers.append({len(started)})
        del kept
        gc.collect()
        assert met() is None
    assert numbers == [{1}, {1}, {1}, {2}, {2}, {2}]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process cannot become two here")
def test_a_copy_of_a_process_has_threads_of_its_own() -> None:
    assert workers.together(meeting(1, 2), lambda: None) == 3
    child = os.fork()
    if child == 0:
        os._exit(workers.together(meeting(3, 4), lambda: None))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("ctas, each", [(5, 3), (8, 4), (9, 5), (17, 8), (64, 8)])
def test_each_worker_has_as_many_ctas_if_all_are_resident(ctas: int, each: int) -> None:
    """2,048 threads are resident with each worker: with two, 4,096."""
    source = kernel("mov.u32 %r5, %ctaid.x; mov.u32 %r6, %tid.x; mad.lo.u32 %r9, %r5, 256, %r6; ld.param.u64 %rd3, [out];"
                    "mad.wide.u32 %rd3, %r9, 4, %rd3; atom.global.add.u32 %r4, [%rd3], 1;")  # fmt: skip
    module = ptxspec.load(source)
    prepared = module.prepared("k", ctas, 256, workers=2)
    for _ in range(20):  # each CTA is run once, whichever worker comes first, also in launches that repeat others
        out = np.zeros(ctas * 256, np.uint32)
        prepared.launch([out])
        assert (out == 1).all()
    assert prepared._plan._slots == each


def test_a_worker_that_had_no_cta_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first worker runs the grid alone, then the second: nothing of the launch was prepared for that before."""
    source = kernel("mov.u32 %r5, %ctaid.x; mov.u32 %r6, %tid.x; mad.lo.u32 %r9, %r5, 256, %r6; ld.param.u64 %rd3, [out];"
                    "mad.wide.u32 %rd3, %r9, 4, %rd3; st.global.u32 [%rd3], %r9;")  # fmt: skip
    prepared = ptxspec.load(source).prepared("k", 64, 256, workers=2)
    monkeypatch.setattr(workers, "LONG", 0.0)
    for order in (1, -1, 1, -1):
        monkeypatch.setattr(launch_plan, "together", lambda works, _, order=order: sum(w() for w in works[::order]))
        out = np.zeros(64 * 256, np.uint32)
        prepared.launch([out])
        assert out.tolist() == list(range(64 * 256))


def test_ctas_of_two_workers_wait_for_one_another(used: list[int]) -> None:
    """A barrier over a grid whose CTAs are all resident: half of them with each worker."""
    source = kernel(
        "mov.u32 %r5, %tid.x; setp.ne.u32 %p0, %r5, 0; @%p0 bra M; atom.global.add.u32 %r4, [%rd0], 1;"
        "L: ld.volatile.global.u32 %r6, [%rd0]; setp.ne.u32 %p1, %r6, 8; @%p1 bra L; M: bar.sync 0;"
    )
    assert spread(source, 2, grid=8)[0] == 8 and used == [2]


#: a CTA of 64 threads copies 1,024 bytes to its shared memory
COPIED = """.version 9.0 .target sm_90 .address_size 64
.shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 full;
.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b32 %r<9>; .reg .b64 %rd<7>; .reg .pred %p;
    ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 64, %r0; mov.u32 %r3, tile; mov.u32 %r4, full;
    mad.wide.u32 %rd2, %r2, 16, %rd1; mul.wide.u32 %rd3, %r1, 1024; add.u64 %rd3, %rd3, %rd1; shl.b32 %r5, %r0, 4;
    COPY
    xor.b32 %r5, %r5, 16; add.u32 %r5, %r5, %r3; ld.shared.u32 %r6, [%r5];
    mad.wide.u32 %rd4, %r2, 4, %rd0; st.global.u32 [%rd4], %r6;
}"""
COPIES = {
    "each thread's": "add.u32 %r5, %r5, %r3; cp.async.cg.shared.global [%r5], [%rd2], 16; cp.async.commit_group;"
    "cp.async.wait_group 0; bar.sync 0; sub.u32 %r5, %r5, %r3;",
    "a bulk copy": "setp.ne.u32 %p, %r0, 0; @%p bra M; mbarrier.init.shared.b64 [%r4], 1; fence.proxy.async;"
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 1024;"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd3], 1024, [%r4];"
    "M: bar.sync 0; W: mbarrier.try_wait.parity.shared.b64 %p, [%r4], 0; @!%p bra W;",
}


@pytest.mark.parametrize("copies", ["early", "late", "each"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("way", COPIES)
def test_ctas_that_copy_to_their_own_memory(way: str, count: int, copies: str) -> None:
    """They have nothing to do with one another: their operations are their worker's."""
    given = np.arange(40 * 256, dtype=np.uint32).reshape(40, 64, 4)
    prepared = ptxspec.load(COPIED.replace("COPY", COPIES[way])).prepared("k", 40, 64, workers=count, copies=copies)
    assert prepared._plan._workers == count
    for _ in range(3):
        out = np.zeros((40, 64), np.uint32)
        prepared.launch([out, given])
        assert np.array_equal(out, given[:, np.arange(64) ^ 1, 0])


def test_ctas_that_copy_to_global_memory_are_one_workers() -> None:
    """Whether another CTA touches what an operation writes there is found out by one worker."""
    body = """cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r3], 16; cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;"""
    assert ptxspec.load(COPIED.replace("COPY", body)).prepared("k", 40, 64, workers=2)._plan._workers == 1


def chosen(*seconds: tuple[float, float], expected: float | None = None, updates: bool = False) -> str:
    """How each launch is run, of those that take so many seconds, shared (S) and alone (A)."""
    choice, made = workers.SharingChoice(True, expected, updates), ""
    for pair in seconds:
        made += "SA"[choice.is_alone]
        choice.note(pair[choice.is_alone])
    return made


def test_short_launches_are_run_as_took_less_time() -> None:
    assert chosen(*[(1e-4, 5e-5)] * 12) == "SASASASA" + "AAAA"
    assert chosen(*[(1e-4, 2e-4)] * 12) == "SASASASA" + "SSSS"
    assert chosen(*[(5e-3, 1e-2)] * 5) == "SSSSS"  # one that takes long is never tried alone
    assert chosen((5e-2, 0), *[(1e-4, 5e-5)] * 9) == "SSASASAS" + "AA"  # the first was compiled


def test_longer_ones_are_tried_alone_if_workers_update_the_same_memory() -> None:
    assert chosen(*[(3e-3, 2e-3)] * 10, updates=True) == "SASASASA" + "AA"
    assert chosen(*[(6e-2, 2e-2)] * 4, updates=True) == "SSSS"


def test_a_launch_that_outgrows_what_was_measured_is_tried_again() -> None:
    short, long = (1e-4, 5e-5), (4e-3, 8e-3)
    assert chosen(*[short] * 10, *[long] * 3) == "SASASASA" + "AA" + "ASS"


def test_what_is_expected_to_be_short_begins_alone() -> None:
    """So that no memory is prepared for other workers where a shape is launched a few times."""
    rare = "A" * workers.UNSHARED
    assert chosen(*[(1e-4, 3e-4)] * 16, expected=3e-4) == rare + "SASASASA" + "SS"
    assert chosen(*[(1e-5, 3e-5)] * 20, expected=3e-5) == "A" * 20  # too short for another worker to wake
    outgrown = [(1e-5, 3e-5)] * 2 + [(2e-4, 4e-4)] * 9
    assert chosen(*outgrown, expected=3e-5) == "AAA" + "SASASA" + "SS"
    assert chosen(*[(3e-3, 6e-3)] * 3, expected=6e-3) == "SSS"


def test_grids_of_a_kernel_know_how_long_its_ctas_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a plan whose launches are not shared runs the code of one worker, whose updates need no other's."""
    source = kernel("atom.global.add.u32 %r4, [%rd0], 1;")
    module, memory = ptxspec.load(source), ptxspec.Memory()
    out = memory.put(np.zeros(2, np.uint32))
    monkeypatch.setattr(workers, "BRIEF", math.inf)
    for grid in (16, 32, 64):
        prepared = module.prepared("k", grid, 64, workers=2)
        plan = prepared._plan
        assert plan._sharing.is_settled == plan._sharing.is_alone == (grid > 16) and plan._spread
        for _ in range(3):
            prepared.launch([out])
        assert (plan.alone._spread, plan.alone._workers) == (not plan._sharing.is_settled, 1)
    assert memory.view(out, np.uint32)[0] == 3 * (16 + 32 + 64) * 64
    stores = ptxspec.load(kernel("st.global.u32 [%rd0], %r4;")).prepared("k", 16, 64, workers=2)
    assert not stores._plan._spread and stores._plan._workers == 2


def test_what_is_run_alone_is_repeated_until_it_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a launch takes is decided by a word of memory: so many rounds of a loop."""
    source = kernel("ld.global.u32 %r5, [%rd0+4]; L: sub.u32 %r5, %r5, 1; setp.ne.u32 %p0, %r5, 0; @%p0 bra L;"
                    "atom.global.add.u32 %r4, [%rd0], 1;")  # fmt: skip
    memory = ptxspec.Memory()
    out = memory.put(np.zeros(2, np.uint32))
    prepared = ptxspec.load(source).prepared("k", 16, 256, workers=2)
    plan = prepared._plan

    def launch(count: int) -> int:
        memory.view(out, np.uint32, (2,))[:] = 0, count
        steps = prepared.launch([out]).steps
        assert memory.view(out, np.uint32, (2,))[0] == 16 * 256
        return steps

    monkeypatch.setattr(workers, "LONG", math.inf)
    short = launch(1)
    assert not plan._sharing.is_settled and plan.repetition is None
    for name, value in {"is_settled": True, "is_alone": True, "note": lambda _: None}.items():
        monkeypatch.setattr(plan._sharing, name, value)
    assert short == launch(1) == launch(1) and plan.repetition is plan.alone._repeated is not None
    assert launch(100) > 4 * short and plan.repetition is None  # its time is asked for again
    monkeypatch.setattr(plan._sharing, "is_alone", False)
    assert launch(100) == launch(100) and plan.repetition is plan._repeated  # both workers, if both had CTAs


def test_an_interruption_just_before_the_wait_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes after the last look at signals and before the lock is waited for: nothing interrupts the wait itself."""
    stopped = threading.Event()

    class Lock:
        """One whose first wait begins with a signal that nobody sees."""

        def __init__(self) -> None:
            self.lock, self.waits = threading.Lock(), 0

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            self.waits += timeout >= 0
            if self.waits == 2:
                raise KeyboardInterrupt
            return self.lock.acquire(blocking, timeout)

        def release(self) -> None:
            self.lock.release()

    monkeypatch.setattr(workers, "Lock", Lock)
    with pytest.raises(KeyboardInterrupt):
        workers.together(after(lambda: 1 if stopped.wait(PATIENCE) else 0), stopped.set)
    assert stopped.is_set()


def test_an_interruption_after_the_lock_was_taken_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lock:
        def __init__(self) -> None:
            self.lock, self.interrupted = threading.Lock(), False

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            taken = self.lock.acquire(blocking, timeout)
            if timeout >= 0 and taken and not self.interrupted:
                self.interrupted = True
                raise KeyboardInterrupt
            return taken

        def release(self) -> None:
            self.lock.release()

    monkeypatch.setattr(workers, "Lock", Lock)
    with pytest.raises(KeyboardInterrupt):
        workers.together(after(lambda: time.sleep(0.05) or 1), lambda: None)
