"""What was claimed, in words, so that a reader of a verdict sees what it is about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec.base.options import Context, Contraction, Nan, Relation
from ptxspec.query.outcomes import ALONE, WARP_ALONE
from ptxspec.query.results import is_open_nan
from ptxspec.terms.editions import NEWEST, Epoch
from ptxspec.terms.vocabulary import NUMBERED, Approximation, freedoms_in

if TYPE_CHECKING:
    from ptxspec.query.questions import Goal

_CLAIMS = {
    "equal": "both sides leave the same in {results}",
    "refines": "whatever the right side leaves in {results}, the left side may leave, too",
}


#: what is meant of other threads
BESIDE_ANY = "Beside any other threads."
WITHOUT_RACES = "Beside any other threads that have no data race with it."
NO_ORDER = "What a side orders for other threads is not compared."


class Statement(NamedTuple):
    """The claim that `prove` decided: the relation, the inputs and the compared registers with their types, the assumption, each
    side's profile, each side's PTX version and target, the contraction of products and sums, how open NaNs are compared, beside
    which other threads it is meant, and notes on facts that a reader might not expect.

    >>> statement = ptxspec.prove("add.u32 d, a, b;", "sub.u32 d, a, c;", assume="b + c == 1 << 32").statement
    >>> statement.inputs, statement.compared
    ({'a': '.u32', 'b': '.u32', 'c': '.u32'}, {'d': '.u32'})
    >>> print(statement.words()[0])
    For all values of a (.u32), b (.u32) and c (.u32) such that b + c == 1 << 32, both sides leave the same in d (.u32).
    """

    relation: Relation
    inputs: dict[str, str]
    compared: dict[str, str]
    assume: str | None
    profiles: tuple[str, str]
    editions: tuple[str, str]
    contract: Contraction
    nan: Nan
    context: Context
    notes: tuple[str, ...]

    def words(self, most: int | None = None) -> list[str]:
        """The claim in English: each element is one or two sentences, which list `most` names at most, or all.

        >>> ptxspec.prove("mov.u32 d, 1;", "mov.u32 d, 1;").statement.words()[0]
        'Both sides leave the same in d (.u32).'
        """
        claim = _CLAIMS[self.relation].format(results=_listed(self.compared, most))
        if self.inputs:
            such = f" such that {self.assume}" if self.assume else ""
            claim = f"for all values of {_listed(self.inputs, most)}{such}, {claim}"
        sentences = [claim[0].upper() + claim[1:] + "."]
        if self.contract == "all":
            sentences.append("Every product and sum that may be contracted is contracted.")
        sentences.append(f"Profile: {_sides(self.profiles)}. Text: {_sides(self.editions)}.")
        return sentences + (list(self.notes) if most is None else [short(note) for note in self.notes])

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, and `words`, for JSON.

        >>> ptxspec.prove("mov.u32 d, 1;", "mov.u32 d, 1;").statement.as_dict()["compared"]
        {'d': '.u32'}
        """
        lists = {"profiles": list(self.profiles), "editions": list(self.editions), "notes": list(self.notes)}
        return {**self._asdict(), **lists, "words": self.words()}


def stated(goal: Goal, relation: Relation, context: Context = "alone", has_races: bool = True) -> Statement:
    """What a question claims, beside any other threads or none; of others, those that have data races with it among them or
    not."""
    read, types = dict.fromkeys((*goal.sides[0].inputs, *goal.sides[1].inputs)), goal.taken
    editions = (_edition(goal.sides[0].epoch), _edition(goal.sides[1].epoch))
    return Statement(
        relation,
        {n: str(types[n]) for n in read},
        {n: str(t) for n, t in goal.compared.items()},
        goal.assume,
        goal.profiles,
        editions,
        goal.how.contract,
        goal.how.nan,
        context,
        tuple(_notes(goal, relation, context, has_races)),
    )


