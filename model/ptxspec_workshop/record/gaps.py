"""Which forms a GPU was asked about, told from the recorded answers alone: nothing is computed and compared here.

A form that no GPU was asked about is a *gap*, unless there is a reason why none can be (`unasked`). Gaps are counted and
listed; they are no failures, so that a page can be written without a GPU. An answer that differs is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxspec.evidence.kernels.instruction_kernels import (
    comes_later,
)
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Stop, Update
from ptxspec.terms.vocabulary import freedoms_in
from ptxspec_workshop.generate.effect_cases import asks_images
from ptxspec_workshop.record import image_answers
from ptxspec_workshop.record.families import FAMILIES
from ptxspec_workshop.record.stored_answers import Answers

#: by the names of families: the recorded answers, None for those that are not installed
Records = Mapping[str, Answers | None]


def records() -> Records:
    """All recorded answers. Raises ValueError if they are not what was recorded."""
    return {name: family.read() for name, family in FAMILIES.items()}


def unasked(form: Form) -> str | None:
    """Why no GPU can be asked for a form; None if one can, be it after somebody has written a kernel for such forms."""
    if comes_later(form):
        (major, minor), target = form.availability
        where = " or ".join(form.only) or f"sm_{target}"
        return f"by the text: the GPU that was asked does not have it, which needs PTX ISA {major}.{minor} and {where}"
    if form.definition.unasked is not None:
        return form.definition.unasked
    if any(family.asks(form) for family in FAMILIES.values()):
        return None
    if asks_images(form):
        return image_answers.gap(form.mnemonic)
    meaning = form.meaning(form.absences[-1])
    match meaning.effect:
        case Update() if freedoms_in(*meaning.effect.values):
            return "what it leaves is undefined"
        case Stop():
            return "it ends the launch, which leaves nothing to read"
        case None:
            names_place = any(i.type is None for i in meaning.inputs)
        case _:
            names_place = False
    if form.definition.returns_addresses or names_place:
        return "it deals in addresses or other numbers that differ from machine to machine"
    return None


def entry(form: Form, known: Records, differing: set[str]) -> dict[str, Any] | None:
    """The ledger's cell of a form: what a GPU answered in all its variants; None if it was not asked about one of them.
    `differing` names the answers that the definitions do not give."""
    ways = ((family.names(form), known[name]) for name, family in FAMILIES.items())
    answer = next((cell for names, kept in ways if (cell := answer_of(names, kept, differing))), None)
    return answer or (image_answers.answered(form.mnemonic) if asks_images(form) else None)


def answer_of(names: list[str], kept: Answers | None, differing: set[str]) -> dict[str, Any] | None:
    """What one record says under all these names; None if it lacks one of them."""
    if kept is None or not names or not all(name in kept.values for name in names):
        return None
    return {
        "agrees": differing.isdisjoint(names),
        "vectors": sum(len(kept.values[name]) for name in names),
        "date": kept.facts["date"],
        "device": kept.facts["device"],
    }
