"""Large kernels are compiled in pieces: they compute what the whole computes, in as many steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import ENGINES, HEADER, both, fault, kernel

import ptxspec
from ptxspec.machine import hosts
from ptxspec.machine.native import code, layout
from ptxspec.machine.native import engine as native

pytestmark = pytest.mark.sample(4)

#: functions that call one another and themselves, with results, frames of their own, a call through an address, and others' waits
FUNCTIONS = """
.func (.reg .u32 r) ack(.reg .u32 m, .reg .u32 n) {
  .reg .pred p; .reg .u32 k, x;
  setp.eq.u32 p, m, 0; @p bra ZERO;
  sub.u32 k, m, 1; setp.eq.u32 p, n, 0; @p bra ONE;
  sub.u32 x, n, 1; call (x), ack, (m, x); call (r), ack, (k, x); ret;
ONE: call (r), ack, (k, 1); ret;
ZERO: add.u32 r, n, 1; ret;
}
.func (.param .b32 r) even(.param .b32 n);
.func (.param .b32 r) odd(.param .b32 n) {
  .reg .u32 m; .reg .pred p; .param .b32 in, out; .local .u32 own; ld.param.u32 m, [n]; st.local.u32 [own], m;
  setp.eq.u32 p, m, 0; @p bra NO; sub.u32 m, m, 1; st.param.b32 [in], m; call (out), even, (in); ld.param.b32 m, [out];
  st.param.b32 [r], m; ret;
NO: barrier.sync 0; st.param.b32 [r], 0; ret;
}
.func (.param .b32 r) even(.param .b32 n) {
  .reg .u32 m; .reg .pred p; .param .b32 in, out; ld.param.u32 m, [n];
  setp.eq.u32 p, m, 0; @p bra YES; sub.u32 m, m, 1; st.param.b32 [in], m; call (out), odd, (in); ld.param.b32 m, [out];
  st.param.b32 [r], m; ret;
YES: barrier.sync 0; st.param.b32 [r], 1; ret;
}
"""
CALLS = kernel(
    """
    .param .b32 gives, gets; .shared .u32 s[64]; .reg .u64 f;
    and.b32 %r4, %r1, 1; add.u32 %r5, %r4, 1; and.b32 %r6, %r1, 3; call (%r7), ack, (%r5, %r6);
    and.b32 %r8, %r1, 7; st.param.b32 [gives], %r8; mov.u64 f, even; setp.lt.u32 %p1, %r1, 20; @%p1 mov.u64 f, odd;
    PICK: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (gets), f, (gives), PICK; ld.param.b32 %r9, [gets];
    mov.u32 %r10, 0; mov.u32 %r11, %r7;
    LOOP: mad.lo.u32 %r11, %r11, 3, %r10; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, %r1; @%p2 bra LOOP;
    shfl.sync.bfly.b32 %r12, %r11, 1, 31, 0xffffffff; mov.u64 %rd3, s; mad.wide.u32 %rd3, %r1, 4, %rd3; st.shared.u32 [%rd3], %r12;
    bar.sync 0; xor.b32 %r13, %r1, 5; mov.u64 %rd3, s; mad.wide.u32 %rd3, %r13, 4, %rd3; ld.shared.u32 %r14, [%rd3];
    setp.gt.u32 %p3, %r14, 100000; @%p3 bra FAR; add.u32 %r14, %r14, %r9; bra JOIN; FAR: sub.u32 %r14, %r14, %r9; JOIN:
    mov.u32 %r15, %clock; mad.lo.u32 %r14, %r15, 7, %r14; st.global.u32 [%rd1], %r14;
    """,
    module=FUNCTIONS,
)
WAYS = kernel("""
    mov.u32 %r5, 0; mov.u32 %r6, %r1;
    OUTER:
    and.b32 %r7, %r6, 3; TABLE: .branchtargets A, B, C, D; brx.idx %r7, TABLE;
    A: add.u32 %r6, %r6, 5; bra NEXT;
    B: mul.lo.u32 %r6, %r6, 3; bra NEXT;
    C: xor.b32 %r6, %r6, 0x155; bra NEXT;
    D: shr.u32 %r6, %r6, 1;
    NEXT: vote.sync.ballot.b32 %r8, 1, 0xffffffff; add.u32 %r6, %r6, 1; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 40; @%p1 bra OUTER;
    st.global.u32 [%rd1], %r6;
