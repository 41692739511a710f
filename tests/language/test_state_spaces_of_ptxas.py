"""Our verdict on state spaces and attributes beside that of NVIDIA's assembler. A line is a case, one that begins with // a heading;
`|` parts what stands before an entry from what stands in it."""

from __future__ import annotations

import pytest
from verdicts import refused

import ptxspec
from ptxspec.evidence.assembler import assemble

HEADER = ".version {}\n.target {}\n"
REGISTERS = ".reg .u32 r; .reg .u64 d; .reg .v4 .u32 v; .reg .pred p; .reg .f32 f, g;"


def module(version: str, case: str) -> str:
    """A module of one case, with an entry."""
    number, target = version.split()
    before, _, body = case.partition("|")
    parameters = "(.param .u64 out)" if float(number) >= 1.4 else ""
    inside = "" if parameters else ".param .u64 out;"
    return f"{HEADER.format(number, target)}{before.strip()}\n.entry k0{parameters} {{ {inside} {REGISTERS} {body.strip()} exit; }}\n"


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]


def complaint(text: str) -> str | None:
    try:
        ptxspec.load(text)
    except ptxspec.PtxError as error:
        return error.diagnostics[0].message
    return None


def same(text: str) -> None:
    ours, theirs = complaint(text), assemble(text)
    assert (ours is None) == (not theirs), (text, ours, theirs)


