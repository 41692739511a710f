"""What the box of an instruction that has effects answers: it runs a program, the page's example, which a reader may change.

This runs in the reader's browser, under the exact engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ptxspec
from ptxspec.language.diagnostics import PtxError
from ptxspec.machine.leaving import LeftRegisters, shape
from ptxspec.query.texts import labelled
from ptxspec.terms.types import Type
from ptxspec_workshop.programs import examples
from ptxspec_workshop.programs.alone import Held, Ran, Unrunnable, entry_of, run
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.trying.fields import fields, rewritten

#: seconds that a run may take: less than after which the page ends the worker
SECONDS = 15.0
#: so many threads, and so many elements of a variable, are shown
MOST = 64


def program_of(page: str) -> str | None:
    """The program among a page's examples, if it has one."""
    return next(filter(examples.is_program, pages.fences(page, "ptx")), None)


def answer(text: str, values: Mapping[str, str]) -> dict[str, Any]:
    """What a program leaves. `program` is its text, with the values put in that were typed beside the names of its fields, and
    `fields` are these; then what threads end with, and what memory has changed, or `error`: a sentence, or several lines."""
    found: dict[str, Any] = {
        "program": text, "fields": [], "error": None, "threads": [], "alike": [], "different": [], "memory": [], "printed": "",
    }  # fmt: skip
    try:
        text = found["program"] = rewritten(text, fields(ptxspec.load(text, "program").checked), values)
        found["fields"] = _fields(text)
        found |= _told(text, run(text, SECONDS))
    except PtxError as error:
        found["error"] = str(error)
    except (Unrunnable, ValueError, TypeError) as error:
        found["error"] = str(error)
    return found


def fields_of(text: str) -> list[dict[str, Any]]:
    """The fields of a text; none of one that is wrong."""
    try:
        return _fields(text)
    except PtxError:
        return []


def _fields(text: str) -> list[dict[str, Any]]:
    checked = ptxspec.load(text, "program").checked
    return [{"name": f.name, "type": _name(f.type), "text": f.text} for f in fields(checked)]


def _told(text: str, ran: Ran) -> dict[str, Any]:
    if ran.error is not None:
        return {"error": str(ran.error), "printed": ran.printed}
    kernel = entry_of(ptxspec.load(text, "program"))
    grid, block = shape(kernel)
    names = {name: type for name, type in ran.types.items() if all(name in one.registers for one in ran.threads)}
    alike = [name for name in names if len({one.registers[name] for one in ran.threads}) == 1]
    labels = [_label(one, grid != (1, 1, 1), block) for one in ran.threads]
    return {
        "threads": labels[:MOST],
        "count": len(labels),
        "alike": [_register(name, names[name], ran.threads[0].registers[name]) for name in alike],
        "different": [_column(name, names[name], ran.threads[:MOST]) for name in names if name not in alike],
        "memory": [told for told in map(_changed, ran.held) if told is not None],
        "printed": ran.printed,
    }


def _label(one: LeftRegisters, several: bool, block: Sequence[int]) -> str:
    """A thread's coordinates: one number, where the others are zero everywhere."""
    own = str(one.thread[0]) if tuple(block[1:]) == (1, 1) else str(one.thread)
    cta = str(one.cta[0]) if one.cta[1:] == (0, 0) else str(one.cta)
    return f"{own} of CTA {cta}" if several else own


def _register(name: str, type: Type, bits: Any) -> dict[str, Any]:
    return {"name": name, "type": _name(type), "readings": labelled(bits, type, type.width)}


def _column(name: str, type: Type, threads: Sequence[LeftRegisters]) -> dict[str, Any]:
    return {"name": name, "type": _name(type), "values": [_own(one.registers[name], type) for one in threads]}


def _changed(held: Held) -> dict[str, Any] | None:
    """The elements of a variable that are not what they were; None if none are."""
    rows = [(i, a, b) for i, (a, b) in enumerate(zip(held.before, held.after, strict=True)) if a != b]
    if not rows:
        return None
    shown = [
        {
            "place": f"{held.name}[{i}]" if held.is_array else held.name,
            "before": _own(a, held.type),
            "after": _own(b, held.type),
        }
        for i, a, b in rows[:MOST]
    ]
    return {"name": held.name, "type": _name(held.type), "rows": shown, "count": len(rows)}


def _own(bits: Any, type: Type) -> str:
    """A value as its type reads it."""
    return str(labelled(bits, type, type.width)[0][1])


def _name(type: Type) -> str:
    return f".{str(type).removeprefix('.')}"
