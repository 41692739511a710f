"""Our verdict on small modules beside that of NVIDIA's assembler."""

from __future__ import annotations

import warnings

import pytest
from verdicts import HEADER, body

import ptxspec
from ptxspec.evidence.assembler import assemble, ptxas

P = ".param .u64 p"
SHARED = ".shared .align 8 .u32 a[4];"


@pytest.fixture(scope="module", autouse=True)
def assembler() -> str:
    try:
        return ptxas()
    except FileNotFoundError as missing:
        reason = f"NO PTXAS: that our verdicts agree with the assembler's was NOT tested ({missing})"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)


def ours(text: str) -> list[int]:
    """The lines of which we complain."""
    try:
        ptxspec.load(text)
    except ptxspec.PtxError as error:
        return [d.line for d in error.diagnostics]
    return []


GOOD = {
    "nothing": HEADER,
    "an empty kernel": HEADER + ".entry k() {}",
    "no parentheses": HEADER + ".entry k { ret; }",
    "no return": body("mov.u32 %r1, 1;").replace("ret;\n", ""),
    "all types of registers": body(
        "", registers=".reg .b8 a; .reg .u16 b; .reg .s32 c; .reg .f16 d; .reg .f64 e; .reg .pred f;"
    ),
    "a range": body("mov.u32 x4, 1;", registers=".reg .u32 x<5>;"),
    "a hundred thousand": body("mov.u32 x99999, 1;", registers=".reg .u32 x<100000>;"),
    "signs do not matter": body("add.s32 %u1, %r1, %s1; add.u32 %s1, %u1, %r1;"),
    "bits of a float": body("and.b32 %f1, %f1, 0x7fffffff; mov.b32 %r1, %f1;"),
    "wider registers": body("ld.global.u8 %rd1, [%rd2]; st.global.u8 [%rd2], %rd1; ld.global.b32 %fd1, [%rd2];"),
    "vectors": body("ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1]; st.global.v2.u64 [%rd1], {%rd2, 7};"),
    "one destination twice": body("ld.global.v2.u32 {%r1, %r1}, [%rd1];"),
    "offsets": body(
        f"{SHARED} ld.shared.u32 %r1, [a+4]; ld.global.u32 %r1, [%rd1+-4]; ld.global.u32 %r1, [%rd1+0x10];"
    ),
    "a 32-bit register for shared memory": body("ld.shared.u32 %r1, [%r2];"),
    "addresses": body(
        f"{SHARED} mov.u32 %r1, a; mov.u64 %rd1, a+8; cvta.shared.u64 %rd1, a; cvta.to.shared.u64 %rd1, %rd1;"
    ),
    "an address of sixteen bits": body(f"{SHARED} mov.u16 %h1, a;"),
    "parameters": body(
        "ld.param.u64 %rd1, [p]; ld.param.v2.u32 {%r1, %r2}, [q+8]; mov.u64 %rd2, q;", P + ", .param .align 8 .b8 q[16]"
    ),
    "pointers": body("", ".param .u64 .ptr .global .align 16 p, .param .u64 .ptr q"),
    "the sink": body("setp.eq.u32 _|%p1, %r1, 0; setp.lt.and.s32 %p1|_, %r1, -1, !%p2;"),
    "guards": body("@%p1 mov.u32 %r1, 1; @ ! %p1 bra L; L:"),
    "labels": body("L: M: bra L; add: bra add; $x: bra.uni $x; %y: bra %y; _z: bra _z; k: bra k;"),
    "a label at the end": HEADER + ".entry k() { bra L; L: }",
    "constants": body(
        "mov.u32 %r1, 017; mov.u32 %r1, 0b11U; mov.u32 %r1, 0XfF; mov.u32 %r1, - -5; mov.u64 %rd1, -18446744073709551615;"
    ),
    "constants too wide": body("mov.u16 %h1, 70000; mov.u32 %r1, 4294967296; st.global.s8 [%rd1], 300;"),
    "the warp's size": body("mov.u32 %r1, WARP_SZ; mov.s32 %r1, -WARP_SZ;"),
    "fractions": body(
        "mov.f32 %f1, 1.; mov.f32 %f1, .5; mov.f64 %fd1, 1e5; mov.f32 %f1, 0d3ff0000000000000; mov.f64 %fd1, 0f3F800000;"
    ),
    "fractions as bits": body("mov.b32 %r1, 0f3F800000; mov.b64 %rd1, 1.5;"),
    "predicates": body("mov.pred %p1, 2; and.pred %p1, %p1, 1; @%p1 setp.ne.b16 %p1, %h1, 0;"),
    "special registers": body("mov.s32 %r1, %tid.x; mov.b32 %r1, %laneid;"),
    "barriers": body("bar.sync 15; bar.sync %r1, %r2; bar.sync 0, 64;"),
    "initializers": HEADER
    + ".global .u32 a[2][3] = {{1, 2}, {3}}; .const .f32 b[] = {1.5, 0f3F800000}; .global .v2 .u8 c = {1, 2};",
    "dynamic shared memory": body(
        "ld.shared.u32 %r1, [a]; ld.shared.u8 %r1, [b];", module=".extern .shared .u32 a[]; .extern .shared .b8 b[];"
    ),
    "scopes": body("{ .reg .u64 %r1; mov.u64 %r1, 1; { .reg .f32 %r1; } } mov.u32 %r1, 1;"),
    "a scope hides a parameter": body("{ .reg .u64 p; mov.u64 p, 1; }", P),
    "comments": body("add.u32 /* a; */ %r1, // b;\n %r2 /* ; */, 1; /* /* */"),
    "carriage returns": body("mov.u32 %r1, 1;").replace("\n", "\r\n"),
    "only carriage returns": body("mov.u32 %r1, 1;").replace("\n", "\r"),
    "form feeds": body("mov.u32\f%r1, 1;"),
    "directives": HEADER
    + '.file 1 "a.cu"\n.pragma "nounroll";\n.weak .entry k() .maxntid 8, 8 .minnctapersm 2 { .loc 1 2 3\n.pragma "x"; }',
    "line numbers of no file": body(".loc 7 2 3"),
    "an access that will fail": body(f"{SHARED} ld.shared.u32 %r1, [a+64]; ld.shared.u32 %r1, [a+1];"),
    "cache operators": body("ld.global.ca.u32 %r1, [%rd1]; st.wb.u32 [%rd1], 1; ld.volatile.u32 %r1, [%rd1];"),
}

