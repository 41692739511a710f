"""Textures, samplers and surfaces in kernels: what stands for what, what is read and written, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(4)

ENGINES = ("exact", "native")
HEAD = ".version 8.3\n.target sm_90{}\n.address_size 64\n"
RNG = np.random.default_rng(11)


def look_up(instruction: str, declarations: str = ".global .texref t;", parameters: str = "", options: str = "") -> str:
    """A module whose entry k gives a row of 32-bit words in `rows` to the instruction in %x0 …, and stores %y0 … %y3 in `out`."""
    return f"""{HEAD.format(options)}{declarations}
.visible .entry k(.param .u64 rows, .param .u64 out{parameters})
{{
  .reg .b64 %rows, %out, %d<8>;
  .reg .b32 %t, %x<8>, %y<8>;
  ld.param.u64 %rows, [rows];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %rows, %t, 16, %rows;
  mad.wide.u32 %out, %t, 16, %out;
  ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%rows];
  {instruction}
  st.global.v4.b32 [%out], {{%y0, %y1, %y2, %y3}};
  ret;
}}
"""


def words(*columns: Any) -> np.ndarray:
    """Rows of four words from columns of integers, or of single-precision numbers."""
    found = np.zeros((len(columns[0]), 4), np.uint32)
    for i, column in enumerate(columns):
        array = np.asarray(column)
        found[:, i] = (array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int32)).view(np.uint32)
    return found


def run(text: str, rows: np.ndarray, engine: str, *more: Any, bind: dict[str, Any] | None = None) -> np.ndarray:
    module = ptxspec.load(text)
    for name, thing in (bind or {}).items():
        module.bind(name, thing)
    out = np.zeros_like(rows)
    module.launch("k", 1, len(rows), [rows, out, *more], engine=engine)
    return out


def fails(
    text: str, rows: np.ndarray, engine: str, *more: Any, bind: dict[str, Any] | None = None
) -> ptxspec.LaunchError:
    with pytest.raises(ptxspec.LaunchError) as caught:
        run(text, rows, engine, *more, bind=bind)
    assert caught.value.where is not None and caught.value.page is not None
    return caught.value


TEX_2D = "tex.2d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1}];"
IMAGE = RNG.standard_normal((5, 7, 1)).astype(np.float32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("dtype", "type"), [("uint8", "u32"), ("int8", "s32"), ("uint16", "u32"), ("int16", "s32"),
                                              ("uint32", "u32"), ("int32", "s32"), ("float32", "f32")])  # fmt: skip
def test_a_nearest_lookup_is_the_texel_that_the_position_lies_in(engine: str, dtype: str, type: str) -> None:
    texels = RNG.integers(0, 200, (5, 7, 2)).astype(dtype)
    x, y = RNG.uniform(-2, 9, 40), RNG.uniform(-2, 7, 40)
    text = look_up(TEX_2D.replace(".f32.f32", f".{type}.f32"))
    out = run(text, words(x, y), engine, bind={"t": ptxspec.Texture(texels, address="clamp")})
    at = (
        np.clip(np.floor(y.astype(np.float32)).astype(int), 0, 4),
        np.clip(np.floor(x.astype(np.float32)).astype(int), 0, 6),
    )
    want = texels[at].view(np.uint32) if dtype == "float32" else texels[at].astype(np.int64).astype(np.uint32)
    assert np.array_equal(out[:, :2], want) and not out[:, 2:].any()


@pytest.mark.parametrize("engine", ENGINES)
def test_fractions_are_quotients_by_the_greatest_number(engine: str) -> None:
    texels = np.arange(256, dtype=np.uint8).reshape(1, 256, 1)
    texture = ptxspec.Texture(texels, address="clamp", read="normalized_float")
    out = run(look_up(TEX_2D), words(np.arange(256) + 0.5, np.zeros(256) + 0.5), engine, bind={"t": texture})
    assert np.array_equal(out[:, 0].view(np.float32), (np.arange(256) / 255).astype(np.float32))


@pytest.mark.parametrize("engine", ENGINES)
def test_linear_filtering_between_two_texels(engine: str) -> None:
    texture = ptxspec.Texture(np.array([[[0.0], [10.0]]], np.float32), address="clamp", filter="linear")
    x = np.arange(0.5, 1.5, 1 / 256)
    out = run(look_up(TEX_2D), words(x, np.full(256, 0.5)), engine, bind={"t": texture})
    assert np.array_equal(out[:, 0].view(np.float32), np.float32(10) * (np.arange(256, dtype=np.float32) / 256))


@pytest.mark.parametrize("engine", ENGINES)
def test_layers_and_cubes_and_depth(engine: str) -> None:
    volume = RNG.integers(0, 99, (3, 4, 5, 1)).astype(np.int32)
    rows = words([1, 4, 0], [2, 3, 1], [0, 1, 2], [9, 9, 9])
    text = look_up("tex.3d.v4.s32.s32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x3}];")
    found = run(text, rows, engine, bind={"t": ptxspec.Texture(volume, "3d")})[:, 0]
    assert found.tolist() == [volume[0, 2, 1, 0], volume[1, 3, 4, 0], volume[2, 1, 0, 0]]
    text = look_up("tex.a2d.v4.s32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x3}];")
    rows = words([1, 7, 0], np.array([2.5, 0.2, 4.9]), np.array([0.5, 3.5, 1.5]))
    found = run(text, rows, engine, bind={"t": ptxspec.Texture(volume, "a2d", address="clamp")})[:, 0]
    assert found.tolist() == [volume[1, 0, 2, 0], volume[2, 3, 0, 0], volume[0, 1, 4, 0]]
    faces = np.arange(6, dtype=np.float32).reshape(6, 1, 1, 1)
    text = look_up("tex.cube.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x3}];")
    ways = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [1, 1, 0], [1, 1, -1]], float)
    texture = ptxspec.Texture(faces, "cube", normalized_coords=True)
    found = run(text, words(*ways.T), engine, bind={"t": texture})[:, 0].view(np.float32)
    assert found.tolist() == [0, 1, 2, 3, 4, 5, 2, 5]


IRREGULAR = {
    "a NaN": (1.0, np.nan, 0.0), "an infinity": (np.inf, 1.0, 0.0), "no direction": (0.0, 0.0, -0.0),
    "large": (0.0, 0.0, 2.0**127), "small": (0.0, 2.0**-127, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["tex.cube.v4.f32.f32", "tex.acube.v4.f32.f32", "tld4.r.cube.v4.f32.f32"])
@pytest.mark.parametrize("way", IRREGULAR)
def test_directions_that_the_page_leaves_out_are_refused(mode: str, way: str) -> None:
    array = "acube" in mode
    faces = np.arange(24, dtype=np.float32).reshape(6, 2, 2, 1)
    coordinates = "%x3, %x0, %x1, %x2" if array else "%x0, %x1, %x2, %x3"
    text = look_up(f"{mode} {{%y0, %y1, %y2, %y3}}, [t, {{{coordinates}}}];")
    texture = ptxspec.Texture(faces, "acube" if array else "cube", normalized_coords=True)
    where = {}
    for engine in ENGINES:
        with pytest.raises(ptxspec.LaunchError) as caught:
            run(text, words(*np.array([[0.0, 0.0, 1.0], IRREGULAR[way]]).T, [0, 0]), engine, bind={"t": texture})
        where[engine] = (caught.value.rule, str(caught.value))
    assert where["exact"][0] == "irregular direction" and where["exact"] == where["native"]


@pytest.mark.parametrize("engine", ENGINES)
def test_samples_by_the_text(engine: str) -> None:
    texels = RNG.integers(0, 99, (2, 3, 4, 1)).astype(np.uint32)  # rows, columns, samples
    text = look_up("tex.2dms.v4.u32.s32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x3}];")
    out = run(text, words([3, 0, 4], [2, 1, 0], [1, 0, 0]), engine, bind={"t": ptxspec.Texture(texels, "2dms")})
    assert out[:, 0].tolist() == [texels[1, 2, 3, 0], texels[0, 1, 0, 0], 0]
    layers = np.stack([texels, texels + 100])
    text = look_up("tex.a2dms.v4.u32.s32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x3}];")
    rows = words([3, 0, 1, 4], [1, 0, 2, 0], [2, 1, 0, 0], [1, 0, 0, 0])  # the sample, the layer, x, y
    out = run(text, rows, engine, bind={"t": ptxspec.Texture(layers, "a2dms")})
    assert out[:, 0].tolist() == [layers[1, 1, 2, 3, 0], layers[0, 0, 1, 0, 0], 0, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_levels_and_their_sizes(engine: str) -> None:
    chain = [np.full((8 >> n, 4 >> n or 1, 1), n, np.float32) for n in range(4)]
    texture = ptxspec.Texture(chain, normalized_coords=True, levels=(0.0, 2.0))
    text = look_up("tex.level.2d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1}], %x2;")
    rows = words(np.full(5, 0.5), np.full(5, 0.5), np.array([0.0, 0.4, 0.6, 2.0, 9.0]))
    assert run(text, rows, engine, bind={"t": texture})[:, 0].view(np.float32).tolist() == [0, 0, 1, 2, 2]
    text = look_up(
        "txq.level.width.b32 %y0, [t], %x0; txq.level.height.b32 %y1, [t], %x0; mov.b32 %y2, 0; mov.b32 %y3, 0;"
    )
    sizes = run(text, words([0, 1, 3, 4, -1]), engine, bind={"t": texture})[:, :2].tolist()
    assert sizes == [[4, 8], [2, 4], [1, 1], [0, 0], [0, 0]]


#: what an H200 answers of levels: (width, height, depth) of level 1, and of level 0
SIZES_OF_LEVELS = {
    "1d": ((8, 1), (4, 1, 0), (8, 1, 0)), "a1d": ((3, 8, 1), (4, 3, 0), (8, 3, 0)), "2d": ((6, 8, 1), (4, 3, 0), (8, 6, 0)),
    "a2d": ((3, 6, 8, 1), (4, 3, 3), (8, 6, 3)), "3d": ((6, 4, 8, 1), (4, 2, 3), (8, 4, 6)),
    "cube": ((6, 8, 8, 1), (4, 4, 0), (8, 8, 0)), "acube": ((12, 8, 8, 1), (4, 4, 2), (8, 8, 2)),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("geometry", SIZES_OF_LEVELS)
def test_sizes_of_a_level(engine: str, geometry: str) -> None:
    shape, second, first = SIZES_OF_LEVELS[geometry]
    layered = geometry[0] == "a" or geometry == "cube"
    half = tuple(n if k == 0 and layered else max(n // 2, 1) for k, n in enumerate(shape))
    chain = [np.zeros(shape, np.float32), np.zeros(half, np.float32)]
    ask = "".join(f"txq.level.{q}.b32 %y{i}, [t], %x0; " for i, q in enumerate(("width", "height", "depth")))
    texture = ptxspec.Texture(chain, geometry, normalized_coords=True)
    out = run(look_up(ask + "mov.b32 %y3, 0;"), words([1, 0, 2]), engine, bind={"t": texture})
    assert [tuple(row[:3]) for row in out.tolist()] == [second, first, (0, 0, 0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_texture_comes_by_name_by_parameter_by_handle_and_through_memory(engine: str) -> None:
    rows, texture = words(np.array([2.5]), np.array([1.5])), ptxspec.Texture(IMAGE)
    want = IMAGE[1, 2].view(np.uint32).tolist()
    assert run(look_up(TEX_2D), rows, engine, bind={"t": texture})[0, :1].tolist() == want
    named = look_up(TEX_2D.replace("[t", "[own"), "", ", .param .texref own")
    assert run(named, rows, engine, texture)[0, :1].tolist() == want
    by_value = look_up("ld.param.u64 %d1, [own]; " + TEX_2D.replace("[t", "[%d1"), "", ", .param .u64 own")
    assert run(by_value, rows, engine, texture)[0, :1].tolist() == want
    stored = "mov.u64 %d1, t; st.global.u64 [kept], %d1; ld.global.u64 %d2, [kept]; " + TEX_2D.replace("[t", "[%d2")
    text = look_up(stored, ".global .texref t; .global .u64 kept;")
    assert run(text, rows, engine, bind={"t": texture})[0, :1].tolist() == want
    called = ".func (.param .b32 r) f(.param .u64 h) { .reg .u64 %h; .reg .f32 %a<4>; ld.param.u64 %h, [h]; "
    called += "tex.2d.v4.f32.f32 {%a0, %a1, %a2, %a3}, [%h, {0f40200000, 0f3fc00000}]; st.param.f32 [r], %a0; ret; }"
    call = "{ .param .u64 p; .param .b32 q; mov.u64 %d1, t; st.param.u64 [p], %d1; call (q), f, (p); ld.param.b32 %y0, [q]; }"
    text = look_up(call + " mov.b32 %y1, 0; mov.b32 %y2, 0; mov.b32 %y3, 0;", ".global .texref t; " + called)
    assert run(text, rows, engine, bind={"t": texture})[0, :1].tolist() == want


@pytest.mark.parametrize("engine", ENGINES)
def test_a_handle_tells_what_it_stands_for(engine: str) -> None:
    """By the text of istypep: true for a handle of the type that is named, and for no other."""
    tests = "".join(
        f"mov.u64 %d1, {name}; istypep.{type} %q, %d1; selp.u32 %y{i}, 1, 0, %q; "
        for i, (name, type) in enumerate((("t", "texref"), ("t", "surfref"), ("s", "surfref"), ("s", "texref")))
    )
    text = look_up("{ .reg .pred %q; " + tests + "}", ".global .texref t; .global .surfref s;")
    images = {"t": ptxspec.Texture(IMAGE), "s": ptxspec.Surface(IMAGE, geometry="2d")}
    assert run(text, words(np.array([0.0]), np.array([0.0])), engine, bind=images)[0].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_host_passes_by_value_is_no_variable(engine: str) -> None:
    """As on an H200, whose driver's handles have none of the bits that istypep tests."""
    tests = "ld.param.u64 %d1, [own]; " + "".join(
        f"istypep.{type} %q, %d1; selp.u32 %y{i}, 1, 0, %q; "
        for i, type in enumerate(("texref", "samplerref", "surfref"))
    )
    text = look_up("{ .reg .pred %q; mov.b32 %y3, 0; " + tests + "}", "", ", .param .u64 own")
    rows = words(np.array([0.0]), np.array([0.0]))
    for thing in (ptxspec.Texture(IMAGE), ptxspec.Surface(IMAGE)):
        assert run(text, rows, engine, thing)[0].tolist() == [0, 0, 0, 0]
    named = look_up(
        text[text.index("{ .reg .pred") : text.index("st.global")].replace(
            "ld.param.u64 %d1, [own]", "mov.u64 %d1, own"
        ),
        "",
        ", .param .texref own",
    )
    assert run(named, rows, engine, ptxspec.Texture(IMAGE))[0].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sampler_of_its_own(engine: str) -> None:
    declarations = ".global .texref t; .global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = linear };"
    text = look_up(TEX_2D.replace("[t, ", "[t, s, "), declarations, options=", texmode_independent")
    rows = words(np.array([1.0, -3.0]), np.array([0.5, 0.5]))
    texture = ptxspec.Texture(np.array([[[2.0], [4.0]]], np.float32), address="clamp")
    own = {"t": texture, "s": ptxspec.Sampler(("border", "clamp"), "linear")}
    assert run(text, rows, engine, bind=own)[:, 0].view(np.float32).tolist() == [3.0, 0.0]
    assert fails(text, rows, engine, bind={"t": texture}).rule == "unbound"
    query = "txq.force_unnormalized_coords.b32 %y0, [s]; txq.filter_mode.b32 %y1, [s]; txq.addr_mode_0.b32 %y2, [s];"
    text = look_up(query + " txq.addr_mode_1.b32 %y3, [s];", declarations, options=", texmode_independent")
    sampler = ptxspec.Sampler(("mirror", "border"), "linear", force_unnormalized_coords=True)
    assert run(text, rows, engine, bind={"s": sampler})[0].tolist() == [1, 1, 1, 4]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_handle_that_stands_for_nothing(engine: str) -> None:
    rows, texture = words(np.array([2.5]), np.array([1.5])), ptxspec.Texture(IMAGE)
    assert fails(look_up(TEX_2D), rows, engine).rule == "unbound"
    moved = look_up("mov.u64 %d1, t; add.u64 %d1, %d1, 8; " + TEX_2D.replace("[t", "[%d1"))
    assert fails(moved, rows, engine, bind={"t": texture}).rule == "no such image"
    read = look_up("mov.u64 %d1, t; ld.global.b32 %y0, [%d1]; mov.b32 %y1, 0; mov.b32 %y2, 0; mov.b32 %y3, 0;")
    assert fails(read, rows, engine, bind={"t": texture}).rule == "opaque"
    by_value = look_up("ld.param.u64 %d1, [own]; " + TEX_2D.replace("[t", "[%d1"), "", ", .param .u64 own")
    assert fails(by_value, rows, engine, np.uint64(5)).rule == "no such image"
    assert fails(by_value, rows, engine, ptxspec.Surface(IMAGE)).rule == "wrong image"
    assert fails(by_value, rows, engine, np.zeros(4)).rule == "no such image"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_texture_of_another_kind(engine: str) -> None:
    rows = words(np.array([2.5]), np.array([1.5]))
    line = ptxspec.Texture(IMAGE[0], "1d")
    assert "geometry" in str(fails(look_up(TEX_2D), rows, engine, bind={"t": line}))
    whole = ptxspec.Texture(np.zeros((2, 2, 1), np.uint8))
    assert "integers" in str(fails(look_up(TEX_2D), rows, engine, bind={"t": whole}))


