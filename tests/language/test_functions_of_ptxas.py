"""Chapter 7, clause by clause: what a function may take, give and be called with, beside the verdict of ptxas."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from verdicts import HEADER, refused

import ptxspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from mutants import complaint, refusal

DECLARED = (
    ".reg .b16 h; .reg .b32 x, s; .reg .u32 u; .reg .s32 i; .reg .f32 f; .reg .b64 y, z; .reg .f64 d; .reg .pred p;"
)

#: a parameter, and what is passed for it after a declaration
PASSED = """
.reg .b32 v <- x | .reg .b32 v <- u | .reg .b32 v <- f | .reg .u32 v <- f | .reg .f32 v <- u | .reg .b32 v <- y | .reg .b32 v <- h
.reg .b32 v <- 5 | .reg .b32 v <- -1 | .reg .b32 v <- 5000000000 | .reg .f32 v <- 1.0 | .reg .f32 v <- 1 | .reg .u32 v <- 1.0
.param .b32 v <- x | .param .b32 v <- f | .param .u32 v <- f | .param .f32 v <- i | .param .u32 v <- 5 | .param .f64 v <- 0f3f800000
.reg .b32 v <- p | .reg .pred v <- p | .reg .b32 v <- %tid.x | .reg .b32 v <- k | .reg .u64 v <- gg | .param .u64 v <- gg | .reg .b32 v <- o
.reg .b32 v <- x+1 | .reg .b32 v <- [x] | .reg .b32 v <- -x | .reg .b32 v <- WARP_SZ | .reg .b32 v <- _ | .reg .b32 v <- {x}
.reg .b32 v <- .param .b32 a; a | .reg .b32 v <- .param .f32 a; a | .reg .f32 v <- .param .u32 a; a | .reg .b32 v <- .param .b64 a; a
.reg .b32 v <- .param .align 8 .b32 a; a | .reg .b32 v <- .param .b32 a[1]; a | .reg .b32 v <- .param .align 4 .b8 a[4]; a
.reg .b32 v <- .local .b32 a; a | .reg .b32 v <- .shared .b32 a; a | .param .b32 v <- .param .b32 a<4>; a1
.param .b32 v <- .param .b32 a; a | .param .f32 v <- .param .u32 a; a | .param .u32 v <- .param .s32 a; a | .param .b32 v <- .param .b16 a; a
.param .b32 v <- .param .b32 a[1]; a | .param .b32 v[1] <- .param .b32 a; a | .param .align 4 .b8 v[4] <- .param .b32 a; a
.param .b32 v <- .param .b32 a[1][1]; a | .param .b32 v[1] <- .param .b32 a[1][1]; a | .param .b8 v[8] <- .param .b8 a[2][4]; a
.param .align 8 .b32 v <- .param .b32 a; a | .param .b32 v <- .param .align 8 .b32 a; a | .param .align 1 .b32 v <- .param .b32 a; a
.param .align 8 .b8 v[8] <- .param .b64 a[1]; a | .param .align 8 .b8 v[8] <- .param .align 8 .b8 a[12]; a
.param .align 16 .b8 v[8] <- .param .align 8 .b8 a[8]; a | .param .align 128 .b8 v[8] <- .param .align 128 .b8 a[8]; a
.param .u8 v[8] <- .param .s8 a[8]; a | .param .b8 v[8] <- .param .s8 a[8]; a | .param .align 4 .u8 v[8] <- .param .u32 a[2]; a
.param .align 4 .u8 v[8] <- .param .b32 a[2]; a | .param .s32 v[2] <- .param .u32 a[2]; a | .param .f32 v[2] <- .param .u32 a[2]; a
.param .f32 v[2] <- .param .b32 a[2]; a | .param .f64 v[1] <- .param .align 8 .b8 a[8]; a | .param .f64 v[1] <- .param .u64 a[1]; a
.param .b8 v <- 5 | .param .b8 v[1] <- 5 | .param .b16 v <- h | .param .u16 v <- .param .u16 a; a | .param .align 4 .b8 v[4] <- x
.param .b32 v <- .param .v2 .b16 a; a | .param .f16x2 v <- .param .f16x2 a; a | .param .align 8 .b32 v[4] <- .param .v2 .b32 a[2]; a
.reg .v2 .b32 v <- .reg .v2 .b32 a; a | .reg .v4 .f32 v <- .reg .v4 .f32 a; a | .reg .v4 .b32 v <- .reg .v2 .b32 a; a
.reg .v2 .b32 v <- x | .reg .b32 v <- .reg .v2 .b32 a; a | .reg .v2 .b32 v <- .reg .v2 .f32 a; a
.reg .b32 v <- .reg .v2 .b32 a; a.x | .reg .v2 .b32 v <- {x, s} | .reg .v2 .u16 v <- .reg .v2 .u16 a; a | .reg .v4 .b64 v <- .reg .v2 .b64 a; a
.param .align 8 .b8 v[] <- .param .align 8 .b8 a[12]; a | .param .align 8 .b8 v[0] <- .param .align 8 .b8 a[12]; a
.param .align 8 .b8 v[] <- .param .align 4 .b8 a[12]; a | .param .align 8 .b8 v[] <- .param .align 16 .b8 a[12]; a
.param .b8 v[] <- .param .b8 a[3]; a | .param .b64 v[] <- .param .b64 a[3]; a | .param .b32 v[] <- .param .align 4 .b8 a[3]; a
.param .align 8 .b8 v[] <- .param .align 8 .u32 a[3]; a | .param .align 8 .s32 v[] <- .param .align 8 .u32 a[3]; a
.param .align 8 .b8 v[] <- .param .b64 a; a | .param .align 8 .b8 v[] <- y | .param .align 8 .b8 v[] <- 7 | .param .align 8 .b8 v[] <- _
.param .align 8 .b8 v[] <- .param .align 8 .b8 a[2][4]; a | .param .align 8 .b8 v[] <- .param .align 8 .b8 a[]; a
.param .align 8 .b8 v[] <- .param .align 8 .b8 a[0]; a | .param .align 8 .b8 v[] <- .local .align 8 .b8 a[8]; a
.param .b32 n, .param .align 8 .b8 v[] <- x | .param .b32 n, .param .align 8 .b8 v[] <- .param .align 8 .b8 a[4]; x, a
.param .b32 n, .param .align 8 .b8 v[] <- .param .align 8 .b8 a[4]; a | .param .b32 n, .param .align 8 .b8 v[] <- .param .align 8 .b8 a[4]; x, a, a
.reg .b32 n, .param .align 8 .b8 v[] <- .param .align 8 .b8 a[4]; x, a | .reg .b32 n, .reg .b32 m <- x | .reg .b32 n <- x, x
"""

#: what a function gives, and where it goes after a declaration
GIVEN = """
.reg .b32 r <- x | .reg .b32 r <- f | .reg .b32 r <- _ | .param .b32 r <- _ | .param .b32 r <- x | .param .u32 r <- f | .reg .b32 r <- 5
.reg .b32 r <- .param .b32 a; a | .reg .f32 r <- .param .b32 a; a | .reg .f32 r <- .param .u32 a; a | .reg .b32 r <- .param .b64 a; a
.reg .b32 r <- .param .align 8 .b32 a; a | .reg .b32 r <- .param .align 4 .b8 a[4]; a | .reg .b32 r <- .local .b32 a; a
.param .align 4 .b8 r[4] <- .param .b32 a; a | .param .b32 r <- .param .align 4 .b8 a[4]; a | .param .f32 r <- .param .u32 a; a
.param .align 4 .b8 r[4] <- .param .align 4 .b8 a[4]; a | .param .align 4 .b8 r[4] <- _ | .param .align 4 .b8 r[4] <- x
.reg .v2 .b32 r <- .reg .v2 .b32 a; a | .reg .v2 .b32 r <- x | .reg .b32 r, .reg .b32 q <- x, s | .reg .b32 r, .param .b32 q <- x, s
.param .align 8 .b8 r[] <- .param .align 8 .b8 a[4]; a | .reg .b32 r <- x, x | .reg .b32 r <- p
"""

#: instructions of a function that takes n and `rest`, and gives r; its caller passes three bytes for `rest`
INSIDE = """
ld.param.b32 x, [n]; | ld.param.b32 x, [rest]; | ld.param.b32 x, [rest+400]; | ld.param.b32 x, [rest+-4]; | ld.param.v4.b32 {x, x, x, x}, [rest];
st.param.b32 [n], x; | st.param.b32 [rest], x; | st.param.b32 [r], x; | ld.param.b32 x, [r]; | ld.local.b32 x, [rest]; | ld.b32 x, [rest];
mov.b64 y, n; | mov.b64 y, rest; | mov.b64 y, rest+4; | mov.b64 y, r; | mov.b64 y, rest; st.local.b32 [y], x; | mov.b64 y, rest; ld.param.b32 x, [y];
cvta.local.u64 y, rest; | mov.b64 y, rest; cvta.local.u64 y, y; | mov.b64 y, rest[1]; | ld.param.b32 x, rest[1]; | @p ld.param.b32 x, [rest];
@p st.param.b32 [r], x; | call (x), f, (1, rest); | call (x), f, (n); | call (r), f, (1); | call (x), f, (r); | call (x), f, (x);
.param .b32 a; st.param.b32 [a], x; | .param .b32 a; mov.b64 y, a; | .param .b32 a; mov.b64 y, a+4; | .param .b32 a; @p st.param.b32 [a], x;
.param .b32 a; st.param.b32 [a], 1; L: call (x), f, (a); | .param .b32 a; st.param.b32 [a], 1; @p bra L; call (x), f, (a); L:
.param .b32 a; @p bra L; st.param.b32 [a], 1; L: call (x), f, (a); | .param .b32 a; call (a), f, (1); @p ld.param.b32 x, [a];
.param .b32 a; call (a), f, (1); ld.param.b32 x, [a]; | { .param .b32 a; st.param.b32 [a], 1; } call (x), f, (a);
.param .align 8 .b8 b[]; | .param .b32 a = 1; | .param .pred a; | .param .v2 .b32 a; | .param .b32 n; | .reg .b32 rest; | { .reg .b32 rest; }
alloca.u64 y, z; | alloca.u64 y, z, 16; | alloca.u32 x, s, 8388608; | alloca.u64 y, 7; | alloca.u64 y, -1; | alloca.u64 y, z, 0; | alloca.u64 y, z, 3;
alloca.u64 y, z, 16777216; | alloca.u64 y, z, s; | alloca.b64 y, z; | alloca.u64 y, x; | alloca.u32 y, x; | alloca.u64 _, z; | @p alloca.u64 y, z;
alloca.u64 y, %clock64; | alloca.u64 d, z; | alloca.u64 y, d; | alloca y, z; | alloca.u64 y; | alloca.u64 y, z, 8, 8; | alloca.u64 y, z, 8+8; | alloca.u64 y, 1.0;
stacksave.u64 y; | stacksave.u32 x; | stacksave.b64 y; | stacksave.u64 x; | stacksave.u64 _; | stacksave.u64 d; | @p stacksave.u64 y;
stackrestore.u64 y; | stackrestore.u32 x; | stackrestore.u64 16; | stackrestore.u64 x; | stackrestore.b64 y; | stackrestore.u64 d; | stackrestore.u64 [y];
P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[]); call (x), y, (x), P;
P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[]); .param .align 8 .b8 a[12]; call (x), y, (x, a), P;
P: .callprototype _ (.param .align 8 .b8 _[], .param .b32 _); | P: .callprototype (.param .align 8 .b8 _[]) _ (); | P: .callprototype _ (.param .b8 _[0]);
P: .callprototype _ (.reg .v2 .u32 _); | P: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (_), y, (x), P; | T: .calltargets f; call (x), y, (x), T;
T: .calltargets f, g; call (x), y, (x), T; | T: .calltargets g, f; call y, T; | T: .calltargets g, g; call y, T; | call (x), y, (x), f;
"""

#: whole modules
MODULES = """
.func f(.param .align 8 .b8 a[], .param .b32 n) { ret; } | .func f(.param .b8 a[], .param .b8 b[]) { ret; } | .func f(.param .align 8 .b8 a[]) { ret; }
.func (.param .b8 a[]) f() { ret; } | .entry f(.param .b8 a[]) { ret; } | .func f(.reg .b32 a[]) { ret; } | .func f(.param .b8 a[][4]) { ret; }
.func f(.param .b8 a); .func f(.param .b8 a[]) { ret; } | .func f(.param .b8 a[]); .func f(.param .b8 b[]) { ret; }
.func f(.param .b8 a[8]); .func f(.param .b8 a[]) { ret; } | .func f(.param .b8 a[]); .func f(.param .b8 a[8]) { ret; }
.func f(.param .b8 a[]); .func f(.param .b8 a[0]) { ret; } | .func f(.param .b8 a[]); .func f(.param .align 4 .b8 a[]) { ret; }
.func f(.param .b8 a[]); .func f(.param .u8 a[]) { ret; } | .func f(.param .b32 a[]); .func f(.param .align 4 .b8 a[]) { ret; }
.extern .func f(.param .b8 a[]); | .visible .func f(.param .b8 a[]) { ret; } | .func f(.param .pred a[]) { ret; } | .func f(.param .b8 _[]);
.func f(.param .align 256 .b8 a[]) { ret; } | .func f(.param .v2 .b32 a) { ret; } | .func f(.reg .v2 .pred a) { ret; } | .func f(.reg .v4 .b64 a) { ret; }
.func f(.reg .v2 .b32 a) { .reg .b32 x; mov.b32 x, a.y; ret; }
.func (.reg .v2 .b32 a) f() { mov.b32 a.x, 1; ret; } | .func f(.reg .v2 .b32 a) { .reg .b32 a; ret; } | .func f(.reg .v2 .b32 a, .reg .b32 a) { ret; }
.entry k() { .reg .b64 y; T: .calltargets f; call y, T; ret; } .func f() { ret; }
.func f(); .entry k() { .reg .b64 y; T: .calltargets f; call y, T; ret; } .func f() { ret; }
.func a(.param .b32 x) { ret; } .func b(.param .u32 x) { ret; } .entry k() { .reg .b64 y; T: .calltargets a, b; call y, (1), T; ret; }
.func a(.param .b32 x) { ret; } .func b(.param .b64 x) { ret; } .entry k() { .reg .b64 y; T: .calltargets a, b; call y, (1), T; ret; }
.func f(.reg .v2 .b32 a); .func f(.reg .v4 .b32 a) { ret; } | .func f(.reg .v2 .b32 a); .func f(.reg .b32 a, .reg .b32 b) { ret; }
.func f(.reg .v2 .b32 a); .func f(.reg .v2 .b32 a) { ret; } | .func f(.reg .align 8 .b32 a) { ret; } | .func f(.param .b8 a[65536]) { ret; }
"""


def cases(text: str) -> list[str]:
    return [case.strip() for line in text.strip().splitlines() for case in line.split("|")]


def in_call(passed: str, is_result: bool) -> str:
    """A module whose call has one argument, or one result."""
    formal, _, actual = passed.partition(" <- ")
    declared, semicolon, actual = actual.rpartition("; ")
    function = f".func ({formal}) g() {{ ret; }}" if is_result else f".func g({formal}) {{ ret; }}"
    call = f"call ({actual}), g;" if is_result else f"call g, ({actual});"
    return f".global .b32 gg;\n{function}\n.entry k(.param .u64 o) {{ {DECLARED} {{ {declared}{semicolon} {call} }} ret; }}"


def in_function(text: str) -> str:
    head = ".func (.param .b32 r) f(.param .b32 n);\n.func g() { ret; }\n" if "rest" not in text else ""
    name = "f" if "rest" in text else "h"
    call = f".param .align 8 .b8 a[3]; call (x), {name}, (1, a);"
    declared = DECLARED.replace(".reg .f32 f;", "")  # a name of a function here
    function = f".func (.param .b32 r) {name}(.param .b32 n, .param .align 8 .b8 rest[]) {{ {declared} {text} ret; }}"
    tail = "" if "rest" in text else "\n.func (.param .b32 r) f(.param .b32 n) { ret; }"
    return f"{head}{function}{tail}\n.entry k() {{ .reg .b32 x; {call} ret; }}"


ALL = {
    **{c: in_call(c, False) for c in cases(PASSED)},
    **{f"({c})": in_call(c, True) for c in cases(GIVEN)},
    **{c: in_function(c) for c in cases(INSIDE)},
    **{c: c for c in cases(MODULES)},
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", ALL)
def test_verdicts(case: str, assembler: str) -> None:
    text = HEADER + ALL[case]
    theirs = refusal(text)
    assert (complaint(text) is None) == (theirs is None), theirs


def test_both_verdicts_are_there() -> None:
    taken = sum(complaint(HEADER + text) is None for text in ALL.values())
    assert len(ALL) > 200 and 70 < taken < len(ALL) - 100


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ((6, 0, 30), ".func f(.param .align 8 .b8 a[]) { ret; }"),
        ((7, 3, 52), ".func f() { .reg .b64 y; alloca.u64 y, 8; ret; }"),
        ((7, 3, 52), ".func f() { .reg .b64 y; stacksave.u64 y; ret; }"),
        ((7, 3, 52), ".func f() { .reg .b64 y; mov.b64 y, 0; stackrestore.u64 y; ret; }"),
    ],
)
def test_the_first_version_and_target(first: tuple[int, int, int], text: str, assembler: str) -> None:
    major, minor, target = first
    for version, chip in (
        ((major, minor), target),
        ((7, 8), 90),
        ((major, minor), 50 if target > 50 else 20),
        ((major - (minor == 0), (minor or 6) - 1), target),
    ):
        module = f".version {version[0]}.{version[1]}\n.target sm_{chip}\n.address_size 64\n{text}"
        assert (complaint(module) is None) == (refusal(module) is None), module


@pytest.mark.parametrize(
    ("text", "message", "page"),
    [
        (".func f(.param .b8 ¦a[], .param .b32 n) { ret; }", "a has no size, which only a function's last parameter", "functions/index.md"),
        (".func f() { .reg .b64 y; alloca.u64 y, 8, ¦3; ret; }", "alloca.u64 needs one of the constants 1, 2, 4, 8", "control/alloca.md"),
        (".func f(.param .b8 a[]) { ret; } .entry k() { .param .b16 b[2]; ¦call f, (b); ret; }", "b is aligned to 2 bytes, the parameter to 1", "functions/index.md"),
        (".func f(.param .b32 a[2]) { ret; } .entry k() { .param .align 4 .b8 b[2][4]; ¦call f, (b); ret; }", "b is not an array of one dimension, as the parameter is", "functions/index.md"),
        (".func f(.param .s32 a[2]) { ret; } .entry k() { .param .u32 b[2]; ¦call f, (b); ret; }", "b holds values of another type, not .s32", "functions/index.md"),
        (".func f(.reg .v2 .b32 a) { ret; } .entry k() { .reg .b32 b; ¦call f, (b); ret; }", "f: a vector goes where there is a vector of as many elements", "functions/index.md"),
        (".func f(.param .b32 a) { ¦call f, (a); ret; }", "a is a parameter or a result of this function", "functions/index.md"),
        (".func f() { .reg .b64 y; .param .b32 a; ¦mov.b64 y, a; ret; }", "a passes an argument or takes a result, and has no address", "functions/index.md"),
        (".func (.param .b32 r) f() { .reg .b32 x; ¦ld.param.b32 x, [r]; ret; }", "a function cannot read its results", None),
    ],
)  # fmt: skip
def test_diagnostics(text: str, message: str, page: str | None) -> None:
    found = refused(HEADER + text)
    assert message in found.message
    assert page is None or (found.page is not None and found.page.partition(":")[0].endswith(page))


def test_what_is_passed_beyond_ptxas() -> None:
    """AMB-192: a constant of another width is no value of a bit-size type."""
    for formal, constant in ((".b32", "1.0"), (".b64", "0f3f800000"), (".b32", "0d3ff0000000000000")):
        with pytest.raises(ptxspec.PtxError, match="a constant is no value of type"):
            ptxspec.load(HEADER + f".func f(.reg {formal} a) {{ ret; }} .entry k() {{ call f, ({constant}); ret; }}")
