"""What guides show that is more than Python: their consoles, files, tests, and the page of a new instruction. And that the reference is whole."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import ptxspec
from ptxspec.cli import main
from ptxspec.evidence import vector_contents
from ptxspec.literate.documents import parse
from ptxspec_workshop.site.directives import VectorFormat

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs"
#: a guide whose commands need nothing but what it shows, and how each of them ends
CONSOLES = {"start": [0, 0, 0, 0, 1], "how-to/settle-a-disagreement": [0, 0, 0, 1]}
#: runs commands in one process: a page that is new to the model is loaded once
EACH = """
import json, sys
from click.testing import CliRunner
from ptxspec.cli import main
for words in json.load(sys.stdin):
    found = CliRunner().invoke(main, words)
    print("status", found.exit_code, found.output)
"""


def commands(guide: str) -> list[list[str]]:
    """The words of every line of a guide's consoles that begins with `$ ptxspec`."""
    text = (GUIDES / f"{guide}.md").read_text()
    lines = [line for fence in parse(text, guide).of("console") for line in fence.text.splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("$ ptxspec ")]


def shown(guide: str, name: str) -> str:
    """The file that a guide shows under a caption."""
    text = (GUIDES / f"{guide}.md").read_text()
    (found,) = re.findall(
        rf"^(`{{3,}})\{{code-block\}} \w+\n:caption: {re.escape(name)}\n(.*?)\n\1$", text, re.M | re.S
    )
    return found[1] + "\n"


@pytest.mark.parametrize("guide", CONSOLES)
def test_the_commands_of_a_guide_run(guide: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build").mkdir()
    if guide == "start":
        (tmp_path / "square.ptx").write_text(shown(guide, "square.ptx"))
    found = [CliRunner().invoke(main, words) for words in commands(guide)]
    assert [one.exit_code for one in found] == CONSOLES[guide], [one.output for one in found]
    if guide == "start":
        (result, page, *_) = found[0].output.splitlines()
        assert f"{result}\n{page}\n" in (GUIDES / "start.md").read_text()
        assert "[ 1.  4.  9. 16.]" in found[2].output


def test_the_page_of_a_new_instruction_is_all_that_it_needs(tmp_path: Path) -> None:
    """In a copy of the checkout, whose documents have the page that the guide shows."""
    guide, page = "how-to/add-an-instruction", "spec/instructions/logic/gray.md"
    for name in ("spec", "proofs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "model" / "ptxspec", tmp_path / "model" / "ptxspec", ignore=shutil.ignore_patterns("static"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / page).write_text(shown(guide, page))
    found = subprocess.run(
        [sys.executable, "-c", EACH],
        input=json.dumps(commands(guide)),
        env={"PYTHONPATH": str(tmp_path / "model"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    forms, evaluated, proved, found_operands = found.stdout.split("status ")[1:]
    assert forms.startswith("0") and "2 forms" in forms, found.stderr
    assert evaluated.startswith("0 d = 0x00000007") and f"{page}:22" in evaluated
    assert proved.startswith("0 proved")
    assert found_operands.startswith("0") and "a = 0x00000005" in found_operands


def test_the_kernels_of_the_guide_to_pytest_pass(tmp_path: Path) -> None:
    (tmp_path / "test_double.py").write_text(shown("how-to/use-pytest", "test_double.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "ptxspec.evidence.pytest_plugin"]
    environment = {"PYTHONPATH": str(ROOT / "model"), "PATH": "/usr/bin:/bin"}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert found.returncode == 0 and "4 passed" in found.stdout, found.stdout + found.stderr


def test_the_reference_has_every_public_name_once() -> None:
    text = (GUIDES / "reference" / "api.md").read_text()
    names = re.findall(r"^\.\. auto\w+:: ptxspec\.(?:base\.options\.)?(\w+)$", text, re.M)
    assert sorted(names) == sorted(ptxspec.__all__)


def test_the_reference_of_vector_files_is_the_readme_of_a_folder() -> None:
    text = VectorFormat.markdown(type("Page", (), {"depends": lambda self, *paths: None})())  # type: ignore[arg-type]
    assert "`expected`" in text and text in vector_contents.README.format(profile="portable")
