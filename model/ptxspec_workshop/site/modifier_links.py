"""Where a modifier is explained: by the page on modifiers, whose tables name the pages that define them; else by the first
section of the instruction's own page whose words name it."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ptxspec.base import places
from ptxspec.pages.register import anchor
from ptxspec_workshop.site.pages import address, docname_of

#: the page whose tables say where modifiers are defined
PAGE = "spec/syntax/modifiers"
_WORD = re.compile(r"`(\.[\w:]+)`")
_LINK = re.compile(r"\]\(([^)#]*)(?:#([\w-]+))?\)")
_OWN = re.compile(r"\{#([\w-]+)\}")
_CODE = re.compile(r"`([^`]+)`")


class LinkTarget(NamedTuple):
    """A document of the site and a target in it, "" for its beginning."""

    document: str
    target: str

    def seen_from(self, page: str) -> str:
        """The address, as a link on another document says it."""
        return address(self.document, self.target, page)


@cache
def shared() -> dict[str, LinkTarget]:
    """Where the modifiers are defined that many instructions share: where the row of the page on modifiers leads, or the row
    itself if it has a target."""
    targets: dict[str, LinkTarget] = {}
    for line in (places.DOCUMENTS / f"{PAGE}.md").read_text("utf-8").splitlines():
        if not line.startswith("|"):
            continue
        first, _, rest = line.strip("|").partition("|")
        anchored, link = _OWN.search(first), _LINK.search(rest)
        for word in _WORD.findall(first):
            if word in targets:
                raise ValueError(f"{PAGE}.md: two rows have {word}")
            if anchored:
                targets[word] = LinkTarget(PAGE, anchored[1])
            elif link:
                document = posixpath.normpath(posixpath.join(posixpath.dirname(PAGE), link[1].removesuffix(".md")))
                targets[word] = LinkTarget(document, link[2] or "")
    return targets


@cache
def _mentioned(path: Path) -> dict[str, LinkTarget]:
    """The words in code that a page's prose has, each with the first section that has it."""
    places: dict[str, LinkTarget] = {}
    document, target, fenced = docname_of(path), "", False
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith("```"):
            continue
        heading = re.match(r"#{2,3} (.*)", line)
        target = anchor(heading[1]) if heading else target
        for code in _CODE.findall(line):
            for word in re.findall(r"(?<![\w:])\.[A-Za-z_0-9][\w:]*", code):
                places.setdefault(word, LinkTarget(document, target))
    return places


def place(path: Path, value: str, name: str, definition: str) -> LinkTarget:
    """Where a modifier of the page at `path` is explained: `.rz`, one of `.rnd`. If no words do, it is the definition of that
    name that has it as a parameter."""
    of_page = _mentioned(path)
    target = shared().get(value) or shared().get(name) or of_page.get(value) or of_page.get(name)
    return target or LinkTarget(docname_of(path), f"def-{definition}")
