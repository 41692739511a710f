"""A loop stepped over by an invariant: a condition on what registers hold where the loop begins, each time.

That it holds on entry, and that going through the loop once preserves it, are claims of their own, as is that the loop breaks no
rule. What follows the loop may count on it, and on nothing else of what the loop writes. That the loop ends is not claimed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec.machine.flow import FlowGraph, registers_written, successors
from ptxspec.query.assumptions import assumption
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.arrivals import PathState
from ptxspec.terms.core import Bool, variable, variable_of
from ptxspec.terms.effects import Call, Load
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits

if TYPE_CHECKING:
    from ptxspec.query.paths.walking import Walk

#: what a register held when the loop was entered
_ENTRY = re.compile(r"\bentry\(\s*%?(\w+)\s*\)")


class Obligation(NamedTuple):
    """What has to be shown of an invariant, in words, and the condition under which it fails."""

    what: str
    fails: Bool


class NaturalLoop(NamedTuple):
    """The block at which a loop begins, and all of its blocks."""

    head: int
    blocks: frozenset[int]


def loops(flow: FlowGraph) -> list[NaturalLoop]:
    """The loops of a kernel, by the blocks at which they begin."""
    edges = {i: successors(block) for i, block in enumerate(flow.blocks)}
    heads: dict[int, set[int]] = {}
    for i, following in edges.items():
        for to in following:
            if to <= i:
                heads.setdefault(to, set()).add(i)
    loops = []
    for head, sources in heads.items():
        inside, todo = {head}, [s for s in sources if s != head]
        while todo:
            number = todo.pop()
            if number not in inside:
                inside.add(number)
                todo += [i for i, following in edges.items() if number in following]
        loops.append(NaturalLoop(head, frozenset(inside)))
    return loops


class Inductive:
    """The invariant of a side's only loop, if it has one."""

    def __init__(self, walk: Walk, text: str):
        self.walk, self.text = walk, text
        natural_loops = loops(walk.flow)
        if len(natural_loops) > 1:
            lines = ", ".join(str(walk.line(walk.flow.blocks[loop.head].start)) for loop in natural_loops)
            raise Unsupported(f"an invariant is for a single loop; there are loops at the lines {lines}")
        self.loop = natural_loops[0] if natural_loops else None
        self.obligations: list[Obligation] = []
        #: that the invariant holds at the time of which the walk is about
        self.assumed: Bool = TRUE
        self.types: dict[str, Type] = {}
        self._entry: list[dict[str, Any]] = []
        for op in (
            self._ops() if self.loop is not None else ()
        ):  # what an invariant about registers tells of, and no more
            effect = op.plan.meaning.effect
            if op.call is not None or isinstance(effect, Call):
                raise Unsupported(f"an invariant is for a loop without calls (line {walk.line_of(op)})")
            if hasattr(effect, "values") and not isinstance(effect, Load):
                where = walk.line_of(op)
                raise Unsupported(f"an invariant says nothing of memory, and line {where} of the loop writes there")
        if self.loop is not None and walk.lanes > 1:
            raise Unsupported("an invariant is for a loop of one thread")

    @property
    def line(self) -> int:
        assert self.loop is not None
        return self.walk.line(self.walk.flow.blocks[self.loop.head].start)

    def _ops(self) -> list[Any]:
        assert self.loop is not None
        blocks = [self.walk.flow.blocks[b] for b in self.loop.blocks]
        return [op for b in blocks for op in self.walk.kernel.code[b.start : b.end]]

    def entered(self, way: PathState) -> PathState:
        """Any time that the loop begins, in place of the first."""
        walk = self.walk
        (registers,) = way.registers
        named = [n for n in walk.kernel.registers if n in registers or self._named(n)]
        self._entry = [{n: walk.read(way, n, 0, carried=not self._named(n)) for n in named}]
        self._oblige(f"it holds where the loop at line {self.line} is entered", way)
        later = dict(registers)
        for name in dict.fromkeys(n for op in self._ops() for n in registers_written(op)):
            later[name] = self._anything(name, registers.get(name, walk.places.pointer(walk.public(name, 0))))
        entered = way._replace(registers=(later,))
        (reached,) = way.reached
        self.assumed = self.assumed & (~reached | self._holds(entered))
        return entered

    def _anything(self, name: str, first: Any) -> Any:
        """Any value that a register may hold; of one that pointed into a region, how far it lies from its beginning."""
        type = self.walk.kernel.registers[name]
        # each side's values have a name of their own, since the loops need not be in step
        shown = self.walk.public(name, 0) + ("''" if self.walk.options.is_right else "'")
        cases = None if first is None or type.width != 64 else self.walk.memory.addresses.cases(first)
        if cases is None or len(cases) != 1:
            self.types[shown] = type
            return variable_of(shown, type)
        region = self.walk.memory.regions[cases[0].region]
        self.types[f"{shown}-{region.name}"] = type
        return low_bits(region.base + variable(f"{shown}-{region.name}", type.width), type.width)

    def again(self, way: PathState) -> None:
        """The loop begins again: there the invariant has to hold."""
        self._oblige(f"going through the loop at line {self.line} once preserves it", way, self.assumed)

    def faults(self, holds: Bool) -> None:
        """A rule that the loop may break."""
        what = f"every access in the loop at line {self.line} is allowed"
        self.obligations.append(Obligation(what, holds & self.assumed))

    def _named(self, name: str) -> bool:
        return re.search(rf"(?<![\w%]){re.escape(self.walk.public(name, 0))}(?!\w)", self.text) is not None

    def _oblige(self, what: str, way: PathState, assumed: Bool = TRUE) -> None:
        (reached,) = way.reached
        fails = reached & assumed & ~self._holds(way)
        if fails is not FALSE:
            self.obligations.append(Obligation(what, fails))

    def _holds(self, way: PathState) -> Bool:
        """The invariant of what registers hold on a way."""
        walk = self.walk
        text = _ENTRY.sub(r"entry_\1", self.text)
        terms: dict[str, Any] = {}
        types: dict[str, Type] = {}
        for name, type in walk.kernel.registers.items():
            shown = walk.public(name, 0)
            if name in way.registers[0] or self._named(name):
                terms[shown], types[shown] = walk.read(way, name, 0, carried=not self._named(name)), type
            entered = self._entry[0].get(name)
            if entered is not None:
                key = "entry_" + shown.removeprefix("%")
                terms[key], types[key] = entered, type
        return assumption(text, terms, types)
