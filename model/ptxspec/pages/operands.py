"""The operands of a form with their types, as data."""

from __future__ import annotations

from functools import partial
from typing import Any

from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Definition
from ptxspec.terms.kinds import Special, TupleOf, VectorOf, vector_length


def operand_types(form: Form) -> list[dict[str, Any]]:
    """The operands of a form as they are written: name, whether the instruction writes it, and its type."""
    definition, results, rows = form.definition, list(form.definition.results), list[dict[str, Any]]()
    for place in form.syntax.operands:
        parameter = definition.sources.get(place.name)
        type_of = partial(definition.type_of, place.name, modifiers=form.modifiers)
        annotation = parameter.annotation if parameter else results.pop(0)
        rows.append({"name": place.name, "written": parameter is None, **_type(type_of(annotation), form, place.name)})
        if place.second and results:
            second = _type(type_of(results.pop(0)), form, place.second)
            rows.append({"name": place.second, "written": True, **second})
    return rows


def _type(type: Any, form: Form, name: str) -> dict[str, Any]:
    """The type of an operand: one of PTX's, as often as `count` says, or another kind of operand."""
    if isinstance(type, VectorOf):
        return {"type": str(type.element), "count": vector_length(form.modifiers) or 1}
    if isinstance(type, TupleOf):
        return {"type": [str(t) for t in _elements(form.definition, name, form.modifiers)]}
    if isinstance(type, Special):
        return {"kind": type.name}
    types = getattr(type, "types", None)
    return {"type": str(type)} if types is None else {"type": str(types[0]), "count": len(types)}


def _elements(definition: Definition, name: str, modifiers: dict[str, Any]) -> tuple[Any, ...]:
    return definition.elements(name, modifiers)
