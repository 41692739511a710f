"""Instructions: the form of each, calls and indirect branches with what they reach."""

from __future__ import annotations

import struct
from typing import Any

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language.checked import (
    Call,
    Formal,
    Kernel,
    Op,
    Place,
    Plan,
    Signature,
    Table,
    banks,
    operand_of,
    spaces,
    unbanked,
)
from ptxspec.language.constant_bits import constant_bits, constant_fits
from ptxspec.language.form_selection import select_form
from ptxspec.language.forms import page_name, unknown_opcode
from ptxspec.language.operands import Operands, Unresolved
from ptxspec.language.scopes import Names
from ptxspec.terms import effects
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.kinds import Immediate, Special, operand_type
from ptxspec.terms.types import TYPES


class Instructions(Operands):
    """Checks instructions."""

    def instruction(self, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """The instruction's form, or None after a complaint."""
        self._at, self._special = item.position, False
        guard = None
        if item.guard is not None:
            found = names.register(item.guard[0])
            if found is None or found[1].kind != "pred":
                if found is None:
                    self.complain(item.position, self.undeclared(item.guard[0], names, "the guard "))
                else:
                    self.complain(item.position, f"the guard {item.guard[0]} is of type {found[1]}, not a predicate")
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
                resolved, kind = self.resolve(operand, names, kernel)
            except Unresolved as unresolved:
                self.complain(self.operand_position(item, i), unresolved.said)
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
                    self.complain(item.position, problem, cited.FUNCTIONS)
                    return None
        op = Op(plan, tuple(operands), guard, item.position)  # type: ignore[arg-type]
        effect = plan.meaning.effect  # type: ignore[union-attr]
        if (said or self._special) and self.refused(op, said, item, shape, kernel):
            return None
        if effect is None:
            for kind in ("entry", "function"):
                if kind in shape:
                    name = operands[shape.index(kind)].text  # type: ignore[union-attr]
                    if kind == "function":
                        self.mentions[kernel.name].append((None, item.position, self.signatures[name]))
                    self.since(f"the address of {'an' if kind == 'entry' else 'a'} {kind}", item.position)
            return op
        if isinstance(effect, effects.ImageAccess):
            return op if self.check_handles(item, op, kernel.registers) else None
        if isinstance(effect, effects.Call):
            return self.call(op, effect, item, names, kernel)
        if isinstance(effect, effects.IndexedBranch):
            return self.branch_among(op, effect, item, names, kernel)
        if not isinstance(effect, effects.Access):
            return op
        if (said or self._special) and effect.space == banks().space_of(banks().FIRST):
            base = next((o.base for o in operands if isinstance(o, tree.Address)), None)
            place = kernel.places.get(base.text) if base is not None else None
            return op._replace(space=(said if place is None else place.space) or op.space)
        if effect.space == "param":
            base = next((o.base for o in operands if isinstance(o, tree.Address)), None)
            place = kernel.places.get(base.text) if base is not None else None
            framed = place.framed if place is not None else kernel.signature is not None or bool(said)
            if said and place is not None and not framed:
                problem = f"{item.mnemonic} reaches what belongs to a function, not an entry's parameters"
                self.complain(item.position, problem, cited.STATE_SPACES)
                return None
            taken = kernel.signature.parameters if kernel.signature is not None else ()
            if guard is not None and place is not None and framed and not _is_formal(place, kernel):
                self.complain(
                    item.position, "what passes an argument or a result of a call has no guard", cited.FUNCTIONS
                )
            if not isinstance(effect, effects.Load) and (
                not framed or any(f.place is place is not None for f in taken)
            ):
                self.complain(item.position, "an entry's or a function's parameters are not written", cited.FUNCTIONS)
            if isinstance(effect, effects.Load) and kernel.signature is not None and place is not None:
                if any(f.place is place for f in kernel.signature.returns):
                    self.complain(
                        item.position, "a function writes its results, and does not read them", cited.FUNCTIONS
                    )
            op = op._replace(space=spaces().OF_FRAMES if framed else "")
        return op

    def targets(self, item: tree.Targets, names: Names) -> Table:
        """A list of labels with their unique names, or of functions; of what is neither, a complaint."""
        found: list[str] = []
        signatures: dict[int, Signature] = {}
        problem = None
        for (target,) in item.targets:
            if item.directive == ".branchtargets":
                label = names.label(target)
                if label is None:
                    self.complain(item.position, f"{target} is no label of this function", cited.CONTROL)
                found.append(label or target)
                continue
            function, symbol = self.functions.get(target), self.function_symbol(target)
            if function is None or function.position > item.position:
                self.complain(item.position, f"{target} is no function declared before", cited.FUNCTIONS)
            signature = self.signatures.get(symbol)
            if signature is None:
                problem = problem or f"{target} is no function"
            else:
                signatures.setdefault(self.shape_of(signature), signature)
            found.append(symbol)
        return Table(item.directive, tuple(found), tuple(signatures.values()), item.position, problem)

    def shape_of(self, signature: Signature) -> int:
        """A number that functions have in common which are declared alike."""
        known = self._shapes.get(signature.name)
        if known is None:
            shape = tuple(tuple(f.declared for f in fs) for fs in (signature.returns, signature.parameters))
            known = self._shapes[signature.name] = self._numbers.setdefault(shape, len(self._numbers))
        return known

    def plain_mnemonic(self, item: tree.Instruction) -> tuple[str, str]:
        """The mnemonic with its state space as forms spell it, and the space that it says: a bank of constants, or .param of a
        function."""
        words, said = item.mnemonic.split("."), ""
        closer, plain = spaces().IN_A_FUNCTION
        for i, word in enumerate(words):
            if "[" in word:
                said = self.bank(word, item.position)
                words[i] = unbanked(word)
            elif word == closer:
                self.since(f".{closer}", item.position)
                said, words[i] = closer, plain
        return ".".join(words), said

    def refused(self, op: Op, said: str, item: tree.Instruction, shape: list[Any], kernel: Kernel) -> bool:
        """Whether there is a complaint about an instruction that says more of its state space than its form does, that names a
        variable or that marks an address."""
        effect = op.plan.meaning.effect
        if said == spaces().IN_A_FUNCTION[0] and not isinstance(effect, spaces().ITS_EFFECTS):
            what = f"there is no {item.mnemonic}: only loads and stores take .{said}"
            self.complain(item.position, what, cited.STATE_SPACES)
            return True
        for index, operand in enumerate(op.operands):
            if isinstance(operand, tree.Address) and operand.unified:
                wrong = self.unified_problem(op, operand, kernel)
                if wrong:
                    self.complain(self.operand_position(item, index), f"{item.mnemonic}: {wrong}", cited.ATTRIBUTES)
                    return True
        if effect is not None:
            return False
        early = any(k[0] == "opaque" for k in shape if isinstance(k, tuple)) and self.too_early_for_handles()
        if early:
            self.complain(item.position, f"{item.mnemonic}: {early}", "spec/variables/opaque-types.md")
            return True
        wrong = self.address_problem(op.operands, shape, kernel, item.position)
        if wrong:
            self.complain(item.position, wrong, cited.FUNCTIONS)
        return wrong is not None

    def address_problem(
        self, operands: tuple[tree.Operand, ...], shape: list[Any], kernel: Kernel, position: int
    ) -> str | None:
        """Why an address cannot be taken of what a function passes or gives, or None."""
        formals = kernel.signature if kernel.signature is not None else None
        for operand, kind in zip(operands, shape, strict=True):
            if kind != ("place", "param"):
                continue
            base = operand if isinstance(operand, tree.Name) else operand.base  # type: ignore[union-attr]
            place = kernel.places[base.text]  # type: ignore[union-attr]
            if place.framed and not any(f.place is place for f in (formals.parameters if formals else ())):
                if not any(f.place is place for f in (formals.returns if formals else ())):
                    return f"{place.name} passes an argument or takes a result, and has no address"
                self.since("the address of a function's result", position)
        return None

    def unified_problem(self, op: Op, address: tree.Address, kernel: Kernel) -> str | None:
        """Why the address of an access cannot be .unified, or None."""
        page = contracts.attributes()
        if not page.takes_unified(op.plan.meaning.effect, any(role[0] == "out" for role in op.plan.roles)):
            return "only an address from which a register is loaded, generic or in .global, is .unified"
        if address.base is not None and address.base.text in kernel.places:
            return f"{address.base.text} has no .attribute(.unified)"
        return None

    def branch_among(
        self, op: Op, effect: effects.IndexedBranch, item: tree.Instruction, names: Names, kernel: Kernel
    ) -> Op | None:
        """An indirect branch with its labels."""
        list_name = operand_of(op, effect.targets.name).text
        table = names.table(list_name)
        if not isinstance(table, Table) or table.directive != ".branchtargets":
            self.complain(item.position, f"{list_name} is no list of labels (.branchtargets)", cited.CONTROL)
            return None
        return op._replace(targets=table.known)

    def call(self, op: Op, effect: effects.Call, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """A call with what it passes, held against what the function takes."""
        given = {role[1]: o for role, o in zip(op.plan.roles, op.operands, strict=True)}
        arguments = given["p"].elements if "p" in given else ()  # type: ignore[union-attr]
        results = given["r"].elements if "r" in given else ()  # type: ignore[union-attr]
        known: tuple[str, ...] | None
        also: list[Signature] = []  # the other functions of a list
        if isinstance(effect.function, Special):
            function = given[effect.function.name].text  # type: ignore[union-attr]
            signature, known = self.signatures[function], (function,)
        else:
            function = None
            list_name = given["t"].text  # type: ignore[union-attr]
            table = names.table(list_name)
            if isinstance(table, Table) and table.directive == ".calltargets":
                if table.problem is not None:
                    self.complain(table.position, table.problem, cited.FUNCTIONS)
                    return None
                known = table.known
                signature, *also = table.signatures
            elif isinstance(table, Signature):
                signature, known = table, None
            else:
                self.complain(item.position, f"{list_name} is neither .callprototype nor .calltargets", cited.CONTROL)
                return None
            self.mentions.setdefault(kernel.name, []).append((None, item.position, signature))
        for one in (signature, *also):
            passed = self.passed(function or "the function", arguments, results, one, kernel)
            if isinstance(passed, str):
                self.complain(item.position, passed, cited.FUNCTIONS)
                return None
            if one is signature:
                op = op._replace(call=Call(function, signature, passed[0], passed[1], known))
        return op

    def passed(
        self, shown: str, arguments: tuple[Any, ...], results: tuple[Any, ...], signature: Signature, kernel: Kernel
    ) -> str | tuple[tuple[tree.Operand, ...], tuple[tree.Operand, ...]]:
        """What a call passes to a function and takes from it, the elements of vectors one by one; or why it cannot."""
        found: list[tuple[tree.Operand, ...]] = []
        for what, actuals, formals in (
            ("arguments", arguments, signature.parameters),
            ("results", results, signature.returns),
        ):
            count = sum(f.vector > 0 for f in formals)
            may_end = bool(formals) and formals[-1].is_open  # nothing is passed for an array without a size
            if len(actuals) != count and not (may_end and len(actuals) == count - 1):
                return f"{shown} has {count} {what}, the call {len(actuals)}"
            single = one_by_one(actuals, formals)
            if single is None:
                return f"{shown}: a vector goes where there is a vector of as many elements"
            for actual, formal in zip(single, formals, strict=False):
                problem = self.passing_problem(actual, formal, kernel, what == "results")
                if problem:
                    return f"{shown}: {problem}"
            found.append(tuple(single))
        return found[0], found[1]

    def passing_problem(self, actual: Any, formal: Formal, kernel: Kernel, is_result: bool) -> str | None:
        """Why an operand of a call cannot stand for a parameter, or None. Its name is the unique one already."""
        if is_result and actual == tree.Name("_"):
            return None
        if formal.is_array and formal.vector > 1:
            return "no call passes an array of vectors"
        if not isinstance(actual, tree.Name):
            if is_result:
                return "a result goes into a register or a variable"
            if formal.is_array or not constant_fits(actual, formal.type):
                return f"a constant is no value of type {formal.type}"
            return None
        name = actual.text.partition("@")[0]
        if name == "_" and is_result:
            return None
        register, place = self._passed.get(actual.text, (None, None))
        if place is not None:
            if not place.framed or place.space != "param":
                return f"{name} lies in .{place.space}, not in .param of this function"
            if _is_formal(place, kernel):
                return f"{name} is what this function takes or gives: copy it into a variable of its own"
            if place.size != formal.size and not formal.is_open:
                return f"{place.size} bytes for a parameter of {formal.size}"
            if place.aligned != formal.aligned:
                return f"{name} is aligned to {place.aligned} bytes, the parameter to {formal.aligned}"
            if place.dimensions != int(formal.is_array):
                wanted = "an array of one dimension" if formal.is_array else "no array"
                return f"{name} is not what the parameter is, {wanted}"
            page = contracts.functions()
            agrees = page.arrays_agree if formal.is_array else self.rules.agrees
            if place.type is None or not agrees(formal.type, place.type):
                return f"{name} holds values of another type, not {formal.type}"
            return None
        if register is None:
            return f"{name} cannot be passed"
        if formal.is_array:
            return f"a register for an array{'' if formal.is_open else f' of {formal.size} bytes'}"
        if self.rules.agrees(formal.type, register):
            return None
        if formal.place is None and formal.vector != 1 and register.width == formal.type.width:
            return None
        return f"a register of type {register} for one of type {formal.type}"

    def constants_in_range(self, item: tree.Instruction, plan: Plan) -> None:
        definition = plan.form.definition
        for index, (role, operand) in enumerate(zip(plan.roles, item.operands, strict=True)):
            allowed = definition.constant_ranges.get(role[1]) if role[0] == "in" else None
            if allowed is None or not isinstance(operand, tree.Number | tree.Real):
                continue
            annotation = definition.sources[role[1]].annotation
            type = operand_type(annotation, plan.form.modifiers)
            # what must be a constant is the number itself, where it is wide of its type too
            exact = isinstance(annotation, Immediate)
            value = operand.value if exact else constant_bits(operand, type)  # type: ignore[arg-type,union-attr]
            if int(value) not in allowed:
                if isinstance(allowed, range):
                    step = f", a multiple of {allowed.step}" if allowed.step > 1 else ""
                    ends: tuple[Any, Any] = (allowed.start, allowed[-1])
                    if isinstance(operand, tree.Real):
                        ends = struct.unpack("<2f", struct.pack("<2I", *ends))
                    wanted = f"a constant from {ends[0]} to {ends[1]}{step}"
                else:
                    wanted = f"one of the constants {', '.join(map(str, allowed))}"
                given = operand.value if isinstance(operand, tree.Number) else "this"
                message = f"{plan.form.mnemonic} needs {wanted} here, not {given}"
                self.complain(self.operand_position(item, index), message, page_name(definition.path))

    def plan(self, mnemonic: str, shape: tuple[Any, ...]) -> Any:
        """The plan for an instruction of this shape, or (operand's index, complaint, page)."""
        opcode = self.table.get(mnemonic.split(".")[0])
        if opcode is None:
            return None, unknown_opcode(mnemonic), None
        return select_form(opcode, mnemonic, shape, self.rules, (self.version, self.target))


def _is_formal(place: Place, kernel: Kernel) -> bool:
    """Whether a variable is what a function takes or gives."""
    signature = kernel.signature
    return signature is not None and any(f.place is place for f in (*signature.returns, *signature.parameters))


def one_by_one(actuals: Any, formals: tuple[Formal, ...]) -> list[tree.Operand] | None:
    """What a call passes, the elements of vectors one by one, as parameters have them; None where a vector does not fit."""
    found: list[tree.Operand] = []
    for actual, formal in zip(actuals, (f for f in formals if f.vector), strict=False):
        length = 1 if formal.is_array else formal.vector
        if isinstance(actual, tree.Braces):
            if length == 1 or len(actual.elements) != length:
                return None
            found += actual.elements
        elif length > 1 and actual != tree.Name("_"):
            return None
        else:
            found += [actual] * length
    return found


def _memory(element: Any) -> tree.Address:
    """The memory at the address of an element."""
    return tree.Address(element, 0) if isinstance(element, tree.Indexed) else tree.Address(*element)
