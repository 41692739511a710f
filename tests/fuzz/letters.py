"""Forms at random, by what they do: only those are looked at that are chosen."""

from __future__ import annotations

import random
from functools import cache

from ptxspec.evidence.kernels.function_cases import comparable
from ptxspec.evidence.kernels.instruction_kernels import (
    is_of_today,
)
from ptxspec.language.forms import Form, page_name, registry
from ptxspec.terms.kinds import VectorOf
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import freedoms_in
from ptxspec_workshop.generate.fuzzing.alphabet import types_of

PROFILE = "hopper"


@cache
def _profile() -> Profile:
    return Profile(PROFILE)


@cache
def _forms(opcode: str) -> list[Form]:
    return registry().opcodes[opcode].forms


@cache
def _opcodes() -> list[str]:
    """All that compute something of their operands, as far as their pages' folders say."""
    chapters = (
        "integer",
        "floating",
        "half",
        "logic",
        "comparison",
        "movement",
        "extended_precision",
        "video",
        "synchronization",
    )
    names = sorted(registry().opcodes)
    return [n for n in names if any(f"/{c}" in _page(n).replace("-", "_") for c in chapters)]


@cache
def _page(opcode: str) -> str:
    return page_name(registry().opcodes[opcode].lines[0][1].path)


@cache
def part(opcode: str, number: int) -> str:
    """What a form does: plain, memory (it updates a cell), or the part of a chain of carries or borrows: start, middle, end.
    Empty for one that programs do without: it is no function of its operands, modules of today have it not, or it needs registers
    that they have not."""
    form = _forms(opcode)[number]
    if not is_of_today(form) or not comparable(form) or not _has_registers(form):
        return ""
    meaning = form.meaning(form.absences[-1])
    if any(not _profile().chooses(f) for f in freedoms_in(*[v for r in meaning.results for v in r.values])):
        return ""
    if meaning.effect is not None:
        return "memory"
    if meaning.carry is None and not meaning.carry_read:
        return "plain"
    place = "end" if meaning.carry is None else "middle" if meaning.carry_read else "start"
    return f"{place} of {'borrows' if meaning.borrows else 'carries'}"


def _has_registers(form: Form) -> bool:
    types = list(types_of(form))
    if any(isinstance(t, VectorOf) or (isinstance(t, Type) and t.width == 128) for t in types):
        return False
    if not form.definition.wider and any(isinstance(t, Type) and t.width == 8 for t in types):
        return False
    return not any(o.group and t.width == 8 for o, t in zip(form.syntax.operands, types, strict=False))


#: a version of PTX and a number of a target
Era = tuple[tuple[int, int], int]
TODAY: Era = ((9, 0), 90)


def exists(form: Form, era: Era) -> bool:
    """Whether modules of a version, for a target, have the form."""
    version, target = era
    since, gone = form.definition.availability(form.modifiers, target), form.removal
    return (
        version >= since[0]
        and target >= since[1]
        and not form.only
        and (gone is None or version < gone[0] or target < gone[1])
    )


def choose(source: random.Random, wanted: str, era: Era = TODAY) -> Form:
    """A form that does what is wanted, with selectors and signs of its operands."""
    opcodes = _opcodes() if wanted in ("plain", "memory") else _carrying()
    if wanted == "memory":
        opcodes = [o for o in opcodes if "/synchronization/" in _page(o)]
    while True:
        opcode = source.choice(opcodes)
        number = source.randrange(len(_forms(opcode)))
        if part(opcode, number) == wanted and (era == TODAY or exists(_forms(opcode)[number], era)):
            variants = _forms(opcode)[number].variants
            return source.choice([v for v in variants if "policy" not in str(v) and (era == TODAY or v.plain)])


@cache
def _carrying() -> list[str]:
    """The opcodes that have forms which read or write the condition code."""
    found = []
    for name in _opcodes():
        meanings = [
            form.meaning(form.absences[-1]) for form in _forms(name) if "extended" in page_name(form.definition.path)
        ]
        if any(m.carry is not None or m.carry_read for m in meanings):
            found.append(name)
    return found
