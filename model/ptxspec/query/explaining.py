"""The evaluation of a fragment explained: of each instruction that is executed, the statements of its definition with their
values, and the lines of the documents where they are."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ptxspec.language.forms import page_name
from ptxspec.query.evaluate import Chosen, Operand, Results, choice_of, executed, joined, readings, values_of_inputs
from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import InstructionStep, SymbolicFragment
from ptxspec.query.repeated import known_profile
from ptxspec.terms import vocabulary
from ptxspec.terms.core import Bool, Int
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import DEVIATION

#: levels of functions that can be asked for, and members of a tuple that are shown
DEEPEST, MEMBERS = 8, 8
#: bits of an integer that are shown
LONGEST = 256


class ExplainedValue(NamedTuple):
    """The value of a name in a definition: an int, a bool, or a str that describes any other value. `text` is the value for
    people: with hexadecimal digits unless it is small, and as a floating-point number if it is a bit pattern of the instruction's
    format.

    >>> (step,) = ptxspec.explain("bfe.s32 d, a, b, c;", a=0x80, b=4, c=8).steps
    >>> step.lines[1].values[0]
    ExplainedValue(name='shifted', value=8, text='8')
    """

    name: str
    value: Any
    text: str


class ExplainedLine(NamedTuple):
    """A statement of a definition that ran: the page and line, and the source. `values` are the names that it bound, or the value
    that it returned; `conditions` are the conditions of its selects. `function` is the function that contains the statement, and
    `depth` the depth of its call: 0 for the instruction's definition.

    >>> (step,) = ptxspec.explain("bfe.s32 d, a, b, c;", a=0x80, b=4, c=8).steps
    >>> line = step.lines[-1]
    >>> line.source
    "return select(maximum(b, c) < 256, field, unspecified('field-beyond-255', type, a, b, c))"
    >>> line.conditions, line.depth
    ([ExplainedValue(name='maximum(b, c) < 256', value=True, text='true')], 0)
    >>> line.values
    [ExplainedValue(name='returns', value=8, text='8')]
    """

    page: str
    source: str
    values: list[ExplainedValue]
    conditions: list[ExplainedValue]
    function: str
    depth: int

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> (step,) = ptxspec.explain("not.b32 d, a;", a=1).steps
        >>> step.lines[0].as_dict()["source"]
        'return ~a'
        """
        return {
            **self._asdict(),
            "values": [v._asdict() for v in self.values],
            "conditions": [v._asdict() for v in self.conditions],
        }


class Explained(NamedTuple):
    """An instruction, and how it computed its results. `executed` is False if its guard was false; then there are no `lines`.
    `reads` has the operands of the definition and `writes` the registers written, both as raw bits, with their `types`. `lines`
    are the statements that ran. `chosen` lists the results that PTX leaves open and the values used for them.

    >>> _, skipped = ptxspec.explain("setp.eq.u32 p, a, 1; @!p neg.s32 d, a;", a=1, d=0).steps
    >>> skipped.instruction, skipped.guard, skipped.executed, skipped.lines
    ('neg.s32 d, a;', '!p', False, [])
    """

    instruction: str
    page: str
    guard: str | None
    executed: bool
    reads: dict[str, Any]
    writes: dict[str, Any]
    types: dict[str, Type]
    lines: list[ExplainedLine]
    chosen: list[Chosen]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON; operands and registers with all their readings.

        >>> (step,) = ptxspec.explain("neg.s32 d, a;", a=1).steps
        >>> step.as_dict()["writes"]["d"]["signed"]
        -1
        """

        def read(values: dict[str, Any]) -> dict[str, Any]:
            return {n: {**readings(v, self.types[n]), "type": str(self.types[n])} for n, v in values.items()}

        return {
            "instruction": self.instruction,
            "page": self.page,
            "guard": self.guard,
            "executed": self.executed,
            "reads": read(self.reads),
            "writes": read(self.writes),
            "lines": [line.as_dict() for line in self.lines],
            "chosen": [c._asdict() for c in self.chosen],
        }


class Explanation(NamedTuple):
    """The results of a fragment, as `evaluate` returns them, and an explanation of each instruction.

    >>> ptxspec.explain("add.u32 d, a, b;", a=1, b=2).results
    {'d': 3}
    """

    results: Results
    steps: list[Explained]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> ptxspec.explain("add.u32 d, a, b;", a=1, b=2).as_dict()["results"]["d"]["unsigned"]
        3
        """
        types = self.results.types
        return {
            "results": {n: {**readings(v, types[n]), "type": str(types[n])} for n, v in self.results.items()},
            "steps": [step.as_dict() for step in self.steps],
        }


