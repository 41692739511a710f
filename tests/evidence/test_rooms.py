"""The rooms of the evidence: each imports those before it, and no file imports one that imports it."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from ptxspec import evidence

FOLDER = Path(evidence.__file__).parent
ROOMS = ("location", "kernels", "assembler", "generate", "compare", "record")
FILES = {".".join(path.relative_to(FOLDER).with_suffix("").parts): path for path in sorted(FOLDER.rglob("*.py"))}


def imports(path: Path) -> set[str]:
    """The files of the evidence that one imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptxspec.evidence"):
            place = (node.module or "").removeprefix("ptxspec.evidence").lstrip(".")
            names = {f"{place}.{alias.name}".lstrip(".") for alias in node.names}
            found |= (names & set(FILES)) or {place}
    return found


def order(name: str) -> int:
    """How far up a file stands; what is in no room stands above them all."""
    room = name.split(".")[0]
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


@pytest.mark.parametrize("name", FILES)
def test_a_room_imports_none_behind_it(name: str) -> None:
    found = imports(FILES[name])
    assert found <= set(FILES), "every import is of a file"
    assert [other for other in found if order(other) > order(name)] == []


def test_no_imports_in_a_circle() -> None:
    graph = {name: imports(path) for name, path in FILES.items()}
    assert sum(map(len, graph.values())) > 100
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(error.args[1]))


def test_files_and_functions_are_short() -> None:
    for path in FILES.values():
        text = path.read_text()
        assert text.count("\n") <= 300, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, f"{path}: {node.name}"
