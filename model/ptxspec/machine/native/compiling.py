"""A small part of Python as machine code: the driver's functions, which the exact engine runs as they stand.

That part has whole numbers of 64 bits, arrays of them, `while`, `for … in range(…)`, `if`, `return`, and calls: of other
functions of the driver, of steps of the pages, and of functions that the engine supplies. The first parameter of each function
is the machine, whose attributes are numbers, arrays, steps and the engine's functions. What is not of that part is refused.
Division is of numbers that are not negative; `and` and `or` give a truth, whatever their operands are.
"""

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

from ptxspec.machine import hosts
from ptxspec.machine.driver.codes import BROKEN
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter
from ptxspec.terms.steps import Step


class Array(NamedTuple):
    """An array of the machine: bytes of an element, which is a signed number."""

    unit: int


class BoundStep(NamedTuple):
    """A step of a page, and for each record that it is given the array in which records of that kind lie; None where the fields
    are given one by one."""

    step: Step
    arrays: tuple[str | None, ...]

    @property
    def values(self) -> int:
        """How many values the driver gets of it: the number of the rule that was broken, if it can break one, and its results."""
        return bool(self.step.meaning.requirements) + len(self.step.results)


class Environment(NamedTuple):
    """What the functions may speak of: fields of the context by name, arrays among them, steps, and supplied functions with how
    many numbers each is given."""

    fields: Mapping[str, int]
    arrays: Mapping[str, Array]
    steps: Mapping[str, BoundStep]
    supplied: Mapping[str, int]
    checked: bool
    known: Mapping[str, int] = {}
    """numbers of the machine that are the same throughout"""


_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "ashr", ast.FloorDiv: "udiv", ast.Mod: "urem",
}  # fmt: skip
_COMPARED = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge"}


def compiled(functions: Sequence[Callable[..., Any]], world: Environment, needs: set[str]) -> str:
    """LLVM text of these functions, each a `define internal i64 @name(ptr %context, …)`, and of the steps that they take."""
    names = {f.__name__: len(inspect.signature(f).parameters) for f in functions}
    texts = [_Function(f, names, world).text() for f in functions]
    return "\n".join([*texts, *(_step(name, taken, world, needs) for name, taken in world.steps.items())])


@cache
def _file(path: str) -> ast.Module:
    """A file of Python. It is read once for all of its functions: `inspect` would read each of them anew."""
    with tokenize.open(path) as file:
        return ast.parse(file.read())


def _definition(function: FunctionType) -> ast.FunctionDef:
    """Where a function is defined in its file."""
    code = function.__code__
    for node in ast.walk(_file(code.co_filename)):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if code.co_firstlineno == min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]):
                return node
    raise OSError(f"{code.co_filename} has no function {code.co_name} in line {code.co_firstlineno}")


