"""The parser of PTX, put together from the fences of the pages below spec/syntax/ when it is first needed."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.language.building.constants import LITERAL
from ptxspec.language.building.tree_builder import built
from ptxspec.language.first_sets import Place
from ptxspec.language.parser_generator import Assembled, Assembly
from ptxspec.language.words import MARKER, Lexicon
from ptxspec.literate import finder, grammar

#: after a failure in one of these, reading goes on with the next
RECOVERED = frozenset({"statement", "member"})
#: what a single word makes of one of these is kept: registers and numbers come again and again
REMEMBERED = frozenset({"operand"})


class Syntax(NamedTuple):
    """The words and the grammar of the pages. `begins` has what each rule after which reading goes on may begin with:
    for its first and its second word, a set of words and classes."""

    lexicon: Lexicon
    parser: Assembled
    begins: dict[str, tuple[frozenset[str], frozenset[str]]]
    literals: tuple[str, ...]
    """the directives that the rules name"""


@cache
def syntax() -> Syntax:
    finder.install()
    words: list[grammar.Words] = []
    rules: list[grammar.Rule] = []
    for name, path in finder.pages("ptxspec.spec", "syntax"):
        document = finder.document_of(finder.load(name))
        words += [w for fence in document.of("words") for w in grammar.words_of(fence, str(path))]
        rules += [r for fence in document.of("grammar") for r in grammar.rules_of(fence, str(path))]
    lexicon = Lexicon(_in_order(words))
    unary = contracts.constant_expressions().UNARY
    begins: Place = frozenset([*LITERAL, *(grammar.Literal(text, None) for text in (*unary, "("))])
    outside = {"constant": ("an operand", begins)}
    assembly = Assembly(rules, lexicon, built() & {r.name for r in rules}, RECOVERED, REMEMBERED, outside)
    parser = assembly.assembled()
    prefixes = {name: assembly.prefixes_of(name) for name in RECOVERED}
    first = {name: (_texts(found[0]), _texts(found[1])) for name, found in prefixes.items()}
    named = {text for rule in rules for text in _named(rule.node) if lexicon.class_of(text) == "directive"}
    return Syntax(lexicon, parser, first, tuple(sorted(named)))


def _named(node: grammar.Node) -> set[str]:
    """The words that a rule has as they stand."""
    if isinstance(node, grammar.Literal):
        return {node.text}
    if isinstance(node, grammar.Reference):
        return set()
    if isinstance(node, grammar.Choice):
        return set().union(*map(_named, node.alternatives))
    if isinstance(node, grammar.Sequence):
        return set().union(*map(_named, node.items))
    return _named(node.item)


def _in_order(words: list[grammar.Words]) -> list[grammar.Words]:
    """Rules for words in the order in which they are tried: those that begin alike, the longer ones first."""
    order = [
        MARKER,
        "predefined",
        "dotted",
        "name",
        "bits",
        "version",
        "decimal",
        "integer",
        "bank",
        "directive",
        "string",
        "endless",
    ]
    return sorted(words, key=lambda w: order.index(w.name) if w.name in order else len(order))


def _texts(place: Place) -> frozenset[str]:
    return frozenset(p.text if isinstance(p, grammar.Literal) else p for p in place if p)
