"""Constant expressions: beside an evaluator of their own here, which has Python's integers and the machine's doubles, and beside
what ptxas puts into the data of a cubin."""

from __future__ import annotations

import itertools
import math
import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from cubins import assembled as cubin_of
from effort import at_most
from verdicts import HEADER, bits_of, body, complaints, initial, refused

import ptxspec

M = 1 << 64

# an independent evaluator -----------------------------------------------------------------------------------------------

#: how strongly C's operators bind
LEVELS = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, ">": 7, "<=": 7, ">=": 7, "==": 6, "!=": 6,
          "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1, "?": 0}  # fmt: skip


class NoValue(Exception):
    """Something is divided by zero."""


class CrashesPtxas(Exception):
    """The one signed quotient that does not fit, at which ptxas 13.0 ends with an arithmetic exception."""


def signed(value: int) -> int:
    return (value + (M >> 1)) % M - (M >> 1)


def double(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def value_of(node: Any, like_ptxas: bool) -> tuple[str, Any]:
    """("s", signed), ("u", unsigned) or ("f", double) of a tree: (operator, operands…) or ("literal", text, type, value)."""
    operator, *operands = node
    if operator == "literal":
        return operands[1], operands[2]
    values = [value_of(o, like_ptxas) for o in operands]
    kinds, (a, *rest) = [k for k, _ in values], [v for _, v in values]
    if operator == "?":
        (ka, chosen), other = (values[1], values[2]) if a else (values[2], values[1])
        if like_ptxas or ka == "f" or other[0] == ka:
            return ka, chosen
        return "u", chosen % M
    if kinds[-1] == "f":
        if operator in ("neg", "pos"):
            return "f", -a if operator == "neg" else a
        b = rest[0]
        if operator in LEVELS and 6 <= LEVELS[operator] <= 7:
            outcomes = {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b, "!=": a != b}
            return "s", int(outcomes[operator])
        if operator == "/" and b == 0:
            raise NoValue
        return "f", {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0}[operator]
    if len(values) == 1:
        kind, result = {
            "neg": (kinds[0], -a), "pos": (kinds[0], a), "!": ("s", int(a == 0)), "~": ("u", ~a),
            "(.s64)": ("s", a), "(.u64)": ("u", a),
        }[operator]  # fmt: skip
        return kind, signed(result) if kind == "s" else result % M
    b = rest[0]
    common = "u" if "u" in kinds else "s"
    if operator in ("<<", ">>"):
        shifted = a << b % 64 if operator == "<<" else a >> b % 64
        return kinds[0], signed(shifted) if kinds[0] == "s" else shifted % M
    if operator in ("&&", "||"):
        return "s", int(bool(a) and bool(b) if operator == "&&" else bool(a) or bool(b))
    if operator == "%":
        if b == 0:
            raise NoValue
        rest_of = a % M % (b % M)
        return ("u", rest_of) if like_ptxas else ("s", signed(rest_of))
    x, y = (a % M, b % M) if common == "u" else (a, b)
    if 6 <= LEVELS[operator] <= 7:
        return "s", int({"<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y, "==": x == y, "!=": x != y}[operator])
    if operator == "/":
        if y == 0:
            raise NoValue
        if like_ptxas and common == "s" and (x, y) == (-(M >> 1), -1):
            raise CrashesPtxas
        result = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
    else:
        result = {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[operator]
    return common, signed(result) if common == "s" else result % M


def written(node: Any, rng: random.Random, within: int = -1) -> str:
    """A tree as text, with the parentheses that it needs and now and then some more."""
    operator, *operands = node
    if operator == "literal":
        return operands[0] if rng.random() < 0.95 else f"({operands[0]})"
    blank = rng.choice(["", " "])
    if operator == "?":
        level = 0
        condition, first, second = operands
        text = (
            f"{written(condition, rng, 1)}{blank}?{blank}{written(first, rng)}{blank}:{blank}{written(second, rng, 0)}"
        )
    elif len(operands) == 1:
        level = 11
        text = {"neg": "-", "pos": "+"}.get(operator, operator) + blank + written(operands[0], rng, 11)
    else:
        level = LEVELS[operator]
        after = " " if operator == "%" else blank
        text = f"{written(operands[0], rng, level)}{blank}{operator}{after}{written(operands[1], rng, level + 1)}"
    return f"({text})" if level < within or rng.random() < 0.05 else text


def integer_literal(rng: random.Random) -> tuple[Any, ...]:
    value = rng.choice([
        rng.randrange(10), rng.randrange(100), rng.randrange(M), rng.randrange(M >> rng.randrange(64)),
        rng.choice([M - 1, M >> 1, (M >> 1) - 1, (M >> 1) + 1, 63, 64, 65, 1 << 32]),
    ])  # fmt: skip
    text = rng.choice([f"{value}", f"0x{value:x}", f"0{value:o}", f"0b{value:b}"])
    suffix = rng.random() < 0.3
    if rng.random() < 0.05:
        return "literal", "WARP_SZ", "s", 32
    return "literal", text + "U" * suffix, "u" if suffix or value >= M >> 1 else "s", value


def float_literal(rng: random.Random) -> tuple[Any, ...]:
    kind = rng.randrange(4)
    if kind == 0:
        pattern = rng.choice(
            [rng.randrange(M), rng.randrange(1 << 52), 1 << 63, 0x7FF0000000000000, 0x3FF0000000000001]
        )
        if not math.isnan(double(pattern)):
            return "literal", f"0d{pattern:016x}", "f", double(pattern)
    value = rng.choice(
        [0.0, 1.0, 0.1, 1.5, 3e-300, 1e308, rng.random(), rng.random() * 10.0 ** rng.randrange(-200, 200)]
    )
    return "literal", f"{value!r}", "f", value


def tree(rng: random.Random, depth: int, wanted: str, conditionals: bool) -> Any:
    """A random tree that gives an integer ("i") or a double ("f")."""
    if depth == 0 or rng.random() < 0.15:
        return integer_literal(rng) if wanted == "i" else float_literal(rng)

    def below(kind: str) -> Any:
        return tree(rng, depth - 1, kind, conditionals)

    if wanted == "f":
        choice = rng.randrange(6 if conditionals else 5)
        if choice == 5:
            return "?", below("i"), below("f"), below("f")
        return (rng.choice(["neg", "pos"]), below("f")) if choice == 4 else ("+-*/"[choice], below("f"), below("f"))
    choice = rng.random()
    if choice < 0.2:
        return rng.choice(["neg", "neg", "pos", "!", "~", "~", "(.s64)", "(.u64)"]), below("i")
    if choice < 0.3:
        return "?", below("i"), below("i"), below("i")
    if choice < 0.35:
        return rng.choice(["<", ">", "<=", ">=", "==", "!="]), below("f"), below("f")
    operator = rng.choice([o for o in LEVELS if o != "?"])
    return operator, below("i"), below("i")


def expressions(seed: int, count: int, wanted: str, like_ptxas: bool) -> Iterator[tuple[str, str, Any]]:
    """(text, type, value) of so many expressions that have one. ptxas knows no conditional of doubles."""
    rng = random.Random(seed)
    found = 0
    while found < count:
        node = tree(rng, rng.randrange(1, 6), wanted, conditionals=not like_ptxas)
        try:
            if like_ptxas:
                value_of(node, False)
            kind, value = value_of(node, like_ptxas)
        except (NoValue, CrashesPtxas):
            continue
        found += 1
        yield written(node, rng), kind, value


def ours(type: str, texts: list[str]) -> list[int]:
    data = initial(type, "{" + ",\n".join(texts) + "}", "[]")
    return [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("type", ["u64", "s64", "b64"])
def test_integers(seed: int, type: str) -> None:
    cases = list(expressions(seed, 700, "i", like_ptxas=False))
    for (text, _, value), found in zip(cases, ours(type, [text for text, _, _ in cases]), strict=True):
        assert found == value % M, text


@pytest.mark.parametrize("seed", range(4))
def test_doubles(seed: int) -> None:
    cases = list(expressions(seed, 500, "f", like_ptxas=False))
    for (text, _, value), found in zip(cases, ours("f64", [text for text, _, _ in cases]), strict=True):
        assert math.isnan(double(found)) if math.isnan(value) else found == bits(value), text


@pytest.mark.long
def test_a_hundred_thousand() -> None:
    """As above, and 120,000 of them: 80,000 integers, the signs of which show too, and 40,000 doubles."""
    for seed in range(1000, 1010):
        cases = list(expressions(seed, 8000, "i", like_ptxas=False))
        texts = [text for text, _, _ in cases] + [f"({text}) / 2 < 0" for text, _, _ in cases]
        found = ours("u64", texts)
        for (text, kind, value), bits_found, negative in zip(cases, found[:8000], found[8000:], strict=True):
            assert bits_found == value % M and negative == int(kind == "s" and value < -1), text
        doubles = list(expressions(seed, 4000, "f", like_ptxas=False))
        for (text, _, value), one in zip(doubles, ours("f64", [text for text, _, _ in doubles]), strict=True):
            assert math.isnan(double(one)) if math.isnan(value) else one == bits(value), text


def test_types_are_those_of_the_rules() -> None:
    """Whether a result is signed shows in a comparison with zero, and in a shift to the right."""
    rng = random.Random(5)
    texts, expected = [], []
    while len(texts) < 800:
        node = tree(rng, rng.randrange(1, 4), "i", True)
        try:
            kind, value = value_of(node, False)
        except NoValue:
            continue
        texts += [f"({written(node, rng)}) < 0", f"({written(node, rng)}) >> 1"]
        expected += [int(kind == "s" and value < 0), (value >> 1) % M]
    assert ours("u64", texts) == expected


# beside ptxas -------------------------------------------------------------------------------------------------------------


def assembled(type: str, texts: list[str]) -> list[int]:
    """What ptxas makes of each. The list ends in a one, without which a cubin leaves out data that is all zero."""
    module = f"{HEADER}.global .{type} x[] = {{" + ",\n".join([*texts, "1.0" if type[0] == "f" else "1"]) + "};\n"
    data = cubin_of(module).image("x")
    assert len(data) == 8 * len(texts) + 8
    return list(struct.unpack(f"<{len(texts)}Q", data[:-8]))


@pytest.mark.slow
@pytest.mark.usefixtures("assembler")
@pytest.mark.parametrize("type", ["u64", "s64"])
def test_integers_of_ptxas(type: str) -> None:
    """It differs from the text in the type of % (AMB-111) and in the conversion of a conditional (AMB-112), and in nothing else.
    Where neither matters, the bytes are ours."""
    cases = list(expressions(11, 3000, "i", like_ptxas=True))
    texts = [text for text, _, _ in cases]
    theirs, mine = assembled(type, texts), ours(type, texts)
    for (text, _, value), found in zip(cases, theirs, strict=True):
        assert found == value % M, text
    differ = [text for text, a, b in zip(texts, theirs, mine, strict=True) if a != b]
    assert all("%" in text or "?" in text for text in differ)
    assert 0 < len(differ) < 300


@pytest.mark.slow
@pytest.mark.usefixtures("assembler")
def test_doubles_of_ptxas() -> None:
    """The bits of NaNs too."""
    cases = list(expressions(12, 3000, "f", like_ptxas=True))
    texts = [text for text, _, _ in cases]
    theirs = assembled("f64", texts)
    assert theirs == ours("f64", texts)
    assert sum(math.isnan(double(x)) for x in theirs) > 10


NANS = [
    "0d7ff8000000000001",
    "0dfff8000000000002",
    "0d7ff0000000000003",
    "0dfff0000000000004",
    "1.0",
    "0d7ff0000000000000",
    "0dfff0000000000000",
]


@pytest.mark.usefixtures("assembler")
def test_nans_of_ptxas() -> None:
    texts = [f"{a}{operator}{b}" for a in NANS for b in NANS for operator in "+-*/"]
    texts += [f"-{a}" for a in NANS]
    assert assembled("f64", texts) == ours("f64", texts)
    comparisons = [f"{a}{operator}{b}" for a in NANS for b in NANS for operator in ("<", ">", "<=", ">=", "==", "!=")]
    assert assembled("u64", comparisons) == ours("u64", comparisons)


@pytest.mark.usefixtures("assembler")
@pytest.mark.parametrize(
    ("text", "text_says", "ptxas_says"),
    [
        ("(0xfffffffffffffffe % 0xffffffffffffffff) / 2", M - 1, (M >> 1) - 1),
        ("(1 ? -4 : 3U) / 2", (M >> 1) - 2, M - 2),
    ],
)
def test_the_smallest_differences(text: str, text_says: int, ptxas_says: int) -> None:
    assert (ours("u64", [text]), assembled("u64", [text])) == ([text_says], [ptxas_says])


# the table of rules, as the text prints it: operands, how they are read, the type of the result ---------------------------

CELLS = {
    "+": "usual", "-": "usual", "*": "usual", "/": "usual", "<": "s64", ">": "s64", "<=": "s64", ">=": "s64", "==": "s64", "!=": "s64",
    "%": "s64", "<<": "first", ">>": "first", "&": "usual", "|": "usual", "^": "usual", "&&": "s64", "||": "s64",
}  # fmt: skip
OF_DOUBLES = {
    "+": "f64",
    "-": "f64",
    "*": "f64",
    "/": "f64",
    "<": "s64",
    ">": "s64",
    "<=": "s64",
    ">=": "s64",
    "==": "s64",
    "!=": "s64",
}
OPERANDS = {
    "s64": {"(-3)": -3, "7": 7, "(-0x7fffffffffffffff-1)": -(M >> 1), "65": 65},
    "u64": {"3U": 3, "0xfffffffffffffff9": M - 7, "0x8000000000000001": (M >> 1) + 1, "1U": 1},
}


def cell(operator: str, kinds: tuple[str, str], x: int, y: int) -> tuple[str, int]:
    """(type, number) of one operator, from the words of the table alone."""
    common = "u64" if "u64" in kinds else "s64"
    result = {"usual": common, "first": kinds[0]}.get(CELLS[operator], CELLS[operator])
    if operator == "%" or (CELLS[operator] != "first" and operator not in ("&&", "||") and common == "u64"):
        x, y = x % M, y % M
    if operator in ("<<", ">>"):
        y = y % M % 64
    quotient = abs(x) // abs(y) if y else 0
    number = {
        "+": x + y, "-": x - y, "*": x * y, "/": quotient if (x < 0) == (y < 0) else -quotient, "<": x < y, ">": x > y,
        "<=": x <= y, ">=": x >= y, "==": x == y, "!=": x != y, "%": x - y * (x // y) if y else 0, "<<": x << y % 64, ">>": x >> y % 64,
        "&": x & y, "|": x | y, "^": x ^ y, "&&": x != 0 and y != 0, "||": x != 0 or y != 0,
    }[operator]  # fmt: skip
    return result, int(number) % M if result == "u64" else signed(int(number))


def test_every_cell_of_the_table() -> None:
    texts, expected = [], []
    for operator in CELLS:
        for a, first in OPERANDS.items():
            for b, second in OPERANDS.items():
                for (x, left), (y, right) in itertools.product(first.items(), second.items()):
                    type, number = cell(operator, (a, b), left, right)
                    texts += [f"{x} {operator} {y}", f"({x} {operator} {y}) >> 63", f"({x} {operator} {y}) - 1 < 0"]
                    less = signed(number - 1) if type == "s64" else (number - 1) % M
                    expected += [number % M, (number >> 63) % M, int(less < 0)]
    for operator, a, first in (
        (o, a, f) for o in ("+", "-", "!", "~", "(.u64)", "(.s64)") for a, f in OPERANDS.items()
    ):
        for x, value in first.items():
            type = {"+": a, "-": a, "!": "s64", "~": "u64", "(.u64)": "u64", "(.s64)": "s64"}[operator]
            number = {"+": value, "-": -value, "!": value == 0, "~": ~value}.get(operator, value)
            number = number % M if type == "u64" else signed(int(number))
            texts += [f"{operator} {x}", f"({operator} {x}) >> 63"]
            expected += [number % M, (number >> 63) % M]
    assert len(texts) > 3500
    assert ours("u64", texts) == expected


@pytest.mark.parametrize("operator", CELLS)
def test_cells_that_are_empty(operator: str) -> None:
    """An operator refuses what the table does not have, with its place."""
    for a, b in (("1.5", "2"), ("2", "1.5"), ("2U", "1.5"), ("1.5", "2.5")):
        if (a, b) == ("1.5", "2.5") and operator in OF_DOUBLES:
            continue
        assert f"{operator} takes operands" in refused(f"{HEADER}.global .u64 x = {a} ¦{operator} {b};").message


# values -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("u64", "2 + 3 * 4", 14), ("u64", "1 << 2 + 3", 32), ("u64", "7 & 3 == 3", 1), ("u64", "1 | 2 ^ 3 & 4", 3),
        ("u64", "1 || 0 && 0", 1), ("u64", "10 - 3 - 2", 5), ("u64", "100 / 10 / 5", 2), ("u64", "2 < 3 < 1", 0),
        ("u64", "0 ? 1 : 0 ? 2 : 3", 3), ("u64", "1 ? 0 ? 2 : 3 : 4", 3), ("u64", "-~5", 6), ("u64", "!~0", 0),
        ("u64", "- - -3", M - 3), ("u64", "--3", 3), ("u64", "1--3", 4), ("u64", "(((((7)))))", 7),
        ("u64", "-7 / 2", M - 3), ("u64", "-7U / 2", (M >> 1) - 4), ("u64", "-7 % 3", (M - 7) % 3), ("u64", "7 % 3", 1),
        ("u64", "-8 >> 1", M - 4), ("u64", "-8U >> 1", (M >> 1) - 4), ("u64", "(-8) >> 1U", M - 4),
        ("u64", "~0 >> 1", (M >> 1) - 1), ("u64", "(-1 & -1) / 2", 0), ("u64", "(-1 & -1U) / 2", (M >> 1) - 1),
        ("u64", "1 << 64", 1), ("u64", "1 << 1000000000", 1), ("u64", "1 << -1", M >> 1), ("u64", "-1U >> 64", M - 1),
        ("u64", "0xffffffffffffffff < 0", 0), ("u64", "-1 < 0", 1), ("u64", "-1 < 0U", 0), ("u64", "-1 == 0xffffffffffffffff", 1),
        ("u64", "(1U < 2U) - 2 < 0", 1), ("u64", "(!1U) - 2 < 0", 1), ("u64", "(1U && 2U) - 2 < 0", 1),
        ("u64", "(.s64)0xffffffffffffffff / 2", 0), ("u64", "(.u64)-1 / 2", (M >> 1) - 1), ("u64", "( .s64 ) ~0 / 2", 0),
        ("u64", "(.s64)0x8000000000000000 / -1", M >> 1), ("u64", "-9223372036854775808 / 2", M >> 2),
        ("u64", "0x7fffffffffffffff + 1 < 0", 1), ("u64", "1.5 < 2.5", 1), ("u64", "(0.0 == -0.0) + 4", 5),
        ("u64", "WARP_SZ * 2", 64), ("u64", "-WARP_SZ / 3", M - 10), ("u64", "1 ? 2.5 < 3.0 : 4", 1),
        ("f64", "0.1 + 0.2", 0x3FD3333333333334), ("f64", "1.0 / 3.0", 0x3FD5555555555555), ("f64", "1e308 * 10.0", 0x7FF0000000000000),
        ("f64", "0.0 * -1.0", 1 << 63), ("f64", "-0.0 + 0.0", 0), ("f64", "-0.0 - 0.0", 1 << 63), ("f64", "1 ? 2.0 : 3.0", 1 << 62),
        ("f64", "0d0000000000000003 * 0.5", 2), ("f64", "0d7ff0000000000000 - 0d7ff0000000000000", 0xFFF8000000000000),
        ("f64", "-(1.5)", 0xBFF8000000000000), ("f64", "+1.5", 0x3FF8000000000000),
    ],
)  # fmt: skip
def test_values(type: str, text: str, value: int) -> None:
    assert ours(type, [text]) == [value]


@pytest.mark.parametrize(
    ("type", "text", "data"),
    [("u8", "255 + 1", "00"), ("s8", "127 + 1", "80"), ("u16", "~0", "ffff"), ("b32", "1 << 31", "00000080"), ("u32", "1.5 < 2.0", "01000000"),
     ("f32", "0.1 * 0.1", struct.pack("<f", 0.1 * 0.1).hex()), ("b32", "1.5 + 1.5", struct.pack("<f", 3).hex()),
     ("f32", "1e39 * 1.0", "0000807f")],
)  # fmt: skip
def test_the_use_converts(type: str, text: str, data: str) -> None:
    assert initial(type, text).hex() == data


def test_operands() -> None:
    assert bits_of("mov.u64 %rd1, (1 << 4) | 3;") == 19
    assert bits_of("mov.u64 %rd1, 1; add.u64 %rd1, %rd1, -4 * 2;") == M - 7
    assert bits_of("mov.b64 %rd1, {1 + 2, 3 | 4};") == 7 << 32 | 3
    assert bits_of("mov.u32 %r1, (7);", "%r1", 32) == 7
    assert bits_of("mov.f64 %fd1, 1.0 + 2.0;", "%fd1") == bits(3.0)
    assert bits_of("mov.pred %p1, !1; selp.u64 %rd1, 1, 0, %p1;") == 0
    assert bits_of("mov.pred %p1, 1 - 1 || 5; selp.u64 %rd1, 1, 0, %p1;") == 1


def test_addresses() -> None:
    store = ".shared .align 8 .u64 a[4]; mov.u64 %rd1, 5; st.shared.u64 [a+8], %rd1; mov.u64 %rd1, 0;"
    for address in (
        "[a+4*2]",
        "[a+(4+4)]",
        "[a+1<<3]",
        "[a+WARP_SZ/4]",
        "[a+16-8]",
        "[a+1?8:0]",
        "[a+0xfffffffffffffff8+16]",
    ):
        assert bits_of(f"{store} ld.shared.u64 %rd1, {address};") == 5, address
    assert bits_of(f"{store} mov.u32 %r1, a+24; ld.shared.u64 %rd1, [%r1+-4*4];") == 5
    assert bits_of(f"{store} mov.u32 %r1, a+4*2; ld.shared.u64 %rd1, [%r1];") == 5
    assert bits_of(".shared .u8 a[8]; mov.u64 %rd1, a+2*3; mov.u64 %rd2, a; sub.u64 %rd1, %rd1, %rd2;") == 6


def test_sizes() -> None:
    module = ptxspec.load(
        HEADER + ".global .u8 x[2*WARP_SZ][3+1]; .global .u16 y[(1<<3)]; .entry k(.param .b8 p[4*2]) {}"
    )
    assert {p.name: p.size for p in module.checked.places.values()} == {"x": 256, "y": 16}
    assert module.checked.kernels["k"].parameters[0].size == 8


# what is refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5 ¦/ 0", "/ divides by zero"), ("5 ¦% (1-1)", "% divides by zero"), ("0 && 5¦/0", "/ divides by zero"),
        ("1 ? 5 : 5¦/0", "/ divides by zero"), ("1.0 ¦/ 0.0", "/ divides by zero"), ("1.0 ¦/ -0.0", "/ divides by zero"),
        ("1.0 ¦+ 1", "takes operands of types f64, f64 or integer, integer here, not f64, s64"), ("1 ¦< 2.0", "not s64, f64"),
        ("¦!1.5", "! takes operands of types integer here, not f64"), ("¦~1.5", "not f64"), ("1.5 ¦% 2.0", "not f64, f64"),
        ("1.0 ¦&& 1", "not f64, s64"), ("1 ¦<< 1.0", "not s64, f64"), ("1.5 ¦? 2 : 3", "not f64, s64, s64"),
        ("1 ¦? 2 : 3.0", "not s64, s64, f64"), ("¦(.s64)1.5", "(.s64) takes operands of types integer here, not f64"),
        ("¦(.f64)1", "a cast is one of (.s64), (.u64), not (.f64)"), ("¦(.s32)1", "a cast is one of"),
        ("1 +¦", "expected a constant, not ';'"), ("(1 + 2¦", "expected an operator or ')', not ';'"), ("1 + 2¦)", "not ')'"),
        ("(¦)", "expected a constant, not ')'"), ("1 ? 2¦", "expected an operator or ':', not ';'"), ("1 ? ¦: 2", "not ':'"),
        ("(1 ? 2¦) : 3", "expected an operator or ':', not ')'"), ("(1¦: 2)", "expected an operator or ')', not ':'"),
        ("(2)¦(3)", "not '('"), ("1 +¦* 2", "expected a constant, not '*'"), ("2 * ¦x", "x is a name, not a constant"),
        ("-¦x", "x is a name, not a constant"), ("7¦%3", "%3 is a name: a remainder needs a blank after its '%'"),
        ("¦0f3f800000 + 1.0", "exact bits of single precision stand alone"), ("-¦0f3f800000", "stand alone"),
        ("(¦0f3f800000)", "stand alone"), ("1 + ¦18446744073709551616", "does not fit into 64 bits"), ("1 = ¦2", ""),
        ("1 + ¦08", "is no octal number"), ("1 + ¦\"a\"", "expected a constant"), ("1 + ¦.5.5", ""),
    ],
)  # fmt: skip
def test_errors(text: str, message: str) -> None:
    if not message:
        assert complaints(f"{HEADER}.global .u64 x = {text.replace('¦', '')};")
        return
    found = refused(f"{HEADER}.global .u64 x = {text};")
    assert message in found.message
    if text not in ("(¦)", "-¦x"):  # an empty list, and a register with a minus sign
        refused(body(f"add.u64 %rd1, %rd1, {text};"))


@pytest.mark.parametrize(
    "text",
    [".global .align 2¦*4 .u32 x;", ".global .u32 x<2¦*3>;", ".entry k() .maxntid 16¦*2 {}", ".entry k() .maxnreg 16¦+2 {}",
     ".file 1¦+1 \"x\"", ".entry k() { .loc 1¦+1 2 3 }", ".section .debug_info { .b8 1¦+2 }", ".entry k(.param .align 4¦*2 .b8 p[8]) {}"],
)  # fmt: skip
def test_where_there_is_a_single_integer(text: str) -> None:
    found = refused(HEADER + text)
    assert found.message.startswith("expected ") and found.message.endswith(f"not {text[text.index('¦') + 1]!r}")
    assert found.page is not None and found.page.startswith("spec/syntax/")


@pytest.mark.parametrize("text", ["¦1-1", "¦-1", "¦(4-8)"])
def test_sizes_that_are_none(text: str) -> None:
    assert "expected a size, at least 1" in refused(f"{HEADER}.global .u8 x[{text}];").message


@pytest.mark.parametrize("text", ["¦1.5 * 2.0", "¦1.5"])
def test_offsets_and_sizes_are_integers(text: str) -> None:
    assert "expected" in refused(f"{HEADER}.global .u8 x[{text}];").message
    assert "expected" in refused(body(f".shared .u8 a[4]; ld.shared.u8 %r1, [a+{text}];")).message


# what takes long ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [("1" + "+1" * 10_000, 10_001), ("1" + "<<1000000000" * 500, 1), ("(" * 900 + "7" + ")" * 900, 7), ("- " * 900 + "7", 7),
     ("0?1:" * 900 + "7", 7), ("1?" * 900 + "7" + ":0" * 900, 7), ("18446744073709551615*" * 1000 + "1", 1), ("~" * 900 + "7", 7)],
)  # fmt: skip
def test_long_expressions(text: str, value: int) -> None:
    with at_most(12_000):
        assert ours("u64", [text]) == [value]


