"""The folders of the model depend on one another one way: each imports from those before it only, late imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ptxspec

MODEL = Path(ptxspec.__file__).parent
#: as docs/architecture.md and CONTRIBUTING.md have them
ORDER = ("literate", "terms", "contracts", "language", "machine", "query", "evidence", "site", "cli")


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """The modules that a file imports, wherever in it: (line, name)."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import"
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)


def test_every_folder_has_its_place() -> None:
    assert {path.parent.name for path in MODEL.glob("*/__init__.py")} == set(ORDER)


@pytest.mark.parametrize("folder", ORDER)
def test_what_a_folder_imports_comes_before_it(folder: str) -> None:
    later = ORDER[ORDER.index(folder) + 1 :]
    files = sorted((MODEL / folder).rglob("*.py"))
    assert files
    for path in files:
        for line, name in imported(path):
            package, _, rest = name.partition(".")
            assert package != "ptxspec" or rest.split(".")[0] not in later, f"{path}:{line}: {name}"


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_documents_have_this_order(document: str) -> None:
    text = " ".join((MODEL.parents[1] / document).read_text("utf-8").split())
    if document == "CONTRIBUTING.md":
        assert ", ".join((*ORDER[:-1], "command")) in text
    else:
        places = [text.index(f"## {name}") for name in ORDER[:-2]]
        assert places == sorted(places)
