"""Links lead somewhere: every page and every place on a page that a link of the site names is there."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("lxml")

import site_links
from browser import ROOT, SAMPLE, is_of_today, sample_site, whole_site


def one_of_each(found: list[str]) -> dict[str, str]:
    """By what a link names and what is wrong with it, the first: a failure shows a fault of a thousand pages once."""
    return {one.split(": ", 1)[1].lstrip("./"): one for one in reversed(found)}


@pytest.mark.slow
def test_links_lead_somewhere(tmp_path: Path) -> None:
    """All of them, if `make site` has left a site of today; else those between pages of a sample."""
    site = sample_site(tmp_path)
    absent = () if is_of_today(ROOT / "build/site") else sources_beyond_the_sample()
    pages = site_links.read_all(site)
    assert len(pages) > len(SAMPLE) and sum(len(page.links) for page in pages.values()) > 1000
    assert one_of_each(list(site_links.wrong(site, pages, absent))) == {}


@pytest.mark.long
def test_all_links_lead_somewhere() -> None:
    site = whole_site()
    pages = site_links.read_all(site)
    # Sphinx lists a page of Python's modules in the inventory of every site, whether it has one or not
    pages[Path("objects.inv")] = site_links.of_inventory(site, but=("modindex", "py-modindex"))
    assert one_of_each(list(site_links.wrong(site, pages))) == {}


def sources_beyond_the_sample() -> list[str]:
    """The pages that a sample lacks, by their paths."""
    places = ("spec", "docs", "proofs")
    sources = (path for place in places for path in (ROOT / place).rglob("*.md"))
    return [name for path in sources if (name := path.relative_to(ROOT).with_suffix("").as_posix()) not in SAMPLE]


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(
        "<p id='here'><a href='sub/b.html#there'>1</a><a href='#here'>2</a><a href='#'>3</a>"
    )
    (tmp_path / "sub/b.html").write_text(
        "<p id=there><a href='../a.html#gone'>1</a><a href='c.html'>2</a><a href='../../a.html'>3</a><img src='i.png'>"
        "<a href='http://docs.nvidia.com/'>4</a><a href='https://example.org/'>5</a><a href='#nowhere'>6</a>"
        "<a href='../sub'>7</a><a href='../a.html?q=1#here'>8</a><a href='javascript:0'>9</a><a href='#There'>10</a>"
        "<a href='later.html#x'>11</a>"
    )
    found = list(site_links.wrong(tmp_path, site_links.read_all(tmp_path), ["sub/later"]))
    assert [one.removeprefix("sub/b.html: ") for one in found] == [
        "../a.html#gone: no such place on the page",
        "c.html: no such file",
        "../../a.html: no such file",
        "i.png: no such file",
        "http://docs.nvidia.com/: not https",
        "https://example.org/: an unknown host",
        "#nowhere: no such place on the page",
        "../sub: a folder",
        "javascript:0: not https",
        "#There: no such place on the page",
    ]
