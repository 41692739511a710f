"""The table of forms: which syntax lines belong to which definition, and what a mnemonic means."""

from __future__ import annotations

import functools
import itertools
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ptxspec import contracts
from ptxspec.base import places, storage
from ptxspec.base.records import NamedTuple
from ptxspec.language import cited
from ptxspec.language.diagnostics import Later
from ptxspec.literate import finder, notation
from ptxspec.literate.documents import DocumentError
from ptxspec.literate.notation import SyntaxLine
from ptxspec.terms.definitions import DEFINITIONS, Definition, Meaning
from ptxspec.terms.editions import Edition, Epoch, beginnings
from ptxspec.terms.kinds import MatrixFragment, Special, TupleOf
from ptxspec.terms.types import TYPES, Type

#: how many members of an operand's set of selectors are tried at least, where evidence is collected
SPREAD = 12
#: the parameter of a definition to which its opcode goes, if it takes that
OPCODE = "opcode"
#: more modifiers than any instruction has, however often some are repeated
MOST_MODIFIERS = 64
#: the folders whose pages state what a module may name: special registers, and functions of the system
STATING = ("special_registers", "functions")
#: so much of a mnemonic is compared with others
_LONGEST = 100
#: so many of the mnemonics that share the most words are compared letter by letter
_MOST_RANKED = 200


