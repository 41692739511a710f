"""Literals, and constant expressions with the operators that spec/syntax/constant-expressions.md lists."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.base.escaping import shortened
from ptxspec.base.records import NamedTuple
from ptxspec.language.building.text import BuiltText
from ptxspec.language.diagnostics import where
from ptxspec.language.digits import TooLarge, double_of, integer_of
from ptxspec.language.parser_generator import ParseFailure
from ptxspec.language.tree import Float, Number, Spelled
from ptxspec.terms.static_rules import BrokenRule

EXPRESSIONS = "spec/syntax/constant-expressions.md"
LITERALS = "spec/syntax/literals.md"
#: how many operators and parentheses of an expression may wait for their operands
MOST_WAITING = 1000
#: how strongly what is no binary operator binds: before an operand, conditional, and not at all until the partner comes
_UNARY, _CONDITIONAL, _PARTNERED = 100, 0, -1
#: what the digits of a base begin with, where they do not begin with a digit of their own
_BASES = {"0x": 16, "0b": 2}
#: classes of words that are literals
LITERAL = frozenset({"integer", "version", "decimal", "bits", "predefined"})


class _Step(NamedTuple):
    """Of an expression: a literal, or an operator with how many operands it takes."""

    item: Any
    takes: int
    strength: int
    at: int


class Constants:
    """Reads constants."""

    def __init__(self, text: BuiltText):
        self.text = text

    def integer(self, at: int) -> int:
        """The value of an integer literal, or of a predefined name."""
        word = self.text.words[at]
        if self.text.classes[at] == "predefined":
            return Spelled.of(contracts.literals.PREDEFINED[word], word)
        if word.isdecimal() and word[0] != "0" and len(word) < 19:  # most are
            return int(word)
        digits = word.rstrip("U")
        base = _BASES.get(digits[:2].lower(), 8 if digits[0] == "0" else 10)
        try:
            value = integer_of(digits[2:] if base in _BASES.values() else digits, base)
        except TooLarge:
            value = 1 << 64
        except ValueError:
            raise ParseFailure(at, "integer", None, f"{shortened(word, 100)!r} is no octal number", LITERALS) from None
        if value >= 1 << 64:
            raise ParseFailure(at, "integer", None, f"{shortened(word, 100)} does not fit into 64 bits", LITERALS)
        return Spelled.of(value, word)

    def literal(self, at: int) -> Number | Float:
        """The value of one word."""
        word, which = self.text.words[at], self.text.classes[at]
        if which in ("integer", "predefined"):
            return Number(self.integer(at))
        if which == "bits":
            return Float(Spelled.of(integer_of(word[2:], 16), word), 32 if word[1] in "fF" else 64)
        bits = double_of(word)
        if bits is None:
            message = f"{shortened(word, 100)} is beyond the range of a double"
            raise ParseFailure(at, "decimal", None, message, LITERALS)
        return Float(Spelled.of(bits, word), 64)

    def constant(self, at: int) -> tuple[Number | Float, int]:
        """The constant that begins at a word, which may be an expression, and the number of the word after it."""
        if self.text.classes[at] in LITERAL:
            after = self.text.words[at + 1]
            if after[:1] != "%" and after != "?" and after not in contracts.constant_expressions.STRENGTHS:
                return self.literal(at), at + 1
        return self.expression(at)

    def expression(self, at: int) -> tuple[Number | Float, int]:
        """A constant expression."""
        expression = _Expression(self, at)
        expression.read()
        constant = expression.value()
        value = Spelled.of(constant.value, "".join(expression.texts))
        return (Float(value, 64) if constant.type == "f64" else Number(value)), expression.at

    def typed(self, at: int) -> Any:
        """A literal of an expression, with its type."""
        word, which = self.text.words[at], self.text.classes[at]
        if which == "bits" and word[1] in "fF":
            message = "exact bits of single precision stand alone, without a sign and not in an expression"
            raise ParseFailure(at, "constant", None, message, LITERALS)
        if which in ("name", "dotted") or word == "_":
            raise ParseFailure(at, "constant", None, f"{word} is a name, not a constant", EXPRESSIONS)
        if which not in LITERAL:
            raise ParseFailure(at, "constant", "a constant", None, EXPRESSIONS)
        value = self.literal(at)
        constant = contracts.constant_expressions.Constant
        if isinstance(value, Float):
            return constant("f64", int(value.bits))
        return constant(contracts.literals.integer_type(value.value, word.endswith("U")), int(value.value))

    # rules that are a number ---------------------------------------------------------------------------------------------

    def natural(self, at: int, word: str) -> int:
        return self.integer(at)

    count = natural

    def integral(self, at: int, value: Number | Float, what: str) -> int:
        """A constant that must be an integer."""
        if isinstance(value, Number):
            return value.value
        self.text.require(contracts.constant_expressions.is_whole, at, False, what=what)
        return 0


class _Expression:
    """Puts the literals and operators of an expression in the order of evaluation, with a stack of what waits for its operands or
    its partner, so that no depth of parentheses can exceed Python's."""

    def __init__(self, constants: Constants, at: int):
        self.constants, self.rules = constants, contracts.constant_expressions
        self.words = constants.text.words
        #: the word that is looked at
        self.at = at
        self.ordered: list[_Step] = []
        self.waiting: list[_Step] = []
        #: how the expression is written, word by word
        self.texts: list[str] = []

    def read(self) -> None:
        """Read to the first word that does not belong to the expression."""
        needs_operand = True
        while True:
            if needs_operand:
                needs_operand = self._before_an_operand()
            else:
                follows = self._behind_an_operand()
                if follows is None:
                    break
                needs_operand = follows
            self.at += 1
        if self.words[self.at][:1] == "%":
            raise self._wrong(f"{self.words[self.at]} is a name: a remainder needs a blank after its '%'")

    def _before_an_operand(self) -> bool:
        """Take a literal, or what stands before one; whether an operand must follow."""
        word = self.words[self.at]
        if word == "(" and self.words[self.at + 1][:1] == "." and self.words[self.at + 2] == ")":
            cast = f"({self.words[self.at + 1]})"
            if cast not in self.rules.CASTS:
                raise self._wrong(f"a cast is one of {', '.join(self.rules.CASTS)}, not {cast}")
            self._wait(cast, 1, _UNARY, cast)
            self.at += 2
        elif word == "(":
            self._wait(word, 0, _PARTNERED, word)
        elif word in self.rules.UNARY:
            self._wait(word, 1, _UNARY, word)
        else:
            self.ordered.append(_Step(self.constants.typed(self.at), 0, 0, self.at))
            self.texts.append(word)
            return False
        return True

    def _behind_an_operand(self) -> bool | None:
        """Take an operator or a partner; whether an operand must follow. None: the expression has ended."""
        word, strengths = self.words[self.at], self.rules.STRENGTHS
        if word in strengths:
            self._ready(strengths[word])
            self._wait(word, 2, strengths[word], f" {word} ")
            return True
        if word == "?":
            self._ready(_CONDITIONAL + 1)  # it groups from the right
            self._wait(word, 0, _PARTNERED, " ? ")
            return True
        self._ready(_CONDITIONAL)
        if not self.waiting:
            return None
        begun = self.waiting[-1]
        partner = ")" if begun.item == "(" else ":"
        if word != partner:
            raise ParseFailure(self.at, "constant", f"an operator or {partner!r}", None, EXPRESSIONS)
        self.waiting.pop()
        if partner == ")":
            self.texts.append(")")
            return False
        self.texts.append(" : ")
        self.waiting.append(_Step("?:", 3, _CONDITIONAL, begun.at))
        return True

    def _ready(self, least: int) -> None:
        """What binds at least so strongly has its operands."""
        while self.waiting and self.waiting[-1].strength >= least:
            self.ordered.append(self.waiting.pop())

    def _wait(self, operator: str, takes: int, strength: int, text: str) -> None:
        if len(self.waiting) == MOST_WAITING:
            raise self._wrong(f"more than {MOST_WAITING} operators and parentheses are open")
        self.waiting.append(_Step(operator, takes, strength, self.at))
        self.texts.append(text)

    def _wrong(self, message: str) -> ParseFailure:
        return ParseFailure(self.at, "constant", None, message, EXPRESSIONS)

    def value(self) -> Any:
        """The value of what was read, with its type."""
        values: list[Any] = []
        for item, takes, _, at in self.ordered:
            if takes == 0:
                values.append(item)
                continue
            operands = tuple(values[-takes:])
            del values[-takes:]
            try:
                values.append(self.rules.evaluated(item, operands))
            except BrokenRule as broken:
                raise ParseFailure(at, "constant", None, str(broken), where(broken.rule)) from None
        (result,) = values
        return result


def signed(value: int) -> int:
    """An integer's 64 bits as a signed number; it keeps its text."""
    number = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return Spelled.of(number, value.text) if isinstance(value, Spelled) else number
