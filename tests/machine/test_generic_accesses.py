"""Instructions that access certain state spaces only, with generic addresses that lie in these and in others."""

from __future__ import annotations

import numpy as np
import pytest
from launching import both, fault, kernel

import ptxspec

pytestmark = pytest.mark.sample(8)

MODULE = ".const .align 128 .b8 c[1024]; .global .align 128 .b8 g[1024];"
VARIABLES = ".shared .align 128 .b8 s[1024]; .local .align 128 .b8 l[1024]; .reg .b32 %v<8>; .reg .b128 %q; "
#: the name of a variable in each space
NAMES = {"global": "g", "shared": "s", "local": "l", "const": "c", "param": "in"}
WARP = "{%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}"
#: instructions, the spaces that they may access by a generic address, and whether they read only
ACCESSES = {
    "ldmatrix.sync.aligned.m8n8.x1.b16 {%v0}, [%rd4];": ("shared", True),
    "ldmatrix.sync.aligned.m8n8.x2.trans.b16 {%v0, %v1}, [%rd4];": ("shared", True),
    "stmatrix.sync.aligned.m8n8.x1.b16 [%rd4], {%v0};": ("shared", False),
    "stmatrix.sync.aligned.m8n8.x1.trans.b16 [%rd4], {%v0};": ("shared", False),
    f"wmma.load.a.sync.aligned.m16n16k16.row.f16 {WARP}, [%rd4];": ("global shared", True),
    f"wmma.store.d.sync.aligned.m16n16k16.row.f32 [%rd4], {WARP};": ("global shared", False),
    "atom.add.u32 %v0, [%rd4], 1;": ("global shared local", False),
    "atom.cas.b32 %v0, [%rd4], 0, 1;": ("global shared local", False),
    "atom.exch.b128 %q, [%rd4], %q;": ("global shared local", False),
    "atom.add.v2.f32 {%f1, %f2}, [%rd4], {%f1, %f2};": ("global", False),
    "red.add.u32 [%rd4], 1;": ("global shared local", False),
    "red.add.v2.f32 [%rd4], {%f1, %f2};": ("global", False),
    "ld.acquire.gpu.u32 %v0, [%rd4];": ("global shared", True),
    "ld.relaxed.gpu.u32 %v0, [%rd4];": ("global shared", True),
    "ld.mmio.relaxed.sys.u32 %v0, [%rd4];": ("global", True),
    "st.release.gpu.u32 [%rd4], %v0;": ("global shared", False),
    "st.mmio.relaxed.sys.u32 [%rd4], %v0;": ("global", False),
    "ld.volatile.u32 %v0, [%rd4];": ("global shared local", True),
    "st.volatile.u32 [%rd4], %v0;": ("global shared local", False),
    "ld.u32 %v0, [%rd4];": ("global shared local const param", True),
    "ld.v4.u32 {%v0, %v1, %v2, %v3}, [%rd4];": ("global shared local const param", True),
    "st.u32 [%rd4], %v0;": ("global shared local", False),
    "discard.L2 [%rd4], 128;": ("global", False),
}  # fmt: skip


def source(instruction: str, space: str) -> str:
    body = f"{VARIABLES} cvta.{space}.u64 %rd4, {NAMES[space]}; {instruction} st.global.u32 [%rd1], 1;"
    return kernel(body, ".param .u64 out, .param .align 128 .b8 in[1024]", MODULE)


@pytest.mark.parametrize("instruction", ACCESSES)
def test_generic_addresses_lie_in_the_spaces_of_an_instruction(instruction: str) -> None:
    spaces, reads = ACCESSES[instruction]
    args = [np.zeros(32, np.uint32), bytes(1024)]
    for space in NAMES:
        if space in spaces.split():
            assert both(source(instruction, space), args, block=32)[0].all()
            continue
        found = fault(source(instruction, space), args, block=32)
        assert found.rule == ("read only" if not reads and space in ("const", "param") else "state space")
        assert found.rule == "read only" or f"lies in .{space}" in found.note


def test_in_a_large_kernel() -> None:
    """Where accesses are calls of functions, those that may reach more are others."""
    body = VARIABLES + "cvta.local.u64 %rd4, l; cvta.shared.u64 %rd5, s;"
    body += "ld.u32 %v0, [%rd4]; ld.acquire.gpu.u32 %v0, [%rd5]; st.u32 [%rd4], %v0;" * 40
    args = [np.zeros(1, np.uint32), bytes(1024)]
    parameters = ".param .u64 out, .param .align 128 .b8 in[1024]"
    assert both(kernel(body + "st.global.u32 [%rd1], 1;", parameters, MODULE), args)[0].tolist() == [1]
    wrong = kernel(body + "ld.acquire.gpu.u32 %v0, [%rd4]; st.global.u32 [%rd1], 1;", parameters, MODULE)
    assert fault(wrong, args).rule == "state space"


def test_proofs() -> None:
    """A relaxed load of local memory is undefined, as a load beyond a variable is."""
    relaxed = ".local .align 4 .b8 t[16]; cvta.local.u64 q, t; ld.relaxed.gpu.u32 d, [q];"
    load = ".local .align 4 .b8 t[16]; cvta.local.u64 q, t; ld.u32 d, [q+16];"
    assert ptxspec.prove(relaxed, load).status == "proved"
    assert ptxspec.prove(relaxed.replace("local", "shared"), load).status == "refuted"
