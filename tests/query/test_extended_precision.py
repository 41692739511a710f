"""Long sums, differences and products in fragments, against Python's integers; the condition code as an operand."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ptxspec

WORDS = {32: 4, 64: 2}
EDGES = [0, 1, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**96, 2**127, 2**128 - 1, 2**128 - 2**64, 2**128 - 2**32]


def pairs(count: int, seed: str) -> list[tuple[int, int]]:
    source = random.Random(seed)
    found = [(x, y) for x in EDGES for y in EDGES]
    while len(found) < count:
        found.append((source.getrandbits(source.randrange(1, 129)), source.getrandbits(source.randrange(1, 129))))
    return found[:count]


def split(name: str, value: int, width: int) -> dict[str, int]:
    return {f"{name}{i}": value >> width * i & (1 << width) - 1 for i in range(128 // width)}


def joined(results: dict[str, Any], name: str, width: int, count: int) -> int:
    return sum(results[f"{name}{i}"] << width * i for i in range(count))


def chain(name: str, type: str) -> str:
    """A sum or difference of 128 bits, with the carry or borrow out of its top."""
    count = WORDS[int(type[1:])]
    lines = [f"{name}{'.cc' if i == 0 else 'c.cc'}.{type} z{i}, x{i}, y{i};" for i in range(count)]
    return "\n".join(lines)


@pytest.mark.parametrize("type", ["u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_sums_and_differences_of_128_bits(name: str, type: str) -> None:
    width = int(type[1:])
    for x, y in pairs(160, name + type):
        results = ptxspec.evaluate(chain(name, type), **split("x", x, width), **split("y", y, width))
        exact = x + y if name == "add" else x - y
        assert joined(results, "z", width, WORDS[width]) == exact % 2**128
        assert results["CC.CF"] == ((not 0 <= exact < 2**128) != (name == "sub"))  # AMB-085


def product(type: str) -> str:
    """The 2n × 2n bit product, row by row; each row's last carry becomes the next word."""
    return f"""
    mul.lo.{type} z0, x0, y0;
    mul.hi.{type} z1, x0, y0;
    mad.lo.cc.{type} z1, x1, y0, z1;
    madc.hi.{type} z2, x1, y0, 0;
    mad.lo.cc.{type} z1, x0, y1, z1;
    madc.hi.cc.{type} z2, x0, y1, z2;
    addc.{type} z3, 0, 0;
    mad.lo.cc.{type} z2, x1, y1, z2;
    madc.hi.{type} z3, x1, y1, z3;
    """


@pytest.mark.parametrize("type", ["u32", "u64"])
def test_products_of_two_words(type: str) -> None:
    width = int(type[1:])
    mask = (1 << 2 * width) - 1
    for x, y in pairs(160, "mul" + type):
        x, y = x & mask, y & mask
        operands = {f"{n}{i}": v >> width * i & (1 << width) - 1 for n, v in (("x", x), ("y", y)) for i in range(2)}
        assert joined(ptxspec.evaluate(product(type), **operands), "z", width, 4) == x * y


@pytest.mark.parametrize("width", [32, 64])
def test_signed_high_halves(width: int) -> None:
    """The half is that of the signed product; the carry is that of the words."""
    source = random.Random(width)
    half, full = 1 << width - 1, 1 << width
    for _ in range(100):
        a, b, c = (source.getrandbits(width) for _ in range(3))
        cc = source.random() < 0.5
        high = (((a ^ half) - half) * ((b ^ half) - half) >> width) % full
        results = ptxspec.evaluate(f"madc.hi.cc.s{width} d, a, b, c;", a=a, b=b, c=c, **{"CC.CF": cc})
        assert results["d"] == (high + c + cc) % full and results["CC.CF"] == (high + c + cc >= full)


def test_an_instruction_by_itself_takes_the_bit_as_an_operand() -> None:
    assert ptxspec.evaluate("addc.u32 d, a, b;", a=1, b=2, **{"CC.CF": True}) == {"d": 4}
    for profile, none in (("portable", False), ("hopper", True)):  # AMB-085
        found = ptxspec.evaluate("subc.u32 d, a, b;", profile=profile, a=1, b=2, **{"CC.CF": none})
        assert found == {"d": 2**32 - 1}
    for text in ("addc.u32 d, a, b;", "subc.cc.s64 d, a, b;"):
        with pytest.raises(TypeError, match=r'the operand CC\.CF \(\.pred\) has no value: pass it as \{"CC\.CF": …\}'):
            ptxspec.evaluate(text, a=1, b=2)
    with pytest.raises(TypeError, match=r"CC\.CF is a predicate"):
        ptxspec.evaluate("addc.u32 d, a, b;", a=1, b=2, **{"CC.CF": 7})
    with pytest.raises(TypeError, match=r"CC\.CF: no operand of that name is read"):
        ptxspec.evaluate("add.cc.u32 d, a, b;", a=1, b=2, **{"CC.CF": True})


