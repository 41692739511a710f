"""Vectors: what a GPU answered for every form, and whether the definitions give the same.

A folder holds `answers.npz`, in which each distinct column of results stands once, and `answers.json` with the columns of each
form, the device, the driver, the assembler, the date, the seed, and digests of the former and of the list of forms. The operand
rows are not stored: `table_of` makes them again from the seed. `tests/vectors/README.md` describes the format for others.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.agreement import awaited, inputs_of, pure, results_of, run_native, undefined
from ptxspec.evidence.kernels import IMMEDIATE
from ptxspec.evidence.operands import rows
from ptxspec.evidence.recorded import FOLDER
from ptxspec.language.forms import Form
from ptxspec.terms import exact
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Access
from ptxspec.terms.kinds import Immediate
from ptxspec.terms.profiles import Profile

ROWS = 512
#: operand rows of a variant, which has selectors or signs on its operands
VARIANT_ROWS = 64
SEED = "vectors"
#: the answers that are kept with the project
H200 = FOLDER / "h200"


def comparable(form: Form) -> bool:
    """Whether the form is a function of its operands on every machine. Of forms that update memory and differ in their order
    among other accesses alone, which a thread by itself cannot see, the one that states none stands for all."""
    meaning = form.meaning(form.absences[-1])
    ordered = isinstance(meaning.effect, Access) and any(meaning.effect.how.values())
    return pure(form) and not form.definition.gives_addresses and not ordered and not undefined(meaning)


def table_of(form: Form, meaning: Meaning) -> list[tuple[int, ...]]:
    """The operand rows of a form, reproducible from the seed. An operand that must be a constant is the kernel's."""
    inputs = inputs_of(meaning)
    count = ROWS if form.plain else VARIANT_ROWS
    found = rows([t for _, t in inputs], count, f"{SEED}:{form.mnemonic if form.plain else form}")
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
    text, data = (folder / "answers.json").read_text(), (folder / "answers.npz").read_bytes()
    key = str(folder), hashlib.sha256(text.encode()).hexdigest(), hashlib.sha256(data).hexdigest()
    if key not in _read:
        while len(_read) >= MOST_READ:
            del _read[next(iter(_read))]
        _read[key] = _answers(key[0], text, data, key[2])
    facts, values = _read[key]
    return Answers(dict(facts), dict(values))


#: folders that are kept as they were read, which takes longer than to see that nothing has changed
MOST_READ = 8
_read: dict[tuple[str, str, str], Answers] = {}


def _answers(folder: str, text: str, data: bytes, digest: str) -> Answers:
    """What the files of a folder hold."""
    facts = json.loads(text)
    if digest != facts["digest"]:
        raise ValueError(f"{folder}: the answers' digest is not the recorded one")
    if digest_of_forms(facts["forms"]) != facts["forms digest"]:
        raise ValueError(f"{folder}: the forms that were answered are not those that were recorded")
    with np.load(io.BytesIO(data)) as stored:
        by_size = {int(name[1:]): stored[name] for name in stored.files if name != "columns"}
        columns = [by_size[size][start : start + count] for size, start, count in stored["columns"].tolist()]
    values = {form: np.stack([columns[i] for i in own], axis=1) for form, own in facts["forms"].items()}
    for array in values.values():
        array.flags.writeable = False  # there is one of it
    return Answers(facts, values)


def digest_of_forms(forms: Mapping[str, Sequence[int]]) -> str:
    """Of the forms that were answered, and of the numbers of their columns: so that none is lost unseen."""
    return hashlib.sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()


