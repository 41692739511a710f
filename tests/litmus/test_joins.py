"""What is executed whatever was read does not depend on it: where the ways of a branch meet again, no value is a reason for it."""

from __future__ import annotations

import pytest

import ptxspec

#: P0 writes y after it has read x, and P1 writes to x what it reads of y
BUFFERING = """PTX buffering
{{ x = 0; y = 0; z = 0; }}
 P0@cta 0,gpu 0       | P1@cta 1,gpu 0       ;
 ld.relaxed.gpu r0, x | ld.relaxed.gpu r0, y ;
{rows}
exists (P0:r0 == 1 /\\ P1:r0 == 1)
"""
ALLOWED = [
    "bne r0, 1, END; END:; st.relaxed.gpu y, 1",
    "bne r0, 1, END; ld.weak r1, z; END:; st.relaxed.gpu y, 1",
    "bne r0, 1, END; st.weak z, 1; fence.acq_rel.cta; END:; st.relaxed.gpu y, 1",
    "bne r0, 1, END; goto OUT; END:; st.weak z, 1; OUT:; st.relaxed.gpu y, 1",
    "bne r0, 1, END; bne r0, 2, END; st.weak z, 1; END:; st.relaxed.gpu y, 1",
    "setp.eq.u32 p, r0, 1; @p ld.weak r1, z; st.relaxed.gpu y, 1",
    "setp.eq.u32 p, r0, 1; @p st.weak z, 1; st.relaxed.gpu y, 1",
    "bne r0, 1, END; ld r1, 1; END:; ld r1, 1; st.relaxed.gpu y, 1",
]
FORBIDDEN = [
    "st.relaxed.gpu y, r0",
    "bne r0, 1, END; st.relaxed.gpu y, 1; END:",  # on one way
    "bne r0, 1, END; st.relaxed.gpu y, 1; goto OUT; END:; st.relaxed.gpu y, 2; OUT:",
    "bne r0, 1, END; ld r1, 1; END:; st.relaxed.gpu y, r1",  # a register that one way writes
    "bne r0, 1, END; ld.weak r1, z; END:; add.u32 r1, r1, 1; st.relaxed.gpu y, r1",
    "bne r0, 1, END; goto OUT; END:; ld r1, 1; OUT:; st.relaxed.gpu y, r1",
    "LOOP:; ld.relaxed.gpu r0, x; bne r0, 1, LOOP; st.relaxed.gpu y, 1",  # what follows a loop
    "LOOP:; ld.relaxed.gpu r0, x; bne r0, 1, OUT; goto END; OUT:; goto LOOP; END:; st.relaxed.gpu y, 1",
    "setp.ne.u32 p, r0, 1; @p exit; st.relaxed.gpu y, 1",
    "bne r0, 1, END; exit; END:; st.relaxed.gpu y, 1",
    "setp.eq.u32 p, r0, 1; @p st.relaxed.gpu y, 1",
    "setp.eq.u32 p, r0, 1; @p ld.weak r1, z; st.relaxed.gpu y, r1",
]
#: P0 reads one half of x and writes the other one, and P1 the other way round
HALVES = """PTX halves
{ .b32 x = 0; }
 P0@cta 0,gpu 0                     | P1@cta 1,gpu 0                      ;
 ld.relaxed.gpu.global.b16 r0, [x]  | ld.relaxed.gpu.global.b16 r0, [x+2] ;
 bne r0, 1, END                     | bne r0, 1, END                      ;
 FIRST                              | SECOND                              ;
 END:                               | END:                                ;
 st.relaxed.gpu.global.b16 [x+2], 1 | st.relaxed.gpu.global.b16 [x], 1    ;
exists (P0:r0 == 1 /\\ P1:r0 == 1)
"""


def status(text: str) -> str:
    """By enumeration and by a solver."""
    (both,) = {ptxspec.litmus(text, by=by).status for by in ("enumeration", "solver")}
    return both


def buffering(line: str) -> str:
    cells = line.split("; ")
    return BUFFERING.format(
        rows="\n".join(f" {c} | {'' if k else 'st.relaxed.gpu x, r0'} ;" for k, c in enumerate(cells))
    )


@pytest.mark.parametrize("line", ALLOWED)
def test_what_is_executed_on_both_ways_does_not_depend_on_the_branch(line: str) -> None:
    assert status(buffering(line)) == "allowed"


@pytest.mark.parametrize("line", FORBIDDEN)
def test_what_changes_with_the_value_depends_on_it(line: str) -> None:
    assert status(buffering(line)) == "forbidden"


def test_an_unused_load_of_both_halves_orders_accesses_to_them() -> None:
    load = "ld.weak.global.b32 r1, [x]"
    wanted = {(load, load): "forbidden", ("", load): "allowed", (load, ""): "allowed", ("", ""): "allowed"}
    for (first, second), outcome in wanted.items():
        assert status(HALVES.replace("FIRST", first).replace("SECOND", second)) == outcome
    always = HALVES.replace("bne r0, 1, END", "").replace("END:", "").replace("FIRST", load).replace("SECOND", load)
    assert status(always) == "undefined"  # where it is executed in any case, it is in a race of mixed size
