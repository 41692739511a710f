"""The parser of PTX, put together from the fences of the pages below spec/syntax/. What is read of them is kept between runs, as
tables: data, of which the parser's functions are written each time."""

from __future__ import annotations

from functools import cache

from ptxspec import contracts
from ptxspec.base import places, storage
from ptxspec.base.records import NamedTuple
from ptxspec.language import tables
from ptxspec.language.building.constants import LITERAL
from ptxspec.language.building.tree_builder import built
from ptxspec.language.first_sets import Place
from ptxspec.language.parser_generator import Assembled, Assembly
from ptxspec.language.runs import Runs
from ptxspec.language.tables import Tables
from ptxspec.language.words import MARKER, Lexicon
from ptxspec.literate import finder, grammar

#: after a failure in one of these, reading goes on with the next
RECOVERED = frozenset({"statement", "member"})


class Syntax(NamedTuple):
    """The words and the grammar of the pages. `begins` has what each rule after which reading goes on may begin with:
    for its first and its second word, a set of words and classes."""

    lexicon: Lexicon
    parser: Assembled
    runs: Runs
    begins: dict[str, tuple[frozenset[str], frozenset[str]]]
    literals: tuple[str, ...]
    """the directives that the rules name"""


@cache
def syntax() -> Syntax:
    """The parser for the pages as they are. It is always made of the tables as they are kept, also when they are new."""
    finder.install()
    return parser_of(storage.remembered("parser", storage.digest(), lambda: tables.plain(prepared()), tables.read))


def parser_of(made: Tables) -> Syntax:
    """The parser that the tables describe."""
    lexicon = Lexicon(rule._replace(path=_path(rule.path)) for rule in made.words)
    rules = [rule._replace(path=_path(rule.path)) for rule in made.rules]
    assembly = _assembly(rules, lexicon, made.outside, made.prefixes)
    first = {name: [_texts(p) for p in assembly.prefixes_of(name)] for name in sorted(RECOVERED)}
    begins = {name: (places[0], places[1]) for name, places in first.items()}
    named = {text: lexicon.class_of(text) for rule in rules for text in _named(rule.node)}
    literals = sorted(text for text, which in named.items() if which == "directive")
    fixed = frozenset(text for text, which in named.items() if which == "name")
    parser = assembly.assembled()
    return Syntax(lexicon, parser, Runs(lexicon, parser, fixed), begins, tuple(literals))


def _path(page: str) -> str:
    """Where a page lies."""
    return str(places.DOCUMENTS / page)


def prepared() -> Tables:
    """The tables of the pages as they are."""
    from ptxspec.language.forms import page_name

    words: list[grammar.WordRule] = []
    rules: list[grammar.GrammarRule] = []
    for name, path in finder.pages("ptxspec.spec", "syntax"):
        document = finder.document_of(finder.load(name))
        words += [w for fence in document.of("words") for w in grammar.words_of(fence, str(path))]
        rules += [r for fence in document.of("grammar") for r in grammar.rules_of(fence, str(path))]
    words = _in_order(words)
    rules.append(_declared_spaces())
    unary = contracts.constant_expressions.UNARY
    begins: Place = frozenset([*LITERAL, *(grammar.Literal(text, None) for text in (*unary, "("))])
    outside = {"constant": ("an operand", begins)}
    prefixes = _assembly(rules, Lexicon(words), outside).all_prefixes()
    return Tables(
        [rule._replace(path=page_name(rule.path)) for rule in words],
        [rule._replace(path=page_name(rule.path)) for rule in rules],
        outside,
        prefixes,
    )


def _declared_spaces() -> grammar.GrammarRule:
    """The rule for the state spaces in which variables are declared."""
    declared = [space for space in contracts.state_spaces.SPACES.values() if space.declared]
    words = tuple(grammar.Literal(f".{space.name}", None) for space in declared)
    return grammar.GrammarRule("declared_space", None, grammar.Choice(words), declared[0].path, declared[0].line)


def _assembly(
    rules: list[grammar.GrammarRule],
    lexicon: Lexicon,
    outside: dict[str, tuple[str, Place]],
    prefixes: dict[str, list[Place]] | None = None,
) -> Assembly:
    return Assembly(rules, lexicon, built() & {r.name for r in rules}, RECOVERED, outside, prefixes)


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


def _in_order(words: list[grammar.WordRule]) -> list[grammar.WordRule]:
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
