"""Accesses that leave the variable whose name their address is formed from, and those of which nothing of the kind is known."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from launching import ENGINES, HEADER, both, fault, kernel, text

import ptxspec
from ptxspec.machine.program import program
from ptxspec.terms.profiles import Profile

pytestmark = pytest.mark.sample(8)

ROOT = Path(__file__).resolve().parents[2]

MODULE = """
.visible .global .align 16 .u32 g[4] = {1, 2, 3, 4};
.visible .global .align 16 .u32 gg[4] = {5, 6, 7, 8};
.visible .const .align 16 .u32 c[4] = {1, 2, 3, 4};
.visible .const .align 16 .u32 cc[4] = {5, 6, 7, 8};
"""
LOCALS = ".shared .align 16 .u32 s[4]; .shared .align 16 .u32 ss[4]; .local .align 16 .u32 l[4]; .local .align 16 .u32 ll[4];"
CLUSTER_ENDS = "barrier.cluster.arrive; barrier.cluster.wait;"
STORES = "st.global.u32 [%rd1], %r9;"
#: state space -> (a variable, the one that follows it)
PAIRS = {"global": ("g", "gg"), "const": ("c", "cc"), "shared": ("s", "ss"), "local": ("l", "ll")}
#: ways to read a word {o} bytes from the beginning of a variable {v} in a space {p}
WAYS = {
    "in the operand": "ld.{p}.u32 %r9, [{v}+{o}];",
    "a register": "mov.u64 %rd3, {v}; ld.{p}.u32 %r9, [%rd3+{o}];",
    "a narrow register": "mov.u32 %r4, {v}; ld.{p}.u32 %r9, [%r4+{o}];",
    "a sum": "mov.u64 %rd3, {v}; add.s64 %rd4, %rd3, {o}; ld.{p}.u32 %r9, [%rd4];",
    "a sum in the move": "mov.u64 %rd3, {v}+{o}; ld.{p}.u32 %r9, [%rd3];",
    "steps": "mov.u64 %rd3, {v}; add.u64 %rd3, %rd3, 20; sub.u64 %rd3, %rd3, 20; add.s64 %rd3, %rd3, {o}; ld.{p}.u32 %r9, [%rd3];",
    "a constant in a register": "mov.u64 %rd3, {v}; mov.s64 %rd4, {o}; add.s64 %rd5, %rd4, %rd3; ld.{p}.u32 %r9, [%rd5];",
    "a product": "mov.u64 %rd3, {v}; mov.s64 %rd4, {o}; mad.lo.s64 %rd5, %rd4, 1, %rd3; ld.{p}.u32 %r9, [%rd5];",
    "a generic address": "mov.u64 %rd3, {v}; cvta.{p}.u64 %rd4, %rd3; ld.u32 %r9, [%rd4+{o}];",
    "there and back": "mov.u64 %rd3, {v}; cvta.{p}.u64 %rd4, %rd3; add.s64 %rd4, %rd4, {o}; cvta.to.{p}.u64 %rd5, %rd4; ld.{p}.u32 %r9, [%rd5];",
    "a generic sum": "cvta.{p}.u64 %rd4, {v}; add.s64 %rd5, %rd4, {o}; ld.u32 %r9, [%rd5];",
    "both ways": "mov.u64 %rd3, {v}; setp.eq.u32 %p1, %r1, 0; @%p1 bra A; add.u64 %rd4, %rd3, 4; bra B; A: add.u64 %rd4, %rd3, 4; B: add.s64 %rd4, %rd4, {o}; ld.{p}.u32 %r9, [%rd4+-4];",
    "a loop before it": "mov.u64 %rd3, {v}; mov.u32 %r5, 0; A: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra A; ld.{p}.u32 %r9, [%rd3+{o}];",
}


def source(way: str, space: str, variable: str, offset: int) -> str:
    return kernel(LOCALS + way.format(p=space, v=variable, o=offset) + STORES, module=MODULE)


def ways(space: str) -> dict[str, str]:
    """Addresses of 32 bits are for spaces that are small."""
    return {name: way for name, way in WAYS.items() if space != "global" or "narrow" not in name}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("space", PAIRS)
@pytest.mark.parametrize("way", WAYS)
def test_beyond_the_end_and_before_the_beginning(way: str, space: str) -> None:
    """The neighbour is there: what is reported is that the access leaves the variable. Inside, it is not."""
    if way not in ways(space):
        pytest.skip("addresses in .global have 64 bits")
    first, second = PAIRS[space]
    for variable, offset in ((first, 16), (second, -4)):
        error = fault(source(WAYS[way], space, variable, offset), [np.zeros(1, np.uint32)])
        assert error.rule == "out of bounds"
        assert error.note.startswith(f"4 bytes at {variable}{offset:+}, which has 16 bytes")
        assert error.where is not None and ".u32 %r9" in error.where.instruction
    for variable, offset in ((first, 0), (first, 12), (second, 4)):
        both(source(WAYS[way], space, variable, offset), [np.zeros(1, np.uint32)])


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [s+16];", "s+16"),
        ("mov.u32 %r4, s; ld.shared.v2.u32 {%r3, %r4}, [%r4+16];", "s+16"),
        ("st.shared.u32 [ss+-4], 1;", "ss-4"),
        ("st.shared.v2.u32 [ss+-8], {1, 2};", "ss-8"),
        ("atom.shared.add.u32 %r3, [s+16], 1;", "s+16"),
        ("red.global.add.u32 [g+16], 1;", "g+16"),
        ("mov.u64 %rd3, g; red.add.u32 [%rd3+16], 1;", "g+16"),
        ("setp.eq.u32 %p1, 0, 0; @%p1 st.local.u8 [l+16], 1;", "l+16"),
        ("ld.param.u32 %r3, [a+4];", "a+4"),
        ("ld.param.v2.u32 {%r3, %r4}, [b+-12];", "b-12"),
        ("mov.u64 %rd3, a; ld.param.u32 %r3, [%rd3+4];", "a+4"),
        ("call f;", "own+8"),
        ("call given, (1, 2);", "x+4"),
        (".param .b32 p, q; st.param.b32 [p+4], 1; st.param.b32 [q], 1;", "p+4"),
    ],
)
def test_other_accesses(body: str, name: str) -> None:
    functions = """
    .func f() { .local .u32 own[2]; .local .u32 other[2]; .reg .u32 r; st.local.u32 [other], 1; ld.local.u32 r, [own+8]; ret; }
    .func given(.param .u32 x, .param .u32 y) { .reg .u32 r; ld.param.u32 r, [x+4]; ret; }
    """
    parameters = ".param .u64 out, .param .u32 a, .param .u32 b"
    program = kernel(LOCALS + body, module=MODULE + functions, parameters=parameters)
    error = fault(program, [np.zeros(1, np.uint32), np.uint32(1), np.uint32(2)])
    assert error.rule == "out of bounds" and f" at {name}, which has" in error.note


UNKNOWN = {
    "an index from data": "ld.param.u64 %rd4, [out]; and.b64 %rd4, %rd4, 0; add.u64 %rd4, %rd4, 16; mov.u64 %rd3, s; add.u64 %rd3, %rd3, %rd4;",
    "a thread's element": "mov.u64 %rd3, s; mad.wide.u32 %rd3, %r1, 4, %rd3; add.u64 %rd3, %rd3, 16;",
    "one way or another": "mov.u64 %rd3, s; setp.eq.u32 %p1, %r1, 0; @%p1 bra A; add.u64 %rd3, %rd3, 4; A: add.u64 %rd3, %rd3, 16;",
    "a guarded change": "mov.u64 %rd3, s; setp.eq.u32 %p1, %r1, 0; @%p1 add.u64 %rd3, %rd3, 16;",
    "a pointer of a loop": "mov.u64 %rd3, s; mov.u32 %r5, 0; A: add.u64 %rd3, %rd3, 4; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4; @%p1 bra A;",
    "through memory": "mov.u64 %rd3, s; add.u64 %rd3, %rd3, 16; st.local.u64 [l], %rd3; ld.local.u64 %rd3, [l];",
    "out of a function": "mov.u64 %rd3, s; call (%rd3), further, (%rd3);",
    "two variables": "mov.u64 %rd3, s; mov.u64 %rd4, ss; sub.u64 %rd5, %rd4, %rd3; add.u64 %rd3, %rd3, %rd5;",
    "written again": "mov.u64 %rd3, s; add.u64 %rd3, %rd3, 16; mov.u64 %rd3, ss;",
}


@pytest.mark.parametrize("how", UNKNOWN)
def test_what_cannot_be_decided_is_not_reported(how: str) -> None:
    """Each reads the first word of the next variable, as on a chip."""
    module = ".func (.reg .u64 r) further(.reg .u64 a) { add.u64 r, a, 16; ret; }"
    body = LOCALS + "st.shared.u32 [ss], 7;" + UNKNOWN[how] + "ld.shared.u32 %r9, [%rd3];" + STORES
    assert both(kernel(body, module=module), [np.zeros(1, np.uint32)])[0].tolist() == [7]


def test_what_goes_into_a_function_in_a_register_of_the_module_is_not_followed() -> None:
    program = """.version 2.3\n.target sm_20\n.address_size 64
