"""A thread that another one waits for gets its turn; a launch that makes no progress ends."""

from __future__ import annotations

import numpy as np
import pytest
from launching import ENGINES, arguments, both, each, fault, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(4)

#: the loop stands before what comes after it, so that spinning threads are preferred over the one that sets the flag
SPIN = """
    .shared .u32 flag;
    setp.eq.u32 %p0, %r1, {setter};
    @%p0 bra AFTER;
WAIT:
    ld.volatile.shared.u32 %r4, [flag];
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra WAIT;
AFTER:
    @%p0 st.volatile.shared.u32 [flag], 7;
    ld.volatile.shared.u32 %r4, [flag];
    st.global.u32 [%rd1], %r4;
"""


@pytest.mark.parametrize("setter", [0, 1])
def test_a_thread_of_the_same_warp(setter: int) -> None:
    assert both(kernel(SPIN.format(setter=setter)), [np.zeros(2, np.uint32)], block=2)[0].tolist() == [7, 7]


def test_a_thread_of_another_warp() -> None:
    """Warp 0 but for one thread has ended; the last of warp 1 sets the flag."""
    source = kernel("setp.ge.u32 %p3, %r1, 1; setp.lt.and.u32 %p3, %r1, 33, %p3; @%p3 exit;" + SPIN.format(setter=33))
    out = both(source, [np.zeros(34, np.uint32)], block=34)[0]
    assert out.tolist() == [7] + [0] * 32 + [7]


def test_a_thread_of_another_cta() -> None:
    """A flag in global memory, set by the CTA that comes after."""
    source = kernel("""
        setp.ne.u32 %p0, %r2, 0;
        @%p0 bra AFTER;
    WAIT:
        ld.volatile.global.u32 %r4, [%rd0+8];
        setp.eq.u32 %p1, %r4, 0;
        @%p1 bra WAIT;
    AFTER:
        @%p0 st.volatile.global.u32 [%rd0+8], 3;
        st.global.u32 [%rd1], 1;
    """)
    assert both(source, [np.zeros(3, np.uint32)], block=1, grid=2)[0].tolist() == [1, 1, 3]


def test_a_token_passed_along() -> None:
    """Each thread waits for the one before it, in an order against that of the lanes."""
    source = kernel("""
        .shared .u32 token;
        sub.u32 %r5, %r3, 1;
        sub.u32 %r5, %r5, %r1;
    WAIT:
        ld.volatile.shared.u32 %r4, [token];
        setp.ne.u32 %p1, %r4, %r5;
        @%p1 bra WAIT;
        add.u32 %r6, %r5, 1;
        st.volatile.shared.u32 [token], %r6;
        mad.lo.u32 %r6, %r6, 10, %r1;
        st.global.u32 [%rd1], %r6;
    """)
    out = np.zeros(40, np.uint32)
    ptxspec.load(source).launch("k", block=40, args=[out], engine="native")
    assert out.tolist() == [(40 - t) * 10 + t for t in range(40)]


@pytest.mark.parametrize(
    "body",
    ["L: bra L;", "L: bra.uni L;", "A: bra B; B: bra A;", "L: add.u32 %r4, %r4, 1; bra L;",
     "setp.eq.u32 %p0, %r1, 1; L: @%p0 bra L; bar.sync 0;"],
)  # fmt: skip
def test_an_endless_loop_meets_the_limit(body: str) -> None:
    """Nobody in particular is at fault; what was written before is undone."""
    error = fault(kernel("st.global.u32 [%rd1], 99;" + body), [np.arange(4, dtype=np.uint32)], block=4, step_limit=5000)
    assert error.rule == "step limit"
    assert error.where is None and error.address is None
    assert "5,000" in error.note


