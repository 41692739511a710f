"""Narrow loops: threads go through them side by side, and each as if it had gone alone."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from effort import at_most
from launching import ENGINES, HEADER, both, kernel, text

import ptxspec
from ptxspec.machine.flow import FlowGraph
from ptxspec.machine.native import engine as native
from ptxspec.terms import object_code

pytestmark = pytest.mark.sample(4)

SCHEDULE: Any = importlib.import_module("ptxspec.spec.machine.schedule")
WIDE_BLOCK = 150  # more threads than go side by side, and no multiple


@pytest.fixture(params=[None, 1, 9])
def turn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Turns as long as the page says, of one instruction, and of a few whole rounds of short loops."""
    if request.param is not None:
        monkeypatch.setattr(SCHEDULE, "TURN", request.param)
    return SCHEDULE.TURN


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many narrow loops each kernel had that was compiled: a test without any would say nothing."""
    found: list[int] = []
    plain = native.CompiledKernel.__init__

    def noted(self: native.CompiledKernel, program: Any, *rest: Any) -> None:
        found.append(len(program.flow.narrow))
        plain(self, program, *rest)

    monkeypatch.setattr(native.CompiledKernel, "__init__", noted)
    return found


def words(source: str, block: int = WIDE_BLOCK, **how: Any) -> list[int]:
    return both(source, [np.full(block, 0xDEAD, np.uint32)], block=block, **how)[0].tolist()


def test_a_loop_whose_rounds_differ(turn: int, narrow: list[int]) -> None:
    source = kernel("""
        mov.u32 %r5, 0; mov.u32 %r6, 0;
    LOOP:
        mad.lo.u32 %r5, %r5, 3, %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r1; @%p1 bra LOOP;
        st.global.u32 [%rd1], %r5;
    """)

    def expected(t: int) -> int:
        value = 0
        for i in range(max(t, 1)):
            value = value * 3 + i
        return value % 2**32

    assert words(source) == [expected(t) for t in range(WIDE_BLOCK)]
    assert narrow == [1]


def test_the_loop_is_left_where_the_guard_holds(turn: int, narrow: list[int]) -> None:
    """The branch back is what follows, in text; the way out is the branch."""
    source = kernel("""
        mov.u32 %r5, %r1;
    LOOP:
        add.u32 %r5, %r5, 7; and.b32 %r6, %r5, 15; setp.eq.u32 %p1, %r6, 3; @!%p1 bra LOOP;
        st.global.u32 [%rd1], %r5;
    """)

    def expected(t: int) -> int:
        t += 7
        while t & 15 != 3:
            t += 7
        return t

    assert words(source) == [expected(t) for t in range(WIDE_BLOCK)]
    assert narrow == [1]


def test_several_ways_out(turn: int, narrow: list[int]) -> None:
    """A loop in a loop: the inner one is narrow, and the outer one leads back to it, on to another, or out."""
    source = kernel("""
        mov.u32 %r5, %r1; mov.u32 %r7, 0;
    INNER:
        add.u32 %r5, %r5, 5; and.b32 %r6, %r5, 7; setp.ne.u32 %p1, %r6, 1; @%p1 bra INNER;
        add.u32 %r7, %r7, 1; and.b32 %r8, %r5, 24; setp.eq.u32 %p2, %r8, 0; @%p2 bra FIRST;
        setp.gt.u32 %p2, %r7, 5; @%p2 bra SECOND;
        bra INNER;
    FIRST:
        add.u32 %r5, %r5, 1000;
        bra DONE;
    SECOND:
        mul.lo.u32 %r5, %r5, 3;
    DONE:
        st.global.u32 [%rd1], %r5;
    """)

    def expected(t: int) -> int:
        count = 0
        while True:
            t += 5
            while t & 7 != 1:
                t += 5
            count += 1
            if t & 24 == 0:
                return t + 1000
            if count > 5:
                return t * 3

    assert words(source) == [expected(t) for t in range(WIDE_BLOCK)]
    assert narrow == [1]


def test_guards_predicates_and_registers_of_all_widths(turn: int, narrow: list[int]) -> None:
    source = kernel("""
        mov.u32 %r5, 0; mov.u64 %rd5, 0x100000001; mov.u16 %h1, 65500; mov.f32 %f1, 0f3F800000; mov.f64 %fd1, 0d3FF0000000000000;
        setp.eq.u32 %p3, %r1, 9999;
    LOOP:
        and.b32 %r6, %r5, 1; setp.eq.u32 %p2, %r6, 0;
        @%p2 mul.lo.u64 %rd5, %rd5, 6364136223846793005;
        @!%p2 add.u64 %rd5, %rd5, %rd1;
        @%p2 add.u16 %h1, %h1, 7;
        fma.rn.f32 %f1, %f1, 0f3FC00000, %f1; add.f64 %fd1, %fd1, %fd1;
        @%p2 not.pred %p3, %p3;
        add.u32 %r5, %r5, 1; setp.le.u32 %p1, %r5, %r1; @%p1 bra LOOP;
        sub.u64 %rd5, %rd5, %rd0; cvt.u32.u64 %r7, %rd5; shr.u64 %rd6, %rd5, 32; cvt.u32.u64 %r8, %rd6; xor.b32 %r7, %r7, %r8;
        cvt.u32.u16 %r8, %h1; mad.lo.u32 %r7, %r7, 31, %r8; mov.b32 %r8, %f1; xor.b32 %r7, %r7, %r8;
        mov.b64 {%r8, %r9}, %fd1; xor.b32 %r7, %r7, %r9; selp.u32 %r8, 77, 99, %p3; add.u32 %r7, %r7, %r8;
        st.global.u32 [%rd1], %r7;
    """)
    assert len(set(words(source))) > 100
    assert narrow == [1]


def test_special_registers_inside(turn: int, narrow: list[int]) -> None:
    source = kernel("""
        mov.u32 %r5, 0; mov.u32 %r7, 0;
    LOOP:
        mov.u32 %r6, %laneid; add.u32 %r7, %r7, %r6; mov.u32 %r6, %tid.x; add.u32 %r7, %r7, %r6; mov.u32 %r6, %nctaid.x;
        add.u32 %r7, %r7, %r6; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 6; @%p1 bra LOOP;
        st.global.u32 [%rd1], %r7;
    """)
    assert words(source) == [6 * (t % 32 + t + 1) for t in range(WIDE_BLOCK)]
    assert narrow == [1]


def test_a_clock_is_read_by_a_thread_alone(narrow: list[int]) -> None:
    source = kernel("""
        mov.u32 %r5, 0;
    LOOP:
        mov.u32 %r6, %clock; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 6; @%p1 bra LOOP;
        st.global.u32 [%rd1], %r6;
    """)
    assert len(set(words(source, 70))) == 70
    assert narrow == [0]


def test_the_clock_after_a_loop_counts_its_rounds(turn: int, narrow: list[int]) -> None:
    source = kernel("""
        mov.u32 %r5, 0;
    LOOP:
        add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r1; @%p1 bra LOOP;
        mov.u32 %r6, %clock;
        st.global.u32 [%rd1], %r6;
    """)
    assert len(set(words(source, 130))) == 130
    assert narrow == [1]


def test_a_loop_at_the_entry(turn: int, narrow: list[int]) -> None:
    source = text("""
    TOP:
        add.u32 %r5, %r5, 3; mov.u32 %r1, %tid.x; setp.lt.u32 %p0, %r5, %r1; @%p0 bra TOP;
        ld.param.u64 %rd0, [out]; mad.wide.u32 %rd1, %r1, 4, %rd0; st.global.u32 [%rd1], %r5;
    """)
    assert words(source) == [max(3, -(-t // 3) * 3) for t in range(WIDE_BLOCK)]
    assert narrow == [1]


def test_a_loop_that_leads_to_another(turn: int, narrow: list[int]) -> None:
    source = kernel("""
        mov.u32 %r5, 0;
    ONE:
        add.u32 %r5, %r5, 3; setp.lt.u32 %p0, %r5, %r1; @%p0 bra ONE;
    TWO:
        sub.u32 %r5, %r5, 1; and.b32 %r6, %r5, 3; setp.ne.u32 %p0, %r6, 0; @%p0 bra TWO;
    THREE:
        add.u32 %r5, %r5, 11; setp.lt.u32 %p0, %r5, 200; @%p0 bra THREE;
        st.global.u32 [%rd1], %r5;
    """)

    def expected(t: int) -> int:
        value = max(3, -(-t // 3) * 3)
        value = (value - 1) // 4 * 4
        return max(value + 11, value + -(-(200 - value) // 11) * 11)

    assert words(source) == [expected(t) for t in range(WIDE_BLOCK)]
    assert narrow == [3]


def test_a_loop_that_leads_to_the_end(turn: int, narrow: list[int]) -> None:
    """The last block of a kernel."""
    source = text("""
        ld.param.u64 %rd0, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd0; st.global.u32 [%rd1], 5;
    LOOP:
        add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, %r1; @%p0 bra LOOP;
    """)
    assert words(source) == [5] * WIDE_BLOCK
    assert narrow == [1]


def test_threads_that_wait_before_and_after(turn: int, narrow: list[int]) -> None:
    """What they learned from one another goes into the loop, and what comes out is told again."""
    source = kernel("""
        shfl.sync.down.b32 %r5, %r1, 1, 31, 0xffffffff; mov.u32 %r6, 0;
    LOOP:
        add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, %r1; @%p0 bra LOOP;
        bar.sync 0; shfl.sync.up.b32 %r7, %r5, 1, 0, 0xffffffff;
        st.global.u32 [%rd1], %r7;
    """)

    def before(t: int) -> int:
        return (t + 1 if t % 32 < 31 else t) + sum(range(max(t, 1)))

    assert words(source, 128) == [before(t - 1 if t % 32 else t) for t in range(128)]
    assert narrow == [1]


@pytest.mark.parametrize("guard", ["@%p0", "@!%p1"])
def test_an_endless_one(guard: str, narrow: list[int]) -> None:
    """Ended by the limit, at the same step under both engines."""
    source = kernel(f"setp.eq.u32 %p0, 0, 0; not.pred %p1, %p0; LOOP: add.u32 %r5, %r5, 1; {guard} bra LOOP;")
    for engine in ENGINES:
        with pytest.raises(ptxspec.LaunchError) as caught:
            ptxspec.load(source).launch(
                "k", block=70, args=[np.zeros(70, np.uint32)], engine=engine, step_limit=200_000
            )
        assert caught.value.rule == "step limit"
    assert narrow == [1]


@pytest.mark.parametrize("block", [1, 70])
def test_a_limit_in_the_midst_of_a_loop(block: int, turn: int) -> None:
    """As many steps as a launch takes are enough, one fewer is not, whichever engine counts."""
    source = kernel("LOOP: add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, %r1; @%p0 bra LOOP; st.global.u32 [%rd1], %r5;")
    for engine in ENGINES:
        module = ptxspec.load(source)

        def launch(limit: int | None, module: Any = module, engine: str = engine) -> int:
            how = {} if limit is None else {"step_limit": limit}
            return module.launch("k", block=block, args=[np.zeros(block, np.uint32)], engine=engine, **how).steps

        steps = launch(None)
        assert steps == sum(6 + 3 * max(t, 1) + 2 for t in range(block))
        assert launch(steps) == steps
        for fewer in (steps - 1, steps - 5, steps // 2):
            with pytest.raises(ptxspec.LaunchError, match="step limit"):
                launch(fewer)


def test_which_blocks_are_narrow_loops() -> None:
    """A block that goes back to itself and elsewhere by a guarded branch, and only computes."""
    cases = {
        "L: add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 9; @%p0 bra L;": 1,
        "L: ld.global.u32 %r5, [%rd0]; setp.lt.u32 %p0, %r5, 9; @%p0 bra L;": 0,
        "L: st.shared.u32 [s], 1; setp.lt.u32 %p0, %r5, 9; @%p0 bra L;": 0,
        "L: bra L;": 0,
        "L: add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 9; @%p0 bra M; M: bra L;": 0,
        "L: mov.u64 %rd4, %globaltimer; setp.lt.u64 %p0, %rd4, 9; @%p0 bra L;": 0,
    }
    for body, count in cases.items():
        checked = ptxspec.load(kernel(".shared .u32 s;" + body)).checked
        (entry,) = checked.kernels.values()
        assert len(FlowGraph(entry).narrow) == count, body


def test_registers_that_only_the_loop_writes(turn: int, narrow: list[int]) -> None:
    """One that is written in the first round and read in the next, and afterwards; another that nobody reads."""
    source = f"""{HEADER}.visible .entry k(.param .u64 out) {{ .reg .u32 a, b, c, n, t; .reg .u64 o; .reg .pred p;
      mov.u32 t, %tid.x; mov.u32 n, 0; mov.u32 b, 0;
    LOOP: mov.u32 c, a; add.u32 a, n, t; add.u32 b, b, c; add.u32 n, n, 1; setp.le.u32 p, n, t; @p bra LOOP;
      ld.param.u64 o, [out]; mad.wide.u32 o, t, 4, o; st.global.u32 [o], b; ret; }}"""
    assert words(source) == [sum(i + t for i in range(t)) for t in range(WIDE_BLOCK)]
    assert narrow == [1]


@pytest.mark.parametrize(("type", "sum"), [("64", "vmad.u32.s32.u32.sat.shr15 %r5, %r6, %r3, -%r3;"), ("32", "")])
def test_the_sign_of_one_and_the_rest_of_another(type: str, sum: str) -> None:
    """LLVM makes masked logic of three vectors of that, with an operand in memory: tests/terms/test_masked_logic.py."""
    register = {"64": "%rd", "32": "%r"}[type]
    source = f"""{HEADER}.visible .entry k(.param .u64 out) {{
        .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;
        ld.param.u64 %rd0, [out];
    L:
        {sum} copysign.f{type} {register}1, {register}1, {register}2;
        @%p1 bra L;
        st.global.u{type} [%rd0], {register}1; st.global.u32 [%rd0+8], %r5;
    }}"""
    assert both(source, [np.full(4, 7, np.uint32)])[0].tolist() == [0, 0 if type == "64" else 7, 0, 7]


def test_llvm_says_nothing_of_a_loop_that_calls(narrow: list[int], capfd: pytest.CaptureFixture[str]) -> None:
    source = kernel("""
        mov.f32 %f1, 0f3F800001; mov.u32 %r5, 0;
    LOOP:
        add.rz.f32 %f1, %f1, %f1; add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 9; @%p0 bra LOOP;
        st.global.f32 [%rd1], %f1;
    """)
    words(source)
    assert capfd.readouterr().err == "" and narrow == [1]


@pytest.mark.parametrize("call", ["call (%r5), f, (%r1);", "{ mov.u64 %rd2, f; call (%r5), %rd2, (%r1), P; }"])
def test_a_function_that_begins_with_one(turn: int, narrow: list[int], call: str) -> None:
    """Threads gather there that a call sends there, by the function's name or by its address."""
    function = """.func (.reg .b32 o) f (.reg .b32 i) { .reg .pred p;
    L: add.u32 i, i, 1; setp.lt.u32 p, i, 342; @p bra L; mov.u32 o, i; ret; }"""
    prototype = "P: .callprototype (.reg .b32 _) _ (.reg .b32 _);"
    assert words(kernel(prototype + call + "st.global.u32 [%rd1], %r5;", module=function)) == [342] * WIDE_BLOCK
    assert narrow == [1]


