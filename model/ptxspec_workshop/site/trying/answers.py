"""What a page's box asks, answered by the page's definitions. This runs in the reader's browser: it imports the exact
interpretation alone, which is pure Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from ptxspec.base import places
from ptxspec.language.diagnostics import PtxError
from ptxspec.language.forms import Form, registry
from ptxspec.pages.register import REGISTER, Entry, entries
from ptxspec.query.evaluate import Chosen, Results, executed
from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import SymbolicFragment, Unsupported
from ptxspec.query.texts import labelled, operand_names, taken_as, values_of_texts
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.kinds import Immediate, VectorOf, vector_length
from ptxspec.terms.profiles import names
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import freedoms_in
from ptxspec_workshop.site.trying import programs


def reply(question: str) -> str:
    """Answer a question, both as JSON: {"page": module} asks for the page's mnemonics or its program, and for the profiles,
    {"mnemonic": …, "page": …} for the texts of its forms, {"text": …, "operands": {…}, "profile": …} for results, and
    {"program": …, "values": {…}} for what a program leaves."""
    request = json.loads(question)
    if "text" in request:
        answered: Any = answer(request["text"], request["operands"], request["profile"])
    elif "mnemonic" in request:
        answered = texts(request["page"], request["mnemonic"])
    elif "program" in request:
        answered = programs.answer(request["program"], request["values"])
    else:
        answered = _offers(request["page"])
    return json.dumps(answered)


def _offers(page: str) -> dict[str, Any]:
    """What the box of a page begins with: the mnemonics of what it evaluates, or else a program and its fields."""
    page_mnemonics, profiles = mnemonics(page), [name for name in names() if name != "index"]
    program = None if page_mnemonics else programs.program_of(page)
    shown = [] if program is None else programs.fields_of(program)
    return {"mnemonics": page_mnemonics, "profiles": profiles, "program": program, "fields": shown}


# Which instructions ----------------------------------------------------------------------------------------------------


def offered(form: Form) -> bool:
    """Whether the operands' values alone say what a form computes: it has no effect, and no operand is an address or a name."""
    meaning = form.meaning(form.absences[-1])
    return meaning.effect is None and bool(meaning.results and meaning.inputs) and all(i.type for i in meaning.inputs)


@cache
def _forms(page: str) -> list[Form]:
    """The forms of a page that are offered. All forms of a definition are, or none."""
    table = registry()
    candidates = [
        form
        for opcode, homes in table.index.items()
        if page in homes
        for form in table.opcodes[opcode].forms
        if form.definition.module == page
    ]
    firsts = {id(form.definition): form for form in reversed(candidates)}
    some = {key for key, form in firsts.items() if offered(form)}
    return [form for form in candidates if id(form.definition) in some]


def mnemonics(page: str) -> list[str]:
    """The mnemonics that a page's box offers, in the order of the page."""
    return list(dict.fromkeys(form.mnemonic for form in _forms(page)))


def texts(page: str, mnemonic: str) -> list[str]:
    """A mnemonic's instructions, with every constant operand as `$name`."""
    return list(dict.fromkeys(template(form) for form in _forms(page) if form.mnemonic == mnemonic))


def template(form: Form) -> str:
    """The form as an instruction: registers by the names of the syntax, vectors in braces, a constant `c` as `$c`."""
    definition = form.definition
    results = list(definition.results)
    written = {}
    for operand in form.syntax.operands:
        parameter = definition.sources.get(operand.name)
        annotation = parameter.annotation if parameter is not None else results.pop(0)
        text = operand.name
        if isinstance(annotation, VectorOf) and (count := vector_length(form.modifiers)) > 1:
            text = "{" + ", ".join(f"{operand.name}{i}" for i in range(count)) + "}"
        elif isinstance(annotation, Immediate):
            text = f"${operand.name}"
        if operand.second:
            results.pop(0)
            text += f"|{operand.second}"
        written[operand.name] = form.marked(operand, text)
    return form.written(written)


# What it computes ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _read(text: str) -> SymbolicFragment:
    return read_fragment(text)


def answer(text: str, operands: Mapping[str, str], profile: str) -> dict[str, Any]:
    """What instructions leave in their registers.

    `operands` are the texts that stand beside the operands' names, of which those that the text does not have are ignored, and
    those that are missing get a value. The answer has the operands with their types and texts, whether a result is left open by
    PTX, and either the results with what was chosen, or an error: a sentence, with the entry of the register if a result is left
    open by the profile too."""
    result: dict[str, Any] = {"operands": [], "open": False, "results": [], "chosen": [], "error": None, "entry": None}
    try:
        read = _read(text)
        types = {name: taken_as(read, name) for name in operand_names(read)}
        given = {name: operands.get(name, "").strip() or _usual(type) for name, type in types.items()}
        result["operands"] = [
            {"name": name, "type": _name(type), "text": given[name], "predicate": type.kind == "pred"}
            for name, type in types.items()
        ]
        result["open"] = bool(freedoms_in(*read.outputs.values()))
        results = executed(read, values_of_texts(read, given), profile)
    except NoChoice as error:
        result["error"] = f"The profile {profile} leaves the result open, as PTX does: {error}"
        result["entry"] = _entry(error.freedom.attrs[0])
    except PtxError as error:
        result["error"] = error.diagnostics[0].message
    except (Unsupported, ValueError, TypeError) as error:
        result["error"] = str(error)
    else:
        result |= _report(read, results, profile)
    return result


def _report(read: SymbolicFragment, results: Results, profile: str) -> dict[str, Any]:
    shown = []
    for name, bits in results.items():
        type = read.left[name]
        shown.append({"name": name, "type": _name(type), "readings": labelled(bits, type, type.width)})
    error = None if shown else "No register is written."
    return {"results": shown, "chosen": [_chosen(choice, profile) for choice in results.chosen], "error": error}


def _chosen(choice: Chosen, profile: str) -> dict[str, Any]:
    by = f"chosen by the profile {profile}" if choice.by == "profile" else "the nearest of the numbers that are allowed"
    bound = "; PTX bounds the error only" if choice.kind == "approximate" else ""
    return {
        "kind": choice.kind,
        "slug": choice.entry,
        "bits": hex(choice.bits),
        "by": by + bound,
        "entry": _entry(choice.entry),
    }


@cache
def _register() -> dict[str, Entry]:
    return entries(places.DOCUMENTS)


def _entry(slug: str) -> dict[str, str] | None:
    """The register's entry of a freedom: its number, and its place on the site."""
    entry = _register().get(slug)
    return entry and {"number": entry.number, "page": f"{REGISTER}.html#{entry.anchor}"}


def _usual(type: Type) -> str:
    """A value for an operand that has none yet."""
    if type.kind == "pred":
        return "true"
    return "1.0" if type.kind == "f" and type.elements == 1 else "1" if type.kind in "us" else "0x1"


def _name(type: Type) -> str:
    return f".{str(type).removeprefix('.')}"
