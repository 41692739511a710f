"""All that a launch may leave: beside the litmus test that says the same, and beside what launches with stale reads leave."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxspec

sys.path.insert(0, str(Path(__file__).parent.parent / "checks"))

from test_stale_reads import REGISTERS, drawn

HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 box, .param .u64 out) {
    .shared .align 16 .b8 tile[64];
    .reg .b64 a, o, i, w, v; .reg .b32 t, s, x, y, z; .reg .b16 h, g; .reg .pred p;
    ld.param.u64 a, [box];
    ld.param.u64 o, [out];
    mov.u32 t, %tid.x;
    mad.wide.u32 o, t, 8, o;
    setp.ne.u32 p, t, 0;
"""
#: what a thread does before the others go on at R, what these do, and how many memories are left
BODIES = {
    "elements of a vector": ("st.v2.u32 [a], {1, 2};", "ld.v2.u32 {x, y}, [a]; st.v2.u32 [o], {x, y};", 4),
    "a wide value": ("st.u64 [a], 0x100000002;", "ld.u64 w, [a]; st.u64 [o], w;", 2),
    "a narrow value": ("st.u8 [a+1], 3;", "ld.u8 x, [a+1]; st.u32 [o], x;", 2),
    "two writes": ("st.u32 [a], 1; st.u32 [a], 2;", "ld.u32 x, [a]; ld.u32 y, [a]; st.v2.u32 [o], {x, y};", 9),
    "two strong writes": (
        "st.relaxed.cta.u32 [a], 1; st.relaxed.cta.u32 [a], 2;",
        "ld.relaxed.cta.u32 x, [a]; ld.relaxed.cta.u32 y, [a]; st.v2.u32 [o], {x, y};",
        6,
    ),
    "shared memory": ("st.shared.u32 [tile+4], 5;", "ld.shared.u32 x, [tile+4]; st.u32 [o], x;", 2),
    "shared memory by generic addresses": (
        "cvta.shared.u64 w, tile; st.u32 [w], 5;", "mov.u64 v, tile; cvta.shared.u64 v, v; ld.u32 x, [v]; st.u32 [o], x;", 2,
    ),
    "lanes that meet": ("st.shared.u32 [tile], 5; bar.warp.sync 3;", "bar.warp.sync 3; ld.shared.u32 x, [tile]; st.u32 [o], x;", 1),
    "a barrier": ("st.u32 [a], 5; barrier.sync 0;", "barrier.sync 0; ld.u32 x, [a]; st.u32 [o], x;", 1),
    "atomic operations": ("red.add.u32 [a], 1;", "atom.add.u32 x, [a], 1; st.u32 [o], x;", 2),
    "a place that is read": ("st.u32 [a], 1;", "ld.u32 x, [a]; mad.wide.u32 w, x, 4, a; st.u32 [w+8], 7;", 2),
    "constants and memory of threads": (
        "", ".local .u32 l; st.local.u32 [l], 4; ld.local.u32 x, [l]; st.u32 [o], x;", 1,
    ),
    "another proxy": ("st.u32 [a], 5; barrier.sync 0;", "barrier.sync 0; ld.global.nc.u32 x, [a]; st.u32 [o], x;", 2),
}  # fmt: skip


def module_of(first: str, others: str) -> ptxspec.Module:
    return ptxspec.load(f"{HEAD}@p bra R;\n{first}\nret;\nR: {{ {others} }}\nret;\n}}")


def args_of(box: int = 4) -> list[np.ndarray]:
    return [np.zeros(box, np.uint32), np.full(4, 9, np.uint32)]


def bytes_of(arrays: Any) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in arrays)


@pytest.mark.parametrize("name", BODIES)
def test_launches_with_stale_reads_leave_these(name: str) -> None:
    *bodies, count = BODIES[name]
    module, args = module_of(*bodies), args_of()
    outcomes = ptxspec.outcomes(module, "k", block=2, args=args)
    assert outcomes.complete and not outcomes.notes and len(outcomes.memories) == count
    assert bytes_of(args) == bytes_of(args_of())
    left, allowed = set(), {bytes_of(memory.arrays) for memory in outcomes.memories}
    for seed in range(60 if count == 1 else 400):
        given = args_of()
        module.launch("k", block=2, args=given, engine="exact", schedule=f"weakest:{seed}")
        left.add(bytes_of(given))
        assert left <= allowed
        if len(left) == count > 1:
            break
    assert left == allowed


