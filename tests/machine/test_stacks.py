"""Memory on a thread's stack: alloca, what gives it back, and how long it lives. Programs that nvcc made are among them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launching import both, fault, kernel

import ptxspec
from ptxspec.machine.whole_kernels import linked

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from mutants import modules

pytestmark = pytest.mark.sample(8)


def threads(body: str, count: int = 40, module: str = "", **how: Any) -> list[int]:
    """The word that each thread leaves."""
    return both(kernel(body, module=module), [np.zeros(count, np.uint32)], block=count, **how)[0].tolist()


def broken(body: str, module: str = "") -> ptxspec.LaunchError:
    return fault(kernel(body, module=module), [np.zeros(1, np.uint32)])


def test_each_thread_has_as_much_as_it_asks_for() -> None:
    """Sizes that differ from lane to lane, and are not multiples of anything; a sum of the bytes that were written."""
    body = """
    mul.lo.u32 %r4, %r0, 7; cvt.u64.u32 %rd2, %r4; alloca.u64 %rd3, %rd2;
    mov.u32 %r5, 0; mov.u32 %r6, 0;
FILL: setp.ge.u32 %p0, %r5, %r4; @%p0 bra READ;
    cvt.u64.u32 %rd4, %r5; add.u64 %rd4, %rd3, %rd4; st.local.u8 [%rd4], %r5; add.u32 %r5, %r5, 1; bra FILL;
READ: mov.u32 %r5, 0;
NEXT: setp.ge.u32 %p0, %r5, %r4; @%p0 bra DONE;
    cvt.u64.u32 %rd4, %r5; add.u64 %rd4, %rd3, %rd4; ld.local.u8 %r7, [%rd4]; add.u32 %r6, %r6, %r7; add.u32 %r5, %r5, 1; bra NEXT;
DONE: st.global.u32 [%rd1], %r6;
"""
    assert threads(body) == [sum(i % 256 for i in range(7 * t)) for t in range(40)]


@pytest.mark.parametrize("align", [1, 2, 4, 8, 16, 128, 4096, 1 << 14])
def test_alignment(align: int) -> None:
    body = f"""
    alloca.u64 %rd2, 3, {align}; alloca.u64 %rd3, %rd9, {align}; alloca.u32 %r4, 5, {align};
    or.b64 %rd2, %rd2, %rd3; cvt.u64.u32 %rd3, %r4; or.b64 %rd2, %rd2, %rd3;
    and.b64 %rd2, %rd2, {align - 1}; cvt.u32.u64 %r5, %rd2; st.global.u32 [%rd1], %r5;
"""
    assert threads(body, 2) == [0, 0]
    default = body.replace(f", {align};", ";")
    assert threads(default.replace(f"{align - 1};", "7;"), 1) == [0]


def test_pieces_do_not_overlap_and_begin_as_zeros() -> None:
    """Also where a piece lies on what was there before."""
    body = """
    stacksave.u64 %rd5;
    alloca.u64 %rd2, 4; alloca.u64 %rd3, 4; st.local.u32 [%rd2], 11; st.local.u32 [%rd3], 300;
    ld.local.u32 %r4, [%rd2]; ld.local.u32 %r5, [%rd3]; add.u32 %r4, %r4, %r5;
    stackrestore.u64 %rd5; alloca.u64 %rd6, 4; setp.eq.u64 %p0, %rd6, %rd2; @%p0 add.u32 %r4, %r4, 5000;
    ld.local.u32 %r5, [%rd6]; add.u32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4;
"""
    assert threads(body, 3) == [5311] * 3


def test_generic_addresses_and_guards() -> None:
    """Of the threads, the even ones reserve memory; only these reach it."""
    body = """
    and.b32 %r4, %r0, 1; setp.eq.u32 %p0, %r4, 0; mov.u32 %r5, 9;
    @%p0 alloca.u64 %rd2, 8; @%p0 cvta.local.u64 %rd2, %rd2; @%p0 st.u32 [%rd2+4], %r0; @%p0 ld.u32 %r5, [%rd2+4];
    stacksave.u64 %rd3; @!%p0 alloca.u64 %rd3, 100; @!%p0 st.local.u32 [%rd3+96], %r0; @!%p0 ld.local.u32 %r5, [%rd3+96];
    @%p0 stackrestore.u64 %rd3;
    st.global.u32 [%rd1], %r5;
