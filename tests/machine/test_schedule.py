"""Schedules that a launch chooses: both engines follow the same choices, and a launch is repeated by those it reported."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from launching import kernel

import ptxspec

pytestmark = pytest.mark.sample(4)

ENGINES = ("exact", "native")
#: a counter that all threads increase without an atomic operation, and read behind a barrier
RACE = (
    "ld.global.u32 %r1, [%rd0]; add.u32 %r1, %r1, 1; st.global.u32 [%rd0], %r1; bar.sync 0; ld.global.u32 %r2, [%rd0];"
)
#: bodies that leave a number of each thread in %r2
BODIES = {
    "a race": RACE,
    "atomic": "atom.global.add.u32 %r2, [%rd0], 1;",
    "shared memory": ".shared .b32 s[64]; mov.u32 %r1, %tid.x; mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 4, %r3; st.shared.u32 [%r3], %r1;"
    "ld.shared.u32 %r2, [s]; xor.b32 %r4, %r1, 1; mov.u32 %r5, s; mad.lo.u32 %r5, %r4, 4, %r5; ld.shared.u32 %r6, [%r5];"
    "add.u32 %r2, %r2, %r6;",
    "lanes": "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 2; @%p1 bra LOW; activemask.b32 %r2; bra JOIN; LOW:"
    "activemask.b32 %r2; JOIN: shfl.sync.idx.b32 %r3, %r2, 0, 31, -1; atom.global.add.u32 %r4, [%rd0], %r3; add.u32 %r2, %r4, %r3;",
    "a loop": "mov.u32 %r3, 0; L: ld.global.u32 %r1, [%rd0]; add.u32 %r1, %r1, 3; st.global.u32 [%rd0], %r1; add.u32 %r3, %r3, 1;"
    "setp.lt.u32 %p1, %r3, 5; @%p1 bra L; mov.u32 %r2, %r1;",
}


def source(body: str, threads: int = 32) -> str:
    store = "mov.u32 %r9, %tid.x; mad.wide.u32 %rd2, %r9, 4, %rd0; st.global.u32 [%rd2+4], %r2;"
    return kernel(f"{body.replace('-1', hex((1 << threads) - 1))} {store}", ".param .u64 out")


def launched(text: str, block: int, schedule: Any, engine: str, grid: int = 1) -> tuple[list[int], Any]:
    out = np.zeros(block + 1, np.uint32)
    outcome = ptxspec.load(text).launch("k", grid, block, [out], engine=engine, schedule=schedule)
    return out.tolist(), outcome


@pytest.mark.parametrize("name", BODIES)
def test_both_engines_follow_the_same_choices(name: str) -> None:
    text = source(BODIES[name], 6)
    for seed in range(4):
        (exact, first), (native, second) = (launched(text, 6, f"random:{seed}", engine) for engine in ENGINES)
        assert exact == native and first == second and first.schedule
        for engine in ENGINES:
            assert launched(text, 6, first.schedule, engine) == (exact, first)


def test_a_race_has_several_outcomes_and_an_atomic_sum_has_one() -> None:
    counts = {launched(source(RACE), 4, f"random:{seed}", "native")[0][0] for seed in range(40)}
    assert {2, 3} <= counts <= {1, 2, 3, 4}
    sums = {launched(source(BODIES["atomic"]), 4, f"random:{seed}", "native")[0][0] for seed in range(10)}
    assert sums == {4}


def test_any_interleaving_of_accesses_is_a_schedule_and_no_other_outcome_is() -> None:
    """Two threads store to one place and load the other: one of them sees the other's store, in any order."""
    body = (
        "mov.u32 %r1, %tid.x; shl.b32 %r3, %r1, 2; cvt.u64.u32 %rd3, %r3; add.u64 %rd4, %rd0, %rd3; xor.b32 %r4, %r3, 4;"
        "cvt.u64.u32 %rd5, %r4; add.u64 %rd6, %rd0, %rd5; st.global.u32 [%rd4+64], 1; ld.global.u32 %r2, [%rd6+64];"
    )
    text = source(body)
    seen = set()
    for seed in range(40):
        out = np.zeros(32, np.uint32)
        ptxspec.load(text).launch("k", 1, 2, [out], schedule=f"random:{seed}")
        seen.add(tuple(out[1:3].tolist()))
    assert seen == {(0, 1), (1, 0), (1, 1)}


