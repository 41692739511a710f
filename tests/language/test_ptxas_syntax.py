"""Our verdict on constants, elements, vectors and directives for debuggers beside that of NVIDIA's assembler. A line is a case;
`\\n` in it ends a line of PTX."""

from __future__ import annotations

import pytest
from verdicts import HEADER, body

import ptxspec
from ptxspec.evidence.assembler import assemble

REGISTERS = (
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .reg .f64 %fd<4>;"
    " .reg .u32 %u<4>; .reg .s32 %s<4>; .shared .align 8 .u32 a[4]; .local .align 8 .u32 l[4];"
    " .reg .v4 .f32 v; .reg .v2 .f32 w; .reg .v4 .u32 vu; .reg .v2 .b64 vd;"
)
PARAMETERS = ".param .u64 p, .param .align 8 .b8 q[16]"
VARIABLES = ".global .align 16 .u32 g[16]; .const .u32 c[4];"

INSTRUCTIONS = r"""
    mov.u32 %r1, (1<<4)|3;
    mov.u32 %r1, 1+2;
    mov.u32 %r1, -1;
    mov.u32 %r1, -(1);
    mov.u32 %r1, (1);
    mov.u32 %r1, ~1;
    mov.u32 %r1, !1;
    mov.u32 %r1, !0;
    mov.pred %p1, !1;
    mov.pred %p1, !%p2;
    mov.u32 %r1, 1?2:3;
    mov.u32 %r1, (.s64)3;
    mov.f64 %fd1, 1.0+2.0;
    mov.f32 %f1, 1.0*2.0;
    add.u32 %r1, %r2, 4*2;
    add.u32 %r1, %r2, -4*2;
    add.u32 %r1, %r2, -(4*2);
    add.u32 %r1, %r2, +4;
    add.u32 %r1, %r2, WARP_SZ-1;
    add.u32 %r1, %r2, WARP_SZ*2;
    add.u32 %r1, -(%r2), 1;
    st.global.v2.u32 [%rd1], {1+2, 3*4};
    st.global.v2.u32 [%rd1], {1|2, 3};
    mov.u32 %r1, 1|2;
    setp.eq.u32 %p1, %r1, 1|2;
    setp.eq.u32 %p1|%p2, %r1, (1|2);
    lop3.b32 %r1, %r2, %r3, %r4, 0xf0&0xcc;
    bar.sync 1+1;
    bar.sync 0, 32*2;
    ld.shared.u32 %r1, [a+4*2];
    ld.shared.u32 %r1, [a+(4*2)];
    ld.shared.u32 %r1, [a+4+4];
    ld.shared.u32 %r1, [a+4-4];
    ld.shared.u32 %r1, [a+-4];
    ld.shared.u32 %r1, [a+-4*2];
    ld.shared.u32 %r1, [a+WARP_SZ/8];
    ld.shared.u32 %r1, [a+(1<<2)];
    ld.shared.u32 %r1, [a+1<<2];
    ld.shared.u32 %r1, [a+1|4];
    ld.shared.u32 %r1, [a+1?4:8];
    ld.shared.u32 %r1, [a*2];
    ld.shared.u32 %r1, [4+a];
    ld.shared.u32 %r1, [a+1.0];
    ld.global.u32 %r1, [%rd1+4*2];
    ld.global.u32 %r1, [%rd1+%rd2];
    ld.global.u32 %r1, [%rd1+4294967296];
    ld.global.u32 %r1, [%rd1+2147483648];
    ld.global.u32 %r1, [%rd1+-2147483649];
    ld.global.u32 %r1, [%rd1+0xffffffff];
    ld.global.u32 %r1, [%rd1+0xffffffffffffffff];
    ld.shared.u32 %r1, [a+4294967296];
    ld.local.u32 %r1, [4*2];
    ld.local.u32 %r1, [8];
    ld.local.u32 %r1, [(8)];
    ld.local.u32 %r1, [-8];
    ld.param.u32 %r1, [q+4*2];
    mov.u32 %r1, a+4*2;
    mov.u32 %r1, a+(4*2);
    mov.u32 %r1, a+4+4;
    mov.u32 %r1, a+-4;
    mov.u32 %r1, 4+a;
    mov.u32 %r1, a+1.5;
    mov.u32 %r1, a[1];
    mov.u32 %r1, a[1+1];
    mov.u32 %r1, a[1]+4;
    mov.u64 %rd1, g[1];
    mov.u64 %rd1, g[-1];
    mov.u64 %rd1, g[100];
    ld.shared.u32 %r1, [a[2]];
    ld.shared.u32 %r1, a[2];
    ld.shared.u32 %r1, a[2+1];
    ld.shared.u32 %r1, a[%r2-1];
    ld.shared.u32 %r1, a[1][2];
    ld.shared.u32 %r1, a[-1];
    ld.shared.u32 %r1, a[100];
    ld.shared.u32 %r1, a;
    ld.global.u32 %r1, g[3];
    st.global.u32 g[3], %r1;
    ld.param.u64 %rd1, p;
    ld.param.u64 %rd1, p[0];
    ld.param.b8 %r1, q[3];
    ld.global.u32 %r1, %rd1[0];
    cvta.shared.u64 %rd1, a[1];
    cvta.shared.u64 %rd1, a+4*1;
    mov.f32 %f1, v.x;
    mov.f32 %f1, v.r;
    mov.f32 v.x, %f1;
    mov.f32 %f1, w.y;
    mov.f32 %f1, w.z;
    mov.f32 %f1, w.g;
    mov.f32 %f1, w.b;
    mov.f32 %f1, v.q;
    mov.f32 %f1, v;
    add.f32 %f1, v.x, v.y;
    add.f32 v.z, v.x, v.y;
    fma.rn.f32 v.z, v.x, v.y, v.w;
    ld.global.v4.f32 v, [%rd1];
    ld.global.v2.f32 w, [%rd1];
    ld.global.v2.f32 v, [%rd1];
    ld.global.v4.f32 w, [%rd1];
    ld.global.v4.u32 v, [%rd1];
    ld.global.v4.b32 v, [%rd1];
    st.global.v4.f32 [%rd1], v;
    st.global.v4.f32 [%rd1], {v.x, v.y, v.z, v.w};
    ld.global.v2.f32 {v.x, v.y}, [%rd1];
    mov.b64 %rd1, w;
    mov.b64 w, %rd1;
    mov.b128 v, v;
    mov.b64 {w.x, w.y}, %rd1;
    mov.f32 v.x, v.w;
    mov.u32 %r1, vu.x;
    mov.b32 %r1, v.x;
    mov.u32 %r1, v.x;
    mov.u32 vu.x, %tid.x;
    .reg .v4 .f32 t, u; mov.f32 t.x, u.y;
    .reg .v2 .f32 t<4>; mov.f32 t1.x, t2.y;
    .reg .v4 .f64 t;
    .reg .v2 .f64 t;
    .reg .v3 .f32 t;
    .reg .v4 .b8 t;
    .reg .v2 .pred t;
    .reg .v4 .f16 t;
    .reg .v4 .f32 t[2];
    .reg .align 16 .v4 .f32 t;
    .reg .f32 t; mov.f32 t.x, 1.0;
    mov.u32 %r1, %tid.r;
    mov.u32 %r1, %ntid.g;
    mov.u32 %r1, %clusterid.a;
    mov.u32 %r1, %laneid.r;
    mul .lo.u32 %r1, %r1, 8;
    mul.lo .u32 %r1, %r1, 8;
    shf .r.clamp.b32 %r1, %r1, %r1, 8;
    madc .lo.u32 %r1, %r1, %r1, %r1;
    div .full.f32 %f1, %f1, %f1;
    bar .sync 0;
    bar .red.popc.u32 %r1, 0, %p1;
    bar.red .popc.u32 %r1, 0, %p1;
    bar .cta.sync 0;
    bar.cta .sync 0;
    barrier .arrive 0, 32;
    barrier.or.red.pred %p1, 0, %p2;
    barrier.red.pred.or %p1, 0, %p2;
    barrier.aligned.sync 0;
    barrier.aligned.red.or.pred %p1, 0, %p2;
    barrier.aligned.arrive 0, 32;
    barrier.cta.aligned.sync 0;
    bar.cta.or.red.pred %p1, 0, %p2;
    cvta .to.global.u64 %rd1, %rd1;
    cvta .global.u64 %rd1, %rd1;
    membar .gl;
    membar .proxy.alias;
    membar.proxy .alias;
    membar.alias.proxy;
    fence.proxy.async.shared::cta;
    fence.proxy.shared::cta.async;
    fence.async.proxy.shared::cta;
    fence.shared::cta.proxy.async;
    mma.sync.aligned.m8n8k4.row.f64.col.f64.f64.f64 {%fd1, %fd1}, {%fd1}, {%fd1}, {%fd1, %fd1};
    mma.sync.aligned.m8n8k4.f64.f64.f64.f64.row.row {%fd1, %fd1}, {%fd1}, {%fd1}, {%fd1, %fd1};
    mma.f64.sync.row.aligned.f64.m8n8k4.f64.col.f64 {%fd1, %fd1}, {%fd1}, {%fd1}, {%fd1, %fd1};
    bfi.b64 %rd1, %rd1, %rd1, 32, 4294967296;
    bfi.b32 %r1, %r1, %r1, 4294967297, 3;
    bfe.s32 %r1, %r1, 4294967296, 3;
    bfe.s32 %r1, %r1, 255, 3;
    bar.sync 4294967299;
    ld.cg.global.u32 %r1, [g];
    ld.global.u32.cg %r1, [g];
    st.cs.global.u32 [g], %r1;
    ld.L2::128B.global.u32 %r1, [g];
    ld.global.L2::128B.L1::evict_last.u32 %r1, [g];
    atom.L2::cache_hint.global.add.u32 %r1, [g], %r1, %rd1;
"""

