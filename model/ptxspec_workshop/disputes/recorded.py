"""What a GPU answered for the kernels of the pages, as two assemblers made them at four levels, and what the definitions say.

`kernels` holds an array a kernel, named by the digest of its text: the cells that the threads read, then what they left in each
way to assemble it. `extent` holds which instructions ptxas gets wrong after which others.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.location import FOLDER, MISSING
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.module import Module
from ptxspec.query.evaluate import evaluate
from ptxspec_workshop.compare.kernel_runs import load
from ptxspec_workshop.disputes.claims import LEVELS, VERSIONS, AssemblerFault, Extent
from ptxspec_workshop.disputes.kernels import FILL, NAME
from ptxspec_workshop.record.stored_answers import Answers, read_archive

#: the ways to assemble a kernel, in the order of the record
WAYS = tuple((version, level) for version in VERSIONS for level in LEVELS)


class NotRecorded(LookupError):
    """No answer is kept for a claim of the pages, or no answers are installed."""


class JudgedFault(NamedTuple):
    """What the record says of a fault: by way, the number of rows that differ from the definitions; how many were compared, and
    how many were not, since their results are open; and the first row that differs: its operands, what the definitions say and
    what the machine left, by name, as bits."""

    differing: dict[tuple[str, int], int]
    compared: int
    left_out: int
    example: tuple[dict[str, int], dict[str, int], dict[str, int]] | None

    @property
    def ways(self) -> frozenset[tuple[str, int]]:
        """The ways in which at least one row differs."""
        return frozenset(way for way, count in self.differing.items() if count)


@cache
def record(stem: str) -> Answers:
    """A part of the record, "kernels" or "extent". Raises NotRecorded where it is not installed, and ValueError if it is not
    what was recorded."""
    archive = read_archive(FOLDER / "disputes", stem)
    if archive is None:
        raise NotRecorded(MISSING)
    return archive


def key(fault: AssemblerFault) -> str:
    """The name of a fault's kernel in the record: the first half of the digest of its text."""
    return hashlib.sha256(fault.text.encode()).hexdigest()[:16]


def answers(fault: AssemblerFault) -> np.ndarray:
    """The cells that the threads read, then what they left in each of WAYS. Raises NotRecorded."""
    known = record("kernels").values
    if key(fault) not in known:
        raise NotRecorded(f"{fault.place}: {fault.title}: no GPU was asked about this kernel")
    return known[key(fault)]


def judged(fault: AssemblerFault) -> JudgedFault:
    """A fault's answers against the definitions. What PTX states is compared without any choices, so that a row whose result is
    open takes no part; open results are compared with the choices of the profile "hopper"."""
    return judged_by(fault, answers(fault))


def judged_by(fault: AssemblerFault, known: np.ndarray) -> JudgedFault:
    """The same of given answers."""
    cells, left = known[0], known[1:]
    expected, decided = _stated(fault, cells)
    differs = (left != expected).any(axis=2) & decided
    counts = {way: int(rows.sum()) for way, rows in zip(WAYS, differs, strict=True)}
    where = np.argwhere(differs)
    example = None
    if len(where):
        way, row = where[np.argmin(where[:, 1])]
        example = (
            _named(fault.inputs, cells[row]),
            _named(fault.results, expected[row]),
            _named(fault.results, left[way, row]),
        )
    return JudgedFault(counts, int(decided.sum()), int((~decided).sum()), example)


def _stated(fault: AssemblerFault, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the threads leave by the definitions, and which rows PTX decides."""
    module = load(fault.text)
    if fault.is_open:
        return _left(module, cells, "hopper"), np.ones(len(cells), bool)
    decided = np.ones(len(cells), bool)
    whole = _left_if_decided(module, cells)
    if whole is not None:
        return whole, decided
    rows = np.full(cells.shape, FILL, np.uint64)
    for i in range(len(cells)):
        left = _left_if_decided(module, cells[i : i + 1])
        decided[i] = left is not None
        rows[i : i + 1] = FILL if left is None else left
    return rows, decided


def _left_if_decided(module: Module, cells: np.ndarray) -> np.ndarray | None:
    """What threads leave, or None where a result of theirs is open."""
    try:
        return _left(module, cells, "portable")
    except LaunchError as error:
        if error.rule != "no choice":
            raise
        return None


def _left(module: Module, cells: np.ndarray, profile: str) -> np.ndarray:
    out = np.full(cells.shape, FILL, np.uint64)
    module.launch(NAME, 1, len(cells), [cells.copy(), out], engine="exact", profile=profile)
    return out


def _named(types: dict[str, str], cells: np.ndarray) -> dict[str, int]:
    """The registers in the cells of a thread; a predicate has the bits of a half-word."""
    widths = {name: 16 if type == "pred" else int(type[1:]) for name, type in types.items()}
    return {name: int(cells[i]) & ((1 << width) - 1) for i, (name, width) in enumerate(widths.items())}


class ExtentResults(NamedTuple):
    """Of one reader, by way: the writers after which its result is wrong in some thread; and those among them after which the
    machine did not leave what `machine` says in every thread."""

    wrong: dict[str, tuple[str, ...]]
    unexplained: dict[str, tuple[str, ...]]


def reach(extent: Extent) -> ExtentResults:
    """A reader's recorded answers against the definitions: with the bits that the writer left, and as the page says that the
    machine reads them."""
    kept = record("extent")
    facts, values = kept.facts, kept.values
    if extent.reader not in values:
        raise NotRecorded(f"{extent.place}: what {extent.reader} left is not kept")
    left, bits = values[extent.reader], values[f"{extent.reader} r"]
    right, machine = (_of_bits(text, bits, values["a"]) for text in (extent.ptx, extent.machine))
    wrong = (left != right.astype(left.dtype)).any(axis=2)
    unexplained = wrong & (left != machine.astype(left.dtype)).any(axis=2)
    names = list(facts["writers"])

    def listed(table: np.ndarray) -> dict[str, tuple[str, ...]]:
        return {
            way: tuple(name for i, name in enumerate(names) if table[i, j] and name not in facts["left out"])
            for j, way in enumerate(facts["ways"])
        }

    return ExtentResults(listed(wrong), listed(unexplained))


def _of_bits(text: str, bits: np.ndarray, operand: np.ndarray) -> np.ndarray:
    """The register `d` of a fragment, of the bits `r` and the operand `a` where it reads one."""
    inputs: dict[str, Any] = {"r": bits.ravel()}
    if ", a," in text:
        inputs["a"] = np.broadcast_to(operand, bits.shape).ravel()
    results: np.ndarray = np.asarray(evaluate(text, inputs)["d"]).reshape(bits.shape)
    return results
