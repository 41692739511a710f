"""All recorded answers of some opcodes, held against the definitions anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxspec.base.parallel import on_all_cores
from ptxspec.evidence.location import MISSING
from ptxspec.language.forms import no_page_defines, registry
from ptxspec_workshop.record.families import FUNCTIONS, LATER_FUNCTIONS, MATRICES, WARPS

#: the families whose answers are values alone
_ASKED = (FUNCTIONS, LATER_FUNCTIONS, WARPS, MATRICES)


class Recorded(NamedTuple):
    """What came of one opcode's recorded answers: rows compared, the forms answered and those not, and by form how many rows
    differ, with the first of them."""

    opcode: str
    rows: int
    answered: int
    unanswered: int
    differing: dict[str, tuple[int, str]]


def _answered_forms(opcode: str) -> list[str]:
    """The names under which answers of an opcode's forms are recorded."""
    forms = registry().opcodes[opcode].forms
    return list(dict.fromkeys(case.name for family in _ASKED for case in family.cases(forms)))


def _recorded(opcode: str) -> Recorded:
    forms = registry().opcodes[opcode].forms
    rows = 0
    differing: dict[str, tuple[int, str]] = {}
    here: set[str] = set()
    for family in _ASKED:
        answers = family.read()
        if answers is None:
            continue
        here |= set(answers.values)
        count, differences = family.compare(forms, answers)
        rows += count
        for difference in differences:
            before, first = differing.get(difference.form, (0, str(difference)))
            differing[difference.form] = (before + 1, first)
    names = _answered_forms(opcode)
    answered = sum(name in here for name in names)
    return Recorded(opcode, rows, answered, len(names) - answered, differing)


def check_recorded(opcodes: Sequence[str] = ()) -> tuple[dict[str, Any], list[Recorded]]:
    """(the facts of the recorded answers, with those of another GPU if it was asked later about some of these opcodes; what came
    of each opcode). Raises ValueError if there are none, or none of one that was asked for."""
    answers = FUNCTIONS.read()
    if answers is None:
        raise ValueError(MISSING)
    for opcode in opcodes:
        if opcode not in registry().opcodes:
            raise ValueError(no_page_defines(opcode))
        if not _answered_forms(opcode):
            raise ValueError(f"{opcode}: no answers of this opcode can be recorded")
    names = list(dict.fromkeys(opcodes)) or [o for o in sorted(registry().opcodes) if _answered_forms(o)]
    facts: dict[str, Any] = {k: answers.facts[k] for k in ("device", "date", "profile") if k in answers.facts}
    later = LATER_FUNCTIONS.read()
    if later is not None and any(not later.values.keys().isdisjoint(_answered_forms(name)) for name in names):
        facts["later"] = {k: later.facts[k] for k in ("device", "date")}
    return facts, sorted(on_all_cores(_recorded, names))