def agree(seed: int) -> bool:
    """Whether a random program has the same outcomes as a kernel and as a litmus test; none is asked about if it has barriers."""
    program = drawn(seed)
    if program.lanes > 1:
        return False
    count = len(program.columns)
    args = [np.zeros(2, np.uint32), np.zeros(REGISTERS * count, np.uint32)]
    outcomes = ptxspec.outcomes(ptxspec.load(program.kernel()), "k", 2, (1, count), args)
    left = set()
    for memory in outcomes.memories:
        held, registers = (array.tolist() for array in memory.arrays if array is not None)
        names = {f"P{t}:r{k}": registers[REGISTERS * t + k] for t in range(count) for k in range(REGISTERS)}
        names |= {"x": held[0], "y": held[1]}
        left.add(tuple(names[value] for value in program.values))
    assert outcomes.complete and left == program.allowed(), f"{seed}\n{program.litmus()}"
    return True


@pytest.mark.slow
def test_random_programs() -> None:
    assert sum(map(agree, range(40))) > 20


@pytest.mark.slow
def test_more_random_programs() -> None:
    assert sum(map(agree, range(40, 400))) > 200


def test_a_witness_is_an_execution_that_leaves_the_memory() -> None:
    outcomes = ptxspec.outcomes(
        module_of("st.u32 [a], 1;", "ld.u32 x, [a]; st.u32 [o], x;"), "k", block=2, args=args_of()
    )
    for memory in outcomes.memories:
        (read,) = [operation for operation in memory.witness.operations if operation.name == "P1.1"]
        assert memory.arrays[1] is not None and memory.arrays[1].tolist() == [9, 9, read.reads, 9]
        assert memory.witness.final["argument 1 (out) at 8"] == read.reads
        assert memory.witness.svg().startswith("<svg")


def test_what_was_not_looked_at_is_said() -> None:
    spin = module_of(
        "st.relaxed.cta.u32 [a], 1;", "L: ld.relaxed.cta.u32 x, [a]; setp.ne.u32 p, x, 1; @p bra L; st.u32 [o], x;"
    )
    outcomes = ptxspec.outcomes(spin, "k", block=2, args=args_of())
    assert (len(outcomes.memories), outcomes.complete, outcomes.notes) == (
        1,
        False,
        ("loops are taken at most 2 times",),
    )
    several = module_of("", "st.u32 [a], t;")
    assert ptxspec.outcomes(several, "k", block=2, args=args_of(), limit=1).complete
    outcomes = ptxspec.outcomes(several, "k", block=3, args=[np.zeros(4, np.uint32), np.zeros(6, np.uint32)], limit=1)
    assert (len(outcomes.memories), outcomes.complete, outcomes.notes) == (1, False, ("there are more than 1",))
    outcomes = ptxspec.outcomes(
        several, "k", block=3, args=[np.zeros(4, np.uint32), np.zeros(6, np.uint32)], timeout=0.0
    )
    assert not outcomes.complete and outcomes.notes == ("not all executions were looked at in time",)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ("shfl.sync.bfly.b32 y, x, 1, 31, 2;", "shfl"),
        ("mov.u32 x, %clock;", "%clock changes"),
        ("st.u32 [a+65536], 1;", "breaks a rule"),
        ("bar.warp.sync 1;", "does not name the lane"),
        ("barrier.sync 1, 64;", "a barrier of 64 threads"),
        ("ld.u32 x, [a]; mad.wide.u32 w, x, 4, a; st.u32 [w], 7;", "its address depends on what is read"),
    ],
)
def test_what_is_not_followed_is_refused(others: str, words: str) -> None:
    with pytest.raises(ptxspec.Unsupported, match=words):
        ptxspec.outcomes(module_of("", others), "k", block=2, args=args_of(2000))


def test_races_of_mixed_size_are_refused() -> None:
    with pytest.raises(ptxspec.Unsupported, match="the model says nothing of this program"):
        ptxspec.outcomes(module_of("st.u64 [a], 1;", "ld.u32 x, [a]; st.u32 [o], x;"), "k", block=2, args=args_of())


def test_large_launches_and_wrong_arguments_are_refused() -> None:
    module = module_of("", "")
    with pytest.raises(ptxspec.Unsupported, match="65 threads"):
        ptxspec.outcomes(module, "k", block=65, args=args_of())
    with pytest.raises(TypeError, match="takes 2 arguments"):
        ptxspec.outcomes(module, "k")
    with pytest.raises(ValueError, match="no entry is called"):
        ptxspec.outcomes(module, "other", args=args_of())
    memory = ptxspec.Memory()
    with pytest.raises(ptxspec.Unsupported, match="argument 0 is a Pointer"):
        ptxspec.outcomes(module, "k", args=[memory.allocate(16), args_of()[1]])
    open_branch = module_of("", "ld.u32 x, [a]; div.u32 x, 1, x; setp.eq.u32 p, x, 0; @p bra E; st.u32 [o], 1; E:")
    with pytest.raises(ptxspec.Unsupported, match="leaves open"):
        ptxspec.outcomes(open_branch, "k", block=2, args=args_of())
    with pytest.raises(ValueError, match="limit"):
        ptxspec.outcomes(module, "k", args=args_of(), limit=0)