SURFACE = RNG.integers(0, 256, (6, 8, 4)).astype(np.uint8)


def surface_kernel(instruction: str) -> str:
    return look_up(f"{instruction} mov.b32 %y1, %x0; mov.b32 %y2, 0; mov.b32 %y3, 0;", ".global .surfref s;")


@pytest.mark.parametrize("engine", ENGINES)
def test_loads_and_stores_in_a_surface(engine: str) -> None:
    text = surface_kernel("suld.b.2d.b32.zero %y0, [s, {%x0, %x1}];")
    rows = words([0, 4, 28, 32, -4, 8], [0, 1, 5, 0, 2, 6])
    out = run(text, rows, engine, bind={"s": ptxspec.Surface(SURFACE)})
    whole = SURFACE.view(np.uint32)[..., 0]
    assert out[:, 0].tolist() == [whole[0, 0], whole[1, 1], whole[5, 7], 0, 0, 0]
    surface = ptxspec.Surface(SURFACE)
    text = surface_kernel("sust.b.2d.b32.clamp [s, {%x0, %x1}], %x2; mov.b32 %y0, 0;")
    run(text, words([4, 400, 0], [1, 2, -9], [11, 12, 13]), engine, bind={"s": surface})
    want = whole.copy()
    want[1, 1], want[2, 7], want[0, 0] = 11, 12, 13
    assert np.array_equal(surface.texels.view(np.uint32)[..., 0], want) and np.array_equal(
        SURFACE.view(np.uint32)[..., 0], whole
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_formatted_store_and_a_reduction(engine: str) -> None:
    surface = ptxspec.Surface(np.zeros((2, 3, 2), np.int8))
    text = surface_kernel("sust.p.2d.v2.b32.trap [s, {%x0, %x1}], {%x2, %x3}; mov.b32 %y0, 0;")
    run(text, words([2, 0], [1, 0], [300, -5], [-300, 7]), engine, bind={"s": surface})
    assert surface.texels[1, 2].tolist() == [127, -128] and surface.texels[0, 0].tolist() == [-5, 7]
    sums = ptxspec.Surface(np.full((1, 4, 1), -3, np.int32))
    text = surface_kernel("sured.p.max.2d.b32.trap [s, {%x0, %x1}], %x2; mov.b32 %y0, 0;")
    run(text, words([0, 0, 1], [0, 0, 0], [-9, 5, -9]), engine, bind={"s": sums})
    assert sums.texels[0, :, 0].tolist() == [5, -3, -3, -3]
    text = surface_kernel("sured.b.add.2d.u32.trap [s, {%x0, %x1}], %x2; mov.b32 %y0, 0;")
    counts = ptxspec.Surface(np.zeros((1, 4, 1), np.uint32))
    run(text, words([0] * 100, [0] * 100, list(range(100))), engine, bind={"s": counts})
    assert counts.texels[0, 0, 0] == 4950


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("row", "rule"), [((32, 0), "outside of a surface"), ((0, 6), "outside of a surface"),
                                           ((-4, 0), "outside of a surface"), ((2, 0), "misaligned in a surface")])  # fmt: skip
