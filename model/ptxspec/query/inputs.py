"""The inputs of a question: a variable for each register that is read, and what always holds for special registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ptxspec.language.specials import special_registers
from ptxspec.query.fragments import Fragment
from ptxspec.terms.core import Bool, constant, truth_variable, variable
from ptxspec.terms.registries import GUARANTEES
from ptxspec.terms.types import Type


class Inputs(NamedTuple):
    """`terms` has the variable of every input, `types` its type. Among them are special registers that no side reads, but that
    those which are read are guaranteed to be related to. `guaranteed` is what the pages guarantee of all of them."""

    terms: dict[str, Any]
    types: dict[str, Type]
    guaranteed: Bool

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """The variables of some names only."""
        return {n: self.terms[n] for n in names}


def inputs_of(names: Iterable[str], types: Mapping[str, Type]) -> Inputs:
    """The inputs of a question that reads these names; those without a type of their own are special registers."""
    specials = special_registers()
    waiting, terms, known = list(dict.fromkeys(names)), {}, {}
    guaranteed: Any = constant(True)
    relevant = []
    while waiting:
        name = waiting.pop(0)
        if name in terms:
            continue
        type = types.get(name) or specials[name]
        known[name] = type
        terms[name] = truth_variable(name) if type.kind == "pred" else variable(name, type.width)
        if name in types and types[name] is not specials.get(name):
            continue
        for one in GUARANTEES:
            if one.names[0] == name:
                relevant.append(one)
                waiting += one.names
    for one in relevant:
        guaranteed = guaranteed & one.holds(*[terms[n] for n in one.names])
    return Inputs(terms, known, guaranteed)


def taken_types(inputs: Inputs, *fragments: Fragment) -> dict[str, Type]:
    """The inputs with the types as which an instruction first takes them, where that has the register's width."""
    found = dict(inputs.types)
    for fragment in reversed(fragments):
        for name, type in fragment.taken.items():
            if name in found and type.width == found[name].width and type.kind != "pred":
                found[name] = type
    return found
