"""The operands of a page's definitions with their types: the parameters of the functions, their annotations, and what the page
says of constants and registers."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Definition
from ptxspec.terms.kinds import Fragment, Immediate, Slot, Special, TupleOf, VectorOf
from ptxspec.terms.types import Type
from ptxspec_workshop.site.pages import definitions, forms

#: the widths of types that a modifier's type is named for
_SCALES = {1: "twice as wide as", 0: "", -1: "half as wide as", -2: "a quarter as wide as"}
#: constants of a range longer than this are told by its ends
_FEW = 4


class Row(NamedTuple):
    """An operand: its name, whether the instruction writes it, its type in words, and what may stand for it."""

    name: str
    written: bool
    type: str
    allowed: str


def type_text(annotation: Any) -> str:
    """What an annotation says, in HTML: `.type`, `.u32`, an address."""
    match annotation:
        case Slot(name, scale):
            return f"{_SCALES[scale]} {_code(f'.{name}')}".strip()
        case Type():
            return _code(str(annotation))
        case VectorOf(element):
            return f"{type_text(element)}, or as many as {_code('.vec')} says"
        case Immediate(type):
            return f"constant {type_text(type)}"
        case Fragment():
            return "registers of a fragment"
        case TupleOf():
            return "coordinates"
        case Special(name):
            return name.replace("_", " ")
        case _:
            raise TypeError(f"an operand of type {annotation!r}")


def rows(definition: Definition, own: list[Form]) -> list[Row]:
    """The operands of a definition, in the order in which an instruction has them: destinations first."""
    syntax = [o for form in own for o in form.syntax.operands]
    written: dict[str, Any] = {}
    for form in own:
        for operand, annotation in zip(form.destinations, definition.results, strict=False):
            written.setdefault(operand.name, annotation)
            if operand.second:
                written.setdefault(operand.second, definition.results[-1])
    found = [Row(name, True, type_text(annotation), _taken(definition, name)) for name, annotation in written.items()]
    for name, parameter in definition.sources.items():
        told = [_taken(definition, name)]
        told += ["may be negated"] if any(o.name == name and o.negatable for o in syntax) else []
        told += ["may be left out"] if parameter.default is not parameter.empty else []
        selectors = dict.fromkeys(o.selector for o in syntax if o.name == name and o.selector)
        told += ["with one of " + " or ".join(_selectors(s.options) for s in selectors)] if selectors else []
        found.append(Row(name, False, type_text(parameter.annotation), "; ".join(filter(None, told))))
    return found


def _selectors(options: Sequence[str]) -> str:
    """Selectors; of many that are all combinations of some digits, what each place may hold."""
    places = [sorted(set(place)) for place in zip(*options, strict=False)]
    alike = len({len(x) for x in options}) == 1 and math.prod(map(len, places)) == len(set(options))
    if len(options) <= _FEW or not alike:
        return " ".join(_code("." + x) for x in options)
    shown = "".join(p[0] if len(p) == 1 else f"[{p[0]}-{p[-1]}]" for p in places)
    return f"{_code('.' + shown)}, {len(options):,} of them"


def _taken(definition: Definition, name: str) -> str:
    """What may stand for an operand of a definition, where that is not any register or constant of its type."""
    written = name not in definition.sources
    told = []
    annotation = definition.sources[name].annotation if name in definition.sources else None
    if definition.wider and (annotation is None or isinstance(annotation, Slot | Type | VectorOf)):
        told.append("a wider register too")
    if name in definition.narrower:
        told.append(f"a register of {_code(str(definition.narrower[name]))} too")
    for operands, where in definition.of_registers:
        if not written and name in operands:
            told.append("no constant" + (f" with {_forms(where)}" if where else ""))
    constants = definition.constant_ranges.get(name)
    if constants is not None:
        told.append("only some constants, by the form" if callable(constants) else f"constants {_numbers(constants)}")
    if name in definition.constant_bounds:
        told.append(f"a constant at most {_code(definition.constant_bounds[name])}")
    return "; ".join(told)


def _forms(where: dict[str, tuple[Any, ...]]) -> str:
    """Modifiers with their values, such as `.type` `.bf16`, `.bf16x2`."""
    return " and ".join(
        f"{_code('.' + name)} {', '.join(_code(f'.{v}') for v in values)}" for name, values in where.items()
    )


def _numbers(constants: range | tuple[int, ...]) -> str:
    if isinstance(constants, range) and len(constants) > _FEW:
        step = f" in steps of {constants.step}" if constants.step != 1 else ""
        return f"{constants[0]} to {constants[-1]}{step}"
    return ", ".join(map(str, constants))


def groups(module: str) -> list[tuple[list[Definition], list[Row]]]:
    """The definitions of a page, those whose operands are the same together, with these."""
    found: list[tuple[list[Definition], list[Row]]] = []
    for definition in definitions(module):
        own = [form for form in forms(module) if form.definition is definition]
        if not own:
            continue
        mine = rows(definition, own)
        same = next((group for group, those in found if those == mine), None)
        if same is None:
            found.append(([definition], mine))
        else:
            same.append(definition)
    return found


def html_of(module: str) -> str:
    """The table in HTML; "" if no definition of the page has operands."""
    known = groups(module)
    if not any(mine for _, mine in known):
        return ""
    several = len(known) > 1
    heads = [*(["Definition"] if several else []), "Operand", "Access", "Type", "What may stand for it"]
    body = []
    for own, mine in known:
        names = "<br>".join(f'<a href="#def-{d.name}">{_code(d.name)}</a>' for d in own)
        for i, row in enumerate(mine or [Row("", False, "none", "")]):
            first = [f'<th scope="rowgroup" rowspan="{max(1, len(mine))}">{names}</th>'] if several and not i else []
            access = "" if not row.name else "written" if row.written else "read"
            cells = [_code(row.name) if row.name else "", access, row.type, row.allowed]
            body.append("<tr>" + "".join(first) + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    head = "".join(f'<th scope="col">{h}</th>' for h in heads)
    return (
        '<div class="table-wrapper docutils container operands"><table class="docutils align-default">'
        f"<thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(body) + "\n</tbody></table></div>"
    )


def _code(word: str) -> str:
    return f"<code>{html.escape(word)}</code>"
