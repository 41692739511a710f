"""Instructions: the form of each."""

from __future__ import annotations

from typing import Any, assert_never

from ptxspec import contracts
from ptxspec.language import operand_kinds as kinds
from ptxspec.language import tree
from ptxspec.language.call_checks import CallChecks
from ptxspec.language.checked import GapOccurrence, Kernel, Missing, Op, Place, Plan, unbanked
from ptxspec.language.form_selection import Misfit, known_form, with_constants
from ptxspec.language.instruction_rules import InstructionRules
from ptxspec.language.known_shapes import KnownInstructions, known_plans
from ptxspec.language.module_context import Context
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.operand_kinds import Kind
from ptxspec.language.operand_resolution import OperandResolver, Unresolved
from ptxspec.language.scopes import Names
from ptxspec.terms import effects
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.types import TYPES


class Instructions:
    """Finds the form of each instruction."""

    def __init__(
        self,
        context: Context,
        opaque: OpaqueVariables,
        operands: OperandResolver,
        checks: InstructionRules,
        calls: CallChecks,
    ):
        self.context, self.opaque, self.operands, self.checks, self.calls = context, opaque, operands, checks, calls
        #: those with which nothing is left to check
        self.known = known_plans(context)

    def scope(self, names: Names, kernel: Kernel) -> KnownInstructions:
        """What finds the forms of a scope's instructions where `instruction` has nothing to check."""
        return KnownInstructions(self.known, self.operands, names, kernel)

    def instruction(self, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """The instruction's form, or None after a complaint."""
        resolver = self.operands
        resolver.at, resolver.special = item.position, False
        complaints = self.context.complaints.count
        guard = None
        if item.guard is not None:
            guard = self._guard(item.guard, item.position, names, kernel)
            if guard is None:
                return None
        mnemonic, space = item.mnemonic, ""
        if "[" in mnemonic or "::func" in mnemonic:
            mnemonic, space = self.plain_mnemonic(item)
        operands: list[tree.Operand] = []
        shape: list[Kind] = []
        for i, operand in enumerate(item.operands):
            try:
                resolved, kind = resolver.resolve(operand, names, kernel)
            except Unresolved as unresolved:
                self.context.complain(self.context.operand_position(item, i), unresolved.message)
                return None
            operands.append(resolved)
            shape.append(kind)
        key = (mnemonic, *shape)
        plan = of_shape = self.plan(mnemonic, tuple(shape), item.position)
        if isinstance(plan, Missing):
            kernel.gaps.append(GapOccurrence(plan, item.position))
            return None
        if isinstance(plan, Misfit):
            plan = self._of_elements(plan, item, mnemonic, operands, shape)
            if not isinstance(plan, Plan):
                at = item.position if plan.operand is None else self.context.operand_position(item, plan.operand)
                self.context.complain(at, plan.why, plan.page)
                return None
        if plan.form.definition.constant_ranges:
            self.checks.constants_in_range(item, plan)
            plan = with_constants(plan, operands)
        if plan.meaning.uses_carry:
            kernel.registers[CONDITION_CODE] = TYPES["pred"]
        op = Op(plan, (*operands, *(operands[i] for i in plan.again)), guard, item.position)
        if self.checks.too_narrow(op, item, key):
            return None
        if self.checks.reaches_function(op, item, kernel):
            return None
        if (space or resolver.special) and self.checks.refused(op, space, item, shape, kernel):
            return None
        names_variable, effect = resolver.special, plan.meaning.effect
        made: Op | None = op
        if effect is not None:
            made = self._of_effect(op, effect, space, item, names, kernel)
        elif kinds.ENTRY in shape or kinds.FUNCTION in shape:
            self._address_taken(op, shape, kernel)
        is_kept = self.context.complaints.count == complaints
        if is_kept and not space and plan is of_shape and not plan.again:
            self.known.note(mnemonic, shape, op, made, names_variable, kernel)
        return made

    def _guard(self, guard: tuple[str, bool], position: int, names: Names, kernel: Kernel) -> tuple[str, bool] | None:
        """The guard with its register's unique name, or None after a complaint."""
        register = names.register(guard[0])
        if register is None:
            self.context.complain(position, self.operands.undeclared(guard[0], names, "the guard "))
            return None
        if not self.context.require(
            contracts.type_checking.guards_are_predicates, position, register[1], name=guard[0]
        ):
            return None
        kernel.registers[register[0]] = register[1]
        return register[0], guard[1]

    def _of_elements(
        self, plan: Misfit, item: tree.Instruction, mnemonic: str, operands: list[tree.Operand], shape: list[Kind]
    ) -> Plan | Misfit:
        """An element's name is its address or, where that is wanted, what lies there: the plan for the latter, with the operands
        and their kinds changed to it, if it loads or stores; else the plan that there was."""
        elements = [isinstance(o, tree.Element) for o in item.operands]
        if not any(elements):
            return plan
        shape[:] = [kinds.one_of_each(kinds.MemoryKind, k) if e else k for e, k in zip(elements, shape, strict=True)]
        other = self.plan(mnemonic, tuple(shape), item.position)
        if isinstance(other, Plan) and isinstance(other.meaning.effect, effects.Load | effects.Store):
            operands[:] = [_memory(o) if e else o for e, o in zip(elements, operands, strict=True)]
            return other
        return plan

    def _address_taken(self, op: Op, shape: list[Kind], kernel: Kernel) -> None:
        """Note that an instruction takes the address of an entry or a function."""
        if kinds.ENTRY in shape:
            self.context.since("the address of an entry", op.position)
        if kinds.FUNCTION in shape:
            name = op.operands[shape.index(kinds.FUNCTION)]
            assert isinstance(name, tree.Name)
            signature = self.context.signatures[name.text]
            self.context.mentions[kernel.name].append((None, op.position, signature))
            self.context.since("the address of a function", op.position)

    def _of_effect(
        self, op: Op, effect: effects.Effect, space: str, item: tree.Instruction, names: Names, kernel: Kernel
    ) -> Op | None:
        """The instruction with what its effect needs to know, or None after a complaint."""
        match effect:
            case effects.ImageAccess():
                return op if self.opaque.check_handles(item, op, kernel.registers) else None
            case effects.Call():
                return self.calls.call(op, effect, item, names, kernel)
            case effects.IndexedBranch():
                return self.calls.branch_among(op, effect, item, names, kernel)
            case effects.Load() | effects.Store() | effects.Update():
                return self._of_access(op, effect, space, item, kernel)
            case effects.Fence() | effects.GridDependency() | effects.Check() | effects.Initiate() | effects.Advance():
                return op
            case effects.Follow() | effects.Await():
                return op
            case (
                effects.Collective()
                | effects.Arrive()
                | effects.Wait()
                | effects.ClusterArrive()
                | effects.ClusterWait()
            ):
                return op
            case effects.StackEnd() | effects.Reserve() | effects.Release():
                return op
            case effects.Branch() | effects.Return() | effects.Exit() | effects.Stop():
                return op
            case effects.Report() | effects.Examine() | effects.Initialize():
                raise AssertionError("no instruction has an effect that checks of a launch cause")
            case _:
                assert_never(effect)

    def _of_access(
        self, op: Op, effect: effects.Access, space: str, item: tree.Instruction, kernel: Kernel
    ) -> Op | None:
        """The instruction with the state space that it accesses, where the form alone does not say it."""
        if (space or self.operands.special) and effect.space == contracts.banks.space_of(contracts.banks.FIRST):
            place = _place_of(op, kernel)
            return op._replace(space=(space if place is None else place.space) or op.space)
        if effect.space == "param":
            return self.checks.parameter_access(op, effect, space, _place_of(op, kernel), item, kernel)
        return op

    def plain_mnemonic(self, item: tree.Instruction) -> tuple[str, str]:
        """The mnemonic with its state space as forms spell it, and the space that it says: a bank of constants, or .param of a
        function."""
        words, space = item.mnemonic.split("."), ""
        closer, plain = contracts.state_spaces.IN_A_FUNCTION
        for i, word in enumerate(words):
            if "[" in word:
                space = self.context.bank(word, item.position)
                words[i] = unbanked(word)
            elif word == closer:
                self.context.since(f".{closer}", item.position)
                space, words[i] = closer, plain
        return ".".join(words), space

    def plan(self, mnemonic: str, shape: tuple[Kind, ...], position: int) -> Plan | Misfit | Missing:
        """The plan for an instruction of this shape at a position, or why there is none."""
        context = self.context
        opcode = context.table.get(mnemonic.split(".")[0])
        return known_form(opcode, mnemonic, shape, context.epoch_at(position))


def _memory(element: Any) -> tree.Address:
    """The memory at the address of an element."""
    return tree.Address(element, 0) if isinstance(element, tree.Indexed) else tree.Address(*element)


def _place_of(op: Op, kernel: Kernel) -> Place | None:
    """The variable that an access names."""
    base = next((o.base for o in op.operands if isinstance(o, tree.Address)), None)
    return kernel.places.get(base.text) if base is not None else None
