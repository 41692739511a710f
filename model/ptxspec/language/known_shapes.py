"""Instructions like those before: of most, the form is known from their opcode and the kinds of their operands, and no rule is
about the values of these.

What is found of an operand in a scope holds until something is declared there. An operand is known by its identity, since those
that are written alike are often one object (see runs.py). Whatever is not known is left to instructions.py, and so is every
complaint."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ptxspec import contracts
from ptxspec.language import operand_kinds as kinds
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Plan
from ptxspec.language.forms import Registry, registry
from ptxspec.language.module_context import Context
from ptxspec.language.named import one_of_several
from ptxspec.language.operand_kinds import Kind
from ptxspec.language.operand_resolution import OperandResolver, Unresolved
from ptxspec.language.scopes import Names
from ptxspec.terms import effects
from ptxspec.terms.editions import Epoch
from ptxspec.terms.types import Type

#: effects of which more is checked than the form
_CHECKED = (effects.ImageAccess, effects.Call, effects.IndexedBranch)
#: operands of which more is noted than what they are, or that stand for others
_NOT_ALONE = (tree.Parens, tree.Bracket, tree.Element, tree.Sum)
#: the kind of those, which no plan is for
_OTHER = kinds.PlainKind("an operand that is looked at each time")
#: so many are kept from module to module
_MOST = 50_000
_Guard = tuple[str, bool]
_new: Callable[..., Any] = tuple.__new__


class KnownPlans(dict[tuple[str | Kind, ...], Plan]):
    """Plans that need no more checks, by mnemonics with kinds of operands."""

    def __init__(self) -> None:
        super().__init__()
        #: mnemonics of which there are others
        self.checked: set[str] = set()

    def note(
        self, mnemonic: str, shape: list[Kind], op: Op, made: Op | None, names_variable: bool, kernel: Kernel
    ) -> None:
        """The plan with which an instruction has passed all checks. `made` is what its effect has made of it."""
        if mnemonic in self.checked:
            return
        plan = op.plan
        effect, definition, modifiers = plan.meaning.effect, plan.form.definition, plan.form.modifiers
        if definition.constant_ranges or plan.meaning.uses_carry or isinstance(effect, _CHECKED):
            self.checked.add(mnemonic)
            return
        spaces = (getattr(effect, "space", ""), modifiers.get("ss"), modifiers.get("space"))
        if made != op:
            return
        in_param = any(str(space).split("::")[0] == "param" for space in spaces)
        if names_variable:
            first = contracts.banks.space_of(contracts.banks.FIRST)
            is_known = effect is not None and spaces[0] != first and _at_variables(op, shape, kernel)
            guarded = contracts.functions.what_is_passed_is_not_guarded
            is_known &= not in_param or (guarded(False, False) and guarded(False, True))
        else:
            is_known = not in_param
        if is_known:
            self[(mnemonic, *shape)] = plan

    def forget(self) -> None:
        """What follows is of another target."""
        self.clear()
        self.checked.clear()


def known_plans(context: Context) -> KnownPlans:
    """Those for a module. They depend on its version and target alone, so that other modules of these have the same; but for one
    in which something may need addresses of 32 bits, or whose target changes."""
    if context.may_be_narrow or context.changes:
        return KnownPlans()
    plans = _plans_of(context.epoch, registry())
    if len(plans) + len(plans.checked) > _MOST:
        plans.forget()
    return plans


@lru_cache(32)
def _plans_of(epoch: Epoch, forms: Registry) -> KnownPlans:
    return KnownPlans()


def forget() -> None:
    """Drop all plans, since a page says something else now."""
    _plans_of.cache_clear()


class KnownInstructions(dict[int, Kind]):
    """Finds the forms of instructions of one scope whose shape is known. As a dictionary it has the kinds of operands by their
    identities, each learned when it is asked for: `_OTHER` for those of which more must be asked."""

    def __init__(self, plans: KnownPlans, operands: OperandResolver, names: Names, kernel: Kernel):
        super().__init__()
        self.plans, self.operands, self.names, self.kernel = plans, operands, names, kernel
        #: what operands are with unique names, where they are written with others; and guards
        self.renamed: dict[int, tree.Operand] = {}
        self.guards: dict[_Guard, _Guard] = {}
        #: the names of what is known, but for labels and for registers of this very scope, which no label hides
        self.named: set[str] = set()
        #: what is looked at
        self.item = tree.Instruction("", (), None, 0)

    def find(self, item: tree.Instruction) -> Op | None:
        """The instruction with its form, or None if its shape is not known."""
        mnemonic, operands, guard, position = item
        if mnemonic in self.plans.checked:
            return None
        self.item = item
        try:
            plan = self.plans[(mnemonic, *map(self.__getitem__, map(id, operands)))]
            if guard is not None:
                guard = self.guards[guard] if guard in self.guards else self._learn_guard(guard)
        except KeyError:
            return None
        if self.renamed:
            renamed = self.renamed.get
            operands = tuple([renamed(id(operand), operand) for operand in operands])
        op: Op = _new(Op, (plan, operands, guard, position, None, (), ""))
        return op

    def declared(self) -> None:
        """Something is declared in the scope."""
        self.clear()
        self.renamed.clear()
        self.guards.clear()
        self.named.clear()

    def passed(self, label: str) -> None:
        """A label hides what has its name and is declared further out."""
        if label in self.named:
            self.declared()

    def __missing__(self, identity: int) -> Kind:
        for operand in self.item.operands:
            if id(operand) == identity:
                break
        if operand.__class__ is tree.Name:  # most are registers that a `prefix<N>` of this very scope declares
            name = operand[0]
            member = one_of_several(name)
            if member is not None and member[0] in self.names.ranges and name not in self.names.registers:
                prefix, number, plain = member
                count, type = self.names.ranges[prefix]
                if number < count:
                    unique = plain + self.names.ending
                    if unique != name:
                        self.renamed[identity] = tree.Name(unique)
                    self.kernel.registers[unique] = self[identity] = type
                    return type
        try:
            resolved, kind = self._at_a_register(operand) or self._learned(operand)
        except Unresolved:
            resolved, kind = operand, _OTHER
        if resolved is not operand and (resolved != operand or resolved.__class__ is not operand.__class__):
            self.renamed[identity] = resolved
        self[identity] = kind
        return kind

    def _at_a_register(self, operand: tree.Operand) -> tuple[tree.Operand, Kind] | None:
        """What `_learned` says of an address that counts from a register of this very scope, in fewer steps; None for others."""
        if operand.__class__ is not tree.Address:
            return None
        assert isinstance(operand, tree.Address)
        base, offset, unified = operand
        if unified or base is None or base.__class__ is not tree.Name:
            return None
        register = self.names.own_register(base[0])
        if register is None:
            return None
        unique, type = register
        self.kernel.registers[unique] = type
        made = operand if unique == base[0] else tree.Address(tree.Name(unique), offset)
        return made, kinds.one_of_each(kinds.MemoryKind, type)

    def _learned(self, operand: tree.Operand) -> tuple[tree.Operand, Kind]:
        """An operand with unique names, and its kind, if it has to do with neither a function nor a variable, but for an address
        that counts from one. Raises Unresolved."""
        resolver = self.operands
        resolver.at = self.item.position
        if isinstance(operand, tree.Name):
            register = self.names.register(operand.text)
            if register is not None:
                self.named.add(operand.text)
                return resolver.resolve_register(operand, register, self.kernel)
        elif isinstance(operand, tree.Number):
            return operand, kinds.INTEGER
        named = _names(operand)
        if isinstance(operand, _NOT_ALONE) or not resolver.context.functions.keys().isdisjoint(named):
            return operand, _OTHER
        resolver.special = False
        resolved, kind = resolver.resolve(operand, self.names, self.kernel)
        if kind is not kinds.LABEL:
            self.named.update(named)
        if kind is kinds.TABLE or (resolver.special and not _is_at_variable(resolved, kind, self.kernel)):
            return operand, _OTHER
        return resolved, kind

    def _learn_guard(self, guard: _Guard) -> _Guard:
        """A guard with its register's unique name. Raises KeyError if it has none or is no predicate."""
        register = self.names.register(guard[0])
        if register is None or not contracts.type_checking.guards_are_predicates(register[1]):
            raise KeyError
        self.kernel.registers[register[0]] = register[1]
        self.named.add(guard[0])
        given = self.guards[guard] = register[0], guard[1]
        return given


