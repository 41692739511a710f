"""Mistakes that somebody could make in a definition: what replaces one expression of a page's Python by another.

An operator is given a node of the syntax tree and returns the nodes that could stand in its place. It never changes the node.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

#: what an operator makes of a node: nothing, or some nodes in its place
Operator = Callable[[ast.AST], Iterator[ast.AST]]


class Replacement(NamedTuple):
    """A node, the kind of mistake, and what stands in the node's place."""

    node: ast.expr
    kind: str
    new: ast.expr


_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_WIDTHS = {31: 32, 32: 31, 63: 64, 64: 63, 5: 6, 6: 5, 15: 16, 16: 15, 7: 8, 8: 7}
_ROUNDINGS = {"rn": "rz", "rz": "rn", "rm": "rp", "rp": "rm", "rna": "rn"}
_ROUNDINGS |= {f"{a}i": f"{b}i" for a, b in _ROUNDINGS.items()}
#: functions of (x, y, …) for which it matters which comes first
_ORDERED = ("quotient", "remainder", "concatenate")
#: pairs of functions that take the same arguments
_TWINS = {"minimum": "maximum", "maximum": "minimum", "sign_extend": "low_bits", "low_bits": "sign_extend"}
#: functions of (x, n) whose second argument counts bits
_WIDE = ("low_bits", "sign_extend")
#: functions of (x, …) that change some x only, and what it is called to leave them out
_STEPS = {
    "low_bits": "mask",
    "saturate": "saturation",
    "saturated": "saturation",
    "clamp": "saturation",
    "rectified": "saturation",
    "saturated_to_finite": "saturation",
    "flushed": "flush",
    "absolute": "absolute",
    "sign_extend": "extension",
    "as_type": "mask",
}


def _called(node: ast.AST) -> str:
    """The name of the function that a node calls, or ""."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _with_arguments(node: ast.Call, *first: ast.expr) -> ast.Call:
    """The call with other first arguments."""
    return ast.Call(node.func, [*first, *node.args[len(first) :]], node.keywords)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def comparison(node: ast.AST) -> Iterator[ast.AST]:
    """< for <=, > for >=, == for !=, and the other way round."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        yield ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)


def step(node: ast.AST) -> Iterator[ast.AST]:
    """A function left out that limits, flushes, cuts or extends its first argument."""
    if _called(node) in _STEPS and isinstance(node, ast.Call) and node.args:
        yield node.args[0]


def mask(node: ast.AST) -> Iterator[ast.AST]:
    """x & m without m, where m is a constant or one less than a power of two."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        for x, m in ((node.left, node.right), (node.right, node.left)):
            below = isinstance(m, ast.BinOp) and isinstance(m.op, ast.Sub)
            if _is_number(m) or below or "mask" in _called(m):
                yield x


def width(node: ast.AST) -> Iterator[ast.AST]:
    """A count of bits that is one off."""
    if _called(node) in _WIDE and isinstance(node, ast.Call) and len(node.args) == 2:
        x, n = node.args
        if _is_number(n):
            value = ast.literal_eval(n)
            yield _with_arguments(node, x, ast.Constant(_WIDTHS.get(value, value + 1)))
        else:
            yield _with_arguments(node, x, ast.BinOp(n, ast.Sub(), ast.Constant(1)))


def constant(node: ast.AST) -> Iterator[ast.AST]:
    """A number that is one off."""
    if _is_number(node):
        value = ast.literal_eval(node)
        for other in dict.fromkeys((_WIDTHS.get(value, value + 1), *([value - 1] if value > 0 else []))):
            yield ast.Constant(other)


def swap(node: ast.AST) -> Iterator[ast.AST]:
    """Operands exchanged."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield ast.BinOp(node.right, ast.Sub(), node.left)
    if _called(node) in _ORDERED and isinstance(node, ast.Call) and len(node.args) > 1:
        yield _with_arguments(node, node.args[1], node.args[0])


def twin(node: ast.AST) -> Iterator[ast.AST]:
    """minimum for maximum, sign_extend for low_bits, and the other way round."""
    if _called(node) in _TWINS and isinstance(node, ast.Call):
        yield ast.Call(ast.Name(_TWINS[_called(node)], ast.Load()), node.args, node.keywords)


def arms(node: ast.AST) -> Iterator[ast.AST]:
    """The two ways of a choice exchanged."""
    if _called(node) == "select" and isinstance(node, ast.Call) and len(node.args) == 3:
        yield _with_arguments(node, node.args[0], node.args[2], node.args[1])
    if isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)


