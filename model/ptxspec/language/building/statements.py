"""What stands in a function's body, as spec/syntax/statements.md writes it, and the lines for a debugger."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.base.records import NamedTuple
from ptxspec.language.building.constants import Constants
from ptxspec.language.building.declarations import Declarations
from ptxspec.language.building.text import BuiltText
from ptxspec.language.tree import (
    File,
    Instruction,
    Label,
    Location,
    Name,
    Parameter,
    Pragma,
    Prototype,
    ScopeBrace,
    Section,
    Statement,
    Targets,
    Variable,
)


class FunctionHint(NamedTuple):
    """A word after the parameters of a function or a prototype, with its place and its numbers."""

    at: int
    word: str
    numbers: tuple[int, ...]


class Statements:
    """Builds statements, and what debuggers read."""

    def __init__(self, text: BuiltText, constants: Constants, declarations: Declarations):
        self.text, self.constants, self.declarations = text, constants, declarations
        self.files: set[int] = set()
        self.places: set[tuple[int, ...]] = set()

    def body(self, at: int, statements: list[Any], end: int) -> tuple[tuple[Statement, ...], int]:
        return tuple(flat(statements)), end

    def scope(self, at: int, statements: list[Any], end: int) -> list[Statement]:
        return [ScopeBrace(True, self.text.starts[at]), *flat(statements), ScopeBrace(False, end)]

    def end(self, at: int, word: str) -> int:
        return self.text.starts[at]

    def local_variables(self, at: int, variables: list[Variable]) -> list[Variable]:
        self.declarations.allow_zeros(False)
        may_be = self.text.require(contracts.state_spaces.functions_declare, at, variables[0].space)
        return variables if may_be else []

    # instructions --------------------------------------------------------------------------------------------------------

    def instruction(
        self, at: int, guard: tuple[str, bool] | None, opcode: str, modifiers: list[str], operands: list[Any]
    ) -> Instruction:
        if guard is not None:
            at += 3 if guard[1] else 2
        if modifiers:
            page = contracts.mnemonics
            first = modifiers[0].split(".")[1]
            if first in page.NEXT_TO.get(opcode, ()) and first not in page.APART:
                self.text.complain(at, f"no blank stands between {opcode} and .{first}", "spec/instructions/index.md")
            opcode += "".join(modifiers)
        return Instruction(opcode, tuple(operands), guard, self.text.starts[at])

    def guard(self, at: int, negated: str | None, name: str) -> tuple[str, bool]:
        return name, negated is not None

    # labels --------------------------------------------------------------------------------------------------------------

    def label(self, at: int, name: str) -> Label:
        return Label(name, self.text.starts[at])

    def branch_targets(self, at: int, name: str, targets: list[str]) -> Targets:
        return Targets(name, self.text.words[at + 2], tuple(map(Name, targets)), self.text.starts[at])

    call_targets = branch_targets

    def prototype(
        self, at: int, name: str, results: list[Parameter], parameters: list[Parameter], hints: list[FunctionHint]
    ) -> Prototype:
        return Prototype(
            name, tuple(results or ()), tuple(parameters or ()), self.text.starts[at], self.hints_of(hints, results)
        )

    def noreturn(self, at: int, word: str) -> FunctionHint:
        return FunctionHint(at, word, ())

    def preserve(self, at: int, word: str, number: int) -> FunctionHint:
        self.text.require(contracts.directives.preserves_what_there_is, at + 1, word, number)
        return FunctionHint(at, word, (number,))

    preserve_control = preserve

    def hints_of(self, hints: list[FunctionHint], results: list[Parameter] | None) -> dict[str, tuple[int, ...]]:
        """What follows the parameters of a function or a prototype, with its numbers."""
        for at, word, _ in hints:
            self.text.use(word, at)
            self.text.require(contracts.directives.functions_with_results_return, at, word, bool(results))
        return {word: numbers for _, word, numbers in hints}

    def pragma(self, at: int, texts: list[str]) -> Pragma:
        self.text.use(".pragma", at)
        return Pragma(tuple(text[1:-1] for text in texts), self.text.starts[at])

    # for a debugger ------------------------------------------------------------------------------------------------------

    def _limited(self, at: int, value: int) -> int:
        self.text.require(contracts.debugging.places_have_32_bits, at, value)
        return value

    file_number = line_number = column_number = _limited

    def file(self, at: int, number: int, name: str, time: int | None, size: int | None) -> File:
        self.text.require(contracts.debugging.files_have_their_numbers, at + 1, number, self.files)
        self.files.add(number)
        facts = tuple(f for f in (time, size) if f is not None)
        return File(number, name[1:-1], facts, self.text.starts[at])

    def changed(self, at: int, time: int) -> int:
        self.text.use(".file with a time", at)
        return time

    def location(self, at: int, place: tuple[int, ...], inlined: Any) -> Location:
        self.places.add(place)
        return Location(place, inlined, self.text.starts[at])

    def source_place(self, at: int, file: int, line: int, column: int) -> tuple[int, ...]:
        return file, line, column

    def inlined(self, at: int, name: str, offset: int | None, place: tuple[int, ...]) -> tuple[Any, ...]:
        self.text.use(".loc with inlined_at", at)
        return name, offset or 0, *place

    def inlined_place(self, at: int, place: tuple[int, ...]) -> tuple[int, ...]:
        self.text.require(contracts.debugging.inlined_at_a_place, at, place, self.places)
        return place

    def section(self, at: int, name: str, lines: list[Any]) -> Section:
        self.text.use(".section", at)
        seen: set[str] = set()
        for width, content in lines:
            if width is None:
                label, where = content
                self.text.require(contracts.debugging.labels_of_sections_differ, where, label, seen)
                seen.add(label)
        return Section(name, tuple((w, c[:1] if w is None else c) for w, c in lines), self.text.starts[at])

    def section_label(self, at: int, name: str) -> tuple[None, tuple[Any, ...]]:
        self.text.use("labels in .section", at)
        return None, (name, at)

    def data(
        self, at: int, width: str, numbers: list[Any], mark: str | None, offset: int | None, less: str | None
    ) -> tuple[str, tuple[Any, ...]]:
        bits, page = int(width[2:]), contracts.debugging
        if mark is not None:
            self.text.require(page.addresses_fill, at + 1, bits)
            return width, (mark + (f"+{offset}" if offset else "") + (f"-{less}" if less else ""),)
        for value, where in numbers:
            self.text.require(page.data_fit, where, value, bits)
        return width, tuple(value for value, _ in numbers)

    def data_integer(self, at: int, sign: str | None, digits: str) -> tuple[int, int]:
        if sign:
            self.text.use("negative numbers in .section", at)
        return (-int(self.constants.integer(at + 1)), at) if sign else (self.constants.integer(at), at)

    def less(self, at: int, label: str) -> str:
        self.text.use("differences in .section", at)
        return label


def flat(statements: list[Any]) -> list[Statement]:
    """Statements in one list; several of them where one stands for several, as a declaration of two variables does."""
    flattened: list[Statement] = []
    for statement in statements:
        if statement.__class__ is list:
            flattened += statement
        else:
            flattened.append(statement)
    return flattened
