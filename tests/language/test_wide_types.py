"""Types of 128 bits, vectors as parameters, vectors in atom and red, and hints for caches: our verdict beside that of NVIDIA's
assembler, and initial values beside the bytes in its cubins."""

from __future__ import annotations

import random

import pytest
from cubins import assembled
from verdicts import HEADER

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.language.diagnostics import MOST_ERRORS
from ptxspec.language.forms import registry

pytestmark = pytest.mark.usefixtures("assembler")

REGISTERS = (
    ".reg .b128 q<8>; .reg .b64 d<8>; .reg .b32 w<8>; .reg .b16 h<8>; .reg .f32 f<8>; .reg .f64 e<8>; .reg .pred p;"
    " .reg .v4 .f32 a; .reg .v2 .f32 a2; .reg .v4 .b32 b; .reg .v2 .b64 c; .reg .v2 .u16 n; .reg .f16x2 x<4>;"
)


def module(lines: list[str], before: str = "", head: str = HEADER, registers: str = REGISTERS) -> str:
    """Every instruction stands on a line of its own, the first in line 8."""
    return (
        f"{head}{before}\n.visible .entry k(.param .b64 g, .param .b128 t)\n{{\n{registers}\n"
        + "\n".join(lines)
        + "\nret;\n}\n"
    )


FIRST = 8


def ours(lines: list[str], before: str = "") -> set[int]:
    """The numbers of the instructions that are refused. So many are in a module that no complaint is left out."""
    found: set[int] = set()
    for start in range(0, len(lines), MOST_ERRORS):
        try:
            ptxspec.load(module(lines[start : start + MOST_ERRORS], before))
        except ptxspec.PtxError as error:
            found |= {start + d.line - FIRST for d in error.diagnostics}
    return found


def theirs(lines: list[str], before: str = "") -> set[int]:
    return {line - FIRST for line, _ in assemble(module(lines, before), "sm_90", "-O0")}


def test_instructions_of_128_bits() -> None:
    good = """mov.b128 q0, q1; mov.b128 q0, {d0, d1}; mov.b128 {d0, _}, q0; mov.b128 q0, {w0, w1, w2, w3}; mov.b128 {w0, w1, w2, w3}, q0;
        mov.b128 q0, 5; mov.b128 q0, {d0, 7}; mov.b128 q0, {e0, e1}; mov.b128 q0, {%clock64, d0}; mov.b128 q0, z; mov.b128 q0, z[1];
        ld.global.b128 q0, z[1]; ld.b128 q0, [d0]; ld.param.b128 q0, [t]; ld.const.b128 q0, [d0]; ld.local.b128 q0, [d0];
        ld.global.b64 q0, [d0]; ld.global.s8 q0, [d0]; ld.global.v2.b32 {q0, q1}, [d0]; ld.global.f32 q0, [d0]; st.global.b64 [d0], q0;
        st.global.b128 [d0], 5; st.b128 [d0], q0; ld.global.nc.b128 q0, [d0]; ldu.global.b128 q0, [d0]; @p mov.b128 q0, q1;
        ld.relaxed.sys.global.b128 q0, [d0]; ld.mmio.relaxed.sys.b128 q0, [d0]; st.release.cta.shared.b128 [d0], q0;
        ld.volatile.b128 q0, [d0]; atom.exch.b128 q0, [d0], q1; atom.global.cas.b128 _, [d0], q1, q2; atom.shared.exch.b128 q0, [d0], 5;
        atom.acq_rel.cluster.shared::cluster.cas.b128 q0, [d0], q1, q2; cvt.u64.u32 q0, w0; cvt.u32.u64 w0, q0; ld.global.b128 {q0}, [d0]""".split(
        ";"
    )
    bad = """mov.b64 d0, q0; mov.b128 q0, {f0, f1}; mov.b128 q0, {d0, w0}; mov.b128 q0, 1.0; mov.b128 q0, %clock64; mov.b128 {_, _}, q0;
        mov.v2.b128 {q0, q1}, {q2, q3}; ld.global.v2.b128 {q0, q1}, [d0]; st.global.b128 [d0], {d1, d2}; selp.b128 q0, q1, q2, p;
        and.b128 q0, q1, q2; not.b128 q0, q1; xor.b128 q0, q1, q2; shl.b128 q0, q1, w0; setp.eq.b128 p, q0, q1; prmt.b128 q0, q1, q2, w0;
        shfl.sync.idx.b128 q0, q1, w0, w1, w2; brev.b128 q0, q1; popc.b128 w0, q0; atom.and.b128 q0, [d0], q1; red.exch.b128 [d0], q1;
        atom.exch.b64 q0, [d0], d1; atom.cas.b128 q0, [d0], q1, {d1, d2}; add.u64 d0, q0, d1; selp.b64 q0, q1, q2, p; ld.global.b128 d0, [d0];
        ld.global.b32 w0, [q0]; st.global.b128 [d0], 1.0; slct.b128.s32 q0, q1, q2, w0; ldu.global.v2.b128 {q0, q1}, [d0]""".split(
        ";"
    )
    lines = [" ".join(i.split()) + ";" for i in (*good, *bad)]
    before = ".global .b128 z[4];"
    assert theirs(lines, before) == ours(lines, before) == set(range(len(good), len(lines)))


