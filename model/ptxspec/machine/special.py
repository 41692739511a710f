"""What special registers tell a thread, as terms over its place and the shape of the launch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ptxspec import contracts
from ptxspec.machine.batch import Extents
from ptxspec.terms import exact
from ptxspec.terms.core import Int, Term, integer, truth_variable, variable
from ptxspec.terms.registries import SPECIAL_REGISTERS
from ptxspec.terms.steps import stored

#: the variables of these terms: a thread's number in its CTA, and its CTA's in the grid, counted cluster by cluster
INDEX, PLACE = "%index", "%place"
#: and the number of the launch
LAUNCH = "%launch"
AXES = "xyz"
#: the variables for what a launch is, as `Extents.facts` has them
FACTS = (
    *(f"{what}.{axis}" for what in ("%grid", "%block", "%cluster") for axis in AXES),
    LAUNCH, "%shared", "%dynamic_shared", "%explicit_cluster",
)  # fmt: skip


class Thread:
    """What a special register's definition may ask of a thread; all are terms. Without clusters each CTA is one."""

    def __init__(self, clustered: bool) -> None:
        self._rules = contracts.clusters
        self.block = _extents("%block")
        self.grid = _extents("%grid")
        self.cluster = _extents("%cluster") if clustered else self._rules.NO_CLUSTERS
        self.index = variable(INDEX, 32)
        self.launch, self.shared = variable(LAUNCH, 64), variable("%shared", 32)
        self.dynamic_shared = variable("%dynamic_shared", 32)
        self.explicit_cluster = truth_variable("%explicit_cluster")

    @property
    def cta(self) -> Int:
        """The number of the thread's CTA in the grid, counted along x, then y, then z."""
        return integer(self._rules.cta_at(variable(PLACE, 64), self.grid, self.cluster))


def _extents(name: str) -> tuple[Int, Int, Int]:
    x, y, z = (variable(f"{name}.{axis}", 32) for axis in AXES)
    return x, y, z


@cache
def meaning(name: str, clustered: bool) -> Term:
    """The value of a special register, named with its component, that does not change while a program runs."""
    for register in SPECIAL_REGISTERS.values():
        if name in register.names:
            values = register.read(Thread(clustered))
            values = (*values, *values) if register.components else (values,)
            return stored(values[register.names.index(name)], register.type)
    raise KeyError(name)


def variables_of(term: Term) -> set[str]:
    """The variables that a term depends on."""
    names: set[str] = set()
    todo, seen = [term], {id(term)}
    while todo:
        current = todo.pop()
        if current.op == "var":
            names.add(current.attrs[0])
        for below in current.args:
            if id(below) not in seen:
                seen.add(id(below))
                todo.append(below)
    return names


def unchanging(names: Iterable[str]) -> list[str]:
    """Those of the names that are special registers which do not change while a program runs."""
    constant = _unchanging(len(SPECIAL_REGISTERS))
    return [n for n in names if n in constant]


@cache
def _unchanging(count: int) -> frozenset[str]:
    """The names of all such registers, of which so many have been defined."""
    return frozenset(n for r in SPECIAL_REGISTERS.values() if not r.changes for n in r.names)


class SpecialValues:
    """What special registers say in a launch, worked out once for each thread of a CTA, or for each CTA."""

    def __init__(self, names: Iterable[str], clustered: bool, extents: Extents):
        facts = dict(zip(FACTS, extents.facts(), strict=True))
        self._facts = facts | {"%explicit_cluster": extents.explicit_cluster}
        self._terms = {name: meaning(name, clustered) for name in names}
        self._asks = {name: variables_of(term) for name, term in self._terms.items()}
        self._known: dict[tuple[str, int, int], int] = {}

    def read(self, name: str, index: int, place: int) -> int:
        """The value for the thread of this number in the CTA at this place."""
        asks = self._asks[name]
        key = (name, index if INDEX in asks else 0, place if PLACE in asks else 0)
        if key not in self._known:
            values = {**self._facts, INDEX: index, PLACE: place}
            self._known[key] = int(exact.evaluate(self._terms[name], values))
        return self._known[key]