def test_a_turn_may_end_behind_one(turn: int, narrow: list[int]) -> None:
    """A thread that comes out of a loop with its turn spent, and goes back, waits until the others have had theirs."""
    source = kernel("""
        .reg .b32 most, i; setp.eq.u32 %p0, %r1, 0; selp.u32 most, 342, 5, %p0; mov.u32 i, 0; mov.u32 %r9, 0;
        bra HEAD;
    N:  add.u32 i, i, 1; setp.lt.u32 %p1, i, most; @%p1 bra N;
    HEAD: atom.global.add.u32 %r5, [tickets], 1; st.global.u32 [%rd1], %r5;
        mov.u32 i, 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 2; @%p2 bra N;
    """, module=".global .u32 tickets;")  # fmt: skip
    found = words(source)
    assert sorted(found) == list(range(WIDE_BLOCK, 2 * WIDE_BLOCK))
    assert found[0] == 2 * WIDE_BLOCK - 1
    assert narrow == [1]


@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("store", ["", "st.global.u32 [%rd1], %r5;"], ids=["narrow", "with a store"])
@pytest.mark.parametrize(
    "operation",
    [
        "fma.rn.bf16x2 %r5, %r5, %r6, %r7;",
        "add.rn.bf16x2 %r5, %r5, %r6;",
        "fma.rn.bf16 %h1, %h1, %h2, %h3;",
        "fma.rn.f16x2 %r5, %r5, %r6, %r7;",
    ],
)
def test_wide_sums_in_a_loop_are_compiled_soon(
    operation: str, store: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of sums of hundreds of bits, vectors took LLVM a minute. Now the operation stands in a function of its own."""
    monkeypatch.setenv(object_code.VARIABLE, "0")
    body = f"{operation}\n" * times
    source = kernel(f"""
        mad.lo.u32 %r5, %r1, 0x01230456, 0x3f803f90; mad.lo.u32 %r6, %r1, 0x00450089, 0xbf003f81; mad.lo.u32 %r7, %r1, 0x77, 0x3d003d81;
        cvt.u16.u32 %h1, %r5; cvt.u16.u32 %h2, %r6; cvt.u16.u32 %h3, %r7; mov.u32 %r8, 0;
    LOOP:
        {body} {store} add.u32 %r8, %r8, 1; setp.lt.u32 %p0, %r8, 2; @%p0 bra LOOP;
        cvt.u32.u16 %r6, %h1; xor.b32 %r5, %r5, %r6; st.global.u32 [%rd1], %r5;
    """)
    module, out = ptxspec.load(source), np.zeros(9, np.uint32)
    with at_most(8_000):
        module.launch("k", block=9, args=[out])
    assert len(set(out.tolist())) > 1
    if times == 1:
        assert words(source, 9) == out.tolist()
