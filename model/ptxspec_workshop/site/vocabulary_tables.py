"""The words of `ptxspec.terms`, each with what its own documentation says of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from docutils.nodes import make_id

import ptxspec.terms
from ptxspec.terms import (
    actions,
    availability,
    changes,
    core,
    definitions,
    kinds,
    orders,
    registries,
    steps,
    types,
    vocabulary,
)
from ptxspec.terms.kinds import Slot
from ptxspec_workshop.site.pages import code, gap, table

FREEDOMS = {"approximate", "deviates", "machine_specific", "undefined", "unspecified"}
GROUPS = ("Stating a definition", "Types of operands", "Numbers and truth values", "Effects", "Freedoms", "The machine")


def words() -> dict[str, list[tuple[str, str, str]]]:
    """By group: (how the word is written, what it means, its name). Words of one meaning stand together."""
    found: dict[str, list[tuple[str, str, str]]] = {group: [] for group in GROUPS}
    merged: dict[tuple[str, str], list[str]] = {}
    for name in ptxspec.terms.__all__:
        if not has_row(name):
            continue
        word = getattr(ptxspec.terms, name)
        group = _group(name, word)
        if isinstance(word, type) or inspect.isfunction(word):
            found[group].append((_call(name, word), _meaning(name, word), name))
        else:
            merged.setdefault((group, _meaning(name, word)), []).append(name)
    for (group, meaning), names in merged.items():
        found[group].insert(0, (" ".join(names), meaning, names[0]))
    return {group: rows for group, rows in found.items() if rows}


def has_row(name: str) -> bool:
    """Whether a name of `ptxspec.terms` is a word of the tables: `reals` is a module, whose functions a definition calls."""
    return not isinstance(getattr(ptxspec.terms, name), ModuleType)


def _group(name: str, word: Any) -> str:
    if name in FREEDOMS:
        return "Freedoms"
    place = getattr(word, "__module__", "")
    if isinstance(word, type) or inspect.isfunction(word):
        groups = {m.__name__: 0 for m in (availability, changes, definitions, kinds)}
        groups |= {
            vocabulary.__name__: 2,
            core.__name__: 2,
            actions.__name__: 3,
            orders.__name__: 3,
            registries.__name__: 5,
            steps.__name__: 5,
        }
        return GROUPS[groups.get(place, 1)]
    if name == "absent":
        return GROUPS[0]
    return GROUPS[2] if name == "Integer" or isinstance(word, core.Bool) else GROUPS[1]


def _call(name: str, word: Any) -> str:
    """A word as it is used: a function with the names of its parameters."""
    if not inspect.isfunction(word):
        return name
    shown = []
    for p in inspect.signature(word).parameters.values():
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        shown.append(mark + p.name + ("=…" if p.default is not p.empty else ""))
    return f"{name}({', '.join(shown)})"


def _meaning(name: str, word: Any) -> str:
    """A word's documentation; that of a notation like `of.x` is the documentation of what it makes, and that of a constant
    the comment before it, or the documentation of its type."""
    if not (isinstance(word, type) or inspect.isfunction(word)):
        comment = _comments().get(name)
        if comment:
            return comment
        word = {"of": Slot, "vector": kinds.VectorOf}.get(name, type(word))
    return " ".join((inspect.getdoc(word) or "").split())


@cache
def _comments() -> dict[str, str]:
    """What the comments `#: …` say of the constants below them."""
    found: dict[str, str] = {}
    for module in (core, kinds, types, vocabulary):
        for text, names in re.findall(r"^#: (.*)\n((?:\w+(?:: .*?)? = .*\n)+)", inspect.getsource(module), re.M):
            found |= dict.fromkeys(re.findall(r"^\w+", names, re.M), text[0].upper() + text[1:] + ".")
    return found


def undocumented() -> Iterator[str]:
    """Words that say nothing of themselves."""
    for rows in words().values():
        yield from (name for _, meaning, name in rows if not meaning)


def markdown() -> str:
    """A table for each group."""
    parts = []
    for group, rows in words().items():
        body = [
            [
                " ".join(_word(w, w) for w in written.split()) if "(" not in written else _word(written, name),
                _text(meaning),
            ]
            for written, meaning, name in rows
        ]
        parts.append(table(["Word", "Meaning"], body, group))
    return "\n".join(parts)


def _word(written: str, name: str) -> str:
    """A word as code, with a target for the links of definitions."""
    return f"[{code(written)}]{{#{target(name)}}}"


def target(name: str) -> str:
    """The anchor of a word, as docutils writes it: small letters and hyphens. That does not tell `Sampler` from `sampler`, so a
    name with capitals has one of another kind."""
    anchor: str = make_id(f"word-{name}" if name.islower() else f"name-{name}")
    return anchor


def _text(meaning: str) -> str:
    if not meaning:
        return gap("says nothing of itself")
    return meaning.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("^", "\\^")
