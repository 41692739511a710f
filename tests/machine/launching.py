"""Kernels written short, and launches under both engines, which must agree on every byte and every diagnostic."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.literate.finder import install
from ptxspec.machine import hosts
from ptxspec.machine.native import code

install()
LAYOUT = importlib.import_module("ptxspec.spec.state_spaces.generic_addressing")

#: where this is set, native code is tested whose accesses are checked: what it does is compared with what it does without the
#: checks, which is compared with the exact engine wherever this is not set (test_hosts_arrays.py)
CHECKS_ALONE = "PTXSPEC_TEST_CHECKS_ALONE"
ENGINES, PAIR = (("native",), ("unchecked", "native")) if CHECKS_ALONE in os.environ else (("exact", "native"),) * 2
if CHECKS_ALONE in os.environ:
    # where the accesses go is asked, not what LLVM makes of them: code is made soon, as of a large kernel
    code.MANY_BLOCKS = 0
#: where this is set, code is made fast at once
MADE_FAST = "PTXSPEC_TEST_MADE_FAST"
if MADE_FAST in os.environ:
    code.PATIENCE = 0
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = (
    ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<16>; .reg .f64 %fd<16>;"
)
#: %r0 = the thread's number in the grid (one dimension), %r1 = %tid.x, %rd0 = out, %rd1 = the thread's word of out
PROLOGUE = """\
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r0, %r2, %r3, %r1;
    ld.param.u64 %rd0, [out];
    mad.wide.u32 %rd1, %r0, 4, %rd0;
"""


def text(body: str, parameters: str = ".param .u64 out", module: str = "", directives: str = "") -> str:
    """A module with one entry `k`. `module` stands before it. Registers %p %h %r %rd %f %fd are declared."""
    return f"{HEADER}{module}\n.visible .entry k({parameters}) {directives}\n{{\n{REGISTERS}\n{body}\n}}\n"


def kernel(body: str, parameters: str = ".param .u64 out", module: str = "", directives: str = "") -> str:
    """`text` with a prologue that finds the thread's place (see PROLOGUE) and a return at the end."""
    return text(PROLOGUE + body + "\n    ret;", parameters, module, directives)


def arguments(args: Sequence[Any]) -> list[Any]:
    """The arguments with fresh copies of the arrays; read-only arrays stay so."""
    fresh = []
    for value in args:
        if isinstance(value, np.ndarray) and value.ndim:
            copy = value.copy()
            copy.flags.writeable = value.flags.writeable
            fresh.append(copy)
        else:
            fresh.append(value)
    return fresh


@contextmanager
def engine_of(way: str) -> Iterator[Any]:
    """The engine to launch with; of `unchecked` it is the native one, which checks no access meanwhile."""
    if way != "unchecked":
        yield way
        return
    before = os.environ[hosts.VARIABLE]
    os.environ[hosts.VARIABLE] = "0"
    try:
        yield "native"
    finally:
        os.environ[hosts.VARIABLE] = before


def each(source: str) -> list[tuple[str, ptxspec.Module]]:
    """(engine, a module of its own) for the engines."""
    return [(engine, ptxspec.load(source)) for engine in ENGINES]


def both(source: str, args: Sequence[Any], name: str = "k", **how: Any) -> list[Any]:
    """Launch under each engine; the arguments afterwards, the same bytes under both, as is the count of steps."""
    outcomes = []
    for way in PAIR:
        module, mine = ptxspec.load(source), arguments(args)
        with engine_of(way) as engine:
            outcome = module.launch(name, args=mine, engine=engine, **how)
        outcomes.append((mine, outcome.steps))
    (exact, exact_steps), (native, native_steps) = outcomes
    for i, (x, y) in enumerate(zip(exact, native, strict=True)):
        if isinstance(x, np.ndarray):
            assert x.tobytes() == y.tobytes(), f"argument {i}: exact {x!r}, native {y!r}"
    assert exact_steps == native_steps
    return exact


def fault(source: str, args: Sequence[Any], name: str = "k", **how: Any) -> ptxspec.LaunchError:
    """Launch under each engine; the error, which is the same under both, the arrays being as they were."""
    errors = []
    for way in PAIR:
        module, mine = ptxspec.load(source), arguments(args)
        with engine_of(way) as engine, pytest.raises(ptxspec.LaunchError) as caught:
            module.launch(name, args=mine, engine=engine, **how)
        for i, (before, after) in enumerate(zip(args, mine, strict=True)):
            if isinstance(before, np.ndarray):
                assert before.tobytes() == after.tobytes(), f"{way}: argument {i} was changed"
        errors.append(caught.value)
    exact, native = errors
    for field in ("rule", "note", "where", "address", "page"):
        assert getattr(exact, field) == getattr(native, field), field
    assert str(exact) == str(native)
    return exact


def text_of_turns(source: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any]:
    """The text from which LLVM makes the turns of warps of a kernel, and the kernel's layout."""
    from ptxspec.machine.native.layout import Layout
    from ptxspec.machine.native.warps import WarpFunction
    from ptxspec.machine.program import program
    from ptxspec.terms.profiles import Profile

    monkeypatch.setenv(hosts.VARIABLE, "0")
    checked = ptxspec.load(source).checked
    layout = Layout(program(checked, "k", Profile("hopper", None), False, alone=False), 2048, False)
    layout.divide([range(len(layout.program.flow.blocks))])
    return WarpFunction(layout, set()).function(), layout
