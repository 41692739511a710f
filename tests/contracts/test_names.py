"""Names in the model: a class name occurs once, and no value has a name that says nothing of what it is."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

from ptxspec_workshop.site.house import MODEL

#: what a value could be called in any function; `result`, `pending`, `participant`, `location` and the like say what it is
VAGUE = frozenset(("found", "own", "one", "said"))
#: classes with the name of another: what users pass and the pages' record of it; a declaration of PTX and one of a litmus test
TWICE = {"Sampler", "Variable"}
#: a method that spec/machine/access.md calls; a field of the JSON of `prove --check`; the litmus tests' files
BOUND = {
    ("own", "storage.py"), ("own", "memory.py"), ("own", "accesses.py"), ("own", "access_functions.py"),
    ("said", "records.py"),
    ("one", "formula.py"), ("found", "reading.py"), ("found", "reasons.py"),
}  # fmt: skip


def bound(node: ast.AST) -> str | None:
    """The name that a node gives to a value, if it gives one."""
    match node:
        case (
            ast.Name(id=name, ctx=ast.Store())
            | ast.arg(arg=name)
            | ast.FunctionDef(name=name)
            | ast.ClassDef(name=name)
        ):
            return name
        case ast.alias(asname=name) | ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return None


@cache
def names() -> tuple[Counter[str], set[tuple[str, str]]]:
    """How often each class name occurs in the model, and the vague names of values with their files."""
    classes: Counter[str] = Counter()
    vague = set()
    for path in sorted(MODEL.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            if (name := bound(node)) in VAGUE:
                vague.add((name, path.name))
    return classes, vague


def test_a_class_name_occurs_once() -> None:
    counts, _ = names()
    assert {name for name, count in counts.items() if count > 1} <= TWICE
    assert max(counts.values()) <= 2


def test_values_have_names_that_say_what_they_are() -> None:
    _, vague = names()
    assert vague <= BOUND
