"""How a definition comes to its results: the statements of its page that run, and what they bind, as terms.

A definition is called with the typed terms of its form, as always, while Python's own tracing tells which lines run. The terms
that a statement has bound are kept; their values for some operands are worked out afterwards, exactly.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FrameType
from typing import Any

from ptxspec.terms import vocabulary

#: functions within statements, which belong to these
_WITHIN = ("<listcomp>", "<genexpr>", "<lambda>", "<dictcomp>", "<setcomp>")
#: statements that are kept of one call: a loop may have thousands
MOST = 200


@dataclass
class Condition:
    """A condition that a statement selects by: its source, and the term."""

    source: str
    term: Any


@dataclass
class Statement:
    """A statement that ran: where it is, what it binds, or returns, the conditions it selects by, and what it called."""

    path: str
    line: int
    source: str
    binds: dict[str, Any] = field(default_factory=dict)
    returns: bool = False
    returned: Any = None
    conditions: list[Condition] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)


@dataclass
class Called:
    """A call of a page's function: its name, its page, and the statements that ran. `arguments` are those by name."""

    name: str
    path: str
    arguments: dict[str, Any] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    more: int = 0
    """statements beyond those that are kept"""


def traced(call: Callable[[], Any], code: CodeType, depth: int) -> Called:
    """The call of the page's function with this code that call() makes first, and the calls of other pages' functions below it,
    down to `depth` (1: none)."""
    tracer = _Tracer(depth, code)
    with _tracing(tracer):
        call()
    assert tracer.root is not None
    _open_shortcuts(tracer, depth)
    return tracer.root


@contextmanager
def _tracing(tracer: Any) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)


def _open_shortcuts(tracer: _Tracer, depth: int) -> None:
    """Follow functions whose terms stand for their bodies, as for the sum: these are not run when they are called."""
    for statement, function, arguments, level in tracer.shortcuts:
        below = _Tracer(depth - level, function.__code__)
        with _tracing(below):
            function(*arguments)
        if below.root is not None:
            statement.calls.append(below.root)
            _open_shortcuts(below, depth - level)


class _Frame:
    """A call that is under way."""

    def __init__(self, called: Called):
        self.called = called
        self.before: dict[str, Any] = {}
        self.node: ast.stmt | None = None
        self.statement: Statement | None = None


class _Tracer:
    """What Python tells of every call, and of the lines of those that are looked into."""

    def __init__(self, depth: int, code: CodeType):
        self.depth, self.code = depth, code
        self.root: Called | None = None
        self.stack: list[_Frame] = []
        self.shortcuts: list[tuple[Statement, Any, tuple[Any, ...], int]] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event != "call":
            return None
        code = frame.f_code
        if self.root is None:
            return self.entered(frame) if code is self.code else None
        if not self.stack or len(self.stack) >= self.depth:
            return None
        if code.co_filename == vocabulary.__file__ and code.co_name == "call":
            self.note_shortcut(frame)
            return None
        if code.co_filename.endswith(".md") and code.co_name not in _WITHIN:
            return self.entered(frame)
        return None

    def note_shortcut(self, frame: FrameType) -> None:
        """A function whose body is not run, to be looked into later."""
        statement = self.stack[-1].statement
        inside = frame.f_locals
        if statement is not None:
            function = vocabulary.SHORTCUTS[inside["name"]]
            self.shortcuts.append((statement, function, (inside["type"], *inside["arguments"]), len(self.stack)))

    def entered(self, frame: FrameType) -> Any:
        called = Called(frame.f_code.co_name, frame.f_code.co_filename, dict(frame.f_locals))
        if self.root is None:
            self.root = called
        else:
            statement = self.stack[-1].statement
            if statement is None:
                return None
            statement.calls.append(called)
        self.stack.append(_Frame(called))
        return self.local

    def local(self, frame: FrameType, event: str, arg: Any) -> Any:
        top = self.stack[-1]
        if event == "line":
            self.finish(frame, top)
            top.before = dict(frame.f_locals)
            self.begin(frame, top)
        elif event == "return":
            self.finish(frame, top)
            if top.statement is not None and top.statement.returns:
                top.statement.returned = arg
            self.stack.pop()
        return self.local

    def begin(self, frame: FrameType, top: _Frame) -> None:
        """A line runs: of the statement that has begun, or of another."""
        node = _statements(frame.f_globals["__name__"]).get(frame.f_lineno)
        if node is not None and node is top.node:
            return
        top.node, top.statement = node, None
        if node is None:
            return
        if len(top.called.statements) == MOST:
            top.called.more += 1
            return
        source = ast.unparse(node)
        top.statement = Statement(frame.f_code.co_filename, node.lineno, source, returns=isinstance(node, ast.Return))
        top.statement.conditions = list(_conditions(node, frame.f_globals, dict(frame.f_locals)))
        top.called.statements.append(top.statement)

    def finish(self, frame: FrameType, top: _Frame) -> None:
        """A line has run: what it has bound."""
        if top.statement is None:
            return
        for name, value in frame.f_locals.items():
            if name not in top.before or top.before[name] is not value:
                top.statement.binds[name] = value


@cache
def _statements(module: str) -> dict[int, ast.stmt]:
    """The simple statements of a page by each of their lines."""
    loader: Any = sys.modules[module].__loader__
    found: dict[int, ast.stmt] = {}
    for node in ast.walk(ast.parse(loader.get_source(module))):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found.setdefault(line, node)
    return found


def _conditions(node: ast.stmt, names: dict[str, Any], local: dict[str, Any]) -> Iterator[Condition]:
    """What the calls of `select` in a statement select by, evaluated by itself: a definition's words change nothing."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "select" and one.args:
            expression = ast.fix_missing_locations(ast.Expression(one.args[0]))
            with suppress(Exception):  # a name of a comprehension, say
                term = eval(compile(expression, "<condition>", "eval"), names, local)
                yield Condition(ast.unparse(one.args[0]), term)
