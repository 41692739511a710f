"""The manual's syntax notation, parsed: what `cvt{.rnd}{.ftz}.dtype.atype d, a;` accepts and enumerates.

A fence holds syntax lines and sets, in paragraphs. `.x` in a line is a member of the set `.x = { … };` that its paragraph
defines, or else a paragraph of the page that holds no lines, and without such a set the modifier itself; `{.x}` may be left out;
`{.a,.b}` is one of the listed or none. Operands: `[a]` is an address, `p[|q]` a destination with an optional second, `p|q` two
destinations, `{!}c` a predicate that may be negated, `{, b}` may be left out, `a+imm` takes an offset, `a{+imm}` is a register
that may, `{a, b}` are registers in braces, `[a, {b,} c]` are operands in brackets of which b may be left out, and `(a)` is a
list of any length in parentheses. `a{.asel}` may carry a selector of the set `.asel`, `{-}a` a minus sign, and `-a` must have
one. A digit of a set's member may be a range: `.h[0-3][0-3]` stands for sixteen members. `{{.x}}` is a hint: it may be left out
and changes no result, so that it makes no form of its own. `{{, p}}` is an operand that is there with the hint that is no set,
and only then.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache

from ptxspec.base.records import NamedTuple
from ptxspec.literate.documents import DocumentError, FencedBlock


class ModifierSlot(NamedTuple):
    """One place for a modifier: its name, the spellings it takes (without the dot), whether it may be absent and
    whether it stands for a set (its value then matters) or for itself (its presence does)."""

    name: str
    options: tuple[str, ...]
    optional: bool
    is_set: bool
    hint: bool = False
    """whether it bears on speed alone; it then may stand anywhere among the modifiers"""


class Selector(NamedTuple):
    """The set of selectors that an operand may carry: its name, the members (without the dot), and the set as the fence
    spells it."""

    name: str
    options: tuple[str, ...]
    spelled: str


#: a destination that takes no result
SINK = "_"


class Operand(NamedTuple):
    """One operand's place in a syntax line."""

    name: str
    memory: bool = False
    second: str | None = None
    negatable: bool = False
    optional: bool = False
    offset: bool = False
    group: int = 0
    """operands in one pair of braces or brackets share a number from 1 on"""
    bracketed: bool = False
    """whether that is a pair of brackets: a texture or a surface with coordinates"""
    listed: bool = False
    """any number of operands in parentheses"""
    paired: bool = False
    """whether the second destination must be there"""
    selector: Selector | None = None
    sign: str = ""
    """"{-}": may be negated, "-": is negated"""
    sum: bool = False
    """whether a constant may be added to the register"""

    @property
    def negation(self) -> str:
        """The name of the keyword that says whether the operand is negated."""
        return f"{self.name}_negated"

    @property
    def addend(self) -> str:
        """The name of the keyword for the constant that is added to the operand."""
        return f"{self.name}_offset"


