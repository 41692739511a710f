"""Banks of constants of modules before PTX ISA 2.2: what the host writes into them, and what kernels read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import ENGINES

import ptxspec

pytestmark = pytest.mark.sample(4)

HEADER = ".version {}\n.target {}\n"
DECLARED = """
.extern .const[1] .b32 one[];
.extern .const[2] .b32 two[], again[][4];
.extern .const[2] .align 16 .b8 bytes[];
.extern .const[10] .f64 ten[0];
.const[0] .u32 zero[4] = { 100, 101, 102, 103 };
.const .u32 plain = 200;
"""


def module(body: str, declared: str = DECLARED, version: str = "2.1", target: str = "sm_20") -> ptxspec.Module:
    return ptxspec.load(
        HEADER.format(version, target) + f"{declared}\n.entry k(.param .u64 out, .param .u64 at)\n"
        "{ .reg .u64 %o, %a; .reg .u32 %r<9>, %t; .reg .v4 .u32 %v;\n"
        f"ld.param.u64 %o, [out]; ld.param.u64 %a, [at]; mov.u32 %t, %tid.x;\n{body}\nexit; }}\n"
    )


def read(body: str, contents: dict[str, np.ndarray], engine: str, at: int = 0, words: int = 1) -> list[int]:
    """The words that a kernel stores at %o, the host having written these variables."""
    loaded = module(body)
    for name, data in contents.items():
        loaded.write(name, data)
    out = np.zeros(words, np.uint32)
    loaded.launch("k", args=[out, np.uint64(at)], engine=engine)
    return out.tolist()


BANK = {n: np.arange(n * 1000, n * 1000 + 16, dtype=np.uint32) for n in (1, 2, 10)}
FILLED = {"one": BANK[1], "two": BANK[2], "ten": BANK[10]}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_name_is_the_beginning_of_its_bank(engine: str) -> None:
    names = {"one": 1, "two": 2, "again": 2, "bytes": 2, "ten": 10}
    for (name, bank), word in itertools.product(names.items(), (0, 1, 15)):
        got = read(f"ld.const[{bank}].u32 %r0, [{name}+{4 * word}]; st.global.u32 [%o], %r0;", FILLED, engine)
        assert got == [1000 * bank + word]
        assert read(f"mov.u32 %r0, {name}; st.global.u32 [%o], %r0;", FILLED, engine) == [0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_says_its_bank_and_a_register_takes_the_numbers(engine: str) -> None:
    """AMB-158."""
    for number in ("", "[0]", "[1]", "[2]", "[10]"):
        assert read(f"ld.const{number}.u32 %r0, [two+8]; st.global.u32 [%o], %r0;", FILLED, engine) == [2002]
        assert read(f"ld.const{number}.u32 %r0, [zero+8]; st.global.u32 [%o], %r0;", FILLED, engine) == [102]
        bank = int(number.strip("[]") or 0)
        want = 101 if bank == 0 else 1000 * bank + 1
        assert read(f"ld.const{number}.u32 %r0, [%a]; st.global.u32 [%o], %r0;", FILLED, engine, at=4) == [want]
        assert read(f"mov.u64 %a, two; ld.const{number}.u32 %r0, [%a+4]; st.global.u32 [%o], %r0;", FILLED, engine) == [
            want
        ]


@pytest.mark.parametrize("engine", ENGINES)
def test_vectors_elements_and_narrow_loads(engine: str) -> None:
    body = """
        ld.const[2].v4.u32 %v, [two+16]; st.global.v4.u32 [%o], %v;
        mov.u32 %r0, 3; ld.const[2].u32 %r1, two[%r0]; st.global.u32 [%o+16], %r1;
        ld.const[2].u32 %r1, two[5]; st.global.u32 [%o+20], %r1;
        ld.const[2].u8 %r1, bytes[%r0+2]; st.global.u32 [%o+24], %r1;
        ld.u32.const[2] %r1, [two+60]; st.global.u32 [%o+28], %r1;
        @!%p ld.const[1].u32 %r1, [one]; st.global.u32 [%o+32], %r1;
    """.replace("@!%p ", "")
    want = [2004, 2005, 2006, 2007, 2003, 2005, 2001 >> 8 & 255, 2015, 1000]
    assert read(body, FILLED, engine, words=9) == want


@pytest.mark.parametrize("engine", ENGINES)
def test_each_thread_reads_where_it_likes(engine: str) -> None:
    loaded = module("""
        mul.wide.u32 %a, %t, 4; ld.const[1].u32 %r0, [%a]; ld.const[10].u32 %r1, [%a];
        add.u32 %r0, %r0, %r1; add.u64 %a, %a, %o; st.global.u32 [%a], %r0;
    """)
    one, ten = (np.random.default_rng(n).integers(0, 1 << 31, 100, np.uint32) for n in (1, 2))
    loaded.write("one", one)
    loaded.write(".const[10]", ten)
    out = np.zeros(100, np.uint32)
    loaded.launch("k", block=100, args=[out, np.uint64(0)], engine=engine)
    assert np.array_equal(out, one + ten)


def test_what_the_host_writes_is_all_that_a_bank_holds() -> None:
    loaded = module("")
    assert not len(loaded.read("two"))
    loaded.write("two", np.arange(5, dtype=np.uint16))
    assert (
        loaded.read("again").tobytes() == loaded.read(".const[2]").tobytes() == np.arange(5, dtype=np.uint16).tobytes()
    )
    loaded.write("bytes", b"ab")
    assert loaded.read("two").tobytes() == b"ab" and not len(loaded.read("one"))
    loaded.read("two")[0] = 0
    assert loaded.read("two").tobytes() == b"ab"
    loaded.write("two", bytes(65_536))
    with pytest.raises(ValueError, match="at most 65536 bytes, not 65537"):
        loaded.write("two", bytes(65_537))
    for name in (".const[0]", ".const[11]", ".const", "const[2]", "three"):
        with pytest.raises(KeyError):
            loaded.read(name)
    with pytest.raises(ValueError, match="zero has 16 bytes"):
        loaded.write("zero", bytes(17))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bank_keeps_what_it_holds_until_it_is_written_again(engine: str) -> None:
    loaded = module("ld.const[2].u32 %r0, [two]; st.global.u32 [%o], %r0;")
    out = np.zeros(1, np.uint32)
    for value in (7, 7, 9):
        loaded.write("two", np.uint32(value))
        loaded.launch("k", args=[out, np.uint64(0)], engine=engine)
        assert out.tolist() == [value]
        loaded.launch("k", args=[out, np.uint64(0)], engine=engine)
        assert out.tolist() == [value]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("load", "at", "rule", "note"),
    [
        ("ld.const[2].u32 %r0, [two+16]", 0, "out of bounds", "4 bytes at 0x10 of .const[2], which holds 16"),
        ("ld.const[2].u32 %r0, [two+13]", 0, "misaligned", "4 bytes at an address that is not a multiple of 4"),
        ("ld.const[2].v4.u32 %v, [two+8]", 0, "misaligned", "16 bytes"),
        ("ld.const[2].u32 %r0, [%a]", -4, "out of bounds", "of .const[2], which holds 16"),
        ("ld.const[2].u32 %r0, [two+65536]", 0, "out of bounds", "4 bytes at 0x10000 of .const[2]"),
        ("ld.const[1].u32 %r0, [one]", 0, "out of bounds", "of .const[1], which holds 0; the host has given it none"),
        ("ld.const[7].u32 %r0, [%a]", 0, "out of bounds", "of .const[7], which holds 0; the host has given it none"),
        ("ld.const[2].u64 %a, [two+16]", 0, "out of bounds", "8 bytes at 0x10 of .const[2]"),
    ],
)
def test_what_leaves_a_bank_is_reported(load: str, at: int, rule: str, note: str, engine: str) -> None:
    loaded = module(f"\n{load};")
    loaded.write("two", bytes(16))
    with pytest.raises(ptxspec.LaunchError) as caught:
        loaded.launch("k", args=[np.zeros(1, np.uint32), np.uint64(at % 2**64)], engine=engine)
    assert caught.value.rule == rule and note in caught.value.note
    assert caught.value.where is not None and load in caught.value.where.instruction
    assert caught.value.page is not None and caught.value.page.startswith("spec/machine/memory.md:")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_address_of_a_bank_in_an_initializer(engine: str) -> None:
    declared = DECLARED + ".global .u32 places[2] = { two+8, ten };"
    loaded = module("ld.global.u32 %r0, [places]; ld.const[2].u32 %r1, [%r0]; st.global.u32 [%o], %r1;", declared)
    loaded.write("two", BANK[2])
    out = np.zeros(1, np.uint32)
    loaded.launch("k", args=[out, np.uint64(0)], engine=engine)
    assert out.tolist() == [2002] and loaded.read("places").view(np.uint32).tolist() == [8, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_of_bank_zero_in_a_function(engine: str) -> None:
    """In the version that brought banks."""
    text = """.version 1.5