STRAIGHT = kernel("st.global.u32 [%rd1], 5;")


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_are_counted(engine: str) -> None:
    """One for each instruction of each thread, whether its guard holds or not, the return at the end of the body among them."""
    module = ptxspec.load(
        text("""
        mov.u32 %r1, %tid.x;
        setp.eq.u32 %p0, %r1, 0;
        @%p0 mov.u32 %r2, 5;
        @%p0 exit;
        bar.sync 0;
    """)
    )
    assert module.launch("k", 3, 10, [np.zeros(1)], engine=engine).steps == 3 * (10 * 4 + 9 * 2)


@pytest.mark.parametrize("grid", [1, 5, 700])
def test_one_step_short(grid: int) -> None:
    for engine, module in each(STRAIGHT):
        args = arguments([np.zeros(4 * grid, np.uint32)])
        steps = module.launch("k", grid, 4, args, engine=engine).steps
        with pytest.raises(ptxspec.LaunchError) as caught:
            module.launch("k", grid, 4, arguments(args), engine=engine, step_limit=steps - 1)
        assert caught.value.rule == "step limit"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("grid", [1, 5, 700])
def test_just_enough_steps(engine: str, grid: int) -> None:
    """The limit is the most thread-instructions to execute."""
    module = ptxspec.load(STRAIGHT)
    out = np.zeros(4 * grid, np.uint32)
    steps = module.launch("k", grid, 4, [out], engine=engine).steps
    assert module.launch("k", grid, 4, [out], engine=engine, step_limit=steps).steps == steps


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_of_none(engine: str) -> None:
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(STRAIGHT).launch("k", args=[np.zeros(4, np.uint32)], engine=engine, step_limit=0)
    assert caught.value.rule == "step limit"


def test_a_launch_after_one_that_met_the_limit() -> None:
    """Nothing is left behind: the same module runs again, with its own count."""
    source = kernel("setp.eq.u32 %p0, %r1, 1; L: @%p0 bra L; st.global.u32 [%rd1], 5;")
    for engine, module in each(source):
        with pytest.raises(ptxspec.LaunchError):
            module.launch("k", 1, 2, [np.zeros(2, np.uint32)], engine=engine, step_limit=1000)
        out = np.zeros(1, np.uint32)
        assert module.launch("k", 1, 1, [out], engine=engine, step_limit=1000).steps < 20
        assert out.tolist() == [5]


# one order of turns --------------------------------------------------------------------------------------------------


def test_the_engines_blame_the_same_cta() -> None:
    """One CTA faults early on its way, one with a smaller number later: the machine says which comes first."""
    source = kernel("""
        mov.u64 %rd9, 0;
        setp.eq.u32 %p0, %r2, 20;
        @%p0 ld.global.u32 %r9, [%rd9];
        bra NEXT;
    NEXT:
        setp.eq.u32 %p0, %r2, 0;
        @%p0 ld.global.u32 %r9, [%rd9+4];
    """)
    fault(source, [np.zeros(32 * 64, np.uint32)], grid=32, block=64)


def test_races_between_ctas_come_out_the_same() -> None:
    source = kernel("""
        ld.global.u32 %r4, [%rd0];
        add.u32 %r4, %r4, 1;
        st.global.u32 [%rd0], %r4;
        bra NEXT;
    NEXT:
        ld.global.u32 %r4, [%rd0];
        mad.wide.u32 %rd1, %r0, 4, %rd0;
        st.global.u32 [%rd1+4], %r4;
    """)
    both(source, [np.zeros(32 * 64 + 1, np.uint32)], grid=32, block=64)


def test_spinning_beside_a_barrier_takes_as_long_under_both_engines() -> None:
    source = kernel("""
        .shared .u32 flag;
        setp.ge.u32 %p0, %r1, 32;
        @%p0 bra SPIN;
        bar.sync 1, 32;
        st.volatile.shared.u32 [flag], 1;
        ret;
    SPIN:
        add.u32 %r5, %r5, 1;
        ld.volatile.shared.u32 %r4, [flag];
        setp.eq.u32 %p1, %r4, 0;
        @%p1 bra SPIN;
        st.global.u32 [%rd0], %r5;
    """)
    assert both(source, [np.zeros(1, np.uint32)], block=33)[0][0] > 0
