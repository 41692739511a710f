"""The results of a side: which registers are compared, and how two of their values are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxspec import contracts
from ptxspec.language.checked import Kernel, Op
from ptxspec.machine.flow import FlowGraph, ending, registers_read, registers_written, successors
from ptxspec.terms.core import Bool, constant, truth
from ptxspec.terms.effects import Exit, Fencing, Return, Stop
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import FALSE, TRUE, freedoms_in, low_bits, select

#: stands for all names that both sides write
ALL = "*"
#: selections that an open NaN may go through on its way to a result
DEPTH = 12


def consumed(kernel: Kernel) -> frozenset[str]:
    """The registers of a fragment whose last value a later instruction reads, on every way to an end."""
    if not kernel.code or kernel.functions:
        return frozenset()
    if all(isinstance(op.plan.meaning.effect, Fencing | None) for op in kernel.code):
        unread, read = _after(kernel, kernel.code, set(), set())
        return frozenset(read - unread)
    flow = FlowGraph(kernel)
    #: by block: the registers written so far whose value some way does not read, and those whose value some way reads
    before: dict[int, tuple[set[str], set[str]]] = {0: (set(), set())}
    waiting, ends = [0], (set[str](), set[str]())
    while waiting:
        number = waiting.pop()
        block = flow.blocks[number]
        code = [] if block.finishes is not None else kernel.code[block.start : block.end]
        unread, read = _after(kernel, code, *map(set, before[number]))
        following = successors(block)
        if not following or (code and isinstance(ending(code[-1]), Exit | Return | Stop)):
            ends[0].update(unread)
            ends[1].update(read)
        for to in following:
            known = before.get(to)
            if known is None or not (unread <= known[0] and read <= known[1]):
                old = known or (set(), set())
                before[to] = (old[0] | unread, old[1] | read)
                waiting.append(to)
    return frozenset(ends[1] - ends[0])


def _after(kernel: Kernel, code: list[Op], unread: set[str], read: set[str]) -> tuple[set[str], set[str]]:
    """The registers whose last value is not read, and those whose last value is, after some instructions."""
    for op in code:
        for name in registers_read(op, kernel) & unread:
            unread.discard(name)
            read.add(name)
        for name in registers_written(op):
            unread.add(name)
            if op.guard is None:
                read.discard(name)
    return unread, read


def results(both: Iterable[str], scratch: frozenset[str]) -> list[str]:
    """Of the names that both sides write, those that are results; all, if every one of them is read by a later instruction."""
    names = list(both)
    return [n for n in names if _register(n) not in scratch] or names


def wanted(both: Iterable[str], compare: Iterable[str]) -> list[str]:
    """Of the names that both sides write, those that are asked for; a register of a warp is one of all lanes, and a buffer
    all its bytes. Raises ValueError for one that is not among them."""
    names, compared = list(both), dict[str, None]()
    for name in compare:
        matching = [n for n in names if name in (ALL, n, _register(n))]
        if not matching:
            raise ValueError(
                f"{name} is not compared: both sides have to write it; they write {', '.join(names) or 'nothing'}"
            )
        compared.update(dict.fromkeys(matching))
    return list(compared)


def _register(name: str) -> str:
    """The register of which this is a lane, or the buffer of which it is a byte."""
    return name.partition("[")[0]


def is_open_nan(freedom: Any) -> bool:
    """Whether a result that PTX leaves open may be any NaN of its format."""
    return freedom.attrs[4] is not None and freedom.attrs[4] is contracts.floating_point.NANS.get(freedom.attrs[3].name)


def unequal(x: Any, y: Any, type: Type) -> Bool:
    """That two results of a type differ in its bits."""
    if type.kind == "pred":
        return truth(x) != truth(y)
    return low_bits(x, type.width) != low_bits(y, type.width)


def unequal_with_any_nan(x: Any, y: Any, type: Type) -> Bool:
    """That two results differ, where one open NaN is as good as another: each element by itself, if they are packed."""
    if type.kind == "pred" or not any(map(is_open_nan, freedoms_in(x, y))):
        return unequal(x, y, type)
    elements = [(x, y, type.width)]
    if type.elements > 1:  # the elements, where they can be taken apart
        width = type.element_step
        parts = [_parts(v, width, type.elements) for v in (x, y)]
        if parts[0] is not None and parts[1] is not None:
            elements = [(a, b, width) for a, b in zip(*parts, strict=True)]
    differ: Any = FALSE
    for a, b, width in elements:
        (left, here), (right, there) = _without_nan(a, width, DEPTH), _without_nan(b, width, DEPTH)
        # an open NaN beside a result that is none differs from it by its bits: those that a counterexample shows
        mixed, bits = here != there, low_bits(a, width) != low_bits(b, width)
        differ = differ | (mixed & bits) | (~mixed & (low_bits(left, width) != low_bits(right, width)))
    return truth(differ)


def _parts(term: Any, width: int, count: int) -> list[Any] | None:
    """The elements of a packed result, the lowest first: a disjunction of one for each place, or a selection of which one way is
    such; None for any other term."""
    if term.op == "select":
        condition, *ways = term.args
        parts = [_parts(way, width, count) for way in ways]
        if parts[0] is None and parts[1] is None:
            return None
        first, second = (
            elements_of or [low_bits(way >> (i * width), width) for i in range(count)]
            for elements_of, way in zip(parts, ways, strict=True)
        )
        return [select(condition, a, b) for a, b in zip(first, second, strict=True)]
    elements: list[Any] = [None] * count
    stack = [term]
    while stack:
        t = stack.pop()
        if t.op == "or":
            stack += t.args
            continue
        place, value = 0, t
        if t.op == "shl" and t.args[1].op == "const":
            place, rest = divmod(t.args[1].attrs[0], width)
            value = t.args[0]
            if rest:
                return None
        if t.op == "const" and t.attrs[0] == 0:
            continue
        if place >= count or elements[place] is not None or not 0 <= value.lo <= value.hi < 1 << width:
            return None
        elements[place] = value
    return [constant(0) if v is None else v for v in elements]


def _without_nan(term: Any, width: int, depth: int) -> tuple[Any, Bool]:
    """A result with 0 in the place of an open NaN, and whether it is one: where the value is the instruction's own result, and
    not computed from it. Below so many selections the bits count."""
    if term.op == "freedom" and is_open_nan(term) and term.attrs[1] == width:
        return constant(0), TRUE
    if term.op == "select" and depth:
        condition, *ways = term.args
        (x, here), (y, there) = (_without_nan(t, width, depth - 1) for t in ways)
        if here is FALSE and there is FALSE:
            return term, FALSE
        return select(condition, x, y), truth((condition & here) | (~condition & there))
    if term.op == "low" and term.attrs[0] >= width:
        rest, here = _without_nan(term.args[0], width, depth)
        return (term, FALSE) if here is FALSE else (low_bits(rest, term.attrs[0]), here)
    return term, FALSE