BAD = {
    "an undeclared name": body("mov.u32 %r1, %x;"),
    "a number out of a range": body("mov.u32 x5, 1;", registers=".reg .u32 x<5>;"),
    "the name of a range": body("mov.u32 x, 1;", registers=".reg .u32 x<5>;"),
    "a float for an integer": body("add.u32 %r1, %f1, 1;"),
    "a wider register": body("add.u32 %rd1, %r1, 1;"),
    "a narrower register": body("ld.global.u32 %h1, [%rd1];"),
    "an integer's load into a float": body("ld.global.u32 %f1, [%rd1];"),
    "a float's load into an integer": body("ld.global.f32 %s1, [%rd1];"),
    "a fraction for an integer": body("mov.u32 %r1, 1.5;"),
    "an integer for a float": body("mov.f32 %f1, 1;"),
    "a double's bits for 32": body("mov.b32 %r1, 0d3ff0000000000000;"),
    "an unknown opcode": body("frob.u32 %r1, 1;"),
    "an unknown modifier": body("add.foo.u32 %r1, %r1, 1;"),
    "a type the opcode has not": body("shl.u32 %r1, %r1, 3;"),
    "no type": body("add %r1, %r1, 1;"),
    "too few operands": body("add.u32 %r1, %r1;"),
    "too many operands": body("add.u32 %r1, %r1, 1, 2;"),
    "a vector of three": body("ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];"),
    "a vector of 256 bits": body("ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];"),
    "one register for two": body("ld.global.v2.u32 %r1, [%rd1];"),
    "three registers for two": body("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];"),
    "no brackets": body("ld.global.u32 %r1, %rd1;"),
    "a float as an address": body("ld.shared.u32 %r1, [%f1];"),
    "a register as an offset": body("ld.shared.u32 %r1, [%rd1+%rd2];"),
    "another space's variable": body(f"{SHARED} ld.global.u32 %r1, [a];"),
    "another space's cvta": body(f"{SHARED} cvta.global.u64 %rd1, a;"),
    "a store to constants": body("st.const.u32 [c], 1;", module=".const .u32 c;"),
    "a store to a parameter": body("st.param.u64 [p], 1;", P),
    "a special register written": body("mov.u32 %tid.x, 1;"),
    "a special register elsewhere": body("add.u32 %r1, %tid.x, 1;"),
    "a special register without component": body("mov.u32 %r1, %tid;"),
    "a component too many": body("mov.u32 %r1, %laneid.x;"),
    "an unknown label": body("bra L;"),
    "a register as a label": body("bra %r1;"),
    "a label's address": body("L: mov.u64 %rd1, L;"),
    "a guard that is no predicate": body("@%r1 mov.u32 %r1, 1;"),
    "a guard that is a number": body("@1 mov.u32 %r1, 1;"),
    "a guarded label": body("@%p1 L: bra L;"),
    "the sink alone": body("mov.u32 _, 1;"),
    "a negated register": body("add.u32 %r1, -%r2, 1;"),
    "a digit that is not octal": body("mov.u32 %r1, 018;"),
    "a digit that is not binary": body("mov.u32 %r1, 0b12;"),
    "65 binary digits": body(f"mov.u64 %rd1, 0b1{'0' * 64};"),
    "seven digits of a float": body("mov.f32 %f1, 0f3F80000;"),
    "a suffix of C": body("mov.f32 %f1, 1.5f;"),
    "no semicolon": body("mov.u32 %r1, 1\nmov.u32 %r2, 2;"),
    "two semicolons": body("mov.u32 %r1, 1;;"),
    "no closing brace": HEADER + ".entry k() { { ret; }",
    "a brace too many": HEADER + ".entry k() { ret; } }",
    "an open comment": HEADER + ".entry k() { ret; } /* x",
    "a second register of one name": body(".reg .u32 x, x;"),
    "a register and a variable": body(".reg .u32 x; .shared .u32 x;"),
    "a register and a parameter": body(".reg .u32 p;", P),
    "a second parameter of one name": body("", f"{P}, .param .u32 p"),
    "a second label of one name": body("L: L: bra L;"),
    "a second kernel of one name": HEADER + ".entry k() {}\n.entry k() {}",
    "an unknown type": body(".reg .foo x;"),
    "an array of registers": body(".reg .f32 x[4];"),
    "a register that begins as": body(".reg .f32 x = 1.0;"),
    "shared memory that begins as": HEADER + ".shared .u32 x = 1;",
    "an array without size": HEADER + ".global .u32 x[];",
    "an unknown directive": HEADER + ".frob;",
    "a keyword in capitals": HEADER + ".ENTRY k() {}",
    "a register of the module": HEADER + ".reg .u32 x;",
    "a second version": HEADER + HEADER,
    "an address size of 48": ".version 9.0\n.target sm_90\n.address_size 48\n",
    "a popc before its time": ".version 1.4\n.target sm_13\n.entry k() { .reg .u32 r; popc.b32 r, r; }",
    "not a character of PTX": body("mov.u32 %r1, `;"),
}

