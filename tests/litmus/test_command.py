"""`ptxspec litmus`: one test, several, whole folders; text, JSON and pictures; and the exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ptxspec.cli import main

SB = """PTX SB
{ x = 0; y = 0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak x, 1   | st.weak y, 1   ;
 fence.FENCE.gpu | fence.FENCE.gpu ;
 ld.weak r0, y  | ld.weak r0, x  ;
QUANTIFIER (P0:r0 == 0 /\\ P1:r0 == 0)
"""


def sb(fence: str, quantifier: str = "exists") -> str:
    return SB.replace("FENCE", fence).replace("QUANTIFIER", quantifier)


def called(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["litmus", *words], input=text)


def test_allowed_with_an_execution() -> None:
    result = called("-", text=sb("acq_rel"))
    assert result.exit_code == 0
    assert "SB: allowed in PTX 9.1; the exists condition holds" in result.output
    assert "reads 0 from (y = 0)" in result.output and "in the end P0:r0 = 0, P1:r0 = 0" in result.output


def test_forbidden_with_the_axiom_and_why() -> None:
    result = called("-", text=sb("sc"))
    assert result.exit_code == 1
    assert "SB: forbidden in PTX 9.1; the exists condition does not hold" in result.output
    assert "Causality is broken by 2 executions" in result.output and "P1.2 synchronizes with P0.2" in result.output
    assert called("-", text=sb("sc", "~exists")).exit_code == 0


def test_by_a_solver_and_as_json() -> None:
    report = json.loads(called("-", "--by", "solver", "--json", text=sb("sc")).output)
    assert (report["status"], report["holds"], report["file"]) == ("forbidden", False, "-")
    report = json.loads(called("-", "--json", text=sb("acq_rel")).output)
    assert report["witness"]["final"] == {"P0:r0": 0, "P1:r0": 0}


def test_folders_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "a.litmus").write_text(sb("sc", "~exists"))
    (tmp_path / "d.litmus").write_text(sb("acq_rel", "~exists"))
    (tmp_path / "c.litmus").write_text("PTX broken")
    (tmp_path / "no test.txt").write_text("nothing")
    result = called(str(tmp_path))
    lines = [line.split("\t") for line in result.output.splitlines()]
    assert result.exit_code == 1 and [line[1] for line in lines] == ["forbidden", "error", "allowed"]
    assert lines[0][2:] == ["holds", "Causality"] and lines[2][2] == "does not hold" and "expected {" in lines[1][3]
    (tmp_path / "c.litmus").unlink()
    assert called(str(tmp_path)).exit_code == 1
    reports = json.loads(called(str(tmp_path), "--json").output)["tests"]
    assert [report["holds"] for report in reports] == [True, False]


def test_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "sb.svg"
    assert called("-", "--svg", str(picture), text=sb("acq_rel")).exit_code == 0
    assert picture.read_text().startswith("<svg")
    result = called("-", "--svg", str(tmp_path / "none.svg"), text=sb("sc"))
    assert result.exit_code == 2 and "no execution has the outcome" in result.output


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (["-", "--model", "5.0"], sb("sc"), "no edition with a memory model"),
        (["-", "--loops", "-1"], sb("sc"), "0 to 100"),
        (["-", "--timeout", "0"], sb("sc"), "--timeout"),
        (["-"], "PTX\n{", "-:2: expected }"),
        (["-"], sb("sc").replace("gpu 0 | P1", "gpu 0 | P2"), "expected P1@"),
        (["-", "--model", "8.5"], sb("acquire"), "8.6"),
        (["nowhere.litmus"], "", "nowhere.litmus"),
        (["-", "-"], sb("sc"), "once only"),
    ],
)
def test_what_is_wrong(words: list[str], text: str, message: str) -> None:
    result = called(*words, text=text)
    assert result.exit_code == 2 and message in result.output


def test_an_empty_folder(tmp_path: Path) -> None:
    result = called(str(tmp_path))
    assert result.exit_code == 2 and "no file in it ends with .litmus" in result.output