class SyntaxLine(NamedTuple):
    """One line of the notation."""

    opcode: str
    slots: tuple[ModifierSlot, ...]
    operands: tuple[Operand, ...]
    comment: str
    line: int
    text: str
    companion: Operand | None = None
    """the operand that a hint brings along"""
    has_companion: bool = False
    """whether it stands among the operands"""

    def with_hints(self, bound: dict[str, str | bool]) -> SyntaxLine:
        """The line as it is where these modifiers are there: with or without the operand that a hint brings along."""
        if self.companion is None or not any(bound.get(s.name) for s in self.hints if not s.is_set):
            return self
        return self._replace(operands=(*self.operands, self.companion), has_companion=True)

    @property
    def hints(self) -> tuple[ModifierSlot, ...]:
        return tuple(s for s in self.slots if s.hint)

    @property
    def telling(self) -> tuple[ModifierSlot, ...]:
        """The hints that say more than is so without them."""
        return tuple(s for s in self.hints if not (s.is_set and len(s.options) == 1))

    def spelled(self, bound: dict[str, str | bool]) -> str:
        """The mnemonic whose slots are bound so."""
        words = (bound[s.name] if s.is_set else s.options[0] for s in self.slots if bound.get(s.name))
        return ".".join((self.opcode, *map(str, words)))

    def bindings(self, modifiers: tuple[str, ...]) -> dict[str, str | bool] | None:
        """How `modifiers` (spelled without dots, in order) fill the slots, or None if they do not fit."""
        hints: dict[str, str | bool] = {}
        for place in self.slots:
            if place.hint:
                given = [m for m in modifiers if m in place.options]
                if len(given) > 1:
                    return None
                if given:
                    hints[place.name] = given[0] if place.is_set else True
                    modifiers = tuple(m for m in modifiers if m != given[0])
        slots = [s for s in self.slots if not s.hint]

        def fit(slot: int, at: int) -> dict[str, str | bool] | None:
            if slot == len(slots):
                return hints if at == len(modifiers) else None
            place = slots[slot]
            if at < len(modifiers) and modifiers[at] in place.options:
                rest = fit(slot + 1, at + 1)
                if rest is not None:
                    return {place.name: modifiers[at] if place.is_set else True, **rest}
            return fit(slot + 1, at) if place.optional else None

        return fit(0, 0)

    def following(self, modifiers: tuple[str, ...]) -> tuple[list[tuple[str, ModifierSlot]], bool]:
        """What may come next after `modifiers` (spelled without dots, in order): each word with its slot, in the order of the
        line. And whether an instruction may have these modifiers and no more. Nothing, if none of the line begins with them."""
        hints = [s for s in self.slots if s.hint and not any(m in s.options for m in modifiers)]
        unhinted = [m for m in modifiers if not any(s.hint and m in s.options for s in self.slots)]
        slots = [s for s in self.slots if not s.hint]

        def reached(start: int) -> Iterator[int]:
            """The slots that may be next where the ones before `start` are passed; beyond the last: none must follow."""
            for i in range(start, len(slots)):
                yield i
                if not slots[i].optional:
                    return
            yield len(slots)

        places = set(reached(0))
        for word in unhinted:
            filled = (i for i in places if i < len(slots) and word in slots[i].options)
            places = {k for i in filled for k in reached(i + 1)}
        if not places:
            return [], False
        options = [(option, slots[i]) for i in sorted(places) if i < len(slots) for option in slots[i].options]
        return [*options, *((option, hint) for hint in hints for option in hint.options)], len(slots) in places

    @property
    def signs(self) -> dict[str, str | int]:
        """The negations that an instruction of this line always has."""
        return {o.negation: True for o in self.operands if o.sign == "-"}

    def mnemonics(self) -> Iterator[tuple[str, dict[str, str | bool]]]:
        """Every mnemonic the line accepts, with the bindings of its slots; those without hints."""
        slots = [s for s in self.slots if not s.hint]

        def spell(slot: int) -> Iterator[tuple[str, dict[str, str | bool]]]:
            if slot == len(slots):
                yield "", {}
                return
            place = slots[slot]
            if place.optional:
                yield from spell(slot + 1)
            for option in place.options:
                for rest, bound in spell(slot + 1):
                    yield f".{option}{rest}", {place.name: option if place.is_set else True, **bound}

        for rest, bound in spell(0):
            yield self.opcode + rest, bound


_STATEMENT = re.compile(r"(?P<text>[^;/]*(?:/(?!/)[^;/]*)*);(?P<comment>[ \t]*//[^\n]*)?", re.S)
#: a comment, unless it follows a semicolon, and what stands before it in its line
_PASSED = re.compile(r"^([^/\n;]*(?:(?:/(?!/)|;(?!\s*//))[^/\n;]*)*)//[^\n]*$", re.M)
_SET = re.compile(r"(?P<names>(?:\.\w+\s*=\s*)+)\{(?P<members>[^{}]*)\}\s*\Z", re.S)
_NAMES = re.compile(r"[\w:]+")
_MEMBER = re.compile(r"[\w:]+(?:\[\d-\d\])*")
_MODIFIER = re.compile(r"\{\{\.(?P<hint>[\w:]+)\}\}|\{((?:\s*\.[\w:]+\s*,?)+)\}|\.([\w:]+)")
_COMPANION = re.compile(r"\{\{,\s*(\w+)\s*\}\}\Z")
_OPERAND = re.compile(
    r"(?P<not>\{!\})?(?P<sign>\{-\}|-)?(?P<open>[\[(])?(?P<name>\w+)(?:(?P<offset>\+imm)|(?P<sum>\{\+imm\}))?(?P<close>[\])])?"
    r"(?:\{\.(?P<selector>\w+)\})?(?:\[\|(?P<second>\w+)\]|\|(?P<paired>\w+))?\Z"
)


