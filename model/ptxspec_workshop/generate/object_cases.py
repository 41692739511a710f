"""Cases for objects in memory and the operations that complete on them: mbarriers, bulk copies, copies of boxes, asynchronous
stores.

A form has a kernel in clusters of four CTAs of eight threads (cluster_kernels.py). An operation on an mbarrier stands in a kernel
that executes scripts (object_scripts.py), in place of the usual one. A copy is of 64 bytes: of a thread's row, to shared memory
of its CTA or of the next, and from there to `out`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from ptxspec.language.forms import Form
from ptxspec_workshop.generate import map_cases, tensor_cases
from ptxspec_workshop.generate.cases import CELLS, blank_rows
from ptxspec_workshop.generate.cluster_cases import ClusterCase
from ptxspec_workshop.generate.cluster_kernels import BLOCK, GRID, SPACE, SYNC, entry_in_clusters
from ptxspec_workshop.generate.object_scripts import (
    ARRIVE,
    ARRIVE_EXPECT,
    COMPLETE,
    COUNT,
    DROP,
    DROP_EXPECT,
    DROP_INCOMPLETE,
    EXPECT,
    FOUND,
    INCOMPLETE,
    INIT,
    INVAL,
    STEPS_ELSEWHERE,
    TEST,
    TEST_PARITY,
    script_lines,
    scripts,
)

SEED = "objects"
#: threads of a case, and bytes of a copy
THREADS, BYTES = GRID[0] * BLOCK, 64
#: by the names of definitions the operation of a script that a form is
OPERATIONS: dict[str, int] = {
    "mbarrier_init": INIT, "mbarrier_inval": INVAL, "mbarrier_arrive": ARRIVE, "mbarrier_arrive_drop": DROP,
    "mbarrier_arrive_expect_tx": ARRIVE_EXPECT, "mbarrier_arrive_drop_expect_tx": DROP_EXPECT,
    "mbarrier_arrive_no_complete": INCOMPLETE, "mbarrier_arrive_drop_no_complete": DROP_INCOMPLETE,
    "mbarrier_expect_tx": EXPECT, "mbarrier_complete_tx": COMPLETE, "mbarrier_test_wait": TEST, "mbarrier_try_wait": TEST,
    "mbarrier_test_wait_parity": TEST_PARITY, "mbarrier_try_wait_parity": TEST_PARITY, "mbarrier_pending_count": COUNT,
}  # fmt: skip
#: what other operations are on an object in another CTA
ELSEWHERE = {
    ARRIVE: "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%there], %x;",
    DROP: "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%there], %x;",
    ARRIVE_EXPECT: "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%there], %x;",
    DROP_EXPECT: "mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%there], %x;",
    EXPECT: "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%there], %x;",
    COMPLETE: "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%there], %x;",
}


def asks(form: Form) -> bool:
    """Whether the form is asked about here."""
    return any(form.definition.name in kernels for kernels in (OPERATIONS, COPIES, MAPS))


def cases(forms: Iterable[Form]) -> list[ClusterCase]:
    """The cases of some forms."""
    return [case_of(form) for form in forms if asks(form)]


#: how many cases have scripts of the usual operations, in a thread's own CTA and in the next
OWN_SCRIPTS, SCRIPTS_ELSEWHERE = 40, 20


def more(forms: Iterable[Form]) -> list[ClusterCase]:
    """Cases beyond those of forms: scripts, and copies of 0 to 48 bytes by forms that say how many."""
    result = []
    for number in range(OWN_SCRIPTS + SCRIPTS_ELSEWHERE):
        elsewhere = number >= OWN_SCRIPTS
        lines = _elsewhere({}) if elsewhere else script_lines({})
        rows = scripts(THREADS, (), elsewhere, f"{SEED} {number}")
        result.append(_case(f"scripts {number}{' from another CTA' if elsewhere else ''}", lines, rows, CELLS))
    for form in forms:
        if form.definition.name in COPIES and "size" in form.definition.sources:
            lines = [_SOME if line == _ALL else line for line in COPIES[form.definition.name](form)]
            result.append(_case(f"{form} of some bytes", lines, _cells(), BYTES // 8))
        for type in tensor_cases.further(form):
            result.append(_case(f"{form} of {type}", tensor_cases.stores(form, type), _cells(), CELLS))
    return result


def _case(name: str, lines: Sequence[str], cells: np.ndarray, most: int) -> ClusterCase:
    return ClusterCase(name, lambda entry: entry_in_clusters(entry, lines), name, cells, most=most)


def case_of(form: Form) -> ClusterCase:
    """The case of a form."""
    name = form.definition.name
    if name in MAPS:
        return MAPS[name](form)
    if name not in OPERATIONS:
        copy = COPIES[name]
        lines, cells, most = copy(form), _cells(), CELLS if copy is tensor_cases.stores else BYTES // 8
    else:
        lines, cells, most = *_scripted(form, OPERATIONS[name]), CELLS
    return _case(str(form), lines, cells, most)


@cache
def _cells(threads: int = THREADS) -> np.ndarray:
    source, data = random.Random(SEED), blank_rows(threads)
    data[:] = [[source.getrandbits(64) for _ in range(CELLS)] for _ in data]
    return data


# scripts ----------------------------------------------------------------------------------------------------------------


def _scripted(form: Form, operation: int) -> tuple[list[str], np.ndarray]:
    """The lines of a kernel whose scripts use the form, and the scripts."""
    elsewhere = form.modifiers.get("ss") == SPACE
    address = "[%there]" if elsewhere else "[%mine]" if form.modifiers.get("ss") else "[%wide]"
    operands = {"a": address, "hint": "%hint", "state": "%state", "d": "%state", "p": "%p", "_": "_"}
    if operation == COUNT:
        operands["d"] = "%x"
    written = {o.name: operands.get(o.name, "%x") for o in form.syntax.operands}
    rows = scripts(THREADS, (operation,), elsewhere)
    if not elsewhere:
        return script_lines({operation: form.written(written)}), rows
    return _elsewhere({operation: form.written(written)}), rows


def _elsewhere(instructions: Mapping[int, str]) -> list[str]:
    """The lines of a kernel whose threads execute scripts on objects in the next CTA; some operations are these."""
    begins = [f"mbarrier.init.shared.b64 [%mine], {FOUND};", "fence.mbarrier_init.release.cluster;", *SYNC]
    taken = script_lines({**ELSEWHERE, **instructions}, STEPS_ELSEWHERE)
    ends = ["mbarrier.test_wait.parity.shared.b64 %p, [%mine], 0;", "selp.u64 %given, 1, 0, %p;"]
    ends += ["st.global.u64 [%out], %given;", "mbarrier.inval.shared.b64 [%mine];", "ld.shared.u64 %given, [%mine];"]
    return [*begins, *taken, *SYNC, *ends, "st.global.u64 [%out+8], %given;"]


# copies -----------------------------------------------------------------------------------------------------------------

#: how many bytes are copied: all, or as many as the number of the thread says
_ALL = f"mov.u32 %size, {BYTES};"
_SOME = "and.b32 %size, %t, 3; shl.b32 %size, %size, 4;"
_ROOM = [
    f".shared .align 16 .b8 room[{BYTES * BLOCK}];", f".shared .align 16 .b8 other[{BYTES * BLOCK}];",
    f".shared .align 8 .b64 bars[{BLOCK}];", ".reg .u32 %room, %other, %bar, %to, %tobar, %size;",
    "mov.u32 %room, room;", f"mad.lo.u32 %room, %t, {BYTES}, %room;", "mov.u32 %other, other;",
    f"mad.lo.u32 %other, %t, {BYTES}, %other;", "mov.u32 %bar, bars;", "mad.lo.u32 %bar, %t, 8, %bar;",
    "mapa.shared::cluster.u32 %to, %room, %next;", "mapa.shared::cluster.u32 %tobar, %bar, %next;",
    _ALL,
]  # fmt: skip
_WAIT = [
    "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%bar], 0;", "@!%p bra WAIT;",
]  # fmt: skip


def _moved(to: str, of: str, begin: int = 0) -> list[str]:
    """64 bytes from one address to another, each with its state space; from `in`, from a cell on."""
    (into, address), (space, source) = to.split(" "), of.split(" ")
    lines = []
    for at in range(0, BYTES, 16):
        lines += [
            f"ld.{space}.v2.b64 {{%low, %high}}, [{source}+{at + 8 * begin}];",
            f"st.{into}.v2.b64 [{address}+{at}], {{%low, %high}};",
        ]
    return lines


def _awaited(count: int | str = "%size") -> list[str]:
    """A thread's mbarrier, which is told to expect so many bytes."""
    return [
        "mbarrier.init.shared.b64 [%bar], 1;", "fence.mbarrier_init.release.cluster;", "fence.proxy.async;",
        f"mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {count};",
    ]  # fmt: skip