def write(
    folder: Path, facts: dict[str, Any], values: dict[str, np.ndarray], differences: list[dict[str, Any]]
) -> None:
    """Write the vectors of a folder: `values` has an array a form, a column a result; `facts` say who answered."""
    numbers: dict[tuple[int, bytes], int] = {}
    forms: dict[str, list[int]] = {}
    for form, array in values.items():
        forms[form] = []
        for column in array.T:
            size = next(s for s in (1, 2, 4, 8) if int(column.max()) < 1 << 8 * s)
            forms[form].append(numbers.setdefault((size, column.astype(f"<u{size}").tobytes()), len(numbers)))
    lengths = {size: 0 for size, _ in numbers}
    columns = []
    for size, data in numbers:
        columns.append((size, lengths[size], len(data) // size))
        lengths[size] += len(data) // size
    arrays = {
        f"u{size}": np.frombuffer(b"".join(data for s, data in numbers if s == size), f"<u{size}") for size in lengths
    }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "answers.npz", columns=np.array(columns, np.uint32), **arrays)  # type: ignore[arg-type]
    digest = hashlib.sha256((folder / "answers.npz").read_bytes()).hexdigest()
    facts = {**facts, "digest": digest, "forms digest": digest_of_forms(forms)}
    write_facts(folder / "answers.json", facts, forms, differences)


def write_facts(path: Path, facts: dict[str, Any], forms: dict[str, Any], differences: list[dict[str, Any]]) -> None:
    """A file of facts, with a line a fact, a form, and a difference."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in facts.items()]
    for key, left, right, entries in (
        ("differences", "[", "]", [json.dumps(d) for d in differences]),
        ("forms", "{", "}", [f"{json.dumps(n)}:{json.dumps(v, separators=(',', ':'))}" for n, v in forms.items()]),
    ):
        lines.append(f' "{key}": {left}\n' + ",\n".join(entries) + f"\n {right}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


class Difference(NamedTuple):
    """One row on which the definitions, under a profile, give something else than the GPU did; `ours` is None if it was not
    among several results allowed."""

    form: str
    operands: tuple[int, ...]
    ours: tuple[int, ...] | None
    gpu: tuple[int, ...]

    def __str__(self) -> str:
        operands, gpu = (", ".join(map(hex, values)) for values in (self.operands, self.gpu))
        if self.ours is None:
            return f"{self.form} of {operands}: the GPU gives {gpu}, which is not allowed"
        return f"{self.form} of {operands}: the definition gives {', '.join(map(hex, self.ours))}, the GPU {gpu}"


def expected(
    cases: Sequence[tuple[Form, Meaning]], tables: Sequence[list[tuple[int, ...]]], profile: Profile
) -> list[np.ndarray | None]:
    """For each form, its results over its rows (a column a result) under a profile; None where that leaves open an approximate
    result, so that a bound decides (see `wrong`)."""
    chosen = [i for i, (form, _) in enumerate(cases) if not awaited(form, profile)]
    computed = run_native([cases[i][1] for i in chosen], [tables[i] for i in chosen], profile.term) if chosen else []
    found: list[np.ndarray | None] = [None] * len(cases)
    for i, columns in zip(chosen, computed, strict=True):
        found[i] = np.concatenate([c.astype(np.uint64).reshape(len(c), -1) for c in columns], axis=1)
    return found


def wrong(
    meaning: Meaning,
    table: Sequence[tuple[int, ...]],
    answers: np.ndarray,
    want: np.ndarray | None,
    profile: Profile,
) -> np.ndarray:
    """Which rows of a machine's answers are not what the definition expects, or not among what it allows."""
    if want is not None:
        return (answers.astype(np.uint64) != want).any(axis=1)
    names = inputs_of(meaning)
    found = np.zeros(len(table), bool)
    for i, (row, bits) in enumerate(zip(table, answers.tolist(), strict=True)):
        values = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(names, row, strict=True)}
        terms = [term for _, term in results_of(meaning)]
        settled: dict[Any, int] = {}
        found[i] = not all(
            exact.allows(t, values, b, profile.chosen, settled) for t, b in zip(terms, bits, strict=True)
        )
    return found


def compare(forms: Iterable[Form], answers: Answers) -> tuple[int, list[Difference]]:
    """(rows compared, rows that differ) over those of the forms that were answered."""
    own = [v for f in forms if comparable(f) for v in f.variants if str(v) in answers.values]
    meanings = [f.meaning() for f in own]
    tables = [table_of(f, m) for f, m in zip(own, meanings, strict=True)]
    profile = Profile(answers.facts["profile"])
    found: list[Difference] = []
    count = 0
    wanted = expected(list(zip(own, meanings, strict=True)), tables, profile)
    for form, meaning, table, want in zip(own, meanings, tables, wanted, strict=True):
        gpu = answers.values[str(form)]
        count += len(table)
        for i in np.flatnonzero(wrong(meaning, table, gpu, want, profile)):
            ours = None if want is None else tuple(map(int, want[i]))
            found.append(Difference(str(form), table[i], ours, tuple(map(int, gpu[i]))))
    return count, found