BANKS = r"""
    // declarations
    .const[0] .b32 a;
    .const[0] .b32 a[2][3] = { { 1, 2 }, { 3 } };
    .const[0] .align 8 .v2 .f32 a = { 1.0, 2.0 };
    .const[0] .b32 a<3>;
    .const[0].b32 a;
    .extern .const[0] .b32 a;
    .extern .const[0] .b32 a[];
    .extern .const .b32 a[];
    .const[0] .b32 a[];
    .const[0] .pred a;
    .const[0] .texref a;
    .const[1] .b32 a;
    .const[1] .b32 a[4];
    .const[1] .b32 a[];
    .extern .const[1] .b32 a;
    .extern .const[1] .b32 a[4];
    .extern .const[1] .b32 a[];
    .extern .const[10] .b32 a[];
    .extern .const[11] .b32 a[];
    .extern .const[19] .b32 a[];
    .extern .const[20] .b32 a[];
    .extern .const[02] .b32 a[];
    .extern .const[0x2] .b32 a[];
    .extern .const[2U] .b32 a[];
    .extern .const[1+1] .b32 a[];
    .extern .const[WARP_SZ] .b32 a[];
    .extern .const[] .b32 a[];
    .extern .const [2] .b32 a[];
    .extern .const[ 2] .b32 a[];
    .extern .global[2] .b32 a[];
    .visible .const[1] .b32 a[];
    .extern .const[2] .b32 a[], b[];
    .extern .const[2] .b32 a[], b[4];
    .extern .const[2] .b32 a[][4];
    .extern .const[2] .b32 a[0];
    .extern .const[2] .b32 a[3][];
    .extern .const[2] .v4 .b32 a[];
    .extern .const[2].align 16 .b8 a[];
    .extern .const[2] .b32 a<3>;
    .extern .const[2] .b32 a[] = { 1 };
    .extern .const[2] .pred a[];
    .extern .const[2] .b32 a[]; .extern .const[2] .f64 b[]; .extern .const[2] .b32 a[];
    .extern .const[2] .b32 a[]; .extern .const[2] .f32 a[];
    .extern .const[2] .b32 a[]; .extern .const[2] .b32 a[][4];
    .extern .const[2] .b32 a[]; .const .b32 a;
    .extern .const[2] .b32 a[]; .global .b32 a;
    .extern .const[2] .b32 k0[];
    .extern .const[2] .b32 a[]; .func a() { ret; }
    .extern .const .b32 a; .visible .const[0] .b32 a = 4;
    .visible .const[0] .b32 a = 4; .extern .const .b32 a;
    .const .b8 a[65536]; .extern .const[2] .b32 b[];
    // in functions
    | .const[0] .b32 a = 3; ld.const[0].u32 r, [a];
    | .const[2] .b32 a;
    | .extern .const[2] .b32 a[];
    // as an initial value
    .extern .const[2] .b32 a[]; .global .u32 b[2] = { a, a+4 };
    .extern .const[2] .b32 a[]; .global .u64 b = generic(a);
    // loads
    .extern .const[2] .b32 a[]; | ld.const[2].b32 r, [a+4];
    .extern .const[2] .b32 a[]; | ld.const[3].b32 r, [a+4];
    .extern .const[2] .b32 a[]; | ld.const.b32 r, [a+4];
    .extern .const[2] .b32 a[]; | ld.const[11].b32 r, [a+4];
    .extern .const[2] .b32 a[]; | ld.const[2].b32 r, [a-4];
    .extern .const[2] .b32 a[]; | ld.const[2].b32 r, [a+65536];
    .extern .const[2] .b32 a[]; | ld.const[2].v4.u32 v, [a];
    .extern .const[2] .b32 a[]; | ld.const[2].u8 r, [a+1];
    .extern .const[2] .b32 a[]; | ld.const[2].u32 r, a[1];
    .extern .const[2] .b32 a[]; | ld.const[2].u32 r, a[r];
    .extern .const[2] .b32 a[]; | ld.u32.const[2] r, [a];
    .extern .const[2] .b32 a[]; | ld.const[2] .u32 r, [a];
    .extern .const[2] .b32 a[]; | ld .const[2].u32 r, [a];
    .extern .const[2] .b32 a[]; | ld.const [2].u32 r, [a];
    .extern .const[2] .b32 a[]; | ld.const[02].u32 r, [a];
    .extern .const[2] .b32 a[]; | ld.const[2].ca.u32 r, [a];
    .extern .const[2] .b32 a[]; | ld.volatile.const[2].u32 r, [a];
    .extern .const[2] .b32 a[]; | ld.global.u32 r, [a];
    .extern .const[2] .b32 a[]; | ld.u32 r, [a];
    .extern .const[2] .b32 a[]; | st.const[2].u32 [a], r;
    .extern .const[2] .b32 a[]; | ldu.const[2].u32 r, [a];
    .extern .const[2] .b32 a[]; | atom.const[2].add.u32 r, [a], 1;
    .extern .const[2] .b32 a[]; | prefetch.const[2].L1 [a];
    .const .b32 z; | ld.const[0].u32 r, [z];
    .const .b32 z; | ld.const[2].u32 r, [z];
    .global .b32 z; | ld.global[2].u32 r, [z];
    | ld.const[2].u32 r, [d];
    | ld.const[2].u32 r, [r];
    | ld.const[2].u32 r, [16];
    // addresses
    .extern .const[2] .b32 a[]; | mov.u32 r, a; mov.u64 d, a+4; mov.u64 d, a[2]; mov.u64 d, a[r];
    .extern .const[2] .b32 a[]; | add.u32 r, r, a;
    .extern .const[2] .b32 a[]; | cvta.const[2].u64 d, a;
    | isspacep.const[2] p, d;
"""

