"""Registers of products of warpgroups, which are in flight between the instruction that initiates a product and the wait for it
(spec/machine/product-groups.md).

The product computes at once what its registers will hold. What a thread has done about its products, and what is known of each
register that they use, is in registers of ours; the page's steps change them, in instructions beside those of the program. So
both engines see instructions like any other. Registers that all products use alike have one record.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Read, Written, operand_of, parts_of
from ptxspec.language.scopes import MODULE
from ptxspec.machine.flow import operand_registers, registers_in, registers_written, result_registers, spelled
from ptxspec.machine.special import variables_of
from ptxspec.terms.core import Term, integer, variable
from ptxspec.terms.definitions import Input, Meaning, ProductRole, Result
from ptxspec.terms.effects import Check, Effect, terms_of
from ptxspec.terms.steps import State, Step, taken
from ptxspec.terms.types import TYPES

#: the name of a thread's record among those of ours
_GROUPS = "groups"


def with_product_rules(kernel: Kernel) -> Kernel:
    """The kernel with instructions that keep to the rules of products; itself, if it initiates none and waits for none."""
    if not any(_role(op) for op in kernel.code):
        return kernel
    return _ProductRules(kernel).result


def _role(op: Op) -> ProductRole | None:
    return op.plan.form.definition.product


class _ProductRules:
    """The rules of the products of a kernel."""

    def __init__(self, kernel: Kernel):
        self.kernel, page = kernel, contracts.product_groups
        self.kinds: dict[str, type[State]] = {_GROUPS: page.ProductGroups}
        self.shapes: dict[str, int] = {}
        self.of_register = self._records()
        self.kinds |= dict.fromkeys(self.of_register.values(), page.RegisterUse)
        self.result = copy.copy(kernel)
        self.result.registers = kernel.registers | dict(self._registers())
        self.result.code, self.result.starts, begins = [], {}, list[int]()
        starts = {at: name for name, at in kernel.starts.items()} or {0: kernel.name}
        for index, op in enumerate(kernel.code):
            if index in starts:
                self.result.starts |= {starts[index]: len(self.result.code)} if kernel.starts else {}
                self.result.code += [self._cleared(op)] if starts[index] == kernel.name else []
            begins.append(len(self.result.code))
            self.result.code += [*self._before(op), op]
        begins.append(len(self.result.code))
        self.result.labels = {name: begins[at] for name, at in kernel.labels.items()}

    def _records(self) -> dict[str, str]:
        """For each register that products use, the name of its record."""
        uses: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for index, op in enumerate(self.kernel.code):
            for name, operand in _operands(op):
                for register in registers_in(operand):
                    uses[register].append((index, name))
        mnemonics = {index: self.kernel.code[index].plan.form.mnemonic for of in uses.values() for index, _ in of}
        #: of each register the mnemonics of the products that use it
        self.used_by = {name: tuple(dict.fromkeys(mnemonics[i] for i, _ in of)) for name, of in uses.items()}
        alike: dict[tuple[tuple[int, str], ...], str] = {}
        return {name: alike.setdefault(tuple(of), f"use{len(alike)}") for name, of in uses.items()}

    def _registers(self) -> Iterator[tuple[str, Any]]:
        for record, kind in self.kinds.items():
            yield from zip(_names(record, kind), kind.fields.values(), strict=True)

    def _held(self, record: str) -> State:
        """What the registers hold of a record."""
        kind = self.kinds[record]
        return kind(*(variable(name, 32) for name in _names(record, kind)))

    def _cleared(self, op: Op) -> Op:
        """What lets all records be zeros, where the thread begins."""
        zeros = [(name, integer(0)) for name, _ in self._registers()]
        return _beside(op._replace(guard=None), None, zeros)

    def _before(self, op: Op) -> list[Op]:
        """What stands before an instruction because of the registers that it accesses, and of what it does about products."""
        page, role, ops = contracts.product_groups, _role(op), list[Op]()
        given = list(_operands(op))
        in_products = {register for _, operand in given for register in registers_in(operand)}
        accessed = [name for name in self._accessed(op) if name not in in_products]
        for record, names in self._of(accessed).items():
            ops += self._step(op, page.access_register, [record, _GROUPS], names=names)
        if role is None:
            return ops
        if role.step is not None:
            operands = [_value(op, operand) for operand in role.operands]
            return [*ops, *self._step(op, role.step, [_GROUPS], *operands)]
        shape = integer(self.shapes.setdefault(op.plan.form.modifiers["shape"], len(self.shapes) + 1))
        for name, operand in given:
            is_accumulator = name in op.plan.form.definition.accumulators
            step, more = (page.accumulate_product, [shape]) if is_accumulator else (page.give_to_product, [])
            for record, names in self._of(registers_in(operand)).items():
                ops += self._step(op, step, [record, _GROUPS], *more, names=names)
        return ops

    def _accessed(self, op: Op) -> list[str]:
        """The registers that an instruction reads or writes."""
        names = [*operand_registers(op, self.kernel), *registers_written(op)]
        if op.call is not None:
            names += result_registers(op)
            names += [name for operand in op.call.arguments for name in registers_in(operand)]
        return names

    def _of(self, registers: Iterable[str]) -> dict[str, list[str]]:
        """The records of registers, each once, with those that have it."""
        records: dict[str, list[str]] = {}
        for name in dict.fromkeys(registers):
            if name in self.of_register:
                records.setdefault(self.of_register[name], []).append(name)
        return records

    def _step(self, op: Op, step: Step, records: Sequence[str], *operands: Term, names: Sequence[str] = ()) -> list[Op]:
        """What takes a step on records, under the guard of an instruction: the rules, and then what changes. A report has the
        names of the registers."""
        before = [self._held(record) for record in records]
        requirements, given = taken(step, *before, *operands)
        after = [given] if len(records) == 1 else list(given)
        changes = [
            (name, value)
            for record, was, becomes in zip(records, before, after, strict=True)
            for name, old, value in zip(_names(record, type(was)), was, becomes, strict=True)
            if value is not old
        ]
        rules = [_beside(op, Check(rule, None, holds, self._note(names)), ()) for rule, holds in requirements]
        return [*rules, _beside(op, None, changes)] if changes else rules

    def _note(self, names: Sequence[str]) -> str:
        """What a report says of registers: which they are, and the products that use them."""
        uses = dict.fromkeys(self.used_by[name] for name in names)
        of = " and ".join(dict.fromkeys(mnemonic for mnemonics in uses for mnemonic in mnemonics))
        shown = ", ".join(spelled(name) for name in names[:3]) + (", …" if len(names) > 3 else "")
        return f"{shown} {'are registers' if len(names) > 1 else 'is a register'} of {of}"


def _operands(op: Op) -> Iterator[tuple[str, tree.Operand]]:
    """The operands of an instruction whose registers a product uses, with their names."""
    role, accumulators = _role(op), op.plan.form.definition.accumulators
    if role is not None:
        for part, operand in parts_of(op):
            if isinstance(part, Read) and part.name in (*accumulators, *role.reads):
                yield part.name, operand


def _value(op: Op, name: str) -> Term:
    """The constant that an operand is."""
    operand = operand_of(op, name)
    assert isinstance(operand, tree.Number)
    return integer(operand.value)


def _names(record: str, kind: type[State]) -> list[str]:
    """The registers that hold a record: they are the thread's, whichever function it executes."""
    return [f"@product.{record}.{field}{MODULE}" for field in kind.fields]


def _beside(op: Op, effect: Effect | None, changes: Sequence[tuple[str, Term]]) -> Op:
    """An instruction beside one of the program's, at its place and under its guard, on registers of ours."""
    word, terms = TYPES["u32"], [value for _, value in changes]
    terms += terms_of(effect) if effect is not None else []
    used = sorted(set().union(*map(variables_of, terms)))
    inputs = tuple(Input(name, word, (variable(name, 32),)) for name in used)
    results = tuple(Result(word, (value,)) for _, value in changes)
    parts: tuple[Read | Written, ...] = (*(Written(i) for i in range(len(changes))), *map(Read, used))
    operands = (*(tree.Name(name) for name, _ in changes), *map(tree.Name, used))
    plan = op.plan._replace(meaning=Meaning(inputs, results, effect), parts=parts, again=())
    return Op(plan, operands, op.guard, op.position)
