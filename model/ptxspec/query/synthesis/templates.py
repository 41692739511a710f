"""Instructions as a sequence is made of them: a form with places for registers and constants, its meaning as a term and as
compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ptxspec.language.forms import Form, registry
from ptxspec.query.outcomes import Unsupported, description_of
from ptxspec.query.repeated import known_profile
from ptxspec.query.solvers import solve
from ptxspec.terms.core import constant, truth, variable
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.kinds import Immediate
from ptxspec.terms.loops import CompiledLoop, RowLoop, storage
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in, resolve, substitute

#: the profile whose choices tell a candidate from the fragment: some machine's
MACHINE = "hopper"
#: seconds to prove that two operands may be exchanged
COMMUTES = 2.0


class OperandSlot:
    """A source operand: the variable of the meaning, its type, and what may be there."""

    def __init__(self, name: str, type: Type, takes_register: bool, takes_constant: bool, allowed: Any):
        self.name, self.type = name, type
        self.takes_register, self.takes_constant = takes_register, takes_constant
        #: the constants that may be there; None for all of the type
        self.allowed: Sequence[int] | None = allowed

    @property
    def width(self) -> int:
        """The bits of the register that may be there; 0 for a predicate."""
        return 0 if self.type.kind == "pred" else self.type.width

    def takes(self, value: int) -> bool:
        """Whether a constant may be there."""
        fits = 0 <= value < 1 << self.type.width
        return self.takes_constant and fits and (self.allowed is None or value in self.allowed)


class Template:
    """One form of an instruction."""

    def __init__(self, form: Form):
        absent = form.absences[-1]
        meaning = form.meaning(absent)
        definition = form.definition
        if meaning.effect is not None:
            word, does = description_of(meaning.effect)
            raise Unsupported(f"{form.mnemonic} has an effect ({word}): it {does}, which sequences cannot do")
        if meaning.uses_carry or meaning.specials:
            raise Unsupported(f"{form.mnemonic} reads or writes more than its operands")
        self.form, self.mnemonic = form, form.mnemonic
        self.places: list[OperandSlot] = []
        for taken in meaning.inputs:
            annotation = definition.sources[taken.name].annotation
            if taken.type is None or taken.is_vector or taken.type.width > 64:
                raise Unsupported(f"{form}: the operand {taken.name} is no register of at most 64 bits")
            is_constant = isinstance(annotation, Immediate)
            no_constant = taken.type.kind == "pred" or definition.takes_only_registers(taken.name, form.modifiers)
            takes_constant = is_constant or not no_constant
            allowed = definition.constants(taken.name, form.modifiers)
            self.places.append(OperandSlot(taken.name, taken.type, not is_constant, takes_constant, allowed))
        if len(form.destinations) != 1 or not meaning.results or meaning.results[0].is_vector:
            raise Unsupported(f"{form}: more than one destination")
        self.destination = form.destinations[0].name
        self.type = meaning.results[0].type
        if self.type.width > 64:
            raise Unsupported(f"{form}: a destination of more than 64 bits")
        self.term: Any = meaning.results[0].values[0]

    @property
    def width(self) -> int:
        """The bits of the destination; 0 for a predicate."""
        return 0 if self.type.kind == "pred" else self.type.width

    @cached_property
    def commutes(self) -> bool:
        """Whether it is proved that the first two operands may be exchanged."""
        if len(self.places) < 2:
            return False
        x, y = self.places[:2]
        if x.type != y.type or x.type.kind == "pred" or (x.takes_constant, x.allowed) != (y.takes_constant, y.allowed):
            return False
        exchanged = {x.name: variable(y.name, y.type.width), y.name: variable(x.name, x.type.width)}
        turned = substitute(self.term, exchanged)
        unequal = truth(self.term != turned)
        if unequal.op == "const":
            return not unequal.attrs[0]
        types = {p.name: p.type for p in self.places}
        return solve(unequal, types, COMMUTES, simple=False).status == "unsat"

    @cached_property
    def compiled(self) -> CompiledLoop:
        """A loop over columns of operands; of no use where the result `is_open`."""
        profile = known_profile(MACHINE)
        inputs = tuple((p.name, p.type, True) for p in self.places)
        loop = RowLoop(inputs, ((self.type, self.term),))
        return CompiledLoop(loop, lambda f: profile.term(f) if profile.chooses(f) else constant(0))

    @cached_property
    def is_open(self) -> bool:
        """Whether the result is not known by compiled code alone, as where it is approximate."""
        profile = known_profile(MACHINE)
        return any(isinstance(f.attrs[4], Approximation) or not profile.chooses(f) for f in freedoms_in(self.term))

    def column(self, operands: list[np.ndarray]) -> np.ndarray:
        """The results for columns of operands."""
        columns = [o.astype(storage(p.type), copy=False) for o, p in zip(operands, self.places, strict=True)]
        if self.is_open:
            names, choose = [p.name for p in self.places], known_profile(MACHINE).value
            rows = zip(*(c.tolist() for c in columns), strict=True)
            values = [evaluate_term(self.term, dict(zip(names, row, strict=True)), choose) for row in rows]
            return np.array(values, storage(self.type))
        return self.compiled(columns, len(operands[0]))[0]

    def applied(self, operands: list[Any]) -> Any:
        """The result's term for terms of the operands, with the machine's choices made."""
        profile = known_profile(MACHINE)
        settled = resolve(self.term, profile.settled)
        return substitute(settled, {p.name: o for p, o in zip(self.places, operands, strict=True)})

    def written(self, destination: str, operands: list[str]) -> str:
        """The instruction as PTX."""
        texts = {p.name: o for p, o in zip(self.places, operands, strict=True)}
        return self.form.written({self.destination: destination, **texts})


def templates_of(mnemonics: Sequence[str]) -> list[Template]:
    """The forms of mnemonics, as an instruction spells them. Raises ValueError for one that there is not, and Unsupported where
    none of its forms can be used."""
    templates: list[Template] = []
    for mnemonic in dict.fromkeys(mnemonics):
        opcode = registry().opcodes.get(mnemonic.split(".")[0])
        forms = opcode.find(mnemonic) if opcode is not None else []
        if not forms:
            raise ValueError(f"{mnemonic!r} is no instruction; it is written with all its modifiers, as in lop3.b32")
        usable, why = [], None
        for form in forms:
            try:
                usable.append(Template(form))
            except Unsupported as error:
                why = error
        if not usable:
            assert why is not None
            raise why
        templates += usable
    return templates
