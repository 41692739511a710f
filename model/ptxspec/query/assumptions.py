"""Conditions on registers, written as Python expressions: `a != 0 and b < 32`, `signed(a) >= 0`, `not nan(x)`, `real(x) < 0.5`.

Names are the inputs (where a question has results, these too), as unsigned numbers, or truth values if they are predicates;
registers and special registers are written as in PTX, `%tid.x < 8`, a byte of memory or a lane's register with its number,
`p[4]`. An expression has limits, so that whatever it says is read, or refused, at once: it has at most MOST_CHARACTERS, its parts
nest at most MOST_DEPTH deep, and no number on the way can have more than MOST_BITS.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.language.specials import first_name
from ptxspec.query.numbers import InvalidValue, nearest
from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Bool, Int, TermError, constant, integer, truth
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import sign_extend

_BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
MOST_CHARACTERS = 4096
MOST_DEPTH = 100
MOST_BITS = 1024
#: characters of a decimal number
LONGEST, MOST_TENS = 100, 1000

#: names that Python's grammar does not have, and letters for what it does not have in names: they keep the columns as they are
_REGISTER = re.compile(r"(?<![\w)\]])%[A-Za-z_]\w*(?:\.[xyzwrgba]\b)?|\bCC\.CF\b")
_LETTERS = {"%": "\u01c3", ".": "\u01c0"}
_SIGNS = {letter: sign for sign, letter in _LETTERS.items()}

#: whether a pattern of a format is of a class, as the page of formats says
_CLASSES: dict[str, Callable[[Int, Type], Bool]] = {
    "nan": lambda x, format: contracts.floating_point.is_nan(x, format),
    "infinite": lambda x, format: contracts.floating_point.is_infinite(x, format),
    "zero": lambda x, format: contracts.floating_point.is_zero(x, format),
    "subnormal": lambda x, format: contracts.floating_point.is_subnormal(x, format),
    "negative": lambda x, format: contracts.floating_point.is_negative(x, format),
}


class AssumptionError(ValueError):
    """A condition with an error: its syntax is wrong, it names an unknown register, or it is too large.

    >>> try:
    ...     ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a ==")
    ... except ptxspec.AssumptionError as error:
    ...     print("a question put wrongly")
    a question put wrongly
    """


def assumption(text: str | None, inputs: Mapping[str, Any], types: Mapping[str, Type]) -> Bool:
    """The condition as a term over the inputs' variables. Raises AssumptionError if it is none."""
    return condition(text, inputs, types, "no input")


def condition(text: str | None, names: Mapping[str, Any], types: Mapping[str, Type], otherwise: str) -> Bool:
    """The condition as a term over what `names` stand for; `types` has their types, and `otherwise` says what a name is that is
    not among them. Raises AssumptionError if it is no condition."""
    if not text:
        return truth(True)
    if len(text) > MOST_CHARACTERS:
        raise AssumptionError(f"a condition of {len(text):,} characters: {MOST_CHARACTERS:,} are the most")
    spelled = _REGISTER.sub(lambda match: "".join(_LETTERS.get(c, c) for c in match[0]), text.strip())
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
        value = _ConditionReader(text, spelled, names, types, otherwise).read(tree.body)
    except TermError as error:
        raise AssumptionError(f"{_shortened(text)}: {error}") from None
    if not isinstance(value, Bool):
        raise AssumptionError(f"{_shortened(text)} is a number, not a condition")
    return value


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


