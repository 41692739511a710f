"""Sides that take one name in types that do not fit: the same error, be they straight lines, paths, or what a warp executes."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

import ptxspec

HEAD = ".version 8.0 .target sm_80 .address_size 64 "
#: instructions that write d, and read a and b
TEXTS = [
    "mov.b16 d, a;", "mov.b32 d, b;", "mov.b64 d, a;", "mov.pred d, a;", "cvt.u64.u32 d, a;", "cvt.u32.u64 d, a;", "cvt.u16.u32 d, b;",
    "setp.eq.u32 d, a, b;", "setp.lt.u64 d, a, b;", "add.u16 d, a, a;", "add.u32 d, a, b;", "add.u64 d, a, b;", "selp.b32 d, a, a, b;",
    "mul.wide.u32 d, a, b;", "mul.wide.u16 d, a, b;", "ld.global.u16 d, [p];", "ld.global.u64 d, [p];", "st.global.u32 [p], a; mov.b32 d, b;",
]  # fmt: skip
GUARDS = ["", "", "@b ", "@q ", "@!q ", "@d "]
#: where an error stands
PLACE = re.compile(r"<(?:left|right)>:\d+:\d+: ")


def told(left: str, right: str, warp: bool = False) -> str:
    """The verdict, or the error."""
    buffers = {"p": 8} if "[p]" in left + right else None
    try:
        return ptxspec.prove(left, right, warp=warp, buffers=buffers, timeout=2.0).status
    except ptxspec.PtxError as error:
        return PLACE.sub("", str(error).partition("\n")[0])
    except ValueError as error:
        return re.sub(r"\[\d+\]", "", str(error))


def sides(seed: int) -> tuple[str, str]:
    source = random.Random(seed)
    one, other = (source.choice(GUARDS) + source.choice(TEXTS) for _ in range(2))
    return one, other


def judged(seed: int) -> str:
    """What a straight line is told: the same as paths and warps are. Verdicts may be harder to reach for one than for another."""
    left, right = sides(seed)
    alone = told(left, right)
    ways = {"paths": told(f"bra L; L: {left}", f"bra L; L: {right}"), "warp": told(left, right, warp=True)}
    for way, said in ways.items():
        verdicts = {alone, said} <= {"proved", "refuted", "unknown"}
        assert said == alone or (verdicts and {alone, said} != {"proved", "refuted"}), (
            seed,
            left,
            right,
            alone,
            way,
            said,
        )
    return alone if alone in ("proved", "refuted", "unknown") else "error"


@pytest.mark.slow
def test_one_error_for_straight_lines_paths_and_warps() -> None:
    counts = Counter(map(judged, range(24)))
    assert counts["error"] > 8 and counts["refuted"] + counts["proved"] > 2, counts


@pytest.mark.long
def test_one_error_for_many_sides() -> None:
    counts = Counter(map(judged, range(24, 1500)))
    assert counts["error"] > 450 and counts["unknown"] < 15, counts


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ("cvt.u64.u32 d, a;", "@p0 mov.b32 d, b;", "cvt.u64.u32 needs .u64 here, this is of type .b32"),
        ("mov.b64 d, a;", "mov.b32 d, a;", "d is .b32 elsewhere, mov.b64 needs .b64"),
        ("mov.b64 d, a;", "@p mov.b32 d, a;", "d is .b32 elsewhere, mov.b64 needs .b64"),
        (
            "mov.u32 d, x;",
            ".reg .u64 x; .reg .u32 d; cvt.u32.u64 d, x;",
            "x is .b32 on the left side and .u64 on the right",
        ),
    ],
)
def test_types_that_do_not_fit(left: str, right: str, said: str) -> None:
    assert told(left, right) == told(left, right, warp=True) == said


def function(result: str, parameter: str, body: str) -> str:
    return f"{HEAD}.visible .func (.reg .{result} d) f(.reg .{parameter} a) {{ {body} ret; }}"


def test_parameters_of_one_name_have_one_width() -> None:
    narrow, wide = function("u32", "u32", "mov.u32 d, a;"), function("u32", "u64", "cvt.u32.u64 d, a;")
    assert told(narrow, wide) == "a is .b32 on the left side and .b64 on the right"
    assert (
        told(narrow, function("pred", "u32", "setp.ne.u32 d, a, 0;"))
        == "d is .u32 on the left side and .pred on the right"
    )
    # results are compared in the wider type
    assert told(narrow, function("u64", "u32", "cvt.u64.u32 d, a;")) == "proved"
    head = HEAD + ".visible .entry k(.param .u64 p, .param .{0} n) {{ .reg .b64 q; .reg .{0} a; "
    entry = head + "ld.param.u64 q, [p]; ld.param.{0} a, [n]; st.global.u32 [q], a; }}"
    with pytest.raises(ValueError, match=r"n is \.b32 on the left side and \.b64 on the right"):
        ptxspec.prove(entry.format("u32"), entry.format("u64"), buffers={"p": 8})


def test_a_pointer_of_a_warp_is_one_for_all_lanes_in_a_launch() -> None:
    assert told("ld.global.u16 d, [p];", "ld.global.u32 d, [p];", warp=True) == "refuted"


def test_a_byte_and_a_lane_of_one_name_are_not_confused() -> None:
    text = "add.u64 p, p, 4; st.global.u32 [p], 0;"
    verdict = ptxspec.prove(text, text.replace("4", "0"), warp=True, buffers={"p": 16})
    assert verdict.status == "unsupported" and "p[0] would be a byte and a lane's" in verdict.reason