def explain(
    text: str,
    inputs: Mapping[str, Operand] | None = None,
    /,
    *,
    profile: str = "hopper",
    depth: int = 1,
    **operands: Operand,
) -> Explanation:
    """Execute a straight-line fragment as `evaluate` does, and explain each result: which statements of the instruction's
    definition run, at which line of which document, and which values they compute for these operands.

    `depth` is the number of levels of function calls to explain, 1 to 8: 1 is the definition alone, 2 adds the functions of the
    specification's pages that it calls. Operands are written as for `evaluate`. An instruction whose guard is false has no lines.
    Raises what `evaluate` raises, and ValueError for another depth.

    >>> (step,) = ptxspec.explain("bfe.s32 d, a, b, c;", a=0x80, b=4, c=8).steps
    >>> for line in step.lines:
    ...     print(line.page.rpartition("/")[2], line.source[:32], *[f"{v.name}={v.text}" for v in line.values])
    bfe.md:40 start, length = (low_bits(b, 8), start=4 length=8
    bfe.md:41 shifted = a >> start shifted=8
    bfe.md:42 field = sign_extend(shifted, len field=8
    bfe.md:43 return select(maximum(b, c) < 25 returns=8
    """
    fragment = read_fragment(text)
    return explained(fragment, values_of_inputs(fragment, joined(inputs, operands)), profile, depth)


def explained(fragment: SymbolicFragment, values: dict[str, Any], profile: str, depth: int) -> Explanation:
    """What `explain` returns, for the bits of a fragment's inputs."""
    if not 1 <= depth <= DEEPEST:
        raise ValueError(f"a depth of {depth}: 1 to {DEEPEST} levels can be asked for")
    results = executed(fragment, values, profile)
    memo: dict[int, Any] = {}
    steps = []
    for step, done in zip(fragment.steps, results.steps, strict=True):
        reader = _DefinitionReader(step, known_profile(profile), values, memo)
        lines = reader.lines(depth) if done.executed else []
        reads, types = reader.operands() if done.executed else ({}, {})
        page, chosen, types = f"{step.page}:{step.line}", list(reader.chosen.values()), types | step.types
        steps.append(Explained(step.text, page, step.guard, done.executed, reads, done.writes, types, lines, chosen))
    return Explanation(results, steps)


class _DefinitionReader:
    """The values of one instruction's definition."""

    def __init__(self, step: InstructionStep, profile: Profile, inputs: Mapping[str, Any], memo: dict[int, Any]):
        assert step.plan is not None
        self.step, self.plan, self.profile = step, step.plan, profile
        self.inputs, self.before = inputs, memo
        #: by freedom and operands, what was left open and met on the way
        self.chosen: dict[Any, Chosen] = {}
        self.values: dict[str, Any] = {}
        self.memo: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that the memo's ids stay theirs
        types = [r.type for r in self.plan.meaning.results] + [i.type for i in self.plan.meaning.inputs if i.type]
        #: by its width, the one type that a pattern can have
        self.formats = {t.width: t for t in types if {o for o in types if o.width == t.width} == {t} and t.is_float}

    def choose(self, freedom: Any, operands: tuple[int, ...]) -> int:
        bits = self.profile.value(freedom, operands)
        if freedom.attrs[2] != DEVIATION or bits != operands[0]:
            self.chosen[freedom.attrs, operands] = choice_of(freedom, bits, self.profile)
        return bits

    def operands(self) -> tuple[dict[str, Any], dict[str, Type]]:
        """The definition's operands by name, and their types."""
        types: dict[str, Type] = {}
        for taken in self.plan.meaning.inputs:
            kinds = taken.types or [taken.type] * len(taken.variables)
            for type, variable in zip(kinds, taken.variables, strict=False):
                if type is not None:
                    types[variable.attrs[0]] = type
        return {n: self.values[n] for n in types if n in self.values}, types

    def lines(self, depth: int) -> list[ExplainedLine]:
        """The statements of the definition, in the order in which they run, each followed by those of what it calls."""
        for name, term in self.step.sources.items():
            self.values[name] = evaluate_term(term, self.inputs, self.profile.value, self.before)
        form, meaning = self.plan.form, self.plan.meaning
        definition = form.definition
        there = {taken.name for taken in meaning.inputs}
        absent = tuple(n for n in definition.sources if n not in there)
        modifiers = {**form.modifiers, **form.marks}
        evaluated = partial(definition.evaluated, modifiers, absent, form.epoch)
        called = traced(evaluated, definition.function.__code__, depth)
        assert called is not None
        memo: dict[int, Any] = {}
        for result in meaning.results:
            for value in result.values:  # what is chosen for these, not for what they do not depend on
                evaluate_term(value, self.values, self.choose, memo)
        return self.of(called, 0)

    def of(self, called: Called, depth: int) -> list[ExplainedLine]:
        lines = []
        for statement in called.statements:
            lines.append(self.line(statement, called.name, depth))
            for inner in statement.calls:
                lines += self.of(inner, depth + 1)
        if called.more:
            page = page_name(called.path)
            lines.append(ExplainedLine(page, f"… {called.more} more statements", [], [], called.name, depth))
        return lines

    def line(self, statement: ExecutedStatement, function: str, depth: int) -> ExplainedLine:
        binds = dict(statement.binds)
        if statement.returns:
            binds["returns"] = statement.returned
        values = [value for name, term in binds.items() if (value := self.shown(name, term)) is not None]
        conditions = [value for c in statement.conditions if (value := self.shown(*c)) is not None]
        page = f"{page_name(statement.path)}:{statement.line}"
        return ExplainedLine(page, statement.source, values, conditions, function, depth)

    def value(self, term: Any) -> Any:
        """The value of a term; a sentence where it is left open."""
        self.kept.append(term)
        try:
            return evaluate_term(term, self.values, self.profile.value, self.memo)
        except NoChoice as open_one:
            return str(open_one)

    def shown(self, name: str, thing: Any) -> ExplainedValue | None:
        """What a name is bound to, if that can be shown."""
        if isinstance(thing, Int | Bool):
            value = self.value(thing)
            return ExplainedValue(name, value, self.text(value, thing))
        if isinstance(thing, bool | int):
            return ExplainedValue(name, thing, self.text(thing))
        if isinstance(thing, str | Type):
            return ExplainedValue(name, str(thing), str(thing))
        if isinstance(thing, tuple | list) and thing:
            members = [member for item in thing[:MEMBERS] if (member := self.shown(name, item)) is not None]
            texts = [member.text for member in members] + (["…"] if len(thing) > MEMBERS else [])
            return ExplainedValue(name, [member.value for member in members], f"({', '.join(texts)})")
        return None

    def text(self, value: Any, term: Any = None) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return value
        if value.bit_length() > LONGEST:
            return f"{str(hex(value))[:20]}… ({value.bit_length()} bits)"
        text = str(value) if abs(value) < 10 else f"{value} = {value:#x}" if abs(value) >> 64 == 0 else f"{value:#x}"
        if isinstance(term, Int) and term.lo == 0 and term.op != "const":
            type = self.formats.get(term.hi.bit_length())
            if type is not None and term.hi == (1 << type.width) - 1:
                number = readings(value, type).get("float")
                return text if number is None else f"{value:#0{type.width // 4 + 2}x} = {number} ({type})"
        return text


