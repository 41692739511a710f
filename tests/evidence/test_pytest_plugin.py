"""The plugin for pytest, in a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ptxspec
from ptxspec.evidence import vector_files

PLUGIN = "ptxspec.evidence.pytest_plugin"
KERNELS = '''
import numpy as np
import pytest

DOUBLE = """.version 8.0 .target sm_80 .address_size 64
.visible .entry double(.param .u64 p) { .reg .b64 a; .reg .b32 n, i;
  ld.param.u64 a, [p]; mov.u32 i, %tid.x; mad.wide.u32 a, i, 4, a; ld.global.u32 n, [a]; add.u32 n, n, n; st.global.u32 [a], n; ret; }"""

@pytest.mark.parametrize("engine", ["native", "exact"])
def test_double(ptx_kernel, engine):
    x = np.arange(8, dtype=np.uint32)
    (left,) = ptx_kernel(DOUBLE, [x], [2 * np.arange(8)], block=8, engine=engine)
    assert left is x

def test_from_a_file(ptx_kernel, tmp_path):
    path = tmp_path / "double.ptx"
    path.write_text(DOUBLE)
    ptx_kernel(path, [np.ones(1, np.uint32)], [[2.1]], entry="double", rtol=0.1)
    with pytest.raises(AssertionError, match="argument 0"):
        ptx_kernel(path, [np.ones(1, np.uint32)], [[3]])
    with pytest.raises(TypeError, match="1 expected"):
        ptx_kernel(path, [np.ones(1, np.uint32), 3], [None])
'''


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *arguments]
    where = {**os.environ, "PYTHONPATH": str(Path(ptxspec.__file__).parents[1])}
    return subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True)


@pytest.mark.slow
def test_kernels_are_launched_and_compared(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(KERNELS)
    found = run(tmp_path)
    assert found.returncode == 0 and "3 passed" in found.stdout, found.stdout


@pytest.mark.parametrize("wrong", [False, True])
def test_results_in_vector_files_are_tests(tmp_path: Path, wrong: bool) -> None:
    folder = tmp_path / "vectors"
    vector_files.write(folder, ["brev"])
    path = folder / "brev.jsonl"
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    for line in lines:
        line["results"] = line["expected"]
    if wrong:
        lines[0]["results"][3] = ["0x5"]
    path.write_text("\n".join(map(json.dumps, lines)))
    found = run(tmp_path, "--ptx-vectors", "vectors")
    assert found.returncode == int(wrong), found.stdout
    if wrong:
        assert "1 of " in found.stdout and "brev.b32 d, a;" in found.stdout and "expected 0x" in found.stdout
    else:
        assert "1 passed" in found.stdout


def test_a_folder_without_results(tmp_path: Path) -> None:
    found = run(tmp_path, "--ptx-vectors", ".")
    assert found.returncode == 4 and "has no file <opcode>.jsonl" in found.stdout + found.stderr