"""
    assert threads(body, 6) == [0, 1, 2, 3, 4, 5]


RECURSION = """
.func (.param .b32 r) total(.param .b32 n) {
  .reg .u32 a, b, s; .reg .u64 p; .reg .pred q; .param .b32 x, y; .local .u32 mine;
  ld.param.u32 a, [n]; mov.u32 s, 0; st.local.u32 [mine], a; setp.eq.u32 q, a, 0; @q bra DONE;
  alloca.u32 s, a; cvt.u64.u32 p, s; st.local.u8 [p], a;
  sub.u32 b, a, 1; st.param.b32 [x], b; call (y), total, (x); ld.param.u32 s, [y];
  ld.local.u8 b, [p]; add.u32 s, s, b; ld.local.u32 b, [mine]; mad.lo.u32 s, b, 1000, s;
DONE: st.param.b32 [r], s; ret;
}
"""


def test_recursion_with_memory_of_every_activation() -> None:
    body = "call (%r4), total, (%r0); alloca.u64 %rd2, 4; st.local.u32 [%rd2], %r4; ld.local.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;"
    assert threads(body, 20, RECURSION) == [1001 * t * (t + 1) // 2 for t in range(20)]


def test_indirect_calls() -> None:
    body = """
    mov.u64 %rd2, total; P: .callprototype (.param .b32 _) _ (.param .b32 _);
    alloca.u64 %rd3, 16; st.local.u32 [%rd3+12], 5; call (%r4), %rd2, (%r0), P; ld.local.u32 %r5, [%rd3+12];
    add.u32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4;
"""
    assert threads(body, 5, RECURSION) == [1001 * t * (t + 1) // 2 + 5 for t in range(5)]


def addresses(body: str, count: int, **how: Any) -> list[int]:
    """What a thread leaves in the first registers from %rd2 on."""
    stores = " ".join(f"st.global.u64 [%rd1+{8 * i}], %rd{2 + i};" for i in range(count))
    return both(kernel(f"{body} {stores}"), [np.zeros(count, np.uint64)], block=1, **how)[0].tolist()


def test_the_stack_grows_towards_lower_addresses() -> None:
    """AMB-191: a piece lies below the one before, and its address is the stack's end then."""
    first, second, third = addresses("alloca.u64 %rd2, 20; alloca.u64 %rd3, 100, 64; stacksave.u64 %rd4;", 3)
    assert 0 < second <= first - 100 and third == second and second % 64 == 0
    before, inside, after = addresses(
        "alloca.u64 %rd2, 8; stacksave.u64 %rd9; alloca.u64 %rd3, 8; stackrestore.u64 %rd9; stacksave.u64 %rd4;", 3
    )
    assert inside < before == after


def test_frames_of_calls_lie_lower_too() -> None:
    """What a called function has lies below what its callers have, at any depth."""
    module = """
.func (.reg .u64 least) down(.reg .u32 n) {
  .local .align 8 .b8 own[24]; .reg .u64 p, q, r; .reg .u32 m; .reg .pred more, lower;
  mov.u64 p, own; alloca.u64 q, 8; setp.lt.u64 lower, q, p; selp.b64 least, q, 0, lower;
  setp.eq.u32 more, n, 0; @more bra E; sub.u32 m, n, 1; call (r), down, (m); setp.lt.u64 lower, r, q; selp.b64 least, r, 0, lower;
E: ret; }
"""
    body = "alloca.u64 %rd2, 8; call (%rd3), down, (3); setp.lt.u64 %p0, %rd3, %rd2; setp.ne.and.u64 %p0, %rd3, 0, %p0; selp.b32 %r4, 1, 0, %p0; st.global.u32 [%rd1], %r4;"
    assert threads(body, 3, module) == [1, 1, 1]


