"""Colours for PTX and for the manual's syntax notation. Neither lexer knows any instruction by name."""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from ptxspec.terms.types import TYPES

_TYPES = words([*TYPES, "pred"], r"\.", r"\b")
_NUMBERS = r"0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|\d+\.\d*(?:[eE][+-]?\d+)?|0[xX][0-9a-fA-F]+U?|\d+U?"
_COMMON = [
    (r"\s+", Whitespace),
    (r"//[^\n]*", Comment.Single),
    (r"/\*(?:.|\n)*?\*/", Comment.Multiline),
]


class PtxLexer(RegexLexer):
    """PTX text: a module, or the instructions of an example."""

    name = "PTX"
    aliases = ["ptx"]
    filenames = ["*.ptx"]
    tokens = {
        "root": [
            *_COMMON,
            (r"(@!?)([%\w$]+)", bygroups(Operator, Name.Variable)),
            (r"([A-Za-z_$%][\w$]*)(\s*)(:)(?!:)", bygroups(Name.Label, Whitespace, Punctuation)),
            (r"(\.target)(\s+)([\w, \t]+)", bygroups(Keyword.Declaration, Whitespace, Name.Constant)),
            (_TYPES, Keyword.Type),
            (r"\.\w+", Keyword.Declaration),
            (r"[a-z]\w*(?=[.\s;])(?!\s*=)", Name.Function, "instruction"),  # and not a variable with an initializer
            (_NUMBERS, Number),
            (r'"[^"\n]*"', String),
            (r"[%\w$]+", Name.Variable),
            (r"[-+*/%<>=!&|^~?:]", Operator),
            (r"[{}()\[\],;]", Punctuation),
        ],
        "instruction": [
            *_COMMON,
            (r";", Punctuation, "#pop"),
            (_TYPES, Keyword.Type),
            (r"(?<=[\w.])\.[xyzwrgba]\b(?=\s*[,;\]}])", Name.Variable),
            (r"\.[\w:]+", Name.Attribute),
            (_NUMBERS, Number),
            (r"%[\w.]+", Name.Variable),
            (r"[A-Za-z_$][\w$]*", Name.Variable),
            (r"[-+*/!|<>~&^?:]", Operator),
            (r"[{}()\[\],]", Punctuation),
        ],
    }


class SyntaxLexer(RegexLexer):
    """The notation of a syntax fence: lines of an instruction's syntax, and sets of modifiers."""

    name = "PTX syntax notation"
    aliases = ["syntax"]
    tokens = {
        "root": [
            *_COMMON,
            (r"(\.[\w]+)(\s*)(=)", bygroups(Name.Attribute, Whitespace, Operator), "set"),
            (r"[a-z]\w*", Name.Function, "line"),
        ],
        "line": [
            *_COMMON,
            (r";", Punctuation, "#pop"),
            (_TYPES, Keyword.Type),
            (r"\.[\w:]+", Name.Attribute),
            (r"\w+", Name.Variable),
            (r"[{}()\[\],|!+-]", Punctuation),
        ],
        "set": [
            *_COMMON,
            (r";", Punctuation, "#pop"),
            (r"(\.\w+)(\s*)(=)", bygroups(Name.Attribute, Whitespace, Operator)),
            (_TYPES, Keyword.Type),
            (r"\.?[\w:]+", Name.Constant),
            (r"[{}\[\],-]", Punctuation),
        ],
    }


class GrammarLexer(RegexLexer):
    """The rules of a fence of grammar."""

    name = "PTX grammar"
    aliases = ["grammar"]
    tokens = {
        "root": [
            (
                r"^([a-z_]+)([ \t]*)(\"[^\"\n]*\")?([ \t]*)(=)",
                bygroups(Name.Class, Whitespace, Comment, Whitespace, Operator),
            ),
            (r"\s+", Whitespace),
            (r"[a-z_]+:", Name.Label),
            (r"\"[^\"\s]+\"", String),
            (r"[a-z_]+", Name.Variable),
            (r"[\[\]{}()|]", Operator),
        ]
    }


class WordsLexer(RegexLexer):
    """The rules of a fence of words: regular expressions."""

    name = "PTX words"
    aliases = ["words"]
    tokens = {
        "root": [
            (
                r"^([a-z_]+)([ \t]*)(\"[^\"\n]*\")?([ \t]*)(=)",
                bygroups(Name.Class, Whitespace, Comment, Whitespace, Operator),
            ),
            (r"<[a-z_]+>", Name.Variable),
            (r"\s+", Whitespace),
            (r".", String.Regex),
        ]
    }
