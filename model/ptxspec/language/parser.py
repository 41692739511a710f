"""From PTX text to its tree.

One regular expression cuts the text into tokens; a function per construct reads them. Chapters 4 and 5 of the manual give
the rules. Nothing is skipped: what is not known here is an error that names it.
"""

from __future__ import annotations

import importlib
import re
import struct
from functools import cache
from typing import Any, NamedTuple

from ptxspec.language.errors import PtxError, Source
from ptxspec.language.tree import (
    Address,
    Braces,
    Element,
    Function,
    Generic,
    Instruction,
    Label,
    Module,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Parameter,
    Parens,
    Part,
    Prototype,
    Real,
    Scope,
    Statement,
    Sum,
    Targets,
    Variable,
)

_FORMAT = "spec/syntax/source-format.md"
_IDENTIFIERS = "spec/syntax/identifiers.md"
_LITERALS = "spec/syntax/literals.md"
_EXPRESSIONS = "spec/syntax/constant-expressions.md"
_SECTIONS = "spec/directives/debugging.md"
_VARIABLES = "spec/variables/index.md"
_DIRECTIVES = "spec/directives/index.md"
_STATE_SPACES = "spec/state-spaces/index.md"
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\Z", re.A)
_TOKEN = re.compile(
    r"""
    [ \t\r\f]+ | \n | //[^\n]* | /\*.*?\*/ |                                  # skipped
    (?P<marker>\#[^\n]*) |                                                  # lines of a preprocessor
    (?P<token>
      [A-Za-z][\w$]*(?:::\w+)?(?:\.(?:[A-Za-z]|[1-3]d)\w*(?:::\w+)*)* |                # names and mnemonics
      [_$%][\w$]+(?:\.[A-Za-z]\w*)* |
      0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b |
      (?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)? | \d+[eE][-+]?\d+ |
      0[xX][0-9a-fA-F]+(?:U(?!\w))? | 0[bB][01]+(?:U(?!\w))? | \d+(?:U(?!\w))? |
      \.[A-Za-z_]\w*(?:::\w+)* |                                            # directives
      "(?:[^"\\\n]|\\.)*" |
      <<|>>|<=|>=|==|!=|&&|\|\||/(?![*/])|[-+*%&|^~!?:;,(){}\[\]<>=@_.]
    ) |
    (?P<unknown>.)     # so that no token is searched for beyond what cannot be read: that would take quadratic time
    """,
    re.X | re.S | re.A,
)
#: what a preprocessor leaves behind: where the next line came from
_MARKER = re.compile(r'#[ \t]*(?:line[ \t]+)?\d+[ \t]+"[^"\n]*"(?:[ \t]+\d+)*[ \t\r\f]*\Z', re.A)
_INTEGER = re.compile(r"0[xX][0-9a-fA-F]+U?\Z|0[bB][01]+U?\Z|\d+U?\Z", re.A)
_FLOAT = re.compile(
    r"0[fF][0-9a-fA-F]{8}\Z|0[dD][0-9a-fA-F]{16}\Z|(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?\Z|\d+[eE][-+]?\d+\Z",
    re.A,
)
_WORD = re.compile(r"[A-Za-z]|[_$%][\w$]", re.A)
#: a name with a selector; a suffix of one letter is a component instead (`%tid.x`)
_PART = re.compile(r"([^.]+)\.(\w\w+)\Z", re.A)
_SPACES = {".reg", ".local", ".shared", ".global", ".const", ".param"}
#: how deep the braces of an initializer may be nested
MOST_NESTED = 64
#: how many operators and parentheses of an expression may wait for their operands
MOST_WAITING = 1000
#: what begins an expression and is no literal, and what goes on with one
_PREFIXES = frozenset("-+!~(")
_OPERATORS = frozenset(
    ("+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^", "|", "&&", "||", "?")
)
#: the data of debugging sections, with its bits
_DATA = {".b8": 8, ".b16": 16, ".b32": 32, ".b64": 64}
#: directives that list what an indirect branch or call may reach
_TABLES = (".branchtargets", ".calltargets", ".callprototype")
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
#: directives that bear on speed or on debugging, not on results, with how many numbers they take
_PERFORMANCE = {
    ".maxntid": 3,
    ".reqntid": 3,
    ".minnctapersm": 1,
    ".maxnreg": 1,
    ".maxnctapersm": 1,
    ".reqnctapercluster": 3,
    ".maxclusterrank": 1,
    ".explicitcluster": 0,
    ".blocksareclusters": 0,
}