LOCAL = r"""
    .local .b32 a;
    .local .b32 a; | ld.local.u32 r, [a];
    .local .v2 .f32 a;
    .local .align 16 .b8 a[40], b;
    .local .b32 a<3>; | ld.local.u32 r, [a2];
    .local .b32 a = 1;
    .local .b32 a[];
    .local .pred a;
    .visible .local .b32 a;
    .extern .local .b32 a; | ld.local.u32 r, [a];
    .extern .local .b32 a; .visible .local .b32 a;
    .extern .local .b32 a; .local .b32 a;
    .local .b32 a; .local .b32 a;
    .local .b32 a; .global .b32 a;
    .local .b32 k0;
    .local .b32 a; | .local .b32 a; ld.local.u32 r, [a];
    .local .b32 a; | .reg .u32 a; mov.u32 a, r;
    .local .b32 a[4]; | mov.u64 d, a; mov.u32 r, a; ld.local.u32 r, a[2]; ld.local.u32 r, a[r];
    .local .b32 a; .func f() { .local .b32 b; .reg .u32 r; ld.local.u32 r, [a]; st.local.u32 [b], r; ret; } | call f;
    .local .b32 a; .func f() { call f; ret; }
    .local .b32 a; .func f() { call f; ret; } | call f;
    .local .b32 a; .func f() { ret; } .func g() { call f; ret; } | call g; call f;
    .func f() { .reg .u32 r; ld.local.u32 r, [a]; ret; } .local .b32 a; | call f;
    | ld.local.u32 r, [a];
"""

#: these need functions, which PTX ISA 1.0 has for sm_10 as well
WITHOUT_AN_ABI = r"""
    {} .func f(.param .u16 x) { ret; } | .param .u16 y; call f, (y);
    {} .func f(.reg .u16 x) { ret; } | .reg .u16 y; call f, (y);
    {} .func f(.reg .pred x) { ret; } | call f, (p);
    {} .func f() { ret; } | mov.u64 d, f;
    {} .func f() { ret; } | t: .callprototype _ (); mov.u64 d, f; call d, t;
    {} .func f() { ret; } .global .u64 q = f;
    {} .extern .func f();
    {} .extern .func f(); | call f;
"""

TEX = r"""
    .tex .u32 a;
    .tex .u64 a, b;
    .tex .u32 b; .tex .u32 b;
    .tex .u32 a, b; .tex .u32 b;
    .tex .u16 a;
    .tex .s32 a;
    .tex .b32 a;
    .tex .f32 a;
    .tex .texref a;
    .tex .u32 a[4];
    .tex .u32 a[];
    .tex .u32 a = 3;
    .tex .u32 a = { addr_mode_0 = wrap };
    .tex .u32 a<4>;
    .tex .v2 .u32 a;
    .tex .align 16 .u32 a;
    .visible .tex .u32 a;
    .extern .tex .u32 a;
    .extern .tex .u32 a; .visible .tex .u32 a;
    .tex .u32 a; .global .texref a;
    | .tex .u32 a;
    .func f() { .tex .u32 a; ret; }
    .tex .u32 a; | mov.u64 d, a;
    .tex .u32 a; | mov.u32 r, a;
    .tex .u32 a; | ld.global.u32 r, [a];
    .tex .u32 a; | ld.tex.u32 r, [a];
    .tex .u32 a; .global .u64 b = a;
    .global .texref a;
    .global .texref a; | mov.u64 d, a;
"""

POINTERS = r"""
    .param .u64 .ptr x
    .param .u64 .ptr .global x
    .param .u64 .ptr .const x
    .param .u64 .ptr .local x
    .param .u64 .ptr .shared x
    .param .u64 .ptr .shared::cta x
    .param .u64 .ptr .param x
    .param .u64 .ptr .reg x
    .param .u64 .ptr .tex x
    .param .u64 .ptr .generic x
    .param .u64 .ptr.global.align 16 x
    .param .u64 .ptr .align 16 x
    .param .u64 .ptr .align 3 x
    .param .u64 .ptr .align 0 x
    .param .u64 .ptr .align 1 x
    .param .u64 .ptr .align 2147483648 x
    .param .u64 .ptr .align 4294967296 x
    .param .u64 .ptr .align x
    .param .u64 .ptr .align 8 .global x
    .param .u64 .align 8 .ptr .global x
    .param .align 8 .u64 .ptr .global .align 4 x
    .param .u32 .ptr x
    .param .u16 .ptr x
    .param .f32 .ptr x
    .param .b8 .ptr x[8]
    .param .pred .ptr x
    .param .u64 .ptr .ptr x
    .param .u64 .ptr .global .shared x
    .param .ptr .u64 x
    .param .u64 .ptr .global .align 4 .align 8 x
    .param .u64 .ptr .align 4+4 x
    .param .u64 .ptr .align WARP_SZ x
    .param .u64 .ptr .align 0x10 x
"""

