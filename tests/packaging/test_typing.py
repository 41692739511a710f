"""The package is typed: a user's program passes mypy's strictest check, and what it must not say is found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ptxspec

PROGRAM = Path(__file__).with_name("uses_everything.py")
MODEL = Path(ptxspec.__file__).parents[1]


def checked(path: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy", reason="NO MYPY: that the package is typed was NOT tested")
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(cache)]
    # what is installed is followed silently, as a user's mypy follows it
    return subprocess.run([*words, str(path)], cwd=cache, capture_output=True, text=True, env=environment())


def environment() -> dict[str, str]:
    """The package that is tested, found as an installed one is."""
    return {**os.environ, "MYPYPATH": "", "PYTHONPATH": str(MODEL)}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.slow
def test_a_program_passes_the_strictest_check(cache: Path) -> None:
    found = checked(PROGRAM, cache)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_program_uses_everything_and_runs() -> None:
    used = set(re.findall(r"\bptxspec\.(\w+)", PROGRAM.read_text()))
    assert set(ptxspec.__all__) <= used, f"not used: {sorted(set(ptxspec.__all__) - used)}"
    run = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, env=environment())
    assert run.stdout == "everything was used\n", run.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('ptxspec.load("").launch("k", engine="gpu")', 'expected "Literal['),
        ('ptxspec.Texture([], geometry="4d")', 'expected "Literal['),
        ('ptxspec.Sampler("repeat")', 'expected "Literal['),
        ('ptxspec.prove("", "").status == "maybe"', "Non-overlapping equality check"),
        ("ptxspec.nothing", 'has no attribute "nothing"'),
        ("x: str = ptxspec.load('').kernels", "Incompatible types in assignment"),
    ],
)
def test_what_the_types_exclude_is_found(line: str, message: str, cache: Path, tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(f"import ptxspec\n\n{line}\n")
    found = checked(program, cache)
    assert found.returncode == 1 and message in found.stdout, found.stdout + found.stderr


def test_the_marker_is_there() -> None:
    assert (Path(ptxspec.__file__).parent / "py.typed").is_file()
