"""Programs in which some products and sums are contracted, pair by pair, as an assembler may have them."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

#: ways to contract a program that are looked at
MOST = 256
_TYPE = r"((?:\.ftz)?(?:\.sat)?\.b?f(16|32|64)(x2)?)"
_PLAIN = re.compile(
    rf"(?<![\w.])(?P<before>(?:@!?%\w+\s+)?)(?P<opcode>add|sub|mul){_TYPE}\s+"
    r"(?P<into>%\w+),\s*(?P<a>[^,;]+),\s*(?P<b>[^,;]+);"
)
_STATEMENT = re.compile(r"[^;]*;")
_FIRST = re.compile(r"[\w.]+\s+(%\w+),")


class _Product(NamedTuple):
    """A product without rounding modifier: what follows its opcode, and its factors."""

    suffix: str
    factors: tuple[str, str]


class _Sum(NamedTuple):
    """A sum or difference that may take a product: which statement of the text it is, and the products by its operands."""

    statement: int
    products: dict[str, _Product]


def contracted_texts(text: str) -> Iterator[str]:
    """The text with each sum fused with one of its products or with none, in every way; in MOST that are drawn, if there are
    more. The product itself stays for others that read it."""
    statements = _STATEMENT.findall(text)
    sums = list(_sums(statements))
    ways = [[None, *addition.products] for addition in sums]
    source = random.Random(text)
    every = math.prod(map(len, ways)) <= MOST
    chosen = itertools.product(*ways) if every else ([source.choice(w) for w in ways] for _ in range(MOST))
    for way in chosen:
        taken = {
            addition.statement: (name, addition.products[name])
            for addition, name in zip(sums, way, strict=True)
            if name
        }
        yield "".join(_written(s, taken.get(i)) for i, s in enumerate(statements)) + text[len("".join(statements)) :]


def _sums(statements: list[str]) -> Iterator[_Sum]:
    """The sums that follow products they may take, with nothing between that writes the product or its factors."""
    available: dict[str, _Product] = {}
    for i, statement in enumerate(statements):
        match = _PLAIN.search(statement)
        if ":" in statement or re.search(r"\b(?:bra|call|ret)\b", statement):
            available.clear()
        if match and match["opcode"] != "mul":
            a, b = match["a"].strip(), match["b"].strip()
            products = {name: available[name] for name in (a, b) if name in available and a != b}
            if products:
                yield _Sum(i, products)
        into = _perhaps_written(statement)
        available = {n: p for n, p in available.items() if n not in into and not into & {*p.factors}}
        if match and match["opcode"] == "mul" and not match["before"] and ".sat" not in match[3]:
            factors = match["a"].strip(), match["b"].strip()
            if match["into"] not in factors:
                available[match["into"]] = _Product(match[3], factors)


def _perhaps_written(statement: str) -> set[str]:
    """The registers that a statement writes, and maybe others that it names."""
    first = None if "{" in statement else _FIRST.search(statement)
    return {first[1]} if first else set(re.findall(r"%\w+", statement))


def _written(statement: str, taken: tuple[str, _Product] | None) -> str:
    """A statement that keeps its products and sums apart, but for a product that it takes: that it gets as a copy of its own."""
    match = _PLAIN.search(statement)
    if match is None:
        return statement
    if taken is None:
        at = match.end("opcode")
        return f"{statement[:at]}.rn{statement[at:]}"
    name, (suffix, factors) = taken
    width = 32 if match[5] else int(match[4])
    operands = ["%copy" if match[k].strip() == name else match[k].strip() for k in ("a", "b")]
    contracted = f"{match['opcode']}{match[3]} {match['into']}, {', '.join(operands)};"
    product = f"mul{suffix} %copy, {', '.join(factors)};"
    return f"{statement[: match.start()]}{{ .reg .b{width} %copy; {product} {match['before']}{contracted} }}"