ELSEWHERE = r"""
    .func f(.param .u64 .ptr .global x) { ret; }
    .func (.param .u64 .ptr x) f() { ret; }
    .func f(.reg .u64 .ptr x) { ret; }
    | t: .callprototype _ (.param .u64 .ptr .global _);
    | t: .callprototype _ (.reg .u64 .ptr .global _);
    | t: .callprototype (.param .u64 .ptr _) _ ();
    | .param .u64 .ptr x;
    .global .u64 .ptr x;
    .visible .entry l(.param .u64 .ptr .global x); .visible .entry l(.param .u64 .ptr .shared x) { ret; }
"""

UNIFIED = r"""
    // attributes: refused in a module that runs alone
    .global .attribute(.unified(19, 95)) .f32 a;
    .global .attribute(.unified(19)) .f32 a;
    .global .attribute(.unified(19, 95, 3)) .f32 a;
    .global .attribute(.unified) .f32 a;
    .global .attribute(.unified(-1, 95)) .f32 a;
    .const .attribute(.unified(1, 2)) .f32 a;
    .func .attribute(.unified(0xAB, 0xCD)) b() { ret; }
    .func .attribute(.managed) b() { ret; }
    .entry .attribute(.unified(1, 2)) l() { ret; }
    .global .attribute(.managed) .f32 a;
    // addresses
    | ld.global.u32 r, [d].unified;
    | ld.global.u32 r, [d] .unified;
    | ld.u32 r, [d].unified;
    | ld.global.u32 r, [d+4].unified;
    | ld.global.v4.u32 v, [d].unified;
    | ld.volatile.global.u32 r, [d].unified;
    | ld.acquire.gpu.global.u32 r, [d].unified;
    | ld.relaxed.sys.u32 r, [d].unified;
    | ld.global.nc.u32 r, [d].unified;
    | ldu.global.u32 r, [d].unified;
    | ldu.u32 r, [d].unified;
    | atom.global.add.u32 r, [d].unified, 1;
    | atom.add.u32 r, [d].unified, 1;
    | atom.global.cas.b32 r, [d].unified, r, r;
    | @p ld.global.u32 r, [d].unified;
    | atom.shared.add.u32 r, [d].unified, 1;
    | red.global.add.u32 [d].unified, 1;
    | st.global.u32 [d].unified, r;
    | ld.shared.u32 r, [d].unified;
    | ld.const.u32 r, [d].unified;
    | ld.local.u32 r, [d].unified;
    | ld.param.u32 r, [d].unified;
    | ld.local.u32 r, [16].unified;
    | prefetch.global.L1 [d].unified;
    | prefetchu.L1 [d].unified;
    | ld.unified.u32 r, [d];
    | ld.global.unified.u32 r, [d];
    | ld.global.u32 r, [d].unified.unified;
    | ld.global.u32 r, [d].shared;
    | mov.u64 d, d.unified;
    .global .u32 x; | ld.global.u32 r, [x].unified;
    // parts of .shared in declarations and accesses
    .shared::cta .u32 x;
    .shared::cluster .u32 x;
    | .shared::cta .u32 x;
    .shared .u32 x; | ld.shared::cta.u32 r, [x]; st.shared::cta.u32 [x], r; atom.shared::cta.add.u32 r, [x], r;
    .shared .u32 x; | ld.weak.shared::cta.u32 r, [x]; ld.volatile.shared::cta.u32 r, [x]; red.shared::cta.add.u32 [x], r;
    // the order that is said, beside cache operators
    | ld.weak.global.cv.u32 r, [d]; st.weak.global.wt.u32 [d], r; ld.cv.weak.u32 r, [d]; st.weak.wb.u32 [d], r;
    .shared .u32 x; | ld.weak.shared.ca.u32 r, [x]; st.weak.shared::cta.cs.u32 [x], r; ld.weak.param.ca.u64 d, [out];
    | ld.weak.global.cg.L1::no_allocate.u32 r, [d];
    | ld.volatile.global.ca.u32 r, [d];
    | ld.weak.weak.global.ca.u32 r, [d];
    | ld.weak.global.ca.nc.u32 r, [d];
    | st.weak.global.ca.u32 [d], r;
    .shared .u32 x; | cvta.shared::cta.u64 d, x; cvta.to.shared::cta.u64 d, d; isspacep.shared::cta p, d;
    .shared .u32 x; | prefetch.shared::cta.L1 [x];
    .shared .u32 x; | ldu.shared::cta.u32 r, [x];
"""

