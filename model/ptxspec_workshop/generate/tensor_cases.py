"""Kernels for forms that name a tensor map: each thread makes a map of a tensor of at most 128 bytes, which is its row in one of
the arrays. The map lies in the thread's row of the other array. A box of at most 64 bytes is copied, or reduced, at coordinates
that are in the row of `in`."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec import contracts
from ptxspec.language.forms import Form
from ptxspec_workshop.generate.cluster_kernels import SYNC

#: bytes of a box, and of the rows of shared memory in which boxes begin
BYTES, ROOM = 64, 128
#: extents of tensors and of boxes of 16 bytes a row, of elements of four bytes; of eight bytes, dimension 0 has half as many
TENSOR, BOX = (8, 2, 2, 1, 1), (4, 2, 2, 1, 1)
#: channels, then the pixels, then the images: extents, and the first and the last corner
IMAGES, LOWER, UPPER, PIXELS = {3: (4, 4, 2), 4: (4, 2, 2, 2), 5: (4, 2, 2, 2, 1)}, -1, 0, 4
#: the types of elements of a map that an operation reduces, beyond those of four bytes that all do
FURTHER = {
    "add": ("s32", "u64", "f16", "bf16", "f32"),
    "min": ("s32", "u64", "s64", "f16", "bf16"),
    "max": ("s32", "u64", "s64", "f16", "bf16"),
    "and": ("u64",),
    "or": ("u64",),
    "xor": ("u64",),
}
SIZES = contracts.tensor_limits.ELEMENTS


def rank_of(form: Form) -> int:
    return int(str(form.modifiers["dim"])[0])


def has_pixels(form: Form) -> bool:
    return "im2col" in form.mnemonic


def map_words(rank: int, pixels: bool, type: str, stores: bool) -> list[int]:
    """The words of a map, for a tensor at address 0. Pixels that are stored lie in the tensor."""
    size = SIZES[type]
    dims = list(IMAGES[rank] if pixels else TENSOR[:rank])
    dims[0] = dims[0] * 4 // size
    strides, end = [], dims[0] * size
    for dim in dims[1:]:
        strides.append(end)
        end *= dim
    many = rank - 2 if pixels else 0
    wanted = contracts.tensor_limits.WantedMap(
        type,
        0,
        dims,
        strides,
        [1] * rank,
        () if pixels else (16 // size if rank > 1 else BYTES // size, *BOX[1:rank]),
        [0 if stores else LOWER] * many,
        [UPPER] * many,
        channels=dims[0] if pixels else 0,
        pixels=PIXELS if pixels else 0,
        is_im2col=pixels,
    )
    return [int(word) for word in contracts.tensor_encoding.encoded(wanted.described())]


def box_bytes(rank: int, pixels: bool) -> int:
    """The bytes of such a box."""
    return BYTES if pixels or rank == 1 or rank > 2 else BYTES // 2


def makes_map(form: Form, type: str, tensor: str, room: str, stores: bool) -> list[str]:
    """A map of the tensor in one row is made in the other, and its generic address is in %map."""
    words = map_words(rank_of(form), has_pixels(form), type, stores)
    lines = [".reg .u64 %map, %word;", f"st.global.u64 [{room}], {tensor};"]
    lines += [f"mov.u64 %word, {word:#x}; st.global.u64 [{room}+{8 * i}], %word;" for i, word in enumerate(words) if i]
    lines.append(f"cvta.global.u64 %map, {room};")
    release = "fence.proxy.tensormap::generic.release.gpu;"
    return [*lines, release, "fence.proxy.tensormap::generic.acquire.gpu [%map], 128;", "fence.proxy.async;"]


def coordinates(form: Form, stores: bool, type: str = "u32") -> list[str]:
    """%c0, … are where the box of a thread begins, and %o0, … the offsets of its pixels, by the bits of %number."""
    rank, pixels, unit = rank_of(form), has_pixels(form), 16 // SIZES[type]
    lines = [f".reg .s32 %c<{rank}>; .reg .u16 %o<3>; .reg .u32 %bits, %number; .reg .u64 %some;"]
    lines += ["ld.global.u64 %some, [%in+120]; cvt.u32.u64 %number, %some;"]
    for d in range(rank):
        lines.append(f"shr.u32 %bits, %number, {4 * d}; and.b32 %bits, %bits, 3; cvt.s32.s32 %c{d}, %bits;")
        if d == 0:  # a box begins at a multiple of 16 bytes
            lines.append(f"mul.lo.s32 %c0, %c0, {0 if pixels else unit};")
        if pixels and 0 < d < rank - 1:  # between the corners
            lines.append(f"min.s32 %c{d}, %c{d}, 1;")
        if not stores and not pixels:
            lines.append(f"sub.s32 %c{d}, %c{d}, {unit if d == 0 else 1};")
    for i in range(3):
        lines.append(f"shr.u32 %bits, %number, {20 + i}; and.b32 %bits, %bits, 1; cvt.u16.u32 %o{i}, %bits;")
    return lines


def _operands(form: Form, **others: str) -> dict[str, str]:
    rank = rank_of(form)
    given = {"map": "%map", "c": "{" + ", ".join(f"%c{d}" for d in range(rank)) + "}", "policy": "0x1000000000000000"}
    given["offsets"] = "{" + ", ".join(f"%o{i}" for i in range(rank - 2)) + "}"
    return {o.name: (given | others)[o.name] for o in form.syntax.operands}


_ROOM = [
    f".shared .align 128 .b8 boxes[{ROOM * 8}];", ".shared .align 8 .b64 full[8];", ".reg .u32 %room, %bar, %to, %tobar;",
    "mov.u32 %room, boxes;", f"mad.lo.u32 %room, %t, {ROOM}, %room;", "mov.u32 %bar, full;",
    "mad.lo.u32 %bar, %t, 8, %bar;", "mapa.shared::cluster.u32 %to, %room, %next;",
    "mapa.shared::cluster.u32 %tobar, %bar, %next;",
]  # fmt: skip


def _brought(into: str, of: str, count: int = BYTES) -> list[str]:
    """So many bytes from one address to another, each with its state space."""
    (space, to), (source_space, source) = into.split(" "), of.split(" ")
    return [
        f"ld.{source_space}.v2.b64 {{%low, %high}}, [{source}+{at}]; st.{space}.v2.b64 [{to}+{at}], {{%low, %high}};"
        for at in range(0, count, 16)
    ]


def loads(form: Form) -> list[str]:
    """A box of the row is loaded to the CTA, to the next one, or by the first CTA of the cluster to all; or prefetched."""
    several, prefetches = "mask" in form.definition.sources, "prefetch" in form.mnemonic
    away = form.modifiers.get("ss") == "shared::cluster" and not several
    where = {"a": "[%to]", "m": "[%tobar]"} if away else {"a": "[%room]", "m": "[%bar]"}
    copy = form.written(_operands(form, mask="15", **where))
    fills = [f"st.shared.u64 [%room+{at}], 0;" for at in range(0, BYTES, 8)]
    ready = ["mbarrier.init.shared.b64 [%bar], 1;", "fence.mbarrier_init.release.cluster;", "fence.proxy.async;"]
    size = box_bytes(rank_of(form), has_pixels(form))
    expects = [f"mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {size};"]
    waits = ["WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%bar], 0;", "@!%p bra WAIT;"]
    if prefetches:
        expects, waits = [], []
    made = makes_map(form, "u32", "%in", "%out", False)
    issued = ["setp.eq.u32 %p, %rank, 0;", f"@%p {copy}"] if several else [copy]
    begun = [*_ROOM, *coordinates(form, False), *fills, *made, *ready, *expects, *SYNC, *issued, *waits, *SYNC]
    return [*begun, *_brought("global %out", "shared %room")]


def stores(form: Form, type: str = "u32") -> list[str]:
    """A box is stored to a row of `out`, which was that of `in`, or reduced there."""
    copy = form.written(_operands(form, b="[%room]"))
    fills = [
        *_brought("shared %room", "global %in"),
        *coordinates(form, True, type),
        *_brought("global %out", "global %in", 128),
    ]
    group = ["cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;"]
    return [*_ROOM, *fills, *makes_map(form, type, "%out", "%in", True), copy, *group]


def further(form: Form) -> Sequence[str]:
    """The types of elements of further cases of a form."""
    return (
        FURTHER.get(str(form.modifiers.get("op")), ())
        if form.mnemonic.startswith("cp.reduce.async.bulk.tensor")
        else ()
    )
