"""A thread that comes to the end of an entry ends, and one that comes to the end of a function returns, however they come there."""

from __future__ import annotations

import numpy as np
import pytest
from launching import HEADER, both, text

import ptxspec
from ptxspec.machine.program import program
from ptxspec.terms.profiles import Profile

pytestmark = pytest.mark.sample(4)

#: a function that must not run unless it is called
OTHER = """
.global .u32 reached;
.func other() { st.global.u32 [reached], 1; ret; }
.func quiet() { ret; }
.func last() .noreturn { }
"""
#: stores 5 where the thread's pointer says
STORES = "ld.param.u64 %rd0, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd0; st.global.u32 [%rd1], 5;"
ENDS = {
    "the last instruction": "",
    "a call": "call quiet;",
    "a guarded call": "setp.eq.u32 %p0, %r1, 0; @%p0 call quiet;",
    "a call that is said not to return": "call last;",
    "a label": "setp.eq.u32 %p0, %r1, 0; @%p0 bra END; add.u32 %r1, %r1, 1; END:",
    "a label of an indirect branch": "L: .branchtargets END, ONE; ONE: and.b32 %r2, %r1, 0; brx.idx %r2, L; END:",
    "a barrier": "bar.sync 0;",
    "a warp": "activemask.b32 %r3;",
    "a guarded ret": "setp.eq.u32 %p0, %r1, 0; @%p0 ret;",
    "a guarded exit": "setp.eq.u32 %p0, %r1, 0; @!%p0 exit;",
    "a guarded trap": "setp.ge.u32 %p0, %r1, 99; @%p0 trap;",
    "an address": "mov.u64 %rd3, other;",
    "a loop": "LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 9; @%p0 bra LOOP;",
    "a block of its own": "{ }",
    "a variable number of arguments": "call quiet; stacksave.u64 %rd3; stackrestore.u64 %rd3;",
}


@pytest.mark.parametrize("how", ENDS)
def test_the_end_of_an_entry_ends_the_thread(how: str) -> None:
    """With functions behind the entry, one of which leaves a mark if a thread falls into it."""
    for address in ("", "mov.u64 %rd4, other;"):
        source = text(address + STORES + ENDS[how], module=OTHER)
        assert both(source, [np.zeros(40, np.uint32)], block=40)[0].tolist() == [5] * 40
        for engine in ("exact", "native"):
            module = ptxspec.load(source)
            module.launch("k", block=40, args=[np.zeros(40, np.uint32)], engine=engine)
            assert not module.read("reached").any(), engine


@pytest.mark.parametrize("how", ENDS)
def test_no_block_leads_into_another_function(how: str) -> None:
    """In the graph of blocks every way out of a function is a call, or the end of the thread."""
    ready = program(
        ptxspec.load(text("mov.u64 %rd4, other;" + STORES + ENDS[how], module=OTHER)).checked,
        "k",
        Profile("hopper"),
        False,
    )
    flow = ready.flow
    places = [flow.function_of(b.start if b.finishes is None else b.finishes) for b in flow.blocks]
    for block, place in zip(flow.blocks, places, strict=True):
        for way in (block.taken, block.next):
            assert way is None or places[way] == place


def test_an_entry_of_nothing() -> None:
    both(f"{HEADER}.visible .entry k() {{ }}", [], block=3)


def test_what_recursion_leaves_on_the_stack_is_no_way_back() -> None:
    """A function that calls itself puts a parameter on the stack, where the end of the entry would look for its way back."""
    module = """
.func deep(.reg .u64 a, .reg .u32 n) {
  .reg .pred p; .reg .u64 b; .reg .u32 m;
  setp.eq.u32 p, n, 0; @p ret;
  sub.u32 m, n, 1; mov.u64 b, a; call deep, (b, m); xor.b64 a, a, b;
}
"""
    body = "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [word]; mov.u32 %r0, 5; call deep, (%rd1, %r0); st.global.u32 [%rd0], 1;"
    source = text(body, parameters=".param .u64 out, .param .u64 word", module=module)
    for word in (0, 1, 7, 1 << 20, (1 << 64) - 1):
        assert both(source, [np.zeros(1, np.uint32), np.uint64(word)])[0].tolist() == [1]