#: modules on which we differ, each with why
DIFFERENT = {
    # what we do not support yet, and say so
    "functions": (HEADER + ".func f() { ret; }", "functions are not supported yet"),
    "constant expressions": (body("mov.u32 %r1, 1+2;"), "constant expressions are not supported yet"),
    "expressions as offsets": (
        body(f"{SHARED} ld.shared.u32 %r1, [a+4*2];"),
        "constant expressions are not supported yet",
    ),
    "array elements": (body(f"{SHARED} mov.u32 %r1, a[1];"), "array elements are not supported yet"),
    "vectors of registers": (body(".reg .v2 .f32 v;"), "vector registers are not supported yet"),
    "128 bits": (body(".reg .b128 q;"), "128-bit registers are not supported yet"),
    "a kernel's .global variable": (body(".global .u32 g;"), "variables of functions in .global are not supported yet"),
    "textures": (HEADER + ".global .texref t;", "textures are not supported yet"),
    "debugging sections": (HEADER + ".section .debug { .b8 1 }", "sections are not supported yet"),
    "lines of a preprocessor": (HEADER + '# 1 "a"\n', "lines with # are not supported yet"),
    "the sink in a vector": (
        body("ld.global.v2.u32 {%r1, _}, [%rd1];"),
        "the sink is taken for a second predicate only",
    ),
    "the sink in unpacking": (body("mov.b64 {%r1, _}, %rd1;"), "the sink is taken for a second predicate only"),
    "a generic access by name": (
        body(f"{SHARED} ld.u32 %r1, [a];"),
        "we want the state space said; ptxas makes the address generic",
    ),
    "a negated operand": (
        body("selp.b32 %r1, 1, 0, !%p1; and.pred %p1, %p1, !%p2;"),
        "only where the manual writes {!} a predicate may be negated",
    ),
    "one register in braces": (body("ld.global.u32 {%r1}, [%rd1];"), "ptxas is lenient"),
    "modifiers in another order": (body("add.s32.sat %r1, %r1, 1;"), "ptxas takes modifiers in any order"),
    "space within a mnemonic": (body("mov .u32 %r1, 1;"), "a mnemonic is one token here"),
    "an address of sixteen bits": (
        body("ld.shared.u32 %r1, [%h1];"),
        "the manual wants 32 or 64 bits; ptxas is lenient",
    ),
    "a special register, narrow": (body("mov.u16 %h1, %tid.x;"), "the 16-bit reading of PTX 1.x is not modelled yet"),
    "a special register in cvt": (body("cvt.u64.u32 %rd1, %tid.x;"), "only mov reads special registers here"),
    "a fourth component": (
        body("mov.u32 %r1, %tid.w;"),
        "%tid has three components here; ptxas knows a .w, which is zero",
    ),
    "names with leading zeros": (body("mov.u32 x01, 1;", registers=".reg .u32 x<5>;"), "ptxas takes x01 for x1"),
    "2 to the 64": (
        body("mov.u64 %rd1, 18446744073709551616;"),
        "refused here as no number of 64 bits; ptxas drops the high bits",
    ),
    "barrier.sync": (body("barrier.sync 0;"), "an instruction without page yet"),
    "ld.nc": (body("ld.global.nc.u32 %r1, [%rd1];"), "on no page yet"),
    "a fraction for 32 bits": (
        HEADER + ".global .b32 x = 1.5;",
        "ptxas makes a single of it; an operand of mov.b32 it refuses",
    ),
    "a single for 64 bits": (
        HEADER + ".global .b64 x = 0f3FC00000;",
        "ptxas takes the bits; an operand of mov.b64 it refuses",
    ),
    "a fraction for 16 bits": (HEADER + ".global .b16 x = 1.5;", "ptxas makes zero of it"),
    # what ptxas refuses, and we do not
    "a half that begins as": (HEADER + ".global .f16 x = 1.5;", "halves may have an initial value here"),
    "a range whose prefix ends in a digit": (
        body("mov.u32 x13, 1;", registers=".reg .u32 x1<5>;"),
        "ptxas finds no x13 in x1<5>; the manual does not forbid it",
    ),
    "a sixteenth barrier": (body("bar.sync 16;"), "a rule of the run here, not of the text"),
    "a barrier for 33": (body("bar.sync 0, 33;"), "a rule of the run here, not of the text"),
    "two sinks": (body("setp.eq.u32 _|_, %r1, 0;"), "the sink may stand twice here"),
    "an offset subtracted": (body("ld.global.u32 %r1, [%rd1-4];"), "ptxas wants [%rd1+-4]"),
    "an immediate address": (body("ld.global.u32 %r1, [16];"), "ptxas allows them for .local alone"),
    "a 32-bit address of global memory": (
        body("ld.global.u32 %r1, [%r2];"),
        "address registers of 32 bits are allowed everywhere here",
    ),
    "a vector of mixed widths": (
        body("ld.global.v2.u32 {%r1, %rd2}, [%rd1];"),
        "each register of a vector is looked at alone",
    ),
    "an address less something": (body(f"{SHARED} mov.u32 %r1, a-4;"), "ptxas wants a+-4"),
    "a field beyond 255": (
        body("bfe.u32 %r1, %r2, 300, 4;"),
        "constants keep their low bits here; ptxas wants what the page says counts",
    ),
    "a negative pattern": (body("mov.f32 %f1, -0f3F800000;"), "a sign before 0f is allowed here"),
    "letters beyond ASCII in a comment": (HEADER + "// é", "comments may hold anything here"),
    "a target of the future": (
        ".version 9.0\n.target sm_123\n.address_size 64\n",
        "the list of targets is not checked",
    ),
    "a version of the future": (
        ".version 99.0\n.target sm_90\n.address_size 64\n",
        "the list of versions is not checked",
    ),
    "a target newer than the version": (".version 1.0\n.target sm_90\n.entry k() {}", "targets have no versions here"),
    "a directive newer than the version": (
        ".version 1.4\n.target sm_13\n.address_size 64\n",
        "directives have no versions here",
    ),
    "an unknown option of .target": (
        ".version 9.0\n.target sm_90, frob\n.address_size 64\n",
        "the options of .target are not checked",
    ),
    "addresses of 32 bits": (
        ".version 9.0\n.target sm_90\n.address_size 32\n.entry k() {}",
        "no longer assembled for sm_90",
    ),
    "a label named like a register": (
        body(".reg .u32 x; x: add.u32 x, x, 1;"),
        "labels have a name space of their own here",
    ),
    "a kernel named like a variable": (
        HEADER + ".global .u32 k; .entry k() {}",
        "kernels have a name space of their own here",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_both_accept(name: str) -> None:
    assert (ours(GOOD[name]), assemble(GOOD[name])) == ([], [])


@pytest.mark.parametrize("name", BAD)
def test_what_both_refuse(name: str) -> None:
    """And where ptxas names a line, the first complaint is about the same one."""
    mine, theirs = ours(BAD[name]), assemble(BAD[name])
    assert mine and theirs
    lines = [line for line, _ in theirs if line]
    assert not lines or mine[0] in lines, theirs


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.xfail(strict=True, reason=DIFFERENT[n][1])) for n in DIFFERENT]
)
def test_what_we_see_differently(name: str) -> None:
    text = DIFFERENT[name][0]
    assert bool(ours(text)) == bool(assemble(text))
