"""Which instructions a function of a page has a part in: found by following names from the definitions on.

More may be found than is ever called, and nothing less: a name that a function has stands for all that could be reached by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache, partial
from types import CodeType, FunctionType
from typing import Any

from ptxspec.language.forms import Form, registry
from ptxspec.literate import finder
from ptxspec.terms.definitions import DEFINITIONS, Definition
from ptxspec.terms.vocabulary import SHORTCUTS
from ptxspec_workshop.mutation.mutants import TABLE, Mutant, source

#: a function by its document and first line
Place = tuple[str, int]
#: a name of a page, with its module
Name = tuple[str, str]


def functions_in(thing: Any, depth: int = 4) -> Iterator[FunctionType]:
    """The functions of pages that an object is, wraps, or holds."""
    if isinstance(thing, Definition):
        thing = thing.function
    if isinstance(thing, FunctionType) and thing.__code__.co_filename.endswith(".md"):
        yield thing
    if depth == 0 or thing is None or isinstance(thing, str | int | CodeType):
        return
    inner: Iterable[Any] = ()
    if isinstance(thing, dict):
        inner = thing.values()
    elif isinstance(thing, tuple | list | set | frozenset):
        inner = thing
    elif isinstance(thing, partial):
        inner = (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, type) and thing.__module__.startswith("ptxspec.spec"):
        inner = list(vars(thing).values())
    elif isinstance(thing, FunctionType):
        cells = [c.cell_contents for c in thing.__closure__ or () if _is_filled(c)]
        inner = (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values(), *cells)
    elif isinstance(thing, property | classmethod | staticmethod):
        inner = (getattr(thing, "fget", None), getattr(thing, "__func__", None))
    wrapped = getattr(thing, "__wrapped__", None)
    for part in (*inner, wrapped):
        yield from functions_in(part, depth - 1)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def names_of(code: CodeType) -> set[str]:
    """The names that code looks up, that of functions within it among them."""
    return set(code.co_names).union(*(names_of(c) for c in code.co_consts if isinstance(c, CodeType)))


def place_of(function: FunctionType) -> Place:
    return function.__code__.co_filename, function.__code__.co_firstlineno


class Graph:
    """For every definition, the functions and the pages' names that it may reach."""

    def __init__(self) -> None:
        _ = registry().pages  # all are loaded then
        self._direct: dict[Place, tuple[frozenset[Place], frozenset[Name]]] = {}
        self.live: dict[Place, FunctionType] = {}
        self._users: dict[Place | Name, set[Definition]] = {}
        self._of: dict[Definition, set[str]] = {}
        for opcode in registry().opcodes.values():
            for _, definition in opcode.lines:
                self._of.setdefault(definition, set()).add(opcode.name)
        for definitions in DEFINITIONS.values():
            for definition in definitions:
                self._walk(definition)

    def _walk(self, definition: Definition) -> None:
        first = [*functions_in(definition), *functions_in(tuple(definition.tuples.values()))]
        for place, names in self._reached(first):
            used: list[Place | Name] = [place, *names]
            for key in used:
                self._users.setdefault(key, set()).add(definition)

    def _reached(self, first: Iterable[FunctionType]) -> Iterator[tuple[Place, frozenset[Name]]]:
        """The functions that some may call, they themselves among them, each with the names that it looks up."""
        waiting = list(first)
        seen: set[Place] = set()
        while waiting:
            function = waiting.pop()
            place = place_of(function)
            if place in seen:
                continue
            seen.add(place)
            self.live[place] = function
            places, names = self._edges(function)
            waiting += [self.live[p] for p in places]
            yield place, names

    def _edges(self, function: FunctionType) -> tuple[frozenset[Place], frozenset[Name]]:
        """The functions that one may call, and the names of pages that it looks up, each with its module."""
        place = place_of(function)
        if place not in self._direct:
            known = function.__globals__
            names = [n for n in names_of(function.__code__) if n in known]
            functions = [f for n in names for f in functions_in(known[n])] + list(functions_in(function))
            self.live.update({place_of(f): f for f in functions})
            edges = frozenset((self._origin(known, n), n) for n in names)
            self._direct[place] = frozenset(map(place_of, functions)), edges
        return self._direct[place]

    def _origin(self, known: dict[str, Any], name: str) -> str:
        """The module in whose globals a name first stood; a page imports names as they are."""
        return origins().get((str(known["__name__"]), name), str(known["__name__"]))

    def definitions(self, mutant: Mutant) -> set[Definition]:
        """The definitions that a mutant may change, of those that forms have."""
        users: set[Definition] = set().union(*(self._users.get(key, ()) for key in keys(mutant)))
        return users & self._of.keys()

    def opcodes(self, mutant: Mutant) -> frozenset[str]:
        """The opcodes that a mutant may change."""
        return frozenset().union(*(self._of[definition] for definition in self.definitions(mutant)))

    def reached_by(self, thing: Any) -> frozenset[Place | Name]:
        """The functions that what an object stands for may call, and the pages' names that it looks up."""
        reached: set[Place | Name] = set()
        for place, names in self._reached(functions_in(thing)):
            reached |= {place, *names}
        return frozenset(reached)

    def reaches(self, thing: Any, mutant: Mutant) -> bool:
        """Whether what an object stands for may be changed by a mutant."""
        return not keys(mutant).isdisjoint(self.reached_by(thing))

    def shortcuts(self, mutant: Mutant) -> frozenset[str]:
        """The named functions (see `shortcut`) whose meaning a mutant may change."""
        return frozenset(name for name, function in SHORTCUTS.items() if self.reaches(function, mutant))

    def forms(self, mutant: Mutant) -> list[Form]:
        """The forms of these definitions."""
        affected = self.definitions(mutant)
        every = (form for name in sorted(self.opcodes(mutant)) for form in registry().opcodes[name].forms)
        return [form for form in every if form.definition in affected]


@cache
def origins() -> dict[tuple[str, str], str]:
    """By (page, name imported from another page), the module of that other page."""
    imported: dict[tuple[str, str], str] = {}
    for module, _ in finder.pages("ptxspec.spec"):
        for node in ast.walk(ast.parse(source(module)[1])):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptxspec.spec"):
                imported |= {(module, alias.asname or alias.name): str(node.module) for alias in node.names}
    return imported


def table_names(mutant: Mutant) -> list[str]:
    """The names of a page that a changed table is bound to, or is part of."""
    names: list[str] = []
    for node in ast.parse(source(mutant.module)[1]).body:
        if isinstance(node, ast.Assign):
            used = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            if node.lineno == mutant.first_line or used & set(names):
                names += [t.id for t in node.targets if isinstance(t, ast.Name)]
    return names


def keys(mutant: Mutant) -> frozenset[Place | Name]:
    """The function that a mutant changes, or the names of the tables."""
    if mutant.function == TABLE:
        return frozenset((mutant.module, name) for name in table_names(mutant))
    return frozenset([(str(finder.load(mutant.module).__file__), mutant.first_line)])


@cache
def graph() -> Graph:
    """The graph of all pages."""
    return Graph()