def test_a_saved_end_serves_as_often_as_the_stack_comes_back_to_it() -> None:
    """In a loop, in nested pieces, through other registers, and after calls that have stacks of their own."""
    body = """
    stacksave.u64 %rd2; mov.u32 %r4, 0;
L:  stacksave.u32 %r5; alloca.u64 %rd3, 600; st.local.u32 [%rd3], %r4; stacksave.u64 %rd4; alloca.u64 %rd5, 600; call (%rd6), reserves;
    stackrestore.u64 %rd4; stackrestore.u64 %rd4; ld.local.u32 %r6, [%rd3]; add.u64 %rd7, %rd2, 5; sub.u64 %rd7, %rd7, 5;
    stackrestore.u64 %rd7; stackrestore.u32 %r5; add.u32 %r4, %r4, 1; setp.lt.u32 %p0, %r4, 500; @%p0 bra L;
    add.u32 %r6, %r6, %r0; st.global.u32 [%rd1], %r6;
"""
    assert threads(body, 3, KEEPS) == [499, 500, 501]


def test_guarded_saves_and_what_other_threads_save() -> None:
    """Only the end of a thread that has saved it is an operand for it."""
    body = "and.b32 %r4, %r0, 1; setp.eq.u32 %p0, %r4, 0; alloca.u64 %rd2, 8; @%p0 stacksave.u64 %rd2; alloca.u64 %rd3, 8; COME stackrestore.u64 %rd2; st.global.u32 [%rd1], %r0;"
    assert threads(body.replace("COME", "@%p0"), 6) == list(range(6))
    found = fault(kernel(body.replace("COME", "")), [np.zeros(6, np.uint32)], block=6)
    assert found.rule == "release" and "no end that stacksave has returned" in found.note


KEEPS = """
.func (.reg .u64 p) keeps() { .local .align 8 .b8 own[32]; mov.u64 p, own; ret; }
.func (.reg .u64 p) reserves() { alloca.u64 p, 64; ret; }
.func (.reg .u64 p) saves() { .reg .u64 q; alloca.u64 q, 64; stacksave.u64 p; ret; }
.func restores(.reg .u64 p) { stackrestore.u64 p; ret; }
"""


