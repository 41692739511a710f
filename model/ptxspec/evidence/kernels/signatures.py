"""A form as a function of values: whether it is one, what goes in, and what comes out.

An instruction that updates one cell of memory is one too: what stood in the cell goes in, and what stands there afterwards comes
out. The condition code is one more value.
"""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.language.forms import Form
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import constant
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Access, Load, Update
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in, substitute


def updates(meaning: Meaning) -> bool:
    """Whether the instruction's effect is to change one cell of memory."""
    return isinstance(meaning.effect, Update)


def pure(form: Form) -> bool:
    """Whether the form is a function of values: no effect but the update of a cell, and no operand, but for the cell's address,
    that is an address or a name."""
    meaning = form.meaning(form.absences[-1])
    if updates(meaning):
        return True
    return meaning.effect is None and bool(meaning.results and meaning.inputs) and all(i.type for i in meaning.inputs)


def undefined(meaning: Meaning) -> bool:
    """Whether all that comes out is undefined."""
    results = results_of(meaning)
    return bool(results) and all(t.op == "freedom" and t.attrs[2] == "undefined" for _, t in results)


def approximate(form: Form) -> bool:
    """Whether the form has a result for which PTX bounds the error alone."""
    meaning = form.meaning(form.absences[-1])
    freedoms = freedoms_in(*[v for r in meaning.results for v in r.values])
    return any(isinstance(f.attrs[4], Approximation) for f in freedoms)


def inputs_of(meaning: Meaning) -> list[tuple[str, Type]]:
    """(variable, type) of every value that goes in; what stands in memory comes after the operands, the condition code last."""
    values = [(v.attrs[0], i.type) for i in meaning.inputs for v in i.variables if i.type is not None]
    cell = meaning.effect
    if isinstance(cell, Update):
        values += [(f"%loaded{i}", cell.type) for i in range(cell.count)]
    else:
        values += [(name, TYPES["u32"]) for name in meaning.specials]
    return [*values, (CONDITION_CODE, TYPES["pred"])] if meaning.carry_read else values


#: by the numbers of meanings, which are kept so that these stay theirs: what comes out of each; for as many as an opcode has
_results: dict[int, tuple[Meaning, list[tuple[Type, Any]]]] = {}
_MOST_RESULTS = 20_000


def results_of(meaning: Meaning) -> list[tuple[Type, Any]]:
    """(type, term) of every value that comes out; what is left in memory comes after the destinations, the condition code last.
    The cell of an instruction that updates one lies in global memory, if it does not say where, and special registers are zero
    to it."""
    known = _results.get(id(meaning))
    if known is None:
        if len(_results) >= _MOST_RESULTS:
            _results.clear()
        known = _results[id(meaning)] = meaning, _results_of(meaning)
    return list(known[1])


def _results_of(meaning: Meaning) -> list[tuple[Type, Any]]:
    values = [(r.type, v) for r in meaning.results for v in r.values]
    cell = meaning.effect
    if isinstance(cell, Update):
        base = constant(contracts.generic_addressing.GLOBAL_BASE)
        place = {v.attrs[0]: base for i in meaning.inputs if i.type is None for v in i.variables}
        place |= {name: constant(0) for name in meaning.specials}
        values = [(t, substitute(v, place)) for t, v in [*values, *((cell.type, v) for v in cell.values)]]
    return [*values, (TYPES["pred"], meaning.carry)] if meaning.carry is not None else values


def comparable(form: Form) -> bool:
    """Whether the form is a function of its operands on every machine. Of forms that update memory and differ in their order
    among other accesses alone, which a thread by itself cannot see, the one that states none stands for all. A step on an object
    in memory needs the object, too."""
    meaning = form.meaning(form.absences[-1])
    orders = isinstance(meaning.effect, Access) and says_how(form, meaning.effect)
    needs_object = isinstance(meaning.effect, Load | Update) and meaning.effect.life is not None
    plain = not form.definition.returns_addresses and not orders and not needs_object
    return pure(form) and plain and not undefined(meaning)


def says_how(form: Form, access: Access) -> bool:
    """Whether a form has modifiers for the order of its access, for caches and the like."""
    return any(form.modifiers.get(name) for name in modifiers_of(access))


def modifiers_of(access: Access) -> tuple[str, ...]:
    """The modifiers that say how an access takes part in the order of memory, and those for caches and the like."""
    return *contracts.memory_order.MODIFIERS, *access.how
