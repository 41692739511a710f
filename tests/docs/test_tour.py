"""The tour, part by part, and in the long run as a whole: how much work it is, and what comes first."""

from __future__ import annotations

import os
import re
import resource
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptxspec.base import storage

ROOT = Path(__file__).resolve().parents[2]
#: two minutes of two cores are 240 s, if both always have something to do; that much less is sure to end in time
SECONDS = 160.0


@pytest.fixture
def tour(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """The tour's names, with a folder of its own for what is kept."""
    monkeypatch.setattr(storage, "kept", lambda name: tmp_path / name)
    return runpy.run_path(str(ROOT / "docs" / "tour.py"))


def test_the_parts_that_answer_at_once(tour: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for part in ("instruction", "questions", "proofs"):
        tour[part]()
    said = capsys.readouterr().out
    assert "0xffffffab" in said and "proved" in said and "refuted: they differ in d" in said
    assert re.search(r"[1-9]\d* identities proved, [1-9]\d* refuted as stated", said)


def test_a_kernel_that_differs_ends_the_tour(tour: dict[str, Any]) -> None:
    tour["kernels"].__globals__["kernel"] = lambda name, engine, size: (1, 0.0, name != "saxpy")
    with pytest.raises(SystemExit, match="saxpy under the exact engine, saxpy under the native engine"):
        tour["kernels"]()


def test_evidence_that_fails_ends_the_tour(tour: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec_workshop.ledger import computing

    row = {"opcode": "bfe", "ptxas": None, "interpretations": True, "gpu": {"agrees": True, "vectors": 7}}
    monkeypatch.setattr(computing, "update", lambda opcodes: [row])
    tour["evidence"]()
    monkeypatch.setattr(computing, "update", lambda opcodes: [{**row, "gpu": {"agrees": False, "vectors": 7}}])
    with pytest.raises(SystemExit, match="not all of it agrees"):
        tour["evidence"]()


@pytest.mark.long
def test_the_tour_is_two_minutes_of_two_cores(tmp_path: Path) -> None:
    """In a fresh checkout, in processor time, since other work may be going on beside a test."""
    copied = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True)
    if copied.returncode:
        pytest.skip("NO GIT: that the tour works in a fresh checkout was NOT tested")
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    subprocess.run(["tar", "-x"], cwd=fresh, input=copied.stdout, check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(fresh / "model")}
    run = subprocess.run([sys.executable, "docs/tour.py"], cwd=fresh, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.index("One instruction.") < run.stdout.index("CUDA kernels") < run.stdout.index("The site")
    assert (fresh / "build" / "site" / "index.html").is_file() and (fresh / "build" / "resized.png").is_file()
    front = (fresh / "build" / "site" / "spec" / "instructions" / "integer" / "bfe.html").read_text()
    assert "not run in this build" not in front
    other = (fresh / "build" / "site" / "spec" / "instructions" / "integer" / "add.html").read_text()
    assert "not run" in other
    assert spent < SECONDS, f"{spent:.0f} s of processor time"
