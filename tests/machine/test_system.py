"""What the system provides: printed texts beside those of C's printf, memory that threads ask for, and assertions."""

from __future__ import annotations

import ctypes
import importlib
import re
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import ENGINES, HEADER, both, fault, kernel

import ptxspec
from ptxspec.literate.finder import install
from ptxspec.machine.errors import Violation

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from mutants import modules

pytestmark = pytest.mark.sample(4)

install()
PAGE: Any = importlib.import_module("ptxspec.spec.functions.system")
C = ctypes.CDLL(None)
PROGRAMS = Path(__file__).with_name("programs")


def by_c(format: bytes, *values: Any) -> bytes:
    """What C's printf makes of it."""
    out = ctypes.create_string_buffer(4096)
    length = C.snprintf(out, len(out), format, *values)
    assert 0 <= length < len(out)
    return out.raw[:length]


# texts ---------------------------------------------------------------------------------------------------------------------


class Thread:
    """A thread whose memory holds a format, an argument list and a text."""

    FORMAT, ARGUMENTS, TEXT = 1 << 12, 1 << 13, 1 << 14

    def __init__(self, format: bytes, arguments: bytes, text: bytes):
        self.memory = bytearray(1 << 16)
        for at, data in ((self.FORMAT, format + b"\0"), (self.ARGUMENTS, arguments), (self.TEXT, text + b"\0")):
            self.memory[at : at + len(data)] = data
        self.shown = b""

    def load(self, address: int, size: int) -> bytes:
        assert address % size == 0
        return bytes(self.memory[address : address + size])

    def text(self, address: int, most: int | None = None, size: int = 1) -> bytes:
        found = bytes(self.memory[address:]).split(b"\0")[0]
        return found if most is None else found[:most]

    def show(self, text: bytes) -> None:
        self.shown += text

    def stop(self, rule: str, note: str) -> NoReturn:
        raise Violation(rule, note)


def by_page(format: bytes, arguments: bytes, text: bytes = b"") -> bytes:
    thread = Thread(format, arguments, text)
    PAGE.vprintf(thread, thread.FORMAT, thread.ARGUMENTS)
    return thread.shown


FLAGS = st.text("-+ #0", max_size=4)
WIDTH = st.sampled_from(["", "1", "3", "8", "12", "30"])
PRECISION = st.sampled_from(["", ".", ".0", ".1", ".3", ".10", ".13", ".20"])


@settings(max_examples=400, deadline=None)
@given(
    FLAGS,
    WIDTH,
    PRECISION,
    st.sampled_from(["", "h", "hh", "l", "ll", "j", "z", "t"]),
    st.sampled_from("diuoxX"),
    st.integers(0, 2**64 - 1) | st.integers(-9, 9),
)
def test_integers(flags: str, width: str, precision: str, size: str, letter: str, value: int) -> None:
    format = f"<%{flags}{width}{precision}{size}{letter}>".encode()
    bits = 32 if size in ("", "h", "hh") else 64
    value %= 1 << bits
    assert by_page(format, value.to_bytes(8, "little")) == by_c(format, ctypes.c_uint64(value))


@settings(max_examples=800, deadline=None)
@given(
    FLAGS,
    WIDTH,
    PRECISION,
    st.sampled_from(["", "l"]),
    st.sampled_from("eEfFgGaA"),
    st.floats() | st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e23, 5e-324, 2.5, 1e300]) | st.floats(-100, 100),
)
def test_floating_point(flags: str, width: str, precision: str, size: str, letter: str, value: float) -> None:
    format = f"<%{flags}{width}{precision}{size}{letter}>".encode()
    assert by_page(format, struct.pack("<d", value)) == by_c(format, ctypes.c_double(value))


