"""Vectors: what a GPU answered for every form, and whether the definitions give the same.

A folder holds `answers.npz`, an array a form (a row an operand row, a column a result, raw bits), and `answers.json` with the
device, the driver, the assembler, the date, the seed and the digest of the former. The operand rows are not stored: `table_of`
makes them again from the seed. `tests/vectors/README.md` describes the format for other implementations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.agreement import inputs_of, pure, run_native
from ptxspec.evidence.kernels import IMMEDIATE
from ptxspec.evidence.operands import rows
from ptxspec.language.forms import Form
from ptxspec.literate.finder import DOCUMENTS
from ptxspec.terms.definitions import Immediate, Meaning
from ptxspec.terms.profiles import Profile

ROWS = 512
SEED = "vectors"
#: the answers that are kept with the project
H200 = DOCUMENTS / "tests" / "vectors" / "h200"


def comparable(form: Form) -> bool:
    """Whether the form is a function of its operands on every machine."""
    return pure(form) and not form.definition.gives_addresses


def table_of(form: Form, meaning: Meaning) -> list[tuple[int, ...]]:
    """The operand rows of a form, reproducible from the seed. An operand that must be a constant is the kernel's."""
    inputs = inputs_of(meaning)
    found = rows([t for _, t in inputs], ROWS, f"{SEED}:{form.mnemonic}")
    for i, (name, _) in enumerate(inputs):
        parameter = form.definition.sources.get(name)
        if parameter is not None and isinstance(parameter.annotation, Immediate):
            found = [(*row[:i], IMMEDIATE, *row[i + 1 :]) for row in found]
    return found


class Answers(NamedTuple):
    """A folder of vectors, read."""

    facts: dict[str, Any]
    values: dict[str, np.ndarray]


def read(folder: Path = H200) -> Answers | None:
    """The vectors of a folder, or None if there are none. Raises ValueError if they are not what was recorded."""
    if not (folder / "answers.json").is_file():
        return None
    facts = json.loads((folder / "answers.json").read_text())
    data = (folder / "answers.npz").read_bytes()
    if hashlib.sha256(data).hexdigest() != facts["digest"]:
        raise ValueError(f"{folder}: the answers' digest is not the recorded one")
    with np.load(folder / "answers.npz") as stored:
        return Answers(facts, {name: stored[name] for name in stored.files})


class Difference(NamedTuple):
    """One row on which the definitions, under a profile, give something else than the GPU did."""

    form: str
    operands: tuple[int, ...]
    ours: tuple[int, ...]
    gpu: tuple[int, ...]

    def __str__(self) -> str:
        shown = [", ".join(map(hex, values)) for values in (self.operands, self.ours, self.gpu)]
        return f"{self.form} of {shown[0]}: the definition gives {shown[1]}, the GPU {shown[2]}"


def compare(forms: Iterable[Form], answers: Answers) -> tuple[int, list[Difference]]:
    """(rows compared, rows that differ) over those of the forms that were answered."""
    own = [f for f in forms if str(f) in answers.values and comparable(f)]
    meanings = [f.meaning() for f in own]
    tables = [table_of(f, m) for f, m in zip(own, meanings, strict=True)]
    choose = Profile(answers.facts["profile"]).term
    found: list[Difference] = []
    count = 0
    for form, table, computed in zip(own, tables, run_native(meanings, tables, choose) if own else [], strict=True):
        want = answers.values[str(form)]
        ours = np.stack([c.astype(np.uint64) for c in computed], axis=1)
        count += len(table)
        for i in np.flatnonzero((ours != want.astype(np.uint64)).any(axis=1)):
            found.append(Difference(str(form), table[i], tuple(map(int, ours[i])), tuple(map(int, want[i]))))
    return count, found
