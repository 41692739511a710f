"""Instructions: the form of each, calls and indirect branches with what they reach."""

from __future__ import annotations

import importlib
from typing import Any

from ptxspec.language import pages, tree
from ptxspec.language.checked import Call, Formal, Kernel, Op, Plan, Signature, operand_of
from ptxspec.language.constants import constant_bits, constant_fits
from ptxspec.language.fitting import select_form
from ptxspec.language.forms import page_name
from ptxspec.language.operands import Operands, Unresolved
from ptxspec.language.scopes import Names
from ptxspec.terms.definitions import CONDITION_CODE, Immediate, Special, operand_type
from ptxspec.terms.types import TYPES


class Instructions(Operands):
    """Checks instructions."""

    def instruction(self, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """The instruction's form, or None after a complaint."""
        self._at = item.position
        guard = None
        if item.guard is not None:
            found = names.register(item.guard[0])
            if found is None or found[1].kind != "pred":
                what = "is not declared" if found is None else f"is of type {found[1]}, not a predicate"
                self.complain(item.position, f"the guard {item.guard[0]} {what}")
                return None
            kernel.registers[found[0]] = found[1]
            guard = (found[0], item.guard[1])
        operands: list[tree.Operand] = []
        shape: list[Any] = []
        for i, operand in enumerate(item.operands):
            try:
                resolved, kind = self.resolve(operand, names, kernel)
            except Unresolved as unresolved:
                self.complain(self.operand_position(item, i), str(unresolved))
                return None
            operands.append(resolved)
            shape.append(kind)
        key = (item.mnemonic, *shape)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self.plan(item.mnemonic, tuple(shape))
        if not isinstance(plan, Plan) and any(tree.type_of(o) is tree.Element for o in item.operands):
            # an element's name is its address or, where that is wanted, what lies there
            elements = [tree.type_of(o) is tree.Element for o in item.operands]
            shape = [("memory", k) if e else k for e, k in zip(elements, shape, strict=True)]
            other = self.plan(item.mnemonic, tuple(shape))
            effect = other.meaning.effect if isinstance(other, Plan) else None
            if effect is not None and effect.kind in ("load", "store"):
                plan = other
                operands = [_memory(o) if e else o for e, o in zip(elements, operands, strict=True)]
        if isinstance(plan, Plan) and plan.form.definition.constant_ranges:
            self.constants_in_range(item, plan)
        if isinstance(plan, tuple) and not isinstance(plan, Plan):
            index, message, page = plan
            at = item.position if index is None else self.operand_position(item, index)
            self.complain(at, message, page)
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
                    self.complain(item.position, problem, pages.FUNCTIONS)
                    return None
        op = Op(plan, tuple(operands), guard, item.position)  # type: ignore[arg-type]
        effect = plan.meaning.effect  # type: ignore[union-attr]
        if effect is None:
            for kind in ("entry", "function"):
                if kind in shape:
                    self.since(f"the address of {'an' if kind == 'entry' else 'a'} {kind}", item.position)
            return op
        if effect.kind == "image":
            return op if self.check_handles(item, op, kernel.registers) else None
        if effect.kind == "call":
            return self.call(op, item, names, kernel)
        if effect.kind == "branch" and effect.fields["among"] is not None:
            return self.branch_among(op, item, names, kernel)
        if effect.fields.get("space") == "param":
            base = next((o.base for o in operands if isinstance(o, tree.Address)), None)
            place = kernel.places.get(base.text) if base is not None else None
            framed = place.framed if place is not None else kernel.signature is not None
            taken = kernel.signature.parameters if kernel.signature is not None else ()
            formals = (*kernel.signature.returns, *taken) if kernel.signature is not None else ()
            if guard is not None and place is not None and framed and all(f.place is not place for f in formals):
                self.complain(
                    item.position, "what passes an argument or a result of a call has no guard", pages.FUNCTIONS
                )
            if effect.kind != "load" and (not framed or any(f.place is place is not None for f in taken)):
                self.complain(item.position, "an entry's or a function's parameters are not written", pages.FUNCTIONS)
            op = op._replace(framed=framed)
        return op

    def branch_among(self, op: Op, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """An indirect branch with its labels."""
        list_name = operand_of(op, op.plan.meaning.effect.fields["among"].name).text  # type: ignore[union-attr]
        table = names.table(list_name)
        if not isinstance(table, tree.Targets) or table.directive != ".branchtargets":
            self.complain(item.position, f"{list_name} is no list of labels (.branchtargets)", pages.CONTROL)
            return None
        labels = [names.label(target.text) for target in table.targets]
        for target, label in zip(table.targets, labels, strict=True):
            if label is None:
                self.complain(table.position, f"{target.text} is no label of this function", pages.CONTROL)
                return None
        return op._replace(targets=tuple(labels))  # type: ignore[arg-type]

    def call(self, op: Op, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """A call with what it passes, held against what the function takes."""
        fields = op.plan.meaning.effect.fields  # type: ignore[union-attr]
        given = {role[1]: o for role, o in zip(op.plan.roles, op.operands, strict=True)}
        arguments = given["p"].elements if "p" in given else ()  # type: ignore[union-attr]
        results = given["r"].elements if "r" in given else ()  # type: ignore[union-attr]
        known: tuple[str, ...] | None
        if isinstance(fields["function"], Special):
            function = given[fields["function"].name].text  # type: ignore[union-attr]
            signature, known = self.signatures[function], (function,)
        else:
            function = None
            list_name = given["t"].text  # type: ignore[union-attr]
            table = names.table(list_name)
            if isinstance(table, tree.Targets) and table.directive == ".calltargets":
                known = tuple(self.function_symbol(target.text) for target in table.targets)
                for target, symbol in zip(table.targets, known, strict=True):
                    if symbol not in self.signatures:
                        self.complain(table.position, f"{target.text} is no function", pages.FUNCTIONS)
                        return None
                signature = self.signatures[known[0]]
            elif isinstance(table, Signature):
                signature, known = table, None
            else:
                self.complain(item.position, f"{list_name} is neither .callprototype nor .calltargets", pages.CONTROL)
                return None
            self.mentions.setdefault(kernel.name, []).append((None, item.position, signature))
        shown = function or "the function"
        for what, actuals, formals in (
            ("arguments", arguments, signature.parameters),
            ("results", results, signature.returns),
        ):
            if len(actuals) != len(formals):
                self.complain(
                    item.position, f"{shown} has {len(formals)} {what}, the call {len(actuals)}", pages.FUNCTIONS
                )
                return None
            for actual, formal in zip(actuals, formals, strict=True):
                problem = self.passing_problem(actual, formal, names, what == "results")
                if problem:
                    self.complain(item.position, f"{shown}: {problem}", pages.FUNCTIONS)
                    return None
        return op._replace(call=Call(function, signature, tuple(arguments), tuple(results), known))

    def passing_problem(self, actual: Any, formal: Formal, names: Names, is_result: bool) -> str | None:
        """Why an operand of a call cannot stand for a parameter, or None. Its name is the unique one already."""
        if not isinstance(actual, tree.Name):
            if is_result:
                return "a result goes into a register or a variable"
            if formal.is_array or not constant_fits(actual, formal.type):
                return f"a constant is no value of type {formal.type}"
            return None
        register, place = self._passed.get(actual.text, (None, None))
        if place is not None:
            if not place.framed or place.space != "param":
                return f"{actual.text} lies in .{place.space}, not in .param of this function"
            if formal.place is None:
                return f"{actual.text} is in .param, the parameter is a register"
            if place.size != formal.size:
                return f"{place.size} bytes for a parameter of {formal.size}"
            if place.aligned != formal.place.aligned:
                return f"{actual.text} is aligned to {place.aligned} bytes, the parameter to {formal.place.aligned}"
            return None
        if register is None:
            return f"{actual.text} cannot be passed"
        if formal.is_array:
            return f"a register for an array of {formal.size} bytes"
        if self.rules.agrees(formal.type, register):
            return None
        return f"a register of type {register} for one of type {formal.type}"

    def constants_in_range(self, item: tree.Instruction, plan: Plan) -> None:
        definition = plan.form.definition
        for index, (role, operand) in enumerate(zip(plan.roles, item.operands, strict=True)):
            allowed = definition.constant_ranges.get(role[1]) if role[0] == "in" else None
            if allowed is None or not isinstance(operand, tree.Number):
                continue
            annotation = definition.sources[role[1]].annotation
            type = operand_type(annotation, plan.form.modifiers)
            # what must be a constant is the number itself, where it is wide of its type too
            exact = isinstance(annotation, Immediate)
            value = operand.value if exact else constant_bits(operand, type)  # type: ignore[arg-type]
            if value not in allowed:
                step = f", a multiple of {allowed.step}" if allowed.step > 1 else ""
                wanted = f"a constant from {allowed.start} to {allowed[-1]}{step}"
                message = f"{plan.form.mnemonic} needs {wanted} here, not {operand.value}"
                self.complain(self.operand_position(item, index), message, page_name(definition.path))

    def plan(self, mnemonic: str, shape: tuple[Any, ...]) -> Any:
        """The plan for an instruction of this shape, or (operand's index, complaint, page)."""
        opcode = self.table.get(mnemonic.split(".")[0])
        if opcode is None:
            name = mnemonic.split(".")[0]
            missing = importlib.import_module("ptxspec.spec.functions.index").MISSING
            if name in missing:
                return None, f"{name}: {missing[name]} is not supported", pages.FUNCTIONS
            return None, f"{name} is no instruction that the pages define", None
        return select_form(opcode, mnemonic, shape, self.rules, (self.version, self.target))


def _memory(element: Any) -> tree.Address:
    """The memory at the address of an element."""
    return tree.Address(element, 0) if isinstance(element, tree.Indexed) else tree.Address(*element)