@settings(max_examples=200, deadline=None)
@given(FLAGS, WIDTH, PRECISION, st.binary(max_size=20).map(lambda b: b.replace(b"\0", b"")), st.integers(0, 2**64 - 1))
def test_texts_characters_and_addresses(flags: str, width: str, precision: str, text: bytes, address: int) -> None:
    s = f"<%{flags}{width}{precision}s>".encode()
    assert by_page(s, struct.pack("<Q", Thread.TEXT), text) == by_c(s, text)
    few = flags.translate(str.maketrans("", "", "+ #0"))  # the others mean nothing to C here
    for letter in "cp":
        format = f"<%{few}{width}{letter}>".encode()
        value = ctypes.c_uint64(address) if letter == "p" else ctypes.c_int(address & 0xFF)
        assert by_page(format, address.to_bytes(8, "little")) == by_c(format, value)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["%d", "%lld", "%g", "%c", "%%", " and ", "%*d", "%-*.*f", "%hu"]), max_size=9),
    st.integers(-12, 12),
    st.floats(-9, 9),
)
def test_several_arguments(parts: list[str], number: int, real: float) -> None:
    """Arguments of 4 and of 8 bytes, aligned; widths and precisions that are arguments, negative ones too."""
    format, data, values, used = "".join(parts).encode(), b"", [], 0
    for part in parts:
        for kind in re.findall(r"\*|[dgcfu]$", part):
            wide = part == "%lld" or kind in "gf"
            data += b"\xff" * (-len(data) % (8 if wide else 4))
            value = number if kind != "c" else number + 60
            data += (
                struct.pack("<d", real)
                if kind in "gf"
                else (value % (1 << (64 if wide else 32))).to_bytes(8 if wide else 4, "little")
            )
            values.append(
                ctypes.c_double(real) if kind in "gf" else ctypes.c_int64(value) if wide else ctypes.c_int(value)
            )
            used += 1
    thread = Thread(format, data, b"")
    assert PAGE.vprintf(thread, thread.FORMAT, thread.ARGUMENTS) == used
    assert thread.shown == by_c(format, *values)


@pytest.mark.parametrize("length", ["4095", "*", ".4095", ".*"])
@pytest.mark.parametrize("letter", "dxfegasc")
def test_the_longest_conversions(length: str, letter: str) -> None:
    real = letter in "fega"
    format = f"<%{length}{letter}>".encode()
    given = [4095] * ("*" in length)
    data = b"".join(n.to_bytes(8 if letter in "sfega" else 4, "little") for n in given)
    value = struct.pack("<d", 1.5) if real else (Thread.TEXT if letter == "s" else 77).to_bytes(8, "little")
    of_c: Any = ctypes.c_double(1.5) if real else ctypes.c_char_p(b"text") if letter == "s" else ctypes.c_uint64(77)
    out = ctypes.create_string_buffer(8192)
    C.snprintf(out, len(out), format, *given, of_c)
    assert by_page(format, data + value, b"text") == out.value


@pytest.mark.parametrize(
    ("format", "arguments"),
    [
        (b"%4096d", b""),
        (b"%.4096f", b""),
        (b"%2147483647d", b""),
        (b"%99999999999999999999999999d", b""),
        (b"%*d", (4096).to_bytes(4, "little")),
        (b"%*d", (-(2**31)).to_bytes(4, "little", signed=True)),
        (b"%.*e", (2**31 - 1).to_bytes(4, "little")),
        (b"%" + b"0" * 100_000, b""),
        (b"%" + b"9" * 100_000 + b"d", b""),
    ],
)
def test_conversions_that_are_too_long(format: bytes, arguments: bytes) -> None:
    with pytest.raises(Violation) as caught:
        thread = Thread(b"", arguments.ljust(32, b"\0"), b"")
        thread.text = lambda *_: format  # type: ignore[method-assign]
        PAGE.vprintf(thread, thread.FORMAT, thread.ARGUMENTS)
    assert caught.value.rule == "format"
    assert format[:8].decode() in caught.value.note and len(caught.value.note) < 200


@pytest.mark.parametrize(
    "format", [b"%", b"%k", b"%5", b"%n", b"%ls", b"%lc", b"%hf", b"%llf", b"%zf", b"%hs", b"%Lf", b"%d" * 33]
)
def test_formats_that_are_refused(format: bytes) -> None:
    with pytest.raises(Violation) as caught:
        by_page(format, bytes(400))
    assert caught.value.rule == "format"
    assert PAGE.vprintf(Thread(b"", b"", b""), 0, 0) == -1


VALUES = [
    (5, 255, -3, 1 << 63, -7, "x", 1.5, 0.1, 0, 4),
    (-123456, 0xDEADBEEF, 1 << 40, 2**64 - 1, 32767, "A", -12345.678901, 1e10, 0x7F00DEADBEE0, 12),
    (0, 0, 0, 0, 0, "%", 0.0, -0.0, 16, -9),
    (2**31 - 1, 2**32 - 1, -(2**63), 1, -32768, " ", 5e-324, float("inf"), 1, 1),
    (-(2**31), 1, 2**63 - 1, 7, 1, "z", float("-inf"), 3.4e38, 2**64 - 1, 20),
    (42, 42, 42, 42, 42, "*", -1.7976931348623157e308, 1e-45, 4096, 0),
]


