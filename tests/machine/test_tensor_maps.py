"""Tensor maps as arguments and in memory, and the instructions that change and copy them, under both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import ENGINES

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check

pytestmark = pytest.mark.sample(4)

HEADER = ".version 8.3 .target sm_90a .address_size 64\n"
READS = f"""{HEADER}
.visible .entry reads(.param .align 64 .b8 map[128], .param .u64 out) {{
    .reg .b64 a, o, w<16>;
    ld.param.u64 o, [out];
    {" ".join(f"ld.param.u64 w{i}, [map+{8 * i}]; st.global.u64 [o+{8 * i}], w{i};" for i in range(16))}
    ld.global.u16 a, [w0];
    add.u64 a, a, 1;
    st.global.u16 [w0], a;
    ret;
}}"""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def given(tensor: Any, engine: str, **how: Any) -> bytes:
    """The 128 bytes that a kernel finds, which adds 1 to the first two bytes of the tensor."""
    out = np.zeros(128, np.uint8)
    ptxspec.load(READS).launch("reads", args=[tensor, out], engine=engine, **how)
    return out.tobytes()


def test_an_array_has_an_address_in_the_launch(engine: str) -> None:
    array = np.zeros((4, 6, 64), np.float16)
    data = given(ptxspec.TensorMap(array, box=(64, 3, 2), swizzle="128B", element_strides=(1, 2, 1)), engine)
    address = int.from_bytes(data[:8], "little")
    of = ptxspec.TensorMap(address, (64, 3, 2), (128, 768), (1, 2, 1), dims=(64, 6, 4), type="f16", swizzle="128B")
    assert data == of.encode() and address
    assert array.view(np.uint16)[0, 0, 0] == 1 and not array.view(np.uint16).ravel()[1:].any()


def test_one_array_may_be_the_tensor_of_several_maps_and_an_argument(engine: str) -> None:
    text = f"""{HEADER}
    .visible .entry same(.param .align 64 .b8 one[128], .param .u64 out, .param .align 64 .b8 two[128], .param .u64 array) {{
        .reg .b64 a, b, c, o;
        ld.param.u64 o, [out]; ld.param.u64 a, [one]; ld.param.u64 b, [two]; ld.param.u64 c, [array];
        sub.u64 b, b, a; sub.u64 c, c, a;
        st.global.v2.u64 [o], {{b, c}};
        ret;
    }}"""
    array, out = np.zeros((8, 16), np.uint8), np.ones(2, np.uint64)
    one, two = ptxspec.TensorMap(array, box=(16, 2)), ptxspec.TensorMap(array, box=(16, 8))
    ptxspec.load(text).launch("same", args=[one, out, two, array], engine=engine)
    assert out.tolist() == [0, 0]


def test_an_array_whose_bytes_are_apart_is_written_back(engine: str) -> None:
    array = np.zeros((4, 32), np.uint16)[:, ::2]
    given(ptxspec.TensorMap(array, box=(16, 2)), engine)
    assert array[0, 0] == 1 and array.sum() == 1


def test_an_array_that_may_not_be_written(engine: str) -> None:
    array = np.zeros((4, 16), np.uint16)
    array.flags.writeable = False
    with pytest.raises(ptxspec.LaunchError) as error:
        given(ptxspec.TensorMap(array, box=(16, 2)), engine)
    assert error.value.rule == "read only"


def test_a_pointer_brings_its_memory(engine: str) -> None:
    memory = ptxspec.Memory()
    pointer = memory.put(np.zeros((4, 16), np.uint16))
    tensor = ptxspec.TensorMap(pointer + 32, box=(16, 1), dims=(16, 3), type="u16", fill="zero")
    assert given(tensor, engine) == tensor.encode()
    assert memory.read(pointer + 32, 2) == b"\1\0"


@pytest.mark.parametrize("as_array", [False, True])
def test_the_bytes_of_a_map_are_one(engine: str, as_array: bool) -> None:
    """As a driver makes them: bytes, or an array of 128 of them, with an address of a memory."""
    memory = ptxspec.Memory()
    pointer = memory.put(np.zeros((4, 16), np.uint16))
    data = ptxspec.TensorMap(pointer, box=(16, 2), dims=(16, 4), type="u16").encode()
    argument = np.frombuffer(data, np.uint64) if as_array else data
    assert given(argument, engine, memory=memory) == data
    assert memory.read(pointer, 2) == b"\1\0"


def test_maps_in_memory() -> None:
    memory = ptxspec.Memory()
    pointer = memory.put(np.zeros((4, 16), np.uint16))
    tensor = ptxspec.TensorMap(pointer, box=(16, 2), dims=(16, 4), type="u16")
    assert memory.read(memory.put(tensor, align=64), 128) == tensor.encode()
    module = ptxspec.load(f"{HEADER} .const .align 64 .b8 map[128]; .visible .entry k() {{ ret; }}")
    module.write("map", tensor)
    assert module.read("map").tobytes() == tensor.encode()


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (".u64 map", r"argument 0 \(map\): the parameter is .u64, and a tensor map has 128 bytes: .align 64 .b8 map\[128\]"),
        (".b8 map[64]", r"the parameter is an array of 64 bytes, and a tensor map has 128"),
    ],
)  # fmt: skip
def test_a_parameter_that_holds_no_map(parameter: str, message: str) -> None:
    module = ptxspec.load(f"{HEADER} .visible .entry k(.param {parameter}) {{ ret; }}")
    with pytest.raises(TypeError, match=message):
        module.launch("k", args=[ptxspec.TensorMap(np.zeros((4, 16), np.uint16), box=(16, 2))])


def test_an_array_for_a_parameter_of_another_size() -> None:
    module = ptxspec.load(f"{HEADER} .visible .entry k(.param .b8 map[128]) {{ ret; }}")
    with pytest.raises(TypeError, match="the parameter is an array of bytes, no pointer"):
        module.launch("k", args=[np.zeros(64, np.uint8)])


F16 = np.zeros((4, 6, 64), np.float16)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ptxspec.TensorMap(F16, (8, 1)), ValueError, "a box has 3 dimensions as the tensor, not 2"),
        (lambda: ptxspec.TensorMap(F16, (8, 1, 300)), ValueError, "dimension 2 of the box is 300"),
        (lambda: ptxspec.TensorMap(F16), TypeError, "a tensor map in mode tile needs box"),
        (lambda: ptxspec.TensorMap(F16, (8, 1, 1), pixels=4), TypeError, "a tensor map in mode tile has no pixels"),
        (lambda: ptxspec.TensorMap(F16, mode="im2col", lower=(0,), upper=(0,), channels=8), TypeError, "needs pixels"),
        (lambda: ptxspec.TensorMap(F16, (8, 1, 1), mode="rows"), ValueError, "a mode is tile or im2col, not 'rows'"),  # type: ignore[arg-type]
        (lambda: ptxspec.TensorMap(F16, (8, 1, 1), fill="one"), ValueError, "a fill is zero or nan, not 'one'"),  # type: ignore[arg-type]
        (lambda: ptxspec.TensorMap(F16, (8, 1, 1), dims=(64, 6, 4)), TypeError, "an array has its dims"),
        (lambda: ptxspec.TensorMap(F16, (8, 1, 1), type="f32"), TypeError, "elements of type f32 have 4 bytes, those of the array 2"),
        (lambda: ptxspec.TensorMap(np.zeros((2, 16), np.int8), (16, 1)), TypeError, "elements of int8 need a type"),
        (lambda: ptxspec.TensorMap(np.zeros((2, 3), np.uint8), (16, 1)), ValueError, "the stride of dimension 1 is 3 bytes"),
        (lambda: ptxspec.TensorMap("text", (16, 1)), TypeError, "a tensor is an array, a Pointer or an address, not a str"),
        (lambda: ptxspec.TensorMap(4096, (16, 1)), TypeError, "the tensor at an address needs dims and type"),
        (lambda: ptxspec.TensorMap(4100, (16,), dims=(64,), type="u8"), ValueError, "the address 0x1004 is no multiple of 16"),
        (lambda: ptxspec.TensorMap(4096, (16.0,), dims=(64,), type="u8"), TypeError, "box is a tuple of integers"),  # type: ignore[arg-type]
        (lambda: ptxspec.TensorMap(F16, (8, 1, 1)).encode(), ValueError, "an array has an address only in a launch"),
        (lambda: ptxspec.TensorMap.decode(b"1234"), ValueError, "a tensor map has 128 bytes, not 4"),
        (lambda: ptxspec.TensorMap.decode(b"\xff" * 128), ValueError, "elements are of type"),
    ],
)  # fmt: skip
def test_what_no_map_is_made_of(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        make()
    assert message in str(raised.value)


def test_types_of_other_arrays() -> None:
    assert ptxspec.TensorMap(np.zeros((2, 16), np.int8), (16, 1), type="u8").box_bytes == 16
    of = ptxspec.TensorMap(np.zeros((2, 16), np.uint16), (16, 2), type="bf16", fill="nan", l2="128B")
    assert (
        of.encode(4096) == ptxspec.TensorMap(4096, (16, 2), type="bf16", dims=(16, 2), fill="nan", l2="128B").encode()
    )


def test_maps_of_pixels() -> None:
    of = ptxspec.TensorMap(
        np.zeros((4, 7, 9, 64), np.float16), mode="im2col", lower=(-1, -1), upper=(-1, -1), channels=64, pixels=32,
        swizzle="128B",
    )  # fmt: skip
    assert of.box_bytes == 32 * 128
    again = ptxspec.TensorMap.decode(of.encode(1 << 32))
    assert repr(again) == (
        "TensorMap(0x100000000, dims=(64, 9, 7, 4), strides=(128, 1152, 8064), type='f16', mode='im2col', lower=(-1, -1), "
        "upper=(-1, -1), channels=64, pixels=32, swizzle='128B')"
    )
    assert again.encode() == of.encode(1 << 32)


# tensormap.replace ---------------------------------------------------------------------------------------------------------

#: what replaces a field: modifiers, operands before the value, the type of the instruction, and what it says of a map
STEPS: list[tuple[str, str, str, int]] = [
    ("global_address", "", "b64", 0x123456780),
    ("rank", "", "b32", 2),
    ("box_dim", "0, ", "b32", 32),
    ("box_dim", "1, ", "b32", 256),
    ("box_dim", "2, ", "b32", 5),
    ("global_dim", "0, ", "b32", 100),
    ("global_dim", "1, ", "b32", 0),
    ("global_dim", "2, ", "b32", 7),
    ("global_stride", "0, ", "b64", 0xFEDCBA9870),
    ("global_stride", "1, ", "b64", 0x8000000010),
    ("element_stride", "0, ", "b32", 3),
    ("element_stride", "2, ", "b32", 8),
]
#: the same for numbers, which are constants
NUMBERED = [("elemtype", 12), ("interleave_layout", 1), ("swizzle_mode", 1), ("fill_mode", 1)]
SPACES = {".global": "map", ".shared::cta": "shared", "": "g"}


def changed(space: str, values: list[int], before: bytes, engine: str, lines: str | None = None) -> bytes:
    """A map after all steps, in a state space."""
    at, written = SPACES[space], []
    for i, (field, ord, type, _) in enumerate(STEPS):
        width = type[1:]
        written.append(f"ld.global.b{width} v{width}, [o+{8 * i}];")
        written.append(f"tensormap.replace.tile.{field}{space}.b1024.{type} [{at}], {ord}v{width};")
    written += [f"tensormap.replace.tile.{field}{space}.b1024.b32 [{at}], {n};" for field, n in NUMBERED]
    moves = range(0, 128, 8)
    text = f"""{HEADER}
    .global .align 64 .b8 map[128];
    .visible .entry k(.param .u64 in, .param .u64 values) {{
        .reg .b64 p, o, g, v64, w; .reg .b32 v32;
        .shared .align 64 .b8 shared[128];
        ld.param.u64 p, [in]; ld.param.u64 o, [values];
        cvta.shared.u64 g, shared;
        {" ".join(f"ld.global.u64 w, [p+{i}]; st.global.u64 [map+{i}], w; st.shared.u64 [shared+{i}], w;" for i in moves)}
        {lines or " ".join(written)}
        {" ".join(f"ld.{'global' if at == 'map' else 'shared'}.u64 w, [{'map' if at == 'map' else 'shared'}+{i}]; st.global.u64 [p+{i}], w;" for i in moves)}
        ret;
    }}"""
    data = np.frombuffer(before, np.uint8).copy()
    ptxspec.load(text).launch("k", args=[data, np.array(values, np.uint64)], engine=engine)
    return data.tobytes()


@pytest.mark.parametrize("space", SPACES)
def test_each_field_is_replaced(engine: str, space: str) -> None:
    before = ptxspec.TensorMap(1 << 40, (64, 8), (256,), dims=(64, 32), type="f16", swizzle="128B").encode()
    data = changed(space, [value for *_, value in STEPS], before, engine)
    expected = ptxspec.TensorMap(
        0x123456780, (32, 256, 5), (0xFEDCBA9870, 0x8000000010), (3, 1, 8), 16, "32B", "nan", type="tf32.ftz",
        dims=(100, 1 << 32, 7),
    )  # fmt: skip
    of_the_driver = slice(64, 80)  # the driver's sums are not replaced
    assert data[of_the_driver] == before[of_the_driver]
    assert data[:64] == expected.encode()[:64] and data[80:] == expected.encode()[80:]


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("rank.global.b1024.b32 [map], 15;", {8: 0x70}),
        ("box_dim.global.b1024.b32 [map], 4, 0;", {59: 0xFF}),
        ("box_dim.global.b1024.b32 [map], 3, 300;", {58: 0x2B}),
        ("element_stride.global.b1024.b32 [map], 4, 0;", {53: 0x70}),
        ("global_stride.global.b1024.b64 [map], 3, 0x7ff0;", {24: 0xFF, 25: 7}),
        ("global_stride.global.b1024.b64 [map], 4, -1;", {28: 0xFF, 29: 0xFF, 30: 0xFF, 31: 0xFF}),
        ("elemtype.global.b1024.b32 [map], 7;", {8: 0x90}),
        ("elemtype.global.b1024.b32 [map], 11;", {8: 0x90, 10: 1}),
    ],
)  # fmt: skip
def test_bits_that_a_field_has(engine: str, line: str, changes: dict[int, int]) -> None:
    """As the words that ptxas generates: a field takes the low bits of a value, and others stay."""
    before = ptxspec.TensorMap(1 << 40, (64, 8), (256,), dims=(64, 32), type="f16", swizzle="128B").encode()
    assert before[8:12].hex() == "10630000"
    data = changed(".global", [0] * len(STEPS), before, engine, f"tensormap.replace.tile.{line}")
    expected = bytearray(before)
    for at, byte in changes.items():
        expected[at] = byte
    assert data == bytes(expected)


def test_a_type_that_is_not_rounded_leaves_the_bit(engine: str) -> None:
    before = ptxspec.TensorMap(1 << 40, (16, 8), (256,), dims=(64, 32), type="tf32").encode()
    to_single = changed(
        ".global", [0] * len(STEPS), before, engine, "tensormap.replace.tile.elemtype.global.b1024.b32 [map], 7;"
    )
    assert to_single == before
    to_words = changed(
        ".global", [0] * len(STEPS), before, engine, "tensormap.replace.tile.elemtype.global.b1024.b32 [map], 2;"
    )
    with pytest.raises(ValueError, match="elements are of type"):
        ptxspec.TensorMap.decode(to_words)


def test_a_swizzle_clears_a_bit_of_later_targets(engine: str) -> None:
    before = bytearray(ptxspec.TensorMap(1 << 40, (16, 8), (256,), dims=(64, 32), type="f16").encode())
    before[10] |= 0x40
    data = changed(
        ".global",
        [0] * len(STEPS),
        bytes(before),
        engine,
        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [map], 0;",
    )
    assert data[10] == before[10] ^ 0x40


@pytest.mark.parametrize("space", SPACES)
def test_a_map_lies_at_multiples_of_64(engine: str, space: str) -> None:
    at = SPACES[space]
    with pytest.raises(ptxspec.LaunchError) as error:
        changed(
            space, [0] * len(STEPS), bytes(128), engine, f"tensormap.replace.tile.rank{space}.b1024.b32 [{at}+16], 1;"
        )
    assert error.value.rule == "misaligned description"


def test_a_map_lies_in_global_or_shared_memory(engine: str) -> None:
    lines = "cvta.local.u64 g, l; tensormap.replace.tile.rank.b1024.b32 [g], 1;"
    with pytest.raises(ptxspec.LaunchError) as error:
        changed("", [0] * len(STEPS), bytes(128), engine, f".local .align 64 .b8 l[128]; {lines}")
    assert error.value.rule == "state space"


# tensormap.cp_fenceproxy ----------------------------------------------------------------------------------------------------

COPY = f"""{HEADER}
.global .align 64 .b32 to[64];
.visible .entry k(.param .u32 differ, .param .u32 last) {{
    .reg .b32 t, d, at, s; .reg .b64 a; .reg .pred p;
    .shared .align 64 .b32 of[64];
    mov.u32 t, %tid.x;
    mov.u32 s, of;
    mad.lo.u32 at, t, 4, s;
    st.shared.u32 [at], t;
    ld.param.u32 d, [last];
    setp.gt.u32 p, t, d;
@p  ret;
    bar.warp.sync -1;
    ld.param.u32 d, [differ];
    setp.eq.u32 p, t, d;
    mov.u64 a, to;
@p  add.u64 a, a, 64;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [a], [s], 128;
    ret;
}}"""


def test_a_warp_copies_a_map(engine: str) -> None:
    module = ptxspec.load(COPY)
    module.launch("k", block=32, args=[99, 99], engine=engine)
    copied = module.read("to").view(np.uint32)
    assert copied[:32].tolist() == list(range(32)) and not copied[32:].any()


def test_a_copy_of_a_map_is_no_race(engine: str) -> None:
    ptxspec.load(COPY).launch("k", block=32, args=[99, 99], engine=engine, check="all")


def test_threads_that_copy_a_map_elsewhere(engine: str) -> None:
    with pytest.raises(ptxspec.LaunchError) as error:
        ptxspec.load(COPY).launch("k", block=32, args=[5, 99], engine=engine)
    assert error.value.rule == "one tensor map"


@pytest.mark.parametrize(("block", "last"), [(16, 99), (32, 20)])
def test_a_map_is_copied_by_a_whole_warp(engine: str, block: int, last: int) -> None:
    with pytest.raises(ptxspec.LaunchError):
        ptxspec.load(COPY).launch("k", block=block, args=[99, last], engine=engine)


# what ptxas takes -----------------------------------------------------------------------------------------------------------

REPLACE, FENCE = (
    "tensormap.replace.tile.",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned",
)
#: mutants and spellings, and whether both take them
WRITTEN = {
    f"{REPLACE}global_address.shared.b1024.b64 [sm], v;": False,
    f"{REPLACE}global_address.shared::cluster.b1024.b64 [sm], v;": False,
    f"{REPLACE}global_address.const.b1024.b64 [gm], v;": False,
    f"{REPLACE}global_address.global.b1024.b64 [gm], x;": False,
    f"{REPLACE}global_address.global.b1024.b64 [gm], d;": True,
    f"{REPLACE}global_address.global.b1024.b64 [gm], -1;": True,
    f"{REPLACE}global_address.global.b1024.b32 [gm], x;": False,
    f"{REPLACE}global_address.global.b1024.u64 [gm], v;": False,
    f"{REPLACE}global_address.global.b64 [gm], v;": False,
    "tensormap.replace.global_address.global.b1024.b64 [gm], v;": False,
    "tensormap .replace.tile.rank.b1024.b32 [v], 2;": False,
    "tensormap.tile.replace.rank.b1024.b32 [v], 2;": False,
    "tensormap.replace.rank.tile.b32.b1024 [v], 2;": True,
    "tensormap.replace.im2col.global_address.global.b1024.b64 [gm], v;": False,
    f"{REPLACE}rank.global.b1024.b32 [gm], v;": False,
    f"{REPLACE}rank.global.b1024.b32 [gm], f;": True,
    f"{REPLACE}rank.global.b1024.b32 [gm], h;": False,
    f"{REPLACE}rank.global.b1024.b64 [gm], v;": False,
    f"{REPLACE}box_dim.global.b1024.b32 [gm], 4, x;": True,
    f"{REPLACE}box_dim.global.b1024.b32 [gm], 5, x;": False,
    f"{REPLACE}box_dim.global.b1024.b32 [gm], -1, x;": False,
    f"{REPLACE}box_dim.global.b1024.b32 [gm], x, x;": False,
    f"{REPLACE}box_dim.global.b1024.b32 [gm], x;": False,
    f"{REPLACE}box_dim.global.b1024.b32 [gm], 1, f;": False,
    f"{REPLACE}box_dim.global.b1024.b32 [gm], 1, 300;": True,
    f"{REPLACE}global_stride.global.b1024.b64 [gm], 4, v;": True,
    f"{REPLACE}global_stride.global.b1024.b64 [gm], 5, v;": False,
    f"{REPLACE}global_stride.global.b1024.b64 [gm], 1, x;": False,
    f"{REPLACE}global_stride.b1024.b64 [v], 1, v;": True,
    f"{REPLACE}element_stride.global.b1024.b32 [gm], 1, v;": False,
    f"{REPLACE}elemtype.global.b1024.b32 [gm], 12;": True,
    f"{REPLACE}elemtype.global.b1024.b32 [gm], 13;": False,
    f"{REPLACE}elemtype.global.b1024.b32 [gm], x;": False,
    f"{REPLACE}elemtype.shared::cta.b1024.b32 [sm+16], 1;": True,
    f"{REPLACE}interleave_layout.global.b1024.b32 [gm], 3;": False,
    f"{REPLACE}swizzle_mode.global.b1024.b32 [gm], 4;": False,
    f"{REPLACE}fill_mode.global.b1024.b32 [gm], 2;": False,
    f"{REPLACE}swizzle_atomicity.global.b1024.b32 [gm], 1;": False,
    f"{FENCE} [gm], [sm], 128;": True,
    f"{FENCE.replace('cp_fenceproxy.global', 'global.cp_fenceproxy')} [gm], [sm], 128;": False,
    f"{FENCE} [v+16], [x+16], 128;": True,
    f"{FENCE} [gm], [sm], 0x80;": True,
    f"{FENCE} [gm], [sm], 64;": False,
    f"{FENCE} [gm], [sm], x;": False,
    f"{FENCE} [gm], [sm];": False,
    f"{FENCE} [sm], [gm], 128;": False,
    f"{FENCE.removesuffix('.sync.aligned')} [gm], [sm], 128;": False,
    f"{FENCE.replace('release', 'acquire')} [gm], [sm], 128;": False,
    f"{FENCE.replace('shared::cta', 'shared')} [gm], [sm], 128;": False,
}  # fmt: skip


def written(line: str, target: str = "sm_90a", version: str = "9.0") -> str:
    return f""".version {version}
