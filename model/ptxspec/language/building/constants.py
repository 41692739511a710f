"""Literals, and constant expressions with the operators that spec/syntax/constant-expressions.md lists."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.escaping import shortened
from ptxspec.language.building.text import Text
from ptxspec.language.digits import TooLarge, double_of, integer_of
from ptxspec.language.parser_generator import Failed
from ptxspec.language.tree import Number, Real, Spelled

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

    def __init__(self, text: Text):
        self.text = text

    def integer(self, at: int) -> int:
        """The value of an integer literal, or of a predefined name."""
        word = self.text.words[at]
        if self.text.classes[at] == "predefined":
            return Spelled.of(contracts.literals().PREDEFINED[word], word)
        digits = word.rstrip("U")
        base = _BASES.get(digits[:2].lower(), 8 if digits[0] == "0" else 10)
        try:
            value = integer_of(digits[2:] if base in _BASES.values() else digits, base)
        except TooLarge:
            value = 1 << 64
        except ValueError:
            raise Failed(at, "integer", None, f"{shortened(word, 100)!r} is no octal number", LITERALS) from None
        if value >= 1 << 64:
            raise Failed(at, "integer", None, f"{shortened(word, 100)} does not fit into 64 bits", LITERALS)
        return Spelled.of(value, word)

    def literal(self, at: int) -> Number | Real:
        """The value of one word."""
        word, which = self.text.words[at], self.text.classes[at]
        if which in ("integer", "predefined"):
            return Number(self.integer(at))
        if which == "bits":
            return Real(Spelled.of(integer_of(word[2:], 16), word), 32 if word[1] in "fF" else 64)
        bits = double_of(word)
        if bits is None:
            message = f"{shortened(word, 100)} is beyond the range of a double"
            raise Failed(at, "decimal", None, message, LITERALS)
        return Real(Spelled.of(bits, word), 64)

    def constant(self, at: int) -> tuple[Number | Real, int]:
        """The constant that begins at a word, which may be an expression, and the number of the word after it."""
        if self.text.classes[at] in LITERAL:
            after = self.text.words[at + 1]
            if after[:1] != "%" and after != "?" and after not in contracts.constant_expressions().STRENGTHS:
                return self.literal(at), at + 1
        return self.expression(at)

    def expression(self, at: int) -> tuple[Number | Real, int]:
        """A constant expression. Literals and operators are put in the order of evaluation with a stack of what waits for its
        operands or its partner, so that no depth of parentheses can exceed Python's."""
        rules = contracts.constant_expressions()
        words, strengths, i = self.text.words, rules.STRENGTHS, at
        output: list[_Step] = []
        waiting: list[_Step] = []
        texts: list[str] = []

        def ready(least: int) -> None:
            while waiting and waiting[-1].strength >= least:
                output.append(waiting.pop())

        def wait(operator: str, count: int, strength: int) -> None:
            if len(waiting) == MOST_WAITING:
                message = f"more than {MOST_WAITING} operators and parentheses are open"
                raise Failed(i, "constant", None, message, EXPRESSIONS)
            waiting.append(_Step(operator, count, strength, i))

        needs_operand = True
        while True:
            word = words[i]
            if needs_operand:
                if word == "(" and words[i + 1][:1] == "." and words[i + 2] == ")":
                    cast = f"({words[i + 1]})"
                    if cast not in rules.CASTS:
                        message = f"a cast is one of {', '.join(rules.CASTS)}, not {cast}"
                        raise Failed(i, "constant", None, message, EXPRESSIONS)
                    wait(cast, 1, _UNARY)
                    texts.append(cast)
                    i += 2
                elif word == "(":
                    wait(word, 0, _PARTNERED)
                    texts.append(word)
                elif word in rules.UNARY:
                    wait(word, 1, _UNARY)
                    texts.append(word)
                else:
                    output.append(_Step(self._typed(i), 0, 0, i))
                    texts.append(word)
                    needs_operand = False
            elif word in strengths:
                ready(strengths[word])
                wait(word, 2, strengths[word])
                texts.append(f" {word} ")
                needs_operand = True
            elif word == "?":
                ready(_CONDITIONAL + 1)  # it groups from the right
                wait(word, 0, _PARTNERED)
                texts.append(" ? ")
                needs_operand = True
            else:
                ready(_CONDITIONAL)
                if not waiting:
                    break
                begun = waiting[-1].item
                if word != (")" if begun == "(" else ":"):
                    raise Failed(i, "constant", f"an operator or {')' if begun == '(' else ':'!r}", None, EXPRESSIONS)
                opened = waiting.pop().at
                texts.append(")" if begun == "(" else " : ")
                if begun == "?":
                    waiting.append(_Step("?:", 3, _CONDITIONAL, opened))
                    needs_operand = True
            i += 1
        if words[i][:1] == "%":
            message = f"{words[i]} is a name: a remainder needs a blank after its '%'"
            raise Failed(i, "constant", None, message, EXPRESSIONS)
        values: list[Any] = []
        for item, count, _, where in output:
            if count == 0:
                values.append(item)
                continue
            operands = tuple(values[-count:])
            del values[-count:]
            try:
                values.append(rules.evaluated(item, operands))
            except rules.Refused as refused:
                raise Failed(where, "constant", None, str(refused), EXPRESSIONS) from None
        (result,) = values
        value = Spelled.of(result.value, "".join(texts))
        return (Real(value, 64) if result.type == "f64" else Number(value)), i

    def _typed(self, at: int) -> Any:
        """A literal of an expression, with its type."""
        word, which = self.text.words[at], self.text.classes[at]
        if which == "bits" and word[1] in "fF":
            message = "exact bits of single precision stand alone, without a sign and not in an expression"
            raise Failed(at, "constant", None, message, LITERALS)
        if which in ("name", "dotted") or word == "_":
            raise Failed(at, "constant", None, f"{word} is a name, not a constant", EXPRESSIONS)
        if which not in LITERAL:
            raise Failed(at, "constant", "a constant", None, EXPRESSIONS)
        value = self.literal(at)
        constant = contracts.constant_expressions().Constant
        if isinstance(value, Real):
            return constant("f64", int(value.bits))
        return constant(contracts.literals().integer_type(value.value, word.endswith("U")), int(value.value))

    # rules that are a number ---------------------------------------------------------------------------------------------

    def natural(self, at: int, word: str) -> int:
        return self.integer(at)

    count = natural

    def integral(self, at: int, value: Number | Real, what: str) -> int:
        """A constant that must be an integer."""
        if isinstance(value, Number):
            return value.value
        self.text.complain(at, f"expected {what}, which is an integer", EXPRESSIONS)
        return 0


def signed(value: int) -> int:
    """An integer's 64 bits as a signed number; it keeps its text."""
    number = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return Spelled.of(number, value.text) if isinstance(value, Spelled) else number
