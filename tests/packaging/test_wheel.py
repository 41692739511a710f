"""The wheel works away from the checkout: built, installed into an empty environment, and run there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import ptxspec
from ptxspec.evidence.location import FOLDER, PACKAGE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_the_wheel_runs_in_an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONPATH", raising=False)  # what it names would come before what is installed
    wheel, answers = built(tmp_path)
    names = zipfile.ZipFile(wheel).namelist()
    assert "ptxspec/documents/spec/instructions/integer/bfe.md" in names
    assert any(n.startswith("ptxspec/documents/proofs/") for n in names)
    assert not any("__pycache__" in n for n in names)
    assert "ptxspec/py.typed" in names
    stated = as_stated()
    assert stated["wheel"] == pytest.approx(wheel.stat().st_size / 1e6, rel=0.1)
    assert stated["answers"] == pytest.approx(answers.stat().st_size / 1e6, rel=0.1)
    home = tmp_path / "environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    (packages,) = home.glob("lib/python*/site-packages")
    before = size_of(packages)
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    assert stated["installed"] == pytest.approx((size_of(packages) - before) / 1e6, rel=0.1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "saxpy.ptx").write_text((ROOT / "docs/examples/saxpy/saxpy.ptx").read_text())
    words = [home / "bin" / "ptxspec", "run", "saxpy.ptx", "-g", "1", "-b", "32", "--json"]
    arguments = ["-a", "u32=4", "-a", "f32=2", "-a", "f32[4]=1,2,3,4", "-a", "f32[4]=zeros"]
    run = subprocess.run([*words, *arguments], cwd=elsewhere, check=True, capture_output=True, text=True)
    assert json.loads(run.stdout)["changed"]["3"] == [2.0, 4.0, 6.0, 8.0]
    code = "import ptxspec, ptxspec.spec.instructions.integer.bfe as page; print(page.__file__)"
    run = subprocess.run([python, "-c", code], cwd=elsewhere, check=True, capture_output=True, text=True)
    assert str(home) in run.stdout
    recorded(home, elsewhere, answers)
    assert [path.name for path in elsewhere.iterdir()] == ["saxpy.ptx"]


def as_stated() -> dict[str, float]:
    """The sizes that README states, in megabytes."""
    text = " ".join((ROOT / "README.md").read_text().split())
    sentences = {
        "wheel": r"the wheel \(([\d.]+) MB\)",
        "installed": r"an installation takes about ([\d.]+) MB",
        "answers": r"another package \(([\d.]+) MB\)",
    }
    return {name: float(re.search(pattern, text)[1]) for name, pattern in sentences.items()}  # type: ignore[index]


def size_of(folder: Path) -> int:
    """The bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def built(folder: Path) -> tuple[Path, Path]:
    """The wheels of the package and of the recorded answers."""
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([*words, str(ROOT), str(ROOT / "tests" / "vectors")], check=True)
    (wheel,), (answers,) = folder.glob("ptxspec-*.whl"), folder.glob("ptxspec_vectors-*.whl")
    return wheel, answers


def recorded(home: Path, elsewhere: Path, answers: Path) -> None:
    """The recorded answers are held against the definitions where they are installed, and where not, it is said what to install."""
    cache = home.parent / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "HOME": str(home.parent / "home")}
    environment.pop("PYTHONPATH", None)

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        start = [str(home / "bin" / "python"), "-m", "ptxspec"]
        return subprocess.run([*start, *words], cwd=elsewhere, capture_output=True, text=True, env=environment)

    found = command("vectors", "check", "--recorded")
    assert found.returncode == 2 and "pip install ./tests/vectors" in found.stderr
    install = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(answers)]
    subprocess.run(install, check=True)
    found = command("vectors", "check", "--recorded", "-o", "bfe", "-o", "vote")
    assert found.returncode == 0 and "0 forms differ; 0 forms were not answered" in found.stdout, found.stderr
    found = command("ledger")
    assert (found.returncode, found.stderr) == (0, "") or "ledger --update" in found.stderr  # what was computed before
    assert {path.name.split("-")[0] for path in cache.rglob("*-*")} == {"forms", "parser"}  # and nothing of a ledger


def test_versions_are_one() -> None:
    """The answers belong to the forms: the extra names the data package of the very version."""
    own, data = (tomllib.loads((ROOT / folder / "pyproject.toml").read_text()) for folder in ("", "tests/vectors"))
    assert own["project"]["version"] == data["project"]["version"] == ptxspec.__version__
    assert own["project"]["optional-dependencies"]["vectors"] == [f"{data['project']['name']}=={ptxspec.__version__}"]
    assert f"\nversion: {ptxspec.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert data["project"]["name"].replace("-", "_") == PACKAGE
    carried = data["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert set(carried) == {path.name for path in FOLDER.iterdir() if path.name != "pyproject.toml"}
