"""Numbers that a program takes from data, where an engine may have a use of its own for some: both say the same of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import ENGINES, text

import ptxspec

pytestmark = pytest.mark.sample(4)

FUNCTIONS = """
.extern .func (.param .b64 r) malloc(.param .b64 n);
.func zero() { ret; }
.func one(.reg .u32 a) { ret; }
.func (.reg .u32 r) two(.reg .u32 a) { add.u32 r, a, 1; ret; }
.func (.reg .u32 r) three(.reg .u32 a) { .reg .u64 f; .reg .u32 x; mov.u64 f, three; p: .callprototype (.reg .u32 r) _ (.reg .u32 a);
  setp.eq.u32 q, a, 0; mov.u32 r, a; @q ret; sub.u32 x, a, 1; call (r), f, (x), p; ret; .reg .pred q; }
""".replace("{ .reg .u64 f;", "{ .reg .pred q; .reg .u64 f;").replace(" ret; .reg .pred q; }", " ret; }")
#: what is done with the number in %rd2, and in %r2 its low half; %rd0 is a buffer of 64 bytes
USES = {
    "a call": "p: .callprototype _ (); call %rd2, p;",
    "a call with an argument": "p: .callprototype _ (.reg .u32 a); call %rd2, (%r2), p;",
    "a call with a result": "p: .callprototype (.reg .u32 r) _ (.reg .u32 a); call (%r3), %rd2, (7), p; st.global.u32 [%rd0], %r3;",
    "a call among some": "t: .calltargets zero; call %rd2, t;",
    "a guarded call": "setp.ne.u64 %p0, %rd0, 0; p: .callprototype _ (); @%p0 call %rd2, p;",
    "a branch": "t: .branchtargets A, B; brx.idx %r2, t; A: B:",
    "a piece of the stack": "alloca.u64 %rd3, %rd2; st.local.u8 [%rd3], 1;",
    "a small piece of the stack": "alloca.u32 %r3, %r2;",
    "an end of the stack": "stackrestore.u64 %rd2;",
    "a barrier": "bar.sync %r2;",
    "a count of threads": "bar.sync 1, %r2;",
    "a mask": "shfl.sync.idx.b32 %r3, %r2, 0, 31, %r2; st.global.u32 [%rd0], %r3;",
    "a vote": "vote.sync.ballot.b32 %r3, 1, %r2; st.global.u32 [%rd0], %r3;",
    "a load": "ld.global.u8 %r3, [%rd2];",
    "a wide load": "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd2];",
    "a store": "st.u8 [%rd2], 1;",
    "a load from shared memory": ".shared .u8 s[8]; ld.shared.u8 %r3, [%rd2]; ld.shared.u8 %r3, [%rd2+3]; ld.shared.u8 %r3, [s];",
    "a load of a parameter": "ld.param.u32 %r3, [%rd2];",
    "an addition in memory": "atom.add.u32 %r3, [%rd2], 1;",
    "a texture": "tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd2, {%r2}];",
    "a surface": "suld.b.1d.b32.trap %r3, [%rd2, {%r2}];",
    "a query": "txq.width.b32 %r3, [%rd2];",
    "bytes of the heap": "call (%rd3), malloc, (%rd2); st.global.u64 [%rd0], %rd3;",
}
NUMBERS = [
    0, 1, 2, 3, 15, 16, 17, 31, 32, 48, 64, 80, 96, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 32, (1 << 32) - 2, (1 << 32) - 1,
    1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 65536, (1 << 64) - 32, (1 << 64) - 16, (1 << 64) - 8, (1 << 64) - 2, (1 << 64) - 1,
]  # fmt: skip


def outcome(module: ptxspec.Module, engine: str, number: int, block: int) -> Any:
    out = np.zeros(16, np.uint32)
    try:
        steps = module.launch("k", 1, block, [out, np.uint64(number)], engine=engine, step_limit=100_000).steps
    except ptxspec.LaunchError as error:
        return error.rule, str(error), error.address
    return steps, out.tolist()


def third_of_numbers() -> list[Any]:
    """Each use with each third number, another third from use to use; the others are long tests."""
    return [
        pytest.param(use, NUMBERS[k::3], marks=() if k == number % 3 else pytest.mark.long, id=f"{use} {k}")
        for number, use in enumerate(USES)
        for k in range(3)
    ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("use", "numbers"), third_of_numbers())
def test_both_engines_say_the_same(use: str, numbers: list[int]) -> None:
    body = f"ld.param.u64 %rd0, [out]; ld.param.u64 %rd2, [number]; cvt.u32.u64 %r2, %rd2;\n{USES[use]}\nret;"
    source = text(body, parameters=".param .u64 out, .param .u64 number", module=FUNCTIONS)
    block = 33 if use in ("a barrier", "a count of threads", "a mask", "a vote") else 2
    modules = {engine: ptxspec.load(source) for engine in ENGINES}
    for number in numbers:
        exact, native = (outcome(modules[engine], engine, number, block) for engine in ENGINES)
        assert exact == native, hex(number)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_of_all_ones_goes_to_no_function(engine: str) -> None:
    body = "ld.param.u64 %rd2, [number]; p: .callprototype _ (); call %rd2, p; ret;"
    module = ptxspec.load(text(body, parameters=".param .u64 number", module=FUNCTIONS))
    with pytest.raises(ptxspec.LaunchError) as caught:
        module.launch("k", args=[np.uint64((1 << 64) - 1)], engine=engine)
    assert (caught.value.rule, caught.value.address) == ("call target", None)
    assert "0xffffffffffffffff" in caught.value.note
