"""What may stand where, by the rules of a grammar: the first few words of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.language.words import Lexicon
from ptxspec.literate.documents import DocumentError
from ptxspec.literate.grammar import Choice, GrammarRule, Literal, Node, Optional, Reference, Repetition, Sequence

#: how many words a decision may look at
AHEAD = 3


class Ends(NamedTuple):
    """Where a rule may have ended before so many words."""


ENDS = Ends()
#: what may stand at a place: literals as Literal(text), classes by their names
Place = frozenset[Any]


class Grammar:
    """Rules, and what may stand at the first few places of each. `built`, `outside` and `prefixes` are as in `Assembly`."""

    def __init__(
        self,
        rules: Iterable[GrammarRule],
        lexicon: Lexicon,
        built: frozenset[str],
        outside: dict[str, tuple[str, Place]],
        prefixes: dict[str, list[Place]] | None = None,
    ):
        self.rules: dict[str, GrammarRule] = {}
        for rule in rules:
            if rule.name in self.rules or rule.name in lexicon.called:
                raise DocumentError(rule.path, rule.line, f"{rule.name} is defined twice")
            self.rules[rule.name] = rule
        self.lexicon, self.built, self.outside = lexicon, built, outside
        self.recursive = self._recursive()
        self._prefixes: dict[str, list[Place]] = prefixes or dict.fromkeys(self.rules, [frozenset()] * AHEAD)
        changed = prefixes is None
        while changed:
            changed = False
            for rule in self.rules.values():
                places = self.prefixes(rule.node, rule)
                changed |= places != self._prefixes[rule.name]
                self._prefixes[rule.name] = places

    def _recursive(self) -> set[str]:
        """Of every circle of rules one rule at least."""
        recursive: set[str] = set()
        state: dict[str, int] = {}

        def visit(name: str) -> None:
            state[name] = 1
            for other in sorted(references(self.rules[name].node)):
                if other in self.rules:
                    if state.get(other) == 1:
                        recursive.add(other)
                    elif other not in state:
                        visit(other)
            state[name] = 2

        for name in self.rules:
            if name not in state:
                visit(name)
        return recursive

    def prefixes(self, node: Node, rule: GrammarRule) -> list[Place]:
        """What may stand at the first few places of a node; `ENDS` where it may have ended before."""
        if isinstance(node, Literal):
            if self.lexicon.class_of(node.text) in ("unknown", "blank"):
                raise DocumentError(rule.path, rule.line, f"no rule for words makes {node.text!r} one word")
            return [frozenset([node._replace(label=None)]), *[frozenset([ENDS])] * (AHEAD - 1)]
        if isinstance(node, Reference):
            if node.name in self.lexicon.called:
                return [frozenset([node.name]), *[frozenset([ENDS])] * (AHEAD - 1)]
            if node.name in self.outside:
                return [self.outside[node.name][1], *[frozenset([ENDS])] * (AHEAD - 1)]
            if node.name not in self.rules:
                raise DocumentError(rule.path, rule.line, f"there is no rule {node.name}")
            return self._prefixes[node.name]
        if isinstance(node, Choice):
            several = [self.prefixes(a, rule) for a in node.alternatives]
            return [frozenset().union(*(s[k] for s in several)) for k in range(AHEAD)]
        if isinstance(node, Sequence):
            prefixes: list[Place] = [frozenset([ENDS])] * AHEAD
            for item in reversed(node.items):
                prefixes = after(self.prefixes(item, rule), prefixes)
            return prefixes
        once = self.prefixes(node.item, rule)
        if isinstance(node, Repetition):
            once = after(once, maybe(once))
        return maybe(once)

    def all_prefixes(self) -> dict[str, list[Place]]:
        """What each rule may begin with."""
        return self._prefixes

    def prefixes_of(self, name: str) -> list[Place]:
        """What a rule may begin with: what may stand at each of its first few places."""
        return self._prefixes[name]

    def overlap(self, place: Place, other: Place, first: bool) -> bool:
        """Whether a word may stand for both. A literal goes before its class, unless it is a name like others. What may
        be nothing is no rival for the first word."""
        for a in place:
            if a in other or (not first and ENDS in (a, *other)):
                return True
            if isinstance(a, Literal):
                word_class = self.lexicon.class_of(a.text)
                if word_class in other and word_class in ("name", "dotted"):
                    return True
            elif any(isinstance(b, Literal) and self.lexicon.class_of(b.text) == a for b in other):
                return True
        return False

    def called(self, node: Node, rule: GrammarRule) -> list[str]:
        """What a message says of a node that is missing."""
        if isinstance(node, Literal):
            return [repr(node.text)]
        if isinstance(node, Reference):
            if node.name in self.lexicon.called:
                return [self.lexicon.called[node.name]]
            if node.name in self.outside:
                return [self.outside[node.name][0]]
            other = self.rules[node.name]
            return [other.called] if other.called else self.called(other.node, other)
        if isinstance(node, Choice):
            return [c for a in node.alternatives for c in self.called(a, rule)]
        if isinstance(node, Sequence):
            names: list[str] = []
            for item in node.items:
                names += self.called(item, rule)
                if not isinstance(item, Optional | Repetition):
                    break
            return names
        return self.called(node.item, rule)

    def terminals(self, node: Node) -> Place | None:
        """The words of which the node is one, if it is no more than a choice of words."""
        if isinstance(node, Literal):
            return frozenset([node._replace(label=None)]) if node.label is None else None
        if isinstance(node, Reference):
            if node.label is not None:
                return None
            if node.name in self.lexicon.called:
                return frozenset([node.name])
            if node.name in self.rules and node.name not in self.built:
                return self.terminals(self.rules[node.name].node)
            return None
        if isinstance(node, Choice):
            several = [self.terminals(a) for a in node.alternatives]
            known = [place for place in several if place is not None]
            return frozenset().union(*known) if len(known) == len(several) else None
        return None


def after(first: list[Place], then: list[Place]) -> list[Place]:
    """What may stand at the places of one thing after another, each place by itself."""
    places: list[Place] = []
    ended = frozenset([ENDS])
    for k in range(AHEAD):
        place = first[k] - ended
        # the second begins at any place at which the first may have ended
        for j in range(k + 1):
            if ENDS in first[j] and (j == 0 or first[j - 1] - ended):
                place |= then[k - j]
        places.append(place)
    return places


def maybe(places: list[Place]) -> list[Place]:
    return [p | {ENDS} for p in places]


def references(node: Node) -> set[str]:
    if isinstance(node, Reference):
        return {node.name}
    if isinstance(node, Literal):
        return set()
    if isinstance(node, Choice):
        return set().union(*map(references, node.alternatives))
    if isinstance(node, Sequence):
        return set().union(*map(references, node.items))
    return references(node.item)
