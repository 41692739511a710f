"""A launch ends by its limits: steps, work, seconds, memory; it can be interrupted, and tells how far it is."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import effort
import numpy as np
import pytest
from effort import at_most, check
from launching import ENGINES, each, fault, kernel

import ptxspec
from ptxspec import contracts
from ptxspec.literate.finder import install
from ptxspec.machine import limits
from ptxspec.terms import object_code
from ptxspec.terms.native import Library

pytestmark = pytest.mark.sample(8)

install()
PAGE: Any = importlib.import_module("ptxspec.spec.machine.limits")
#: steps that no launch comes to
FOREVER = 1 << 60

PRINTS = """
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 line[3] = {65, 10, 0};
.global .u32 count = 5;
"""
PRINT = """
    .param .b64 f; .param .b64 a; .param .b32 n;
    mov.u64 %rd5, line; cvta.global.u64 %rd5, %rd5; st.param.b64 [f], %rd5; st.param.b64 [a], 0;
    call (n), vprintf, (f, a);
"""
#: loops that do not end, by what they do
ENDLESS = {
    "branch": "L: bra L;",
    "add": "L: add.u32 %r5, %r5, 1; bra L;",
    "memory": "L: ld.volatile.global.u32 %r5, [%rd1]; setp.ne.u32 %p1, %r5, 77; @%p1 bra L;",
    "barrier": "L: bar.sync 0; bra L;",
    "vote": "L: vote.sync.ballot.b32 %r5, 1, 0xffffffff; bra L;",
    "activemask": "L: activemask.b32 %r5; bra L;",
    "wait": "setp.eq.u32 %p1, %r1, 0; @%p1 bar.sync 0; L: @!%p1 bra L;",
    "print": "L: {" + PRINT + "} bra L;",
    "stack": "L: .reg .b64 %s; stacksave.u64 %s; stackrestore.u64 %s; bra L;",
}
TEXTURE = """.visible .entry k(.param .u64 out, .param .u64 image) {
    .reg .b64 %rd<4>; .reg .f32 %f<9>;
    ld.param.u64 %rd2, [image];
L:  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5, %f6}];
    bra L;
}"""


def endless(what: str) -> str:
    before = "st.global.u32 [%rd1], 99; st.global.u32 [count], 6;"
    return kernel(before + ENDLESS[what], module=PRINTS)


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """No code is found that was made before."""
    monkeypatch.setenv(object_code.VARIABLE, "0")


@contextmanager
def in_at_most(seconds: float) -> Iterator[None]:
    """What is done takes no longer than a usual core would, several times over."""
    with at_most(seconds * 4000):
        yield


# steps and work ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", ENDLESS)
def test_work_is_limited_without_a_limit_on_steps(what: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prices are the page's, the limit is a thousandth: what ends here in a moment ends there in less than a minute."""
    work = PAGE.WORK[engine]
    monkeypatch.setitem(PAGE.WORK, engine, work._replace(most=work.most // 1000))
    module, out = ptxspec.load(endless(what)), np.arange(32, dtype=np.uint32)
    with pytest.raises(ptxspec.LaunchError, match="step_limit") as caught:
        module.launch("k", 1, 32, [out], engine=engine, printed=lambda _: None)
    assert caught.value.rule == "step limit"
    assert caught.value.page and caught.value.page.startswith("spec/machine/limits.md")
    assert out.tolist() == list(range(32))
    assert module.read("count").view(np.uint32)[0] == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_round_counts_for_more_than_its_steps(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of barriers takes few steps, and long; a launch that says how many steps it may take has them all."""
    work = PAGE.WORK[engine]
    monkeypatch.setitem(PAGE.WORK, engine, work._replace(most=20 * work.round))
    source = kernel(
        "L: bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 50; @%p1 bra L; st.global.u32 [%rd1], %r5;"
    )
    out = np.zeros(1, np.uint32)
    with pytest.raises(ptxspec.LaunchError, match="step limit"):
        ptxspec.load(source).launch("k", 1, 1, [out], engine=engine)
    ptxspec.load(source).launch("k", 1, 1, [out], engine=engine, step_limit=1000)
    assert out[0] == 50


@pytest.mark.parametrize("engine", ENGINES)
def test_work_begins_anew_with_the_next_ctas(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many CTAs a grid has: here three times as many as are resident together."""
    monkeypatch.setitem(PAGE.WORK, engine, PAGE.WORK[engine]._replace(most=30_000, round=0))
    source, out = kernel("st.global.u32 [%rd1], %r0;"), np.zeros(6144, np.uint32)
    assert ptxspec.load(source).launch("k", 24, 256, [out], engine=engine).steps > 40_000
    assert (out == np.arange(6144)).all()


class Clock:
    """Seconds that pass by so many with each look."""

    def __init__(self, pace: float):
        self.now, self.pace, self.looks = 1000.0, pace, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += self.pace
        return self.now


def clocks(monkeypatch: pytest.MonkeyPatch, engine: str, pace: float, share: float = 1.0) -> Clock:
    """A clock of this pace, a processor that works for this share of the time, and no limit on the number of steps."""
    found = Clock(pace)
    monkeypatch.setattr(limits, "clock", found)
    monkeypatch.setattr(limits, "processor", lambda: found.now * share)
    monkeypatch.setitem(PAGE.WORK, engine, PAGE.WORK[engine]._replace(most=10**15))
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", ENDLESS)
def test_a_clock_ends_what_takes_few_steps_and_long(what: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes the time, it is looked at again and again: here a second passes between two looks."""
    found = clocks(monkeypatch, engine, 1.0)
    module, out = ptxspec.load(endless(what)), np.arange(32, dtype=np.uint32)
    with pytest.raises(ptxspec.LaunchError, match=f"within {PAGE.SECONDS} seconds.*step_limit") as caught:
        module.launch("k", 1, 32, [out], engine=engine, printed=lambda _: None)
    assert caught.value.rule == "step limit" and out.tolist() == list(range(32))
    assert PAGE.SECONDS < found.looks < PAGE.SECONDS + 20


@pytest.mark.parametrize("engine", ENGINES)
def test_only_time_in_which_the_processor_worked_counts(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of twenty thousand turns, on a machine on which others work, and within a number of steps."""
    source = kernel("L: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 20000; @%p1 bra L; st.global.u32 [%rd1], %r5;")
    module, out = ptxspec.load(source), np.zeros(1, np.uint32)
    for name in ("TURN", "ROUND"):
        monkeypatch.setattr(contracts.schedule, name, 100)
    monkeypatch.setitem(limits.PAUSE, engine, 1)
    for share, how in ((0.0, {}), (1.0, {"step_limit": 10**6})):
        found = clocks(monkeypatch, engine, 1.0, share)
        module.launch("k", 1, 1, [out], engine=engine, **how)
        assert out[0] == 20_000 and found.looks > 2 * PAGE.SECONDS


@pytest.mark.parametrize("engine", ENGINES)
def test_the_clock_begins_anew_with_the_next_ctas(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which one is resident at a time."""
    module, out = ptxspec.load(kernel(f"{LOCAL} st.global.u32 [%rd1], %r0;")), np.zeros(640, np.uint32)
    found = clocks(monkeypatch, engine, {"exact": 0.4, "native": 2.0}[engine])
    module.launch("k", 20, 32, [out], engine=engine, memory_limit=202_000 * 32)
    assert out.tolist() == list(range(640)) and found.now - 1000 > PAGE.SECONDS


@pytest.mark.parametrize("engine", ENGINES)
def test_the_defaults_leave_room(engine: str) -> None:
    """A batch of as many threads as there are may take hundreds of steps each under one engine, a million under the other."""
    assert PAGE.WORK[engine].most >= 2048 * {"exact": 400, "native": 900_000}[engine]


# seconds -------------------------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", ENDLESS)
def test_a_time_limit_ends_a_launch(what: str, engine: str) -> None:
    module, out = ptxspec.load(endless(what)), np.arange(2048, dtype=np.uint32)
    with in_at_most(5), pytest.raises(ptxspec.LaunchError) as caught:
        module.launch("k", 8, 256, [out], engine=engine, time_limit=0.3, step_limit=FOREVER, printed=lambda _: None)
    assert caught.value.rule == "time limit" and "0.3 seconds" in caught.value.note
    assert out.tolist() == list(range(2048))
    assert module.read("count").view(np.uint32)[0] == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_time_limit_ends_lookups(engine: str) -> None:
    image = ptxspec.Texture(np.zeros((4, 4, 4), np.float32), geometry="2d", filter="linear", normalized_coords=True)
    module = ptxspec.load(kernel("").split(".visible")[0] + TEXTURE)
    with in_at_most(6), pytest.raises(ptxspec.LaunchError) as caught:
        module.launch("k", 16, 1024, [np.zeros(4, np.uint32), image], engine=engine, time_limit=0.3)
    assert caught.value.rule == "time limit"


@pytest.mark.slow
def test_compilation_counts_and_may_be_tried_again(compiles: None) -> None:
    source, out = many_blocks(3000), np.zeros(1, np.uint32)
    module = ptxspec.load(source)
    with in_at_most(5), pytest.raises(ptxspec.LaunchError) as caught:
        module.launch("k", args=[out], time_limit=0.5)
    assert caught.value.rule == "time limit" and out[0] == 0
    module.launch("k", args=[out])
    assert out[0] == 3007


@pytest.mark.parametrize("limit", [{}, {"time_limit": 60}, {"step_limit": FOREVER}])
def test_compilation_has_a_limit_of_its_own(
    limit: dict[str, int], compiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the launch says how long it may take, or how many steps."""
    monkeypatch.setattr(PAGE, "SECONDS", 0.1)
    module, out = ptxspec.load(many_blocks(600)), np.zeros(1, np.uint32)
    if limit:
        monkeypatch.setattr(limits.LaunchLimits, "begin_batch", lambda *_: None)  # not so short a time for the threads
        module.launch("k", args=[out], **limit)
        assert out[0] == 607
        return
    with pytest.raises(ptxspec.LaunchError, match=r"was not ready within 0\.1 seconds.*time_limit") as caught:
        module.launch("k", args=[out])
    assert caught.value.rule == "time limit" and out[0] == 0


def test_seconds_are_over_when_the_compiler_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a small kernel, which LLVM is given as a whole: the kernel does not run."""
    now, plain = [0.0], Library.__init__

    def slow(self: Library, *given: Any, **options: Any) -> None:
        plain(self, *given, **options)
        now[0] += 48

    monkeypatch.setattr(limits, "clock", lambda: now[0])
    monkeypatch.setattr(Library, "__init__", slow)
    monkeypatch.setattr(limits.LaunchLimits, "begin_batch", lambda *_: pytest.fail("it runs"))
    module = ptxspec.load(kernel("st.global.u32 [%rd1], 7;"))
    with pytest.raises(ptxspec.LaunchError, match="did not end within 1 seconds"):
        module.launch("k", args=[np.zeros(1, np.uint32)], time_limit=1)


def test_a_launch_within_its_time() -> None:
    for engine, module in each(kernel("st.global.u32 [%rd1], 7;")):
        out = np.zeros(1, np.uint32)
        module.launch("k", args=[out], engine=engine, time_limit=np.float64(60))
        assert out[0] == 7


@pytest.mark.parametrize("limit", ["1", True, [], 1j])
def test_seconds_are_numbers(limit: Any) -> None:
    with pytest.raises(TypeError, match="seconds"):
        ptxspec.load(kernel("")).launch("k", args=[np.zeros(1, np.uint32)], time_limit=limit)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), -float("inf")])
def test_seconds_are_more_than_none(limit: Any) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        ptxspec.load(kernel("")).launch("k", args=[np.zeros(1, np.uint32)], time_limit=limit)


@pytest.mark.parametrize("limit", [float("inf"), 10**400, 1e300])
def test_any_number_of_seconds_may_be_large(limit: Any) -> None:
    ptxspec.load(kernel("")).launch("k", args=[np.zeros(1, np.uint32)], time_limit=limit)


@pytest.mark.parametrize("what", ["step_limit", "memory_limit"])
def test_limits_are_not_negative(what: str) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        ptxspec.load(kernel("")).launch("k", args=[np.zeros(1, np.uint32)], **{what: -5})


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """As by Ctrl-C, again and again: an exception is lost where Python runs a finalizer."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        with in_at_most(seconds + 4), pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", ["branch", "barrier", "print"])
def test_an_interrupt_ends_a_launch(what: str, engine: str) -> None:
    """With more steps allowed than any machine takes: an empty loop would come to the end of its work before."""
    module, out = ptxspec.load(endless(what)), np.arange(2048, dtype=np.uint32)
    with interrupted_after(0.5):
        module.launch("k", 8, 256, [out], engine=engine, step_limit=1 << 60, printed=lambda _: None)
    assert out.tolist() == list(range(2048))


def test_an_interrupt_ends_a_compilation(compiles: None) -> None:
    source = large("st.u32 [%rd1], %r5; ld.u32 %r5, [%rd1];", 4000)
    module, out = ptxspec.load(source), np.zeros(1, np.uint32)
    with interrupted_after(0.3):
        module.launch("k", args=[out])


# progress ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_progress_is_told(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the driver comes back to look at the clock, here after each round, and at the end."""
    monkeypatch.setattr("ptxspec.machine.limits.REPORT", 0)
    monkeypatch.setitem(limits.PAUSE, engine, 1)
    told: list[tuple[int, int, int]] = []
    out = np.zeros(5000, np.uint32)
    outcome = ptxspec.load(kernel("st.global.u32 [%rd1], 1;")).launch(
        "k", 50, 100, [out], engine=engine, progress=lambda *facts: told.append(facts)
    )
    assert told[-1] == (outcome.steps, 50, 50)
    assert told == sorted(told) and {total for _, _, total in told} == {50}
    assert {20, 40, 50} <= {done for _, done, _ in told}


@pytest.mark.parametrize("engine", ENGINES)
def test_who_is_told_may_end_the_launch(engine: str) -> None:
    class Enough(Exception):
        pass

    def stop(*_: int) -> None:
        raise Enough

    out = np.zeros(1, np.uint32)
    with in_at_most(5), pytest.raises(Enough):
        ptxspec.load(endless("branch")).launch("k", args=[out], engine=engine, progress=stop, step_limit=FOREVER)
    assert out[0] == 0


def test_progress_can_be_told() -> None:
    with pytest.raises(TypeError, match="progress"):
        ptxspec.load(kernel("")).launch("k", args=[np.zeros(1, np.uint32)], progress=5)  # type: ignore[arg-type]


# memory --------------------------------------------------------------------------------------------------------------------

#: a thread that has 200,000 bytes of its own, and writes four of them
LOCAL = ".local .align 4 .b8 own[200000]; st.local.u32 [own+100000], %r0; ld.local.u32 %r5, [own+100000]; st.global.u32 [%rd1], %r5;"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cta_that_does_not_fit(engine: str) -> None:
    module, out = ptxspec.load(kernel(LOCAL)), np.zeros(64, np.uint32)
    with pytest.raises(ptxspec.LaunchError) as caught:
        module.launch("k", 2, 32, [out], engine=engine, memory_limit=200_000 * 32)
    assert caught.value.rule == "memory limit" and "a CTA of 32 threads needs" in caught.value.note
    with pytest.raises(ptxspec.LaunchError, match="a cluster of 2 CTAs"):
        module.launch("k", 2, 32, [out], engine=engine, cluster=2, memory_limit=202_000 * 32)
    assert not out.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_fewer_are_resident_where_memory_is_short(engine: str) -> None:
    """One CTA after the other, or two."""
    for many in (1, 2):
        told: list[int] = []
        module, out = ptxspec.load(kernel(LOCAL)), np.zeros(160, np.uint32)
        module.launch(
            "k",
            5,
            32,
            [out],
            engine=engine,
            memory_limit=202_000 * 32 * many,
            progress=lambda *f, told=told: told.append(f[1]),
        )
        assert out.tolist() == list(range(160))


def test_shared_memory_counts() -> None:
    source = kernel(".shared .b8 s[40000]; st.shared.u8 [s], 1;")
    with pytest.raises(ptxspec.LaunchError, match="memory limit"):
        ptxspec.load(source).launch("k", 1, 1, [np.zeros(1, np.uint32)], memory_limit=40_000)


MEASURE = """
import resource, sys
sys.path[:0] = sys.argv[1].split(":")
import numpy as np, ptxspec
from test_limits_of_launches import LOCAL
from launching import kernel
module, out = ptxspec.load(kernel(LOCAL)), np.zeros(6144, np.uint32)
module.launch("k", 1, 32, [out], engine=sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
module.launch("k", 24, 256, [out], engine=sys.argv[2])
assert (out == np.arange(6144)).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is in KiB on Linux")
@pytest.mark.parametrize("engine", ENGINES)
def test_local_memory_that_nobody_touches_takes_none(engine: str) -> None:
    """6,144 threads may have 1.2 GB; they touch a page each, at most 2,048 of them at a time."""
    from pathlib import Path

    folders = f"{Path(__file__).parent}:{Path(__file__).parents[1]}"
    command = [sys.executable, "-c", MEASURE, folders, engine]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100_000


# what is large -------------------------------------------------------------------------------------------------------------


def many_blocks(count: int) -> str:
    """A thread skips one of `count` additions."""
    steps = "\n".join(f"setp.eq.u32 %p1, %r5, {i}; @%p1 bra L{i}; add.u32 %r5, %r5, 1; L{i}:" for i in range(count))
    return kernel(f"mov.u32 %r5, 7;\n{steps}\nst.global.u32 [%rd1], %r5;")


def chain(count: int) -> str:
    """A function that calls a function, and so on."""
    parts = [".func (.param .b32 o) f0(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; st.param.b32 [o], x; ret; }"]
    parts += [
        f".func (.param .b32 o) f{i}(.param .b32 a) {{ .reg .b32 x; .param .b32 b; .param .b32 c; ld.param.b32 x, [a]; "
        f"add.u32 x, x, 1; st.param.b32 [b], x; call (c), f{i - 1}, (b); ld.param.b32 x, [c]; st.param.b32 [o], x; ret; }}"
        for i in range(1, count)
    ]
    call = f".param .b32 b; .param .b32 c; st.param.b32 [b], 0; call (c), f{count - 1}, (b); ld.param.b32 %r5, [c];"
    return kernel(call + "st.global.u32 [%rd1], %r5;", module="\n".join(parts))


def large(body: str, times: int) -> str:
    """The same instructions many times, one after the other."""
    return kernel(body.replace("\n", " ") + "\n" + f"{body}\n" * (times - 1))


def processor_seconds(source: str, engine: str, args: Any = None) -> float:
    module = ptxspec.load(source)
    return effort.seconds(
        lambda: module.launch("k", args=[np.zeros(64, np.uint32)] if args is None else args, engine=engine)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "small", "more", "engine", "most"),
    [
        pytest.param(many_blocks, 400, 7, "native", 9, marks=pytest.mark.long),
        (many_blocks, 1200, 7, "exact", 7),
        (chain, 75, -1, "native", 9),
        pytest.param(chain, 625, -1, "exact", 7, marks=pytest.mark.long),
    ],
)
def test_time_grows_with_the_length(source: Any, small: int, more: int, engine: str, most: float) -> None:
    """Four times as much takes four times as long, not sixteen times, and has its result."""

    def seconds(count: int) -> float:
        out = np.zeros(64, np.uint32)
        found = processor_seconds(source(count), engine, [out])
        assert out[0] == count + more
        return found

    effort.grows_in_proportion(seconds, small, most)


@pytest.mark.parametrize(
    ("body", "times", "most"),
    [
        ("ld.u32 %r5, [%rd1]; st.u32 [%rd1], %r5;", 1000, 5),
        ("fma.rm.ftz.f32 %f1, %f2, %f3, %f1;", 5000, 10),
        ("ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd1], %r5;", 1000, 5),
        ("mad.lo.u32 %r5, %r6, %r5, %r7;", 5000, 10),
    ],
)
@pytest.mark.slow
def test_one_long_block_is_compiled_soon(body: str, times: int, most: float, compiles: None) -> None:
    check(processor_seconds(large(body, times), "native"), most * 4000)


@pytest.mark.slow
def test_there_may_be_many_arguments() -> None:
    count = 2000
    parameters = ", ".join(f".param .u64 p{i}" for i in range(count))
    body = "\n".join(f"ld.param.u64 %rd1, [p{i}]; st.global.u32 [%rd1], {i};" for i in range(count))
    source = f".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k({parameters}) {{ .reg .b64 %rd<2>;\n{body}\nret;\n}}"
    args = [np.zeros(1, np.uint32) for _ in range(count)]
    check(processor_seconds(source, "exact", args), 20_000)
    assert [int(a[0]) for a in args] == list(range(count))


def test_launches_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they left is known by its name for a while, and then as something that was."""
    monkeypatch.setattr("ptxspec.machine.memory.REMEMBERED", 5)
    source = kernel(
        "st.global.u64 [%rd0], %rd0; ld.param.u64 %rd2, [at]; ld.global.u32 %r5, [%rd2];",
        ".param .u64 out, .param .u64 at",
    )
    for engine, module in each(source):
        addresses = []
        for _ in range(20):
            out = np.zeros(1, np.uint64)
            module.launch("k", args=[out, out], engine=engine)
            addresses.append(int(out[0]))
        for address, note in ((addresses[-1], "argument 0"), (addresses[3], "long ago")):
            with pytest.raises(ptxspec.LaunchError, match=note) as caught:
                module.launch("k", args=[np.zeros(1, np.uint64), np.uint64(address)], engine=engine)
            assert caught.value.rule == "use after end"


# texts ---------------------------------------------------------------------------------------------------------------------

SHOW = """
    .param .b64 f; .param .b64 a; .param .b32 n; ld.param.u64 %rd2, [format]; st.param.b64 [f], %rd2; st.param.b64 [a], %rd0;
    call (n), vprintf, (f, a);
"""


@pytest.mark.parametrize(
    ("length", "ends", "rule"),
    [(300, False, "out of bounds"), (1 << 20, True, ""), ((1 << 20) + 1, True, "text"), (3 << 20, False, "text")],
)
def test_a_text_has_an_end(length: int, ends: bool, rule: str) -> None:
    """A format of so many letters, with a zero after them or not."""
    text = np.full(length + ends, ord("x"), np.uint8)
    text[length:] = 0
    source = kernel(SHOW, ".param .u64 out, .param .u64 format", module=PRINTS.split(".global")[0])
    for engine, module in each(source):
        shown: list[str] = []
        args = [np.zeros(1, np.uint64), text]
        if rule:
            with in_at_most(20), pytest.raises(ptxspec.LaunchError) as caught:
                module.launch("k", args=args, engine=engine, printed=shown.append)
            assert caught.value.rule == rule and not shown
        else:
            module.launch("k", args=args, engine=engine, printed=shown.append)
            assert shown == ["x" * length]


@pytest.mark.parametrize("size", [0, 3, 16, 2**63, 2**64 - 1])
def test_characters_have_a_size(size: int) -> None:
    """An assertion that fails says how many bytes its characters have."""
    module = ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);"
    body = """
        .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s; ld.param.u64 %rd2, [size];
        st.param.b64 [m], %rd0; st.param.b64 [f], %rd0; st.param.b32 [l], 1; st.param.b64 [n], %rd0; st.param.b64 [s], %rd2;
        call __assertfail, (m, f, l, n, s);
    """
    source = kernel(body, ".param .u64 out, .param .u64 size", module=module)
    assert fault(source, [np.zeros(4, np.uint64), np.uint64(size)]).rule == "text"