#: how strongly what is no binary operator binds: before an operand, conditional, and not at all until the partner comes
_UNARY, _CONDITIONAL, _PARTNERED = 100, 0, -1


class _Step(NamedTuple):
    """Of an expression: a literal, or an operator with how many operands it takes."""

    item: Any
    takes: int
    strength: int
    at: int


@cache
def _page(name: str) -> Any:
    """A page about syntax. They are looked up when something needs them."""
    return importlib.import_module(f"ptxspec.spec.syntax.{name}")


class Parser:
    """Reads one module. Every method leaves `self.i` after what it read."""

    def __init__(self, source: Source, only_statement_at: int | None = None):
        """`only_statement_at`: read no more than the statement that begins at this offset."""
        self.source = source
        self.tokens: list[str] = []
        self.starts: list[int] = []
        self._operands: dict[str, Operand] = {}
        #: of the instruction that is being read
        self.mnemonic = ""
        #: what only some versions have, with where it stands
        self.uses: list[tuple[str, int]] = []
        self._files: set[int] = set()
        self._lines: set[tuple[int, ...]] = set()
        self.i = 0
        self._tokenize(only_statement_at)

    def _tokenize(self, only: int | None) -> None:
        text, tokens, starts, at = self.source.text, self.tokens, self.starts, only or 0
        for match in _TOKEN.finditer(text, at):
            group = match.lastgroup
            if group == "unknown":
                break
            at = match.end()
            if group == "token":
                token = match["token"]
                tokens.append(token)
                starts.append(match.start())
                if only is not None and token == ";":
                    break
            elif group == "marker":
                self._marker(match)
        if at != len(text) and only is None:
            what = "a comment that does not end" if text.startswith("/*", at) else f"cannot read {text[at]!r}"
            raise self.source.error(at, what, _FORMAT)
        tokens.append("")
        starts.append(len(text))

    def _marker(self, match: re.Match[str]) -> None:
        """A line of a preprocessor, which has no effect."""
        start = match.start()
        text = self.source.text
        if text[text.rfind("\n", 0, start) + 1 : start].strip(" \t\r\f"):
            raise self.source.error(start, "'#' belongs at the beginning of a line", _FORMAT)
        if not _MARKER.match(match["marker"]):
            what = "a line with '#' says which file it came from, as in # 12 \"a.cu\"; others are for a preprocessor"
            raise self.source.error(start, what, _FORMAT)

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

    def another(self, end: str) -> bool:
        """Whether a comma follows in a list, not its end."""
        if self.accept(","):
            return True
        if self.accept(end):
            return False
        raise self.error(f"expected ',' or {end!r}, not {self.shown()}")

    def word(self, what: str) -> str:
        token = self.tokens[self.i]
        if not token or not _WORD.match(token) or token in ("_", "WARP_SZ"):
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
        if token != "WARP_SZ" and not _INTEGER.match(token):
            raise self.error(f"expected {what}, not {self.shown()}")
        self.i += 1
        if self.tokens[self.i] in _OPERATORS and self.tokens[self.i] != ">":  # that ends a count
            raise self.error("a constant expression cannot stand here, only an integer", page=_EXPRESSIONS)
        return sign * (_page("literals").PREDEFINED[token] if token == "WARP_SZ" else self._integer(token, self.i - 1))

    def size(self, least: int = 1) -> int:
        """The size of an array: a constant expression."""
        at = self.i
        value = self._integral("a size")
        if value < least:
            raise self.error(f"expected a size, at least {least}, not {value}", at, _VARIABLES)
        return value

    def natural(self, what: str, least: int = 0, page: str | None = None) -> int:
        """A number without a sign, at least `least`."""
        at = self.i
        if self.tokens[at] in ("-", "+"):
            raise self.error(f"expected {what}, which has no sign, not {self.shown()}", page=page)
        value = self.number(what)
        if value < least:
            raise self.error(f"expected {what}, at least {least}, not {value}", at, page)
        return value

    def alignment(self) -> int:
        at = self.i
        value = self.natural("an alignment", page=_VARIABLES)
        if value <= 0 or value & (value - 1):
            raise self.error(f"an alignment is a power of two, not {value}", at, _VARIABLES)
        return value

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
        version_position = self.starts[self.i]
        version = _VERSION.match(self.tokens[self.i])
        if version is None:
            raise self.error(f"expected a version such as 9.0, not {self.shown()}")
        self.i += 1
        if not self.accept(".target"):
            raise self.error(".target must follow .version")
        target_position = self.starts[self.i]
        target = [self.word("a target")]
        option_positions = []
        while self.accept(","):
            option_positions.append(self.starts[self.i])
            target.append(self.word("a target"))
        address_size, variables, functions = 32, [], []
        address_size_position = None
        if self.accept(".address_size"):
            address_size_position = self.starts[self.i - 1]
            address_size = self.number("32 or 64")
            if address_size not in (32, 64):
                raise self.error("an address size is 32 or 64", self.i - 1)
        while self.tokens[self.i]:
            token, linkage = self.tokens[self.i], None
            if token in _LINKAGE:
                linkage = token[1:]
                self.i += 1
                token = self.tokens[self.i]
            if linkage == "common" and token in (".entry", ".func"):
                raise self.error(".common belongs before a variable", self.i - 1, _DIRECTIVES)
            if token == ".entry":
                functions.append(self.entry(linkage))
            elif token in (".global", ".const", ".shared", ".reg") or (linkage and token in (".local", ".param")):
                if token not in (".global", ".const", ".shared"):
                    page = _STATE_SPACES
                    raise self.error(f"variables in {token} are declared inside functions", page=page)
                variables += self.variables(linkage)
            elif linkage and token in (".file", ".pragma", ".section"):
                raise self.error(f".{linkage} belongs before a variable or an entry", self.i - 1, _DIRECTIVES)
            elif token == ".file":
                self.file()
            elif token == ".section":
                self.section()
            elif token == ".pragma":
                self.pragma()
            elif token == ".func":
                functions.append(self.function(linkage))
            else:
                raise self.error(f"{self.shown()} is no directive that can stand here")
        return Module(
            (int(version[1]), int(version[2])),
            tuple(target),
            address_size,
            tuple(variables),
            tuple(functions),
            target_position,
            version_position,
            tuple(option_positions),
            address_size_position,
            tuple(self.uses),
        )

    def file(self) -> None:
        """Which file has which number; when it was changed and how large it is may follow."""
        self.take(".file")
        at = self.i
        number = self.natural("a file's number", page=_SECTIONS)
        if number in self._files:
            raise self.error(f"there is a file {number} already", at, _SECTIONS)
        self._files.add(number)
        self._limited(number, at)
        self.string("a file's name")
        for what in ("a time", "a size"):
            if self.tokens[self.i] != ",":
                break
            if what == "a time":
                self.uses.append((".file with a time", self.starts[self.i]))
            self.i += 1
            self.natural(what, page=_SECTIONS)

    def _limited(self, number: int, at: int) -> None:
        if number >= 1 << 32:
            raise self.error(f"{number} does not fit into 32 bits", at, _SECTIONS)

    def line(self) -> None:
        """.loc: which line of which file the instructions after it come from, and where that was inlined."""
        self.take(".loc")
        here = self._place()
        if self.accept(","):
            self.uses.append((".loc with inlined_at", self.starts[self.i - 1]))
            self.take("function_name")
            self._label()
            if self.accept("+"):
                self.natural("an offset", page=_SECTIONS)
            self.take(",")
            self.take("inlined_at")
            at = self.i
            if self._place() not in self._lines:
                raise self.error("inlined_at names a place that no .loc before it has", at, _SECTIONS)
        self._lines.add(here)

    def _place(self) -> tuple[int, ...]:
        found = []
        for what in ("a file's number", "a line", "a column"):
            at = self.i
            found.append(self.natural(what, page=_SECTIONS))
            self._limited(found[-1], at)
        return tuple(found)

    def _label(self) -> str:
        """A label, or the name of a section, which stands for its beginning."""
        token = self.tokens[self.i]
        if token[:1] == "." and len(token) > 1:
            self.i += 1
            return token
        return self.word("a label")

    def section(self) -> None:
        """A section of debugging data: lines of integers, and labels. Nothing depends on it."""
        self.uses.append((".section", self.starts[self.i]))
        self.take(".section")
        name = self.tokens[self.i]
        if name[:1] != "." or not _WORD.match(name[1:] + "_"):
            raise self.error(
                f"expected a section's name, which begins with a point, not {self.shown()}", page=_SECTIONS
            )
        self.i += 1
        self.take("{")
        labels: set[str] = set()
        while not self.accept("}"):
            token = self.tokens[self.i]
            if _WORD.match(token) and self.tokens[self.i + 1] == ":":
                if token in labels:
                    raise self.error(f"the label {token} is defined twice", page=_SECTIONS)
                labels.add(token)
                self.uses.append(("labels in .section", self.starts[self.i]))
                self.i += 2
            elif token in _DATA:
                self.i += 1
                self._data(_DATA[token])
            else:
                raise self.error(f"expected {', '.join(_DATA)} or a label, not {self.shown()}", page=_SECTIONS)

    def _data(self, width: int) -> None:
        """Integers, or one address."""
        token = self.tokens[self.i]
        if token != "WARP_SZ" and (_WORD.match(token) or (token[:1] == "." and len(token) > 1)):
            if width < 32:
                raise self.error("an address has 32 or 64 bits", page=_SECTIONS)
            self._label()
            if self.accept("+"):
                self.natural("an offset", page=_SECTIONS)
            elif token[:1] != "." and self.accept("-"):
                self.uses.append(("differences in .section", self.starts[self.i - 1]))
                self.word("a label")
            return
        while True:
            at = self.i
            if self.tokens[at + (self.tokens[at] == "-")] == "WARP_SZ":
                raise self.error("expected an integer, not 'WARP_SZ'", page=_SECTIONS)
            value = self.number("an integer")
            if not -(1 << width - 1) <= value < 1 << width:
                raise self.error(f"{value} does not fit into {width} bits", at, _SECTIONS)
            if not self.accept(","):
                return

    def pragma(self) -> None:
        self.uses.append((".pragma", self.starts[self.i]))
        self.take(".pragma")
        self.string("a pragma")
        while self.accept(","):
            self.string("a pragma")
        self.take(";")

    def entry(self, linkage: str | None) -> Function:
        self.take(".entry")
        position = self.starts[self.i]
        name = self.word("the entry's name")
        parameters = self.parameters(".param")
        performance: dict[str, tuple[int, ...]] = {}
        while self.tokens[self.i] in _PERFORMANCE or self.tokens[self.i] == ".pragma":
            if self.tokens[self.i] == ".pragma":
                self.pragma()
                continue
            at, directive = self.i, self.tokens[self.i]
            self.i += 1
            least = 0 if "cluster" in directive else 1
            numbers = [self.natural("a number", least, _DIRECTIVES)] if _PERFORMANCE[directive] else []
            while len(numbers) < _PERFORMANCE[directive] and self.accept(","):
                numbers.append(self.natural("a number", least, _DIRECTIVES))
            performance[directive] = tuple(numbers)
            if ".maxntid" in performance and ".reqntid" in performance:
                raise self.error("an entry has .maxntid or .reqntid, not both", at, _DIRECTIVES)
            if ".reqnctapercluster" in performance and ".maxclusterrank" in performance:
                raise self.error("an entry has .reqnctapercluster or .maxclusterrank, not both", at, _DIRECTIVES)
        if ".blocksareclusters" in performance and not {".reqntid", ".reqnctapercluster"} <= performance.keys():
            raise self.error(".blocksareclusters needs .reqntid and .reqnctapercluster", page=_DIRECTIVES)
        if linkage == "extern" and self.tokens[self.i] == "{":
            raise self.error("an entry with a body is not .extern", page=_DIRECTIVES)
        self.take("{")
        return Function(name, tuple(parameters), tuple(self.body()), performance, linkage, position)

    def function(self, linkage: str | None) -> Function:
        self.take(".func")
        returns = self.parameters(".param", ".reg")
        position = self.starts[self.i]
        name = self.word("the function's name")
        parameters = self.parameters(".param", ".reg")
        performance: dict[str, tuple[int, ...]] = {".noreturn": ()} if self.accept(".noreturn") else {}
        if performance and returns:
            raise self.error("a function with results returns, and is not .noreturn", self.i - 1, _DIRECTIVES)
        if linkage == "extern" and self.tokens[self.i] == "{":
            raise self.error("a function with a body is not .extern", page=_DIRECTIVES)
        body = None
        if not self.accept(";"):
            self.take("{")
            body = tuple(self.body())
        return Function(name, parameters, body, performance, linkage, position, False, returns)

    def parameters(self, *spaces: str) -> tuple[Parameter, ...]:
        """A list in parentheses, or nothing."""
        found: list[Parameter] = []
        if self.accept("(") and not self.accept(")"):
            while True:
                if self.tokens[self.i] not in spaces:
                    raise self.error(f"expected {' or '.join(spaces)}, not {self.shown()}")
                found.append(self.parameter())
                if not self.another(")"):
                    break
        return tuple(found)

    def parameter(self) -> Parameter:
        space = self.tokens[self.i][1:]
        self.i += 1
        align = type = None
        while self.tokens[self.i].startswith("."):
            token = self.tokens[self.i]
            self.i += 1
            if token == ".align":
                align = self.alignment()
            elif token == ".ptr":  # what the pointer points to, and how that is aligned: nothing that a load depends on
                if self.tokens[self.i] in (".const", ".global", ".local", ".shared"):
                    self.i += 1
                if self.accept(".align"):
                    self.alignment()
            elif token in (".v2", ".v4"):
                raise self.error("a parameter of an entry is no vector", self.i - 1, _STATE_SPACES)
            elif type is None:
                type = token[1:]
            else:
                raise self.error(f"a second type, {token}", self.i - 1)
        if type is None:
            raise self.error(f"expected a parameter's type, not {self.shown()}")
        position = self.starts[self.i]
        name = "_" if self.accept("_") else self.word("a parameter's name")
        size = None
        if self.accept("["):
            size = self.size()
            self.take("]")
        return Parameter(type, name, align, size, position, space)

    def variables(self, linkage: str | None) -> list[Variable]:
        """A declaration of one or more variables, to its semicolon."""
        space = self.tokens[self.i][1:]
        self.i += 1
        align, vector, type = None, 1, None
        while self.tokens[self.i].startswith("."):
            token = self.tokens[self.i]
            self.i += 1
            if type is None and vector == 1 and token == ".align":
                align = self.alignment()
            elif type is None and vector == 1 and token == ".attribute":
                self.attribute(space)
            elif type is None and vector == 1 and token in (".v2", ".v4"):
                vector = int(token[2:])
            elif token in (".align", ".v2", ".v4"):
                raise self.error(f"{token} stands too late: .align, the vector and the type, in this order", self.i - 1)
            elif type is None:
                type = token[1:]
            else:
                raise self.error(f"a second type, {token}", self.i - 1)
        if type is None:
            raise self.error(f"expected a type, not {self.shown()}")
        found: list[Variable] = []
        while True:
            position = self.starts[self.i]
            name = self.word("a variable's name")
            if "." in name:
                raise self.error(f"{name} is no name that a variable can have", self.i - 1, _IDENTIFIERS)
            count, values = None, None
            dimensions: list[int | None] = []
            if self.accept("<"):
                count = self.natural("how many", page=_VARIABLES)
                if count >= (1 << 32) - 1:
                    raise self.error(f"{count} are too many: the number has 32 bits", self.i - 1, _VARIABLES)
                self.take(">")
                if self.tokens[self.i] in ("[", "="):
                    raise self.error("names with <…> are neither arrays nor initialized", page=_VARIABLES)
            while self.accept("["):
                if self.tokens[self.i] == "]":
                    if dimensions:
                        raise self.error("only an array's first dimension may be left out", page=_VARIABLES)
                    dimensions.append(None)
                else:
                    least = 0 if linkage == "extern" else 1
                    dimensions.append(self.size(least))
                self.take("]")
            if linkage == "common" and space != "global":
                raise self.error("what is .common lies in .global", page=_VARIABLES)
            if self.tokens[self.i] == "=" and linkage == "extern":
                raise self.error("a variable that is defined elsewhere has no initializer", page=_VARIABLES)
            if self.accept("="):
                values = self.initializer()
            found.append(
                Variable(space, type, vector, name, align, count, tuple(dimensions), values, linkage, position)
            )
            if not self.accept(","):
                self.take(";")
                return found

    def attribute(self, space: str) -> None:
        """.managed, which says that the host may use the variable at the same time: nothing here depends on it."""
        at = self.i
        self.uses.append((".attribute", self.starts[at - 1]))
        self.take("(")
        if self.tokens[self.i] != ".managed" or space != "global":
            what = (
                f"expected .managed, for a variable in .global, not {self.shown()}; other attributes are not supported"
            )
            raise self.error(what, page=_DIRECTIVES)
        self.i += 1
        self.take(")")

    def initializer(self, depth: int = 0) -> object:
        if self.accept("{"):
            if depth == MOST_NESTED:
                raise self.error(f"braces nested more than {MOST_NESTED} deep", self.i - 1)
            values: list[object] = []
            if self.accept("}"):
                return values
            values.append(self.initializer(depth + 1))
            while self.another("}"):
                values.append(self.initializer(depth + 1))
            return values
        if self.tokens[self.i] == "generic" and self.tokens[self.i + 1] == "(":
            self.i += 2
            base = Name(self.word("a variable"))
            self.take(")")
            return Generic(base, self.offset() if self.tokens[self.i] in ("+", "-") else 0)
        value = self.constant()
        if isinstance(value, Name) and self.tokens[self.i] in ("+", "-"):
            return Sum(value, self.offset())
        return value

    # the body of a function ----------------------------------------------------------------------------------------------

    def body(self) -> list[Statement]:
        found: list[Statement] = []
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
                self.i += 1
                found.append(Scope(True, starts[self.i - 1]))
            elif first == "@" or (first.isalpha() and tokens[self.i + 1] != ":"):
                found.append(self.instruction())
            elif first == ".":
                if token in _SPACES:
                    found += self.variables(None)
                elif token == ".loc":
                    self.line()
                elif token == ".pragma":
                    self.pragma()
                else:
                    raise self.error(f"{token} is no directive that can stand in a function")
            elif token and _WORD.match(token) and tokens[self.i + 1] == ":" and tokens[self.i + 2] in _TABLES:
                found.append(self.table())
            elif token and _WORD.match(token) and tokens[self.i + 1] == ":":
                found.append(Label(token, starts[self.i]))
                self.i += 2
            elif not token:
                raise self.error("the function does not end: a '}' is missing")
            else:
                raise self.error(f"expected an instruction, a label or a directive, not {self.shown()}")

    def table(self) -> Targets | Prototype:
        """What an indirect branch or call may reach."""
        position = self.starts[self.i]
        name = self.word("a name")
        self.take(":")
        directive = self.tokens[self.i]
        self.i += 1
        if directive == ".callprototype":
            returns = self.parameters(".param", ".reg")
            self.take("_")
            parameters = self.parameters(".param", ".reg")
            self.accept(".noreturn")
            self.take(";")
            return Prototype(name, returns, parameters, position)
        targets = [Name(self.word("a label" if directive == ".branchtargets" else "a function"))]
        while self.accept(","):
            targets.append(Name(self.word("a name")))
        self.take(";")
        return Targets(name, directive, tuple(targets), position)

    def instruction(self) -> Instruction:
        tokens = self.tokens
        guard = None
        if tokens[self.i] == "@":
            self.i += 1
            negated = self.accept("!")
            guard = (self.word("a predicate"), negated)
        position = self.starts[self.i]
        mnemonic = self.mnemonic = self.word("an instruction")
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

    def simple(self, token: str) -> Name | Number | Real | Part:
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
            return Number(_page("literals").PREDEFINED[token])
        if token == "_" or _WORD.match(token):
            part = _PART.match(token)
            return Part(Name(part[1]), part[2], False) if part else Name(token)
        raise self.error(f"expected an operand, not {self.shown()}")

    def constant(self) -> Number | Real | Name | Part:
        """A constant, which may be an expression; or a name."""
        tokens, token = self.tokens, self.tokens[self.i]
        if token in _PREFIXES:
            return self.expression()
        value = self.simple(token)
        after = tokens[self.i + 1]
        if (after in _OPERATORS or after[:1] == "%") and isinstance(value, Number | Real):
            return self.expression()
        self.i += 1
        return value

    def expression(self) -> Number | Real:
        """A constant expression. Literals and operators are put in the order of evaluation with a stack of what waits for its
        operands or its partner, so that no depth of parentheses can exceed Python's."""
        page = _page("constant_expressions")
        tokens, strengths = self.tokens, page.STRENGTHS
        output: list[_Step] = []
        waiting: list[_Step] = []

        def ready(least: int) -> None:
            while waiting and waiting[-1].strength >= least:
                output.append(waiting.pop())

        def wait(operator: str, count: int, strength: int) -> None:
            if len(waiting) == MOST_WAITING:
                raise self.error(f"more than {MOST_WAITING} operators and parentheses are open", page=_EXPRESSIONS)
            waiting.append(_Step(operator, count, strength, self.i))

        needs_operand = True
        while True:
            token = tokens[self.i]
            if needs_operand:
                if token == "(" and tokens[self.i + 1][:1] == "." and tokens[self.i + 2] == ")":
                    wait(self._cast(page.CASTS), 1, _UNARY)
                    self.i += 2
                elif token == "(":
                    wait(token, 0, _PARTNERED)
                elif token in page.UNARY:
                    wait(token, 1, _UNARY)
                else:
                    output.append(_Step(self._literal(token), 0, 0, self.i))
                    needs_operand = False
            elif token in strengths:
                ready(strengths[token])
                wait(token, 2, strengths[token])
                needs_operand = True
            elif token == "?":
                ready(_CONDITIONAL + 1)  # it groups from the right
                wait(token, 0, _PARTNERED)
                needs_operand = True
            else:
                ready(_CONDITIONAL)
                if not waiting:
                    break
                begun = waiting[-1].item
                if token != (")" if begun == "(" else ":"):
                    wanted = "')'" if begun == "(" else "':'"
                    raise self.error(f"expected an operator or {wanted}, not {self.shown()}", page=_EXPRESSIONS)
                at = waiting.pop().at
                if begun == "?":
                    waiting.append(_Step("?:", 3, _CONDITIONAL, at))
                    needs_operand = True
            self.i += 1
        if tokens[self.i][:1] == "%":
            what = f"{tokens[self.i]} is a name: a remainder needs a blank after its '%'"
            raise self.error(what, page=_EXPRESSIONS)
        values: list[Any] = []
        for item, count, _, at in output:
            if count == 0:
                values.append(item)
                continue
            operands = tuple(values[-count:])
            del values[-count:]
            try:
                values.append(page.evaluated(item, operands))
            except page.Refused as refused:
                raise self.error(str(refused), at, _EXPRESSIONS) from None
        (result,) = values
        return Real(result.value, 64) if result.type == "f64" else Number(result.value)

    def _cast(self, casts: tuple[str, ...]) -> str:
        """The cast that begins here."""
        cast = f"({self.tokens[self.i + 1]})"
        if cast not in casts:
            raise self.error(f"a cast is one of {', '.join(casts)}, not {cast}", page=_EXPRESSIONS)
        return cast

    def _literal(self, token: str) -> Any:
        """A literal of an expression, with its type."""
        if token[:2] in ("0f", "0F"):
            what = "exact bits of single precision stand alone, without a sign and not in an expression"
            raise self.error(what, page=_LITERALS)
        if token != "WARP_SZ" and (_WORD.match(token) or token == "_"):
            raise self.error(f"{token} is a name, not a constant", page=_EXPRESSIONS)
        if token != "WARP_SZ" and not _INTEGER.match(token) and not _FLOAT.match(token):
            raise self.error(f"expected a constant, not {self.shown()}", page=_EXPRESSIONS)
        value = self.simple(token)
        constant = _page("constant_expressions").Constant
        if isinstance(value, Real):
            return constant("f64", value.bits)
        assert isinstance(value, Number)
        return constant(_page("literals").integer_type(value.value, token.endswith("U")), value.value)

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
        if token == "(" and self._begins_list():
            self.i += 1
            arguments: list[Operand] = []
            while not self.accept(")"):
                arguments.append(self.constant())
                if tokens[self.i] != ")":
                    self.take(",")
            return Parens(tuple(arguments))
        if token == "!" and _WORD.match(tokens[self.i + 1]) and tokens[self.i + 1] != "WARP_SZ":
            self.i += 1
            return Not(Name(self.word("a predicate")))
        if token == "-" and _WORD.match(tokens[self.i + 1]) and tokens[self.i + 1] != "WARP_SZ":
            self.i += 1
            named = self.simple(tokens[self.i])
            self.i += 1
            assert isinstance(named, Name | Part)
            return Part(named, None, True) if isinstance(named, Name) else named._replace(negated=True)
        if token == "WARP_SZ" or not (token == "_" or _WORD.match(token)):
            return self.constant()
        name = self.simple(token)
        self.i += 1
        if not isinstance(name, Name):
            return name
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
            return self._element(name)
        return name

    def _begins_list(self) -> bool:
        """Whether what a parenthesis opens is a list and not part of an expression: it begins with a name, is empty, has a comma,
        or is all there is of an operand that may be a list."""
        tokens, at, depth = self.tokens, self.i + 1, 1
        first = tokens[at]
        if first == ")" or (first != "WARP_SZ" and (first == "_" or _WORD.match(first))):
            return True
        while depth and tokens[at] not in ("", ";", "{", "}"):
            if tokens[at] == "," and depth == 1:
                return True
            depth += (tokens[at] == "(") - (tokens[at] == ")")
            at += 1
        if depth or tokens[at] not in (",", ";") or first[:1] == ".":
            return False
        from ptxspec.language.forms import registry  # only here, so that parsing does not need the pages

        opcode = registry().opcodes.get(self.mnemonic.split(".")[0])
        return opcode is not None and opcode.takes_lists

    def _element(self, array: Name) -> Element:
        """`a[2]`, after the opening bracket."""
        token, register, offset = self.tokens[self.i], None, 0
        if _WORD.match(token) and token != "WARP_SZ":
            register = Name(token)
            self.i += 1
            offset = _signed(self._integral("an index")) if self.accept("+") or self.tokens[self.i] == "-" else 0
        else:
            offset = _signed(self._integral("an index"))
        self.take("]")
        return Element(array, register, offset)

    def offset(self) -> int:
        """What is added to an address. A minus sign belongs to the expression."""
        if self.tokens[self.i] == "-":
            raise self.error("an offset is added: a negative one is written as +-4", page=_EXPRESSIONS)
        self.accept("+")
        return _signed(self._integral("a byte offset"))

    def _integral(self, what: str) -> int:
        """A constant expression that is an integer."""
        at, token = self.i, self.tokens[self.i]
        if token not in _PREFIXES and token != "WARP_SZ" and not _INTEGER.match(token):
            raise self.error(f"expected {what}, not {self.shown()}")
        value = self.constant()
        if not isinstance(value, Number):
            raise self.error(f"expected {what}, which is an integer", at, _EXPRESSIONS)
        return value.value

    def address(self) -> Address:
        token = self.tokens[self.i]
        if _WORD.match(token) and token not in ("_", "WARP_SZ"):
            self.i += 1
            found = Address(Name(token), self.offset() if self.tokens[self.i] in ("+", "-") else 0)
            if self.tokens[self.i] == ",":
                raise self.error(f"{self.mnemonic}: coordinates in an address are not supported yet")
            return found
        return Address(None, self._integral("an address"))


def _signed(value: int) -> int:
    """An integer's 64 bits as a signed number."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


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


def parse_fragment(source: Source) -> list[Statement]:
    """Instructions alone, as they would stand in a function's body."""
    parser = Parser(source)
    parser.tokens[-1:] = ["}", ""]
    parser.starts.append(parser.starts[-1])
    body = parser.body()
    if parser.tokens[parser.i]:
        raise parser.error("a '}' that closes nothing", parser.i - 1)
    return body
