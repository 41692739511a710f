"""A relation of the memory model in an execution of a litmus test, as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec import contracts
from ptxspec.query.litmus.drawing import READS_FROM, drawn
from ptxspec.query.litmus.path_questions import model_of
from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.verdicts import LitmusQuestion


def markdown(module: str, name: str, lines: Sequence[str]) -> str:
    """The picture as a figure."""
    picture, words = drawn_relation(module, name, lines)
    caption = f"<figcaption>green: {words}; red: the second reads from the first</figcaption>"
    return f'<figure class="execution">{picture}{caption}</figure>\n'


def drawn_relation(module: str, name: str, lines: Sequence[str]) -> tuple[str, str]:
    """The pairs of the relation that a page defines by this name, in an execution with the outcome that a test asks about, and
    what is read from where: as SVG, with the words of the relation. Raises ValueError if no execution has it, or none of its
    pairs."""
    edition = "9.1"
    question = LitmusQuestion(read("\n".join([f"PTX {name}", *lines]), module), model_of(edition), edition, 1)
    relation = getattr(getattr(contracts, module.rpartition(".")[2]), name)(question.model)
    result = question.related(relation)
    if result is None or not any(not first.startswith("(") for first, _ in result[1]):
        raise ValueError(f"no execution of the test has the outcome, or {name} relates no operations in it")
    witness, pairs = result
    # what initializes memory precedes everything, which would hide the rest
    pairs = tuple(pair for pair in pairs if not pair[0].startswith("("))
    sources = [(writer, reader) for reader, writer in witness.reads_from.items()]
    words = relation.words.format("the first", "the second")
    return drawn(witness.operations, {READS_FROM: sources, words: pairs}), words
