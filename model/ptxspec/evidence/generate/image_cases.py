"""Cases for textures and surfaces: for each a kernel, an image and rows of coordinates, alike for a GPU and the definitions.

A case is a function of its name: the arrays are made from a seed in it, so that only answers have to be kept. A texture is looked
up by a thread a row. A surface is written and read by one thread, row after row, so that the order is fixed.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ptxspec.options import Engine

#: rows of a case of a texture, of one of a surface, and of one that is there for a spelling
LOOKUPS, ACCESSES, SPELLED = 1000, 200, 24
_DTYPES = {"u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "u32": np.uint32, "s32": np.int32,
           "f16": np.float16, "f32": np.float32}  # fmt: skip
FLOATS, SMALL = ("f32", "f16"), ("u8", "s8", "u16", "s16")
#: the words for an image's directions, and how many numbers an instruction takes
COUNT = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3, "acube": 4}
DIRECTIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2}
MODES = ("wrap", "mirror", "clamp", "border")


class TextureCase(NamedTuple):
    """A lookup: instruction, image and sampler. `mode` is "", "level" or "grad"; `component` is that of a gather; `spelling` is
    the instruction where it is another than the rest would make it (image_spellings.py)."""

    geometry: str
    channel: str
    channels: int
    filter: str = "nearest"
    address: tuple[str, str, str] = ("clamp",) * 3
    normalized: bool = True
    fractions: bool = False
    whole: bool = False
    mode: str = ""
    mipmap_filter: str = "nearest"
    levels: int = 1
    bounds: tuple[float, float] = (0.0, 31.0)
    bias: float = 0.0
    component: str = ""
    spelling: str = ""

    @property
    def name(self) -> str:
        if self.spelling:
            return self.spelling
        parts = [self.geometry, f"{self.channel}x{self.channels}", self.filter, "-".join(self.address)]
        parts += ["normalized" if self.normalized else "texels", "fractions" if self.fractions else "elements"]
        parts += ["whole"] if self.whole else []
        parts += [f"gather-{self.component}"] if self.component else []
        if self.mode:
            parts += [self.mode, f"{self.levels}levels", f"mip-{self.mipmap_filter}"]
            parts += [f"from{self.bounds[0]}to{self.bounds[1]}", f"bias{self.bias}"]
        return " ".join(parts)

    @property
    def gives(self) -> str:
        """The type of the result."""
        floating = self.channel in FLOATS or self.fractions
        return "f32" if floating else "s32" if self.channel[0] == "s" else "u32"


class SurfaceCase(NamedTuple):
    """An access to a surface: `access` is suld.b, sust.b, sust.p, sured.b or sured.p; `type` the instruction's; `spelling` as for
    a texture."""

    access: str
    geometry: str
    channel: str
    channels: int
    type: str
    vector: int = 1
    outside: str = "clamp"
    operation: str = ""
    spelling: str = ""

    @property
    def name(self) -> str:
        if self.spelling:
            return self.spelling
        own = f"{self.access}{'.' + self.operation if self.operation else ''}.{self.geometry}"
        return f"{own}.v{self.vector}.{self.type}.{self.outside} {self.channel}x{self.channels}"


Case = TextureCase | SurfaceCase


def texture_cases() -> Iterator[TextureCase]:
    every = tuple(_DTYPES)
    turn = 0

    def modes(normalized: bool = True) -> tuple[str, str, str]:
        nonlocal turn
        turn += 1
        among = MODES if normalized else MODES[2:]
        return (among[turn % len(among)], among[(turn // 2) % len(among)], among[(turn // 3) % len(among)])

    for geometry in COUNT:
        for i, channel in enumerate(every):
            for normalized in (True, False) if "cube" not in geometry else (True,):
                yield TextureCase(geometry, channel, (1, 2, 4)[i % 3], "nearest", modes(normalized), normalized)
        for channel in (*FLOATS, *SMALL):
            for normalized in (True, False) if "cube" not in geometry else (True,):
                own = TextureCase(geometry, channel, 1 + (channel == "u8"), "linear", modes(normalized), normalized)
                yield own._replace(fractions=channel in SMALL)
        for channel in SMALL:
            yield TextureCase(geometry, channel, 1, "nearest", modes(), fractions=True)
    for geometry in ("1d", "2d", "3d"):
        for mode in MODES:
            for filter in ("nearest", "linear"):
                yield TextureCase(geometry, "f32", 1, filter, (mode,) * 3)
    for geometry in ("1d", "2d", "3d", "a1d", "a2d"):
        for i, channel in enumerate(every):
            yield TextureCase(geometry, channel, (4, 1, 2)[i % 3], "nearest", modes(False), False, whole=True)
        yield TextureCase(geometry, "u8", 1, "nearest", modes(), True, True, whole=True)
    for geometry in ("2d", "a2d", "cube", "acube"):
        for i, channel in enumerate(("f32", "f16", "u8", "s16", "s8", "u32")):
            for component in "rgba"[: 4 if channel in ("f32", "u8") else 1]:
                own = TextureCase(geometry, channel, (4, 2, 4, 1, 2, 4)[i], "nearest", modes(), component=component)
                yield own._replace(fractions=channel in SMALL and component != "b")
    for geometry in ("1d", "2d", "3d", "a2d", "cube"):
        for filter in ("nearest", "linear"):
            for blend in ("nearest", "linear"):
                for channel in ("f32", "f16", "u8", "s16"):
                    own = TextureCase(geometry, channel, 1, filter, modes(), fractions=channel in SMALL, mode="level")
                    yield own._replace(mipmap_filter=blend, levels=4)
        yield TextureCase(
            geometry, "f32", 1, "linear", modes(), mode="level", mipmap_filter="linear", levels=4, bias=0.3
        )
        bounds = TextureCase(geometry, "f32", 1, "linear", modes(), mode="level", mipmap_filter="linear", levels=4)
        yield bounds._replace(bounds=(0.7, 2.2))
        if geometry != "cube":
            yield TextureCase(geometry, "u16", 1, "nearest", modes(False), False, whole=True, mode="level", levels=4)
    for geometry in ("1d", "2d", "3d", "a2d"):
        for filter in ("nearest", "linear"):
            for blend in ("nearest", "linear"):
                for channel in ("f32", "u8"):
                    own = TextureCase(geometry, channel, 1, filter, modes(), fractions=channel in SMALL, mode="grad")
                    yield own._replace(mipmap_filter=blend, levels=4)


def surface_cases() -> Iterator[SurfaceCase]:
    shapes = (("b8", 1), ("b16", 1), ("b32", 1), ("b64", 1), ("b8", 4), ("b32", 2), ("b32", 4), ("b64", 2))
    for geometry in ("1d", "2d", "3d", "a1d", "a2d"):
        for access in ("suld.b", "sust.b"):
            for i, (type, vector) in enumerate(shapes):
                for outside in ("clamp", "zero"):
                    channel, channels = (("u8", 4), ("f32", 1), ("u16", 2), ("u32", 4))[i % 4]
                    yield SurfaceCase(access, geometry, channel, channels, type, vector, outside)
    for geometry in ("1d", "2d", "3d"):
        for channel in _DTYPES:
            for channels, outside in ((1, "clamp"), (2, "zero"), (4, "zero")):
                yield SurfaceCase("sust.p", geometry, channel, channels, "b32", channels, outside)
        for operation, types in (("add", ("u32", "s32", "u64")), ("min", ("u32", "s32", "u64", "s64")),
                                 ("max", ("u32", "s32", "u64", "s64")), ("and", ("b32",)), ("or", ("b32",))):  # fmt: skip
            for type in types:
                channels = 2 if "64" in type else 1
                outside = ("clamp", "zero")[len(operation) % 2]
                yield SurfaceCase("sured.b", geometry, "u32", channels, type, 1, outside, operation)
            for channel in ("u32", "s32"):
                yield SurfaceCase("sured.p", geometry, channel, 1, "b32", 1, "clamp", operation)
                if operation in ("min", "max"):
                    yield SurfaceCase("sured.p", geometry, channel, 2, "b64", 1, "zero", operation)


def rng_of(case: Case) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(case.name.encode()))


_SIZES = {"1d": (53, 1, 1), "2d": (29, 19, 1), "3d": (13, 9, 7), "a1d": (37, 1, 1), "a2d": (21, 15, 1),
          "cube": (16, 16, 1), "acube": (12, 12, 1)}  # fmt: skip
#: those of cases that are there for a spelling
_SMALL_SIZES = {"1d": (13, 1, 1), "2d": (7, 5, 1), "3d": (5, 4, 3), "a1d": (9, 1, 1), "a2d": (5, 4, 1),
                "cube": (4, 4, 1), "acube": (4, 4, 1)}  # fmt: skip
LAYERS = {"a1d": 5, "a2d": 4, "cube": 6, "acube": 18}


def size_of(case: Case) -> tuple[int, int, int]:
    """Width, height and depth of a case's image."""
    return (_SMALL_SIZES if case.spelling else _SIZES)[case.geometry]


