"""Instructions: the form of each."""

from __future__ import annotations

from typing import Any

from ptxspec.language import cited, tree
from ptxspec.language.call_checks import Calls
from ptxspec.language.checked import (
    Kernel,
    Op,
    Plan,
    banks,
    spaces,
    unbanked,
)
from ptxspec.language.form_selection import select_form
from ptxspec.language.forms import unknown_opcode
from ptxspec.language.instruction_rules import InstructionRules, is_formal
from ptxspec.language.module_context import Context
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.operand_resolution import Operands, Unresolved
from ptxspec.language.scopes import Names
from ptxspec.terms import effects
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.editions import Epoch
from ptxspec.terms.types import TYPES


class Instructions:
    """Finds the form of each instruction."""

    def __init__(
        self, context: Context, opaque: OpaqueVariables, operands: Operands, checks: InstructionRules, calls: Calls
    ):
        self.context, self.opaque, self.operands, self.checks, self.calls = context, opaque, operands, checks, calls
        #: by mnemonic and kinds of operands: the form, or (operand\'s index, complaint, page)
        self._plans: dict[tuple[Any, ...], Any] = {}

    def instruction(self, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """The instruction's form, or None after a complaint."""
        self.operands.at, self.operands.special = item.position, False
        guard = None
        if item.guard is not None:
            found = names.register(item.guard[0])
            if found is None or found[1].kind != "pred":
                if found is None:
                    self.context.complain(item.position, self.operands.undeclared(item.guard[0], names, "the guard "))
                else:
                    self.context.complain(
                        item.position, f"the guard {item.guard[0]} is of type {found[1]}, not a predicate"
                    )
                return None
            kernel.registers[found[0]] = found[1]
            guard = (found[0], item.guard[1])
        mnemonic, said = item.mnemonic, ""
        if "[" in mnemonic or "::func" in mnemonic:
            mnemonic, said = self.plain_mnemonic(item)
        operands: list[tree.Operand] = []
        shape: list[Any] = []
        for i, operand in enumerate(item.operands):
            try:
                resolved, kind = self.operands.resolve(operand, names, kernel)
            except Unresolved as unresolved:
                self.context.complain(self.context.operand_position(item, i), unresolved.said)
                return None
            operands.append(resolved)
            shape.append(kind)
        key = (mnemonic, *shape)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self.plan(mnemonic, tuple(shape))
        if not isinstance(plan, Plan) and any(tree.type_of(o) is tree.Element for o in item.operands):
            # an element's name is its address or, where that is wanted, what lies there
            elements = [tree.type_of(o) is tree.Element for o in item.operands]
            shape = [("memory", k) if e else k for e, k in zip(elements, shape, strict=True)]
            other = self.plan(mnemonic, tuple(shape))
            effect = other.meaning.effect if isinstance(other, Plan) else None
            if isinstance(effect, effects.Load | effects.Store):
                plan = other
                operands = [_memory(o) if e else o for e, o in zip(elements, operands, strict=True)]
        if isinstance(plan, Plan) and plan.form.definition.constant_ranges:
            self.checks.constants_in_range(item, plan)
        if isinstance(plan, tuple) and not isinstance(plan, Plan):
            index, message, page = plan
            at = item.position if index is None else self.context.operand_position(item, index)
            self.context.complain(at, message, page)
            return None
        if plan.meaning.uses_carry:  # type: ignore[union-attr]
            kernel.registers[CONDITION_CODE] = TYPES["pred"]
        modifiers = plan.form.modifiers  # type: ignore[union-attr]
        if modifiers.get("ss") == "param::entry" or str(modifiers.get("space")).split("::")[0] == "param":
            for operand in operands:
                base = operand.base if isinstance(operand, tree.Address | tree.Sum) else operand
                place = kernel.places.get(base.text) if isinstance(base, tree.Name | tree.Indexed) else None
                if place is not None and place.framed:
                    problem = f"{item.mnemonic} reaches an entry's parameters, not a function's"
                    self.context.complain(item.position, problem, cited.FUNCTIONS)
                    return None
        op = Op(plan, tuple(operands), guard, item.position)  # type: ignore[arg-type]
        effect = plan.meaning.effect  # type: ignore[union-attr]
        if (said or self.operands.special) and self.checks.refused(op, said, item, shape, kernel):
            return None
        if effect is None:
            for kind in ("entry", "function"):
                if kind in shape:
                    name = operands[shape.index(kind)].text  # type: ignore[union-attr]
                    if kind == "function":
                        self.context.mentions[kernel.name].append((None, item.position, self.context.signatures[name]))
                    self.context.since(f"the address of {'an' if kind == 'entry' else 'a'} {kind}", item.position)
            return op
        if isinstance(effect, effects.ImageAccess):
            return op if self.opaque.check_handles(item, op, kernel.registers) else None
        if isinstance(effect, effects.Call):
            return self.calls.call(op, effect, item, names, kernel)
        if isinstance(effect, effects.IndexedBranch):
            return self.calls.branch_among(op, effect, item, names, kernel)
        if not isinstance(effect, effects.Access):
            return op
        if (said or self.operands.special) and effect.space == banks().space_of(banks().FIRST):
            base = next((o.base for o in operands if isinstance(o, tree.Address)), None)
            place = kernel.places.get(base.text) if base is not None else None
            return op._replace(space=(said if place is None else place.space) or op.space)
        if effect.space == "param":
            base = next((o.base for o in operands if isinstance(o, tree.Address)), None)
            place = kernel.places.get(base.text) if base is not None else None
            framed = place.framed if place is not None else kernel.signature is not None or bool(said)
            if said and place is not None and not framed:
                problem = f"{item.mnemonic} reaches what belongs to a function, not an entry's parameters"
                self.context.complain(item.position, problem, cited.STATE_SPACES)
                return None
            taken = kernel.signature.parameters if kernel.signature is not None else ()
            if guard is not None and place is not None and framed and not is_formal(place, kernel):
                self.context.complain(
                    item.position, "what passes an argument or a result of a call has no guard", cited.FUNCTIONS
                )
            if not isinstance(effect, effects.Load) and (
                not framed or any(f.place is place is not None for f in taken)
            ):
                self.context.complain(
                    item.position, "an entry's or a function's parameters are not written", cited.FUNCTIONS
                )
            if isinstance(effect, effects.Load) and kernel.signature is not None and place is not None:
                if any(f.place is place for f in kernel.signature.returns):
                    self.context.complain(
                        item.position, "a function writes its results, and does not read them", cited.FUNCTIONS
                    )
            op = op._replace(space=spaces().OF_FRAMES if framed else "")
        return op

    def plain_mnemonic(self, item: tree.Instruction) -> tuple[str, str]:
        """The mnemonic with its state space as forms spell it, and the space that it says: a bank of constants, or .param of a
        function."""
        words, said = item.mnemonic.split("."), ""
        closer, plain = spaces().IN_A_FUNCTION
        for i, word in enumerate(words):
            if "[" in word:
                said = self.context.bank(word, item.position)
                words[i] = unbanked(word)
            elif word == closer:
                self.context.since(f".{closer}", item.position)
                said, words[i] = closer, plain
        return ".".join(words), said

    def plan(self, mnemonic: str, shape: tuple[Any, ...]) -> Any:
        """The plan for an instruction of this shape, or (operand's index, complaint, page)."""
        opcode = self.context.table.get(mnemonic.split(".")[0])
        if opcode is None:
            return None, unknown_opcode(mnemonic), None
        return select_form(
            opcode, mnemonic, shape, self.context.rules, Epoch(self.context.version, self.context.target)
        )


def _memory(element: Any) -> tree.Address:
    """The memory at the address of an element."""
    return tree.Address(element, 0) if isinstance(element, tree.Indexed) else tree.Address(*element)
