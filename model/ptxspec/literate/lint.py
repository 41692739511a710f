"""Linting and type-checking the documents' Python: `python -m ptxspec.literate.lint`.

The blanked text of every document is laid out as a tree of modules beside the real packages, ruff and mypy run on that, and
what they say is reported under the documents' names. Lines are the documents' as they stand.
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
    """Run a tool in `folder`; (exit status, its output with the documents' names)."""
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    output = run.stdout + run.stderr

    def document(match: re.Match[str]) -> str:
        path = written.get(match[1])
        if path is None:
            return match[0]
        return str(path.relative_to(DOCUMENTS) if path.is_relative_to(DOCUMENTS) else path) + match[2]

    return run.returncode, re.sub(r"(ptxspec/[\w/]+\.py)(:\d+)", document, output)


def outputs(chosen: Collection[Path] | None = None) -> Iterator[tuple[int, str]]:
    """What ruff and then mypy say of every document, or of those chosen: (exit status, output with the documents' names).
    Nothing, if none of them holds Python."""
    config = DOCUMENTS / "pyproject.toml"
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
            str(config),
            "--output-format",
            "concise",
        ]
        mypy = [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            str(config),
            "--cache-dir",
            str(DOCUMENTS / "build/mypy-pages"),
        ]
        for command in ([*ruff, "--ignore", _NOT_FOR_PAGES, *files], [*mypy, *files]):
            yield complaints(command, folder, written)


def main() -> int:
    """Lint every document; the exit status is 1 if anything was complained about."""
    failed = 0
    for status, output in outputs():
        failed |= status
        print(output, end="")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