@pytest.mark.parametrize("values", VALUES)
def test_every_conversion_as_nvcc_compiles_it(values: tuple[Any, ...]) -> None:
    """The same formats and arguments, read in the source, to C's own printf."""
    i, u, l, q, h, c, d, f, p, w = values  # noqa: E741
    f = float(np.float32(f))
    of_c = {
        "i": ctypes.c_int(i), "u": ctypes.c_uint(u), "l": ctypes.c_long(l), "q": ctypes.c_uint64(q), "h": ctypes.c_int(h),
        "c": ctypes.c_int(ord(c)), "d": ctypes.c_double(d), "f": ctypes.c_double(f), "p": ctypes.c_void_p(p), "w": ctypes.c_int(w),
        "s": b"some text",
    }  # fmt: skip
    want = b""
    for format, names in re.findall(r'SHOW\("(.*)\\n"(?:, (.*))?\);', (PROGRAMS / "formats.cu").read_text()):
        want += by_c(format.encode() + b"\n", *[of_c[name] for name in names.split(", ") if name])
    args = [np.int32(i), np.uint32(u), np.int64(l), np.uint64(q), np.int16(h), np.int8(ord(c)), np.float64(d), np.float32(f), np.uint64(p), np.int32(w)]  # fmt: skip
    for engine in ENGINES:
        texts: list[str] = []
        module = ptxspec.load((PROGRAMS / "formats.ptx").read_text())
        (name,) = module.kernels
        module.launch(name, args=args, engine=engine, printed=texts.append)
        assert "".join(texts).encode() == want


@pytest.mark.parametrize("name", [n for n in modules() if n.startswith("printing ")])
def test_a_program_of_nvcc_that_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """assert(n > 0); if (threadIdx.x == 0) printf("n = %d, d = %f, %s\\n", n, d, "end");"""
    args = [np.int32(7), np.float64(2.5)]
    for engine in ENGINES:
        ptxspec.load(modules()[name]).launch("_Z1kid", grid=2, block=40, args=args, engine=engine)
        assert capsys.readouterr().out == "n = 7, d = 2.500000, end\n" * 2
    found = fault(modules()[name], [np.int32(0), np.float64(0)], "_Z1kid", block=3)
    assert found.rule == "assertion" and "'n > 0' does not hold" in found.note and found.where is not None
    assert "printing.cu:5" in found.note


PRINTS = """
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 line[11] = {37, 100, 32, 37, 115, 32, 37, 120, 10, 0, 0};
.global .align 1 .b8 word[4] = {97, 98, 99, 0};
"""


def test_who_prints_and_what_the_call_gives() -> None:
    """Half of the threads, in their order; the number of arguments; a result in .param, in a register, and none."""
    body = """
    .local .align 8 .b8 a[24]; and.b32 %r4, %r0, 1; setp.eq.u32 %p0, %r4, 1; mov.u32 %r5, 77;
    st.local.u32 [a], %r0; mov.u64 %rd2, word; cvta.global.u64 %rd2, %rd2; st.local.u64 [a+8], %rd2; st.local.u32 [a+16], 255;
    mov.u64 %rd3, a; cvta.local.u64 %rd3, %rd3; mov.u64 %rd4, line; cvta.global.u64 %rd4, %rd4;
    @%p0 call (%r5), vprintf, (%rd4, %rd3);
    .param .b32 back; .param .b64 f; st.param.u64 [f], 0; call (back), vprintf, (f, 0); ld.param.b32 %r6, [back];
    call (_), vprintf, (0, 0); mad.lo.s32 %r5, %r6, 1000, %r5; st.global.u32 [%rd1], %r5;
"""
    texts: list[str] = []
    out = both(kernel(body, module=PRINTS), [np.zeros(6, np.int32)], block=6, printed=texts.append)[0]
    assert out.tolist() == [77 - 1000, 3 - 1000] * 3
    assert texts == ["1 abc ff\n", "3 abc ff\n", "5 abc ff\n"] * 2


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("mov.u64 %rd2, 16; call (%r4), vprintf, (%rd2, 0);", "out of bounds"),
        ("mov.u64 %rd2, line; call (%r4), vprintf, (%rd2, 0);", "out of bounds"),
        ("mov.u64 %rd2, line; add.u64 %rd3, %rd2, 1; call (%r4), vprintf, (%rd2, %rd3);", "misaligned"),
    ],
)
def test_addresses_are_checked(body: str, rule: str) -> None:
    found = fault(kernel(body, module=PRINTS), [np.zeros(1, np.uint32)])
    assert found.rule == rule and found.address is not None and "call (%r4), vprintf" in str(found)


