"""Kernels for forms that change a tensor map in memory, or that copy one.

The 128 bytes of a thread's row of `in` are its map, whatever they say: a form is asked about each bit of it. It is changed in the
thread's row of `out` or in shared memory, with each constant that the form may have. A warp copies the maps of all its threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.language.forms import Form
from ptxspec_workshop.generate.cases import CELLS, STRIDE, entry
from ptxspec_workshop.generate.cluster_kernels import BLOCK

#: threads of a warp, the CTAs of the kernels in which warps copy maps, of a warp each, and those of a cluster
WARP, WARPS, TOGETHER = 32, (4, 1, 1), (2, 1, 1)


def moved(into: str, of: str) -> list[str]:
    """A map from one address to another, each with its state space."""
    (space, to), (source_space, source) = into.split(" "), of.split(" ")
    return [
        f"ld.{source_space}.v2.b64 {{%low, %high}}, [{source}+{at}]; st.{space}.v2.b64 [{to}+{at}], {{%low, %high}};"
        for at in range(0, STRIDE, 16)
    ]


def changes(form: Form) -> list[str]:
    """Fields of a map are replaced. A generic address is in shared memory for every second thread."""
    space = str(form.modifiers.get("ss") or "generic")
    lines = [
        f".shared .align 128 .b8 maps[{STRIDE * BLOCK}];", ".reg .u32 %map; .reg .u64 %at, %value; .reg .b32 %part;",
        "mov.u32 %map, maps;", f"mad.lo.u32 %map, %t, {STRIDE}, %map;", *moved("global %out", "global %in"),
        *moved("shared %map", "global %in"), *_address(space), *_replaced(form),
    ]  # fmt: skip
    leaves = {
        "global": [],
        "shared::cta": moved("global %out", "shared %map"),
        "generic": ["@%p bra KEPT;", *moved("global %out", "shared %map"), "KEPT:"],
    }
    return [*lines, *_is_even(), *leaves[space]]


def _is_even() -> list[str]:
    """%p says whether the thread's number is even."""
    return ["and.b32 %a, %t, 1; setp.eq.u32 %p, %a, 0;"]


def _address(space: str) -> list[str]:
    """%at is the address of the map."""
    match space:
        case "global":
            return ["mov.u64 %at, %out;"]
        case "shared::cta":
            return ["cvt.u64.u32 %at, %map;"]
    return [
        "cvt.u64.u32 %at, %map; cvta.shared.u64 %at, %at; cvta.global.u64 %value, %out;",
        *_is_even(),
        "selp.b64 %at, %value, %at, %p;",
    ]


def _replaced(form: Form) -> list[str]:
    """The form with each constant, of which a thread takes one that it may choose, with values of all magnitudes."""
    name = next((o.name for o in form.syntax.operands if o.name in ("ord", "number")), None)
    constants = list(form.definition.constants(name, form.modifiers) or ()) if name else [0]
    if name == "number":
        lines = [f"rem.u32 %b, %row, {len(constants)};"]
        for i, number in enumerate(constants):
            lines += [f"setp.eq.u32 %p, %b, {i};", f"@%p {form.written({'a': '[%at]', 'number': str(number)})}"]
        return lines
    value = "%value" if form.modifiers["type"].width == 64 else "%part"
    lines = []
    for i, number in enumerate(constants):
        lines += [*_value(i), form.written(_operands(form, value, number))]
    return lines


def _operands(form: Form, value: str, number: int) -> dict[str, str]:
    written = {"a": "[%at]", "value": value, "ord": str(number)}
    return {o.name: written[o.name] for o in form.syntax.operands}


def _value(cell: int) -> list[str]:
    """%value and its lower half %part: of a cell of the row, with fewer bits the greater the thread's number; in a CTA, the
    numbers from -1 to 2."""
    return [
        f"ld.global.u64 %value, [%in+{8 * (cell % CELLS)}]; shl.b32 %a, %t, 3; shr.u64 %value, %value, %a;",
        "setp.eq.u32 %p, %rank, 3;",
        "@%p and.b64 %value, %value, 3;",
        "@%p sub.u64 %value, %value, 1;",
        "cvt.u32.u64 %part, %value;",
    ]


def copies(form: Form, name: str) -> str:
    """A kernel in whose CTAs, of one warp each, the warp copies a map for each of its threads."""
    lines = [
        ".reg .u64 %in, %out, %low, %high; .reg .u32 %t, %row, %map;", f".shared .align 128 .b8 maps[{STRIDE * WARP}];",
        "ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "mov.u32 %t, %tid.x;",
        f"mov.u32 %row, %ctaid.x; mul.lo.u32 %row, %row, {WARP}; mad.wide.u32 %out, %row, {STRIDE}, %out;",
        f"add.u32 %row, %row, %t; mad.wide.u32 %in, %row, {STRIDE}, %in;",
        "mov.u32 %map, maps;", f"mad.lo.u32 %map, %t, {STRIDE}, %map;", *moved("shared %map", "global %in"),
        "mov.u32 %map, maps;", "bar.warp.sync -1;",
    ]  # fmt: skip
    return entry(name, [*lines, *_copied(form), "ret;"])


def _copied(form: Form) -> Sequence[str]:
    places = range(0, STRIDE * WARP, STRIDE)
    return [form.written({"a": f"[%out+{at}]", "b": f"[%map+{at}]", "size": str(STRIDE)}) for at in places]
