"""A mutant in place for a while: the function's code is exchanged, or the table's numbers, and what was derived is forgotten.

Nothing is written to disk. When the context ends, all is as it was.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from ptxspec import terms
from ptxspec.evidence.kernels import signatures
from ptxspec.literate import finder
from ptxspec.terms import vocabulary
from ptxspec.terms.definitions import DEFINITIONS
from ptxspec_workshop.mutation.mutants import TABLE, Mutant, mutated
from ptxspec_workshop.mutation.reach import graph, origins, table_names

#: what functools.cache makes of a function
_CACHED = type(cache(len))
#: modules with such functions about definitions
_DERIVED = (
    "ptxspec.spec.",
    "ptxspec.language.form_selection",
    "ptxspec.language.known_shapes",
    "ptxspec.query.repeated",
    "ptxspec.evidence.choices",
)


def forget() -> None:
    """Drop what was worked out from the definitions, so that it is worked out again."""
    for definitions in DEFINITIONS.values():
        for definition in definitions:
            definition._instances.clear()
    vocabulary._meanings.clear()
    signatures._results.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith(_DERIVED):
            for thing in list(vars(module).values()):
                if isinstance(thing, _CACHED):
                    thing.cache_clear()


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """The definitions with the mistake, until the context ends."""
    tree = mutated(mutant)
    module = finder.load(mutant.module)
    added = _words_lacking(mutant, module)
    vars(module).update(added)
    undo = _table(mutant, tree, module) if mutant.function == TABLE else _function(mutant, tree, module)
    forget()
    try:
        yield
    finally:
        undo()
        for name in added:
            del vars(module)[name]
        forget()


def _words_lacking(mutant: Mutant, module: ModuleType) -> dict[str, Any]:
    """The words of the semantics that the mistake needs and the page does not import: to lack one would be another mistake."""
    names = {n.id for n in ast.walk(ast.parse(mutant.mutated, mode="eval")) if isinstance(n, ast.Name)}
    return {n: getattr(terms, n) for n in sorted(names) if hasattr(terms, n) and n not in vars(module)}


def _function(mutant: Mutant, tree: ast.Module, module: ModuleType) -> Any:
    """Exchange a function's code; returns what undoes it."""
    path = str(module.__file__)
    live = graph().live[path, mutant.first_line]
    old = live.__code__
    live.__code__ = _code(compile(tree, path, "exec", dont_inherit=True), old.co_name, mutant.first_line)

    def undo() -> None:
        live.__code__ = old

    return undo


def _code(within: CodeType, name: str, line: int) -> CodeType:
    """The code of a function of a page."""
    waiting = [within]
    while waiting:
        code = waiting.pop()
        if code.co_name == name and code.co_firstlineno == line and code is not within:
            return code
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
    raise ValueError(f"no function {name} begins in line {line}")


def _table(mutant: Mutant, tree: ast.Module, module: ModuleType) -> Any:
    """Bind a table's name, and those of tables made of it, to changed ones, wherever pages have imported them."""
    names = table_names(mutant)
    changed = dict(vars(module))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets):
            exec(compile(ast.Module([node], []), str(module.__file__), "exec", dont_inherit=True), changed)
    kept: list[tuple[dict[str, Any], str, Any]] = []
    for name in names:
        holders = [
            module.__name__,
            *(page for (page, name_there), of in origins().items() if (name_there, of) == (name, module.__name__)),
        ]
        for holder in holders:
            known = vars(finder.load(holder))
            kept.append((known, name, known[name]))
            known[name] = changed[name]

    def undo() -> None:
        for known, name, old in kept:
            known[name] = old

    return undo
