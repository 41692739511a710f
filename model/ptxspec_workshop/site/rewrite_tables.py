"""The tables of rewrites that the memory model allows, with the programs that tell where one does not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ptxspec.evidence import precomputed
from ptxspec_workshop.ledger import rewrites
from ptxspec_workshop.site.pages import code, gap, table

#: what each status is in a cell
_WORDS = {"right": "yes", "wrong": "no", "open": "open"}


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    """All tables: those of the file, unless a definition has changed since."""
    known = precomputed.rewrites() or rewrites.computed()
    tables: dict[str, list[dict[str, Any]]] = known["tables"]
    return tables


def markdown(name: str) -> str:
    """A table: a row and a column for each operation. What may not be done has the number of a program that tells."""
    return "\n\n".join(_matrix(cells, name) for cells in _blocks(_tables()[name]))


def told(name: str) -> tuple[str, str]:
    """How many programs tell, in words, and these as Markdown; nothing where there are none."""
    wrong = [cell for cell in _tables()[name] if cell["status"] == "wrong"]
    if not wrong:
        return "", ""
    parts = [_program(number, cell) for number, cell in enumerate(wrong, 1)]
    return f"{len(wrong)} programs that tell", "\n\n".join(parts)


def _blocks(cells: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The cells by tables: of those that share their rows and columns."""
    blocks: list[tuple[set[str], list[dict[str, Any]]]] = []
    for cell in cells:
        words = {cell["row"], cell["column"]}
        block = next((b for b in blocks if b[0] & words), None)
        if block is None:
            blocks.append((words, [cell]))
        else:
            block[0].update(words)
            block[1].append(cell)
    for _, block_cells in blocks:
        yield block_cells


def _matrix(cells: list[dict[str, Any]], name: str) -> str:
    every = _tables()[name]
    numbers = {id(cell): k for k, cell in enumerate((c for c in every if c["status"] == "wrong"), 1)}
    columns = list(dict.fromkeys(cell["column"] for cell in cells))
    rows = []
    for row in dict.fromkeys(cell["row"] for cell in cells):
        here = {cell["column"]: cell for cell in cells if cell["row"] == row}
        rows.append([code(row), *(_word(here.get(column), numbers) for column in columns)])
    heads = [code(column) if "." in column else column for column in columns]
    return table(["", *heads], rows, "what the memory model allows")


def _word(cell: dict[str, Any] | None, numbers: dict[int, int]) -> str:
    if cell is None:
        return ""
    word = _WORDS[cell["status"]]
    if cell["status"] == "open":
        return gap(word)
    return f"{word} ({numbers[id(cell)]})" if id(cell) in numbers else word


def _program(number: int, cell: dict[str, Any]) -> str:
    """A program with the rewrite, and what forbids its outcome without."""
    before, after = cell["tests"]
    axioms = " and ".join(cell["axioms"]) or "the program"
    return (
        f"({number}) {code(cell['row'])}, {code(cell['column'])}: {axioms} forbid{'' if len(cell['axioms']) > 1 else 's'} the "
        f"outcome of\n\n```text\n{before.strip()}\n```\n\nand not of\n\n```text\n{after.strip()}\n```"
    )
