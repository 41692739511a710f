"""What a GPU answered to random programs: a digest of each program's text and one of its answers, and the forms that the programs
were made of, so that a seed gives the same program even when the pages have more."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.location import FOLDER
from ptxspec_workshop.generate.fuzzing.alphabet import Alphabet
from ptxspec_workshop.generate.fuzzing.layout import inputs
from ptxspec_workshop.generate.fuzzing.random_program import RandomProgram, made, module

#: the programs that are kept with the project
KEPT = FOLDER / "programs"


@cache
def recorded_forms(folder: Path = KEPT) -> Alphabet:
    """The forms that a folder's programs were made of."""
    return Alphabet(gzip.decompress((folder / "forms.txt.gz").read_bytes()).decode().splitlines())


def recorded_programs(seeds: Iterable[int], folder: Path = KEPT) -> list[RandomProgram]:
    """The programs of some seeds over the forms that a folder's were made of."""
    return made(seeds, recorded_forms(folder))


def digest_of_text(program: RandomProgram) -> str:
    """The first half of a SHA-256 of what is run: the program and its inputs."""
    return digest_of_question(module([program]), inputs(program.seed))


def digest_of_question(text: str, cells: np.ndarray) -> str:
    """The first half of a SHA-256 of a module's text and what its kernel is given."""
    return hashlib.sha256(text.encode() + cells.astype("<u8").tobytes()).hexdigest()[:32]


def digest_of(answer: np.ndarray) -> str:
    return hashlib.sha256(answer.astype("<u8").tobytes()).hexdigest()


class ProgramAnswers(NamedTuple):
    """A folder read: what answered, and by seed the digests of a program's text and of its answers at -O3."""

    facts: dict[str, Any]
    digests: dict[int, tuple[str, str]]


def read(folder: Path = KEPT) -> ProgramAnswers | None:
    """The answers of a folder, or None if there are none."""
    if not (folder / "answers.json").is_file():
        return None
    facts = json.loads((folder / "answers.json").read_text())
    digests = {}
    for line in (folder / "answers.txt").read_text().splitlines():
        seed, text, answer = line.split()
        digests[int(seed)] = (text, answer)
    return ProgramAnswers(facts, digests)
