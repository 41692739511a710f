"""Who imports whom: the picture on the architecture page, drawn from the imports themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

#: the packages of the model and their folders, each of which imports from those before it only
PACKAGES = {
    "ptxspec": (
        *("base", "literate", "terms", "contracts", "language", "machine", "adapters", "query", "evidence", "pages"),
        *("editor", "cli"),
    ),
    "ptxspec_workshop": (
        *("generate", "compare", "record", "disputes", "ledger", "programs", "mutation", "fuzz", "site", "commands"),
    ),
}
ORDER = tuple(folder for folders in PACKAGES.values() for folder in folders)
MODEL = Path(__file__).resolve().parents[2]


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
    return sorted((MODEL / package_of(folder) / folder).rglob("*.py"))


def package_of(folder: str) -> str:
    """The package that has a folder."""
    return next(package for package, folders in PACKAGES.items() if folder in folders)


def place_of(name: str) -> tuple[str, str] | None:
    """(package, folder) of a module of the model, the folder "" for a package itself; None for a module of something else."""
    package, _, rest = name.partition(".")
    return (package, rest.split(".")[0]) if package in PACKAGES else None


def counts() -> dict[str, dict[str, int]]:
    """For each folder how many of its files import from each other one."""
    imports = {folder: dict.fromkeys(ORDER, 0) for folder in ORDER}
    for folder in ORDER:
        for path in files(folder):
            names = {place[1] for _, name in imported(path) if (place := place_of(name)) is not None}
            for other in names & set(ORDER) - {folder}:
                imports[folder][other] += 1
    return imports


def picture() -> str:
    """An SVG: a box a folder, from the ground up, and a line from a folder to each that it imports from, as wide as many files
    do."""
    width, height, gap, left = 150, 26, 18, 40
    rows = {folder: (len(ORDER) - 1 - i) * (height + gap) + 10 for i, folder in enumerate(ORDER)}
    total = len(ORDER) * (height + gap) + 10
    spread = 260 // (len(ORDER) - 1)
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
            far = left + width + spread * distance
            title = f"<title>{count} files of {folder} import from {other}</title>"
            parts.append(
                f'<path d="M {left + width} {start} C {far} {start}, {far} {end}, {left + width + 6} {end}" {stroke} '
                f'marker-end="url(#to)">{title}</path>'
            )
    for package, folders in PACKAGES.items():
        bottom, top = rows[folders[0]] + height, rows[folders[-1]]
        parts.append(f'<path d="M 28 {top} V {bottom}" fill="none" stroke="currentColor"/>')
        parts.append(
            f'<text transform="translate(20 {(top + bottom) / 2}) rotate(-90)" font-size="13" fill="currentColor" '
            f'text-anchor="middle">{package}</text>'
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
    imports = counts()
    lines = ["| package | folder | imports from (files that do) |", "| --- | --- | --- |"]
    for folder in reversed(ORDER):
        others = ", ".join(f"{other} ({n})" for other, n in imports[folder].items() if n)
        lines.append(f"| {package_of(folder)} | {folder} | {others or 'none'} |")
    return "\n".join(lines)