.target {target}
.address_size 64
.shared .align 128 .b8 sm[128];
.global .align 128 .b8 gm[128];
.visible .entry k() {{
    .reg .u64 v; .reg .u32 x; .reg .f32 f; .reg .b16 h; .reg .f64 d;
    {line}
    ret;
}}
"""


def is_taken(text: str) -> bool:
    try:
        return not check(text, "text.ptx").kernels["k"].gaps
    except ptxspec.PtxError:
        return False


@pytest.mark.parametrize("line", WRITTEN)
def test_spellings_that_ptxas_takes(line: str) -> None:
    assert is_taken(written(line)) == WRITTEN[line]
    assert (not assemble(written(line), "sm_90a")) == WRITTEN[line]


@pytest.mark.parametrize(
    ("target", "version", "replaces", "copies"),
    [("sm_90a", "8.3", True, True), ("sm_90a", "8.2", False, False), ("sm_90", "9.0", False, True), ("sm_89", "9.0", False, False),
     ("sm_100a", "9.0", True, True), ("sm_100", "9.0", False, True), ("sm_103f", "9.0", True, True), ("sm_120a", "9.0", True, True)],
)  # fmt: skip
def test_where_they_are_available(target: str, version: str, replaces: bool, copies: bool) -> None:
    for line, there in ((f"{REPLACE}rank.global.b1024.b32 [gm], 1;", replaces), (f"{FENCE} [gm], [sm], 128;", copies)):
        assert is_taken(written(line, target, version)) == there
        assert (not assemble(written(line, target, version), target)) == there


def test_a_field_of_later_targets_is_a_gap() -> None:
    (gap,) = (
        check(written(f"{REPLACE}swizzle_atomicity.global.b1024.b32 [gm], 1;", "sm_100a"), "text.ptx").kernels["k"].gaps
    )
    assert "a field of tensor maps" in gap.missing.message
