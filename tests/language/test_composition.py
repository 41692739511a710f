"""The checker and the tree's builders are passes that are handed what they need: none inherits what another does."""

from __future__ import annotations

import ast
from pathlib import Path

import ptxspec.language

FOLDER = Path(ptxspec.language.__file__).parent
#: these are kinds of what they inherit from
KINDS_OF = {("Sources", "Source"), ("Assembly", "Grammar"), ("GapError", "PtxError")}


def test_no_pass_inherits_from_another() -> None:
    classes = [
        node
        for path in sorted(FOLDER.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    names = {node.name for node in classes}
    found = {(node.name, base.id) for node in classes for base in node.bases if isinstance(base, ast.Name)}
    assert {"Context", "Instructions", "TreeBuilder"} <= names
    assert {pair for pair in found if pair[1] in names} <= KINDS_OF