def test_a_broken_rule_ends_the_launch_and_changes_nothing(engine: str, row: tuple[int, int], rule: str) -> None:
    surface = ptxspec.Surface(SURFACE)
    text = surface_kernel("sust.b.2d.b32.trap [s, {%x0, %x1}], %x2; mov.b32 %y0, 0;")
    rows = words([0, row[0]], [0, row[1]], [1, 2])
    out = np.full_like(rows, 7)
    module = ptxspec.load(text)
    module.bind("s", surface)
    with pytest.raises(ptxspec.LaunchError) as caught:
        module.launch("k", 1, 2, [rows, out], engine=engine)
    assert caught.value.rule == rule and caught.value.where is not None and caught.value.where.thread == (1, 0, 0)
    assert np.array_equal(surface.texels, SURFACE) and (out == 7).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_texture_shares_a_surface_and_sees_it_after_the_launch(engine: str) -> None:
    surface = ptxspec.Surface(IMAGE)
    texture = ptxspec.Texture(surface)
    both = ".global .texref t; .global .surfref s;"
    write = "sust.b.2d.b32.trap [s, {%x2, %x3}], 0f41000000; "
    rows = words(np.array([2.5]), np.array([1.5]), [8], [1])
    text = look_up(write + TEX_2D, both)
    assert fails(text, rows, engine, bind={"t": texture, "s": surface}).rule == "written image"
    assert np.array_equal(surface.texels, IMAGE)
    elsewhere = look_up(write.replace("%x3", "0") + TEX_2D, both)
    assert run(elsewhere, rows, engine, bind={"t": texture, "s": surface})[0, 0] == IMAGE[1, 2].view(np.uint32)[0]
    run(look_up(write + "mov.b32 %y0, 0; mov.b32 %y1, 0; mov.b32 %y2, 0; mov.b32 %y3, 0;", both), rows, engine,
        bind={"s": surface})  # fmt: skip
    assert run(look_up(TEX_2D), rows, engine, bind={"t": texture})[0, :1].view(np.float32).tolist() == [8.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_that_ask_different_textures_and_lanes_that_ask_none(engine: str) -> None:
    chosen = (
        ".reg .pred %p, %q; setp.eq.u32 %p, %x2, 1; setp.eq.u32 %q, %x2, 2; mov.b32 %y0, 5; mov.b32 %y1, 0; mov.b32 %y2, 0; "
        "mov.b32 %y3, 0; mov.u64 %d1, t; mov.u64 %d2, u; selp.b64 %d3, %d1, %d2, %p; @!%q "
        + TEX_2D.replace("[t", "[%d3")
    )
    rows = words(np.full(64, 2.5), np.full(64, 1.5), np.arange(64) % 3)
    bind = {"t": ptxspec.Texture(IMAGE), "u": ptxspec.Texture(-IMAGE)}
    out = run(look_up(chosen, ".global .texref t, u;"), rows, engine, bind=bind)[:, 0]
    value = IMAGE[1, 2]
    want = [(-value).view(np.uint32)[0], value.view(np.uint32)[0], 5]
    assert out.tolist() == [want[i % 3] for i in range(64)]


@pytest.mark.parametrize(("make", "error"), [
    (lambda: ptxspec.Texture(IMAGE.astype(np.float64)), TypeError),
    (lambda: ptxspec.Texture([[1]]), TypeError),  # type: ignore[list-item]
    (lambda: ptxspec.Texture(IMAGE, "4d"), ValueError),
    (lambda: ptxspec.Texture(IMAGE, "3d"), ValueError),
    (lambda: ptxspec.Texture(np.zeros((2, 2, 3), np.uint8)), ValueError),
    (lambda: ptxspec.Texture(np.zeros((0, 2, 1), np.uint8)), ValueError),
    (lambda: ptxspec.Texture(np.zeros((6, 2, 3, 1), np.uint8), "cube"), ValueError),
    (lambda: ptxspec.Texture(np.zeros((5, 2, 2, 1), np.uint8), "cube"), ValueError),
    (lambda: ptxspec.Texture([IMAGE, IMAGE]), ValueError),
    (lambda: ptxspec.Texture([]), ValueError),
    (lambda: ptxspec.Texture(IMAGE, address="around"), ValueError),
    (lambda: ptxspec.Texture(IMAGE, filter="cubic"), ValueError),
    (lambda: ptxspec.Texture(IMAGE, read="normalized_float"), ValueError),
    (lambda: ptxspec.Texture(np.zeros((2, 2, 1), np.uint8), filter="linear"), ValueError),
    (lambda: ptxspec.Texture(IMAGE, levels=(2.0, 1.0)), ValueError),
    (lambda: ptxspec.Texture(IMAGE, bias=99.0), ValueError),
    (lambda: ptxspec.Texture(ptxspec.Surface(IMAGE), "1d"), ValueError),
    (lambda: ptxspec.Surface(IMAGE, "cube"), ValueError),
    (lambda: ptxspec.Surface([IMAGE]), TypeError),  # type: ignore[arg-type]
    (lambda: ptxspec.Surface(IMAGE, layout="curved"), ValueError),
    (lambda: ptxspec.Sampler("wrap", "cubic"), ValueError),
])  # fmt: skip
def test_what_no_image_is_made_of(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_binding_wants_the_name_and_the_kind() -> None:
    module = ptxspec.load(look_up(TEX_2D))
    with pytest.raises(KeyError, match="no opaque variable 'u'; there are t"):
        module.bind("u", ptxspec.Texture(IMAGE))
    with pytest.raises(TypeError, match=r"t is a \.texref: a Texture is needed, not Surface"):
        module.bind("t", ptxspec.Surface(IMAGE))
    named = ptxspec.load(look_up(TEX_2D.replace("[t", "[own"), "", ", .param .texref own"))
    rows = words(np.array([2.5]), np.array([1.5]))
    with pytest.raises(TypeError, match=r"argument 2 \(own\) is a .texref: a Texture is needed, not ndarray"):
        named.launch("k", 1, 1, [rows, np.zeros_like(rows), IMAGE])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_in_linear_memory(engine: str) -> None:
    """An H200 reads a line with integer coordinates in linear memory alone; PTX knows of no such restriction."""
    line = np.arange(10, 90, 10, dtype=np.int32).reshape(8, 1)
    text = look_up("tex.1d.v4.s32.s32 {%y0, %y1, %y2, %y3}, [t, {%x0}];")
    rows = words([3, 0, 8, -1])
    linear = ptxspec.Texture(line, "1d", layout="linear")
    assert run(text, rows, engine, bind={"t": linear})[:, 0].tolist() == [40, 10, 0, 0]
    assert not run(text, rows, engine, bind={"t": ptxspec.Texture(line, "1d")}).any()
    module = ptxspec.load(text)
    module.bind("t", ptxspec.Texture(line, "1d"))
    out = np.zeros_like(rows)
    module.launch("k", 1, 4, [rows, out], engine="exact", profile="portable")
    assert out[:, 0].tolist() == [40, 10, 0, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_queries_answer(engine: str) -> None:
    def ask(instruction: str, declarations: str, thing: Any, *queries: str) -> list[int]:
        asked = " ".join(f"{instruction}.{q}.b32 %y{i}, [t];" for i, q in enumerate(queries))
        rest = " ".join(f"mov.b32 %y{i}, 0;" for i in range(len(queries), 4))
        out = run(look_up(asked + rest, declarations), words([0]), engine, bind={"t": thing})
        return out[0, : len(queries)].tolist()

    layers = np.zeros((3, 4, 5, 2), np.uint8)
    texture = ptxspec.Texture(
        layers, "a2d", read="normalized_float", normalized_coords=True, address=("wrap", "border")
    )
    own = ".global .texref t;"
    assert ask("txq", own, texture, "width", "height", "array_size", "num_mipmap_levels") == [5, 4, 3, 1]
    assert ask("txq", own, texture, "channel_data_type", "channel_order", "normalized_coords") == [0x10D2, 0x10B2, 1]
    assert ask("txq", own, texture, "filter_mode", "addr_mode_0", "addr_mode_1", "num_samples") == [0, 0, 4, 1]
    volume = ptxspec.Texture(np.zeros((6, 5, 4, 4), np.float16), "3d")
    assert ask("txq", own, volume, "width", "height", "depth", "channel_data_type") == [4, 5, 6, 0x10DD]
    surface = ptxspec.Surface(np.zeros((5, 8, 1), np.int16), layout="linear")
    own = ".global .surfref t;"
    assert ask("suq", own, surface, "width", "height", "memory_layout", "array_size") == [8, 5, 1, 0]
    assert ask("suq", own, surface, "channel_data_type", "channel_order") == [0x10D8, 0x10B0]


@pytest.mark.parametrize("engine", ENGINES)
def test_early_spellings(engine: str) -> None:
    """Without brackets before PTX 1.2, and with the name of an old declaration."""
    text = """.version 1.1
.target sm_10
.tex .u32 t;
.entry k { .param .u32 out; .reg .b32 %r<2>; .reg .f32 %x<8>;
  ld.param.u32 %r0, [out];
  mov.f32 %x0, 0f40200000; mov.f32 %x1, 0f3fc00000;
  tex.2d.v4.f32.f32 {%x4, %x5, %x6, %x7}, t, {%x0, %x1, %x1, %x1};
  exit; }
"""
    module = ptxspec.load(text)
    module.bind("t", ptxspec.Texture(IMAGE))
    assert module.launch("k", args=[np.uint32(0)], engine=engine).steps == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_textures_of_modules_that_are_linked(engine: str) -> None:
    """Each module's own texture, and one that the second declares and the first defines."""
    first = look_up(TEX_2D, ".visible .global .texref t;").replace(".entry k", ".entry one")
    second = look_up(TEX_2D.replace("[t", "[u"), ".visible .global .texref u;").replace(".entry k", ".entry two")
    third = look_up(TEX_2D, ".extern .global .texref t;").replace(".entry k", ".entry three")
    module = ptxspec.link([first, second, third])
    module.bind("t", ptxspec.Texture(IMAGE))
    module.bind("u", ptxspec.Texture(-IMAGE))
    rows = words(np.array([2.5]), np.array([1.5]))
    for name, sign in (("one", 1), ("two", -1), ("three", 1)):
        out = np.zeros_like(rows)
        module.launch(name, args=[rows, out], engine=engine)
        assert out[0, :1].view(np.float32) == sign * IMAGE[1, 2]


# offsets, half precision, residency, references ------------------------------------------------------------------------


def found_at(texels: np.ndarray, at: tuple[np.ndarray, ...], border: bool = False) -> np.ndarray:
    """The first channel of the texels at these indices, the outermost first; outside the nearest one, or zero."""
    inside = [np.clip(i, 0, n - 1) for i, n in zip(at, texels.shape, strict=False)]
    outside = np.any([i != k for i, k in zip(at, inside, strict=True)], axis=0)
    return np.where(outside & border, 0, texels[tuple(inside)][:, 0]).view(np.uint32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("address", ["clamp", "border"])
@pytest.mark.parametrize("normalized", [False, True])
def test_an_offset_counts_texels(engine: str, address: str, normalized: bool) -> None:
    texels = RNG.standard_normal((9, 12, 1)).astype(np.float32)
    x, y, dx, dy = *RNG.integers(-3, 14, (2, 60)), *RNG.integers(-8, 8, (2, 60))
    scale = (12, 9) if normalized else (1, 1)
    rows = words((x + 0.5) / scale[0], (y + 0.5) / scale[1], dx, dy)
    texture = ptxspec.Texture(texels, address=address, normalized_coords=normalized)
    text = look_up("tex.2d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1}], {%x2, %x3};")
    out = run(text, rows, engine, bind={"t": texture})
    assert np.array_equal(out[:, 0], found_at(texels, (y + dy, x + dx), address == "border"))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_offset_is_added_in_each_level_and_leaves_the_weights(engine: str) -> None:
    chain = [np.arange(w, dtype=np.float32).reshape(1, w, 1) * 100 for w in (16, 8)]
    texture = ptxspec.Texture(
        chain, address="clamp", filter="linear", mipmap_filter="linear", normalized_coords=True, levels=(0.0, 1.0)
    )
    text = look_up("tex.level.2d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, 0f3f000000}], %x1, {%x2, 0};")
    x = np.array([0.25, 0.25 + 1 / 64])
    rows = words(np.repeat(x, 2), np.tile([0.0, 1.0], 2), [3, 3, -2, -2])
    out = run(text, rows, engine, bind={"t": texture})[:, 0].view(np.float32)
    assert out.tolist() == [350 + 300, 150 + 300, 375 - 200, 162.5 - 200 if 162.5 > 200 else 0]
    both = run(text, words(x[:1], [0.5], [1]), engine, bind={"t": texture})[:, 0].view(np.float32)
    assert both.tolist() == [(350 + 100 + 150 + 100) / 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_offsets_of_layers_of_volumes_of_gathers_and_of_integers(engine: str) -> None:
    volume = RNG.standard_normal((7, 6, 5, 1)).astype(np.float32)
    x, y, z = np.array([3, 0, 4]), np.array([2, 5, 1]), np.array([1, 6, 3])
    dx, dy, dz = 1, -2, 3
    ints = "{%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x2}], {1, -2, 3, 9};"
    out = run(look_up("tex.3d.v4.f32.s32 " + ints), words(x, y, z), engine, bind={"t": ptxspec.Texture(volume, "3d")})
    assert np.array_equal(out[:, 0], found_at(volume, (z + dz, y + dy, x + dx), border=True))
    array = ptxspec.Texture(volume, "a2d", address="clamp")
    text = look_up("tex.a2d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x2}], {1, -2};")
    out = run(text, words(z, x + 0.5, y + 0.5), engine, bind={"t": array})
    assert np.array_equal(out[:, 0], found_at(volume, (z, y + dy, x + dx)))
    plane = ptxspec.Texture(volume[0], address="clamp")
    text = look_up("tld4.r.2d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1}], {1, -2};")
    out = run(text, words(x + 1.0, y + 1.0), engine, bind={"t": plane})
    for i, (ox, oy) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
        assert np.array_equal(out[:, i], found_at(volume[0], (y + dy + oy, x + dx + ox)))
    samples = RNG.integers(0, 99, (5, 6, 2, 1)).astype(np.uint32)
    text = look_up("tex.2dms.v4.u32.s32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1, %x2, %x2}], {1, -2};")
    out = run(text, words([1, 0], [2, 5], [3, 3]), engine, bind={"t": ptxspec.Texture(samples, "2dms")})
    assert out[:, 0].tolist() == [samples[1, 3, 1, 0], 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_offsets_beyond_their_range_are_open(engine: str) -> None:
    texels = np.arange(64, dtype=np.float32).reshape(1, 64, 1)
    beyond = np.array([8, 15, 17, -9, 100, 31, -33])
    for instruction, bits in (("tex", 4), ("tld4.r", 6)):
        text = look_up(f"{instruction}.2d.v4.f32.f32 {{%y0, %y1, %y2, %y3}}, [t, {{%x0, 0f3f000000}}], {{%x1, 0}};")
        bind = {"t": ptxspec.Texture(texels, address="clamp")}
        centre = 32.5 if bits == 4 else 32.0
        out = run(text, words(np.full(7, centre), beyond), engine, bind=bind)[:, 3 if bits == 6 else 0]
        moved = (beyond & (1 << bits) - 1) - (beyond >> bits - 1 & 1) * (1 << bits)
        assert out.view(np.float32).tolist() == np.clip(32 - (bits == 6) + moved, 0, 63).tolist()
        module = ptxspec.load(text)
        module.bind("t", bind["t"])
        rows = words(np.full(1, centre), [8])
        with pytest.raises(ptxspec.LaunchError, match="offset-beyond-seven"):
            module.launch("k", 1, 1, [rows, np.zeros_like(rows)], engine=engine, profile="portable")


@pytest.mark.parametrize("engine", ENGINES)
def test_offsets_in_one_dimension(engine: str) -> None:
    """As an H200 has them, and as the text does."""
    texels = np.arange(1, 17, dtype=np.float32).reshape(16, 1)
    text = look_up("tex.1d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0}], {%x1};")
    rows = words(np.full(4, 8.5), [0, 3, -3, 16])
    clamped = ptxspec.Texture(texels, "1d", address=("border", "clamp", "clamp"))
    assert run(text, rows, engine, bind={"t": clamped})[:, 0].view(np.float32).tolist() == [9, 12, 6, 9]
    bordered = ptxspec.Texture(texels, "1d", address="border")
    assert run(text, rows, engine, bind={"t": bordered})[:, 0].view(np.float32).tolist() == [9, 12, 0, 0]
    linear = ptxspec.Texture(texels, "1d", address="border", filter="linear")
    assert run(text, rows, engine, bind={"t": linear})[:, 0].view(np.float32).tolist() == [4.5, 6, 0, 4.5]
    whole = look_up("tex.1d.v4.f32.s32 {%y0, %y1, %y2, %y3}, [t, {%x0}], {%x1};")
    line = ptxspec.Texture(texels, "1d", layout="linear")
    assert run(whole, words([8], [3]), engine, bind={"t": line})[0, 0] == np.float32(9).view(np.uint32)
    layers = ptxspec.Texture(texels.reshape(1, 16, 1), "a1d", address="border")
    text = look_up("tex.a1d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {0, %x0}], {%x1};".replace("{0, %x0}", "{%x2, %x0}"))
    assert run(text, rows[:3], engine, bind={"t": layers})[:, 0].view(np.float32).tolist() == [9, 12, 6]


@pytest.mark.parametrize("engine", ENGINES)
def test_half_precision_results(engine: str) -> None:
    numbers = np.array(
        [1.0, 1 + 2**-11, 1 + 3 * 2**-11, 65519.0, 65520.0, -7e4, 6e-8, 2e-8, np.nan, -np.inf, -0.0, 3e-8], np.float32
    )
    pixels = numbers.reshape(1, 3, 4)
    rows = words(np.array([0.5, 1.5, 2.5]))
    with np.errstate(over="ignore"):
        want = numbers.astype(np.float16).view(np.uint16)
    want[np.isnan(numbers)] = 0x7FFF
    texture = ptxspec.Texture(pixels, address="clamp")
    own = "{ .reg .b16 %h<4>; .reg .b16 %z; mov.b16 %z, 0; "
    stored = " ".join(f"mov.b32 %y{i}, {{%h{i}, %z}};" for i in range(4))
    text = look_up(own + "tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [t, {%x0, %x0}]; " + stored + " }")
    assert run(text, rows, engine, bind={"t": texture}).ravel().tolist() == want.tolist()
    text = look_up("tex.2d.v2.f16x2.f32 {%y0, %y1}, [t, {%x0, %x0}]; mov.b32 %y2, 0; mov.b32 %y3, 0;")
    assert run(text, rows, engine, bind={"t": texture})[:, :2].copy().view(np.uint16).ravel().tolist() == want.tolist()
    whole = ptxspec.Texture(np.zeros((2, 2, 1), np.uint8))
    assert "integers" in str(fails(text, rows, engine, bind={"t": whole}))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_texel_is_resident(engine: str) -> None:
    rows = words(np.array([0.5, -99.0]), np.array([0.5, 0.5]))
    texture = ptxspec.Texture(IMAGE, address="border")
    for of in ("{%y0, %y1, %y2, _}|%p", "V|%p"):
        vector = ".reg .v4 .b32 V; " if of[0] == "V" else ""
        took = "mov.b32 %y0, V.x; " if of[0] == "V" else ""
        text = look_up(
            f"{{ .reg .pred %p; {vector}tex.2d.v4.f32.f32 {of}, [t, {{%x0, %x1}}]; {took}"
            "mov.b32 %y1, 0; mov.b32 %y2, 0; selp.b32 %y3, 1, 0, %p; }"
        )
        out = run(text, rows, engine, bind={"t": texture})
        assert out[:, 0].tolist() == [int(IMAGE[0, 0].view(np.uint32)[0]), 0] and out[:, 3].tolist() == [1, 1]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("instruction", ["tex.2d.v4.f32.f32", "tld4.r.2d.v4.f32.f32", "tex.base.2d.v4.f32.f32"])
def test_a_reference_beside_a_texture_without_depth(engine: str, instruction: str) -> None:
    """Undefined; an H200 ignores it."""
    rows, bind = words(np.array([2.5]), np.array([1.5]), np.array([0.25])), {"t": ptxspec.Texture(IMAGE)}
    plain = look_up(f"{instruction} {{%y0, %y1, %y2, %y3}}, [t, {{%x0, %x1}}];")
    for more in ("%x2", "{0, 0}, %x2"):
        text = look_up(f"{instruction} {{%y0, %y1, %y2, %y3}}, [t, {{%x0, %x1}}], {more};")
        assert np.array_equal(run(text, rows, engine, bind=bind), run(plain, rows, engine, bind=bind))
        module = ptxspec.load(text)
        module.bind("t", bind["t"])
        with pytest.raises(ptxspec.LaunchError, match="reference-without-depth"):
            module.launch("k", 1, 1, [rows, np.zeros_like(rows)], engine=engine, profile="portable")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_border_was_not_written(engine: str) -> None:
    """A lookup in the border reads no texel, so that none of those at the edge may be refused as written."""
    declarations = ".global .texref t; .global .surfref s;"
    text = look_up(
        "sust.b.2d.b32.trap [s, {0, 0}], 5; tex.2d.v4.f32.f32 {%y0, %y1, %y2, %y3}, [t, {%x0, %x1}];",
        declarations,
    )
    module, surface = ptxspec.load(text), ptxspec.Surface(np.ones((2, 2, 1), np.float32))
    module.bind("s", surface)
    module.bind("t", ptxspec.Texture(surface, address="border"))
    out = np.ones((1, 4), np.uint32)
    module.launch("k", 1, 1, [words(np.array([-1.0]), np.array([-1.0])), out], engine=engine)
    assert not out.any()
    with pytest.raises(ptxspec.LaunchError, match="has written"):
        module.launch("k", 1, 1, [words(np.array([0.5]), np.array([0.5])), out], engine=engine)