#: functions within statements, which belong to these
_WITHIN = ("<listcomp>", "<genexpr>", "<lambda>", "<dictcomp>", "<setcomp>")
#: statements that are kept of one call: a loop may have thousands
MOST = 200


@dataclass
class ExecutedStatement:
    """A statement that ran: where it is, what it binds, or returns, the source and the term of each condition that it selects by,
    and what it called."""

    path: str
    line: int
    source: str
    binds: dict[str, Any] = field(default_factory=dict)
    returns: bool = False
    returned: Any = None
    conditions: list[tuple[str, Any]] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)


@dataclass
class Called:
    """A call of a page's function: its name, its page, the statements that ran, and how many there are beyond those kept."""

    name: str
    path: str
    statements: list[ExecutedStatement] = field(default_factory=list)
    more: int = 0


def traced(call: Callable[[], Any], code: CodeType, depth: int) -> Called | None:
    """The call of the page's function with this code that call() makes first, and the calls of other pages' functions below it,
    down to `depth` (1: none)."""
    tracer, before = _StatementTracer(depth, code), sys.gettrace()
    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(before)
    # functions whose terms stand for their bodies, as for the sum: these are not run when they are called
    for statement, function, arguments, level in tracer.shortcuts:
        called = traced(partial(function, *arguments), function.__code__, depth - level)
        if called is not None:
            statement.calls.append(called)
    return tracer.root


class _Frame:
    """A call that is under way."""

    def __init__(self, called: Called):
        self.called = called
        self.before: dict[str, Any] = {}
        self.node: ast.stmt | None = None
        self.statement: ExecutedStatement | None = None


class _StatementTracer:
    """What Python tells of every call, and of the lines of those that are looked into."""

    def __init__(self, depth: int, code: CodeType):
        self.depth, self.code = depth, code
        self.root: Called | None = None
        self.stack: list[_Frame] = []
        self.shortcuts: list[tuple[ExecutedStatement, Any, tuple[Any, ...], int]] = []

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
        called = Called(frame.f_code.co_name, frame.f_code.co_filename)
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
        top.statement = ExecutedStatement(
            frame.f_code.co_filename, node.lineno, source, returns=isinstance(node, ast.Return)
        )
        top.statement.conditions = _conditions(node, frame.f_globals, dict(frame.f_locals))
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
    statements: dict[int, ast.stmt] = {}
    for node in ast.walk(ast.parse(loader.get_source(module))):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                statements.setdefault(line, node)
    return statements


def _conditions(node: ast.stmt, names: dict[str, Any], local: dict[str, Any]) -> list[tuple[str, Any]]:
    """What the calls of `select` in a statement select by, evaluated by itself: a definition's words change nothing."""
    conditions = []
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "select" and call.args:
            expression = ast.fix_missing_locations(ast.Expression(call.args[0]))
            with suppress(Exception):  # a name of a comprehension, say
                term = eval(compile(expression, "<condition>", "eval"), names, local)
                conditions.append((ast.unparse(call.args[0]), term))
    return conditions