@pytest.mark.sample(6, lambda unit, place: [place])
@pytest.mark.parametrize("unit", ["(", "- ", "~", "!", "1?", "1?(", "(.s64)", "1+(", "((1)+", "0?1:", "1<<(", "1.0/("])
@pytest.mark.parametrize(
    "place", ["{}.global .u64 x = {};", "{}.global .u8 x[{}];", "{}.entry k() {{ mov.u64 x, {}; }}"]
)
def test_deep_expressions(unit: str, place: str) -> None:
    """More than a thousand operators and parentheses that wait for something are refused, in no time."""
    with at_most(12_000):
        found = complaints(place.format(HEADER, unit * 60_000 + "1"))
    assert "are open" in found[0].message or "expected" in found[0].message


@pytest.mark.slow
def test_fuzz() -> None:
    """Whatever the words are, there is a value or a complaint."""
    rng = random.Random(3)
    words = ["(", ")", "+", "-", "*", "/", "% ", "<<", ">>", "<", "==", "&", "|", "^", "&&", "||", "?", ":", "!", "~", "(.s64)",
             "(.u64)", "(.f32)", "1", "0", "7U", "0xffffffffffffffff", "64", "1.5", "0.0", "1e308", "0d7ff8000000000001",
             "0f3f800000", "WARP_SZ", "x", "%x", ",", "{", "}", "=", "1e999", "."]  # fmt: skip
    seen = {True: 0, False: 0}
    for _ in range(1500):
        text = " ".join(rng.choice(words) for _ in range(rng.choice([1, 2, 3, 3, 3, 5, 5, 9, 30])))
        for place in (f"{HEADER}.global .u64 y = {text};", body(f"mov.u64 %rd1, {text};")):
            try:
                ptxspec.load(place)
                seen[True] += 1
            except ptxspec.PtxError as error:
                assert all(d.message and d.line for d in error.diagnostics)
                seen[False] += 1
    assert min(seen.values()) > 20


def test_sympy_is_imported_for_operators_alone() -> None:
    program = (
        "import ptxspec, sys; ptxspec.load({!r}); before = 'sympy' in sys.modules; ptxspec.load({!r}); "
        "print(before, 'sympy' in sys.modules)"
    )
    plain = HEADER + ".global .s32 x[] = {-1, (5), +3, -(7), WARP_SZ}; .global .f64 y = -1.5;"
    program = program.format(plain, HEADER + ".global .s32 x = 1 + 2;")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
