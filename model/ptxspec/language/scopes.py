"""Names and what they stand for, scope by scope."""

from __future__ import annotations

from ptxspec.language import tree
from ptxspec.language.checked import Place, Signature, Table
from ptxspec.language.named import Places, numbered, one_of_several
from ptxspec.terms.types import Type

#: which element of a vector a selector names
_COMPONENTS = {c: i for selectors in ("xyzw", "rgba") for i, c in enumerate(selectors)}
#: the end of the unique name of a register that the module declares
MODULE = "@"


class Names:
    """The registers of one scope and of those around it. Ranges (`%r<100>`) are kept as ranges."""

    def __init__(self, outer: Names | None, suffix: str):
        self.outer, self.suffix = outer, suffix
        #: the scope of the module
        self.module: Names = self if outer is None else outer.module
        #: what ends a register's unique name: @ alone is the module's, whose variables end in nothing
        self.ending = MODULE if outer is None else suffix
        #: for what names begin with, the least number that follows it in one of them
        self.least: dict[str, int] = {}
        self.registers: dict[str, Type] = {}
        self.ranges: dict[str, tuple[int, Type]] = {}
        #: vectors of registers by name, and such ranges of them: how many elements
        self.vectors: dict[str, tuple[int, Type]] = {}
        self.vector_ranges: dict[str, tuple[int, int, Type]] = {}
        self.places = Places()
        #: the names before <…>, of registers and of variables
        self.prefixes: set[str] = set()
        #: all labels, and those that have been passed
        self.labels: set[str] = set()
        self.passed: set[str] = set()
        self.tables: dict[str, Table | Signature] = {}

    def table(self, name: str) -> Table | Signature | None:
        """What an indirect branch or call may reach."""
        scope: Names | None = self
        while scope is not None:
            if name in scope.tables:
                return scope.tables[name]
            scope = scope.outer
        return None

    def own_register(self, name: str) -> tuple[str, Type] | None:
        """What `register` says, of this scope alone. The digits at a name's end are all its number's, which may begin
        with zeros."""
        register = self.registers.get(name)
        if register is not None:
            return name + self.ending, register
        if "." in name:
            base, _, selector = name.partition(".")
            vector, place = self.own_vector(base), _COMPONENTS.get(selector)
            if vector is None or place is None or place >= len(vector[0]):
                return None
            return vector[0][place], vector[1]
        member = one_of_several(name) if self.ranges else None
        if member is None:
            return None
        prefix, number, plain = member
        entry = self.ranges.get(prefix)
        return None if entry is None or number >= entry[0] else (plain + self.ending, entry[1])

    def own_vector(self, name: str) -> tuple[tuple[str, ...], Type] | None:
        """(the unique names of a vector's elements, their type), of this scope alone."""
        vector = self.vectors.get(name)
        if vector is None and self.vector_ranges:
            prefix, number = numbered(name)
            entry = self.vector_ranges.get(prefix)
            if entry is None or number is None or number >= entry[0]:
                return None
            name, vector = f"{prefix}{number}", entry[1:]
        return None if vector is None else (tuple(n + self.ending for n in element_names(name, vector[0])), vector[1])

    def vector(self, name: str) -> tuple[tuple[str, ...], Type] | None:
        scope: Names | None = self
        while scope is not None:
            vector = scope.own_vector(name)
            if vector is not None:
                return vector
            if scope.taken(name):
                return None
            scope = scope.outer
        return None

    def register(self, name: str) -> tuple[str, Type] | None:
        """(its unique name, its type)"""
        scope: Names | None = self
        while scope is not None:
            register = scope.own_register(name)
            if register is not None:
                return register
            base = name.partition(".")[0]
            if base != name and scope.taken(base):
                return None
            if name in scope.places or name in scope.passed:  # hides a register further out
                return None
            scope = scope.outer
        return None

    def place(self, name: str) -> tuple[str, Place] | None:
        """(its unique name, the variable)"""
        scope: Names | None = self
        while scope is not None:
            place = scope.places.get(name)
            if place is not None:
                if place.initial is not None:  # there is one of it, whoever declares it
                    return place.name, place
                if not scope.suffix and scope is not self.module and name in self.module.places:
                    return f"{name}@", place  # an entry's; until it was declared, the name was the module's
                return name + scope.suffix, place
            if name in scope.passed:
                return None
            scope = scope.outer
        return None

    def label(self, name: str) -> str | None:
        """Its unique name."""
        scope: Names | None = self
        while scope is not None:
            if name in scope.labels:
                return name + scope.suffix
            scope = scope.outer
        return None

    def taken(self, name: str, count: int | None = None) -> bool:
        """Whether something of this scope has the name already, or one of those that `name<count>` stands for."""
        if count is None:
            if name in self.places or name in self.passed or name in self.tables:
                return True
            return self.own_register(name) is not None or self.own_vector(name) is not None
        return name in self.prefixes or self.least.get(name, count) < count

    def add_register(self, name: str, type: Type) -> None:
        self._note(name)
        self.registers[name] = type

    def add_vector(self, name: str, length: int, type: Type) -> None:
        self._note(name)
        self.vectors[name] = (length, type)

    def add_place(self, name: str, place: Place) -> None:
        self._note(name)
        self.places[name] = place

    def _note(self, name: str) -> None:
        """Let the name be one that none of a `prefix<N>` which is declared later can have. A number with zeros before it is
        none of those that such a declaration gives."""
        prefix, number = numbered(name)
        if number is not None and len(prefix) + len(str(number)) == len(name):
            self.least[prefix] = min(number, self.least.get(prefix, number))


def element_names(name: str, count: int) -> list[str]:
    """The names of a vector's elements, or that of what is none."""
    return [f"{name}.{c}" for c in "xyzw"[:count]] if count != 1 else [name]


def labels_of_scopes(function: tree.Function) -> list[set[str]]:
    """The labels of each scope, by the scope's number: branches may come before their labels."""
    labels: list[set[str]] = [set()]
    stack = [0]
    for item in function.body or ():
        if isinstance(item, tree.ScopeBrace):
            if item.opens:
                stack.append(len(labels))
                labels.append(set())
            else:
                stack.pop()
        elif isinstance(item, tree.Label):
            labels[stack[-1]].add(item.name)
    return labels
