"""Pairs of 16 bits, against NumPy's integers and half-precision numbers, and against what ptxas accepts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble

rng = np.random.default_rng(162)
EDGES = np.array([0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0xFFFE], np.uint16)
WORDS = np.concatenate(
    [
        np.array([int(x) << 16 | int(y) for x in EDGES for y in EDGES], np.uint32),
        rng.integers(0, 1 << 32, 64, dtype=np.uint32),
    ]
)


def elements(words: np.ndarray, type: type) -> np.ndarray:
    return words.view(type)


ORACLES: dict[str, tuple[type, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "add.u16x2": (np.uint16, np.add),
    "add.s16x2": (np.int16, np.add),
    "min.u16x2": (np.uint16, np.minimum),
    "min.s16x2": (np.int16, np.minimum),
    "max.u16x2": (np.uint16, np.maximum),
    "max.s16x2": (np.int16, np.maximum),
    "min.relu.s16x2": (np.int16, lambda x, y: np.maximum(np.minimum(x, y), 0)),
    "max.relu.s16x2": (np.int16, lambda x, y: np.maximum(np.maximum(x, y), 0)),
    "min.relu.s32": (np.int32, lambda x, y: np.maximum(np.minimum(x, y), 0)),
    "max.relu.s32": (np.int32, lambda x, y: np.maximum(np.maximum(x, y), 0)),
}


def test_every_form_has_an_oracle() -> None:
    """Sums with limits have theirs in test_forms_by_the_text.py."""
    own = [
        f
        for o in ("add", "min", "max")
        for f in ptxspec.forms(o)
        if f.mnemonic.endswith(("u16x2", "s16x2", "relu.s32")) and ".sat" not in f.mnemonic
    ]
    assert {f.mnemonic for f in own} == set(ORACLES)


@pytest.mark.parametrize("mnemonic", ORACLES)
def test_integers(mnemonic: str) -> None:
    type, oracle = ORACLES[mnemonic]
    a, b = WORDS, rng.permutation(WORDS)
    with np.errstate(over="ignore"):
        want = oracle(elements(a, type), elements(b, type)).view(np.uint32)
    for x, y, z in zip(a.tolist(), b.tolist(), want.tolist(), strict=True):
        assert ptxspec.evaluate(f"{mnemonic} d, a, b;", a=x, b=y)["d"] & 0xFFFFFFFF == z


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_half_precision_in_memory(space: str, engine: str) -> None:
    """Two sums at once, each rounded to nearest even, subnormal numbers kept; red leaves what atom leaves."""
    numbers = np.array([0, 1.5, -2, 2.0**-24, -(2.0**-14), 65504, 0.1, 1 / 3, 1024.5, -7.125], np.float16)
    a, b = rng.choice(numbers, (32, 2)), rng.choice(numbers, (32, 2))
    text = f""".version 9.0
.target sm_90
.address_size 64
.shared .b32 cell[32];
.visible .entry k(.param .u64 cells, .param .u64 values) {{
  .reg .u64 p, v, q; .reg .b32 old, x, d, t, s;
  ld.param.u64 p, [cells]; ld.param.u64 v, [values]; mov.u32 t, %tid.x;
  mad.wide.u32 q, t, 8, p; mad.wide.u32 v, t, 4, v; ld.global.b32 x, [v]; ld.global.b32 old, [q];
  mov.u32 s, cell; mad.lo.u32 s, t, 4, s; st.shared.b32 [s], old;
  atom.{space}.add.noftz.f16x2 d, [{"q" if space == "global" else "s"}], x;
  red.{space}.add.noftz.f16x2 [{"q" if space == "global" else "s"}], x;
  {"" if space == "global" else "ld.shared.b32 old, [s]; st.global.b32 [q], old;"}
  st.global.b32 [q+4], d; exit;
}}"""
    cells = np.zeros((32, 4), np.float16)
    cells[:, :2] = a
    ptxspec.load(text).launch("k", block=32, args=[cells, b.copy()], engine=engine)
    with np.errstate(over="ignore"):
        once = a + b
        assert cells[:, :2].tobytes() == (once + b).tobytes()
    assert cells[:, 2:].tobytes() == a.tobytes()


@pytest.mark.usefixtures("assembler")
@pytest.mark.parametrize(
    "instruction",
    ["add.u16x2 b, b, b", "add.s16x2 b, b, u", "min.s16x2 u, b, b", "max.u16x2 b, b, 5", "add.sat.s16x2 b, b, b",
     "min.s16x2.relu b, b, b", "min.relu.u16x2 b, b, b", "max.relu.s32 s, s, 5", "max.relu.u32 u, u, u", "sub.u16x2 b, b, b",
     "add.u16x2 f, f, f", "atom.global.add.noftz.f16x2 b, [p], b", "atom.global.add.noftz.f16x2 _, [p], b",
     "atom.add.noftz.f16x2 b, [p], u", "atom.add.f16x2 b, [p], b", "red.add.noftz.f16x2 [p], f", "red.shared.add.noftz.f16x2 [b], b",
     "atom.global.min.noftz.f16x2 b, [p], b", "red.release.gpu.global.add.noftz.f16x2 [p], b"],
)  # fmt: skip
def test_what_ptxas_accepts(instruction: str) -> None:
    for version, target in (
        ("6.1", "sm_60"),
        ("6.2", "sm_60"),
        ("7.8", "sm_90"),
        ("8.0", "sm_89"),
        ("8.0", "sm_90"),
        ("9.0", "sm_90"),
    ):
        registers = ".reg .b32 b; .reg .u32 u; .reg .s32 s; .reg .f32 f; .reg .u64 p;"
        text = (
            f".version {version}\n.target {target}\n.address_size 64\n.entry k() {{ {registers} {instruction}; ret; }}"
        )
        try:
            ptxspec.load(text)
            ours = True
        except ptxspec.PtxError:
            ours = False
        assert ours == (not assemble(text)), text
