"""Instructions like those before: of most, the form is known from their opcode and the kinds of their operands, and no rule is
about the values of these.

What is found of an operand in a scope holds until something is declared there. An operand is known by its identity, since those
that are written alike are often one object (see runs.py). Whatever is not known is left to instructions.py, and so is every
complaint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxspec import contracts
from ptxspec.language import operand_kinds as kinds
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Plan
from ptxspec.language.operand_kinds import Kind
from ptxspec.language.operand_resolution import OperandResolver, Unresolved
from ptxspec.language.scopes import Names
from ptxspec.terms import effects

#: effects of which more is checked than the form
_CHECKED = (effects.ImageAccess, effects.Call, effects.IndexedBranch)
#: operands of which more is noted than what they are, or that stand for others
_NOT_ALONE = (tree.Parens, tree.Bracket, tree.Element, tree.Sum)
_Guard = tuple[str, bool]
_new: Callable[..., Any] = tuple.__new__


class KnownPlans(dict[tuple[str | Kind, ...], Plan]):
    """The plans of a module that need no more checks, by mnemonics with kinds of operands."""

    def __init__(self) -> None:
        super().__init__()
        #: mnemonics of which there are others
        self.checked: set[str] = set()

    def note(self, mnemonic: str, shape: list[Kind], plan: Plan, names_variable: bool) -> None:
        """A plan with which an instruction has passed all checks of its form."""
        effect, definition, modifiers = plan.meaning.effect, plan.form.definition, plan.form.modifiers
        if definition.constant_ranges or plan.meaning.uses_carry or isinstance(effect, _CHECKED):
            self.checked.add(mnemonic)
            return
        spaces = (getattr(effect, "space", ""), modifiers.get("ss"), modifiers.get("space"))
        if any(str(space).split("::")[0] == "param" for space in spaces):
            self.checked.add(mnemonic)
        elif not names_variable:
            self[(mnemonic, *shape)] = plan

    def forget(self) -> None:
        """What follows is of another target."""
        self.clear()
        self.checked.clear()


class KnownInstructions(dict[int, Kind]):
    """Finds the forms of instructions of one scope whose shape is known. As a dictionary it has the kinds of operands by their
    identities, each learned when it is asked for."""

    def __init__(self, plans: KnownPlans, operands: OperandResolver, names: Names, kernel: Kernel):
        super().__init__()
        self.plans, self.operands, self.names, self.kernel = plans, operands, names, kernel
        #: what the operands are with unique names, and guards
        self.unique: dict[int, tree.Operand] = {}
        self.guards: dict[_Guard | None, _Guard | None] = {None: None}
        #: the names of what is known, but for labels
        self.named: set[str] = set()
        #: what is looked at
        self.item = tree.Instruction("", (), None, 0)

    def find(self, item: tree.Instruction) -> Op | None:
        """The instruction with its form, or None if its shape is not known."""
        mnemonic, operands, guard, position = item
        if mnemonic in self.plans.checked:
            return None
        self.item = item
        identities = [*map(id, operands)]
        try:
            plan = self.plans[(mnemonic, *map(self.__getitem__, identities))]
            given = self.guards[guard] if guard in self.guards else self._learn_guard(guard)
        except KeyError:
            return None
        op: Op = _new(Op, (plan, (*map(self.unique.__getitem__, identities),), given, position, None, (), ""))
        return op

    def declared(self) -> None:
        """Something is declared in the scope."""
        self.clear()
        self.unique.clear()
        self.guards = {None: None}
        self.named.clear()

    def passed(self, label: str) -> None:
        """A label hides what has its name and is declared further out."""
        if label in self.named:
            self.declared()

    def __missing__(self, identity: int) -> Kind:
        for operand in self.item.operands:
            if id(operand) == identity:
                break
        self.operands.at = self.item.position
        try:
            self.unique[identity], kind = self._learned(operand)
        except Unresolved:
            raise KeyError from None
        self[identity] = kind
        return kind

    def _learned(self, operand: tree.Operand) -> tuple[tree.Operand, Kind]:
        """An operand with unique names, and its kind, if it has to do with neither a variable nor a function. Raises KeyError for
        others, and Unresolved."""
        resolver = self.operands
        if isinstance(operand, tree.Name):
            register = self.names.register(operand.text)
            if register is not None:
                self.named.add(operand.text)
                return resolver.resolve_register(operand, register, self.kernel)
        elif isinstance(operand, tree.Number):
            return operand, kinds.INTEGER
        elif isinstance(operand, _NOT_ALONE):
            raise KeyError
        named = _names(operand)
        for name in named:
            if name in resolver.context.functions:
                raise KeyError
        resolver.special = False
        resolved, kind = resolver.resolve(operand, self.names, self.kernel)
        if resolver.special or kind is kinds.TABLE:
            raise KeyError
        if kind is not kinds.LABEL:
            self.named.update(named)
        return resolved, kind

    def _learn_guard(self, guard: _Guard | None) -> _Guard:
        """A guard with its register's unique name. Raises KeyError if it has none or is no predicate."""
        assert guard is not None
        register = self.names.register(guard[0])
        if register is None or not contracts.type_checking.guards_are_predicates(register[1]):
            raise KeyError
        self.kernel.registers[register[0]] = register[1]
        self.named.add(guard[0])
        given = self.guards[guard] = register[0], guard[1]
        return given


def _names(operand: Any) -> list[str]:
    """The names in an operand."""
    if isinstance(operand, tree.Name):
        return [operand.text]
    if isinstance(operand, tree.Address):
        return _names(operand.base)
    return [name for part in operand for name in _names(part)] if isinstance(operand, tuple) else []
