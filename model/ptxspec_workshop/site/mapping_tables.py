"""What is shown of how libcu++ and others spell the atomic operations of C++, with the programs that tell where it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_args

from ptxspec.evidence import precomputed
from ptxspec.query.mapping.skeletons import LIBRARY, MISTAKES
from ptxspec_workshop.ledger import mapping
from ptxspec_workshop.site.pages import gap, table

#: which rows: of libcu++ by the model of C++20, by other models or of other spellings, or with mistakes
MappingPart = Literal["libcu++", "others", "mistakes"]
_PARTS: dict[MappingPart, Callable[[dict[str, Any]], bool]] = {
    "libcu++": lambda row: row["spelling"] == LIBRARY and row["model"] == "C++20",
    "others": lambda row: row["spelling"] not in MISTAKES and (row["spelling"] != LIBRARY or row["model"] != "C++20"),
    "mistakes": lambda row: row["spelling"] in MISTAKES,
}


@cache
def _rows() -> list[dict[str, Any]]:
    """All rows: those of the file, unless a definition has changed since."""
    known = precomputed.mapping() or mapping.computed()
    rows: list[dict[str, Any]] = known["rows"]
    return rows


def part(name: str) -> list[dict[str, Any]]:
    """The rows of a part. Raises ValueError for one that is none."""
    for known, belongs in _PARTS.items():
        if known == name:
            return [row for row in _rows() if belongs(row)]
    raise ValueError(f"{name} is none of {', '.join(get_args(MappingPart))}")


def markdown(name: str) -> str:
    """A table: a row for each set of programs, or for each spelling. Where PTX allows more, the number of a program that
    tells."""
    number, lines = 0, []
    for row in part(name):
        told = "program" in row
        number += told
        word = f"yes ({number})" if told else "no"
        heads = [row["bound"]] if name == "libcu++" else [f"{row['spelling']}, {row['model']}"]
        lines.append([*heads, f"{row['programs']:,}", gap(word) if told and name != "mistakes" else word])
    first = "programs" if name == "libcu++" else "spelling, and model of C++"
    return table(
        [first, "looked at", "does PTX allow more?"], lines, "what the spellings of C++'s atomic operations keep"
    )


def told(name: str) -> tuple[str, str]:
    """How many programs tell, in words, and these as Markdown; nothing where there are none."""
    wrong = [row for row in part(name) if "program" in row]
    if not wrong:
        return "", ""
    parts = [_program(number, row) for number, row in enumerate(wrong, 1)]
    return f"{len(wrong)} program{'s' if len(wrong) > 1 else ''} that tell{'' if len(wrong) > 1 else 's'}", "\n\n".join(
        parts
    )


def _program(number: int, row: dict[str, Any]) -> str:
    """A program of C++, and how it is spelled; of a mistake, what forbids the outcome without it."""
    axioms = " and ".join(row.get("axioms", ()))
    why = f" Spelled as libcu++ does, {axioms} forbid{'' if ' and ' in axioms else 's'} it." if axioms else ""
    return (
        f"({number}) {row['model']} forbids this outcome of a program:\n\n```text\n{row['program'].strip()}\n```\n\n"
        f"Spelled by {row['spelling']}, PTX allows it.{why}\n\n```text\n{row['spelled'].strip()}\n```"
    )
