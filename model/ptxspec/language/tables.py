"""The tables of which the parser is made, and their value for JSON, in which they are kept between runs.

Names in them become names in Python code, so that a value is read strictly: what `read` gives could stand on a page."""

from __future__ import annotations

import re
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.language.first_sets import AHEAD, ENDS, Place
from ptxspec.literate.grammar import (
    Choice,
    GrammarRule,
    Literal,
    Node,
    Optional,
    Reference,
    Repetition,
    Sequence,
    WordRule,
)

_NAME = re.compile(r"[a-z_]+")


class Tables(NamedTuple):
    """The rules for words in their order, the rules of the grammar, what each of them may begin with, and the same of the rules
    that are read by other means. Pages have the names that they have below the folder of the documents, so that it holds wherever
    that lies."""

    words: list[WordRule]
    rules: list[GrammarRule]
    outside: dict[str, tuple[str, Place]]
    prefixes: dict[str, list[Place]]


def plain(tables: Tables) -> dict[str, Any]:
    """The tables as a value for JSON."""
    places: dict[Place, int] = {}

    def numbered(place: Place) -> int:
        return places.setdefault(place, len(places))

    outside = {name: [called, numbered(place)] for name, (called, place) in tables.outside.items()}
    prefixes = {name: list(map(numbered, sets)) for name, sets in tables.prefixes.items()}
    return {
        "words": [list(rule) for rule in tables.words],
        "rules": [[*rule[:2], _plain_node(rule.node), *rule[3:]] for rule in tables.rules],
        "outside": outside,
        "prefixes": prefixes,
        "places": [
            [
                sorted(p.text for p in place if isinstance(p, Literal)),
                sorted(p for p in place if isinstance(p, str)),
                ENDS in place,
            ]
            for place in places
        ],
    }


def _plain_node(node: Node) -> list[Any]:
    kind = type(node).__name__
    if isinstance(node, Literal | Reference):
        return [kind, *node]
    if isinstance(node, Sequence | Choice):
        return [kind, *map(_plain_node, node[0])]
    return [kind, _plain_node(node.item)]


def read(value: Any) -> Tables:
    """The tables of a value for JSON. Raises ValueError or TypeError for what is none."""
    if not isinstance(value, dict) or value.keys() != {"words", "rules", "outside", "prefixes", "places"}:
        raise ValueError("no tables of a parser")
    if not isinstance(value["outside"], dict) or not isinstance(value["prefixes"], dict):
        raise ValueError("what rules begin with has no names")
    words = [
        WordRule(_name(name), _text_or_none(called), _text(pattern), _text(page), _number(line))
        for name, called, pattern, page, line in value["words"]
    ]
    rules = [
        GrammarRule(_name(name), _text_or_none(called), _node(node), _text(page), _number(line))
        for name, called, node, page, line in value["rules"]
    ]
    literals: dict[str, Literal] = {}
    places: list[Place] = [
        frozenset(
            [
                *(literals.setdefault(t, Literal(_text(t), None)) for t in texts),
                *map(_name, classes),
                *[ENDS] * bool(ends),
            ]
        )
        for texts, classes, ends in value["places"]
    ]

    def numbered(number: Any) -> Place:
        at = _number(number)
        if not 0 <= at < len(places):
            raise ValueError("no such place")
        return places[at]

    outside = {_name(name): (_text(called), numbered(n)) for name, (called, n) in value["outside"].items()}
    prefixes = {_name(name): list(map(numbered, sets)) for name, sets in value["prefixes"].items()}
    if prefixes.keys() != {rule.name for rule in rules} or any(len(sets) != AHEAD for sets in prefixes.values()):
        raise ValueError("the rules are others than those with what they begin with")
    return Tables(words, rules, outside, prefixes)


def _node(value: Any) -> Node:
    kind, *parts = value
    if kind in ("Literal", "Reference"):
        text, label = parts
        label = None if label is None else _name(label)
        return Literal(_text(text), label) if kind == "Literal" else Reference(_name(text), label)
    if kind in ("Sequence", "Choice"):
        several = tuple(map(_node, parts))
        if len(several) < 2:
            raise ValueError(f"a {kind} of one")
        return Sequence(several) if kind == "Sequence" else Choice(several)
    (item,) = parts
    if kind not in ("Optional", "Repetition"):
        raise ValueError(f"no kind of node: {kind}")
    return Optional(_node(item)) if kind == "Optional" else Repetition(_node(item))


def _name(value: Any) -> str:
    if _NAME.fullmatch(value) is None:
        raise ValueError(f"no name: {value!r}")
    return str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"no text: {value!r}")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"no number: {value!r}")
    return value
