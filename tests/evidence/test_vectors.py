"""The definitions under the profile hopper give what an H200 gave, on every recorded row of every form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ptxspec
from ptxspec.evidence import vectors
from ptxspec.language.forms import registry

ANSWERS = vectors.read()
OPCODES = sorted({f.syntax.opcode for f in ptxspec.forms() if vectors.comparable(f)})


@pytest.mark.parametrize("opcode", OPCODES)
def test_the_recorded_answers_are_the_definitions(opcode: str) -> None:
    assert ANSWERS is not None
    count, differences = vectors.compare(ptxspec.forms(opcode), ANSWERS)
    assert count >= vectors.ROWS
    assert not differences, "\n".join(map(str, differences[:5]))


def test_every_comparable_form_was_answered() -> None:
    assert ANSWERS is not None
    wanted = {str(f) for f in ptxspec.forms() if vectors.comparable(f)}
    assert wanted == set(ANSWERS.values)
    assert all(len(v) == vectors.ROWS for v in ANSWERS.values.values())
    assert ANSWERS.facts["device"] == "NVIDIA H200" and ANSWERS.facts["profile"] == "hopper"


def test_where_the_assembler_disagrees_with_itself_is_in_the_register() -> None:
    """The only differences between -O0 and -O3 are NaNs of conversions that change nothing (AMB-011)."""
    assert ANSWERS is not None
    levels = {d["form"] for d in ANSWERS.facts["differences"] if d["levels"]}
    assert levels == {"cvt.f32.f32 d, a;", "cvt.f64.f64 d, a;"}
    text = Path(registry().pages["ptxspec.spec.ambiguities"].__file__).read_text()
    entry = text[text.index("## AMB-011") : text.index("## AMB-012")]
    assert "-O0" in entry and "cvt.f32.f32" in entry and "cvt.f64.f64" in entry


def test_a_wrong_answer_is_found() -> None:
    assert ANSWERS is not None
    name = "bfe.s32 d, a, b, c;"
    wrong: dict[str, Any] = {name: ANSWERS.values[name].copy()}
    wrong[name][7] ^= 1
    count, differences = vectors.compare(ptxspec.forms("bfe"), vectors.Answers(ANSWERS.facts, wrong))
    assert count == vectors.ROWS and len(differences) == 1 and differences[0].form == name


def test_answers_that_were_changed_are_refused(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text((vectors.H200 / "answers.json").read_text())
    (tmp_path / "answers.npz").write_bytes((vectors.H200 / "answers.npz").read_bytes() + b"x")
    with pytest.raises(ValueError, match="digest"):
        vectors.read(tmp_path)
    assert vectors.read(tmp_path / "nowhere") is None