@pytest.mark.parametrize(
    ("body", "rule", "at"),
    [
        ("alloca.u64 %rd2, 8; ld.local.u32 %r4, [%rd2+8];", "out of bounds", "ld.local.u32"),
        ("alloca.u64 %rd2, 8; ld.local.u32 %r4, [%rd2+-4];", "out of bounds", "ld.local.u32"),
        ("alloca.u64 %rd2, 7; ld.local.u32 %r4, [%rd2+4];", "out of bounds", "ld.local.u32"),
        ("alloca.u64 %rd2, 7; alloca.u64 %rd3, 7; st.local.u8 [%rd2+7], 1;", "out of bounds", "st.local.u8"),
        ("alloca.u64 %rd2, 0; ld.local.u8 %r4, [%rd2];", "out of bounds", "ld.local.u8"),
        ("stacksave.u64 %rd3; alloca.u64 %rd2, 8; stackrestore.u64 %rd3; ld.local.u32 %r4, [%rd2];", "use after end", "ld.local.u32"),
        ("alloca.u64 %rd2, 8; stacksave.u64 %rd3; alloca.u64 %rd4, 8; stackrestore.u64 %rd3; st.local.u8 [%rd4], 1;", "use after end", "st.local.u8"),
        ("alloca.u64 %rd2, 8; add.u64 %rd2, %rd2, 9; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        ("mov.u64 %rd2, 0; alloca.u64 %rd3, 8; sub.u64 %rd2, %rd2, 8; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        (".local .b32 a; alloca.u64 %rd3, 8; mov.u64 %rd2, a; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        ("alloca.u64 %rd2, 8; alloca.u64 %rd3, 8; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        ("alloca.u64 %rd2, 8; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        ("stacksave.u64 %rd2; alloca.u64 %rd3, 8; add.u64 %rd3, %rd3, 8; stackrestore.u64 %rd3;", "release", "stackrestore.u64"),
        ("stacksave.u64 %rd2; add.u64 %rd2, %rd2, 1; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        ("stacksave.u64 %rd2; alloca.u64 %rd3, 8; stacksave.u64 %rd4; stackrestore.u64 %rd2; stackrestore.u64 %rd4;", "release", "stackrestore.u64"),
        ("stacksave.u64 %rd2; alloca.u64 %rd3, 8; stacksave.u64 %rd4; stackrestore.u64 %rd2; alloca.u64 %rd3, 8; stackrestore.u64 %rd4;", "release", "stackrestore.u64"),
        ("stacksave.u64 %rd2; call restores, (%rd2);", "release", "stackrestore.u64"),
        ("call (%rd2), saves; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        ("call (%rd2), saves; alloca.u64 %rd3, 800; call (%rd4), reserves; stackrestore.u64 %rd2;", "release", "stackrestore.u64"),
        ("call (%rd2), keeps; alloca.u64 %rd3, 0; ld.local.u64 %rd3, [%rd2];", "use after end", "ld.local.u64"),
        ("call (%rd2), reserves; ld.local.u64 %rd3, [%rd2];", "use after end", "ld.local.u64"),
        ("alloca.u64 %rd2, 8; cvta.local.u64 %rd2, %rd2; ld.u64 %rd3, [%rd2+8];", "out of bounds", "ld.u64"),
        ("alloca.u64 %rd2, 65537;", "stack", "alloca.u64"),
        ("alloca.u64 %rd2, -1;", "stack", "alloca.u64"),
        ("alloca.u64 %rd2, 0x7fffffffffffffff;", "stack", "alloca.u64"),
        ("alloca.u32 %r4, 0xffffffff;", "stack", "alloca.u32"),
        ("alloca.u64 %rd2, 1, 8388608;", "stack", "alloca.u64"),
        ("L: alloca.u64 %rd2, 100; bra L;", "stack", "alloca.u64"),
        ("alloca.u64 %rd2, 65000; call (%rd3), reserves; call (%rd3), reserves; L: alloca.u64 %rd2, 600; call (%rd3), keeps;", "stack", "alloca"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_reported(body: str, rule: str, at: str) -> None:
    found = broken(body, KEEPS)
    assert found.rule == rule
    assert at in str(found)


def test_frames_are_noted_where_no_memory_is_reserved() -> None:
    found = broken("call (%rd2), keeps; ld.local.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;", KEEPS)
    assert found.rule == "use after end" and "were given back" in found.note


def test_batches_begin_with_nothing_reserved() -> None:
    """More CTAs than are there at once: each thread begins with an empty stack."""
    body = "alloca.u64 %rd2, 40000; st.local.u32 [%rd2+39996], %r0; ld.local.u32 %r4, [%rd2+39996]; st.global.u32 [%rd1], %r4;"
    out = both(kernel(body), [np.zeros(4096, np.uint32)], grid=64, block=64)[0]
    assert np.array_equal(out, np.arange(4096))


@pytest.mark.parametrize("name", [n for n in modules() if n.startswith("exceptions ")])
def test_alloca_of_nvcc(name: str) -> None:
    """int n = *x; int *a = alloca(n * 4 + 16); a[n] = 5; *x = a[x[1]];"""
    text = modules()[name]
    for n in (0, 3, 1000):
        x = both(text, [np.array([n, n], np.int32)], "_Z1kPi")[0]
        assert x.tolist() == [5, n]
    assert fault(text, [np.array([3, 8], np.int32)], "_Z1kPi").rule == "out of bounds"
    assert fault(text, [np.array([-1, 0], np.int32)], "_Z1kPi").rule == "trap"


# parameters without a size -------------------------------------------------------------------------------------------------

REST = """
.func (.param .b32 r) total(.param .b32 n, .param .align 8 .b8 rest[]) {
  .reg .u32 n1, s, v; .reg .u64 p; .reg .pred q; .local .align 16 .b8 own[40];
  ld.param.u32 n1, [n]; mov.u64 p, rest; mov.u32 s, 0; st.local.u64 [own+32], -1;
L: setp.eq.u32 q, n1, 0; @q bra D;
  ld.local.u32 v, [p]; add.u32 s, s, v; st.local.u32 [p], 12345; add.u64 p, p, 4; sub.u32 n1, n1, 1; bra L;
D: st.param.u32 [r], s; ret;
}
"""


def test_as_many_bytes_as_the_call_passes() -> None:
    """Three calls of one function; what it does to its copy the caller does not see."""
    body = """
    .param .align 8 .b8 two[8]; .param .align 8 .b32 five[5]; mov.u32 %r9, 0;
    st.param.u32 [two], %r0; st.param.u32 [two+4], 7; call (%r4), total, (2, two);
    st.param.u32 [five], 1; st.param.u32 [five+4], 2; st.param.u32 [five+8], 3; st.param.u32 [five+12], 4; st.param.u32 [five+16], %r0;
    call (%r5), total, (5, five); call (%r6), total, (5, five); call (%r7), total, (0); call (_), total, (0, two);
    mad.lo.u32 %r4, %r4, 100, %r5; mad.lo.u32 %r4, %r4, 100, %r6; mad.lo.u32 %r4, %r4, 10, %r7; st.global.u32 [%rd1], %r4;
"""
    want = [((t + 7) * 10_000 + (10 + t) * 100 + 10 + t) * 10 for t in range(5)]
    assert threads(body, 5, REST) == want


def test_by_name_and_by_address() -> None:
    module = """
.func (.reg .u32 r) third(.param .align 8 .b8 rest[0]) { ld.param.u32 r, [rest+8]; ret; }
.func (.reg .u32 r) first(.param .align 8 .b8 rest[]) { ld.param.u32 r, [rest]; ret; }
"""
    body = """
    .param .align 8 .b8 a[12]; st.param.u32 [a], 5; st.param.u32 [a+4], 6; st.param.u32 [a+8], %r0;
    and.b32 %r4, %r0, 1; setp.eq.u32 %p0, %r4, 0; mov.u64 %rd2, first; @%p0 mov.u64 %rd2, third;
    P: .callprototype (.reg .b32 _) _ (.param .align 8 .b8 _[]); call (%r5), %rd2, (a), P; st.global.u32 [%rd1], %r5;
"""
    assert threads(body, 6, module) == [0, 5, 2, 5, 4, 5]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (".param .align 8 .b8 a[8]; st.param.u64 [a], 5; call (%r4), total, (3, a);", "out of bounds"),
        ("call (%r4), total, (1);", "out of bounds"),
    ],
)
def test_no_more_bytes_than_the_call_passes(body: str, rule: str) -> None:
    found = broken(body, REST)
    assert found.rule == rule and "ld.local.u32 v, [p];" in str(found)


def test_a_parameter_without_a_size_in_a_recursion() -> None:
    """The function passes one byte less to itself, and finds its own unchanged when the call returns."""
    module = """
.func (.param .b32 r) down(.param .b32 n, .param .align 8 .b8 rest[]) {
  .reg .u32 k, s, v; .reg .u64 p; .reg .pred q;
  ld.param.u32 k, [n]; mov.u32 s, 0; setp.eq.u32 q, k, 0; @q bra D;
  { .param .align 8 .b8 next[4]; .param .b32 m, x; sub.u32 v, k, 1; st.param.u32 [m], v; st.param.u32 [next], v;
    call (x), down, (m, next); ld.param.u32 s, [x]; }
  ld.param.u32 v, [rest]; mad.lo.u32 s, s, 3, v;
D: st.param.u32 [r], s; ret;
}
"""
    body = ".param .align 8 .b8 a[4]; st.param.u32 [a], %r0; call (%r4), down, (%r0, a); st.global.u32 [%rd1], %r4;"
    want = [0]
    for t in range(1, 9):
        want.append(want[-1] * 3 + t)
    assert threads(body, 9, module) == want


@pytest.mark.parametrize("name", [n for n in modules() if n.startswith("variadic ")])
def test_arguments_of_variable_number_by_nvcc(name: str) -> None:
    """x[0] = total(3, 1, 2, x[1]), where total adds up its arguments with va_arg."""
    x = both(modules()[name], [np.array([0, 39], np.int32)], "_Z1kPi")[0]
    assert x.tolist() == [42, 39]


# variables of functions ----------------------------------------------------------------------------------------------

#: functions that give the address of a variable of theirs, which holds 5, and the address of an argument
LEAKS = {
    "a variable": ".local .u32 own; mov.u64 a, own; cvta.local.u64 a, a; st.u32 [a], 5;",
    "an array's element": ".local .u32 own[4]; mov.u64 a, own+8; cvta.local.u64 a, a; st.u32 [a], 5;",
    "a sum": ".local .u32 own[4]; cvta.local.u64 a, own+4; st.u32 [a], 5;",
    "a parameter": "mov.u64 a, n; cvta.local.u64 a, a; st.u32 [a], 5;",
}
LEAK = ".func (.param .b64 r) leak(.param .b32 n) { .reg .b64 a; BODY st.param.u64 [r], a; ret; }"
#: what a caller does with the address, and whether the variable is there
CALLED = "{ .param .b64 got; .param .b32 n; st.param.u32 [n], %r0; call (got), leak, (n); ld.param.u64 %rd2, [got]; }"
USES = {
    "a load": "ld.u32 %r4, [%rd2];",
    "a store": "st.u32 [%rd2], 1; mov.u32 %r4, 0;",
    "an atomic operation": "atom.add.u32 %r4, [%rd2], 1;",
    "a local load": "cvta.to.local.u64 %rd3, %rd2; ld.local.u32 %r4, [%rd3];",
    "a load after other calls": "call other; call other; ld.u32 %r4, [%rd2];",
}
OTHERS = ".func other() { .local .u32 l; st.local.u32 [l], 1; ret; }"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_variable_of_a_function_that_has_returned(leak: str, use: str) -> None:
    module = OTHERS + LEAK.replace("BODY", LEAKS[leak])
    found = broken(CALLED + USES[use] + "st.global.u32 [%rd1], %r4;", module)
    assert found.rule == "use after end" and "were given back" in found.note


def test_a_variable_of_a_function_that_calls_others() -> None:
    """It is there for all that it calls, at any depth, and what they have has other addresses."""
    module = """
.func adds(.param .b64 p, .param .b32 n) {
    .reg .b64 a; .reg .b32 x, y; .reg .pred q; .local .u32 own; .param .b64 pp; .param .b32 nn;
    ld.param.u64 a, [p]; ld.param.u32 y, [n]; setp.eq.u32 q, y, 0; @q bra E;
    cvta.local.u64 a, own; st.u32 [a], 100; st.param.u64 [pp], a; sub.u32 y, y, 1; st.param.u32 [nn], y;
    ld.param.u64 a, [p]; ld.u32 x, [a]; add.u32 x, x, y; st.u32 [a], x;
    CALL
E:  ret; }
.func (.param .b32 r) outer(.param .b32 n) {
    .local .u32 own; .reg .b64 a; .reg .b32 x; .param .b64 p; .param .b32 m;
    cvta.local.u64 a, own; ld.param.u32 x, [n]; st.u32 [a], x; st.param.u64 [p], a; st.param.u32 [m], 3;
    call adds, (p, m); ld.local.u32 x, [own]; st.param.u32 [r], x; ret; }
"""
    call = "{ .param .b32 v; .param .b32 n; st.param.u32 [n], %r0; call (v), outer, (n); ld.param.u32 %r4, [v]; } st.global.u32 [%rd1], %r4;"
    for again in ("", "call adds, (pp, nn);"):
        assert threads(call, module=module.replace("CALL", again)) == [i + 2 for i in range(40)]


def test_a_kernel_that_takes_no_addresses_has_no_gaps() -> None:
    """It needs no more memory than its frames."""
    source = kernel("call other; st.global.u32 [%rd1], 1;", module=OTHERS)
    kept = kernel(
        "call other; call leaks; st.global.u32 [%rd1], 1;",
        module=OTHERS + ".func leaks() { .local .u32 l; .reg .b64 a; mov.u64 a, l; ret; }",
    )
    sizes = [linked(ptxspec.load(text).checked, "k").sizes["local"] for text in (source, kept)]
    assert sizes == [16, 48]  # two gaps of 16 bytes