class Form(NamedTuple):
    """A form of an instruction: an opcode with its modifiers, the syntax line that allows it, and its definition. Among the
    `modifiers` is the opcode, as "opcode", if the definition is that of several. `marks` has what is written at its operands: a
    selector by the name of its set of selectors, True for the name of each negation, and the constant that is added to a register
    by the name of its addend.
    `epoch` is the PTX version and target of the module that has the form; None stands for the newest ones that have it.

    >>> form = ptxspec.forms("bfe")[0]
    >>> print(form)
    bfe.u32 d, a, b, c;
    >>> form.mnemonic, form.modifiers, form.availability, form.removal
    ('bfe.u32', {'type': u32}, ((2, 0), 20), None)
    >>> form.page.startswith("spec/instructions/integer/bfe.md:")
    True
    """

    mnemonic: str
    modifiers: dict[str, Any]
    syntax: SyntaxLine
    definition: Definition
    marks: dict[str, str | int]
    epoch: Epoch | None = None

    @property
    def page(self) -> str:
        """The document and line that define the form."""
        return f"{page_name(self.definition.path)}:{self.definition.line}"

    @property
    def availability(self) -> tuple[tuple[int, int], int]:
        """(PTX ISA version, sm number) from which the form exists, without operands that may be omitted."""
        return self.definition.availability(self.modifiers, operands=self.required)

    @property
    def required(self) -> list[str]:
        """The names of the operands that may not be omitted."""
        operands = [o for o in self.syntax.operands if not o.optional]
        return [*(o.name for o in operands), *(o.second for o in operands if o.second and o.paired)]

    @property
    def only(self) -> tuple[str, ...]:
        """The targets, such as sm_100f, one of whose feature sets the form needs; empty if every target from the sm number on has
        the form."""
        return self.definition.only(self.modifiers)

    @property
    def is_dropped(self) -> bool:
        """Whether today's assemblers reject the form in every module, since it needs 32-bit addresses."""
        return self.definition.needs_narrow_addresses(self.modifiers)

    @property
    def removal(self) -> tuple[tuple[int, int], int] | None:
        """(PTX ISA version, sm number): the form no longer exists in modules that have reached both. None if it was not
        removed."""
        return self.definition.removal(self.modifiers)

    @property
    def destinations(self) -> list[notation.Operand]:
        return [o for o in self.syntax.operands if o.name not in self.definition.sources]

    @property
    def places(self) -> list[tuple[notation.Operand, ...]]:
        """The operands in the order of the syntax; those within one pair of braces or brackets are grouped."""
        places: list[tuple[notation.Operand, ...]] = []
        for operand in self.syntax.operands:
            if operand.group and places and places[-1][0].group == operand.group:
                places[-1] = (*places[-1], operand)
            else:
                places.append((operand,))
        return places

    def marked(self, operand: notation.Operand, text: str) -> str:
        """An operand's text, with the minus sign and the selector that the form has for this operand."""
        sign = "-" if self.marks.get(operand.negation) else ""
        selector = self.marks.get(operand.selector.name) if operand.selector else None
        return f"{sign}{text}.{selector}" if selector else sign + text

    @property
    def absences(self) -> list[tuple[str, ...]]:
        """The sets of optional operands that may be omitted: none, then the last one, the last two, and so on; and each of these
        with and without the optional operands in brackets, which are omitted independently."""
        optional = [o for o in self.syntax.operands if o.optional]
        last = [o.name for o in optional if not o.bracketed]
        inside = tuple(o.name for o in optional if o.bracketed)
        absences = [tuple(last[i:]) for i in range(len(last), -1, -1)]
        return absences + [names + inside for names in absences] if inside else absences

    @property
    def plain(self) -> bool:
        """Whether it has no optional selector or sign at its operands, and no hint."""
        return self.marks == self.syntax.signs and not any(
            s.hint and s.name in self.modifiers for s in self.syntax.slots
        )

    @property
    def variants(self) -> list[Form]:
        """The form itself, then variants of it whose operands have selectors and signs: enough that each selector of each operand
        occurs, or an even selection of them if there are more than 16. The last variant has hints, if the form may have any."""
        selectors = [o.selector for o in self.syntax.operands if o.selector]
        negations = [o.negation for o in self.syntax.operands if o.sign == "{-}"]
        chosen = [(s.name, spread(s.options)) for s in selectors]
        count = max([len(options) for _, options in chosen] + [1 << len(negations) if negations else 0])
        variants = [self]
        for i in range(count):
            marks = {name: options[(i + 2 * k) % len(options)] for k, (name, options) in enumerate(chosen)}
            signs = {name: True for k, name in enumerate(negations) if i >> k & 1}
            variants.append(self._replace(marks={**self.marks, **marks, **signs}))
        return [*variants, self.hinted] if self.syntax.telling else variants

    @property
    def hinted(self) -> Form:
        """The form with hints. A hash of its mnemonic chooses which ones, so that all combinations occur among many forms. A hint
        that only names the default is not chosen."""
        slots = self.syntax.telling
        count = math.prod(len(s.options) + 1 for s in slots)
        number = zlib.crc32(self.mnemonic.encode()) % (count - 1) + 1
        bound: dict[str, Any] = dict(self.modifiers)
        for slot in slots:
            number, which = divmod(number, len(slot.options) + 1)
            if which:
                bound[slot.name] = slot.options[which - 1] if slot.is_set else True
        names = {k: v.name if isinstance(v, Type) else v for k, v in bound.items()}
        return self._replace(mnemonic=self.syntax.spelled(names), modifiers=bound, syntax=self.syntax.with_hints(names))

    def meaning(self, absent: tuple[str, ...] = ()) -> Meaning:
        """The meaning of the form: the result of evaluating its definition. `absent` names the optional operands that are
        omitted. A source operand that the syntax line does not have is absent too."""
        return self.definition.meaning({**self.modifiers, **self.marks}, self._lacking(absent), self.epoch)

    @property
    def changes(self) -> list[tuple[str, Edition]]:
        """The editions (ranges of PTX versions and targets) on which its meaning depends, among the modules that have the form:
        (the entry of the register of ambiguities, the edition)."""
        changes = self._questions
        epochs = self._epochs if changes else []
        return [(slug, e) for slug, e in changes if len({e.holds(epoch) for epoch in epochs}) == 2]

    @property
    def editions(self) -> list[Form]:
        """The form in modules of other editions, once for each meaning that differs from the newest one."""
        editions = {id(self.meaning()): self}
        for dated in (self._replace(epoch=epoch) for epoch in (self._epochs if self._questions else [])):
            editions.setdefault(id(dated.meaning()), dated)
        return [form for form in editions.values() if form is not self]

    @property
    def _questions(self) -> list[tuple[str, Edition]]:
        """What the definition asks of the epoch of any module."""
        return self.definition.changes({**self.modifiers, **self.marks}, self._lacking(()))

    @property
    def _epochs(self) -> list[Epoch]:
        """The first epoch of each edition that its meaning may depend on, of those that have the form."""
        since, target = self.availability
        editions = (Edition(since, None, target), *(edition for _, edition in self._questions))
        return [epoch for epoch in beginnings(editions) if self.exists(epoch)]

    def exists(self, epoch: Epoch) -> bool:
        """Whether modules of that epoch have the form."""
        since, target = self.definition.availability(self.modifiers, epoch.target, self.required)
        gone = self.removal
        removed = gone is not None and epoch.version >= gone[0] and epoch.target >= gone[1]
        return epoch.version >= since and epoch.target >= target and epoch.has(self.only) and not removed

    def _lacking(self, absent: tuple[str, ...]) -> tuple[str, ...]:
        written = {o.name for o in self.syntax.operands} | self.definition.accumulators.keys()
        return (*(n for n in self.definition.sources if n not in written), *absent)

    def written(self, texts: Mapping[str, str]) -> str:
        """The text of the instruction with these operands, by the operands' names. Operands without a text are omitted."""
        operands: list[str] = []
        for members in self.places:
            shown = ", ".join(texts[o.name] for o in members if o.name in texts)
            if shown:
                opens, closes = "[]" if members[0].bracketed else "{}"
                operands.append(f"{opens}{shown}{closes}" if members[0].group else shown)
        return f"{self.mnemonic} {', '.join(operands)};" if operands else f"{self.mnemonic};"

    def __str__(self) -> str:
        return self.written({o.name: self.marked(o, _spell(o)) for o in self.syntax.operands})


