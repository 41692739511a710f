"""Modules whose addresses have 32 bits: which there are, and what their kernels do."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptxspec
from ptxspec.base.options import Engine
from ptxspec.machine.memory import AddressSpace

pytestmark = pytest.mark.sample(4)

ENGINES: tuple[Engine, Engine] = ("native", "exact")

#: instructions, and whether ptxas 13.0 and 11.8 take them where addresses have 64 bits; those that it does not need 32
NEEDS = {
    "ld.global.u32 b, [a];": True,
    "ld.global.u32 b, [a+4];": True,
    "ld.shared.u32 b, [a];": False,
    "ld.local.u32 b, [a];": False,
    "ld.const.u32 b, [a];": False,
    "ld.param.u32 b, [q];": False,
    "ld.u32 b, [a];": True,
    "ld.global.u32 b, [g];": False,
    "ld.global.u32 b, [w];": False,
    "st.global.u32 [a], b;": True,
    "st.global.u32 [s32], b;": True,
    "atom.global.add.u32 b, [a], b;": True,
    "red.global.add.u32 [a], b;": True,
    "ldu.global.u32 b, [a];": True,
    "prefetch.global.L1 [a];": True,
    "prefetchu.L1 [a];": True,
    "mov.u32 a, g;": True,
    "mov.b32 a, g;": True,
    "mov.s32 a, g;": True,
    "mov.u32 a, g+4;": False,
    "mov.u16 h, g;": False,
    "mov.u64 w, g;": False,
    "mov.u32 a, s;": False,
    "mov.u32 a, c;": False,
    "mov.u32 a, q;": False,
    "mov.u32 a, fn;": False,
    "cvta.global.u32 a, a;": True,
    "cvta.global.u32 a, g;": True,
    "cvta.shared.u32 a, s;": True,
    "cvta.to.local.u32 a, a;": True,
    "cvta.param.u32 a, a;": True,
    "cvta.shared::cta.u32 a, a;": True,
    "cvta.global.u64 w, w;": False,
    "isspacep.global p, a;": False,
    "isspacep.global p, w;": False,
    "discard.global.L2 [a], 128;": True,
    "cp.async.ca.shared.global [a], [w], 4;": False,
}


def module(body: str, size: str = "", version: str = "7.8", target: str = "sm_80") -> str:
    said = f".address_size {size}" if size else ""
    return f"""
    .version {version} .target {target} {said}
    .global .u32 g; .const .u32 c; .shared .u32 s; .func fn() {{ ret; }}
    .visible .entry k(.param .u32 q) {{ .reg .u32 a, b; .reg .s32 s32; .reg .u64 w; .reg .u16 h; .reg .pred p; {body} ret; }}"""


@pytest.mark.parametrize("instruction", NEEDS)
def test_what_needs_addresses_of_32_bits(instruction: str) -> None:
    for size in ("", "32"):
        ptxspec.load(module(instruction, size))
    for wide in (module(instruction, "64"), module(instruction, "", "8.0", "sm_90")):
        if NEEDS[instruction]:
            with pytest.raises(ptxspec.PtxError, match=r"has 64 bits|addresses of 32 bits"):
                ptxspec.load(wide)
        else:
            ptxspec.load(wide)


def test_no_target_from_sm_90_on_has_them() -> None:
    with pytest.raises(ptxspec.PtxError, match="sm_90 has no addresses of 32 bits"):
        ptxspec.load(module("", "32", "8.0", "sm_90"))
    ptxspec.load(module("", "32", "8.0", "sm_89"))


#: a kernel that goes through the spaces: each thread's word, of which there are 32, becomes 2 * (itself + 6) + 1,000
THROUGH_SPACES = """
.version VERSION .target TARGET SIZE
.global .u32 g[4] = {5, 6, 7, 8};
.func (.reg .u32 r) twice(.reg .u32 x) { add.u32 r, x, x; ret; }
.entry k(.param .u32 p) {
    .shared .align 4 .b8 sh[128];
    .reg .u32 a, b, c, t, f; .reg .u64 w; .reg .pred q;
    ld.param.u32 a, [p];
    mov.u32 t, %tid.x; mad.lo.u32 a, t, 4, a;
    ld.global.u32 c, [a];
    mov.u32 b, g; ld.global.u32 b, [b+4]; add.u32 c, c, b;
    cvt.u64.u32 w, a; or.b64 w, w, 0xff00000000; st.global.u32 [w], c;
    cvta.global.u32 b, a; ld.u32 c, [b];
    mov.u32 b, sh; mad.lo.u32 b, t, 4, b; st.shared.u32 [b], c;
    cvta.shared.u32 b, b; ld.u32 c, [b]; cvta.to.shared.u32 b, b; ld.shared.u32 c, [b];
    mov.u32 f, twice;
    list: .calltargets twice;
    call (c), f, (c), list;
    isspacep.global q, a; @q add.u32 c, c, 1000;
    isspacep.shared q, a; @q add.u32 c, c, 5000;
    atom.global.exch.b32 b, [a], c;
    st.global.u32 [a], b;
    add.u32 a, a, 0xfffffff0; add.u32 b, a, 16; atom.global.exch.b32 b, [b], c; st.global.u32 [a+0x10], c;
    ret; }
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("said", ["7.8 sm_80 .address_size 32", "4.1 sm_35 .address_size 32", "2.2 sm_20", "6.0 sm_70"])
def test_a_kernel_through_all_spaces(said: str, engine: Engine) -> None:
    version, target, *size = said.split(maxsplit=2)
    text = THROUGH_SPACES.replace("VERSION", version).replace("TARGET", target).replace("SIZE", "".join(size))
    if version == "2.2":  # labels of calls came later
        text = re.sub(r"list: .*\n\s*call .*", "call (c), twice, (c);", text).replace("mov.u32 f, twice;", "")
    values = np.arange(32, dtype=np.uint32)
    ptxspec.load(text).launch("k", block=32, args=[values], engine=engine)
    assert values.tolist() == [(i + 6) * 2 + 1000 for i in range(32)]


