"""The rules of products of warpgroups: each kernel but one breaks one of them, and both engines say so of the same instruction."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence.choices import PROFILE
from ptxspec.machine.errors import LaunchError

pytestmark = pytest.mark.sample(8)

FENCE = "wgmma.fence.sync.aligned;"
COMMIT, WAIT = "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"
SHAPE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
IN_MEMORY = f"{SHAPE} {{d0, d1, d2, d3}}, da, db, 1, 1, 1, 0, 0;"
IN_REGISTERS = f"{SHAPE} {{d0, d1, d2, d3}}, {{a0, a1, a2, a3}}, db, 1, 1, 1, 0;"
OTHER_SHAPE = f"{SHAPE.replace('n8', 'n16')} {{d0, d1, d2, d3, d4, d5, d6, d7}}, da, db, 1, 1, 1, 0, 0;"
SPARSE = f"{SHAPE.replace('mma_async', 'mma_async.sp').replace('k16', 'k32')} {{d0, d1, d2, d3}}, da, db, a0, 0, 1, 1, 1, 0, 0;"
OF_ONE_WARP = "setp.lt.u32 p, t, 32; @p"


def kernel(*lines: str) -> str:
    """A kernel in which all elements of A and B are ones, and all of D are zero."""
    begin = [
        ".version 8.4 .target sm_90a .address_size 64",
        ".visible .entry k(.param .u64 out) {",
        ".shared .align 16 .b32 m[4096]; .reg .b32 d<8>, a<4>, w, t; .reg .b64 q, da, db; .reg .pred p;",
        "ld.param.u64 q, [out]; mov.u32 t, %tid.x; mad.wide.u32 q, t, 4, q; mov.b32 w, 0x3c003c00;",
        "mov.u32 a0, m; mad.lo.u32 a0, t, 16, a0; st.shared.v4.b32 [a0], {w, w, w, w}; fence.proxy.async; barrier.sync 0;",
        "mov.b32 a0, w; mov.b32 a1, w; mov.b32 a2, w; mov.b32 a3, w;",
        *(f"mov.b32 d{i}, 0;" for i in range(8)),
        "mov.b64 da, m; shr.b64 da, da, 4; or.b64 da, da, 0x0000001000080000; mov.b64 db, da;",
    ]
    return "\n".join([*begin, *lines, "ret; }"])


STORE = "st.global.b32 [q], d0;"
RIGHT = {
    "in memory": (FENCE, IN_MEMORY, COMMIT, WAIT, STORE),
    "in registers": (FENCE, IN_REGISTERS, COMMIT, WAIT, STORE),
    "a chain": (FENCE, IN_MEMORY, IN_MEMORY, COMMIT, WAIT, STORE),
    "groups": (FENCE, IN_MEMORY, COMMIT, IN_MEMORY, COMMIT, WAIT.replace("0", "1"), WAIT, STORE),
    "other registers in flight": (FENCE, IN_MEMORY, COMMIT, "mov.b32 d5, 1;", WAIT, STORE),
    "a write after the wait": (FENCE, IN_REGISTERS, COMMIT, WAIT, "mov.b32 a0, 0;", STORE),
}
#: by what is wrong: the rule, a part of the instruction that breaks it, and the lines
WRONG: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "no fence": ("product without fence", SHAPE, (IN_MEMORY, COMMIT, WAIT, STORE)),
    "no wait": ("product not waited for", STORE, (FENCE, IN_MEMORY, COMMIT, STORE)),
    "no group": ("product not waited for", STORE, (FENCE, IN_MEMORY, WAIT, STORE)),
    "a wait for too few": ("product not waited for", STORE, (FENCE, IN_MEMORY, COMMIT, WAIT.replace("0", "1"), STORE)),
    "an empty group": ("product not waited for", STORE, (FENCE, COMMIT, IN_MEMORY, WAIT, STORE)),
    "d written behind the fence": ("product without fence", SHAPE, (FENCE, "mov.b32 d3, 0;", IN_MEMORY, COMMIT, WAIT)),
    "d read behind the fence": ("product without fence", SHAPE, (FENCE, "mov.b32 w, d3;", IN_MEMORY, COMMIT, WAIT)),
    "a written behind the fence": ("product without fence", SHAPE, (FENCE, "mov.b32 a1, 0;", IN_REGISTERS, COMMIT, WAIT)),
    "a written in flight": ("product not waited for", "a1, 0;", (FENCE, IN_REGISTERS, COMMIT, "mov.b32 a1, 0;", WAIT)),
    "a read in flight": ("product not waited for", "w, a1;", (FENCE, IN_REGISTERS, "mov.b32 w, a1;", COMMIT, WAIT)),
    "d read in flight": ("product not waited for", "w, d3;", (FENCE, IN_MEMORY, COMMIT, "mov.b32 w, d3;", WAIT)),
    "d of another shape": ("product without fence", "n16", (FENCE, IN_MEMORY, OTHER_SHAPE, COMMIT, WAIT)),
    "d of another shape behind a fence": ("product not waited for", "n16", (FENCE, IN_MEMORY, FENCE, OTHER_SHAPE, COMMIT, WAIT)),
    "memory overwritten": ("source of a copy", "[m], w;", (FENCE, IN_MEMORY, COMMIT, "st.shared.b32 [m], w;", WAIT)),
    "the last rows of a overwritten": (
        "source of a copy", "[m + 2032], w;", (FENCE, IN_MEMORY, COMMIT, "st.shared.b32 [m + 2032], w;", WAIT),
    ),
    "b overwritten": ("source of a copy", "[m], w;", (FENCE, IN_REGISTERS, COMMIT, "st.shared.b32 [m], w;", WAIT)),
    "unlike descriptors of warps": ("warpgroup operands", SHAPE, (FENCE, f"{OF_ONE_WARP} add.u64 db, db, 1;", IN_MEMORY)),
    "unlike descriptors of lanes": (
        "warpgroup operands", SHAPE, (FENCE, "setp.eq.u32 p, t, 77; @p add.u64 da, da, 1;", IN_MEMORY),
    ),
    "unlike scales of c": (
        "warpgroup operands", SHAPE, ("setp.ne.u32 p, t, 5;", FENCE, IN_MEMORY.replace("db, 1", "db, p")),
    ),
    "a warp alone": ("aligned group", COMMIT, (FENCE, f"{OF_ONE_WARP} {IN_MEMORY}", COMMIT, WAIT)),
    "a warp missing": ("aligned group", FENCE, ("setp.ge.u32 p, t, 96; @p ret;", FENCE, IN_MEMORY, COMMIT, WAIT)),
    "beyond shared memory": ("out of bounds", SHAPE, (FENCE, "add.u64 db, db, 1020;", IN_MEMORY, COMMIT, WAIT)),
    "one element twice": ("sparse metadata", "mma_async.sp", ("mov.b32 a0, 0x55554444;", FENCE, SPARSE, COMMIT, WAIT)),
}  # fmt: skip


def outcome(lines: tuple[str, ...], engine: str, block: int = 128) -> int | LaunchError:
    """What the first thread stores, or what is wrong."""
    out = np.zeros(128, np.float32)
    try:
        ptxspec.load(kernel(*lines)).launch("k", block=block, args=[out], engine=engine, profile=PROFILE)
    except LaunchError as error:
        return error
    return int(out[0])


@pytest.mark.parametrize("name", RIGHT)
def test_what_keeps_to_the_rules(name: str) -> None:
    chains = sum(line.startswith(SHAPE) for line in RIGHT[name])
    assert [outcome(RIGHT[name], engine) for engine in ("exact", "native")] == [16 * chains] * 2


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_a_rule(name: str) -> None:
    rule, where, lines = WRONG[name]
    exact, native = (outcome(lines, engine) for engine in ("exact", "native"))
    assert isinstance(exact, LaunchError) and str(exact) == str(native)
    (line,) = (line for line in str(exact).splitlines()[:3] if line.startswith("  at "))
    assert str(exact).startswith(f"{rule}:") and where in line


@pytest.mark.parametrize("block", [32, 96, 160])
def test_a_cta_of_no_whole_warpgroups(block: int) -> None:
    exact, native = (outcome(RIGHT["in memory"], engine, block) for engine in ("exact", "native"))
    assert str(exact) == str(native) and str(exact).startswith("aligned group:")


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_a_wait_of_one_thread_tells_for_the_warpgroup(engine: str) -> None:
    """What a product has read may be written by any thread that has waited, though no barrier orders it with the other warps."""
    text = kernel(FENCE, IN_MEMORY, COMMIT, WAIT, "st.shared.b32 [m], w;", STORE)
    text = text.replace("st.shared.b32 [m], w;", "setp.eq.u32 p, t, 0; @p st.shared.b32 [m], w;")
    out = np.zeros(128, np.float32)
    ptxspec.load(text).launch("k", block=128, args=[out], engine=engine, profile=PROFILE, check="race")
    assert out[0] == 16


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("missing", ["fence.proxy.async;", "barrier.sync 0;"])
def test_a_product_reads_what_is_not_ordered_before_it(missing: str, engine: str) -> None:
    text, out = kernel(FENCE, IN_MEMORY, COMMIT, WAIT, STORE), np.zeros(128, np.float32)
    assert missing in text
    with pytest.raises(LaunchError, match=r"^race: ") as caught:
        ptxspec.load(text.replace(missing, "")).launch(
            "k", block=128, args=[out], engine=engine, profile=PROFILE, check="race"
        )
    assert "wgmma.mma_async" in str(caught.value)
