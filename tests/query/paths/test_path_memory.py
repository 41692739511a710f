"""Loads and stores over buffers and variables, and whole kernels: what they leave in memory, and where they are undefined."""

from __future__ import annotations

from typing import Any

import pytest

import ptxspec

HEAD = ".version 8.0 .target sm_80 .address_size 64 "
SHARED = ".shared .align 4 .b8 t[64]; "


def asked(left: str, right: str, **how: Any) -> ptxspec.Verdict:
    return ptxspec.prove(left, right, **{"buffers": {"p": 64}, **how})


@pytest.mark.parametrize(
    ("left", "right", "how"),
    [
        (
            "ld.global.u32 x, [p+4]; add.u32 x, x, 1; st.global.u32 [p+4], x;",
            "atom.global.add.u32 y, [p+4], 1;",
            {"buffers": {"p": "64 private"}},
        ),
        ("st.global.u32 [p], a; ld.global.u16 d, [p+2];", "st.global.u32 [p], a; shr.u32 t, a, 16; cvt.u16.u32 d, t;", {}),
        ("st.global.v2.u32 [p+8], {a, b};", "st.global.u32 [p+12], b; st.global.u32 [p+8], a;", {}),
        ("st.global.u32 [p], a; st.global.u32 [p], b;", "st.global.u32 [p], b;", {}),
        ("ld.global.u64 d, [p];", "ld.u32 x, [p]; ld.u32 y, [p+4]; mov.b64 d, {x, y};", {}),
        ("@q st.global.u32 [p], a;", "@!q bra E; st.global.u32 [p], a; E:", {}),
        (
            "mad.wide.u32 q, i, 4, p; ld.global.u32 x, [q];",
            "shl.b32 j, i, 2; cvt.u64.u32 k, j; add.u64 q, p, k; ld.global.u32 x, [q];",
            {"assume": "i < 16"},
        ),
        (
            "mad.wide.u32 q, i, 4, p; st.global.u32 [q], a; mad.wide.u32 r, j, 4, p; ld.global.u32 d, [r];",
            "mad.wide.u32 q, i, 4, p; mad.wide.u32 r, j, 4, p; ld.global.u32 d, [r]; st.global.u32 [q], a; "
            "setp.eq.u32 s, i, j; @s mov.u32 d, a;",
            {"assume": "i < 16 and j < 16"},
        ),
        # through generic addresses, and variables
        ("cvta.to.global.u64 q, p; ld.global.u32 d, [q];", "ld.u32 d, [p];", {}),
        (SHARED + "cvta.shared.u64 q, t; st.u32 [q+8], a; ld.shared.u32 d, [t+8];", "mov.u32 d, a;", {"buffers": None}),
        (SHARED + "mov.u32 q, t; mad.lo.u32 q, i, 4, q; st.shared.u32 [q], a; ld.shared.u32 d, [q];", "mov.u32 d, a;",
         {"buffers": None, "assume": "i < 16"}),
        (".local .b32 v; st.local.u32 [v], a; ld.local.u32 d, [v];", "mov.u32 d, a;", {"buffers": None}),
        # the same store through another name, and buffers that are apart
        ("st.global.u32 [q], a;", "st.global.u32 [p+16], a;", {"buffers": {"p": 64, "q": ("p", 16)}}),
        (
            "st.global.u32 [p], a; ld.global.u32 d, [q];",
            "ld.global.u32 d, [q]; st.global.u32 [p], a;",
            {"buffers": {"p": 64, "q": 64}},
        ),
        # undefined on both sides, for the same inputs
        ("ld.global.u32 d, [p+64];", "ld.global.u32 d, [p+68];", {}),
        ("selp.b64 q, p, r, s; ld.global.u32 d, [q];", "@s ld.global.u32 d, [p]; @!s ld.global.u32 d, [r];",
         {"buffers": {"p": 4, "r": 4}}),
    ],
)  # fmt: skip
def test_the_same_in_memory(left: str, right: str, how: dict[str, Any]) -> None:
    verdict = asked(left, right, **how)
    assert verdict.status == "proved", verdict


@pytest.mark.parametrize(
    ("left", "right", "how", "reason"),
    [
        (
            "ld.global.u32 x, [p+4]; add.u32 x, x, 1; st.global.u32 [p+4], x;",
            "atom.global.add.u32 y, [p+8], 1;",
            {},
            "p[",
        ),
        ("st.global.v2.u32 [p+8], {a, b};", "st.global.u32 [p+12], a; st.global.u32 [p+8], b;", {}, "p["),
        ("st.global.u32 [p], a; st.global.u32 [p+2], b;", "st.global.u32 [p], a;", {}, "left side is undefined"),
        ("ld.global.u32 d, [p+64];", "mov.u32 d, 0;", {}, "left side is undefined"),
        ("mov.u32 d, 0;", "ld.global.u32 d, [p+62];", {}, "right side is undefined"),
        ("mad.wide.u32 q, i, 4, p; ld.global.u32 d, [q];", "mov.u32 d, 0;", {"assume": "i == 16"}, "undefined"),
        ("st.global.u32 [p], a;", "mov.u32 d, a;", {"buffers": {"p": "64 read-only"}}, "left side is undefined"),
        ("ld.global.u32 d, [p];", "mov.u32 d, 0;", {"buffers": {"p": "64 align 2"}}, "undefined"),
        ("ld.shared.u32 d, [p];", "mov.u32 d, 0;", {}, "undefined"),
        # what may be the same memory
        (
            "st.global.u32 [p], a; ld.global.u32 d, [q];",
            "ld.global.u32 d, [q]; st.global.u32 [p], a;",
            {"buffers": {"p": 64, "q": ("p", 0)}},
            "they differ in d",
        ),
    ],
)
def test_a_difference_in_memory(left: str, right: str, how: dict[str, Any], reason: str) -> None:
    verdict = asked(left, right, **how)
    assert verdict.status == "refuted" and reason in verdict.reason, verdict


