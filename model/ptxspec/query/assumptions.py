"""Conditions on inputs, written as Python expressions: `a != 0 and b < 32`, `signed(a) >= 0`, `not nan(x)`.

Names are the inputs, as unsigned numbers (or truth values, if they are predicates).
"""

from __future__ import annotations

import ast
import importlib
import operator
from collections.abc import Mapping
from typing import Any

from ptxspec.terms.core import Bool, Int, constant
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
_CLASSES = {
    "nan": "is_nan",
    "infinite": "is_infinite",
    "zero": "is_zero",
    "subnormal": "is_subnormal",
    "negative": "is_negative",
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
        return constant(True)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise AssumptionError(f"{text!r} is no condition: {error.msg}") from None
    value = _Reader(text, inputs, types).read(tree.body)
    if not isinstance(value, Bool):
        raise AssumptionError(f"{text!r} is a number, not a condition")
    return value


class _Reader:
    def __init__(self, text: str, inputs: Mapping[str, Any], types: Mapping[str, Type]):
        self.text, self.inputs, self.types = text, inputs, types

    def fail(self, node: ast.AST, why: str) -> AssumptionError:
        return AssumptionError(f"{self.text!r}, column {getattr(node, 'col_offset', 0) + 1}: {why}")

    def read(self, node: ast.AST) -> Any:
        result: Any
        value: Any
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return constant(node.value)
        if isinstance(node, ast.Name):
            if node.id not in self.inputs:
                raise self.fail(node, f"{node.id} is no input; there are {', '.join(self.inputs)}")
            return self.inputs[node.id]
        if isinstance(node, ast.BoolOp):
            values = [self.truth(v) for v in node.values]
            result = values[0]
            for value in values[1:]:
                result = result & value if isinstance(node.op, ast.And) else result | value
            return result
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return ~self.truth(node.operand)
            value = self.number(node.operand)
            if isinstance(node.op, ast.USub):
                return -value
            if isinstance(node.op, ast.Invert):
                return ~value
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _BINARY[type(node.op)](self.number(node.left), self.number(node.right))
        if isinstance(node, ast.Compare):
            sides = [self.read(n) for n in (node.left, *node.comparators)]
            result = constant(True)
            for op, x, y in zip(node.ops, sides, sides[1:], strict=False):
                if type(op) not in _COMPARE or isinstance(x, Bool) != isinstance(y, Bool):
                    raise self.fail(node, "these cannot be compared")
                result = result & _COMPARE[type(op)](x, y)
            return result
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            return self.call(node, node.func.id, node.args[0])
        raise self.fail(node, "only inputs, integers, comparisons, and, or, not and arithmetic")

    def call(self, node: ast.AST, name: str, argument: ast.AST) -> Any:
        if not isinstance(argument, ast.Name) or argument.id not in self.inputs:
            raise self.fail(node, f"{name}() takes the name of an input")
        width = self.types[argument.id].width
        if name == "signed":
            return sign_extend(self.number(argument), width)
        if name in _CLASSES and width in (16, 32, 64):
            page = importlib.import_module("ptxspec.spec.arithmetic.floating_point")
            return getattr(page, _CLASSES[name])(self.number(argument), TYPES[f"f{width}"])
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
