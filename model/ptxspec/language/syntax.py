"""The parser of PTX, put together from the fences of the pages below spec/syntax/ when they are new, and kept between runs."""

from __future__ import annotations

import marshal
from functools import cache
from typing import Any, NamedTuple

from ptxspec import contracts, storage
from ptxspec.language.building.constants import LITERAL
from ptxspec.language.building.tree_builder import built
from ptxspec.language.first_sets import Place
from ptxspec.language.parser_generator import Assembled, Assembly, from_code
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
    """The parser for the pages as they are. It is always made of what `prepared` gives, whether that was kept or is new."""
    finder.install()
    kept = storage.remembered("parser", storage.digest(), lambda: marshal.dumps(prepared()))
    words, code, source, pages, begins, named = marshal.loads(kept)
    lexicon = Lexicon(_placed(grammar.Words(*rule)) for rule in words)
    return Syntax(lexicon, from_code(code, source, {rule: _path(page) for rule, page in pages.items()}), begins, named)


def _path(page: str) -> str:
    """Where a page lies."""
    return str(finder.DOCUMENTS / page)


def _placed(rule: grammar.Words) -> grammar.Words:
    return rule._replace(path=_path(rule.path))


def prepared() -> tuple[Any, ...]:
    """What the pages come to, as plain values and Python's code: the rules for words in their order, the parser, its text, the
    page of each of its rules, and what else `Syntax` has. Pages have the names that they have below the folder of the documents,
    so that it holds wherever that lies."""
    from ptxspec.language.forms import page_name

    words: list[grammar.Words] = []
    rules: list[grammar.Rule] = []
    for name, path in finder.pages("ptxspec.spec", "syntax"):
        document = finder.document_of(finder.load(name))
        words += [w for fence in document.of("words") for w in grammar.words_of(fence, str(path))]
        rules += [r for fence in document.of("grammar") for r in grammar.rules_of(fence, str(path))]
    words = _in_order(words)
    lexicon = Lexicon(words)
    unary = contracts.constant_expressions().UNARY
    begins: Place = frozenset([*LITERAL, *(grammar.Literal(text, None) for text in (*unary, "("))])
    outside = {"constant": ("an operand", begins)}
    assembly = Assembly(rules, lexicon, built() & {r.name for r in rules}, RECOVERED, REMEMBERED, outside)
    parser = assembly.assembled()
    first = {name: tuple(_texts(p) for p in assembly.prefixes_of(name)[:2]) for name in sorted(RECOVERED)}
    named = {text for rule in rules for text in _named(rule.node) if lexicon.class_of(text) == "directive"}
    plain = [tuple(rule._replace(path=page_name(rule.path))) for rule in words]
    pages = {rule: page_name(path) for rule, path in parser.pages.items()}
    return plain, parser.code, parser.source, pages, first, tuple(sorted(named))


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
