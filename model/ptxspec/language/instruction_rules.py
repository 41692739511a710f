"""What an instruction of a known form must keep to: constants in range, state spaces, addresses that can be taken."""

from __future__ import annotations

import struct
from typing import Any

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language import operand_kinds as kinds
from ptxspec.language.checked import (
    Grouped,
    Kernel,
    Op,
    Place,
    Plan,
    Read,
    Written,
    spaces,
)
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.forms import page_name
from ptxspec.language.module_context import Context
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.operand_fitting import written_space
from ptxspec.language.operand_kinds import Kind
from ptxspec.terms import effects
from ptxspec.terms.definitions import Constants
from ptxspec.terms.kinds import Immediate, operand_type
from ptxspec.terms.types import Type


class InstructionRules:
    """Checks an instruction whose form is known."""

    def __init__(self, context: Context, opaque: OpaqueVariables):
        self.context, self.opaque = context, opaque
        #: mnemonics with kinds of operands that never need addresses of 32 bits
        self._wide: set[tuple[str | Kind, ...]] = set()

    def refused(self, op: Op, said: str, item: tree.Instruction, shape: list[Kind], kernel: Kernel) -> bool:
        """Whether there is a complaint about an instruction that says more of its state space than its form does, that names a
        variable or that marks an address."""
        effect = op.plan.meaning.effect
        if said == spaces().IN_A_FUNCTION[0] and not isinstance(effect, spaces().ITS_EFFECTS):
            what = f"there is no {item.mnemonic}: only loads and stores take .{said}"
            self.context.complain(item.position, what, cited.STATE_SPACES)
            return True
        for index, operand in enumerate(op.operands):
            if isinstance(operand, tree.Address) and operand.unified:
                wrong = self.unified_problem(op, operand, kernel)
                if wrong:
                    self.context.complain(
                        self.context.operand_position(item, index), f"{item.mnemonic}: {wrong}", cited.ATTRIBUTES
                    )
                    return True
        if effect is not None:
            return False
        handles = [k.of for k in shape if isinstance(k, kinds.Opaque)]
        if handles and not self.opaque.handles_in_registers(item, "samplerref" in handles):
            return True
        wrong = self.address_problem(op.operands, shape, kernel, item.position)
        if wrong:
            self.context.complain(item.position, wrong, cited.FUNCTIONS)
        return wrong is not None

    def too_narrow(self, op: Op, item: tree.Instruction, key: tuple[str | Kind, ...]) -> bool:
        """Whether there is a complaint about an instruction that needs addresses of 32 bits, which the module does not have.
        Where it may have them, notes that it has. `key` is the mnemonic and the kinds of the operands, which decide unless a
        variable's address is among them."""
        if key in self._wide:
            return False
        shape = [kind for kind in key if not isinstance(kind, str)]
        found = narrow_problem(op, shape)
        if found is None:
            if not any(isinstance(kind, kinds.Variable) for kind in shape):
                self._wide.add(key)
            return False
        index, problem = found
        if self.context.may_be_narrow:
            self.context.needs_narrow = True
            return False
        at = item.position if index is None else self.context.operand_position(item, index)
        self.context.complain(at, problem, cited.STATE_SPACES)
        return True

    def address_problem(
        self, operands: tuple[tree.Operand, ...], shape: list[Kind], kernel: Kernel, position: int
    ) -> str | None:
        """Why an address cannot be taken of what a function passes or gives, or None."""
        formals = kernel.signature if kernel.signature is not None else None
        for operand, kind in zip(operands, shape, strict=True):
            if not isinstance(kind, kinds.Variable) or kind.space != "param":
                continue
            place = _named_place(operand, kernel)
            assert place is not None
            if place.framed and not any(f.place is place for f in (formals.parameters if formals else ())):
                if not any(f.place is place for f in (formals.returns if formals else ())):
                    return f"{place.name} passes an argument or takes a result, and has no address"
                self.context.since("the address of a function's result", position)
        return None

    def unified_problem(self, op: Op, address: tree.Address, kernel: Kernel) -> str | None:
        """Why the address of an access cannot be .unified, or None."""
        page = contracts.attributes()
        if not page.takes_unified(op.plan.meaning.effect, any(isinstance(part, Written) for part in op.plan.parts)):
            return "only an address from which a register is loaded, generic or in .global, is .unified"
        if address.base is not None and address.base.text in kernel.places:
            return f"{address.base.text} has no .attribute(.unified)"
        return None

    def parameter_access(
        self,
        op: Op,
        effect: effects.Access,
        said: str,
        place: Place | None,
        item: tree.Instruction,
        kernel: Kernel,
    ) -> Op | None:
        """An access to .param with the state space that it reaches: that of frames, or of an entry's parameters. None where it
        says ::func of the latter."""
        framed = place.framed if place is not None else kernel.signature is not None or bool(said)
        if said and place is not None and not framed:
            problem = f"{item.mnemonic} accesses what belongs to a function, not an entry's parameters"
            self.context.complain(item.position, problem, cited.STATE_SPACES)
            return None
        taken = kernel.signature.parameters if kernel.signature is not None else ()
        if op.guard is not None and place is not None and framed and not is_formal(place, kernel):
            self.context.complain(
                item.position,
                "an access that passes an argument or a result of a call cannot have a guard",
                cited.FUNCTIONS,
            )
        if not isinstance(effect, effects.Load) and (not framed or any(f.place is place is not None for f in taken)):
            self.context.complain(
                item.position, "an entry's or a function's parameters cannot be written", cited.FUNCTIONS
            )
        if isinstance(effect, effects.Load) and kernel.signature is not None and place is not None:
            if any(f.place is place for f in kernel.signature.returns):
                self.context.complain(item.position, "a function cannot read its results", cited.FUNCTIONS)
        return op._replace(space=spaces().OF_FRAMES if framed else "")

    def reaches_function(self, op: Op, item: tree.Instruction, kernel: Kernel) -> bool:
        """Whether an instruction that is about an entry's parameters names a function's; complains if so."""
        modifiers = op.plan.form.modifiers
        if modifiers.get("ss") != "param::entry" and str(modifiers.get("space")).split("::")[0] != "param":
            return False
        for operand in op.operands:
            place = _named_place(operand, kernel)
            if place is not None and place.framed:
                problem = f"{item.mnemonic} accesses an entry's parameters, not a function's"
                self.context.complain(item.position, problem, cited.FUNCTIONS)
                return True
        return False

    def constants_in_range(self, item: tree.Instruction, plan: Plan) -> None:
        for index, (part, operand) in enumerate(zip(plan.parts, item.operands, strict=True)):
            if isinstance(part, Read):
                self._constant_in_range(item, plan, index, part, operand)
            elif isinstance(part, Grouped) and isinstance(operand, tree.Braces):
                for member, one in zip(part.members, operand.elements, strict=True):
                    if isinstance(member, Read):
                        self._constant_in_range(item, plan, index, member, one)
        self._constants_in_bounds(item, plan)

    def _constant_in_range(
        self, item: tree.Instruction, plan: Plan, index: int, part: Read, operand: tree.Operand
    ) -> None:
        """Complain of a constant that may not stand for what it is read as; `index` is that of the operand."""
        definition = plan.form.definition
        allowed = definition.constants(part.name, plan.form.modifiers)
        if allowed is None or not isinstance(operand, tree.Number | tree.Real):
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
            for index, (part, operand) in enumerate(zip(plan.parts, item.operands, strict=True))
            if isinstance(part, Read) and isinstance(operand, tree.Number)
        }
        for name, bound in definition.constant_bounds.items():
            if name in constants and bound in constants and not 0 <= constants[name][1] <= constants[bound][1]:
                (index, value), (_, most) = constants[name], constants[bound]
                message = f"{plan.form.mnemonic} needs a constant from 0 to {most} here, not {value}"
                self.context.complain(self.context.operand_position(item, index), message, page_name(definition.path))


