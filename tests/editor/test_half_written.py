"""What the server knows of a document, also of one that is half written: statements, names, and what may come next."""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path

import effort
import pytest

from ptxspec.editor.completion import complete
from ptxspec.editor.document import OpenDocument
from ptxspec.editor.hover import hover
from ptxspec.editor.pages import Links
from ptxspec.editor.renaming import renamed
from ptxspec.editor.text import EncodedText
from ptxspec.language import tree
from ptxspec.language.check import check
from ptxspec.language.forms import registry
from ptxspec.language.outline import RunKind, mnemonic_at
from ptxspec.language.parser import parse
from ptxspec.language.specials import special_registers

HERE = Path(__file__).resolve().parent
EXAMPLES = sorted((HERE.parents[1] / "docs" / "examples").glob("*/*.ptx"))
sys.path.append(str(HERE.parent / "corpus"))
from seeds import nvcc, written  # noqa: E402

sys.path.append(str(HERE.parent / "language"))
from test_load_time import instructions  # noqa: E402

MODULES = {**{path.stem: path.read_text() for path in EXAMPLES}, **written()}


def document(text: str) -> OpenDocument:
    return OpenDocument(EncodedText(text), "k.ptx")


@pytest.mark.parametrize("name", sorted(MODULES))
def test_statements_are_those_of_the_grammar(name: str) -> None:
    """Where a text can be read, what the words alone say of it is what the parser says."""
    same_statements(MODULES[name])


@pytest.mark.long
def test_statements_of_what_nvcc_printed() -> None:
    for text in nvcc().values():
        same_statements(text)


def same_statements(text: str) -> None:
    module, own = parse(text), document(text)
    names, split = own.names, own.split
    body = [item for f in module.functions for item in f.body or ()]
    starts = {split.starts[mnemonic_at(split, r)] for r in own.runs if r.kind is RunKind.INSTRUCTION}
    assert starts == {item.position for item in body if isinstance(item, tree.Instruction)}
    labels = {split.starts[r.first] for r in own.runs if r.kind in (RunKind.LABEL, RunKind.TABLE)}
    sections = {r.first for r in own.runs if r.kind is RunKind.DATA}
    if not sections:
        assert labels == {i.position for i in body if isinstance(i, tree.Label | tree.Targets | tree.Prototype)}
    variables = [v for v in (*module.variables, *body) if isinstance(v, tree.Variable)]
    declared = [(s.name, s.many) for s in names.symbols if s.run.kind is RunKind.VARIABLES]
    assert sorted(declared, key=str) == sorted(((v.name, v.repeat) for v in variables), key=str)
    formals = [p for f in module.functions for p in (*f.returns, *f.parameters)]
    assert len([s for s in names.symbols if s.run.kind is RunKind.FUNCTION]) == len(formals) + len(module.functions)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_name_is_found_and_may_be_another(path: Path) -> None:
    """What the checker accepts names nothing that is not declared; and it accepts the same with each name changed."""
    text = path.read_text()
    own = document(text)
    for word, name in enumerate(own.split.words):
        if own.names.is_name(word):
            assert own.names.resolve(name, word) is not None or name in special_registers(), name
    assert own.problems == []
    rng = random.Random(path.stem)
    for symbol in rng.sample(own.names.symbols, 4):
        changed = text
        for start, end, new in reversed(renamed(own, symbol, "%other_one")):
            changed = changed[:start] + new + changed[end:]
        assert changed.count("%other_one") >= 1 and check(changed) is not None


def test_scopes_hide_names() -> None:
    text = """.version 8.0 .target sm_80
.global .u32 x;
.entry k() {
  .reg .u32 a; .reg .u32 %r<3>;
  mov.u32 a, 1; L: { mov.u32 a, 2; .reg .u32 a; mov.u32 a, x; .reg .f32 x; bra L; { mov.u32 a, %r2; L: bra L; } }
  mov.u32 a, %r3;
}"""
    own = document(text)
    lines = text.split("\n")

    def declared(piece: str, name: str, which: int = 0) -> int | None:
        at = text.index(piece) + piece.index(name, which)
        word = own.word_at(at)
        assert word is not None
        symbol = own.names.resolve(own.split.words[word], word)
        return None if symbol is None else own.split.starts[symbol.word]

    outer, inner = text.index(".reg .u32 a") + 10, text.rindex(".reg .u32 a") + 10
    assert declared("mov.u32 a, 1", "a") == declared("mov.u32 a, 2", "a") == outer
    assert declared("mov.u32 a, x", "a") == declared("mov.u32 a, %r2", "a") == inner
    assert declared("mov.u32 a, x", "x") == text.index("x;")  # the variable: the register comes later
    assert declared("bra L; {", "L") == text.index("L: {") and declared("L: bra L; }", "L", 3) == text.index("L: bra")
    assert declared("a, %r2", "%r2") == text.index("%r<") and declared("a, %r3", "%r3") is None
    assert len(lines) == 7


