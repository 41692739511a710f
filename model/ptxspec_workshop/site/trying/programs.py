"""What the box of an instruction that has effects answers: it runs a program, the page's example, which a reader may change.

This runs in the reader's browser, under the exact engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ptxspec
from ptxspec.language.diagnostics import PtxError
from ptxspec.query.texts import labelled
from ptxspec.terms.types import Type
from ptxspec_workshop.programs import examples
from ptxspec_workshop.programs.alone import ProgramOutcome, Unrunnable, VariableContents, entry_of, run
from ptxspec_workshop.programs.leaving import LeftRegisters, shape
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
    result: dict[str, Any] = {
        "program": text, "fields": [], "error": None, "threads": [], "alike": [], "different": [], "memory": [], "printed": "",
    }  # fmt: skip
    try:
        text = result["program"] = rewritten(text, fields(ptxspec.load(text, "program").checked), values)
        result["fields"] = _fields(text)
        result |= _report(text, run(text, SECONDS))
    except PtxError as error:
        result["error"] = str(error)
    except (Unrunnable, ValueError, TypeError) as error:
        result["error"] = str(error)
    return result


def fields_of(text: str) -> list[dict[str, Any]]:
    """The fields of a text; none of one that is wrong."""
    try:
        return _fields(text)
    except PtxError:
        return []


def _fields(text: str) -> list[dict[str, Any]]:
    checked = ptxspec.load(text, "program").checked
    return [{"name": f.name, "type": _name(f.type), "text": f.text} for f in fields(checked)]


def _report(text: str, outcome: ProgramOutcome) -> dict[str, Any]:
    if outcome.error is not None:
        return {"error": str(outcome.error), "printed": outcome.printed}
    kernel = entry_of(ptxspec.load(text, "program"))
    grid, block = shape(kernel)
    names = {
        name: type
        for name, type in outcome.types.items()
        if all(name in thread.registers for thread in outcome.threads)
    }
    alike = [name for name in names if len({thread.registers[name] for thread in outcome.threads}) == 1]
    labels = [_label(thread, grid != (1, 1, 1), block) for thread in outcome.threads]
    return {
        "threads": labels[:MOST],
        "count": len(labels),
        "alike": [_register(name, names[name], outcome.threads[0].registers[name]) for name in alike],
        "different": [_column(name, names[name], outcome.threads[:MOST]) for name in names if name not in alike],
        "memory": [change for change in map(_changed, outcome.held) if change is not None],
        "printed": outcome.printed,
    }


def _label(thread: LeftRegisters, several: bool, block: Sequence[int]) -> str:
    """A thread's coordinates: one number, where the others are zero everywhere."""
    shown = str(thread.thread[0]) if tuple(block[1:]) == (1, 1) else str(thread.thread)
    cta = str(thread.cta[0]) if thread.cta[1:] == (0, 0) else str(thread.cta)
    return f"{shown} of CTA {cta}" if several else shown


def _register(name: str, type: Type, bits: Any) -> dict[str, Any]:
    return {"name": name, "type": _name(type), "readings": labelled(bits, type, type.width)}


def _column(name: str, type: Type, threads: Sequence[LeftRegisters]) -> dict[str, Any]:
    return {"name": name, "type": _name(type), "values": [_reading(thread.registers[name], type) for thread in threads]}


def _changed(held: VariableContents) -> dict[str, Any] | None:
    """The elements of a variable that are not what they were; None if none are."""
    rows = [(i, a, b) for i, (a, b) in enumerate(zip(held.before, held.after, strict=True)) if a != b]
    if not rows:
        return None
    shown = [
        {
            "place": f"{held.name}[{i}]" if held.is_array else held.name,
            "before": _reading(a, held.type),
            "after": _reading(b, held.type),
        }
        for i, a, b in rows[:MOST]
    ]
    return {"name": held.name, "type": _name(held.type), "rows": shown, "count": len(rows)}


def _reading(bits: Any, type: Type) -> str:
    """A value as its type reads it."""
    return str(labelled(bits, type, type.width)[0][1])


def _name(type: Type) -> str:
    return f".{str(type).removeprefix('.')}"
