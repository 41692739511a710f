"""Offsets, predicates, reference values and half-precision results of lookups: our verdict beside that of both versions of ptxas."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check

HEAD = """.version 9.0
.target sm_90
.address_size 64
.global .texref t;
.visible .entry k()
{
.reg .b16 h<4>; .reg .f16 g<4>; .reg .b32 b<8>; .reg .u32 u<8>; .reg .s32 i<8>; .reg .f32 f<8>; .reg .pred p; .reg .v4 .f32 v;
"""
C = {
    "1d": "[t, {f5}]", "2d": "[t, {f5, f6}]", "3d": "[t, {f5, f6, f7, f7}]", "a1d": "[t, {u5, f6}]", "a2d": "[t, {u5, f6, f7, f7}]",
    "cube": "[t, {f5, f6, f7, f7}]", "acube": "[t, {u5, f5, f6, f7}]", "2dms": "[t, {u5, i6, i7, i7}]",
    "a2dms": "[t, {u5, u6, i6, i7}]",
}  # fmt: skip
MODES = {"": "", ".base": "", ".level": ", f0", ".grad": ", {f0, f1}, {f2, f3}"}
#: what may follow
MORE = (
    "", ", {i1}", ", {i1, i2}", ", {i1, i2, i3}", ", {i1, i2, i3, i4}", ", {u1, u2}", ", {b1, b2}", ", {1, -2}", ", {1, 100}", ", {f1, f2}",
    ", {h1, h2}", ", f1", ", b1", ", 1.0", ", {f1}", ", {i1, i2}, f1", ", {i1}, f1", ", {i1}, b1", ", {i1}, {f1}", ", f1, {i1}", ", f1, f2",
)  # fmt: skip
DESTINATIONS = (
    "f32 {f0, f1, f2, f3}", "f32 {f0, f1, f2, f3}|p", "f32 {f0, _, f2, f3}|p", "f32 {f0, f1, f2, f3}|_", "f32 _|p", "f32 v|p",
    "f32 {f0, f1, f2, f3}|f4", "f16 {h0, h1, h2, h3}", "f16 {g0, g1, g2, g3}|p", "f16 {h0, h1}", "f16x2 {b0, b1}", "f16x2 {b0, b1, b2, b3}",
    "f16x2 {f0, f1}", "f16x2 {h0, h1}", "u32 {u0, u1, u2, u3}|p", "s32 {i0, i1, i2, i3}|p",
)  # fmt: skip
#: so many errors of one module are told at once
TOGETHER = 20


def lookup(opcode: str, geometry: str, destination: str, more: str) -> str:
    type, _, written = destination.partition(" ")
    vector = "v2" if written.count(",") == 1 else "v4"
    of = "s32" if "ms" in geometry else "f32"
    return f"{opcode}.{geometry}.{vector}.{type}.{of} {written}, {C[geometry]}{more};"


def lines() -> list[str]:
    plain = DESTINATIONS[0]
    found = [lookup("tex", g, plain, more) for g in C for more in MORE if not ("ms" in g and more == ", b1")]
    found += [lookup(f"tex{mode}", "2d", plain, between + more) for mode, between in MODES.items() for more in MORE]
    found += [lookup("tex", g, d, more) for g in C for d in DESTINATIONS for more in ("", ", f1")]
    found += [lookup("tld4.r", g, plain, more) for g in ("2d", "a2d", "cube", "acube") for more in MORE]
    found += [lookup("tld4.r", "2d", d, more) for d in DESTINATIONS for more in ("", ", {i1, i2}, f1")]
    return found


def ours(instruction: str) -> bool:
    try:
        check(f"{HEAD}{instruction}\nret;\n}}\n")
    except ptxspec.PtxError:
        return False
    return True


def theirs(by: str) -> set[str]:
    """What ptxas accepts; an error of syntax hides what follows, and is told of another line."""
    alone = [one for one in lines() if "|_" in one or " _|" in one]
    first, every = HEAD.count("\n") + 1, [one for one in lines() if one not in alone]
    accepted = {one for one in alone if not assemble(f"{HEAD}{one}\nret;\n}}\n", "sm_90", "-O0", by=by)}
    for i in range(0, len(every), TOGETHER):
        left = every[i : i + TOGETHER]
        while left:
            text = HEAD + "\n".join(left) + "\nret;\n}\n"
            wrong = {left[line - first] for line, _ in assemble(text, "sm_90", "-O0", by=by)}
            if not wrong:
                break
            left = [one for one in left if one not in wrong]
        accepted |= set(left)
    return accepted


@pytest.mark.slow
def test_every_combination(assembler: str, newest_assembler: str) -> None:
    accepted = theirs(assembler)
    assert accepted == theirs(newest_assembler) and len(accepted) > 150
    assert {one for one in lines() if ours(one)} ^ accepted == set()


@pytest.mark.parametrize(("geometry", "more"), [("1d", ", i1"), ("1d", ", 1"), ("1d", ", i1, f1"), ("2dms", ", b1")])
def test_an_offset_stands_in_braces(geometry: str, more: str, assembler: str) -> None:
    """So the manual has it; ptxas also takes a single register, and drops it (test_offsets_of_ptxas.py). A reference value is of type
    .f32."""
    instruction = lookup("tex", geometry, DESTINATIONS[0], more)
    assert assemble(f"{HEAD}{instruction}\nret;\n}}\n", "sm_90", "-O0", by=assembler) == [] and not ours(instruction)
