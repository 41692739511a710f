"""Our verdict on small modules beside that of NVIDIA's assembler."""

from __future__ import annotations

import importlib

import pytest
from verdicts import HEADER, body

import ptxspec
from ptxspec.evidence.assembler import assemble

P = ".param .u64 p"
SHARED = ".shared .align 8 .u32 a[4];"


pytestmark = pytest.mark.usefixtures("assembler")


def ours(text: str) -> list[int]:
    """The lines of which we complain."""
    try:
        ptxspec.load(text)
    except ptxspec.PtxError as error:
        return [d.line for d in error.diagnostics]
    return []


GOOD = {
    "nothing": HEADER,
    "selectors": body("vadd.s32.u32.s32.sat %r1.h1, %r2.b3, %u1.h0, 7; vshl.u32.s32.u32.wrap.add %r1, %s1, 5, %r2;"),
    "a third operand that does not count": body("vadd.s32.u32.s32 %r1, %r2, %r3, %r4;"),
    "selectors of lanes": body(
        "vadd4.u32.s32.u32.add %r1.b320, %r2.b7777, %r3.b0123, %r4; vset2.u32.s32.lt %r1, %r2, %r3, %r4;"
    ),
    "signs": body(
        "vmad.s32.s32.u32 %r1, -%r2.h0, %r3, %r4; vmad.s32.u32.u32 %r1, -%r2, -%r3.b0, -%r4; vmad.u32.u32.u32 %r1, 3, %r2, -5;"
    ),
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
    "a special register, narrow": body("mov.u16 %h1, %tid.x;"),
    "a special register in cvt": body("cvt.u64.u32 %rd1, %tid.x; cvt.u32.u16 %r1, %ctaid.y;"),
    "a special register in braces": body("mov.b64 %rd1, {%clock, %clock_hi}; mov.b64 {%r1, %r2}, %clock64;"),
    "a fourth component": body("mov.u32 %r1, %tid.w; mov.u32 %r2, %clusterid.w;"),
    "a predicate that is special": body("mov.pred %p1, %is_explicit_cluster;"),
    "loads and stores with modifiers": body(
        "ld.global.nc.L1::evict_last.L2::64B.u32 %r1, [%rd1]; ld.acquire.gpu.u32 %r1, [%rd1];"
        "st.release.cluster.shared::cluster.u32 [%r1], %r2; st.weak.u32 [%rd1], %r2; ldu.u32 %r1, [%rd1];"
    ),
    "no effect": body("prefetch.global.L2 [%rd1]; nanosleep.u32 %r1; pmevent 3; membar.sys; fence.sc.cta; @%p1 brkpt;"),
    "the window of parameters": body("cvta.param.u64 %rd1, p; isspacep.param %p1, %rd1;", P),
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
    "more barriers": body(
        "barrier.sync 0; barrier.cta.sync.aligned %r1, 64; bar.cta.arrive 1, 64; barrier.arrive %r1, %r2;"
        "bar.red.popc.u32 %r1, 0, !%p1; bar.red.and.pred %p1, 0, 64, %p2; barrier.red.or.aligned.pred %p1, %r1, %p2;"
        "bar.warp.sync 0xffffffff;"
    ),
    "warps": body(
        "shfl.sync.up.b32 %r1|%p1, %f1, %s1, 0, -1; shfl.sync.idx.b32 %f1, 5, 1, 0x1f, %u1; shfl.sync.bfly.b32 %r1|_, %r2, 1, 2, 3;"
        "vote.sync.all.pred %p1, !%p2, 1; vote.sync.ballot.b32 %r1, %p2, %r3; activemask.b32 %r1;"
        "match.any.sync.b64 %r1, %rd1, -1; match.all.sync.b32 _|%p1, %r1, -1; match.all.sync.b64 %r1, %rd2, -1;"
        "redux.sync.min.s32 %r1, %s1, -1; redux.sync.xor.b32 %r1, 5, %r2; elect.sync _|%p1, -1;"
    ),
    "warps of old": HEADER.replace("9.0", "6.3").replace("sm_90", "sm_70")
    + ".entry k() { .reg .pred p; .reg .b32 r; shfl.up.b32 r|p, r, 1, 0; vote.all.pred p, !p; vote.ballot.b32 r, p; }",
    "warps of old for old targets": HEADER.replace("sm_90", "sm_60")
    + ".entry k() { .reg .pred p; .reg .b32 r; shfl.up.b32 r|p, r, 1, 0; vote.all.pred p, !p; vote.ballot.b32 r, p; }",
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
    "the sink in a vector": body("ld.global.v2.u32 {%r1, _}, [%rd1];"),
    "the sink in unpacking": body("mov.b64 {%r1, _}, %rd1;"),
    "a negated operand": body("selp.b32 %r1, 1, 0, !%p1; and.pred %p1, %p1, !%p2;"),
    "names with leading zeros": body("mov.u32 x01, 1;", registers=".reg .u32 x<5>;"),
    "a fraction for 32 bits": HEADER + ".global .b32 x = 1.5;",
    "a single for 64 bits": HEADER + ".global .b64 x = 0f3FC00000;",
}

