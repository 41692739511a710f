"""The operands of an instruction that is being written."""

from __future__ import annotations

from typing import NamedTuple

from ptxspec.editor.document import OpenDocument
from ptxspec.editor.hover import mnemonic_of
from ptxspec.editor.pages import availability
from ptxspec.language.forms import registry
from ptxspec.language.outline import RunKind, mnemonic_at

#: so many forms are shown
MOST = 16


class InstructionSignature(NamedTuple):
    """An instruction as it is written, where each operand stands in that, and since when it exists."""

    text: str
    operands: list[tuple[int, int]]
    about: str


class Signatures(NamedTuple):
    """The forms of an instruction, and the number of the operand at the cursor."""

    alternatives: list[InstructionSignature]
    operand: int


def signatures(document: OpenDocument, offset: int) -> Signatures | None:
    """The forms that the instruction at an offset may be; None where none is."""
    split, names = document.split, document.names
    before = [i for i in range(len(split.words) - 3) if split.starts[i] < offset]
    if not before:
        return None
    at = names.run_at(before[-1])
    run = names.runs[at] if at >= 0 else None
    if run is None or run.kind is not RunKind.INSTRUCTION or split.words[before[-1]] == ";":
        return None
    first = mnemonic_at(split, run)
    mnemonic = mnemonic_of(document, run)
    if first >= run.end or offset <= document.end_of(first):
        return None
    opcode = registry().opcodes.get(mnemonic.split(".")[0])
    depth = operand = 0
    for i in range(first, before[-1] + 1):
        depth += (split.words[i] in ("(", "[", "{")) - (split.words[i] in (")", "]", "}"))
        operand += split.words[i] == "," and depth == 0
    by_text: dict[str, InstructionSignature] = {}
    for form in opcode.find(mnemonic)[:MOST] if opcode is not None else ():
        text = str(form).removesuffix(";")
        by_text.setdefault(text, InstructionSignature(text, _operands(text), availability(form)))
    return Signatures(list(by_text.values()), operand) if by_text else None


def _operands(text: str) -> list[tuple[int, int]]:
    """Where the operands of an instruction stand in its text."""
    start = text.find(" ") + 1
    if not start:
        return []
    ranges, depth = [], 0
    for i, c in enumerate(text[start:], start):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and not depth:
            ranges.append((start, i))
            start = i + 2
    return [*ranges, (start, len(text))]
