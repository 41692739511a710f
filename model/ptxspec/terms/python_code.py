"""The exact interpretation, written out: terms become Python functions over Python's integers, for what is evaluated often.

An operator becomes the expression that has its meaning in `arithmetic`. What may have no value, an open result, and what takes
long, a function whose meaning is a definition, is evaluated only where the value depends on it, as `exact.evaluate` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from types import CodeType
from typing import Any

from ptxspec.terms.arithmetic import quotient, remainder
from ptxspec.terms.vocabulary import meaning_of

#: an operator's meaning as an expression of its arguments {0}, {1}, … and attributes {a}, {b}
_EXPRESSIONS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "shl": "{0} << {1}",
    "shr": "{0} >> {1}",
    "quotient": "quotient({0}, {1})",
    "remainder": "remainder({0}, {1})",
    "low": "{0} & {mask}",
    "signed": "({0} & {mask} ^ {half}) - {half}",
    "bit_length": "({0}).bit_length()",
    "root": "isqrt({0})",
    "popcount": "({0}).bit_count()",
    "bounded": "{0}",
    "eq": "{0} == {1}",
    "lt": "{0} < {1}",
    "not": "not {0}",
    "differ": "{0} != {1}",
    "all": "{0} and {1}",
    "any": "{0} or {1}",
    "select": "{1} if {0} else {2}",
}
_LAZY = ("freedom", "call")


class PythonScript:
    """The text of a function under construction. `bind` gives the expression of a variable."""

    def __init__(self, bind: Callable[[str], str]):
        self.bind = bind
        self.lines: list[str] = []
        #: objects that the text refers to, by name
        self.objects: dict[str, Any] = {"quotient": quotient, "remainder": remainder, "isqrt": math.isqrt}
        self._scopes: list[dict[int, str]] = [{}]
        self._lazy: dict[int, bool] = {}
        self._kept: list[Any] = []
        self._count = 0

    def refer(self, thing: Any, stem: str = "o") -> str:
        """A name for an object."""
        name = f"{stem}{len(self.objects)}"
        self.objects[name] = thing
        return name

    def say(self, line: str) -> None:
        self.lines.append("    " * len(self._scopes) + line)

    def forget(self) -> None:
        """Let variables be bound anew from here on."""
        self._scopes[-1].clear()

    @contextmanager
    def indented(self) -> Iterator[None]:
        """What is written within is part of an `if`, and not known behind it."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    def fresh(self) -> str:
        """A name that nothing has."""
        self._count += 1
        return f"v{self._count}"

    def name(self, expression: str) -> str:
        """A name for the value that an expression has here, or the constant that it is."""
        if expression.isidentifier() or expression.lstrip("-").isdigit():
            return expression
        name = self.fresh()
        self.say(f"{name} = {expression}")
        return name

    def value(self, term: Any) -> str:
        """A name or a constant that stands for the term's value from here on."""
        self._kept.append(term)
        for inner in self._below(term):
            if not self.is_lazy(inner):
                self._write(inner)
        return self._write(term)

    def _known(self, term: Any) -> str | None:
        if term.op == "const":
            return repr(term.attrs[0])
        return next((scope[id(term)] for scope in reversed(self._scopes) if id(term) in scope), None)

    def _below(self, term: Any) -> Iterable[Any]:
        """The terms that are not known yet, each after what it needs; of those that are lazy, only what is not."""
        done: set[int] = set()
        stack = [(term, False)]
        while stack:
            inner, ready = stack.pop()
            if ready:
                yield inner
            elif id(inner) not in done and self._known(inner) is None:
                done.add(id(inner))
                stack.append((inner, True))
                stack.extend((a, False) for a in inner.args)

    def is_lazy(self, term: Any) -> bool:
        """Whether the term is evaluated only where it is needed."""
        lazy = self._lazy.get(id(term))
        if lazy is None:
            stack = [term]
            while stack:
                inner = stack[-1]
                waiting = [a for a in inner.args if id(a) not in self._lazy]
                if waiting:
                    stack.extend(waiting)
                    continue
                stack.pop()
                self._lazy[id(inner)] = inner.op in _LAZY or any(self._lazy[id(a)] for a in inner.args)
            lazy = self._lazy[id(term)]
        return lazy

    def _write(self, term: Any) -> str:
        known = self._known(term)
        if known is not None:
            return known
        if term.op == "var":
            return self._named(term, self.bind(term.attrs[0]))
        if self.is_lazy(term) and term.op in ("select", "all", "any"):
            return self._choose(term)
        if term.op == "freedom":
            return self._named(term, self.freedom(term))
        arguments = [self._write(a) for a in term.args]
        if term.op == "call":
            return self._named(term, f"{self.refer(_called(term), 'f')}(choose, {', '.join(arguments)})")
        if term.op == "lookup":
            return self._named(term, f"{self.refer(term.attrs[0], 'l')}[{arguments[0]}]")
        facts = {}
        if term.op in ("low", "signed"):
            facts = {"mask": (1 << term.attrs[0]) - 1, "half": 1 << term.attrs[0] - 1}
        return self._named(term, _EXPRESSIONS[term.op].format(*arguments, **facts))

    def freedom(self, term: Any) -> str:
        """The expression of an open result: what `choose` gives for it."""
        arguments = "".join(f"{self._write(a)}, " for a in term.args)
        return f"choose({self.refer(term, 't')}, ({arguments}))"

    def _named(self, term: Any, expression: str) -> str:
        name = self._scopes[-1][id(term)] = self.name(expression)
        return name

    def _choose(self, term: Any) -> str:
        """Evaluate one way only."""
        name = self.fresh()
        condition = self._write(term.args[0])
        if term.op == "select":
            ways = term.args[1:]
        else:  # `all` is decided by a first that does not hold, `any` by one that does
            ways = (term.args[1], None) if term.op == "all" else (None, term.args[1])
        for head, way in ((f"if {condition}:", ways[0]), ("else:", ways[1])):
            self.say(head)
            with self.indented():
                self.say(f"{name} = {condition if way is None else self._write(way)}")
        self._scopes[-1][id(term)] = name
        return name

    def function(self, parameters: Sequence[str], returns: str = "") -> Callable[..., Any]:
        """The function whose body was written."""
        body = [*self.lines, f"    return {returns}" if returns else "    pass"]
        text = f"def script({', '.join(parameters)}):\n" + "\n".join(body)
        scope = dict(self.objects)
        exec(_compiled(text), scope)
        script: Callable[..., Any] = scope["script"]
        return script


@lru_cache(maxsize=1 << 12)
def _compiled(text: str) -> CodeType:
    """Code of a text. Instructions that are written alike have one text, in this kernel and in others."""
    return compile(text, "<terms>", "exec")


def written(term: Any, *names: str) -> Callable[..., Any]:
    """A term without open results as a function of its variables, in the order of their names."""
    script = PythonScript(lambda name: name)
    value = script.value(term)
    return script.function(names, value)


@cache
def _body_of(name: str, attributes: tuple[Any, ...], body: Any, names: tuple[str, ...]) -> Callable[..., int]:
    script = PythonScript(lambda variable: "p" + variable[1:])
    result = script.value(body)
    return script.function(["choose", *("p" + n[1:] for n in names)], result)


def _called(term: Any) -> Callable[..., int]:
    """The function that a term calls, as a script."""
    body, names = meaning_of(term)
    return _body_of(term.attrs[0], term.attrs[1:], body, names)
