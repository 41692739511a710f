"""Mistakes planted in identities of integers, and conditions left out of them: the solver notices each."""

from __future__ import annotations

import pytest

from ptxspec.query.identities import load_all

BY_TITLE = {claim.title: claim for claim in load_all() if claim.expected == "proved"}
TIMEOUT = 300.0  # of wall-clock time, which other processes may share

#: title, what is replaced (once, on whichever side has it first), by what
PLANTED = [
    ("a constant moves through a difference", "128", "72"),
    ("five bits of an inverse", "xor.b32 y, x, 2", "xor.b32 y, x, 3"),
    ("a signed mul24.hi in 64 bits", "shr.s64 w, z, 16", "shr.s64 w, z, 15"),
    ("the sign of a number by two limits", "max.s32 x, a, -1", "max.s32 x, a, 0"),
    ("a limited difference by limiting one operand first", "max.s32 x, a, -1", "max.s32 x, a, 0"),
    ("the inner two of four by two networks", "max.u16 e, b2, c2", "max.u16 e, b2, f2"),
    ("a quotient rounded to the nearest number", "bfe.u32 z, a, 2, 1", "bfe.u32 z, a, 1, 1"),
    ("a sixteen-bit number divided by 255", "0x8081", "0x8080"),
    ("divisible by ten", "0x1999", "0x1998"),
    ("half of a signed number toward zero", "shr.u32 x, a, 31", "shr.s32 x, a, 31"),
    ("the lowest run of ones becomes zeros", "add.u32 z, a, y", "add.u32 z, a, x"),
    ("less, signed, from a table of three bits", "0xb2", "0x8e"),
    ("a signed mean toward zero", "shr.u32 k, v, 31", "shr.u32 k, t, 31"),
    ("an order of 128-bit numbers", "subc.cc.u64", "sub.cc.u64"),
    ("a borrow kept as a number and brought back", "0, kept", "kept, -1"),
    ("the manual's long product, with a constant: its upper half", "madc.hi.cc.u32", "mad.hi.cc.u32"),
    ("a 64-bit rotation by words", "shf.l.wrap.b32 s0, v, u", "shf.l.wrap.b32 s0, u, v"),
    ("four differences of bytes", "0x7f7f7f7f", "0x7f7f7fff"),
    ("which bytes are zero", "0xfe", "0xfc"),
    ("dp4a from two dp2a", "0x4342", "0x4332"),
    ("a funnel shift the other way, by one and the inverted distance", "b, 1", "b, 0"),
    ("a field to the top is a shift", "s, 32", "s, 31"),
    ("one permutation after another", "0x0642", "0x0624"),
    ("a wrapped mask", "and.b32 y, b, 31", "min.u32 y, b, 31"),
    ("a sum of bytes, limited to a byte", "min.u32 w, z, 255", "min.u32 w, z, 254"),
    ("half-words exchanged", "x.h0", "x.h1"),
    ("the lanes from a lane on", "neg.s32 d, x", "not.b32 d, x"),
    ("a Gray code turned back", "shr.u32 k, j, 8", "shr.u32 k, j, 7"),
    ("the next spread number", "0x55555555;", "0xaaaaaaaa;"),
    ("where all three agree", "0x81", "0x80"),
    ("outside of two bounds", "10", "11"),
    ("a 64-bit right shift by words, at any distance", "sub.u32 n, c, 32", "sub.u32 n, c, 31"),
]

#: title, a weaker condition (None for none) under which the claim is false
WEAKENED = [
    ("a summand moves out of a minimum", "a < 0x40000000 and b < 0x40000000"),
    ("operands of different signs need no limit", None),
    ("a minus sign before the dividend goes before the quotient", None),
    ("a power of two in a register is a distance", "c <= 32"),
    ("nine bits divided by three", "a <= 512"),
    ("minutes of a day as hours", "a <= 4739"),
    ("the power of two that is not less, from the one that is not greater", None),
    ("a mean from a lower bound and a distance", "a <= b + 1"),
    ("a 128-bit left shift by words", "n <= 33"),
    ("two sums in one register when no carry crosses", "(a & 0xffff) + (b & 0xffff) <= 0x10000"),
    ("a funnel shift the other way, where the distance is no multiple of 32", None),
    ("a signed field beyond the register is its sign", "s >= 30 and s < 256 and l != 0 and l < 256"),
    ("spread numbers are subtracted through their gaps", "(a & 0xaaaaaaaa) == 0"),
    ("a wide product instead of an extended shift that does not wrap", "signed(a) >= -0x20000000"),
    ("tiles that cover a length", "n <= 0xffffff81"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("title", "old", "new"), PLANTED, ids=[f"{t}: {new}" for t, _, new in PLANTED])
def test_planted_mistake_is_refuted(title: str, old: str, new: str) -> None:
    claim = BY_TITLE[title]
    side = "left" if old in claim.left else "right"
    changed = getattr(claim, side).replace(old, new, 1)
    assert changed != getattr(claim, side), f"{claim.page} does not say {old!r}"
    verdict = claim._replace(**{side: changed}).check(timeout=TIMEOUT)
    assert verdict.status == "refuted", f"{claim.page}: {verdict}"


@pytest.mark.sample(4)
@pytest.mark.parametrize(("title", "assume"), WEAKENED, ids=[f"{t}: {a}" for t, a in WEAKENED])
def test_condition_is_needed(title: str, assume: str | None) -> None:
    claim = BY_TITLE[title]
    assert claim.assume is not None and claim.assume != assume
    verdict = claim._replace(assume=assume).check(timeout=TIMEOUT)
    assert verdict.status == "refuted", f"{claim.page}: {verdict}"