class _Function:
    """The text of one function. Local variables lie in memory of their own, which LLVM makes registers of."""

    def __init__(self, function: Callable[..., Any], functions: Mapping[str, int], world: Environment):
        assert isinstance(function, FunctionType)
        self.name, self.functions, self.world = function.__name__, functions, world
        self.constants = function.__globals__
        self.path = function.__code__.co_filename
        self.tree = _definition(function)
        self.lines: list[str] = []
        self.locals: dict[str, None] = {}
        self.made = 0
        self.loops: list[tuple[str, str]] = []
        self.open = True  # whether the last block of LLVM has no end yet

    def refuse(self, node: ast.AST, what: str) -> SyntaxError:
        line = getattr(node, "lineno", self.tree.lineno)
        return SyntaxError(f"{self.path}:{line}: {what} is no part of what the driver is written in")

    def text(self) -> str:
        machine, *parameters = (a.arg for a in self.tree.args.args)
        self.machine = machine
        for name in parameters:
            self.locals[name] = None
        for statement in self.tree.body:
            self.statement(statement)
        if self.open:
            self.say("ret i64 0")
        heads = [f"  %{name} = alloca i64" for name in self.locals]
        heads += [f"  store i64 %given.{name}, ptr %{name}" for name in parameters]
        given = "".join(f", i64 %given.{name}" for name in parameters)
        record = "  %record_at = getelementptr i64, ptr %context, i64 {}\n  %record = load ptr, ptr %record_at"
        if self.world.checked:
            heads.append(record.format(self.world.fields["record"]))
        return "\n".join(
            [f"define internal i64 @{self.name}(ptr %context{given}) {{", "function.begins:", *heads, *self.lines, "}"]
        )

    # lines ----------------------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.lines.append(f"  {text}")
        self.open = not text.startswith(("ret ", "br "))

    def emit(self, text: str) -> str:
        self.made += 1
        name = f"%t{self.made}"
        self.say(f"{name} = {text}")
        return name

    def label(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def begin(self, label: str) -> None:
        if self.open:
            self.say(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.open = True

    # statements -----------------------------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if not self.open:
            raise self.refuse(node, "what is never reached")
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                return
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call() as call):
                for target, value in zip(names, self.several(call, len(names)), strict=True):
                    self.store(target, value)
            case ast.Assign(targets=[target], value=value):
                self.store(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                old = self.value(target)
                self.store(target, self.binary(node, op, old, self.value(value)))
            case ast.Return(value=None):
                self.say("ret i64 0")
            case ast.Return(value=value) if value is not None:
                self.say(f"ret i64 {self.value(value)}")
            case ast.If():
                self.choose(node)
            case ast.While(orelse=[]):
                self.repeat(node.test, node.body, None)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args), orelse=[]) if (
                len(args) in (1, 2)
            ):
                begin, end = (
                    ("0", self.value(args[0])) if len(args) == 1 else (self.value(args[0]), self.value(args[1]))
                )
                self.local(name)
                self.say(f"store i64 {begin}, ptr %{name}")
                self.repeat((name, end), node.body, name)
            case ast.Break() | ast.Continue():
                self.say(f"br label %{self.loops[-1][isinstance(node, ast.Continue)]}")
            case _:
                raise self.refuse(node, type(node).__name__)

    def local(self, name: str) -> str:
        self.locals[name] = None
        return f"%{name}"

    def choose(self, node: ast.If) -> None:
        match node.test:
            case ast.Attribute(value=ast.Name(id=self.machine), attr=name) if name in self.world.known:
                self.body(node.body if self.world.known[name] else node.orelse)
                return
            case _:
                pass
        yes, no, end = self.label("yes"), self.label("no"), self.label("end")
        self.say(f"br i1 {self.truth(node.test)}, label %{yes}, label %{no if node.orelse else end}")
        reached = not node.orelse
        self.lines.append(f"{yes}:")
        self.open = True
        self.body(node.body)
        reached |= self.open
        if self.open:
            self.say(f"br label %{end}")
        if node.orelse:
            self.lines.append(f"{no}:")
            self.open = True
            self.body(node.orelse)
            reached |= self.open
            if self.open:
                self.say(f"br label %{end}")
        if reached:
            self.lines.append(f"{end}:")
            self.open = True

    def repeat(self, test: Any, body: list[ast.stmt], counter: str | None) -> None:
        look, inside, following, end = (self.label(s) for s in ("look", "inside", "following", "end"))
        self.begin(look)
        if self.world.checked:  # what was read elsewhere than meant may let a loop never end
            self.stop_if_noted()
        always = isinstance(test, ast.Constant) and bool(test.value)
        if counter is not None:
            name, last = test
            condition = self.emit(f"icmp slt i64 {self.emit(f'load i64, ptr %{name}')}, {last}")
        else:
            condition = "true" if always else self.truth(test)
        self.say(f"br i1 {condition}, label %{inside}, label %{end}")
        self.lines.append(f"{inside}:")
        self.open = True
        self.loops.append((end, following))
        self.body(body)
        self.loops.pop()
        self.begin(following)
        if counter is not None:
            more = self.emit(f"add i64 {self.emit(f'load i64, ptr %{counter}')}, 1")
            self.say(f"store i64 {more}, ptr %{counter}")
        self.say(f"br label %{look}")
        self.lines.append(f"{end}:")
        self.open = True
        if always and not any(isinstance(n, ast.Break) for s in body for n in ast.walk(s)):
            self.say("unreachable")
            self.open = False

    def stop_if_noted(self) -> None:
        """Return if an access was found to be wrong."""
        noted, fine = self.label("noted"), self.label("fine")
        wrong = self.emit(f"icmp ne i64 {self.emit('load i64, ptr %record')}, 0")
        self.say(f"br i1 {wrong}, label %{noted}, label %{fine}")
        self.lines += [f"{noted}:", f"  ret i64 {BROKEN}", f"{fine}:"]
        self.open = True

    def store(self, target: ast.expr, value: str) -> None:
        match target:
            case ast.Name(id="_"):
                return
            case ast.Name(id=name):
                self.say(f"store i64 {value}, ptr {self.local(name)}")
            case ast.Attribute(value=ast.Name(id=self.machine), attr=name):
                self.say(f"store i64 {value}, ptr {self.field(target, name)}")
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=self.machine), attr=name), slice=index):
                bits = 8 * self.array(target, name).unit
                word = value if bits == 64 else self.emit(f"trunc i64 {value} to i{bits}")
                self.say(f"store i{bits} {word}, ptr {self.element(target, name, self.value(index))}")
            case _:
                raise self.refuse(target, ast.unparse(target))

    # values ---------------------------------------------------------------------------------------------------------

    def field(self, node: ast.AST, name: str) -> str:
        if name not in self.world.fields:
            raise self.refuse(node, f"the machine's {name}")
        return self.emit(f"getelementptr i64, ptr %context, i64 {self.world.fields[name]}")

    def array(self, node: ast.AST, name: str) -> Array:
        if name not in self.world.arrays:
            raise self.refuse(node, f"the machine's array {name}")
        return self.world.arrays[name]

    def element(self, node: ast.AST, name: str, index: str) -> str:
        base = self.emit(f"load ptr, ptr {self.field(node, name)}, !invariant.load !9")
        unit = self.array(node, name).unit
        length = self.emit(f"load i64, ptr {self.field(node, f'{name}_bytes')}") if self.world.checked else ""
        return self.emit(hosts.pointer(self.world.checked, name, base, index, unit, unit, length))

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool(value)):
                return str(int(value))
            case ast.Constant(value=int(value)):
                return str(value)
            case ast.Name(id=name) if name in self.locals:
                return self.emit(f"load i64, ptr %{name}")
            case ast.Name(id=name) if isinstance(self.constants.get(name), int):
                return str(int(self.constants[name]))
            case ast.Attribute(value=ast.Name(id=self.machine), attr=name) if name in self.world.known:
                return str(self.world.known[name])
            case ast.Attribute(value=ast.Name(id=self.machine), attr=name):
                return self.emit(f"load i64, ptr {self.field(node, name)}")
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=self.machine), attr=name), slice=index):
                bits = 8 * self.array(node, name).unit
                word = self.emit(f"load i{bits}, ptr {self.element(node, name, self.value(index))}")
                return word if bits == 64 else self.emit(f"sext i{bits} {word} to i64")
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.emit(f"sub i64 0, {self.value(operand)}")
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.emit(f"xor i64 {self.value(operand)}, -1")
            case ast.Call():
                return self.call(node)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self.emit(f"zext i1 {self.truth(node)} to i64")
            case ast.IfExp(test=test, body=first, orelse=second):
                return self.either(test, first, second)
            case _:
                raise self.refuse(node, ast.unparse(node))

    def binary(self, node: ast.AST, op: ast.operator, left: str, right: str) -> str:
        if type(op) not in _BINARY:
            raise self.refuse(node, type(op).__name__)
        return self.emit(f"{_BINARY[type(op)]} i64 {left}, {right}")

    def either(self, test: ast.expr, first: ast.expr, second: ast.expr) -> str:
        kept = self.local(f"either{self.label('')}")
        self.choose_value(self.truth(test), kept, lambda: self.value(first), lambda: self.value(second))
        return self.emit(f"load i64, ptr {kept}")

    def choose_value(self, condition: str, kept: str, first: Callable[[], str], second: Callable[[], str]) -> None:
        yes, no, end = self.label("yes"), self.label("no"), self.label("end")
        self.say(f"br i1 {condition}, label %{yes}, label %{no}")
        for label, value in ((yes, first), (no, second)):
            self.lines.append(f"{label}:")
            self.open = True
            self.say(f"store i64 {value()}, ptr {kept}")
            self.say(f"br label %{end}")
        self.lines.append(f"{end}:")
        self.open = True

    def truth(self, node: ast.expr) -> str:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
                return self.emit(f"icmp {_COMPARED[type(op)]} i64 {self.value(left)}, {self.value(right)}")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.emit(f"xor i1 {self.truth(operand)}, true")
            case ast.BoolOp(op=op, values=[first, *rest]):
                return self.both(op, first, rest[0] if len(rest) == 1 else ast.BoolOp(op=op, values=rest))
            case ast.Compare():
                raise self.refuse(node, ast.unparse(node))
            case _:
                return self.emit(f"icmp ne i64 {self.value(node)}, 0")

    def both(self, op: ast.boolop, first: ast.expr, following: ast.expr) -> str:
        """`and` and `or`: the second is looked at only if the first does not decide."""
        kept = self.local(f"both{self.label('')}")
        condition = self.truth(first)

        def second() -> str:
            return self.emit(f"zext i1 {self.truth(following)} to i64")

        if isinstance(op, ast.And):
            self.choose_value(condition, kept, second, lambda: "0")
        else:
            self.choose_value(condition, kept, lambda: "1", second)
        return self.emit(f"icmp ne i64 {self.emit(f'load i64, ptr {kept}')}, 0")

    # calls ----------------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> str:
        if node.keywords:
            raise self.refuse(node, ast.unparse(node))
        match node.func:
            case ast.Name(id=name) if len(node.args) == self.functions.get(name):
                given = node.args[1:]
            case ast.Attribute(value=ast.Name(id=self.machine), attr=name) if name in self.world.supplied:
                given = node.args
                if len(given) != self.world.supplied[name]:
                    raise self.refuse(node, f"{name} with {len(given)} numbers")
            case ast.Attribute(value=ast.Name(id=self.machine), attr=name) if name in self.world.steps:
                return (self.several(node, self.world.steps[name].values) or ["0"])[0]
            case _:
                raise self.refuse(node, ast.unparse(node))
        arguments = "".join(f", i64 {self.value(a)}" for a in given)
        return self.emit(f"call i64 @{name}(ptr %context{arguments})")

    def several(self, node: ast.Call, count: int) -> list[str]:
        """A step's values: the number of the rule that was broken, from 1 on, or 0, if it can break one; then its results."""
        assert isinstance(node.func, ast.Attribute)
        taken = self.world.steps.get(node.func.attr)
        if taken is None or count != taken.values:
            raise self.refuse(node, ast.unparse(node))
        given: list[str] = []
        values = list(node.args)
        for port, array in zip(taken.step.states, taken.arrays, strict=True):
            if array is None:
                given += [f"i64 {self.value(values.pop(0))}" for _ in port.words]
            else:
                place = self.emit(f"mul i64 {self.value(values.pop(0))}, {len(port.words)}")
                self.element(
                    node, array, self.emit(f"add i64 {place}, {len(port.words) - 1}")
                )  # that all of it is there
                given.append(f"ptr {self.element(node, array, place)}")
        given += [f"i64 {self.value(v)}" for v in values]
        results = 1 + len(taken.step.results)
        kind = "{" + ", ".join(["i64"] * results) + "}"
        outputs = self.emit(f"call {kind} @step_{node.func.attr}({', '.join(given)})")
        return [self.emit(f"extractvalue {kind} {outputs}, {i}") for i in range(results - count, results)]


