"""Calls and indirect branches: what they may reach, and what a call passes."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language.aliases import Aliases
from ptxspec.language.checked import (
    Call,
    Formal,
    Kernel,
    Op,
    Read,
    Signature,
    Table,
    operand_of,
)
from ptxspec.language.constant_bits import constant_fits
from ptxspec.language.instruction_rules import is_formal
from ptxspec.language.module_context import Context
from ptxspec.language.operand_resolution import Operands
from ptxspec.language.scopes import Names
from ptxspec.language.signatures import Signatures
from ptxspec.terms import effects
from ptxspec.terms.kinds import Special


class Calls:
    """Checks calls and indirect branches."""

    def __init__(self, context: Context, aliases: Aliases, layout: Signatures, operands: Operands):
        self.context, self.aliases, self.layout, self.operands = context, aliases, layout, operands

    def targets(self, item: tree.Targets, names: Names) -> Table:
        """A list of labels with their unique names, or of functions; of what is neither, a complaint."""
        found: list[str] = []
        signatures: dict[int, Signature] = {}
        problem = None
        for (target,) in item.targets:
            if item.directive == ".branchtargets":
                label = names.label(target)
                if label is None:
                    self.context.complain(item.position, f"{target} is no label of this function", cited.CONTROL)
                found.append(label or target)
                continue
            function, symbol = self.context.functions.get(target), self.aliases.function_symbol(target)
            if function is None or function.position > item.position:
                self.context.complain(item.position, f"{target} is no function declared before", cited.FUNCTIONS)
            signature = self.context.signatures.get(symbol)
            if signature is None:
                problem = problem or f"{target} is no function"
            else:
                signatures.setdefault(self.layout.shape_of(signature), signature)
            found.append(symbol)
        return Table(item.directive, tuple(found), tuple(signatures.values()), item.position, problem)

    def branch_among(
        self, op: Op, effect: effects.IndexedBranch, item: tree.Instruction, names: Names, kernel: Kernel
    ) -> Op | None:
        """An indirect branch with its labels."""
        list_name = operand_of(op, effect.targets.name).text
        table = names.table(list_name)
        if not isinstance(table, Table) or table.directive != ".branchtargets":
            self.context.complain(item.position, f"{list_name} is no list of labels (.branchtargets)", cited.CONTROL)
            return None
        return op._replace(targets=table.known)

    def call(self, op: Op, effect: effects.Call, item: tree.Instruction, names: Names, kernel: Kernel) -> Op | None:
        """A call with what it passes, held against what the function takes."""
        given: dict[str, Any] = {
            part.name: o for part, o in zip(op.plan.parts, op.operands, strict=True) if isinstance(part, Read)
        }
        arguments = given["p"].elements if "p" in given else ()
        results = given["r"].elements if "r" in given else ()
        known: tuple[str, ...] | None
        also: list[Signature] = []  # the other functions of a list
        if isinstance(effect.function, Special):
            function = given[effect.function.name].text
            signature, known = self.context.signatures[function], (function,)
        else:
            function = None
            list_name = given["t"].text
            table = names.table(list_name)
            if isinstance(table, Table) and table.directive == ".calltargets":
                if table.problem is not None:
                    self.context.complain(table.position, table.problem, cited.FUNCTIONS)
                    return None
                known = table.known
                signature, *also = table.signatures
            elif isinstance(table, Signature):
                signature, known = table, None
            else:
                self.context.complain(
                    item.position, f"{list_name} is neither .callprototype nor .calltargets", cited.CONTROL
                )
                return None
            self.context.mentions.setdefault(kernel.name, []).append((None, item.position, signature))
        for one in (signature, *also):
            passed = self.passed(function or "the function", arguments, results, one, kernel)
            if isinstance(passed, str):
                self.context.complain(item.position, passed, cited.FUNCTIONS)
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
        register, place = self.operands.passed.get(actual.text, (None, None))
        if place is not None:
            if not place.framed or place.space != "param":
                return f"{name} lies in .{place.space}, not in .param of this function"
            if is_formal(place, kernel):
                return f"{name} is a parameter or a result of this function: copy it to another variable"
            if place.size != formal.size and not formal.is_open:
                return f"{place.size} bytes for a parameter of {formal.size}"
            if place.aligned != formal.aligned:
                return f"{name} is aligned to {place.aligned} bytes, the parameter to {formal.aligned}"
            if place.dimensions != int(formal.is_array):
                wanted = "an array of one dimension" if formal.is_array else "no array"
                return f"{name} is not {wanted}, as the parameter is"
            page = contracts.functions()
            agrees = page.arrays_agree if formal.is_array else self.context.rules.agrees
            if place.type is None or not agrees(formal.type, place.type):
                return f"{name} holds values of another type, not {formal.type}"
            return None
        if register is None:
            return f"{name} cannot be passed"
        if formal.is_array:
            return f"a register for an array{'' if formal.is_open else f' of {formal.size} bytes'}"
        if self.context.rules.agrees(formal.type, register):
            return None
        if formal.place is None and formal.vector != 1 and register.width == formal.type.width:
            return None
        return f"a register of type {register} for one of type {formal.type}"


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