def _notes(goal: Goal, relation: Relation, context: Context, has_races: bool) -> list[str]:
    """What a reader might take for granted."""
    notes = list(dict.fromkeys(note for side in goal.sides for note in side.notes))
    if context == "any":
        notes = [
            BESIDE_ANY if has_races else WITHOUT_RACES,
            *(note for note in notes if note not in (ALONE, WARP_ALONE)),
        ]
    elif any(side.orders for side in goal.sides):
        notes.append(NO_ORDER)
    left, right = goal.sides
    for side, which, others in ((left, "left", right), (right, "right", left)):
        alone = [n for n in side.outputs if n not in others.outputs]
        if alone:
            notes.append(f"Not compared, since the {which} side alone writes it: {', '.join(grouped(alone))}.")
        alone = [n for n in side.inputs if n not in others.inputs]
        if alone:
            notes.append(f"Read by the {which} side alone: {', '.join(grouped(alone))}.")
    both = [n for n in left.outputs if n in right.outputs and n not in goal.compared]
    if both and goal.how.compare is None:
        notes.append(f"Not compared, since later instructions read it on both sides: {', '.join(grouped(both))}.")
    elif both:
        notes.append(f"Not compared, since the question does not name it: {', '.join(grouped(both))}.")
    # registers and memory that are read before they are written
    unwritten = [grouped(n for n in side.unwritten if n not in side.idle) for side in goal.sides]
    names = ", ".join(dict.fromkeys(unwritten[0] + unwritten[1]))
    if relation == "equal" and names:
        notes.append(f"Read before it is written: {names}. It holds any value, the same on both sides under one name.")
    elif names:
        for listed, which, what in zip(unwritten, ("left", "right"), ("what it needs", "any value"), strict=True):
            if listed:
                names = ", ".join(listed)
                notes.append(f"Read by the {which} side before it is written: {names}. There it finds {what}.")
    # results that PTX leaves open
    idle = {id(side.unwritten[name]) for side in goal.sides for name in side.idle}
    freedoms = [freedom for finals in goal.finals for freedom in freedoms_in(*finals.values())]
    open_still = [freedom for freedom in freedoms if id(freedom) not in idle]
    if not open_still:
        return notes
    entries = ", ".join(sorted({f.attrs[0] for f in open_still}))
    notes.append(f"Open in PTX, and chosen by no profile: {entries}.")
    if relation == "equal":
        notes.append("Both sides are on one machine, which makes equal choices for equal operands.")
    else:
        notes.append("Each side makes its choices by itself, in one execution equal ones for equal operands.")
    if any(f.attrs[6] == NUMBERED for f in open_still):
        by = ", ".join(sorted({f.attrs[0] for f in open_still if f.attrs[6] == NUMBERED}))
        alike = ", on both sides alike" if relation == "equal" else ""
        notes.append(f"Each execution chooses by itself{alike}: {by}.")
    if any(f.attrs[0] == "contraction" for f in open_still):
        notes.append("Products and sums without rounding modifiers are contracted or not, as the assembler likes.")
    if relation == "equal" and any(map(is_open_nan, open_still)):
        any_nan = "An open NaN equals any other; what is computed from its bits counts with its bits."
        notes.append(any_nan if goal.how.nan == "any" else "Open NaNs are compared with their payloads.")
    if any(isinstance(f.attrs[4], Approximation) for f in open_still):
        notes.append("Approximate results count as any number in a proof, and as one within the bound in a refutation.")
    return notes


def _edition(epoch: Epoch | None) -> str:
    """The version and the target that a text says, or the newest."""
    if epoch is None:
        return "the newest PTX ISA and target that have the instructions"
    version = "the newest PTX ISA" if epoch.version == NEWEST.version else "PTX ISA {}.{}".format(*epoch.version)
    return f"{version}, {'the newest target' if epoch.target == NEWEST.target else epoch.target_name}"


def _sides(both: tuple[str, str]) -> str:
    return both[0] if both[0] == both[1] else f"{both[0]} on the left, {both[1]} on the right"


def _listed(names: dict[str, str], most: int | None) -> str:
    by_type = itertools.groupby(names, key=lambda name: names[name])
    shown = shortened([f"{name} ({type})" for type, those in by_type for name in grouped(those)], most)
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


#: the names of a list that are told in short
MOST = 8
#: a note with a list of names: what comes before them, they, and what follows
_LIST = re.compile(r"(.*?: )(.*?)(\.(?: [A-Z].*)?)")

_NUMBERED = re.compile(r"(.+)\[(\d+)\]")


def grouped(names: Iterable[str]) -> list[str]:
    """Names with those of bytes, or lanes, whose numbers follow one another as one: `p[4..7]`."""
    numbers: dict[str, list[int]] = {}
    others: list[str] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            others.append(name)
        else:
            numbers.setdefault(match[1], []).append(int(match[2]))
    for of, those in numbers.items():
        those = sorted(those)
        for _, run in itertools.groupby(enumerate(those), key=lambda pair: pair[1] - pair[0]):
            ends = [number for _, number in run]
            others.append(f"{of}[{ends[0]}]" if len(ends) == 1 else f"{of}[{ends[0]}..{ends[-1]}]")
    return others


def shortened(names: list[str], most: int | None) -> list[str]:
    """The first `most` names, and how many there are besides; all of them, if one more is not worth a word."""
    if most is None or len(names) <= most + 1:
        return names
    return [*names[:most], f"{len(names) - most} more"]


def short(note: str) -> str:
    """A note whose list of names is not longer than is read at a glance."""
    match = _LIST.fullmatch(note)
    if match is None:
        return note
    before, names, behind = match.groups()
    listed = names.split(", ")
    kept = shortened(listed, MOST)
    return note if kept is listed else f"{before}{', '.join(kept[:-1])} and {kept[-1]}{behind}"