def _step(name: str, taken: BoundStep, world: Environment, needs: set[str]) -> str:
    """The function of a step: pointers to records, or their fields, and operands; it changes the records in place."""
    step = taken.step
    lines: list[str] = []
    emitter = Emitter(lines, needs)
    env: dict[str, str] = {}
    parameters: list[str] = []
    for k, (port, array) in enumerate(zip(step.states, taken.arrays, strict=True)):
        if array is not None:
            parameters.append(f"ptr noalias %row{k}")
        for place, (word, type) in enumerate(port.words.items()):
            if array is None:
                field = f"%field{k}.{place}"
                parameters.append(f"i64 {field}")
            else:
                field = emitter.emit(f"load i64, ptr {emitter.emit(f'getelementptr i64, ptr %row{k}, i64 {place}')}")
            env[word] = field if type.width == 64 else emitter.truncate(field, 64, type.width)
    for k, port in enumerate(step.operands):
        parameters.append(f"i64 %operand{k}")
        env[port.name] = (
            f"%operand{k}" if port.type.width == 64 else emitter.truncate(f"%operand{k}", 64, port.type.width)
        )
    lowering = Lowering(emitter, env)
    requirements, terms = step.meaning
    kind = "{" + ", ".join(["i64"] * (1 + len(step.results))) + "}"
    for k, (_, condition) in enumerate(requirements):
        lines.append(f"  br i1 {lowering.truth(condition)}, label %kept{k}, label %broken{k}\nkept{k}:")
    words = [(word, type) for port in step.outputs for word, type in port.words.items()]
    outputs = [word_of(emitter, lowering, term, type) for term, (_, type) in zip(terms, words, strict=True)]
    for k, port in enumerate(step.states[: step.changes]):
        for place in range(len(port.words)):
            cell = emitter.emit(f"getelementptr i64, ptr %row{k}, i64 {place}")
            lines.append(f"  store i64 {outputs.pop(0)}, ptr {cell}")
    value = f"insertvalue {kind} undef, i64 0, 0"
    for k, word in enumerate(outputs):
        value = f"insertvalue {kind} {emitter.emit(value)}, i64 {word}, {k + 1}"
    lines.append(f"  ret {kind} {emitter.emit(value)}")
    for k in range(len(requirements)):
        lines.append(f"broken{k}:\n  %rule{k} = insertvalue {kind} undef, i64 {k + 1}, 0\n  ret {kind} %rule{k}")
    return "\n".join(
        [f"define internal {kind} @step_{name}({', '.join(parameters)}) alwaysinline {{", "entry:", *lines, "}"]
    )


def word_of(emitter: Emitter, lowering: Lowering, term: Any, type: Any) -> str:
    """A value as a word of 64 bits."""
    if type.kind == "pred":
        return emitter.emit(f"zext i1 {lowering.truth(term)} to i64")
    word = lowering.low(term, type.width)
    return word if type.width == 64 else emitter.extend(word, type.width, 64, False)
