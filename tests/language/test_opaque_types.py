"""Declarations and uses of textures, samplers and surfaces: what is accepted and refused, and that ptxas says the same."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble

HEAD = ".version {}\n.target {}\n{}"
NOW = HEAD.format("8.3", "sm_90", ".address_size 64\n")
APART = HEAD.format("8.3", "sm_90, texmode_independent", ".address_size 64\n")
REGISTERS = ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .b16 %h<9>; .reg .v2 .f32 %v; "
TEX = "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, "


def module(declarations: str, body: str = "", parameters: str = "", head: str = NOW) -> str:
    listed = f"({parameters}) " if parameters else ""
    return f"{head}{declarations}\n.entry k {listed}{{ {REGISTERS}{body} exit; }}\n"


ACCEPTED = {
    "a texture": module(".global .texref t;"),
    "with linkage": module(".visible .global .texref t; .weak .global .surfref s;"),
    "several of one name": module(".global .texref t<4>;", TEX + "[t3, {%f4, %f5}];"),
    "two in one declaration": module(".global .texref t, u;"),
    "fields of a texture": module(
        ".global .texref t = { width = 4, height = 2+3, normalized_coords = 1, filter_mode = linear, addr_mode_0 = wrap, "
        "addr_mode_1 = mirror, addr_mode_2 = clamp_to_border, channel_data_type = 0x10D0, channel_order = 0x10B5, "
        "array_size = 1, num_mipmap_levels = 2, num_samples = 4 };"
    ),
    "fields of a surface": module(".global .surfref s = { width = 4, height = 4, depth = 2, memory_layout = 1 };"),
    "fields of a sampler": module(
        ".global .samplerref s = { addr_mode_0 = clamp_ogl, filter_mode = nearest, force_unnormalized_coords = 1 };",
        head=APART,
    ),
    "a parameter": module("", TEX + "[t, {%f4, %f5}];", ".param .texref t"),
    "a handle": module(".global .texref t;", "mov.u64 %d0, t; " + TEX + "[%d0, {%f4, %f5}];"),
    "four coordinates for two": module(".global .texref t;", TEX + "[t, {%f4, %f5, %f6, %f7}];"),
    "a vector of registers": module(".global .texref t;", TEX + "[t, %v];"),
    "a sampler apart": module(".global .texref t; .global .samplerref s;", TEX + "[t, s, {%f4, %f5}];", head=APART),
    "two handles apart": module("", TEX + "[%d0, %d1, {%f4, %f5}];", head=APART),
    "an early texture": module(
        ".tex .u32 t;", "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, t, %f4;", head=HEAD.format("1.1", "sm_10", "")
    )
    .replace(", %v; ", ";")
    .replace(".reg .v2 .f32 %v; ", ""),
    "in brackets from 1.4 on": module(
        ".tex .u32 t;", TEX + "[t, {%f4, %f5}];", head=HEAD.format("1.4", "sm_10", "")
    ).replace(".reg .v2 .f32 %v; ", ""),
    "a constant coordinate": module(".global .surfref s;", "suld.b.1d.b32.trap %r0, [s, {4}];"),
    "one coordinate without braces": module(".global .surfref s;", "suld.b.1d.b32.trap %r0, [s, %r1];"),
    "one value in braces": module(".global .surfref s;", "sust.b.1d.b32.trap [s, %r1], {%r2};"),
    "a query": module(".global .texref t;", "txq.width.b32 %r0, [t]; txq.filter_mode.b32 %r1, [t];"),
    "as many textures as there may be": module(
        "".join(f".global .texref t{i};" for i in range(256)),
        "".join(f"{TEX}[t{i}, {{%f4, %f5}}]; " for i in range(256)),
    ),
}

REFUSED = {
    "in constant memory's place": (module(".shared .texref t;"), "lies in .global"),
    "inside a function": (module("", ".global .texref t;"), "outside of all functions"),
    "a vector of textures": (module(".global .v2 .texref t;"), "no vectors"),
    "a sampler in unified mode": (module(".global .samplerref s;"), "in unified texture mode"),
    "an unknown field": (module(".global .texref t = { foo = 1 };"), "no field foo"),
    "a field of a sampler apart": (module(".global .texref t = { force_unnormalized_coords = 1 };"), "no field"),
    "a field of a texture": (module(".global .surfref s = { filter_mode = linear };"), "no field filter_mode"),
    "an unknown word": (module(".global .texref t = { filter_mode = bilinear };"), "not bilinear"),
    "no fields": (module(".global .texref t = 5;"), "fields with names"),
    ".tex from 1.5 on": (module(".tex .u32 t;"), "declare a .texref"),
    "a texture before 1.5": (
        module(".global .texref t;", head=HEAD.format("1.4", "sm_10", "")).replace(".reg .v2 .f32 %v; ", ""),
        "needs PTX ISA 1.5",
    ),
    "three coordinates": (module(".global .texref t;", TEX + "[t, {%f4, %f5, %f6}];"), "2 or 4 coordinates"),
    "no brackets": (module(".global .texref t;", TEX + "t, {%f4, %f5, %f6, %f7};"), "does not exist"),
    "a surface for a texture": (module(".global .surfref s;", TEX + "[s, {%f4, %f5}];"), "needs a .texref"),
    "a texture for a surface": (module(".global .texref t;", "suq.width.b32 %r0, [t];"), "needs a .surfref"),
    "a number for a texture": (module("", TEX + "[t, {%f4, %f5}];", ".param .u64 t"), "needs a .texref"),
    "integers for floating-point coordinates": (
        module(".global .texref t;", "tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [t, {%f5, %f6}];"),
        "needs .s32 here",
    ),
    "a floating-point layer": (
        module(".global .texref t;", "tex.a1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f5, %f6}];"),
        "needs .u32 here",
    ),
    "integer directions": (
        module(".global .texref t;", "tex.cube.v4.f32.s32 {%f0, %f1, %f2, %f3}, [t, {%r5, %r6, %r7, %r7}];"),
        "there is no tex.cube.v4.f32.s32",
    ),
    "a load of a texture": (module(".global .texref t;", "ld.global.u32 %r0, [t];"), "not an opaque variable"),
    "a handle of other bits": (module(".global .texref t;", "mov.b64 %d0, t;"), "not an opaque variable"),
    "a handle in an early module": (
        module("", TEX + "[%d0, {%f4, %f5}];", head=HEAD.format("3.0", "sm_20", ".address_size 64\n")),
        "needs PTX ISA 3.1",
    ),
    "no sampler in independent mode": (module(".global .texref t;", TEX + "[t, {%f4, %f5}];", head=APART), "a sampler"),
    "an access without what happens outside": (
        module(".global .surfref s;", "suld.b.1d.b32 %r0, [s, {%r1}];"),
        "there is no suld.b.1d.b32",
    ),
    "a function's parameter": (module(".func f(.param .texref a) { ret; }"), "pass the handle"),
    "a register": (module("", ".reg .texref t;"), "texref"),
    "too many textures": (
        module(
            "".join(f".global .texref t{i};" for i in range(300)),
            "".join(f"{TEX}[t{i}, {{%f4, %f5}}]; " for i in range(300)),
        ),
        "at most 256",
    ),
    "too many samplers": (
        module(
            ".global .texref t;" + "".join(f".global .samplerref s{i};" for i in range(40)),
            "".join(f"{TEX}[t, s{i}, {{%f4, %f5}}]; " for i in range(40)),
            head=APART,
        ),
        "at most 32",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str, assembler: str) -> None:
    ptxspec.load(ACCEPTED[name])
    assert assemble(ACCEPTED[name], "sm_90", "-O0") == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, assembler: str) -> None:
    text, why = REFUSED[name]
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text)
    assert why in str(caught.value)
    assert assemble(text, "sm_90", "-O0") != []


@pytest.mark.parametrize(("target", "factor"), [("sm_20", 1), ("sm_21", 1), ("sm_30", 2), ("sm_90", 2)])
@pytest.mark.parametrize(("kind", "most"), [("texref", 128), ("samplerref", 16), ("surfref", 8)])
def test_what_an_entry_may_name_by_target(kind: str, most: int, target: str, factor: int) -> None:
    """AMB-212: from sm_30 on twice as many. The target at the end of the body counts."""
    use = {
        "texref": TEX + "[t{}, s, {{%f4, %f5}}];",
        "samplerref": TEX + "[t, t{}, {{%f4, %f5}}];",
        "surfref": "suld.b.1d.b32.trap %r0, [t{}, {{%r4}}];",
    }[kind].replace("{%f0, %f1, %f2, %f3}", "{{%f0, %f1, %f2, %f3}}")
    other = {"texref": ".global .samplerref s; ", "samplerref": ".global .texref t; ", "surfref": ""}[kind]
    for count in (most * factor, most * factor + 1):
        body = "".join(use.format(i) for i in range(count))
        for head, more in ((target, ""), ("sm_90", f".target {target} ")):
            apart = APART.replace("sm_90", head)
            text = module(f"{other}.global .{kind} t<{count}>; ", body + more, head=apart)
            if count == most * factor:
                ptxspec.load(text)
                continue
            what = rf"{count} variables of type .{kind}; an entry for {target} uses at most {most * factor}"
            with pytest.raises(ptxspec.PtxError, match=what):
                ptxspec.load(text)