@pytest.mark.parametrize(
    ("text", "there"),
    [
        (".version 8.0\n.target sm_80\n.entry k() {\n  .reg .u32 a;\n  add.u32 a, a, ¦\n  mul.lo.u32 a, a, a;\n}", "a"),
        (".version 8.0\n.target sm_80\n.entry k() {\n  .reg .¦\n", ".b32"),
        (".entry k(.param .u64 a, ¦", ".param"),
        (".entry k() {\n  .reg .u32 abc;\n  mov.u32 ab¦", "abc"),
        ("ld.global.¦", ".u32"),
        (".entry k() { ld¦", "ldu"),
        (".entry k() { add .¦", ".sat"),
        (".entry k() { L: @!¦ bra L; .reg .pred q; }", "q"),
        (".entry k() { .reg .pred q; @q set¦", "setp"),
        (".entry k() { M: bra ¦", "M"),
        (".func f(.reg .u32 x); .entry k() { call f¦", "f"),
        (".version ¦", "9.0"),
        (".version 8.0 .target sm_80, ¦", "sm_90"),
        (".entry k() { ld.global.L1::evict_last.L2::¦", ".L2::cache_hint"),
        ("", ""),
    ],
)
def test_completion_of_what_is_half_written(text: str, there: str) -> None:
    at = text.find("¦")
    text = text.replace("¦", "")
    offered = [item.word for item in complete(document(text), at)] if at >= 0 else [""]
    assert there in offered


def test_every_word_of_every_mnemonic_is_offered() -> None:
    """Of a few forms of each opcode, word by word; and whatever is offered is the beginning of some form."""
    rng = random.Random(5)
    for name, opcode in registry().opcodes.items():
        lines = [line for line, _ in opcode.lines]
        for line in rng.sample(lines, min(len(lines), 2)):
            for mnemonic, _ in itertools.islice(line.mnemonics(), 0, 40, 13):
                words = mnemonic.split(".")[1:]
                for i, word in enumerate(words):
                    assert word in {option for own in lines for option, _ in own.following(tuple(words[:i]))[0]}, (
                        mnemonic
                    )
                assert any(own.following(tuple(words))[1] for own in lines), mnemonic
        line = rng.choice(lines)
        given: list[str] = []
        while not line.following(tuple(given))[1]:
            given.append(rng.choice([option for option, _ in line.following(tuple(given))[0]]))
        assert opcode.find(".".join((name, *given))), (name, given)


def test_hover_over_half_an_instruction() -> None:
    """The lines that may be meant are shown."""
    text = ".entry k() { ld.global.nc; frob; st.¦; }".replace("¦", "")
    found = hover(document(text), text.index("ld") + 1, Links("https://x/"))
    assert (found is not None and "ld{.weak}" in found.text.replace(" ", "")) or "ld.global" in found.text
    assert hover(document(text), text.index("frob"), Links()) is None
    store = hover(document(text), text.index("st."), Links())
    assert store is not None and "The first forms: PTX ISA 1.0" in store.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places(encoding: str) -> None:
    """Each offset is where the bytes of the encoding say, and a place leads back to its offset."""
    units = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    text = "a\nbé\r\n𝄞x\ry\u2028z\x0c\n\nend"
    own = EncodedText(text, encoding)
    line, start = 0, 0
    for offset in range(len(text) + 1):
        column = len(text[start:offset].encode(encoding + ("-le" if units > 1 else ""))) // units
        assert own.place(offset) == (line, column)
        if text[offset - 1 : offset + 1] != "\r\n":
            assert own.offset(line, column) == offset
        if text[offset : offset + 1] == "\n" or (text[offset : offset + 1] == "\r" and text[offset + 1] != "\n"):
            line, start = line + 1, offset + 1
    assert own.offset(99, 0) == len(text) and own.offset(0, 99) == 1 and own.offset(-1, 3) == 0


def test_a_character_is_never_cut() -> None:
    assert EncodedText("x𝄞y").offset(0, 2) == 1 and EncodedText("x𝄞y", "utf-8").offset(0, 4) == 1


def test_work_in_proportion() -> None:
    """For a module of 1,000 lines, once the pages are loaded: what a change costs, and what a question does."""
    text = instructions(1000)
    for own in (document(text), document(text)):
        with effort.at_most(400):
            assert own.problems == []
        with effort.at_most(100):
            assert hover(own, text.index("mad.wide.u32"), Links()) is not None
        with effort.at_most(150):
            assert len(complete(own, text.index("mad.wide.u32") + len("mad."))) > 3