@pytest.mark.slow
def test_vectors_in_atom_and_red() -> None:
    lines = []
    for opcode, d in (("atom", "{D}, "), ("red", "")):
        for op in ("add", "min", "max", "exch"):
            for type, register in (
                ("f32", "f"),
                ("f16", "h"),
                ("bf16", "h"),
                ("f16x2", "w"),
                ("bf16x2", "w"),
                ("f64", "e"),
                ("b32", "w"),
            ):
                for count in (2, 4, 8):
                    for ss in (".global", "", ".shared"):
                        for noftz in ("", ".noftz"):
                            v = "{" + ", ".join(f"{register}{i % 8}" for i in range(count)) + "}"
                            lines.append(f"{opcode}{ss}.{op}{noftz}.v{count}.{type} {d.replace('{D}', v)}[d0], {v};")
    refused = ours(lines)
    assert refused == theirs(lines)
    assert len(lines) - len(refused) == 2 * 2 * (2 + 3 * 3 * 2 + 3 * 2 * 2)
    odd = ["atom.global.add.v2.f32 _, [d0], {f0, f1};", "atom.global.add.v2.f32 {f0, _}, [d0], {f0, 1.0};", "atom.global.add.v2.f32 {w0, w1}, [d0], {w2, w3};",
           "atom.global.add.noftz.v2.f16x2 {x0, x1}, [d0], {x2, x3};", "atom.global.add.noftz.v2.bf16x2 {x0, x1}, [d0], {x2, x3};",
           "red.release.sys.global.add.v2.f32 [d0], {f2, f3};", "atom.global.v2.f32.add {f0, f1}, [d0], {f2, f3};", "atom.global.add.v2.f32 {_, _}, [d0], {f2, f3};",
           "atom.global.add.v2.f32 f0, [d0], {f2, f3};", "red.global.add.v2.f32 [d0], a2;", "red.global.add.v4.f32 [d0], a;"]  # fmt: skip
    assert ours(odd) == theirs(odd) == {4, 7, 8}


WORDS = [
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::cache_hint",
]
STEMS = {
    "ld": [
        "",
        "ca",
        "lu",
        "cv",
        "weak",
        "weak.cg",
        "volatile",
        "relaxed.gpu",
        "acquire.cta",
        "nc",
        "cs.nc",
        "mmio.relaxed.sys",
    ],
    "st": ["", "wb", "cs", "wt", "weak", "weak.cs", "volatile", "relaxed.gpu", "release.cta", "mmio.relaxed.sys"],
    "atom": ["add", "relaxed.gpu.exch", "cas", "max"],
    "red": ["add", "release.sys.or"],
}


