"""A page defines a name once: what is read further up is what runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxspec.literate.documents import blanked, parse
from ptxspec.literate.finder import ROOTS, pages

DOCUMENTS = [path for root in ROOTS for _, path in pages(root)]


def defined(code: str) -> Iterator[tuple[str, int]]:
    """The names that the statements of a module bind, but for overloads and loops, with their lines."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if "overload" not in map(ast.unparse, node.decorator_list):
                yield node.name, node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in (t for one in targets for t in ast.walk(one)):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    yield target.id, node.lineno


def twice(code: str) -> list[str]:
    seen: dict[str, int] = {}
    return [
        f"{name}, in lines {seen[name]} and {line}"
        for name, line in defined(code)
        if seen.setdefault(name, line) != line
    ]


@pytest.mark.sample(4)
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_no_name_is_defined_twice(path: Path) -> None:
    text = path.read_text("utf-8")
    found = twice(blanked(text, parse(text, path)))
    assert not found, f"{path}: " + "; ".join(found)


def test_what_is_found() -> None:
    assert twice("ROUND = 1\ndef f(): ...\nROUND: int = 2\nA, B = 1, 2\nf = 3") == [
        "ROUND, in lines 1 and 3",
        "f, in lines 2 and 5",
    ]
    assert not twice("@overload\ndef f(): ...\ndef f(): ...\nfor i in x:\n    y = i")
