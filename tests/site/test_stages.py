"""The pictures of a kernel's life and of a proof's: what they name is there, and is used by what they say."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from building import build

from ptxspec_workshop.site.stages import LIVES, WIDTH, picture

ROOT = Path(__file__).resolve().parents[2]
#: what a letter of bold words is wide at most, in pixels
LETTER = 6.6


@pytest.mark.parametrize("life", LIVES)
def test_what_a_picture_names_is_there(life: str) -> None:
    names = [name for stages in LIVES[life] for stage in stages for name in stage.made_by]
    assert len(set(names)) == len(names) > 8
    for name in names:
        module, _, attribute = name.partition(":")
        made = getattr(import_module(f"ptxspec.{module}"), attribute)
        assert made.__module__ == f"ptxspec.{module}", f"{name} is of {made.__module__}"


@pytest.mark.parametrize("life", LIVES)
def test_words_lie_in_their_boxes(life: str) -> None:
    root = ElementTree.fromstring(picture(life))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = [node for node in root if node.tag.endswith("rect")]
    words = [node for node in root if node.tag.endswith("text")]
    assert len(boxes) == len(words) == sum(map(len, LIVES[life])) and width == WIDTH
    for box, text in zip(boxes, words, strict=True):
        assert float(box.attrib["y"]) + float(box.attrib["height"]) < height
        for line in text:
            assert len(line.text or "") * LETTER < float(box.attrib["width"]), line.text


def test_each_row_is_reached_from_the_one_above() -> None:
    for life, rows in LIVES.items():
        arrows = len(re.findall("marker-end", picture(life)))
        assert arrows == sum(len(a) * len(b) for a, b in pairwise(rows))


def test_the_architecture_shows_both(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    shown = re.findall(r"```\{stages\} (\w+)\n```\n", text)
    assert shown == list(LIVES)
    (tmp_path / "index.md").write_text("# Lives\n\n" + "\n\n".join(f"```{{stages}} {life}\n```" for life in shown))
    assert not build(tmp_path)
    html = (tmp_path / "build" / "site" / "index.html").read_text("utf-8")
    assert all(f'aria-label="the life of a {life}"' in html for life in LIVES) and html.count("<rect") == sum(
        len(stages) for rows in LIVES.values() for stages in rows
    )
