"""The export put together, and written as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ptxspec import __version__
from ptxspec.language.forms import opcodes
from ptxspec.pages import facts
from ptxspec.pages.register import Entry
from ptxspec_workshop.site.export import evidence, forms

#: of the format: the first number changes where something that was there is gone or means something else, the second where
#: something is added; whoever reads it accepts any second number, and fields that they do not know
VERSION = "3.1"

#: the entries of the register of ambiguities by name
Register = dict[str, Entry]


def exported(
    names: Iterable[str] | None = None, opcode: Callable[[str, Register], dict[str, Any]] = forms.opcode
) -> dict[str, Any]:
    """The ISA, with all opcodes of PTX or these alone, each as `opcode` says it. Raises KeyError for one that is none."""
    known = opcodes()
    wanted = sorted(known) if names is None else sorted(set(names))
    for name in wanted:
        if name not in known:
            raise KeyError(name)
    register = facts.known_entries()
    versions = facts.versions()
    return {
        "format": {"name": "ptxspec-isa", "version": VERSION, "schema": "export.json"},
        "generator": {"name": "ptxspec", "version": __version__, "ledger": evidence.is_computed()},
        "whole": names is None,
        "ptx": {"versions": versions, "newest": versions[-1]},
        "targets": facts.targets(),
        "types": facts.types(),
        "state_spaces": facts.spaces(),
        "directives": facts.directives(),
        "uses": facts.uses(),
        "special_registers": facts.special_registers(),
        "system_functions": facts.system_functions(),
        "rules": facts.rules(),
        "static_rules": facts.static_rules(),
        "ambiguities": facts.ambiguities(),
        "pages": facts.documents(),
        "opcodes": [opcode(name, register) for name in wanted],
    }


def text_of(isa: dict[str, Any]) -> str:
    """The JSON of an export, in ASCII: a line for each opcode and each other thing, so that two of them can be compared line by
    line."""
    parts = []
    for key, value in isa.items():
        if isinstance(value, list):
            lines = ",\n".join(_line(element) for element in value)
            parts.append(f"{_line(key)}:[\n{lines}\n]")
        else:
            parts.append(f"{_line(key)}:{_line(value)}")
    return "{" + ",\n".join(parts) + "}\n"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
