"""The wheel works away from the checkout: built, installed into an empty environment, and run there."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_the_wheel_runs_in_an_empty_environment(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("ptxspec-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "ptxspec/documents/spec/instructions/integer/bfe.md" in names
    assert any(n.startswith("ptxspec/documents/proofs/") for n in names)
    assert not any("__pycache__" in n for n in names)
    home = tmp_path / "environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
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
