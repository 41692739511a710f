"""Short modules, and what is said of them. In a text, `¦` marks the place at which a complaint is expected."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.base.escaping import printable
from ptxspec.base.places import DOCUMENTS
from ptxspec.language.diagnostics import MOST_SAID, WINDOW, Diagnostic

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = (
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .reg .f64 %fd<4>;"
    " .reg .u32 %u<4>; .reg .s32 %s<4>;"
)
MARK = "¦"


def body(instructions: str, parameters: str = "", module: str = "", registers: str = REGISTERS) -> str:
    """A module with one entry `k`."""
    return f"{HEADER}{module}\n.visible .entry k({parameters})\n{{\n{registers}\n{instructions}\nret;\n}}\n"


def complaints(text: str) -> list[Diagnostic]:
    """What is said of a text that must be refused; every complaint lies in the text, and every page exists."""
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text, "some.ptx")
    found = caught.value.diagnostics
    assert found
    lines = text.split("\n")
    for one in found:
        assert one.path == "some.ptx" and one.message
        assert 1 <= one.line <= len(lines) and 1 <= one.column <= len(lines[one.line - 1]) + 1
        line = lines[one.line - 1]
        assert one.source == line[one.begins - 1 : one.begins - 1 + WINDOW] and len(one.message) <= MOST_SAID
        assert one.begins == 1 or one.begins <= one.column
        assert f"some.ptx:{one.line}:{one.column}: {printable(one.message)}" in str(caught.value)
        if one.page is not None:
            assert (DOCUMENTS / one.page.partition(":")[0]).is_file(), one.page
    return found


def refused(marked: str) -> Diagnostic:
    """The one complaint about a text, at its mark."""
    at = marked.index(MARK)
    line, column = marked.count("\n", 0, at) + 1, at - marked.rfind("\n", 0, at)
    found = complaints(marked.replace(MARK, ""))
    assert [(d.line, d.column) for d in found] == [(line, column)], [str(d) for d in found]
    return found[0]


def bits_of(text: str, register: str = "%rd1", width: int = 64) -> int:
    """What a register holds after the instructions of `text`, under the exact engine."""
    out = np.zeros(1, np.uint64)
    source = body(f"{text}\nld.param.u64 %rd8, [out]; st.global.b{width} [%rd8], {register};", ".param .u64 out")
    ptxspec.load(source).launch("k", args=[out], engine="exact")
    return int(out[0])


def initial(type: str, value: str, dimensions: str = "") -> bytes:
    """The bytes with which a variable of the type begins."""
    return bytes(ptxspec.load(f"{HEADER}.global .{type} v{dimensions} = {value};").read("v"))
