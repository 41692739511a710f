"""The folders of the model depend on one another one way: each imports from those before it only, late imports included; and
`ptxspec` imports nothing of `ptxspec_workshop`."""

from __future__ import annotations

import ast

import pytest

from ptxspec_workshop.site.house import MODEL, ORDER, PACKAGES, counts, files, imported, picture, place_of, table


def test_every_folder_has_its_place() -> None:
    assert {path.parent.name for path in MODEL.glob("*/__init__.py")} == set(PACKAGES)
    for package, folders in PACKAGES.items():
        assert {path.parent.name for path in MODEL.glob(f"{package}/*/__init__.py")} == set(folders)
    assert len(set(ORDER)) == len(ORDER), "a name stands for one folder"


def test_no_file_lies_beside_the_folders() -> None:
    """None but what a package itself is: of a loose file no order holds."""
    loose = {path.relative_to(MODEL).as_posix() for package in PACKAGES for path in (MODEL / package).glob("*.py")}
    assert loose == {"ptxspec/__init__.py", "ptxspec/__main__.py", "ptxspec_workshop/__init__.py"}


@pytest.mark.parametrize("folder", ORDER)
def test_what_a_folder_imports_comes_before_it(folder: str) -> None:
    later = ORDER[ORDER.index(folder) + 1 :]
    paths = files(folder)
    assert paths
    for path in paths:
        for line, name in imported(path):
            place = place_of(name)
            assert place is None or place[1] not in later, f"{path}:{line}: {name}"


def test_the_package_imports_nothing_of_the_workshop() -> None:
    """Neither by an import, wherever it stands, nor by a name that is imported when it is asked for."""
    for path in sorted((MODEL / "ptxspec").rglob("*.py")):
        for line, name in imported(path):
            assert not name.startswith("ptxspec_workshop"), f"{path}:{line}: {name}"
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert "ptxspec_workshop." not in node.value, f"{path}:{node.lineno}: {node.value}"


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_documents_have_this_order(document: str) -> None:
    text = " ".join((MODEL.parent / document).read_text("utf-8").split())
    if document == "CONTRIBUTING.md":
        assert all(", ".join(folders) in text for folders in PACKAGES.values())
    else:
        places = [text.index(f"## {name}") for name in ORDER if name not in ("cli", "commands")]
        assert places == sorted(places)


def test_the_picture_shows_the_imports() -> None:
    """Each arrow goes from a folder to one before it; there is a line for each pair, and the table says the same."""
    found = counts()
    pairs = [(folder, other) for folder, others in found.items() for other, n in others.items() if n]
    assert all(ORDER.index(other) < ORDER.index(folder) for folder, other in pairs)
    drawn, shown = picture(), table()
    assert drawn.count("marker-end") == len(pairs) > 15
    assert all(f"{other} ({found[folder][other]})" in shown for folder, other in pairs)
    assert all(f">{package}</text>" in drawn and f"| {package} |" in shown for package in PACKAGES)
