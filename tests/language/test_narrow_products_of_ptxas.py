"""Which products of numbers of eight, six and four bits there are, with scales and without, on which targets and from which versions on:
our verdict beside that of ptxas 13.5."""

from __future__ import annotations

import itertools

import pytest
from test_narrow_conversions_of_ptxas import refused_here
from test_what_no_page_describes import module

from ptxspec.evidence.assembler import assemble

EIGHTS = ("e4m3", "e5m2")
PAIRS = [
    ("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e4m3", "e2m1"), ("e3m2", "e2m3"), ("e2m1", "e2m1"), ("e2m3", "e5m2"),
]  # fmt: skip
SCALES = [("", "")] + [
    (f"block_scale{vec}", stype)
    for vec in ("", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X")
    for stype in ("ue8m0", "ue4m3")
]
KINDS = ("", "kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4")
#: of the instructions that ptxas refuses one of so many is tried
APART = 37


def says_nothing(words: list[str]) -> bool:
    """Whether ptxas takes a kind that says nothing: AMB-314."""
    factors = [w for w in words if w in EIGHTS]
    own = "kind::f8f6f4" in words and ("m16n8k32" in words) is not ("mma.sp" in ".".join(words[:2]))
    return len(factors) == 2 and any(w.startswith("kind") for w in words) and "block_scale" not in words and not own


def candidates(sparse: bool) -> list[str]:
    """Every combination, with as many registers as it would have."""
    found = []
    for k, kind, (first, second), sums, (scaled, stype) in itertools.product(
        (16, 32, 64, 128), KINDS, PAIRS, ("f32", "f16"), SCALES
    ):
        opcode = "mma.sp::ordered_metadata" if sparse else "mma"
        words = [opcode, "sync.aligned", f"m16n8k{k}.row.col", kind, scaled, sums, first, second, sums, stype]
        mnemonic = ".".join(w for w in words if w)
        stored = k // 2 if sparse else k
        bits = 4 if kind in ("kind::mxf4", "kind::mxf4nvf4") else 8
        counts = [2 if sums == "f16" else 4, max(1, stored * bits // 64), max(1, k * bits // 128)]
        if max(counts) > 8 or says_nothing(mnemonic.split(".")):
            continue
        letter = "r" if sums == "f16" else "f"
        d, a, b, c = (
            "{" + ", ".join(f"%{x}{i}" for i in range(n)) + "}"
            for x, n in ((letter, counts[0]), ("r", counts[1]), ("r", counts[2]), (letter, counts[0]))
        )
        more = (", %r8, 0" if sparse else "") + (", %r5, {0, 1}, {%r6}, {%h0, %h1}" if scaled else "")
        found.append(f"{mnemonic} {d}, {a}, {b}, {c}{more};")
    return found


def taken(tried: list[str], head: int, version: str, target: str, by: str) -> list[str]:
    """Those that ptxas takes. It complains of some things only where there is nothing worse."""
    left = tried
    while wrong := {
        line - head for line, _ in assemble(module(target, "\n".join(left), version), target, "-O0", by=by)
    }:
        left = [text for i, text in enumerate(left) if i not in wrong]
    return left


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "target", "least"),
    [("9.5", "sm_120a", (36, 30)), ("9.5", "sm_121f", (36, 25)), ("9.0", "sm_121a", (35, 29)), ("9.5", "sm_100a", (8, 4))],
)  # fmt: skip
def test_every_combination(version: str, target: str, least: tuple[int, int], newest_assembler: str) -> None:
    head = module(target, "@", version).split("@")[0].count("\n") + 1
    for sparse, count in zip((False, True), least, strict=True):
        tried = candidates(sparse)
        accepted = taken(tried, head, version, target, newest_assembler)
        refused = [text for text in tried if text not in set(accepted)][::APART]
        ours = refused_here(module(target, "\n".join(accepted + refused), version))
        assert {(accepted + refused)[line - head] for line in ours} == set(refused)
        assert len(accepted) >= count


@pytest.mark.parametrize(
    ("version", "instruction"),
    [
        ("9.5", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r0,%r1,%r2,%r3}, [%r4];"),
        ("8.8", "ldmatrix.sync.aligned.m8n16.x4.b8x16.b4x16_p64 {%r0,%r1,%r2,%r3}, [%rd4];"),
        ("8.8", "stmatrix.sync.aligned.m16n8.x2.trans.b8.shared::cta [%r4], {%r0,%r1};"),
        ("9.5", "ldmatrix.sync.aligned.m8n16.x1.b4x16_p64.b8x16 {%r0}, [%rd4];"),
        ("9.5", "ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r0,%r1}, [%r4];"),
        ("9.5", "stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r4], {%r0};"),
        ("9.5", "mma.sync.aligned.f32.m16n8k16.row.f16.col.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
        ("9.5", "mma.sync.aligned.m16n8k16.f32.col.f16.f16.f32.row {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
        ("9.5", "mma.sync.aligned.m8n8k4.row.col.rp.f64.f64.f64.f64 {%fd0,%fd1}, {%fd2}, {%fd3}, {%fd4,%fd5};"),
        ("9.5", "mma.sync.aligned.m16n8k8.row.col.f32.rz.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["sm_90a", "sm_100", "sm_100f", "sm_120a"])
def test_others(version: str, target: str, instruction: str, newest_assembler: str) -> None:
    text = module(target, instruction, version)
    assert bool(refused_here(text)) is bool(assemble(text, target, "-O0", by=newest_assembler))
