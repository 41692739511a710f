"""Arrays as hosts have them: byte orders, elements that are no numbers, and arrays of other libraries."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, kernel, text

import ptxspec
from ptxspec.machine.host_arrays import host_array

#: adds 1 to the words of a buffer
INCREMENT = kernel("ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;")
VARIABLE = ".version 8.0 .target sm_80 .address_size 64 .global .u32 counts[4];"


def launch(value: Any, count: int = 3, engine: str = "exact") -> None:
    ptxspec.load(INCREMENT).launch("k", block=count, args=[value], engine=engine)


# elements ------------------------------------------------------------------------------------------------------------

FOREIGN = [
    ">u4",
    ">f4",
    ">i8",
    [("a", "<u4"), ("b", ">u2")],
    [("a", ">u4", (2,))],
    [("a", [("b", "<u4"), ("c", ">f8")])],
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", FOREIGN, ids=str)
def test_another_byte_order_is_refused(dtype: Any, engine: str) -> None:
    """The hint is what helps: it runs, and its result is taken."""
    values = np.zeros(12, dtype)
    with pytest.raises(
        TypeError, match=r"argument 0 \(out\): .* byte order: x\.astype\(x\.dtype\.newbyteorder"
    ) as refused:
        launch(values, engine=engine)
    assert values.tobytes() == bytes(values.nbytes)
    hint = str(refused.value).partition("byte order: ")[2]
    launch(eval(hint, {"x": values}), engine=engine)


@pytest.mark.parametrize("dtype", [d for d in FOREIGN if d != [("a", ">u4", (2,))]], ids=str)
def test_another_byte_order_is_refused_wherever_arrays_go(dtype: Any) -> None:
    module = ptxspec.load(VARIABLE)
    with pytest.raises(TypeError, match="byte order"):
        module.write("counts", np.zeros(2, dtype))
    assert not module.read("counts").any()
    for image in (ptxspec.Texture, ptxspec.Surface):
        with pytest.raises(TypeError, match=r"byte order|not supported"):
            image(np.zeros((4, 4, 1), dtype))


def test_a_byte_order_of_one_byte_is_none() -> None:
    launch(np.zeros(12, ">u1"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(3, "M8[s]"), r"x\.view\(np\.int64\)"), (np.zeros(3, "m8[ns]"), r"x\.view\(np\.int64\)"),
        (np.array([b"abcd"] * 3), r"x\.view\(np\.uint8\)"), (np.array(["abcd"] * 3), r"x\.view\(np\.uint32\)"),
        (np.array([1, None], object), "Python objects"), (np.zeros(3, [("a", "i4"), ("b", object)]), "Python objects"),
        (np.zeros(3, [("a", "i4"), ("b", "U4")]), "no numbers"), (np.zeros(3, np.longdouble), "PTX has no numbers"),
        (np.zeros(3, np.clongdouble), "PTX has no numbers"), (np.ma.masked_array(np.zeros(3, np.uint32), [0, 1, 0]), "masks"),
    ],
    ids=lambda v: str(v.dtype) if isinstance(v, np.ndarray) else "",
)  # fmt: skip
def test_elements_that_are_no_numbers(values: np.ndarray, message: str) -> None:
    module = ptxspec.load(VARIABLE)
    for take in (launch, lambda v: module.write("counts", v), ptxspec.Surface):
        with pytest.raises(TypeError, match=message):
            take(values)


@pytest.mark.parametrize(
    "dtype", [np.uint32, np.complex64, np.dtype([("a", "u4"), ("b", "u2"), ("c", "V2")]), "V4", np.float16]
)
def test_elements_that_are_taken(dtype: Any) -> None:
    values = np.zeros(12, dtype)
    launch(values)
    assert values.tobytes()[:12:4] == bytes([1, 1, 1])


def test_truth_values_stay_truth_values() -> None:
    values = np.zeros(4, bool)
    ptxspec.load(kernel("st.global.u8 [%rd1], 6;")).launch("k", args=[values], engine="exact")
    assert values.view(np.uint8).tolist() == [1, 0, 0, 0]


# what is no array of NumPy -------------------------------------------------------------------------------------------


class Interface:
    """Memory described by `__array_interface__` alone."""

    def __init__(self, values: np.ndarray):
        self.values, self.__array_interface__ = values, values.__array_interface__


class Exchanged:
    """Memory handed over by DLPack alone, as tensors are."""

    def __init__(self, values: np.ndarray, device: int = 1):
        self.values, self.device = values, device

    def __dlpack__(self, **how: Any) -> Any:
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class Viewed:
    """`__array__` gives the memory itself."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values