def test_more_choices_than_the_machine_notes_at_once() -> None:
    body = BODIES["a loop"].replace(", 5;", ", 400;")
    found, outcome = launched(source(body), 3, "random:7", "native")
    assert len(outcome.schedule) > 2048
    for engine in ENGINES:
        assert launched(source(body), 3, list(outcome.schedule), engine) == (found, outcome)


def test_behind_a_list_threads_run_in_turns() -> None:
    found, outcome = launched(source(RACE), 4, (3, 3, 3), "exact")
    assert (found, outcome) == launched(source(RACE), 4, [3, 3, 3], "native") and outcome.schedule == (3, 3, 3)
    assert launched(source(RACE), 4, [], "native")[1].schedule == ()
    assert launched(source(RACE), 4, "round-robin", "native")[1].schedule is None


def test_several_batches_and_clusters() -> None:
    text = source("atom.global.add.u32 %r2, [%rd0], 1; barrier.cluster.arrive; barrier.cluster.wait;")
    for engine in ENGINES:
        out = np.zeros(9, np.uint32)
        outcome = ptxspec.load(text).launch("k", 4, 8, [out], engine=engine, schedule="random:3", cluster=2)
        again = np.zeros(9, np.uint32)
        ptxspec.load(text).launch("k", 4, 8, [again], engine=engine, schedule=outcome.schedule, cluster=2)
        assert out[0] == 32 and (out == again).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fault_that_a_schedule_meets_is_met_again(engine: str) -> None:
    """One thread publishes a wrong address for a moment: whoever reads it then is out of bounds."""
    body = (
        "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @!%p1 bra READ; st.global.u32 [%rd0+8], 4096; st.global.u32 [%rd0+8], 0;"
        "bra DONE; READ: ld.global.u32 %r3, [%rd0+8]; cvt.u64.u32 %rd3, %r3; add.u64 %rd4, %rd0, %rd3; ld.global.u32 %r2, [%rd4];"
        "DONE:"
    )
    module, faults = ptxspec.load(source(body)), []
    for seed in range(40):
        try:
            module.launch("k", 1, 2, [np.zeros(4, np.uint32)], engine=engine, schedule=f"random:{seed}")
        except ptxspec.LaunchError as error:
            faults.append(error)
    assert 0 < len(faults) < 40 and {f.rule for f in faults} == {"out of bounds"}
    schedule = pickle.loads(pickle.dumps(faults[0])).schedule
    for other in ENGINES:
        with pytest.raises(ptxspec.LaunchError, match="out of bounds") as found:
            module.launch("k", 1, 2, [np.zeros(4, np.uint32)], engine=other, schedule=schedule)
        assert found.value.schedule == schedule and found.value.where.line == faults[0].where.line


@pytest.mark.parametrize("engine", ENGINES)
def test_a_choice_that_cannot_run(engine: str) -> None:
    with pytest.raises(
        ptxspec.LaunchError, match=r"choice 2 of the schedule.* names thread 9, which cannot run"
    ) as found:
        launched(source(RACE), 4, [1, 1, 9], engine)
    assert found.value.rule == "schedule" and found.value.schedule == (1, 1)
    waits = [0] * 20  # the thread waits at the barrier before that
    with pytest.raises(ptxspec.LaunchError, match="names thread 0, which cannot run"):
        launched(source(RACE), 4, waits, engine)


@pytest.mark.parametrize(
    "schedule", ["random", "random:", "random:-1", "random:x", "weakest", "", [-1], [True], [1 << 31]]
)
def test_what_is_no_schedule(schedule: Any) -> None:
    with pytest.raises(ValueError, match="schedule"):
        launched(source(RACE), 4, schedule, "native")


@pytest.mark.parametrize("schedule", [None, 7, [1.5], ["1"], {1: 2}])
def test_what_is_of_no_type_of_schedules(schedule: Any) -> None:
    with pytest.raises(TypeError, match="schedule"):
        launched(source(RACE), 4, schedule, "native")