BAD = {
    "a selector on an addition": body("add.u32 %r1, %r2.b0, 1;"),
    "a selector there is none of": body("vadd.s32.u32.u32 %r1, %r2.b4, %r3;"),
    "a selector of two half-words on a scalar": body("vadd.s32.u32.u32 %r1, %r2.h10, %r3;"),
    "a merge without what is merged into": body("vadd.s32.u32.u32 %r1.b0, %r2, %r3;"),
    "a merge and an operation": body("vadd.s32.u32.u32.add %r1.b0, %r2, %r3, %r4;"),
    "a selector on a constant": body("vadd.s32.u32.u32 %r1, 5.b0, %r3;"),
    "a selector on a special register": body("vadd.s32.u32.u32 %r1, %laneid.b0, %r3;"),
    "two selectors": body("vadd.s32.u32.u32 %r1, %r2.b0.b1, %r3;"),
    "a mask in the wrong order": body("vadd4.u32.u32.u32 %r1.b01, %r2, %r3, %r4;"),
    "a lane beyond the seventh": body("vadd4.u32.u32.u32 %r1, %r2.b8000, %r3, %r4;"),
    "three lanes of four": body("vadd4.u32.u32.u32 %r1, %r2.b210, %r3, %r4;"),
    "half-words among bytes": body("vadd4.u32.u32.u32 %r1, %r2.h10, %r3, %r4;"),
    "a constant among lanes": body("vadd2.u32.u32.u32 %r1, %r2, 5, %r4;"),
    "a constant to merge lanes into": body("vadd2.u32.u32.u32 %r1, %r2, %r3, 5;"),
    "limited and accumulated": body("vadd2.u32.u32.u32.sat.add %r1, %r2, %r3, %r4;"),
    "a minus sign on a sum": body("vadd.s32.u32.u32 %r1, -%r2, %r3;"),
    "a product and its addend negated": body("vmad.s32.s32.s32 %r1, -%r2, %r3, -%r4;"),
    "plus one and a minus sign": body("vmad.s32.s32.s32.po %r1, %r2, %r3, -%r4;"),
    "a selector on an addend": body("vmad.s32.s32.s32 %r1, %r2, %r3, %r4.h0;"),
    "a shift without its mode": body("vshl.u32.u32.u32 %r1, %r2, %r3;"),
    "a shift by a signed number": body("vshl.u32.u32.s32.clamp %r1, %r2, %r3;"),
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
    "an event too many": body("pmevent 16;"),
    "a mask of seventeen bits": body("pmevent.mask 0x10000;"),
    "a fence without scope": body("fence.sc;"),
    "an ordered load of local memory": body(".local .u32 l; ld.acquire.gpu.local.u32 %r1, [l];"),
    "a hint for shared memory": body("ld.shared.L1::evict_last.u32 %r1, [%r2];"),
    "a release of a load": body("ld.release.gpu.u32 %r1, [%rd1];"),
    "a special register as a float": body("mov.f32 %f1, %envreg0;"),
    "half of a lane's number": body("mov.u16 %h1, %laneid;"),
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
    "a shuffle of old": body("shfl.up.b32 %r1, %r2, 1, 0;"),
    "a vote of old": body("vote.all.pred %p1, %p2;"),
    "a ballot of old": HEADER.replace("9.0", "6.4").replace("sm_90", "sm_70")
    + ".entry k() { .reg .pred p; .reg .b32 r; vote.ballot.b32 r, p; }",
    "a shuffle before its time": ".version 2.3\n.target sm_30\n.entry k() { .reg .u32 r; shfl.up.b32 r, r, 1, 0; }",
    "a ballot before its time": ".version 2.3\n.target sm_13\n.entry k() { .reg .u32 r; .reg .pred p; vote.ballot.b32 r, p; }",
    "a match for an old target": HEADER.replace("sm_90", "sm_60")
    + ".entry k() { .reg .u32 r; match.any.sync.b32 r, r, -1; }",
    "a match with two results": body("match.any.sync.b32 %r1|%p1, %r2, -1;"),
    "a sum of bits": body("redux.sync.add.b32 %r1, %r2, -1;"),
    "an election with one result": body("elect.sync %r1, -1;"),
    "an arrival without number": body("bar.arrive 0;"),
    "an aligned bar": body("bar.sync.aligned 0;"),
    "a scope before its time": ".version 7.7\n.target sm_90\n.entry k() { bar.cta.sync 0; }",
    "a barrier before its time": ".version 5.0\n.target sm_60\n.entry k() { barrier.sync 0; }",
    "not a character of PTX": body("mov.u32 %r1, `;"),
    "a half that begins as": HEADER + ".global .f16 x = 1.5;",
    "a range whose prefix ends in a digit": body("mov.u32 x13, 1;", registers=".reg .u32 x1<5>;"),
    "a sixteenth barrier": body("bar.sync 16;"),
    "a barrier for 33": body("bar.sync 0, 33;"),
    "an arrival of 33": body("barrier.arrive 0, 33;"),
    "a reduction at a sixteenth barrier": body("barrier.red.popc.u32 %r1, 16, %p1;"),
    "a reduction of 33": body("bar.red.and.pred %p1, 1, 33, %p1;"),
    "two sinks": body("setp.eq.u32 _|_, %r1, 0;"),
    "a vector of mixed widths": body("ld.global.v2.u32 {%r1, %rd2}, [%rd1];"),
    "a field beyond 255": body("bfe.u32 %r1, %r2, 300, 4;"),
    "a negative pattern": body("mov.f32 %f1, -0f3F800000;"),
    "a target of the future": ".version 9.0\n.target sm_123\n.address_size 64\n",
    "a version of the future": ".version 99.0\n.target sm_90\n.address_size 64\n",
    "a target newer than the version": ".version 1.0\n.target sm_90\n.entry k() {}",
    "a directive newer than the version": ".version 1.4\n.target sm_13\n.address_size 64\n",
    "an unknown option of .target": ".version 9.0\n.target sm_90, frob\n.address_size 64\n",
    "a label named like a register": body(".reg .u32 x; x: add.u32 x, x, 1;"),
    "a kernel named like a variable": HEADER + ".global .u32 k; .entry k() {}",
}

