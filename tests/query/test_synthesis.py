"""The shortest sequence of given instructions: found and proved, or excluded."""

from __future__ import annotations

import itertools
import random
import re

import pytest

import ptxspec
from ptxspec.query.synthesis import search
from ptxspec.query.synthesis.sequences import SearchSpace, sequences
from ptxspec.query.synthesis.templates import templates_of
from ptxspec.query.verdicts import Verdict

ROTATED = "shl.b32 x, a, 8; shr.u32 y, a, 24; or.b32 d, x, y;"
SWAPPED = (
    "shl.b32 w, a, 24; and.b32 x, a, 0xff00; shl.b32 x, x, 8; shr.u32 y, a, 8; and.b32 y, y, 0xff00;"
    "shr.u32 z, a, 24; or.b32 w, w, x; or.b32 y, y, z; or.b32 d, w, y;"
)


def agree(left: str, right: str, names: str, width: int = 32) -> None:
    """That two fragments agree on random operands, by evaluation: without the solver."""
    source = random.Random(1)
    for _ in range(200):
        given = {n: source.getrandbits(width) >> source.choice([0, 0, width // 2, width - 3]) for n in names}
        read = {n: value for n, value in given.items() if re.search(rf"\b{n}\b", right)}
        assert ptxspec.evaluate(left, given)["d"] == ptxspec.evaluate(right, read)["d"]


@pytest.mark.parametrize(
    ("text", "opcodes", "length", "names"),
    [
        ("and.b32 x, a, b; xor.b32 y, x, c; or.b32 d, y, a;", ["lop3.b32"], 1, "abc"),
        ("not.b32 n, b; and.b32 d, a, n;", ["lop3.b32", "add.u32"], 1, "ab"),
        ("not.b32 n, b; and.b32 d, a, n;", ["and.b32", "xor.b32"], 2, "ab"),
        (SWAPPED, ["prmt.b32"], 1, "a"),
        (ROTATED, ["prmt.b32"], 1, "a"),
        (ROTATED, ["shf.l.wrap.b32"], 1, "a"),
        ("shl.b32 x, b, 5; shr.u32 y, a, 27; or.b32 d, x, y;", ["shf.l.wrap.b32"], 1, "ab"),
        ("shr.u32 x, a, 4; and.b32 d, x, 0xff;", ["bfe.u32", "shl.b32"], 1, "a"),
        ("abs.s32 d, a;", ["shr.s32", "xor.b32", "sub.s32"], 3, "a"),
        ("min.u32 d, a, b;", ["setp.lt.u32", "selp.u32"], 2, "ab"),
    ],
)
def test_the_shortest_sequence(text: str, opcodes: list[str], length: int, names: str) -> None:
    found = ptxspec.synthesize(text, opcodes)
    assert found.status == "found" and found.length == length, found
    assert found.verdict is not None and found.verdict.status == "proved"
    assert len(found.excluded) == length - 1
    assert {line.split()[0] for line in found.text.rstrip(";").split("; ")} <= set(opcodes)
    agree(text, found.text, names)


@pytest.mark.parametrize("divisor", [3, *(pytest.param(n, marks=pytest.mark.long) for n in (5, 10))])
def test_division_by_a_constant_is_a_product_and_a_shift(divisor: int) -> None:
    found = ptxspec.synthesize(f"div.u16 d, a, {divisor};", ["mul.hi.u16", "shr.u16"])
    assert found.status == "found" and found.length == 2, found
    assert found.verdict is not None and "65,536 inputs" in found.verdict.reason
    for a in (0, divisor - 1, divisor, 0xFFFF, 0xFFFE, 0xFFFD, 12345):
        assert ptxspec.evaluate(found.text, a=a)["d"] == a // divisor


def test_division_by_seven_needs_more_bits() -> None:
    text = "div.u16 d, a, 7;"
    assert ptxspec.synthesize(text, ["mul.hi.u16", "shr.u16"], most=1).status == "none"
    found = ptxspec.synthesize(text, ["mul.hi.u32", "cvt.u32.u16", "cvt.u16.u32"])
    assert found.status == "found" and found.length == 3 and "0x2492" in found.text


@pytest.mark.long
@pytest.mark.parametrize("divisor", [3, 5, 10])
def test_division_of_32_bits(divisor: int) -> None:
    found = ptxspec.synthesize(f"div.u32 d, a, {divisor};", ["mul.hi.u32", "shr.u32"], timeout=300)
    assert found.status == "found" and found.length == 2, found
    for a in (0, divisor - 1, divisor, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD):
        assert ptxspec.evaluate(found.text, a=a)["d"] == a // divisor


def test_none_says_what_was_excluded() -> None:
    found = ptxspec.synthesize("popc.b32 d, a;", ["and.b32", "shr.u32"], most=1)
    assert found.status == "none" and found.exit_status == 1 and found.text == ""
    # and a,a; and a,#; shr a,a; shr a,#; shr #,a
    assert found.excluded == ("length 1: 5 sequences, whatever their constants",)
    assert "at most 3 constants" in found.reason


def test_a_condition_on_the_inputs_counts() -> None:
    text = "sub.u32 n, 32, c; shl.b32 x, b, c; shr.u32 y, a, n; or.b32 d, x, y;"
    assert ptxspec.synthesize(text, ["shf.l.wrap.b32"], most=1).status == "none"  # beyond 31 they differ
    found = ptxspec.synthesize(text, ["shf.l.wrap.b32"], most=1, assume="c < 32")
    assert found.text == "shf.l.wrap.b32 d, a, b, c;"


def test_no_proof_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "prove", lambda *_, **__: Verdict("unknown", "no answer in time"))
    found = ptxspec.synthesize("add.u32 d, a, a;", ["shl.b32"], most=1)
    assert found.status == "unknown" and found.text == "" and "shl.b32 d, a, 1; agrees on" in found.reason
    assert found.exit_status == 2


def test_a_candidate_that_is_refuted_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a single vector many candidates agree: proofs alone keep them out, and each adds a vector."""
    monkeypatch.setattr(search, "SIMPLE", 1)
    monkeypatch.setattr(search, "RANDOM", 0)
    found = ptxspec.synthesize("add.u32 d, a, 3;", ["xor.b32", "add.u32"], most=1)
    assert found.text == "add.u32 d, a, 3;"


def test_questions_put_wrongly() -> None:
    for opcodes, match in ((["lop9.b32"], "no instruction"), ("lop3.b32", "list"), ([], "list")):
        with pytest.raises(ValueError, match=match):
            ptxspec.synthesize("not.b32 d, a;", opcodes)
    with pytest.raises(ptxspec.Unsupported, match="load"):
        ptxspec.synthesize("not.b32 d, a;", ["ld.global.u32"])
    with pytest.raises(ptxspec.Unsupported, match="more than its operands"):
        ptxspec.synthesize("not.b32 d, a;", ["addc.u32"])
    with pytest.raises(ValueError, match="length"):
        ptxspec.synthesize("not.b32 d, a;", ["xor.b32"], most=7)
    with pytest.raises(ValueError, match="special register"):
        ptxspec.synthesize("mov.u32 d, %tid.x;", ["mov.b32"])
    with pytest.raises(ValueError, match="no result"):
        ptxspec.synthesize("not.b32 d, a;", ["xor.b32"], result="e")


def test_sequences_are_listed_once_and_none_is_missing() -> None:
    """Of two instructions over one input, against all that there are, made in another way."""
    templates = tuple(templates_of(["add.u32", "sub.u32"]))
    assert [t.commutes for t in templates] == [True, False]
    shape = SearchSpace(templates, (32, 32), 32, (), 0)
    listed = {
        tuple((one.template.mnemonic, *(o.register for o in one.operands)) for one in sequence)
        for sequence in sequences(shape, 2)
    }
    assert len(listed) == len(list(sequences(shape, 2)))
    wanted = set()
    names = ("add.u32", "sub.u32")
    for first, x, y in itertools.product(names, range(2), range(2)):
        for second, v, w in itertools.product(names, range(3), range(3)):
            if 2 in (v, w) and not (first == "add.u32" and x > y) and not (second == "add.u32" and v > w):
                wanted.add(((first, x, y), (second, v, w)))
    assert listed == wanted