""")


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[int]:
    """Every kernel is large, and its pieces have about as many lines as is said; how many pieces there were."""
    monkeypatch.setattr(code, "LARGE", 0)
    monkeypatch.setattr(code, "PIECE", request.param)
    found: list[int] = []
    plain = layout.Layout.divide

    def noted(self: layout.Layout, ranges: Any) -> None:
        found.append(len(ranges))
        plain(self, ranges)

    monkeypatch.setattr(layout.Layout, "divide", noted)
    return found


SIZES = [1, 150, 10**6]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("pieces", SIZES, indirect=True)
@pytest.mark.parametrize("checked", ["0", "1"])
@pytest.mark.parametrize("source", [CALLS, WAYS], ids=["calls", "ways"])
def test_pieces_compute_what_the_whole_does(
    source: str, checked: str, pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recursion across pieces, calls through addresses, waits in functions, narrow loops, lists of branches, clocks."""
    monkeypatch.setenv(hosts.VARIABLE, checked)
    found = both(source, [np.zeros(64, np.uint32)], block=64)[0]
    assert len(set(found.tolist())) > 8
    blocks = max(pieces)
    assert (blocks > 8) if code.PIECE == 1 else (blocks > 1) == (code.PIECE == 150)
    with monkeypatch.context() as whole:
        whole.setattr(code, "LARGE", 8_000)
        out = np.zeros(64, np.uint32)
        ptxspec.load(source).launch("k", block=64, args=[out])
        assert pieces[-1] == 1 and np.array_equal(out, found)


@pytest.mark.parametrize("pieces", [1], indirect=True)
def test_recursion_that_has_no_room_left(pieces: list[int]) -> None:
    source = f"""{HEADER}
    .func (.reg .u32 r) down(.reg .u32 n) {{ .reg .u32 m; .local .b8 big[4096]; add.u32 m, n, 1; call (r), down, (m); add.u32 r, r, m; ret; }}
    .visible .entry k(.param .u64 out) {{ .reg .u32 r; .reg .u64 o; call (r), down, (0); ld.param.u64 o, [out]; st.global.u32 [o], r; ret; }}"""
    assert fault(source, [np.zeros(1, np.uint32)], block=3).rule == "stack"


@pytest.mark.parametrize("pieces", [1], indirect=True)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_fault_in_the_midst(engine: str, pieces: list[int]) -> None:
    """The instruction and the thread are named as they are for a whole kernel."""
    source = kernel(
        "bar.sync 0; setp.eq.u32 %p1, %r1, 37; @!%p1 bra FINE; st.global.u32 [%rd1+4096], 5; FINE: bar.sync 0;"
    )
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(source).launch("k", block=40, args=[np.zeros(40, np.uint32)], engine=engine)
    assert caught.value.rule == "out of bounds" and caught.value.where is not None
    assert caught.value.where.thread == (37, 0, 0)


# memory ------------------------------------------------------------------------------------------------------------------


MANY = [f"%envreg{i}" for i in range(32)] + [f"%pm{i}" for i in range(8)] + ["%lanemask_lt", "%smid"]
SPECIAL = kernel("".join(f"mov.u32 %r5, {n}; add.u32 %r6, %r6, %r5;" for n in MANY) + "st.global.u32 [%rd1], %r6;")


@pytest.mark.parametrize("source", [CALLS, WAYS, SPECIAL], ids=["calls", "ways", "special"])
def test_a_resident_thread_takes_no_more_than_is_said(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All arrays of a launch beside those of its memory, a thread; what each launch has once is not counted."""
    from ptxspec.machine.program import state_bytes

    seen: list[tuple[int, int]] = []
    plain = native.NativeRun.__init__

    def measured(self: native.NativeRun, compiled: Any, program: Any, *rest: Any) -> None:
        plain(self, compiled, program, *rest)
        own = {n: a for n, a in self.arrays.items() if n not in ("const", "param", "shared", "banks")}
        fixed = sum(a.nbytes for n, a in own.items() if n == "tile") + 16_384
        seen.append((sum(a.nbytes for a in own.values()) - fixed, state_bytes(program) * compiled.layout.capacity))

    monkeypatch.setattr(native.NativeRun, "__init__", measured)
    for grid in (1, 300):
        ptxspec.load(source).launch("k", grid=grid, block=64, args=[np.zeros(grid * 64, np.uint32)])
    assert len(seen) == 2 and all(used <= said for used, said in seen), seen
