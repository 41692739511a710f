"""The layout of a text: whatever stands between its words, they and the comments stay as they are, and a layout is its own."""

from __future__ import annotations

import random
import re

import pytest
from printing import placeless
from test_mutations import RICH

import ptxspec
from ptxspec.language.formatting import changes, formatted
from ptxspec.language.parser import parse
from ptxspec.language.syntax import syntax
from ptxspec_workshop.generate.fuzzing import random_program

#: what may stand between two words, or instead of blanks there
BETWEEN = [" ", "\n", "\n\n\n", "\t \f", " // one\n", "/**/", "\n/* two\n   lines */", " /* inline */ ", "\n  // é 𝄞 alone \n",
           "\r\n", "\n# 7 \"a // b.cu\"\n", "/* \" */", "// ;{\r\n"]  # fmt: skip


def pulled_apart(text: str, rng: random.Random, often: float) -> str:
    """The text with other things between its words."""
    split = syntax().lexicon.split(text)
    parts, end = [], 0
    for word, start in zip(split.words[:-3], split.starts, strict=False):
        blank = text[end:start]
        if rng.random() < often:
            blank += rng.choice(BETWEEN)
        parts += [blank, word]
        end = start + len(word)
    return "".join(parts) + text[end:] + rng.choice(["", "\n", "\n\n// end", "/* end */"])


def between(text: str) -> list[str]:
    """What stands between words but blanks: comments and lines of a preprocessor, cut at blanks."""
    split = syntax().lexicon.split(text)
    found, end = [], 0
    for word, start in zip(split.words[:-2], split.starts, strict=False):
        found += text[end:start].split()
        end = start + len(word)
    return found


def stays(text: str) -> str:
    """The layout of a text, after what must hold of it."""
    laid_out = formatted(text)
    assert syntax().lexicon.split(laid_out).words == syntax().lexicon.split(text).words
    assert between(laid_out) == between(text)
    assert formatted(laid_out) == laid_out
    return laid_out


@pytest.mark.parametrize("seed", range(3))
def test_words_and_comments_stay(seed: int) -> None:
    """Wherever comments stand, lines end and blanks are."""
    rng, often = random.Random(seed), (0.02, 0.1, 0.5)[seed % 3]
    for _ in range(4):
        text = pulled_apart(RICH, rng, often)
        assert placeless(parse(stays(text))) == placeless(parse(text))


@pytest.mark.long
def test_random_programs() -> None:
    """The layout of what a random program writes, in its own lines, in one line, and with comments anywhere."""
    for seed in range(20):
        text = random_program.module(random_program.made([seed]))
        stays(text)
        bare = re.sub(r"//[^\n]*", "", text)
        one, crowded = stays(bare), stays(re.sub(r"\s+", " ", bare))
        assert re.sub(r"\n+", "\n", crowded) == re.sub(r"\n+", "\n", one)
        stays(pulled_apart(text, random.Random(seed), 0.05))


def test_lines_end_as_they_did() -> None:
    text = ".version 8.0\r\n.target sm_90\r\n.entry k() {  // é\r\nret;}"
    assert formatted(text) == ".version 8.0\r\n.target sm_90\r\n.entry k()\r\n{  // é\r\n    ret;\r\n}\r\n"


def test_only_blanks_change() -> None:
    """Each change replaces what stands between two words, and those of a layout are none."""
    text = ".version 8.0 .target sm_90\n.entry k(){add.u32 %r1,%r2 , 3;/* x */ ret;}\n"
    found = changes(text)
    assert found and all("%" not in text[c.start : c.end] + c.text for c in found)
    assert [c.start for c in found] == sorted(c.start for c in found)
    assert changes(formatted(text)) == []


def test_the_layout_of_statements() -> None:
    text = """.version 9.0 .target sm_90
.visible .func (.reg .u32 r) f (.reg .u32 a, .param .align 4 .b8 b[8]) .abi_preserve 2;
.global .align 4 .u32 x[2][2]={{1,2},{3,-4}};
.const .u64 y[]={(1<<40)-1, generic(x)+4, x+4*2, ~ 0xff, (.s64)- 1, 7 % 3, 1?2:3};
.entry k(){.reg .v2 .b32 v<3>;@ ! %p1 setp.lt.and.s32 %p1 | %p2,%r1,- 5,! %p3;
T:.branchtargets A,B;A:B: call(%r1),f,(%r2,p);ld .u32 %r1,[ %rd1 + -8 ];tex.2d.v4.f32.s32 {a,b,c,d},[t,{x,y}];
ld.global.u32 %r1,[%rd1+8] .unified;mov.u32 %r1,x[ 2 ];.pragma "nounroll";}
"""
    assert (
        stays(text)
        == """.version 9.0
.target sm_90
.visible .func (.reg .u32 r) f(
    .reg .u32 a,
    .param .align 4 .b8 b[8]
)
.abi_preserve 2;
.global .align 4 .u32 x[2][2] = {{1, 2}, {3, -4}};
.const .u64 y[] = {(1 << 40) - 1, generic(x)+4, x+4*2, ~0xff, (.s64)-1, 7 % 3, 1 ? 2 : 3};
.entry k()
{
    .reg .v2 .b32 v<3>;
    @!%p1 setp.lt.and.s32 %p1|%p2, %r1, -5, !%p3;
T: .branchtargets A, B;
A:
B:
    call (%r1), f, (%r2, p);
    ld .u32 %r1, [%rd1+-8];
    tex.2d.v4.f32.s32 {a, b, c, d}, [t, {x, y}];
    ld.global.u32 %r1, [%rd1+8].unified;
    mov.u32 %r1, x[2];
    .pragma "nounroll";
}
"""
    )


def test_what_cannot_be_read_is_not_laid_out() -> None:
    with pytest.raises(ptxspec.PtxError, match="expected"):
        formatted(".version 8.0 .target sm_90 .entry k() { add.u32 %r1, ; }")
