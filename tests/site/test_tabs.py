"""The tables of corner cases as tabs: one is shown, by mouse or keyboard; without the script all are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser import chromium

from ptxspec_workshop.site import corner_cases

SCRIPT = Path(corner_cases.__file__).with_name("static") / "tabs.js"


def table(caption: str) -> str:
    return (
        f'<div class="table-wrapper"><table><caption><code>{caption}</code></caption><tr><td>1</td></tr></table></div>'
    )


PAGE = f"<article><div class='computed corner-cases'>{table('f.u32 d, a;')}{table('f.s32 d, a;')}{table('f.s32 d, b;')}</div></article>"
CSS = Path(corner_cases.__file__).with_name("static") / "ptxspec.css"


def shown(page: Any) -> list[str]:
    visible = "e => e.filter(p => p.getBoundingClientRect().height).map(p => p.querySelector('code').textContent)"
    found: list[str] = page.eval_on_selector_all(".table-wrapper", visible)
    return found


def test_tabs_choose_one_table() -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.set_content(f"<style>{CSS.read_text()}</style>{PAGE}")
        assert len(shown(page)) == 3
        page.add_script_tag(content=SCRIPT.read_text())
        names = page.eval_on_selector_all("[role=tab]", "e => e.map(t => t.textContent)")
        assert names == ["f.u32", "f.s32 d, a;", "f.s32 d, b;"]
        assert shown(page) == ["f.u32 d, a;"]
        page.click("[role=tab]:nth-child(3)")
        assert shown(page) == ["f.s32 d, b;"]
        for key, expected in (
            ("ArrowRight", "f.u32 d, a;"),
            ("ArrowLeft", "f.s32 d, b;"),
            ("Home", "f.u32 d, a;"),
            ("End", "f.s32 d, b;"),
        ):
            page.keyboard.press(key)
            assert shown(page) == [expected], key
            assert page.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
        assert page.get_attribute("[role=tabpanel]:not([hidden])", "aria-labelledby") == page.get_attribute(
            "[aria-selected=true]", "id"
        )
        assert page.eval_on_selector_all("[role=tab][tabindex='0']", "e => e.length") == 1
