"""A parser from the rules of the pages: of each rule a Python function, which reads it from left to right. It is written when it
is first called, since most texts need a part of the rules.

What comes next is decided by the next word or, where that leaves a choice, by up to three; of alternatives that these
do not tell apart, the first is taken. Every message follows from the rules too: what could have stood at a place is
what the page calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.language.first_sets import AHEAD, ENDS, Grammar, Place, after
from ptxspec.language.words import RUN, Lexicon
from ptxspec.literate.documents import DocumentError
from ptxspec.literate.grammar import Choice, GrammarRule, Literal, Node, Optional, Reference, Repetition, Sequence

#: the rule of which several may be read already, where they stand one after another
IN_RUNS = "statement"
#: how deep rules may be nested in themselves
MOST_NESTED = 150


Texts = tuple[str, ...]


class Pending(NamedTuple):
    """Something that may be left out: the variable that has the place at which it was looked for, what messages call
    it, and what could have gone on after it."""

    variable: str
    called: tuple[str, ...]
    more: tuple[str, ...]


class RuleText(NamedTuple):
    """A rule's function as Python writes it, the names that all functions of a run share, and the values that it has of its own:
    sets of words and classes, and what could have stood where the rule does not go on."""

    source: str
    shared: tuple[str, ...]
    known: dict[str, Any]


class RuleCode(NamedTuple):
    """The code of a rule's function, which names what the run has, and the values that it has of its own."""

    code: CodeType
    known: dict[str, Any]

    @classmethod
    def of(cls, name: str, text: RuleText) -> RuleCode:
        within = f"def within():\n    {' = '.join(text.shared)} = None\n{text.source}"
        module = compile(within, f"<assembled from spec/syntax: {name}>", "exec", dont_inherit=True)
        code = next(c for c in _parts(module) if c.co_name == f"rule_{name}")
        return cls(code, {"ParseFailure": ParseFailure, "expected": _expected, **text.known})

    def function(self, cells: Cells) -> Callable[[], Any]:
        """The function for a run that has these."""
        return FunctionType(self.code, self.known, closure=tuple(cells[name] for name in self.code.co_freevars))


def _called(cell: CellType) -> Any:
    """Call what a cell has now."""
    return cell.cell_contents()


def _parts(code: CodeType) -> list[CodeType]:
    """The codes within a code."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [*inner, *(part for code in inner for part in _parts(code))]


class Cells(dict[str, CellType]):
    """What the functions of a run share, by the names that they have for it; what few texts need is there when it is first asked
    for."""

    def __init__(self, shared: dict[str, CellType], build: Any, outside: dict[str, Any], first: Callable[..., Any]):
        """`first` is called with a name and the cells where a rule is read for the first time."""
        super().__init__(shared)
        self._build, self._outside, self._first = build, outside, first

    def __missing__(self, name: str) -> CellType:
        kind, _, of = name.partition("_")
        if kind == "rule":
            cell = CellType(partial(self._first, of, self))
        else:
            cell = CellType(getattr(self._build, of) if kind == "build" else self._outside[of])
        self[name] = cell
        return cell

    def let_go(self) -> None:
        for name, cell in self.items():
            if name.startswith("rule_"):
                cell.cell_contents = None


class RuleFunctions(dict[str, Callable[..., Any]]):
    """The functions of a run by the names of the rules, and others."""

    def __init__(self, others: dict[str, Callable[..., Any]], cells: Cells):
        super().__init__(others)
        self._cells = cells

    def __missing__(self, name: str) -> Callable[[], Any]:
        function = self[name] = partial(_called, self._cells[f"rule_{name}"])
        return function


class Assembled:
    """A parser. `pages` has the page of each rule."""

    def __init__(self, assembly: Assembly):
        self._assembly = assembly
        self._codes: dict[str, RuleCode] = {}
        self.pages = {rule.name: rule.path for rule in assembly.rules.values()}

    @property
    def source(self) -> str:
        """The functions of all rules."""
        return "".join(self._assembly.text(rule).source for rule in self._assembly.rules.values())

    def make(
        self,
        words: Any,
        classes: Any,
        begin: int,
        build: Any,
        fail: Any,
        outside: dict[str, Any],
        recover: Any,
        runs: Any,
    ) -> dict[str, Callable[..., Any]]:
        """The functions of one run by the names of the rules, and others. The functions name one another: 'let_go' ends that, so
        that nobody needs to look for cycles."""
        shared = {"words": words, "classes": classes, "fail": fail, "recover": recover, "runs": runs}
        cells = Cells({name: CellType(value) for name, value in shared.items()}, build, outside, self._first)
        at = cells["i"] = CellType(begin)
        cells["nested"] = CellType(0)

        def begin_at(k: int) -> None:
            at.cell_contents = k

        return RuleFunctions({"begin_at": begin_at, "reached": lambda: at.cell_contents, "let_go": cells.let_go}, cells)

    def _first(self, name: str, cells: Cells) -> Any:
        """Call a rule's function for the first time in a run."""
        code = self._codes.get(name)
        if code is None:
            text = self._assembly.text(self._assembly.rules[name])
            code = self._codes[name] = RuleCode.of(name, text)
        function = cells[f"rule_{name}"].cell_contents = code.function(cells)
        return function()