class _Set(NamedTuple):
    """A set of modifiers: its members, as the fence spells them, and its line."""

    options: tuple[str, ...]
    spelled: str
    line: int


class _Paragraph(NamedTuple):
    """What stands between two blank lines of a fence: sets by their names, and lines, each with its number and its comment."""

    sets: dict[str, _Set]
    lines: list[tuple[int, str, str]]

    def define(self, path: str, name: str, new: _Set) -> None:
        if name in self.sets:
            raise DocumentError(path, new.line, f"the set .{name} is defined twice")
        self.sets[name] = new


def parse(fences: Iterable[FencedBlock], path: str) -> list[list[SyntaxLine]]:
    """The syntax lines of each fence of a page. Raises DocumentError at the line of what it cannot read."""
    read = [_paragraphs(fence, path) for fence in fences]
    of_page = _Paragraph({}, [])
    for paragraph in itertools.chain(*read):
        for name, modifiers in {} if paragraph.lines else paragraph.sets.items():
            of_page.define(path, name, modifiers)
    parsed, used = list[list[SyntaxLine]](), set[str]()
    for paragraphs in read:
        parsed.append([])
        for paragraph in paragraphs:
            sets = _Sets(of_page.sets | paragraph.sets, set())
            parsed[-1] += [_line(path, number, text, comment, sets) for number, text, comment in paragraph.lines]
            if paragraph.lines:
                _all_used(path, paragraph.sets, sets.used)
                used |= sets.used - paragraph.sets.keys()
    _all_used(path, of_page.sets, used)
    return parsed


def _all_used(path: str, sets: Mapping[str, _Set], used: Collection[str]) -> None:
    for name, modifiers in sets.items():
        if name not in used:
            raise DocumentError(path, modifiers.line, f"no syntax line uses the set .{name}")


def _paragraphs(fence: FencedBlock, path: str) -> list[_Paragraph]:
    """The paragraphs of a fence."""
    # a comment after a semicolon belongs to its line; any other is only passed over
    text = _PASSED.sub(r"\1", fence.text)
    blank = {number for number, line in enumerate(fence.text.splitlines(), fence.line) if not line.strip()}
    paragraphs = [_Paragraph({}, [])]
    at, last, length = 0, fence.line, len(text.rstrip())
    while at < length:
        begin = length - len(text[at:length].lstrip())
        line = last + text.count("\n", at, begin)
        match = _STATEMENT.match(text, begin)
        if match is None:
            raise DocumentError(path, line, f"a syntax line must end with ';': {text[at:].strip().splitlines()[0]!r}")
        if line > last and not blank.isdisjoint(range(last, line)):
            paragraphs.append(_Paragraph({}, []))
        statement = match["text"].strip()
        definition = _SET.match(statement)
        if definition:
            patterns = [m.strip().lstrip(".") for m in definition["members"].split(",")]
            of_each = [_members(pattern) for pattern in patterns]
            if None in of_each:
                raise DocumentError(path, line, f"a set holds names separated by commas: {statement!r}")
            if () in of_each:
                raise DocumentError(path, line, f"an empty range: {statement!r}")
            members = tuple(itertools.chain(*filter(None, of_each)))
            for name in re.findall(r"\.(\w+)", definition["names"]):
                if len(set(members)) != len(members):
                    raise DocumentError(path, line, f"the set .{name} lists a member twice")
                paragraphs[-1].define(path, name, _Set(members, ", ".join(f".{p}" for p in patterns), line))
        else:
            paragraphs[-1].lines.append((line, statement, (match["comment"] or "").strip().lstrip("/ ")))
        at = match.end()
        last = line + text.count("\n", begin, at)
    return paragraphs


@cache
def _members(pattern: str) -> tuple[str, ...] | None:
    """The members that one spelling stands for: every way to take a digit from each range. None for what is no name."""
    if _MEMBER.fullmatch(pattern) is None:
        return None
    if "[" not in pattern:
        return (pattern,)
    name, *ranges = re.split(r"(?=\[)", pattern)
    digits = [[str(d) for d in range(int(r[1]), int(r[3]) + 1)] for r in ranges]
    return tuple(name + "".join(chosen) for chosen in itertools.product(*digits))


class _Sets(NamedTuple):
    """The sets that a line may name, and those that one has named so far."""

    known: Mapping[str, _Set]
    used: set[str]


