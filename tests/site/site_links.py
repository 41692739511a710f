"""The links of a built site: where each leads, and which of them lead nowhere."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from lxml import html
from sphinx.util.inventory import InventoryFile

#: other sites that pages may name; no test asks them whether they answer
HOSTS = frozenset(
    {
        "distributed.dask.org",
        "docs.nvidia.com",
        "github.com",  # the theme names its own sources at the foot of each page
        "json-schema.org",
        "www.sympy.org",
    }
)


@dataclass(frozen=True)
class Page:
    """What a page has that links may name, and what it links to."""

    names: frozenset[str]
    links: tuple[str, ...]


def read(path: Path) -> Page:
    """The names and the links of a page; it is HTML in UTF-8."""
    tree = html.document_fromstring(path.read_bytes(), parser=html.HTMLParser(encoding="utf-8"))
    names = frozenset(tree.xpath("//@id | //a/@name"))
    for pattern in tree.xpath("//i[@data-operands]"):
        names |= set(of_pattern(pattern.text_content(), pattern.get("data-operands")))
    for script in tree.xpath("//script[contains(@src, 'icons.js')]/@src"):  # which puts the theme's icons into the page
        icons = path.parent / urldefrag(script).url.partition("?")[0]
        names |= set(re.findall(r'id=\\?"([\w-]+)', icons.read_text("utf-8")) if icons.is_file() else ())
    return Page(names, tuple(dict.fromkeys(tree.xpath("//@href | //@src"))))


def of_pattern(pattern: str, operands: str) -> Iterator[str]:
    """The anchors of the forms that a pattern stands for."""
    parts = [
        [*(f".{word}" for word in several.split("|.")), *([""] if optional else [])] if several else [alone]
        for several, optional, alone in re.findall(r"\(\.([^)]*)\)(\?)?|([^(]+)", pattern)
    ]
    for words in itertools.product(*parts):
        yield "".join(words) + (f"-{operands}" if operands else "")


def read_all(site: Path, paths: Iterable[Path] = ()) -> dict[Path, Page]:
    """Every page of a site, or some, each by its path from the site's root."""
    return {path.relative_to(site): read(path) for path in (paths or sorted(site.rglob("*.html")))}


def outside(link: str) -> str | None:
    """What is wrong with a link to another site; None for a good one."""
    parts = urlsplit(link)
    if parts.scheme == "data":
        return None
    if parts.scheme != "https":
        return "not https"
    return None if parts.hostname in HOSTS else "an unknown host"


def wrong(site: Path, pages: Mapping[Path, Page], absent: Sequence[str] = ()) -> Iterator[str]:
    """Every link of some pages that leads nowhere, with the page and the reason. `absent` are pages, by their paths without a
    suffix, that this site lacks for want of time: links to them are left out."""
    known = dict(pages)
    for at, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                reason = outside(link)
            else:
                reason = _inside(site, known, at, link, absent)
            if reason:
                yield f"{at}: {link}: {reason}"


def _inside(site: Path, known: dict[Path, Page], at: Path, link: str, absent: Sequence[str]) -> str | None:
    whole, fragment = urldefrag(link)
    path, fragment = unquote(urlsplit(whole).path), unquote(fragment)
    target = at if not path else Path(*_walk((at.parent / path).parts))
    if target.with_suffix("").as_posix() in absent:
        return None
    if (site / target).is_dir():
        return "a folder"
    if not (site / target).is_file():
        return "no such file"
    if fragment in ("", "top"):  # HTML: the top of the page
        return None
    if target.suffix != ".html":
        return "a place in a file that is no page"
    if target not in known:
        known[target] = read(site / target)
    return None if fragment in known[target].names else "no such place on the page"


def _walk(parts: Sequence[str]) -> list[str]:
    """A path without `..`; one that leaves the site keeps them, so that no file is found."""
    kept: list[str] = []
    for part in parts:
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part != ".":
            kept.append(part)
    return kept


def of_inventory(site: Path, but: Sequence[str] = ()) -> Page:
    """What objects.inv tells other sites to link to, as the links of a page beside it, but for some names."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    places = (item.uri for objects in inventory.data.values() for name, item in objects.items() if name not in but)
    return Page(frozenset(), tuple(dict.fromkeys(place.lstrip("/") for place in places)))
