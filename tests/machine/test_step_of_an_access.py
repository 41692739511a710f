"""The step of an access stands on its page alone: with a fault planted there both engines do what the page says then, alike, and so does
the prover; and programs tell the difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from launching import ENGINES, kernel

import ptxspec
from ptxspec.literate import finder
from ptxspec.terms.vocabulary import FALSE

pytestmark = pytest.mark.sample(4)

#: variables of each space, and what a kernel leaves in %r5
SPACES = """
    .shared .align 16 .b32 s[4]; .local .align 16 .b32 l[4]; .reg .b64 %a, %b; mov.u32 %r5, 9;
"""
OUT = "st.global.u32 [%rd1], %r5;"


def program(body: str, parameters: str = ".param .u64 out", module: str = "") -> str:
    return kernel(f"{SPACES} {body} {OUT}", parameters, module)


MISALIGNED = program("ld.global.u32 %r5, [%rd0+2];")
LAST = program("ld.shared.u32 %r5, [s+12];")
UPPER = program("mov.u64 %a, s; add.u64 %a, %a, 0x700000000; st.shared.u32 [s], 3; ld.shared.u32 %r5, [%a];")
ELSEWHERE = program("cvta.local.u64 %a, l; ld.acquire.gpu.u32 %r5, [%a];")
ATOMIC = program("cvta.shared.u64 %a, s; atom.add.u32 %r5, [%a], 1;")
FIXED = program(
    "ld.param.u64 %a, [fixed]; st.global.u32 [%a], 5; ld.global.u32 %r5, [%a];", ".param .u64 out, .param .u64 fixed"
)
OWN_LOCAL = program("st.local.u32 [l], %r1; bar.sync 0; ld.local.u32 %r5, [l];")
OWN_SHARED = program("mov.u32 %r6, %ctaid.x; st.shared.u32 [s], %r6; ld.shared.u32 %r5, [s];")
OTHER = program("""
    mov.u32 %r6, %cluster_ctarank; st.shared.u32 [s], %r6; barrier.cluster.arrive; barrier.cluster.wait;
    xor.b32 %r7, %r6, 1; mov.u64 %b, s; mapa.shared::cluster.u64 %a, %b, %r7; ld.shared::cluster.u32 %r5, [%a]; barrier.cluster.arrive; barrier.cluster.wait;
""")
ENDED = program("""
    mov.u32 %r6, %cluster_ctarank; setp.eq.u32 %p1, %r6, 1; @%p1 exit; mov.u32 %r7, 0;
    L: add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 300000; @%p2 bra L;
    mov.u32 %r8, 1; mov.u64 %b, s; mapa.shared::cluster.u64 %a, %b, %r8; ld.shared::cluster.u32 %r5, [%a];
