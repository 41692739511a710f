"""Whether an operand of some kind may stand for an operand of a form, and why not.

Agreement of types is spec/operands/type-checking.md's.
"""

from __future__ import annotations

from functools import partial
from itertools import repeat
from typing import Any, assert_never

from ptxspec import contracts
from ptxspec.language import operand_kinds as kinds
from ptxspec.language import tree
from ptxspec.language.constant_bits import constant_fits
from ptxspec.language.forms import Form
from ptxspec.language.operand_kinds import Kind, described
from ptxspec.literate.notation import Operand
from ptxspec.terms.kinds import HANDLES, Immediate, MatrixFragment, Special, TupleOf, VectorOf, vector_length
from ptxspec.terms.types import TYPES, Type


def source_problem(form: Form, operand: Operand, annotation: Any, kind: Kind) -> str | None:
    """Why an operand cannot stand for what the definition's parameter takes, or None."""
    wanted = form.definition.type_of(operand.name, annotation, form.modifiers)
    registers = form.definition.takes_only_registers(operand.name, form.modifiers)
    if isinstance(annotation, Immediate):
        return None if kind is kinds.INTEGER else f"{form.mnemonic} needs an integer constant here"
    match wanted:
        case Special():
            return _special_problem(form, wanted, kind, operand.name)
        case TupleOf():
            return _tuple_problem(form, operand, kind)
        case MatrixFragment(types):
            return _several_problem(form, types, kind)
        case VectorOf():
            return _vector_source_problem(form, wanted, kind, registers)
        case Type():
            if isinstance(kind, kinds.NegatedKind):
                if not operand.negatable and wanted.kind != "pred":
                    return "this operand cannot be negated"
                kind = kind.of
            narrower = form.definition.narrower.get(operand.name)
            if narrower is not None and isinstance(kind, Type) and contracts.type_checking.agrees(narrower, kind):
                return None
            return _value_problem(form, wanted, kind, registers=registers)
        case _:
            assert_never(wanted)


def destination_problem(form: Form, operand: Operand, wanted: list[Any], kind: Kind) -> str | None:
    """Why an operand cannot take the results that the definition's annotations in `wanted` tell, one or two; or None."""
    first, *others = (form.definition.type_of(operand.name, w, form.modifiers) for w in wanted)
    if isinstance(first, MatrixFragment):
        return _several_problem(form, first.types, kind, written=True)
    if isinstance(first, VectorOf) and not (isinstance(kind, kinds.PairKind) and operand.second):
        return _vector_destination_problem(form, first, kind)
    if not isinstance(kind, kinds.PairKind):
        if operand.paired:
            return f"{form.mnemonic} writes a pair: {operand.name}|{operand.second}"
        return _written_problem(form, first, kind)
    if operand.second is None:
        return f"{form.mnemonic} has one destination"
    if kind.first is kind.second is kinds.SINK:
        return "one of the two must be a register, not the sink _"
    if operand.paired and kind.second is kinds.SINK:
        return "the second of the two must be a register, not the sink _"
    (second,) = others
    if isinstance(first, VectorOf):
        if kind.second is kinds.SINK:
            return "the second of the two must be a register, not the sink _"
        problem = _vector_destination_problem(form, first, kind.first)
    else:
        problem = _written_problem(form, first, kind.first, True)
    return problem or _written_problem(form, second, kind.second, True)


def _value_problem(
    form: Form, wanted: Any, kind: Kind, destination: bool = False, registers: bool = False
) -> str | None:
    """Why an operand of this kind cannot stand for a value of the type, or None. `registers` says that it may be no constant."""
    rules = contracts.type_checking
    agree = rules.agrees_when_wider if form.definition.wider else rules.agrees
    if isinstance(kind, kinds.SpecialKind) and not form.definition.may_read_special_registers(form.modifiers):
        return f"{form.mnemonic} cannot read a special register: move it to a register first"
    if isinstance(kind, kinds.SpecialKind) and not destination:
        if not wanted.is_float and any(agree(wanted, of) for of in (kind.type, *kind.also)):
            return None
        return f"{form.mnemonic} needs {wanted} here, this is of type {kind.type}"
    if isinstance(kind, Type):
        if agree(wanted, kind):
            return None
        return f"{form.mnemonic} needs {wanted} here, this is of type {kind}"
    if registers:
        return f"{form.mnemonic} needs a register of type {wanted} here, not {described(kind)}"
    if not destination:
        if kind is kinds.INTEGER and constant_fits(tree.Number(0), wanted):
            return None
        if isinstance(kind, kinds.RealKind) and constant_fits(tree.Float(0, kind.width), wanted):
            return None
    return f"{form.mnemonic} needs {'a register' if destination else 'a value'} of type {wanted} here, not {described(kind)}"


