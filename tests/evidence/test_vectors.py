"""The record of an H200's answers to functions of values, which test_agreement.py compares with the definitions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec.evidence.kernels import operand_rows, signatures
from ptxspec.evidence.vector_contents import opcodes
from ptxspec.language.forms import registry
from ptxspec_workshop.record import stored_answers
from ptxspec_workshop.record.families import CLUSTERS, EFFECTS, FUNCTIONS

ANSWERS = FUNCTIONS.read()


@pytest.mark.slow
def test_every_answer_is_of_a_form_that_is_compared() -> None:
    """None is left over, as it would be if a page lost a form, or if a form became one that is not compared."""
    assert ANSWERS is not None
    assert set(ANSWERS.values) <= {str(v) for f in ptxspec.forms() if signatures.comparable(f) for v in f.variants}
    plain = {str(f) for f in ptxspec.forms()}
    rows = {n: operand_rows.ROWS if n in plain else operand_rows.VARIANT_ROWS for n in ANSWERS.values}
    assert all(len(v) == rows[n] for n, v in ANSWERS.values.items())
    assert ANSWERS.facts["device"] == "NVIDIA H200" and ANSWERS.facts["profile"] == "hopper"


def test_where_the_assembler_disagrees_with_itself_is_in_the_register() -> None:
    """The only differences between -O0 and -O3 are NaNs of conversions that change nothing (AMB-011), and of sums of double
    precision in shared memory (AMB-088)."""
    assert ANSWERS is not None
    found = {d["form"] for d in ANSWERS.facts["differences"]}
    conversions = {"cvt.f32.f32 d, a;", "cvt.f64.f64 d, a;"}
    spaces = ("shared", "shared::cta", "shared::cluster")
    assert found == conversions | {
        f"{opcode}.{ss}.add.f64 {operands};"
        for ss in spaces
        for opcode, operands in (("atom", "d, [a], b"), ("red", "[a], b"))
    }
    assert all(d["levels"] and not d["O3"] for d in ANSWERS.facts["differences"])
    text = Path(registry().pages["ptxspec.spec.ambiguities"].__file__).read_text()
    for number, names in (("011", ("cvt.f32.f32", "cvt.f64.f64")), ("088", ("red.shared.add.f64",))):
        entry = text[text.index(f"## AMB-{number}") :].split("\n## ")[0]
        assert "-O0" in entry and all(name in entry for name in names)


@pytest.mark.slow
def test_what_the_readme_shows_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python in the README of the answers, from top to bottom, in its folder."""
    folder = DOCUMENTS / "tests" / "vectors"
    monkeypatch.chdir(folder)
    fences = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.S)
    names: dict[str, Any] = {}
    for text in fences:
        exec(text, names)
    assert len(fences) == 11
    assert names["digest_of"](names["answers_here"]([names["program"]])[0]) == names["read"]().digests[17][1]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Columns that are alike are stored once, each as narrow as its values allow."""
    source = np.random.default_rng(5)
    wide = source.integers(0, 1 << 64, (64, 2), dtype=np.uint64)
    values = {
        "x.b64 d|e, a;": wide,
        "x.b32 d, a;": wide[:, 1:] >> np.uint64(32),
        "x.b8 d, a;": wide[:, :1] & np.uint64(255),
        "x.pred p, a;": np.zeros((512, 1), np.uint8),
        "y.b64 d, a;": wide[:, :1],
    }
    differences = [{"form": "x.b8 d, a;", "rows": 64, "O0": 1, "O3": 0, "levels": 1}]
    stored_answers.write(tmp_path, {"device": "none"}, values, differences)
    again = FUNCTIONS.read(tmp_path)
    assert again is not None and list(again.values) == list(values)
    for name, expected in values.items():
        assert np.array_equal(again.values[name], expected)
    assert again.facts["differences"] == differences and again.facts["device"] == "none"
    assert again.facts["forms"]["y.b64 d, a;"] == again.facts["forms"]["x.b64 d|e, a;"][:1]
    with np.load(tmp_path / "answers.npz") as stored:
        sizes = {name: (stored[name].itemsize, len(stored[name])) for name in stored.files}
    assert sizes == {"columns": (4, 5), "u8": (8, 128), "u4": (4, 64), "u1": (1, 576)}


def test_a_wrong_answer_is_found() -> None:
    assert ANSWERS is not None
    name = "bfe.s32 d, a, b, c;"
    wrong: dict[str, Any] = {name: ANSWERS.values[name].copy()}
    wrong[name][7] ^= 1
    count, differences = FUNCTIONS.compare(ptxspec.forms("bfe"), stored_answers.Answers(ANSWERS.facts, wrong))
    assert count == operand_rows.ROWS and len(differences) == 1 and differences[0].form == name


def test_answers_that_were_changed_are_refused(tmp_path: Path) -> None:
    for family in (FUNCTIONS, EFFECTS, CLUSTERS):
        folder = family.folder()
        facts, data = (folder / "answers.json").read_text(), (folder / "answers.npz").read_bytes()
        (tmp_path / "answers.json").write_text(facts)
        (tmp_path / "answers.npz").write_bytes(data + b"x")
        with pytest.raises(ValueError, match="digest"):
            FUNCTIONS.read(tmp_path)
        (tmp_path / "answers.npz").write_bytes(data)
        less = json.loads(facts)
        less["forms"].popitem()
        (tmp_path / "answers.json").write_text(json.dumps(less))
        with pytest.raises(ValueError, match="not those that were recorded"):
            FUNCTIONS.read(tmp_path)
    assert FUNCTIONS.read(tmp_path / "nowhere") is None


@pytest.mark.long
def test_which_opcodes_have_vectors() -> None:
    """As all forms say; the effect of one form of a definition is taken for that of all."""
    every = registry().opcodes.items()
    assert opcodes() == [o for o, own in sorted(every) if any(map(signatures.comparable, own.forms))]
