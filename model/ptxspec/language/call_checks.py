"""Calls and indirect branches: what they may reach, and what a call passes."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.base.records import NamedTuple
from ptxspec.language import cited, tree
from ptxspec.language.aliases import Aliases
from ptxspec.language.checked import (
    CallSite,
    Formal,
    Kernel,
    Op,
    Place,
    Read,
    Signature,
    Table,
    operand_of,
)
from ptxspec.language.constant_bits import real_bits
from ptxspec.language.instruction_rules import is_formal
from ptxspec.language.module_context import Context
from ptxspec.language.operand_resolution import OperandResolver
from ptxspec.language.scopes import Names
from ptxspec.language.signatures import SignatureLayout
from ptxspec.terms import effects
from ptxspec.terms.kinds import Special


class CallChecks:
    """Checks calls and indirect branches."""

    def __init__(self, context: Context, aliases: Aliases, layout: SignatureLayout, operands: OperandResolver):
        self.context, self.aliases, self.layout, self.operands = context, aliases, layout, operands

    def targets(self, item: tree.Targets, names: Names) -> Table:
        """A list of labels with their unique names, or of functions; of what is neither, a complaint."""
        symbols: list[str] = []
        signatures: dict[int, Signature] = {}
        problem = None
        for (target,) in item.targets:
            if item.directive == ".branchtargets":
                label = names.label(target)
                if label is None:
                    self.context.complain(item.position, f"{target} is no label of this function", cited.CONTROL)
                symbols.append(label or target)
                continue
            function, symbol = self.context.functions.get(target), self.aliases.function_symbol(target)
            if function is None or function.position > item.position:
                self.context.complain(item.position, f"{target} is no function declared before", cited.FUNCTIONS)
            signature = self.context.signatures.get(symbol)
            if signature is None:
                problem = problem or f"{target} is no function"
            else:
                signatures.setdefault(self.layout.shape_of(signature), signature)
            symbols.append(symbol)
        return Table(item.directive, tuple(symbols), tuple(signatures.values()), item.position, problem)

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
        for callee in (signature, *also):
            passed = self.passed(_Call(function or "the function", kernel, item.position), arguments, results, callee)
            if passed is None:
                return None
            if callee is signature:
                op = op._replace(call=CallSite(function, signature, passed[0], passed[1], known))
        return op

    def passed(
        self, call: _Call, arguments: tuple[Any, ...], results: tuple[Any, ...], signature: Signature
    ) -> tuple[tuple[tree.Operand, ...], tuple[tree.Operand, ...]] | None:
        """What a call passes to a function and takes from it, the elements of vectors one by one; None after a complaint."""
        page, require = contracts.functions, self.context.require
        operands: list[tuple[tree.Operand, ...]] = []
        for what, actuals, formals in (
            ("arguments", arguments, signature.parameters),
            ("results", results, signature.returns),
        ):
            count = sum(f.vector > 0 for f in formals)
            is_open = bool(formals) and formals[-1].is_open  # nothing is passed for an array without a size
            as_many = page.passes_as_many
            if not require(as_many, call.at, len(actuals), count, is_open, function=call.function, what=what):
                return None
            single = self.in_elements(call, actuals, formals)
            if single is None:
                return None
            for actual, formal in zip(single, formals, strict=False):
                if not self.passes(call, actual, formal, what == "results"):
                    return None
            operands.append(tuple(single))
        return operands[0], operands[1]

    def in_elements(self, call: _Call, actuals: Any, formals: tuple[Formal, ...]) -> list[tree.Operand] | None:
        """What a call passes, the elements of vectors one by one, as parameters have them; None after a complaint."""
        operands: list[tree.Operand] = []
        rule = contracts.functions.vectors_go_into_vectors
        for actual, formal in zip(actuals, (f for f in formals if f.vector), strict=False):
            length = 1 if formal.is_array else formal.vector
            elements = len(actual.elements) if isinstance(actual, tree.Braces) else 0
            if actual != tree.Name("_") and not self.context.require(
                rule, call.at, elements, length, function=call.function
            ):
                return None
            operands += actual.elements if elements else [actual] * length
        return operands

    def passes(self, call: _Call, actual: Any, formal: Formal, is_result: bool) -> bool:
        """Whether an operand of a call may stand for a parameter; complains if not. Its name is the unique one already."""
        if is_result and actual == tree.Name("_"):
            return True
        page, at, function, require = contracts.functions, call.at, call.function, self.context.require
        if not require(page.no_vectors_in_arrays, at, formal.is_array, formal.vector, function=function):
            return False
        if not isinstance(actual, tree.Name):
            return require(page.results_have_names, at, is_result, True, function=function) and require(
                page.passes_a_constant, at, formal.type, formal.is_array, real_bits(actual), function=function
            )
        name = actual.text.partition("@")[0]
        if name == "_" and is_result:
            return True
        register, place = self.operands.passed.get(actual.text, (None, None))
        if place is not None:
            return self.passes_variable(call, name, place, formal)
        if register is None:
            self.context.complain(at, f"{function}: {name} cannot be passed", cited.FUNCTIONS)
            return False
        of_a_vector = formal.place is None and formal.vector != 1
        return require(page.arrays_are_no_registers, at, formal.is_array, function=function) and require(
            page.registers_agree, at, formal.type, register, of_a_vector, function=function
        )

    def passes_variable(self, call: _Call, name: str, place: Place, formal: Formal) -> bool:
        """Whether a variable may stand for a parameter; complains if not."""
        page, at, require = contracts.functions, call.at, self.context.require
        names = {"function": call.function, "name": name}
        shape = "an array of one dimension" if formal.is_array else "no array"
        return (
            require(page.variables_pass_in_param, at, place.space, place.framed, **names)
            and require(page.formals_are_copied, at, is_formal(place, call.kernel), **names)
            and require(page.sizes_agree, at, place.size, formal.size, formal.is_open, **names)
            and require(page.alignments_agree, at, place.aligned, formal.aligned, **names)
            and require(page.dimensions_agree, at, place.dimensions, formal.is_array, shape=shape, **names)
            and require(page.elements_agree, at, formal.type, place.type, formal.is_array, **names)
        )


class _Call(NamedTuple):
    """A call that is checked: what it calls, as messages say it, the function that calls, and where it stands."""

    function: str
    kernel: Kernel
    at: int