""")
FREED = program("stacksave.u64 %a; alloca.u64 %b, 8; stackrestore.u64 %a; ld.local.u32 %r5, [%b];")
ALLOCATED = program("alloca.u64 %b, 8; st.local.u32 [%b], 4; ld.local.u32 %r5, [%b];")
HEAP = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"
GIVEN_BACK = program("{ .reg .u64 p; call (p), malloc, (8); call free, (p); ld.u32 %r5, [p]; }", module=HEAP)
ALLOCATED_GLOBALLY = program("{ .reg .u64 p; call (p), malloc, (8); st.u32 [p], 4; ld.u32 %r5, [p]; }", module=HEAP)
CONSTANT = program("cvta.const.u64 %a, c; st.u32 [%a], 4; ld.u32 %r5, [%a];", module=".const .b32 c = 3;")
GENERIC = program("cvta.shared.u64 %a, s; st.shared.u32 [s+4], 6; ld.u32 %r5, [%a+4];")
GENERIC_LOCAL = program("cvta.local.u64 %a, l; st.local.u32 [l], 6; ld.u32 %r5, [%a];")
GENERIC_GLOBAL = program("st.u32 [%rd1], 6; ld.u32 %r5, [%rd1];")
PARAMETER = program("ld.param.u32 %r5, [out];")
COPY = program(
    "and.b64 %a, %rd0, -16; mov.u32 %r6, s; cp.async.ca.shared.global [%r6], [%a+252], 4; cp.async.wait_all; ld.shared.u32 %r5, [s];"
)

PAIR = {"grid": 2, "cluster": 2}


class Fault(NamedTuple):
    """A function of the page, what stands in its place, a program that tells the difference, and how it is launched."""

    function: str
    wrong: Callable[[Any], Any]
    source: str
    how: dict[str, Any] = {}


def nobody(right: Any) -> Any:
    """Of conditions: nothing is allowed."""
    return lambda *given: False if all(not hasattr(g, "op") for g in given) else right(*given) & FALSE


FAULTS = {
    "any address is aligned": Fault("aligned", lambda right: lambda address, size: right(address, 1), MISALIGNED),
    "twice the alignment": Fault("aligned", lambda right: lambda address, size: right(address + 4, 2 * size), LAST),
    "a word less": Fault("inside", lambda right: lambda address, size, held: right(address + 4, size, held), LAST),
    "an access of one byte": Fault("inside", lambda right: lambda address, size, held: right(address - 4, size, held),
        program("ld.shared.u32 %r5, [%r0+16];")),
    "upper halves count": Fault("counted", lambda right: lambda space, address, ignores: address, UPPER),
    "no space is narrow": Fault("is_narrow", lambda right: lambda space: False, UPPER),
    "half of an address counts": Fault(
        "counted", lambda right: lambda space, address, ignores: right(space, address, ignores) & 7, LAST),
    "any space will do": Fault("may_lie", lambda right: lambda space, into: True, ELSEWHERE),
    "no space will do": Fault("may_lie", lambda right: lambda space, into: not into, ATOMIC),
    "the first space alone": Fault("may_lie", lambda right: lambda space, into: not into or space == into[0], ATOMIC),
    "nothing is written": Fault(
        "reachable", lambda right: lambda size, writable, write: right(size, writable and not write, write), GENERIC_GLOBAL),
    "what was freed is in the heap": Fault("alive", lambda right: lambda states, size: states == states, GIVEN_BACK),
    "nothing is in the heap": Fault("alive", nobody, ALLOCATED_GLOBALLY),
    "one local memory": Fault("part", lambda right: lambda which, apart: right(which & 0, apart), OWN_LOCAL, {"block": 4}),
    "one shared memory": Fault("part", lambda right: lambda which, apart: right(which & 0, apart), OTHER, PAIR),
    "no part has an owner": Fault("has_owner", nobody, OTHER, PAIR),
    "the last part has no owner": Fault(
        "has_owner", lambda right: lambda rank, members: right(rank + 1, members), OTHER, PAIR
    ),
    "every CTA has ended": Fault("runs", nobody, OTHER, PAIR),
    "no CTA has ended": Fault("runs", lambda right: lambda ended, threads: ended <= threads, ENDED, PAIR),
    "what was freed is there": Fault("alive", lambda right: lambda states, size: states == states, FREED),
    "nothing is there": Fault("alive", nobody, ALLOCATED),
    "constants are written": Fault("may_write", lambda right: lambda space, write: True, CONSTANT),
    "shared memory is not written": Fault("may_write", lambda right: lambda space, write: not write or space != "shared", GENERIC),
    "nothing is divided": Fault("divided", lambda right: lambda space, launch: False, OTHER, PAIR),
    "all parts are one's own": Fault("part_at", lambda right: lambda space, address, own, launch: right("shared", address & 15, own, launch)
        if space != "shared" else right(space, address, own, launch), OTHER, PAIR),
    "windows lie elsewhere": Fault(
        "within", lambda right: lambda space, generic, *rank: right(space, generic - 8, *rank), GENERIC
    ),
    "no window": Fault("within", nobody, GENERIC),
    "addresses of windows count from four": Fault(
        "from_part", lambda right: lambda address, begins: right(address, begins) + 4 if begins else right(address, begins), GENERIC),
    "another space is located": Fault("stored", lambda right: lambda space: "local" if space == "shared::cluster" else right(space), GENERIC),
    "the numbers of banks": Fault("unnumbered", lambda right: lambda space: "param" if space == "shared" else right(space), program(
        "st.shared.u32 [s], 4; ld.shared.u32 %r5, [s];")),
    "the parts of a cluster": Fault("place_in_part", lambda right: lambda address: right(address) ^ 4, OTHER, PAIR),
    "which part": Fault("part_of", lambda right: lambda address: right(address) & 0, OTHER, PAIR),
    "states of a copy's source": Fault("is_alive", lambda right: lambda state: nobody(right)(state),
        program("{ .reg .u64 p; call (p), malloc, (64); st.u32 [p+12], 9; mov.u32 %r6, s;"
                "cp.async.ca.shared.global [%r6], [p+12], 4; cp.async.wait_all; } ld.shared.u32 %r5, [s];", module=HEAP)),
}  # fmt: skip


def found(fault: Fault) -> list[Any]:
    """What the program leaves, or the rule that it breaks, under each engine."""
    results: list[Any] = []
    for engine in ENGINES:
        out = np.full(64, 7, np.uint32)
        try:
            ptxspec.load(fault.source).launch("k", args=[out], engine=engine, **fault.how)
            results.append(out.tolist())
        except ptxspec.LaunchError as error:
            results.append(error.rule)
    return results


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_on_the_page_is_a_fault_of_both_engines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault, page = FAULTS[name], finder.load("ptxspec.spec.machine.access")
    before = found(fault)
    monkeypatch.setattr(page, fault.function, fault.wrong(getattr(page, fault.function)))
    after = found(fault)
    monkeypatch.undo()
    assert before[0] == before[1] != after[0] == after[1]
    assert found(fault) == before


def test_the_page_decides_who_may_write_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the page let kernels write read-only arrays, compiled code would, and the exact engine but for NumPy."""
    page = finder.load("ptxspec.spec.machine.access")
    out, fixed = np.zeros(64, np.uint32), np.ones(64, np.uint32)
    fixed.flags.writeable = False
    for engine in ENGINES:
        with pytest.raises(
            ptxspec.LaunchError, match=r"a store to argument 1 \(fixed\) \(256 bytes\), which is read-only"
        ):
            ptxspec.load(FIXED).launch("k", args=[out, fixed], engine=engine)
    right = page.reachable
    monkeypatch.setattr(page, "reachable", lambda size, writable, write: right(size, writable, False))
    ptxspec.load(FIXED).launch("k", args=[out, fixed])
    assert fixed[0] == 5
    with pytest.raises((TypeError, ValueError), match="read-only"):
        ptxspec.load(FIXED).launch("k", args=[out, fixed], engine="exact")