class Copied(Viewed):
    """`__array__` gives a copy every time."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values.copy()


class Failing(Viewed):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise RuntimeError("not while it needs a gradient")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [Interface, Exchanged, Viewed])
def test_arrays_of_others_are_written_in_place(kind: Any, engine: str) -> None:
    values = np.arange(3, dtype=np.uint32)
    given = kind(values)
    launch(given, engine=engine)
    assert values.tolist() == [1, 2, 3]
    two = text(
        "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; st.global.u64 [%rd1], %rd2;", ".param .u64 a, .param .u64 b"
    )
    out = kind(np.zeros(1, np.uint64))
    ptxspec.load(two).launch("k", args=[out, out], engine=engine)  # the same one twice is one buffer
    assert out.values[0] != 0
    with pytest.raises(ValueError, match="shares memory"):
        ptxspec.load(two).launch("k", args=[out, out.values], engine=engine)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Copied(np.zeros(3, np.uint32)), "can only copy"), (Exchanged(np.zeros(3, np.uint32), 2), "on a device"),
        (Failing(np.zeros(3)), "gradient"), (Viewed(np.zeros(3, ">u4")), "byte order"),
        (Viewed(np.array([None])), "copy|objects"),
    ],
    ids=["copied", "device", "failing", "big-endian", "objects"],
)  # fmt: skip
def test_arrays_of_others_that_are_refused(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=rf"argument 0 \(out\).*({message})"):
        launch(value)


def test_arrays_of_others_that_are_read_only() -> None:
    values = np.arange(3, dtype=np.uint32)
    values.flags.writeable = False
    for kind in (Interface, Viewed):
        with pytest.raises(ptxspec.LaunchError, match="read only"):
            launch(kind(values))


def test_numbers_of_others_are_passed_by_value() -> None:
    source = text(
        "ld.param.u32 %r1, [x]; ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], %r1;", ".param .u32 x, .param .u64 out"
    )
    for number in (Viewed(np.array(77, np.uint32)), Interface(np.array(77, np.uint32)), np.array(77, ">u4")):
        out = np.zeros(1, np.uint32)
        ptxspec.load(source).launch("k", args=[number, out], engine="exact")
        assert out.tolist() == [77]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2, 3], r"could not come back into it: pass an array, np\.array"), ((1, 2, 3), r"np\.array"), (None, "null pointer is 0"),
        (array.array("I", [1, 2, 3]), r"np\.frombuffer"), ((ctypes.c_uint32 * 3)(), r"np\.frombuffer"), (memoryview(b"abcd"), r"np\.frombuffer"),
        (range(3), "range"), (np.ndarray, "type"), (Viewed, "type"),
    ],
)  # fmt: skip
def test_what_is_no_array_gets_a_hint(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=rf"argument 0 \(out\): .*{message}"):
        launch(value)


@pytest.mark.parametrize(
    "args",
    [np.zeros(1, np.uint64), {"out": 0}, "a", b"a", {1}, (v for v in (1,)), 5, None],
    ids=lambda v: type(v).__name__,
)
def test_arguments_are_in_order(args: Any) -> None:
    """An array alone would be taken for its elements, as addresses."""
    with pytest.raises(TypeError, match="args is a list or a tuple"):
        ptxspec.load(INCREMENT).launch("k", args=args, engine="exact")


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="NO TORCH: that its tensors are written in place was NOT tested")
    tensor = torch.zeros(3, dtype=torch.int32)
    launch(tensor)
    assert tensor.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="grad"):
        launch(torch.zeros(3, requires_grad=True))


# variables, images, operands -----------------------------------------------------------------------------------------


def test_what_a_variable_is_set_to() -> None:
    module = ptxspec.load(VARIABLE)
    values = np.array([1, 2, 3, 4], np.uint32)
    for value in (values, Viewed(values), Interface(values), values.tobytes(), memoryview(values), values[::-1][::-1]):
        module.write("counts", np.zeros(4, np.uint32))
        module.write("counts", value)
        assert module.read("counts").view(np.uint32).tolist() == [1, 2, 3, 4]
    module.write("counts", np.uint16(0x0507))
    assert module.read("counts")[:3].tolist() == [7, 5, 0]
    module.write("counts", np.array(9, ">u4"))
    assert module.read("counts")[:4].tolist() == [9, 0, 0, 0]


@pytest.mark.parametrize("value", [[1, 2, 3, 4], (1, 2), 5, 1.5, True, None, "abcd", range(4)], ids=repr)
def test_a_variable_is_not_set_to_what_has_no_size(value: Any) -> None:
    """A list would become 64-bit words, and be written without a word."""
    module = ptxspec.load(VARIABLE)
    with pytest.raises(TypeError, match=r"counts: .* has no size in memory"):
        module.write("counts", value)
    assert not module.read("counts").any()


@pytest.mark.parametrize("kind", [Interface, Exchanged, Viewed])
def test_texels_of_others(kind: Any) -> None:
    texels = np.arange(16, dtype=np.float32).reshape(4, 4, 1)
    assert np.array_equal(ptxspec.Surface(kind(texels)).texels, texels)
    chain = ptxspec.Texture([kind(texels), np.zeros((2, 2, 1), np.float32)])
    assert np.array_equal(chain.storage.texels(), texels)


@pytest.mark.parametrize(
    "value", [np.uint32(7), np.int8(7), np.array(7), np.array(7, ">u8"), np.array(7.0, ">f4").astype(int)[()], True + 6], ids=repr
)  # fmt: skip
def test_operands_of_numpy(value: Any) -> None:
    assert ptxspec.evaluate("add.u32 d, a, 1;", a=value) == {"d": 8}
    assert ptxspec.allowed("add.u32 d, a, 1;", {"d": np.array(8)}, a=value)


@pytest.mark.parametrize(
    "value", [np.zeros(2), [1], np.datetime64(1, "s"), np.str_("1"), np.array(None), np.bool_(True)], ids=repr
)  # fmt: skip
def test_operands_that_are_none(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^a"):
        ptxspec.evaluate("add.u32 d, a, 1;", a=value)


@pytest.mark.parametrize("value", [np.zeros(2), "1", None, 2, np.array(2)], ids=repr)
def test_predicates_that_are_none(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^p"):
        ptxspec.evaluate("selp.b32 d, 1, 2, p;", p=value)


@pytest.mark.parametrize("device", [(), (1,), 1, None, ("host", 0), (1, 0, 0), [None, None]])
def test_a_device_that_is_said_wrongly_is_told(device: Any) -> None:
    class Odd(Exchanged):
        def __dlpack_device__(self) -> Any:
            return device

    with pytest.raises(TypeError, match="gives no kind and number of a device"):
        host_array("argument 0", Odd(np.zeros(4, np.uint32)))
