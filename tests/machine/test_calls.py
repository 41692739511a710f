"""Functions: arguments and results of every kind, recursion, indirect calls and branches, and the ways they go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from launching import ENGINES, PAIR, engine_of

import ptxspec

pytestmark = pytest.mark.sample(4)

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def run(text: str, name: str, threads: int, engine: str, *args: object) -> np.ndarray:
    out = np.zeros(threads, np.uint32)
    ptxspec.load(HEAD + text).launch(name, block=threads, args=[out, *args], engine=engine)
    return out


def entry(body: str, name: str = "k", more: str = "") -> str:
    """An entry that gives %r of each thread."""
    return f"""
.visible .entry {name}(.param .u64 out{more}) {{
  .reg .u32 %t, %r; .reg .u64 %o, %a; .reg .pred %q;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; mul.wide.u32 %a, %t, 4; add.u64 %o, %o, %a;
  {body}
  st.global.u32 [%o], %r; ret;
}}
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_mutual_recursion_with_registers(engine: str) -> None:
    """A function declared before it is defined; a register that is live across the recursive call; threads that part."""
    text = """
.func (.reg .u32 r) odd(.reg .u32 n);
.func (.reg .u32 r) even(.reg .u32 n) {
  .reg .pred p; .reg .u32 m, t;
  setp.eq.u32 p, n, 0; mov.u32 r, 1; @p ret;
  sub.u32 m, n, 1; mov.u32 t, m; call (r), odd, (m); add.u32 r, r, t; sub.u32 r, r, t;
}
.func (.reg .u32 r) odd(.reg .u32 n) {
  .reg .pred p; .reg .u32 m;
  setp.eq.u32 p, n, 0; mov.u32 r, 0; @p ret;
  sub.u32 m, n, 1; call (r), even, (m);
}
"""
    out = run(text + entry("call (%r), even, (%t);"), "k", 70, engine)
    assert np.array_equal(out, 1 - np.arange(70) % 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_calls_in_a_recursion(engine: str) -> None:
    text = """
.func (.param .b32 r) fib(.param .b32 n) {
  .reg .u32 a, b, c; .reg .pred p; .param .b32 x, y;
  ld.param.u32 a, [n]; setp.lt.u32 p, a, 2; @p bra DONE;
  sub.u32 b, a, 1; st.param.b32 [x], b; call.uni (y), fib, (x); ld.param.u32 c, [y];
  sub.u32 b, a, 2; st.param.b32 [x], b; call.uni (y), fib, (x); ld.param.u32 a, [y];
  add.u32 a, a, c;
DONE: st.param.b32 [r], a; ret;
}
"""
    out = run(text + entry("call (%r), fib, (%t);"), "k", 15, engine)
    fib = [0, 1]
    while len(fib) < 15:
        fib.append(fib[-1] + fib[-2])
    assert out.tolist() == fib


@pytest.mark.parametrize("engine", ENGINES)
def test_an_array_by_value_and_its_address(engine: str) -> None:
    """What the function does to its own copy, through an address in local memory too, the caller does not see."""
    text = """
.func (.param .align 8 .b8 r[16]) turn(.param .align 8 .b8 v[16]) {
  .reg .u64 a, b, at;
  mov.u64 at, v; ld.local.u64 a, [at]; ld.param.u64 b, [v+8];
  st.local.u64 [at], 99;
  st.param.u64 [r], b; st.param.u64 [r+8], a; ret;
}
"""
    body = """
  .param .align 8 .b8 given[16], back[16]; .reg .u64 %w;
  st.param.u64 [given], 7; cvt.u64.u32 %w, %t; st.param.u64 [given+8], %w;
  call (back), turn, (given);
  ld.param.u64 %w, [back]; cvt.u32.u64 %r, %w; mul.lo.u32 %r, %r, 1000;
  .reg .u32 %x; ld.param.u64 %w, [back+8]; cvt.u32.u64 %x, %w; add.u32 %r, %r, %x;
  ld.param.u64 %w, [given]; cvt.u32.u64 %x, %w; mad.lo.u32 %r, %x, 10, %r;
"""
    assert run(text + entry(body), "k", 5, engine).tolist() == [1000 * t + 7 + 70 for t in range(5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_guarded_call_leaves_the_other_threads_alone(engine: str) -> None:
    text = ".func (.reg .u32 r) five() { mov.u32 r, 5; ret; }"
    body = "mov.u32 %r, 77; setp.ne.u32 %q, %t, 3; @%q call (%r), five; "
    assert run(text + entry(body), "k", 6, engine).tolist() == [5, 5, 5, 77, 5, 5]


@pytest.mark.parametrize("engine", ENGINES)
def test_indirect_calls_through_a_table(engine: str) -> None:
    text = """
.func (.param .u32 r) one(.param .u32 x) { .reg .u32 a; ld.param.u32 a, [x]; add.u32 a, a, 1; st.param.u32 [r], a; ret; }
.func (.param .u32 r) two(.param .u32 x) { .reg .u32 a; ld.param.u32 a, [x]; mul.lo.u32 a, a, 2; st.param.u32 [r], a; ret; }
.global .u64 table[2] = {one, two};
"""
    body = """
  .reg .u64 %f, %b; .reg .u32 %i; and.b32 %i, %t, 1; mul.wide.u32 %f, %i, 8; mov.u64 %b, table; add.u64 %b, %b, %f;
  ld.global.u64 %f, [%b];
  proto: .callprototype (.param .u32 _) _ (.param .u32 _);
  call (%r), %f, (%t), proto;
  list: .calltargets one, two;
  mov.u64 %f, one;
  call (%r), %f, (%r), list;
"""
    out = run(text + entry(body), "k", 40, engine)
    assert out.tolist() == [(t * 2 if t & 1 else t + 1) + 1 for t in range(40)]


@pytest.mark.parametrize("engine", ENGINES)
def test_indirect_branch(engine: str) -> None:
    body = """
  .reg .u32 %i; rem.u32 %i, %t, 3; mov.u32 %r, 0; setp.ne.u32 %q, %t, 4;
  list: .branchtargets A, B, C;
  @%q brx.idx %i, list;
  bra D;
  A: add.u32 %r, %r, 1; bra D;
  B: add.u32 %r, %r, 20;
  C: add.u32 %r, %r, 300;
  D:
"""
    want = [0 if t == 4 else (1, 320, 300)[t % 3] for t in range(50)]
    assert run(entry(body), "k", 50, engine).tolist() == want


@pytest.mark.parametrize("engine", ENGINES)
def test_exit_in_a_function_ends_the_thread(engine: str) -> None:
    text = ".func leave(.reg .u32 n) { .reg .pred p; setp.eq.u32 p, n, 2; @p exit; ret; }"
    assert run(text + entry("call leave, (%t); mov.u32 %r, 9;"), "k", 4, engine).tolist() == [9, 9, 0, 9]


@pytest.mark.parametrize("engine", ENGINES)
def test_shared_memory_of_a_function(engine: str) -> None:
    text = """
.shared .u32 before;
.func (.reg .u32 r) total(.reg .u32 n) {
  .shared .u32 cells[64]; .reg .u32 at, i; .reg .pred p;
  mov.u32 at, cells; mad.lo.u32 at, n, 4, at; st.shared.u32 [at], n; bar.sync 0;
  mov.u32 r, 0; mov.u32 i, 0; mov.u32 at, cells; .reg .u32 v;
LOOP: ld.shared.u32 v, [at]; add.u32 r, r, v; add.u32 at, at, 4; add.u32 i, i, 1; setp.lt.u32 p, i, 64; @p bra LOOP;
}
"""
    body = "st.shared.u32 [before], 5; call (%r), total, (%t);"
    assert run(text + entry(body), "k", 64, engine).tolist() == [sum(range(64))] * 64


@pytest.mark.parametrize("engine", ENGINES)
def test_registers_and_variables_for_one_another(engine: str) -> None:
    """A variable in .param for a register that a function takes, and for one that it gives; a result that is dropped; constants."""
    text = """
.func (.reg .u32 r) add(.reg .u32 a, .param .u32 b) { ld.param.u32 r, [b]; add.u32 r, r, a; ret; }
.func (.param .f64 r) half(.reg .f64 a) { .reg .f64 x; mul.f64 x, a, 0.5; st.param.f64 [r], x; ret; }
"""
    body = """
  .param .u32 given, back; .param .f64 wide; .reg .f64 %d; .reg .u64 %f;
  st.param.u32 [given], %t; call (back), add, (given, 40); ld.param.u32 %r, [back];
  call (_), add, (given, %r); call (wide), half, (5.0); ld.param.f64 %d, [wide]; call (%d), half, (%d); call (_), half, (%d);
  .reg .u32 %x; mul.f64 %d, %d, 4.0; cvt.rni.u32.f64 %x, %d; mad.lo.u32 %r, %x, 1000, %r;
  st.param.u32 [given], 7; mov.u64 %f, add; P: .callprototype (.reg .u32 _) _ (.reg .u32 _, .param .u32 _);
  call (back), %f, (given, given), P; ld.param.u32 %x, [back]; mad.lo.u32 %r, %x, 100000, %r;
"""
    assert run(text + entry(body), "k", 5, engine).tolist() == [1405040 + t for t in range(5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_vectors_in_registers(engine: str) -> None:
    text = """
.func (.reg .v2 .u32 r) swap(.reg .v2 .u32 a, .reg .v4 .u16 b) { mov.b32 r.x, {b.w, b.x}; add.u32 r.x, r.x, a.y; mov.u32 r.y, a.x; ret; }
"""
    body = """
  .reg .v2 .u32 %v; .reg .v4 .u16 %w; .reg .u64 %f; mov.u32 %v.x, %t; mov.u32 %v.y, 500;
  mov.v4.u16 %w, {1, 2, 3, 7000}; call (%v), swap, (%v, %w);
  mad.lo.u32 %r, %v.y, 3, %v.x; mov.u64 %f, swap; P: .callprototype (.reg .v2 .u32 _) _ (.reg .v2 .u32 _, .reg .v4 .u16 _);
  call (%v), %f, (%v, %w), P; add.u32 %r, %r, %v.x;
"""
    packed = 7000 + (1 << 16)
    want = [packed + 500 + 3 * t + packed + t for t in range(6)]
    assert run(text + entry(body), "k", 6, engine).tolist() == want


WRONG = (
    HEAD
    + """
.func forever() { call forever; ret; }
.func takes(.param .u32 x) { ret; }
.extern .func free(.param .b32 p);
.visible .entry deep() { call forever; ret; }
.visible .entry none() { call free, (0); ret; }
.visible .entry wild(.param .u64 f) { .reg .u64 a; ld.param.u64 a, [f]; p: .callprototype _ (); call a, p; ret; }
.visible .entry index(.param .u32 i) { .reg .u32 a; ld.param.u32 a, [i]; t: .branchtargets L; brx.idx a, t; L: ret; }
"""
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "args", "rule", "instruction"),
    [
        ("deep", [], "stack", "call forever;"),
        ("none", [], "no body", "call free, (0);"),
        ("wild", [0], "call target", "call a, p;"),
        ("wild", [32], "call target", "call a, p;"),
        ("index", [1], "branch index", "brx.idx a, t;"),
    ],
)
def test_what_goes_wrong_is_reported(engine: str, name: str, args: list[int], rule: str, instruction: str) -> None:
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(WRONG).launch(name, args=args, engine=engine)
    assert caught.value.rule == rule
    assert caught.value.address is None
    assert instruction in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("call early; ret; } .func early() { ret;", "before it is declared"),
        ("call (r), f, (r, r); ret;", "1 arguments, the call 2"),
        ("call f, (r); ret;", "1 results, the call 0"),
        ("call (r), f, (w); ret;", "register of type .u64 for one of type .u32"),
        ("call (r), f, (s); ret;", "1 bytes for a parameter of 4"),
        ("call (r), f, (g); ret;", "lies in .global"),
        ("call (1), f, (r); ret;", "a result goes into a register or a variable"),
        ("call w, r; ret;", "a list of targets or a prototype"),
        ("brx.idx r, p; ret;", "no list of labels"),
        ("t: .branchtargets X; brx.idx r, t; ret;", "X is no label"),
        ("l: .branchtargets L; call w, l; L: ret;", "neither .callprototype nor .calltargets"),
        ("st.param.u32 [n], r; ret;", "parameters cannot be written"),
        ("call r; ret;", "needs"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    head = """
.global .u32 g;
.func (.param .u32 y) f(.param .u32 x) { ret; }
.func caller(.param .u32 n) { .reg .u32 r; .reg .u64 w; .param .b8 s; p: .callprototype _ ();
"""
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(HEAD + head + text + "\n}")
    assert message in str(caught.value)


def test_registers_of_the_caller_are_kept_over_a_recursion_of_its_own() -> None:
    """Under both engines the same: a product that is finished only after the calls return."""
    text = """
.func (.reg .u64 r) factorial(.reg .u64 n) {
  .reg .pred p; .reg .u64 m;
  setp.le.u64 p, n, 1; mov.u64 r, 1; @p ret;
  sub.u64 m, n, 1; call (m), factorial, (m); mul.lo.u64 r, m, n;
}
"""
    body = ".reg .u64 %n; cvt.u64.u32 %n, %t; call (%n), factorial, (%n); cvt.u32.u64 %r, %n;"
    outs = []
    for way in PAIR:
        with engine_of(way) as engine:
            outs.append(run(text + entry(body), "k", 13, engine))
    assert np.array_equal(*outs)
    assert outs[0][12] == 479001600


@pytest.mark.parametrize("engine", ENGINES)
def test_indirect_calls_that_pass_registers(engine: str) -> None:
    """Through a prototype and a list; threads of a warp go to different functions; the caller is one of them, and keeps what it
    was given across the call that reaches it again."""
    text = """
.func (.reg .u32 r) twice(.reg .u32 x) { add.u32 r, x, x; ret; }
.func (.reg .u32 r) square(.reg .u32 x) { mul.lo.u32 r, x, x; ret; }
.global .u64 table[3];
.func (.reg .u32 r) down(.reg .u32 x) {
  .reg .u64 a; .reg .u32 y; .reg .pred p;
  mov.u32 r, 0; setp.eq.u32 p, x, 0; @p ret;
  ld.global.u64 a, [table+16]; sub.u32 y, x, 1;
  P: .callprototype (.reg .u32 _) _ (.reg .u32 _);
  call (r), a, (y), P;
  add.u32 r, r, x; ret;
}
""" + entry("""
  mov.u64 %a, twice; st.global.u64 [table], %a; mov.u64 %a, square; st.global.u64 [table+8], %a;
  mov.u64 %a, down; st.global.u64 [table+16], %a;
  .reg .u32 %i; .reg .u64 %w; rem.u32 %i, %t, 3; mul.wide.u32 %w, %i, 8; mov.u64 %a, table; add.u64 %a, %a, %w;
  ld.global.u64 %a, [%a];
  P: .callprototype (.reg .u32 _) _ (.reg .u32 _);
  call (%r), %a, (%t), P;
  .reg .u32 %s; T: .calltargets twice, square;
  mov.u64 %a, square; call (%s), %a, (3), T;
  add.u32 %r, %r, %s;
""")  # fmt: skip
    out = run(text, "k", 40, engine)
    values = [(2 * t, t * t, t * (t + 1) // 2)[t % 3] + 9 for t in range(40)]
    assert out.tolist() == values


@pytest.mark.parametrize("engine", ENGINES)
def test_an_indirect_call_of_a_function_that_calls_on(engine: str) -> None:
    """Each of two functions calls the other one indirectly: neither's registers are touched by the other's arguments."""
    text = """
.func (.reg .u32 r) low(.reg .u32 x, .reg .u32 y) { sub.u32 r, x, y; ret; }
.func (.reg .u32 r) high(.reg .u32 x, .reg .u32 y) {
  .reg .u64 a; .reg .u32 s; mov.u64 a, low; T: .calltargets high, low; call (s), a, (y, x), T;
  mul.lo.u32 r, x, 100; add.u32 r, r, y; add.u32 r, r, s; ret;
}
""" + entry("mov.u64 %a, high; T: .calltargets low, high; .reg .u32 %u; add.u32 %u, %t, 7; call (%r), %a, (%t, %u), T;")
    assert run(text, "k", 5, engine).tolist() == [100 * t + t + 7 + 7 for t in range(5)]


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("waits", ["", "bar.sync 0;"])
@pytest.mark.parametrize("call", ["call (a), outer, (t)", "call (a), f, (t), P"])
def test_registers_that_a_function_has_not_written(call: str, waits: str, seed: int | None) -> None:
    """They are unspecified, and the same under both engines: in a first call, and in one after others have written them."""
    text = f"""
.func (.reg .b32 y) inner(.reg .b32 x) {{
  .reg .pred p, q; .reg .b32 v; @p bra L; setp.ge.u32 p, x, 1; {waits} @q bra L; setp.lt.u32 q, x, 3; add.u32 v, v, x; L: mad.lo.u32 y, v, 5, 1; ret;
}}
.func (.reg .b32 y) outer(.reg .b32 x) {{
  .reg .b32 w, z; call (z), inner, (x); {waits} add.u32 w, w, z; add.u32 y, w, z; ret;
}}
.visible .entry k(.param .u64 out) {{
  .reg .u32 t, a, r; .reg .u64 o, d, f; P: .callprototype (.reg .b32 _) _ (.reg .b32 _); mov.u64 f, outer;
  mov.u32 t, %tid.x; ld.param.u64 o, [out]; mul.wide.u32 d, t, 4; add.u64 o, o, d; mov.u32 r, 0;
  {call}; mad.lo.u32 r, r, 7, a; {call}; mad.lo.u32 r, r, 7, a; {waits} {call}; mad.lo.u32 r, r, 7, a; st.global.u32 [o], r; ret;
}}
"""
    results = []
    for engine in ("exact", "native"):
        out = np.zeros(5, np.uint32)
        # lanes part, so that one alone may wait
        ptxspec.load(HEAD + text).launch("k", block=1 if waits else 5, args=[out], engine=engine, seed=seed)
        results.append(out.tolist())
    assert results[0] == results[1] and len(set(results[0])) > 1


def test_a_function_that_no_thread_comes_to() -> None:
    text = (
        entry("mov.u32 %r, 7; bra L; call f; L:")
        + ".func f { .reg .b32 v; .reg .pred p; @p ret; add.u32 v, v, 1; ret; }"
    )
    for engine in ENGINES:
        assert run(".func f;" + text, "k", 3, engine).tolist() == [7] * 3