.target sm_13
.entry k(.param .u64 out) { .reg .u64 a; .reg .u32 r; .const[0] .u32 own[2] = { 5, 6 };
  ld.param.u64 a, [out]; ld.const[0].u32 r, [own+4]; st.global.u32 [a], r; exit; }"""
    out = np.zeros(1, np.uint32)
    ptxspec.load(text).launch("k", args=[out], engine=engine)
    assert out.tolist() == [6]


ENTRIES = "".join(
    f""".entry k{n}(.param .u64 out, .param .u64 at) {{ .reg .u64 %o, %a; .reg .u64 %r; ld.param.u64 %o, [out]; ld.param.u64 %a, [at];
  ld.const[{n}].u64 %r, [%a]; st.global.u64 [%o], %r; exit; }}
"""
    for n in range(1, 11)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10), st.one_of(st.binary(max_size=40), st.integers(-2, 6))), max_size=12))
def test_writes_and_reads_in_any_order(steps: list[tuple[int, bytes | int]]) -> None:
    """Beside ten pieces of Python's memory."""
    banks = dict.fromkeys(range(1, 11), b"")
    for bank, what in steps:
        if isinstance(what, bytes):
            banks[bank] = what
            WHOLE.write(f".const[{bank}]", what)
            continue
        for engine in ENGINES:
            out = np.zeros(1, np.uint64)
            args = [out, np.uint64(8 * what % 2**64)]
            if what >= 0 and 8 * what + 8 <= len(banks[bank]):
                WHOLE.launch(f"k{bank}", args=args, engine=engine)
                assert out.tobytes() == banks[bank][8 * what : 8 * what + 8]
            else:
                with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
                    WHOLE.launch(f"k{bank}", args=args, engine=engine)
    for bank, data in banks.items():
        assert WHOLE.read(f".const[{bank}]").tobytes() == data
        WHOLE.write(f".const[{bank}]", b"")


