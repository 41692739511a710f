"""Tables of telling operand rows: which forms of a definition are shown, on which operands, and what they give.

Rows are drawn from the special values of the operands' types. Of a few hundred, those are kept that together make most
of the definition's conditions both true and false and bring about most classes of results.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.evidence.kernels.signatures import inputs_of, results_of
from ptxspec.evidence.kernels.signatures import pure as is_pure
from ptxspec.language.forms import Form
from ptxspec.pages.register import Entry, entry
from ptxspec.terms import exact
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import Bool
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Update
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import meaning_of
from ptxspec_workshop.site.numerals import parsed, reading, written
from ptxspec_workshop.site.pages import code, definitions, forms, profiles, table

#: rows a table has, if the page does not ask for more; where it asks for as many as the second number, it has no others
MOST_ROWS, ASKED = 8, 3
_CANDIDATES, _ENOUGH = 320, 6
#: more rows of edges than this are not crossed, but drawn
_MOST_EDGES = 1 << 17
#: what a row is worth that brings about a first event of a kind; a condition's first outcome counts 1
_WEIGHTS = {"result": 12, "overflow": 12, "value": 2, "new": 3}
#: forms of one definition that are shown, and of a page, twice as many of a page of several opcodes
_FORMS, _FORMS_OF_PAGE = 3, 8


class RowError(ValueError):
    """A line of the directive that no form or operand fits. `line` counts from 0."""

    def __init__(self, line: int, message: str):
        super().__init__(message)
        self.line = line


class Case(NamedTuple):
    """One row: operand patterns, for each result its bits or the freedom's term, and what the row brings about."""

    operands: tuple[int, ...]
    results: tuple[Any, ...]
    events: frozenset[Any]

    @property
    def is_open(self) -> bool:
        """Whether PTX leaves one of the results open."""
        return not all(isinstance(result, int) for result in self.results)


def inputs(meaning: Meaning) -> list[tuple[str, Type]]:
    """What goes in, by the names that a table has for it, and the types. The value that stood in memory is called `old`; if there
    were several, `old.0` and so on."""
    several = sum(n.startswith("%loaded") for n, _ in inputs_of(meaning)) > 1
    names = [
        n.replace("%loaded", "old.") if several else "old" if n.startswith("%loaded") else n
        for n, _ in inputs_of(meaning)
    ]
    return [(name, type) for name, (_, type) in zip(names, inputs_of(meaning), strict=True)]


# Which forms -----------------------------------------------------------------------------------------------------------


def _awkwardness(form: Form) -> int:
    """How far a form is from what is shown best: types of 32 bits, and two types that differ if there are two."""
    types = [m for m in form.modifiers.values() if isinstance(m, Type)]
    same = len(types) > 1 and len(set(types)) == 1
    return sum(abs(t.width - 32) for t in types) + (1000 if same else 0)


def is_copy(form: Form) -> bool:
    """Whether every result is an operand's own bits."""

    def copied(term: Any) -> bool:
        while term.op in ("low", "signed") and term.args[0].hi - term.args[0].lo < 1 << term.attrs[0]:
            term = term.args[0]
        return bool(term.op == "var")

    return all(copied(value) for _, value in results_of(form.meaning()))


def representatives(candidates: Sequence[Form], most: int = _FORMS) -> list[Form]:
    """A few forms of one definition: a plain one first, then those that add most to the modifiers, the kinds of types and
    the widths that are shown."""
    if len(candidates) > 100:
        most += 1
    values: dict[str, set[Any]] = {}
    for form in candidates:
        for name, value in form.modifiers.items():
            values.setdefault(name, set()).add(value)

    def width(form: Form) -> int:
        return max((m.width for m in form.modifiers.values() if isinstance(m, Type)), default=0)

    def trait(name: str, value: Any) -> Any:
        if isinstance(value, Type):
            return name, value.kind
        return (name, value) if len(values[name]) <= 3 else name

    widest = max(map(width, candidates), default=0)

    def traits(form: Form) -> set[Any]:
        found = {trait(k, v) for k, v in form.modifiers.items()}
        types = tuple((k, v.is_float) for k, v in form.modifiers.items() if isinstance(v, Type))
        return found | {types} | ({"widest"} if width(form) == widest else set())

    chosen: list[Form] = []
    seen: set[Any] = set()
    used: set[Any] = set()
    rest = [f for f in candidates if is_pure(f)]

    def value_of(form: Form) -> tuple[int, ...]:
        repeated = len(used & set(form.modifiers.items()))
        gain = len(traits(form) - seen) if chosen else -len(form.modifiers)
        return gain, -repeated, -_awkwardness(form)

    while rest and len(chosen) < most:
        best = max(rest, key=value_of)
        if chosen and not traits(best) - seen:
            break
        chosen.append(best)
        seen |= traits(best)
        used |= set(best.modifiers.items())
        rest.remove(best)
    return sorted(chosen, key=candidates.index)