#: modules on which we differ, each with why
DIFFERENT = {
    # what we do not support yet, and say so
    "a vector of a special register": (
        body(".reg .v4 .u32 v; mov.v4.u32 v, %tid;"),
        "its components have to be named one by one",
    ),
    "arrays of textures": (HEADER + ".global .texref t[4];", "arrays of opaque variables are not supported yet"),
    "a generic access by name": (
        body(f"{SHARED} ld.u32 %r1, [a];"),
        "we want the state space said; ptxas makes the address generic",
    ),
    "an address of sixteen bits": (
        body("ld.shared.u32 %r1, [%h1];"),
        "the manual wants 32 or 64 bits; ptxas is lenient",
    ),
    "2 to the 64": (
        body("mov.u64 %rd1, 18446744073709551616;"),
        "refused here as no number of 64 bits; ptxas drops the high bits",
    ),
    "an address in a cluster of a variable that is said to be generic": (
        body(f"{SHARED} mapa.u64 %rd1, a, 1;"),
        "ptxas uses the shared address as if it were generic (AMB-221)",
    ),
    "a fraction for 16 bits": (HEADER + ".global .b16 x = 1.5;", "ptxas makes zero of it"),
    "a sum of a register and a number": (
        body("add.u32 %r1, %r2+1, 1;"),
        "only a variable's name has an offset; ptxas is lenient",
    ),
    "bits of single precision in parentheses": (
        body("mov.f32 %f1, (0f3F800000);"),
        "such bits may not be used in expressions; ptxas takes them where there is no operator",
    ),
    "bits of single precision with a sign": (
        body("mov.f32 %f1, -(0f3F800000);"),
        "so does a sign before a parenthesis",
    ),
    "an integer vector's load as floats": (
        body(".reg .v4 .u32 v; ld.global.v4.f32 v, [%rd1];"),
        "the types of elements count here as those of registers do",
    ),
    "a preprocessor's line after other words": (
        HEADER + '.global .u32 x; # 1 "a"\n',
        "lines that begin with # are for the preprocessor; ptxas finds them anywhere",
    ),
    "data that does not fit": (HEADER + ".section .debug { .b32 4294967296 }", "ptxas checks .b8 and .b16"),
    "a declaration of nothing": (body(".reg .u32 ;"), "ptxas is lenient"),
    # what ptxas refuses, and we do not
    "a subnormal fraction": (HEADER + ".global .f64 x = 1e-310;", "ptxas calls it an overflow"),
    "a conditional of fractions": (
        HEADER + ".global .f64 x = 1 ? 2.0 : 3.0;",
        "the manual has it; ptxas wants integers",
    ),
    "a size that is computed": (
        HEADER + ".global .u32 x[2*3];",
        "the manual has expressions; ptxas wants one number (AMB-116)",
    ),
    "a parameter's size that is computed": (HEADER + ".entry k(.param .b8 p[2*3]) {}", "as for other arrays (AMB-116)"),
    "a preprocessor's line without end": (HEADER + '# 1 "a"', "the last line needs no line feed here"),
    "an unknown pragma": (HEADER + '.pragma "x";', "what a pragma says is not looked at"),
    "names of .loc": (body(".reg .u32 function_name;"), "only WARP_SZ is reserved here"),
    "a sink for what is shuffled": (
        body("shfl.sync.up.b32 _|%p1, %r1, 1, 0, -1;"),
        "the sink may stand for any destination of a pair here",
    ),
    "letters beyond ASCII in a comment": (HEADER + "// é", "comments may hold anything here"),
}


