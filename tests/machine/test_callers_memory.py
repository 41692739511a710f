"""Memory that the caller owns: pieces that stay from launch to launch, pointers in and into them, and what is found wrong."""

from __future__ import annotations

import threading
from typing import Any

import effort
import numpy as np
import pytest
from launching import ENGINES, HEADER, LAYOUT, PAIR, engine_of, kernel, text

import ptxspec
from ptxspec.machine.native import code, outlined

#: adds 1 to the thread's word
INCREMENT = kernel("ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;")
#: sums what the nodes of a list hold; a node is a word, and at 8 the address of the next one
SUM_OF_LIST = text(
    """ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [head]; mov.u32 %r0, 0;
    NEXT: setp.eq.u64 %p0, %rd1, 0; @%p0 bra DONE;
    ld.u32 %r1, [%rd1]; add.u32 %r0, %r0, %r1; ld.global.u64 %rd1, [%rd1+8]; bra NEXT;
    DONE: st.global.u32 [%rd0], %r0; ret;""",
    ".param .u64 out, .param .u64 head",
)
#: copies a word from one address to another
COPY = text(
    "ld.param.u64 %rd0, [to]; ld.param.u64 %rd1, [at]; ld.global.u32 %r0, [%rd1]; st.global.u32 [%rd0], %r0; ret;",
    ".param .u64 to, .param .u64 at",
)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def chained(memory: ptxspec.Memory, values: list[int]) -> list[ptxspec.Pointer]:
    """The nodes of a list."""
    nodes = [memory.allocate(16, 8) for _ in values]
    for node, value, following in zip(nodes, values, [*nodes[1:], 0], strict=True):
        memory.view(node, np.uint32)[0] = value
        memory.view(node + 8, np.uint64)[0] = following
    return nodes


def fault(source: str, memory: ptxspec.Memory, args: list[Any], **how: Any) -> ptxspec.LaunchError:
    """The error of a launch, the same under both engines."""
    errors = []
    for way in PAIR:
        with engine_of(way) as own, pytest.raises(ptxspec.LaunchError) as caught:
            ptxspec.load(source).launch("k", args=args, engine=own, memory=memory, **how)
        errors.append(caught.value)
    assert str(errors[0]) == str(errors[1])
    return errors[0]


# what it is for --------------------------------------------------------------------------------------------------------


def test_pieces_keep_their_bytes_and_addresses(engine: str) -> None:
    memory, module = ptxspec.Memory(), ptxspec.load(INCREMENT)
    p = memory.put(np.arange(4, dtype=np.uint32))
    values, address = memory.view(p, np.uint32), int(p)
    for _ in range(3):
        module.launch("k", block=3, args=[p], engine=engine)
        memory.allocate(100)
    assert values.tolist() == [3, 4, 5, 3] and int(p) == address
    values[:] = 10
    ptxspec.load(INCREMENT).launch("k", block=1, args=[p + 4], engine=engine)
    assert memory.read(p, 16) == np.array([10, 11, 10, 10], np.uint32).tobytes()


def test_a_linked_list(engine: str) -> None:
    memory = ptxspec.Memory()
    nodes = chained(memory, [1, 20, 300, 4000])
    result, array = memory.allocate(4), np.zeros(1, np.uint32)
    module = ptxspec.load(SUM_OF_LIST)
    module.launch("k", args=[result, nodes[0]], engine=engine)
    module.launch("k", args=[array, nodes[2]], engine=engine)
    assert memory.view(result, np.uint32)[0] == 4321 and array[0] == 4300


def test_a_list_in_one_piece_and_one_of_the_hosts(engine: str) -> None:
    """The nodes are elements of a NumPy array at their own addresses, and the result is another of its elements."""
    nodes = np.zeros(4, [("value", np.uint32), ("room", np.uint32), ("next", np.uint64)])
    memory = ptxspec.Memory()
    p = memory.register(nodes)
    assert int(p) == nodes.ctypes.data
    nodes["value"], nodes["next"] = [5, 6, 7, 0], [int(p) + 32, 0, int(p) + 16, 0]
    ptxspec.load(SUM_OF_LIST).launch("k", args=[int(p) + 48, int(p)], engine=engine, memory=memory)
    assert nodes["value"].tolist() == [5, 6, 7, 18]