WHOLE = ptxspec.load(HEADER.format("1.5", "sm_13") + ENTRIES)


# several modules -----------------------------------------------------------------------------------------------------


def entry(name: str, load: str) -> str:
    return f"""
.visible .entry {name}(.param .u64 out) {{ .reg .u64 %o; .reg .u32 r; ld.param.u64 %o, [out]; {load} st.global.u32 [%o], r; exit; }}
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_modules_that_are_linked_share_the_banks(engine: str) -> None:
    head = HEADER.format("2.1", "sm_20")
    first = head + ".extern .const[2] .b32 a[]; .const .u32 c = 11;" + entry("k", "ld.const[2].u32 r, [a+4];")
    second = (
        head
        + ".extern .const[2] .b32 a[]; .extern .const[2] .b8 b[]; .const .u32 c = 22;"
        + entry("l", "ld.const[2].u32 r, [b+4];")
        + entry("m", "ld.const.u32 r, [c];")
    )
    module = ptxspec.link([first, second])
    module.write("a", np.array([1, 2], np.uint32))
    for name, want in (("k", 2), ("l", 2), ("m", 22)):
        out = np.zeros(1, np.uint32)
        module.launch(name, args=[out], engine=engine)
        assert out.tolist() == [want]
    assert module.read("b").view(np.uint32).tolist() == [1, 2]


def test_a_name_has_one_bank_in_all_modules() -> None:
    head = HEADER.format("2.1", "sm_20")
    first = head + "\n.extern .const[2] .b32 a[];"
    for other in (".extern .const[3] .b32 a[];", ".visible .const .b32 a[4];", ".visible .func a() { ret; }"):
        with pytest.raises(ptxspec.PtxError) as caught:
            ptxspec.link([first, head + other], ["one.ptx", "two.ptx"])
        (problem,) = caught.value.diagnostics
        assert problem.message.startswith("a lies in .const[") and problem.page is not None
        assert problem.page.startswith("spec/functions/linking.md:")
