"""Texts that went wrong: whatever is done to PTX, load() succeeds or raises PtxError with a place inside the text."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from pathlib import Path

import effort
import pytest

import ptxspec
from ptxspec.language.diagnostics import WINDOW

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "docs" / "examples").glob("*/*.ptx"))

#: all that the parser knows, in one module
RICH = """\
.version 9.0
.target sm_90, texmode_independent
.address_size 64
# 5 "a.cu" 1
.file 1 "a.cu", 12, 34
.section .debug_str { L: .b8 1, -2 .b32 L+4 .b64 L-M .b32 .debug_str }
.pragma "nounroll";
.global .align 8 .b8 x[3][2] = {{1,2},{3,4},{5}};
.const .f32 y[] = {0f3F800000, 1.5, -2.0 * (1.5 - 0.25)};
.global .u64 e[2*(1+1)] = {(1 << 40) - 1, ~0 % 7 ? 2 : 3U, x+4*2, (.s64)-1 >> 3 && !5};
.extern .shared .align 16 .b8 dyn[];
.global .v4 .u32 q;
.weak .global .u64 z<3>;
.visible .entry k(.param .align 8 .b8 p[16], .param .u64 .ptr .global .align 4 o) .maxntid 1, 2, 3 .minnctapersm 2
{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<4>; .reg .f64 %fd<3>;
  .loc 1 2 3
  .loc 1 4 5, function_name L+1, inlined_at 1 2 3
  .reg .v2 .b32 v; mov.b64 v, %rd1; add.u32 v.x, v.g, (1<<4)|3;
  ld.global.u64 %rd3, e[2-1];
  .shared .align 4 .b8 s[16]; .local .b32 l<2>;   // a comment ; {
  ld.param.v4.u32 {%r1,%r2,%r3,%r4}, [p+0];
  mov.b64 {%r1,%r2}, %rd1; /* another " one */
  cvta.shared.u64 %rd2, s+4; ld.shared.u32 %r6, [s+4*(1+1)];
  setp.lt.and.s32 %p1|%p2, %r1, -5, !%p3;
  @!%p1 bra $L1;
  { .reg .b32 %r1; mov.u32 %r1, %tid.x; add.s32 %r1, %r1, WARP_SZ; }
$L1: ld.volatile.shared.u32 %r5, [s+-4];
  bar.sync 0, 64;
  @%p1 ret;
  lop3.b32 %r1,%r2,%r3,%r4,0xe8; mov.b32 %r2, 0b101U; mov.b32 %r3, 017;
  add.f64 %fd1, %fd2, 0d3FF0000000000000; mov.f64 %fd2, 1e-3;
  st.global.v2.u32 [%rd1+8], {%r1, 7};
  exit;
}
"""
TOKENS = re.compile(r"\s+|[\w.%$]+|.")
STRANGE = ["-", "<", "<<", "?", "~", "% ", "&&", "(.s64)", "1.5", ".section", "# 1 \"a\"\n", ".v4", "v.y", "9999999999", "{", "}", "[", "]", "_", "@", "/*", "//", '"', "\x00", "é", "٣", "0x", "1e999", "0f", "=", "+",
           "*", ".func", ".reg", ".param", ".pred", "::", "<<", "1.", "U", "08", "-1", ".align", "0", "|", "!", ";",
           ":", ".x",
           "%tid", "(", ")", "#", "\\", "'", "\r", "\x0b", "\u2028", ".entry", "%", "$", ",", "0d", "0b",
           "WARP_SZ", "const[", ".const[2]", ".unified", "].unified", "::func"]  # fmt: skip


def mutant(text: str, rng: random.Random) -> str:
    """The text after a few accidents to its tokens or its characters."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        kind = rng.randrange(11)
        if kind < 7:
            tokens = TOKENS.findall(text) or [" "]
            i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            if kind == 0:
                del tokens[i]
            elif kind == 1:
                tokens.insert(i, tokens[i])
            elif kind == 2:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            elif kind == 3:
                tokens[i] = rng.choice(STRANGE)
            elif kind == 4:
                tokens.insert(i, rng.choice(STRANGE))
            elif kind == 5:
                tokens[i] = tokens[j]
            else:
                del tokens[min(i, j) : max(i, j)]
            text = "".join(tokens)
        elif text:
            i = rng.randrange(len(text))
            if kind == 7:
                text = text[:i]
            elif kind == 8:
                text = text[:i] + text[i + 1 :]
            elif kind == 9:
                text = text[:i] + chr(rng.randrange(1, 256)) + text[i:]
            else:
                text = text[i:]
    return text


