"""`ptxspec page`, and where messages send their readers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from validated import ROOT, asked

from ptxspec.cli import main
from ptxspec.language import diagnostics

#: the pages of one opcode, on some of which it is not the first
NEGATIONS = ("floating/abs", "half/abs", "integer/neg")


def shown(*words: str) -> str:
    done = CliRunner().invoke(main, ["page", *words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("bfe", "spec/instructions/integer/bfe.md"),
        ("vmax4", "spec/instructions/video/vadd2.md"),  # of a page of several opcodes
        ("floating/max", "spec/instructions/floating/min.md"),
        ("ld", "spec/instructions/movement/ld.md"),  # rather than the page of ld.acquire
        ("cp.async", "spec/instructions/movement/cp.async.md"),
        ("spec/machine/memory.md", "spec/machine/memory.md"),
        ("machine/memory", "spec/machine/memory.md"),
        ("memory", "spec/machine/memory.md"),  # rather than that of proofs
        ("proofs/memory", "proofs/memory.md"),
        ("functions", "spec/functions/index.md"),
        ("what-ptxas-takes-for-granted", "docs/disputes/what-ptxas-takes-for-granted.md"),
    ],
)
def test_a_page_by_its_names(name: str, path: str) -> None:
    assert shown(name) == (ROOT / path).read_text()


def test_a_line_shows_its_section() -> None:
    lines = (ROOT / "spec/machine/memory.md").read_text().splitlines()
    number = lines.index("## Order") + 3
    text = shown(f"spec/machine/memory.md:{number}")
    assert text.startswith("## Order\n") and lines[number - 1] in text and "## How much there is" not in text
    beginning = shown("spec/machine/memory.md:12")
    assert beginning.startswith("# Memory\n") and 'rule("misaligned"' in beginning and "## " not in beginning


def test_an_entry_of_the_register() -> None:
    text = shown("amb-031")
    assert text.startswith("## AMB-031 generic-windows\n") and "AMB-032" not in text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("machin/memory", "there is no page machin/memory; did you mean machine/memory?"),
        ("add", "add is several pages: spec/instructions/floating/add.md, "),
        ("neg", f"neg is several pages: {', '.join(f'spec/instructions/{p}.md' for p in NEGATIONS)}"),
        ("AMB-999", "the register has no entry AMB-999"),
        ("machine/memory:0", "the page has lines 1 to "),
        ("../README", "there is no page ../README"),
        ("", "a page has a name"),
    ],
)
def test_what_is_no_page(name: str, message: str) -> None:
    done = CliRunner().invoke(main, ["page", name])
    assert done.exit_code in (1, 2) and done.output.startswith(f"error: {message}"), done.output


def test_json() -> None:
    value = asked("page", "clz")
    assert value == {"page": "spec/instructions/integer/clz.md", "text": shown("clz")}


def test_an_installed_package_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = "spec/machine/memory.md:12"
    assert diagnostics.see(page) == f"see {page}"
    monkeypatch.setattr(diagnostics, "DOCUMENTS", tmp_path)
    assert diagnostics.see(page) == f"see: ptxspec page {page}"
