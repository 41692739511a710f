"""Variables in .local that a module declares, before PTX ISA 3.0: one for each thread, whatever function reaches it."""

from __future__ import annotations

import numpy as np
import pytest
from launching import ENGINES

import ptxspec

pytestmark = pytest.mark.sample(4)

HEADER = ".version 2.3\n.target sm_20\n"


def run(text: str, engine: str, threads: int = 33, ctas: int = 3, words: int = 4) -> np.ndarray:
    out = np.zeros((threads * ctas, words), np.uint32)
    ptxspec.load(HEADER + text).launch("k", grid=ctas, block=threads, args=[out], engine=engine)
    return out


#: %t is the thread's number in the grid, %o its row of four words
PROLOGUE = """{ .reg .u64 %o, %a; .reg .u32 %r<9>, %t; .reg .pred %p; ld.param.u64 %o, [out];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %t, %r0, %r1, %r2;
  mad.wide.u32 %o, %t, 16, %o;
"""
ENTRY = f".entry k(.param .u64 out) {PROLOGUE}"


@pytest.mark.parametrize("engine", ENGINES)
def test_functions_share_it_and_threads_do_not(engine: str) -> None:
    """By Python: what each thread adds up, function by function."""
    text = f"""
.local .u32 total;
.local .align 8 .b8 pad[5];
.local .u16 narrow[3];
.func deep(.reg .u32 n) {{ .reg .u32 s; .local .u32 own[7];
  st.local.u32 [own+24], n; ld.local.u32 s, [total]; add.u32 s, s, n; st.local.u32 [total], s; ld.local.u32 n, [own+24];
  st.local.u16 [narrow+4], n; ret; }}
.func middle(.reg .u32 n) {{ .local .u64 own; .reg .u32 s; mov.u32 s, 0xffffffff; st.local.u32 [own], s;
  call deep, (n); add.u32 n, n, 1; call deep, (n); ret; }}
{ENTRY}
  .local .u32 own; st.local.u32 [own], %t; st.local.u32 [total], %t;
  and.b32 %r3, %t, 1; setp.eq.u32 %p, %r3, 0;
  @%p call middle, (%t);
  call deep, (1000);
  ld.local.u32 %r4, [total]; st.global.u32 [%o], %r4;
  ld.local.u16 %r4, [narrow+4]; st.global.u32 [%o+4], %r4;
  ld.local.u32 %r4, [own]; st.global.u32 [%o+8], %r4;
  exit; }}"""
    for t, row in enumerate(run(text, engine)):
        assert row.tolist() == [t + (2 * t + 1 if t % 2 == 0 else 0) + 1000, 1000, t, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_its_address_is_the_same_in_every_function(engine: str) -> None:
    """In .local and, through cvta, as a generic one; the first variable begins local memory (AMB-169)."""
    text = f"""
.local .u32 first;
.local .align 16 .b8 more[20];
.func (.reg .u64 d) where(.reg .u32 n) {{ .local .u64 own; st.local.u64 [own], d; mov.u64 d, more; ret; }}
{ENTRY}
  .local .u32 own; mov.u64 %a, own; cvt.u32.u64 %r3, %a; st.global.u32 [%o], %r3;
  call (%a), where, (5); mov.u64 %o, %o; cvt.u32.u64 %r3, %a; st.global.u32 [%o+4], %r3;
  add.u32 %r4, %t, 77; st.local.u32 [more+8], %r4; cvta.local.u64 %a, %a; ld.u32 %r5, [%a+8]; st.global.u32 [%o+8], %r5;
  st.local.u32 [0], %t; ld.local.u32 %r5, [first]; st.global.u32 [%o+12], %r5;
  exit; }}"""
    for t, row in enumerate(run(text, engine)):
        own, address, through, at_zero = row.tolist()
        assert address % 16 == 0 and own >= address + 20 and through == t + 77 and at_zero == t


@pytest.mark.parametrize("engine", ENGINES)
def test_an_entry_without_calls_in_the_first_version(engine: str) -> None:
    text = """.version 1.0
.target sm_10
.local .u32 kept[4];
.entry k { .param .u64 out; .reg .u64 a; .reg .u32 r, t; .local .u32 own[4];
  cvt.u32.u16 t, %tid.x; ld.param.u64 a, [out]; st.local.u32 [kept+12], t; st.local.u32 [own], a; ld.local.u32 r, [kept+12];
  st.global.u32 [a], r; exit; }"""
    out = np.full(1, 9, np.uint32)
    ptxspec.load(text.replace("st.local.u32 [own], a", "st.local.u32 [own], t")).launch("k", args=[out], engine=engine)
    assert out.tolist() == [0]


@pytest.mark.parametrize("engine", ENGINES)
def test_it_begins_as_zeros_in_every_cta(engine: str) -> None:
    text = f".local .u32 v; {ENTRY} ld.local.u32 %r3, [v]; st.global.u32 [%o], %r3; st.local.u32 [v], 5; exit; }}"
    assert not run(text.replace("st.local.u32 [v], 5", "st.local.u32 [v], %r1"), engine, 500, 8).any()


@pytest.mark.parametrize("engine", ENGINES)
def test_linked_modules_have_their_own_and_share_what_is_visible(engine: str) -> None:
    """Frames of entries and arguments of calls lie beyond the variables of all modules."""
    first = (
        HEADER
        + f"""
.local .u32 mine[3]; .visible .local .u32 shared;
.extern .func bump(.param .u32 n);
.visible {ENTRY}
  .local .u32 own; .param .u32 n;
  st.local.u32 [own], 3; st.local.u32 [mine], %t; st.local.u32 [shared], 10; st.param.u32 [n], %t;
  call bump, (n);
  ld.local.u32 %r3, [shared]; st.global.u32 [%o], %r3; ld.local.u32 %r3, [mine]; st.global.u32 [%o+4], %r3;
  ld.local.u32 %r3, [own]; st.global.u32 [%o+8], %r3; exit; }}""".replace("[own], 3", "[own], %r1").replace(
            "[shared], 10", "[shared], %r1"
        )
    )
    second = (
        HEADER
        + """
.local .align 16 .b8 mine[40]; .extern .local .u32 shared;
.visible .func bump(.param .u32 n) { .reg .u32 r, s; .local .u32 own;
  ld.param.u32 r, [n]; st.local.u32 [mine+32], r; st.local.u32 [own], r; ld.local.u32 s, [shared]; add.u32 s, s, r;
  st.local.u32 [shared], s; ret; }"""
    )
    for texts in ([first, second], [second, first]):
        out = np.zeros((20, 4), np.uint32)
        ptxspec.link(texts).launch("k", block=20, args=[out], engine=engine)
        assert out.tolist() == [[20 + t, t, 20, 0] for t in range(20)]


@pytest.mark.parametrize("space", [".local", ".reg"])
def test_such_a_module_has_no_abi(space: str) -> None:
    """AMB-169: neither recursion nor indirect calls, and narrower values."""
    head = f"{HEADER}{space} .u32 v;"
    ptxspec.load(head + " .func f(.param .u16 n) { ret; } .entry k() { .param .u16 n; call f, (n); exit; }")
    for body, what in (
        (".func f() { call f; ret; } .entry k() { call f; exit; }", "recursion needs an ABI"),
        (".func f() { ret; } .entry k() { .reg .u64 d; mov.u64 d, f; exit; }", "an indirect call needs an ABI"),
        (".extern .func f(); .entry k() { call f; exit; }", "nothing defines f"),
    ):
        with pytest.raises(ptxspec.PtxError) as caught:
            ptxspec.load(head + body)
        found = caught.value.diagnostics
        assert any(what in d.message for d in found) and all(d.line == 3 for d in found)
    with pytest.raises(ptxspec.PtxError, match=r"was removed in PTX ISA 3\.0"):
        ptxspec.load(head.replace("2.3", "3.0") + ".entry k() { exit; }")
