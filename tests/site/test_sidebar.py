"""The sidebar: one file with the tree of all pages, which marks the page that loads it and opens the page's chapter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")

from browser import chromium, sample_site
from lxml import html

from ptxspec.site import navigation


def links(site: Path) -> list[str]:
    """The addresses in a site's tree."""
    script = (site / "_static" / navigation.FILE).read_text("utf-8")
    tree = json.loads(script[script.rindex("})(") + 3 : script.rindex(")")])
    found: list[str] = html.document_fromstring(tree).xpath("//a/@href")
    return found


def test_every_link_of_the_tree_is_a_page(tmp_path: Path) -> None:
    site = sample_site(tmp_path)
    found = links(site)
    assert len(found) > 10 and len(set(found)) == len(found)
    assert [link for link in found if not (site / link).is_file()] == []


def test_pages_do_not_hold_the_tree(tmp_path: Path) -> None:
    site = sample_site(tmp_path)
    page = html.document_fromstring((site / "spec/instructions/integer/bfe.html").read_bytes())
    assert page.xpath("//div[contains(@class, 'sidebar-tree')]//noscript/a/@href") == ["../../../index.html"]
    assert page.xpath("//div[contains(@class, 'sidebar-tree')]//li") == []


def opened(page: Any) -> list[str]:
    """The chapters of the tree that are open."""
    boxes = "e => e.filter(b => b.checked).map(b => b.parentElement.querySelector('a').textContent)"
    found: list[str] = page.eval_on_selector_all(".sidebar-tree .toctree-checkbox", boxes)
    return found


def test_the_page_is_marked_and_its_chapter_is_open(tmp_path: Path) -> None:
    site = sample_site(tmp_path)
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto((site / "spec/instructions/integer/bfe.html").as_uri())
        marked = page.eval_on_selector_all(".sidebar-tree [aria-current=page]", "e => e.map(a => a.textContent)")
        assert marked == ["bfe"]
        assert page.locator(".sidebar-tree .current-page").count() == 1
        assert "Instructions" in opened(page) and len(opened(page)) <= 2
        page.click(".sidebar-tree a:has-text('Types')")
        assert page.url.endswith("/spec/types/index.html")
        assert page.locator("h1").inner_text().startswith("Types")
        page.goto((site / "genindex.html").as_uri())
        assert page.locator(".sidebar-tree [aria-current=page]").count() == 0 and opened(page) == []