def test_in_a_function_and_in_a_recursion() -> None:
    module = PRINTS + """
.func (.param .b32 r) down(.param .b32 n) {
  .reg .u32 a, b, s; .reg .u64 f, l; .reg .pred q; .param .b32 x, y; .local .align 8 .b8 m[24];
  ld.param.u32 a, [n]; setp.eq.u32 q, a, 0; mov.u32 s, 0; @q bra D; sub.u32 b, a, 1;
  st.param.b32 [x], b; call (y), down, (x); ld.param.u32 s, [y];
  st.local.u32 [m], a; mov.u64 f, word; st.local.u64 [m+8], f; st.local.u32 [m+16], s; mov.u64 l, m; cvta.local.u64 l, l; mov.u64 f, line;
  call (b), vprintf, (f, l); add.u32 s, s, b;
D: st.param.b32 [r], s; ret; }
"""  # fmt: skip
    texts: list[str] = []
    body = "call (%r4), down, (3); st.global.u32 [%rd1], %r4;"
    out = both(kernel(body, module=module), [np.zeros(1, np.uint32)], printed=texts.append)[0]
    assert out[0] == 9 and texts == ["1 abc 0\n", "2 abc 3\n", "3 abc 6\n"] * 2


@pytest.mark.parametrize(
    "heading",
    [
        ".extern .func (.param .b32 r) vprintf(.param .b64 f);",
        ".extern .func (.param .b64 r) vprintf(.param .b64 f, .param .b64 a);",
        ".extern .func (.param .b32 r) vprintf(.param .align 8 .b8 f[8], .param .b64 a);",
    ],
)
def test_another_function_of_that_name(heading: str) -> None:
    """It may be declared; a thread that comes to the call is stopped."""
    result = ".param .b64 r; " if ".b64 r" in heading else ".param .b32 r; "
    passed = {1: "x"}.get(heading.count(".b64 f)") + heading.count("f);"), "x, y")
    array = ".param .align 8 .b8 x[8];" if "[8]" in heading else ".param .b64 x;"
    body = f"{result}{array} .param .b64 y; call (r), vprintf, ({passed if 'a)' in heading else 'x'});"
    assert fault(kernel(body, module=heading), [np.zeros(1, np.uint32)]).rule == "no body"


def test_by_address() -> None:
    body = "mov.u64 %rd2, vprintf; P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _); call (%r4), %rd2, (0, 0), P;"
    assert fault(kernel(body, module=PRINTS), [np.zeros(1, np.uint32)]).rule == "call target"


# memory --------------------------------------------------------------------------------------------------------------------

HEAP = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n.visible .global .u64 kept;\n"


def test_pieces_are_aligned_and_apart() -> None:
    """Every thread has its own, of another size; what it writes stays as it is; all are given back."""
    body = """
    cvt.u64.u32 %rd2, %r0; mul.lo.u64 %rd2, %rd2, 12; add.u64 %rd2, %rd2, 4; call (%rd3), malloc, (%rd2);
    add.u64 %rd4, %rd3, %rd2; ld.u32 %r5, [%rd4+-4]; st.u32 [%rd4+-4], %r0; bar.sync 0; ld.global.u32 %r6, [%rd4+-4]; add.u32 %r5, %r5, %r6;
    cvt.u32.u64 %r4, %rd3; and.b32 %r4, %r4, 15; mad.lo.u32 %r5, %r4, 1000, %r5; call free, (%rd3); call free, (0); st.global.u32 [%rd1], %r5;
"""
    out = both(kernel(body, module=HEAP), [np.zeros(64, np.uint32)], block=64)[0]
    assert out.tolist() == list(range(64))