#: declarations, each alone in a module
DECLARATIONS = """
    .entry k(.param .b8 p[-4]) {}
    .entry k(.param .b8 p[0]) {}
    .entry k(.param .b8 p[]) {}
    .entry k(.param .align 3 .b8 p[4]) {}
    .entry k(.param .align 0 .b8 p[4]) {}
    .entry k(.param .align -4 .b8 p[4]) {}
    .entry k(.param .align 256 .b8 p[4]) {}
    .entry k(.param .align 2 .u32 p) {}
    .entry k(.param .v2 .u32 p) {}
    .entry k(.param .u32 p[3]) {}
    .entry k(.param .u32 p[2][2]) {}
    .entry k(.param .u32 p<2>) {}
    .entry k(.param .u32 .u32 p) {}
    .entry k(.param .u32 p = 1) {}
    .entry k(.param .u32 p,) {}
    .entry k(.param .b8 .align 8 p[8]) {}
    .entry k(.param .u64 .ptr .align 3 p) {}
    .entry k(.param .u64 .ptr .align 0 p) {}
    .entry k(.param .u64 .ptr .param p) {}
    .entry k(.param .u64 .ptr .global .shared p) {}
    .entry k(.param .u64 .ptr .align 8 .global p) {}
    .entry k(.param .f32 .ptr p) {}
    .entry k() .maxntid -1 {}
    .entry k() .maxntid 0 {}
    .entry k() .maxntid 1, 0 {}
    .entry k() .maxntid 1, 2, 3, 4 {}
    .entry k() .maxntid 64, 64, 64 {}
    .entry k() .maxntid 32 .reqntid 32 {}
    .entry k() .maxntid 32 .maxntid 32 {}
    .entry k() .reqntid 0 {}
    .entry k() .minnctapersm 0 {}
    .entry k() .minnctapersm 4 {}
    .entry k() .maxnctapersm 4 {}
    .entry k() .maxnreg 0 {}
    .entry k() .maxnreg 100000 {}
    .entry k() .reqntid 32 .maxnreg 8 {}
    .extern .entry k() {}
    .weak .entry k() {}
    .global .align 0 .u32 x;
    .global .align 3 .u32 x;
    .global .align 2 .u32 x;
    .global .align 65536 .u32 x;
    .global .align -4 .u32 x;
    .global .align 4 .align 4 .u32 x;
    .global .u32 .align 4 x;
    .global .v2 .align 4 .u32 x;
    .global .u32 .v2 x;
    .global .v2 .u64 x;
    .global .v4 .u64 x;
    .global .v4 .f64 x;
    .global .v4 .f16 x;
    .global .v3 .u8 x;
    .global .v2 .v4 .f32 x;
    .global .v2 .pred x;
    .global .u8 x[0];
    .global .u8 x[-1];
    .global .u8 x[2][0];
    .global .u8 x[][];
    .global .u8 x[2][];
    .global .u8 x[][2];
    .global .u8 x[][2] = {{1, 2}};
    .global .u32 x[2] = {1,};
    .global .u32 x[2] = {,};
    .global .u32 x[2] = {1,, 2};
    .global .u32 x[2] = {};
    .global .u32 x[] = {};
    .global .u32 x = {1};
    .global .u32 x = {};
    .global .u32 x[2] = 1;
    .global .u32 x[2] = {1, 2, 3};
    .global .u32 x[2] = {{1}, {2}};
    .global .u32 x[2][2] = {1, 2, 3, 4};
    .global .u32 x[2][2] = {1, {3, 4}};
    .global .u32 x[2][2] = {{1, 2, 3}};
    .global .u32 x[2][2] = {{1}, {2}, {3}};
    .global .v4 .u32 x = 1;
    .global .v4 .u32 x = {1, 2};
    .global .v4 .u32 x = {1, 2, 3, 4, 5};
    .global .v4 .u32 x[2] = {{1, 2}, {5, 6, 7, 8}};
    .global .v2 .u32 x[2] = {{1, 2}};
    .global .b64 x[2] = {1.5, 0f3FC00000};
    .global .b32 x = 0d3FF8000000000000;
    .global .u32 x = 1.5;
    .global .f32 x = 1;
    .global .f16 x = 1;
    .global .u32 x<-3>;
    .global .u32 x<0>;
    .global .u32 x<4>[2];
    .global .u32 x<2> = 5;
    .global .v2 .u32 x<2>, y;
    .global .u32 x; .global .u32 x;
    .global .u32 x1; .global .u32 x<3>;
    .global .u32 x<3>; .global .u32 x1;
    .global .u32 x<3>; .global .u32 x;
    .global .u32 x<3>; .global .u32 x<2>;
    .global .u32 x<3>; .entry x2() {}
    .global .u32 k; .entry k() {}
    .entry k() {} .global .u32 k;
    .shared .u32 k; .entry k() {}
    .entry k() { .shared .u32 k; }
    .entry k() { .reg .u32 k; }
    .entry k(.param .u32 k) {}
    .entry k() { k: bra k; }
    .visible .local .u32 x;
    .local .u32 x;
    .extern .param .u32 x;
    .param .u32 x;
    .visible .reg .u32 x;
    .weak .shared .u32 x;
    .visible .shared .u32 x[];
    .extern .shared .u32 x;
    .extern .shared .u32 x[0];
    .extern .global .u32 x[];
    .extern .global .u32 x = 5;
    .extern .const .u32 x = 5;
    .weak .global .u32 x = 5;
    .visible .visible .global .u32 x;
    .visible .extern .global .u32 x;
    .visible .file 1 "x"
    .visible .pragma "x";
    .entry k() { .visible .shared .u32 x; }
    .entry k() { .local .u32 x = 1; }
    .entry k() { .local .u32 x[]; }
    .entry k() { .local .u32 x[0]; }
    .entry k() { .shared .u32 x[-1]; }
    .entry k() { .reg .u32 x<-1>; }
    .entry k() { .reg .u32 x<0>; }
    .entry k() { .reg .u32 x<4>; .reg .u32 x2; }
    .entry k() { .reg .u32 x2; .reg .u32 x<4>; }
    .entry k() { .reg .u32 x<4>; .reg .u32 x4; }
    .entry k() { .reg .u32 x<4>; .reg .u32 x02; }
    .entry k() { .reg .u32 x02; .reg .u32 x<4>; }
    .entry k() { .reg .u32 x<4>; .reg .u32 x<0>; }
    .entry k() { .reg .u32 x<4>, x3; }
    .entry k() { .reg .u32 x<20>; .reg .u32 x1<3>; }
    .entry k() { .reg .u32 x<4>; .reg .u32 x; }
    .entry k() { .reg .u32 x<4>; .shared .u32 x2; }
    .entry k() { .shared .u32 x2; .reg .u32 x<4>; }
    .entry k() { .shared .u32 x<4>; .reg .u32 x<3>; }
    .entry k() { .shared .u32 x1<4>; .reg .u32 r; mov.u32 r, x12; }
    .entry k(.param .u64 p3) { .reg .u32 p<9>; }
    .entry k(.param .u64 p3) { .reg .u32 p<3>; }
    .entry k(.param .u64 p3) { p3: }
    .entry k() { .reg .u32 x<4>; x2: }
    .entry k() { .reg .u32 x<4>; mov.u32 x2, 1; x2: }
    .entry k() { x2: .reg .u32 x<4>; }
    .entry k() { .reg .u32 x<4>; x2: bra x2; }
    .entry k() { .reg .u32 x<4>; { .reg .u32 x2; } }
    .entry k() { .reg .u32 x<4>; { x2: bra x2; } }
    .entry k() { .reg .u32 x2; x2: }
    .entry k() { x2: .reg .u32 x2; }
    .entry k() { .shared .u32 x2; x2: }
    .entry k() { .reg .u32 x2; { bra x2; x2: } }
    .entry k() { .reg .u32 x2; { mov.u32 x2, 1; x2: bra x2; } }
    .entry k() { .reg .pred x; { .shared .u32 x; @x bra L; L: } }
    .entry k() { .reg .u64 x; { .shared .u32 x; mov.u64 x, 1; } }
"""