.reg .u64 m;
.func f() { .reg .u32 r; ld.shared.u32 r, [m+16]; st.shared.u32 [m+4], r; ret; }
.visible .entry k(.param .u64 out) { .reg .u64 %rd<2>; .reg .u32 r;
  .shared .align 16 .u32 s[4]; .shared .align 16 .u32 ss[4];
  ld.param.u64 %rd1, [out]; st.shared.u32 [ss], 7; mov.u64 m, s; call f;
  ld.shared.u32 r, [s+4]; st.global.u32 [%rd1], r; ret; }"""
    assert both(program, [np.zeros(1, np.uint32)])[0].tolist() == [7]


def test_a_pointer_past_the_end_is_no_access() -> None:
    body = "mov.u64 %rd3, s; add.u64 %rd4, %rd3, 16; A: ld.shared.u32 %r9, [%rd3]; add.u64 %rd3, %rd3, 4; setp.lt.u64 %p1, %rd3, %rd4; @%p1 bra A;"
    both(kernel(LOCALS + body + STORES), [np.zeros(1, np.uint32)])


@pytest.mark.parametrize("skip", ["@%p1 ld.shared.u32 %r9, [s+16];", "@!%p1 bra A; ld.shared.u32 %r9, [s+16]; A:"])
def test_only_what_is_executed_is_reported(skip: str) -> None:
    body = kernel(LOCALS + "setp.eq.u32 %p1, %r1, 3;" + skip + STORES)
    both(body, [np.zeros(3, np.uint32)], block=3)
    error = fault(body, [np.zeros(4, np.uint32)], block=4)
    assert error.where is not None and error.where.thread == (3, 0, 0)


def test_an_array_without_a_size_ends_where_the_launch_says() -> None:
    module = ".extern .shared .align 16 .b8 dynamic[];"
    body = (
        ".shared .u32 s[4]; st.shared.u32 [dynamic+60], 7; mov.u64 %rd3, dynamic; ld.shared.u32 %r9, [%rd3+60];"
        + STORES
    )
    assert both(kernel(body, module=module), [np.zeros(1, np.uint32)], dynamic_shared=64)[0].tolist() == [7]
    assert (
        "of .shared, which holds"
        in fault(kernel(body, module=module), [np.zeros(1, np.uint32)], dynamic_shared=60).note
    )
    before = kernel(".shared .u32 s[4]; ld.shared.u32 %r9, [dynamic+-4];" + STORES, module=module)
    assert fault(before, [np.zeros(1, np.uint32)], dynamic_shared=64).note.startswith("4 bytes at dynamic-4:")


def test_an_early_bank_has_the_size_that_the_host_gives() -> None:
    source = ".version 2.1\n.target sm_20\n.extern .const[2] .b32 two[];\n.entry k(.param .u64 out) { .reg .u64 o; .reg .u32 r; ld.param.u64 o, [out]; ld.const[2].u32 r, [two+4]; st.global.u32 [o], r; exit; }"
    assert fault(source, [np.zeros(1, np.uint32)]).note.endswith("the host has given it none")


def test_in_clusters() -> None:
    """The variable lies in each CTA's part of the window."""
    read = "mov.u64 %rd3, s; {}ld.shared{}.u32 %r9, [%rd3+{}];" + STORES
    for space in ("", "::cluster", "::cta"):
        error = fault(kernel(LOCALS + read.format("", space, 16)), [np.zeros(4, np.uint32)], grid=4, cluster=2)
        assert error.note.startswith("4 bytes at s+16")
    back = "cvta.shared.u64 %rd3, %rd3; cvta.to.shared.u64 %rd3, %rd3; "
    assert fault(
        kernel(LOCALS + read.format(back, "", 16)), [np.zeros(4, np.uint32)], grid=4, cluster=2
    ).note.startswith("4 bytes at s+16")
    both(kernel(LOCALS + read.format(back, "", 12)), [np.zeros(4, np.uint32)], grid=4, cluster=2)
    # in the part of another CTA
    for rank in (0, 1):
        both(
            kernel(
                LOCALS + read.format(f"mapa.shared::cluster.u64 %rd3, %rd3, {rank}; ", "::cluster", 12) + CLUSTER_ENDS
            ),
            [np.zeros(4, np.uint32)],
            grid=4,
            cluster=2,
        )


