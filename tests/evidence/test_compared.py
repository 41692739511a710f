"""How many of 2^32 operands differ from a GPU's answers: the ledger says it, and of the forms it names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approximations import approximate_forms
from click.testing import CliRunner

import ptxspec
from ptxspec.cli import main
from ptxspec.evidence import compiled_loops, ledger, precomputed
from ptxspec.terms.profiles import Profile
from ptxspec_workshop.compare import checksums
from ptxspec_workshop.generate import multifunction_operands
from ptxspec_workshop.record import multifunction_answers
from ptxspec_workshop.site import evidence_section as shown

#: those of early modules are said in terms of others
APPROXIMATE = {f.mnemonic: f for f in approximate_forms() if f.removal is None}
RCP = "ptxspec.spec.instructions.floating.rcp"


def test_every_comparison_is_of_an_approximate_form() -> None:
    """None is left over, as it would be if a page lost a form. Forms that were not compared are counted in the ledger."""
    found = multifunction_answers.comparisons()
    kept = json.loads((multifunction_answers.KEPT / "compared.json").read_text())
    assert (
        set(found)
        == set(kept["differing"])
        == set(multifunction_answers.read().facts["instructions"])
        <= set(APPROXIMATE)
    )
    assert all(one.operands == 1 << 32 and one.differing == 0 for one in found.values())
    assert str(found["rcp.approx.f32"]) == "0 of 4,294,967,296 operands differ"


@pytest.fixture(scope="module")
def compiled() -> dict[str, Callable[[list[np.ndarray]], np.ndarray]]:
    """The forms themselves, with the choices of the profile, as compiled code."""
    names = [f.instruction for f in multifunction_operands.FUNCTIONS]
    meanings = [APPROXIMATE[n].meaning() for n in names]
    loops = compiled_loops.compile_loops(meanings, Profile("hopper").term, level=2)
    return {n: lambda columns, loop=loop: loop(columns)[0] for n, loop in zip(names, loops, strict=True)}  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("function", multifunction_operands.FUNCTIONS, ids=lambda f: f.instruction)
def test_what_was_compared_is_what_the_form_gives(
    function: multifunction_operands.MultifunctionInstruction, compiled: dict[str, Any]
) -> None:
    """The pages of the unit were compared. The forms choose them, but decide about zeros, infinities and NaNs themselves: here
    are the samples, the subnormal numbers, and the NaNs."""
    answers = multifunction_answers.read()
    run = compiled[function.instruction]
    columns = [answers.samples[f"{function.kind}{j}"] for j in range(2 if function.kind == "pair" else 1)]
    assert np.array_equal(run(columns), answers.answers[function.instruction])
    for block in (0, 511):
        want = int(answers.blocks[function.instruction][block])
        assert checksums.checksum(function, run, block) == want


def test_a_comparison_of_other_answers_or_tables_counts_for_nothing(tmp_path: Path) -> None:
    for name in ("summary.json", "compared.json"):
        shutil.copy(multifunction_answers.KEPT / name, tmp_path)
    assert multifunction_answers.comparisons(tmp_path) == multifunction_answers.comparisons()
    kept = json.loads((tmp_path / "compared.json").read_text())
    for change in ({"checksums": "0"}, {"tables": kept["tables"] | {"sine": "0"}}):
        (tmp_path / "compared.json").write_text(json.dumps(kept | change))
        assert multifunction_answers.comparisons(tmp_path) == {}
    assert multifunction_answers.comparisons(tmp_path / "nowhere") == {}


def rows_of_rcp(differing: int = 0) -> list[dict[str, Any]]:
    one = multifunction_answers.comparisons()["rcp.approx.f32"]._replace(differing_blocks=differing)
    base = {"opcode": "rcp", "ptxas": True, "interpretations": True, "identities": 0, "gpu": None}
    forms = [f for f in ptxspec.forms("rcp") if f.mnemonic in ("rcp.approx.f32", "rcp.approx.ftz.f32", "rcp.rn.f32")]
    return [
        {**base, "mnemonic": f.mnemonic, "form": str(f), "page": f.page, "approximate": "approx" in f.mnemonic}
        | {"compared": one.as_dict() if f.mnemonic == "rcp.approx.f32" else None}
        for f in forms
    ]


def test_the_page_tells_the_number() -> None:
    text = shown.markdown(RCP, "spec/instructions/floating/rcp", rows_of_rcp())
    assert (
        "`rcp.approx.f32`: 2<sup>32</sup> operands on a GPU | 0 of 4,294,967,296 operands differ on NVIDIA H200" in text
    )
    assert "`rcp.approx.ftz.f32`: 2<sup>32</sup> operands on a GPU | [not compared]{.gap}" in text
    assert "`rcp.rn.f32`" not in text
    text = shown.markdown(RCP, "spec/instructions/floating/rcp", rows_of_rcp(3))
    assert "[3 of 512 blocks of 8,388,608 operands differ]{.gap} on NVIDIA H200" in text


def test_the_command_tells_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "rows", rows_of_rcp)
    monkeypatch.setattr(precomputed, "rows", list)  # nothing was computed before
    output = CliRunner().invoke(main, ["ledger"]).output
    assert "0 of 4,294,967,296 operands differ (NVIDIA H200, " in output and ": every operand)" in output
    assert "rcp.approx.ftz.f32       not compared" in output
    found = json.loads(CliRunner().invoke(main, ["ledger", "--json"]).output)
    assert [row["compared"]["differing"] for row in found["rows"] if row["compared"]] == [0]
    counts = found["summary"]
    assert [
        counts[n] for n in ("approximate forms", "0 of 2^32 differ", "some of 2^32 differ", "2^32 not compared")
    ] == [2, 1, 0, 1]
    assert ledger.summary(rows_of_rcp(1))["some of 2^32 differ"] == 1


def test_new_answers_make_the_ledger_out_of_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = ledger.digest()
    shutil.copytree(
        ledger.DOCUMENTS / "tests" / "vectors" / "multifunction", tmp_path / "tests" / "vectors" / "multifunction"
    )
    for folder in ("spec", "proofs"):
        (tmp_path / folder).symlink_to(ledger.DOCUMENTS / folder)
    monkeypatch.setattr(ledger, "DOCUMENTS", tmp_path)
    monkeypatch.setattr(ledger, "FOLDER", tmp_path / "tests" / "vectors")
    other = ledger.digest()
    path = tmp_path / "tests" / "vectors" / "multifunction" / "compared.json"
    path.write_text(path.read_text() + "\n")
    assert len({before, other, ledger.digest()}) == 3