class _ConditionReader:
    def __init__(self, text: str, spelled: str, names: Mapping[str, Any], types: Mapping[str, Type], otherwise: str):
        self.text, self.spelled, self.names, self.types = text, spelled, names, types
        self.otherwise = otherwise
        self.depth = 0

    def fail(self, node: ast.AST, why: str) -> AssumptionError:
        return AssumptionError(f"{_shortened(self.text)}, column {getattr(node, 'col_offset', 0) + 1}: {why}")

    def name(self, node: ast.Name | ast.Subscript) -> str:
        """The register that a name stands for, or one with a number in brackets: a byte of memory, or a lane's."""
        if isinstance(node, ast.Subscript):
            place = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if not (isinstance(node.value, ast.Name) and isinstance(place, int)):
                raise self.fail(node, "a name and a number in brackets, as in p[4]")
            base, number = node.value.id, f"[{place}]"
        else:
            base, number = node.id, ""
        name = first_name("".join(_SIGNS.get(c, c) for c in base)) + number
        if name not in self.names:
            raise self.fail(node, f"{name} is {self.otherwise}; there are {', '.join(self.names)}")
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
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return self.decimal(node)
        if isinstance(node, ast.Name | ast.Subscript):
            return self.names[self.name(node)]
        if isinstance(node, ast.BoolOp):
            return reduce(and_ if isinstance(node.op, ast.And) else or_, [self.truth(v) for v in node.values])
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return ~self.truth(node.operand)
            if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, float):
                return self.signed_decimal(node)
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

    def decimal(self, node: ast.Constant) -> Decimal:
        """A number with a point or an exponent, exactly as it is written."""
        written = ast.get_source_segment(self.spelled, node) or repr(node.value)
        try:
            tens = int(written.lower().partition("e")[2] or 0)
            if len(written) > LONGEST or abs(tens) > MOST_TENS:  # else its fraction would have no end of digits
                raise ValueError
            return Decimal(Fraction(written), written)
        except ValueError:
            raise self.fail(
                node, f"a number of {LONGEST} characters and 10^±{MOST_TENS} at most is read here"
            ) from None

    def signed_decimal(self, node: ast.UnaryOp) -> Decimal:
        assert isinstance(node.operand, ast.Constant)
        decimal = self.decimal(node.operand)
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise self.fail(node, "a decimal number has no bits to invert")
        return Decimal(-decimal.value, f"-{decimal.written}") if isinstance(node.op, ast.USub) else decimal

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
            if isinstance(x, FloatValue | Decimal) or isinstance(
                y, FloatValue | Decimal
            ):  # real(…) or a decimal number
                x, y = (
                    Decimal(Fraction(s.attrs[0]), str(s)) if isinstance(s, Int) and s.op == "const" else s
                    for s in (x, y)
                )
                try:
                    result = result & compare(type(op), x, y)
                except Unequal as why:
                    raise self.fail(node, str(why)) from None
                continue
            orders = not isinstance(op, ast.Eq | ast.NotEq)
            are_alike = isinstance(x, Bool) == isinstance(y, Bool) and not (orders and isinstance(x, Bool))
            if type(op) not in _COMPARE or not are_alike:
                raise self.fail(node, "these cannot be compared")
            result = result & _COMPARE[type(op)](x, y)
        return result

    def call(self, node: ast.AST, name: str, argument: ast.AST) -> Any:
        if not isinstance(argument, ast.Name | ast.Subscript):
            raise self.fail(node, f"{name}() takes the name of a register")
        type = self.types[self.name(argument)]
        format = type if type.is_float else TYPES.get(f"f{type.width}")
        if name == "signed":
            return sign_extend(self.number(argument), type.width)
        if name == "real" and format is not None:
            return FloatValue(self.number(argument), format)
        if name in _CLASSES and format is not None:
            return _CLASSES[name](self.number(argument), format)
        if name in _CLASSES or name == "real":
            raise self.fail(
                node, f"{name}() takes a floating-point number, and none has the {type.width} bits of {type}"
            )
        raise self.fail(node, f"{name}() is not known here; there are signed, real, {', '.join(_CLASSES)}")

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


class Unequal(ValueError):
    """Two things that cannot be compared as numbers."""


class FloatValue(NamedTuple):
    """A pattern that is read as a number of its format."""

    bits: Int
    type: Type


class Decimal(NamedTuple):
    """A number of the condition itself, and how it is written there."""

    value: Fraction
    written: str


#: the comparison with its sides exchanged
_TURNED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


def compare(op: type[ast.cmpop], x: Any, y: Any) -> Bool:
    """Whether the comparison holds. Raises Unequal where one side is no number, and for equality with a decimal that is no number
    of the format."""
    if op not in _TURNED:
        raise Unequal("these cannot be compared")
    if isinstance(x, Decimal) and isinstance(y, Decimal):
        raise Unequal("two decimal numbers: nothing depends on a register")
    if isinstance(x, Decimal) and isinstance(y, FloatValue):
        return compare(_TURNED[op], y, x)
    if not isinstance(x, FloatValue) or not isinstance(y, FloatValue | Decimal):
        raise Unequal(
            "a number with a point is compared with real(…), and real(…) with such a number or another real(…)"
        )
    page = contracts.floating_point
    if isinstance(y, Decimal):
        holds, known = _with_decimal(op, x, y), ~page.is_nan(x.bits, x.type)
    else:
        if x.type != y.type:
            raise Unequal(f"real(…) of {x.type} and of {y.type}: the formats differ")
        holds = _COMPARE[op](page.order(x.bits, x.type), page.order(y.bits, y.type))
        known = ~page.is_nan(x.bits, x.type) & ~page.is_nan(y.bits, y.type)
    return (holds | ~known) if op is ast.NotEq else (holds & known)


def _with_decimal(op: type[ast.cmpop], x: FloatValue, y: Decimal) -> Bool:
    """The comparison of a pattern, which is no NaN, with an exact number."""
    page = contracts.floating_point
    try:
        pattern = nearest(abs(y.value), x.type)
    except InvalidValue:  # beyond every finite number, and below infinity
        if op in (ast.Eq, ast.NotEq):
            raise Unequal(f"{y.written} is beyond the numbers of {x.type}") from None
        pattern = page.greatest(x.type)
    magnitude = contracts.approximation.value(pattern, x.type)
    sign, order = (-1, -pattern) if y.value < 0 else (1, pattern)
    near = sign * magnitude
    if near == y.value:
        return _COMPARE[op](page.order(x.bits, x.type), constant(order))
    if op in (ast.Eq, ast.NotEq):
        raise Unequal(f"no number of {x.type} is {y.written}: compare with < or >, or with the bits of one")
    below = near < y.value  # the decimal lies between this pattern and the next above it, or that below it
    if op in (ast.Lt, ast.LtE):
        return _COMPARE[ast.LtE if below else ast.Lt](page.order(x.bits, x.type), constant(order))
    if op in (ast.Gt, ast.GtE):
        return _COMPARE[ast.Gt if below else ast.GtE](page.order(x.bits, x.type), constant(order))
    return truth(False)