def hinted(opcode: str, source: random.Random) -> str:
    """An instruction with hints, well-formed or not, its modifiers in any order."""
    spaces = ["", "global", "global", "shared", "shared::cta", "shared::cluster"]
    spaces += ["local", "const", "param", "param::entry"] if opcode == "ld" else ["local"] if opcode == "st" else []
    stem = source.choice(STEMS[opcode]).split(".")
    hints = source.sample(WORDS, source.choice((0, 1, 1, 2, 3)))
    words = [w for w in (*stem, source.choice(spaces), *hints) if w]
    source.shuffle(words)
    has_policy = ("L2::cache_hint" in hints) != (source.random() < 0.1)
    policy = source.choice([", d1", ", d1", ", 5", ", w0", ", e0"]) if has_policy else ""
    if opcode in ("ld", "st"):
        vec, type, registers = source.choice(
            [
                ("", "b32", "w0"),
                ("", "b128", "q0"),
                ("", "u8", "h0"),
                ("v2", "b64", "{d2, d3}"),
                ("v4", "s8", "{h0, h1, h2, h3}"),
            ]
        )
        mnemonic = ".".join(w for w in (opcode, *words, vec, type) if w)
        return f"{mnemonic} {registers}, [d0]{policy};" if opcode == "ld" else f"{mnemonic} [d0], {registers}{policy};"
    type = "b32" if {"cas", "exch", "or"} & set(stem) else "u32"
    more = ", w2" if "cas" in stem else ""
    return f"{'.'.join((opcode, *words, type))} {'w0, ' if opcode == 'atom' else ''}[d0], w1{more}{policy};"


@pytest.mark.parametrize("opcode", sorted(STEMS))
@pytest.mark.slow
def test_hints_are_taken_where_ptxas_takes_them(opcode: str) -> None:
    source = random.Random(f"hints {opcode}")
    lines = [hinted(opcode, source) for _ in range(150)]
    refused, wanted = ours(lines), theirs(lines)
    assert [lines[i] for i in sorted(refused ^ wanted)] == []
    assert 20 < len(refused) < 140


def test_every_form_that_may_have_hints_is_taken_with_some() -> None:
    """One of each syntax line; all of them are asked where the ledger is made."""
    seen: dict[int, str] = {}
    for opcode in STEMS:
        for form in registry().opcodes[opcode].forms:
            if form.syntax.telling:
                seen.setdefault(hash((opcode, form.syntax.line, form.page)), form.hinted.mnemonic)
    assert len(seen) > 30
    for mnemonic in seen.values():
        (found,) = registry().opcodes[mnemonic.split(".")[0]].find(mnemonic)
        assert any(s.name in found.modifiers for s in found.syntax.hints)


def test_policies_and_lines_of_caches() -> None:
    priorities = ["evict_last", "evict_normal", "evict_first", "evict_unchanged"]
    lines = [
        f"createpolicy.{kind}.L2::{a}{f'.L2::{b}' if b else ''}.b64 d1{more};"
        for kind, more in (
            ("fractional", ""),
            ("fractional", ", 0.5"),
            ("range", ", [d0], w0, w1"),
            ("range.global", ", [d0], 64, 128"),
        )
        for a in priorities
        for b in ["", *priorities]
    ]
    lines += [
        f"createpolicy.fractional.L2::evict_last.b64 d1, {x};"
        for x in ("1.0", "0.0", "2.0", "-1.0", "f0", "w0", "1", "0.000001", "d0", "0f3f000001", "0f3f800001")
    ]
    lines += [f"createpolicy.cvt.L2.b64 d1, {x};" for x in ("d0", "5", "e0", "w0")]
    lines += [
        "createpolicy.range.shared.L2::evict_last.b64 d1, [d0], w0, w1;",
        "createpolicy.range.L2::evict_last.b64 d1, [d0], d1, w1;",
    ]
    lines += [f"{i} [d0], {n};" for i in ("applypriority.global.L2::evict_normal", "applypriority.L2::evict_normal", "applypriority.L2::evict_last",
              "applypriority.shared.L2::evict_normal", "discard.L2", "discard.global.L2", "discard.shared.L2") for n in ("128", "64", "w0")]  # fmt: skip
    refused, wanted = ours(lines), theirs(lines)
    assert [lines[i] for i in sorted(refused ^ wanted)] == []


