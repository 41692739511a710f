"""Launches that follow one another with the same memory, of which only numbers and pointers differ (machine/repetition.py)."""

from __future__ import annotations

import sys
from typing import Any
from weakref import ref

import numpy as np
import pytest
from launching import kernel

import ptxspec

#: adds a number to the thread's word, then to one that lies so many bytes further on
ADDS = kernel(
    """
    .reg .b32 %n, %far; .reg .b64 %away;
    ld.param.u32 %n, [n]; ld.param.u32 %far, [far]; cvt.u64.u32 %away, %far; add.u64 %away, %away, %rd1;
    ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, %n; st.global.u32 [%rd1], %r5;
    ld.global.u32 %r5, [%away]; add.u32 %r5, %r5, %n; st.global.u32 [%away], %r5;
    """,
    ".param .u64 out, .param .u32 n, .param .u32 far",
)


@pytest.mark.parametrize("threads", [8, 64])
def test_each_launch_is_undone_by_itself(threads: int) -> None:
    """However many there were before: of pages that launches have saved, each remembers its own."""
    memory = ptxspec.Memory()
    prepared, at = ptxspec.load(ADDS).prepared("k", 2, threads // 2, schedule="warps"), memory.allocate(8 * threads)
    words, sum = memory.view(at, np.uint32), 0
    for number in range(1, 300):
        prepared.launch([at, number, 4 * threads])
        sum += number
        assert (words == sum).all()
        if number % 7 == 0:
            with pytest.raises(ptxspec.LaunchError, match="out of bounds") as raised:
                prepared.launch([at, number, 1 << 20])
            assert raised.value.where is not None and raised.value.address is not None
            assert (words == sum).all()


def test_pieces_that_come_and_go_are_noticed() -> None:
    memory, other = ptxspec.Memory(), ptxspec.Memory(1 << 40)
    module = ptxspec.load(ADDS)
    prepared, first = module.prepared("k", block=4), memory.allocate(64)
    for at in (first, first, memory.allocate(64), other.allocate(64), first):
        prepared.launch([at, 1, 32])
    assert memory.view(first, np.uint32).tolist() == [3, 3, 3, 3, 0, 0, 0, 0] * 2
    memory.free(first)
    with pytest.raises(ptxspec.LaunchError, match="was freed"):
        prepared.launch([first, 1, 32])
    array = np.zeros(16, np.uint32)
    for _ in range(2):
        prepared.launch([array, 1, 32])
    assert array.sum() == 16
    array.flags.writeable = False
    at = memory.register(array)
    for _ in range(2):
        with pytest.raises(ptxspec.LaunchError, match="read-only"):
            prepared.launch([at, 1, 32])


def test_pieces_are_noticed_when_another_module_has_looked_at_them() -> None:
    """What the memory had at the last launch of this one is forgotten by then, and what it has now is not looked at yet."""
    memory = ptxspec.Memory()
    one, other = (ptxspec.load(ADDS).prepared("k", block=4) for _ in range(2))
    places = [memory.allocate(64)]
    for prepared in (one, one, other, one):
        prepared.launch([places[-1], 1, 32])
        places.append(memory.allocate(64))
    assert [memory.view(at, np.uint32).sum() for at in places] == [8, 8, 8, 8, 0]


def test_arguments_are_looked_at_each_time() -> None:
    memory, other = ptxspec.Memory(), ptxspec.Memory(1 << 40)
    prepared, at = ptxspec.load(ADDS).prepared("k", block=1), memory.allocate(64)
    prepared.launch([at, 1, 4])
    prepared.launch([at, 1, 4])
    wrong: list[tuple[list[Any], str]] = [
        ([at, True, 4], "argument 1"), ([at, 1, 1 << 32], "argument 2"), ([at, 1], "takes 3 arguments"), ([at, 1.0, 4], "argument 1"),
        ([at, None, 4], "argument 1"), ([ptxspec.Pointer(memory, -4), 1, 4], "argument 0"), ([at, 1, at + (1 << 40)], "argument 2"),
    ]  # fmt: skip
    for arguments, message in wrong:
        with pytest.raises(TypeError, match=message):
            prepared.launch(arguments)
        prepared.launch([at, 1, 4])
    for arguments in ("at", {0: at}, at):
        with pytest.raises(TypeError):
            prepared.launch(arguments)  # type: ignore[arg-type]
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        prepared.launch([int(at), 1, 4])
    prepared.launch([int(at), 1, 4], memory=memory)
    prepared.launch([int(at), 1, 4], memory=[other, memory])
    prepared.launch([at, 1, 4], memory=memory)
    assert memory.view(at, np.uint32)[:2].tolist() == [12, 12]


def test_launches_that_share_arrays_take_turns() -> None:
    """Of one kernel and shape under two profiles, and of others that use the same memory."""
    memory, module = ptxspec.Memory(), ptxspec.load(ADDS)
    at = memory.allocate(1 << 10)
    several = [module.prepared("k", 2, 32, step_limit=limit) for limit in (None, 10_000, 20_000)]
    several += [
        ptxspec.load(ADDS).prepared("k", 2, 32),
        module.prepared("k", 4, 16),
        module.prepared("k", 2, 32, engine="exact"),
    ]
    for number in range(3):
        for prepared in several:
            for _ in range(2):
                assert prepared.launch([at, number, 256]).steps == 64 * 17
    assert set(memory.view(at, np.uint32)[:128].tolist()) == {6 * 2 * (0 + 1 + 2)}


#: adds a number to the thread's word, and stores the word's address behind all words
TELLS = kernel(
    """
    .reg .b32 %n; .reg .b64 %q, %other; ld.param.u32 %n, [n]; ld.param.u64 %other, [other];
    ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, %n; st.global.u32 [%rd1], %r5; st.global.u64 [%other], %rd1;
    """,
    ".param .u64 out, .param .u64 other, .param .u32 n",
)


def repeats(prepared: Any) -> bool:
    """Whether the next launch may be a repeated one."""
    return prepared._plan.repetition is not None


def test_arrays_are_repeated_at_new_addresses() -> None:
    """Under both engines at the same ones, whatever was launched in between."""
    told = []
    for engine in ("exact", "native"):
        module = ptxspec.load(TELLS)
        prepared, words, where = (
            module.prepared("k", block=4, engine=engine),
            np.zeros(4, np.uint32),
            np.zeros(1, np.uint64),
        )
        addresses = []
        for number in range(6):
            prepared.launch([words, where, number])
            addresses.append(int(where[0]))
            if number == 3:
                module.launch("k", block=1, args=[np.zeros(9000, np.uint8), where, 0], engine=engine)
        assert words.tolist() == [15] * 4 and len(set(addresses)) == 6
        assert repeats(prepared) == (engine == "native")
        told.append(addresses)
    assert told[0] == told[1]


def test_what_was_done_to_an_array_is_noticed() -> None:
    module = ptxspec.load(TELLS)
    prepared, words, where = module.prepared("k", block=4), np.zeros(8, np.uint32), np.zeros(1, np.uint64)

    def launch(array: Any = None, other: Any = None) -> None:
        prepared.launch([words if array is None else array, where if other is None else other, 1])

    for _ in range(3):
        launch()
    words.flags.writeable = False
    with pytest.raises(ptxspec.LaunchError, match="read-only"):
        launch()
    words.flags.writeable = True
    for _ in range(2):
        launch()
    assert words.tolist() == [5] * 4 + [0] * 4 and repeats(prepared)
    fewer = np.zeros(2, np.uint32)
    for _ in range(2):
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            launch(fewer)
    assert not fewer.any()
    launch()
    launch()
    launch(words[::2])
    assert words.tolist() == [8, 7, 8, 7, 1, 0, 1, 0]
    launch()
    launch()
    assert repeats(prepared)
    words.resize(4096, refcheck=False)
    for _ in range(2):
        launch()
    assert words[:4].tolist() == [12, 11, 12, 11] and repeats(prepared)
    words.shape = 64, 64
    launch()
    assert words[0, :4].tolist() == [13, 12, 13, 12] and repeats(prepared)
    with pytest.warns(DeprecationWarning):
        words.strides = 4, 256  # columns are side by side now, so that a copy is passed
    launch()
    assert words[0, :4].tolist() == [14, 1, 1, 1]
    with pytest.raises(ValueError, match="shares memory"):
        launch(where[:1].view(np.uint32))


def test_one_array_for_two_parameters() -> None:
    prepared, words = ptxspec.load(TELLS).prepared("k", block=1), np.zeros(4, np.uint32)
    for _ in range(3):
        prepared.launch([words, words, 0])
    assert repeats(prepared)
    (address,) = words[:2].view(np.uint64).tolist()
    prepared.launch([words, words, 0])
    assert words[:2].view(np.uint64)[0] > address


def test_an_array_is_not_kept_alive_and_a_fault_is_undone() -> None:
    prepared, words, where = ptxspec.load(TELLS).prepared("k", block=4), np.zeros(4, np.uint32), np.zeros(1, np.uint64)
    for _ in range(3):
        prepared.launch([words, where, 1])
    assert repeats(prepared) and sys.getrefcount(words) == sys.getrefcount(where) == 2
    gone = ref(words)
    del words
    assert gone() is None
    other = np.zeros(4, np.uint32)
    for _ in range(2):
        prepared.launch([other, where, 2])
    assert other.tolist() == [4] * 4
    adds, words = ptxspec.load(ADDS).prepared("k", 2, 32), np.zeros(1024, np.uint32)
    for number in range(1, 5):
        adds.launch([words, 1, 256])
        assert words[:128].tolist() == [number] * 128
        with pytest.raises(ptxspec.LaunchError, match=r"bytes beyond .*argument 0 \(out\)|of argument 0 \(out\)"):
            adds.launch([words, 1, 4096])
        assert words[:128].tolist() == [number] * 128


def test_truth_values_and_other_elements_are_looked_at_each_time() -> None:
    """A truth value is 0 or 1 after each launch; of elements of another size each launch warns."""
    prepared, truths, where = ptxspec.load(TELLS).prepared("k", block=4), np.zeros(16, np.bool_), np.zeros(1, np.uint64)
    for _ in range(3):
        prepared.launch([truths, where, 6])
        assert set(truths.view(np.uint8).tolist()) == {0, 1}
    assert not repeats(prepared)
    floats = kernel("ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd1], %f1;", ".param .u64 out")
    prepared, doubles = ptxspec.load(floats).prepared("k", block=4), np.zeros(16)
    for _ in range(3):
        with pytest.warns(UserWarning, match="float64"):
            prepared.launch([doubles])
    assert not repeats(prepared)


#: counts to a number in global memory, thread by thread
LOOPS = kernel(
    """
    .reg .b32 %n; ld.param.u32 %n, [n]; mov.u32 %r5, 0;
    L: add.u32 %r5, %r5, 1; st.volatile.global.u32 [%rd1], %r5; setp.lt.u32 %p0, %r5, %n; @%p0 bra L;
    """,
    ".param .u64 out, .param .u32 n",
)


def test_a_launch_that_takes_long_goes_on_or_is_ended() -> None:
    memory, at_once = ptxspec.Memory(), []
    at = memory.allocate(256)
    prepared = ptxspec.load(LOOPS).prepared("k", 1, 64, time_limit=60)
    short, long = prepared.launch([at, 1]).steps, 500_000
    for _ in range(2):
        at_once.append(prepared.launch([at, long]).steps)
        assert (memory.view(at, np.uint32) == long).all()
    assert at_once == [short + 4 * 64 * (long - 1)] * 2
    limited = ptxspec.load(LOOPS).prepared("k", 1, 64, time_limit=0.3)
    for _ in range(2):
        limited.launch([at, 5])
        with pytest.raises(ptxspec.LaunchError, match="time limit"):
            limited.launch([at, (1 << 31) - 1])
        assert (memory.view(at, np.uint32) == 5).all()


def test_threads_that_meet_begin_anew() -> None:
    """After a launch that failed at a barrier, too."""
    source = kernel(
        """
        .shared .b32 s[64]; .reg .b32 %n, %at; .reg .b64 %away; ld.param.u32 %n, [n]; shl.b32 %at, %r1, 2; mov.u32 %r6, s;
        add.u32 %r7, %r6, %at; ld.shared.u32 %r8, [%r7]; add.u32 %r8, %r8, %r1; st.shared.u32 [%r7], %r8; bar.sync 0;
        xor.b32 %at, %at, 4; add.u32 %r7, %r6, %at; ld.shared.u32 %r8, [%r7]; cvt.u64.u32 %away, %n; add.u64 %away, %away, %rd1;
        st.global.u32 [%away], %r8; bar.sync 0;
        """,
        ".param .u64 out, .param .u32 n",
    )
    memory = ptxspec.Memory()
    prepared, at = ptxspec.load(source).prepared("k", 2, 64), memory.allocate(512)
    for number in (0, 0, 0, 1 << 20, 0, 0):
        if number:
            with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
                prepared.launch([at, number])
        else:
            memory.view(at)[:] = 0
            prepared.launch([at, 0])
        assert memory.view(at, np.uint32).tolist() == [k % 64 ^ 1 for k in range(128)]


def test_nobody_uses_the_memory_meanwhile() -> None:
    source = """.version 8.0 .target sm_80 .address_size 64
        .extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);
        .global .align 1 .b8 text[3] = {104, 105, 0};
        .visible .entry k(.param .u64 out) { .reg .b64 a, t; .reg .b32 r;
            ld.param.u64 a, [out]; st.global.u8 [a], 9; mov.u64 t, text; cvta.global.u64 t, t;
            { .param .b32 result; .param .b64 p; .param .b64 q; st.param.b64 [p], t; st.param.b64 [q], 0;
              call (result), vprintf, (p, q); } ret; }"""
    memory, said = ptxspec.Memory(), []
    at = memory.allocate(4)

    def printed(text: str) -> None:
        with pytest.raises(RuntimeError, match="cannot use the memory"):
            memory.read(at, 4)
        said.append(text)

    prepared = ptxspec.load(source).prepared("k", printed=printed)
    for _ in range(3):
        prepared.launch([at])
    assert said == ["hi"] * 3 and memory.read(at, 1) == b"\x09"