#: instructions, whose operands are the question
INSTRUCTIONS = """
    mov.u16 %h1, %laneid;
    mov.u64 %rd1, %tid.x;
    mov.f32 %f1, %tid.x;
    cvt.rn.f32.u32 %f1, %tid.x;
    add.u16 %h1, %tid.x, %h1;
    st.global.u32 [%rd1], %tid.x;
    bar.sync %tid.x;
    ld.global.v2.u32 {_, _}, [%rd1];
    ld.global.v4.u32 {%r1, _, _, %r2}, [%rd1];
    ld.global.u32 _, [%rd1];
    st.global.v2.u32 [%rd1], {_, %r1};
    mov.b64 {_, %r1}, %rd1;
    mov.b64 {_, _}, %rd1;
    mov.b64 %rd1, {_, %r1};
    mov.b64 {%h1, _, _, _}, %rd1;
    add.u32 _, %r1, 1;
    setp.eq.and.u32 _|_, %r1, 0, %p1;
    setp.eq.u32 _|%p1, %r1, 0;
    and.pred %p1, !%p1, !%p2;
    not.pred %p1, !%p2;
    mov.pred %p1, !%p2;
    and.b32 %r1, %r1, !%r2;
    slct.b32.s32 %r1, %r2, %r3, !%r4;
    bar.sync -1;
    bar.sync 4294967296;
    bar.sync 0, 0;
    bar.sync 0, 32;
    bar.sync 0, -32;
    bar.sync %r1, 33;
    bfe.u32 %r1, %r2, 255, 255;
    bfe.u32 %r1, %r2, 4, 256;
    bfe.u32 %r1, %r2, -1, 4;
    bfe.u32 %r1, 70000, 3, 4;
    bfi.b32 %r1, %r2, %r3, 256, 4;
    bfi.b32 %r1, %r2, %r3, 4, 256;
    ld.global.v2.u32 {%r1, %u2}, [%rd1];
    ld.global.v2.b32 {%r1, %f2}, [%rd1];
    ld.global.v2.u16 {%h1, %r2}, [%rd1];
    ld.global.v2.u16 {%r1, _}, [%rd1];
    st.global.v2.u32 [%rd1], {%r1, %rd2};
    st.global.v2.u32 [%rd1], {%rd1, %rd2};
    mov.f64 %fd1, -0d3ff0000000000000;
    mov.f32 %f1, +0f3F800000;
"""


