"""The meanings of forms before and after a mistake: where they differ, and on which operands that shows."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

from ptxspec.language.forms import Form
from ptxspec.terms.core import Bool, Term, TermError, constant, make, variable
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Collective
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import (
    Approximation,
    condition,
    freedoms_in,
    is_allowed,
    meaning_of,
    resolve,
    variables_in,
)
from ptxspec_workshop.mutation.by_parts import ranged
from ptxspec_workshop.mutation.mutants import Mutant
from ptxspec_workshop.mutation.reach import graph


class Leaves(NamedTuple):
    """What a meaning is made of: its terms, the functions that it hands on to the machine, and all the rest; of the named
    functions that its terms call, by their names and types, the meanings; and the functions that say as a term what an open
    result may be, with these terms."""

    rest: tuple[Any, ...]
    terms: tuple[Term, ...]
    functions: tuple[Any, ...]
    bodies: dict[Any, Term]
    allowing: tuple[tuple[Any, Term], ...] = ()


class FormVariant(NamedTuple):
    """A form in one of its variants, and the operands left out."""

    form: Form
    absent: tuple[str, ...]

    @property
    def meaning(self) -> Meaning:
        return self.form.meaning(self.absent)

    def __str__(self) -> str:
        return str(self.form)


def cases(forms: Iterable[Form], whole: bool) -> list[FormVariant]:
    """The cases of some forms: all variants, operands left out, and editions; or of each the variants that differ most."""
    result = []
    for form in forms:
        variants = form.variants
        for variant in variants if whole else dict.fromkeys([0, len(variants) // 2, len(variants) - 1]):
            chosen = variant if isinstance(variant, Form) else variants[variant]
            for absent in chosen.absences if whole else chosen.absences[-1:]:
                result.append(FormVariant(chosen, absent))
    return result


def leaves(meaning: Meaning) -> Leaves:
    """The parts of a meaning, in an order that two meanings of one form share."""
    rest: list[Any] = []
    terms: list[Term] = []
    functions: list[Any] = []

    def take(value: Any) -> None:
        if isinstance(value, Term):
            terms.append(value)
            rest.append(type(value).__name__)
        elif isinstance(value, Type | Enum) or value is None or isinstance(value, str | int):
            rest.append(value)
        elif isinstance(value, dict):
            for key, inner in value.items():
                rest.append(key)
                take(inner)
        elif isinstance(value, tuple | list):
            rest.append(len(value))
            for inner in value:
                take(inner)
        elif is_dataclass(value) and not isinstance(value, type):
            rest.append(type(value).__name__)
            for field in fields(value):
                take(getattr(value, field.name))
        elif isinstance(value, range | frozenset | set | float):
            rest.append(repr(sorted(value) if isinstance(value, frozenset | set) else value))
        elif callable(value):
            functions.append(value)
            rest.append(like(value))
        else:
            raise TypeError(f"a part of a meaning of the type {type(value).__name__}, about which nothing is known")

    take(_without_unread(meaning))
    allowing = []
    for freedom in freedoms_in(*terms):
        allowing_terms = _allowed(freedom)
        if allowing_terms is not None:
            allowing.append((freedom.attrs[4], allowing_terms))
        elif freedom.attrs[4] is not None:
            functions.append(freedom.attrs[4])
    return Leaves(tuple(rest), tuple(terms), tuple(functions), bodies_in(terms), tuple(allowing))


def _allowed(freedom: Any) -> Bool | None:
    """What an open result may be, as a term of its bits and of variables for the operands; None where no term says so."""
    allowed = freedom.attrs[4]
    types: dict[str, Type] = {}
    if allowed is None or isinstance(allowed, Approximation):
        return None
    operands = [ranged(f"%given{i}", operand, types) for i, operand in enumerate(freedom.args)]
    try:
        return condition(allowed, variable("%bits", freedom.attrs[1]), operands)
    except TermError:  # it asks for numbers
        return None


def _without_unread(meaning: Meaning) -> Meaning:
    """The meaning with nothing given by each lane, where none reads what the lanes give: as where they only wait; and without
    what is said of the condition code for those who write tests."""
    meaning, effect = meaning._replace(borrows=False), meaning.effect
    if not isinstance(effect, Collective) or effect.more:
        return meaning
    given = {f"%lane{i}" for i in range(32)}
    read = variables_in(t for result in meaning.results for t in result.values)
    return meaning if meaning.more or read & given else meaning._replace(effect=replace(effect, value=constant(0)))


def bodies_in(terms: Iterable[Term]) -> dict[Any, Term]:
    """The meanings of the named functions that some terms call."""
    bodies: dict[Any, Term] = {}
    seen: set[int] = set()
    waiting: list[Any] = list(terms)
    while waiting:
        term = waiting.pop()
        if id(term) not in seen:
            seen.add(id(term))
            if term.op == "call" and term.attrs not in bodies:
                bodies[term.attrs] = meaning_of(term)[0]
            waiting += term.args
    return bodies


def like(thing: Any) -> Any:
    """What is equal for functions of the same text that hold the same."""
    if isinstance(thing, Approximation):
        return like(thing.nearest), like(thing.allowed), thing.quick, like(thing.rounded), like(thing.term)
    if isinstance(thing, partial):
        return like(thing.func), tuple(like(a) for a in (*thing.args, *thing.keywords.values()))
    code = getattr(thing, "__code__", None)
    if not isinstance(code, CodeType):
        return type(thing).__name__, repr(thing)
    held = [cell.cell_contents for cell in thing.__closure__ or ()]
    return code, tuple(map(like, held))


def alike(term: Any, mutant: Mutant, memo: dict[int, Any], kept: dict[Any, Any]) -> Any:
    """The term with what freedoms allow replaced by the first of those that say the same: a definition that is evaluated again
    makes functions anew. One that the mutant may change is left as it is."""

    def same(freedom: Any) -> Any:
        allowed = freedom.attrs[4]
        if allowed is None or graph().reaches(allowed, mutant):
            return freedom
        attrs = (*freedom.attrs[:4], kept.setdefault(like(allowed), allowed), *freedom.attrs[5:])
        return make(freedom.op, freedom.args, attrs)

    return resolve(term, same, memo)


def machine(freedom: Any, operands: tuple[int, ...]) -> int:
    """The choice of some machine: bits that PTX allows, a function of the freedom's entry and the operands' values."""
    slug, _, _, _, allowed, operation, _ = freedom.attrs
    width: int = freedom.attrs[1]
    if isinstance(allowed, Approximation):
        return allowed.nearest(*operands)
    mixed = zlib.crc32(repr((slug, operation, operands)).encode()) * 0x1_0000_0001_0000_0001
    for bits in (mixed & ((1 << width) - 1), 0, (1 << width) - 1, *operands[:1]):
        if is_allowed(freedom, operands, bits):
            return bits
    return (1 << width) - 1


def some(forms: list[Form], most: int) -> Iterator[Form]:
    """So many of some forms, at even distances."""
    step = max(1, -(-len(forms) // most))
    yield from forms[::step]
