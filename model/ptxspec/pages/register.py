"""The register of ambiguities: its entries by the names by which definitions call them."""

from __future__ import annotations

import re
from pathlib import Path

from ptxspec.base.records import NamedTuple

REGISTER = "spec/ambiguities"


def anchor(heading: str) -> str:
    """The target that a heading makes: lower case, blanks as hyphens, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class Entry(NamedTuple):
    """An entry of the register of ambiguities: its number (AMB-001), a name of it, its target on the site."""

    number: str
    slug: str
    anchor: str

    @property
    def link(self) -> str:
        """A Markdown link to the entry, its name as the text."""
        return f"[{self.slug}](/{REGISTER}.md#{self.anchor})"


def entries(root: Path) -> dict[str, Entry]:
    """The register's entries below the folder `root`, by name."""
    path = root / f"{REGISTER}.md"
    headings = r"^## ((AMB-\d+) ([\w-]+(?: [\w-]+)*))[ \t]*$"
    rows = re.findall(headings, path.read_text("utf-8"), re.M) if path.is_file() else []
    return {slug: Entry(number, slug, anchor(heading)) for heading, number, slugs in rows for slug in slugs.split()}


class UnknownFreedom(Exception):
    """A definition names a freedom for which the register has no entry."""


def entry(register: dict[str, Entry], slug: str, user: str) -> Entry:
    """The entry of a name. Raises UnknownFreedom, which says who uses it."""
    if slug not in register:
        raise UnknownFreedom(f"{user} names the freedom {slug!r}, which has no entry in {REGISTER}.md")
    return register[slug]
