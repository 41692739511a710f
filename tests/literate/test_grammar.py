"""The notation of the pages about syntax, and the parser that is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from ptxspec.base.places import DOCUMENTS
from ptxspec.language.parser_generator import MOST_NESTED, Assembly, ParseFailure
from ptxspec.language.syntax import syntax
from ptxspec.language.words import Lexicon
from ptxspec.literate.documents import DocumentError, FencedBlock
from ptxspec.literate.grammar import Choice, Literal, Optional, Reference, Repetition, Sequence, rules_of, words_of

WORDS = r"""
blank = [ \n]+ | --[^\n]*
name "a name" = <letter> [a-z0-9]*
letter = [a-z]
number "a number" = \d+
sign "a sign" = [-+*(),;:{}=]
"""


def words(text: str = WORDS) -> Lexicon:
    return Lexicon(words_of(FencedBlock("words", 10, text.strip() + "\n"), "page.md"))


class Built:
    """Of every rule that is asked for, its name, its place, and its parts."""

    said = 0

    def __getattr__(self, name: str) -> Any:
        return lambda at, *parts: (name, at, *parts)


def assembled(text: str, built: str = "") -> Any:
    rules = rules_of(FencedBlock("grammar", 20, text), "page.md")
    lexicon = words()
    parser = Assembly(rules, lexicon, frozenset(built.split()), frozenset(), {}).assembled()

    def fail(at: int, rule: str, expected: str | None) -> None:
        raise ParseFailure(at, rule, expected)

    def read(source: str) -> Any:
        split = lexicon.split(source)
        made = parser.make(split.words, split.classes, 0, Built(), fail, {}, None, {})
        found = made[rules[0].name]()
        assert split.classes[made["reached"]()] == "end", source
        return found

    return read


def test_rules() -> None:
    text = 'a "an a" = "(" x:b { "," x:b } ")"\n    | [ y:"z" ] c\n\nb = name\n'
    a, b = rules_of(FencedBlock("grammar", 7, text), "page.md")
    assert (a.name, a.called, a.line, b.name, b.called, b.line) == ("a", "an a", 7, "b", None, 10)
    more = Repetition(Sequence((Literal(",", None), Reference("b", "x"))))
    first = Sequence((Literal("(", None), Reference("b", "x"), more, Literal(")", None)))
    assert a.node == Choice((first, Sequence((Optional(Literal("z", "y")), Reference("c", None)))))
    assert b.node == Reference("name", None)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a = name\nb = (name", 21, "is not closed"), ("a = name )", 20, "closes nothing"), ("a = name |", 20, "each side"),
        ("a = [ ]", 20, "in brackets"), ("a = x:[ name ]", 20, "cannot read"), ("a := name", 20, "a rule is written"),
        ("  a = name", 20, "begins at the margin"), ("a = b", 20, "there is no rule b"), ("a = name\na = number", 21, "defined twice"),
        ("a = name\nname = number", 21, "defined twice"), ('a = "§"', 20, "no rule for words"),
        ("a = name number", 20, "need labels"), ("a = x:name y:number", 20, "nothing makes a part"),
        ("a = first | second\nfirst = x:name\nsecond = x:name", 20, "do not tell"),
        ("a = { [ x:name ] }", 20, "what may be nothing"), ("a = b | c\nb = x:name\nc = x:name { number }", 20, "do not tell"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_rule(text: str, line: int, what: str) -> None:
    """It is said at the line of the page."""
    with pytest.raises(DocumentError, match=what) as caught:
        assembled(text)
    assert (caught.value.path, caught.value.line) == ("page.md", line)


@pytest.mark.parametrize("text", ["a = <b>", 'a "an a" = <a>', 'a "an a" = ('])
def test_what_is_wrong_with_words(text: str) -> None:
    with pytest.raises(DocumentError):
        words(WORDS + text)


def test_words() -> None:
    found = words().split("ab1 -- no\n+12 §")
    assert found.words == ["ab1", "+", "12", "§", "", "", ""]
    assert found.classes == ["name", "sign", "number", "unknown", "end", "end", "end"]
    assert found.starts == [0, 10, 11, 14, 15, 15, 15]


@pytest.mark.parametrize(
    ("rules", "text", "found"),
    [
        ("a = name", "x", "x"),
        ("a = \"(\" b \")\"\nb = name | number", "( 7 )", "7"),
        ("a = x:name { \",\" x:name }", "p, q, r", ["p", "q", "r"]),
        ("a = [ x:name ]", "", None),
        ("whole = name", "p", ("whole", 0, "p")),
        ("whole = x:name [ \"=\" y:number ] z:sign", "p = 4 +", ("whole", 0, "p", "4", "+")),
        ("whole = x:name [ \"=\" y:number ] z:sign", "p *", ("whole", 0, "p", None, "*")),
        ("a = named | pair\nnamed = x:name \":\" \nwhole = x:name y:number\npair = whole", "p 4", ("whole", 0, "p", "4")),
        ("a = \"(\" [ a ] \")\" ", "((()))", None),
    ],
)  # fmt: skip
def test_what_is_read(rules: str, text: str, found: Any) -> None:
    assert assembled(rules, "whole")(text) == found


@pytest.mark.parametrize(
    ("rules", "text", "at", "expected"),
    [
        ("a = x:name { \",\" x:name } \";\"", "p q", 1, "',' or ';'"),
        ("a = x:name [ \"=\" y ] \";\"\ny \"a value\" = number", "p = q", 2, "a value"),
        ("a = [ x:name ] [ x:number ] \";\"", "+", 0, "a name, a number or ';'"),
        ("a = [ x:name ] [ x:number ] \";\"", "p +", 1, "a number or ';'"),
        ("a = [ x:name ] [ x:number ] \";\"", "4 p", 1, "';'"),
        ("a = ( x:name [ \":\" ] | x:number [ \"=\" ] ) \";\"", "4 :", 1, "'=' or ';'"),
        ("a = b | number\nb \"a list\" = \"(\" number \")\"", "x", 0, "a list or a number"),
    ],
)  # fmt: skip
def test_what_could_have_stood_there(rules: str, text: str, at: int, expected: str) -> None:
    with pytest.raises(ParseFailure) as caught:
        assembled(rules)(text)
    assert (caught.value.at, caught.value.expected) == (at, expected)


def test_nesting_ends() -> None:
    read = assembled('a = "(" [ a ] ")"')
    assert read("(" * MOST_NESTED + ")" * MOST_NESTED) is None
    with pytest.raises(ParseFailure) as caught:
        read("(" * 10_000)
    assert caught.value.expected is None


def test_the_parser_of_ptx_has_no_rules_of_its_own() -> None:
    """Each rule stands on a page below spec/syntax/, but for the words of state spaces, which their declarations have; and each
    page of that folder but the first that has a fence is used."""
    pages = dict(syntax().parser.pages)
    assert pages.pop("declared_space") == str(DOCUMENTS / "spec" / "state-spaces" / "index.md")
    assert pages and all(path.startswith(str(DOCUMENTS / "spec" / "syntax")) for path in pages.values())
