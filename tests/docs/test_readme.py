"""README is true: what it shows is there, and every line of its consoles and of its Python runs as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ptxspec.literate.documents import parse

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
FENCES = parse(TEXT, "README.md")
CONSOLE = [
    line.removeprefix("$ ") for fence in FENCES.of("console") for line in fence.text.splitlines() if line.strip()
]
COMMANDS = [line for line in CONSOLE if not line.startswith("make ")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the checkout after `make tour`, whose `build/` is its own: what the lines write does not stay."""
    place = tmp_path_factory.mktemp("checkout")
    for entry in ROOT.iterdir():
        if entry.name not in ("build", ".venv", ".git"):
            (place / entry.name).symlink_to(entry)
    (place / "build").mkdir()
    commands = place / ".venv" / "bin"
    commands.mkdir(parents=True)
    for name, words in (("ptxspec", "-m ptxspec"), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (commands / name).chmod(0o755)
    (commands / "activate").write_text(f'export PATH="{commands}:/usr/bin:/bin"\n')
    return place


def run(script: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A script of bash, with no commands of ours on its path."""
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "model")}
    return subprocess.run(["bash", "-e", "-c", script], cwd=place, capture_output=True, text=True, env=environment)


def test_the_two_commands_come_first_and_are_there() -> None:
    wanted = [line.split()[1] for line in CONSOLE if line.startswith("make ")]
    assert CONSOLE[:2] == ["make tour", "make test"]
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.M)
    assert set(wanted) <= set(targets) and set(re.findall(r"`make (\S+)`", TEXT)) <= set(targets)


@pytest.mark.parametrize("line", COMMANDS[1:])
def test_a_line_runs_as_it_is_written(line: str, checkout: Path) -> None:
    assert COMMANDS[0] == "source .venv/bin/activate"  # without it the command is not found
    found = run(f"{COMMANDS[0]}\n{line}", checkout)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "Traceback" not in found.stderr


def test_without_the_activation_the_lines_would_not_run(checkout: Path) -> None:
    assert run(COMMANDS[1], checkout).returncode == 127


def test_the_python_runs_as_it_is_written(checkout: Path) -> None:
    shown, example = FENCES.of("python")
    assert shown.text in (ROOT / "spec" / "instructions" / "integer" / "bfe.md").read_text()
    (checkout / "build" / "example.py").write_text(example.text)
    found = run("source .venv/bin/activate\npython build/example.py", checkout)
    assert found.returncode == 0, found.stderr
    (comment,) = re.findall(r"^print.*# (.*)$", example.text, re.M)
    assert found.stdout.strip() == comment


def test_what_is_linked_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    assert links and all((ROOT / link).exists() for link in links if not link.startswith("http"))


def test_away_from_a_checkout_no_link_leads_nowhere() -> None:
    """The package's description has the names of files where README links to them."""
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"][
        "fancy-pypi-readme"
    ]
    text = TEXT
    for one in hook["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    assert text != TEXT and not re.search(r"\]\((?!https?:)", text)
    assert "`spec/`" in text and "a list (`spec/gaps.md`)" in text
