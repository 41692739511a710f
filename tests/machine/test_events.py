"""Events of a launch: both engines tell the same, and what they tell is what the launch did."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
import test_asynchrony
import test_counts
from launching import HEADER, REGISTERS, kernel

import ptxspec
from ptxspec import EventKind

pytestmark = pytest.mark.sample(8)

K = EventKind
#: (body, parameters, module, directives, how it is launched)
FUNCTIONS = """
.func (.reg .b32 d) twice(.reg .b32 a) { add.u32 d, a, a; ret; }
.func (.reg .b32 d) fib(.reg .b32 n) { .reg .pred p; .reg .b32 x, y; setp.lt.u32 p, n, 2; mov.u32 d, n; @p ret;
    sub.u32 n, n, 1; call (x), fib, (n); sub.u32 n, n, 1; call (y), fib, (n); add.u32 d, x, y; ret; }
.global .u64 table[2] = { twice, fib };"""
MORE = {
    "orders": "atom.acquire.gpu.global.add.u32 %r4, [%rd0], 1; fence.sc.sys; setp.eq.u32 %p1, %r1, 3; @%p1 membar.cta;"
    "st.release.cta.global.u32 [%rd1], 5; ld.volatile.global.u32 %r5, [%rd1]; red.global.or.b32 [%rd0+4], 1;",
    "wide values": "and.b64 %rd1, %rd0, -16; .reg .b128 q; ld.global.b128 q, [%rd1]; st.global.b128 [%rd1+16], q;",
    "local memory": ".local .b32 l[4]; st.local.u32 [l+4], %r1; ld.local.u32 %r4, [l+4]; cvta.local.u64 %rd4, l; st.u32 [%rd4], 9;",
    "calls": "call (%r4), twice, (%r1); and.b32 %r5, %r1, 3; call (%r6), fib, (%r5); ld.global.u64 %rd5, [table];"
    "proto: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r7), %rd5, (%r1), proto; st.global.u32 [%rd1], %r7;",
    "parts of a CTA meet": "setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.arrive 1, 64; bra B; A: bar.sync 1, 64; B: bar.sync 2;"
    "bar.red.popc.u32 %r4, 3, %p1;",
    "lanes diverge": "setp.lt.u32 %p1, %r1, 5; @!%p1 bra E; shfl.sync.up.b32 %r4, %r1, 1, 0, 31; activemask.b32 %r5;"
    "match.any.sync.b32 %r6, %r1, 31; E: bar.warp.sync -1;",
    "one ends before the others meet": "setp.eq.u32 %p1, %r1, 7; @%p1 exit; bar.sync 0;",
    "a constant and a bank": "ld.const.u32 %r4, [c+4]; ld.global.nc.u32 %r5, [%rd1];",
}
MODULES = {"calls": FUNCTIONS, "a constant and a bank": ".const .u32 c[2] = { 1, 2 };"}
CASES = test_counts.BODIES | MORE


def observed(
    source: str, engine: str, args: list[Any], kinds: Collection[EventKind] = tuple(K), **how: Any
) -> tuple[ptxspec.Outcome, ptxspec.Trace]:
    trace = ptxspec.Trace(kinds)
    return ptxspec.load(source).launch("k", args=args, engine=engine, observers=[trace], **how), trace


def both(source: str, make: Any, **how: Any) -> tuple[list[Any], ptxspec.Outcome, list[ptxspec.Event]]:
    """(the arguments after the launch, its outcome, its events), which are those of both engines."""
    exact, native = make(), make()
    (outcome, trace), (other, others) = (
        observed(source, engine, args, **how) for engine, args in (("exact", exact), ("native", native))
    )
    assert trace.events == others.events and trace.events and not trace.dropped
    assert outcome == other
    for one, two in zip(exact, native, strict=True):
        np.testing.assert_array_equal(one, two)
    return native, outcome, trace.events


@pytest.mark.parametrize("name", CASES)
def test_both_engines_tell_the_same_and_the_counts_follow(name: str) -> None:
    source = kernel(CASES[name], module=MODULES.get(name, ""))
    how = {"grid": 3, "block": 64, "counts": True, "seed": 5}
    _, outcome, events = both(source, lambda: [np.arange(1024, dtype=np.uint32)], **how)
    executed = [event.line for event in events if event.kind == "EXECUTE"]
    assert len(executed) == sum(count.active for count in outcome.counts.instructions)
    for kind, counts in (("READ", outcome.counts.read), ("WRITE", outcome.counts.written)):
        moved: dict[str, int] = {}
        for event in events:
            if event.kind == kind and not event.operation:
                moved[event.space] = moved.get(event.space, 0) + event.size
        assert name == "copies" or moved == counts
    assert sorted(event.thread for event in events if event.kind == "EXIT") == list(range(192))


@pytest.mark.parametrize("name", CASES)
def test_what_was_written_is_what_memory_holds(name: str) -> None:
    """The writes to global memory, one after the other, lead from its beginning to its end; a read gives the last write."""
    source = kernel(CASES[name], module=MODULES.get(name, ""))
    memory = ptxspec.Memory()
    pointer = memory.put(np.arange(1024, dtype=np.uint32))
    image = dict(enumerate(np.arange(1024, dtype=np.uint32).tobytes(), pointer.address))
    parts: dict[tuple[str, int, int], int] = {}
    _, trace = observed(source, "native", [pointer], grid=2, block=64, memory=[memory])
    for event in trace.events:
        for k in range(event.size if event.kind in ("READ", "WRITE") else 0):
            byte, at = event.value >> 8 * k & 255, event.address + k
            known = image if event.space == "global" else parts
            key: Any = at if event.space == "global" else (event.space, event.owner, at)
            assert event.kind == "WRITE" or known.get(key, byte) == byte
            known[key] = byte
    held = memory.read(pointer, 4096)
    assert bytes(image[pointer.address + i] for i in range(4096)) == bytes(held)


@pytest.mark.parametrize("copies", ["early", "late", "each", "random:3"])
def test_asynchronous_operations(copies: str) -> None:
    _, _, events = both(
        test_asynchrony.PIPELINE,
        lambda: [test_asynchrony.blank(), test_asynchrony.numbers(4096), np.uint32(9)],
        block=32,
        copies=copies,
    )
    begun = [event for event in events if event.kind == "INITIATE"]
    ended = [event for event in events if event.kind == "END"]
    assert begun and len(begun) == len(ended) and {event.space for event in begun} == {"shared"}
    written = sum(event.size for event in events if event.kind == "WRITE" and event.operation)
    assert written == sum(event.size for event in begun)
    flying: dict[int, ptxspec.Event] = {}
    for event in events:
        if event.kind == "INITIATE":
            assert event.operation not in flying
            flying[event.operation] = event
        elif event.kind == "END":
            assert flying.pop(event.operation).thread == event.thread
        elif event.operation:
            begin = flying[event.operation]
            assert event.kind == "READ" or begin.address <= event.address < begin.address + begin.size
            assert (event.thread, event.line) == (begin.thread, begin.line)
    assert not flying


def test_clusters() -> None:
    body = """.shared .b32 s; .reg .b32 a; mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1; mov.u32 a, s;
    st.shared.u32 [s], %r4; barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 a, a, %r5;
    ld.shared::cluster.u32 %r6, [a]; st.global.u32 [%rd1], %r6; barrier.cluster.arrive; barrier.cluster.wait;"""
    _, _, events = both(kernel(body), lambda: [np.zeros(256, np.uint32)], grid=4, block=8, cluster=2)
    reads = [event for event in events if event.kind == "READ" and event.space == "shared"]
    assert {(event.thread // 8, event.owner) for event in reads} == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert sum(event.kind == "COMPLETE" for event in events) == 4


def test_the_order_at_a_barrier() -> None:
    """Between a thread's arrival and its release the barrier completes, and all arrivals come before that."""
    _, _, events = both(kernel("bar.sync 5; bar.sync 6, 64;"), lambda: [np.zeros(64, np.uint32)], block=64)
    for number in (5, 6):
        kinds = [
            event.kind for event in events if event.value == number and event.kind in ("ARRIVE", "COMPLETE", "RELEASE")
        ]
        assert kinds == ["ARRIVE"] * 64 + ["COMPLETE"] + ["RELEASE"] * 64


