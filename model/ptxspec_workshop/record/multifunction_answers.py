"""All that a GPU's multifunction unit answered to 2^32 operands of each instruction: checksums, and a sample of the answers.

There is no second definition here. What the pages define is compiled by the native engine, on any machine, and held against the
checksums; compared.json keeps the outcome.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.location import FOLDER
from ptxspec_workshop.compare.checksums import table_digests
from ptxspec_workshop.generate.multifunction_operands import FUNCTIONS

#: the answers that are kept with the project
KEPT = FOLDER / "multifunction"


class MultifunctionAnswers(NamedTuple):
    """A folder of answers, read: checksums by instruction, sample operands by kind, sample answers by instruction."""

    facts: dict[str, Any]
    blocks: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]
    answers: dict[str, np.ndarray]


def read(folder: Path = KEPT) -> MultifunctionAnswers:
    """Raises ValueError if the files are not what was recorded."""
    facts = json.loads((folder / "summary.json").read_text())
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for name in ("blocks", "samples", "answers"):
        place = folder / f"{name}.npz"
        if hashlib.sha256(place.read_bytes()).hexdigest() != facts["digests"][name]:
            raise ValueError(f"{place}: the digest is not the recorded one")
        with np.load(place) as stored:
            arrays[name] = {key: stored[key] for key in stored.files}
    return MultifunctionAnswers(facts, **arrays)


class Comparison(NamedTuple):
    """What holding a definition against the answers to many operands gave. A checksum tells of a block whether any operand in it
    differs; if none does, no operand does."""

    operands: int
    which: str
    blocks: int
    differing_blocks: int
    date: str
    device: str

    @property
    def differing(self) -> int | None:
        """How many operands differ; None if some do, which blocks alone do not count."""
        return None if self.differing_blocks else 0

    def __str__(self) -> str:
        if self.differing_blocks:
            return (
                f"{self.differing_blocks} of {self.blocks} blocks of {self.operands // self.blocks:,} operands differ"
            )
        return f"0 of {self.operands:,} operands differ"

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "differing": self.differing, "text": str(self)}


#: which operands the numbers stand for, by the kind of the instruction's operands
WHICH = {
    "single": "every operand",
    "upper": "every upper word",
    "double": "operands made by a hash",
    "pair": "pairs of operands made by a hash",
}


def comparisons(folder: Path = KEPT) -> dict[str, Comparison]:
    """What compared.json keeps, by instruction; {} if there is none, or if it is of other answers or of other tables."""
    try:
        kept = json.loads((folder / "compared.json").read_text())
        facts = json.loads((folder / "summary.json").read_text())
    except OSError:
        return {}
    if kept["checksums"] != facts["digests"]["blocks"] or kept["tables"] != table_digests():
        return {}
    kinds = {f.instruction: WHICH[f.kind] for f in FUNCTIONS}
    return {
        name: Comparison(facts["operands"], kinds[name], kept["blocks"], count, kept["date"], facts["device"])
        for name, count in kept["differing"].items()
    }
