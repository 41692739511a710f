"""`make page` in a copy of the checkout: a page that is right, and pages with one mistake each, which is named with its line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from ptxspec_workshop.commands import page as checking

ROOT = Path(__file__).resolve().parents[2]
MAD24, THREADS = "spec/instructions/integer/mad24.md", "spec/machine/threads.md"
CHECKS = ["loads", "lint", "examples", "evidence", "laws", "identities"]
#: the checks of a page that does not load
UNASKED = dict.fromkeys(CHECKS[2:], "not run")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("spec", "proofs", "docs/disputes"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("ptxspec", "ptxspec_workshop"):
        shutil.copytree(ROOT / "model" / name, folder / "model" / name, ignore=shutil.ignore_patterns("static"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests").mkdir()
    (folder / "tests" / "vectors").symlink_to(ROOT / "tests" / "vectors")
    return folder


@contextmanager
def changed(path: Path, *changes: tuple[str, str]) -> Iterator[str]:
    """A file with each text replaced that is in it once: its text."""
    before = after = path.read_text("utf-8")
    for old, new in changes:
        assert before.count(old) == 1, old
        after = after.replace(old, new)
    path.write_text(after, "utf-8")
    try:
        yield after
    finally:
        path.write_text(before, "utf-8")


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def checked(checkout: Path, page: str) -> tuple[int, dict[str, str], str]:
    """(exit status, how each check went, the output)"""
    command = [sys.executable, "-m", "ptxspec_workshop.commands.page", page]
    environment = os.environ | {"PYTHONPATH": str(checkout / "model")}
    run = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=300)
    went = dict(re.findall(r"^(\w+) +(fine|none|WRONG|not run)\b", run.stdout, re.M))
    assert list(went) == CHECKS, run.stdout + run.stderr
    return run.returncode, went, run.stdout


def went(**other: str) -> dict[str, str]:
    """How checks of a page of an instruction go: those that are not named are fine."""
    return {check: "none" if check == "laws" else "fine" for check in CHECKS} | other


@pytest.mark.slow
def test_a_page_that_is_right(checkout: Path) -> None:
    status, found, output = checked(checkout, "mad24")
    assert (status, found) == (0, went()), output
    assert "5 forms of mad24" in output and "1 example\n" in output and "4 identities" in output
    assert "all answered by a GPU" in output


@pytest.mark.slow
def test_a_wrong_definition_with_a_complaint_of_a_linter(checkout: Path) -> None:
    """Its examples, recorded answers and identities do not hold either."""
    with changed(
        checkout / MAD24, ("    total = part", "    spare = a\n    total = part"), ("mode) + c", "mode) - c")
    ) as text:
        status, found, output = checked(checkout, MAD24)
    assert status == 1 and found == went(**dict.fromkeys(["lint", "examples", "evidence", "identities"], "WRONG")), (
        output
    )
    assert f"  {MAD24}:{line_of(text, 'spare = a')}:5: F841" in output
    assert f"  {MAD24}:{line_of(text, '// f = 0xbfffffff')}: f = 0xc0000001, not 0xbfffffff" in output
    line = line_of(text, "@instruction\n")
    assert f"  {MAD24}:{line}: a GPU has answered otherwise for mad24.lo.u32 d, a, b, c;" in output
    assert re.search(r"^  proofs/[\w-]+\.md:\d+: .*: stated proved, found refuted", output, re.M)


@pytest.mark.slow
def test_a_definition_that_does_not_fit_its_syntax(checkout: Path) -> None:
    changes = (", sat=False", ""), ("saturate(total, type) if sat else total", "total"), (", saturate", "")
    with changed(checkout / MAD24, *changes) as text:
        status, found, output = checked(checkout, MAD24)
    assert (status, found) == (1, went(loads="WRONG", **UNASKED)), output
    assert f"  {MAD24}:{line_of(text, 'mad24.mode.sat')}: mad24 drops the modifier .sat: no parameter" in output


@pytest.mark.slow
def test_a_definition_that_raises(checkout: Path) -> None:
    with changed(checkout / MAD24, ("    total = part", "    total = partial")) as text:
        status, found, output = checked(checkout, MAD24)
    assert (status, found) == (1, went(loads="WRONG", lint="WRONG", **UNASKED)), output
    line = line_of(text, "total = partial")
    assert f"  {MAD24}:{line}: NameError: name 'partial' is not defined" in output
    assert f"  {MAD24}:{line}:13: F821" in output and f'  {MAD24}:{line}: error: Name "partial"' in output


@pytest.mark.slow
def test_an_invariant_that_does_not_hold_and_a_tempting_claim_that_does(checkout: Path) -> None:
    nobody, stays = (
        "a CTA without threads has no warp with a lane that may still come",
        "a lane that is gone stays gone",
    )
    swapped = (f'@tempting("{nobody}")', f'@invariant("{nobody}")'), (f'@invariant("{stays}")', f'@tempting("{stays}")')
    with changed(checkout / THREADS, *swapped) as text:
        status, found, output = checked(checkout, "machine/threads")
    none = dict.fromkeys(["examples", "evidence", "identities"], "none")
    assert (status, found) == (1, went(laws="WRONG", **none)), output
    assert [line for line in output.splitlines() if line.startswith("  ")] == [
        f"  {THREADS}:{line_of(text, stays)}: {stays}: stated refuted, found proved",
        f"  {THREADS}:{line_of(text, nobody)}: {nobody}: stated proved, found refuted",
    ]


def test_a_name_of_no_page() -> None:
    found = CliRunner().invoke(checking.command, ["mad42"])
    assert found.exit_code == 1 and "there is no page mad42; did you mean mad24" in found.output