F = ".func (.param .b32 o) f(.param .b32 x) { .reg .u32 r; .reg .u64 d; .reg .pred p; .param .b32 own; @ ret; }"
G = ".func (.param .b32 o) f(.param .b32 x) { .reg .u32 r; ld.param.u32 r, [x]; st.param.u32 [o], r; ret; } |"
IN_A_FUNCTION = r"""
    ld.param.u32 r, [x];
    ld.param::func.u32 r, [x];
    ld.param::func.u32 r, [d];
    ld.param::func.v2.u32 {r, r}, [d];
    ld.param::func.ca.u32 r, [x];
    ld.param.u32 r, [d];
    ld.weak.param::func.u32 r, [x];
    st.weak.param::func.u32 [o], r;
    st.param::func.wb.u32 [o], r;
    ld.param.u32 r, [o];
    ld.param::func.u32 r, [o];
    ld.volatile.param::func.u32 r, [x];
    st.param.u32 [o], r;
    st.param::func.u32 [o], r;
    st.param::func.u32 [d], r;
    st.param::entry.u32 [o], r;
    st.param.u32 [x], r;
    st.param::func.u32 [x], r;
    st.param.u32 [own], r;
    mov.u64 d, x;
    mov.u32 r, x;
    mov.u64 d, o;
    mov.u64 d, own;
    cvta.param::entry.u64 d, d;
    cvta.param::func.u64 d, d;
    cvta.to.param::func.u64 d, d;
    isspacep.param p, d;
    isspacep.param::entry p, d;
    isspacep.param::func p, d;
    ld.u32 r, [x];
    ld.local.u32 r, [x];
"""
IN_AN_ENTRY = r"""
    ld.param.u32 r, [out];
    ld.param::entry.u32 r, [out];
    ld.param::func.u32 r, [d];
    st.param.u32 [out], r;
    st.param::entry.u32 [out], r;
    st.param::func.u32 [out], r;
    .param .b32 a, b; st.param::func.u32 [a], r; call (b), f, (a); ld.param::func.u32 r, [b];
    .param .b32 a, b; st.param.u32 [a], r; call (b), f, (a); ld.param.u32 r, [b];
    .param .b32 a, b; st.param.u32 [a], r; call (b), f, (a); mov.u64 d, a;
    .param .b32 a, b; st.param.u32 [a], r; call (b), f, (a); mov.u64 d, b;
    cvta.param.u64 d, out;
    cvta.param::entry.u64 d, out;
    mov.u64 d, out+4;
"""

