"""What is wrong with a text, said at its line and column, with the page that states the rule."""

from __future__ import annotations

import copy
import pickle

import pytest
from verdicts import HEADER, REGISTERS, body, complaints, refused

import ptxspec
from ptxspec.language.forms import registry

PAGES = "spec/instructions/"


@pytest.mark.parametrize(
    ("text", "message", "page"),
    [
        # names
        ("add.u32 %r1, ¦%x, 1;", "%x is not declared", None),
        ("add.u32 ¦%y, %r1, 1;", "%y is not declared", None),
        ("mov.b32 %r1, ¦%r9;", "%r9 is not declared", None),
        ("bra ¦NOWHERE;", "NOWHERE is not declared", None),
        ("ld.global.u32 %r1, ¦[nothing+4];", "nothing is not declared", None),
        ("@%q ¦mov.u32 %r1, 1;", "the guard %q is not declared", None),
        # types of operands
        ("add.u32 %r1, ¦%f1, 1;", "add.u32 needs .u32 here, this is of type .f32", "integer/add.md"),
        ("add.u32 ¦%rd1, %r1, 1;", "add.u32 needs .u32 here, this is of type .b64", "integer/add.md"),
        ("add.f32 %f1, %f1, ¦%u1;", "add.f32 needs .f32 here, this is of type .u32", "floating/add.md"),
        ("add.f64 %fd1, ¦%s1, %fd1;", "this is of type .s32", "floating/add.md"),
        ("mov.pred %p1, ¦%r1;", "mov.pred needs .pred here, this is of type .b32", "movement/mov.md"),
        ("and.b32 %r1, %r1, ¦%p1;", "needs .b32 here, this is of type .pred", "logic/and.md"),
        ("@%r1 ¦mov.u32 %r1, 1;", "the guard %r1 is of type .b32, not a predicate", None),
        ("shl.b64 %rd1, %rd1, ¦%rd2;", "needs .u32 here, this is of type .b64", "logic/shl.md"),
        ("ld.global.u32 ¦%h1, [%rd1];", "needs .u32 here, this is of type .b16", "movement/ld.md"),
        ("ld.global.u32 ¦%f1, [%rd1];", "needs .u32 here, this is of type .f32", "movement/ld.md"),
        ("ld.global.f32 ¦%s1, [%rd1];", "needs .f32 here, this is of type .s32", "movement/ld.md"),
        ("st.global.f32 [%rd1], ¦%fd1;", "needs .f32 here, this is of type .f64", "movement/st.md"),
        ("st.global.v2.u32 [%rd1], ¦{%r1, %h1};", "needs .u32 here, this is of type .b16", "movement/st.md"),
        ("mad.wide.u32 ¦%r1, %r2, %r3, %rd1;", "mad.wide.u32 needs .u64 here", "integer/mad.md"),
        # kinds of operands
        ("mov.u32 %r1, ¦1.5;", "needs a value of type .u32 here, not a floating-point constant", "movement/mov.md"),
        ("mov.b32 %r1, ¦0d3ff0000000000000;", "not a floating-point constant", "movement/mov.md"),
        ("mov.f32 %f1, ¦1;", "needs a value of type .f32 here, not an integer constant", "movement/mov.md"),
        ("mov.u32 ¦5, %r1;", "needs a register of type .u32 here, not an integer constant", "movement/mov.md"),
        (
            "add.u32 ¦[%rd1], %r1, 1;",
            "needs a register of type .u32 here, not an address in brackets",
            "integer/add.md",
        ),
        ("add.u32 %r1, ¦[%rd1], 1;", "needs a value of type .u32 here, not an address in brackets", "integer/add.md"),
        ("add.u32 %r1, ¦{%r1, %r2}, 1;", "not operands in braces", "integer/add.md"),
        ("add.u32 ¦%r1|%r2, %r1, 1;", "has one destination", "integer/add.md"),
        ("add.u32 %r1, ¦!%p1, 1;", "cannot be negated", "integer/add.md"),
        # selectors and signs
        ("add.u32 %r1, ¦-%r2, 1;", "cannot be negated", "integer/add.md"),
        ("add.u32 %r1, ¦%r2.b0, 1;", "add.u32 takes no selector here, and so not .b0", "integer/add.md"),
        ("vadd.s32.u32.u32 %r1, %r2.b3, ¦%r3.b4;", "it takes .b[0-3], .h[0-1]", "video/vadd.md"),
        ("vadd.s32.u32.u32 %r1, ¦%r2.h10, %r3;", ".h10 selects nothing of this operand", "video/vadd.md"),
        ("vadd.s32.u32.u32 ¦%r1.b0, %r2, %r3;", "takes no selector here, and so not .b0", "video/vadd.md"),
        ("vadd.s32.u32.u32.add ¦%r1.b0, %r2, %r3, %r4;", "takes no selector here", "video/vadd.md"),
        ("vadd.s32.u32.u32 %r1, ¦-%r2.b0, %r3;", "cannot be negated", "video/vadd.md"),
        ("vadd.s32.u32.u32 %r1, ¦%tid.x, %r3;", "cannot read a special register", "video/vadd.md"),
        ("vadd.s32.u32.u32 %r1, ¦%laneid.b0, %r3;", "not a special register", "video/vadd.md"),
        ("vadd.s32.u32.u32 %r1, ¦%x.b0, %r3;", "%x is not declared", None),
        ("vadd.s32.u32.u32 %r1, ¦%f1.b0, %r3;", "needs .u32 here, this is of type .f32", "video/vadd.md"),
        ("vadd4.u32.u32.u32 ¦%r1.b01, %r2, %r3, %r4;", "it takes .b0, .b1, .b10,", "video/vadd2.md"),
        ("vadd4.u32.u32.u32 %r1, ¦%r2.b8000, %r3, %r4;", "it takes .b[0-7][0-7][0-7][0-7]", "video/vadd2.md"),
        ("vadd2.u32.u32.u32 %r1, %r2, ¦%r3.h44, %r4;", "it takes .h[0-3][0-3]", "video/vadd2.md"),
        ("vadd4.u32.u32.u32 %r1, %r2, %r3, ¦7;", "needs a register of type .u32 here", "video/vadd2.md"),
        ("vmad.s32.s32.s32 %r1, %r2, %r3, ¦%r4.h0;", "takes no selector here", "video/vmad.md"),
        ("vmad.s32.s32.s32.po %r1, ¦-%r2, %r3, %r4;", "cannot be negated", "video/vmad.md"),
        ("vmad.s32.s32.s32 %r1, -%r2, %r3, ¦-%r4;", "cannot be negated", "video/vmad.md"),
        ("st.global.v2.u32 [%rd1], ¦{%r3.b0, %r4};", "not a register with a selector", "movement/st.md"),
        (
            "ld.global.u32 %r1, ¦%rd1;",
            "needs an address in brackets here, not a register of type .b64",
            "movement/ld.md",
        ),
        ("st.global.u32 ¦%r1, [%rd1];", "needs an address in brackets here", "movement/st.md"),
        ("ld.global.v2.u32 ¦%r1, [%rd1];", "needs 2 registers in braces here", "movement/ld.md"),
        ("ld.global.v2.u32 ¦{%r1, %r2, %r3}, [%rd1];", "needs 2 registers in braces here", "movement/ld.md"),
        ("ld.shared.u32 %r1, ¦[%f1];", "an address register has an integer or bit-size type", "movement/ld.md"),
        ("L: mov.u64 %rd1, ¦L;", "needs a value of type .u64 here, not a label", "movement/mov.md"),
        ("bra ¦%r1;", "bra needs a label here, not a register of type .b32", "control/bra.md"),
        ("bra ¦5;", "bra needs a label here, not an integer constant", "control/bra.md"),
        ("lop3.b32 %r1, %r1, %r2, %r3, ¦%r4;", "needs an integer constant here", "logic/lop3.md"),
        ("mov.u32 ¦_, 1;", "not the sink _", "movement/mov.md"),
        ("add.u32 %r1, ¦_, 1;", "not the sink _", "integer/add.md"),
        ("st.global.u32 [%rd1], ¦_;", "not the sink _", "movement/st.md"),
        ("lop3.or.b32 ¦%r1|_, %r1, %r2, %r3, 3, %p1;", "the second of the two must be a register", "logic/lop3.md"),
        ("elect.sync ¦%r1|_, %r2;", "the second of the two must be a register", "synchronization/elect.md"),
        ("elect.sync ¦%r1, %r2;", "elect.sync writes a pair", "synchronization/elect.md"),
        # special registers
        ("mov.u32 ¦%tid.x, 1;", "needs a register of type .u32 here, not a special register", "movement/mov.md"),
        ("add.u32 %r1, ¦%tid.x, 1;", "cannot read a special register: move it to a register first", "integer/add.md"),
        ("mov.u32 %r1, ¦%tid;", "%tid is a special register's name, without or with a wrong component", None),
        ("mov.u32 %r1, ¦%ntid.q;", "without or with a wrong component", None),
        ("mov.u32 %r1, ¦%laneid.x;", "without or with a wrong component", None),
        ("mov.u64 %rd1, ¦%tid.x;", "mov.u64 needs .u64 here, this is of type .u32", "movement/mov.md"),
        ("mov.f32 %f1, ¦%tid.x;", "mov.f32 needs .f32 here, this is of type .u32", "movement/mov.md"),
        ("mov.u32 %r1, ¦%unheard_of;", "%unheard_of is not declared", None),
        ("ld.shared.u32 %r1, ¦[%tid.x];", "an address is a register or a variable", "movement/ld.md"),
        # how many
        ("¦add.u32 %r1, %r1;", "add.u32 takes 3 operands, not 2", "integer/add.md"),
        ("¦add.u32 %r1, %r1, 1, 2;", "add.u32 takes 3 operands, not 4", "integer/add.md"),
        ("¦add.u32;", "add.u32 takes 3 operands, not 0", "integer/add.md"),
        ("¦bar.sync;", "bar.sync takes 1 to 2 operands, not 0", "synchronization/bar.md"),
        ("¦exit %r1;", "exit takes 0 operands, not 1", "control/exit.md"),
        # opcodes and modifiers
        ("¦frobnicate.u32 %r1, 1;", "frobnicate is no instruction of PTX", None),
        ("¦MOV.u32 %r1, 1;", "MOV is no instruction", None),
        ("@%p1 ¦%r1 %r2;", "%r1 is no instruction", None),
        (
            "¦shl.u32 %r1, %r1, 3;",
            "there is no shl.u32; the nearest forms are shl.b32, shl.b16, shl.b64",
            "logic/shl.md",
        ),
        ("¦popc.u32 %r1, %r1;", "there is no popc.u32; the nearest forms are popc.b32", "integer/popc.md"),
        ("¦ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];", "there is no ld.global.v3.u32", "movement/ld.md"),
        ("¦st.const.u32 [%rd1], 1;", "there is no st.const.u32", "movement/st.md"),
        ("¦add %r1, %r1, 1;", "there is no add; the nearest forms are", None),
        ("¦setp.eq.b8 %p1, %r1, 1;", "there is no setp.eq.b8", "comparison/setp.md"),
        ("¦div.sat.u32 %r1, %r1, 1;", "there is no div.sat.u32", "integer/div.md"),
    ],
)
def test_instructions(text: str, message: str, page: str | None) -> None:
    found = refused(body(text))
    assert message in found.message
    if page is not None:
        assert found.page == PAGES + page


