"""CTAs that are spread over threads of the host."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from launching import kernel

import ptxspec
from ptxspec.machine import launch_plan, workers
from ptxspec.machine.native import code

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
     (".shared .align 4 .b8 s[1024]; mov.u32 %r5, s; mad.lo.u32 %r5, %r1, 4, %r5; cp.async.ca.shared.global [%r5], [%rd1], 4; cp.async.wait_all;", {})],
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
        workers.together([lambda: 1, long], stopped.set)
    assert stopped.is_set()


def test_what_all_give_is_summed_and_the_first_failure_is_raised() -> None:
    assert workers.together([lambda: 1, lambda: 2, lambda: 4], lambda: None) == 7
    stopped = threading.Event()

    def fails() -> int:
        raise ValueError("first")

    def follows() -> int:
        assert stopped.wait(PATIENCE)
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        workers.together([follows, fails, follows], stopped.set)


def test_an_interruption_just_before_the_wait_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes after the last look at signals and before the lock is waited for: nothing interrupts the wait itself."""
    stopped = threading.Event()

    class Lock:
        """One whose first wait begins with a signal that nobody sees."""

        def __init__(self) -> None:
            self.lock, self.waits = threading.Lock(), 0

        def acquire(self, timeout: float = -1) -> bool:
            self.waits += timeout >= 0
            if self.waits == 2:
                raise KeyboardInterrupt
            return self.lock.acquire(timeout=timeout)

        def release(self) -> None:
            self.lock.release()

    monkeypatch.setattr(workers, "Lock", Lock)
    with pytest.raises(KeyboardInterrupt):
        workers.together([lambda: 1, lambda: 1 if stopped.wait(PATIENCE) else 0], stopped.set)
    assert stopped.is_set()


def test_an_interruption_after_the_lock_was_taken_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lock:
        def __init__(self) -> None:
            self.lock, self.interrupted = threading.Lock(), False

        def acquire(self, timeout: float = -1) -> bool:
            taken = self.lock.acquire(timeout=timeout)
            if timeout >= 0 and taken and not self.interrupted:
                self.interrupted = True
                raise KeyboardInterrupt
            return taken

        def release(self) -> None:
            self.lock.release()

    monkeypatch.setattr(workers, "Lock", Lock)
    with pytest.raises(KeyboardInterrupt):
        workers.together([lambda: 1, lambda: time.sleep(0.05) or 1], lambda: None)
