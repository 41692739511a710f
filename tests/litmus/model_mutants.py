"""Copies of the memory model's pages with one mistake in a fence: a part of an expression left out, or put the other way
round."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ptxspec import contracts
from ptxspec.literate import finder
from ptxspec.terms.relations import AXIOMS

#: the pages, in the order in which they import from one another
PAGES = (
    "operations", "asynchronous_operations", "scopes", "synchronization", "causality", "coherence", "races", "axioms",
)  # fmt: skip
NAMES = [f"ptxspec.spec.memory_model.{page}" for page in PAGES]


def source(module: str) -> str:
    """The page as Python, with the lines that it has."""
    loader = finder.DocumentLoader(module, str(dict(finder.pages("ptxspec.spec", "memory_model"))[module]))
    text = loader.get_source(module)
    assert text is not None
    return text


class Mutant:
    """A mistake: the page, the line, and what it does, with the page's syntax tree."""

    def __init__(self, module: str, function: str, line: int, words: str, tree: ast.Module):
        self.module, self.function, self.line, self.words, self.tree = module, function, line, words, tree

    def __str__(self) -> str:
        return f"{self.module.rpartition('.')[2]}.md:{self.line} {self.function}: {self.words}"


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in place of a part of an expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.RShift):
        for name in ("left", "right"):
            yield f"only {ast.unparse(getattr(node, name))}", getattr(node, name)
    if isinstance(node, ast.BoolOp):
        for i, value in enumerate(node.values):
            left = [v for k, v in enumerate(node.values) if k != i]
            kept = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
            yield f"without {ast.unparse(value)}", kept
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("closure", "inverse", "or_same")
    ):
        yield f"no {node.func.id}", node.args[0]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", node.operand
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        for i, value in enumerate(node.elts):
            yield f"without {ast.unparse(value)}", ast.Tuple([e for k, e in enumerate(node.elts) if k != i], node.ctx)


class _Replace(ast.NodeTransformer):
    def __init__(self, number: int, which: int):
        self.number, self.which, self.seen, self.words = number, which, -1, ""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.seen += 1
        if self.seen == self.number:
            self.words, new = list(_replacements(node))[self.which]
            return ast.copy_location(copy.deepcopy(new), node)
        return super().generic_visit(node)


def mutants() -> Iterator[Mutant]:
    """All mistakes, function by function."""
    for module in NAMES:
        tree = ast.parse(source(module))
        for place, function in enumerate(tree.body):
            if not isinstance(function, ast.FunctionDef):
                continue
            body = ast.Module(function.body, [])
            nodes = list(_visited(body))
            for number, node in enumerate(nodes):
                for which, _ in enumerate(_replacements(node)):
                    changed = copy.deepcopy(function)
                    replace = _Replace(number, which)
                    changed.body = ast.fix_missing_locations(replace.visit(ast.Module(changed.body, []))).body
                    line = getattr(node, "lineno", function.lineno)
                    copied = ast.Module([*tree.body[:place], changed, *tree.body[place + 1 :]], [])
                    yield Mutant(module, function.name, line, replace.words, copied)


def _visited(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in the order of a transformer."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _visited(child)


@contextmanager
def planted(mutant: Mutant | None) -> Iterator[None]:
    """The memory model with a mistake, meanwhile."""
    kept = {page: getattr(contracts, page) for page in PAGES}
    before = {name: sys.modules[name] for name in NAMES}
    axioms = dict(AXIOMS)
    AXIOMS.clear()
    try:
        for name, page in zip(NAMES, PAGES, strict=True):
            module = ModuleType(name)
            module.__file__ = before[name].__file__
            tree = mutant.tree if mutant is not None and mutant.module == name else ast.parse(source(name))
            exec(compile(tree, str(Path(str(module.__file__))), "exec"), module.__dict__)
            sys.modules[name] = module
            setattr(contracts, page, module)
        yield
    finally:
        for name, page in zip(NAMES, PAGES, strict=True):
            sys.modules[name] = before[name]
            setattr(contracts, page, kept[page])
        AXIOMS.clear()
        AXIOMS.update(axioms)