def test_state_spaces_of_operands() -> None:
    shared = ".shared .u32 v;"
    found = refused(body(f"{shared} ld.global.u32 %r1, ¦[v];"))
    assert "cannot access a variable in .shared" in found.message and found.page == PAGES + "movement/ld.md"
    found = refused(body(f"{shared} cvta.global.u64 %rd1, ¦v+4;"))
    assert found.page == PAGES + "movement/cvta.md"
    found = refused(body("ld.global.u64 %rd1, ¦[p];", ".param .u64 p"))
    assert "cannot access a variable in .param" in found.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mov.u32 %r1, 1\n¦mov.u32 %r2, 2;", "expected ',' or ';', not 'mov.u32'"),
        ("mov.u32 %r1 ¦5;", "expected ',' or ';', not '5'"),
        ("mov.u32 %r1, ¦;", "expected an operand, not ';'"),
        ("mov.u32 %r1, 1,¦;", "expected an operand, not ';'"),
        ("¦;", "expected a statement, not ';'"),
        ("mov.u32 %r1, 1;¦;", "not ';'"),
        ("ld.global.u32 %r1, [%rd1¦;", "expected ',' or ']', not ';'"),
        ("ld.global.u32 %r1, [%rd1+¦%rd2];", "expected a byte offset, not '%rd2'"),
        ("ld.global.u32 %r1, [%rd1+¦1.5];", "expected a byte offset, which is an integer"),
        ("ld.global.u32 %r1, [¦];", "expected an address, not ']'"),
        ("ld.global.v2.u32 {%r1, %r2, ¦[%rd1];", "expected an operand, not '['"),
        ("setp.eq.u32 %p1|¦5, %r1, 1;", "expected a predicate, not '5'"),
        ("setp.eq.and.u32 %p1, %r1, 1, !¦;", "expected a constant, not ';'"),
        ("@¦1 mov.u32 %r1, 1;", "expected '!' or a predicate, not '1'"),
        ("@!¦!%p1 mov.u32 %r1, 1;", "expected a predicate, not '!'"),
        ("@%p1 L¦: ret;", "expected a modifier, an operand or ';', not ':'"),
        ("@%p1 ¦;", "expected an instruction, not ';'"),
        ("mov.u32 %r1, 1 ¦\\ 2;", "cannot read '\\\\'"),
        ("¦`", "cannot read '`'"),
        ("L: ¦L: ret;", "the label L is defined twice"),
        ("¦.frob;", "expected a statement, not '.frob'"),
        (".pragma ¦nounroll;", "expected a pragma in quotes, not 'nounroll'"),
        (".loc 1 ¦;", "expected a line, not ';'"),
    ],
)
def test_syntax_in_functions(text: str, message: str) -> None:
    assert message in refused(body(text)).message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".reg .u32 x, ¦x;", "x is declared twice in this scope"),
        (".reg .u32 x<3>, ¦x<4>;", "x<…> is declared twice in this scope"),
        (".shared .u32 x; .reg .u32 ¦x;", "x is declared twice in this scope"),
        (".reg .u32 x; .local .u32 ¦x;", "x is declared twice in this scope"),
        (".shared .u32 x; .shared .u32 ¦x;", "x is declared twice in this scope"),
        (".shared .u32 ¦p;", "p is declared twice in this scope"),
        (".reg .u32 ¦p;", "p is declared twice in this scope"),
        (".reg .foo ¦x;", ".foo is no type that a variable can have"),
        (".reg ¦x;", "or a type, not 'x'"),
        (".reg .u32 ¦.u32 x;", "expected a variable's name, not '.u32'"),
        (".reg .u32 ¦;", "expected a variable's name, not ';'"),
        (".reg .u32 ¦_;", "expected a variable's name, not '_'"),
        (".reg .u32 x<¦y>;", "expected how many, not 'y'"),
        (".reg .u32 ¦x = 5;", "a variable in .reg cannot be initialized"),
        (".shared .u32 ¦x = 5;", "a variable in .shared cannot be initialized"),
        (".local .u32 ¦x[] ;", "an array without a size needs an initializer"),
        (".local .u32 x[2][¦];", "only an array's first dimension may be left out"),
        (".shared .pred ¦x;", "a predicate has no place in memory"),
        (".shared .align ¦3 .u32 x;", "an alignment is a power of two, not 3"),
    ],
)
def test_declarations_in_functions(text: str, message: str) -> None:
    assert message in refused(body(text, ".param .u64 p")).message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("¦", "expected '.version', not the end of the text"),
        ("¦.target sm_90", "expected '.version', not '.target'"),
        (".version ¦9", "expected a version such as 9.0, not '9'"),
        (".version ¦", "expected a version such as 9.0, not the end of the text"),
        (".version 9.0\n¦.entry k() {}", "expected '.target', not '.entry'"),
        (".version 9.0\n.target ¦;", "expected a target, not ';'"),
        (".version 9.0\n.target ¦gpu", "gpu is no known target"),
        (".version 9.0\n.target sm_90\n.address_size ¦48", "an address size is 32 or 64"),
        (".version 9.0\n.target sm_90\n.address_size ¦x", "expected 32 or 64, not 'x'"),
        (HEADER + "¦.frob;", "expected a directive of the module, not '.frob'"),
        (HEADER + "¦mov.u32 a, b;", "expected a directive of the module, not 'mov.u32'"),
        (HEADER + "¦.version 9.0", "expected a directive of the module, not '.version'"),
        (HEADER + ".reg .u32 ¦x;", "a register of the module was removed in PTX ISA 3.0"),
        (HEADER + ".visible¦", "expected an entry, a function or a declaration, not the end of the text"),
        (HEADER + ".func () ¦{ ret; }", "expected the function's name, not '{'"),
        (HEADER + ".func f(¦.shared .u32 x);", "expected '.param', '.reg' or ')', not '.shared'"),
        (HEADER + ".entry k() { ret;¦", "expected a statement or '}', not the end of the text"),
        (HEADER + ".entry k() { { ret; }\n¦", "expected a statement or '}', not the end of the text"),
        (HEADER + ".entry k() { ret; } ¦}", "expected a directive of the module, not '}'"),
        (HEADER + ".entry ¦k();", "nothing defines k"),
        (HEADER + ".entry k()¦x;", "expected a directive about threads, a pragma, ';' or '{', not 'x'"),
        (HEADER + ".entry ¦5() {}", "expected the entry's name, not '5'"),
        (HEADER + ".entry k(¦.reg .u32 x) {}", "expected '.param' or ')', not '.reg'"),
        (HEADER + ".entry k(.param .u64 ¦) {}", "or a parameter's name, not ')'"),
        (HEADER + ".entry k(.param ¦x) {}", "or a parameter's type, not 'x'"),
        (HEADER + ".entry k(.param .u64 x ¦.param .u64 y) {}", "expected ',' or ')', not '.param'"),
        (HEADER + ".entry k(.param .u64 x, .param .u32 ¦x) {}", "x is declared twice"),
        (HEADER + ".entry k(.param .foo ¦x) {}", ".foo is no type that a variable can have"),
        (HEADER + ".entry k(.param .b8 x[¦]) {}", "expected a size, not ']'"),
        (HEADER + ".entry k() .maxntid ¦{}", "expected a number, not '{'"),
        (HEADER + ".entry k() .maxntid 1, 2, 3¦, 4 {}", "a directive about threads, a pragma, ';' or '{', not ','"),
        (HEADER + ".entry k() {}\n.entry ¦k() {}", "k is defined twice"),
        (HEADER + ".global .u32 x; .global .f32 ¦x;", "x is declared twice in this scope"),
        (HEADER + ".global .u32 ¦x[2] = {1, 2, 3};", "3 values for 2 elements"),
        (HEADER + ".global .u32 ¦x[2] = 5;", "an array's or a vector's initializer is a list in braces"),
        (HEADER + ".global .u32 ¦x = {5};", "one value is needed here, not a list in braces"),
        (HEADER + ".global .u64 ¦x = y;", "y, whose address is the initial value, is not declared"),
        (HEADER + ".global .u32 x = ¦;", "expected a value, not ';'"),
        (HEADER + ".global .u32 x[2] = {1 ¦2};", "expected ',' or '}', not '2'"),
        (HEADER + ".global .u32 x¦", "expected ',' or ';', not the end of the text"),
        (HEADER + ".global .texref ¦t[4];", "arrays of type .texref are not supported"),
        (HEADER + ".visible ¦.reg .u32 x;", "variables in .reg are declared inside functions"),
        (HEADER + ".pragma ¦;", "expected a pragma in quotes, not ';'"),
        (HEADER + "¦# 1 x.cu", "a line with '#' says which file it came from"),
        (HEADER + "¦#define N 4\n", "others are for a preprocessor"),
        (HEADER + "¦# 5\n", "a line with '#' says which file it came from"),
        (HEADER + '.global .u32 x; ¦# 1 "x.cu"\n', "'#' belongs at the beginning of a line"),
        (HEADER + '.file 1 "x" .file ¦1 "y"', "there is a file 1 already"),
        (HEADER + '.file ¦-1 "x"', "expected a file's number, not '-'"),
        (HEADER + '.file ¦4294967296 "x"', "4294967296 does not fit into 32 bits"),
        (HEADER + '.file 1 "x", ¦"y"', "expected a time, not"),
        (HEADER + '.file 1 "x", 1, 2¦, 3', "expected a directive of the module, not ','"),
        (HEADER + ".section ¦debug { }", "expected a section's name, which begins with a point, not 'debug'"),
        (HEADER + ".section .debug ¦.b8 1", "expected '{', not '.b8'"),
        (HEADER + ".section .debug { ¦.u8 1 }", "expected a name, '.b8', '.b16', '.b32', '.b64' or '}', not '.u8'"),
        (HEADER + ".section .debug { .b8 1, ¦256 }", "256 does not fit into 8 bits"),
        (HEADER + ".section .debug { .b8 ¦-129 }", "-129 does not fit into 8 bits"),
        (HEADER + ".section .debug { .b16 ¦L }", "an address has 32 or 64 bits"),
        (HEADER + ".section .debug { .b8 ¦1.5 }", "expected an integer or a label, not '1.5'"),
        (HEADER + ".section .debug { .b8 1¦; }", "not ';'"),
        (HEADER + ".section .debug { L: .b8 1 ¦L: .b8 2 }", "the label L is defined twice"),
        (HEADER + ".section .debug { .b8 1¦", "not the end of the text"),
        (HEADER + ".entry k() { .loc 1 ¦-2 3 }", "expected a line, not '-'"),
        (HEADER + ".entry k() { .loc 1 2 ¦}", "expected a column, not '}'"),
        (HEADER + ".entry k() { .loc 1 2 3, ¦inlined_at 1 1 1 }", "expected 'function_name', not 'inlined_at'"),
        (HEADER + ".entry k() { .loc 1 2 3, function_name L ¦}", "expected '+' or ',', not '}'"),
        (
            HEADER + ".entry k() { .loc 1 2 3, function_name L, inlined_at ¦1 2 4 }",
            "inlined_at names a place that no .loc",
        ),
        (HEADER + ".global .u32 ¦a.b;", "a.b is no name that a variable can have"),
        (HEADER + ".global .u32 ¦WARP_SZ;", "expected a variable's name, not 'WARP_SZ'"),
        (HEADER + ".entry ¦WARP_SZ() { }", "expected the entry's name, not 'WARP_SZ'"),
        (HEADER + ".func f(.param .b8 ¦x[], .reg .b32 y) { }", "x has no size, which only a function's last parameter"),
    ],
)
def test_modules(text: str, message: str) -> None:
    assert message in refused(text).message


