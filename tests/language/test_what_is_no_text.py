"""What is given for a module's text and is none: the answer says what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ptxspec


@pytest.mark.parametrize("name", ["kernel.ptx", "some folder/kernel.PTX", "../x.ptx", "C:\\kernels\\x.ptx"])
def test_the_name_of_a_file(name: str) -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(name)
    (found,) = caught.value.diagnostics
    assert f"load(Path({name!r}).read_text())" in found.message and (found.line, found.column) == (1, 1)
    with pytest.raises(ptxspec.PtxError, match="read_text"):
        ptxspec.link([name])


def test_the_name_of_a_file_that_is_there(tmp_path: Path) -> None:
    """Its name need not end as those of PTX do."""
    file = tmp_path / "kernel"
    file.write_text(".version 9.0\n.target sm_90\n")
    with pytest.raises(ptxspec.PtxError, match="read_text"):
        ptxspec.load(str(file))
    ptxspec.load(file.read_text())
    with pytest.raises(ptxspec.PtxError, match=r"expected '\.version'"):
        ptxspec.load(str(tmp_path / "no such kernel"))


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (b".version 9.0", "data.decode()"),
        (bytearray(b"x"), "data.decode()"),
        (memoryview(b"x"), "data.decode()"),
        (Path("kernel.ptx"), "load(Path('kernel.ptx').read_text())"),
        (None, "a str, not NoneType"),
        (9.0, "a str, not float"),
        ([".version 9.0"], "a str, not list"),
    ],
)
def test_other_types(given: Any, hint: str) -> None:
    with pytest.raises(TypeError) as caught:
        ptxspec.load(given)
    assert hint in str(caught.value)


@pytest.mark.parametrize("text", ["", " ", "x", "ret", "\0", "\ud800", "a" * 5000, "// kernel.ptx\n", "{x.ptx"])
def test_texts_that_are_no_names(text: str) -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text)
    assert "read_text" not in str(caught.value)
