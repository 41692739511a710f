"""The arguments of a launch as they are written on the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ptxspec.cli.failures import Failed

if TYPE_CHECKING:
    import numpy as np

#: bytes that the arrays of a launch may have together
MOST_BYTES = 1 << 30
#: the letter of a type for NumPy
_LETTERS = {"u": "u", "b": "u", "s": "i", "f": "f"}
_TYPE = re.compile(r"([bsu](?:8|16|32|64)|f(?:16|32|64))")
_ARGUMENT = re.compile(r"(?P<type>\w+)(?:\[(?P<shape>[^\]]*)\])?=(?P<value>.*)", re.S)
_SHAPE = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*")
_EXTENTS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18}){0,2}")
_HOW = "type=value, type[count]=values or @file.npy"


def extents(option: str, text: str) -> tuple[int, ...]:
    """One to three numbers with commas. Fails for another text."""
    if not _EXTENTS.fullmatch(text):
        raise Failed(f"{option}: extents are one to three numbers with commas, not {text[:80]!r}")
    return tuple(map(int, text.split(",")))


def arguments(texts: tuple[str, ...]) -> list[Any]:
    """The values of a launch's arguments: NumPy scalars and arrays. Fails for a text that is none."""
    found: list[Any] = []
    left = MOST_BYTES
    for i, text in enumerate(texts):
        value = _argument(text, i, left)
        found.append(value)
        left -= value.nbytes if getattr(value, "ndim", 0) else 0
    return found


def _argument(text: str, index: int, room: int) -> Any:
    what = f"argument {index}"
    if text.startswith("@"):
        return _file(text[1:], what, room)
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise Failed(f"{what}: {text[:80]!r} is not {_HOW}")
    name, shape, value = match["type"], match["shape"], match["value"]
    if not _TYPE.fullmatch(name):
        raise Failed(
            f"{what}: {name[:40]!r} is no type; {text[:80]!r} is not {_HOW}, with u8 to u64, s8 to s64, f16 to f64"
        )
    if shape is None:
        return _numbers([value], name, what)[0]
    return _array(name, shape, value, index, room)


def _array(name: str, shape: str, value: str, index: int, room: int) -> np.ndarray:
    import numpy as np

    what = f"argument {index}"
    if not _SHAPE.fullmatch(shape):
        raise Failed(f"{what}: {name}[{shape[:40]}]: the extents of an array are numbers with commas")
    dimensions = tuple(map(int, shape.split(",")))
    dtype = _dtype(name)
    size = 1
    for extent in dimensions:
        size *= extent
    _check_room(f"{what}: {name}[{shape[:80]}]", size * dtype.itemsize, room)
    if len(dimensions) > 32 or any(d >= 1 << 40 for d in dimensions):
        raise Failed(f"{what}: {name}[{shape[:80]}]: an array has at most 32 extents, each below 2^40")
    if value == "zeros":
        return np.zeros(dimensions, dtype)
    if value == "arange":
        return np.arange(size).astype(dtype).reshape(dimensions)
    if value == "random":
        source = np.random.default_rng(index)
        if dtype.kind == "f":
            return source.standard_normal(dimensions).astype(dtype)
        return source.integers(0, 256, size * dtype.itemsize, np.uint8).view(dtype).reshape(dimensions)
    values = value.split(",") if value else []
    if len(values) != size:
        hint = "" if len(values) != 1 else f": {value[:40]!r} is neither zeros, arange, random nor numbers with commas"
        raise Failed(f"{what}: {name}[{shape[:80]}] has {size} elements, and {len(values)} are given{hint}")
    return _numbers(values, name, what).reshape(dimensions)


def _dtype(name: str) -> np.dtype:
    import numpy as np

    return np.dtype(f"{_LETTERS[name[0]]}{int(name[1:]) // 8}")


def _numbers(texts: list[str], name: str, what: str) -> np.ndarray:
    """Numbers as an array of a type. Fails for the first that is none."""
    import numpy as np

    from ptxspec.query.numbers import InvalidValue, bits_of_text
    from ptxspec.terms.types import TYPES

    bits = []
    for i, text in enumerate(texts):
        try:
            bits.append(bits_of_text(text.strip(), TYPES[name]))
        except InvalidValue as why:
            element = f"element {i}: " if len(texts) > 1 else ""
            raise Failed(f"{what} is {name}: {element}{why}") from None
    return np.array(bits, f"u{int(name[1:]) // 8}").view(_dtype(name))


def _check_room(what: str, size: int, room: int) -> None:
    if size > room:
        raise Failed(f"{what} has {size:,} bytes; the arrays of a launch may have {MOST_BYTES >> 30} GiB together")


def _file(path: str, what: str, room: int) -> np.ndarray:
    """The array in a .npy file; pickled objects are not loaded."""
    import os

    import numpy as np

    try:
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":
                raise Failed(f"{what}: {path}: no .npy file", "file")
            file.seek(0)
            shape, dtype = _header(file)
            if dtype.kind not in "biuf" or not dtype.isnative:
                note = "in this byte order" if dtype.kind in "biuf" else "of plain numbers"
                raise Failed(f"{what}: {path}: its elements are {dtype}; an array {note} is needed", "file")
            size = dtype.itemsize
            for extent in shape:
                size *= extent
            _check_room(f"{what}: {path}", size, room)
            if size > os.fstat(file.fileno()).st_size - file.tell():
                raise Failed(f"{what}: {path}: it is shorter than its header says", "file")
            file.seek(0)
            found: np.ndarray = np.load(file, allow_pickle=False)
            return found
    except OSError as error:
        raise Failed(f"{what}: {path}: {error.strerror or error}", "file") from None
    except (ValueError, EOFError, TypeError, SyntaxError, RecursionError) as error:
        raise Failed(f"{what}: {path}: no .npy file that can be read: {str(error)[:200]}", "file") from None


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    """(shape, type) of the array in a .npy file, whose header has then been read. Raises ValueError."""
    from numpy.lib import format

    version = format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the format")
    read = format.read_array_header_1_0 if version == (1, 0) else format.read_array_header_2_0
    shape, _, dtype = read(file)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"its extents are {shape}")
    return shape, dtype
