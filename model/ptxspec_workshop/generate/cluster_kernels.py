"""Kernels that reach another CTA of their cluster: accesses to its shared memory, the addresses for them, the barrier of a
cluster, and its special registers.

They have the parameters of all cases (cases.py); rows belong to the threads of the whole grid, CTA by CTA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptxspec.evidence.kernels.instruction_kernels import (
    kernel,
)
from ptxspec.language.forms import Form
from ptxspec.terms.effects import ClusterWait, Load, Store, Update
from ptxspec_workshop.generate.cases import STRIDE, entry

#: CTAs of the grid and of a cluster, and threads of a CTA, where a case says no other
GRID, CLUSTER, BLOCK = (8, 1, 1), (4, 1, 1), 8
#: the name that modifiers and effects have for the shared memory of a cluster
SPACE = "shared::cluster"
SYNC = ("barrier.cluster.arrive;", "barrier.cluster.wait;")


def in_space(form: Form) -> bool:
    return form.modifiers.get("space") == SPACE


def entry_in_clusters(name: str, lines: Sequence[str]) -> str:
    """A kernel in which %mine and %wide are the shared and the generic address of the thread's own sixteen bytes, and %there and
    %far those of the sixteen bytes of the thread of the same number in the next CTA of the cluster."""
    every = [
        ".reg .u64 %in, %out, %wide, %far, %low, %high;",
        ".reg .u32 %t, %row, %mine, %there, %rank, %next, %a, %b;",
        ".reg .pred %p;",
        f".shared .align 16 .b8 cell[{16 * BLOCK}];",
        "ld.param.u64 %in, [in];",
        "ld.param.u64 %out, [out];",
        "mov.u32 %t, %tid.x;",
        f"mov.u32 %row, %ctaid.x; mad.lo.u32 %row, %row, {BLOCK}, %t;",
        f"mad.wide.u32 %in, %row, {STRIDE}, %in;",
        f"mad.wide.u32 %out, %row, {STRIDE}, %out;",
        "mov.u32 %rank, %cluster_ctarank;",
        "mov.u32 %next, %cluster_nctarank;",
        "add.u32 %a, %rank, 1;",
        "rem.u32 %next, %a, %next;",
        "mov.u32 %mine, cell;",
        "mad.lo.u32 %mine, %t, 16, %mine;",
        "cvt.u64.u32 %wide, %mine;",
        "cvta.shared.u64 %wide, %wide;",
        "mapa.shared::cluster.u32 %there, %mine, %next;",
        "mapa.u64 %far, %wide, %next;",
        *lines,
        *SYNC,
        "ret;",
    ]
    return entry(name, every)


#: each thread's own bytes begin as those of its row
_FILLED = ("ld.global.v2.b64 {%low, %high}, [%in];", "st.shared.v2.b64 [%mine], {%low, %high};", *SYNC)


def _written(form: Form, count: int, type: Any) -> tuple[str, list[str]]:
    """(the instruction, its registers): an access at the address in the next CTA"""
    registers = [f"%x{i}" for i in range(count)]
    vector = "{" + ", ".join(registers) + "}" if form.modifiers.get("vec") else registers[0]
    address = "[%there]" if form.modifiers.get("ss") == SPACE else "[%far]"
    operands = {o.name: address if o.memory else vector for o in form.syntax.operands}
    return form.written(operands), [f".reg .b{type.width} %x<{count}>;", *registers]


def load_lines(form: Form, effect: Load) -> list[str]:
    type = effect.type
    access, (declared, *registers) = _written(form, effect.count, type)
    kept = [f"st.global.b{type.width} [%out+{8 * i}], {r};" for i, r in enumerate(registers)]
    return [declared, *_FILLED, access, *kept]


def store_lines(form: Form, effect: Store) -> list[str]:
    type = effect.type
    access, (declared, *registers) = _written(form, effect.count, type)
    taken = [f"ld.global.b{type.width} {r}, [%in+{8 * i}];" for i, r in enumerate(registers)]
    blank = ["mov.b64 %low, 0xa5a5a5a5a5a5a5a5;", "st.shared.v2.b64 [%mine], {%low, %low};"]
    kept = ["ld.shared.v2.b64 {%low, %high}, [%mine];", "st.global.v2.b64 [%out], {%low, %high};"]
    return [declared, *taken, *blank, *SYNC, access, *SYNC, *kept]


def update_text(form: Form, effect: Update, name: str) -> str:
    """The operands come first in a row, then what stands in the own bytes before; the result comes first, then what stands there
    after another CTA's update."""
    updating = kernel(form, name)
    type = effect.type
    inputs, gives = updating.inputs[:-1], len(updating.outputs) > 1
    registers = [f"%x{i}" for i in range(len(inputs))]
    address = "[%there]" if form.modifiers.get("ss") == SPACE else "[%far]"
    sources = iter(registers)
    operands = {o.name: address if o.memory else "%d" if o.name == "d" else next(sources) for o in form.syntax.operands}
    lines = [
        f".reg .b{type.width} %d, %old;",
        *(f".reg .b{t.width} {r};" for t, r in zip(inputs, registers, strict=True)),
        *(f"ld.global.b{t.width} {r}, [%in+{8 * i}];" for i, (t, r) in enumerate(zip(inputs, registers, strict=True))),
        f"ld.global.b{type.width} %old, [%in+{8 * len(inputs)}];",
        f"st.shared.b{type.width} [%mine], %old;",
        *SYNC,
        form.written(operands),
        *([f"st.global.b{type.width} [%out], %d;"] if gives else []),
        *SYNC,
        f"ld.shared.b{type.width} %old, [%mine];",
        f"st.global.b{type.width} [%out+8], %old;",
    ]
    return entry_in_clusters(name, lines)