@pytest.mark.sample(4)
@pytest.mark.parametrize("text", [line.strip() for line in DECLARATIONS.strip().splitlines()])
def test_declarations(text: str) -> None:
    assert bool(ours(HEADER + text)) == bool(assemble(HEADER + text))


@pytest.mark.parametrize("text", [line.strip() for line in INSTRUCTIONS.strip().splitlines()])
def test_operands(text: str) -> None:
    assert bool(ours(body(text))) == bool(assemble(body(text)))


@pytest.mark.slow
def test_versions_and_targets(newest_assembler: str) -> None:
    """Those that the page lists, each target with the first version that it takes, and with the one before."""
    page = importlib.import_module("ptxspec.spec.directives.index")
    versions = [(major, minor) for major, last in sorted(page.VERSIONS.items()) for minor in range(last + 1)]
    targets = {t: first for t, first in page.TARGETS.items() if not t.endswith(("a", "f"))}
    assert len(targets) > 30
    tried = [(first, t) for t, first in targets.items()]
    tried += [(versions[versions.index(first) - 1], t) for t, first in targets.items() if first > versions[0]]
    tried += [((1, 6), "sm_10"), ((9, 6), "sm_90"), ((10, 0), "sm_90"), ((9, 0), "sm_91"), ((9, 0), "sm_90f")]
    tried += [((9, minor), "sm_90") for minor in range(6)]
    for (major, minor), target in tried:
        text = f".version {major}.{minor}\n.target {target}\n.entry k() {{}}"
        assert bool(ours(text)) == bool(assemble(text, "sm_121a", by=newest_assembler)), text


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("2.0", ".entry k() .reqntid 8 {}"), ("2.1", ".entry k() .reqntid 8 {}"),
        ("1.5", ".entry k() .maxntid 8 .minnctapersm 1 {}"), ("2.0", ".entry k() .maxntid 8 .minnctapersm 1 {}"),
        ("2.0", ".entry k() .maxntid 8 .maxnctapersm 1 {}"), ("2.1", ".entry k() .maxntid 8 .maxnctapersm 1 {}"),
        ("2.3", ".address_size 64"), ("2.2", ".address_size 64"),
        ("3.0", ".weak .global .u32 x;"), ("3.1", ".weak .global .u32 x;"), ("2.3", ".weak .entry k() {}"),
        ("1.4", ", texmode_independent"), ("1.5", ", texmode_independent"), ("1.0", ", texmode_unified"),
        ("2.0", ", texmode_unified, texmode_independent"), ("1.0", ", map_f64_to_f32"), ("2.0", ", map_f64_to_f32"),
        ("2.3", ", debug"),
    ],
)  # fmt: skip
def test_directives_have_versions(version: str, text: str) -> None:
    target = "sm_11" if version < "2" else "sm_20" if version < "3" else "sm_30"
    text = f".version {version}\n.target {target}{text if text[0] == ',' else chr(10) + text}\n"
    assert bool(ours(text)) == bool(assemble(text))


