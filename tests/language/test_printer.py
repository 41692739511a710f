"""Text, tree, text, tree: nothing is lost on the way, and the layout of a layout is itself."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest
from printing import operand, placeless, text_of
from test_mutations import EXAMPLES, RICH, mutant
from verdicts import HEADER, body

import ptxspec
from ptxspec.language.formatting import formatted
from ptxspec.language.parser import parse
from ptxspec.language.syntax import syntax
from ptxspec.language.tree import Address, Float, Name, Number

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from mutants import modules
from seeds import written

COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//[^\n]*|/\*.*?\*/)', re.S)


def comments(text: str) -> list[str]:
    """Independent of the parser: what stands outside strings and is a comment, in its order."""
    return [match[1].rstrip() for match in COMMENT.finditer(text) if match[1]]


def words(text: str) -> list[str]:
    """The words of a text without comments, by the pages' rules for words alone."""
    return syntax().lexicon.split(text).words


def survives(text: str) -> str:
    """The layout of a text, after what must hold of it."""
    tree = parse(text)
    printed, laid_out = text_of(tree), formatted(text)
    assert placeless(parse(printed)) == placeless(tree)
    assert text_of(parse(printed)) == printed
    assert placeless(parse(laid_out)) == placeless(tree)
    assert formatted(laid_out) == laid_out
    assert comments(laid_out) == comments(text)
    assert words(laid_out) == words(text)
    return laid_out


@pytest.mark.sample(4)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted(modules()))
def test_the_corpus(name: str) -> None:
    """All that nvcc printed, also what the checker refuses."""
    survives(modules()[name])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_examples(path: Path) -> None:
    survives(path.read_text())


@pytest.mark.parametrize("name", sorted(written()))
def test_what_people_write(name: str) -> None:
    survives(written()[name])


def test_a_text_with_everything() -> None:
    survives(RICH)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_mutants(seed: int) -> None:
    """Of those that can be read."""
    rng, read = random.Random(seed), 0
    for _ in range(400):
        text = mutant(RICH, rng)
        try:
            parse(text)
        except ptxspec.PtxError:
            continue
        read += 1
        survives(text)
    assert read > 20


@pytest.mark.parametrize(
    "text",
    [
        "call f;", "call f, (%r1, 5);", "call (%r1), f, ();", "call (%r1), %rd1, (%r1), L;", "tex.2d.v4.f32.f32 {a,b,c,d}, [t, {x, y}];",
        "mov.u32 %r1, -(-1);", "mov.u32 %r1, 1 ? 2 : 3 ? 4 : 5;", "mov.u32 %r1, 7 % 3;", "mov.u32 %r1, (.s64)-1;",
        "vadd.u32.u32.u32 %r1, -%r2.b0, %r3.h1;", "setp.eq.u32 _|%p2, %r1, 1;", "ld.global.u32 %r1, [16];", "mov.f32 %f1, .5;",
        "L: .branchtargets A, B;", "L: .calltargets f, g;", "L: .callprototype _ (.reg .u32 _, .param .u64 .ptr .global _) .noreturn;",
        "L: .callprototype (.param .b32 _) _ () .abi_preserve 3 .abi_preserve_control 0x1;", "mov.u32 %r1, a[%r2+3];",
        "tex.1d.v4.f32.s32 {a,b,c,d}, [t+0, s, {x}];", "suld.b.2d.b32.trap {a}, [%rd1, {x, _}];",
        "L: .callprototype _;", ".pragma \"a\", \"b;\";", "@!%p1 mov\n.u32 %r1,/* here */0x1F;", "{ { } { ret; } }",
        ".param .align 8 .b8 p[16];", ".reg .v2 .f32 w<3>;",
    ],
)  # fmt: skip
def test_statements(text: str) -> None:
    survives(body(text))


@pytest.mark.parametrize(
    "text",
    [
        ".func f;", ".entry k();", ".entry k;", ".entry k(.param .u32 p) .pragma \"x\"; ;", ".tex .u32 t;", ".reg .u32 r<2>;",
        ".global .samplerref s = { addr_mode_0 = wrap, filter_mode = 1 };", ".entry k(.param .texref t, .param .u32 .align 8 p) { ret; }",
        ".func f (.reg .u32 a) .noreturn .abi_preserve 2;", ".func f (.param .align 4 .b8 a[], .reg .u32 b) .noreturn;", ".alias f, g;",
        ".extern .func (.reg .u32 r) f (.reg .u32 a);", ".weak .entry k(.param .u64 .ptr .align 8 p) .maxnreg 3 .pragma \"x\"; { ret; }",
        ".global .u64 x[] = {f, generic(y)+4, z+8, 0xff(a), 0xFF00(generic(b)+1)};", ".extern .shared .b8 s[];",
        ".global .attribute(.managed) .align 8 .v2 .f32 x[2][2] = {{{1.0, 2.0}, {0f00000000, 3e5}}};",
        ".extern .const[2] .align 4 .b8 a[], b[0];", ".const[0] .v2 .u32 x[2] = {{1}};", ".local .u32 l<3>;",
        ".entry k() { ld.const[10].u32 %r1, [a+4]; ld.u32 .const[0] %r1, a[1]; ld.global.u32 %r1, [%rd1+8].unified; }",
        ".func f(.param .u32 x) { st.param::func.u32 [x], 1; }",
        ".section .debug_x { .b8 1, 2 L: .b64 L-M .b32 .debug_y+4 }",
    ],
)  # fmt: skip
def test_members(text: str) -> None:
    survives(HEADER + text)


def test_layout() -> None:
    """What the layout is, once, comments included."""
    text = """// top
.version 9.0 // nine
.target sm_90 .address_size 64


/* two
   lines */
.entry k(.param .u64 p, // the pointer
.param .u32 n) .maxntid 32,2 { .reg .b32 %r<3> ; /* a */ // b
# 1 "a.cu"
  L:    @!%p1   add.u32 %r1,%r2,(1<<4)|3; { ret; // in
  } // last

  // really last
}
// end
"""
    assert (
        formatted(text)
        == """// top
.version 9.0  // nine
.target sm_90
.address_size 64

/* two
   lines */
.entry k(
    .param .u64 p,  // the pointer
    .param .u32 n
)
.maxntid 32, 2
{
    .reg .b32 %r<3>;  /* a */ // b
# 1 "a.cu"
L:
    @!%p1 add.u32 %r1, %r2, (1 << 4) | 3;
    {
        ret;  // in
    }  // last

    // really last
}
// end
"""
    )


def test_long_lists_are_broken() -> None:
    text = survives(f"{HEADER}.global .u32 x[] = {{{', '.join(map(str, range(1000, 1100)))}}};")
    assert max(map(len, text.splitlines())) <= 104 and text.count("\n") > 6


def test_trees_made_by_programs() -> None:
    assert operand(Number(255)) == "255" and operand(Float(0x3F800000, 32)) == "0f3F800000"
    assert operand(Address(Name("%rd1"), -8)) == "[%rd1+-8]"


@pytest.mark.parametrize("modifiers", [".x", ".uni.x", ".uni .uni", ".const[1]"])
def test_a_call_has_no_modifier_but_one(modifiers: str) -> None:
    """With another one, what is printed would be read as an instruction whose parentheses are expressions."""
    text = f"{HEADER}.func f(.reg .b32 x);\n.entry k() {{ .reg .b32 a; call {modifiers} f, (a); }}"
    for read in (formatted, ptxspec.load):
        with pytest.raises(ptxspec.PtxError):
            read(text)
    assert "call .uni f, (a);" in survives(text.replace(modifiers, ".uni"))
