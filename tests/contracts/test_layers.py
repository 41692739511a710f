"""The folders of the model depend on one another one way: each imports from those before it only, late imports included."""

from __future__ import annotations

import pytest

from ptxspec.site.house import MODEL, ORDER, counts, files, imported, picture, table


def test_every_folder_has_its_place() -> None:
    assert {path.parent.name for path in MODEL.glob("*/__init__.py")} == set(ORDER)


@pytest.mark.parametrize("folder", ORDER)
def test_what_a_folder_imports_comes_before_it(folder: str) -> None:
    later = ORDER[ORDER.index(folder) + 1 :]
    paths = files(folder)
    assert paths
    for path in paths:
        for line, name in imported(path):
            package, _, rest = name.partition(".")
            assert package != "ptxspec" or rest.split(".")[0] not in later, f"{path}:{line}: {name}"


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_documents_have_this_order(document: str) -> None:
    text = " ".join((MODEL.parents[1] / document).read_text("utf-8").split())
    if document == "CONTRIBUTING.md":
        assert ", ".join(ORDER) in text
    else:
        places = [text.index(f"## {name}") for name in ORDER[:-2]]
        assert places == sorted(places)


def test_the_picture_shows_the_imports() -> None:
    """Each arrow goes from a folder to one before it; there is a line for each pair, and the table says the same."""
    found = counts()
    pairs = [(folder, other) for folder, others in found.items() for other, n in others.items() if n]
    assert all(ORDER.index(other) < ORDER.index(folder) for folder, other in pairs)
    assert picture().count("marker-end") == len(pairs) > 15
    assert all(f"{other} ({found[folder][other]})" in table() for folder, other in pairs)