def test_pointers_among_other_arguments(engine: str) -> None:
    """Two pointers into one piece, an array, an address as a number, and one in a structure."""
    source = text(
        """ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u64 %rd2, [c]; ld.param.u64 %rd3, [d+8];
        ld.global.u32 %r0, [%rd0]; ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd3];
        add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; st.global.u32 [%rd2], %r0; st.global.u32 [%rd1+4], %r0; ret;""",
        ".param .u64 a, .param .u64 b, .param .u64 c, .param .align 8 .b8 d[16]",
    )
    memory, out = ptxspec.Memory(), np.zeros(1, np.uint32)
    p = memory.put(np.array([1, 2, 3, 4], np.uint32))
    structure = np.array([0, int(p) + 8], np.uint64).tobytes()
    ptxspec.load(source).launch("k", args=[p, p + 4, out, structure], engine=engine)
    assert out[0] == 1 + 2 + 3 and memory.view(p, np.uint32).tolist() == [1, 2, 6, 4]


def test_vectors_atomics_and_all_spaces_of_a_generic_address(engine: str) -> None:
    source = kernel(
        """.shared .u32 s[4]; mov.u32 %r5, 7; st.shared.u32 [s], %r5; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2;
        ld.u32 %r6, [%rd2]; ld.v4.u32 {%r7, %r8, %r9, %r10}, [%rd0+16]; add.u32 %r6, %r6, %r10;
        atom.global.add.u32 %r11, [%rd0], %r6; red.add.u32 [%rd0+4], 1; atom.global.cas.b64 %rd3, [%rd0+8], 0, 9;"""
    )
    memory = ptxspec.Memory()
    p = memory.put(np.arange(8, dtype=np.uint32) * np.array([1, 1, 0, 0, 1, 1, 1, 1], np.uint32))
    ptxspec.load(source).launch("k", grid=3, block=32, args=[p], engine=engine, workers=2)
    assert memory.view(p, np.uint32).tolist() == [96 * 14, 97, 9, 0, 4, 5, 6, 7]


def test_texts_in_it_are_printed(engine: str) -> None:
    source = text(
        """.param .b64 f, g; .param .b32 r; ld.param.u64 %rd0, [format]; st.param.b64 [f], %rd0; mov.u64 %rd1, 0;
        st.param.b64 [g], %rd1; call (r), vprintf, (f, g); ret;""",
        ".param .u64 format",
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);",
    )
    memory, texts = ptxspec.Memory(), []
    p = memory.put(b"from a piece\n\0")
    ptxspec.load(source).launch("k", args=[p], engine=engine, printed=texts.append)
    assert texts == ["from a piece\n"]