@pytest.mark.parametrize(
    ("version", "text", "message"),
    [
        ("3.1", '.file 1 "x"¦, 1, 2', ".file with a time needs PTX ISA 3.2"),
        ("1.4", "¦.section .debug { .b8 1 }", ".section needs PTX ISA 2.0"),
        ("6.5", ".section .debug { ¦L: .b8 1 }", "labels in .section needs PTX ISA 7.0"),
        ("7.4", ".section .debug { .b32 L¦-M }", "differences in .section needs PTX ISA 7.5"),
        ("7.1", ".entry k() { .loc 1 1 1 .loc 1 2 3¦, function_name L, inlined_at 1 1 1 }", "needs PTX ISA 7.2"),
        ("1.4", '¦.pragma "nounroll";', ".pragma needs PTX ISA 2.0"),
    ],
)
def test_directives_newer_than_the_version(version: str, text: str, message: str) -> None:
    assert message in refused(f".version {version}\n.target {'sm_13' if version < '2' else 'sm_30'}\n{text}").message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".shared .u32 x; mov.u32 %r1, ¦x[1];", "x is no array, and has no elements"),
        ("mov.u32 %r1, ¦%r2[1];", "%r2 is no array, and has no elements"),
        ("mov.u32 %r1, ¦x[1];", "x is not declared"),
        (".shared .u32 a[4]; mov.u32 %r1, a[¦];", "expected an index, not ']'"),
        (".shared .u32 a[4]; mov.u32 %r1, a[¦1.5];", "expected an index, which is an integer"),
        (".shared .u32 a[4]; mov.u32 %r1, a[1¦;", "expected ']', not ';'"),
        (".shared .u32 a[4]; mov.u32 %r1, a[1]¦[2];", "expected ',' or ';', not '['"),
        (".shared .u32 a[4]; ld.global.u32 %r1, ¦a[1];", "ld.global.u32 needs an address in brackets here"),
        (".reg .v4 .f64 ¦v;", "a vector has at most 128 bits, and no predicates"),
        (".reg .v2 .pred ¦v;", "a vector has at most 128 bits, and no predicates"),
        (".reg .v2 .f32 ¦v[2];", "there are no arrays of registers"),
        (".reg .v2 .f32 v, ¦v;", "v is declared twice in this scope"),
        (".reg .v2 .f32 v; .reg .f32 ¦v;", "v is declared twice in this scope"),
        (".reg .v2 .f32 v<3>; .reg .f32 ¦v2;", "v2 is declared twice in this scope"),
        (".reg .v2 .f32 v; mov.f32 %f1, ¦v.z;", "v.z is not declared"),
        (".reg .v2 .f32 v; mov.f32 %f1, ¦v.b;", "v.b is not declared"),
        (".reg .v2 .f32 v; mov.f32 %f1, ¦v.q;", "v.q is not declared"),
        (".reg .v2 .f32 v<3>; mov.f32 %f1, ¦v3.x;", "v3.x is not declared"),
        (".reg .v2 .f32 v; mov.f32 %f1, ¦v;", "not operands in braces"),
        (".reg .v2 .f32 v; mov.u32 %r1, ¦v.x;", "mov.u32 needs .u32 here, this is of type .f32"),
        (".reg .v2 .f32 v; ld.global.v4.f32 ¦v, [%rd1];", "needs 4 registers in braces here"),
        (".reg .v2 .f32 v; { .reg .f32 v; mov.f32 %f1, ¦v.x; }", "v.x is not declared"),
    ],
)
def test_elements_and_vectors(text: str, message: str) -> None:
    assert message in refused(body(text)).message


