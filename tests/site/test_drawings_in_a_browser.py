"""Drawings as Chromium shows them: no words overlap or are cut off, none are tiny, and colours stand out in light and in dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

from browser import chromium

from ptxspec.base.places import DOCUMENTS
from ptxspec_workshop.site import drawing

STYLES = (Path(drawing.__file__).parents[1] / "static/ptxspec.css").read_text("utf-8")
#: what the theme says beside the styles: its fonts, and the backgrounds of a light and of a dark page
FONTS = "body { margin: 0; padding: 0 1em; --font-stack: sans-serif; --font-stack--monospace: monospace; }"
BACKGROUNDS = {"light": "#ffffff", "dark": "#131416"}

MEASURE = """() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
    const told = (what, e) => found.push(svg.querySelector("title").textContent + ": " + what + ": " + e.textContent);
    if (frame.left < 0 || frame.right > document.documentElement.clientWidth) told("beyond the screen", svg.querySelector("title"));
    const scale = frame.width / svg.viewBox.baseVal.width;
    const boxes = texts.map(e => e.getBoundingClientRect());
    texts.forEach((e, i) => {
      const box = boxes[i];
      if (parseFloat(getComputedStyle(e).fontSize) * scale < 10.9) told("tiny", e);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1) told("cut off", e);
      for (let k = 0; k < i; k++) {
        const other = boxes[k];
        const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (wide > 1 && high > 5) told("over " + texts[k].textContent, e);
      }
    });
  }
  return found;
}"""


def page_of(markdown: str) -> str:
    """A page that has nothing but drawings."""
    html = re.sub(r"~~~~.*?~~~~", "", markdown, flags=re.S)
    return f"<!DOCTYPE html><style>{FONTS}{STYLES}</style><body><article>{html}</article>"


def test_words_are_legible_in_every_drawing() -> None:
    found = []
    for path in sorted((DOCUMENTS / "spec").rglob("*.md")):
        for fence in re.finditer(r"^```\{drawing\} (.*)\n((?:.*\n)*?)```$", path.read_text("utf-8"), re.M):
            found.append(drawing.markdown(fence[1], fence[2].splitlines()))
    assert len(found) > 15
    with chromium() as browser:
        page = browser.new_page()
        for width in (1400, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.set_content(page_of("".join(found)))
            assert page.locator("svg").count() > 40
            assert page.evaluate(MEASURE) == []


def test_words_that_overlap_are_found() -> None:
    text = '<text x="{}" y="20">some words</text>'
    inside = (
        text.format(5) + text.format(20) + text.format(330) + '<text x="5" y="60" style="font-size: 6px">small</text>'
    )
    svg = f'<svg viewBox="0 0 344 90" width="344"><title>T</title>{inside}</svg>'
    with chromium() as browser:
        page = browser.new_page()
        page.set_content(page_of(f'<div class="drawings"><figure>{svg}</figure></div>'))
        told = " ".join(page.evaluate(MEASURE))
    assert "over some words" in told and "cut off" in told and "tiny" in told


def luminance(colour: str) -> float:
    """The relative luminance of a colour, by WCAG 2."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_lines_stand_out_on_light_and_on_dark_pages() -> None:
    """WCAG 2.1, 1.4.11: at least 3 to 1."""
    sets = re.findall(r"((?:--hue-\d: #[0-9a-f]{6};\s*){6})", STYLES)
    assert len(sets) == 3 and sets[1].split() == sets[2].split()
    for theme, colours in zip(("light", "dark"), sets, strict=False):
        for colour in re.findall("#[0-9a-f]{6}", colours):
            assert contrast(colour, BACKGROUNDS[theme]) >= 3, (theme, colour)