KEEPS = HEAP + """
.visible .entry take(.param .u64 n) { .reg .u64 n, p; ld.param.u64 n, [n]; call (p), malloc, (n); st.global.u64 [kept], p; st.u32 [p], 41; ret; }
.visible .entry give() { .reg .u64 p; ld.global.u64 p, [kept]; call free, (p); ret; }
""".replace("take(.param .u64 n)", "take(.param .u64 size)").replace("[n]", "[size]")  # fmt: skip
READ = "ld.global.u64 %rd2, [kept]; ld.u32 %r4, [%rd2]; add.u32 %r4, %r4, 1; st.u32 [%rd2], %r4; st.global.u32 [%rd1], %r4;"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_piece_lives_until_it_is_given_back(engine: str) -> None:
    """Over launches; one that fails leaves the heap as it was."""
    module = ptxspec.load(kernel(READ, module=KEEPS))
    out = np.zeros(1, np.uint32)
    module.launch("take", args=[np.uint64(4)], engine=engine)
    for want in (42, 43):
        module.launch("k", args=[out], engine=engine)
        assert out[0] == want
    with pytest.raises(ptxspec.LaunchError):
        module.launch("give", block=2, engine=engine)  # given back twice
    module.launch("k", args=[out], engine=engine)
    assert out[0] == 44
    module.launch("give", engine=engine)
    with pytest.raises(ptxspec.LaunchError, match=r"use after end: the piece at .* of the heap was given back"):
        module.launch("k", args=[out], engine=engine)
    assert out[0] == 44


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("call (%rd2), malloc, (10); ld.u8 %r4, [%rd2+10];", "out of bounds"),
        ("call (%rd2), malloc, (10); ld.global.u8 %r4, [%rd2+-1];", "out of bounds"),
        ("call (%rd2), malloc, (0); st.u8 [%rd2], 1;", "out of bounds"),
        ("call (%rd2), malloc, (8); call free, (%rd2); st.u32 [%rd2+4], 1;", "use after end"),
        ("call (%rd2), malloc, (8); call free, (%rd2); call free, (%rd2);", "free"),
        ("call (%rd2), malloc, (8); add.u64 %rd2, %rd2, 4; call free, (%rd2);", "free"),
        ("call free, (16);", "free"),
        ("mov.u64 %rd2, kept; add.u64 %rd2, %rd2, 8; ld.global.u64 %rd3, [%rd2];", "out of bounds"),
    ],
)
def test_accesses_beyond_a_piece(body: str, rule: str) -> None:
    assert fault(kernel(body, module=HEAP), [np.zeros(1, np.uint32)]).rule == rule


def test_there_is_no_more_than_the_heap_holds() -> None:
    """Zero, and what was given back comes again when nothing else is left."""
    body = """
    call (%rd2), malloc, (8388608); call (%rd3), malloc, (-1); or.b64 %rd2, %rd2, %rd3; setp.ne.u64 %p0, %rd2, 0; selp.u32 %r4, 1, 0, %p0;
    call (%rd2), malloc, (8000000); st.u32 [%rd2+7999996], 5; call free, (%rd2); call (%rd3), malloc, (4000000);
    setp.eq.u64 %p0, %rd2, %rd3; @%p0 add.u32 %r4, %r4, 10; ld.u32 %r5, [%rd3+3999996]; add.u32 %r4, %r4, %r5;
    call (%rd4), malloc, (4000000); setp.eq.u64 %p0, %rd4, 0; @%p0 add.u32 %r4, %r4, 100; st.global.u32 [%rd1], %r4;
"""
    assert both(kernel(body, module=HEAP), [np.zeros(1, np.uint32)])[0].tolist() == [110]


@pytest.mark.parametrize("name", [n for n in modules() if n.startswith("heap ")])
def test_a_program_of_nvcc_that_asks_for_memory(name: str) -> None:
    """int *p = malloc(n * sizeof(int)); memset(p, 0, n * sizeof(int)); out[threadIdx.x] = p; if (n > 100) free(p);"""
    for n in (10, 200):
        out = both(modules()[name], [np.zeros(8, np.uint64), np.uint64(n)], "_Z1kPPim", block=8)[0]
        assert len(set(out.tolist())) == 8 and not (out % 16).any() and out.all()


@pytest.mark.parametrize("name", [name for name in modules() if name.startswith("heap ")])
def test_no_check_tells_of_a_program_of_nvcc_that_asks_for_memory(name: str) -> None:
    """It hands the addresses to the host."""
    for n in (10, 200):
        args = [np.zeros(8, np.uint64), np.uint64(n)]
        outcome = ptxspec.load(modules()[name]).launch("_Z1kPPim", block=8, args=args, check="all", findings="collect")
        assert outcome.findings == ()


def test_two_modules_have_one_heap() -> None:
    other = (
        HEADER
        + HEAP.replace(".visible .global", ".extern .global")
        + ".visible .func (.reg .u64 p) get() { call (p), malloc, (4); st.u32 [p], 9; ret; }"
    )
    body = "call (%rd2), get; ld.u32 %r4, [%rd2]; call free, (%rd2); st.global.u32 [%rd1], %r4;"
    first = kernel(body, module=HEAP + ".extern .func (.reg .u64 p) get();")
    for engine in ENGINES:
        out = np.zeros(3, np.uint32)
        ptxspec.link([first, other]).launch("k", block=3, args=[out], engine=engine)
        assert out.tolist() == [9] * 3
