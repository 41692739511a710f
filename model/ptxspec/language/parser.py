"""From PTX text to its tree, by the grammar of the pages below spec/syntax/.

A text is read to its end: after what cannot be read, reading goes on with the next statement, so that one run tells of many
errors.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ptxspec.base import collection
from ptxspec.base.escaping import shortened
from ptxspec.base.records import NamedTuple
from ptxspec.language.building.modules import FragmentHeading
from ptxspec.language.building.tree_builder import TreeBuilder
from ptxspec.language.diagnostics import Later, Source
from ptxspec.language.parser_generator import ParseFailure
from ptxspec.language.suggestions import did_you_mean
from ptxspec.language.syntax import syntax
from ptxspec.language.tree import ModuleTree, Statement, type_of
from ptxspec.language.words import END, UNKNOWN, Split

#: after so many errors a text is not read on
MOST_TOLD_OF = 20_000
_FORMAT = "spec/syntax/source-format.md"
#: a text of so many characters is read by its runs of instructions (runs.py), if it has no lines of a preprocessor
LONG, MARKER_SIGN = 10_000, "#"
#: the class of what begins and does not end
ENDLESS = "endless"
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


class ParsedText(NamedTuple):
    """What was read of a text: its tree, if there is enough of it, and the builder with its complaints. `whole` says
    whether all but single instructions could be read, so that what is declared is known."""

    module: ModuleTree | None
    build: TreeBuilder
    whole: bool


class Reading:
    """One run over a text."""

    def __init__(self, source: Source, split: Split | None = None):
        """`split` has the words of the text, if they are known."""
        self.source = source
        self.syntax = syntax()
        split = self.syntax.lexicon.split(source.text) if split is None else split
        self.split = split
        self.build = TreeBuilder(source, split, self.syntax.lexicon)
        self.whole, self.stopped = True, False
        self._markers()

    def _markers(self) -> None:
        """The lines of a preprocessor, which have no effect."""
        text, build = self.source.text, self.build
        for start in self.split.markers:
            problem = None
            end = text.find("\n", start)
            if text[text.rfind("\n", 0, start) + 1 : start].strip(" \t\r\f"):
                problem = "'#' belongs at the beginning of a line"
            elif not self.syntax.lexicon.matches("line_marker", text[start : len(text) if end < 0 else end]):
                problem = (
                    "a line with '#' says which file it came from, as in # 12 \"a.cu\"; others are for a preprocessor"
                )
            if problem:
                build.complaints.add(start, problem, _FORMAT)

    def rules(self) -> dict[str, Any]:
        """The functions of the rules, for these words."""
        build, split = self.build, self.split
        outside = {"constant": build.constant}
        recover, runs = self.recover, split.runs
        made = self.syntax.parser.make(split.words, split.classes, 0, build, fail, outside, recover, runs)
        self.reached = made["reached"]
        return made

    def note(self, failed: ParseFailure) -> None:
        """A complaint about where a rule did not go on."""
        if self.stopped:
            return
        at, split = failed.at, self.split
        page = failed.page or self._page(failed.rule)
        word = split.words[at]
        if split.classes[at] == UNKNOWN:
            message, page = f"cannot read {word!r}", _FORMAT
        elif split.classes[at] == ENDLESS:
            message, page = f"a {'comment' if word[0] == '/' else 'string'} that does not end", _FORMAT
        elif failed.message is not None:
            message = failed.message
        elif failed.expected is None:
            message = "this is nested too deep"
        else:
            shown = "the end of the text" if split.classes[at] == END else repr(word)
            message = f"expected {failed.expected}, not {shown}"
            if split.classes[at] == "directive":
                text = message
                self.build.complain(at, Later(lambda: (text + self._meant(word), page)))
                return
        self.build.complain(at, message, page)

    def _meant(self, word: str) -> str:
        """Which directives a word may have been meant to be."""
        known = self.syntax.literals
        return "" if word in known else did_you_mean(word, known)

    def _page(self, rule: str) -> str | None:
        from ptxspec.language.forms import page_name

        path = self.syntax.parser.pages.get(rule)
        return None if path is None else page_name(path)

    def recover(self, rule: str, first: int, failed: ParseFailure) -> int:
        """Where to go on after a failure in a `rule` that began at the word `first`. A negative number, -1 - i, ends
        the repetition of which the rule is a part: at the word i."""
        words, classes = self.split.words, self.split.classes
        outer = rule == "member"
        if self.build.complaints.count >= MOST_TOLD_OF:
            self.stopped, self.whole, self.build.complaints.whole = True, False, False
            return -1 - (len(words) - 3)
        if not outer and failed.at == first and words[first] in self._outer_only():
            return -1 - first  # a brace is missing before it
        if self.split.runs:
            raise failed
        self.note(failed)
        if outer or (classes[first] not in ("name", "dotted") and words[first] != "@"):
            self.whole = False
        i = failed.at
        depth = words[first:i].count("{") - words[first:i].count("}")
        while words[i]:
            word = words[i]
            if i > first and self._begins(rule, i, depth):
                return i
            if word == ";" and (depth <= 0 or not outer):
                return i + 1
            if word == "}":
                if not outer and depth <= 0:
                    return i  # of the body
                depth -= 1
                if outer and depth <= 0:
                    return i + 1 + (words[i + 1] == ";")
            depth += word == "{"
            i += 1
        return i

    def _outer_only(self) -> frozenset[str]:
        """Words that begin something in a module and nothing in a function."""
        begins = self.syntax.begins
        return begins["member"][0] - begins["statement"][0]

    def _begins(self, rule: str, at: int, depth: int) -> bool:
        """Whether something new may begin at a word: it is the first of its line, and the next fits too. What only a
        module has begins anywhere; else the braces since the failure are closed."""
        words, classes, starts = self.split.words, self.split.classes, self.split.starts
        if words[at] in self._outer_only() and classes[at] == "directive":
            return True
        if depth > 0:
            return False
        first, second = self.syntax.begins[rule]
        if words[at] not in first and classes[at] not in first:
            return False
        if words[at + 1] not in second and classes[at + 1] not in second:
            return False
        return "\n" in self.source.text[starts[at - 1] : starts[at]]

    def module(self) -> ParsedText:
        module: ModuleTree | None = None
        if self.source.is_a_path:
            name = shortened(self.source.text, 200)
            message = f"this is the name of a file, not its text: read it, as in load(Path({name!r}).read_text())"
            self.build.complaints.add(0, message)
            return ParsedText(None, self.build, False)
        rules = self.rules()
        try:
            module = rules["module"]()
            at = self.reached()
            if self.split.classes[at] != END and not self.stopped:
                raise AssertionError(f"{self.split.words[at]!r} was not read")
        except ParseFailure as failed:
            self.note(failed)
            self.whole = False
        finally:
            rules["let_go"]()
        return ParsedText(module, self.build, self.whole)


def fail(at: int, rule: str, expected: str | None) -> NoReturn:
    raise ParseFailure(at, rule, expected)


def read(source: Source) -> ParsedText:
    """All that can be read of a module."""
    if len(source.text) >= LONG and MARKER_SIGN not in source.text:
        by_runs = Reading(source, syntax().runs.split(source.text)).module()
        if by_runs.whole and not by_runs.build.complaints:
            return by_runs
    return Reading(source).module()


def parse(text: str, path: str = "<ptx>") -> ModuleTree:
    """The tree of a module's text. Raises PtxError with every error of syntax."""
    return parse_source(Source(text, path))


