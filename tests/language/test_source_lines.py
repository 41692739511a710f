"""The line of CUDA C++ that an instruction was compiled from."""

from __future__ import annotations

import pytest

from ptxspec.language.debugging import origin
from ptxspec.language.diagnostics import Source, Sources

HEAD = ".version 8.0 .target sm_80 .address_size 64\n"
BODY = """.visible .entry first() {
    bar.sync 0;
    .loc 1 7 3
    bar.sync 1;
    { .loc 2 9 1
      bar.sync 2; }
    bar.sync 3;
    .loc 1 0 0
    bar.sync 4;
    .loc 5 1 1
    bar.sync 5;
    ret;
}
.visible .entry second() { bar.sync 6; ret; }
"""
FILES = '.file 1 "a.cu"\n.file 2 "deep/b.cuh"\n'


def at(source: Source, number: int) -> tuple[str, int] | None:
    return origin(source, source.text.index(f"bar.sync {number}"))


@pytest.mark.parametrize("text", [HEAD + FILES + BODY, HEAD + BODY + FILES], ids=["before", "behind"])
def test_the_last_location_of_the_function_counts(text: str) -> None:
    source = Source(text)
    assert at(source, 0) is None  # none before it
    assert at(source, 1) == ("a.cu", 7)
    assert at(source, 2) == at(source, 3) == ("deep/b.cuh", 9)
    assert at(source, 4) is None  # no line
    assert at(source, 5) is None  # no file has the number
    assert at(source, 6) is None  # of another function


def test_each_of_several_linked_texts_has_its_own_files() -> None:
    one, other = (HEAD + f'.file 1 "{name}"\n' + BODY for name in ("one.cu", "other.cu"))
    source = Sources([Source(one), Source(other)])
    assert origin(source, one.index("bar.sync 1")) == ("one.cu", 7)
    assert origin(source, len(one) + 1 + other.index("bar.sync 1")) == ("other.cu", 7)


def test_a_text_without_locations_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxspec.language.debugging.read", None)
    assert origin(Source(HEAD), 0) is None
