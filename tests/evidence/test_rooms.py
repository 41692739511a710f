"""The rooms of the evidence, and of what is computed for it: each imports those before it, and no file imports one that imports it."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ptxspec_workshop
from ptxspec import evidence

EVIDENCE, WORKSHOP = Path(evidence.__file__).parent, Path(ptxspec_workshop.__file__).parent
#: what other files of ptxspec's evidence stand on, and the folders of the workshop that generate, ask and judge
ROOMS = ("location", "kernels", "assembler", "choices", "compiled_loops")
FOLDERS = ("generate", "compare", "record", "ledger", "disputes", "mutation", "fuzz")
FILES = {
    ".".join(path.relative_to(EVIDENCE.parents[1]).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in (EVIDENCE, *(WORKSHOP / name for name in FOLDERS))
    for path in sorted(folder.rglob("*.py"))
}


def imports(path: Path) -> set[str]:
    """The files of these folders that one imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptxspec"):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else str(node.module) for name in names} & set(FILES)
    return found


def order(name: str) -> int:
    """How far up a file of the evidence stands; what is in no room stands above them all, and the workshop above that."""
    if name.startswith("ptxspec_workshop."):
        return len(ROOMS) + 1
    room = name.removeprefix("ptxspec.evidence.").split(".")[0]
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


@pytest.mark.parametrize("name", FILES)
def test_a_room_imports_none_behind_it(name: str) -> None:
    assert [other for other in imports(FILES[name]) if order(other) > order(name)] == []


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