def _written_problem(form: Form, wanted: Any, kind: Kind, one_of_several: bool = False) -> str | None:
    """Why an operand of this kind cannot take a value of the type, or None."""
    if kind is kinds.SINK and (one_of_several or form.definition.discards):
        return None
    return _value_problem(form, wanted, kind, destination=True)


# vectors and tuples ----------------------------------------------------------------------------------------------------


def _vector_source_problem(form: Form, wanted: VectorOf, kind: Kind, registers: bool) -> str | None:
    """Why an operand cannot stand for a vector, or for the one value that the form has without .vec; or None."""
    count = vector_length(form.modifiers)
    if not count:
        return _value_problem(form, wanted.element, _alone(kind), registers=registers)
    assert isinstance(wanted.element, Type)
    return _several_problem(form, (wanted.element,) * count, kind)


def _several_problem(form: Form, types: tuple[Type, ...], kind: Kind, written: bool = False) -> str | None:
    """Why an operand cannot stand for values of these types in braces, or be `written` with them; or None."""
    if not isinstance(kind, kinds.BracesKind) or len(kind.elements) != len(types):
        return f"{form.mnemonic} needs {len(types)} register{'s' * (len(types) > 1)} in braces here"
    if written and all(k is kinds.SINK for k in kind.elements):
        return "one of these must be a register, not the sink _"
    of_one = partial(_written_problem, one_of_several=True) if written else _value_problem
    problems = (of_one(form, type, k) for type, k in zip(types, kind.elements, strict=True))
    return next((p for p in problems if p), None) or _mixed(kind.elements)


def _vector_destination_problem(form: Form, wanted: VectorOf, kind: Kind) -> str | None:
    """Why an operand cannot take a vector, or the one value that the form has without .vec; or None."""
    count = vector_length(form.modifiers)
    if not count:
        return _written_problem(form, wanted.element, _alone(kind))
    if kind is kinds.SINK and form.definition.discards:
        return None
    assert isinstance(wanted.element, Type)
    return _several_problem(form, (wanted.element,) * count, kind, written=True)


def _alone(kind: Kind) -> Kind:
    """The kind of one register, which may stand in braces where a vector could."""
    match kind:
        case kinds.BracesKind((element,)):
            return element
        case _:
            return kind


def _mixed(elements: tuple[Kind, ...]) -> str | None:
    widths = {k.width for k in elements if isinstance(k, Type)}
    return "the registers of a vector are equally wide" if len(widths) > 1 else None


def _tuple_problem(form: Form, operand: Operand, kind: Kind) -> str | None:
    """Why an operand cannot stand for coordinates, which are in brackets, or for a tuple after these; or None."""
    types, sizes = form.definition.elements(operand.name, form.modifiers), contracts.type_checking.TUPLES
    in_braces = isinstance(kind, kinds.BracesKind)
    written = kind.elements if isinstance(kind, kinds.BracesKind) else (kind,)
    if operand.name in form.definition.exact:
        return _several_problem(form, types, kind)
    least = next(n for n in sizes if n >= len(types))
    exact = not operand.bracketed and operand.name not in form.definition.padded
    if (exact and len(written) != least) or not (operand.bracketed or in_braces):
        return f"{form.mnemonic} needs braces with {least} of them here"
    if len(written) not in sizes or len(written) < len(types):
        enough = [n for n in sizes if n >= len(types)]
        return f"{form.mnemonic} needs {' or '.join(map(str, enough))} coordinates here, not {len(written)}"
    last = written[len(types) - 1]  # what is more than needed is of its type
    wanted = (*types, *[last if isinstance(last, Type) else types[-1]] * (len(written) - len(types)))
    return next((p for p in map(_value_problem, repeat(form), wanted, written) if p), None)


# what is no value ------------------------------------------------------------------------------------------------------

#: operands that are no values: the kind that an operand must have
_NAMES = {
    "label": kinds.LABEL,
    "function_name": kinds.FUNCTION,
    "function_address": kinds.FUNCTION,
    "entry": kinds.ENTRY,
    "list_of_operands": kinds.LIST,
    "target_list": kinds.TABLE,
}


