"""Runs of instructions and labels: most of a long text. They are read a statement at a time, not a word at a time.

What an operand, a guard or a statement of some shape is, the rules of the grammar say, of the first one that is written so. Where
this does not apply, the words stay, and the parser reads them. A text in which anything is wrong is read by its words alone, so
that what is said of it does not depend on this."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from ptxspec.language.building.tree_builder import TreeBuilder
from ptxspec.language.diagnostics import Source
from ptxspec.language.operand_templates import Kinds, Templates
from ptxspec.language.parser_generator import Assembled, ParseFailure
from ptxspec.language.tree import Instruction, Label, Operand
from ptxspec.language.words import BLANK, RUN, Lexicon, Split

#: what a statement may end or begin with: behind one of these words, an instruction may begin
_BORDERS = frozenset({";", "{", "}", ":"})
#: what may be an instruction on a line, or a label alone. It need not be one: its parts are read by the grammar. So that hostile
#: texts do not take quadratic time, none is long
_STATEMENT = r"""(?:{blank})*+(?:
    (?:(@[!%\w$]{{1,99}}+)[ \t]++)?([A-Za-z][\w.:]{{0,99}}+)(?:[ \t]++([\w$%.,+\-\[\]{{}}|!\ \t]{{1,400}}+))?;
    | ([\w$%]{{1,400}}+):(?=[ \t\r\f\n]*+[^ \t\r\f\n./]))"""
#: so many shapes are remembered, of all texts
_MOST_SHAPES = 100_000
#: a line behind which an instruction may begin though it has no such word
_LINE = r"(?:{blank})*+\.loc[\w.,+$ \t]*+\n"
_OPERAND = re.compile(r"(?:[^,{}\[\]]|\{[^{}]*\}|\[(?:[^\[\]{}]|\{[^{}]*\})*\])+")
_new: Callable[..., Any] = tuple.__new__


class Unfit(Exception):
    """What is to be read by its words."""


class Runs:
    """Finds the instructions of texts that need not be read by their words."""

    def __init__(self, lexicon: Lexicon, parser: Assembled, fixed: frozenset[str]):
        """`fixed` are the names to which the grammar gives a meaning."""
        self.lexicon, self.parser, self.fixed = lexicon, parser, fixed
        #: by opcode with modifiers, number of operands and whether there is a guard: the first of them, None if they are unfit
        self._shapes: dict[tuple[str, int, bool], str | None] = {}
        #: whether the parser has read a label as it is read here
        self._has_labels = False
        self.templates = Templates()

    @cached_property
    def _next(self) -> re.Pattern[str]:
        return re.compile(_STATEMENT.format(blank=self.lexicon.pattern(BLANK)), re.X | re.S | re.A)

    @cached_property
    def _line(self) -> re.Pattern[str]:
        return re.compile(_LINE.format(blank=self.lexicon.pattern(BLANK)), re.X | re.S | re.A)

    def split(self, text: str) -> Split:
        """The words of a text, in which a run of instructions is one."""
        words: list[str] = []
        starts: list[int] = []
        runs: dict[int, list[Instruction | Label]] = {}
        parts = _Parts(self)
        operands, guards = _KnownTexts(parts, "operand"), _KnownTexts(parts, "guard")
        if len(self._shapes) > _MOST_SHAPES:
            self._shapes.clear()
        at = 0
        while True:
            run, after = self._run(text, at, operands, guards)
            if run:
                runs[len(words)] = run
                words.append(RUN)
                starts.append(run[0].position)
            line = self._line.match(text, after)
            if line is not None:
                at = line.end()
                self.lexicon.into(text, after, frozenset(), words, starts, at)
                continue
            at = self.lexicon.into(text, after, _BORDERS, words, starts)
            if at < 0:
                break
        parts.rules["let_go"]()
        classes = self.lexicon.classes(words)
        for i in runs:
            classes[i] = RUN
        return Split(words, classes, starts, [], runs).ended(len(text))

    def _run(
        self, text: str, at: int, operands_of: _KnownTexts, guards: _KnownTexts
    ) -> tuple[list[Instruction | Label], int]:
        """The instructions and labels that follow from an offset on, and where they end."""
        run: list[Instruction | Label] = []
        operand, shapes, parts = operands_of.__getitem__, self._shapes, operands_of.parts
        try:
            for match in iter(self._next.scanner(text, at).match, None):  # type: ignore[attr-defined]
                guard, opcode, written, label = match.groups()
                if label is not None:
                    run.append(self._label(label, match.start(4), parts))
                    at = match.end()
                    continue
                if written is None:
                    operands: tuple[Operand, ...] = ()
                else:
                    written = written.replace(", ", ",")  # so that an operand is written alike wherever it stands
                    operands = tuple(map(operand, _parted(written) if "{" in written else written.split(",")))
                given = guards[guard] if guard is not None else None
                key = (opcode, len(operands), guard is not None)
                mnemonic = shapes.get(key)
                position = match.start(2)
                if mnemonic is None:
                    mnemonic = self._shape(key, Instruction(opcode, operands, given, position), match, parts)
                run.append(_new(Instruction, (mnemonic, operands, given, position)))
                at = match.end()
        except Unfit:
            pass
        return run, at

    def _label(self, name: str, position: int, parts: _Parts) -> Label:
        """A label, which the parser reads so. Raises Unfit."""
        if self.lexicon.class_of(name) != "name":
            raise Unfit
        if not self._has_labels and parts.read("statement", f"{name}:") != Label(name, 0):
            raise Unfit
        self._has_labels = True
        return Label(name, position)

    def _shape(self, key: tuple[str, int, bool], instruction: Instruction, match: re.Match[str], parts: _Parts) -> str:
        """The opcode of instructions of a shape, if the parser reads the first of them so."""
        if key not in self._shapes:
            first = match.start(1 if key[2] else 2)
            read = parts.read("statement", match.string[first : match.end()])
            is_so = isinstance(read, Instruction) and read == instruction._replace(position=read.position)
            self._shapes[key] = key[0] if is_so and parts.split.words[read.position] == key[0] else None
        mnemonic = self._shapes[key]
        if mnemonic is None:
            raise Unfit
        return mnemonic


def _parted(operands: str) -> list[str]:
    """Operands that are separated by commas, some of them in braces."""
    parts = _OPERAND.findall(operands)
    if ",".join(parts) != operands:
        raise Unfit
    return parts


class _Parts:
    """The parts of statements of one text, by how they are written."""

    def __init__(self, runs: Runs):
        self.runs, self.lexicon, self.parser = runs, runs.lexicon, runs.parser
        self.kinds = Kinds(runs.lexicon, runs.fixed)
        self._begin()

    def _begin(self) -> None:
        self.split = Split([], [], [], [], {})
        self.build = TreeBuilder(Source(""), self.split, self.lexicon)
        words, classes, outside = self.split.words, self.split.classes, {"constant": self.build.constant}
        self.rules: dict[str, Any] = self.parser.make(words, classes, 0, self.build, _unfit, outside, _unfit, {})

    def read(self, rule: str, text: str) -> Any:
        """What a rule of the grammar makes of a text, all of whose words it takes; positions in it are numbers of words. Raises
        Unfit."""
        words = self.lexicon.words(text)
        operand = self.runs.templates.made(words, self.kinds, self._operand) if rule == "operand" else None
        return self._parsed(rule, words) if operand is None else operand

    def _operand(self, words: list[str]) -> Operand | None:
        """What the parser makes of the words of an operand, None if nothing."""
        try:
            operand: Operand = self._parsed("operand", words)
        except Unfit:
            return None
        return operand

    def _parsed(self, rule: str, given: list[str]) -> Any:
        """What the parser makes of words, which it takes all. Raises Unfit."""
        words, classes, starts = self.split[:3]
        words[:] = given
        classes[:] = map(self.lexicon.class_of, words)
        starts[:] = range(len(words))
        self.split.ended(0)
        self.rules["begin_at"](0)
        try:
            value = self.rules[rule]()
            if self.rules["reached"]() == len(given) and self.build.is_quiet:
                return value
        except (ParseFailure, Unfit):
            pass
        self.rules["let_go"]()
        self._begin()
        raise Unfit


def _unfit(*_: object) -> Any:
    raise Unfit


class _KnownTexts(dict[str, Any]):
    """What a rule of the grammar makes of texts."""

    def __init__(self, parts: _Parts, rule: str):
        super().__init__()
        self.parts, self._rule = parts, rule
        self._unfit: set[str] = set()

    def __missing__(self, text: str) -> Any:
        bare = text.strip(" \t")
        if bare != text:
            value = self[bare]
        elif text in self._unfit:
            raise Unfit
        else:
            try:
                value = self.parts.read(self._rule, text)
            except Unfit:
                self._unfit.add(text)
                raise
        self[text] = value
        return value