def row_count(case: Case) -> int:
    if case.spelling:
        return SPELLED
    return LOOKUPS if isinstance(case, TextureCase) else ACCESSES


def texels(case: Case) -> list[np.ndarray]:
    """The levels' arrays, the channels last."""
    rng, dtype = rng_of(case), _DTYPES[case.channel]
    width, height, depth = size_of(case)
    found = []
    for level in range(case.levels if isinstance(case, TextureCase) else 1):
        size = [max(n >> level, 1) for n in (depth, height, width)][3 - DIRECTIONS[case.geometry] :]
        if case.geometry in LAYERS:
            size = [LAYERS[case.geometry], *size]
        shape = (*size, case.channels)
        if np.issubdtype(dtype, np.integer):
            bits = int(case.channel[1:])
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if case.channel[0] == "s" else (0, (1 << bits) - 1)
            found.append(rng.integers(low, high, shape, dtype, endpoint=True))
        else:
            numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
            found.append(numbers.astype(dtype))
    return found


def _positions(case: TextureCase, rng: np.random.Generator, size: int, rows: int) -> np.ndarray:
    """Coordinates of one direction as patterns: mostly within, some at texels' edges and centres, some far away, some special."""
    if case.whole:
        found = rng.integers(-3, size + 3, rows)
        found[:: rows // 10] = rng.integers(-(1 << 31), 1 << 31, len(found[:: rows // 10]))
        return found.astype(np.int32).view(np.uint32)
    x = rng.uniform(-0.3, 1.3, rows) * size
    x[: rows // 4] = np.round(x[: rows // 4] * 2) / 2
    x[rows // 4 : rows // 3] = np.round(x[rows // 4 : rows // 3] * 512) / 512
    x[-rows // 10 :] *= 37.0
    bits = (x / size if case.normalized else x).astype(np.float32).view(np.uint32).copy()
    special = [
        0x00000000,
        0x80000000,
        0x00000001,
        0x807FFFFF,
        0x00800000,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x3F800000,
    ]
    places = rng.choice(rows, min(2 * len(special), rows // 2), replace=False)
    bits[places] = (special * 2)[: len(places)]
    near = rng.choice(rows, rows // 20, replace=False)
    bits[near] = bits[near] + rng.integers(-1, 2, len(near)).astype(np.uint32)
    return bits


def rows_of(case: Case) -> np.ndarray:
    """What each thread, or each step, is given: 32-bit words, a row each."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()) ^ 0x5EED)
    rows = row_count(case)
    sizes = size_of(case)[: DIRECTIONS[case.geometry]]
    if isinstance(case, SurfaceCase):
        return _surface_rows(case, rng, sizes)
    columns: list[np.ndarray] = []
    if case.geometry in ("a1d", "a2d", "acube"):
        layers = LAYERS[case.geometry] // (6 if case.geometry == "acube" else 1)
        index = rng.integers(0, layers, rows)
        index[::17] = rng.integers(0, layers + 3, len(index[::17]))
        index[::101] = -1
        columns.append(index.astype(np.int64).astype(np.uint32))
    if "cube" in case.geometry:
        way = rng.standard_normal((rows, 3))
        way[: rows // 4] = rng.integers(-2, 3, (rows // 4, 3))
        way[~way.any(axis=1)] = (0, 1, 0)
        columns += list(way.astype(np.float32).view(np.uint32).T)
    else:
        columns += [_positions(case, rng, size, rows) for size in sizes]
    if case.mode == "level" and case.whole:
        columns.append(rng.integers(0, case.levels, rows).astype(np.uint32))
    elif case.mode == "level":
        lod = rng.uniform(-1, case.levels + 0.5, rows)
        lod[: rows // 3] = np.round(lod[: rows // 3] * 4) / 4
        bits = lod.astype(np.float32).view(np.uint32).copy()
        bits[[3, 5, 7, 11]] = [0x7FC00000, 0x7F800000, 0xFF800000, 0x00000001]
        columns.append(bits)
    elif case.mode == "grad":
        for _ in range(2):
            for size in sizes:
                step = rng.standard_normal(rows) * 2.0 ** rng.uniform(-3, 4, rows) / size
                step[: rows // 10] = 2.0 ** np.round(rng.uniform(-3, 4, rows // 10)) / size
                columns.append(step.astype(np.float32).view(np.uint32))
    return np.ascontiguousarray(np.stack(columns, axis=1))


def _surface_rows(case: SurfaceCase, rng: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    rows, size = row_count(case), int(case.type[1:]) * case.vector // 8
    texel = np.dtype(_DTYPES[case.channel]).itemsize * case.channels
    columns: list[np.ndarray] = []
    if case.geometry in LAYERS:
        columns.append(rng.integers(0, LAYERS[case.geometry] + 2, rows))
    by_bytes = ".b" in case.access
    step, most = (size, sizes[0] * texel) if by_bytes else (1, sizes[0])
    if case.spelling and case.outside == "trap":
        layers = [LAYERS[case.geometry]] if case.geometry in LAYERS else []
        inside = [*layers, most // step, *sizes[1:]]
        words = np.stack([rng.integers(0, n, rows) for n in inside], axis=1).astype(np.uint32)
        words[:, len(layers)] *= step
        return _with_data(case, rng, words)
    first = rng.integers(-2, most // step + 2, rows) * step
    first[::29] = rng.integers(-(1 << 20), 1 << 20, len(first[::29])) * step
    columns.append(first)
    for n in sizes[1:]:
        index = rng.integers(0, n, rows)
        index[::7] = rng.integers(-2, n + 2, len(index[::7]))
        columns.append(index)
    return _with_data(case, rng, np.stack([c.astype(np.int64).astype(np.uint32) for c in columns], axis=1))


def _with_data(case: SurfaceCase, rng: np.random.Generator, words: np.ndarray) -> np.ndarray:
    """Rows of coordinates with what is stored, where something is."""
    if case.access == "suld.b":
        return words
    rows, bits = len(words), int(case.type[1:])
    count = max(1, bits // 32) * case.vector
    data = rng.integers(0, 1 << 32, (rows, count), dtype=np.uint32)
    if case.access == "sust.p" and case.channel in FLOATS:
        numbers = rng.standard_normal((rows, count)) * 2.0 ** rng.integers(-20, 17, (rows, count))
        data = numbers.astype(np.float32).view(np.uint32)
    elif case.access == "sust.p":
        half = rows // 2
        data[:half] = rng.integers(-300, 70000, (half, count)).astype(np.int64).astype(np.uint32)
    return np.concatenate([words, data], axis=1)


def kernel_text(case: Case) -> str:
    """A module with one entry, k(image, rows, out, count)."""
    body = _lookup(case) if isinstance(case, TextureCase) else _access(case)
    return f""".version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 rows, .param .u64 out, .param .u32 count)
{{
  .reg .pred %p;
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


def _coordinates(count: int) -> str:
    """So many of %x0, %x1, … in braces; there are no braces of three."""
    names = [f"%x{i}" for i in range(count)]
    return "{" + ", ".join(names + names[-1:] * (count == 3)) + "}"


def row_words(case: Case) -> int:
    return rows_of(case).shape[1]


def _lookup(case: TextureCase) -> str:
    count, words = COUNT[case.geometry], row_words(case)
    type = "s32" if case.whole else "f32"
    more = ""
    if case.mode == "level":
        more = f", %x{count}"
    elif case.mode == "grad":
        size = DIRECTIONS[case.geometry]
        for k in range(2):
            names = [f"%x{count + k * size + i}" for i in range(size)]
            more += ", {" + ", ".join(names + names[-1:] * (size == 3)) + "}"
    opcode = f"tld4.{case.component}" if case.component else f"tex{'.' + case.mode if case.mode else ''}"
    name = case.spelling or f"{opcode}.{case.geometry}.v4.{case.gives}.{type}"
    return f"""  mov.u32 %i, %ctaid.x;
  mov.u32 %t, %ntid.x;
  mad.lo.u32 %i, %i, %t, 0;
  mov.u32 %t, %tid.x;
  add.u32 %i, %i, %t;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mad.wide.u32 %rows, %i, {4 * words}, %rows;
  mad.wide.u32 %out, %i, 16, %out;
{_words(words)}
  {name} {{%y0, %y1, %y2, %y3}}, [%image, {_coordinates(count)}]{more};
  st.global.v4.b32 [%out], {{%y0, %y1, %y2, %y3}};"""


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
        own = f"{case.access}.{case.operation}." if case.operation else f"{case.access}."
        instruction = f"{case.spelling or own + case.geometry + shape} {place}, {value};"
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


def host_image(case: Case) -> Any:
    """The image for `Module.launch`."""
    from ptxspec.machine.images import Surface, Texture

    levels = texels(case)
    geometry: Any = case.geometry
    if isinstance(case, SurfaceCase):
        return Surface(levels[0], geometry)
    modes: dict[str, Any] = {"address": case.address, "filter": case.filter, "mipmap_filter": case.mipmap_filter}
    return Texture(
        levels, geometry, **modes,
        levels=case.bounds, bias=case.bias, normalized_coords=case.normalized,
        read="normalized_float" if case.fractions else "element",
    )  # fmt: skip


def computed(case: Case, engine: Engine = "native", most: int | None = None) -> np.ndarray:
    """What the definitions answer: for a texture the four words of every row, for loads the bytes of every row, else the
    bytes that are left in the surface. `most` rows of the case are taken."""
    import ptxspec

    rows = rows_of(case)[:most]
    out = np.zeros((len(rows), 8 if isinstance(case, SurfaceCase) else 4), np.uint32)
    image = host_image(case)
    threads = 1 if isinstance(case, SurfaceCase) else 250
    grid = 1 if isinstance(case, SurfaceCase) else -(-len(rows) // 250)
    module = ptxspec.load(kernel_text(case))
    module.launch("k", grid, threads, [image, rows, out, np.uint32(len(rows))], engine=engine)
    if isinstance(case, TextureCase) or case.access == "suld.b":
        return out
    return image.texels.reshape(-1).view(np.uint8)


_INSTRUCTION = re.compile(r"^ *(\S+) [^;]*\[%image", re.M)


def mnemonic(case: Case) -> str:
    """The spelling of the instruction that the case's kernel has."""
    found = _INSTRUCTION.search(kernel_text(case))
    assert found is not None, case
    return found[1]


@cache
def cases() -> tuple[Case, ...]:
    """All cases; their names differ."""
    from ptxspec.evidence.image_spellings import spellings

    found: list[Case] = [*texture_cases(), *surface_cases()]
    found += spellings({mnemonic(case) for case in found})
    return tuple({case.name: case for case in found}.values())