def narrow_problem(op: Op, shape: list[Kind]) -> tuple[int | None, str] | None:
    """What is wrong with an instruction whose operands are of these kinds where addresses have 64 bits, and with which operand;
    None if nothing is."""
    form = op.plan.form
    if form.definition.needs_narrow_addresses(form.modifiers):
        return None, f"{form.mnemonic} is for modules with addresses of 32 bits"
    page = spaces()
    for index, kind in enumerate(shape):
        match kind:
            case kinds.Memory(base=Type() as type):
                space = written_space(form, form.definition.spaces.get(form.places[index][0].name))
                least = page.SPACES[space].address_bits if space else page.GENERIC_BITS
                if type.width < least:
                    return index, f"{f'an address in .{space}' if space else 'a generic address'} has {least} bits"
            case kinds.Variable(space) if isinstance(op.operands[index], tree.Name):
                least, taken = page.SPACES[space].address_bits, op.plan.meaning.results[0].type.width
                if page.takes_too_little(least, taken):
                    return index, f"an address in .{space} has {least} bits, and {form.mnemonic} takes {taken}"
            case _:
                pass
    return None


def _wanted(allowed: Constants, operand: tree.Number | tree.Real) -> str:
    """What a complaint says that a constant must be."""
    if not isinstance(allowed, range):
        return f"one of the constants {', '.join(map(str, allowed))}"
    step = f", a multiple of {allowed.step}" if allowed.step > 1 else ""
    ends: tuple[Any, Any] = (allowed.start, allowed[-1])
    if isinstance(operand, tree.Real):
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
