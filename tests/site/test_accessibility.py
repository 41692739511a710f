"""Pages can be read without a mouse and by a screen reader: axe-core finds no serious violation, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")

from browser import chromium, sample_site, whole_site

#: ten kinds of pages, with one of each. (The index is none of them: axe-core takes a minute for its thirty thousand links.)
KINDS = {
    "the front page": "index.html",
    "a list of instructions": "spec/instructions/index.html",
    "an instruction with corner cases, drawings and identities": "spec/instructions/integer/bfe.html",
    "an instruction with an effect": "spec/instructions/movement/ld.html",
    "how to read a page": "spec/notation.html",
    "the machine": "spec/machine/barriers.html",
    "pictures": "spec/textures/filtering.html",
    "proofs": "proofs/integers.html",
    "a guide": "docs/how-to/run-a-kernel.html",
    "a search": "search.html?q=bfe",
}
#: those that the default tests look at: axe-core takes seconds for a long page
QUICK = ("an instruction with corner cases, drawings and identities", "a search")
SERIOUS = ("serious", "critical")
#: theme and width in pixels of the window
VIEWS = (("light", 1400), ("dark", 390))
ALL_VIEWS = (("light", 1400), ("dark", 1400), ("light", 390), ("dark", 390))

# Everything is looked at, behind summaries and tabs too. axe-core does not judge the contrast of words on a picture: the
# shades at the edges of tables are one, so they go, and what is below them stays.
OPEN = """() => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  for (const p of document.querySelectorAll("[role=tabpanel]")) p.hidden = false;
  const style = document.createElement("style");
  style.textContent = ".table-wrapper { background-image: none !important; } * { transition: none !important; }";
  document.head.append(style);
}"""
RUN = "() => axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations)"


def script() -> str:
    """axe-core."""
    return pytest.importorskip("axe_playwright_python.base", reason="NO AXE-CORE: accessibility NOT tested").AXE_SCRIPT


def violations(page: Any) -> Iterator[str]:
    """Each serious violation on the page that a tab of the browser shows, with the first element that has it."""
    page.evaluate(OPEN)
    page.wait_for_timeout(50)  # boxes whose size has changed are marked
    page.evaluate(script())
    for found in page.evaluate(RUN):
        if found["impact"] in SERIOUS:
            nodes = found["nodes"]
            says = [part["message"] for kind in ("any", "all", "none") for part in nodes[0][kind]]
            yield f"{found['id']} at {len(nodes)} elements: {nodes[0]['html'][:200]} ({'; '.join(says)})"


def look_at(site: Path, kinds: Iterable[str], views: Iterable[tuple[str, int]]) -> dict[str, list[str]]:
    """The serious violations on pages of some kinds, by page and view."""
    found = {}
    views = tuple(views)
    with chromium() as browser:
        for kind in kinds:
            for theme, width in views:
                context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
                page = context.new_page()
                path, _, query = KINDS[kind].partition("?")
                page.goto((site / path).as_uri() + ("?" + query if query else ""))
                if query:
                    page.wait_for_selector("#search-results li")
                wrong = list(violations(page))
                if wrong:
                    found[f"{path} {theme} {width}"] = wrong
                context.close()
    return found


@pytest.mark.slow
def test_two_kinds_of_pages_have_no_serious_violation(tmp_path: Path) -> None:
    assert look_at(sample_site(tmp_path), QUICK, VIEWS) == {}


@pytest.mark.long
def test_ten_kinds_of_pages_have_no_serious_violation() -> None:
    assert look_at(whole_site(), KINDS, ALL_VIEWS) == {}


def test_serious_violations_are_found() -> None:
    hidden = "<details><summary>more</summary><p style='color:#aaa;background:#fff'>pale</p></details>"
    wide = "<div class=table-wrapper style='overflow:auto;white-space:nowrap;width:4em'><p>so wide that it scrolls</p></div>"

    with chromium() as browser:
        page = browser.new_page()
        page.set_content(f"<html><body><img src=x><button></button><p role=heading>t</p>{hidden}{wide}</body></html>")
        found = {one.split(" ")[0] for one in violations(page)}
    assert found >= {
        "aria-required-attr",
        "button-name",
        "color-contrast",
        "document-title",
        "html-has-lang",
        "image-alt",
        "scrollable-region-focusable",
    }
