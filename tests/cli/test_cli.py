"""The command: what it prints, in text and as JSON, and its exit status."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ptxspec.cli import main

SAXPY = Path(__file__).resolve().parents[2] / "docs" / "examples" / "saxpy" / "saxpy.ptx"


def call(*words: str, status: int = 0, stdin: bytes | None = None) -> str:
    result = CliRunner().invoke(main, list(words), input=stdin)
    assert result.exit_code == status, result.output
    return result.output


def asked(*words: str, status: int = 0) -> Any:
    return json.loads(call(*words, "--json", status=status))


def test_check() -> None:
    assert "no errors" in call("check", str(SAXPY))
    assert asked("check", str(SAXPY))["kernels"]["saxpy"]["parameters"][0].startswith("saxpy_param")


def test_check_reports_where(tmp_path: Path) -> None:
    bad = tmp_path / "bad.ptx"
    bad.write_text(SAXPY.read_text().replace("fma.rn.f32", "fma.rx.f32"))
    output = call("check", str(bad), status=1)
    assert "there is no fma.rx.f32; the nearest forms are fma.r" in output and f"{bad}:" in output
    (found,) = asked("check", str(bad), status=1)["diagnostics"]
    assert found["page"] == "spec/instructions/floating/fma.md" and found["column"] == 2


def test_check_reads_standard_input() -> None:
    assert "no errors" in call("check", "-", stdin=SAXPY.read_bytes())
    assert "expected '.version', not" in call("check", "-", status=1, stdin=b"garbage")
    assert "-:1:1: cannot read" in call("check", "-", status=1, stdin=b"\xff\xfe garbage")


def test_check_of_several_files(tmp_path: Path) -> None:
    """All complaints about all files, of syntax and of what instructions there are."""
    bad = tmp_path / "bad.ptx"
    lines = SAXPY.read_text().replace("fma.rn.f32", "fma.rx.f32").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "cvta" in line)
    lines[at : at + 1] = ["\tmov.u32 %r1 5;\n", "\tmov.u32 , %r1;\n", lines[at]]
    bad.write_text("".join(lines))
    report = asked("check", str(SAXPY), str(bad), status=1)["files"]
    assert report[0]["kernels"].keys() == {"saxpy"} and not report[0]["diagnostics"]
    found = report[1]["diagnostics"]
    assert [d["line"] for d in found][:2] == [at + 1, at + 2] and "there is no fma.rx.f32" in found[-1]["message"]
    assert len(found) == 3 and all(d["page"].startswith("spec/") for d in found)
    output = call("check", str(SAXPY), str(bad), status=1)
    assert f"{SAXPY}: no errors" in output and f"{bad}: 3 errors" in output


def test_format(tmp_path: Path) -> None:
    file = tmp_path / "some.ptx"
    file.write_text(".version 9.0 .target sm_90 .entry k() {ret ; // the end\n}")
    assert str(file) in call("format", "--check", str(file), status=1)
    laid_out = call("format", str(file))
    assert "    ret;  // the end\n}" in laid_out
    assert asked("format", str(file))["text"] == laid_out
    call("format", "-i", str(file))
    assert file.read_text() == laid_out
    assert call("format", "--check", str(file)) == ""
    file.write_text(".version 9.0 .target sm_90 .entry k() {ret }")
    assert "expected" in call("format", "-i", str(file), status=1)
    assert file.read_text().endswith("{ret }")


def test_run(tmp_path: Path) -> None:
    words = [
        "run",
        str(SAXPY),
        "-g",
        "2",
        "-b",
        "32",
        "-a",
        "u32=50",
        "-a",
        "f32=2",
        "-a",
        "f32[50]=arange",
        "-a",
        "f32[50]=arange",
    ]
    found = asked(*words, "--save", f"3={tmp_path / 'y.npy'}")
    assert found["changed"].keys() == {"3"} and found["thread_instructions"] > 64
    assert np.array_equal(np.load(tmp_path / "y.npy"), 3 * np.arange(50, dtype=np.float32))
    assert "argument 3: [  0." in call(*words, "--engine", "exact")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["-a", "u32=50"], "takes 4 arguments"),
        (["-a", "q=1"], "is not type=value"),
        (["-g", "x"], "extents are one to three numbers"),
        (["-k", "nope"], "no entry is called 'nope'"),
        (["-c", "q"], "extents are one to three numbers"),
        (["-g", "3", "-c", "2"], "no multiple of the cluster (2, 1, 1)"),
        (["-g", "16", "--cluster", "16"], "nonportable_cluster"),
        (["-a", "@missing.npy"], "missing.npy"),
    ],
)
def test_run_refuses(words: list[str], what: str) -> None:
    assert what in call("run", str(SAXPY), *words, status=2)


def test_run_in_clusters(tmp_path: Path) -> None:
    file = tmp_path / "ranks.ptx"
    file.write_text(
        ".version 8.0 .target sm_90 .address_size 64 .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %p<3>;"
        "ld.param.u64 %p0, [out]; mov.u32 %r0, %ctaid.x; mad.wide.u32 %p1, %r0, 4, %p0; mov.u32 %r1, %cluster_ctarank;"
        "mov.u32 %r2, %cluster_nctarank; mad.lo.u32 %r1, %r2, 100, %r1; st.global.u32 [%p1], %r1; ret; }"
    )
    words = ["run", str(file), "-g", "6", "-a", "u32[6]=zeros"]
    assert asked(*words, "--cluster", "3")["changed"]["0"] == [300, 301, 302, 300, 301, 302]
    assert asked(*words, "-c", "1,1")["changed"]["0"] == [100] * 6
    many = ["run", str(file), "-g", "16", "-a", "u32[16]=zeros", "-c", "16", "--nonportable-cluster"]
    assert asked(*many)["changed"]["0"] == [1600 + i for i in range(16)]


def test_run_reports_a_fault() -> None:
    words = ["-g", "2", "-b", "32", "-a", "u32=50", "-a", "f32=2", "-a", "f32[10]=arange", "-a", "f32[50]=arange"]
    output = call("run", str(SAXPY), *words, status=1)
    assert "out of bounds" in output and "ld.global.f32" in output and "thread (10, 0, 0)" in output


def test_eval() -> None:
    assert call("eval", "bfe.s32 d, a, b, c;", "a=0x80", "b=4", "c=8").startswith(
        "d = 8 (signed, .s32)  8 (unsigned)  0x00000008 (hex)"
    )
    found = asked("eval", "add.f32 d, a, b", "a=1.5", "b=-1.5")
    assert found["results"]["d"] == {"type": ".f32", "hex": "0x00000000", "unsigned": 0, "signed": 0, "float": 0.0}
    assert asked("eval", "div.u32 d, a, b;", "a=1", "b=0")["chosen"][0]["entry"] == "division-by-zero"
    assert "nearest forms" in call("eval", "bfe.s16 d, a, b, c;", status=1)
    assert "is not name=value" in call("eval", "neg.s32 d, a;", "a", status=2)
    assert "has an effect" in call("eval", "ld.global.u32 d, [a];", status=1)


def test_prove() -> None:
    assert call("prove", "add.u32 d, a, b;", "add.u32 d, b, a;").startswith("proved")
    output = call("prove", "shl.b32 d, a, b;", "and.b32 n, b, 31; shl.b32 d, a, n;", status=1)
    assert output.startswith("refuted") and "spec/instructions/logic/shl.md" in output
    assert asked("prove", "abs.s32 d, a;", "mov.b32 d, a;", "-a", "signed(a) >= 0")["status"] == "proved"
    assert asked("prove", "bar.sync 0;", "mov.u32 d, a;", status=2)["status"] == "unsupported"
    assert "no condition" in call("prove", "mov.u32 d, a;", "mov.u32 d, a;", "-a", "a ==", status=2)


def test_forms() -> None:
    output = call("forms", "bfe")
    assert "bfe.s64 d, a, b, c;" in output and "PTX 2.0 sm_20" in output and output.endswith("4 forms\n")
    assert asked("forms", "setp.eq.u32")[0]["operands"] == {"q": ".pred", "p": ".pred", "a": ".u32", "b": ".u32"}
    assert asked("forms")["bfe"] == 4
    assert "until PTX 6.4, sm_70" in call("forms", "shfl.up") and "until" not in call("forms", "shfl.sync")
    assert asked("forms", "vote.all")[0]["removed"] == "PTX 6.4, sm_70" and asked("forms", "bfe")[0]["removed"] is None
    assert "no page defines 'frob'" in call("forms", "frob", status=1)
    assert "PTX has 136 opcodes: 125 are described, 9 in part and 2 not; 18 families" in call("forms")
    copies = call("forms", "cp")
    assert "not described: cp: a copy of chosen bytes (PTX 8.6, sm_100), spec/gaps.md" in copies
    assert copies.count("not described: ") == 3 and "not described" not in call("forms", "bfe")


def test_eval_loads_no_solver() -> None:
    """Nor anything else that takes long to load."""
    code = (
        "import sys; from ptxspec.cli import main; main(['eval', 'add.f32 d, a, b;', 'a=1', 'b=2'], standalone_mode=False); "
        "print([m for m in ('z3', 'llvmlite', 'numpy', 'rich', 'sympy', 'sphinx') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_help_loads_nothing() -> None:
    code = (
        "import sys; from ptxspec.cli import main; main(['--help'], standalone_mode=False); "
        "print([m for m in sys.modules if m.split('.')[0] in ('z3', 'llvmlite', 'numpy', 'rich', 'sympy', 'markdown_it')"
        " or m.startswith(('ptxspec.spec', 'ptxspec.terms', 'ptxspec.language'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]" and re.search(r"vectors +Operands", run.stdout)
