"""Signatures: what functions take and give, and where it lies in their frames."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.building.declarations import OPEN
from ptxspec.language.checked import Formal, Place, Signature
from ptxspec.language.module_context import Context
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.terms.types import Type


class Signatures:
    """Lays out what functions take and give."""

    def __init__(self, context: Context, opaque: OpaqueVariables):
        self.context, self.opaque = context, opaque
        #: numbers of the shapes of signatures, by the names of functions and by the shapes
        self._shapes: dict[str, int] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}

    def formals(
        self, parameters: tuple[tree.Parameter, ...], at: int, suffix: str, are_results: bool = False
    ) -> tuple[tuple[Formal, ...], int]:
        """Parameters laid out from offset `at` of a frame on, and where they end."""
        found: list[Formal] = []
        for parameter in parameters:
            rule = contracts.opaque_types.functions_take_handles
            if not self.context.require(rule, parameter.position, parameter.type):
                continue
            type = self.context.type(parameter.type, parameter.position)
            if parameter.space == "reg":
                found += self._in_registers(parameter, type, suffix)
                continue
            place = self._in_a_frame(parameter, type, at, parameter is parameters[-1] and not are_results)
            if place is None:
                continue
            found.append(Formal(type, parameter.size is not None, place, None, parameter.vector))
            at = place.offset + place.size
            page = contracts.state_spaces
            if not self.context.require(
                page.space_holds, parameter.position, page.OF_FRAMES, at, what="too many parameters"
            ):
                break
        return tuple(found), at

    def _in_registers(self, parameter: tree.Parameter, type: Type, suffix: str) -> list[Formal]:
        """A parameter that is a register, or the elements of one that is a vector of them."""
        rule = contracts.variables.registers_are_no_arrays
        self.context.require(rule, parameter.position, parameter.size is not None)
        if parameter.vector == 1:
            return [Formal(type, False, None, parameter.name + suffix)]
        if not self.context.fits_vector(type, parameter.vector, parameter.position):
            return []
        names = [f"{parameter.name}.{c}{suffix}" for c in "xyzw"[: parameter.vector]]
        lengths = (parameter.vector, 0, 0, 0)
        return [Formal(type, False, None, n, i) for n, i in zip(names, lengths, strict=False)]

    def _in_a_frame(self, parameter: tree.Parameter, type: Type, at: int, may_be_open: bool) -> Place | None:
        """A parameter in .param, which begins at offset `at` or as soon after it as its alignment allows; None after a
        complaint. `may_be_open` says whether it may be an array without a size."""
        context, position = self.context, parameter.position
        context.since("a parameter or a result of a function in .param", position)
        if not context.require(contracts.types.lies_in_memory, position, type.name):
            return None
        if parameter.size == OPEN:
            context.since("a parameter without a size", position)
            context.require(contracts.functions.may_lack_a_size, position, may_be_open, name=parameter.name)
        if not context.fits_vector(type, parameter.vector, position):
            return None
        align = parameter.align or type.bytes * parameter.vector
        if not context.require(contracts.functions.parameters_are_aligned, position, align):
            return None
        element = 0 if parameter.size is None else type.bytes
        return Place(
            parameter.name,
            "param",
            -(-at // align) * align,
            type.bytes * parameter.vector * (1 if parameter.size is None else max(0, parameter.size)),
            align,
            framed=True,
            element=element,
            type=type if parameter.vector == 1 and type.elements == 1 else None,
            dimensions=bool(element),
        )

    def signature(
        self, name: str, returns: tuple[tree.Parameter, ...], parameters: tuple[tree.Parameter, ...], position: int
    ) -> Signature:
        suffix = f"@{name}"
        given, end = self.formals(returns, 0, suffix, True)
        if len(returns) > 1:
            rule, in_param = (
                contracts.functions.several_results_are_registers,
                any(r.space == "param" for r in returns),
            )
            self.context.require(rule, returns[1].position, len(returns), in_param)
        taken, end = self.formals(parameters, end, suffix)
        return Signature(name, given, taken, end, position)

    def declare_function(self, function: tree.Function) -> None:
        symbol = self.context.symbols[function.name]
        found = self.signature(symbol, function.returns, function.parameters, function.position)
        known = self.context.signatures.setdefault(symbol, found)
        rule = contracts.functions.headings_agree
        self.context.require(rule, function.position, known.declared, found.declared, name=function.name)

    def same_parameters(self, entry: tree.Function) -> None:
        """Complain if an entry's declarations differ in their parameters."""
        first = self.context.functions[entry.name]
        lists = [[(p.type, p.vector, p.size, p.align) for p in f.parameters] for f in (first, entry)]
        if first.is_entry:
            rule = contracts.functions.headings_agree
            self.context.require(rule, entry.position, lists[0], lists[1], name=entry.name)

    def shape_of(self, signature: Signature) -> int:
        """A number that functions have in common which are declared alike."""
        known = self._shapes.get(signature.name)
        if known is None:
            shape = signature.declared
            known = self._shapes[signature.name] = self._numbers.setdefault(shape, len(self._numbers))
        return known
