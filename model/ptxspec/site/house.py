"""Who imports whom: the picture on the architecture page, drawn from the imports themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

#: the folders of the model, each of which imports from those before it only
ORDER = (
    *(
        "base",
        "literate",
        "terms",
        "contracts",
        "language",
        "machine",
        "adapters",
        "query",
        "evidence",
        "pages",
        "site",
        "editor",
        "cli",
    ),
)
MODEL = Path(__file__).resolve().parents[1]


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import"
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)


@cache
def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """The modules that a file imports, wherever in it: (line, name)."""
    return tuple(_imported(path))


def files(folder: str) -> list[Path]:
    """The Python files of one of the model's folders, and of those in it."""
    return sorted((MODEL / folder).rglob("*.py"))


def counts() -> dict[str, dict[str, int]]:
    """For each folder how many of its files import from each other one."""
    found = {folder: dict.fromkeys(ORDER, 0) for folder in ORDER}
    for folder in ORDER:
        for path in files(folder):
            names = {name.split(".")[1] for _, name in imported(path) if name.startswith("ptxspec.")}
            for other in names & set(ORDER) - {folder}:
                found[folder][other] += 1
    return found


def picture() -> str:
    """An SVG: a box a folder, from the ground up, and a line from a folder to each that it imports from, as wide as many files
    do."""
    width, height, gap, left = 150, 26, 18, 40
    rows = {folder: (len(ORDER) - 1 - i) * (height + gap) + 10 for i, folder in enumerate(ORDER)}
    total = len(ORDER) * (height + gap) + 10
    parts = []
    for folder, others in counts().items():
        for other, count in others.items():
            if not count:
                continue
            distance = abs(ORDER.index(folder) - ORDER.index(other))
            start, end = rows[folder] + height / 2, rows[other] + height / 2
            stroke = f'fill="none" stroke="currentColor" stroke-opacity="0.55" stroke-width="{0.6 + min(count, 40) / 12:.1f}"'
            if distance == 1:
                x = left + width / 2
                parts.append(
                    f'<path d="M {x} {rows[folder] + height} V {rows[other]}" {stroke} marker-end="url(#to)"/>'
                )
                continue
            far = left + width + 26 * distance
            title = f"<title>{count} files of {folder} import from {other}</title>"
            parts.append(
                f'<path d="M {left + width} {start} C {far} {start}, {far} {end}, {left + width + 6} {end}" {stroke} '
                f'marker-end="url(#to)">{title}</path>'
            )
    for folder, y in rows.items():
        number = len(files(folder))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{width}" height="{height}" rx="4" fill="none" stroke="currentColor"/>'
        )
        parts.append(
            f'<text x="{left + 10}" y="{y + 17}" font-size="13" fill="currentColor">{folder}</text>'
            f'<text x="{left + width - 8}" y="{y + 17}" font-size="10" fill="currentColor" text-anchor="end">'
            f"{number} files</text>"
        )
    marker = '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
    marker += '<path d="M 0 0 L 8 4 L 0 8 z" fill="currentColor"/></marker></defs>'
    size = f'viewBox="0 0 {left + width + 240} {total}" width="{left + width + 240}" role="img"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} aria-label="imports between folders">{marker}{"".join(parts)}</svg>'


def table() -> str:
    """The same as a table in Markdown, for those who do not see the picture."""
    found = counts()
    lines = ["| folder | imports from (files that do) |", "| --- | --- |"]
    for folder in reversed(ORDER):
        others = ", ".join(f"{other} ({n})" for other, n in found[folder].items() if n)
        lines.append(f"| {folder} | {others or 'none'} |")
    return "\n".join(lines)