def test_orders_and_scopes_are_those_of_the_text() -> None:
    class Orders:
        kinds = frozenset({K.READ, K.WRITE, K.FENCE})

        def begin(self, launch: ptxspec.ObservedLaunch) -> None:
            self.launch, self.seen = launch, []

        def observe(self, events: np.ndarray) -> None:
            for event in events:
                instruction = self.launch.instructions[event["instruction"]]
                self.seen.append((K(event["kind"]).name, instruction.order, instruction.scope))

    observer: Any = Orders()
    ptxspec.load(kernel(MORE["orders"])).launch("k", args=[np.zeros(4, np.uint32)], observers=[observer])
    assert observer.seen == [
        ("READ", "weak", None), ("READ", "acquire", "gpu"), ("WRITE", "acquire", "gpu"), ("FENCE", "sc", "sys"),
        ("WRITE", "release", "cta"), ("READ", "volatile", "sys"), ("READ", "relaxed", "gpu"), ("WRITE", "relaxed", "gpu"),
    ]  # fmt: skip
    assert observer.launch.where(0) == ((0, 0, 0), (0, 0, 0))


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_events_of_some_kinds_and_threads(engine: str) -> None:
    source, trace = kernel("st.global.u32 [%rd1], %r1;"), ptxspec.Trace([K.WRITE], threads=[2, 33], limit=1)
    ptxspec.load(source).launch("k", 2, 32, [np.zeros(64, np.uint32)], engine=engine, observers=[trace])
    (event,) = trace.events
    assert (event.kind, event.thread, event.value, trace.dropped) == ("WRITE", 2, 2, 1)


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_what_an_observer_raises_ends_the_launch_and_undoes_it(engine: str) -> None:
    class Upset:
        kinds = frozenset({K.WRITE})

        def begin(self, launch: ptxspec.ObservedLaunch) -> None:
            pass

        def observe(self, events: np.ndarray) -> None:
            raise RuntimeError("I have seen enough")

    out = np.zeros(8192, np.uint32)
    with pytest.raises(RuntimeError, match="seen enough"):
        ptxspec.load(kernel("st.global.u32 [%rd1], 1;")).launch("k", 64, 128, [out], engine=engine, observers=[Upset()])
    assert not out.any()


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_events_before_a_fault_are_told(engine: str) -> None:
    source, trace = kernel("st.global.u32 [%rd1], 1; st.global.u32 [%rd0+4096], 1;"), ptxspec.Trace([K.WRITE])
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        ptxspec.load(source).launch("k", 1, 4, [np.zeros(4, np.uint32)], engine=engine, observers=[trace])
    assert [event.thread for event in trace.events] == [0]


