"""How long loading takes: in proportion to the length of the text, and little."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable

import effort
import pytest
from verdicts import HEADER

import ptxspec


def instructions(count: int) -> str:
    """One kernel of so many lines."""
    kinds = ["add.u32 %r{a}, %r{b}, {n};", "ld.global.u32 %r{a}, [%rd{b}+{n}];", "@%p{c} mul.lo.u32 %r{a}, %r{b}, %r{c};",
             "L{n}: xor.b32 %r{a}, %r{b}, 5;", "setp.lt.s32 %p{c}, %r{a}, {n};",
             "mad.wide.u32 %rd{a}, %r{b}, 4, %rd{b};"]  # fmt: skip
    lines = [kinds[i % 6].format(a=i % 1000, b=i * 7 % 1000, c=i % 9, n=i) for i in range(count - 8)]
    registers = ".reg .pred %p<9>;\n.reg .b32 %r<1000>;\n.reg .b64 %rd<1000>;"
    return f"{HEADER}.visible .entry k(.param .u64 p)\n{{\n{registers}\n" + "\n".join(lines) + "\n}\n"


def kernels(count: int) -> str:
    """Many kernels of five lines."""
    one = ".visible .entry k{}()\n{{\n.reg .b32 %r<3>; add.u32 %r1, %r2, 1;\n\n}}\n"
    return HEADER + "".join(one.format(i) for i in range(count // 5))


def declarations(count: int) -> str:
    """Half of the lines declare, in the module and in the kernel; the others use what is declared."""
    quarter = count // 4
    outer = "".join(f".global .u32 g{i} = {i};\n" for i in range(quarter))
    inner = "".join(f".reg .u32 x{i};\n" for i in range(quarter))
    uses = "".join(f"ld.global.u32 x{i}, [g{i}];\nadd.u32 x{i}, x{i}, 1;\n" for i in range(quarter))
    return f"{HEADER}{outer}.entry k()\n{{\n{inner}{uses}}}\n"


def branches(count: int) -> str:
    """Every other line a label, every other line a branch to one far away."""
    half = count // 2
    return f"{HEADER}.entry k()\n{{\n" + "".join(f"L{i}:\nbra L{(i * 7919) % half};\n" for i in range(half)) + "}\n"


def mistakes(count: int) -> str:
    """Every line is wrong."""
    return f"{HEADER}.entry k()\n{{\n.reg .b32 %r<3>;\n" + "mov.u32 %r1, %x;\n" * count + "}\n"


def initializers(count: int) -> str:
    return f"{HEADER}.global .u32 x[] = {{" + ",\n".join(map(str, range(count))) + "};\n"


def read(text: str) -> None:
    with contextlib.suppress(ptxspec.PtxError):
        ptxspec.load(text)


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "make",
    [instructions, kernels, declarations, branches, initializers, mistakes],
    ids=lambda f: f.__name__,
)
def test_time_is_linear(make: Callable[[int], str]) -> None:
    """Four times the lines take about four times as long; quadratic would be sixteen times."""

    def take(count: int) -> float:
        text = make(count)
        return effort.seconds(lambda: read(text))

    effort.grows_in_proportion(take, 4000, most=6.5)


@pytest.mark.slow
@pytest.mark.parametrize("make", [instructions, mistakes], ids=lambda f: f.__name__)
def test_python_looks_for_cycles_afterwards(make: Callable[[int], str]) -> None:
    """It does so as before, also after an error. Where there was none, there is next to nothing to find."""
    text = make(4000)
    assert gc.isenabled()
    read(text)
    assert gc.isenabled() and not gc.get_freeze_count()
    gc.collect()
    gc.disable()
    try:
        read(text)
        assert not gc.isenabled() and (gc.collect() < 1500 or make is mistakes)
    finally:
        gc.enable()


def test_ten_thousand_lines() -> None:
    text = instructions(10_000)
    assert text.count("\n") > 9_990
    effort.check(min(effort.seconds(lambda: read(text)) for _ in range(3)), 600)  # it takes some 170