def test_bytes_that_differ_are_shown_together() -> None:
    verdict = asked("st.global.u32 [p+4], a;", "not.b32 b, a; st.global.u32 [p+4], b;", assume="a == 0")
    assert verdict.reason == "they differ in p[4..7]"


def test_a_pointer_has_to_be_named() -> None:
    verdict = asked("ld.global.u32 d, [p]; ld.global.u32 e, [q];", "mov.u32 d, 0;")
    assert verdict.status == "unsupported"
    assert 'what the address points to (q) is not said; say buffers={"q": 64}' in verdict.reason
    loaded = asked("ld.global.u64 q, [p]; ld.global.u32 d, [q];", "mov.u32 d, 0;")
    assert loaded.status == "unsupported" and "p[0]" in loaded.reason


@pytest.mark.parametrize(
    "said", [0, -4, 1 << 20, "64x", "64 nowhere", "64 align 3", ("zz", 0), ("p", 0), ("r", 100), True, 1.5]
)
def test_a_buffer_is_said_in_words(said: Any) -> None:
    with pytest.raises(ValueError, match=r"^p"):
        ptxspec.prove("mov.u32 d, a;", "mov.u32 d, a;", buffers={"p": said, "r": 64})


# whole kernels -----------------------------------------------------------------------------------------------------------

FILL = (
    HEAD
    + """.visible .entry fill(.param .u64 out, .param .u32 n)
{
    .reg .b64 p; .reg .u32 v, i; .reg .pred q;
    ld.param.u64 p, [out];
    ld.param.u32 v, [n];
    mov.u32 i, 0;
L:  setp.ge.u32 q, i, 4;
    @q bra E;
    st.global.u32 [p], v;
    add.u64 p, p, 4;
    add.u32 i, i, 1;
    bra L;
E:  ret;
}"""
)
VECTOR = (
    HEAD
    + """.visible .entry fill(.param .u64 out, .param .u32 n)
{
    .reg .b64 p; .reg .u32 v, w;
    ld.param.u64 p, [out];
    ld.param.u32 v, [n];
    st.global.v4.u32 [p], {v, v, v, v};
}"""
)


def test_entries_that_leave_the_same_memory() -> None:
    assert ptxspec.prove(FILL, VECTOR, buffers={"out": 16}).status == "proved"
    assert ptxspec.prove(FILL, VECTOR, buffers={"out": 64}).status == "proved"
    assert ptxspec.prove(FILL, VECTOR, buffers={"out": 12}).status == "proved"  # undefined, both
    short = ptxspec.prove(FILL.replace("i, 4;\n", "i, 3;\n"), VECTOR, buffers={"out": 12})
    assert short.status == "refuted" and "the right side is undefined" in short.reason
    assert ptxspec.prove(FILL, VECTOR).status == "unsupported"


def test_entries_that_do_not() -> None:
    verdict = ptxspec.prove(FILL, VECTOR.replace("v, v}", "v, w}"), buffers={"out": 16})
    assert verdict.status == "refuted" and verdict.counterexample is not None
    assert {int(name[4:-1]) for name in verdict.counterexample.differing} <= {12, 13, 14, 15}
    verdict = ptxspec.prove(FILL.replace("i, 4;\n", "i, 3;\n"), VECTOR, buffers={"out": 16})
    assert verdict.status == "refuted"


def test_variables_of_modules_are_compared_and_constants_are_known() -> None:
    table = HEAD + ".const .u32 three = 3; .global .u32 g; .visible .entry k() { .reg .u32 v; "
    left = table + "ld.const.u32 v, [three]; st.global.u32 [g], v; }"
    assert ptxspec.prove(left, table + "mov.u32 v, 3; st.global.u32 [g], v; }").status == "proved"
    assert ptxspec.prove(left, table + "mov.u32 v, 4; st.global.u32 [g], v; }").status == "refuted"
    assert ptxspec.prove(left, table + "mov.u32 v, 4; }").status == "refuted"


def test_a_barrier_is_passed_and_orders_memory() -> None:
    text = (
        HEAD
        + """.visible .entry k(.param .u64 out) { .shared .b32 t; .reg .b64 p; .reg .u32 v;
    ld.param.u64 p, [out]; ld.global.u32 v, [p]; st.shared.u32 [t], v; bar.sync 0; ld.shared.u32 v, [t]; st.global.u32 [p+4], v; }"""
    )
    copy = (
        HEAD
        + """.visible .entry k(.param .u64 out) { .reg .b64 p; .reg .u32 v;
    ld.param.u64 p, [out]; ld.global.u32 v, [p]; st.global.u32 [p+4], v; }"""
    )
    moved = text.replace("st.shared.u32 [t], v;", "mov.u32 w, v; st.shared.u32 [t], w;").replace(
        "u32 v;", "u32 v, w;", 1
    )
    assert ptxspec.prove(text, moved, buffers={"out": 8}).status == "proved"
    assert (
        ptxspec.prove(text, copy, buffers={"out": 8}).status == "unsupported"
    )  # other threads of the CTA may wait there
    assert ptxspec.prove(text, copy.replace("[p]", "[p+4]"), buffers={"out": 8}).status == "refuted"