NOWHERE = "ld.global.u32 d, [p+4096];"


@pytest.mark.parametrize(
    ("function", "wrong", "left"),
    [
        ("aligned", FAULTS["any address is aligned"].wrong, "ld.global.u32 d, [p+2];"),
        ("inside", lambda right: lambda address, size, held: right(address, size, held + 64), "ld.global.u32 d, [p+16];"),
        ("may_lie", FAULTS["any space will do"].wrong,
            ".local .align 4 .b8 t[16]; cvta.local.u64 q, t; st.local.u32 [t], 5; ld.relaxed.gpu.u32 d, [q];"),
        ("may_write", FAULTS["constants are written"].wrong,
            "ld.global.u32 d, [p]; .const .align 4 .b32 c[4]; cvta.const.u64 q, c; st.u32 [q], 4;"),
        ("counted", lambda right: lambda space, address, ignores: right(space, address, True) & 15,
            ".shared .align 16 .b8 t[16]; mov.u32 q, t; st.shared.u32 [t], 5; add.u32 q, q, 16; ld.shared.u32 d, [q];"),
    ],
)  # fmt: skip
def test_a_fault_on_the_page_is_a_fault_of_the_prover(
    function: str, wrong: Any, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides break a rule, and so are the same; with the fault one of them breaks none."""
    page = finder.load("ptxspec.spec.machine.access")

    def verdict() -> str:
        return ptxspec.prove(left, NOWHERE, buffers={"p": 16}).status

    assert verdict() == "proved"
    monkeypatch.setattr(page, function, wrong(getattr(page, function)))
    assert verdict() != "proved"
    monkeypatch.undo()
    assert verdict() == "proved"
