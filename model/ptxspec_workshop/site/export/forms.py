"""The opcodes as data: definitions with their syntax lines, and the forms of each.

Forms that agree in everything but their modifiers share a *signature*. What is the same for several forms, signatures or lines
of a definition stands once, in a list of the definition's, and they have its number there.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.language.forms import Form, opcode_of, opcodes, page_name, registry
from ptxspec.literate.notation import ModifierSlot, Operand, SyntaxLine
from ptxspec.pages.anchors import form_anchor, spelled
from ptxspec.pages.operands import operand_types
from ptxspec.pages.register import Entry
from ptxspec.pages.values import edition, plain, target, version
from ptxspec.terms.availability import Implication
from ptxspec_workshop.generate.representatives import representative
from ptxspec_workshop.site import freedoms, pages
from ptxspec_workshop.site.export import evidence


def opcode(name: str, register: dict[str, Entry]) -> dict[str, Any]:
    """Everything about one opcode of PTX, of which perhaps no page says anything."""
    gaps = contracts.gaps
    missing = [{"name": n, **_family(f)} for n, f in gaps.FAMILIES.items() if opcode_of(n) == name] + [
        {"name": name, **_family(f)} for f in gaps.FORMS.get(name, ())
    ]
    result: dict[str, Any] = {"opcode": name, "pages": [], "definitions": [], "missing": missing, "identities": 0}
    if opcodes()[name]:
        by_definition: dict[int, list[Form]] = {}
        for form in registry().opcodes[name].forms:
            by_definition.setdefault(id(form.definition), []).append(form)
        result["definitions"] = [_definition(definition_forms, register) for definition_forms in by_definition.values()]
        result["pages"] = list(dict.fromkeys(d["page"] for d in result["definitions"]))
        result["identities"] = evidence.identities()[name]
    return result


def _family(family: contracts.gaps.Family | contracts.gaps.Further) -> dict[str, Any]:
    """What is said of instructions that no page describes."""
    return {
        "what": family.what,
        "since": version(family.since),
        "target": target(family.needs),
        "only": list(family.only),
    }


class _Shared(list[dict[str, Any]]):
    """Values that several refer to, each once; `place` gives a value's number."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, int] = {}

    def place(self, value: dict[str, Any]) -> int:
        key = repr(value)
        if key not in self._known:
            self._known[key] = len(self)
            self.append(value)
        return self._known[key]


class _Tables(NamedTuple):
    """What the forms of one definition, its lines and its signatures refer to by numbers."""

    lines: list[SyntaxLine]
    slots: _Shared
    places: _Shared
    operands: _Shared
    signatures: _Shared
    evidence: _Shared


def _definition(definition_forms: list[Form], register: dict[str, Entry]) -> dict[str, Any]:
    """A definition with its forms."""
    definition = definition_forms[0].definition
    tables = _Tables(list(dict.fromkeys(form.syntax for form in definition_forms)), *(_Shared() for _ in range(5)))
    modifiers: dict[str, list[Any]] = {
        slot.name: [None] for line in tables.lines for slot in line.slots if not slot.hint
    }
    forms = [_form(form, modifiers, tables, register) for form in definition_forms]
    absent = {p.name: p.default for p in definition.modifiers.values() if p.default is not p.empty}
    named = {slot.name for line in tables.lines for slot in line.slots}
    return {
        "name": definition.name,
        "page": page_name(definition.path),
        "line": definition.line,
        "anchor": pages.section(Path(definition.path), definition.line)[1],
        "syntax": [_syntax(line, tables) for line in tables.lines],
        "slots": list(tables.slots),
        "places": list(tables.places),
        "defaults": {name: plain(value) for name, value in absent.items() if name in named},
        "implied": [_implied(rule) for rule in definition.implications],
        "signatures": list(tables.signatures),
        "operands": list(tables.operands),
        "evidence": list(tables.evidence),
        "modifiers": [{"name": name, "values": values} for name, values in modifiers.items()],
        "forms": forms,
    }


