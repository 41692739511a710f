"""Kernels for textures and surfaces: a module with one entry for each case."""

from __future__ import annotations

import re

from ptxspec_workshop.generate.image_cases import COUNT, DIRECTIONS, ImageCase, QueryCase, SurfaceCase, TextureCase
from ptxspec_workshop.generate.image_operands import rows_of


def kernel_text(case: ImageCase) -> str:
    """A module with one entry, k(image, rows, out, count)."""
    mode = ""
    if isinstance(case, QueryCase):
        body, mode = _query(case), ", texmode_independent" if case.asks_sampler else ""
    else:
        body = _lookup(case) if isinstance(case, TextureCase) else _access(case)
    return f""".version 9.0
.target sm_90{mode}
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 rows, .param .u64 out, .param .u32 count)
{{
  .reg .pred %p, %q;
  .reg .b64 %image, %rows, %out, %d<8>;
  .reg .b32 %i, %n, %t, %x<16>, %y<8>;
  .reg .b16 %h<8>;
  ld.param.u64 %image, [image];
  ld.param.u64 %rows, [rows];
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [count];
{body}
done:
  ret;
}}
"""


def _words(count: int) -> str:
    return "\n".join(f"  ld.global.b32 %x{i}, [%rows+{4 * i}];" for i in range(count))


def _coordinates(count: int, first: int = 0) -> str:
    """So many of %x0, %x1, … in braces, or of those from a later one on; there are no braces of three."""
    names = [f"%x{first + i}" for i in range(count)]
    return "{" + ", ".join(names + names[-1:] * (count == 3)) + "}"


def row_words(case: ImageCase) -> int:
    """Words of a row."""
    return int(rows_of(case).shape[1])


def _lookup(case: TextureCase) -> str:
    count, size, words = COUNT[case.geometry], DIRECTIONS[case.geometry], row_words(case)
    type = "s32" if case.whole else "f32"
    more, at = [], count
    if case.mode == "level":
        more.append(f"%x{at}")
        at += 1
    elif case.mode == "grad":
        more += [_coordinates(size, at), _coordinates(size, at + size)]
        at += 2 * size
    if case.offset:
        more.append(_coordinates(size, at))
        at += size
    if case.reference:
        more.append(f"%x{at}")
    opcode = f"tld4.{case.component}" if case.component else f"tex{'.' + case.mode if case.mode else ''}"
    name = case.spelling or f"{opcode}.{case.geometry}.v4.{case.gives}.{type}"
    written, after = _written(name)
    resident = "|%q" if case.resident else ""
    if case.resident:
        after += "  selp.b32 %y3, 1, 0, %q;\n"
    place = ", ".join([f"[%image, {_coordinates(count)}]", *more])
    return f"""{_row_of_thread(words, 16)}
{_words(words)}
  {name} {written}{resident}, {place};
{after}  st.global.v4.b32 [%out], {{%y0, %y1, %y2, %y3}};"""


def _row_of_thread(words: int, bytes_left: int) -> str:
    """A thread has a row of so many words, and leaves so many bytes."""
    return f"""  mov.u32 %i, %ctaid.x;
  mov.u32 %t, %ntid.x;
  mad.lo.u32 %i, %i, %t, 0;
  mov.u32 %t, %tid.x;
  add.u32 %i, %i, %t;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mad.wide.u32 %rows, %i, {4 * words}, %rows;
  mad.wide.u32 %out, %i, {bytes_left}, %out;"""


def _query(case: QueryCase) -> str:
    before = f"{_words(1)}\n" if case.names_level else ""
    place = "[%image], %x0" if case.names_level else "[%image]"
    return f"""{_row_of_thread(1, 4)}
{before}  {case.spelling} %y0, {place};
  st.global.b32 [%out], %y0;"""


def _written(name: str) -> tuple[str, str]:
    """The destination of a lookup, and what brings it to %y0 … %y3."""
    rest = "  mov.b32 %y2, 0;\n  mov.b32 %y3, 0;\n"
    if ".f16x2." in name:
        return "{%y0, %y1}", rest
    if ".f16." in name:
        return "{%h0, %h1, %h2, %h3}", f"  mov.b32 %y0, {{%h0, %h1}};\n  mov.b32 %y1, {{%h2, %h3}};\n{rest}"
    return "{%y0, %y1, %y2, %y3}", ""


def _access(case: SurfaceCase) -> str:
    words, count = row_words(case), COUNT[case.geometry]
    bits, vector = int(case.type[1:]), case.vector
    register = {8: "%h", 16: "%h", 32: "%y", 64: "%d"}[bits]
    elements = [f"{register}{i}" for i in range(vector)]
    value = "{" + ", ".join(elements) + "}" if vector > 1 else elements[0]
    place = f"[%image, {_coordinates(count)}]"
    shape = f"{'.v' + str(vector) if vector > 1 else ''}.{case.type}.{case.outside}"
    before, after = "", ""
    if case.access == "suld.b":
        name = case.spelling or f"suld.b.{case.geometry}{shape}"
        instruction = f"{name} {value}, {place};"
        size = max(bits, 8)
        after = "\n".join(f"  st.global.b{size} [%out+{8 * i}], {e};" for i, e in enumerate(elements))
    else:
        for i, element in enumerate(elements):
            source = f"%x{count + i * max(1, bits // 32)}"
            if bits == 64:
                source = f"{{{source}, %x{count + 2 * i + 1}}}"
            convert = "cvt.u16.u32" if bits < 32 else f"mov.b{bits}"
            before += f"  {convert} {element}, {source};\n"
        beginning = f"{case.access}.{case.operation}." if case.operation else f"{case.access}."
        instruction = f"{case.spelling or beginning + case.geometry + shape} {place}, {value};"
    return f"""  mov.u32 %i, 0;
again:
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
{_words(words)}
{before}  {instruction}
{after}
  add.u64 %rows, %rows, {4 * words};
  add.u64 %out, %out, 32;
  add.u32 %i, %i, 1;
  bra again;"""


_INSTRUCTION = re.compile(r"^ *(\S+) [^;]*\[%image", re.M)


def mnemonic(case: ImageCase) -> str:
    """The spelling of the instruction that the case's kernel has."""
    match = _INSTRUCTION.search(kernel_text(case))
    assert match is not None, case
    return match[1]