# availability --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "target", "text", "needs"),
    [
        ("9.0", "sm_13", "popc.b32 %r1, %r1;", "popc.b32 needs target sm_20; the module says sm_13"),
        ("1.4", "sm_13", "popc.b32 %r1, %r1;", "popc.b32 needs PTX ISA 2.0; the module says 1.4"),
        ("1.5", "sm_13", "bfe.u32 %r1, %r1, 1, 2;", "bfe.u32 needs PTX ISA 2.0; the module says 1.5"),
        ("4.2", "sm_50", "lop3.b32 %r1, %r1, %r1, %r1, 3;", "lop3.b32 needs PTX ISA 4.3; the module says 4.2"),
        ("4.3", "sm_35", "lop3.b32 %r1, %r1, %r1, %r1, 3;", "lop3.b32 needs target sm_50; the module says sm_35"),
        ("8.1", "sm_70", "lop3.or.b32 %r1|%p1, %r1, %r1, %r1, 3, %p1;", "needs PTX ISA 8.2; the module says 8.1"),
        ("8.2", "sm_62", "lop3.and.b32 %r1|%p1, %r1, %r1, %r1, 3, %p1;", "needs target sm_70; the module says sm_62"),
        ("1.4", "sm_12", "ld.global.f64 %fd1, [%rd1];", "ld.global.f64 needs target sm_13; the module says sm_12"),
        ("1.4", "sm_13", "ld.u32 %r1, [%rd1];", "ld.u32 needs PTX ISA 2.0; the module says 1.4"),
        ("1.0", "sm_10", "ld.volatile.global.u32 %r1, [%rd1];", "needs PTX ISA 1.1; the module says 1.0"),
        ("3.0", "sm_20", "cvta.const.u64 %rd1, %rd1;", "cvta.const.u64 needs PTX ISA 3.1; the module says 3.0"),
        ("9.0", "sm_10", "fma.rn.f32 %f1, %f1, %f1, %f1;", "needs target sm_20; the module says sm_10"),
    ],
)
def test_versions_and_targets(version: str, target: str, text: str, needs: str) -> None:
    """The version is looked at first."""
    head = f".version {version}\n.target {target}\n"
    found = refused(f"{head}.entry k() {{\n{REGISTERS}\n¦{text}\n}}")
    assert needs in found.message
    assert found.page is not None and found.page.startswith(PAGES)