def check(text: str) -> str:
    """What becomes of the text: "loaded" or "refused". Anything else fails."""
    began = time.process_time()
    try:
        ptxspec.load(text)
        verdict = "loaded"
    except ptxspec.PtxError as error:
        lines = text.split("\n")
        assert error.diagnostics
        for one in error.diagnostics:
            assert one.message and 1 <= one.line <= len(lines)
            assert 1 <= one.column <= len(lines[one.line - 1]) + 1
            assert one.source == lines[one.line - 1][one.begins - 1 : one.begins - 1 + WINDOW]
        assert str(error)
        verdict = "refused"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error
    effort.check(time.process_time() - began, 20_000)
    return verdict


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_mutants_of_the_examples(path: Path) -> None:
    rng, seen = random.Random(path.stem), Counter[str]()
    text = path.read_text()
    assert check(text) == "loaded"
    for _ in range(200):
        seen[check(mutant(text, rng))] += 1
    assert seen["loaded"] > 2 and seen["refused"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_mutants_of_a_text_with_everything(seed: int) -> None:
    rng, seen = random.Random(seed), Counter[str]()
    assert check(RICH) == "loaded"
    for _ in range(500):
        seen[check(mutant(RICH, rng))] += 1
    assert seen["loaded"] > 5 and seen["refused"] > 250


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_beginning_of_an_example(path: Path) -> None:
    """Cut off after each character of the last part, and after each line."""
    text = path.read_text()
    assert all(check(text[:i]) == "refused" for i in range(len(text) - 60, text.rindex("}")))
    lines = text.splitlines(keepends=True)
    verdicts = [check("".join(lines[:i])) for i in range(len(lines))]
    assert set(verdicts[-10:-1]) == {"refused"}


def test_noise() -> None:
    """No text at all, or none that means anything."""
    rng = random.Random(7)
    for length in (0, 1, 2, 10, 100, 1000):
        for _ in range(30):
            check("".join(chr(rng.randrange(1, 128)) for _ in range(length)))
            check("".join(rng.choice(STRANGE) + rng.choice(["", " "]) for _ in range(length)))
            check(".version 9.0 .target sm_90 " + " ".join(rng.choice(STRANGE) for _ in range(length)))


@pytest.mark.sample(3)
@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "unit",
    ["1+", "(", "~", "1?", "#", "\n# 1 \"a\"", ".b8 1 ", "a[", "(1)", "/*", '"', ".", "a.", "%a.", "::", "a::", "9", "0x", "{", "(", "[", "@", "-", "- ", ",", "\n", ".5e",
     "/", "\\", "x ", "1 ", '"" ', "// ", "{}", "L:"],
)  # fmt: skip
def test_long_runs(unit: str) -> None:
    """The same thing twenty thousand times takes no time out of proportion."""
    for before in ("", ".version 9.0 .target sm_90 ", ".version 9.0 .target sm_90 .entry k() { mov.u32 x, ",
                   ".version 9.0 .target sm_90 .global .u32 x = "):  # fmt: skip
        check(before + unit * 20_000)


def test_an_open_string_of_escapes() -> None:
    with effort.at_most(1200):
        check('"\\' * 8_000)
