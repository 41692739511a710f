"""Litmus tests as they are written: a heading, what memory and registers hold at first, a column for each thread, and a
condition.

Instructions stand in the columns without types and brackets, or as PTX. From the columns a module of PTX is made, with an entry
for each thread, which is checked like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.base.escaping import printable
from ptxspec.query.litmus.threads import Variable
from ptxspec.terms.core import Bool, Int, constant
from ptxspec.terms.exact import evaluate
from ptxspec.terms.operations import ThreadPlace
from ptxspec.terms.orders import Proxy
from ptxspec.terms.registries import OBJECT_BITS, RULES
from ptxspec.terms.steps import taken

#: what a test may have at most
MOST_CHARACTERS, MOST_THREADS, MOST_ROWS, MOST_VARIABLES = 100_000, 32, 1_000, 256

_HEAD = re.compile(r"\s*PTX\b[ \t]*(?P<name>[^\n{\"]*)")
_STRING = re.compile(r'\s*"[^"]*"')
#: a comment, or a string, in which none begins
_COMMENT = re.compile(r"\(\*.*?\*\)|//[^\n]*|\"[^\"]*\"", re.S)
_PLACE = re.compile(r"P(\d+)\s*@\s*(.*)", re.S)
_SCOPE = re.compile(r"(cta|cluster|gpu)\s+(\d+)$")
_NAME = r"[A-Za-z_$%][\w$]*"
_INITIAL = re.compile(rf"(?:(?P<thread>P?\d+)\s*:\s*)?(?P<name>{_NAME})\s*=\s*(?P<value>-?\w+)$")
_TYPED = re.compile(rf"(?P<space>\.\w+\s+)?\.(?P<type>[busf]\d+)\s+(?P<name>{_NAME})(\s*=\s*(?P<value>-?\w+))?$")
_OBJECT = re.compile(rf"\.shared\s+(?P<kind>[a-z]+)\s+(?P<name>{_NAME})\s*=\s*(?P<value>\w+)$")
_MAP = re.compile(rf"\.tensormap\s+(?P<name>{_NAME})\s*=\s*(?P<of>{_NAME})$")
_ALIAS = re.compile(rf"(?P<name>{_NAME})\s*@\s*(?P<proxy>\w+)\s+aliases\s+(?P<of>{_NAME})$")
#: a bar between cells: not one between two destinations, as in setp.eq.u32 p|q
_BAR = re.compile(r"(?<!\w)\||\|(?!\w)")


class LitmusError(ValueError):
    """What is wrong with a litmus test. `line` counts from 1.

    >>> ptxspec.litmus("PTX nothing")
    Traceback (most recent call last):
    ptxspec.query.litmus.reading.LitmusError: <litmus>:1: expected {, and what memory holds at first
    """

    def __init__(self, path: str, line: int, message: str):
        super().__init__(f"{path}:{line}: {message}")
        self.path, self.line, self.message = path, line, message


class Condition(NamedTuple):
    """A condition over final values: "and", "or", "not" of others, or a comparison of two values, each a number, ("memory", name)
    or ("register", thread, name)."""

    operator: str
    parts: tuple[object, ...]


class Cell(NamedTuple):
    """The text of a cell, and its line."""

    text: str
    line: int


class LitmusTest(NamedTuple):
    """A litmus test as it is written. `ranks` are those of the threads' CTAs in their clusters. `quantifier` is "exists",
    "~exists" or "forall"."""

    name: str
    path: str
    variables: dict[str, Variable]
    types: dict[str, tuple[str, str]]
    registers: dict[tuple[int, str], int]
    places: tuple[ThreadPlace, ...]
    ranks: tuple[int, ...]
    columns: tuple[tuple[Cell, ...], ...]
    quantifier: str
    condition: Condition
    undeclared: tuple[str, ...]


class _Text:
    """A text that is read from its beginning on."""

    def __init__(self, text: str, path: str):
        self.text, self.path, self.at = text, path, 0

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def error(self, message: str) -> LitmusError:
        return LitmusError(self.path, self.line, message)

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def upto(self, end: str, what: str) -> str:
        found = self.text.find(end, self.at)
        if found < 0:
            raise self.error(what)
        part = self.text[self.at : found]
        self.at = found + len(end)
        return part


def read(text: str, path: str = "<litmus>") -> LitmusTest:
    """Read a test. Raises LitmusError."""
    if len(text) > MOST_CHARACTERS:
        raise LitmusError(path, 1, f"a litmus test of {len(text):,} characters: {MOST_CHARACTERS:,} are the most")
    source = _Text(_COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text), path)
    head = source.take(_HEAD)
    if head is None:
        raise source.error("a litmus test for PTX begins with PTX and a name")
    while source.take(_STRING):
        pass
    source.skip()
    if not source.text.startswith("{", source.at):
        raise source.error("expected {, and what memory holds at first")
    source.at += 1
    variables, types, registers = _initial(source)
    places, ranks = _places(source)
    in_several = len({place.cta for place in places}) > 1
    columns = _columns(source, len(places))
    undeclared = _undeclared(columns, variables, types)
    quantifier, condition = _conditions(source, variables, len(places))
    for name in (value[1] for value in values_in(condition) if value[0] == "memory"):  # type: ignore[index]
        if in_several and types[name][0] == "shared":
            raise source.error(f"{name} in .shared is another variable in each CTA: a thread has to load it")
    for thread, _ in registers:
        if thread >= len(places):
            raise source.error(f"P{thread} has an initial register, and there is no such thread")
    return LitmusTest(
        head["name"].strip() or "test", path, variables, types, registers, places, ranks, columns, quantifier, condition,
        undeclared,
    )  # fmt: skip


# what holds at first ------------------------------------------------------------------------------------------------------


def _initial(
    source: _Text,
) -> tuple[dict[str, Variable], dict[str, tuple[str, str]], dict[tuple[int, str], int]]:
    variables: dict[str, Variable] = {}
    types: dict[str, tuple[str, str]] = {}
    registers: dict[tuple[int, str], int] = {}
    begin = source.at
    body = source.upto("}", "expected } behind what memory holds at first")
    end = source.at
    at = begin
    for part in body.split(";"):
        source.at = at + len(part) - len(part.lstrip())
        at += len(part) + 1
        words = part.strip()
        if not words:
            continue
        if (alias := _ALIAS.match(words)) is not None:
            _alias(source, alias, variables, types)
        elif (typed := _TYPED.match(words)) is not None:
            space, bits = (typed["space"] or ".global").strip()[1:], int(typed["type"][1:])
            if space not in ("global", "shared") or bits not in (8, 16, 32, 64, 128):
                raise source.error(
                    f"a variable is in .global or .shared and has 8, 16, 32, 64 or 128 bits: {printable(words)}"
                )
            value = _number(source, typed["value"] or "0", bits)
            _new(source, variables, Variable(typed["name"], bits // 8, value, space=space))
            types[typed["name"]] = space, f"b{bits}"
        elif (map := _MAP.match(words)) is not None:
            _map(source, map, variables, types)
        elif (begun := _OBJECT.match(words)) is not None:
            _object(source, begun, variables, types)
        elif (initial := _INITIAL.match(words)) is not None:
            name, value = initial["name"], _number(source, initial["value"], 32)
            if initial["thread"] is None:
                _new(source, variables, Variable(name, 4, value, space="global"))
                types[name] = "global", "b32"
            else:
                registers[int(initial["thread"].lstrip("P")), name] = value
        else:
            raise source.error(
                f"expected x = 0, P0:r0 = 0, .tensormap m = x or y @ generic aliases x, not {printable(words)}"
            )
    source.at = end
    return variables, types, registers


def _map(source: _Text, map: re.Match[str], variables: dict[str, Variable], types: dict[str, tuple[str, str]]) -> None:
    """A tensor map of one dimension, whose box is a variable."""
    of = variables.get(map["of"])
    if of is None or not of.is_tensor:
        raise source.error(f"a tensor map is of a variable of .b128 in .global, declared before: not of {map['of']}")
    size = contracts.tensor_maps.MAP_BYTES
    _new(source, variables, Variable(map["name"], size, space="global", map_of=map["of"]))
    types[map["name"]] = "global", f"b{8 * size}"


def _object(
    source: _Text, begun: re.Match[str], variables: dict[str, Variable], types: dict[str, tuple[str, str]]
) -> None:
    """An object that has begun."""
    kinds = contracts.objects.OBJECTS
    if begun["kind"] not in kinds:
        raise source.error(f"{printable(begun['kind'])} is no object: {', '.join(kinds)}")
    step = kinds[begun["kind"]]
    rules, after = taken(step, step.states[0].type.unpacked(constant(0)), constant(_number(source, begun["value"], 32)))
    for rule, holds in rules:
        if not evaluate(holds, {}):
            raise source.error(RULES[rule].sentence)
    bits = int(evaluate(after.packed, {}))
    _new(source, variables, Variable(begun["name"], OBJECT_BITS // 8, bits, space="shared", is_object=True))
    types[begun["name"]] = "shared", f"b{OBJECT_BITS}"


def _new(source: _Text, variables: dict[str, Variable], variable: Variable) -> None:
    if variable.name in variables:
        raise source.error(f"{variable.name} is declared twice")
    if len(variables) >= MOST_VARIABLES:
        raise source.error(f"more than {MOST_VARIABLES} variables")
    variables[variable.name] = variable


def _alias(
    source: _Text,
    alias: re.Match[str],
    variables: dict[str, Variable],
    types: dict[str, tuple[str, str]],
) -> None:
    """A further address of a location: a virtual one, or one by which another proxy accesses it."""
    known = {"generic": Proxy.GENERIC, "constant": Proxy.CONSTANT, "texture": Proxy.TEXTURE, "surface": Proxy.SURFACE}
    if alias["proxy"] not in known:
        raise source.error(f"{alias['proxy']} is no proxy of a variable: generic, constant, texture or surface")
    of = variables.get(alias["of"])
    if of is None:
        raise source.error(f"{alias['of']} is not declared before {alias['name']}, which aliases it")
    proxy = known[alias["proxy"]]
    location = of.location or of.name
    address = alias["name"] if proxy is Proxy.GENERIC else of.address or of.name
    _new(source, variables, Variable(alias["name"], of.size, 0, location, address, proxy, of.space))
    types[alias["name"]] = types[alias["of"]]


def _number(source: _Text, word: str, bits: int) -> int:
    try:
        value = int(word, 0)
    except ValueError:
        raise source.error(f"{printable(word)} is no integer; locations in registers are written as PTX") from None
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise source.error(f"{word} does not fit into {bits} bits")
    return value & (1 << bits) - 1


# threads ------------------------------------------------------------------------------------------------------------------


def _places(source: _Text) -> tuple[tuple[ThreadPlace, ...], tuple[int, ...]]:
    """Where each thread runs, and the rank of its CTA. Numbers of CTAs count in their cluster or GPU, and those of clusters in
    their GPU."""
    source.skip()
    row = source.upto(";", "expected a column for each thread: P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;")
    given: list[dict[str, int]] = []
    for number, cell in enumerate(row.split("|")):
        match = _PLACE.match(cell.strip())
        if match is None or int(match[1]) != number:
            raise source.error(f"expected P{number}@cta 0,gpu 0, not {printable(cell.strip())}")
        scopes: dict[str, int] = {}
        for part in match[2].split(","):
            scope = _SCOPE.match(part.strip())
            if scope is None or scope[1] in scopes:
                raise source.error(
                    f"P{number}: expected cta, cluster and gpu, each with a number, not {printable(part.strip())}"
                )
            scopes[scope[1]] = int(scope[2])
        if "cta" not in scopes:
            raise source.error(f"P{number}: in which CTA does it run?")
        given.append(scopes)
    if len(given) > MOST_THREADS:
        raise source.error(f"{len(given)} threads: {MOST_THREADS} are the most")
    has_clusters = [s for s in given if "cluster" in s]
    if has_clusters and len(has_clusters) < len(given):
        raise source.error("either all threads are in clusters or none is")
    clusters: dict[tuple[int, int], int] = {}
    ctas: dict[tuple[int, int, int], int] = {}
    places = []
    for scopes in given:
        gpu, cta = scopes.get("gpu", 0), scopes["cta"]
        cluster = clusters.setdefault((gpu, scopes.get("cluster", cta)), len(clusters))
        places.append(ThreadPlace(ctas.setdefault((gpu, cluster, cta), len(ctas)), cluster, gpu))
    return tuple(places), tuple(scopes["cta"] if "cluster" in scopes else 0 for scopes in given)


def _columns(source: _Text, count: int) -> tuple[tuple[Cell, ...], ...]:
    columns: list[list[Cell]] = [[] for _ in range(count)]
    rows = 0
    while True:
        source.skip()
        if re.compile(r"(locations|~?\s*exists|forall|filter|observed)\b").match(source.text, source.at):
            break
        if source.at == len(source.text):
            raise source.error("expected exists, ~exists or forall, and a condition")
        line = source.line
        cells = _BAR.split(source.upto(";", "expected ; at the end of a row"))
        if len(cells) > count:
            raise LitmusError(source.path, line, f"a row of {len(cells)} cells, and there are {count} threads")
        for column, cell in zip(columns, cells, strict=False):
            if cell.strip():
                column.append(Cell(cell.strip(), line))
        rows += 1
        if rows > MOST_ROWS:
            raise source.error(f"more than {MOST_ROWS:,} rows")
    return tuple(map(tuple, columns))


#: an access as only a test writes it, and the location that it accesses
_STORING = re.compile(rf"(?<![\w.])(?:st|sust|red)[.\w]*\s+({_NAME})\s*,")
_LOADING = re.compile(rf"(?<![\w.])(?:ld|atom|suld|tld|cold)\.[.\w]*\s+{_NAME}\s*,\s*({_NAME})\s*(?:,|$)")


def _undeclared(
    columns: tuple[tuple[Cell, ...], ...], variables: dict[str, Variable], types: dict[str, tuple[str, str]]
) -> tuple[str, ...]:
    """Declare the locations that only accesses name: they hold zero."""
    names = []
    for cell in (cell for column in columns for cell in column):
        match = _STORING.search(cell.text) or _LOADING.search(cell.text)
        if match is not None and match[1] not in variables:
            names.append(match[1])
            variables[match[1]], types[match[1]] = Variable(match[1], 4, space="global"), ("global", "b32")
    return tuple(names)


# the condition ------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(rf"\s*(/\\|\\/|&&|\|\||==|!=|<=|>=|[=<>~()]|P?\d+\s*:\s*{_NAME}|-?0[xX][0-9a-fA-F]+|-?\d+|{_NAME})")
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b, "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
#: parentheses in a condition, at most
_DEEPEST = 50


def _conditions(source: _Text, variables: Mapping[str, Variable], threads: int) -> tuple[str, Condition]:
    if source.take(re.compile(r"locations\b\s*")):
        source.upto("]", "expected ] behind locations")
        source.skip()
    quantifier = source.take(re.compile(r"(~?\s*exists|forall)\b"))
    if quantifier is None:
        raise source.error("expected exists, ~exists or forall")
    condition = _or(source, variables, threads, 0)
    source.skip()
    if source.at < len(source.text):
        raise source.error(f"expected nothing behind the condition, not {printable(source.text[source.at :][:40])}")
    return quantifier[1].replace(" ", ""), condition


def _peek(source: _Text) -> str:
    match = _TOKEN.match(source.text, source.at)
    return match[1] if match else ""


def _next(source: _Text) -> str:
    match = source.take(_TOKEN)
    if match is None:
        raise source.error("expected a condition such as (P1:r0 == 1 /\\ x != 2)")
    return match[1]


def _or(source: _Text, variables: Mapping[str, Variable], threads: int, depth: int) -> Condition:
    parts = [_and(source, variables, threads, depth)]
    while _peek(source) in ("\\/", "||"):
        _next(source)
        parts.append(_and(source, variables, threads, depth))
    return parts[0] if len(parts) == 1 else Condition("or", tuple(parts))


def _and(source: _Text, variables: Mapping[str, Variable], threads: int, depth: int) -> Condition:
    parts = [_not(source, variables, threads, depth)]
    while _peek(source) in ("/\\", "&&"):
        _next(source)
        parts.append(_not(source, variables, threads, depth))
    return parts[0] if len(parts) == 1 else Condition("and", tuple(parts))


def _not(source: _Text, variables: Mapping[str, Variable], threads: int, depth: int) -> Condition:
    if depth > _DEEPEST:
        raise source.error(f"a condition with more than {_DEEPEST} parentheses")
    token = _peek(source)
    if token in ("~", "not"):
        _next(source)
        return Condition("not", (_not(source, variables, threads, depth + 1),))
    if token == "(":
        _next(source)
        inner = _or(source, variables, threads, depth + 1)
        if _next(source) != ")":
            raise source.error("expected )")
        return inner
    left = _value(source, variables, threads)
    comparison = _next(source)
    if comparison not in _COMPARISONS:
        raise source.error(f"expected ==, !=, <, <=, > or >=, not {printable(comparison)}")
    return Condition(comparison, (left, _value(source, variables, threads)))


def _compared(source: _Text, token: str) -> int:
    """A number of a condition, decimal or hexadecimal."""
    try:
        return int(token, 16 if "x" in token.lower() else 10)
    except ValueError:
        raise source.error(f"{printable(token)} is no number") from None


def _value(source: _Text, variables: Mapping[str, Variable], threads: int) -> object:
    token = _next(source)
    if ":" in token:
        thread, _, name = token.partition(":")
        number = int(thread.strip().lstrip("P"))
        if number >= threads:
            raise source.error(f"there is no thread P{number}")
        return "register", number, name.strip()
    if re.match(r"-?\d", token):
        return _compared(source, token)
    if token not in variables:
        raise source.error(
            f"{printable(token)} is no variable of the test, and a register has its thread before it: P0:{printable(token)}"
        )
    return "memory", token


def holds(condition: Condition, value: Callable[[object], int]) -> bool:
    """Whether a condition holds, given what its values are."""
    match condition.operator:
        case "and":
            return all(holds(part, value) for part in condition.parts)  # type: ignore[arg-type]
        case "or":
            return any(holds(part, value) for part in condition.parts)  # type: ignore[arg-type]
        case "not":
            return not holds(condition.parts[0], value)  # type: ignore[arg-type]
    left, right = (part if isinstance(part, int) else value(part) for part in condition.parts)
    return bool(_COMPARISONS[condition.operator](left, right))


def condition_term(condition: Condition, value: Callable[[object], Int]) -> Bool:
    """The same as a term, of values that are terms."""
    match condition.operator:
        case "and" | "or" | "not":
            parts = [condition_term(part, value) for part in condition.parts]  # type: ignore[arg-type]
            if condition.operator == "not":
                return ~parts[0]
            return reduce(and_ if condition.operator == "and" else or_, parts)
    left, right = (constant(part) if isinstance(part, int) else value(part) for part in condition.parts)
    term: Bool = _COMPARISONS[condition.operator](left, right)
    return term


def values_in(condition: Condition) -> list[object]:
    """The registers and variables that a condition speaks of."""
    if condition.operator in ("and", "or", "not"):
        return list(dict.fromkeys(v for part in condition.parts for v in values_in(part)))  # type: ignore[arg-type]
    return [part for part in condition.parts if not isinstance(part, int)]
