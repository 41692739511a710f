"""Names in the Python of a page lead to their definitions: words of the vocabulary, functions of this page and of others."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec.literate import finder
from ptxspec.literate.documents import blanked, parse
from ptxspec_workshop.site.pages import address, docname_of, module_of
from ptxspec_workshop.site.vocabulary_tables import has_row, target

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: the page whose tables tell the words of the vocabulary
WORDS = "spec/notation"
_LINE = re.compile(r'(<span id="L-(\d+)">)([^\n]*)')
_NAME = re.compile(r'<span class="(n|nf|nc|nd|nb)">(@?)([A-Za-z_]\w*)</span>')


class PageNames(NamedTuple):
    """Where each name that is bound on a page leads (a document, a target), by line the names that are used, and those that are
    defined."""

    targets: dict[str, tuple[str, str]]
    used: dict[int, set[str]]
    defined: dict[int, set[str]]


@cache
def documents() -> dict[str, str]:
    """The document of every module of the specification."""
    return {name: docname_of(path) for name, path in finder.pages("ptxspec.spec")}


def names(root: Path, docname: str) -> PageNames:
    """What the Python of a document names."""
    path = root / f"{docname}.md"
    text = path.read_text("utf-8")
    tree = ast.parse(blanked(text, parse(text, path)))
    result = PageNames({}, {}, {})
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                target = _imported(statement.module, alias.name)
                if target is not None:
                    result.targets[alias.asname or alias.name] = target
        for name, line in _bound(statement):
            result.targets.setdefault(name, (docname, f"def-{name}"))
            result.defined.setdefault(line, set()).add(name)
    _Uses(result).visit(tree)
    return result


def _imported(module: str, name: str) -> tuple[str, str] | None:
    if module == "ptxspec.terms" and has_row(name):
        return WORDS, target(name)
    if module in documents():
        return documents()[module], f"def-{name}"
    return None


def _bound(statement: ast.stmt) -> list[tuple[str, int]]:
    """The names that a statement of a module defines, with the line of each."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [(statement.name, statement.lineno)]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [(n.id, n.lineno) for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return []


class _Uses(ast.NodeVisitor):
    """Notes the names that mean what the page binds at its margin: those that no function around them binds."""

    def __init__(self, page_names: PageNames):
        self.names = page_names
        self.local: list[set[str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for outside in (*node.decorator_list, *filter(None, [node.returns, *(a.annotation for a in _arguments(node))])):
            self.visit(outside)
        local = {a.arg for a in _arguments(node)}
        local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        local |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node}
        self.local.append(local)
        for inside in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(inside)
        self.local.pop()

    def visit_Name(self, node: ast.Name) -> None:
        if (
            isinstance(node.ctx, ast.Load)
            and node.id in self.names.targets
            and not any(node.id in local for local in self.local)
        ):
            self.names.used.setdefault(node.lineno, set()).add(node.id)


def _arguments(node: ast.FunctionDef) -> list[ast.arg]:
    a = node.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]


def linked(body: str, page: str, page_names: PageNames) -> str:
    """A page's HTML with links at names, and a target at each definition."""

    def line(match: re.Match[str]) -> str:
        number = int(match[2])
        used, defined = page_names.used.get(number, set()), page_names.defined.get(number, set())
        anchored: set[str] = set()

        def name(token: re.Match[str]) -> str:
            word = token[3]
            if word in defined and word not in anchored:
                anchored.add(word)
                return f'<span class="{token[1]}" id="def-{word}">{word}</span>'
            if word not in used:
                return token[0]
            where = address(*page_names.targets[word], page)
            return f'{token[2]}<a class="{token[1]}" href="{where}">{word}</a>'

        return match[1] + _NAME.sub(name, match[3])

    return _LINE.sub(line, body)


def link(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Link the names of a page of the specification."""
    if page.startswith("spec/") and "body" in context and module_of(page) in documents():
        context["body"] = linked(context["body"], page, names(Path(app.srcdir), page))
