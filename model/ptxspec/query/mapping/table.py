"""What is shown of libcu++'s spelling: for each set of programs whether PTX allows more than C++, with a program that tells; and
which programs tell that a spelling with a mistake is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.query.litmus.verdicts import litmus
from ptxspec.query.mapping.check import MODELS, Refutation, SkeletonCheck
from ptxspec.query.mapping.skeletons import BOUNDS, LIBRARY, LOCATIONS, MISTAKES, Bound, ProgramSlot, Skeleton, Spelling
from ptxspec.terms.operations import OperationKind
from ptxspec.terms.orders import Order

_NAMES = {
    Order.RELAXED: "relaxed",
    Order.ACQUIRE: "acquire",
    Order.RELEASE: "release",
    Order.ACQ_REL: "acq_rel",
    Order.SC: "seq_cst",
}
_CELLS = {
    OperationKind.READ: "ld",
    OperationKind.WRITE: "st",
    OperationKind.ATOMIC: "atom",
    OperationKind.FENCE: "fence",
}


class MappingRow(NamedTuple):
    """A spelling and a set of programs: the name of the spelling, the model of C++, the set, and how many of its programs are
    looked at: all, unless one tells."""

    spelling: str
    model: str
    bound: Bound
    programs: int
    refutation: Refutation | None


def checked(name: str, model: str, bound: Bound, every: int = 1) -> MappingRow:
    """What is so of each of so many programs of a set, one after the other until one tells."""
    spelling, count = Spelling(name), 0
    for number, skeleton in enumerate(bound.skeletons()):
        if number % every:
            continue
        check = SkeletonCheck(skeleton, spelling, MODELS[model])
        count += prod(check.shape)
        for refutation in check.refutations():
            if is_told(refutation, spelling):
                return MappingRow(name, model, bound, count, refutation)
    return MappingRow(name, model, bound, count, None)


def rows() -> Iterator[MappingRow]:
    """libcu++'s spelling with all sets of programs, then by other models of C++; those of the ABI; and mistakes."""
    for bound in BOUNDS:
        yield checked(LIBRARY, "C++20", bound)
    for model, name in (("C++11", LIBRARY), ("RC11", LIBRARY), *(("C++20", name) for name in contracts.cpp.ABI)):
        yield checked(name, model, BOUNDS[1])
    for mistake in MISTAKES:
        yield checked(mistake, "C++20", BOUNDS[1])


# programs as text ----------------------------------------------------------------------------------------------------------


def is_told(refutation: Refutation, spelling: Spelling) -> bool:
    """Whether PTX allows the outcome, by its litmus test."""
    return litmus(litmus_text(refutation, spelling)).status == "allowed"


def _cells(refutation: Refutation, spelling: Spelling) -> list[list[str]]:
    columns: list[list[str]] = [[] for _ in refutation.skeleton.lines]
    for number, (thread, _, slot) in enumerate(refutation.skeleton.slots):
        choice = refutation.chosen[number]
        for kind, order in spelling(slot.letter, choice.order):
            suffix = f".{order.value}" + (f".{choice.scope.value}" if choice.scope and order is not Order.WEAK else "")
            columns[thread].append(_cell(kind, suffix, slot, number))
    return columns


def _cell(kind: OperationKind, suffix: str, slot: ProgramSlot, number: int) -> str:
    """A cell of a litmus test: a write writes the number of its slot, counted from 1."""
    opcode = _CELLS[kind] + suffix
    match kind:
        case OperationKind.FENCE:
            return opcode
        case OperationKind.READ:
            return f"{opcode} r{number}, {LOCATIONS[slot.place]}"
        case OperationKind.WRITE:
            return f"{opcode} {LOCATIONS[slot.place]}, {number + 1}"
    return f"{opcode}.exch r{number}, {LOCATIONS[slot.place]}, {number + 1}"


def _condition(refutation: Refutation) -> str:
    """What the execution leaves."""
    execution, slots = refutation.execution, refutation.skeleton.slots
    parts = [f"P{slots[r][0]}:r{r} == {max(0, source + 1)}" for r, source in sorted(execution.sources.items())]
    parts += [f"{LOCATIONS[p]} == {writes[-1] + 1}" for p, writes in enumerate(execution.writes) if len(writes) > 1]
    return " /\\ ".join(parts)


def litmus_text(refutation: Refutation, spelling: Spelling) -> str:
    """The program as a litmus test of PTX that asks for what the execution leaves."""
    places = refutation.skeleton.places
    heads = [f"P{k}@cta {p.cta},cluster {p.cluster},gpu {p.gpu}" for k, p in enumerate(places)]
    cells = columns(heads, _cells(refutation, spelling))
    return f"PTX spelled\n{{ x = 0; y = 0; }}\n{cells}\nexists ({_condition(refutation)})\n"


def columns(heads: list[str], cells: list[list[str]]) -> str:
    """Rows of a litmus test, whose columns are aligned."""
    widths = [max(map(len, (head, *column))) for head, column in zip(heads, cells, strict=True)]
    table = [heads, *([c[i] if i < len(c) else "" for c in cells] for i in range(max(map(len, cells))))]
    return "\n".join(" | ".join(w.ljust(n) for w, n in zip(row, widths, strict=True)).rstrip() + " ;" for row in table)


def cpp_text(refutation: Refutation) -> str:
    """The program as C++, a column for each thread, and what the execution leaves."""
    skeleton = refutation.skeleton
    heads = [f"thread {k} of block {p.cta}" for k, p in enumerate(skeleton.places)]
    cells: list[list[str]] = [[] for _ in skeleton.lines]
    names = {scope: name for name, scope in contracts.cpp.SCOPES.items()}
    for number, (thread, _, slot) in enumerate(skeleton.slots):
        order, scope = refutation.chosen[number]
        cells[thread].append(_statement(slot, number, order, "" if scope is None else names[scope], skeleton))
    return f"{columns(heads, cells)}\n{_condition(refutation)}\n"


def _statement(slot: ProgramSlot, number: int, order: Order, scope: str, skeleton: Skeleton) -> str:
    name = LOCATIONS[slot.place]
    if order is Order.WEAK:
        return f"r{number} = {name}" if slot.letter == "R" else f"{name} = {number + 1}"
    how = _NAMES[order]
    at = f", {scope}" if len(skeleton.variety.scopes) > 1 else ""
    match slot.letter:
        case "F":
            return f"fence({how}{at})"
        case "R":
            return f"r{number} = {name}.load({how}{at})"
        case "W":
            return f"{name}.store({number + 1}, {how}{at})"
    return f"r{number} = {name}.exchange({number + 1}, {how}{at})"
