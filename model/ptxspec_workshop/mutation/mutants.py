"""Which mistakes there are, by page and function.

A mutant is known by an id that does not depend on where its line is: of the page, the function, the kind, both texts, and the
how-manieth of such a place it is. So an id stays the same as long as its function keeps the expression.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.language.forms import page_name
from ptxspec.literate import finder
from ptxspec.literate.documents import blanked, parse
from ptxspec_workshop.mutation.operators import Exchange, Replacement, replacements

#: no function but a page's own statements: a table of numbers
TABLE = "<table>"


class Mutant(NamedTuple):
    """A planted mistake: the module and its document, the function (`Class.method` for a method, `<table>` for a table) and its
    first line, where the expression is, the kind of mistake, both texts, and the number among places that are alike."""

    module: str
    page: str
    function: str
    first_line: int
    line: int
    column: int
    kind: str
    original: str
    mutated: str
    number: int

    @property
    def id(self) -> str:
        """A name that lasts while the function keeps the expression."""
        what = (self.page, self.function, self.kind, self.original, self.mutated, self.number)
        stem = Path(self.page).stem
        return f"{stem}-{hashlib.sha256(repr(what).encode()).hexdigest()[:8]}"

    def __str__(self) -> str:
        return f"{self.page}:{self.line}:{self.column}: {self.kind}: {self.original} -> {self.mutated}"


@cache
def source(module: str) -> tuple[str, str]:
    """(path, Python with the document's lines) of a page."""
    path = str(finder.load(module).__file__)
    text = Path(path).read_text("utf-8")
    return path, blanked(text, parse(text, path))


def roots(tree: ast.Module) -> Iterator[tuple[str, int, ast.AST]]:
    """(name, first line, node) of what may be changed on a page: functions, methods, tables of numbers."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, _first_line(node), node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield f"{node.name}.{method.name}", _first_line(method), method
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict | ast.Tuple | ast.List):
            yield TABLE, node.lineno, node.value


def _first_line(node: ast.FunctionDef) -> int:
    """The line that the function's code begins with: that of its first decorator."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _each(module: str, tree: ast.Module) -> Iterator[tuple[Mutant, Replacement]]:
    page = page_name(source(module)[0])
    counted: Counter[Any] = Counter()
    for function, first, root in roots(tree):
        for replacement in replacements(root):
            texts = ast.unparse(replacement.node), ast.unparse(replacement.new)
            kind = "table" if function == TABLE else replacement.kind
            key = (function, kind, *texts)
            place = replacement.node.lineno, replacement.node.col_offset
            yield Mutant(module, page, function, first, *place, kind, *texts, counted[key]), replacement
            counted[key] += 1


def of_page(module: str) -> list[Mutant]:
    """Every mutant of a page."""
    return [mutant for mutant, _ in _each(module, ast.parse(source(module)[1]))]


@lru_cache(4)
def mutated(mutant: Mutant) -> ast.Module:
    """The syntax tree of a mutant's page, with the mistake. Raises ValueError if the page has no such place any more."""
    tree = ast.parse(source(mutant.module)[1])
    for planted, replacement in _each(mutant.module, tree):
        if planted.id == mutant.id:
            changed = Exchange(replacement).visit(tree)
            assert isinstance(changed, ast.Module)
            return ast.fix_missing_locations(changed)
    raise ValueError(f"{mutant}: the page has no such place")
