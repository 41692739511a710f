"""Kernels that have the multifunction unit answer to 2^32 operands: a checksum a block of 2^23, and some answers themselves.

The checksum of a block is the sum of mix(mix(i) + answer) modulo 2^64.
"""

from __future__ import annotations

from ptxspec_workshop.generate.cases import HEAD
from ptxspec_workshop.generate.multifunction_operands import (
    BLOCK,
    DOUBLE,
    FUNCTIONS,
    SINGLE,
    MultifunctionInstruction,
    masks,
)

#: CTAs that share a block, and threads of each
CTAS, THREADS = 64, 256


def _mixed(d: str, s: str) -> list[str]:
    """PTX of `mix`."""
    text = [f"add.u64 {d}, {s}, 0x9E3779B97F4A7C15;"]
    for shift, factor in ((30, "0xBF58476D1CE4E5B9"), (27, "0x94D049BB133111EB"), (31, "")):
        text += [f"shr.u64 %t, {d}, {shift};", f"xor.b64 {d}, {d}, %t;"]
        text += [f"mul.lo.u64 {d}, {d}, {factor};"] if factor else []
    return text


def _made(function: MultifunctionInstruction) -> list[str]:
    """PTX of `operands`: %i to %x0, %x1."""
    if function.kind == "single":
        return ["mov.u64 %x0, %i;"]
    if function.kind == "upper":
        return ["shl.b64 %x0, %i, 32;"]
    text = ["shl.b64 %k, %i, 1;", *_mixed("%x0", "%k"), "add.u64 %k, %k, 1;", *_mixed("%w", "%k")]
    if function.kind == "pair":
        text += ["shr.u64 %x1, %x0, 32;", "and.b64 %x0, %x0, 0xFFFFFFFF;"]
    for x in ("%x0", "%x1") if function.kind == "pair" else ("%x0",):
        text += ["and.b64 %k, %w, 15;", "shl.b64 %k, %k, 3;", f"mov.u64 %a, keep{function.width};"]
        text += [
            "add.u64 %a, %a, %k;",
            "ld.const.u64 %t, [%a];",
            f"and.b64 {x}, {x}, %t;",
            f"mov.u64 %a, put{function.width};",
        ]
        text += ["add.u64 %a, %a, %k;", "ld.const.u64 %t, [%a];", f"or.b64 {x}, {x}, %t;", "shr.u64 %w, %w, 8;"]
    return text


def _executed(function: MultifunctionInstruction) -> list[str]:
    """PTX of the instruction: %x0, %x1 to %y."""
    sources = ["%x0", "%x1"] if function.kind == "pair" else ["%x0"]
    if function.width == 64:
        return [f"mov.b64 %d0, {sources[0]};", f"{function.instruction} %dy, %d0;", "mov.b64 %y, %dy;"]
    text = []
    for k, s in enumerate(sources):
        text += [f"cvt.u32.u64 %u{k}, {s};", f"mov.b32 %f{k}, %u{k};"]
    shown = ", ".join(f"%f{k}" for k in range(len(sources)))
    return [*text, f"{function.instruction} %fy, {shown};", "mov.b32 %u0, %fy;", "cvt.u64.u32 %y, %u0;"]


_REGISTERS = (
    ".reg .u64 %i, %k, %t, %w, %a, %x0, %x1, %y, %h, %sum, %end, %in, %out;",
    ".reg .u32 %u0, %u1;",
    ".reg .f32 %f0, %f1, %fy;",
    ".reg .f64 %d0, %dy;",
    ".reg .pred %more;",
    "mov.u32 %u0, %ctaid.x;",
    f"mul.wide.u32 %i, %u0, {THREADS};",
    "mov.u32 %u0, %tid.x;",
    "cvt.u64.u32 %t, %u0;",
    "add.u64 %i, %i, %t;",
)


def _checksums(name: str, function: MultifunctionInstruction) -> list[str]:
    """A kernel name(sums): a row of CTAs goes through a block, and adds to the block's sum."""
    return [
        f".visible .entry {name}(.param .u64 sums)",
        "{",
        *_REGISTERS,
        "ld.param.u64 %out, [sums];",
        "mov.u32 %u0, %ctaid.y;",
        "mul.wide.u32 %t, %u0, 8;",
        "add.u64 %out, %out, %t;",
        f"mul.wide.u32 %t, %u0, {BLOCK};",
        "add.u64 %i, %i, %t;",
        f"add.u64 %end, %t, {BLOCK};",
        "mov.u64 %sum, 0;",
        "loop:",
        *_made(function),
        *_executed(function),
        *_mixed("%h", "%i"),
        "add.u64 %h, %h, %y;",
        *_mixed("%w", "%h"),
        "add.u64 %sum, %sum, %w;",
        f"add.u64 %i, %i, {CTAS * THREADS};",
        "setp.lt.u64 %more, %i, %end;",
        "@%more bra loop;",
        "red.global.add.u64 [%out], %sum;",
        "ret;",
        "}",
    ]


def _sample(name: str, function: MultifunctionInstruction) -> list[str]:
    """A kernel name(in, out): a thread an answer."""
    return [
        f".visible .entry {name}(.param .u64 in, .param .u64 out)",
        "{",
        *_REGISTERS,
        "ld.param.u64 %in, [in];",
        "ld.param.u64 %out, [out];",
        "shl.b64 %t, %i, 4;",
        "add.u64 %in, %in, %t;",
        "shl.b64 %t, %i, 3;",
        "add.u64 %out, %out, %t;",
        "ld.global.u64 %x0, [%in];",
        "ld.global.u64 %x1, [%in+8];",
        *_executed(function),
        "st.global.u64 [%out], %y;",
        "ret;",
        "}",
    ]


def kernels() -> str:
    """A module with two kernels a function: blocks<k>(sums) and sample<k>(in, out)."""
    lines = list(HEAD)
    for width, special in ((32, SINGLE), (64, DOUBLE)):
        for name, mask in zip(("keep", "put"), masks(special, width), strict=True):
            lines.append(f".const .align 8 .b64 {name}{width}[16] = {{ {', '.join(map(hex, mask))} }};")
    for k, function in enumerate(FUNCTIONS):
        lines += [*_checksums(f"blocks{k}", function), *_sample(f"sample{k}", function)]
    return "\n".join([*lines, ""])
