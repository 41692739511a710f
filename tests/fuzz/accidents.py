"""What happens to texts: accidents to bytes, words, lines and larger pieces, and texts that the grammar of the pages makes."""

from __future__ import annotations

import importlib
import json
import lzma
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ptxspec.base.places import DOCUMENTS
from ptxspec.literate import finder, grammar

CORPUS = DOCUMENTS / "tests" / "corpus"
#: texts that are longer are used less often: reading takes time in proportion
SHORT = 6000
WORD = re.compile(r"\s+|[\w.%$]+|.", re.S)
STRANGE = [
    "-", "<<", "?", "~", "&&", "(.s64)", "1.5", ".section", '# 1 "a"\n', ".v4", "v.y", "9999999999", "{", "}", "[", "]", "_", "@", "/*", "//", '"',
    "\x00", "é", "٣", "0x", "1e999", "0f", "=", ".func", ".reg", ".param", ".pred", "::", "U", "08", "-1", ".align", "|", "!", ";", ":", "%tid", "(", ")",
    "#", "\\", "'", "\r", "\x0b", "\u2028", "\u202e", "\x1b[31m", "\x7f", "\ufeff", "𝟘", "\ud800", ".entry", "%", "$", ",", "0b", "WARP_SZ", ".const[2]",
    ".alias", "a,", ".extern", ".weak", ".common", ".visible", ".b128", ".noreturn", ".maxntid", ".branchtargets", ".calltargets", ".callprototype",
    "generic(", "mask(", "0xffffffffffffffff", "18446744073709551616", ".pragma", ".loc", ".file", ".target", ".version", ".tex", "%p<5>", "x<65536>",
]  # fmt: skip
UNITS = [
    "{",
    "(",
    "[",
    "-",
    "~",
    "1+",
    "(1)?",
    "/*",
    '"',
    "a::",
    ".b8 1,",
    "{}",
    "x ",
    "@",
    "!",
    "\n",
    "0",
    "9",
    "a.",
    "[1]",
    "{1,",
    ",",
    ";",
    "L:",
    ".v4 ",
]

Accident = Callable[[str, random.Random], str]


@cache
def corpus() -> list[str]:
    """Modules that nvcc printed, and that people wrote."""
    printed = json.loads(lzma.decompress((CORPUS / "compiled.json.xz").read_bytes()))
    written = [path.read_text() for path in sorted((CORPUS / "written").glob("*.ptx"))]
    return [*written * 4, *(text for _, text in sorted(printed.items()))]


def module(source: random.Random) -> str:
    """A module of the corpus, a short one mostly."""
    while True:
        text = source.choice(corpus())
        if len(text) < SHORT or source.random() < 0.05:
            return text


# accidents -----------------------------------------------------------------------------------------------------------------


def _words(text: str, source: random.Random) -> str:
    words = WORD.findall(text) or [" "]
    i, j, kind = source.randrange(len(words)), source.randrange(len(words)), source.randrange(7)
    if kind == 0:
        del words[i]
    elif kind == 1:
        words[i], words[j] = words[j], words[i]
    elif kind == 2:
        words[i] = words[j]
    elif kind == 3:
        words.insert(i, words[j])
    elif kind == 4:
        words[i] = source.choice(STRANGE)
    elif kind == 5:
        words.insert(i, source.choice(STRANGE))
    else:  # another word of its kind
        like = [w for w in words if w[:2] == words[i][:2] and w != words[i]]
        words[i] = source.choice(like or words)
    return "".join(words)


def _characters(text: str, source: random.Random) -> str:
    i, kind = source.randrange(len(text) + 1), source.randrange(3)
    strange = chr(source.choice([source.randrange(1, 128), source.randrange(1, 256), source.randrange(1, 0xD800)]))
    return [text[:i] + text[i + 1 :], text[:i] + strange + text[i:], text[:i] + strange + text[i + 1 :]][kind]


def _lines(text: str, source: random.Random) -> str:
    lines = text.split("\n")
    i, j, kind = source.randrange(len(lines)), source.randrange(len(lines)), source.randrange(5)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(i, lines[j])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        lines[i:i] = lines[min(i, j) : max(i, j)][:40]
    else:
        del lines[min(i, j) : max(i, j)]
    return "\n".join(lines)


def _cut(text: str, source: random.Random) -> str:
    i = source.randrange(len(text) + 1)
    return text[:i] if source.random() < 0.7 else text[i:]


