"""Since when a page's forms exist, and which modifiers they have: computed from the definitions' rules."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ptxspec.language.forms import Form
from ptxspec.literate.notation import ModifierSlot, SyntaxLine
from ptxspec_workshop.site.modifier_links import LinkTarget, place
from ptxspec_workshop.site.pages import forms

Since = tuple[tuple[int, int], int]


def lines(module: str) -> list[SyntaxLine]:
    """The syntax lines of a page, in its order."""
    by_line = {form.syntax.line: form.syntax for form in forms(module)}
    return [by_line[line] for line in sorted(by_line)]


def earliest(module: str) -> Since:
    """The PTX ISA version and the target from which some form of the page exists."""
    return min(form.availability for form in forms(module))


def latest(module: str) -> Since:
    """The version from which all forms of the page exist, and the target."""
    availabilities = [form.availability for form in forms(module)]
    return max(version for version, _ in availabilities), max(target for _, target in availabilities)


def version(since: Since) -> str:
    """The PTX ISA version as it is written."""
    return f"{since[0][0]}.{since[0][1]}"


class Modifier(NamedTuple):
    """A modifier of a page: its name (`.rnd`), how its values are spelled, with the version and the target from which a form
    with it exists, and where each is explained; what an instruction without it means, `REQUIRED` if there is none, "" if nothing
    takes its place; and whether it bears on speed alone."""

    name: str
    values: dict[str, Since]
    places: dict[str, LinkTarget]
    without: str
    hint: bool


#: what is said of a modifier that all forms have
REQUIRED = "required"
#: what stands between the defaults of a modifier whose instructions differ in it
OR = " or "


def _since(form: Form, slot: ModifierSlot, option: str, form_since: Since) -> Since:
    """Since when there is a form with a modifier: `own` is since when there is the form itself."""
    if not slot.hint:
        return form_since
    return form.definition.availability({**form.modifiers, slot.name: option if slot.is_set else True})


def _without(form: Form, slot: ModifierSlot) -> str:
    """What a form has in place of an optional modifier, where its definition says so."""
    if slot.hint:  # of one member alone, that is what is so without it
        return f".{slot.options[0]}" if slot.is_set and len(slot.options) == 1 else ""
    implied = [i.edition for i in form.definition.implications if slot.name in i.modifiers]
    parameter = form.definition.modifiers.get(slot.name)
    default = None if parameter is None else parameter.default
    if not isinstance(default, str):
        return "; ".join(dict.fromkeys(f"implied {edition}" for edition in implied))
    return default if default not in slot.options else f".{default}"


def _name(slot: ModifierSlot, option: str) -> str:
    """The name of a modifier: of its set, or its own where there is none."""
    return f".{slot.name}" if slot.is_set and "_or_" not in slot.name else f".{option}"


def _given(form: Form, slot: ModifierSlot) -> tuple[str, ...]:
    """The values that a form has for a slot: all that a hint may have."""
    if slot.hint:
        return slot.options
    bound = form.modifiers.get(slot.name)
    return () if not bound else (str(bound).lstrip("."),) if slot.is_set else (slot.options[0],)


@cache
def modifiers(module: str) -> list[Modifier]:
    """The modifiers of a page, in the order of its lines."""
    values: dict[str, dict[str, Since]] = {}
    places: dict[str, dict[str, LinkTarget]] = {}
    without: dict[str, set[str]] = {}
    hints: dict[str, bool] = {}
    having: Counter[str] = Counter()
    for form in forms(module):
        path, form_since = Path(form.definition.path), form.availability
        for slot in form.syntax.slots:
            for option in _given(form, slot):
                name, since = _name(slot, option), _since(form, slot, option, form_since)
                known = values.setdefault(name, {})
                known[f".{option}"] = min(known.get(f".{option}", since), since)
                explained = place(path, f".{option}", name, form.definition.name)
                places.setdefault(name, {}).setdefault(f".{option}", explained)
                hints[name] = hints.get(name, True) and slot.hint
            having.update({_name(slot, o) for o in _given(form, slot) if not slot.hint})
            if slot.optional or slot.hint:
                without.setdefault(_name(slot, slot.options[0]), set()).add(_without(form, slot))
    rows = []
    for name, options in values.items():
        defaults = without.get(name, set()) - {""}
        absent = REQUIRED if having[name] == len(forms(module)) else OR.join(sorted(defaults))
        rows.append(Modifier(name, options, places[name], absent, hints[name]))
    return rows


def html_of(module: str, docname: str) -> str:
    """The table of a page's modifiers in HTML, as the document `docname` has it: what each may be, with links to what that
    means, what is meant without it, and since when there is each. "" for a page without modifiers."""
    rows = []
    for modifier in modifiers(module):
        since: dict[Since, list[str]] = {}
        for value, first in modifier.values.items():
            since.setdefault(first, []).append(value)
        availability = []
        for first, those in sorted(since.items()):
            names = "" if len(those) == len(modifier.values) else f"{_codes(those)}: "
            availability.append(f"{names}PTX {version(first)}, sm_{first[1]}")
        values = _links(modifier.places, docname)
        single = list(modifier.values) == [modifier.name]
        name = values if single else _codes([modifier.name])
        name += " <small>hint</small>" if modifier.hint else ""
        absent = OR.join(_codes([w]) if w.startswith(".") else html.escape(w) for w in modifier.without.split(OR))
        rows.append([name, "" if single else values, absent, "<br>".join(availability)])
    if not rows:
        return ""
    heads = ["Modifier", "One of", "If left out", "Since"]
    filled = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    head = "".join(f'<th scope="col">{heads[i]}</th>' for i in filled)
    lines = "\n".join("<tr>" + "".join(f"<td>{row[i]}</td>" for i in filled) + "</tr>" for row in rows)
    return (
        '<div class="table-wrapper docutils container modifiers"><table class="docutils align-default">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{lines}\n</tbody></table></div>"
    )


def _links(places: dict[str, LinkTarget], docname: str) -> str:
    """Modifiers, each a link to where it is explained."""
    return " ".join(
        f'<a href="{where.seen_from(docname)}"><code>{html.escape(value)}</code></a>' for value, where in places.items()
    )


def _codes(words: Iterable[str]) -> str:
    return " ".join(f"<code>{html.escape(word)}</code>" for word in words)