EARLY_BODIES = """
    .param .u32 p; .param .u32 p;
    { .param .u32 p; .reg .u32 r; ld.param.u32 r, [p]; }
    .param .u32 p = 3;
    .param .v2 .u32 p;
    .param .u32 p[3];
    .param .b8 p[];
    .param .u32 p[2][3];
    .reg .u32 r; ld.param.u32 r, [p]; .param .u32 p;
    .param .pred p;
    .param .u32 p; .reg .u32 r; st.param.u32 [p], r;
    .param .u8 p; .reg .u32 r; ld.param.u8 r, [p];
    .param .u32 p, q;
    .reg .u32 p; .param .u32 p;
"""


@pytest.mark.parametrize("text", [line.strip() for line in EARLY_BODIES.strip().splitlines()])
def test_parameters_in_the_body_of_an_entry(text: str) -> None:
    text = f".version 1.3\n.target sm_13\n.entry k {{ {text} ret; }}"
    assert bool(ours(text)) == bool(assemble(text))


@pytest.mark.parametrize(
    "text", [".entry k(.param .u32 p) {}", ".entry k() {}", ".entry k { .param .u32 p; }", ".func f { .param .u32 p; }",
             ".func f(.param .u32 p) {}", ".func f(.reg .u32 p) {}"]
)  # fmt: skip
def test_parameters_depend_on_the_version(text: str) -> None:
    for version, target in (("1.0", "sm_10"), ("1.3", "sm_13"), ("1.4", "sm_13"), ("1.5", "sm_13"), ("2.0", "sm_13"),
                            ("2.0", "sm_20"), ("3.0", "sm_13"), ("4.1", "sm_30")):  # fmt: skip
        module = f".version {version}\n.target {target}\n{text}"
        assert bool(ours(module)) == bool(assemble(module)), module


