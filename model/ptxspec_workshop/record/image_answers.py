"""The recorded answers to the cases for textures and surfaces: what they say of a form, and where the definitions give others.

`python -m ptxspec_workshop.record.image_answers FOLDER [OPCODE …]` computes all cases of a folder of answers, or those of some
opcodes, prints the rows that differ, and notes in the folder how many there are.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptxspec.evidence.location import FOLDER
from ptxspec_workshop.compare.image_runs import computed
from ptxspec_workshop.generate.image_cases import ImageCase, row_count
from ptxspec_workshop.generate.image_kernels import mnemonic
from ptxspec_workshop.generate.image_operands import leaves_texels, rows_of
from ptxspec_workshop.generate.image_spellings import UNREACHABLE
from ptxspec_workshop.generate.image_sweeps import cases
from ptxspec_workshop.record.stored_answers import Answers

KEPT = FOLDER / "images"
#: of how many rows of a case that differ the values are printed
SHOWN = 4


def opcode_of(case: ImageCase) -> str:
    """The opcode of the instruction that a case is about."""
    return mnemonic(case).split(".")[0]


def read(folder: Path = KEPT) -> Answers | None:
    """The answers of a folder, or None if there are none. Raises ValueError if they are not what was recorded."""
    facts = _facts_of(folder)
    if facts is None:
        return None
    with np.load(folder / "answers.npz") as kept:
        values = {name: kept[name] for name in kept.files}
    if _digest(values) != facts["digest"]:
        raise ValueError(f"{folder}: the answers' digest is not the recorded one")
    return Answers(facts, values)


def write(folder: Path, facts: Mapping[str, Any], values: Mapping[str, np.ndarray]) -> None:
    """Write the answers of a folder: an array a case; `facts` say who answered."""
    folder.mkdir(parents=True, exist_ok=True)
    # numpy's types hold any keyword for allow_pickle
    np.savez_compressed(folder / "answers.npz", **values)  # type: ignore[arg-type]
    _write_facts(folder, {**facts, "cases": len(values), "digest": _digest(values)})


def _write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    (folder / "answers.json").write_text(json.dumps(facts, indent=1) + "\n")


def _digest(values: Mapping[str, np.ndarray]) -> str:
    return hashlib.sha256(b"".join(n.encode() + a.tobytes() for n, a in sorted(values.items()))).hexdigest()


def _facts_of(folder: Path) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads((folder / "answers.json").read_text())
    except OSError:
        return None
    return facts


@cache
def _facts() -> dict[str, Any] | None:
    return _facts_of(KEPT)


@cache
def _recorded_names() -> frozenset[str]:
    """The names of the cases that were recorded."""
    with np.load(KEPT / "answers.npz") as kept:
        return frozenset(kept.files)


@cache
def _by_mnemonic() -> dict[str, list[str]]:
    """The names of the cases whose kernels have an instruction of a spelling."""
    names: dict[str, list[str]] = {}
    for case in cases():
        names.setdefault(mnemonic(case), []).append(case.name)
    return names


def _differing(spelling: str) -> int:
    """In how many rows of its cases the definitions give something else, as tests/evidence holds against the answers."""
    facts = _facts() or {}
    return sum(facts["differing"].get(name, 0) for name in _by_mnemonic()[spelling])


def _rows(spelling: str) -> int:
    names = set(_by_mnemonic()[spelling])
    return sum(row_count(case) for case in cases() if case.name in names)


def _is_recorded(spelling: str) -> bool:
    """Whether all cases with a spelling were recorded, and there is one."""
    names = _by_mnemonic().get(spelling, [])
    return bool(names) and _recorded_names().issuperset(names)


def answered(spelling: str) -> dict[str, Any] | None:
    """The ledger's entry for a form that was asked about, and whose answers are all given; else None."""
    facts = _facts()
    if facts is None or not _is_recorded(spelling) or _differing(spelling):
        return None
    date = facts.get("later", {}).get(spelling.split(".")[0], facts)["date"]
    return {"agrees": True, "vectors": _rows(spelling), "date": date, "device": facts["device"]}


def gap(spelling: str) -> str | None:
    """Why a form for images can have no such entry; None if it has one, or if it only has to be asked about."""
    if not set(UNREACHABLE).isdisjoint(spelling.split(".")):
        return "no interface of CUDA makes textures with several samples"
    facts = _facts()
    if facts is None:
        return None
    if spelling in facts["refused"]:
        return f"CUDA's driver does not run it: {facts['refused'][spelling]}"
    if not _is_recorded(spelling):
        return None
    count = _differing(spelling)
    return f"{count} of {_rows(spelling)} answers differ, which its page explains" if count else None


# The definitions beside the answers --------------------------------------------------------------------------------------


def differing_rows(case: ImageCase, answered: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """The rows that differ, or the bytes of a surface."""
    return np.flatnonzero((answered != ours).any(axis=1) if answered.ndim == 2 else answered != ours)


def differences(folder: Path, *opcodes: str) -> Iterator[tuple[str, int, list[str]]]:
    """Of each case of a folder's answers whose rows differ from what the definitions give: its name, how many rows, and lines
    that show some of them. Raises ValueError if there are no answers."""
    kept = read(folder)
    if kept is None:
        raise ValueError(f"{folder} has no answers to cases for textures and surfaces")
    for case in cases():
        if case.name in kept.values and (not opcodes or opcode_of(case) in opcodes):
            answered, ours = kept.values[case.name], computed(case)
            rows = differing_rows(case, answered, ours)
            if len(rows):
                yield case.name, len(rows), [_shown(case, int(i), answered[i], ours[i]) for i in rows[:SHOWN]]


def _shown(case: ImageCase, row: int, answered: Any, ours: Any) -> str:
    place = f"byte {row}" if leaves_texels(case) else f"row {row} of {_words(rows_of(case)[row])}"
    return f"  {place}: the GPU gave {_words(answered)}, the pages give {_words(ours)}"


def _words(values: Any) -> str:
    return " ".join(f"{int(v):#x}" for v in np.atleast_1d(values))


def main(name: str, *opcodes: str) -> int:
    folder, counts = Path(name), {}
    for case, count, lines in differences(folder, *opcodes):
        counts[case] = count
        print(f"{case}: {count} differ", *lines, sep="\n")
    facts = _facts_of(folder)
    assert facts is not None
    judged = {case.name for case in cases() if not opcodes or opcode_of(case) in opcodes}
    others = {n: count for n, count in facts["differing"].items() if n not in judged}
    _write_facts(folder, {**facts, "differing": dict(sorted({**others, **counts}.items()))})
    print(f"{len(counts)} cases differ")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
