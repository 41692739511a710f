"""What an instruction of a known form must keep to: constants in range, state spaces, addresses that can be taken."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from ptxspec import contracts
from ptxspec.language import operand_kinds as kinds
from ptxspec.language import tree
from ptxspec.language.checked import Grouped, Kernel, Op, Place, Plan, Read, Signature, Written
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.forms import page_name
from ptxspec.language.module_context import Context
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.operand_fitting import written_space
from ptxspec.language.operand_kinds import Kind
from ptxspec.terms import effects
from ptxspec.terms.definitions import Constants
from ptxspec.terms.kinds import Immediate, operand_type
from ptxspec.terms.static_rules import StaticRule
from ptxspec.terms.types import Type


class InstructionRules:
    """Checks an instruction whose form is known."""

    def __init__(self, context: Context, opaque: OpaqueVariables):
        self.context, self.opaque = context, opaque
        #: mnemonics with kinds of operands that never need addresses of 32 bits
        self._wide: set[tuple[str | Kind, ...]] = set()
        #: the last signature that was asked for, and its variables by their identities: what it takes, and what it gives
        self._formals: tuple[Signature | None, frozenset[int], frozenset[int]] = (None, frozenset(), frozenset())

    def refused(self, op: Op, space: str, item: tree.Instruction, shape: list[Kind], kernel: Kernel) -> bool:
        """Whether there is a complaint about an instruction that says more of its state space than its form does, that names a
        variable or that marks an address."""
        effect = op.plan.meaning.effect
        rule = contracts.state_spaces.loads_and_stores_say_func
        if not self.context.require(rule, item.position, space, effect, mnemonic=item.mnemonic):
            return True
        for index, operand in enumerate(op.operands):
            if isinstance(operand, tree.Address) and operand.unified:
                if not self.may_be_unified(op, operand, item, index, kernel):
                    return True
        if effect is not None:
            return False
        handles = [k.of for k in shape if isinstance(k, kinds.OpaqueKind)]
        if not all(self.opaque.gives_handle(item, kind) for kind in handles):
            return True
        return not self.has_addresses(op.operands, shape, kernel, item.position)

    def too_narrow(self, op: Op, item: tree.Instruction, key: tuple[str | Kind, ...]) -> bool:
        """Whether there is a complaint about an instruction that needs addresses of 32 bits, which the module does not have.
        Where it may have them, notes that it has. `key` is the mnemonic and the kinds of the operands, which decide unless a
        variable's address is among them."""
        if key in self._wide:
            return False
        shape = [kind for kind in key if not isinstance(kind, str)]
        if any(not rule(*facts, False) for rule, _, facts, _ in requirements_of_addresses(op, shape)):
            narrow = self.context.may_be_narrow
            self.context.needs_narrow |= narrow
            return not all(
                self.context.require(rule, self._at(item, index), *facts, narrow, **fields)
                for rule, index, facts, fields in requirements_of_addresses(op, shape)
            )
        if not any(isinstance(kind, kinds.VariableKind) for kind in shape):
            self._wide.add(key)
        return False

    def _at(self, item: tree.Instruction, index: int | None) -> int:
        """Where an operand stands, or the instruction."""
        return item.position if index is None else self.context.operand_position(item, index)

    def has_addresses(
        self, operands: tuple[tree.Operand, ...], shape: list[Kind], kernel: Kernel, position: int
    ) -> bool:
        """Whether the variables in .param whose addresses are taken have any; complains if not."""
        formals = kernel.signature if kernel.signature is not None else None
        for operand, kind in zip(operands, shape, strict=True):
            if not isinstance(kind, kinds.VariableKind) or kind.space != "param":
                continue
            place = _named_place(operand, kernel)
            assert place is not None
            if place.framed and not any(f.place is place for f in (formals.parameters if formals else ())):
                is_a_result = any(f.place is place for f in (formals.returns if formals else ()))
                rule = contracts.functions.what_is_passed_has_no_address
                if not self.context.require(rule, position, not is_a_result, name=place.name):
                    return False
                self.context.since("the address of a function's result", position)
        return True

    def may_be_unified(self, op: Op, address: tree.Address, item: tree.Instruction, index: int, kernel: Kernel) -> bool:
        """Whether the address of an access, which is an operand of this number, may be .unified; complains if not."""
        page, at, require = contracts.attributes, self.context.operand_position(item, index), self.context.require
        gives, mnemonic = any(isinstance(part, Written) for part in op.plan.parts), item.mnemonic
        name = address.base.text if address.base is not None else ""
        return require(page.takes_unified, at, op.plan.meaning.effect, gives, mnemonic=mnemonic) and require(
            page.unified_variables_are_named, at, name in kernel.places, mnemonic=mnemonic, name=name
        )

    def parameter_access(
        self,
        op: Op,
        effect: effects.Access,
        space: str,
        place: Place | None,
        item: tree.Instruction,
        kernel: Kernel,
    ) -> Op | None:
        """An access to .param with the state space that it reaches: that of frames, or of an entry's parameters. None where it
        says ::func of the latter."""
        framed = place.framed if place is not None else kernel.signature is not None or bool(space)
        of_an_entry = place is not None and not framed
        rule = contracts.state_spaces.func_is_of_a_function
        if not self.context.require(rule, item.position, bool(space), of_an_entry, mnemonic=item.mnemonic):
            return None
        taken, given = self._places_of(kernel.signature)
        page, at, require = contracts.functions, item.position, self.context.require
        is_taken, is_given = (place is not None and id(place) in places for places in (taken, given))
        is_passed = place is not None and framed and not is_taken and not is_given
        loads = isinstance(effect, effects.Load)
        require(page.what_is_passed_is_not_guarded, at, is_passed, op.guard is not None)
        require(page.parameters_are_read, at, not framed or is_taken, loads)
        require(page.results_are_written, at, is_given, loads)
        return op._replace(space=contracts.state_spaces.OF_FRAMES if framed else "")

    def _places_of(self, signature: Signature | None) -> tuple[frozenset[int], frozenset[int]]:
        """The identities of the variables that a function takes, and of those that it gives."""
        if self._formals[0] is not signature:
            both = ((), ()) if signature is None else (signature.parameters, signature.returns)
            taken, given = (frozenset(id(f.place) for f in formals if f.place is not None) for formals in both)
            self._formals = (signature, taken, given)
        return self._formals[1:]

    def reaches_function(self, op: Op, item: tree.Instruction, kernel: Kernel) -> bool:
        """Whether an instruction that is about an entry's parameters names a function's; complains if so."""
        modifiers = op.plan.form.modifiers
        if modifiers.get("ss") != "param::entry" and str(modifiers.get("space")).split("::")[0] != "param":
            return False
        named = [_named_place(operand, kernel) for operand in op.operands]
        names_a_functions, rule = (
            any(p is not None and p.framed for p in named),
            contracts.state_spaces.entry_is_of_an_entry,
        )
        return not self.context.require(rule, item.position, True, names_a_functions, mnemonic=item.mnemonic)

    def constants_in_range(self, item: tree.Instruction, plan: Plan) -> None:
        for index, (part, operand) in enumerate(zip(plan.parts, item.operands, strict=not plan.again)):
            if isinstance(part, Read):
                self._constant_in_range(item, plan, index, part, operand)
            elif isinstance(part, Grouped) and isinstance(operand, tree.Braces):
                for member, element in zip(part.members, operand.elements, strict=True):
                    if isinstance(member, Read):
                        self._constant_in_range(item, plan, index, member, element)
        self._constants_in_bounds(item, plan)

    def _constant_in_range(
        self, item: tree.Instruction, plan: Plan, index: int, part: Read, operand: tree.Operand
    ) -> None:
        """Complain of a constant that may not stand for what it is read as; `index` is that of the operand."""
        definition = plan.form.definition
        allowed = definition.constants(part.name, plan.form.modifiers)
        if allowed is None or not isinstance(operand, tree.Number | tree.Float):
            return
        annotation = definition.sources[part.name].annotation
        type = operand_type(annotation, plan.form.modifiers)
        if isinstance(operand, tree.Number) and (isinstance(annotation, Immediate) or definition.whole_constants):
            value = operand.value  # the number itself, where it is wide of its type too
        else:
            assert isinstance(type, Type)
            value = constant_bits(operand, type)
        if int(value) not in allowed:
            given = operand.value if isinstance(operand, tree.Number) else "this"
            message = f"{plan.form.mnemonic} needs {_wanted(allowed, operand)} here, not {given}"
            self.context.complain(self.context.operand_position(item, index), message, page_name(definition.path))

    def _constants_in_bounds(self, item: tree.Instruction, plan: Plan) -> None:
        """Complain of a constant that is greater than another one, by which it is bounded."""
        definition = plan.form.definition
        constants = {
            part.name: (index, operand.value)
            for index, (part, operand) in enumerate(zip(plan.parts, item.operands, strict=not plan.again))
            if isinstance(part, Read) and isinstance(operand, tree.Number)
        }
        for name, bound in definition.constant_bounds.items():
            if name in constants and bound in constants and not 0 <= constants[name][1] <= constants[bound][1]:
                (index, value), (_, most) = constants[name], constants[bound]
                message = f"{plan.form.mnemonic} needs a constant from 0 to {most} here, not {value}"
                self.context.complain(self.context.operand_position(item, index), message, page_name(definition.path))


