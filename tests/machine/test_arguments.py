"""What a launch is given: arguments that fit and that do not, shapes within limits, names that are known."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, HEADER, both, each, kernel, text

import ptxspec

NOTHING = text("ret;", parameters="")


def launch(source: str, *args: Any, engine: str = "exact", **how: Any) -> None:
    ptxspec.load(source).launch("k", args=args, engine=engine, **how)


# how many, of what size, of what kind --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_number_of_arguments(count: int) -> None:
    source = text("ret;", ".param .u32 first, .param .u32 second")
    with pytest.raises(TypeError, match=re.escape(f"k takes 2 arguments (first, second), not {count}")):
        launch(source, *[1] * count)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("u32", np.uint64(1)), ("u32", np.uint16(1)), ("u64", np.int32(1)), ("f32", np.float64(1)),
        ("f64", np.float32(1)),
        ("f32", np.float16(1)), ("u8", np.uint32(1)), ("b32", np.float64(1)), ("f16", np.float32(1)),
        ("u16", np.uint8(0)),
        ("u64", np.longdouble(1)), ("u32", np.complex64(1)),
    ],
)  # fmt: skip
def test_scalars_of_a_wrong_size(type: str, value: np.generic, engine: str) -> None:
    with pytest.raises(TypeError, match=r"argument 0 \(x\): .* bytes"):
        launch(text("ret;", f".param .{type} x"), value, engine=engine)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("u32", np.float32(1)), ("s64", np.float64(1)), ("f32", np.uint32(1)), ("f64", np.int64(1)),
        ("f16", np.int16(1)),
        ("u32", 1.0), ("b32", 1.0), ("f32", "1"), ("u32", None), ("u64", [1]), ("u64", (1, 2)), ("u64", {}),
        ("u32", True), ("f32", False), ("u64", object()), ("u64", 1j), ("u64", "12345678"), ("f32", 1j),
        ("u64", memoryview(b"12345678")), ("u64", slice(3)),
    ],
)  # fmt: skip
def test_values_of_a_wrong_kind(type: str, value: object) -> None:
    with pytest.raises(TypeError, match=r"argument 0 \(x\)"):
        launch(text("ret;", f".param .{type} x"), value)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("u64", np.complex64(1)), ("u32", np.str_("a")), ("s64", np.datetime64(1, "s")),
        ("u64", np.timedelta64(1, "s")),
        ("b64", np.complex64(1)), ("u64", np.str_("ab")),
    ],
)  # fmt: skip
def test_numpy_scalars_of_a_wrong_kind(type: str, value: np.generic) -> None:
    with pytest.raises(TypeError, match=r"argument 0 \(x\)"):
        launch(text("ret;", f".param .{type} x"), value)


@pytest.mark.parametrize(
    ("type", "least", "most"),
    [("u8", -128, 255), ("s16", -(2**15), 2**16 - 1), ("u32", -(2**31), 2**32 - 1), ("b64", -(2**63), 2**64 - 1)],
)
def test_python_integers_have_limits(type: str, least: int, most: int) -> None:
    source = text(
        f"ld.param.b{type[1:]} %rd1, [x]; ld.param.u64 %rd0, [out]; st.global.b64 [%rd0], %rd1;",
        f".param .{type} x, .param .u64 out",
    )
    for value in (least, most, 0, -1):
        assert both(source, [value, np.zeros(1, np.uint64)])[1].tolist() == [value % 2 ** int(type[1:])]
    for value in (least - 1, most + 1, 10**400, -(10**400)):
        with pytest.raises(TypeError, match="does not fit"):
            launch(source, value, np.zeros(1, np.uint64))


@pytest.mark.parametrize(("type", "dtype"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
@pytest.mark.parametrize("value", [0.1, -0.0, float("inf"), float("-inf"), 1e-7, 1, 65504.0])
def test_python_floats_are_rounded(type: str, dtype: type, value: float) -> None:
    source = text(
        f"ld.param.b{type[1:]} %rd1, [x]; ld.param.u64 %rd0, [out]; st.global.b64 [%rd0], %rd1;",
        f".param .{type} x, .param .u64 out",
    )
    out = both(source, [value, np.zeros(1, np.uint64)])[1]
    assert int(out[0]) == int.from_bytes(dtype(value).tobytes(), "little")


@pytest.mark.parametrize(
    ("type", "value"), [("f32", 1e300), ("f32", -(10**40)), ("f16", 1e5), ("f64", 10**400), ("f32", 10**400)]
)
def test_python_numbers_too_large_for_a_float(type: str, value: float) -> None:
    with pytest.raises((TypeError, ValueError)):
        launch(text("ret;", f".param .{type} x"), value)


@pytest.mark.parametrize("value", [b"", b"123", b"12345", bytearray(5)])
def test_bytes_of_a_wrong_length(value: bytes) -> None:
    for parameter in (".param .u32 x", ".param .align 4 .b8 x[4]"):
        with pytest.raises(TypeError, match=f"{len(value)} bytes for a parameter of 4"):
            launch(text("ret;", parameter), value)


@pytest.mark.parametrize("value", [1, 1.5, np.uint32(1), None, [1, 2, 3, 4], np.zeros(4, np.uint8)])
def test_array_parameters_take_bytes(value: object) -> None:
    with pytest.raises(TypeError, match=r"argument 0 \(x\).*array"):
        launch(text("ret;", ".param .align 4 .b8 x[4]"), value)


@pytest.mark.parametrize("type", ["u32", "f64", "f32", "b16"])
def test_arrays_need_a_parameter_for_a_pointer(type: str) -> None:
    with pytest.raises(TypeError, match=f"the parameter is .{type}, no pointer"):
        launch(text("ret;", f".param .{type} x"), np.zeros(3))


def test_arrays_of_no_dimension_are_scalars() -> None:
    source = text(
        "ld.param.u32 %r1, [x]; ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], %r1;", ".param .u32 x, .param .u64 out"
    )
    assert both(source, [np.array(77, np.uint32), np.zeros(1, np.uint32)])[1].tolist() == [77]
    with pytest.raises(TypeError):
        launch(source, np.array(77, np.float32), np.zeros(1, np.uint32))
    with pytest.raises(TypeError):
        launch(source, np.array(None, object), np.zeros(1, np.uint32))


def test_arrays_of_objects() -> None:
    with pytest.raises(TypeError, match="Python objects"):
        launch(text("ret;"), np.array([1, None, "x"], object))
    with pytest.raises(TypeError, match="Python objects"):
        launch(text("ret;"), np.zeros(3, [("a", "i4"), ("b", object)]))


# arrays that share memory --------------------------------------------------------------------------------------------

TWO = kernel("ld.param.u64 %rd2, [other]; st.global.u32 [%rd0], 7; st.global.u32 [%rd2], 8;",
             ".param .u64 out, .param .u64 other")  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "views",
    [lambda a: (a[:8], a[4:]), lambda a: (a, a[:]), lambda a: (a, a.view(np.uint8)), lambda a: (a[::-1], a[:1]),
     lambda a: (a.reshape(4, 3), a[5:6])],
)  # fmt: skip
def test_arrays_that_overlap(views, engine: str) -> None:  # type: ignore[no-untyped-def]
    base = np.arange(12, dtype=np.uint32)
    with pytest.raises(ValueError, match=r"argument 1 \(other\) shares memory with argument 0 \(out\)"):
        launch(TWO, *views(base), engine=engine)
    assert base.tolist() == list(range(12))


@pytest.mark.parametrize("views", [lambda a: (a[:6], a[6:]), lambda a: (a[:0], a), lambda a: (a, a[3:3])])
def test_arrays_side_by_side(views) -> None:  # type: ignore[no-untyped-def]
    for engine in ENGINES:
        base = np.arange(12, dtype=np.uint32)
        first, second = views(base)
        source = text(
            "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];"
            + ("st.global.u32 [%rd1], 70;" if first.size else "")
            + ("st.global.u32 [%rd2+4], 80;" if second.size else ""),
            ".param .u64 a, .param .u64 b",
        )
        launch(source, first, second, engine=engine)
        assert (not first.size or first[0] == 70) and (not second.size or second[1] == 80)


def test_arrays_that_are_interleaved() -> None:
    for engine in ENGINES:
        base = np.arange(12, dtype=np.uint32)
        launch(TWO, base[::2], base[1::2], engine=engine)
        assert base.tolist() == [7, 8, *range(2, 12)]


# names and options ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nothing", "", "K", "k ", None])
def test_unknown_kernels(name: Any) -> None:
    with pytest.raises(ValueError, match=r"no entry is called .*; there are k"):
        ptxspec.load(NOTHING).launch(name)


def test_a_module_without_kernels() -> None:
    module = ptxspec.load(HEADER)
    assert module.kernels == []
    with pytest.raises(ValueError, match="there are none"):
        module.launch("k")


@pytest.mark.parametrize("engine", ["", "gpu", "Native", "exact ", None, 3, []])
def test_unknown_engines(engine: Any) -> None:
    with pytest.raises(ValueError, match="an engine is 'native' or 'exact'"):
        ptxspec.load(NOTHING).launch("k", engine=engine)


@pytest.mark.parametrize("profile", ["", "ampere", "Hopper", "../profiles/hopper", "os", None])
@pytest.mark.parametrize("engine", ENGINES)
def test_unknown_profiles(profile: Any, engine: str) -> None:
    with pytest.raises(ValueError, match=r"no profile is called .*; there are .*hopper.*portable"):
        ptxspec.load(NOTHING).launch("k", profile=profile, engine=engine)


@pytest.mark.parametrize("args", [None, 5, iter([])])
def test_arguments_are_a_sequence(args: Any) -> None:
    with pytest.raises(TypeError):
        ptxspec.load(NOTHING).launch("k", args=args)


@pytest.mark.parametrize("limit", ["many", True, []])
@pytest.mark.parametrize("engine", ENGINES)
def test_step_limits_are_integers(limit: Any, engine: str) -> None:
    with pytest.raises(TypeError):
        ptxspec.load(NOTHING).launch("k", engine=engine, step_limit=limit)


@pytest.mark.parametrize("engine", ENGINES)
def test_step_limits_are_no_floats(engine: str) -> None:
    with pytest.raises(TypeError):
        ptxspec.load(NOTHING).launch("k", engine=engine, step_limit=1e6)


# shapes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["grid", "block"])
@pytest.mark.parametrize(
    "value", [(), (1, 1, 1, 1), 1.0, (1.5,), "1", ("x",), None, (None,), {}, (2, 2.0), np.zeros(2)]
)
def test_extents_are_one_to_three_integers(what: str, value: Any) -> None:
    with pytest.raises(TypeError):
        ptxspec.load(NOTHING).launch("k", **{what: value})


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("grid", 0), ("grid", -1), ("grid", (1, 0)), ("grid", (1, 1, 0)), ("grid", 2**31), ("grid", (1, 65536)),
        ("grid", (1, 1, 65536)), ("grid", 10**30), ("block", 0), ("block", (2, -2)), ("block", 1025),
        ("block", (1, 1025)),
        ("block", (1, 1, 65)), ("block", (1024, 2)), ("block", (32, 33)), ("block", (17, 1, 61)), ("block", (8, 8, 17)),
    ],
)  # fmt: skip
def test_limits_of_extents(what: str, value: Any) -> None:
    for engine in ENGINES:
        with pytest.raises(ValueError, match=r"at most"):
            ptxspec.load(NOTHING).launch("k", **{what: value}, engine=engine)


@pytest.mark.parametrize("block", [1024, (1, 1024), (1, 16, 64), (16, 1, 64), (32, 32)])
def test_the_largest_ctas(block: Any) -> None:
    source = text("""
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
        mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;
        mad.lo.u32 %r2, %r3, %r5, %r2;
        mad.lo.u32 %r1, %r2, %r4, %r1;
        ld.param.u64 %rd0, [out];
        mad.wide.u32 %rd1, %r1, 4, %rd0;
        st.global.u32 [%rd1], %r1;
    """)
    assert np.array_equal(both(source, [np.zeros(1024, np.uint32)], block=block)[0], np.arange(1024))


@pytest.mark.parametrize(
    ("directives", "block", "works"),
    [
        (".maxntid 64", 64, True), (".maxntid 64", 65, False), (".maxntid 8, 8", (64, 1), True),
        (".maxntid 8, 8", (8, 9), False),
        (".maxntid 2, 3, 4", (4, 3, 2), True), (".maxntid 2, 3, 4", 25, False), (".reqntid 64", 64, True),
        (".reqntid 64", 32, False), (".reqntid 64", (32, 2), False), (".reqntid 8, 4, 2", (8, 4, 2), True),
        (".reqntid 8, 4, 2", (2, 4, 8), False), (".reqntid 8, 4", (8, 4), True),
        (".maxntid 64 .minnctapersm 2", 64, True),
        (".maxntid 64\n.maxnreg 32", 65, False), (".reqntid 1", 1, True), (".reqntid 1", 2, False),
    ],
)  # fmt: skip
def test_what_the_kernel_says_of_its_shape(directives: str, block: Any, works: bool) -> None:
    source = text("ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], 5;", directives=directives)
    out = np.zeros(1, np.uint32)
    if works:
        assert both(source, [out], block=block)[0].tolist() == [5]
        return
    for engine in ENGINES:
        with pytest.raises(ValueError, match=r"k (requires|allows) CTAs"):
            launch(source, out, block=block, engine=engine)
        assert out.tolist() == [0]


@pytest.mark.parametrize("size", [-1, 227 * 1024 + 1, 227 * 1024 - 15, 10**20])
def test_limits_of_shared_memory(size: int) -> None:
    source = text(".shared .b8 own[16]; st.shared.u8 [own], 1;", parameters="", module=".extern .shared .b8 more[];")
    for engine in ENGINES:
        said = "dynamic_shared is -1 bytes; a launch asks for 0 or more" if size < 0 else "bytes of shared memory"
        with pytest.raises(ValueError, match=said):
            ptxspec.load(source).launch("k", dynamic_shared=size, engine=engine)


def test_as_much_shared_memory_as_there_is() -> None:
    source = kernel(
        f"st.shared.u8 [more+{227 * 1024 - 17}], 9; ld.shared.u8 %r4, [more+{227 * 1024 - 17}];"
        ".shared .b8 own[16]; st.shared.u8 [own], 1; st.global.u32 [%rd1], %r4;",
        module=".extern .shared .b8 more[];",
    )
    assert both(source, [np.zeros(3, np.uint32)], grid=3, dynamic_shared=227 * 1024 - 16)[0].tolist() == [9, 9, 9]


@pytest.mark.parametrize("size", ["1", None, 1.5, [1]])
def test_sizes_of_shared_memory_are_integers(size: Any) -> None:
    source = text("ret;", parameters="", module=".extern .shared .b8 more[];")
    with pytest.raises(TypeError):
        ptxspec.load(source).launch("k", dynamic_shared=size)


# what the outcome leaves alone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [{"grid": 0}, {"block": 2000}, {"engine": "none"}, {"profile": "none"}, {"dynamic_shared": -1}, {"args": [1, 2]},
     {"args": ["x"]}],
)  # fmt: skip
def test_a_module_goes_on_after_a_refusal(how: dict[str, Any]) -> None:
    module = ptxspec.load(kernel("st.global.u32 [%rd1], 5;"))
    out = np.zeros(2, np.uint32)
    with pytest.raises((TypeError, ValueError)):
        module.launch("k", **{"args": [out], **how})
    assert out.tolist() == [0, 0]
    module.launch("k", block=2, args=[out])
    assert out.tolist() == [5, 5]


@pytest.mark.parametrize("size", [2**40, 2**50])
def test_limits_of_local_memory(size: int) -> None:
    for engine in ENGINES:
        with pytest.raises((ValueError, ptxspec.PtxError)):
            launch(text(f".local .b8 l[{size}]; st.local.u8 [l], 1;", parameters=""), engine=engine)


def test_limits_of_parameters() -> None:
    for engine in ENGINES:
        with pytest.raises((TypeError, ValueError, ptxspec.PtxError)):
            launch(text("ret;", f".param .b8 p[{2**40}]"), b"", engine=engine)


# small integers of NumPy, arrays upon themselves, errors across processes --------------------------------------------


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("size", [np.uint8(200), np.int8(100)])
def test_sizes_of_shared_memory_may_be_numpy_integers(size: Any) -> None:
    source = kernel(
        ".shared .b8 own[100]; st.shared.u8 [own], 1; st.shared.u8 [more+99], 9; ld.shared.u8 %r4, [more+99];"
        "st.global.u32 [%rd1], %r4;",
        module=".extern .shared .b8 more[];",
    )
    assert both(source, [np.zeros(1, np.uint32)], dynamic_shared=size)[0].tolist() == [9]


def test_arrays_whose_elements_share_memory() -> None:
    """They cannot be a buffer: what is written to one element would have to be seen in the others."""
    for engine in ENGINES:
        strided = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint32), (4,), (0,), writeable=True)
        with pytest.raises(ValueError, match="argument 0"):
            launch(kernel("st.global.u32 [%rd1], %r1;"), strided, block=4, engine=engine)


@pytest.mark.parametrize(
    ("shape", "strides", "apart"),
    [((3, 2), (8, 4), True), ((2, 3), (4, 8), True), ((2, 2), (12, 8), True), ((3, 3), (8, 12), True), ((4, 3), (8, 12), False), ((4,), (2,), False),
     ((2, 2), (4, 4), False), ((3,), (-8,), True), ((1, 3), (0, 4), True)],
)  # fmt: skip
def test_arrays_of_any_strides(shape: tuple[int, ...], strides: tuple[int, ...], apart: bool) -> None:
    """What counts is whether two elements share a byte, however the steps are nested."""
    base = np.zeros(64, np.uint32)[8:]
    view = np.lib.stride_tricks.as_strided(base, shape, strides, writeable=True)
    module = ptxspec.load(kernel("add.u32 %r4, %r1, 1; st.global.u32 [%rd1], %r4;"))
    if apart:
        module.launch("k", block=view.size, args=[view])
        assert view.ravel().tolist() == list(range(1, view.size + 1))
    else:
        with pytest.raises(ValueError, match="argument 0"):
            module.launch("k", block=view.size, args=[view])


def test_arrays_broadcast_for_reading() -> None:
    """A read-only view with equal elements is what it looks like."""
    source = kernel(
        "ld.param.u64 %rd2, [in]; mad.wide.u32 %rd2, %r1, 4, %rd2; ld.global.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;",
        ".param .u64 in, .param .u64 out",
    )
    for engine in ENGINES:
        out = np.zeros(6, np.uint32)
        launch(source, np.broadcast_to(np.arange(3, dtype=np.uint32), (2, 3)), out, block=6, engine=engine)
        assert out.tolist() == [0, 1, 2, 0, 1, 2]


# elements of another size ---------------------------------------------------------------------------------------------

ELEMENTS = """.visible .entry k(.param .u64 to, .param .u64 from) {
    .reg .b64 %rd<8>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .f64 %fd<4>;
    ld.param.u64 %rd1, [to]; cvta.to.global.u64 %rd2, %rd1; ld.param.u64 %rd3, [from]; cvta.to.global.u64 %rd4, %rd3;
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5; add.s64 %rd7, %rd2, %rd5;
    BODY ret; }"""
SCALE = "ld.global.f32 %f1, [%rd6]; add.f32 %f1, %f1, %f1; st.global.f32 [%rd7], %f1;"


def warned(body: str, to: np.ndarray, given: np.ndarray, declarations: str = "") -> list[warnings.WarningMessage]:
    """What each engine warns of, which is the same."""
    found = []
    for module in each(HEADER + declarations + ELEMENTS.replace("BODY", body)):
        with warnings.catch_warnings(record=True) as own:
            warnings.simplefilter("always")
            module[1].launch("k", args=[to, given], engine=module[0])
        found.append(own)
    first, *others = found
    assert all([str(w.message) for w in own] == [str(w.message) for w in first] for own in others)
    return first


def test_arrays_of_another_floating_point_type() -> None:
    single, double = np.ones(8, np.float32), np.ones(8)
    (found,) = warned(SCALE, single, double)
    assert issubclass(found.category, UserWarning) and found.filename == __file__
    assert str(found.message).startswith(
        "argument 1 (from): the array has float64, and the kernel accesses floating-point"
    )
    assert "numbers of 32 bits" in str(found.message) and ": ld.global.f32 %f1, [%rd6];)" in str(found.message)
    assert [str(w.message)[:13] for w in warned(SCALE, double, double.copy())] == ["argument 0 (t", "argument 1 (f"]
    (found,) = warned(SCALE.replace("f32", "f64").replace("%f1", "%fd1"), double, single)
    assert "float32" in str(found.message) and "64 bits" in str(found.message)


@pytest.mark.parametrize(
    ("body", "declarations"),
    [
        ("ld.global.b32 %r2, [%rd6]; st.global.u32 [%rd7], %r2;", ""),  # bits, of whichever numbers
        (SCALE + "ld.global.u64 %rd6, [%rd4]; st.global.u64 [%rd2], %rd6;", ""),
        (SCALE + "ld.global.f64 %fd1, [%rd4]; st.global.f64 [%rd2], %fd1;", ""),
        (SCALE + "st.global.u64 [kept], %rd2; st.global.u64 [kept], %rd4;", ".global .u64 kept;"),  # who knows who loads it
        (SCALE + "call f, (%rd3); call f, (%rd1);", ".func f(.param .b64 p) { ret; }"),
        (SCALE.replace("%rd7", "%rd6").replace("f32 %f1, [%rd6]", "f32 %f1, [%rd4]", 1) + "xor.b64 %rd6, %rd4, %rd2; "
         "xor.b64 %rd6, %rd6, %rd2; ld.global.f32 %f1, [%rd6];", ""),  # of one or the other
    ],
)  # fmt: skip
def test_arrays_of_which_nothing_is_known(body: str, declarations: str) -> None:
    assert warned(body, np.ones(8), np.ones(8), declarations) == []


def test_arrays_of_no_other_floating_point_type() -> None:
    single, double = np.ones(8, np.float32), np.ones(8)
    assert warned(SCALE, single, single.copy()) == []
    assert warned(SCALE, double.view(np.uint64), double.copy().view(np.uint8)) == []
    assert warned(SCALE, single, np.ones(4, np.complex64)) == []
