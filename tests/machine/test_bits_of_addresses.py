"""Addresses of 32 bits: sums in brackets wrap around, and a profile says whether the upper half of a 64-bit register counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import ENGINES, both, fault, kernel

import ptxspec
from ptxspec_workshop.generate.address_kernels import kernels
from ptxspec_workshop.record.addresses import answers_here, digest_of_kernel, read

pytestmark = pytest.mark.sample(8)

VARIABLES = """.shared .align 128 .b8 s[1024]; .local .align 16 .u32 l[4]; .reg .b64 %src; .reg .f32 %w<8>; .reg .b32 %v<8>;
    st.shared.v4.u32 [s], {7, 8, 9, 10}; st.local.v4.u32 [l], {7, 8, 9, 10};"""
MODULE = ".const .align 16 .u32 c[4] = {7, 8, 9, 10};"
PARAMETERS = ".param .align 16 .u64 out, .param .u64 in"
WARP = "{" + ", ".join(f"%v{i}" for i in range(8)) + "}"
#: what leaves 7 in %r9 of the first thread if {a} is the address of the variable of this space, which begins with 7
ACCESSES = {
    "a load": ("shared", "ld.shared.u32 %r9, [{a}];"),
    "a load of the CTA": ("shared", "ld.shared::cta.u32 %r9, [{a}];"),
    "a load of the cluster": ("shared", "ld.shared::cluster.u32 %r9, [{a}];"),
    "a volatile load": ("shared", "ld.volatile.shared.u32 %r9, [{a}];"),
    "an acquiring load": ("shared", "ld.acquire.cta.shared.u32 %r9, [{a}];"),
    "a vector": ("shared", "ld.shared.v4.u32 {{%r9, %r8, %r7, %r6}}, [{a}];"),
    "a store": ("shared", "st.shared.u32 [s], 0; st.shared.u32 [{a}], 7; ld.shared.u32 %r9, [s];"),
    "a releasing store": ("shared", "st.shared.u32 [s], 0; st.release.cta.shared.u32 [{a}], 7; ld.shared.u32 %r9, [s];"),
    "an atomic operation": ("shared", "atom.shared.add.u32 %r9, [{a}], 1;"),
    "a compare and swap": ("shared", "atom.shared.cas.b32 %r9, [{a}], 7, 1;"),
    "a reduction": ("shared", "red.shared.add.u32 [{a}], -1; ld.shared.u32 %r9, [s]; add.u32 %r9, %r9, 1;"),
    "a load of local memory": ("local", "ld.local.u32 %r9, [{a}];"),
    "a store to local memory": ("local", "st.local.u32 [l], 0; st.local.u32 [{a}], 7; ld.local.u32 %r9, [l];"),
    "a constant": ("const", "ld.const.u32 %r9, [{a}];"),
    "a prefetch": ("local", "prefetch.local.L1 [{a}]; mov.u32 %r9, 7;"),
    "a copy": (
        "shared",
        "st.shared.u32 [s], 0; ld.param.u64 %src, [in]; cp.async.ca.shared.global [{a}], [%src], 4; cp.async.wait_all; ld.shared.u32 %r9, [s];",
    ),
    "matrices": (
        "shared",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r9}}, [{a}];",
    ),
    "matrices stored": (
        "shared",
        "st.shared.u32 [s], 0; bar.warp.sync -1; mov.u32 %r9, 7; stmatrix.sync.aligned.m8n8.x1.shared.b16 [{a}], {{%r9}}; ld.shared.u32 %r9, [s];",
    ),
    "a tile": (
        "shared",
        f"wmma.load.a.sync.aligned.m16n16k16.row.shared.f16 {WARP.replace('{', '{{').replace('}', '}}')}, [{{a}}];"
        "mov.b32 %r9, %v0;",
    ),
}  # fmt: skip
NAMES = {"shared": "s", "local": "l", "const": "c"}
#: the threads of a warp, which cooperative instructions need
BLOCK = {"matrices": 32, "matrices stored": 32, "a tile": 32}


def source(access: str, address: str, before: str) -> str:
    """A kernel in which `before` prepares the address of the variable; {v} stands for its name."""
    space, instructions = ACCESSES[access]
    body = VARIABLES + before.format(v=NAMES[space]) + instructions.format(a=address) + "st.global.u32 [%rd1], %r9;"
    return kernel(body, PARAMETERS, MODULE)


def given(access: str) -> tuple[list[np.ndarray], int]:
    block = BLOCK.get(access, 1)
    return [np.zeros(block, np.uint32), np.full(4, 7, np.uint32)], block


@pytest.mark.parametrize("profile", ["hopper", "portable"])
@pytest.mark.parametrize("access", ACCESSES)
def test_sums_in_brackets_wrap_around(access: str, profile: str) -> None:
    """The register lies before the variable, which has the address 0, whether the model follows it from the name or not."""
    args, block = given(access)
    for added in ("", "sub.u32 %r5, %r3, %r3; add.u32 %r4, %r4, %r5;"):
        text = source(access, "%r4+64", "mov.u32 %r4, {v}; sub.u32 %r4, %r4, 64;" + added)
        assert both(text, args, block=block, profile=profile)[0][0] == 7
    wide = source(access, "%rd4+64", "mov.u64 %rd4, {v}; sub.u64 %rd4, %rd4, 64;")
    assert both(wide, args, block=block, profile=profile)[0][0] == 7


@pytest.mark.parametrize("access", [name for name in ACCESSES if name != "a prefetch"])
def test_a_profile_decides_about_upper_halves(access: str) -> None:
    args, block = given(access)
    for address, before in (
        ("%rd4", "mov.u64 %rd4, {v}; or.b64 %rd4, %rd4, 0x700000000;"),
        ("%rd4", "mov.u64 %rd4, {v}; cvt.u64.u32 %rd5, %r3; shl.b64 %rd5, %rd5, 32; or.b64 %rd4, %rd4, %rd5;"),
        ("%rd4+64", "mov.u32 %r4, {v}; sub.u32 %r4, %r4, 64; cvt.u64.u32 %rd4, %r4;"),
    ):
        text = source(access, address, before)
        assert both(text, args, block=block)[0][0] == 7
        found = fault(text, args, block=block, profile="portable")
        assert found.rule == "out of bounds" and found.address is not None and found.address >> 32


def test_parameters_of_the_entry() -> None:
    """The address of the first is 0; the second says what is read."""
    body = "mov.u32 %r4, out; sub.u32 %r4, %r4, 64; ld.param.u64 %rd4, [%r4+64]; st.global.u32 [%rd4], 7;"
    assert both(kernel(body), [np.zeros(1, np.uint32)])[0].tolist() == [7]
    body = "mov.u64 %rd5, out; or.b64 %rd5, %rd5, 0x700000000; ld.param.u64 %rd4, [%rd5]; st.global.u32 [%rd4], 7;"
    assert both(kernel(body), [np.zeros(1, np.uint32)])[0].tolist() == [7]
    assert fault(kernel(body), [np.zeros(1, np.uint32)], profile="portable").rule == "out of bounds"


def test_in_clusters() -> None:
    """An address in the part of another CTA, one that a sum has left before it, and one with more bits."""
    store = "st.shared.u32 [s], %r2; barrier.cluster.arrive; barrier.cluster.wait; xor.b32 %r7, %r2, 1;"
    end = "barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%rd1], %r9;"
    first = (
        "mapa.shared::cluster.u32 %r4, s, %r7; sub.u32 %r4, %r4, 0x200000; ld.shared::cluster.u32 %r9, [%r4+0x200000];"
    )
    wide = "mapa.shared::cluster.u64 %rd4, s, %r7; or.b64 %rd4, %rd4, 0x700000000; ld.shared::cluster.u32 %r9, [%rd4];"
    for body in (first, wide):
        text = kernel(".shared .u32 s;" + store + body + end)
        assert both(text, [np.zeros(2, np.uint32)], grid=2, cluster=2)[0].tolist() == [1, 0]
    with pytest.raises(
        ptxspec.LaunchError, match="out of bounds"
    ):  # the other engine wants a choice of all that mapa may give
        ptxspec.load(text).launch("k", 2, cluster=2, args=[np.zeros(2, np.uint32)], engine="exact", profile="portable")


def test_elements_of_a_diagonal() -> None:
    """What nvcc makes of a needleman-wunsch: pointers a row before the shared matrix, and numbers of bytes beyond it."""
    body = """.shared .align 4 .b8 temp[1156];
        mov.u32 %r4, temp; shl.b32 %r5, %r1, 2; add.u32 %r6, %r4, %r5; add.u32 %r7, %r6, -68;
        st.shared.u32 [%r7+68], %r1; bar.sync 0;
        mad.lo.s32 %r8, %r1, 64, %r4; add.s32 %r8, %r8, -1092; st.shared.u32 [%r7+1160], %r1; bar.sync 0;
        ld.shared.u32 %r9, [%r7+68]; ld.shared.u32 %r10, [%r7+1160]; add.u32 %r9, %r9, %r10; st.global.u32 [%rd1], %r9;"""
    for profile in ("hopper", "portable"):
        out = both(kernel(body), [np.zeros(16, np.uint32)], block=16, profile=profile)[0]
        assert out.tolist() == [2 * i for i in range(16)]
    assert fault(kernel(body.replace("1160", "1164")), [np.zeros(16, np.uint32)], block=16).rule == "out of bounds"


@pytest.mark.parametrize(
    ("before", "address", "note"),
    [
        ("mov.u32 %r4, t; sub.u32 %r4, %r4, 64;", "%r4+80", "t+16, which has 16 bytes"),
        ("mov.u32 %r4, t; sub.u32 %r4, %r4, 64;", "%r4+60", "t-4, which has 16 bytes"),
        ("mov.u32 %r4, u; sub.u32 %r4, %r4, 64;", "%r4+60", "u-4, which has 16 bytes"),
        ("mov.u64 %rd4, t; add.u64 %rd4, %rd4, 0x700000010;", "%rd4", "t+16, which has 16 bytes"),
    ],
)
def test_variables_are_followed_around_the_end(before: str, address: str, note: str) -> None:
    """t has the address 0, and u follows it: without its name an access to the other one would be allowed."""
    body = f".shared .align 16 .b8 t[16], u[16]; {before} ld.shared.u32 %r9, [{address}]; st.global.u32 [%rd1], %r9;"
    found = fault(kernel(body), [np.zeros(1, np.uint32)])
    assert found.rule == "out of bounds" and note in found.note


@pytest.mark.parametrize("engine", ENGINES)
def test_seeds_differ_where_upper_halves_count(engine: str) -> None:
    """A program that relies on one or the other is found by two of a few seeds."""
    text = source("a load", "%rd4", "mov.u64 %rd4, {v}; or.b64 %rd4, %rd4, 0x700000000;")
    args, _ = given("a load")
    outcomes = set()
    for seed in range(8):
        try:
            ptxspec.load(text).launch("k", args=args, engine=engine, profile="portable", seed=seed)
            outcomes.add("")
        except ptxspec.LaunchError as error:
            outcomes.add(error.rule)
    assert outcomes == {"", "out of bounds"}


# kernels for a GPU -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_kernels_answer_alike_whatever_the_address_is_formed_from() -> None:
    """Under both engines; the answers of an access are those of another only if it reads or writes the same bytes."""
    own = kernels()
    ours = answers_here(own)
    assert ours == answers_here(own, "exact")
    by_access: dict[str, set[str]] = {}
    for k in own:
        by_access.setdefault(k.title.partition(",")[0], set()).add(ours[k.name])
    assert all(len(answers) == 1 for answers in by_access.values())
    assert by_access["ld.shared"] == by_access["ld.local"] == by_access["ld.shared::cluster"]
    assert len(set.union(*by_access.values())) == len(by_access) - 3  # and st.shared is as st.local


@pytest.mark.slow
def test_a_gpu_answers_alike() -> None:
    recorded, own = read(), kernels()
    assert recorded is not None and recorded["device"].startswith("NVIDIA H100")
    assert {k.name: digest_of_kernel(k) for k in own} == {n: e["asked"] for n, e in recorded["kernels"].items()}
    ours = answers_here(own)
    unlike = {
        (k.title, level) for k in own for level in ("-O0", "-O3") if recorded["kernels"][k.name][level] != ours[k.name]
    }
    # ptxas 13.0 makes a generic address of the sum, which does not wrap (AMB-353)
    sums = ("a near sum", "a far sum", "a sum in 64 bits", "an upper half in a sum")
    assert unlike == {(f"ld.shared::cluster, {what}", "-O3") for what in sums}
    assert {recorded["kernels"][k.name]["-O3"] for k in own if (k.title, "-O3") in unlike} == {"error"}


# proofs ---------------------------------------------------------------------------------------------------------------

SHARED = ".shared .align 4 .b8 t[256]; "
ROWS = (
    SHARED
    + "mov.u32 b, t; shl.b32 j, i, 2; add.u32 q, b, j; st.shared.u32 [q], a; add.u32 r, q, -64; ld.shared.u32 d, "
)
WIDE = SHARED + "mov.u64 b, t; st.shared.u32 [t], a; add.u64 r, b, 0x700000000; ld.shared.u32 d, [r];"


@pytest.mark.parametrize(
    ("left", "right", "how", "status"),
    [
        (ROWS + "[r+64];", "mov.u32 d, a;", {"assume": "i < 64"}, "proved"),
        (ROWS + "[r+68];", "mov.u32 d, a;", {"assume": "i < 63"}, "refuted"),
        (ROWS + "[r+64];", "mov.u32 d, a;", {}, "refuted"),  # beyond the end
        (WIDE, "mov.u32 d, a;", {}, "refuted"),
        (WIDE, "mov.u32 d, a;", {"profile": "hopper"}, "proved"),
        (WIDE, WIDE.replace("0x7", "0x6"), {}, "proved"),
        (WIDE, WIDE.replace("0x7", "0x6"), {"compare": ["*"]}, "refuted"),  # in r, where upper halves are ignored
    ],
)
def test_proofs(left: str, right: str, how: dict[str, Any], status: str) -> None:
    assert ptxspec.prove(left, right, **how).status == status


def test_refinement_may_rely_on_nothing() -> None:
    """What counts on an ignored upper half may be replaced, and must not replace."""
    assert ptxspec.prove("mov.u32 d, a;", WIDE, relation="refines").status == "refuted"