def _special_problem(form: Form, wanted: Special, kind: Kind, name: str) -> str | None:
    """Why an operand of this name cannot stand for what is no value, or None."""
    if wanted.name == "address":
        return _address_problem(form, kind, form.definition.spaces.get(name))
    if wanted.name in HANDLES:
        return _handle_problem(form, wanted, kind)
    if wanted.name == "variable_address":
        return _variable_problem(form, kind)
    if wanted.name == "map_address":
        return _map_problem(form, kind)
    if wanted.name == "cache_policy":
        if kind is kinds.INTEGER or _holds_a_handle(kind):
            return None
        return f"{form.mnemonic} needs a cache policy here: a 64-bit register or an integer, not {described(kind)}"
    if wanted.name in _NAMES:
        expected = _NAMES[wanted.name]
        if wanted.name == "function_address" and kind is kinds.ENTRY:
            return None
        return None if kind is expected else f"{form.mnemonic} needs {expected.called} here, not {described(kind)}"
    return f"{form.mnemonic}: operands that are {wanted.name} are not supported yet"


def written_space(form: Form, given: str | None) -> str:
    """The state space that an instruction names for an address, which is `given` if its definition gives it one; "" for a generic
    address."""
    if given is not None:
        return given
    parts = (m.split("::")[0] for m in form.mnemonic.split(".")[1:])
    return next((w for w in parts if w in contracts.state_spaces.addressable()), "")


def _address_problem(form: Form, kind: Kind, given: str | None) -> str | None:
    """Why an operand cannot stand for the address of an access, or None. `given` is the state space that the definition gives it,
    if it does."""
    if not isinstance(kind, kinds.MemoryKind):
        return f"{form.mnemonic} needs an address in brackets here, not {described(kind)}"
    page = contracts.state_spaces
    written = written_space(form, given)
    named_space = given or str(form.modifiers.get("ss") or "").split("::")[0]
    match kind.base:
        case None:
            if written != page.OF_NUMBERS:
                return f"an address that is a number alone is one of .{page.OF_NUMBERS}"
        case Type() as type:
            if type.kind in ("f", "pred") or type.width not in (32, 64):
                return f"an address register has an integer or bit-size type of 32 or 64 bits, not {type}"
        case kinds.VariableKind(space):
            if space != named_space:
                return f"{form.mnemonic} cannot access a variable in .{space}: name its state space in the instruction"
        case kinds.OpaqueKind():
            return f"{form.mnemonic} accesses memory, not an opaque variable"
        case _:
            return "an address is a register or a variable, with an offset"
    return None


def _handle_problem(form: Form, wanted: Special, kind: Kind) -> str | None:
    """Why an operand cannot stand for a texture, a sampler or a surface, or None."""
    allowed = contracts.opaque_types.STANDS_FOR[wanted.name]
    base = kind.base if isinstance(kind, kinds.MemoryKind) else kind
    match base:
        case kinds.OpaqueKind(of):
            if of in allowed:
                return None
            shown = f"a .{of}"
        case None:
            shown = "no address"
        case _:
            if _holds_a_handle(base):
                return None
            shown = described(base)
    return (
        f"{form.mnemonic} needs a .{next(iter(allowed))}, or a 64-bit register that holds its handle, here, not {shown}"
    )


def _holds_a_handle(kind: Kind) -> bool:
    """Whether this is a register that may hold a handle or a cache policy."""
    return isinstance(kind, Type) and kind.width == 64 and not kind.is_float


def _map_problem(form: Form, kind: Kind) -> str | None:
    """Why an operand cannot stand for the generic address of a tensor map, or None."""
    of_buffers = contracts.state_spaces.OF_BUFFERS
    match kind:
        case Type() if kind.kind not in ("f", "pred") and kind.width in (32, 64):
            return None
        case kinds.VariableKind(space):
            return (
                None
                if space == of_buffers
                else f"{form.mnemonic} names variables in .{of_buffers} alone, this is in .{space}"
            )
        case _:
            return f"{form.mnemonic} needs a register with an address here, not {described(kind)}"


def _variable_problem(form: Form, kind: Kind) -> str | None:
    """Why an operand cannot stand for a variable whose address is taken, or None."""
    match kind:
        case kinds.OpaqueKind():
            takes = {m for m in form.mnemonic.split(".")[1:] if m in TYPES or m == "global"}
            return None if takes <= {"u64", "global"} else f"{form.mnemonic}: a handle is of type u64"
        case kinds.VariableKind(space):
            named = form.modifiers.get("space")
            if named is not None and str(named).split("::")[0] != space:
                return f"the variable is in .{space}, not in .{named}"
            return None
        case _:
            return f"{form.mnemonic} needs a variable's name here, not {described(kind)}"