#: a rule, the number of the operand that it is about, facts but for whether addresses have 32 bits, and fields of its sentence
_Requirement = tuple[StaticRule[*tuple[Any, ...]], int | None, tuple[Any, ...], dict[str, Any]]


def requirements_of_addresses(op: Op, shape: list[Kind]) -> Iterator[_Requirement]:
    """What an instruction whose operands are of these kinds must keep to where addresses have 64 bits."""
    form, page = op.plan.form, contracts.state_spaces
    of_form = {"mnemonic": form.mnemonic}
    yield page.forms_have_their_addresses, None, (form.definition.needs_narrow_addresses(form.modifiers),), of_form
    for index, kind in enumerate(shape):
        match kind:
            case kinds.MemoryKind(base=Type() as type):
                space = written_space(form, form.definition.spaces.get(form.places[index][0].name))
                least = page.SPACES[space].address_bits if space else page.GENERIC_BITS
                what = {"address": f"an address in .{space}" if space else "a generic address"}
                yield page.registers_hold_addresses, index, (least, type.width), what
            case kinds.VariableKind(space) if isinstance(op.operands[index], tree.Name):
                least, taken = page.SPACES[space].address_bits, op.plan.meaning.results[0].type.width
                yield page.addresses_are_taken_whole, index, (least, taken), {"space": space, **of_form}
            case _:
                pass


def _wanted(allowed: Constants, operand: tree.Number | tree.Float) -> str:
    """What a complaint says that a constant must be."""
    if not isinstance(allowed, range):
        return f"one of the constants {', '.join(map(str, allowed))}"
    step = f", a multiple of {allowed.step}" if allowed.step > 1 else ""
    ends: tuple[Any, Any] = (allowed.start, allowed[-1])
    if isinstance(operand, tree.Float):
        ends = struct.unpack("<2f", struct.pack("<2I", *ends))
    return f"a constant from {ends[0]} to {ends[1]}{step}"


def _named_place(operand: tree.Operand, kernel: Kernel) -> Place | None:
    """The variable that an operand names or reaches by its name, or None."""
    base = operand.base if isinstance(operand, tree.Address | tree.Sum) else operand
    return kernel.places.get(base.text) if isinstance(base, tree.Name | tree.Indexed) else None


def is_formal(place: Place, kernel: Kernel) -> bool:
    """Whether a variable is what a function takes or gives."""
    signature = kernel.signature
    return signature is not None and any(f.place is place for f in (*signature.returns, *signature.parameters))
