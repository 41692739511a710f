"""What is put to a target: programs made from seeds, and how they are made small."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ptxspec_workshop.generate.contraction_kernels import ContractionKernel
from ptxspec_workshop.generate.contraction_kernels import module as contraction_module
from ptxspec_workshop.generate.fuzzing import layout, random_program
from ptxspec_workshop.generate.fuzzing.reduction import fewer, reduced

#: of so many seeds one makes a kernel of products and sums that an assembler may contract
CONTRACTED = 8


class FuzzCase(NamedTuple):
    """A module with one entry of two parameters, the addresses of rows of 8-byte cells, and the rows that it is given: one for
    each thread of one CTA. It leaves its answer in the other ones."""

    text: str
    name: str
    cells: np.ndarray


Fails = Callable[[FuzzCase], bool]


def of_seed(seed: int) -> FuzzCase:
    """The case of a seed."""
    return _contraction(seed) if _contracts(seed) else _case(_program(seed))


def smaller(seed: int, fails: Fails, seconds: float) -> FuzzCase:
    """The case of a seed with as many statements taken away as `fails` allows in the time there is."""
    end = time.monotonic() + seconds
    if _contracts(seed):
        return with_fewer_lines(_contraction(seed), lambda c: not _reads_unwritten(c.text) and fails(c), end)
    small = reduced(_program(seed), lambda program: fails(_case(program)), seconds)
    narrow = _case(small.narrowed())
    return narrow if fails(narrow) else _case(small)


def with_fewer_lines(case: FuzzCase, fails: Fails, end: float) -> FuzzCase:
    """The case with lines taken from its text."""
    lines = fewer(case.text.splitlines(), lambda kept: fails(case._replace(text=_joined(kept))), end)
    return case._replace(text=_joined(lines))


def with_fewer_words(case: FuzzCase, fails: Fails, end: float) -> FuzzCase:
    """The case with words taken from its text: for failures that do not depend on what the text means."""
    words = fewer(re.findall(r"\S+\s*", case.text), lambda kept: fails(case._replace(text="".join(kept))), end)
    return case._replace(text="".join(words))


def _joined(lines: Sequence[str]) -> str:
    return "\n".join([*lines, ""])


def _contracts(seed: int) -> bool:
    return seed % CONTRACTED == CONTRACTED - 1


def _contraction(seed: int) -> FuzzCase:
    kernel = ContractionKernel(seed)
    text = contraction_module([kernel]).replace(", .param .align 16 .b8 argument[64]", "")
    return FuzzCase(text, kernel.name, kernel.launches[0].cells)


def _reads_unwritten(text: str) -> bool:
    """Whether a line of straight-line code reads a register that none before it writes."""
    written: set[str] = set()
    for statement in re.findall(r"[^;{}]+;", text[text.find("{") :]):
        if ".reg" in statement:
            continue
        first, *others = re.findall(r"%[a-z]+\d*", statement.replace("%tid.x", "")) or [""]
        guard = statement.strip().startswith("@")
        into = others[0] if guard and others else first
        reads = (
            {first, *others}
            if statement.strip().startswith("st")
            else {*others} - {into} | ({first} if guard else set())
        )
        if reads - written or (guard and into not in written):
            return True
        written.add(into)
    return False


def _program(seed: int) -> random_program.RandomProgram:
    (program,) = random_program.made([seed])
    return program


def _case(program: random_program.RandomProgram) -> FuzzCase:
    return FuzzCase(random_program.module([program]), program.name, layout.inputs(program.seed))