class Assembly(Grammar):
    """Writes the parser. `built` are the rules for which there is something to build a part of the tree, `recovered`
    those after whose failures reading goes on in a repetition, `outside` the rules that are read by other means, with what they
    may begin with; `prefixes` is what `all_prefixes` gave for the same rules, if that is known."""

    def __init__(
        self,
        rules: Iterable[GrammarRule],
        lexicon: Lexicon,
        built: frozenset[str],
        recovered: frozenset[str],
        outside: dict[str, tuple[str, Place]],
        prefixes: dict[str, list[Place]] | None = None,
    ):
        super().__init__(rules, lexicon, built, outside, prefixes)
        self.recovered = recovered
        self._begin()
        for rule in self.rules.values() if prefixes is None else ():  # to see the mistakes of new rules
            self.text(rule)

    def _begin(self) -> None:
        """Begin with another rule."""
        self.lines: list[str] = []
        #: what the function names: values of its own, and what all functions of a run share
        self.named: dict[Any, str] = {}
        self.shared = {"i", "nested", "words", "classes", "fail", "recover", "runs"}
        self.variables = 0
        #: whether the rule has labels
        self.labelled = False

    def test(self, node: Node, others: list[list[Place]], rule: GrammarRule) -> str:
        """A condition that holds where the node begins and none of the others does."""
        prefixes = self.prefixes(node, rule)
        if ENDS in prefixes[0]:
            raise DocumentError(rule.path, rule.line, "what may be nothing cannot be left out or repeated")
        used = {0}
        for other in others:
            apart = [k for k in range(AHEAD) if not self.overlap(prefixes[k], other[k], k == 0)]
            if apart:
                used.add(apart[0])
            else:  # the first in the order of the page, if all that can be seen of it fits
                used |= {k for k in range(AHEAD) if ENDS not in prefixes[k]}
                if used == {0} and not all(isinstance(a, Literal) for a in prefixes[0]):
                    raise DocumentError(rule.path, rule.line, f"{AHEAD} words do not tell what {rule.name} is")
        return " and ".join(self._member(prefixes[k], k) for k in sorted(used))

    def _member(self, place: Place, k: int) -> str:
        at = "i" if k == 0 else f"i + {k}"
        literals = sorted(p.text for p in place if isinstance(p, Literal))
        classes = sorted(p for p in place if isinstance(p, str))
        tests = []
        if literals:
            tests.append(f"words[{at}] {self._among(literals)}")
        if classes:
            tests.append(f"classes[{at}] {self._among(classes)}")
        return tests[0] if len(tests) == 1 else f"({' or '.join(tests)})"

    def _among(self, texts: list[str]) -> str:
        return f"== {texts[0]!r}" if len(texts) == 1 else f"in {self._name(frozenset(texts))}"

    def _name(self, value: Any) -> str:
        """The name by which the functions have a value."""
        return self.named.setdefault(value, f"known_{len(self.named)}")

    # writing -----------------------------------------------------------------------------------------------------------

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def assembled(self) -> Assembled:
        return Assembled(self)

    def text(self, rule: GrammarRule) -> RuleText:
        """The function of a rule. Raises DocumentError for a rule that cannot be read from left to right."""
        writer = copy(self)
        writer._begin()
        writer._function(rule)
        known = {name: value for value, name in writer.named.items()}
        return RuleText("\n".join(writer.lines) + "\n", tuple(sorted(writer.shared)), known)

    def _share(self, name: str) -> str:
        self.shared.add(name)
        return name

    def _function(self, rule: GrammarRule) -> None:
        labels = list(dict.fromkeys(_labels(rule.node)))
        lists = {label for label in labels if _several(rule.node, label)}
        self.labelled = bool(labels)
        self.write(1, f"def rule_{rule.name}():")
        self.write(2, "nonlocal i, nested")
        self.write(2, "at = i")
        if rule.name in self.recursive:
            self.write(2, "nested += 1")
            self.write(2, f"if nested > {MOST_NESTED}: fail(i, {rule.name!r}, None)")
        if rule.called:
            first = self.prefixes(rule.node, rule)[0]
            if ENDS not in first:
                self.write(2, f"if not ({self._member(first, 0)}): fail(i, {rule.name!r}, {rule.called!r})")
        for label in labels:
            self.write(2, f"v_{label} = {'[]' if label in lists else 'None'}")
        if not labels:
            self._single_value(rule)
            self.write(2, "value = None")
        self._node(rule.node, rule, 2, lists)
        if rule.name in self.recursive:
            self.write(2, "nested -= 1")
        if not labels:
            result = f"{self._share(f'build_{rule.name}')}(at, value)" if rule.name in self.built else "value"
        elif rule.name in self.built:
            parts = ", ".join("v_" + label for label in labels)
            result = f"{self._share(f'build_{rule.name}')}(at, {parts})"
        elif len(labels) == 1:
            result = f"v_{labels[0]}"
        else:
            raise DocumentError(rule.path, rule.line, f"nothing makes a part of the tree of {rule.name}")
        self.write(2, f"return {result}")

    def _single_value(self, rule: GrammarRule) -> None:
        """Without labels, a rule has one thing at most that it stands for."""

        def count(node: Node) -> int:
            if isinstance(node, Reference):
                return 1
            if isinstance(node, Choice):
                return max(map(count, node.alternatives))
            if isinstance(node, Sequence):
                return sum(map(count, node.items))
            return 0 if isinstance(node, Literal) else count(node.item) * (2 if isinstance(node, Repetition) else 1)

        if count(rule.node) > 1:
            raise DocumentError(rule.path, rule.line, f"{rule.name} has several parts: they need labels")

    def _node(
        self,
        node: Node,
        rule: GrammarRule,
        depth: int,
        lists: set[str],
        before: list[Pending] | None = None,
        follow: list[Place] | None = None,
        known: bool = False,
    ) -> list[Pending]:
        """Code that reads a node. `before` is what could have stood here too, `follow` what may come after it; `known`
        says that the next word is one of those that it begins with. Returns what it may end in, and may lack."""
        labelled, before = self.labelled, before or []
        terminals = self.terminals(node._replace(label=None) if isinstance(node, Literal | Reference) else node)
        if terminals is not None and not (isinstance(node, Reference) and node.name in self.recovered):
            label = node.label if isinstance(node, Literal | Reference) else None
            if not known:
                self._demand(self._member(terminals, 0), node, rule, depth, before)
            if label is not None or (not labelled and (isinstance(node, Reference) or rule.node is node)):
                self._keep("words[i]", label, depth, lists, labelled)
            self.write(depth, "i += 1")
        elif isinstance(node, Reference):
            first = self.prefixes(node, rule)[0]
            if before and ENDS not in first:
                self._demand(self._member(first, 0), node, rule, depth, before)
            self._reference(node, depth, lists, labelled)
        elif isinstance(node, Sequence):
            return self._sequence(node, rule, depth, lists, before, known)
        elif isinstance(node, Choice):
            return self._choice(node, rule, depth, lists, before)
        elif isinstance(node, Repetition) and isinstance(node.item, Reference) and node.item.name in self.recovered:
            self._recovering(node.item, depth, lists, labelled, follow)
        else:
            assert isinstance(node, Optional | Repetition)
            others = [follow] if follow and ENDS not in follow[0] else []
            loop = "while" if isinstance(node, Repetition) else "if"
            self.write(depth, f"{loop} {self.test(node.item, others, rule)}:")
            self._node(node.item, rule, depth + 1, lists, known=True)
        return []

    def _reference(self, node: Reference, depth: int, lists: set[str], labelled: bool) -> None:
        """Code that reads what another rule tells: by hand-written Python, from what was read before, or by its function."""
        if node.name in self.outside:
            self.write(depth, f"value, i = {self._share(f'read_{node.name}')}(i)")
            self._keep("value", node.label, depth, lists, labelled)
        else:
            self._keep(f"{self._share(f'rule_{node.name}')}()", node.label, depth, lists, labelled)

    def _choice(
        self, node: Choice, rule: GrammarRule, depth: int, lists: set[str], before: list[Pending]
    ) -> list[Pending]:
        """Code that reads one of several alternatives."""
        last, top, ends = len(node.alternatives) - 1, len(self.lines), list[Pending]()
        for k, alternative in enumerate(node.alternatives):
            if k == last and ENDS in self.prefixes(alternative, rule)[0]:
                self.write(depth, "else:")
                self._node(alternative, rule, depth + 1, lists)
                return []
            others = [self.prefixes(a, rule) for a in node.alternatives[k + 1 :]]
            self.write(depth, f"{'el' if k else ''}if {self.test(alternative, others, rule)}:")
            ends += self._node(alternative, rule, depth + 1, lists, known=True)
        self.write(depth, "else:")
        self._demand("", node, rule, depth + 1, before)
        if ends:
            self.lines.insert(top, "    " * depth + " = ".join([*(p.variable for p in ends), "None"]))
        return ends

    def _recovering(
        self, item: Reference, depth: int, lists: set[str], labelled: bool, follow: list[Place] | None
    ) -> None:
        """Code that reads as many as there are, and goes on behind one that cannot be read."""
        closing = sorted(p.text for p in (follow or [frozenset()])[0] if isinstance(p, Literal))
        stop = "".join(f" and words[i] != {text!r}" for text in closing)
        self.write(depth, f"while words[i] != ''{stop}:")
        if item.name == IN_RUNS:
            self.write(depth + 1, f"if classes[i] == {RUN!r}:")
            self._keep("runs[i]", item.label, depth + 2, lists, labelled)
            self.write(depth + 2, "i += 1")
            self.write(depth + 2, "continue")
        self.write(depth + 1, "first, level = i, nested")
        self.write(depth + 1, "try:")
        self._keep(f"{self._share(f'rule_{item.name}')}()", item.label, depth + 2, lists, labelled)
        self.write(depth + 1, "except ParseFailure as failed:")
        self.write(depth + 2, f"nested = level; i = recover({item.name!r}, first, failed)")
        self.write(depth + 2, "if i < 0: i = -1 - i; break")

    def _sequence(
        self, node: Sequence, rule: GrammarRule, depth: int, lists: set[str], before: list[Pending], known: bool
    ) -> list[Pending]:
        pending = list(before)
        rests: list[list[Place]] = [[frozenset([ENDS])] * AHEAD]
        for other in reversed(node.items[1:]):
            rests.append(after(self.prefixes(other, rule), rests[-1]))
        for k, (item, rest) in enumerate(zip(node.items, reversed(rests), strict=True)):
            if isinstance(item, Optional | Repetition):
                self.variables += 1
                variable = f"at{self.variables}"
                self.write(depth, f"{variable} = i")
                self._node(item, rule, depth, lists, pending, rest)
                more = self._trailing(item, rule)
                pending.append(Pending(variable, tuple(self.called(item, rule)), tuple(more)))
            else:
                pending = self._node(item, rule, depth, lists, pending, rest, known and k == 0)
        return pending

    def _trailing(self, node: Node, rule: GrammarRule) -> list[str]:
        """What could have gone on after a node that was read."""
        if isinstance(node, Repetition):
            return [*self.called(node.item, rule), *self._trailing(node.item, rule)]
        if isinstance(node, Optional):
            return self._trailing(node.item, rule)
        names: list[str] = []
        for item in reversed(node.items) if isinstance(node, Sequence) else ():
            optional = isinstance(item, Optional | Repetition)
            names = [*(self.called(item, rule) if optional else []), *self._trailing(item, rule), *names]
            if not optional:
                break
        return names

    def _demand(self, condition: str, node: Node, rule: GrammarRule, depth: int, before: list[Pending]) -> None:
        """Code that fails where a condition does not hold, and says what could have stood there."""
        names = self.called(node, rule)
        text = repr(_listed(names))
        if before:
            places = self._name((tuple((p.called, p.more) for p in before), tuple(names)))
            text = f"expected(i, {places}, {', '.join(p.variable for p in before)})"
        start = f"if not {condition}: " if condition else ""
        self.write(depth, f"{start}fail(i, {rule.name!r}, {text})")

    def _keep(self, value: str, label: str | None, depth: int, lists: set[str], labelled: bool) -> None:
        if label is None:
            self.write(depth, value if labelled else f"value = {value}")
        elif label in lists:
            self.write(depth, f"v_{label}.append({value})")
        else:
            self.write(depth, f"v_{label} = {value}")


