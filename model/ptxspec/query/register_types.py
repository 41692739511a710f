"""The types of registers that nobody declares: those that the instructions ask for which name them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ptxspec.language import cited, tree
from ptxspec.language.checked import Missing
from ptxspec.language.diagnostics import PtxError, Source
from ptxspec.language.form_selection import Misfit, without_form
from ptxspec.language.forms import Form, page_name, registry
from ptxspec.language.specials import special_registers
from ptxspec.query.outcomes import refused
from ptxspec.terms import effects
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.kinds import Special, VectorOf, label, target_list
from ptxspec.terms.types import TYPES, Type

#: operands that are no values of registers
_NOT_VALUES: tuple[Any, ...] = (label, target_list)


def register_types(
    items: list[Any], source: Source, fixed: dict[str, Type], pointers: dict[str, Type]
) -> dict[str, Type]:
    """The types of the registers that statements with effects, branches and declarations do not declare themselves; `pointers`
    has those of registers that hold addresses, where nothing else tells."""
    declared: set[str] = set()
    for item in items:
        if isinstance(item, tree.Variable):
            declared |= {item.name} if item.repeat is None else {f"{item.name}{i}" for i in range(item.repeat)}
        elif isinstance(item, tree.Label | tree.Targets | tree.Prototype):
            declared.add(item.name)
    instructions = [item for item in items if isinstance(item, tree.Instruction)]
    least = dict(pointers)
    for item in instructions:
        for operand in item.operands:
            if isinstance(operand, tree.Address) and isinstance(operand.base, tree.Name):
                least.setdefault(operand.base.text, TYPES["b64"])
    types = types_of(instructions, source, fixed, least, declared)
    return {name: type for name, type in types.items() if name not in declared and name != CONDITION_CODE}


def types_of(
    items: list[Any],
    source: Source,
    fixed: dict[str, Type],
    least: dict[str, Type] | None = None,
    declared: Collection[str] = (),
) -> dict[str, Type]:
    """The type of every register: bits of the width that its instructions ask for (of the greatest such width where they take
    wider registers), or a predicate. Where effects are allowed, `least` has the types of registers that instructions say nothing
    of, and `declared` names that are none of these registers."""
    strict: dict[str, Type] = dict(fixed)
    refuses = least is None
    least = {} if least is None else least
    specials = special_registers()
    for item in items:
        if item.guard is not None and item.guard[0] not in declared:
            _agree(strict, item.guard[0], TYPES["pred"], item, source)
        for name, type, wider in _wanted(item, source, refuses):
            if (name in specials and name not in fixed) or name in declared:
                continue
            if wider and name != CONDITION_CODE:
                if name not in least or least[name].width < type.width:
                    least[name] = type
            else:
                _agree(strict, name, type, item, source)
    for name, type in least.items():
        if name not in strict:
            strict[name] = type
    return strict


def _agree(types: dict[str, Type], name: str, type: Type, item: Any, source: Source) -> None:
    if name == CONDITION_CODE:
        raise source.error(item.position, f"{name} is no operand that an instruction can name")
    known = types.setdefault(name, type)
    if known != type:
        raise source.error(item.position, f"{name} is {known} elsewhere, {item.mnemonic} needs {type}")


def _wanted(item: tree.Instruction, source: Source, refuses: bool = True) -> list[tuple[str, Type, bool]]:
    """(register, type, may be wider) for each register operand, from the first form that the operands' shapes allow. What has an
    effect is refused, or else nothing is said of an instruction that no form fits."""
    opcode = registry().opcodes.get(item.mnemonic.split(".")[0])
    forms = opcode.find(item.mnemonic) if opcode is not None else []
    if not forms:
        raise misfit_error(without_form(opcode, item.mnemonic, None), item, source)
    caused = [form.meaning(form.absences[-1]).effect for form in forms] if refuses else [None]
    if caused[0] is not None and not any(isinstance(effect, effects.Fencing | None) for effect in caused):
        raise refused(item.mnemonic, caused[0])
    for form in forms:
        types = _match(form, item, not refuses)
        if types is not None:
            return types
    if not refuses:
        return []
    known = list(dict.fromkeys(map(str, forms)))
    shown = " or ".join(known[:4]) + (" …" if len(known) > 4 else "")
    page = page_name(forms[0].definition.path)
    raise source.error(item.position, f"no form of {item.mnemonic} takes these operands; there is {shown}", page)


def _match(form: Form, item: tree.Instruction, labels: bool = False) -> list[tuple[str, Type, bool]] | None:
    definition = form.definition
    groups = form.places
    if not sum(not g[0].optional for g in groups) <= len(item.operands) <= len(groups):
        return None
    types: list[tuple[str, Type, bool]] = []
    results = list(definition.results)

    def note(operand: Any, type: Any) -> bool:
        if isinstance(type, VectorOf):
            type = type.element
        if isinstance(type, Special):
            return (type.name == "address" and isinstance(operand, tree.Address)) or (labels and type in _NOT_VALUES)
        if not isinstance(type, Type):  # a matrix's fragment, say, which no instruction without an effect takes
            return False
        elements = operand.elements if isinstance(operand, tree.Braces) else (operand,)
        for part in elements:
            name = part.name.text if isinstance(part, tree.Not) else part.text if isinstance(part, tree.Name) else None
            if isinstance(part, tree.Address | tree.Sum | tree.Pair | tree.Braces):
                return False
            if name is not None and name != "_":
                types.append((name, type if type.kind == "pred" else type.bits, definition.wider))
        return True

    for group, operand in zip(groups, item.operands, strict=False):
        members: list[Any] = [tree.bare(operand)]
        if group[0].group:
            if not isinstance(operand, tree.Braces) or len(operand.elements) != len(group):
                return None
            members = list(operand.elements)
        for place, part in zip(group, members, strict=True):
            parameter = definition.sources.get(place.name)
            if parameter is not None:
                if isinstance(part, tree.Braces) and not form.modifiers.get("vec"):
                    return None
                if not note(part, definition.type_of(place.name, parameter.annotation, form.modifiers)):
                    return None
                continue
            wanted = [results.pop(0)] + ([results.pop(0)] if place.second else [])
            targets = [part.first, part.second] if isinstance(part, tree.Pair) else [part]
            if isinstance(part, tree.Braces) and not form.modifiers.get("vec"):
                return None
            for target, annotation in zip(targets, wanted, strict=False):
                if not note(target, definition.type_of(place.name, annotation, form.modifiers)):
                    return None
    return types


def misfit_error(misfit: Misfit | Missing, item: tree.Instruction, source: Source) -> PtxError:
    """The error for an instruction that fits no form, or that no page describes."""
    if isinstance(misfit, Missing):
        return source.error(item.position, misfit.message, cited.GAPS)
    return source.error(item.position, misfit.why, misfit.page)
