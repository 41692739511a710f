"""From PTX text to its tree.

One regular expression cuts the text into tokens; a function per construct reads them. Chapters 4 and 5 of the manual give
the rules. Nothing is skipped: what is not known here is an error that names it.
"""

from __future__ import annotations

import re
import struct

from ptxspec.language.errors import PtxError, Source
from ptxspec.language.tree import (
    Address,
    Braces,
    Function,
    Instruction,
    Label,
    Module,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Parameter,
    Real,
    Scope,
    Sum,
    Variable,
)

_TOKEN = re.compile(
    r"""
    [ \t\r\f]+ | \n | //[^\n]* | /\*.*?\*/ |                                  # skipped
    (?P<token>
      [A-Za-z][\w$]*(?:::\w+)?(?:\.[A-Za-z]\w*(?:::\w+)*)* |                # names and mnemonics
      [_$%][\w$]+(?:\.[A-Za-z]\w*)* |
      0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b |
      (?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)? | \d+[eE][-+]?\d+ |
      0[xX][0-9a-fA-F]+(?:U(?!\w))? | 0[bB][01]+(?:U(?!\w))? | \d+(?:U(?!\w))? |
      \.[A-Za-z_]\w*(?:::\w+)* |                                            # directives
      "(?:[^"\\\n]|\\.)*" |
      <<|>>|<=|>=|==|!=|&&|\|\||/(?![*/])|[-+*%&|^~!?:;,(){}\[\]<>=@_.#]
    )
    """,
    re.X | re.S | re.A,
)
_INTEGER = re.compile(r"0[xX][0-9a-fA-F]+U?\Z|0[bB][01]+U?\Z|\d+U?\Z", re.A)
_FLOAT = re.compile(
    r"0[fF][0-9a-fA-F]{8}\Z|0[dD][0-9a-fA-F]{16}\Z|(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?\Z|\d+[eE][-+]?\d+\Z",
    re.A,
)
_WORD = re.compile(r"[A-Za-z]|[_$%][\w$]", re.A)
_SPACES = {".reg", ".local", ".shared", ".global", ".const", ".param"}
#: how deep braces may be nested
MOST_NESTED = 64
_LINKAGE = {".visible", ".extern", ".weak"}
#: directives that bear on speed or on debugging, not on results, with how many numbers they take
_PERFORMANCE = {".maxntid": 3, ".reqntid": 3, ".minnctapersm": 1, ".maxnreg": 1, ".maxnctapersm": 1}