def _is_at_variable(operand: tree.Operand, kind: Kind, kernel: Kernel) -> bool:
    """Whether an operand is an address that counts from a variable of which no more than its state space matters to an access."""
    if not isinstance(kind, kinds.MemoryKind) or not isinstance(kind.base, kinds.VariableKind):
        return False
    assert isinstance(operand, tree.Address)
    if operand.unified or not isinstance(operand.base, tree.Name):
        return False
    place = kernel.places[operand.base.text]
    return not (place.framed or place.in_a_bank)


def _at_variables(op: Op, shape: list[Kind], kernel: Kernel) -> bool:
    """Whether all that an instruction has to do with variables are such addresses."""
    return all(
        isinstance(kind, Type | kinds.RealKind)
        or kind is kinds.INTEGER
        or (isinstance(kind, kinds.MemoryKind) and isinstance(kind.base, Type))
        or (isinstance(kind, kinds.BracesKind) and all(isinstance(k, Type) for k in kind.elements))
        or _is_at_variable(operand, kind, kernel)
        for operand, kind in zip(op.operands, shape, strict=True)
    )


def _names(operand: Any) -> list[str]:
    """The names in an operand."""
    if isinstance(operand, tree.Name):
        return [operand.text]
    if isinstance(operand, tree.Address):
        return _names(operand.base)
    return [name for part in operand for name in _names(part)] if isinstance(operand, tuple) else []
