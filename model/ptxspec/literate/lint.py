"""Linting the documents' Python, and type-checking it together with the model: `python -m ptxspec.literate.lint`.

The blanked text of every document is laid out as a tree of modules beside the real packages, ruff and mypy run on that, and
what they say is reported under the documents' names. Lines are the documents' as they stand. The model is checked here too, since
only here mypy sees the pages that it takes names from (`ptxspec.contracts`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from ptxspec.base.places import DOCUMENTS
from ptxspec.literate.documents import blanked, parse
from ptxspec.literate.finder import ROOTS, module_name, pages

#: imports stand where a page needs them; prose separates what ruff would sort together
_NOT_FOR_PAGES = "E402,I001,RUF100"
_CONFIG = DOCUMENTS / "pyproject.toml"
#: what pyproject.toml leaves out of mypy's strictness, for runs that see no page
_ALL = ("--warn-return-any", "--warn-unused-ignores")


def lay_out(folder: Path, roots: dict[str, Path] | None = None) -> dict[str, Path]:
    """Write the tree of modules; returns for each file written (relative to `folder`) the document it came from."""
    package = Path(__file__).resolve().parents[1]
    target = folder / package.name
    target.mkdir(parents=True)
    for entry in package.iterdir():
        if entry.name not in ("__pycache__", "documents"):
            (target / entry.name).symlink_to(entry)
    for other in package.parent.glob(f"{package.name}_*/__init__.py"):
        (folder / other.parent.name).symlink_to(other.parent)
    written: dict[str, Path] = {}
    for root in roots or ROOTS:
        for name, path in pages(root):
            text = path.read_text("utf-8")
            document = parse(text, path)
            if not document.of("python"):
                continue
            place = folder.joinpath(*map(module_name, name.split("."))).with_suffix(".py")
            place.parent.mkdir(parents=True, exist_ok=True)
            for parent in place.parents:
                if parent == target:
                    break
                (parent / "__init__.py").touch()
            place.write_text(blanked(text, document).rstrip("\n") + "\n", "utf-8")
            written[str(place.relative_to(folder))] = path
    return written


def complaints(command: list[str], folder: Path, written: dict[str, Path]) -> tuple[int, str]:
    """Run a tool in `folder`; (exit status, its output with the documents' names, and the names of the model's files)."""
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    output = run.stdout + run.stderr

    def named(match: re.Match[str]) -> str:
        path = written.get(match[1]) or (folder / match[1]).resolve()
        return str(path.relative_to(DOCUMENTS) if path.is_relative_to(DOCUMENTS) else path) + match[2]

    return run.returncode, re.sub(r"(ptxspec\w*/[\w/]+\.py)(:\d+)", named, output)


def mistyped(files: Collection[str], folder: Path, written: dict[str, Path]) -> tuple[int, str]:
    """What mypy says of files or packages in `folder`, as `complaints` gives it. Here no page is Any, and what is Any is told."""
    kept = ["--cache-dir", str(DOCUMENTS / "build/mypy-pages")]
    command = [sys.executable, "-m", "mypy", "--config-file", str(_CONFIG), *kept, *_ALL]
    return complaints([*command, *files], folder, written)


def said(chosen: Collection[Path] | None = None) -> Iterator[tuple[int, str]]:
    """What ruff says of every document, or of those chosen, and mypy of these, and with every document of the model: (exit
    status, output with the documents' names). Nothing, if none of them holds Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        written = lay_out(folder)
        files = sorted(file for file, path in written.items() if chosen is None or path in chosen)
        if not files:
            return
        ruff = [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--no-cache",
            "--config",
            str(_CONFIG),
            "--output-format",
            "concise",
        ]
        yield complaints([*ruff, "--ignore", _NOT_FOR_PAGES, *files], folder, written)
        yield mistyped(sorted(path.name for path in folder.iterdir()) if chosen is None else files, folder, written)


def main() -> int:
    """Lint every document and check the model's types; the exit status is 1 if anything was complained about."""
    failed = 0
    for status, output in said():
        failed |= status
        print(output, end="")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