DECLARATIONS = [
    *(f".{text};" for many in ["""global .b128 v|global .b128 v = 5|global .b128 v = {1, 2}|global .b128 v[2] = {1, 2}|global .b128 v[] = {1, 2}
    |global .b128 v = -1|global .v2 .b128 v|global .v4 .b128 v|const .b128 v = 7|shared .b128 v[4]|global .align 32 .b128 v
    |global .b128 v = 0xff(5)|extern .shared .b128 v[]|global .u128 v|global .s128 v|global .b128 v<4>|global .b128 v[2][2] = {{1, 2}, {3}}
    |global .b128 v = {5}|global .b128 v = (1 << 40)|global .b128 w; .global .b128 v = w|func f(.param .b128 x)|func f(.reg .b128 x)
    |func (.param .b128 y) f(.param .b128 x[2])|func f(.param .v4 .f32 x)|func f(.param .v4 .f32 x[2])|func (.param .v2 .b64 y) f()
    |func (.reg .v4 .f32 y) f(.reg .v2 .b64 x)|func f(.reg .v4 .b64 x)|func f(.reg .v2 .pred x)|func f(.reg .v2 .b128 x)
    |func f(.reg .v4 .f32 x[2])|func f(.reg .v4 .f32 x); .func f(.reg .v2 .f32 x)|func f(.reg .v2 .u16 x); .func f(.reg .v2 .u16 y)"""] for text in map(str.strip, many.split("|"))),
    *(f".entry f({x}) {{ ret; }}" for x in (".param .v4 .f32 x", ".param .v4 .f32 x[2]", ".param .v2 .b64 x[1]", ".param .v4 .b64 x[2]",
      ".param .v2 .pred x[2]", ".param .b128 x[2]", ".param .align 8 .b128 x", ".param .b8 y, .param .v2 .u32 x[3]")),
    *(f".func f(.reg .v2 .f32 x) {{ {x} ret; }}" for x in (".reg .f32 y; add.f32 y, x.x, x.g;", ".reg .f32 x;",
      ".param .v4 .f32 z;", ".param .v4 .f32 z[2];", ".local .v4 .f32 z;", ".shared .v4 .f32 z[3];", ".reg .v2 .b128 z;", ".param .b128 z;")),
]  # fmt: skip


@pytest.mark.parametrize("text", DECLARATIONS)
def test_declarations(text: str) -> None:
    source = f"{HEADER}{text}\n"
    try:
        ptxspec.load(source)
        accepted = True
    except ptxspec.PtxError:
        accepted = False
    assert accepted == (not assemble(source)), assemble(source)


FUNCTIONS = """
.func vec(.reg .v4 .f32 x) { ret; } .func (.reg .v4 .f32 y) gives() { ret; } .func narrow(.reg .v2 .u16 x) { ret; }
.func (.param .b128 y) wide(.param .b128 x) { ret; } .func (.reg .b128 y) reg(.reg .b128 x) { ret; } .func array(.param .v4 .f32 x[2]) { ret; }
"""
CALLS = """vec,(a)|vec,(b)|vec,({f0,f1,f2,f3})|vec,(a2)|vec,(f0)|vec,(a.x)|vec,(1.0)|vec,(_)|(a),gives|(b),gives|(_),gives
    |({f0,f1,f2,f3}),gives|(f0),gives|narrow,(n)|(q0),wide,(q1)|(d0),wide,(q1)|(q0),wide,(5)|(s),wide,(s)|(q0),wide,(s8)|(_),wide,(s)
    |(q0),wide,({d0,d1})|(q0),reg,(q1)|(q0),reg,(5)|(d0),reg,(q1)|(q0),reg,({d0,d1})|(_),reg,(q1)|array,(sv)|array,(a)|vec,(a,a)|vec"""


def test_calls() -> None:
    lines = [f"call {' '.join(c.split())};" for c in CALLS.split("|")]
    variables = ".param .b128 s; .param .align 16 .b8 s8[16]; .param .v4 .f32 sv[2];"
    for line in lines:  # ptxas stops at the first mistake of syntax
        own, other = (
            ours([variables + line], FUNCTIONS.replace("\n", " ")),
            theirs([variables + line], FUNCTIONS.replace("\n", " ")),
        )
        assert bool(own) == bool(other), line


