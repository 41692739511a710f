"""Misspelled words are answered with what they may have been, and nothing of a text reaches a terminal raw."""

from __future__ import annotations

import sys

import pytest
from verdicts import HEADER, body, complaints

import ptxspec
from ptxspec.base.escaping import printable


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ad.u32 %r1, %r2, 1;", "did you mean add"),
        ("MOV.u32 %r1, 1;", "did you mean mov?"),
        ("mul.low.u32 %r1, %r2, %r3;", "did you mean .lo for .low? the nearest forms are mul.lo.u32"),
        ("ld.globl.u32 %r1, [%rd1];", "did you mean .global for .globl? the nearest forms are ld.global.u32"),
        ("ld.global.f16 %h1, [%rd1];", "there is no ld.global.f16; the nearest forms are ld.global.b16, ld.global.u16"),
        ("st.shared.bf16x2 [%r2], %r1;", "the nearest forms are st.shared.b32, st.shared.u32"),
        ("mov.f16 %h1, %h2;", "the nearest forms are mov.b16, mov.u16"),
        ("ld.global.b24 %r1, [%rd1];", "did you mean .b32 or .b64 for .b24? the nearest forms are ld.global.b32"),
        ("shflbfly.b32 %r1, %r2, 1, 31;", "shflbfly is no instruction of PTX; did you mean shfl.sync.bfly.b32?"),
        ("ldglobl.u32 %r1, [%rd1];", "did you mean ld.global.u32?"),
        ("barsync 0;", "did you mean bar.sync?"),
        ("setpeq.u32 %p1, %r1, %r2;", "did you mean setp.eq.u32?"),
        (
            "mbarrier.ival.shared.b64 [%rd1];",
            "did you mean .inval for .ival? the nearest forms are mbarrier.inval.shared.b64",
        ),
        ("mbarrierival.shared.b64 [%rd1];", "did you mean mbarrier.inval.shared.b64?"),
        ("tcgen05.alocc.b32 [%rd1], 64;", "there is no tcgen05.alocc.b32; did you mean tcgen05.alloc?"),
        ("tcgen05alloc.b32 [%rd1], 64;", "tcgen05alloc is no instruction of PTX; did you mean tcgen05.alloc?"),
        ("tcgen05aloc.b32 [%rd1], 64;", "did you mean tcgen05.alloc?"),
        ("wgmma.wait_groups.sync.aligned 0;", "did you mean .wait_group for .wait_groups?"),
        ("multimem.st.weak.globl.u32 [%rd1], %r1;", "did you mean .global for .globl?"),
        ("st.bulk.weak.sharde::cta [%rd1], %rd1, 0;", "st.bulk has no .sharde::cta; did you mean .shared::cta?"),
        ("mov.u32 %r1, %tidx;", "did you mean %tid.x?"),
        ("mov.u32 %r1, %tid;", "there is %tid.x, %tid.y, %tid.z"),
        (".regg .b32 x;", "did you mean .reg?"),
        (".reg .b33 x;", "did you mean .b32?"),
        ("mov.u32 %r1, %r9;", "%r<9> ends with %r8"),
        ("mov.u32 %r1, %rr5;", "did you mean %r5?"),
        (".reg .u32 counter; mov.u32 %r1, countr;", "did you mean counter?"),
        ("LOOP: bra LOPP;", "did you mean LOOP?"),
    ],
)
def test_what_was_meant(text: str, meant: str) -> None:
    assert meant in complaints(body(text))[0].message


@pytest.mark.parametrize("text", ["frobnicate.u32 %r1, 1;", "mov.u32 %r1, unheard_of;", ".q .b32 x;"])
def test_what_is_like_nothing(text: str) -> None:
    assert "did you mean" not in complaints(body(text))[0].message


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (".version 9.0\n.target sm_91\n", "did you mean sm_90"),
        (".version 9.0\n.target sm_90, debg\n", "did you mean debug?"),
        (HEADER + ".entri k() {}", "did you mean .entry?"),
        (HEADER + ".entry k() .maxntids 3 {}", "did you mean .maxntid?"),
    ],
)
def test_what_was_meant_in_a_module(text: str, meant: str) -> None:
    assert meant in complaints(text)[0].message


RAW = ["\x1b[31m", "\a", "\b", "\r", "\x9b1m", "\u202e", "\u2066", "\udc80", "\x00", "\x7f", "\u2028"]


@pytest.mark.parametrize("raw", RAW)
def test_complaints_reach_no_terminal_raw(raw: str) -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(body(f"/* {raw} */ mov.u32 %r1, %x; {raw}"), f"a{raw}b.ptx")
    for found in caught.value.diagnostics:
        assert raw in found.path and raw in found.source  # as the text has it
    text = str(caught.value)
    assert raw not in text and printable(raw) in text and text.isprintable() is False
    text.encode()


def test_what_threads_print(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal gets it with escapes, what is no terminal and a function of the caller as it is."""
    module = ptxspec.load(
        f"{HEADER}.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".global .b8 text[6] = { 27, 97, 10, 9, 13, 0 };\n"
        ".entry k() { .reg .b64 a; .reg .b32 r; .param .b64 f; .param .b64 v; .param .b32 n;\n"
        "cvta.global.u64 a, text; st.param.b64 [f], a; mov.u64 a, 0; st.param.b64 [v], a;\n"
        "call (n), vprintf, (f, v); ret; }"
    )
    module.launch("k")
    assert capsys.readouterr().out == "\x1ba\n\t\r"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    module.launch("k")
    assert capsys.readouterr().out == "\\x1ba\n\t\\x0d"
    given: list[str] = []
    module.launch("k", printed=given.append)
    assert "".join(given) == "\x1ba\n\t\r"
