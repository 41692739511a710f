"""Axioms as Python functions: of the rows of what executions have in common, and of what one of them chooses.

A function is made once for all executions in which the same relations are empty; so what is empty costs nothing. Relations that
no choice changes are computed before, once for a program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ptxspec.terms.relations import Claim, Given, Relation

#: a relation of an execution: for each operation the bits of those that it is related to
Rows = list[int]
#: what the functions return, as `Question.function` says
Answer = Callable[..., tuple[str | None, list[Rows]]]
#: what an execution chooses, by the name of a parameter
_CHOSEN: dict[Given, str] = {"same phase": "phases", "fenced before": "fenced", "written before": "written"}


def composed(first: Rows, second: Rows) -> Rows:
    rows = []
    for row in first:
        union = 0
        while row:
            low = row & -row
            union |= second[low.bit_length() - 1]
            row ^= low
        rows.append(union)
    return rows


def closed(rows: Rows) -> Rows:
    """The least transitive relation with these pairs."""
    rows = list(rows)
    for k in range(len(rows)):
        row = rows[k]
        if row:
            for i, other in enumerate(rows):
                if other >> k & 1:
                    rows[i] = other | row
    return rows


def transposed(rows: Rows) -> Rows:
    result = [0] * len(rows)
    for i, row in enumerate(rows):
        while row:
            low = row & -row
            result[low.bit_length() - 1] |= 1 << i
            row ^= low
    return result


def is_reflexive(rows: Rows) -> bool:
    return any(row >> i & 1 for i, row in enumerate(rows))


_HELPERS = {"composed": composed, "closed": closed, "transposed": transposed, "is_reflexive": is_reflexive}


class Question:
    """Which of some claims an execution breaks first, and the rows of some relations in it."""

    def __init__(self, claims: Mapping[str, Claim], wanted: Sequence[Relation] = ()):
        self.claims, self.wanted = dict(claims), tuple(wanted)
        #: the relations that no choice changes, as large as may be
        self.constant: dict[Relation, int] = {}
        for relation in (*(claim.relation for claim in claims.values()), *wanted):
            self._collect(relation)
        self._made: dict[tuple[int, ...], Answer] = {}

    def _collect(self, relation: Relation) -> None:
        if not relation.givens and not relation.of_byte:
            self.constant.setdefault(relation, len(self.constant))
            return
        for part in relation.parts:
            self._collect(part)

    def function(self, constant: Sequence[Rows], pieces: int, orders: tuple[bool, ...]) -> Answer:
        """A function of `constant`, the rows of `self.constant`, of rows for each piece of memory that say which operations
        access it, and which reads read it from which writes, and of the rows of three orders: it returns the name of a claim that
        is broken, or else None and the relations that are wanted. It is one for all executions in which the same of the first
        and of the last have pairs; `orders` says that of these orders."""
        present = (*map(any, constant), *orders)
        key = pieces, sum(1 << k for k, is_any in enumerate(present) if is_any)
        if key not in self._made:
            self._made[key] = _AxiomWriter(self, present, pieces).function()
        return self._made[key]


class _AxiomWriter:
    """Writes the function of a question. `present` says of what is constant, and of the three orders that an execution chooses,
    whether it has pairs."""

    def __init__(self, question: Question, present: Sequence[bool], pieces: int):
        self.question, self.present, self.pieces = question, present, pieces
        self.lines: list[str] = []
        self.names: dict[tuple[Relation, int | None], str] = {}

    def function(self) -> Answer:
        tests = {"empty": "any({})", "irreflexive": "is_reflexive({})", "acyclic": "is_reflexive(closed({}))"}
        for name, claim in self.question.claims.items():
            rows = self.name(claim.relation, None)
            if rows:
                self.lines += [f"if {tests[claim.says].format(rows)}:", f"    return {name!r}, []"]
        wanted = [self.name(relation, None) or "[0] * n" for relation in self.question.wanted]
        body = ["n = len(phases)", *self.lines, f"return None, [{', '.join(wanted)}]"]
        text = "def answer(constant, accessed, read, phases, fenced, written):\n    " + "\n    ".join(body)
        scope = dict(_HELPERS)
        exec(compile(text, "<axioms>", "exec"), scope)
        return scope["answer"]  # type: ignore[return-value]

    def name(self, relation: Relation, piece: int | None) -> str:
        """The variable that holds a relation's rows, for the bytes of a piece; "" if it has no pairs."""
        key = relation, piece if relation.of_byte else None
        if key not in self.names:
            words = self._words(relation, piece)
            simple = not words or words.isidentifier()
            self.names[key] = words if simple else f"v{len(self.names)}"
            if not simple:
                self.lines.append(f"{self.names[key]} = {words}")
        return self.names[key]

    def _words(self, relation: Relation, piece: int | None) -> str:
        number = self.question.constant.get(relation)
        if number is not None:
            return f"constant[{number}]" if self.present[number] else ""
        parts = relation.parts
        match relation.operator:
            case "given":
                (given,) = relation.givens
                if given == "reads from":
                    return f"read[{piece}]"
                return _CHOSEN[given] if self.present[len(self.question.constant) + list(_CHOSEN).index(given)] else ""
            case "accesses byte":
                return f"accessed[{piece}]"
            case "any byte":
                every = [name for name in (self.name(parts[0], p) for p in range(self.pieces)) if name]
                if len(every) < 2:
                    return "".join(every)
                heads = [f"x{k}" for k in range(len(every))]
                return f"[{' | '.join(heads)} for {', '.join(heads)} in zip({', '.join(every)})]"
            case "closure" | "inverse":
                rows = self.name(parts[0], piece)
                return f"{'closed' if relation.operator == 'closure' else 'transposed'}({rows})" if rows else ""
            case "or same":
                rows = self.name(parts[0], piece)
                return f"[x | 1 << i for i, x in enumerate({rows})]" if rows else "[1 << i for i in range(n)]"
        first, second = (self.name(part, piece) for part in parts)
        match relation.operator:
            case "union":
                return f"[x | y for x, y in zip({first}, {second})]" if first and second else first or second
            case "intersection":
                return f"[x & y for x, y in zip({first}, {second})]" if first and second else ""
            case "difference":
                return f"[x & ~y for x, y in zip({first}, {second})]" if first and second else first
            case "then":
                return f"composed({first}, {second})" if first and second else ""
        raise AssertionError(relation.operator)
