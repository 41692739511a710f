"""Which bits of results are undefined: none that depends on an undefined bit is missing, for any instruction that computes; and
none is too many where a definition moves bits."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import ptxspec
from ptxspec.language.forms import Form, registry
from ptxspec.terms.core import Bool, Term, truth_variable, variable
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.profiles import Profile
from ptxspec.terms.undefined_bits import UndefinedBits
from ptxspec.terms.vocabulary import integer, low_bits, number, quotient, select, variables_in
from ptxspec_workshop.generate.representatives import representatives

HOPPER = Profile("hopper")
OPCODES = sorted(registry().opcodes)


def computing(opcode: str) -> list[Form]:
    """Forms of an opcode that only compute, some of them."""
    forms = [f for f in representatives(ptxspec.forms(opcode)) if f.meaning(f.absences[-1]).effect is None]
    return random.Random(opcode).sample(forms, min(len(forms), 6))


def shadows(terms: list[Any]) -> dict[str, Term]:
    """The variables below terms, each with one for its undefined bits."""
    found: dict[str, Term] = {}
    stack = list(terms)
    while stack:
        term = stack.pop()
        stack += term.args
        if term.op == "var" and not term.attrs[0].startswith("%"):
            name, width = term.attrs
            found[name] = truth_variable(f"? {name}") if isinstance(term, Bool) else variable(f"? {name}", width)
    return found


def word(rng: random.Random, width: int) -> int:
    """Numbers at the edges and in the midst."""
    return rng.choice(
        [0, (1 << width) - 1, 1 << width - 1, rng.randrange(1 << width), rng.randrange(1 << min(width, 6))]
    )


def mask(rng: random.Random, width: int) -> int:
    """No bit, all, a field, or any."""
    end = rng.randrange(width + 1)
    return rng.choice([0, 0, (1 << width) - 1, (1 << end) - 1, (1 << width) - (1 << end), rng.randrange(1 << width)])


def unsound(term: Any, rng: random.Random, rounds: int) -> list[tuple[dict[str, Any], int, int, int]]:
    """Cases in which a bit of a term differs that is said to be defined: operands, both results, and what is said."""
    known = shadows([term])
    bits, wrong = UndefinedBits(known).of(term), []
    for _ in range(rounds):
        given = {n: (word(rng, s.attrs[1]), mask(rng, s.attrs[1])) for n, s in known.items()}
        special = {n: 0 for n in variables_in([term]) if n not in known}
        results = []
        for _ in range(4):
            values: dict[str, Any] = {}
            for name, (value, undefined) in given.items():
                free = rng.randrange(1 << known[name].attrs[1]) & undefined
                values[name] = value & ~undefined | free
                if isinstance(known[name], Bool):
                    values[name] = bool(values[name])
            masks = {f"? {n}": bool(u) if isinstance(known[n], Bool) else u for n, (_, u) in given.items()}
            try:
                result = int(evaluate(term, values | special, HOPPER.value))
                said = int(evaluate(bits, values | masks | special, HOPPER.value))
            except NoChoice:
                continue
            results.append((values, result, said))
        for (values, one, said), (_, other, _) in itertools.pairwise(results):
            if (one ^ other) & ~said:
                wrong.append((values, one, other, said))
    return wrong


@pytest.mark.sample(3)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("opcode", OPCODES)
def test_no_bit_is_missing(opcode: str) -> None:
    """Operands that differ in undefined bits alone give results that differ there alone."""
    rng = random.Random(opcode)
    for form in computing(opcode):
        meaning = form.meaning(form.absences[-1])
        terms = [value for result in meaning.results for value in result.values]
        terms += [] if meaning.carry is None else [meaning.carry]
        for term in terms[:4]:
            assert unsound(term, rng, 12) == [], str(form)


X, Y, C, P = variable("x", 32), variable("y", 32), variable("c", 32), truth_variable("p")
DEFINED = 0


@pytest.mark.parametrize(
    ("term", "undefined", "expected"),
    [
        (X & 0xFF, {"x": 0xFFFFFF00}, 0),
        (X | 0xF0, {"x": 0xFF}, 0x0F),
        (X ^ Y, {"x": 1, "y": 2}, 3),
        (low_bits((X << 8) + 0x11, 32), {"x": 0xFF}, 0xFF00),
        (X >> 4, {"x": 0xF}, 0),
        (select(P, X, Y), {"x": 0xFF}, 0),
        (select(P, X, integer(5)), {"p": 1}, 2),
        (low_bits(X * 8, 32), {"x": 1}, 8),
        (low_bits(X * 3, 32), {"x": 4}, 0xFFFFFFFC),
        (low_bits(X + Y, 32), {"x": 4}, 4),
        (number(X == 9), {"x": 0xF0}, 0),
        (number(X == 9), {"x": 0x8}, 0),
        (number(X == 9), {"x": 0xE}, 1),
        (X ^ X, {"x": 0xFF}, 0),
        (number(X < 100), {"x": 0x7}, 0),
        (number(X < 4), {"x": 0x7}, 1),
        (low_bits(X + 7, 32), {"x": 8}, 0xFFFFFFF8 & 0x18),
        # a part of a variable that a selection leaves out does not count in what is undefined as a whole
        (quotient(select(P, low_bits(X >> 1, 16), 0) + Y, 3), {"x": 0xFFFF}, 0),
        (low_bits(quotient(select(P, 0, X) + Y, 3), 8), {"x": 1}, 0xFF),
        (low_bits(quotient(select(P, X, 0) + Y, 3), 8), {"p": 1}, 0xFF),
        (low_bits(quotient(select(P, X, 0) + Y, 3), 8), {"y": 1}, 0xFF),
    ],
    ids=str,
)
def test_bits_are_followed(term: Any, undefined: dict[str, int], expected: int) -> None:
    """x is 7, y is 8, p is false."""
    known = shadows([term])
    bits = UndefinedBits(known).of(term)
    values = {"x": 7, "y": 8, "p": False}
    masks = {f"? {n}": undefined.get(n, 0) for n in known}
    masks = {n: bool(m) if n == "? p" else m for n, m in masks.items()}
    assert evaluate(bits, values | masks) & 0xFFFFFFFF == expected


@pytest.mark.parametrize(
    ("mnemonic", "values", "undefined", "expected"),
    [
        ("bfi.b32", {"a": 0xA, "b": 0x1234, "c": 4, "d": 4}, {"b": 0xF0}, 0),
        ("bfi.b32", {"a": 0xA, "b": 0x1234, "c": 4, "d": 4}, {"a": 0x3}, 0x30),
        ("prmt.b32", {"a": 0x11223344, "b": 0, "c": 0x0000}, {"a": 0xFFFFFF00}, 0),
        ("prmt.b32", {"a": 0x11223344, "b": 0, "c": 0x0001}, {"a": 0xFF00}, 0xFF),
        ("bfe.u32", {"a": 0x1234, "b": 4, "c": 4}, {"a": 0xFF00}, 0),
        ("shf.l.wrap.b32", {"a": 1, "b": 2, "c": 8}, {"a": 0xFF000000}, 0xFF),
        ("selp.b32", {"a": 1, "b": 2, "c": True}, {"b": 0xFFFFFFFF}, 0),
        ("lop3.b32", {"a": 0xFF, "b": 0, "c": 0, "immLut": 0x80}, {"a": 0xFFFF}, 0),
        ("add.f32", {"a": 0x3F800000, "b": 0}, {"b": 1}, 0xFFFFFFFF),
    ],
)
def test_instructions(mnemonic: str, values: dict[str, Any], undefined: dict[str, int], expected: int) -> None:
    form = next(f for f in ptxspec.forms(mnemonic.split(".")[0]) if f.mnemonic == mnemonic)
    (result, *_) = form.meaning(form.absences[-1]).results
    known = shadows(list(result.values))
    bits = UndefinedBits(known).of(result.values[0])
    masks = {f"? {n}": undefined.get(n, 0) for n in known}
    masks = {n: bool(m) if isinstance(known[n[2:]], Bool) else m for n, m in masks.items()}
    assert evaluate(bits, values | masks, HOPPER.value) & 0xFFFFFFFF == expected
