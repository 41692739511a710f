"""ptxas 13.0 and 13.5 crash at a guarded setp whose first destination is a sink, as the page says, and at nothing near it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ptxspec.evidence import assembler
from ptxspec_workshop.disputes.kernels import kernel

INPUTS, RESULTS = {"a": "b16", "b": "b16", "p": "pred"}, {"q": "pred"}


def status(path: str, level: int, ptx: str, folder: Path) -> int:
    source = folder / "case.ptx"
    source.write_text(kernel(ptx, INPUTS, RESULTS))
    words = [path, "-arch=sm_90", "-w", f"-O{level}", str(source), "-o", str(folder / "case.cubin")]
    return subprocess.run(words, capture_output=True).returncode


@pytest.mark.parametrize("level", (0, 3))
@pytest.mark.parametrize("version", ("13.0", "13.5"))
def test_a_guarded_comparison_into_a_sink(version: str, level: int, tmp_path: Path) -> None:
    try:
        path = assembler.ptxas() if version == "13.0" else assembler.newest_ptxas()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    if version == "13.0" and assembler.version() != version:
        pytest.skip(f"ptxas {assembler.version()} is not the version that the page speaks of")
    assert status(path, level, "@p setp.ne.u16 _|q, a, b;", tmp_path) < 0  # ended by a signal
    assert status(path, level, "setp.ne.u16 _|q, a, b;", tmp_path) == 0
    assert status(path, level, "@p setp.ne.u16 q|_, a, b;", tmp_path) == 0
