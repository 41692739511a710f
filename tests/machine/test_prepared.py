"""Launches that are prepared once and executed many times, and what is kept from one launch to the next."""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from launching import kernel

import ptxspec

pytestmark = pytest.mark.sample(4)

ENGINES = ("native", "exact")
#: adds what shared and local memory hold, which must be nothing, to the thread's number, and leaves something there
TRACES = kernel("""
    .shared .b32 s[64]; .local .b32 l[4]; .reg .b32 %s, %l;
    mov.u32 %r8, %ntid.x; mov.u32 %r9, s; mad.lo.u32 %r9, %r1, 4, %r9;
    ld.shared.u32 %s, [%r9]; ld.local.u32 %l, [l];
    st.shared.u32 [%r9], 5; st.local.u32 [l], 7;
    add.u32 %r5, %r1, %s; add.u32 %r5, %r5, %l; st.global.u32 [%rd1], %r5;
""")
ADDS = """.version 8.0 .target sm_80 .address_size 64
.const .u32 c = 10;
.global .u32 g;
.visible .entry k(.param .u64 at, .param .u32 n) { .reg .b64 a; .reg .b32 x, y;
    ld.param.u64 a, [at]; ld.global.u32 x, [a]; ld.param.u32 y, [n]; add.u32 x, x, y; ld.const.u32 y, [c]; add.u32 x, x, y;
    st.global.u32 [a], x; st.global.u32 [g], x; ret; }
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("workers", [1, 2])
def test_memory_begins_empty_each_time(engine: Any, workers: int) -> None:
    grid = 300 if engine == "native" else 3
    prepared, count = ptxspec.load(TRACES).prepared("k", grid, 64, engine=engine, workers=workers), grid * 64
    steps = set()
    for _ in range(3):
        out = np.zeros(count, np.uint32)
        steps.add(prepared.launch([out]).steps)
        assert (out == np.arange(count) % 64).all()
    assert len(steps) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_change_and_the_rest_stays(engine: Any) -> None:
    module = ptxspec.load(ADDS)
    prepared, memory = module.prepared("k", engine=engine), ptxspec.Memory()
    one, other, third = np.zeros(1, np.uint32), np.full(4, 100, np.uint32), memory.put(np.uint32(1000))
    for _ in range(2):
        prepared.launch([one, 1])
        prepared.launch((other, np.uint32(2)))
        prepared.launch([third + 0, 3])
        prepared.launch([int(third), 3], memory=memory)
    assert one.tolist() == [22] and other.tolist() == [124, 100, 100, 100]
    assert memory.view(third, np.uint32).tolist() == [1052]
    assert module.read("g").view(np.uint32)[0] == 1052
    module.write("c", np.uint32(20))
    prepared.launch([one, 1])
    assert one.tolist() == [43]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failed_execution_leaves_no_trace(engine: Any) -> None:
    """The arrays are as before, and so is the next execution."""
    module = ptxspec.load(
        kernel(
            "st.global.u32 [%rd1], 7; ld.param.u64 %rd4, [at]; ld.global.u32 %r5, [%rd4];",
            ".param .u64 out, .param .u64 at",
        )
    )
    prepared, out = module.prepared("k", block=2, engine=engine), np.zeros(2000, np.uint32)
    for _ in range(3):
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            prepared.launch([out, 0])
        assert not out.any()
        prepared.launch([out, out])
        assert out[:3].tolist() == [7, 7, 0]
        out[:] = 0


def test_shapes_and_options_are_told_apart() -> None:
    """Launches of one module in turns: what is kept for one is not used for another, also where the options are equal numbers."""
    module, out = (
        ptxspec.load(
            kernel(
                "mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ntid.x; mad.lo.u32 %r5, %r5, 100, %r6; st.global.u32 [%rd0], %r5;"
            )
        ),
        np.zeros(1, np.uint32),
    )
    for _ in range(2):
        for grid, block in ((1, 2), (2, 1), (1, 1), ((2, 1, 1), (1, 1)), ([1], [2])):
            module.launch("k", grid, block, [out])
            sizes = [extent if isinstance(extent, int) else extent[0] for extent in (grid, block)]
            assert out[0] == sizes[0] * 100 + sizes[1]
        with pytest.raises(TypeError, match="grid is one, two or three integers"):
            module.launch("k", 1.0, 2, [out])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="step_limit is an integer"):
            module.launch("k", 1, 2, [out], step_limit=1e6)  # type: ignore[arg-type]
        module.launch("k", 1, 2, [out], step_limit=1_000_000)


def test_a_schedule_is_reported_once() -> None:
    module = ptxspec.load(kernel("atom.global.add.u32 %r5, [%rd0], 1; st.global.u32 [%rd1+4], %r5;"))
    prepared = module.prepared("k", block=4, schedule="random:3")
    first = prepared.launch([np.zeros(5, np.uint32)])
    assert first == prepared.launch([np.zeros(5, np.uint32)]) and first.schedule
    assert module.prepared("k", block=4, schedule=first.schedule).launch([np.zeros(5, np.uint32)]) == first


def test_counts_are_of_one_execution() -> None:
    prepared = ptxspec.load(ADDS).prepared("k", counts=True)
    first, second = (prepared.launch([np.zeros(1, np.uint32), 1]).counts for _ in range(2))
    assert first == second is not None


def test_what_is_wrong_before_any_execution() -> None:
    module = ptxspec.load(ADDS)
    for how, message in (
        ({"block": 2000}, "at least 1 and at most"), ({"profile": "none"}, "none"), ({"engine": "fast"}, "engine"),
        ({"dynamic_shared": 1 << 30}, "bytes"), ({"workers": 0}, "workers"), ({"schedule": "any"}, "schedule"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            module.prepared("k", **how)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no entry is called"):
        module.prepared("none")
    with pytest.raises(TypeError, match="unexpected keyword"):
        module.prepared("k", args=[])  # type: ignore[call-arg]
    with pytest.raises(ptxspec.LaunchError, match="memory limit"):
        module.prepared("k", block=1024, memory_limit=10)


def test_the_options_are_those_of_a_launch() -> None:
    of_launch, of_prepared = (inspect.signature(f).parameters for f in (ptxspec.Module.launch, ptxspec.Module.prepared))
    assert {**of_prepared, "args": of_launch["args"], "memory": of_launch["memory"]} == dict(of_launch)


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_are_used_where_they_lie(engine: Any) -> None:
    """What is called meanwhile sees what the kernel has stored: there is no copy, but of arrays whose bytes do not lie as in memory."""
    source = """.version 8.0 .target sm_80 .address_size 64
        .extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);
        .global .align 1 .b8 text[3] = {104, 105, 0};
        .visible .entry k(.param .u64 out) { .reg .b64 a, t; .reg .b32 r;
            ld.param.u64 a, [out]; st.global.u8 [a+1], 9; mov.u64 t, text; cvta.global.u64 t, t;
            { .param .b32 result; .param .b64 p; .param .b64 q; st.param.b64 [p], t; st.param.b64 [q], 0;
              call (result), vprintf, (p, q); } ret; }"""
    module, seen = ptxspec.load(source), []
    whole = np.zeros(64, np.uint8)
    assert whole.ctypes.data % 16 == 0
    for array, is_seen in (
        (whole, True),
        (whole[16:32], True),
        (whole[1:9], False),
        (whole[::2], False),
        (whole.view(bool), True),
    ):
        array[:] = 0
        module.launch(
            "k", args=[array], engine=engine, printed=lambda _, array=array: seen.append(int(array.view(np.uint8)[1]))
        )
        assert seen.pop() == (9 if is_seen else 0)
        assert array[1] == (1 if array.dtype == bool else 9)
        assert np.count_nonzero(array) == 1


#: takes so much local memory that other arrays take its place, and leaves something in shared and in global memory
LARGE = kernel("""
    .local .b32 l[512]; .reg .b32 %l; .reg .b64 %a;
    shl.b32 %r8, %r1, 2; mov.u64 %a, l; cvt.u64.u32 %rd5, %r8; add.u64 %a, %a, %rd5;
    ld.local.u32 %l, [%a]; st.local.u32 [%a], 9; add.u32 %r5, %l, 3; st.global.u32 [%rd1], %r5;
