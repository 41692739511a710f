"""The site is small enough to keep and to read: all of it, and a page of it."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

from browser import whole_site

#: bytes of all files, of a page in the median, and of the largest page
WHOLE, MEDIAN, LARGEST = 25_000_000, 50_000, 250_000


def sizes(site: Path, pattern: str) -> list[int]:
    return [path.stat().st_size for path in site.rglob(pattern) if path.is_file()]


@pytest.mark.long
def test_the_site_is_small() -> None:
    site = whole_site()
    of_pages = sizes(site, "*.html")
    assert len(of_pages) > 300 and sum(sizes(site, "*")) <= WHOLE
    assert statistics.median(of_pages) <= MEDIAN and max(of_pages) <= LARGEST
