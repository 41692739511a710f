"""Relations between the operations of an execution: the language in which the pages of the memory model say what orders what.

A relation is an expression. Its leaves are what two operations tell by themselves (`pairs`), and what is open until an execution
is chosen (`given`): which write a read reads from, the order of writes, of fences, and of barriers' phases. `a | b`, `a & b` and
`a - b` are of sets of pairs; `a >> b` relates x to z if a relates x to some y that b relates to z.

The expression has three interpretations: one execution after the other (`query/litmus/enumeration.py`), a formula over all of
them at once (`query/litmus/formula.py`), and words that say why two operations are related (`query/litmus/reasons.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Literal, NamedTuple

from ptxspec.terms.core import blame
from ptxspec.terms.operations import Operation

Predicate = Callable[[Operation, Operation], bool]
#: what is open until an execution is chosen: the write that each byte is read from, which of two morally strong writes of a
#: location is first, which of two morally strong fences, and which arrivals and waits belong to one phase of a barrier
Given = Literal["reads from", "written before", "fenced before", "same phase"]
Operator = Literal[
    "given",
    "pairs",
    "accesses byte",
    "union",
    "intersection",
    "difference",
    "then",
    "closure",
    "or same",
    "inverse",
    "any byte",
]


class Relation:
    """A set of pairs of operations, as an expression. `words` says of a pair what it is, with {} for each operation."""

    __slots__ = ("givens", "of_byte", "operator", "parts", "predicate", "words")

    def __init__(
        self,
        operator: Operator,
        parts: tuple[Relation, ...] = (),
        words: str = "",
        predicate: Predicate | None = None,
        givens: frozenset[Given] = frozenset(),
    ):
        self.operator, self.parts, self.words, self.predicate = operator, parts, words, predicate
        #: what it depends on, and whether it speaks of one byte
        self.givens: frozenset[Given] = givens.union(*(part.givens for part in parts))
        leaf = operator == "accesses byte" or (operator == "given" and "reads from" in givens)
        self.of_byte: bool = leaf or (operator != "any byte" and any(part.of_byte for part in parts))

    def holds_of(self, first: Operation, second: Operation) -> bool:
        """Whether the relation has a pair that is told by the two operations themselves (`pairs`)."""
        assert self.predicate is not None, "what depends on an execution is not told by two operations"
        return self.predicate(first, second)

    def __or__(self, other: Relation) -> Relation:
        return Relation("union", (self, other))

    def __and__(self, other: Relation) -> Relation:
        return Relation("intersection", (self, other))

    def __sub__(self, other: Relation) -> Relation:
        return Relation("difference", (self, other))

    def __rshift__(self, other: Relation) -> Relation:
        return Relation("then", (self, other))


def given(name: Given, words: str) -> Relation:
    """A relation that each execution chooses."""
    return Relation("given", (), words, givens=frozenset([name]))


def pairs(predicate: Predicate, words: str = "") -> Relation:
    """The pairs of which a predicate of two operations is true."""
    return Relation("pairs", (), words, predicate)


def each(predicate: Callable[[Operation], bool]) -> Relation:
    """Each operation of which a predicate is true, related to itself alone."""
    return pairs(lambda a, b: a is b and predicate(a))


def inverse(relation: Relation) -> Relation:
    """The pairs the other way round."""
    return Relation("inverse", (relation,))


def closure(relation: Relation) -> Relation:
    """The least transitive relation that has the pairs: steps of the relation, one or more."""
    return Relation("closure", (relation,))


def or_same(relation: Relation) -> Relation:
    """The relation, or none at all: each operation is related to itself as well."""
    return Relation("or same", (relation,))


def any_byte(relation: Relation) -> Relation:
    """The pairs that are related for some byte, if `reads_byte` and `accesses_byte` speak of that byte alone."""
    return Relation("any byte", (relation,))


#: inside `any_byte`: a write, and a read that reads the byte from it
reads_byte = given("reads from", "{1} reads from {0}")
#: inside `any_byte`: each operation that accesses the byte, related to itself alone
accesses_byte = Relation("accesses byte")
#: a write, and a read that reads one of its bytes
reads_from = any_byte(reads_byte)
#: of two morally strong writes of one location, the first and the second
written_before = given("written before", "{} is written before {}")
#: of two morally strong fences, the first and the second
fenced_before = given("fenced before", "{} precedes {} in Fence-SC order")
#: operations at one barrier, in the same of its phases
same_phase = given("same phase", "{} completes the same phase of a barrier as {}")


#: the editions of the manual that have a memory model, the oldest and the newest
OLDEST_MODEL, NEWEST_MODEL = (6, 0), (9, 4)


class MemoryModel:
    """The memory model of an edition of the manual."""

    def __init__(self, version: tuple[int, int]):
        self.version = version
        self._relations: dict[Callable[..., Relation], Relation] = {}

    def since(self, major: int, minor: int) -> bool:
        """Whether the edition is this one or a later one."""
        return self.version >= (major, minor)


class Claim(NamedTuple):
    """That a relation has no cycle ("acyclic"), relates no operation to itself ("irreflexive"), or has no pair ("empty")."""

    says: Literal["acyclic", "irreflexive", "empty"]
    relation: Relation


def acyclic(relation: Relation) -> Claim:
    """No operation comes to itself by steps of the relation."""
    return Claim("acyclic", relation)


def irreflexive(relation: Relation) -> Claim:
    """No operation is related to itself."""
    return Claim("irreflexive", relation)


def empty(relation: Relation) -> Claim:
    """No two operations are related."""
    return Claim("empty", relation)


class Axiom(NamedTuple):
    """What holds in every execution, with its name, its sentence in words, and the place of its definition."""

    name: str
    words: str
    claim: Callable[[MemoryModel], Claim]
    path: str
    line: int


#: the axioms that pages declare, by their names
AXIOMS: dict[str, Axiom] = {}


def relation(words: str) -> Callable[[Callable[[MemoryModel], Relation]], Callable[[MemoryModel], Relation]]:
    """Mark a function of a model as the definition of a relation. `words` says what it is of two operations, with {} for each."""

    def mark(define: Callable[[MemoryModel], Relation]) -> Callable[[MemoryModel], Relation]:
        @wraps(define)
        def once(model: MemoryModel) -> Relation:
            known = model._relations
            if once not in known:
                defined = define(model)
                known[once] = Relation(defined.operator, defined.parts, words, defined.predicate, defined.givens)
            return known[once]

        return once

    return mark


def axiom(
    name: str, words: str, of: dict[str, Axiom] = AXIOMS
) -> Callable[[Callable[[MemoryModel], Claim]], Callable[[MemoryModel], Claim]]:
    """Mark a function of a model as an axiom of this name. `words` says what no execution may do. `of` are the axioms of the
    model to which it belongs: those of PTX, unless it is another one's."""

    def mark(define: Callable[[MemoryModel], Claim]) -> Callable[[MemoryModel], Claim]:
        if name in of:
            raise blame(f"the axiom {name} is declared twice")
        code = define.__code__
        of[name] = Axiom(name, words, define, code.co_filename, code.co_firstlineno)
        return define

    return mark