""")


@pytest.mark.parametrize("schedule", ["round-robin", "warps"])
def test_arrays_that_are_replaced_are_found(schedule: str) -> None:
    """What lies elsewhere in a later launch, or during one, is where the code looks for it: memory that is replaced because it is
    large, and the blocks of a memory that has got or lost some, with launches of other shapes between."""
    module, memory = ptxspec.load(LARGE), ptxspec.Memory()
    pieces = [memory.allocate(4 * 4096, name=f"piece {i}") for i in range(3)]
    for turn in range(3):
        for grid in (32, 16, 32):
            out = np.zeros(grid * 64, np.uint32)
            module.launch("k", grid, 64, [out], schedule=schedule)
            assert (out == 3).all()
            for piece in pieces:
                module.launch("k", grid, 64, [piece], schedule=schedule)
                assert (memory.view(piece, np.uint32)[: grid * 64] == 3).all()
                memory.view(piece)[:] = 0
        memory.free(pieces.pop(0))
        pieces.append(memory.allocate(4 * 4096, name=f"another {turn}"))
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            module.launch("k", 65, 64, [pieces[-1]], schedule=schedule)
        assert not memory.view(pieces[-1]).any()


def test_what_threads_are_told_is_of_their_launch() -> None:
    """Special registers that say the shape of a launch, and its number, where launches of several shapes take turns."""
    source = kernel(
        "mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ctaid.x; mad.lo.u32 %r5, %r5, 100, %r6; mov.u64 %rd5, %gridid; st.global.u32 [%rd1], %r5;"
        "setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u64 [%rd0+4096], %rd5;"
    )
    without = ptxspec.load(source.replace("mov.u64 %rd5, %gridid;", "mov.u64 %rd5, 0;"))
    numbers = []
    for module in (ptxspec.load(source), without):
        for grid in (4, 4, 8, 4, 8, 8, 4):
            out = np.zeros(1026, np.uint32)
            module.launch("k", (grid // 2, 2), 1, [out])
            assert out[: grid // 2].tolist() == [grid // 2 * 100 + k for k in range(grid // 2)]
            numbers.append(out[1024:].view(np.uint64)[0])
    assert len(set(numbers[:7])) == 7 and set(numbers[7:]) == {0}


@pytest.mark.slow
def test_what_was_passed_is_not_kept() -> None:
    """When a launch has ended, nothing holds its arrays, and nothing a memory that the caller has let go of."""
    module = ptxspec.load(ADDS)
    prepared = module.prepared("k")
    array, memory = np.zeros(1, np.uint32), ptxspec.Memory()
    pointer = memory.put(np.zeros(1, np.uint32))
    for _ in range(2):
        prepared.launch([array, 1])
        prepared.launch([pointer, 1])
        module.launch("k", args=[array, 1])
        module.launch("k", args=[pointer, 1], engine="exact")
    kept = [weakref.ref(array), weakref.ref(memory)]
    del array, memory, pointer
    gc.collect()
    assert [reference() for reference in kept] == [None, None]


def test_options_reach_the_launch() -> None:
    endless = ptxspec.load(kernel("L: add.u32 %r5, %r5, 1; bra L;"))
    for how in ({"step_limit": 100}, {"time_limit": 0.2}):
        with pytest.raises(ptxspec.LaunchError, match=next(iter(how)).replace("_", " ")):
            endless.prepared("k", **how).launch([np.zeros(1, np.uint32)])  # type: ignore[arg-type]
    random = ptxspec.load(kernel(".shared .b32 s; ld.shared.u32 %r5, [s]; st.global.u32 [%rd1], %r5;"))
    out = [np.zeros(1, np.uint32) for _ in range(2)]
    random.prepared("k", seed=3).launch(out[:1])
    random.launch("k", args=out[1:], seed=3)
    assert out[0] == out[1] != 0


def test_shapes_that_are_equal_numbers_of_other_types() -> None:
    """A launch is kept under its shape and options, and each of these under its type."""
    module, out = ptxspec.load(kernel("st.global.u32 [%rd1], 1;")), np.zeros(8, np.uint32)
    for grid in (1, (1,), (1, 1), (1, 1, 1)):
        assert module.launch("k", grid, (4,), [out]).steps == module.launch("k", grid, 4, [out]).steps
    for wrong in (1.0, (1.0,), (1, None), "1", (), None, ((1,),)):
        with pytest.raises((TypeError, ValueError)):
            module.launch("k", wrong, 4, [out])
        with pytest.raises((TypeError, ValueError)):
            module.launch("k", (1, 1), wrong, [out])
    with pytest.raises(ValueError, match="workers is an integer above 0, not True"):
        module.launch("k", 1, 4, [out], workers=True)
    assert module.launch("k", 1, 4, [out], workers=1).steps


def test_the_time_of_each_launch_begins_with_it() -> None:
    """Those of launches before do not count, and a limit of one is that of the next."""
    loop = (
        "mov.u32 %r5, 0; L: add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 100000; @%p0 bra L; st.global.u32 [%rd1], %r5;"
    )
    module, out = ptxspec.load(kernel(loop)), np.zeros(1, np.uint32)
    for _ in range(20):
        module.launch("k", args=[out], step_limit=400_000, time_limit=30)
    with pytest.raises(ptxspec.LaunchError, match="within 1,000 thread-instructions"):
        module.launch("k", args=[out], step_limit=1000, time_limit=30)
    assert out[0] == 100_000


#: the most calls of Python's functions in a launch of a shape that was launched before, by the pointers and numbers of its arguments
MOST_CALLS = 30


def test_a_launch_that_is_repeated_takes_few_calls() -> None:
    prepared, memory = ptxspec.load(ADDS).prepared("k"), ptxspec.Memory()
    at, calls = memory.put(np.uint32(0)), 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    for number in range(3):
        prepared.launch([at, np.uint32(number)])
    sys.setprofile(note)
    try:
        prepared.launch([at, np.uint32(3)])
    finally:
        sys.setprofile(None)
    assert memory.view(at, np.uint32).tolist() == [4 * 10 + 0 + 1 + 2 + 3]
    assert calls <= MOST_CALLS


def test_numbers_fill_parameters_as_before_or_are_refused() -> None:
    """NumPy's scalars and integers that fit take a short way."""
    module, memory = ptxspec.load(ADDS), ptxspec.Memory()
    prepared, at = module.prepared("k"), memory.allocate(4)
    for number, sum in [
        (-1, 9),
        (-(1 << 31), (1 << 31) + 9 + 10),
        ((1 << 32) - 1, (1 << 31) + 9 + 10 + 9),
        (np.int32(-9), (1 << 31) + 29),
    ]:
        prepared.launch([at, number])
        assert memory.view(at, np.uint32).tolist() == [sum]
    for wrong in (
        1 << 32,
        -(1 << 31) - 1,
        np.uint64(1),
        np.float32(1),
        1.5,
        True,
        np.bool_(True),
        at + (1 << 40),
        None,
    ):
        with pytest.raises(TypeError, match="argument 1"):
            prepared.launch([at, wrong])


@pytest.mark.parametrize("text, meets", [("", False), ("bar.sync 0;", True)])
def test_only_threads_that_meet_have_what_they_need_for_that(text: str, meets: bool) -> None:
    prepared = ptxspec.load(kernel(f"st.global.u32 [%rd1], %r1; {text}")).prepared("k", 2, 64)
    out = np.zeros(128, np.uint32)
    prepared.launch([out])
    arrays = prepared._plan._runs[0].arrays
    assert bool(len(arrays["barriers"])) == bool(len(arrays["wait_state"])) == meets
    assert len(arrays["lists"]) and len(arrays["counts"])