@pytest.mark.parametrize(
    ("version", "target", "text"),
    [
        ("2.0", "sm_20", "popc.b32 %r1, %r1;"), ("1.0", "sm_10", "add.u32 %r1, %r1, 1;"), ("3.1", "sm_20",
        "cvta.const.u64 %rd1, %rd1;"),
        ("4.3", "sm_50", "lop3.b32 %r1, %r1, %r1, %r1, 3;"), ("9.0", "sm_90a", "popc.b32 %r1, %r1;"),
        ("9.0", "sm_100", "popc.b32 %r1, %r1;"), ("9.0", "compute_90", "popc.b32 %r1, %r1;"),
    ],
)  # fmt: skip
def test_versions_and_targets_that_suffice(version: str, target: str, text: str) -> None:
    module = ptxspec.load(f".version {version}\n.target {target}\n.entry k() {{\n{REGISTERS}\n{text}\n}}")
    assert module.kernels == ["k"]


# several complaints, and how they are shown --------------------------------------------------------------------------


def test_every_wrong_instruction_is_named() -> None:
    """One complaint does not hide the next, in whichever kernel."""
    text = body("add.u32 %r1, %x, 1;\nmov.u32 %r1, 1;\nfrob;\nmov.f32 %f1, 1;").replace("k(", "a(")
    text += body("bra L;").removeprefix(HEADER)
    found = complaints(text)
    assert [d.message.split()[0] for d in found] == ["%x", "frob", "mov.f32", "L"]
    assert [d.line for d in found] == [8, 10, 11, 18]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (body("¦.entry f() { }"), "expected a statement or '}', not '.entry'"),
        (body(".reg .u32 ¦%; mov.u32 %, 1;"), "expected a variable's name, not '%'"),
        (HEADER + ".file 1 ¦.entry", "expected a file's name in quotes, not '.entry'"),
    ],
)
def test_what_leads_to_more(text: str, first: str) -> None:
    """After an error, more may not be what it seems. The first complaint is about the error."""
    at = text.index("¦")
    found = complaints(text.replace("¦", ""))[0]
    assert (found.line, found.column) == (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
    assert first in found.message


def test_how_a_complaint_is_shown() -> None:
    """The line, and a caret under the place; tabs stay tabs."""
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(body("\tadd.u32 \t%r1, %x, 1;"), "folder/x.ptx")
    assert str(caught.value) == "folder/x.ptx:8:16: %x is not declared\n\tadd.u32 \t%r1, %x, 1;\n\t        \t     ^"
    assert caught.value.diagnostics[0].as_dict() == {
        "path": "folder/x.ptx", "line": 8, "column": 16, "message": "%x is not declared",
        "source": "\tadd.u32 \t%r1, %x, 1;", "page": None, "begins": 1,
    }  # fmt: skip


def test_a_page_is_shown() -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(body("shl.u32 %r1, %r1, 1;"))
    assert str(caught.value).endswith("\nsee spec/instructions/logic/shl.md")


@pytest.mark.parametrize("opcode", sorted(registry().opcodes))
def test_nearest_forms_of_every_opcode(opcode: str) -> None:
    """A wrong modifier is answered with forms that there are, and with a page of the opcode."""
    found = refused(body(f"¦{opcode}.zz.u33 %r1, %r1;"))
    nearest = found.message.partition("the nearest forms are ")[2].split(", ")
    known = {form.mnemonic for form in registry().opcodes[opcode].forms}
    assert nearest and set(nearest) <= known
    assert found.page in {
        p.removesuffix(f":{p.rpartition(':')[2]}") for p in (f.page for f in registry().opcodes[opcode].forms)
    }


# bugs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["add.u32 %r1, /* ; */ ¦%x, 1;", "add.u32 %r1, /* ; */ %r2, ¦%x;", "add.u32 // ;\n %r1, %r2, ¦%x;",
     "add.u32 /* ; */ %r1,\n %r2,\n ¦%x;"],
)  # fmt: skip
def test_semicolons_in_comments(text: str) -> None:
    assert "%x is not declared" in refused(body(text)).message


def test_the_place_of_an_unknown_target() -> None:
    assert "no known target" in refused(".version 9.0\n.target ¦e").message


@pytest.mark.parametrize("text", [HEADER + "¦/* never ends", HEADER + ".entry k() { ret; } ¦/* .entry /* k() {}"])
def test_a_comment_that_does_not_end(text: str) -> None:
    assert "a comment that does not end" in refused(text).message


def test_a_number_of_thousands_of_digits() -> None:
    assert "does not fit into 64 bits" in refused(body(f"mov.u64 %rd1, ¦{'1' * 5000};")).message


@pytest.mark.parametrize(
    ("version", "name"), [("1.2", "%laneid"), ("1.0", "%warpid"), ("1.5", "%nwarpid")],
)  # fmt: skip
def test_special_registers_have_versions(version: str, name: str) -> None:
    found = refused(f".version {version}\n.target sm_10\n.entry k() {{ .reg .u32 %r; mov.u32 %r, ¦{name}; }}")
    assert "needs PTX ISA" in found.message


def test_an_error_may_be_copied_and_sent_to_another_process() -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(body("mov.u32 %r1, %x;\nfrob;"))
    for again in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert again.diagnostics == caught.value.diagnostics and str(again) == str(caught.value)
