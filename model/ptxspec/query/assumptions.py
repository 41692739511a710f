"""Conditions on inputs, written as Python expressions: `a != 0 and b < 32`, `signed(a) >= 0`, `not nan(x)`.

Names are the inputs, as unsigned numbers (or truth values, if they are predicates); registers and special registers are written
as in PTX, `%tid.x < 8`. An expression has limits, so that whatever it says is read, or refused, at once: it has at most
MOST_CHARACTERS, its parts nest at most MOST_DEPTH deep, and no number on the way can have more than MOST_BITS.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ptxspec import contracts
from ptxspec.language.specials import first_name
from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Bool, Int, TermError, constant, integer, truth
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import sign_extend

_BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARE = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
MOST_CHARACTERS = 4096
MOST_DEPTH = 100
MOST_BITS = 1024

#: names that Python's grammar does not have, and letters for what it does not have in names: they keep the columns as they are
_REGISTER = re.compile(r"(?<![\w)\]])%[A-Za-z_]\w*(?:\.[xyzwrgba]\b)?|\bCC\.CF\b")
_LETTERS = {"%": "\u01c3", ".": "\u01c0"}
_SIGNS = {letter: sign for sign, letter in _LETTERS.items()}

#: which function of the page of formats says whether a pattern is of a class
_CLASSES: dict[str, Callable[[contracts.FloatingPoint], Callable[[Int, Type], Bool]]] = {
    "nan": lambda formats: formats.is_nan,
    "infinite": lambda formats: formats.is_infinite,
    "zero": lambda formats: formats.is_zero,
    "subnormal": lambda formats: formats.is_subnormal,
    "negative": lambda formats: formats.is_negative,
}


class AssumptionError(ValueError):
    """A condition that cannot be read.

    >>> try:
    ...     ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a ==")
    ... except ptxspec.AssumptionError as error:
    ...     print("a question put wrongly")
    a question put wrongly
    """


def assumption(text: str | None, inputs: Mapping[str, Any], types: Mapping[str, Type]) -> Bool:
    """The condition as a term over the inputs' variables. Raises AssumptionError if it is none."""
    if not text:
        return truth(True)
    if len(text) > MOST_CHARACTERS:
        raise AssumptionError(f"a condition of {len(text):,} characters: {MOST_CHARACTERS:,} are the most")
    spelled = _REGISTER.sub(lambda found: "".join(_LETTERS.get(c, c) for c in found[0]), text.strip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what looks strange to Python's compiler
            tree = ast.parse(spelled, mode="eval")
    except SyntaxError as error:
        raise AssumptionError(f"{_shortened(text)} is no condition: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise AssumptionError(f"{_shortened(text)} nests too deeply: {MOST_DEPTH} levels are the most") from None
    except ValueError as error:
        raise AssumptionError(f"{_shortened(text)} is no condition: {error}") from None
    try:
        value = _Reader(text, inputs, types).read(tree.body)
    except TermError as error:
        raise AssumptionError(f"{_shortened(text)}: {error}") from None
    if not isinstance(value, Bool):
        raise AssumptionError(f"{_shortened(text)} is a number, not a condition")
    return value


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


class _Reader:
    def __init__(self, text: str, inputs: Mapping[str, Any], types: Mapping[str, Type]):
        self.text, self.inputs, self.types = text, inputs, types
        self.depth = 0

    def fail(self, node: ast.AST, why: str) -> AssumptionError:
        return AssumptionError(f"{_shortened(self.text)}, column {getattr(node, 'col_offset', 0) + 1}: {why}")

    def name(self, node: ast.Name) -> str:
        """The input that a name stands for."""
        name = first_name("".join(_SIGNS.get(c, c) for c in node.id))
        if name not in self.inputs:
            raise self.fail(node, f"{name} is no input; there are {', '.join(self.inputs)}")
        return name

    def read(self, node: ast.AST) -> Any:
        if self.depth == MOST_DEPTH:
            raise self.fail(node, f"this nests too deeply: {MOST_DEPTH} levels are the most")
        self.depth += 1
        try:
            value = self.part(node)
        finally:
            self.depth -= 1
        if isinstance(value, Int):
            self.fits(node, bits_for(value.lo, value.hi)[0])
        return value

    def fits(self, node: ast.AST, bits: int) -> None:
        if bits > MOST_BITS:
            raise self.fail(node, f"this may be a number of {bits:,} bits: {MOST_BITS:,} are the most")

    def part(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return constant(node.value)
        if isinstance(node, ast.Name):
            return self.inputs[self.name(node)]
        if isinstance(node, ast.BoolOp):
            values = [self.truth(v) for v in node.values]
            result: Any = values[0]
            for value in values[1:]:
                result = result & value if isinstance(node.op, ast.And) else result | value
            return result
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return ~self.truth(node.operand)
            number = self.number(node.operand)
            if isinstance(node.op, ast.USub):
                return -number
            return ~number if isinstance(node.op, ast.Invert) else number
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return self.combined(node)
        if isinstance(node, ast.Compare):
            return self.compared(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            return self.call(node, node.func.id, node.args[0])
        raise self.fail(node, "only inputs, integers, comparisons, and, or, not and arithmetic")

    def combined(self, node: ast.BinOp) -> Int:
        """A sum, a product, a shift or a bitwise combination, whose width is looked at before it is built."""
        x, y = self.number(node.left), self.number(node.right)
        bits, others = (bits_for(n.lo, n.hi)[0] for n in (x, y))
        if isinstance(node.op, ast.Mult):
            self.fits(node, bits + others)
        if isinstance(node.op, ast.LShift | ast.RShift) and y.lo < 0:
            raise self.fail(node, "a distance that can be negative")
        if isinstance(node.op, ast.LShift):
            self.fits(node, bits + y.hi)
        return integer(_BINARY[type(node.op)](x, y))

    def compared(self, node: ast.Compare) -> Bool:
        sides = [self.read(n) for n in (node.left, *node.comparators)]
        result = truth(True)
        for op, x, y in zip(node.ops, sides, sides[1:], strict=False):
            orders = not isinstance(op, ast.Eq | ast.NotEq)
            if (
                type(op) not in _COMPARE
                or isinstance(x, Bool) != isinstance(y, Bool)
                or (orders and isinstance(x, Bool))
            ):
                raise self.fail(node, "these cannot be compared")
            result = result & _COMPARE[type(op)](x, y)
        return result

    def call(self, node: ast.AST, name: str, argument: ast.AST) -> Any:
        if not isinstance(argument, ast.Name):
            raise self.fail(node, f"{name}() takes the name of an input")
        width = self.types[self.name(argument)].width
        if name == "signed":
            return sign_extend(self.number(argument), width)
        if name in _CLASSES and width in (16, 32, 64):
            return _CLASSES[name](contracts.floating_point())(self.number(argument), TYPES[f"f{width}"])
        raise self.fail(node, f"{name}() is not known here; there are signed, {', '.join(_CLASSES)}")

    def number(self, node: ast.AST) -> Int:
        value = self.read(node)
        if not isinstance(value, Int):
            raise self.fail(node, "a number is needed here")
        return value

    def truth(self, node: ast.AST) -> Bool:
        value = self.read(node)
        if not isinstance(value, Bool):
            raise self.fail(node, "a condition is needed here")
        return value