def _implied(rule: Implication) -> dict[str, Any]:
    where = {name: [plain(v) for v in values] for name, values in rule.where.items()}
    return {"where": where, "modifiers": plain(rule.modifiers), "edition": edition(rule.edition)}


def _syntax(line: SyntaxLine, tables: _Tables) -> dict[str, Any]:
    return {
        "text": line.text,
        "line": line.line,
        **_present(comment=line.comment, hint_operand=line.companion.name if line.companion else None),
        "slots": [tables.slots.place(_slot(slot)) for slot in line.slots],
        "places": [tables.places.place(_place(operand)) for operand in line.operands],
    }


def _slot(slot: ModifierSlot) -> dict[str, Any]:
    """A place for a modifier."""
    return {
        "name": slot.name,
        "options": list(slot.options),
        **_present(optional=slot.optional, set=slot.is_set, hint=slot.hint),
    }


def _present(**values: Any) -> dict[str, Any]:
    """What is not so, and lists of nothing, are left out."""
    return {name: value for name, value in values.items() if value}


def _place(operand: Operand) -> dict[str, Any]:
    """An operand of a syntax line; what is not so of it is left out."""
    marks = {
        "memory": operand.memory,
        "second": operand.second,
        "second_required": operand.paired,
        "negatable": operand.negatable,
        "optional": operand.optional,
        "offset": operand.offset,
        "group": operand.group,
        "brackets": operand.bracketed,
        "list": operand.listed,
        "selectors": _members(operand.selector.spelled) if operand.selector else None,
        "sign": operand.sign,
        "sum": operand.sum,
    }
    return {"name": operand.name, **{name: value for name, value in marks.items() if value}}


def _members(spelled: str) -> list[str]:
    """The members of a set as the notation has them, in which a digit may be a range."""
    return [member.strip().removeprefix(".") for member in spelled.split(",")]


def _form(form: Form, modifiers: dict[str, list[Any]], tables: _Tables, register: dict[str, Entry]) -> list[Any]:
    """Mnemonic, numbers of signature and evidence, and of the modifiers' values up to the last that there is."""
    values = [_number(known, plain(form.modifiers.get(name))) for name, known in modifiers.items()]
    while values and not values[-1]:
        values.pop()
    signature = tables.signatures.place(_signature(form, tables, register))
    return [form.mnemonic, signature, tables.evidence.place(evidence.of(form)), values]


def _number(known: list[Any], value: Any) -> int:
    """The number of a value among those that are known, to which it is added."""
    if value not in known:
        known.append(value)
    return known.index(value)


def _signature(form: Form, tables: _Tables, register: dict[str, Entry]) -> dict[str, Any]:
    """What many forms have in common."""
    gone = form.removal
    since, number = form.availability
    return {
        "syntax": tables.lines.index(form.syntax),
        "anchor": form_anchor(form).removeprefix(spelled(form)),
        "written": str(form).removeprefix(form.mnemonic).strip().removesuffix(";"),
        "operands": [tables.operands.place(operand) for operand in operand_types(form)],
        "since": version(since),
        "target": target(number),
        **_present(
            only=list(form.only),
            removed=None if gone is None else {"since": version(gone[0]), "target": target(gone[1])},
            narrow_addresses=form.is_dropped,
            unspecified=_unspecified(form, register),
            editions=[{"entry": register[slug].number, **edition(when)} for slug, when in representative(form).changes],
        ),
    }


def _unspecified(form: Form, register: dict[str, Entry]) -> list[dict[str, str]]:
    """The results of a form that are left open, in any edition."""
    open_results = Counter((f.attrs[0], f.attrs[2], str(f.attrs[3])) for f in freedoms.below(representative(form)))
    return [
        {"name": n, "entry": register[n].number, "kind": kind, "type": type} for n, kind, type in sorted(open_results)
    ]