def test_an_instruction_without_cc_leaves_the_bit() -> None:
    text = "add.cc.u32 d, a, a; add.u32 e, a, 1; addc.u32 f, 0, 0; addc.u32 g, 0, 0;"
    results = ptxspec.evaluate(text, a=0x80000000)
    assert (results["f"], results["g"], results["CC.CF"]) == (1, 1, True)


@pytest.mark.parametrize("holds", [False, True])
def test_a_guard_keeps_the_bit_as_it_was(holds: bool) -> None:
    text = "add.cc.u32 d, a, a; @p add.cc.u32 e, 0, 0; addc.u32 f, 0, 0;"
    assert ptxspec.evaluate(text, a=0x80000000, p=holds, e=5)["f"] == (not holds)


@pytest.mark.parametrize("profile", ["portable", "hopper"])
@pytest.mark.parametrize("type", ["u32", "s64"])
def test_a_borrow_and_a_carry_in_one_bit(profile: str, type: str) -> None:
    """AMB-085: the text has the bit itself, the chip the complement of a borrow."""
    kept = profile == "hopper"
    for first, bit in (
        ("sub.cc.u32 d, 3, 5;", not kept), ("sub.cc.u32 d, 5, 3;", kept), ("sub.cc.s64 d, 5, 5;", kept),
        ("add.cc.u32 d, 5, 3;", False), ("add.cc.u32 d, -1, 1;", True), ("mad.hi.cc.u64 d, 1, 1, 1;", False),
        ("add.cc.u32 d, -1, 1; subc.cc.u32 d, 5, 5;", True),
        ("add.cc.u32 d, 1, 1; subc.cc.u32 d, 5, 5;", False),
    ):  # fmt: skip
        assert ptxspec.evaluate(f"{first} addc.{type} e, 7, 0;", profile=profile)["e"] == 7 + bit, first
        borrow = bit != kept
        assert ptxspec.evaluate(f"{first} subc.{type} e, 7, 0;", profile=profile)["e"] == 7 - borrow, first


def test_the_bit_is_compared_where_both_sides_leave_one() -> None:
    proved = ptxspec.prove("add.cc.u32 d, a, b;", "add.cc.s32 d, b, a;")
    assert proved.status == "proved"
    refuted = ptxspec.prove("add.cc.u32 d, a, b;", "addc.cc.u32 d, a, b;", assume="a < 16 and b < 16")
    assert refuted.status == "refuted" and refuted.counterexample is not None
    assert refuted.counterexample.inputs["CC.CF"] is True
    same_sum = ptxspec.prove("add.cc.u32 d, a, b;", "sub.cc.u32 m, 0, b; sub.cc.u32 d, a, m;")
    assert same_sum.status == "refuted" and same_sum.counterexample is not None
    assert same_sum.counterexample.differing == ("CC.CF",)
    assert ptxspec.prove("add.cc.u32 d, a, b;", "add.u32 d, a, b;").status == "proved"


@pytest.mark.parametrize(
    "text", ["mov.pred p, CC.CF;", "setp.eq.u32 CC.CF, 1, 1;", "@CC.CF mov.u32 d, 1;", "mov.u32 d, CC.CF;", "cvt.u64.u32 d, CC.CF;"]
)  # fmt: skip
def test_no_instruction_names_the_condition_code(text: str) -> None:
    with pytest.raises(
        ptxspec.PtxError,
        match=r"CC\.CF is no operand that an instruction can name|takes no selector here, and so not \.CF",
    ):
        ptxspec.evaluate(text)


@pytest.mark.parametrize(
    "text", ["add.cc.u16 d, a, b;", "add.cc.sat.s32 d, a, b;", "mad.wide.cc.u32 d, a, b, c;", "addc.b32 d, a, b;", "mad.cc.u32 d, a, b, c;"]
)  # fmt: skip
def test_forms_that_do_not_exist(text: str) -> None:
    with pytest.raises(ptxspec.PtxError, match="there is no"):
        ptxspec.evaluate(text, a=1, b=2, c=3)
