"""`ptxspec page`: a page of the specification, or a section of one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from ptxspec.cli.failures import Failed
from ptxspec.cli.shared import JSON_OPTION, put, put_json

#: a place as messages have it: a page, perhaps with a line
_PLACE = re.compile(r"(.+?)(?::(\d+))?")
_ENTRY = re.compile(r"AMB-\d+", re.I)


@click.command("page", short_help="Show a page of the specification.")
@click.argument("name")
@JSON_OPTION
def command(name: str, as_json: bool) -> None:
    """Show a page of the specification: by its opcode (bfe), its path (spec/machine/memory.md, machine/memory) or its file's name
    (memory). With a line, as messages have it (spec/machine/memory.md:12), or with the number of an entry of the register
    (AMB-031), show the section in which that is."""
    place = _PLACE.fullmatch(name)
    if place is None:
        raise Failed("a page has a name")
    entry = _ENTRY.fullmatch(name)
    path = path_of("spec/ambiguities.md" if entry else place[1])
    text = (_root() / path).read_text("utf-8")
    if entry:
        text = _section(text, _line_of(text, name.upper()))
    elif place[2]:
        text = _section(text, int(place[2]))
    if as_json:
        put_json({"page": path, "text": text})
    elif sys.stdout is not None and sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        put(text, nl=False)


def _root() -> Path:
    from ptxspec.base.places import DOCUMENTS

    return DOCUMENTS


def path_of(name: str) -> str:
    """The path of the page that a name means, below the folder of the documents. Raises Failed where none is meant, or
    several."""
    from ptxspec.language.suggestions import did_you_mean

    root = _root()
    folders = ("spec", "proofs", "docs/disputes")
    known = [path.relative_to(root).as_posix() for folder in folders for path in sorted((root / folder).rglob("*.md"))]
    wanted = name.removesuffix(".md")
    exactly = [path for path in known if path.removesuffix(".md") in (wanted, f"spec/{wanted}", f"spec/{wanted}/index")]
    ways = [
        exactly,
        [] if exactly else _of_opcode(*wanted.rpartition("/")[::2]),
        [path for path in known if path.startswith("spec/") and path.removesuffix(".md").endswith(f"/{wanted}")],
        [path for path in known if path.removesuffix(".md").endswith(f"/{wanted}")],
    ]
    meant = next((way for way in ways if way), [])
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise Failed(f"{name} is several pages: {', '.join(meant)}", "unknown", 1)
    names = {path.removeprefix("spec/").removesuffix(".md") for path in known} | {Path(path).stem for path in known}
    raise Failed(f"there is no page {name}{did_you_mean(name, names)}", "unknown", 1)


def _of_opcode(chapter: str, opcode: str) -> list[str]:
    """The pages that define an opcode, of a chapter or ("") of all: the page of ld rather than that of ld.acquire."""
    from ptxspec.language.forms import page_name, registry
    from ptxspec.literate import finder

    modules = registry().index.get(opcode, ())
    pages = [Path(page_name(str(path))) for name, path in finder.pages("ptxspec.spec") if name in modules]
    chosen = [page for page in pages if not chapter or f"/{page.parent.as_posix()}".endswith(f"/{chapter}")]
    main = [page for page in chosen if page.stem == opcode or page.stem.split(".")[0] != opcode]
    return [page.as_posix() for page in main or chosen]


def _section(text: str, number: int) -> str:
    """The section of a page in which a line is: from the heading before it to the next heading of that level or above."""
    from ptxspec.literate.documents import Heading, headings

    lines = text.splitlines()
    if not 1 <= number <= len(lines):
        raise Failed(f"the page has lines 1 to {len(lines)}", "unknown", 1)
    places = headings(text)
    here = max((h for h in places if h.line <= number), default=Heading(1, 1, ""))
    # the beginning of a page ends at its first section
    after = [h.line for h in places if h.line > here.line and (h.level <= here.level or here.level == 1)]
    begin, end = here.line, min(after, default=len(lines) + 1)
    return "\n".join(lines[begin - 1 : end - 1]).rstrip() + "\n"


def _line_of(text: str, entry: str) -> int:
    """The line of an entry of the register."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(f"## {entry} "):
            return number
    raise Failed(f"the register has no entry {entry}", "unknown", 1)