class Parser:
    """Reads one module. Every method leaves `self.i` after what it read."""

    def __init__(self, source: Source, only_statement_at: int | None = None):
        """`only_statement_at`: read no more than the statement that begins at this offset."""
        self.source = source
        self.tokens: list[str] = []
        self.starts: list[int] = []
        self._operands: dict[str, Operand] = {}
        self.i = 0
        self._tokenize(only_statement_at)

    def _tokenize(self, only: int | None) -> None:
        text, tokens, starts, at = self.source.text, self.tokens, self.starts, only or 0
        for match in _TOKEN.finditer(text, at):
            if match.start() != at:
                break
            at = match.end()
            token = match["token"]
            if token is not None:
                tokens.append(token)
                starts.append(match.start())
                if only is not None and token == ";":
                    break
        if at != len(text) and only is None:
            what = "a comment that does not end" if text.startswith("/*", at) else f"cannot read {text[at]!r}"
            raise self.source.error(at, what, "spec/notation.md")
        tokens.append("")
        starts.append(len(text))

    # reading tokens ----------------------------------------------------------------------------------------------------

    def error(self, message: str, at: int | None = None, page: str | None = None) -> PtxError:
        return self.source.error(self.starts[self.i if at is None else at], message, page)

    def shown(self) -> str:
        return repr(self.tokens[self.i]) if self.tokens[self.i] else "the end of the text"

    def take(self, token: str) -> None:
        if self.tokens[self.i] != token:
            raise self.error(f"expected {token!r}, not {self.shown()}")
        self.i += 1

    def accept(self, token: str) -> bool:
        if self.tokens[self.i] == token:
            self.i += 1
            return True
        return False

    def word(self, what: str) -> str:
        token = self.tokens[self.i]
        if not token or not _WORD.match(token) or token == "_":
            raise self.error(f"expected {what}, not {self.shown()}")
        self.i += 1
        return token

    def string(self, what: str) -> str:
        token = self.tokens[self.i]
        if not token.startswith('"'):
            raise self.error(f"expected {what} in quotes, not {self.shown()}")
        self.i += 1
        return token[1:-1]

    def number(self, what: str) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.tokens[self.i]
        if not _INTEGER.match(token):
            raise self.error(f"expected {what}, not {self.shown()}")
        self.i += 1
        return sign * self._integer(token, self.i - 1)

    def _integer(self, token: str, at: int) -> int:
        digits = token.rstrip("U")
        if len(digits) > 100:  # more than any base needs for 64 bits; longer ones Python would not even read
            raise self.error(f"{token[:20]}… does not fit into 64 bits", at)
        if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
            digits = "0o" + digits[1:]
        try:
            value = int(digits, 0)
        except ValueError:
            raise self.error(f"{token!r} is no octal number", at) from None
        if value >= 1 << 64:
            raise self.error(f"{token} does not fit into 64 bits", at)
        return value

    # the module ----------------------------------------------------------------------------------------------------------

    def module(self) -> Module:
        """The whole text. Raises PtxError at the first thing that is wrong."""
        if not self.accept(".version"):
            raise self.error("a module begins with .version")
        version = re.fullmatch(r"(\d+)\.(\d+)", self.tokens[self.i])
        if version is None:
            raise self.error(f"expected a version such as 9.0, not {self.shown()}")
        self.i += 1
        if not self.accept(".target"):
            raise self.error(".target must follow .version")
        target_position = self.starts[self.i]
        target = [self.word("a target")]
        while self.accept(","):
            target.append(self.word("a target"))
        address_size, variables, functions = 32, [], []
        if self.accept(".address_size"):
            address_size = self.number("32 or 64")
            if address_size not in (32, 64):
                raise self.error("an address size is 32 or 64", self.i - 1)
        while self.tokens[self.i]:
            token, linkage = self.tokens[self.i], None
            if token in _LINKAGE:
                linkage = token[1:]
                self.i += 1
                token = self.tokens[self.i]
            if token == ".entry":
                functions.append(self.entry(linkage))
            elif token in (".global", ".const", ".shared") or (linkage and token in _SPACES):
                variables += self.variables(linkage)
            elif token == ".file":
                self.i += 1
                self.number("a file's number")
                self.string("a file's name")
                while self.accept(","):
                    self.number("a number")
            elif token == ".pragma":
                self.pragma()
            elif token == ".func":
                raise self.error("functions other than entries are not supported yet")
            else:
                raise self.error(f"{self.shown()} is no directive that can stand here")
        return Module(
            (int(version[1]), int(version[2])),
            tuple(target),
            address_size,
            tuple(variables),
            tuple(functions),
            target_position,
        )

    def pragma(self) -> None:
        self.take(".pragma")
        self.string("a pragma")
        while self.accept(","):
            self.string("a pragma")
        self.take(";")

    def entry(self, linkage: str | None) -> Function:
        self.take(".entry")
        position = self.starts[self.i]
        name = self.word("the entry's name")
        parameters: list[Parameter] = []
        if self.accept("("):
            while not self.accept(")"):
                parameters.append(self.parameter())
                if self.tokens[self.i] != ")":
                    self.take(",")
        performance: dict[str, tuple[int, ...]] = {}
        while self.tokens[self.i] in _PERFORMANCE:
            directive = self.tokens[self.i]
            self.i += 1
            numbers = [self.number("a number")]
            while len(numbers) < _PERFORMANCE[directive] and self.accept(","):
                numbers.append(self.number("a number"))
            performance[directive] = tuple(numbers)
        self.take("{")
        return Function(name, tuple(parameters), tuple(self.body()), performance, linkage, position)

    def parameter(self) -> Parameter:
        self.take(".param")
        align = type = None
        while self.tokens[self.i].startswith("."):
            token = self.tokens[self.i]
            self.i += 1
            if token == ".align":
                align = self.number("an alignment")
            elif token == ".ptr":  # what the pointer points to, and how that is aligned: nothing that a load depends on
                while self.tokens[self.i] in (".const", ".global", ".local", ".shared", ".align"):
                    self.i += 1
                    if self.tokens[self.i - 1] == ".align":
                        self.number("an alignment")
            else:
                type = token[1:]
        if type is None:
            raise self.error(f"expected a parameter's type, not {self.shown()}")
        position = self.starts[self.i]
        name = self.word("a parameter's name")
        size = None
        if self.accept("["):
            size = self.number("a size")
            self.take("]")
        return Parameter(type, name, align, size, position)

    def variables(self, linkage: str | None) -> list[Variable]:
        """A declaration of one or more variables, to its semicolon."""
        space = self.tokens[self.i][1:]
        self.i += 1
        align, vector, type = None, 1, None
        while self.tokens[self.i].startswith("."):
            token = self.tokens[self.i]
            self.i += 1
            if token == ".align":
                align = self.number("an alignment")
            elif token in (".v2", ".v4"):
                vector = int(token[2:])
            elif type is None:
                type = token[1:]
            else:
                raise self.error(f"a second type, {token}", self.i - 1)
        if type is None:
            raise self.error(f"expected a type, not {self.shown()}")
        found = []
        while True:
            position = self.starts[self.i]
            name = self.word("a variable's name")
            count, dimensions, values = None, [], None
            if self.accept("<"):
                count = self.number("how many")
                self.take(">")
            while self.accept("["):
                dimensions.append(None if self.tokens[self.i] == "]" else self.number("a size"))
                self.take("]")
            if self.accept("="):
                values = self.initializer()
            found.append(
                Variable(space, type, vector, name, align, count, tuple(dimensions), values, linkage, position)
            )
            if not self.accept(","):
                self.take(";")
                return found

    def initializer(self, depth: int = 0) -> object:
        if self.accept("{"):
            if depth == MOST_NESTED:
                raise self.error(f"braces nested more than {MOST_NESTED} deep", self.i - 1)
            values = []
            while not self.accept("}"):
                values.append(self.initializer(depth + 1))
                if self.tokens[self.i] != "}":
                    self.take(",")
            return values
        return self.constant()

    # the body of a function ----------------------------------------------------------------------------------------------

    def body(self) -> list[Instruction | Label | Scope | Variable]:
        found: list[Instruction | Label | Scope | Variable] = []
        tokens, starts, depth = self.tokens, self.starts, 0
        while True:
            token = tokens[self.i]
            first = token[:1]
            if token == "}":
                self.i += 1
                if depth == 0:
                    return found
                depth -= 1
                found.append(Scope(False, starts[self.i - 1]))
            elif token == "{":
                depth += 1
                if depth > MOST_NESTED:
                    raise self.error(f"blocks nested more than {MOST_NESTED} deep")
                self.i += 1
                found.append(Scope(True, starts[self.i - 1]))
            elif first == "@" or (first.isalpha() and tokens[self.i + 1] != ":"):
                found.append(self.instruction())
            elif first == ".":
                if token in _SPACES:
                    found += self.variables(None)
                elif token == ".loc":
                    self.i += 1
                    for what in ("a file's number", "a line", "a column"):
                        self.number(what)
                    if tokens[self.i] == ",":
                        raise self.error("the inlining attributes of .loc are not supported yet")
                elif token == ".pragma":
                    self.pragma()
                else:
                    raise self.error(f"{token} is no directive that can stand in a function")
            elif token and _WORD.match(token) and tokens[self.i + 1] == ":":
                found.append(Label(token, starts[self.i]))
                self.i += 2
            elif not token:
                raise self.error("the function does not end: a '}' is missing")
            else:
                raise self.error(f"expected an instruction, a label or a directive, not {self.shown()}")

    def instruction(self) -> Instruction:
        tokens = self.tokens
        guard = None
        if tokens[self.i] == "@":
            self.i += 1
            negated = self.accept("!")
            guard = (self.word("a predicate"), negated)
        position = self.starts[self.i]
        mnemonic = self.word("an instruction")
        operands: list[Operand] = []
        if tokens[self.i] == ";":
            self.i += 1
            return Instruction(mnemonic, (), guard, position)
        while True:
            token = tokens[self.i]
            after = tokens[self.i + 1] if token else ""
            if after in (",", ";"):  # the common case: an operand of one token
                operand = self._operands.get(token)
                if operand is None:
                    operand = self._operands[token] = self.simple(token)
                self.i += 1
                operands.append(operand)
            else:
                operands.append(self.operand())
                after = tokens[self.i]
            if after == ";":
                self.i += 1
                return Instruction(mnemonic, tuple(operands), guard, position)
            if after != ",":
                raise self.error(f"expected ',' or ';', not {self.shown()}")
            self.i += 1

    def simple(self, token: str) -> Name | Number | Real:
        if _FLOAT.match(token):
            if token[:2] in ("0f", "0F"):
                return Real(int(token[2:], 16), 32)
            if token[:2] in ("0d", "0D"):
                return Real(int(token[2:], 16), 64)
            number = float(token)
            if number == float("inf") or (number == 0 and re.search("[1-9]", re.split("[eE]", token)[0])):
                raise self.error(f"{token[:40]} is beyond the range of a double")
            return Real(struct.unpack("<Q", struct.pack("<d", number))[0], 64)
        if _INTEGER.match(token):
            return Number(self._integer(token, self.i))
        if token == "WARP_SZ":
            return Number(32)
        if token == "_" or _WORD.match(token):
            return Name(token)
        raise self.error(f"expected an operand, not {self.shown()}")

    def constant(self) -> Number | Real | Name:
        """A constant with an optional sign."""
        negative = False
        while self.tokens[self.i] in ("-", "+"):
            negative ^= self.tokens[self.i] == "-"
            self.i += 1
        value = self.simple(self.tokens[self.i])
        self.i += 1
        if self.tokens[self.i] in ("+", "-", "*", "/", "%", "<<", ">>", "&", "^", "?", "&&", "||"):
            raise self.error("constant expressions are not supported yet, only single constants")
        if not negative:
            return value
        if isinstance(value, Number):
            return Number(-value.value)
        if isinstance(value, Real):
            return Real(value.bits ^ (1 << (value.width - 1)), value.width)
        raise self.error("a name cannot be negated", self.i - 1)

    def operand(self) -> Operand:
        tokens = self.tokens
        token = tokens[self.i]
        if token == "[":
            self.i += 1
            address = self.address()
            self.take("]")
            return address
        if token == "{":
            self.i += 1
            elements = [self.constant()]
            while self.accept(","):
                elements.append(self.constant())
            self.take("}")
            return Braces(tuple(elements))
        if token == "!":
            self.i += 1
            return Not(Name(self.word("a predicate")))
        if token in ("-", "+") or not (token == "_" or _WORD.match(token)):
            return self.constant()
        name = Name(token)
        self.i += 1
        if self.accept("|"):
            second = tokens[self.i]
            if second != "_":
                self.word("a predicate")
            else:
                self.i += 1
            return Pair(name, Name(second))
        if tokens[self.i] in ("+", "-"):
            return Sum(name, self.offset())
        if self.accept("["):
            raise self.error("array elements as operands are not supported yet; write the byte offset", self.i - 1)
        return name

    def offset(self) -> int:
        sign = -1 if self.tokens[self.i] == "-" else 1
        self.i += 1
        return sign * self.number("a byte offset")

    def address(self) -> Address:
        token = self.tokens[self.i]
        if _WORD.match(token) and token != "_":
            self.i += 1
            return Address(Name(token), self.offset() if self.tokens[self.i] in ("+", "-") else 0)
        return Address(None, self.number("an address"))


def statement(text: str, position: int) -> str:
    """The statement that begins at an offset, to its semicolon, with white space and comments as single blanks."""
    parts = []
    for match in _TOKEN.finditer(text, position):
        token = match["token"]
        if token is None:
            parts.append(" ")
            continue
        parts.append(token)
        if token == ";":
            break
    return " ".join("".join(parts).split())


def parse(text: str, path: str = "<ptx>") -> Module:
    """The tree of a module's text. Raises PtxError where the text is not PTX."""
    return parse_source(Source(text, path))


def parse_source(source: Source) -> Module:
    return Parser(source).module()


def parse_fragment(source: Source) -> list[Instruction | Label | Scope | Variable]:
    """Instructions alone, as they would stand in a function's body."""
    parser = Parser(source)
    parser.tokens[-1:] = ["}", ""]
    parser.starts.append(parser.starts[-1])
    body = parser.body()
    if parser.tokens[parser.i]:
        raise parser.error("a '}' that closes nothing", parser.i - 1)
    return body
