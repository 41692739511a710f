"""The table of rewrites: which are right beside any other threads, and for the others a program that tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple, get_args

from ptxspec import contracts
from ptxspec.base.options import LitmusMethod
from ptxspec.query.litmus.path_questions import model_of
from ptxspec.query.litmus.verdicts import litmus
from ptxspec.query.rewrites.contexts import Rewrite, Witness, witness
from ptxspec.query.rewrites.simulation import HERE, Simulation
from ptxspec.query.rewrites.stated import StatedWitness, stated_witness
from ptxspec.query.rewrites.steps import RewriteStep, line_of
from ptxspec.terms.relations import MemoryModel
from ptxspec.terms.vocabulary import substitute

#: the edition of the manual whose model decides
EDITION = "9.1"
#: "right" is shown for all programs; "wrong" has a witness; "open" is neither, and no program of those looked at tells
RewriteStatus = Literal["right", "wrong", "open"]

LOADS = ("ld.weak", "ld.relaxed.gpu", "ld.acquire.gpu")
STORES = ("st.weak", "st.relaxed.gpu", "st.release.gpu")
ATOMICS = ("atom.relaxed.gpu", "atom.acquire.gpu", "atom.release.gpu", "atom.acq_rel.gpu")
FENCES = ("fence.acquire.gpu", "fence.release.gpu", "fence.acq_rel.gpu", "fence.sc.gpu")
SCOPED = ("ld.acquire", "st.release", "atom.acq_rel", "fence.acq_rel", "fence.sc")
SCOPES = ("cta", "cluster", "gpu", "sys")


class TableCell(NamedTuple):
    """A cell of a table: its row, its column, and the rewrite as cells of litmus tests. `stands` has for each operation of the
    original the number of the one that stands for it."""

    row: str
    column: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    stands: tuple[int, ...] | None


class Decision(NamedTuple):
    """Whether a rewrite is right. `lacks` is what could not be shown, "" if it is right."""

    status: RewriteStatus
    lacks: str
    witness: Witness | StatedWitness | None


@lru_cache(maxsize=4)
def model() -> MemoryModel:
    return model_of(EDITION)


@lru_cache(maxsize=4096)
def lacking(before: tuple[RewriteStep, ...], after: tuple[RewriteStep, ...], stands: tuple[int, ...]) -> str:
    """What cannot be shown of a rewrite, "" if it is right; of steps without what is read and written."""
    return Simulation(model(), before, after, stands).broken


def decide(rewrite: Rewrite) -> Decision:
    """Whether a rewrite is right: shown of all programs, or else sought in those that are looked at."""
    lacks = "every operation has one that stands for it"
    before, after = (tuple(step.shape for step in line.steps) for line in (rewrite.before, rewrite.after))
    if rewrite.stands is not None:
        for stands in _standing(before, after, rewrite.stands):
            if not (lacks := lacking(before, after, stands)):
                return Decision("right", "", None)
    elif takes_what_is_stored(rewrite):
        return Decision("right", "", None)
    result = witness(model(), rewrite) or stated_witness(rewrite, EDITION)
    return Decision("open" if result is None else "wrong", lacks, result)


def takes_what_is_stored(rewrite: Rewrite) -> bool:
    """Whether a load directly behind a store takes what that has written, in a way that the page shows to be right."""
    if len(rewrite.before.steps) != 2 or rewrite.after.steps != rewrite.before.steps[:1]:
        return False
    store, load = rewrite.before.steps
    first, second = (step.operation(0, HERE, at) for at, step in enumerate((store, load)))
    alike = (store.location, store.size) == (load.location, load.size)
    if not alike or not contracts.rewrites.may_take_what_is_stored(first, second):
        return False
    left, memo = rewrite.before.registers, dict[int, Any]()
    return all(
        substitute(left[name], {load.reads: store.writes}, memo) is rewrite.after.registers[name]
        for name in rewrite.compared
    )


def _standing(
    before: Sequence[RewriteStep], after: Sequence[RewriteStep], stands: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """What may stand for the steps: for a fence any other one as well."""
    fences = [k for k, step in enumerate(after) if not step.location]
    choices = [
        (at,) if step.location else (at, *(k for k in fences if k != at))
        for step, at in zip(before, stands, strict=True)
    ]
    return list(product(*choices))


def decided(case: TableCell) -> Decision:
    return decide(Rewrite(line_of(case.before), line_of(case.after), case.stands))


class NoWitness(Exception):
    """A program that does not tell a rewrite from the original, by enumeration or by a solver."""


def axioms(result: Witness | StatedWitness) -> tuple[str, ...]:
    """The axioms that forbid the outcome of a witness without the rewrite. Raises NoWitness."""
    reasons: tuple[str, ...] = ()
    for rewritten, status in ((False, "forbidden"), (True, "allowed")):
        text = result.test("witness", rewritten)
        for by in get_args(LitmusMethod):
            verdict = litmus(text, EDITION, by=by)
            if verdict.status != status:
                raise NoWitness(f"the outcome is {verdict.status} and not {status}, by {by}")
            reasons = reasons or tuple(reason.axiom for reason in verdict.reasons)
    return reasons


# cells --------------------------------------------------------------------------------------------------------------------


def cell(opcode: str, location: str, number: int) -> str:
    """An operation as the cell of a litmus test, with a register and a value of this number."""
    match opcode.partition(".")[0]:
        case "ld":
            return f"{opcode} r{number}, {location}"
        case "st":
            return f"{opcode} {location}, {number + 1}"
        case "atom":
            return f"{opcode}.exch r{number}, {location}, {number + 1}"
    return opcode


def _reordered(first: Sequence[str], second: Sequence[str], location: str) -> Iterator[TableCell]:
    for a, b in product(first, second):
        pair = cell(a, "x", 0), cell(b, location, 1)
        if pair != pair[::-1]:
            yield TableCell(a, b, pair, pair[::-1], (1, 0))


def _changed(opcodes: Sequence[str]) -> Iterator[TableCell]:
    for a, b in product(opcodes, repeat=2):
        if a != b:
            yield TableCell(a, b, (cell(a, "x", 0),), (cell(b, "x", 0),), (0,))


def _merged(opcodes: Sequence[str]) -> Iterator[TableCell]:
    """Of two, the first alone or the second; loads give both registers what is read, and of stores the second value stays."""
    for a, b in product(opcodes, repeat=2):
        pair = cell(a, "x", 0), cell(b, "x", 1)
        for column, opcode in (("first", a), ("second", b)):
            left = cell(opcode, "x", 1)
            copied = ("mov r0, r1",) if a in LOADS else ()
            yield TableCell(f"{a}; {b}", column, pair, (left, *copied), (0, 0))


def _forwarded() -> Iterator[TableCell]:
    for a, b in product(STORES, LOADS):
        yield TableCell(a, b, (cell(a, "x", 0), cell(b, "x", 1)), (cell(a, "x", 0), "mov r1, 1"), None)


def _single() -> Iterator[TableCell]:
    """An operation that is left out, or comes in."""
    for opcode in (*LOADS, *FENCES):
        yield TableCell(opcode, "left out", (cell(opcode, "x", 0),), (), None)
    for opcode in FENCES:
        yield TableCell(opcode, "put in", (), (opcode,), ())
    for opcode, load, store in (
        ("atom.relaxed.gpu", "ld.relaxed.gpu", "st.relaxed.gpu"),
        ("atom.acq_rel.gpu", "ld.acquire.gpu", "st.release.gpu"),
    ):
        parts = (cell(load, "x", 0), cell(store, "x", 0))
        yield TableCell(opcode, "a load and a store", (cell(opcode, "x", 0),), parts, None)


def tables() -> Mapping[str, list[TableCell]]:
    """The tables, by name."""
    accesses = (*LOADS, *STORES, *ATOMICS)
    everything = (*accesses, *FENCES)
    scopes = [tuple(f"{opcode}.{scope}" for scope in SCOPES) for opcode in SCOPED]
    return {
        "reorder": list(_reordered(everything, everything, "y")),
        "reorder-one-location": list(_reordered(accesses, accesses, "x")),
        "orders": [case for group in (LOADS, STORES, ATOMICS, FENCES) for case in _changed(group)],
        "scopes": [case for group in scopes for case in _changed(group)],
        "merge": [case for group in (LOADS, STORES, FENCES) for case in _merged(group)],
        "forward": list(_forwarded()),
        "single": list(_single()),
    }