# Which rows ------------------------------------------------------------------------------------------------------------


def _edges(type: Type) -> list[int]:
    """The special values that most often make a difference."""
    everything = special(type)
    if type.kind == "pred":
        return everything
    ones, top = (1 << type.width) - 1, 1 << (type.width - 1)
    if type.elements > 1:
        return everything[:: len(everything) // 16]
    if type.is_float:
        # of either sign: zero, 1, infinity, a NaN, the least subnormal number, the greatest number, 3/2
        return [everything[i] | sign for i in (0, 4, 12, 13, 1, 11, 9) for sign in (0, top)]
    return [v for v in everything if v in (0, 1, 3, type.width, ones, top, top - 1)]


def candidates(types: Sequence[Type], seed: str) -> list[tuple[int, ...]]:
    """Rows to choose from: the edges crossed, as far as they are few, then a draw from all special values."""
    source = random.Random(seed)
    if math.prod(len(_edges(t)) for t in types) > _MOST_EDGES:
        edges = [tuple(source.choice(_edges(t)) for t in types) for _ in range(_CANDIDATES // 2)]
    else:
        edges = list(itertools.product(*map(_edges, types)))
    if len(edges) > _CANDIDATES // 2:
        edges = [edges[0], *source.sample(edges[1:], _CANDIDATES // 2)]
    specials = [special(t) for t in types]
    drawn = [tuple(source.choice(values) for values in specials) for _ in range(_CANDIDATES // 2)]
    return list(dict.fromkeys([*edges, *drawn]))


@lru_cache(maxsize=256)
def _conditions(root: Any) -> tuple[list[Any], list[Any]]:
    """The truth values and the calls below a term."""
    seen, stack = {}, [root]
    while stack:
        term = stack.pop()
        if id(term) not in seen:
            seen[id(term)] = term
            stack.extend(term.args)
    ordered = list(seen.values())
    return [t for t in ordered if isinstance(t, Bool) and t.op != "var"], [t for t in ordered if t.op == "call"]


def _value(root: Any, values: dict[str, Any], events: set[Any], where: tuple[Any, ...]) -> tuple[Any, dict[int, Any]]:
    """(the term's value, or the freedom it depends on; the values below it). What was decided on the way is added to
    `events`."""
    memo: dict[int, Any] = {}
    try:
        result = exact.evaluate(root, values, memo=memo)
    except exact.NoChoice as open_result:
        result = open_result.freedom
    conditions, calls = _conditions(root)
    for i, condition in enumerate(conditions):
        if id(condition) in memo:
            events.add((*where, i, bool(memo[id(condition)])))
    for i, call in enumerate(calls):
        if id(call) in memo and len(where) < 4:
            body, parameters = meaning_of(call)
            arguments = dict(zip(parameters, (memo.get(id(a), _constant(a)) for a in call.args), strict=True))
            _value(body, arguments, events, (*where, "call", i))
    return result, memo


def _constant(term: Any) -> Any:
    return term.attrs[0] if term.op == "const" else None


def _class(result: Any, type: Type) -> Any:
    """What kind of result it is, for telling rows apart."""
    if not isinstance(result, int):
        return result.attrs[0]
    if type.is_float:
        fraction = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[type.name]
        magnitude = result & ~(1 << (type.width - 1))
        field, last = magnitude >> fraction, (1 << (type.width - 1 - fraction)) - 1
        kind = "zero" if magnitude == 0 else "small" if field == 0 else "number"
        if field == last:
            kind = "infinity" if magnitude == field << fraction else "nan"
        return kind, result >> (type.width - 1)
    top = 1 << (type.width - 1)
    return result if result in (0, 1, 2 * top - 1, top, top - 1) else ("other", result >> (type.width - 1))


def case(meaning: Meaning, row: Sequence[int]) -> Case:
    """The results on one row of operands."""
    typed = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(inputs_of(meaning), row, strict=True)}
    events: set[Any] = set()
    results = []
    for number, (type, term) in enumerate(results_of(meaning)):
        result, memo = _value(term, typed, events, (number,))
        result = int(result) if isinstance(result, int) else result
        events.add(("result", number, _class(result, type)))
        events.add(("value", number, result))
        if term.op == "low" and type.kind != "pred":
            before = memo.get(id(term.args[0]), 0)
            events.add(("overflow", number, (before > type.max) - (before < type.min)))
        if isinstance(result, int) and result and result not in row:
            events.add(("new", number, result))
        results.append(result)
    return Case(tuple(row), tuple(results), frozenset(events))


def _effort(row: Sequence[int], types: Sequence[Type]) -> int:
    """How much there is to read in a row of operands: large integers are harder than small ones."""
    return sum(v.bit_length() for v, t in zip(row, types, strict=True) if not t.is_float)


def telling(meaning: Meaning, seed: str, given: Sequence[Case] = ()) -> list[Case]:
    """The rows of a table: those that the page asks for, in its order, and where they are few others that bring about something
    new. Of these the ones with an open result come last."""
    if len(given) >= ASKED:
        return list(given)
    types = [t for _, t in inputs(meaning)]
    asked = {one.operands for one in given}
    rest = [case(meaning, row) for row in candidates(types, seed) if row not in asked]
    seen: set[Any] = {event for one in given for event in one.events}
    chosen: list[Case] = []

    def gain(one: Case) -> int:
        return sum(_WEIGHTS.get(event[0], 1) for event in one.events - seen)

    while rest and len(given) + len(chosen) < MOST_ROWS:
        best = max(rest, key=lambda one: (gain(one), -_effort(one.operands, types)))
        if all(event[0] in ("value", "new") for event in best.events - seen) and len(given) + len(chosen) >= _ENOUGH:
            break
        chosen.append(best)
        seen |= best.events
        rest.remove(best)
    return [*given, *sorted(chosen, key=lambda one: (one.is_open, one.operands))]


# What the table says ---------------------------------------------------------------------------------------------------


def destinations(form: Form, meaning: Meaning) -> list[tuple[str, Type]]:
    """A name and a type for each result: `new` is what an instruction leaves in memory, `new.0` and so on if it leaves
    several values there."""
    spelled: list[str] = []
    for operand in form.destinations:
        spelled += [operand.name] + ([operand.second] if operand.second else [])
    found = []
    for name, result in zip(spelled, meaning.results, strict=False):
        several = len(result.values) > 1
        found += [(f"{name}.{i}" if several else name, result.type) for i in range(len(result.values))]
    cell = meaning.effect
    if isinstance(cell, Update):
        found += [("new" if cell.count == 1 else f"new.{i}", cell.type) for i in range(cell.count)]
    if meaning.carry is not None:
        found.append((CONDITION_CODE, TYPES["pred"]))
    return found


def _cell(bits: int, type: Type) -> str:
    read = reading(bits, type)
    return code(written(bits, type)) + (f" <small>{read}</small>" if read else "")


def _chosen(meaning: Meaning, number: int, row: Sequence[int]) -> Iterable[tuple[str, int, Type]]:
    """What each profile makes of an open result: (profile, bits, type)."""
    typed = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(inputs_of(meaning), row, strict=True)}
    type, term = results_of(meaning)[number]
    for name in profiles():
        try:
            yield name, int(exact.evaluate(term, typed, Profile(name).value)), type
        except exact.NoChoice:
            continue


def form_table(form: Form, rows: Iterable[Case], register: dict[str, Entry]) -> str:
    """The Markdown table of one form."""
    meaning = form.meaning()
    sources, targets = inputs(meaning), destinations(form, meaning)
    head = [f"{code(n)} {code(str(t))}" for n, t in sources] + [f"result {code(n)} {code(str(t))}" for n, t in targets]
    body = []
    for one in rows:
        cells = [_cell(v, t) for v, (_, t) in zip(one.operands, sources, strict=True)]
        for number, (result, (_, type)) in enumerate(zip(one.results, targets, strict=True)):
            if isinstance(result, int):
                cells.append(f"**{_cell(result, type)}**" if type.kind == "pred" else _cell(result, type))
                continue
            kind = result.attrs[2]
            text = f"*{kind}:* {entry(register, result.attrs[0], form.page).link}"
            for profile, bits, of in _chosen(meaning, number, one.operands):
                text += f" <small>{profile}:</small> {_cell(bits, of)}"
            cells.append(text)
        body.append(cells)
    return table(head, body, code(str(form)).replace("\\|", "|"))


def asked_for(lines: Sequence[str], candidates: Sequence[Form]) -> dict[str, tuple[Form, list[tuple[int, ...]]]]:
    """The rows that a page asks for, by form: lines `mnemonic: a=1 b=0x80`, or a mnemonic alone. Raises RowError."""
    found: dict[str, tuple[Form, list[tuple[int, ...]]]] = {}
    for number, line in enumerate(lines):
        mnemonic, _, operands = line.partition(":")
        if not line.strip():
            continue
        matching = [f for f in candidates if f.mnemonic == mnemonic.strip()]
        given = dict(re.findall(r"([\w.]+)\s*=\s*(\S+)", operands))
        if not matching:
            raise RowError(number, f"no form of this page is called {mnemonic.strip()!r}")
        fitting = [f for f in matching if not given or {n for n, _ in inputs(f.meaning())} == set(given)]
        if not fitting:
            wanted = " or ".join(", ".join(n for n, _ in inputs(f.meaning())) for f in matching)
            raise RowError(number, f"{mnemonic.strip()} has the operands {wanted}")
        form = fitting[0]
        if not is_pure(form):
            raise RowError(number, f"what {form.mnemonic} does is no function of its operands")
        rows = found.setdefault(str(form), (form, []))[1]
        if given:
            try:
                rows.append(tuple(parsed(given[n], t) for n, t in inputs(form.meaning())))
            except ValueError as error:
                raise RowError(number, str(error)) from None
    return found


def markdown(module: str, lines: Sequence[str], register: dict[str, Entry]) -> str:
    """The tables of a page: representative forms of each of its definitions and opcodes, then the rows that the page asks for."""
    asked = asked_for(lines, forms(module))
    shown: dict[str, Form] = {}
    own_opcodes = dict.fromkeys(f.syntax.opcode for f in sorted(forms(module), key=lambda f: f.syntax.line))
    groups = [
        [f for f in forms(module) if f.definition is d and f.syntax.opcode == opcode and is_pure(f)]
        for d in definitions(module)
        for opcode in own_opcodes
    ]
    groups = [g for g in groups if g and not all(map(is_copy, g))] or [g for g in groups if g]
    of_page = _FORMS_OF_PAGE * min(2, len(own_opcodes))
    most = max(1, min(_FORMS, of_page // max(1, len(groups))))
    for own in groups:
        wanted = {name: form for name, (form, _) in asked.items() if form in own}
        shown |= wanted or {str(f): f for f in representatives(own, most)}
    shown |= {name: form for name, (form, _) in asked.items() if name not in shown}
    if not shown:
        return "What these forms do is no function of their operands' values alone, so there is no table of it here.\n"
    return "\n".join(_table_of(form, asked.get(name, (form, []))[1], register) for name, form in shown.items())


def _table_of(form: Form, rows: list[tuple[int, ...]], register: dict[str, Entry]) -> str:
    meaning = form.meaning()
    return form_table(form, telling(meaning, form.mnemonic, [case(meaning, row) for row in rows]), register)
