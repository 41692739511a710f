"""No code and no table is cut off, on wide screens, small ones and a phone, in light and in dark: measured in Chromium."""

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

MEASURE = """(wide) => {
  const found = [], width = document.documentElement.clientWidth;
  const told = (what, e) => found.push(what + ": " + e.tagName.toLowerCase() + "." + e.className + " " + e.textContent.trim().slice(0, 60));
  for (const d of document.querySelectorAll("details")) d.open = true;
  for (const p of document.querySelectorAll("[role=tabpanel]")) p.hidden = false;
  if (document.documentElement.scrollWidth > width + 1) found.push("the page scrolls sideways, " + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll("article pre, article table, article p, article li, article img, article svg, article h1")) {
    const box = e.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    if (e.matches("pre") && e.scrollWidth > e.clientWidth + 1) told("code is clipped", e);
    let holder = e.parentElement.closest(".table-wrapper");
    if (holder) {
      const style = getComputedStyle(holder);
      if (!["auto", "scroll"].includes(style.overflowX)) told("a table's box does not scroll", e);
      if (holder.scrollWidth > holder.clientWidth + 1 && style.backgroundImage === "none") told("nothing shows that a table goes on", e);
    }
    const outer = (holder || e).getBoundingClientRect();
    if (outer.right > width + 1 || outer.left < -1) told("beyond the edge of the screen", e);
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


def test_nothing_is_clipped_on_pages_of_every_kind(tmp_path: Path) -> None:
    site = sample_site(tmp_path)
    assert look_at(site, sample_of(site)) == {}


@pytest.mark.long
def test_nothing_is_clipped_anywhere() -> None:
    site = whole_site()
    assert look_at(site, pages_of(site)) == {}


def test_what_is_clipped_is_found() -> None:
    long = "x" * 400
    page_text = (
        f"<article><pre style='width:200px;overflow:auto'>{long}</pre><table><tr><td>{long}</td></tr></table></article>"
    )
    with chromium() as browser:
        page = browser.new_page()
        page.set_content(f"<html><body>{page_text}</body></html>")
        found = " ".join(clipped(page))
    assert "code is clipped" in found and "beyond the edge" in found and "scrolls sideways" in found