def _line(path: str, number: int, text: str, comment: str, sets: _Sets) -> SyntaxLine:
    """One line of syntax, with the comment above it."""
    head = re.match(r"[a-z]\w*", text)
    if head is None:
        raise DocumentError(path, number, f"a syntax line begins with an opcode: {text!r}")
    slots, at = _slots(text, head.end(), sets)
    names = [slot.name for slot in slots if slot.is_set or slot.optional]  # a word that is always there may recur
    if len(set(names)) != len(names):
        raise DocumentError(path, number, f"a modifier stands twice in {text!r}")
    rest = text[at:].strip()
    if text[at:] and not text[at].isspace():
        raise DocumentError(path, number, f"cannot read the modifiers of {text!r} from {text[at:]!r}")
    brought = _COMPANION.search(rest)
    if brought:
        rest = rest[: brought.start()]
        if len([s for s in slots if s.hint and not s.is_set]) != 1:
            raise DocumentError(path, number, f"{brought[0]!r} comes with a hint that stands for itself: there is none")
    operands = tuple(_operand(path, number, sets, *piece) for piece in _pieces(rest))
    companion = Operand(brought[1]) if brought else None
    return SyntaxLine(head[0], slots, operands, comment, number, " ".join(text.split()), companion)


def _slots(text: str, at: int, sets: _Sets) -> tuple[tuple[ModifierSlot, ...], int]:
    """The modifiers that follow an opcode, and where they end."""
    slots: list[ModifierSlot] = []
    while match := _MODIFIER.match(text, at):
        optional, is_hint = match[3] is None, match["hint"] is not None
        names = _NAMES.findall(match["hint"] or match[2] or match[3])
        if len(names) == 1 and names[0] in sets.known:
            sets.used.add(names[0])
            slots.append(ModifierSlot(names[0], sets.known[names[0]].options, optional, True, is_hint))
        elif len(names) == 1:
            slots.append(ModifierSlot(names[0].replace("::", "_"), (names[0],), optional, False, is_hint))
        else:
            slots.append(ModifierSlot("_or_".join(names), tuple(names), optional, True))
        at = match.end()
    return tuple(slots), at


def _operand(path: str, number: int, sets: _Sets, piece: str, optional: bool, group: int, bracketed: bool) -> Operand:
    """One operand of a line, as `_pieces` found it."""
    match = _OPERAND.match(piece)
    if match is None or bool(match["open"]) != bool(match["close"]):
        raise DocumentError(path, number, f"cannot read the operand {piece!r}")
    name, selector = match["selector"], None
    if name:
        if name not in sets.known:
            raise DocumentError(path, number, f"the operand {piece!r} has a selector .{name}, which is no set")
        sets.used.add(name)
        selector = Selector(name, sets.known[name].options, sets.known[name].spelled)
    return Operand(
        match["name"],
        match["open"] == "[",
        match["second"] or match["paired"],
        bool(match["not"]),
        optional,
        bool(match["offset"]),
        group,
        bracketed,
        match["open"] == "(",
        match["paired"] is not None,
        selector,
        match["sign"] or "",
        bool(match["sum"]),
    )


def _pieces(text: str) -> list[tuple[str, bool, int, bool]]:
    """Operands separated by commas: the text of each, whether it stands in a `{, … }` or a `{… ,}` that may be left out, the
    number of the braces or brackets it stands in (0: in none), and whether these are brackets."""
    pieces: list[tuple[str, bool, int, bool]] = []
    optional, group, groups, bracketed = False, 0, 0, False
    for token in re.findall(
        r"\{\s*,|\{\s*\w+\s*,\s*\}|(?:\{[!-]\})?[^\s,{}][^,{}]*(?:\{(?:\.\w+|\+imm)\})?|\{|\}|,", text
    ):
        token = token.strip()
        if token.startswith("{") and token.endswith(","):
            optional = True
        elif token.startswith("{") and token.endswith(",}"):
            pieces.append((token[1:-2].strip(), True, group, bracketed))
        elif token == "{":
            groups += 1
            group = groups
        elif token == "}":
            optional, group = (optional, 0) if group else (False, 0)
        elif token != ",":
            if token.startswith("[") and "]" not in token and "]" in text:
                groups += 1
                group, bracketed, token = groups, True, token[1:]
            if bracketed and token.endswith("]"):
                pieces.append((token[:-1], optional, group, True))
                group, bracketed = 0, False
            else:
                pieces.append((token, optional, group, bracketed))
    return pieces