def flag(node: ast.AST) -> Iterator[ast.AST]:
    """A flag inverted: signed for unsigned, True for False."""
    if isinstance(node, ast.Attribute) and node.attr in ("signed", "is_float"):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)


def rounding(node: ast.AST) -> Iterator[ast.AST]:
    """Another direction of rounding."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _ROUNDINGS:
        yield ast.Constant(_ROUNDINGS[node.value])


def negation(node: ast.AST) -> Iterator[ast.AST]:
    """A negation left out."""
    if isinstance(node, ast.UnaryOp) and not _is_number(node.operand):
        yield node.operand


def logic(node: ast.AST) -> Iterator[ast.AST]:
    """And for or, or for and, or for exclusive or."""
    other: dict[type[ast.AST], type[ast.operator]] = {
        ast.BitAnd: ast.BitOr,
        ast.BitOr: ast.BitAnd,
        ast.BitXor: ast.BitOr,
    }
    if isinstance(node, ast.BinOp) and type(node.op) in other:
        yield ast.BinOp(node.left, other[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """Plus for minus, and the other way round."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)


def shift(node: ast.AST) -> Iterator[ast.AST]:
    """A shift in the other direction."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift | ast.RShift):
        yield ast.BinOp(node.left, ast.RShift() if isinstance(node.op, ast.LShift) else ast.LShift(), node.right)


def bit(node: ast.AST) -> Iterator[ast.AST]:
    """The bit beside the one that is asked for."""
    if _called(node) in ("is_set", "bit") and isinstance(node, ast.Call) and len(node.args) == 2:
        x, i = node.args
        beside = ast.literal_eval(i) + 1 if _is_number(i) else None
        yield _with_arguments(
            node, x, ast.BinOp(i, ast.Sub(), ast.Constant(1)) if beside is None else ast.Constant(beside)
        )


def rule(node: ast.AST) -> Iterator[ast.AST]:
    """A rule for a class of operands left out: whether one is a NaN, infinite, zero, …"""
    name = _called(node)
    if name != "is_set" and (name.startswith("is_") or "_is_" in name):
        assert isinstance(node, ast.Call)
        yield ast.BinOp(node, ast.BitAnd(), ast.Constant(False))


OPERATORS: dict[str, Operator] = {
    "comparison": comparison,
    "step": step,
    "mask": mask,
    "width": width,
    "constant": constant,
    "swap": swap,
    "twin": twin,
    "arms": arms,
    "flag": flag,
    "rounding": rounding,
    "negation": negation,
    "logic": logic,
    "arithmetic": arithmetic,
    "shift": shift,
    "bit": bit,
    "rule": rule,
}


def kind_of(name: str, node: ast.AST) -> str:
    """What a mistake is called: a step by what it would have done."""
    return _STEPS.get(_called(node), name) if name == "step" else name


def replacements(root: ast.AST) -> Iterator[Replacement]:
    """Every mistake that could be made below a node, in the order of the text."""
    for node in _expressions(root):
        for name, operator in OPERATORS.items():
            for new in operator(node):
                assert isinstance(new, ast.expr)
                yield Replacement(node, kind_of(name, node), ast.copy_location(copy.copy(new), node))


def _expressions(root: ast.AST) -> list[ast.expr]:
    """The expressions of a function's body or of a table: no annotations, no texts that explain, no messages of errors."""
    expressions: list[ast.expr] = []
    waiting: list[ast.AST] = list(root.body) if isinstance(root, ast.FunctionDef) else [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.Expr) and _is_text(node.value)):
            continue
        if isinstance(node, ast.FunctionDef):
            waiting += node.body
            continue
        if isinstance(node, ast.AnnAssign):
            waiting += [node.value] if node.value is not None else []
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue  # Python's check of lengths, which changes no result
        if isinstance(node, ast.expr):
            expressions.append(node)
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.arguments)]
    return sorted(expressions, key=lambda n: (n.lineno, n.col_offset, n.end_lineno, n.end_col_offset, type(n).__name__))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class Exchange(ast.NodeTransformer):
    """Puts another node into the place of one."""

    def __init__(self, replacement: Replacement):
        self.replacement = replacement

    def visit(self, node: ast.AST) -> ast.AST:
        return self.replacement.new if node is self.replacement.node else self.generic_visit(node)
