"""Every page is valid HTML: the Nu Html Checker, which is what the W3C's validator runs, finds no error."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

import from_npm
from browser import SAMPLE, pages_of, sample_site, whole_site

VERSION = "26.9.27"
#: of the package's archive, as npm's registry gives it
INTEGRITY = "sha512-TkQd5DFfOaWC9ebtvozTsrH2Vaod3jYg+vrOeREzIXxBexLz9+rS2DNtjn7+RPUiZhgli0SghgBX6RJRNea0KA=="
#: pages that Sphinx makes of templates, which SAMPLE does not list
MADE = ("search", "genindex")


def errors(paths: Sequence[Path]) -> list[str]:
    """What the checker calls an error in some files. Skips loudly without Java or, at first, without npm."""
    java = shutil.which("java")
    if java is None:
        from_npm.not_tested("the validity of HTML", "Java is not installed, which the Nu Html Checker is written in")
    try:
        jar = from_npm.member("vnu-jar", VERSION, INTEGRITY, "build/dist/vnu.jar")
    except from_npm.Unavailable as reason:
        from_npm.not_tested("the validity of HTML", reason)
    # compiled once and lightly, as for a short run; deep pages need a larger stack
    machine = [java, "-Xss4m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", str(jar)]
    run = subprocess.run(
        [*machine, "--format", "json", "--errors-only", "--stdout", "--exit-zero-always", *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    messages = json.loads(run.stdout)["messages"]
    return [f"{m.get('url')}:{m.get('lastLine')}: {m['message']} {m.get('extract', '')[:120]!r}" for m in messages]


def by_kind(found: Sequence[str]) -> dict[str, str]:
    """One error of each kind, which a failure shows instead of a thousand of one."""
    return {re.sub(r".*?\d: |“[^”]*”| '.*", "", one): one for one in reversed(found)}


@pytest.mark.slow
def test_pages_of_every_kind_are_valid(tmp_path: Path) -> None:
    site = sample_site(tmp_path)
    assert by_kind(errors([site / f"{page}.html" for page in (*SAMPLE, *MADE)])) == {}


@pytest.mark.long
def test_all_pages_are_valid() -> None:
    site = whole_site()
    assert by_kind(errors([*pages_of(site), *(site / f"{page}.html" for page in MADE)])) == {}


@pytest.mark.slow
def test_errors_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    start = "<!doctype html><html lang=en><head><title>t</title></head><body>"
    page.write_text(f"{start}<p id=a>1<p id=a>2<ul><div></div></ul><a href='x y'>3</a></section></body></html>")
    found = " ".join(errors([page]))
    assert "Duplicate ID" in found and "not allowed as child" in found and "Stray end tag" in found and "href" in found
    page.write_text(f"{start}<h1>t</h1><p id=a>1</p></body></html>")
    assert errors([page]) == []