@pytest.mark.parametrize(
    "value",
    [
        "5",
        "-1",
        "0x8123456789abcdef",
        "-9223372036854775808",
        "0xff00(0x1234)",
        "(1 << 40)",
        "~0",
        "{1, -2}",
        "{{1, 2}, {3}}",
    ],
)
def test_initial_bytes(value: str) -> None:
    sizes = {"{": "[3]", "{{": "[2][2]"}.get(value[: 2 if value[1] == "{" else 1] if value[0] == "{" else "", "")
    source = f"{HEADER}.visible .global .b128 v{sizes} = {value};\n"
    assert ptxspec.load(source).read("v").tobytes() == assembled(source).image("v")


def test_a_fraction_is_no_initial_value() -> None:
    """ptxas takes it, and writes eight bytes that it does not set (AMB-175)."""
    source = f"{HEADER}.global .b128 v = 1.0;\n"
    assert not assemble(source)
    with pytest.raises(ptxspec.PtxError, match=r"no value of type \.b128"):
        ptxspec.load(source)


HEADS = [("8.2", "sm_90"), ("8.3", "sm_90"), ("8.4", "sm_90"), ("8.3", "sm_70"), ("8.4", "sm_80"), ("8.3", "sm_60")]
SINCE = ["", "mov.b128 q0, q1;", "ld.global.b128 q0, [d0];", "ld.relaxed.gpu.b128 q0, [d0];", "ld.acquire.sys.b128 q0, [d0];", "st.mmio.relaxed.sys.b128 [d0], q0;",
         "ld.global.nc.b128 q0, [d0];", "ldu.b128 q0, [d0];", "atom.exch.b128 q0, [d0], q1;", "atom.sys.cas.b128 q0, [d0], q1, q1;"]  # fmt: skip
NARROW = ["atom.global.add.v2.f32 {f0, f1}, [d0], {f2, f3};", "red.global.min.noftz.v8.bf16 [d0], {h0, h0, h0, h0, h0, h0, h0, h0};",
          "ld.global.L2::cache_hint.b32 w0, [d0], d1;", "st.global.L2::cache_hint.b32 [d0], w0, d1;", "atom.global.add.L2::cache_hint.u32 w0, [d0], w1, d1;",
          "red.add.L2::cache_hint.u32 [d0], w1, d1;", "createpolicy.fractional.L2::evict_last.b64 d1;", "createpolicy.cvt.L2.b64 d1, d0;",
          "applypriority.global.L2::evict_normal [d0], 128;", "discard.global.L2 [d0], 128;", "ld.weak.global.L1::evict_last.b32 w0, [d0];",
          "ld.acquire.gpu.L2::64B.b32 w0, [d0];", "ld.relaxed.gpu.L2::256B.b32 w0, [d0];", "st.release.gpu.L1::evict_last.b32 [d0], w0;",
          "atom.shared::cluster.add.u32 w0, [w1], 5;"]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("version", "target"),
    [
        *HEADS,
        ("8.0", "sm_90"),
        ("8.1", "sm_90"),
        ("7.8", "sm_90"),
        ("7.4", "sm_80"),
        ("7.3", "sm_80"),
        ("7.4", "sm_75"),
        ("7.4", "sm_70"),
    ],
)
def test_versions_and_targets(version: str, target: str) -> None:
    head = f".version {version}\n.target {target}\n.address_size 64\n"
    for text, wide in [*((t, True) for t in SINCE), *((t, False) for t in NARROW)]:
        registers = (
            ".reg .b128 q<2>;" if wide else ""
        ) + ".reg .b64 d<3>; .reg .b32 w<3>; .reg .b16 h<2>; .reg .f32 f<4>;"
        source = f"{head}.entry k() {{ {registers} {text} }}\n"
        try:
            ptxspec.load(source)
            accepted = True
        except ptxspec.PtxError:
            accepted = False
        assert accepted == (not assemble(source)), (text, assemble(source))
