"""The list of a page's forms: each with the types of its operands and since when it exists, those that differ in their modifiers
alone in one row, many of them as patterns."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ptxspec.language.forms import Form
from ptxspec.literate.notation import SyntaxLine
from ptxspec.pages.anchors import form_anchor, operands_anchor
from ptxspec.terms.kinds import Special, VectorOf, vector_length
from ptxspec_workshop.site.pages import forms

#: a row of more forms than this has patterns in their place
MOST_IN_FULL = 12
#: the words that forms may have at each place of their line of syntax, "" for none
Words = tuple[tuple[str, ...], ...]


def patterns(alike: Iterable[Form]) -> Iterator[tuple[SyntaxLine, str]]:
    """Each mnemonic of some forms as what one pattern stands for, and no other: `bfe(.u32|.s32)`, and `add(.cc)?.u32` where a
    modifier may be left out. Each pattern with the line of syntax whose operands follow it."""
    lines: dict[SyntaxLine, list[Words]] = {}
    for form in alike:
        lines.setdefault(form.syntax, []).append(_words(form))
    for line, boxes in lines.items():
        for place in reversed(range(len(boxes[0]))):
            boxes = _joined(boxes, place)
        for box in boxes:
            yield line, line.opcode + "".join(map(_alternatives, box))


def _words(form: Form) -> Words:
    bound = form.modifiers
    words = (
        (str(bound[s.name]).lstrip(".") if s.is_set else s.options[0]) if bound.get(s.name) else ""
        for s in _slots(form)
    )
    return tuple((f".{word}" if word else "",) for word in words)


def _slots(form: Form) -> Iterator[Any]:
    return (slot for slot in form.syntax.slots if not slot.hint)


def _joined(boxes: list[Words], place: int) -> list[Words]:
    """Boxes that agree but for one place as one box."""
    groups: dict[tuple[Words, Words], list[str]] = {}
    for box in boxes:
        groups.setdefault((box[:place], box[place + 1 :]), []).extend(box[place])
    return [(*before, tuple(words), *after) for (before, after), words in groups.items()]


def _alternatives(words: tuple[str, ...]) -> str:
    """One of some words, as regular expressions say it, but that a dot stands for itself."""
    if words == ("",):
        return ""
    written = [word for word in words if word]
    if "" in words:
        return f"({'|'.join(written)})?"
    return written[0] if len(written) == 1 else f"({'|'.join(written)})"


def rows_html(module: str) -> str:
    """The list of all forms of a page as an HTML table: long, so without the detour through a document tree."""
    groups: dict[tuple[str, str, str, str], list[Form]] = {}
    for form in forms(module):
        (major, minor), target = form.availability
        operands = str(form).removeprefix(form.mnemonic).strip()
        key = (operands, _types(form), f"{major}.{minor}", f"{', '.join(form.only) or f'sm_{target}'}{_removal(form)}")
        groups.setdefault(key, []).append(form)
    lines = []
    for (operands, types, version, machine), members in groups.items():
        cells = [_mnemonics(members, operands, module), html.escape(types), version, machine]
        lines.append("<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    head = "".join(f'<th scope="col">{t}</th>' for t in ("Form", "Operand types", "PTX ISA", "Target"))
    return (
        '<div class="table-wrapper docutils container forms"><table class="docutils align-default">'
        f"<thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
    )


def _mnemonics(members: list[Form], operands: str, module: str) -> str:
    """The cell of forms that differ in their mnemonics alone. static/anchors.js finds a form among patterns."""
    if len(members) == 1:
        return f"<code>{_with_anchor(members[0], module)}{'' if operands == ';' else ' '}{html.escape(operands)}</code>"
    shown = (
        ", ".join(_with_anchor(form, module) for form in members)
        if len(members) <= MOST_IN_FULL
        else "<br>".join(
            f'<i data-operands="{operands_anchor(line)}">{html.escape(pattern)}</i>'
            for line, pattern in patterns(members)
        )
    )
    count = f"<small>{len(members)} forms:</small> " if len(members) > MOST_IN_FULL else ""
    with_operands = "" if operands == ";" else f" <small>with</small> <code>{html.escape(operands)}</code>"
    return f'{count}<code class="many">{shown}</code>{with_operands}'


def _with_anchor(form: Form, module: str) -> str:
    """A form's mnemonic as a place to link to; that of `exit` is the page's title."""
    anchor = form_anchor(form)
    return form.mnemonic if anchor == module.rpartition(".")[2] else f'<i id="{anchor}">{form.mnemonic}</i>'


def _types(form: Form) -> str:
    """The types of the operands, in the order in which they are written."""
    results = list(form.definition.results)
    texts = []
    for operand in form.syntax.operands:
        parameter = form.definition.sources.get(operand.name)
        type_of = partial(form.definition.type_of, operand.name, modifiers=form.modifiers)
        if parameter is not None:
            texts.append(_type(type_of(parameter.annotation), form))
            continue
        texts.append(_type(type_of(results.pop(0)), form))
        if operand.second:
            texts[-1] += "|" + _type(type_of(results.pop(0)), form)
    return ", ".join(texts)


def _type(type: Any, form: Form) -> str:
    if isinstance(type, VectorOf):
        count = vector_length(form.modifiers)
        return f"{count} × {type.element}" if count else str(type.element)
    return (
        {"variable_address": "variable", "function_name": "function"}.get(type.name, type.name)
        if isinstance(type, Special)
        else str(type)
    )


def _removal(form: Form) -> str:
    """From where on the form is gone, if it is."""
    if form.removal is None:
        return ""
    (major, minor), target = form.removal
    return f"; from sm_{target} on until {major}.{minor}"
