"""`ptxspec prove` with files, buffers, loops and warps."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from ptxspec.cli import main

ADD = "ld.global.u32 x, [p+4]; add.u32 x, x, 1; st.global.u32 [p+4], x;"
LOOP = "mov.u32 s, 0; mov.u32 i, 0; L: setp.ge.u32 q, i, n; @q bra E; add.u32 s, s, 3; add.u32 i, i, 1; bra L; E:"


def asked(*arguments: str, status: int) -> str:
    result = CliRunner().invoke(main, ["prove", *arguments])
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.slow
def test_buffers() -> None:
    atomic = "atom.global.add.u32 y, [p+4], 1;"
    assert asked(ADD, atomic, "--buffer", "p=64 private", status=0).startswith("proved")
    said = asked(ADD, atomic, "--buffer", "p=64", status=1)
    assert said.startswith("refuted") and "exists" in said  # a program that tells
    assert asked(ADD, atomic, "--buffer", "p=64", "--alone", status=0).startswith("proved")
    said = asked(ADD, "atom.global.add.u32 y, [p+8], 1;", "-b", "p=64", status=1)
    assert "p[4..11] = 0x00" in said
    assert "the address points to (p) is not said" in asked(ADD, "mov.u32 x, 1;", status=2)


def test_the_help_has_every_property_of_a_buffer() -> None:
    """Each with an example, which the option accepts."""
    help = " ".join(asked("--help", status=0).partition("--buffer")[2].partition("--compare")[0].split())
    examples = re.findall(r"\bp=('[^']*'|\w+)", help)
    assert {word for one in examples for word in re.findall(r"[a-z-]+", one)} == {
        "shared",
        "align",
        "read-only",
        "private",
    }
    load = "ld{}.u32 x, [p];"
    for one in examples:
        text = load.format(".shared" if "shared" in one else ".global")
        assert asked(text, text, "--buffer", "p=" + one.strip("'"), status=0).startswith("proved")


@pytest.mark.parametrize(("said", "why"), [("p", "a name and so many bytes"), ("p=x", "a buffer is so many bytes")])
def test_a_buffer_that_cannot_be_read(said: str, why: str) -> None:
    assert why in asked(ADD, ADD, "--buffer", said, status=2)
    assert "given twice" in asked(ADD, ADD, "-b", "p=4", "-b", "p=8", status=2)


def test_files(tmp_path: Path) -> None:
    left, right = tmp_path / "left.ptx", tmp_path / "right.txt"
    left.write_text("@p bra L; mov.u32 d, 1; ret;\nL: mov.u32 d, 2;")
    right.write_text("selp.b32 d, 2, 1, p;")
    assert asked(str(left), f"@{right}", status=0).startswith("proved")
    right.write_text("selp.b32 d, 1, 2, p;")
    assert "they differ in d" in asked(str(left), f"@{right}", status=1)
    assert "No such file" in asked(f"@{tmp_path / 'none.ptx'}", "mov.u32 d, 1;", status=2)
    assert asked("@p mov.u32 d, 1;", "@!p bra E; mov.u32 d, 1; E:", status=0)


def test_loops_and_invariants() -> None:
    assert "beyond 3 iterations" in asked(LOOP, "mul.lo.u32 s, n, 3;", "--unroll", "3", status=2)
    claim = "i <= n and s == (3*i & 0xffffffff)"
    assert asked(LOOP, "mul.lo.u32 s, n, 3;", "--invariant", claim, status=0)
    assert "unroll is an integer" in asked(LOOP, "mul.lo.u32 s, n, 3;", "--unroll", "0", status=2)


def test_warps() -> None:
    twice = "shfl.sync.bfly.b32 x, a, 5, 31, -1; shfl.sync.bfly.b32 d, x, 5, 31, -1;"
    assert asked(twice, "mov.b32 d, a;", "--warp", status=0)
    assert "ask with warp=True" in asked(twice, "mov.b32 d, a;", status=2)
    found = json.loads(asked(twice, "not.b32 d, a;", "--warp", "--json", status=1))
    assert found["counterexample"]["inputs"]["a[0]"]["type"] == ".b32"
