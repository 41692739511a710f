"""A page is read again where what it is made of has changed, and else it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ptxspec_workshop.site import dependencies

PAGE = "# One\n\nThe first.\n\n```python\nx = 1\n```\n\nA sentence about it.\n"
REGISTER = "# Register\n\n## AMB-001 first-slug\n\nText.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec").mkdir()
    (tmp_path / "one.md").write_text(PAGE)
    (tmp_path / "spec" / "ambiguities.md").write_text(REGISTER)
    return tmp_path


@pytest.fixture
def asked(folder: Path) -> Callable[[], list[str]]:
    """Which documents are to be read again: `two` depends on the file `one.md`, `three` on the register's entries."""
    env: Any = SimpleNamespace(docname="two", found_docs={"one", "two", "three"})
    dependencies.note(env, [folder / "one.md"])
    env.docname = "three"
    dependencies.note_register(env, folder)
    return lambda: dependencies._outdated(None, env, set(), set(), set())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "old", "new", "again"),
    [
        ("one.md", "about it", "about the number, and a longer one", []),
        ("one.md", "about it.\n", "about it.\n\nOne more line.\n", []),
        ("one.md", "x = 1", "x = 2", ["two"]),
        ("one.md", "The first.", "The first page.", ["two"]),
        ("one.md", "\n```python", "\n\n```python", ["two"]),
        ("spec/ambiguities.md", "Text.", "A better text.", []),
        ("spec/ambiguities.md", "first-slug", "another-slug", ["three"]),
        ("spec/ambiguities.md", "Text.", "Text.\n\n## AMB-002 second\n\nMore.", ["three"]),
    ],
)
def test_what_is_read_again(
    folder: Path, asked: Callable[[], list[str]], file: str, old: str, new: str, again: list[str]
) -> None:
    assert asked() == []
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert asked() == again


def test_a_file_that_is_gone_or_comes_back(folder: Path, asked: Callable[[], list[str]]) -> None:
    (folder / "one.md").unlink()
    assert asked() == ["two"]
    (folder / "one.md").write_text(PAGE)
    assert asked() == []
