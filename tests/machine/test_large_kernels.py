"""Kernels of many basic blocks, which the native engine compiles in other ways than small ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from effort import at_most
from launching import both, kernel

import ptxspec
from ptxspec.base import storage
from ptxspec.machine import flow
from ptxspec.machine.native import MANY_BLOCKS, code, outlined
from ptxspec.terms import object_code
from ptxspec.terms.native import CodeSource

pytestmark = pytest.mark.sample(4)


def chain(blocks: int) -> str:
    """Each block changes a value and a predicate, stores now and then, and skips the next block or not."""
    lines = ["mov.u32 %r4, %r1; mov.f32 %f1, 1.0;"]
    for i in range(blocks):
        lines.append(
            f"L{i}: mad.lo.u32 %r4, %r4, {i * 7919 + 1}, {i}; shf.l.wrap.b32 %r4, %r4, %r4, {i % 31};\n"
            f"cvt.rn.f32.u32 %f2, %r4; fma.rz.f32 %f1, %f1, 0f3F7F0000, %f2; setp.lt.u32 %p1, %r4, {i << 20};\n"
            f"@%p1 bra L{min(i + 2, blocks)};"
        )
        if i % 17 == 0:
            lines.append("st.global.u32 [%rd1], %r4; ld.global.u32 %r5, [%rd1]; @!%p1 xor.b32 %r4, %r5, 0x5a;")
    lines.append(f"L{blocks}: mov.b32 %r6, %f1; xor.b32 %r4, %r4, %r6; st.global.u32 [%rd1], %r4;")
    return kernel("\n".join(lines))


@pytest.mark.parametrize("blocks", [32, MANY_BLOCKS // 4, MANY_BLOCKS + 20])
def test_many_blocks(blocks: int) -> None:
    """Both engines compute the same (`both` sees to it), and something."""
    assert len(set(both(chain(blocks), [np.zeros(9, np.uint32)], block=9)[0].tolist())) == 9


@pytest.mark.slow
def test_many_blocks_are_compiled_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(object_code.VARIABLE, "0")  # not found where it was kept
    module = ptxspec.load(chain(MANY_BLOCKS))
    with at_most(MANY_BLOCKS * 32):
        module.launch("k", args=[np.zeros(1, np.uint32)])


@pytest.mark.parametrize("engine", ["native", "exact"])
def test_blocks_are_found_once(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second launch finds what the first has made of the kernel; another profile makes its own."""
    made = []
    original = flow.FlowGraph.__init__

    def counted(self: flow.FlowGraph, kernel: object, *how: bool) -> None:
        made.append(kernel)
        original(self, kernel, *how)  # type: ignore[arg-type]

    monkeypatch.setattr(flow.FlowGraph, "__init__", counted)
    module = ptxspec.load(chain(3))
    for profile in ("hopper", "hopper", "portable", "hopper", "portable"):
        if engine == "exact" or profile == "hopper":
            module.launch("k", args=[np.zeros(1, np.uint32)], profile=profile, engine=engine)
    assert len(made) == (2 if engine == "exact" else 1)


def test_the_code_of_pieces_is_found_again(monkeypatch: pytest.MonkeyPatch, private_path: Path) -> None:
    """No text has addresses, which another process would not have; what is found computes the same."""
    monkeypatch.setattr(code, "LARGE", 200)
    monkeypatch.setattr(code, "PIECE", 200)
    monkeypatch.setattr(outlined, "LINES", 1)
    monkeypatch.setattr(storage, "kept", lambda name: private_path / name)
    monkeypatch.setattr(object_code, "WORTH", 0.0)
    monkeypatch.setenv(object_code.VARIABLE, "1")
    made: list[str] = []
    plain = CodeSource.__init__
    monkeypatch.setattr(
        CodeSource, "__init__", lambda own, text, *a, **k: made.append(text) or plain(own, text, *a, **k)
    )
    results, kept = [], []
    for _ in range(2):
        results.append(np.zeros(9, np.uint32))
        ptxspec.load(chain(40)).launch("k", block=9, args=[results[-1]])
        kept.append(len(list((private_path / "code").iterdir())))
    assert sum("@outlined = global" in text for text in made) > 2 and "define {i32} @outlined_0" in made[0]
    assert kept[0] == kept[1] == len(set(made)) and made.count(made[0]) == 2
    assert np.array_equal(*results)


def alive(count: int) -> str:
    """A loop through which so many registers live."""
    lines = [f".reg .b32 %x<{count}>; mov.u32 %r5, 0;"]
    lines += [f"add.u32 %x{i}, %r1, {i};" for i in range(count)]
    lines += ["LOOP: add.u32 %r5, %r5, 1;", *(f"add.u32 %x{i}, %x{(i + 1) % count}, %x{i};" for i in range(count))]
    lines += ["setp.lt.u32 %p1, %r5, 3; @%p1 bra LOOP; mov.u32 %r4, 0;"]
    lines += [f"xor.b32 %r4, %r4, %x{i};" for i in range(count)]
    return kernel("\n".join([*lines, "st.global.u32 [%rd1], %r4;"]))


@pytest.mark.slow
def test_pieces_take_the_registers_they_have_to_do_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all that live through them: with four times the registers there is four times the text, not sixteen times."""
    monkeypatch.setattr(code, "LARGE", 0)
    monkeypatch.setattr(code, "PIECE", 400)
    lines = [0]
    plain = CodeSource.__init__
    counted = lambda own, text, *a, **k: (lines.append(lines.pop() + text.count("\n")), plain(own, text, *a, **k))[1]  # noqa: E731
    monkeypatch.setattr(CodeSource, "__init__", counted)
    monkeypatch.setattr("ptxspec.spec.machine.limits.LONGEST_BLOCK", 32)
    found = []
    for count in (200, 800):
        lines[0] = 0
        assert len(set(both(alive(count), [np.zeros(3, np.uint32)], block=3)[0].tolist())) > 1
        found.append(lines[0])
    assert found[1] < 6 * found[0], found