class ParseFailure(Exception):
    """A rule does not go on here. `at` counts words; `expected` is what could have stood there."""

    def __init__(self, at: int, rule: str, expected: str | None, message: str | None = None, page: str | None = None):
        self.at, self.rule, self.expected, self.message, self.page = at, rule, expected, message, page


def _listed(called: list[str]) -> str:
    """`a, b or c`"""
    distinct = list(dict.fromkeys(called))
    return " or ".join([", ".join(distinct[:-1]), distinct[-1]]) if len(distinct) > 1 else distinct[0]


def _expected(i: int, known: tuple[tuple[tuple[Texts, Texts], ...], Texts], *places: int | None) -> str:
    """What could have stood at the word i: the names that are known, and of what came before it what was not there or what goes
    on. `places` are those at which that was looked for."""
    before, names = known
    expected: list[list[str]] = []
    for at, (called, more) in reversed(list(zip(places, before, strict=True))):
        if at is None:  # of an alternative that was not taken
            continue
        expected.append(list(called if at == i else more))
        if at != i:
            break
    return _listed([*(c for called in reversed(expected) for c in called), *names])


def _labels(node: Node) -> list[str]:
    if isinstance(node, Literal | Reference):
        return [node.label] if node.label else []
    if isinstance(node, Choice):
        return [label for a in node.alternatives for label in _labels(a)]
    if isinstance(node, Sequence):
        return [label for item in node.items for label in _labels(item)]
    return _labels(node.item)


def _several(node: Node, label: str) -> bool:
    """Whether a label may be given more than once."""

    def most(node: Node) -> int:
        if isinstance(node, Literal | Reference):
            return int(node.label == label)
        if isinstance(node, Choice):
            return max(map(most, node.alternatives))
        if isinstance(node, Sequence):
            return sum(map(most, node.items))
        return most(node.item) * (2 if isinstance(node, Repetition) else 1)

    return most(node) > 1