def spread(options: tuple[str, ...]) -> list[str]:
    """All of a few; of more than 16, so many at even distances, the first and the last among them."""
    if len(options) <= 16:
        return list(options)
    return [options[i * (len(options) - 1) // (SPREAD - 1)] for i in range(SPREAD)]


def _spell(operand: notation.Operand) -> str:
    text = operand.name
    text = f"[{text}]" if operand.memory else text
    return text + (f"|{operand.second}" if operand.second else "")


@functools.cache
def page_name(path: str) -> str:
    """A document's path from the folder of the documents on, for messages."""
    try:
        return str(Path(path).resolve().relative_to(places.DOCUMENTS.resolve()))
    except ValueError:
        return path


#: a syntax line, and the definition that it belongs to
Bound = tuple[SyntaxLine, Definition]


class Lasting(NamedTuple):
    """Mnemonics, the shorter ones first, and of each the set of its words, a bit each; `bits` numbers these."""

    mnemonics: list[str]
    words: list[int]
    bits: dict[str, int]


class Opcode:
    """Everything the pages say of one opcode. `lines` gives its syntax lines with their definitions; it is asked once, when the
    first of them is needed."""

    def __init__(self, name: str, lines: Callable[[], list[Bound]]):
        self.name = name
        self._lines = lines
        self._found: dict[str, list[Form]] = {}

    @cached_property
    def lines(self) -> list[Bound]:
        return self._lines()

    def find(self, mnemonic: str) -> list[Form]:
        """The forms a mnemonic may be; several where the operands decide."""
        if mnemonic not in self._found:
            matches = self._in_order(mnemonic) or self._in_another_order(mnemonic)
            if not matches:
                return matches  # there is no end of mnemonics that an opcode does not have
            self._found[mnemonic] = matches
        return self._found[mnemonic]

    def _in_order(self, mnemonic: str) -> list[Form]:
        """The forms whose modifiers stand as the mnemonic's do."""
        modifiers = tuple(mnemonic.split(".")[1:])
        forms = []
        for line, definition in self.lines:
            bound = line.bindings(modifiers)
            if bound is not None:
                hinted = line.with_hints(bound)
                forms.append(Form(mnemonic, bound_values(bound, line, definition), hinted, definition, line.signs))
        return forms

    def _in_another_order(self, mnemonic: str) -> list[Form]:
        """The forms with the mnemonic's modifiers in another order. A word that is a hint in one line may be none in another."""
        modifiers = mnemonic.split(".")[1:]
        if len(modifiers) > MOST_MODIFIERS:
            return []
        candidates = [m for m in dict.fromkeys(modifiers) if m in self._hints]
        most = max((len(line.hints) for line, _ in self.lines), default=0)
        for count in range(min(len(candidates), most) + 1):
            for hints in itertools.combinations(candidates, count):
                rest = list(modifiers)
                for hint in hints:
                    rest.remove(hint)
                others = ".".join((self.name, *rest))
                spelled = self._orders.get(self._unordered(others))
                forms = self._in_order(".".join((spelled, *hints))) if spelled is not None else []
                if forms:
                    return forms
        return []

    def _unordered(self, mnemonic: str) -> tuple[Any, ...]:
        """A mnemonic without the order of its modifiers, where that does not count: see spec/instructions/index.md."""
        page = contracts.mnemonics
        words = mnemonic.split(".")[1:]
        neighbours, in_order = page.NEXT_TO.get(self.name, ()), page.IN_ORDER.get(self.name, ())
        count = next((i for i, word in enumerate(words) if word not in neighbours), len(words))

        def once(words: list[str]) -> list[str]:
            return [w for i, w in enumerate(words) if w not in page.REPEATED or w not in words[:i]]

        rest = words[count:]
        ordered = tuple(tuple(w for w in rest if w in group) for group in (TYPES, *in_order))
        others = [w for w in rest if not any(w in group for group in (TYPES, *in_order))]
        return tuple(once(words[:count])), ordered, tuple(sorted(once(others)))

    @cached_property
    def _hints(self) -> set[str]:
        """All words that are hints somewhere."""
        return {option for line, _ in self.lines for slot in line.slots if slot.hint for option in slot.options}

    @cached_property
    def _orders(self) -> dict[tuple[Any, ...], str]:
        """The page's mnemonic for each without an order."""
        orders: dict[tuple[Any, ...], str] = {}
        for form in self.forms:
            orders.setdefault(self._unordered(form.mnemonic), form.mnemonic)
        return orders

    @cached_property
    def forms(self) -> list[Form]:
        """Every form, in the order of the pages. Raises DocumentError if two lines define one form."""
        seen: dict[tuple[Any, ...], SyntaxLine] = {}
        forms = []
        for line, definition in self.lines:
            for mnemonic, bound in line.mnemonics():
                form = Form(mnemonic, bound_values(bound, line, definition), line, definition, line.signs)
                key = (mnemonic, _operand_shape(form))
                if key in seen:
                    raise DocumentError(
                        definition.path, line.line, f"{mnemonic} is defined twice: here and in {seen[key].text!r}"
                    )
                seen[key] = line
                forms.append(form)
        return forms

    @cached_property
    def lasting(self) -> Lasting:
        """The mnemonics that no module loses, or all if there are none."""
        known = {form.mnemonic for form in self.forms if form.removal is None}
        names = sorted(known or {form.mnemonic for form in self.forms}, key=lambda m: (len(m), m))
        bits: dict[str, int] = {}
        words = [sum(1 << bits.setdefault(word, len(bits)) for word in set(m.split("."))) for m in names]
        return Lasting(names, words, bits)

    def nearest(self, mnemonic: str, count: int = 5) -> list[str]:
        """Mnemonics the opcode has that are most like one it has not: the same for other types of that width, then those that are
        spelled alike; those that no module loses, if there are any."""
        from ptxspec.language.suggestions import alike

        meant = self.misspelled(mnemonic)
        words = [meant.get(word, [word])[0] for word in mnemonic.split(".")[: MOST_MODIFIERS + 1]]
        wanted, written = set(words), ".".join(words)[:_LONGEST]
        names, sets, bits = self.lasting
        wanted_bits = sum(1 << bits[word] for word in wanted if word in bits)  # what none has is lacking in all
        lacking = [(wanted_bits ^ word_bits).bit_count() for word_bits in sets]
        ranked = [names[i] for i in sorted(range(len(names)), key=lacking.__getitem__)[:_MOST_RANKED]]
        close = alike(written, ranked, count, 0.3)
        same = self._of_other_types(mnemonic.split(".")[: MOST_MODIFIERS + 1])[: count - 1]
        return list(dict.fromkeys([*same, *ranked[:2], *close]))[:count]

    def closest(self, mnemonic: str) -> list[str]:
        """The mnemonic itself, if the opcode has it and no module loses it; else the one that is most like it."""
        return [mnemonic] if mnemonic in self.lasting.mnemonics else self.nearest(mnemonic, 2)[:1]

    def _of_other_types(self, words: Sequence[str]) -> list[str]:
        """The mnemonics that the opcode has where one of the words, a type, is replaced by another of the same width; that of
        bits first."""
        names = set(self.lasting.mnemonics)
        mnemonics = []
        for i, word in enumerate(words):
            width = TYPES[word].width if word in TYPES else 0
            alike = sorted(
                (t for t in TYPES.values() if t.width == width and t.name != word), key=lambda t: t.kind != "b"
            )
            mnemonics += [".".join((*words[:i], t.name, *words[i + 1 :])) for t in alike]
        return [name for name in mnemonics if name in names]

    def misspelled(self, mnemonic: str) -> dict[str, list[str]]:
        """For modifiers that no opcode has, those of this one that they are like."""
        from ptxspec.language.suggestions import near

        known = registry().words
        strange = (w for w in mnemonic.split(".")[1 : MOST_MODIFIERS + 1] if w not in known and w not in TYPES)
        suggestions = {word: near(word, self._words) for word in itertools.islice(dict.fromkeys(strange), 4)}
        return {word: some for word, some in suggestions.items() if some}

    def absent(self, mnemonic: str) -> tuple[str, str]:
        """What to say of a mnemonic that the opcode does not have, and the page."""
        instead = self.nearest(mnemonic)
        meant = [f"did you mean .{' or .'.join(some)} for .{w}? " for w, some in self.misspelled(mnemonic).items()]
        message = f"there is no {mnemonic}; {''.join(meant)}the nearest forms are {', '.join(instead)}"
        return message, self.page_of_most(instead)

    @cached_property
    def _words(self) -> list[str]:
        """All modifiers of its forms."""
        return sorted(self.words)

    @property
    def words(self) -> set[str]:
        return {option for line, _ in self.lines for slot in line.slots for option in slot.options}

    def page(self, mnemonic: str) -> str:
        """The page of a mnemonic that the opcode has."""
        return page_name(self.find(mnemonic)[0].definition.path)

    def page_of_most(self, mnemonics: Sequence[str]) -> str:
        """The page on which most of some mnemonics stand; the first one's of as many."""
        return Counter(map(self.page, mnemonics)).most_common(1)[0][0]


def _operand_shape(form: Form) -> tuple[Any, ...]:
    """What tells two lines of one mnemonic apart: the kinds of their operands, and which stand in braces."""
    shape = []
    for operand in form.syntax.operands:
        parameter = form.definition.sources.get(operand.name)
        annotation = parameter.annotation if parameter else None
        kind = "tuple" if isinstance(annotation, TupleOf) else "value"
        kind = annotation.name if isinstance(annotation, Special) else kind
        kind = "predicate" if annotation == TYPES["pred"] else kind
        kind = "fragment" if isinstance(annotation, MatrixFragment) else kind
        shape.append(
            (kind, operand.memory, operand.group, operand.bracketed, operand.optional, operand.offset, operand.sign)
        )
    return tuple(shape)


def bound_values(bound: dict[str, str | bool], line: SyntaxLine, definition: Definition) -> dict[str, Any]:
    """What the slots of a line are bound to as its definition takes it: types for the names of types, and beside them the opcode
    if the definition is that of several."""
    values = {k: TYPES.get(v, v) if isinstance(v, str) else v for k, v in bound.items()}
    return {OPCODE: line.opcode, **values} if OPCODE in definition.modifiers else values


class Registry:
    """The table of forms of a package's pages. `opcodes` maps a name to what the pages say of it; `index` tells which pages
    define each, in their order. Without one, every page is loaded now; with one, a page is when something of it is asked for."""

    def __init__(self, package: str = "ptxspec.spec", index: Mapping[str, Sequence[str]] | None = None) -> None:
        finder.install()
        self.package = package
        self._bound: dict[str, list[Bound]] = {}
        self.index: Mapping[str, Sequence[str]] = self._every_page() if index is None else index
        self.opcodes = {name: Opcode(name, functools.partial(self._lines, name)) for name in self.index}
        for folder in STATING if index is not None else ():
            for name, _ in finder.pages(package, folder):
                finder.load(name)

    @cached_property
    def pages(self) -> dict[str, Any]:
        """All pages, loaded, by the names of their modules."""
        return {name: finder.load(name) for name, _ in finder.pages(self.package)}

    def _every_page(self) -> dict[str, list[str]]:
        """Load and check all pages. Returns their index."""
        index: dict[str, list[str]] = {}
        for name, module in self.pages.items():
            of_instruction = name.startswith(f"{self.package}.instructions.") and Path(module.__file__).stem != "index"
            if of_instruction or name in DEFINITIONS:
                for opcode in dict.fromkeys(line.opcode for line, _ in self._of_page(name)):
                    index.setdefault(opcode, []).append(name)
        return index

    def _of_page(self, name: str) -> list[Bound]:
        if name not in self._bound:
            self._bound[name] = bound_lines(finder.load(name))
        return self._bound[name]

    def _lines(self, opcode: str) -> list[Bound]:
        return [pair for name in self.index[opcode] for pair in self._of_page(name) if pair[0].opcode == opcode]

    @cached_property
    def words(self) -> set[str]:
        """The modifiers of all opcodes."""
        return set().union(*(opcode.words for opcode in self.opcodes.values()))

    def forms(self) -> Iterator[Form]:
        for name in sorted(self.opcodes):
            yield from self.opcodes[name].forms


def bound_lines(module: Any) -> list[Bound]:
    """The syntax lines of a page, each with its definition. Raises DocumentError where the two do not fit."""
    path, bound = str(module.__file__), list[Bound]()
    definitions = sorted(DEFINITIONS.get(module.__name__, []), key=lambda d: d.line)
    fences = finder.document_of(module).of("syntax")
    if not definitions:
        raise DocumentError(path, 1, "a page of an instruction without semantics: no @instruction")
    parsed, start = notation.parse(fences, path), 0
    for definition in definitions:
        before = [lines for fence, lines in zip(fences, parsed, strict=True) if start < fence.line < definition.line]
        start = definition.line
        if not before:
            raise DocumentError(path, definition.line, f"{definition.name} has no syntax fence before it")
        lines = [line for group in before for line in group]
        _check_binding(definition, lines, path)
        bound += [(line, definition) for line in lines]
    for fence in fences:
        if fence.line > start:
            raise DocumentError(path, fence.line, "a syntax fence without semantics: no definition follows it")
    return bound


def _check_binding(definition: Definition, lines: list[SyntaxLine], path: str) -> None:
    """A definition must take every modifier and source that its syntax has, and no other."""
    everywhere = set.intersection(*[{s.name for s in line.slots if not (s.is_set or s.optional)} for line in lines])
    for line in lines:
        for slot in line.slots:
            if slot.name not in definition.modifiers and slot.name not in everywhere:
                raise DocumentError(path, line.line, f"{definition.name} drops the modifier .{slot.name}: no parameter")
        for operand in line.operands:
            if operand.selector and operand.selector.name not in definition.modifiers:
                name = operand.selector.name
                raise DocumentError(path, line.line, f"{definition.name} drops the selector .{name}: no parameter")
            if operand.sign and operand.negation not in definition.modifiers:
                raise DocumentError(path, line.line, f"{definition.name} drops a sign: no parameter {operand.negation}")
            if operand.sum and operand.addend not in definition.modifiers:
                raise DocumentError(
                    path, line.line, f"{definition.name} drops an offset: no parameter {operand.addend}"
                )
        names = [o.name for o in line.operands]
        if line.companion is not None and line.companion.name not in definition.sources:
            raise DocumentError(path, line.line, f"{definition.name} drops the operand {line.companion.name}")
        given = {*names, *(n for n, of in definition.accumulators.items() if of in names)}
        missing = [n for n, p in definition.sources.items() if n not in given and p.default is p.empty]
        if missing:
            raise DocumentError(path, line.line, f"{definition.name} has an operand {missing[0]}, the syntax has not")
        destinations = [n for n in names if n not in definition.sources]
        if len(destinations) > len(definition.results):
            raise DocumentError(path, line.line, f"{definition.name} does not say what {destinations[-1]} is")
    known = {OPCODE, *(s.name for line in lines for s in line.slots)}
    for operand in (o for line in lines for o in line.operands):
        known |= {operand.selector.name} if operand.selector else set()
        known |= {operand.negation} if operand.sign else set()
        known |= {operand.addend} if operand.sum else set()
    for name in definition.modifiers:
        if name not in known:
            raise DocumentError(path, definition.line, f"{definition.name}: no syntax line has a modifier .{name}")


@functools.cache
def registry() -> Registry:
    """The table of forms. Its index is kept between runs, under a digest of all pages, and only made of pages that are right."""
    return Registry(index=storage.remembered("forms", storage.digest(), lambda: Registry().index, _index))


def _index(value: Any) -> dict[str, list[str]]:
    """An index as it was kept. Raises ValueError for what is none."""
    if not isinstance(value, dict) or not all(isinstance(names, list) and names for names in value.values()):
        raise ValueError("no index of opcodes")
    if not all(isinstance(n, str) and n.startswith("ptxspec.spec.") for modules in value.values() for n in modules):
        raise ValueError("no pages of instructions")
    return value


def unknown_opcode(mnemonic: str) -> Later:
    """What to say of an instruction whose opcode no page defines."""
    name = mnemonic.split(".")[0]

    def find() -> tuple[str, str | None]:
        from ptxspec.language.suggestions import did_you_mean, meant

        known = opcodes()
        if name in known:  # of a family without a page, and misspelled after the opcode
            return f"there is no {mnemonic}{_near_family(mnemonic)}", cited.GAPS
        parted = _parted(mnemonic, exactly=True)
        instead = meant(parted) if parted else did_you_mean(name, known) or meant(_parted(mnemonic, exactly=False))
        return f"{name} is no instruction of PTX{instead}", None

    return Later(find)


def opcode_of(name: str) -> str:
    """The opcode of a mnemonic or of a family of instructions."""
    return name.split(".")[0].split("::")[0]


def _near_family(mnemonic: str) -> str:
    """The families that the first words of a mnemonic may have been meant to be: `; did you mean a or b?`, or nothing."""
    from ptxspec.language.suggestions import did_you_mean

    words = mnemonic.split(".")[:MOST_MODIFIERS]
    families = [f for f in contracts.gaps.FAMILIES if opcode_of(f) == words[0]]
    counts = sorted({f.count(".") + 1 for f in families}, reverse=True)
    suggestions = (did_you_mean(".".join(words[:n]), (f for f in families if f.count(".") + 1 == n)) for n in counts)
    return next((suggestion for suggestion in suggestions if suggestion), "")


def _parted(mnemonic: str, exactly: bool) -> list[str]:
    """What a mnemonic was meant to be that lacks the dot after its opcode: an opcode, and a modifier that it has, spelled
    exactly so or nearly."""
    from ptxspec.language.suggestions import near

    name, *rest = mnemonic.split(".")
    known = opcodes()
    for cut in range(len(name) - 1, 1, -1):
        opcode, word = name[:cut], name[cut:]
        if opcode not in known:
            continue
        families = [f.split(".") for f in contracts.gaps.FAMILIES if opcode_of(f) == opcode]
        firsts = {f[1] for f in families if len(f) > 1}
        described = registry().opcodes.get(opcode)
        words = firsts | (described.words if described is not None else set())
        for modifier in [word] if exactly and word in words else [] if exactly else near(word, sorted(words), 1):
            if modifier in firsts:
                return [f"{opcode}.{modifier}"]
            assert described is not None
            return described.closest(".".join((opcode, modifier, *rest)))
    return []


def opcodes() -> dict[str, bool]:
    """Every opcode of PTX, and whether a page describes it."""
    missing = map(opcode_of, contracts.gaps.FAMILIES)
    return dict.fromkeys(registry().opcodes, True) | {n: False for n in missing if n not in registry().opcodes}


def forms(opcode: str | None = None) -> list[Form]:
    """Every form of an opcode, or of all opcodes. Raises KeyError for an opcode that no page defines.

    >>> [form.mnemonic for form in ptxspec.forms("bfe")]
    ['bfe.u32', 'bfe.u64', 'bfe.s32', 'bfe.s64']
    """
    table = registry()
    return list(table.forms()) if opcode is None else table.opcodes[opcode].forms


def no_page_defines(opcode: str) -> str:
    """What is said of an opcode that there is not, with those that are spelled most like it."""
    import difflib  # which a text without errors does not need

    near = difflib.get_close_matches(opcode.split(".")[0][:40], sorted(registry().opcodes), 4, 0.5)
    return f"no page defines {opcode[:40]!r}" + (f"; the nearest opcodes are {', '.join(near)}" if near else "")
