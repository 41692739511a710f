"""What a GPU answered, as it is kept in a folder: a file of facts and a file of arrays, of which the facts hold the digest.

There are two formats. In *columns* (`answers.npz`, `answers.json`) each distinct column of results stands once, and the facts say
of each name which columns it has. A plain *archive* has an array a name. `tests/vectors/README.md` describes both for others.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.location import FOLDER

#: the answers that are kept with the project
H200 = FOLDER / "h200"
#: where those of an H100 lie, to questions that no H200 was asked
H100 = FOLDER / "h100"


class Answers(NamedTuple):
    """A folder of answers, read: who answered, and by name an array with a row a question and a column a value."""

    facts: dict[str, Any]
    values: dict[str, np.ndarray]


def read(folder: Path = H200) -> Answers | None:
    """The answers of a folder, or None if there are none. Raises ValueError if they are not what was recorded."""
    if not (folder / "answers.json").is_file():
        return None
    return _unless_kept(folder, "answers", _answers)


#: files of answers that are kept as they were read, which takes longer than to see that nothing has changed
MOST_READ = 16
_read: dict[tuple[str, str, str], Answers] = {}


def _unless_kept(folder: Path, stem: str, make: Callable[[str, str, bytes, str], Answers]) -> Answers:
    """What `make` gives for two files: their folder, the text of the one, and the bytes of the other with their digest."""
    text, data = (folder / f"{stem}.json").read_text(), (folder / f"{stem}.npz").read_bytes()
    key = str(folder / stem), hashlib.sha256(text.encode()).hexdigest(), hashlib.sha256(data).hexdigest()
    if key not in _read:
        while len(_read) >= MOST_READ:
            del _read[next(iter(_read))]
        _read[key] = make(str(folder), text, data, key[2])
    facts, values = _read[key]
    return Answers(dict(facts), dict(values))


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
    values = {form: np.stack([columns[i] for i in indices], axis=1) for form, indices in facts["forms"].items()}
    for array in values.values():
        array.flags.writeable = False  # there is one of it
    return Answers(facts, values)


def digest_of_forms(forms: Mapping[str, Sequence[int]]) -> str:
    """Of the forms that were answered, and of the numbers of their columns: so that none is lost unseen."""
    return hashlib.sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()


def write(
    folder: Path, facts: dict[str, Any], values: dict[str, np.ndarray], differences: list[dict[str, Any]]
) -> None:
    """Write the answers of a folder: `values` has an array a form, a column a result; `facts` say who answered."""
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
    # numpy's types hold any keyword for allow_pickle
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


def read_archive(folder: Path, stem: str) -> Answers | None:
    """The same for a plain archive, `stem`.npz and `stem`.json."""
    if not (folder / f"{stem}.json").is_file():
        return None
    return _unless_kept(folder, stem, _archive)


def _archive(folder: str, text: str, data: bytes, digest: str) -> Answers:
    """What the files of a plain archive hold."""
    facts = json.loads(text)
    if digest != facts["digest"]:
        raise ValueError(f"{folder}: the digest of the archive is not the recorded one")
    with np.load(io.BytesIO(data)) as stored:
        return Answers(facts, {name: stored[name] for name in stored.files})


def write_archive(
    folder: Path, stem: str, facts: dict[str, Any], values: dict[str, np.ndarray], differences: list[dict[str, Any]]
) -> None:
    """Write a plain archive; the facts count the rows of each name."""
    folder.mkdir(parents=True, exist_ok=True)
    # as above
    np.savez_compressed(folder / f"{stem}.npz", **values)  # type: ignore[arg-type]
    digest = hashlib.sha256((folder / f"{stem}.npz").read_bytes()).hexdigest()
    counted = {name: len(rows) for name, rows in values.items()}
    kept = {**facts, "digest": digest, "forms": counted, "differences": differences}
    (folder / f"{stem}.json").write_text(json.dumps(kept, indent=1))