MODULES = r"""
    .global .u32 x[-1];
    .global .u32 x[WARP_SZ];
    .global .u32 x[2U];
    .global .u32 x[2.0];
    .global .u32 x[1>2];
    .global .align 2*4 .u32 x;
    .global .align (8) .u32 x;
    .global .align 4+4 .u32 x;
    .global .u32 x<2*3>;
    .global .u32 x<(6)>;
    .global .u32 x<1+5>;
    .entry k() .maxntid 16*2 {}
    .entry k() .maxntid (16*2) {}
    .entry k() .maxntid 16+2, 1 {}
    .entry k() .maxntid WARP_SZ {}
    .entry k() .maxnreg 16*2 {}
    .entry k() .reqntid 16*2 {}
    .entry k() .minnctapersm 1+1 {}
    .entry k(.param .align 4*2 .b8 p[8]) {}
    .entry k(.param .u64 .ptr .align 4*2 p) {}
    .entry k() { .reg .u32 x<2*3>; }
    .file 1+1 "x"
    .entry k() { .loc 1+0 2 3 \n }
    .global .u32 x[] = {1+2, 3*4, (5)};
    .global .f32 x[] = {1.0+2.0, -3.0*4.0};
    .global .u32 g[4]; .global .u64 x = g;
    .global .u32 g[4]; .global .u64 x = g+4;
    .global .u32 g[4]; .global .u64 x = g+4*2;
    .global .u32 g[4]; .global .u64 x = g+4+4;
    .global .u32 g[4]; .global .u64 x = g+-4;
    .global .u32 g[4]; .global .u64 x = 4+g;
    .global .u32 g[4]; .global .u64 x = generic(g+4);
    .global .u32 g[4]; .global .u64 x = (g);
    .global .u32 g[4]; .global .u64 x = -g;
    .global .u32 g[4]; .global .u64 x = g[1];
    .global .u32 g[4]; .global .u8 x[] = {mask(0xff)(g), 0xff00 (g)};
    # 1
    #
    # 1 x.cu
    #line 5
    #line
    #include "x"
    #define X 1
    #pragma once
    #frob
    #if 1
    #endif
    #file "x"
    .global .u32 x; # 1 "y"
    .global .u32 x = \n# 1 "a"\n5;
    # 1 "x.cu" frob
    # -1 "x"
    # 0x10 "x"
    # 1 "unterminated
    /* a */ # 1 "x"
    # 1 "x" // c
    # 1 "x" ;
    .section .debug_info { .b8 1 }
    .section .debug_info { .b8 1, 2, 3 \n .b32 5 }
    .section .debug_info\n{\n.b8 1,2,3\n.b32 5\n.b64 7\n.b16 3\n}
    .section .debug_info { }
    .section .debug_frob { .b8 1 }
    .section .frob { .b8 1 }
    .section .debug { .b8 1 }
    .section .debug_info { .b8 1+2 }
    .section .debug_info { .b8 -1 }
    .section .debug_info { .b8 300 }
    .section .debug_info { .u8 1 }
    .section .debug_info { .b32 .debug_abbrev }
    .section .debug_abbrev { .b8 1 } .section .debug_info { .b32 .debug_abbrev }
    .section .debug_info { .b32 .debug_info }
    .section .debug_info { .b32 .debug_info+4 }
    .section .debug_info { .b32 frob }
    .section .debug_info { .b64 frob }
    .section .debug_info { L: .b8 1 \n .b32 L }
    .section .debug_info { L: .b8 1 \n .b32 L-L }
    .section .debug_info { L1: .b8 1 \n L2: .b32 L2-L1 }
    .section .debug_info { L1: .b8 1 \n .b32 L1+4 }
    .global .u32 g; .section .debug_info { .b64 g }
    .global .u32 g; .section .debug_info { .b64 g+4 }
    .global .u32 g; .section .debug_info { .b32 g }
    .section .debug_str { .b8 1,2 \n str: .b8 3 }
    .section .debug_info { .b8 1 };
    .section .debug_info { .b8 1; }
    .section .debug_info .b8 1
    .section "debug_info" { .b8 1 }
    .entry k() { .section .debug_info { .b8 1 } }
    .section .debug_info { .b8 1.5 }
    .section .debug_info { .f32 1.5 }
    .section .debug_info { .b8 0x10, 010, 0b11 }
    .section .debug_info { .b8 (1) }
    .section .debug_info { .b8 WARP_SZ }
    .section .debug_info { .b8 }
    .section .debug_info { .b8 1, }
    .section .debug_info { .b8 1 2 }
    .section .debug_info { .b64 18446744073709551615 }
    .section .debug_info { .b8 1 } .section .debug_info { .b8 1 }
    .section .debug_macinfo { } .section .debug_loc { .b8 0 } .section .debug_line { } .section .debug_aranges { .b8 1 } .section .debug_pubnames { .b8 1 } .section .debug_ranges { .b8 1 } .section .debug_frame { .b8 1 }
    .section .text { .b8 1 }
    .section .nv.info { .b8 1 }
    .section .debug_info { .b8 1 } .entry k() {}
    .visible .section .debug_info { .b8 1 }
    .file 1 "x" \n.file 2 "y.cu", 123, 456
    .file 1 "x", 123
    .file 1 "x", 1, 2, 3
    .file 1 "x", -1, 2
    .file 1 "x", 0x10, 2
    .file 1 "x" \n.file 1 "x"
    .file 1 "x" \n.file 1 "y"
    .file 0 "x"
    .file -1 "x"
    .file 1 "x";
    .file 4294967296 "x"
    .file "x"
    .file 1 x
    .file 1U "x"
    .file 1
    .entry k() { .file 1 "x"\n }
    .file 1 "x"\n.entry k() { .loc 1 2 3 \n }
    .file 1 "x"\n.entry k() { .loc 1 2 3; }
    .file 1 "x"\n.entry k() { .loc 1 2 \n }
    .file 1 "x"\n.entry k() { .loc 1 2 3, function_name L, inlined_at 1 2 3 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L+4, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L, inlined_at 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L\n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, inlined_at 1 1 1, function_name L \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3 function_name L, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L+1*3, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name .debug_str, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name .debug_str+1, inlined_at 1 1 1 \n }
    .file 1 "x"\n.entry k() { .loc 1 -2 3 \n }
    .file 1 "x"\n.entry k() { .loc -1 2 3 \n }
    .file 1 "x"\n.entry k() { .loc 1 2 -3 \n }
    .file 1 "x"\n.entry k() { .loc 1 0 0 \n }
    .file 1 "x"\n.entry k() { .loc 7 1 1 \n }
    .file 1 "x"\n.entry k() { .loc 1 4294967296 1 \n }
    .file 1 "x"\n.entry k() { .loc 1 1U 1 \n }
    .file 1 "x"\n.loc 1 2 3\n.entry k() { }
    .pragma "nounroll";
    .pragma nounroll;
    .pragma "nounroll"
    .entry k() .pragma "nounroll"; {}
    .entry k() { .pragma "nounroll"; }
    .entry k() { .pragma "nounroll", "frob"; }
    .entry k() { L: .pragma "used_bytes_mask 0xfff"; }
    .entry k() { .reg .u32 ab$c, _x, $y, %z, a_, _$; }
    .entry k() { .reg .u32 _; }
    .entry k() { .reg .u32 $; }
    .entry k() { .reg .u32 %; }
    .entry k() { .reg .u32 %1; }
    .entry k() { .reg .u32 _1; }
    .entry k() { .reg .u32 1a; }
    .entry k() { .reg .u32 a%b; }
    .entry k() { .reg .u32 %%b; }
    .entry k() { .reg .u32 $$b; }
    .entry k() { .reg .u32 _%b; }
    .entry k() { .reg .u32 WARP_SZ; }
    .entry k() { .reg .u32 add; }
    .entry k() { .reg .u32 mov; mov.u32 mov, 1; }
    .entry k() { .reg .u32 sqrt; }
    .entry k() { .reg .u32 x; mov.u32 x, %WARP_SZ; }
    .entry k() { .reg .u32 %tid; }
    .entry k() { .reg .u32 %tid; mov.u32 %tid, 1; }
    .entry k() { .reg .u32 %laneid; mov.u32 %laneid, 1; }
    .entry k() { .reg .u32 tid; }
    .entry add() { }
    .entry WARP_SZ() { }
    .global .u32 add;
    .global .u32 a.b;
    .entry k() { .reg .u32 texref, samplerref; }
    /* // */ .global .u32 x;
    // /* \n.global .u32 x;
    .global .u32 x; /* /* */ */
    # 1 "x.cu"\n
    # 1 "x.cu" 1 3\n
    # 1\n
    #\n
    # 1 x.cu\n
    #line 5 "y.cu"\n
    # line 5 "y.cu"\n
    #line 5\n
    #line\n
    #include "x"\n
    #define X 1\n
    #pragma once\n
    #frob\n
    #frob /* \n
    #if 1\n
    #endif\n
    #file "x"\n
     # 1 "x"\n
    # 1 "x.cu" frob\n
    # -1 "x"\n
    # 0x10 "x"\n
    # 99999999999999999999 "x"\n
    # 1 "unterminated\n
    # 1 "x" // c\n
    # 1 "x" ;\n
    # 100 "x"\n.frob;\n
    # 100 "x"\n\n.global .u32 x = 1.5;\n
    ## 1\n
    # 0 "<built-in>"\n
    # 1 ""\n
    # 1 "a" 1 2 3 4 5\n
    # 1 "a" 7\n
    # 1.5 "a"\n
    .section .debug_info\n{\n.b8 1\n}\n
    .pragma "nounroll";\n
    .section frob { .b8 1 }
    .section .debug_info { .b8 255 .b8 -128 }
    .section .debug_info { .b8 256 }
    .section .debug_info { .b8 -129 }
    .section .debug_info { .b8 -255 }
    .section .debug_info { .b16 65535 .b16 -32768 }
    .section .debug_info { .b16 65536 }
    .section .debug_info { .b16 -32769 }
    .section .debug_info { .b32 4294967295 }
    .section .debug_info { .b32 -2147483649 }
    .section .debug_info { .b64 -9223372036854775807 }
    .section .debug_info { .b64 9223372036854775808 }
    .section .debug_info { .b8 1U }
    .section .debug_info { .b8 - 1 }
    .section .debug_info { .b8 +1 }
    .section .debug_info { .b8 --1 }
    .section .debug_info { .b8 frob }
    .section .debug_info { .b16 frob }
    .section .debug_info { .b32 frob-4 }
    .section .debug_info { .b32 frob+-4 }
    .section .debug_info { .b32 frob+4, 5, .debug_str, x }
    .section .debug_info { .b32 1, frob }
    .section .debug_info { .b8 1, frob }
    .section .debug_info { .b32 .debug_str-4 }
    .section .debug_info { .b32 frob, frob }
    .section .debug_info { .b64 frob-bar }
    .section .debug_info { L: }
    .section .debug_info { L: M: .b8 1 }
    .section .debug_info { L: .b8 1 \n L: .b8 2 }
    .section .debug_info { L: .b8 1 .b8 2 }
    .section .debug_info { .b8 1 L: }
    .section .debug_info { %L: .b8 1 }
    .section .debug_info { L : .b8 1 }
    .section .debug_info
    .section .debug_info {
    .section { .b8 1 }
    .section .debug_info { .b128 1 }
    .section .debug_info { .s8 1 }
    .section .debug_info { .u32 1 }
    .section .debug_info.x { .b8 1 }
    .section debug_info { .b8 1 }
    .section .debug_info { mov }
    .section .debug_info { .align 4 .b8 1 }
    .section .debug_info { .b8 1.0 }
    .section .debug_info { .b64 0d3ff0000000000000 }
    .section .debug_info { .b8 "a" }
    .section .debug_info { { .b8 1 } }
    .section .debug_info { .loc 1 2 3 }
    .global .align WARP_SZ .u32 x;
    .global .u32 x<WARP_SZ>;
    .entry k(.param .b8 p[WARP_SZ]) {}
    .entry k() .maxntid WARP_SZ, WARP_SZ {}
    .file WARP_SZ "x"
    .entry k() { .loc WARP_SZ 1 1 \n }
    .file 4294967295 "x"
    .file 2147483648 "x"
    .file 2147483647 "x"
    .file 1 "x", 18446744073709551615, 18446744073709551615
    .file 1 "x",
    .file 1 "x" "y"
    .file 1 "x", 1,
    .file 1 ""
    .entry k() { .loc 1 2147483648 1 \n }
    .entry k() { .loc 1 4294967295 1 \n }
    .entry k() { .loc 1 1 65536 \n }
    .entry k() { .loc 1 1 4294967295 \n }
    .entry k() { .loc 4294967295 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry j() { .loc 1 1 1 \n }\n.entry k() { .loc 1 2 3, function_name L, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1\n .loc 1 2 3, function_name L, inlined_at 1 1 1 \n.loc 1 4 3, function_name L, inlined_at 1 2 3\n }
    .file 1 "x"\n.entry k() { .loc 1 1 1\n .loc 1 2 3, function_name L, inlined_at 1 1 1 \n }
    .file 1 "x"\n.entry k() { .loc 1 1 1\n .loc 1 2 3, function_name %L, inlined_at 1 1 1 \n }
    .file 1 "x"\n.entry k() { .loc 1 1 1\n .loc 1 2 3, function_name L-1, inlined_at 1 1 1 \n }
    .file 1 "x"\n.entry k() { .loc 1 1 1\n .loc 1 2 3, function_name L+-1, inlined_at 1 1 1 \n }
    .file 1 "x"\n.entry k() { .loc 1 1 1\n .loc 1 2 3, function_name 5, inlined_at 1 1 1 \n }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1\n .loc 1 2 3, function_name L, inlined_at 1 1 1, inlined_at 1 1 1 \n }
    .entry k() .pragma "nounroll"; .maxntid 3 {}
    .entry k() .maxntid 3 .pragma "nounroll"; {}
    .func f() .pragma "nounroll"; {}
    #1"x"\n
    # 1"x"\n
    #\t1\t"x"\t2\n
    # 1 "x" 1"y"\n
    # 1 "x"1\n
    .entry k() {\n # 1 "x"\n ret;\n # 2 "y"\n }\n
    # 01 "x"\n
    #Line 1 "x"\n
    # 1 "a b/c.h" 1 3 4 \n
    # 1 "x"\r\n
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L, inlined_at 1 1 1 \n ret; }
    .file 1 "x"\n.section .debug_str { M: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L, inlined_at 1 1 1 \n ret; }
    .file 1 "x"\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name L, inlined_at 1 1 1 \n ret; }\n.section .debug_info { L: .b8 1 }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name .debug_str, inlined_at 1 1 1 \n ret; }
    .file 1 "x"\n.section .debug_str { L: .b8 1,0 }\n.entry k() { .loc 1 1 1 \n.loc 1 2 3, function_name .debug_frob, inlined_at 1 1 1 \n ret; }
"""


def cases(lines: str) -> list[str]:
    return [line.strip() for line in lines.strip().splitlines()]


pytestmark = pytest.mark.usefixtures("assembler")


def accepted(text: str) -> bool:
    try:
        ptxspec.load(text)
    except ptxspec.PtxError:
        return False
    return True


@pytest.mark.sample(4)
@pytest.mark.parametrize("case", cases(INSTRUCTIONS))
def test_instructions(case: str) -> None:
    text = body(case.replace("\\n", "\n"), PARAMETERS, VARIABLES, REGISTERS)
    assert accepted(text) == (not assemble(text))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", cases(MODULES))
def test_modules(case: str) -> None:
    text = HEADER + case.replace("\\n", "\n")
    assert accepted(text) == (not assemble(text))


def test_both_verdicts_are_there() -> None:
    verdicts = [accepted(HEADER + case.replace("\\n", "\n")) for case in cases(MODULES)]
    assert min(verdicts.count(True), verdicts.count(False)) > 80
