"""Which conversions to and from narrow formats there are, on which targets and from which versions on: every combination of modifiers
and types, our verdict beside that of ptxas 13.5."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
from test_what_no_page_describes import module

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check
from ptxspec.terms import TYPES

NARROW = [t for t in TYPES if t.endswith(("x2", "x4")) and t[0] in "eu" and t not in ("u16x2", "u8x4")] + ["s2f6x2"]
REGISTERS = {8: "%c", 16: "%h", 32: "%r"}
#: so many errors of one module are told at once
TOGETHER = 50


@cache
def lines() -> list[str]:
    """Every combination of modifiers for the types that some form has, and some for other types, with as many operands as the
    types ask for."""
    known = {
        (str(f.modifiers["dtype"]), str(f.modifiers["atype"])) for f in ptxspec.forms("cvt") if "dtype" in f.modifiers
    }
    found: list[str] = []
    others: list[str] = []
    pairs = [(d, a) for d, a in itertools.product([*NARROW, "f16x2", "bf16x2", "f32"], repeat=2) if {d, a} & {*NARROW}]
    for (d, a), rounding, limit, relu, scaled in itertools.product(
        [*pairs, ("f16x2", "f32"), ("bf16x2", "f32"), ("tf32", "f32")],
        ("rn", "rz", "rp", "rs", ""),
        ("satfinite", ""),
        ("relu", ""),
        ("scaled::n2::ue8m0", ""),
    ):
        mnemonic = ".".join(word for word in ("cvt", rounding, limit, relu, scaled, d, a) if word)
        into = "%f" if d == "f32" else REGISTERS[TYPES[d].width]
        one = "%f" if a == "f32" else REGISTERS[TYPES[a].width]
        count = TYPES[d].elements if a == "f32" else 1
        sources = ", ".join(f"{one}{i + 1}" for i in range(count))
        sources = f"{{{sources}}}" if count == 4 else sources
        more = ", %h7" if scaled else ", %r7" if rounding == "rs" else ""
        is_known = (f".{d}", f".{a}") in known
        (found if is_known else others).append(f"{mnemonic} {into}0, {sources}{more};")
    return found + others[::41]


def refused_here(text: str) -> set[int]:
    try:
        check(text)
    except ptxspec.PtxError as error:
        return {d.line for d in error.diagnostics}
    return set()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("version", "target"),
    [
        ("9.5", "sm_100a"), ("9.5", "sm_107f"), ("9.5", "sm_107a"), ("9.1", "sm_121a"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_every_combination(version: str, target: str, newest_assembler: str) -> None:
    tried = lines() if target == "sm_107a" else lines()[::3]
    head = module(target, "@", version).split("@")[0].count("\n") + 1
    accepted = 0
    for i in range(0, len(tried), TOGETHER):
        some = tried[i : i + TOGETHER]
        text = module(target, "\n".join(some), version)
        theirs = {line for line, _ in assemble(text, target, "-O0", by=newest_assembler)}
        assert {some[line - head] for line in refused_here(text)} == {some[line - head] for line in theirs}
        accepted += len(some) - len(theirs)
    assert accepted >= 20