def test_what_is_no_kind_of_event_is_refused() -> None:
    with pytest.raises(ValueError, match="99"):
        ptxspec.load(kernel("")).launch("k", args=[np.zeros(1, np.uint32)], observers=[ptxspec.Trace([99])])  # type: ignore[list-item]


def test_without_an_observer_the_machine_code_is_as_before() -> None:
    """The text from which LLVM makes the code of a kernel says nothing of events."""
    from ptxspec.machine.events import UNOBSERVED
    from ptxspec.machine.native.code import Code
    from ptxspec.machine.native.layout import Layout
    from ptxspec.machine.program import program
    from ptxspec.terms.profiles import Profile

    module = ptxspec.load(
        f"{HEADER}.visible .entry k(.param .u64 out) {{ {REGISTERS} {MORE['orders']} bar.sync 0; ret; }}"
    )
    ready = program(module.checked, "k", Profile("hopper", None), False, observed=UNOBSERVED)
    text, needs = Code._whole(_Written(Layout(ready, 64, False)))  # type: ignore[misc, arg-type]
    assert "event" not in text.replace("%events", "") and not any("@event" in need for need in needs)


class _Written:
    """What Code has before it compiles."""

    def __init__(self, layout: Any):
        self.layout, self.count = layout, len(layout.program.flow.blocks)
