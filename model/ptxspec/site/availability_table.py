"""Since when a page's forms exist, and which modifiers they have: computed from the definitions' rules."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any, NamedTuple

from ptxspec.language.forms import Form
from ptxspec.literate.notation import Slot, SyntaxLine
from ptxspec.site.pages import forms

Since = tuple[tuple[int, int], int]


def lines(module: str) -> list[SyntaxLine]:
    """The syntax lines of a page, in its order."""
    found = {form.syntax.line: form.syntax for form in forms(module)}
    return [found[line] for line in sorted(found)]


def earliest(module: str) -> Since:
    """The PTX ISA version and the target from which some form of the page exists."""
    return min(form.availability for form in forms(module))


def latest(module: str) -> Since:
    """The version from which all forms of the page exist, and the target."""
    found = [form.availability for form in forms(module)]
    return max(version for version, _ in found), max(target for _, target in found)


def version(since: Since) -> str:
    """The PTX ISA version as it is written."""
    return f"{since[0][0]}.{since[0][1]}"


class Modifier(NamedTuple):
    """A modifier of a page: its name (`.rnd`), how its values are spelled, with the version and the target from which a form
    with it exists, what an instruction without it means, and whether it bears on speed alone."""

    name: str
    values: dict[str, Since]
    without: str
    hint: bool


def _since(form: Form, slot: Slot, option: str) -> Since:
    bound: dict[str, Any] = form.modifiers
    if slot.hint:
        bound = {**bound, slot.name: option if slot.is_set else True}
    return form.definition.availability(bound)


def _without(form: Form, slot: Slot) -> str:
    """What a form has in place of an optional modifier, where its definition says so."""
    parameter = form.definition.modifiers.get(slot.name)
    default = None if parameter is None else parameter.default
    if not isinstance(default, str):
        return ""
    return default if default not in slot.options else f".{default}"


def modifiers(module: str) -> list[Modifier]:
    """The modifiers of a page, in the order of its lines."""
    values: dict[str, dict[str, Since]] = {}
    without: dict[str, set[str]] = {}
    hints: dict[str, bool] = {}
    for form in forms(module):
        for slot in form.syntax.slots:
            name = f".{slot.name}" if slot.is_set and "_or_" not in slot.name else ""
            bound = form.modifiers.get(slot.name)
            given = (
                slot.options
                if slot.hint
                else (str(bound).lstrip(".") if slot.is_set else slot.options[0],)
                if bound
                else ()
            )
            for option in given:
                known = values.setdefault(name or f".{option}", {})
                since = _since(form, slot, option)
                known[f".{option}"] = min(known.get(f".{option}", since), since)
                hints[name or f".{option}"] = hints.get(name or f".{option}", True) and slot.hint
            if slot.optional and name:
                without.setdefault(name, set()).add(_without(form, slot))
    found = []
    for name, options in values.items():
        said = without.get(name, set()) - {""}
        found.append(Modifier(name, options, said.pop() if len(said) == 1 else "", hints[name]))
    return found


def html_of(module: str) -> str:
    """The table of a page's modifiers in HTML: what each may be, what is meant without it, and since when where that is
    later than the first form of the page."""
    first = earliest(module)
    rows = []
    for modifier in modifiers(module):
        later: dict[Since, list[str]] = {}
        for value, since in modifier.values.items():
            if since[0] > first[0] or since[1] > first[1]:
                later.setdefault(since, []).append(value)
        told = []
        for since, those in sorted(later.items()):
            names = "" if len(those) == len(modifier.values) else f"{_codes(those)}: "
            told.append(f"{names}PTX {version(since)}, sm_{since[1]}")
        name = _codes([modifier.name]) + (" <small>hint</small>" if modifier.hint else "")
        values = "" if list(modifier.values) == [modifier.name] else _codes(modifier.values)
        rows.append([name, values, _codes([modifier.without] if modifier.without else []), "<br>".join(told)])
    heads = ["Modifier", "One of", "If absent", "Since, if later"]
    filled = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    head = "".join(f'<th scope="col">{heads[i]}</th>' for i in filled)
    lines = "\n".join("<tr>" + "".join(f"<td>{row[i]}</td>" for i in filled) + "</tr>" for row in rows)
    if filled[-1:] < [2]:  # it would only repeat the syntax
        return ""
    return (
        '<div class="table-wrapper docutils container modifiers"><table class="docutils align-default">'
        f"<thead><tr>{head}</tr></thead><tbody>\n{lines}\n</tbody></table></div>"
    )


def _codes(words: Iterable[str]) -> str:
    return " ".join(f'<code class="literal">{html.escape(word)}</code>' for word in words)