def test_an_address_of_another_space_is_none_of_the_variable() -> None:
    """It is what it is there."""
    body = LOCALS + "mov.u64 %rd3, s; ld.local.u32 %r9, [%rd3+16];" + STORES
    both(kernel(body), [np.zeros(1, np.uint32)])
    assert (
        "where nothing is"
        in fault(
            text("mov.u64 %rd3, s; ld.u32 %r9, [%rd3]; ret;", module=".shared .u32 s;"), [np.zeros(1, np.uint32)]
        ).note
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("declared", "defined"),
    [
        (".extern .global .u32 x[];", ".visible .global .u32 x[4]; .visible .global .u32 y[4];"),
        (".common .global .u32 x[2];", ".visible .global .u32 x[4]; .visible .global .u32 y[4];"),
    ],
)
def test_a_variable_of_another_module_is_as_large_as_it_is_there(declared: str, defined: str, engine: str) -> None:
    parts = [declared + "\n.visible .entry k() { .reg .u32 r; ld.global.u32 r, [x+%d]; ret; }", defined]
    for offset in (12, 16):
        module = ptxspec.link([HEADER + parts[0] % offset, HEADER + parts[1]])
        if offset == 12:
            module.launch("k", engine=engine)
            continue
        with pytest.raises(ptxspec.LaunchError) as caught:
            module.launch("k", engine=engine)
        assert caught.value.note.startswith("4 bytes at x+16, which has 16 bytes")


@pytest.mark.slow
def test_programs_as_people_write_them_keep_to_their_variables() -> None:
    """What nvcc made, and what other tools wrote: no access of theirs is found to leave its variable."""
    kernels = 0
    for source in programs():
        try:
            module = ptxspec.load(source)
        except ptxspec.PtxError:
            continue
        for name in module.kernels:
            ready = program(module.checked, name, Profile("hopper"), False)
            assert ready.overruns == {}, name
            kernels += 1
    assert kernels > 200


def programs() -> Iterator[str]:
    for path in sorted((ROOT / "docs").rglob("*.ptx")) + sorted((ROOT / "tests").rglob("*.ptx")):
        yield path.read_text()
    for path in sorted((ROOT / "tests" / "corpus").glob("*.xz")):
        kept = json.loads(lzma.decompress(path.read_bytes()))
        yield from (
            (v for v in kept.values() if isinstance(v, str) and ".version" in v) if isinstance(kept, dict) else ()
        )