EARLY = ["1.0 sm_10", "1.4 sm_13", "1.5 sm_13", "2.0 sm_20", "2.1 sm_13", "2.2 sm_20", "3.0 sm_20", "9.0 sm_90"]
CASES = [
    *(("2.1 sm_20", case) for case in lines(BANKS)),
    *((v, case) for v in EARLY for case in (".const[0] .b32 a;", ".extern .const[2] .b32 a[];", "| ld.const[2].u32 r, [d];",
                                            ".const .u32 a; | ld.const[0].u32 r, [a];")),
    *(("2.3 sm_20", case) for case in lines(LOCAL)),
    *((v, case) for v in EARLY for case in (".local .b32 a;", ".local .b32 a; | ld.local.u32 r, [a];")),
    *(("2.3 sm_20", case.replace("{}", kind)) for case in lines(WITHOUT_AN_ABI) for kind in ("", ".local .b32 a;", ".reg .b32 a;", ".func (.reg .b32 x, .reg .b32 y) two() { ret; }")),
    *((v, case) for v in ("1.0 sm_10", "1.4 sm_13", "1.5 sm_13", "2.3 sm_20", "3.0 sm_20", "9.0 sm_90") for case in lines(TEX)),
    *(("9.0 sm_90", f".entry l({case}) {{ ret; }}") for case in lines(POINTERS)),
    *((v, f".entry l({case}) {{ ret; }}") for v in ("2.1 sm_20", "2.2 sm_13", "2.2 sm_20", "3.0 sm_20", "3.1 sm_20")
      for case in (".param .u64 .ptr x", ".param .u64 .ptr .const x", ".param .u64 .ptr .align 8 x")),
    *(("9.0 sm_90", case) for case in lines(ELSEWHERE)),
    *(("9.0 sm_90", case) for case in lines(UNIFIED)),
    *((v, case) for v in ("2.0 sm_20", "4.0 sm_30", "7.8 sm_90", "8.0 sm_80", "8.0 sm_90")
      for case in ("| ld.global.u32 r, [d].unified;", "| atom.global.add.u32 r, [d].unified, 1;",
                   ".global .attribute(.unified(19, 95)) .f32 a;")),
    *((v, F.replace("@", case)) for v in ("2.0 sm_20", "5.0 sm_30", "6.0 sm_30", "8.2 sm_90", "8.3 sm_20", "9.0 sm_90")
      for case in lines(IN_A_FUNCTION) if v == "9.0 sm_90" or not case.startswith(("cvta", "isspacep"))),
    *((v, f"{G} {case}") for v in ("8.2 sm_90", "9.0 sm_90") for case in lines(IN_AN_ENTRY)),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("assembler")
@pytest.mark.parametrize(("version", "case"), CASES)
def test_our_verdict_is_that_of_ptxas(version: str, case: str) -> None:
    same(module(version, case))


def test_both_verdicts_are_there() -> None:
    verdicts = [complaint(module(*case)) is None for case in CASES]
    assert min(verdicts.count(True), verdicts.count(False)) > 150


#: what ptxas takes and we refuse, with the entry of the register that says why
STRICTER = [
    ("AMB-158", "2.1 sm_20", ".extern .const[2] .b32 a[]; .extern .const[3] .b32 a[];", "was declared with another state space"),
    ("AMB-158", "2.1 sm_20", ".extern .const[2] .b32 a[]; .visible .const .b32 a[3];", "was declared with another state space"),
    ("AMB-158", "9.0 sm_90", ".entry l(.param .b64 .ptr .const[0] x) { ret; }", "expected a parameter's name"),
    ("AMB-159", "9.0 sm_90", ".global .u32 x[4]; | ld.global.u32 r, x[1].unified;", "expected ',' or ';'"),
    ("AMB-169", "2.3 sm_20", ".local .b8 a[524289];", "524289 bytes in .local"),
    ("AMB-171", "9.0 sm_90", F.replace("@", "ld.param::entry.u32 r, [x];"), "accesses an entry's parameters"),
    ("AMB-171", "9.0 sm_90", F.replace("@", "cvta.param.u64 d, x;"), "accesses an entry's parameters"),
    ("AMB-171", "9.0 sm_90", "| ld.param::func.u32 r, [out];", "accesses what belongs to a function"),
    ("AMB-171", "9.0 sm_90", F.replace("@", "mov.u64 d, own+4;"), "passes an argument or takes a result"),
    ("arrays of textures", "2.1 sm_20", ".extern .const[2] .texref a[];", "arrays of type .texref"),
]  # fmt: skip


@pytest.mark.usefixtures("assembler")
@pytest.mark.parametrize(("entry", "version", "case", "message"), STRICTER)
def test_what_ptxas_takes_and_we_refuse(entry: str, version: str, case: str, message: str) -> None:
    text = module(version, case)
    assert message in str(complaint(text)) and not assemble(text)


@pytest.mark.parametrize(
    ("marked", "message", "page"),
    [
        ("2.1¦.extern .const[11] .b32 ^a[];", "there is no bank 11: the last is 10", "spec/state-spaces/banks.md"),
        ("2.2¦.extern .const[2] .b32 ^a[];", "the number of a bank of constants was removed in PTX ISA 2.2", "spec/directives/index.md"),
        ("1.4¦.extern .const[2] .b32 ^a[];", "a bank of constants needs PTX ISA 1.5", "spec/directives/index.md"),
        ("2.1¦.const[3] .b32 ^a[4];", "a variable in .const[3] is .extern, and an array", "spec/state-spaces/banks.md"),
        ("2.2¦.entry k() { .reg .u32 r; ^ld.const[0].u32 r, [r]; }", "removed in PTX ISA 2.2", "spec/directives/index.md"),
        ("3.0¦.local .b32 ^a;", "a variable of the module in .local was removed in PTX ISA 3.0", "spec/directives/index.md"),
        ("2.1¦^.param .b32 a;", "variables in .param are declared inside functions", "spec/state-spaces/index.md"),
        ("9.0¦.entry k() { .reg .u32 r; .reg .u64 d; st.global.u32 ^[d].unified, r; }", "is .unified", "spec/variables/attributes.md"),
        ("9.0¦.global .u32 x; .entry k() { .reg .u32 r; ld.global.u32 r, ^[x].unified; }", "x has no .attribute(.unified)",
         "spec/variables/attributes.md"),
        ("9.0¦.func f(.param .u32 x) { .reg .u64 d; .param .u32 y; ^mov.u64 d, y; }", "y passes an argument or takes a result",
         "spec/functions/index.md"),
        ("5.0¦.func (.param .u32 x) f() { .reg .u64 d; ^mov.u64 d, x; }", "the address of a function's result needs PTX ISA 6.0",
         "spec/directives/index.md"),
        ("9.0¦.func (.param .u32 x) f() { .reg .u32 r; ^ld.param.u32 r, [x]; }", "a function cannot read its results",
         "spec/functions/index.md"),
        ("8.2¦.func f(.param .u32 x) { .reg .u32 r; ^ld.param::func.u32 r, [x]; }", ".param::func needs PTX ISA 8.3",
         "spec/directives/index.md"),
        ("9.0¦.entry k() { .reg .pred p; .reg .u64 d; ^isspacep.param::func p, d; }", "only loads and stores take .param::func",
         "spec/state-spaces/index.md"),
        ("3.0¦.global .texref t; .entry k() { .reg .u64 d; ^mov.u64 d, t; }", "a handle in a register needs PTX ISA 3.1",
         "spec/variables/opaque-types.md"),
        ("9.0¦.entry k(.param .u64 .ptr .align ^4294967296 x) { ret; }", "an alignment has at most 32 bits", "spec/variables/index.md"),
    ],
)  # fmt: skip
def test_a_complaint_says_where_and_by_which_page(marked: str, message: str, page: str) -> None:
    version, text = marked.split("¦")
    target = (
        "sm_90"
        if version == "9.0" or version == "8.2"
        else "sm_35"
        if float(version) > 3
        else "sm_20"
        if version >= "2"
        else "sm_13"
    )
    found = refused(HEADER.format(version, target) + text.replace("^", "¦"))
    assert message in found.message and found.page is not None and found.page.partition(":")[0] == page
