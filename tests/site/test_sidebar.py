"""The sidebar: one file with the tree of all pages, which marks the page that loads it and opens the page's chapter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")

from browser import build_of, chromium
from lxml import html

from ptxspec_workshop.site import evidence_section, navigation

#: pages in chapters, and a page of an instruction
FEW = (
    "index",
    "spec/index",
    "spec/notation",
    "spec/types/index",
    "spec/directives/index",
    "spec/syntax/index",
    "spec/syntax/modules",
    "spec/instructions/index",
    "spec/instructions/integer/index",
    "spec/instructions/integer/bfe",
)


def links(site: Path) -> list[str]:
    """The addresses in a site's tree."""
    script = (site / "_static" / navigation.FILE).read_text("utf-8")
    tree = json.loads(script[script.rindex("})(") + 3 : script.rindex(")")])
    found: list[str] = html.document_fromstring(tree).xpath("//a/@href")
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few pages, without the evidence of all forms, and without what only programs and the box for evaluating read."""
    folder = tmp_path_factory.mktemp("few-pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence_section, "read", lambda path: None)
        return build_of(FEW, folder, ptxspec_isa="", ptxspec_try_it=False)


def test_every_link_of_the_tree_is_a_page(site: Path) -> None:
    found = links(site)
    assert len(found) > 5 and len(set(found)) == len(found)
    assert [link for link in found if not (site / link).is_file()] == []


def test_pages_do_not_hold_the_tree(site: Path) -> None:
    page = html.document_fromstring((site / "spec/instructions/integer/bfe.html").read_bytes())
    assert page.xpath("//div[contains(@class, 'sidebar-tree')]//noscript/a/@href") == ["../../../index.html"]
    assert page.xpath("//div[contains(@class, 'sidebar-tree')]//li") == []


TREE = """<ul>
<li class="toctree-l1"><a class="reference internal" href="one.html">One</a></li>
<li class="toctree-l1"><a class="reference internal" href="two/index.html">Two</a><ul>
<li class="toctree-l2"><a class="reference internal" href="two/a.html">A</a></li>
<li class="toctree-l2"><a class="reference internal" href="two/b.html">B</a></li></ul></li>
<li class="toctree-l1"><a class="reference internal" href="three/index.html">Three</a><ul>
<li class="toctree-l2"><a class="reference internal" href="three/c.html">C</a></li></ul></li></ul>"""


def opened(page: Any) -> list[str]:
    """The chapters of the tree that are open."""
    boxes = "e => e.filter(b => b.checked).map(b => b.parentElement.querySelector('a').textContent)"
    found: list[str] = page.eval_on_selector_all(".toctree-checkbox", boxes)
    return found


def test_the_page_is_marked_and_its_chapter_is_open(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / navigation.FILE).write_text(navigation.text_of(TREE))
    for name in ("two/a", "two/b", "elsewhere"):
        root = "../" if "/" in name else "./"
        script = f'<script src="{root}{navigation.FILE}" data-page="{name}"></script>'
        (tmp_path / f"{name}.html").write_text(
            f"<!doctype html><html data-content_root='{root}'><title>{name}</title><body>{script}"
        )
    with chromium() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "two/a.html").as_uri())
        marked = "e => e.map(a => a.textContent + ' ' + a.getAttribute('href'))"
        assert page.eval_on_selector_all("[aria-current=page]", marked) == ["A #"]
        assert page.locator("li.current-page").count() == 1 and opened(page) == ["Two"]
        page.click("a[href$='two/b.html']")
        page.wait_for_load_state()  # a click does not wait for the page's scripts
        assert page.url == (tmp_path / "two/b.html").as_uri()
        assert page.eval_on_selector_all("[aria-current=page]", marked) == ["B #"]
        page.goto((tmp_path / "elsewhere.html").as_uri())
        assert page.locator("[aria-current=page]").count() == 0 and opened(page) == []
