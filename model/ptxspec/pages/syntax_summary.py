"""The syntax of a page in short: lines that differ in a few modifiers as one line, sets of one name as one set.

What the front end accepts is what the page's own lines say, one by one; a summary may allow more, and says so.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from ptxspec.base.records import NamedTuple
from ptxspec.literate.notation import ModifierSlot, SyntaxLine
from ptxspec.terms.types import TYPES

#: a page with fewer lines of syntax needs no summary
FEWEST_LINES = 4
#: so many places of two lines may differ in one line that stands for both
MOST_DIFFERENCES = 4


class ModifierPlace(NamedTuple):
    """A place for a modifier in a line: its spelling (`.type`), or those of several words of which it has one (`.f16,.bf16`),
    whether it may be left out, whether it bears on speed alone."""

    name: str
    optional: bool
    hint: bool
    types: bool = False
    """whether it is a type, or several types, and no set"""

    def __str__(self) -> str:
        if self.hint:
            return f"{{{{{self.name}}}}}"
        return f"{{{self.name}}}" if self.optional or "," in self.name else self.name


class SummaryLine(NamedTuple):
    """A line of the summary: opcode, places for modifiers, operands as they are written."""

    opcode: str
    places: tuple[ModifierPlace, ...]
    operands: str

    def __str__(self) -> str:
        return f"{self.opcode}{''.join(map(str, self.places))}  {self.operands};".replace("  ;", ";")


def place(slot: ModifierSlot) -> ModifierPlace:
    """A slot of a line as a place of the summary."""
    name = ",".join(f".{o}" for o in slot.options) if slot.is_set and "_or_" in slot.name else f".{slot.name}"
    is_type = not slot.is_set and slot.options[0] in TYPES
    return ModifierPlace(name if slot.is_set else f".{slot.options[0]}", slot.optional, slot.hint, is_type)


def shape(line: SyntaxLine) -> SummaryLine:
    """A line as it stands. The operand that a hint brings along is left to the list of operands."""
    _, _, operands = line.text.partition(" ")
    return SummaryLine(line.opcode, tuple(map(place, line.slots)), re.sub(r"\s*\{\{,[^}]*\}\}", "", operands).strip())


def merged(left: SummaryLine, right: SummaryLine) -> SummaryLine | None:
    """One line for both: a place that one of them lacks may be left out. None if they differ in more than a few places."""
    if (left.opcode, left.operands) != (right.opcode, right.operands):
        return None
    if left == right:
        return left
    types = _alternatives(left, right)
    if types is not None:
        return types
    a, b = [p.name for p in left.places], [p.name for p in right.places]
    places: list[ModifierPlace] = []
    differences = 0
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        mine, other = left.places[i:j], right.places[k:m]
        if kind == "equal":
            places += [x._replace(optional=x.optional or y.optional) for x, y in zip(mine, other, strict=True)]
            continue
        differences += max(len(mine), len(other))
        places += [p._replace(optional=True) for p in (*mine, *other)]
    names = [p.name for p in places]
    return (
        SummaryLine(left.opcode, tuple(places), left.operands)
        if differences <= MOST_DIFFERENCES and len(set(names)) == len(names)
        else None
    )


def _alternatives(left: SummaryLine, right: SummaryLine) -> SummaryLine | None:
    """One line for two that differ in a few types alone, each in its place. None for others."""
    if len(left.places) != len(right.places):
        return None
    places = []
    for mine, other in zip(left.places, right.places, strict=True):
        both = dict.fromkeys([*mine.name.split(","), *other.name.split(",")])
        same = mine.name == other.name
        if not same and (mine.hint or other.hint or not (mine.types and other.types)):
            return None
        places.append(
            ModifierPlace(mine.name if same else ",".join(both), mine.optional or other.optional, mine.hint, mine.types)
        )
    differences = sum(a.name != b.name for a, b in zip(left.places, right.places, strict=True))
    return SummaryLine(left.opcode, tuple(places), left.operands) if differences <= MOST_DIFFERENCES else None


def shapes(lines: list[SyntaxLine]) -> list[SummaryLine]:
    """The lines of a summary, those that stand first first."""
    merged_shapes: list[SummaryLine] = []
    for line in lines:
        new = shape(line)
        for i, old in enumerate(merged_shapes):
            both = merged(old, new)
            if both is not None:
                merged_shapes[i] = both
                break
        else:
            merged_shapes.append(new)
    return merged_shapes


def helps(lines: list[SyntaxLine]) -> bool:
    """Whether a summary is much shorter than the lines."""
    return len(lines) >= FEWEST_LINES and 2 * len(shapes(lines)) <= len(lines)


def sets(lines: list[SyntaxLine]) -> dict[str, list[str]]:
    """The sets of the summary, by name: all members that a set of that name has in some line."""
    members_of: dict[str, dict[str, None]] = {}
    for line in lines:
        for slot in line.slots:
            if slot.is_set and "_or_" not in slot.name:
                members_of.setdefault(f".{slot.name}", {}).update(dict.fromkeys(f".{o}" for o in slot.options))
        for operand in line.operands:
            if operand.selector:
                members_of.setdefault(f".{operand.selector.name}", {}).update({operand.selector.spelled: None})
    return {name: list(members) for name, members in members_of.items()}


def text(lines: list[SyntaxLine]) -> str:
    """The summary in the notation of syntax fences."""
    known = sets(lines)
    wide = max(map(len, known), default=0)
    shown = [str(s) for s in shapes(lines)]
    return "\n".join([*shown, *(f"{name:<{wide}} = {{ {', '.join(members)} }};" for name, members in known.items())])