def _again(text: str, source: random.Random) -> str:
    """A piece many times."""
    i = source.randrange(len(text) + 1)
    piece = text[i : i + source.choice([1, 5, 40, 200])]
    times = min(source.choice([2, 10, 300, 3000]), 200_000 // max(1, len(piece)))
    return text[:i] + piece * times + text[i:]


def _deep(text: str, source: random.Random) -> str:
    """A run of openings and the like, with or without what closes them."""
    i, unit, times = source.randrange(len(text) + 1), source.choice(UNITS), source.choice([3, 50, 1000, 20_000])
    closing = {"{": "}", "(": ")", "[": "]"}.get(unit, "")
    return text[:i] + unit * times + (closing * times if source.random() < 0.5 else "") + text[i:]


def _numbers(text: str, source: random.Random) -> str:
    """Another number, one without measure perhaps."""
    found = list(re.finditer(r"\b\d+\b", text))
    if not found:
        return text
    at = source.choice(found)
    number = source.choice(
        [
            "0",
            "-1",
            "4294967296",
            "1" * 30,
            "9" * 5000,
            "0x" + "f" * 400,
            "1.0e400",
            "65536",
            "1073741824",
            "2147483648",
            "08",
            "0.5",
            "7",
        ]
    )
    return text[: at.start()] + number + text[at.end() :]


def _joined(text: str, source: random.Random) -> str:
    """Pieces of two modules."""
    other = module(source)
    i, j = source.randrange(len(text) + 1), source.randrange(len(other) + 1)
    return text[:i] + other[j:]


ACCIDENTS: list[Accident] = [
    _words,
    _words,
    _words,
    _words,
    _lines,
    _lines,
    _characters,
    _characters,
    _cut,
    _again,
    _deep,
    _numbers,
    _joined,
]


def mutant(text: str, source: random.Random) -> str:
    """The text after a few accidents."""
    for _ in range(source.choice([1, 1, 1, 2, 3, 6])):
        text = source.choice(ACCIDENTS)(text, source)
        if len(text) > 400_000:
            break
    return text


# texts of the grammar --------------------------------------------------------------------------------------------------------

#: words of the classes that grammar refers to
SAMPLES = {
    "name": ["a", "b", "f", "g", "%r1", "%p0", "$x", "_a", "k", "L1", "tex"],
    "dotted": ["v.x", "v.y", "%tid.x", "a.b"],
    "integer": ["0", "1", "7", "16", "0x1f", "017", "0b11", "5U", "4294967295"],
    "decimal": ["1.5", "0.0", "1e3", "2.5e-3"],
    "bits": ["0f3F800000", "0d3FF0000000000000"],
    "version": ["9.0", "1.4", "2.3"],
    "directive": [".u32", ".b64", ".f32", ".pred", ".v4", ".global", ".x", ".lo", ".b8", ".texref", ".s16"],
    "string": ['"a"', '"\\n"', '""'],
    "predefined": ["WARP_SZ"],
    "bank": [".const[1]", ".const[10]"],
    "endless": ['"a'],
}
OPCODES = [
    "add.u32",
    "mov.b32",
    "ld.global.u32",
    "st.shared.b8",
    "bra",
    "ret",
    "setp.eq.s32",
    "bar.sync",
    "exit",
    "mad.lo.s32",
    "brx.idx",
]


@cache
def rules() -> dict[str, grammar.GrammarRule]:
    """The grammar of the pages."""
    finder.install()
    found = {}
    for name, path in finder.pages("ptxspec.spec", "syntax"):
        document = finder.document_of(importlib.import_module(name))
        found.update({r.name: r for fence in document.of("grammar") for r in grammar.rules_of(fence, str(Path(path)))})
    return found


class Speaker:
    """Says what the grammar allows, with so many words at most, more or less."""

    def __init__(self, source: random.Random, words: int):
        self.source, self.left = source, words

    def say(self, name: str) -> str:
        return " ".join(self._node(grammar.Reference(name, None), 0))

    def _node(self, node: grammar.Node, depth: int) -> list[str]:
        self.left -= 1
        often = 0.5 if self.left > 0 and depth < 60 else 0.0
        if isinstance(node, grammar.Literal):
            return [node.text]
        if isinstance(node, grammar.Reference):
            return self._reference(node.name, depth)
        if isinstance(node, grammar.Sequence):
            return [word for item in node.items for word in self._node(item, depth + 1)]
        if isinstance(node, grammar.Choice):
            ways = node.alternatives if often else node.alternatives[-1:]
            return self._node(self.source.choice(ways), depth + 1)
        if isinstance(node, grammar.Optional):
            return self._node(node.item, depth + 1) if self.source.random() < often else []
        found: list[str] = []
        while self.source.random() < (0.7 if often else 0) and len(found) < 300:
            found += self._node(node.item, depth + 1)
        return found

    def _reference(self, name: str, depth: int) -> list[str]:
        if name in SAMPLES:
            return [self.source.choice(SAMPLES[name])]
        if name == "mnemonic":
            return [self.source.choice(OPCODES)]
        if name not in rules() or depth > 90:
            return [self.source.choice(["1", "a"])]
        return self._node(rules()[name].node, depth + 1)


def spoken(source: random.Random) -> str:
    """A module as the grammar allows it, and little else."""
    head = f".version {source.choice(['9.0', '7.0', '3.1', '2.1', '1.4'])}\n.target {source.choice(['sm_90', 'sm_70', 'sm_20', 'sm_10'])}\n"
    speaker = Speaker(source, source.choice([30, 100, 400]))
    rule = source.choice(
        [n for n in rules() if n in ("member", "statement", "body", "instruction", "module")] or list(rules())
    )
    said = " ".join(speaker.say(rule) for _ in range(source.randint(1, 8)))
    if rule in ("statement", "instruction"):
        said = f".visible .entry k() {{ .reg .b32 %r<9>; {said} }}"
    elif rule == "body":
        said = f".func f() {said}"
    return (
        re.sub(r" (\.\w+) ", r"\1 ", head + said.replace(" . ", "."))
        if source.random() < 0.3
        else head + said.replace(";", ";\n")
    )