# addresses -----------------------------------------------------------------------------------------------------------


def _address(form: Form) -> dict[str, str]:
    """Operands that are the address of the thread's own bytes, or, where a variable is asked for, of the first thread's."""
    wide = form.modifiers["type"].width == 64
    if "avar" in form.definition.sources:
        place = next(o for o in form.syntax.operands if o.name == "avar")
        return {"avar": "cell+4" if place.offset else "cell"}
    return {"a": ("%narrow" if wide else "%mine") if in_space(form) else "%wide"}


def _mapped(form: Form) -> list[str]:
    """What stands at an address in each CTA of the cluster, by which of them it is, added up with its rank."""
    wide, space = form.modifiers["type"].width == 64, f"{SPACE}." if in_space(form) else ""
    type = "u64" if wide else "u32"
    lines = [f".reg .{type} %to;", ".reg .u64 %narrow;", "cvt.u64.u32 %narrow, %mine;", *_FILLED]
    for rank in range(CLUSTER[0]):
        lines += [
            f"mov.u32 %a, {rank};",
            form.written({"d": "%to", "b": "%a", **_address(form)}),
            f"ld.{space}u32 %a, [%to];",
            f"getctarank.{space}{type} %b, %to;",
            f"st.global.v2.u32 [%out+{8 * rank}], {{%a, %b}};",
        ]
    return lines


def _ranked(form: Form) -> list[str]:
    """The rank of the own address and, where a register holds it, of the one in the next CTA; less the rank of the thread."""
    wide = form.modifiers["type"].width == 64
    lines = [".reg .u64 %narrow;", "cvt.u64.u32 %narrow, %mine;", form.written({"d": "%a", **_address(form)})]
    lines.append("mov.u32 %b, 0;")
    if "a" in form.definition.sources:
        lines += ["cvt.u64.u32 %narrow, %there;"] if wide and in_space(form) else []
        other = ("%narrow" if wide else "%there") if in_space(form) else "%far"
        lines.append(form.written({"d": "%b", "a": other}))
    return [*lines, "st.global.v4.u32 [%out], {%a, %b, %rank, %next};"]


ADDRESSES: dict[str, Callable[[Form], list[str]]] = {"mapa": _mapped, "getctarank": _ranked}


# the barrier and the registers ---------------------------------------------------------------------------------------


def barrier_lines(form: Form) -> list[str]:
    """A value goes round the cluster, and meets the barrier in the form asked about every time. What an arrival does not order, a
    fence does."""
    waits = isinstance(form.meaning().effect, ClusterWait)
    instruction = form.written({})
    pair = ["barrier.cluster.arrive;", instruction] if waits else ["fence.acq_rel.cluster;", instruction, SYNC[1]]
    hands_on = [*pair, "st.shared::cluster.u32 [%there], %a;", *pair, "ld.shared.u32 %a, [%mine];"]
    early = ["setp.eq.u32 %p, %t, 0;", "@%p bra leaves;"] if not form.modifiers.get("aligned") else []
    # in the end one thread of each CTA leaves before the others meet for the last time
    return ["ld.global.u32 %a, [%in];", *hands_on, *hands_on, *hands_on, "st.global.u32 [%out], %a;", *early, *pair,
            "st.global.u32 [%out+8], %rank;", "bra stays;", "leaves: ret;", "stays:"]  # fmt: skip


_SPECIAL = [f"%{r}.{c}" for r in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for c in "xyzw"]
_SPECIAL += ["%cluster_ctarank", "%cluster_nctarank"]


def registers_text(name: str) -> str:
    lines = [
        ".reg .u64 %out;",
        ".reg .u32 %a, %b, %row;",
        ".reg .pred %p;",
        "ld.param.u64 %out, [out];",
        "mov.u32 %row, %ctaid.z; mov.u32 %a, %nctaid.y; mov.u32 %b, %ctaid.y; mad.lo.u32 %row, %row, %a, %b;",
        "mov.u32 %a, %nctaid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %row, %row, %a, %b;",
        f"mad.wide.u32 %out, %row, {STRIDE}, %out;",
        *(f"mov.u32 %a, {r}; st.global.u32 [%out+{4 * i}], %a;" for i, r in enumerate(_SPECIAL)),
        "mov.pred %p, %is_explicit_cluster; selp.u32 %a, 1, 0, %p;",
        f"st.global.u32 [%out+{4 * len(_SPECIAL)}], %a;",
        "ret;",
    ]
    return entry(name, lines)
