"""Arrays for the reader's browser, which has no NumPy: the part of NumPy that a launch under the exact engine uses, in Python.

There this file is the module `numpy`: Pyodide's package in npm's registry does not have its build of NumPy. It has few functions,
and each does what NumPy's does for what it takes; what is not here is an AttributeError or a TypeError, never another result.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any


class dtype:
    """How an element lies in memory: the letter of its kind, and its code for `struct`."""

    hasobject, subdtype, fields, isnative = False, None, None, True

    def __init__(self, name: str, kind: str, code: str):
        self.name, self.kind, self.code, self.itemsize = name, kind, code, struct.calcsize("<" + code)
        self.packer = struct.Struct("<" + code)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def element(self, value: Any) -> Any:
        """A value as an element has it. Raises OverflowError for an integer that does not fit, as NumPy does."""
        if self.kind == "b":
            return bool(value)
        if self.kind == "f":
            return float(value)
        bits, value = 8 * self.itemsize, int(value)
        least = -(1 << (bits - 1)) if self.kind == "i" else 0
        if not least <= value < least + (1 << bits):
            raise OverflowError(f"{value} is out of bounds for {self.name}")
        return value


class generic:
    """A number with a type of elements."""

    dtype: Any


class integer(generic, int):
    """An integer of so many bits. What is computed with it has none: it is no result that a launch needs."""


class floating(generic, float):
    def view(self, type: Any) -> Any:
        """The same bits as an integer."""
        return type(int.from_bytes(self.dtype.packer.pack(self), "little"))


def _scalar(name: str, kind: str, code: str) -> Any:
    made: Any = type(name, (floating if kind == "f" else integer,), {"dtype": dtype(name, kind, code)})
    if kind != "f":
        made.__new__ = lambda cls, value=0: int.__new__(cls, made.dtype.element(value))
    return made


int8, int16, int32, int64 = (_scalar(f"int{8 << i}", "i", code) for i, code in enumerate("bhiq"))
uint8, uint16, uint32, uint64 = (_scalar(f"uint{8 << i}", "u", code) for i, code in enumerate("BHIQ"))
float16, float32, float64 = (_scalar(f"float{16 << i}", "f", code) for i, code in enumerate("efd"))
bool_ = _scalar("bool", "b", "?")
_OF_PYTHON = {bool: bool_, int: int64, float: float64}


def _type(given: Any) -> dtype:
    result = given if isinstance(given, dtype) else getattr(_OF_PYTHON.get(given, given), "dtype", None)
    if not isinstance(result, dtype):
        raise TypeError(f"there are no elements of type {given!r}")
    return result


class ndarray:
    """An array on bytes that others may share. `at` is where it begins in them, `strides` are in bytes."""

    def __init__(self, held: memoryview, type: dtype, shape: tuple[int, ...], strides: tuple[int, ...], at: int = 0):
        self.held, self.dtype, self.shape, self.strides, self.at = held, type, shape, strides, at
        self.ndim, self.size, self.itemsize = len(shape), math.prod(shape), type.itemsize
        self.nbytes = self.size * type.itemsize
        self.flags = SimpleNamespace(writeable=not held.readonly)

    # where elements lie

    @property
    def whole(self) -> bool:
        """Whether the elements lie one after the other."""
        return self.size == 0 or self.strides == _steps(self.shape, self.itemsize)

    @property
    def data(self) -> memoryview:
        if not self.whole:
            raise TypeError("the elements do not lie one after the other")
        return self.held[self.at : self.at + self.nbytes]

    def _places(self) -> Iterator[int]:
        """Where each element lies, the last axis fastest."""
        places: Iterable[int] = (self.at,)
        for count, step in zip(self.shape, self.strides, strict=True):
            places = [place + i * step for place in places for i in range(count)]
        return iter(places)

    def _flat(self) -> list[Any]:
        if self.whole:
            return [element for (element,) in self.dtype.packer.iter_unpack(self.data)]
        return [self.dtype.packer.unpack_from(self.held, place)[0] for place in self._places()]

    def _put(self, values: Iterable[Any]) -> None:
        if not self.flags.writeable:
            raise ValueError("assignment destination is read-only")
        for place, value in zip(self._places(), values, strict=True):
            self.dtype.packer.pack_into(self.held, place, self.dtype.element(value))

    def _part(self, key: tuple[Any, ...]) -> ndarray:
        """What integers and slices name: an array on the same bytes."""
        if len(key) > self.ndim:
            raise IndexError(f"{len(key)} indices of {self.ndim} axes")
        at, shape, strides = self.at, list[int](), list[int]()
        for axis, (count, step) in enumerate(zip(self.shape, self.strides, strict=True)):
            index = key[axis] if axis < len(key) else slice(None)
            if isinstance(index, slice):
                start, stop, by = index.indices(count)
                at += start * step
                shape.append(len(range(start, stop, by)))
                strides.append(step * by)
            elif not -count <= int(index) < count:
                raise IndexError(f"index {index} is out of bounds for axis {axis} with size {count}")
            else:
                at += int(index) % count * step
        return ndarray(self.held, self.dtype, tuple(shape), tuple(strides), at)

    def _named(self, key: Any) -> tuple[ndarray, list[int] | None]:
        """The array that a key's integers and slices name, and of its one axis the places that an array in the key names."""
        keys = key if isinstance(key, tuple) else (key,)
        if keys[0] is Ellipsis:
            return self, None
        listed = [i for i, index in enumerate(keys) if isinstance(index, ndarray | list)]
        if not listed:
            return self._part(keys), None
        part = self._part(tuple(slice(None) if i in listed else index for i, index in enumerate(keys)))
        if len(listed) > 1 or part.ndim != 1:
            raise TypeError("an array names elements of one axis, and integers all others")
        chosen = array(keys[listed[0]])
        if chosen.dtype.kind != "b":
            return part, [int(i) for i in chosen._flat()]
        if chosen.shape != part.shape:
            raise IndexError("truth values for another number of elements")
        return part, [i for i, truth in enumerate(chosen._flat()) if truth]

    def __getitem__(self, key: Any) -> Any:
        part, places = self._named(key)
        if places is not None:
            return _made([part._part((i,))._flat()[0] for i in places], part.dtype, (len(places),))
        if part.ndim or part is self:
            return part
        (value,) = part._flat()
        return _scalar_of(part.dtype, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        part, places = self._named(key)
        if places is not None:
            values = _flat_of(value, len(places))
            for i, element in zip(places, values, strict=True):
                part._part((i,))._put([element])
            return
        same = isinstance(value, ndarray) and value.dtype is part.dtype and value.shape == part.shape
        if same and part.whole and value.whole and part.flags.writeable:
            part.data[:] = value.tobytes()  # a copy first: the two may share bytes
        elif part.whole and part.flags.writeable and not isinstance(value, ndarray | list | tuple):
            part.data[:] = part.dtype.packer.pack(part.dtype.element(value)) * part.size
        else:
            part._put(_flat_of(value, part.size))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return value in self._flat()

    # other arrays of the same elements

    def reshape(self, *shape: Any) -> ndarray:
        wanted = list(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape)
        if -1 in wanted:
            wanted[wanted.index(-1)] = self.size // max(1, -math.prod(wanted))
        if math.prod(wanted) != self.size:
            raise ValueError(f"{self.size} elements have no shape {wanted}")
        if not self.whole:
            return self.copy().reshape(*wanted)
        return ndarray(self.held, self.dtype, tuple(wanted), _steps(wanted, self.itemsize), self.at)

    def ravel(self) -> ndarray:
        return self.reshape(-1)

    def view(self, given: Any) -> ndarray:
        type = _type(given)
        if self.ndim != 1 or not self.whole or self.nbytes % type.itemsize:
            raise ValueError("only bytes in a row are seen as elements of another type")
        return ndarray(self.held, type, (self.nbytes // type.itemsize,), (type.itemsize,), self.at)

    def copy(self) -> ndarray:
        held = memoryview(bytearray(self.tobytes()))
        return ndarray(held, self.dtype, self.shape, _steps(self.shape, self.itemsize))

    def astype(self, given: Any) -> ndarray:
        return _made(self._flat(), _type(given), self.shape)

    def tobytes(self) -> bytes:
        return self.data.tobytes() if self.whole else b"".join(map(self.dtype.packer.pack, self._flat()))

    def tolist(self) -> Any:
        return [row.tolist() for row in self] if self.ndim > 1 else self._flat()

    # what is computed of elements

    def any(self) -> bool:
        return any(self._flat())

    def all(self) -> bool:
        return all(self._flat())

    def sum(self) -> int:
        return sum(self._flat())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array of several elements is ambiguous")
        return bool(self._flat()[0])

    def __invert__(self) -> ndarray:
        if self.dtype.kind != "b":
            raise TypeError("only truth values are inverted")
        return _made([not element for element in self._flat()], self.dtype, self.shape)


def _steps(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """The strides of elements that lie one after the other."""
    return tuple(size * math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _scalar_of(type: dtype, value: Any) -> Any:
    return value if type.kind == "b" else _BY_NAME[type.name](value)


_BY_NAME = {
    t.dtype.name: t for t in (int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64)
}


def _made(values: Sequence[Any], type: dtype, shape: tuple[int, ...]) -> ndarray:
    """A new array with these elements."""
    packed = b"".join(type.packer.pack(type.element(value)) for value in values)
    return ndarray(memoryview(bytearray(packed)), type, shape, _steps(shape, type.itemsize))


def _flat_of(value: Any, count: int) -> list[Any]:
    """So many elements: those of an array or list, or one number again and again."""
    if not isinstance(value, ndarray | list | tuple):
        return [value] * count
    elements = array(value)._flat()
    if len(elements) != count:
        raise ValueError(f"{len(elements)} elements for {count}")
    return elements


def _binary(work: Callable[[Any, Any], Any], compares: bool) -> Callable[[ndarray, Any], ndarray]:
    def apply(self: ndarray, other: Any) -> ndarray:
        if isinstance(other, ndarray) and other.shape != self.shape:
            raise TypeError("arrays of one shape are computed with, or an array and a number")
        results = [work(a, b) for a, b in zip(self._flat(), _flat_of(other, self.size), strict=True)]
        truths = compares or (self.dtype.kind == "b" and all(isinstance(result, bool) for result in results))
        return _made(results, bool_.dtype if truths else int64.dtype, self.shape)

    return apply


for _name, _work, _compares in (
    ("eq", lambda a, b: a == b, True),
    ("ne", lambda a, b: a != b, True),
    ("lt", lambda a, b: a < b, True),
    ("gt", lambda a, b: a > b, True),
    ("and", lambda a, b: a & b, False),
    ("or", lambda a, b: a | b, False),
    ("add", lambda a, b: a + b, False),
    ("radd", lambda a, b: b + a, False),
    ("mul", lambda a, b: a * b, False),
    ("rmul", lambda a, b: b * a, False),
    ("rlshift", lambda a, b: b << a, False),
    ("mod", lambda a, b: a % b, False),
    ("floordiv", lambda a, b: a // b, False),
):
    setattr(ndarray, f"__{_name}__", _binary(_work, _compares))
ndarray.__hash__ = None  # type: ignore[assignment]


# The functions of the module ---------------------------------------------------------------------------------------------


def zeros(shape: Any, type: Any = float64) -> ndarray:
    extents = tuple(map(int, shape)) if isinstance(shape, tuple | list) else (int(shape),)
    element_type = _type(type)
    steps = _steps(extents, element_type.itemsize)
    return ndarray(memoryview(bytearray(math.prod(extents) * element_type.itemsize)), element_type, extents, steps)


def zeros_like(other: ndarray) -> ndarray:
    return zeros(other.shape, other.dtype)


def array(values: Any, dtype: Any = None) -> ndarray:
    if isinstance(values, ndarray):
        return values.copy() if dtype is None else values.astype(dtype)
    flat, shape = values if isinstance(values, list | tuple) else [values], []
    shape.append(len(flat))
    while flat and isinstance(flat[0], list | tuple):
        shape.append(len(flat[0]))
        if any(len(row) != shape[-1] for row in flat):
            raise ValueError("lists of several lengths make no array")
        flat = [element for part in flat for element in part]
    kinds = {bool: bool_, int: int64}.get(type(flat[0]) if flat else float, float64) if dtype is None else dtype
    return _made(list(flat), _type(kinds), tuple(shape))


def asarray(values: Any, dtype: Any = None) -> ndarray:
    same = isinstance(values, ndarray) and (dtype is None or _type(dtype) is values.dtype)
    return values if same else array(values, dtype)


def ascontiguousarray(values: ndarray) -> ndarray:
    return values if values.whole else values.copy()


def frombuffer(data: Any, type: Any = float64) -> ndarray:
    held, element_type = memoryview(data).cast("B"), _type(type)
    return ndarray(held, element_type, (len(held) // element_type.itemsize,), (element_type.itemsize,))


def concatenate(parts: Sequence[ndarray]) -> ndarray:
    if len({part.dtype for part in parts}) != 1:
        raise TypeError("arrays of one type are put together")
    data = bytearray().join(part.tobytes() for part in parts)
    return frombuffer(data, parts[0].dtype)


def arange(count: int) -> ndarray:
    return array(list(range(count)), int64)


def sort(values: ndarray) -> ndarray:
    return _made(sorted(values._flat()), values.dtype, values.shape)


def unique(values: ndarray) -> ndarray:
    ordered = sorted(set(values._flat()))
    return _made(ordered, values.dtype, (len(ordered),))


def flatnonzero(values: ndarray) -> ndarray:
    return array([i for i, element in enumerate(values._flat()) if element], int64)


def where(condition: ndarray, yes: ndarray, no: ndarray) -> ndarray:
    picked = zip(condition._flat(), yes._flat(), no._flat(), strict=True)
    return _made([a if truth else b for truth, a, b in picked], yes.dtype, condition.shape)


def prod(values: Iterable[int]) -> int:
    return math.prod(values)


def _all_of(values: ndarray) -> int:
    bits = 0
    for element in values._flat():
        bits |= element
    return bits


bitwise_or = SimpleNamespace(reduce=_all_of)


class _Masked:
    """What no array here is."""


ma = SimpleNamespace(MaskedArray=_Masked)