@collection.paused()
def parse_source(source: Source) -> ModuleTree:
    reading = read(source)
    if reading.build.complaints or reading.module is None:
        raise reading.build.complaints.error()
    return reading.module


def ended(text: str) -> str:
    """The text of a fragment with the semicolon that may be missing after its last instruction."""
    words, starts = syntax().lexicon.upto(text, 0, "")
    while words and not words[-1]:
        words.pop()
    if not words or words[-1] in (";", ":") or (words[-1] == "}" and words[-2:-1] in ([";"], ["{"])):
        return text
    end = starts[len(words) - 1] + len(words[-1])
    return f"{text[:end]};{text[end:]}"


def parse_fragment(source: Source) -> tuple[FragmentHeading | None, list[Statement]]:
    """Instructions alone, as they would stand in a function's body, and what stands before them of a module's heading."""
    reading = Reading(source)
    split, rules = reading.split, reading.rules()
    statements: list[Statement] = []
    heading: FragmentHeading | None = None
    if split.words[0] in (".version", ".target"):
        try:
            heading = rules["heading"]()
        except ParseFailure as failed:
            reading.note(failed)
            raise reading.build.complaints.error() from None
    while split.classes[reading.reached()] != END and not reading.stopped:
        first = reading.reached()
        try:
            statement = rules["statement"]()
            statements += statement if type_of(statement) is list else [statement]
        except ParseFailure as failed:
            after = reading.recover("statement", first, failed)
            if after < 0:  # what only a module has
                reading.note(failed)
            rules["begin_at"](max(after, first + 1))
    if reading.build.complaints:
        raise reading.build.complaints.error()
    return heading, statements


def statement(text: str, position: int) -> str:
    """The statement that begins at an offset, to its semicolon, with white space and comments as single blanks."""
    words, starts = syntax().lexicon.upto(text, position, ";")
    parts = []
    end = position
    for word, start in zip(words, starts, strict=True):
        parts.append((" " if start > end else "") + word)
        end = start + len(word)
    return "".join(parts).strip()


def operand_offset(text: str, position: int, index: int) -> int:
    """The offset of an operand of the instruction whose opcode stands at `position`."""
    words, starts = syntax().lexicon.upto(text, position, ";")
    depth, i = 0, 1
    lexicon = syntax().lexicon
    while i < len(words) and lexicon.class_of(words[i]) == "directive":
        i += 1
    while index and i < len(words):
        depth += (words[i] in _BRACKETS) - (words[i] in _BRACKETS.values())
        index -= words[i] == "," and not depth
        i += 1
    return starts[min(i, len(starts) - 1)]
