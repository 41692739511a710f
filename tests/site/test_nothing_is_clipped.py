"""Nothing on a page is cut off, on wide screens, small ones and a phone, in light and in dark: measured in Chromium. A wide table may
scroll in a box of its own, if it shows that it goes on and a keyboard reaches it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("furo")

from browser import chromium, pages_of, sample_of, sample_site, whole_site

WIDTHS = (1400, 1024, 390)
#: on a screen of this width, in pixels, lines of code of up to 120 characters fit without a break
WIDE = 1400

# two frames later boxes whose size has changed are marked (static/scrolling.js)
OPEN = """() => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  for (const p of document.querySelectorAll("[role=tabpanel]")) p.hidden = false;
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
MEASURE = """(wide) => {
  const found = [], width = document.documentElement.clientWidth;
  const told = (what, e) => found.push(what + ": " + e.tagName.toLowerCase() + "." + (e.getAttribute("class") || "") + " " + e.textContent.trim().slice(0, 60));
  if (document.documentElement.scrollWidth > width + 1) found.push("the page scrolls sideways, " + document.documentElement.scrollWidth);
  const scrolls = (style) => ["auto", "scroll"].includes(style.overflowX);
  for (const e of document.querySelectorAll("article pre, article .table-wrapper, article table")) {
    const style = getComputedStyle(e), goesOn = e.scrollWidth > e.clientWidth + 1;
    if (e.matches("pre") && goesOn) told("code is clipped", e);
    if (e.matches(".table-wrapper") && !scrolls(style)) told("a table's box does not scroll", e);
    if (e.matches(".forms") && goesOn) told("a list of forms is wider than the page", e);
    if (e.matches(".table-wrapper") && goesOn && style.backgroundImage === "none") told("nothing shows that a table goes on", e);
  }
  // every other block, in the article and beside it: whatever a keyboard cannot scroll into view
  const box = (e) => { for (let b = e.parentElement; b && b !== document.body; b = b.parentElement) if (scrolls(getComputedStyle(b))) return b; };
  for (const e of document.querySelectorAll("article *, header *, footer *")) {
    const style = getComputedStyle(e), r = e.getBoundingClientRect();
    if (!r.width || !r.height || style.visibility === "hidden" || e.matches("option")) continue;
    const drawing = e.parentElement.closest("svg");
    if (drawing) {
      const outer = drawing.getBoundingClientRect(), slack = e.matches("text, tspan") ? 2.5 : 1;
      const inside = r.left > outer.left - slack && r.right < outer.right + slack && r.top > outer.top - slack && r.bottom < outer.bottom + slack;
      if (!inside && !e.matches("g, defs, defs *, marker, marker *")) told("a drawing's part is outside", e);
      continue;
    }
    if (e.clientWidth > 2 && ["hidden", "clip"].includes(style.overflowX) && e.scrollWidth > e.clientWidth + 1) told("cut off at the side", e);
    if (e.clientHeight > 2 && ["hidden", "clip"].includes(style.overflowY) && e.scrollHeight > e.clientHeight + 1) told("cut off below", e);
    const within = box(e);
    if ((r.right > width + 1 || r.left < -1) && !within) told("beyond the edge of the screen", e);
    if (scrolls(style) && e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0) told("no key scrolls it", e);
  }
  if (wide) for (const line of document.querySelectorAll("article pre span[id^='L-']")) {
    const number = line.querySelector(".linenos");
    const length = line.textContent.length - (number ? number.textContent.length : 0) - 1;
    if (length <= 120 && line.getBoundingClientRect().height > 1.8 * parseFloat(getComputedStyle(line).lineHeight)) told("a line of code is broken", line);
  }
  return found;
}"""


def clipped(page: object) -> list[str]:
    """What is cut off on the page that a tab of the browser shows, in all widths and both themes."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})  # type: ignore[attr-defined]
        page.evaluate(OPEN)  # type: ignore[attr-defined]
        for theme in ("light", "dark"):
            page.evaluate(f"document.body.dataset.theme = '{theme}'")  # type: ignore[attr-defined]
            found += [f"{width} {theme}: {one}" for one in page.evaluate(MEASURE, width >= WIDE)]  # type: ignore[attr-defined]
    return found


def look_at(site: Path, pages: Sequence[Path]) -> dict[str, list[str]]:
    """What is cut off on some pages of a site."""
    found = {}
    with chromium() as browser:
        page = browser.new_page()
        for path in pages:
            page.goto(path.as_uri())
            wrong = clipped(page)
            if wrong:
                found[str(path.relative_to(site))] = wrong
    return found


@pytest.mark.slow
def test_nothing_is_clipped_on_pages_of_every_kind(tmp_path: Path) -> None:
    site = sample_site(tmp_path)
    assert look_at(site, sample_of(site)) == {}


@pytest.mark.long
def test_nothing_is_clipped_anywhere() -> None:
    site = whole_site()
    assert look_at(site, pages_of(site)) == {}


LONG = "x" * 400
#: blocks that are cut off, and what is said of each
CUT = {
    f"<pre style='width:200px;overflow:auto'>{LONG}</pre>": "code is clipped",
    f"<table><tr><td>{LONG}</td></tr></table>": "beyond the edge",
    f"<dl><dt>{LONG}</dt></dl>": "scrolls sideways",
    f"<figure><figcaption style='overflow:hidden'>{LONG}</figcaption></figure>": "cut off at the side",
    f"<blockquote style='height:20px;overflow:hidden'>{'x ' * 4000}</blockquote>": "cut off below",
    f"<div style='overflow:auto'>{LONG}</div>": "no key scrolls it",
    f"<div class='table-wrapper' style='overflow:auto'><table><tr><td>{LONG}</td></tr></table></div>": "nothing shows that a table goes on",
    f"<div class='table-wrapper forms' style='overflow:auto'><table><tr><td>{LONG}</td></tr></table></div>": "wider than the page",
    "<div style='position:relative;left:-90px'>x</div>": "beyond the edge",
    "<svg width='90' height='20'><rect x='80' width='20' height='10'/></svg>": "a drawing's part is outside",
    "<svg width='90' height='20'><text x='80' y='15'>a long word</text></svg>": "a drawing's part is outside",
}


def test_what_is_clipped_is_found() -> None:
    with chromium() as browser:
        page = browser.new_page()
        for block, why in CUT.items():
            page.set_content(f"<html><body><article>{block}</article></body></html>")
            assert why in " ".join(clipped(page)), block
        page.set_content(
            "<html><body><article><p>words</p><svg width='90' height='20'><rect width='90' height='20'/></svg></article></body></html>"
        )
        assert clipped(page) == []