def _written(form: Form, **operands: str) -> str:
    return form.written({o.name: operands[o.name] for o in form.syntax.operands})


def _to_shared(form: Form) -> list[str]:
    """A copy of the row to the thread's own CTA or to the next one; or by the first CTA of the cluster to all."""
    stays = form.modifiers.get("ss") != SPACE and "mask" not in form.definition.sources
    to = (
        {"a": "[%room]", "m": "[%bar]"}
        if stays or "mask" in form.definition.sources
        else {"a": "[%to]", "m": "[%tobar]"}
    )
    copy = _written(form, b="[%in]", size="%size", mask="15", **to)
    if "mask" in form.definition.sources:
        copy = f"@%p {copy}"
    first = ["setp.eq.u32 %p, %rank, 0;"]
    fills = _moved("shared %room", "global %in", BYTES // 8)
    return [*_ROOM, *fills, *_awaited(), *SYNC, *first, copy, *_WAIT, *_moved("global %out", "shared %room")]


def _within_cluster(form: Form) -> list[str]:
    """A copy from a thread's shared memory to that of the next CTA, or a reduction there."""
    fills = [*_moved("shared %room", "global %in"), *_moved("shared %other", "global %in", BYTES // 8)]
    copy = _written(form, a="[%to]", b="[%other]", size="%size", m="[%tobar]")
    return [*_ROOM, *fills, *_awaited(), *SYNC, copy, *_WAIT, *_moved("global %out", "shared %room")]


_GROUP = ["cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;"]


def _to_global(form: Form) -> list[str]:
    """A copy from shared memory to `out`, or a reduction there."""
    fills = [*_moved("global %out", "global %in"), *_moved("shared %other", "global %in", BYTES // 8)]
    copy = _written(form, a="[%out]", b="[%other]", size="%size")
    return [*_ROOM, *fills, "fence.proxy.async;", copy, *_GROUP]


def _group(form: Form) -> list[str]:
    """A copy to `out`, with this form where its group ends or is waited for. Where its source has been read, it is
    overwritten."""
    fills = _moved("shared %other", "global %in")
    copy = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%other], 64;"
    commit, wait = _GROUP
    if form.definition.name == "cp_async_bulk_commit_group":
        return [*_ROOM, *fills, "fence.proxy.async;", copy, form.written({}), wait]
    asked = _written(form, n="0")
    again = [*_moved("shared %other", "global %in", BYTES // 8), wait] if form.modifiers.get("read") else []
    return [*_ROOM, *fills, "fence.proxy.async;", copy, commit, asked, *again]


def _prefetched(form: Form) -> list[str]:
    """A prefetch of the row, which changes nothing."""
    return [_written(form, b="[%in]", size=str(BYTES)), *_moved("global %out", "global %in")]


def _arrival_of_copies(form: Form) -> list[str]:
    """An arrival that follows copies of a thread."""
    address = "[%bar]" if form.modifiers.get("ss") else "[%wide]"
    lines = [*_ROOM, "cvt.u64.u32 %wide, %bar;", "cvta.shared.u64 %wide, %wide;", "mbarrier.init.shared.b64 [%bar], 1;"]
    for at in range(0, BYTES, 16):
        lines.append(f"cp.async.cg.shared.global [%room+{at}], [%in+{at}], 16;")
    lines.append(_written(form, a=address))
    if not form.modifiers.get("noinc"):
        lines.append("mbarrier.arrive.shared.b64 _, [%bar];")
    return [*lines, *_WAIT, *_moved("global %out", "shared %room")]


def _carried(form: Form) -> list[str]:
    """A store or a reduction in the memory of the next CTA, of a value that the thread has."""
    type, vec = form.modifiers["type"], form.modifiers.get("vec")
    count = int(vec[1:]) if vec else 1
    generic = not form.modifiers.get("ss")
    names = [f"%v{i}" for i in range(count)]
    lines = [*_ROOM, f".reg .b{type.width} %v<{count}>;", ".reg .u64 %far2, %farbar;"]
    lines += ["cvt.u64.u32 %far2, %to;", "cvta.shared::cluster.u64 %far2, %far2;"]
    lines += ["cvt.u64.u32 %farbar, %tobar;", "cvta.shared::cluster.u64 %farbar, %farbar;"]
    lines += [f"ld.global.b{type.width} {n}, [%in+{64 + 8 * i}];" for i, n in enumerate(names)]
    value = "{" + ", ".join(names) + "}" if vec else names[0]
    to = {"a": "[%far2]", "m": "[%farbar]"} if generic else {"a": "[%to]", "m": "[%tobar]"}
    fills = [*_moved("shared %room", "global %in"), *_awaited(count * type.bytes), *SYNC]
    return [*lines, *fills, _written(form, b=value, **to), *_WAIT, *_moved("global %out", "shared %room")]


#: by the names of definitions what the lines of a kernel are
COPIES: dict[str, Callable[[Form], Sequence[str]]] = {
    "cp_async_bulk": _to_shared, "cp_async_bulk_multicast": _to_shared, "cp_async_bulk_within_cluster": _within_cluster,
    "cp_async_bulk_to_global": _to_global, "cp_async_bulk_commit_group": _group, "cp_async_bulk_wait_group": _group,
    "cp_reduce_async_bulk": _to_global, "cp_reduce_async_bulk_within_cluster": _within_cluster,
    "cp_async_bulk_prefetch": _prefetched, "cp_async_mbarrier_arrive": _arrival_of_copies,
    "st_async": _carried, "red_async": _carried,
    **{f"cp_async_bulk_tensor{what}": tensor_cases.loads for what in ("", "_im2col", "_multicast", "_im2col_multicast")},
    "cp_async_bulk_prefetch_tensor": tensor_cases.loads, "cp_async_bulk_prefetch_tensor_im2col": tensor_cases.loads,
    "cp_async_bulk_tensor_to_global": tensor_cases.stores, "cp_async_bulk_tensor_pixels_to_global": tensor_cases.stores,
    "cp_reduce_async_bulk_tensor": tensor_cases.stores, "cp_reduce_async_bulk_tensor_pixels": tensor_cases.stores,
}  # fmt: skip


# tensor maps ------------------------------------------------------------------------------------------------------------


def _changed_map(form: Form) -> ClusterCase:
    lines = map_cases.changes(form)
    return _case(str(form), lines, _cells(), CELLS)._replace(target="sm_90a")


def _copied_map(form: Form) -> ClusterCase:
    grid, threads = map_cases.WARPS, map_cases.WARPS[0] * map_cases.WARP
    asked = _case(str(form), [], _cells(threads), CELLS)
    return asked._replace(
        written=lambda name: map_cases.copies(form, name), grid=grid, cluster=map_cases.TOGETHER, block=map_cases.WARP
    )


#: by the names of definitions the case of a form
MAPS: dict[str, Callable[[Form], ClusterCase]] = {
    **{f"tensormap_replace_{field}": _changed_map for field in ("address", "rank", "extent", "stride", "number")},
    "tensormap_cp_fenceproxy": _copied_map,
}