@pytest.mark.parametrize(
    "text", [".reg .u32 r; .entry k { mov.u32 r, 1; }", ".reg .u32 r<3>; .reg .u32 r1;", ".reg .u32 r; .entry k { .reg .u32 r; mov.u32 r, 1; }",
             ".global .u32 g; .global .u64 p = g;", ".global .u32 g; .global .u64 p = generic(g);", ".func f { ret; } .global .u64 p = f;"]
)  # fmt: skip
def test_what_a_module_may_declare_depends_on_the_version(text: str) -> None:
    for version, target in (
        ("1.3", "sm_13"),
        ("2.0", "sm_20"),
        ("2.1", "sm_20"),
        ("2.3", "sm_20"),
        ("3.0", "sm_30"),
        ("3.1", "sm_30"),
    ):
        module = f".version {version}\n.target {target}\n{text}"
        assert bool(ours(module)) == bool(assemble(module)), module


EARLY_DEFAULTS = """
    div.f32 x, x, x; div.f64 u, u, u; rcp.f32 x, x; rcp.f64 u, u; sqrt.f32 x, x; sqrt.f64 u, u; rsqrt.f32 x, x; rsqrt.f64 u, u;
    sin.f32 x, x; cos.f32 x, x; lg2.f32 x, x; ex2.f32 x, x; mad.f32 x, x, x, x; mad.sat.f32 x, x, x, x; mad.ftz.f32 x, x, x, x;
    mad.f64 u, u, u, u; fma.f64 u, u, u, u; div.ftz.f32 x, x, x; rcp.ftz.f32 x, x; sin.ftz.f32 x, x; div.approx.f32 x, x, x;
    add.ftz.f32 x, x, x; mad.rn.f32 x, x, x, x; mad.rn.f64 u, u, u, u; cvt.f32.s32 x, s; cvt.s32.f32 s, x; cvt.f32.f64 x, u;
    cvt.rn.ftz.f32.f64 x, u; cvt.ftz.f64.f32 u, x; cvt.rpi.ftz.s64.f32 l, x; div.full.f32 x, x, x;
"""
#: versions and targets that have double precision
EARLY_MODULES = [("1.2", "sm_13"), ("1.3", "sm_13"), ("1.4", "sm_13"), ("1.5", "sm_13"), ("2.0", "sm_20"), ("3.0", "sm_13"),
                 ("3.0", "sm_30"), ("3.1", "sm_20"), ("3.2", "sm_20"), ("4.1", "sm_13")]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("instruction", [i.strip() for i in EARLY_DEFAULTS.split(";") if i.strip()])
def test_modifiers_left_out_in_early_modules(instruction: str) -> None:
    for version, target in EARLY_MODULES:
        registers = ".reg .f32 x; .reg .f64 u; .reg .s32 s; .reg .s64 l;"
        text = f".version {version}\n.target {target}\n.entry k {{ {registers} {instruction}; ret; }}"
        assert bool(ours(text)) == bool(assemble(text)), text


@pytest.mark.parametrize("name", GOOD)
def test_what_both_accept(name: str) -> None:
    assert (ours(GOOD[name]), assemble(GOOD[name])) == ([], [])


@pytest.mark.sample(4)
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