def test_large_kernels_and_quick_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accesses that are functions of their own reach pieces, too."""
    monkeypatch.setattr(code, "LARGE", 10)
    monkeypatch.setattr(outlined, "ACCESSES", 1)
    memory = ptxspec.Memory()
    nodes, result = chained(memory, [1, 2, 3]), memory.allocate(4)
    ptxspec.load(SUM_OF_LIST).launch("k", args=[result, nodes[0]])
    assert memory.view(result, np.uint32)[0] == 6


def test_many_pieces() -> None:
    memory = ptxspec.Memory()
    nodes = chained(memory, list(range(1000)))
    for i in range(0, 1000, 7):
        memory.allocate(i)
    result = memory.allocate(4)
    ptxspec.load(SUM_OF_LIST).launch("k", args=[result, nodes[0]])
    assert memory.view(result, np.uint32)[0] == 499_500


def test_narrow_pointers_and_two_memories(engine: str) -> None:
    low, high = ptxspec.Memory(base=0x4000_0000), ptxspec.Memory()
    source = text(
        "ld.param.u64 %rd0, [to]; ld.param.u32 %r0, [at]; cvt.u64.u32 %rd1, %r0; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd0], %r1; ret;",
        ".param .u64 to, .param .u32 at",
    )
    to, at = high.allocate(4), low.put(np.uint32(99))
    module = ptxspec.load(source)
    module.launch("k", args=[to, at], engine=engine)
    assert high.view(to, np.uint32)[0] == 99
    with pytest.raises(TypeError, match=r"argument 1 \(at\): the parameter is \.u32, no pointer"):
        module.launch("k", args=[to, to], engine=engine)
    other = ptxspec.Memory()
    with pytest.raises(ValueError, match=r"the same addresses.*give one of them another base"):
        ptxspec.load(COPY).launch("k", args=[to, other.allocate(4)], engine=engine)


def test_addresses_are_the_same_in_every_run() -> None:
    first, second = ptxspec.Memory(), ptxspec.Memory()
    sizes = [(1, 1), (100, 16), (0, 256), (5, 4096)]
    one, two = ([int(m.allocate(size, align)) for size, align in sizes] for m in (first, second))
    assert one == two and one[0] == 1 << 44 and not one[3] % 4096
    assert all(b - (a + size) >= 256 for (size, _), a, b in zip(sizes, one, one[1:], strict=False))


# what is found ---------------------------------------------------------------------------------------------------------


def test_beyond_a_piece_and_between_two() -> None:
    memory = ptxspec.Memory()
    p, q = memory.allocate(16, name="numbers"), memory.allocate(64)
    assert "4 bytes directly past the end of numbers (16 bytes at 0x100000000000)" in str(
        fault(COPY, memory, [p + 16, q])
    )
    assert "4 bytes before the beginning of numbers" in str(fault(COPY, memory, [q, p - 4]))
    found = fault(COPY, memory, [q, p + 128])
    assert found.rule == "out of bounds" and found.address == int(p) + 128 and found.where is not None
    assert "where nothing is" in fault(COPY, memory, [q, p + (1 << 30)]).note
    assert fault(COPY, memory, [q, 0]).rule == "out of bounds"
    across = text("ld.param.u64 %rd0, [to]; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0]; ret;", ".param .u64 to")
    odd = memory.allocate(24, name="odd")
    assert "across the end of odd" in fault(across, memory, [odd + 16]).note
    assert fault(COPY, memory, [p + 2, q]).rule == "misaligned"


def test_after_it_was_freed() -> None:
    memory = ptxspec.Memory()
    nodes, result = chained(memory, [1, 2, 3]), memory.allocate(4)
    memory.free(nodes[1])
    found = fault(SUM_OF_LIST, memory, [result, nodes[0]])
    assert found.rule == "use after end" and found.note == "piece 1 (16 bytes at 0x100000000110) was freed"
    assert found.address == int(nodes[1])


def test_a_piece_that_is_only_read() -> None:
    words = np.arange(4, dtype=np.uint32)
    words.flags.writeable = False
    memory = ptxspec.Memory()
    p, q = memory.register(words, "words"), memory.allocate(4)
    ptxspec.load(COPY).launch("k", args=[q, p + 8])
    assert memory.view(q, np.uint32)[0] == 2
    found = fault(COPY, memory, [p, q])
    assert found.rule == "read only" and "a store to words" in found.note
    assert not memory.view(p).flags.writeable and words.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        memory.write(p, b"1")


def test_what_a_failed_launch_wrote_is_undone(engine: str) -> None:
    memory = ptxspec.Memory()
    p, array = memory.put(np.arange(8, dtype=np.uint32)), np.zeros(8, np.uint32)
    registered = memory.register(np.ones(4, np.uint32))
    source = kernel(
        "ld.param.u64 %rd2, [more]; st.global.u32 [%rd1], 9; st.global.u32 [%rd2], 9; st.global.u32 [%rd1+8], 9;",
        ".param .u64 out, .param .u64 more",
    )
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        ptxspec.load(source).launch("k", block=8, args=[p, registered], engine=engine)
    assert (
        memory.view(p, np.uint32).tolist() == list(range(8)) and memory.view(registered, np.uint32).tolist() == [1] * 4
    )
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        ptxspec.load(source).launch("k", block=8, args=[array, p], engine=engine)
    assert not array.any() and memory.view(p, np.uint32).tolist() == list(range(8))


#: two numbers into each piece, so many bytes behind its beginning, then a store that breaks a rule
SCATTERED = kernel(
    """
    ld.param.u64 %rd2, [more]; ld.param.u32 %r5, [apart]; mul.wide.u32 %rd3, %r0, %r5; add.u64 %rd4, %rd0, %rd3; add.u64 %rd5, %rd2, %rd3;
    st.global.u8 [%rd4], 7; st.global.u32 [%rd5], 9; st.global.u8 [%rd4], 8; red.global.add.u32 [%rd5], 1;
    ld.param.u32 %r6, [last]; setp.eq.u32 %p0, %r0, %r6; mov.u64 %rd6, 8; @%p0 st.global.u32 [%rd6], 1;
    """,
    ".param .u64 out, .param .u64 more, .param .u32 apart, .param .u32 last",
)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("apart", [4, 52, 4096, 5000])
def test_stores_all_over_are_undone(engine: str, apart: int, workers: int) -> None:
    """In blocks that several threads of the host store to at the same time, and in pieces that begin and end within a block."""
    ctas = 30 if workers > 1 and engine == "native" else 1  # some for each
    memory, count = ptxspec.Memory(), 300 * ctas * apart
    memory.allocate(100)
    rng = np.random.default_rng(apart)
    before = [rng.integers(0, 256, count + 4 * k, np.uint8) for k in range(3)]
    pieces = [memory.put(data, align=4) for data in before[:2]]
    registered = before[2].copy()
    memory.register(registered)
    module = ptxspec.load(SCATTERED)
    for _ in range(3):
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            module.launch(
                "k", ctas, 300, [*pieces, np.uint32(apart), np.uint32(300 * ctas - 1)], engine=engine, workers=workers
            )
        for piece, data in zip(pieces, before, strict=False):
            assert memory.view(piece).tobytes() == data.tobytes()
    assert registered.tobytes() == before[2].tobytes()


@pytest.mark.parametrize("schedule", ["round-robin", "warps"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_late_fault_of_a_launch_that_is_made_again_restores_every_byte(schedule: str, workers: int) -> None:
    """Of an array of the host in place and of a piece, after launches that went well: those leave what they stored."""
    ctas, threads = 400, 96
    count = ctas * threads
    source = kernel(
        """
        ld.param.u64 %rd2, [more]; mul.wide.u32 %rd3, %r0, 4; add.u64 %rd4, %rd0, %rd3; add.u64 %rd5, %rd2, %rd3;
        ld.global.u32 %r5, [%rd4]; add.u32 %r5, %r5, 3; st.global.u32 [%rd4], %r5; st.global.u32 [%rd5], %r5;
        ld.param.u32 %r6, [last]; setp.eq.u32 %p0, %r0, %r6; mov.u64 %rd6, 8; @%p0 st.global.u32 [%rd6], 1;
        """,
        ".param .u64 out, .param .u64 more, .param .u32 last",
    )
    memory, numbers = ptxspec.Memory(), np.arange(count, dtype=np.uint32)
    piece = memory.put(np.full(count + 3, 7, np.uint32))
    prepared = ptxspec.load(source).prepared("k", ctas, threads, workers=workers, schedule=schedule)
    for times in range(1, 4):
        prepared.launch([numbers, piece, 1 << 31])
        stored = np.arange(count, dtype=np.uint32) + np.uint32(3 * times)
        for last in (count - 1, count - threads * 150):
            with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
                prepared.launch([numbers, piece, last])
            assert np.array_equal(numbers, stored)
            assert np.array_equal(memory.view(piece, np.uint32), np.append(stored, [7, 7, 7]))


def test_what_is_not_stored_to_is_not_copied(engine: str) -> None:
    """A launch that stores one number takes no longer with much memory than with little."""
    source = kernel("st.global.u32 [%rd1], 9;")
    seconds = []
    for size in (1 << 10, 1 << 28):
        memory, module = ptxspec.Memory(), ptxspec.load(source)
        p = memory.allocate(size)
        memory.view(p)[:] = 1  # memory of the machine, as far as there can be any
        module.launch("k", args=[p], engine=engine)
        seconds.append(min(effort.seconds(lambda: module.launch("k", args=[p], engine=engine)) for _ in range(5)))  # noqa: B023
        assert memory.view(p, np.uint32, 2).tolist() == [9, 0x01010101]
    assert seconds[1] < 3 * seconds[0] + 0.005, seconds


def test_a_memory_that_the_launch_is_not_given_is_not_reached(engine: str) -> None:
    memory = ptxspec.Memory()
    p, out = memory.allocate(4), np.zeros(1, np.uint32)
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        ptxspec.load(COPY).launch("k", args=[out, int(p)], engine=engine)


# the caller's mistakes -------------------------------------------------------------------------------------------------


def test_freeing_what_is_no_piece() -> None:
    memory = ptxspec.Memory()
    p = memory.allocate(64, name="it")
    with pytest.raises(ValueError, match=r"is not where a piece begins; it points into it \(64 bytes"):
        memory.free(p + 4)
    with pytest.raises(ValueError, match="is not where a piece begins"):
        memory.free(12)
    memory.free(p)
    with pytest.raises(ValueError, match=r"it \(64 bytes at 0x100000000000\) was freed already"):
        memory.free(p)
    with pytest.raises(ValueError, match="was freed"):
        memory.read(p, 4)
    with pytest.raises(ValueError, match="points into another memory"):
        ptxspec.Memory().free(p)


def test_copies_beyond_a_piece() -> None:
    memory = ptxspec.Memory()
    p = memory.allocate(16)
    memory.allocate(16)
    for action in (
        lambda: memory.read(p, 17),
        lambda: memory.read(p + 16, 1),
        lambda: memory.write(p + 8, np.zeros(3, np.uint32)),
        lambda: memory.view(p, np.uint32, 5),
        lambda: memory.read(p - 1, 1),
    ):
        with pytest.raises(ValueError, match="piece 0"):
            action()
    assert memory.read(p + 16, 0) == b"" and memory.view(p + 12, np.uint32).tolist() == [0]
    with pytest.raises(ValueError, match="where nothing is"):
        memory.view(5)


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda m: m.allocate(-1), ValueError, "not -1"),
        (lambda m: m.allocate(4, 3), ValueError, "a power of two, not 3"),
        (lambda m: m.allocate(1.5), TypeError, "integer"),
        (lambda m: m.put(5), TypeError, "no size in memory"),
        (lambda m: m.put(np.zeros(2, ">u4")), TypeError, "byte order"),
        (lambda m: m.register(5), TypeError, "an array is registered"),
        (lambda m: m.register(np.zeros((4, 4))[:, ::2]), TypeError, "follow one another"),
        (lambda m: m.view(m.allocate(4), object), TypeError, "Python objects"),
        (lambda m: m.view(m.allocate(4), ">u4"), TypeError, "byte order"),
        (lambda m: m.view(m.allocate(4), np.uint8, -1), ValueError, "not negative"),
        (lambda m: m.read(m.allocate(4), -1), ValueError, "-1 bytes"),
    ],
)
def test_what_is_no_piece(action: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        action(ptxspec.Memory())


@pytest.mark.parametrize("base", [0, 0x1000_0001, 0x6000_0000_0000_0000, -256])
def test_a_base_where_no_memory_is(base: int) -> None:
    with pytest.raises(ValueError, match="a base is a multiple of 256"):
        ptxspec.Memory(base)


def test_memory_of_the_host_twice() -> None:
    memory, words = ptxspec.Memory(), np.zeros(8, np.uint32)
    p = memory.register(words)
    with pytest.raises(ValueError, match="would lie in piece 0"):
        memory.register(words[2:4])
    out = np.zeros(1, np.uint32)
    with pytest.raises(ValueError, match=r"argument 0 \(to\) shares memory with piece 0.*pass a pointer"):
        ptxspec.load(COPY).launch("k", args=[words[:1], p])
    ptxspec.load(COPY).launch("k", args=[out, p])
    memory.free(p)
    assert memory.register(words) == p


def test_a_base_among_the_arrays_of_a_launch() -> None:
    memory = ptxspec.Memory(base=LAYOUT.GLOBAL_BASE)
    p = memory.allocate(1 << 16)
    with pytest.raises(ValueError, match="arrays of the launch are; give its memory another base"):
        ptxspec.load(COPY).launch("k", args=[np.zeros(1, np.uint32), p])
    with pytest.raises(ValueError, match="the module's variables are"):
        ptxspec.load(f"{HEADER}.global .u32 x;" + COPY[len(HEADER) :]).launch("k", args=[p, p])


@pytest.mark.parametrize(
    ("size", "align", "error"),
    [
        (4, 1 << 70, ValueError),
        (4, 1 << 63, ValueError),
        (1 << 63, None, ValueError),
        (0x6000_0000_0000_0000, None, ValueError),
        (1 << 200, None, ValueError),
        (1 << 60, None, MemoryError),
    ],
)
def test_pieces_for_which_there_is_no_room(size: int, align: int | None, error: type[Exception]) -> None:
    """They end before the addresses of handles, and leave the memory as it was."""
    memory = ptxspec.Memory()
    first = memory.put(np.full(1, 7, np.uint32))
    with pytest.raises(error, match=f"{size:,} bytes"):
        memory.allocate(size, align)
    second = memory.allocate(4)
    assert int(second) == int(first) + 512
    for engine in ENGINES:
        ptxspec.load(COPY).launch("k", args=[second, first], engine=engine)
        assert memory.read(second, 4) == b"\7\0\0\0"


def test_the_last_address_of_a_memory() -> None:
    """A piece may lie right before the copies of devices; the next has no room."""
    memory = ptxspec.Memory(base=0x2000_0000_0000_0000 - 256)
    last = memory.allocate(256)
    assert memory.read(last + 252, 4) == bytes(4)
    for size in (0, 1):
        with pytest.raises(ValueError, match="memory ends before 0x2000000000000000"):
            memory.allocate(size)


def test_parameters_that_are_no_pointers() -> None:
    memory = ptxspec.Memory()
    p = memory.allocate(4)
    for parameter in (".f64", ".align 8 .b8"):
        source = text("ret;", f".param {parameter} x{'[8]' if 'b8' in parameter else ''}")
        with pytest.raises(TypeError, match="no pointer"):
            ptxspec.load(source).launch("k", args=[p])


def test_a_launch_has_the_memory_alone() -> None:
    source = text(
        """.param .b64 f, g; .param .b32 r; ld.param.u64 %rd0, [format]; st.param.b64 [f], %rd0; mov.u64 %rd1, 0;
        st.param.b64 [g], %rd1; call (r), vprintf, (f, g); ret;""",
        ".param .u64 format",
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);",
    )
    memory = ptxspec.Memory()
    p = memory.put(b"text\0")
    with pytest.raises(RuntimeError, match="a launch that uses this memory has not ended"):
        ptxspec.load(source).launch("k", args=[p], printed=lambda text: memory.free(p))
    module, total = ptxspec.load(INCREMENT), memory.allocate(4)
    threads = [threading.Thread(target=lambda: [module.launch("k", args=[total]) for _ in range(20)]) for _ in range(3)]
    threads += [threading.Thread(target=lambda: [memory.allocate(8) for _ in range(50)])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.view(total, np.uint32)[0] == 60


def test_pointers_are_numbers() -> None:
    memory = ptxspec.Memory()
    p = memory.allocate(64)
    assert 8 + p == p + np.int32(8) and p + 8 - 8 == p and (p + 24) - p == 24 and hash(p) == hash(p + 0)
    assert repr(p) == "Pointer(0x100000000000)" and np.uint64(p) == int(p) and p != ptxspec.Memory().allocate(64)
