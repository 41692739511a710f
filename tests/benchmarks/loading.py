"""How long PTX text takes to load: parse and check, by size."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import ptxspec

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "matmul" / "matmul.ptx"


def text_of(lines: int) -> str:
    """A module of about so many lines: one kernel, repeated under other names."""
    text = EXAMPLE.read_text()
    head, _, kernel = text.partition(".visible .entry")
    one = ".visible .entry" + kernel
    return head + "".join(one.replace("matmul", f"matmul{i}") for i in range(max(1, lines // one.count("\n"))))


def main() -> None:
    ptxspec.load(EXAMPLE.read_text())
    table = Table(title="loading PTX: parse and check")
    for column in ("lines", "seconds", "lines a second"):
        table.add_column(column, justify="right")
    for lines in (1_000, 10_000, 100_000):
        text = text_of(lines)
        began = time.perf_counter()
        ptxspec.load(text)
        seconds = time.perf_counter() - began
        count = text.count("\n")
        table.add_row(f"{count:,}", f"{seconds:.3f}", f"{count / seconds:,.0f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
