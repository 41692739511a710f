"""Threads of the host that share a module: its launches wait for one another, and none is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, HEADER, kernel, text

import ptxspec

COUNTS = text(
    "ld.param.u32 %r0, [n]; LOOP: atom.global.add.u32 %r1, [count], 1; sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra LOOP;",
    parameters=".param .u32 n",
    module=".visible .global .u32 count;",
)
PRINTS = kernel(
    ".param .b64 f, g; .param .b32 r; cvta.global.u64 %rd3, text; st.param.b64 [f], %rd3; mov.u64 %rd4, 0; st.param.b64 [g], %rd4;"
    "call (r), vprintf, (f, g); st.global.u32 [%rd1], 3;",
    module=".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); .global .b8 text[3] = {104, 105, 0}; .global .u32 v;",
)


def at_once(*tasks: Callable[[], Any]) -> None:
    """Run all tasks in threads of their own that begin together."""
    ready = threading.Barrier(len(tasks))
    failed: list[BaseException] = []

    def run(task: Callable[[], Any]) -> None:
        ready.wait()
        try:
            task()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_update_is_lost(engine: str) -> None:
    module = ptxspec.load(COUNTS)
    launches, turns = (40, 300) if engine == "native" else (3, 3)

    def task() -> None:
        for _ in range(launches):
            module.launch("k", 2, 32, [np.uint32(turns)], engine=engine)

    at_once(*[task] * 4)
    assert module.read("count").view(np.uint32)[0] == 4 * launches * 2 * 32 * turns


def test_what_is_written_meanwhile_is_not_lost() -> None:
    """A launch that has begun stores the module's variables when it ends."""
    module = ptxspec.load(COUNTS)
    at_once(
        lambda: module.launch("k", 8, 64, [np.uint32(3000)]),
        lambda: [module.write("count", np.uint32(1 << 31)) for _ in range(3)],
        lambda: module.read("count"),
    )
    assert module.read("count").view(np.uint32)[0] in (1 << 31, (1 << 31) + 8 * 64 * 3000)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", ["launch", "read", "write", "bind"])
def test_what_a_launch_calls_does_not_wait_for_it(engine: str, what: str) -> None:
    module = ptxspec.load(PRINTS)
    out = np.zeros(1, np.uint32)
    again = {
        "launch": lambda: module.launch("k", args=[out], engine=engine),
        "read": lambda: module.read("v"),
        "write": lambda: module.write("v", np.uint32(1)),
        "bind": lambda: module.bind("t", ptxspec.Sampler()),
    }[what]
    with pytest.raises(RuntimeError, match="this module's launch has not ended"):
        module.launch("k", args=[out], engine=engine, printed=lambda text: again())
    assert out[0] == 0
    module.launch("k", args=[out], engine=engine, printed=lambda text: None)  # the turn was given back
    assert out[0] == 3


def test_another_module_may_be_launched_meanwhile() -> None:
    module, other = ptxspec.load(PRINTS), ptxspec.load(f"{HEADER}.visible .entry e() {{ ret; }}")
    steps: list[int] = []
    module.launch("k", args=[np.zeros(1, np.uint32)], printed=lambda text: steps.append(other.launch("e").steps))
    assert steps == [1]


def test_a_launch_that_fails_gives_its_turn_back() -> None:
    module = ptxspec.load(COUNTS)
    for _ in range(2):
        with pytest.raises(ptxspec.LaunchError):
            module.launch("k", args=[np.uint32(1000)], step_limit=10)
    at_once(lambda: module.launch("k", args=[np.uint32(1)]))
    assert module.read("count").view(np.uint32)[0] == 1