KERNEL = """.version 4.1 .target sm_35 {size} .entry k(.param .u{bits} p, .param .u{bits} q) {{ .reg .u{bits} a, b; .reg .u32 c;
    ld.param.u{bits} a, [p]; ld.param.u{bits} b, [q]; {body} ret; }}"""


@pytest.mark.parametrize("engine", ENGINES)
def test_an_address_has_no_more_bits(engine: Engine) -> None:
    """A sum of 32 bits wraps around in modules of both sizes; one of 64 bits does not, and a profile says what counts of it."""
    text = """.version 4.1 .target sm_35 .address_size SIZE .entry k(.param .uSIZE p) { .shared .b32 s[2];
        .reg .uSIZE a; .reg .u32 b, c; ld.param.uSIZE a, [p]; mov.u32 c, 7; st.shared.u32 [s+4], c;
        mov.u32 b, 0xfffffffc; ld.shared.u32 c, [b+8]; st.global.u32 [a], c; ret; }"""
    wide = text.replace("SIZE", "64").replace("[b+8]", "[d+8]")
    wide = wide.replace(".reg .u64 a;", ".reg .u64 a, d;").replace("mov.u32 b,", "mov.u64 d,")
    for source in (text.replace("SIZE", "32"), text.replace("SIZE", "64"), wide):
        values = np.zeros(1, np.uint32)
        ptxspec.load(source).launch("k", args=[values], engine=engine)
        assert values.tolist() == [7]
    with pytest.raises(ptxspec.LaunchError, match="out of bounds: 4 bytes at 0x100000004"):
        ptxspec.load(wide).launch("k", args=[values], engine=engine, profile="portable")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_reaches_beyond_is_reported(engine: Engine) -> None:
    text = KERNEL.format(size="", bits=32, body="ld.global.u32 c, [a+64]; st.global.u32 [b], c;")
    module, one, two = ptxspec.load(text), np.zeros(16, np.uint32), np.zeros(1, np.uint32)
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        module.launch("k", args=[one, two], engine=engine)


def test_addresses_are_handed_out_again() -> None:
    """What launches have had is free for the next; what has no room in one is refused."""
    space = AddressSpace(0, 32)
    first = space.place("a", 3 << 30)
    with pytest.raises(ValueError, match="b: addresses of 32 bits end before its 1,073,741,824 bytes do"):
        space.place("b", 1 << 30)
    space.begin()
    assert space.place("c", 1 << 30) == first
    wide = AddressSpace(0)
    first = wide.place("a", 3 << 30)
    wide.begin()
    assert wide.place("b", 3 << 30) > first
    text = KERNEL.format(size="", bits=32, body="ld.global.u32 c, [a]; add.u32 c, c, 1; st.global.u32 [b], c;")
    module = ptxspec.load(text)
    for _ in range(3):
        out = np.zeros(1, np.uint32)
        module.launch("k", args=[np.full(1 << 18, 41, np.uint32), out])
        assert out.tolist() == [42]


def test_the_callers_memory_has_to_lie_low() -> None:
    text = KERNEL.format(size="", bits=32, body="ld.global.u32 c, [a]; st.global.u32 [b], c;")
    module = ptxspec.load(text)
    for base, fits in ((0x8000_0000, True), (0x1000_0000_0000, False)):
        memory = ptxspec.Memory(base=base)
        a, b = (memory.allocate(4) for _ in range(2))
        memory.write(a, np.uint32(9))
        if fits:
            module.launch("k", args=[a, b])
            assert memory.read(b, 4) == b"\x09\0\0\0"
        else:
            with pytest.raises(TypeError, match="no pointer"):
                module.launch("k", args=[a, b])


def test_modules_that_are_linked_agree() -> None:
    one = ".version 4.1 .target sm_35 .address_size 32 .visible .func f() { ret; }"
    other = ".version 4.1 .target sm_35 .address_size 64 .extern .func f(); .entry k() { call f; ret; }"
    with pytest.raises(ptxspec.PtxError, match="addresses have 64 bits in this module, and 32 in the first"):
        ptxspec.link([one, other])
    assert ptxspec.link([one, other.replace("_size 64", "_size 32")]).launch("k").steps
