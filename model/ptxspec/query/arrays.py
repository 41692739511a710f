"""A fragment on arrays of operands: its terms as one compiled loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from ptxspec.query.evaluate import Results, as_bits, executed_again, values_of_inputs
from ptxspec.query.outcomes import SymbolicFragment, Unsupported
from ptxspec.query.repeated import CachedFragment, known_profile, making
from ptxspec.query.undefined import reached
from ptxspec.terms.core import constant
from ptxspec.terms.loops import CompiledLoop, RowLoop, storage
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, low_bits, resolve

#: compiled loops that are kept of one fragment
MOST = 16


class Columns(Results):
    """The results of a fragment for arrays of operands: register -> array of its final bits as unsigned numbers, or of bool for a
    predicate. `types` and `inputs` are what they are for one evaluation. What was left open on the way, and what became of each
    instruction, is told of one evaluation alone."""

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("chosen", "steps"):
            raise AttributeError(f"an evaluation of arrays has no '{name}': evaluate the operands of one element")
        raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")


def evaluated(again: CachedFragment, given: Mapping[str, Any], profile: str) -> Columns:
    """Evaluate a fragment for each element of its operands, of which some are arrays. Raises as `evaluate` does."""
    fragment = again.fragment
    values = values_of_inputs(fragment, given, bits_of)
    for name, type in {**fragment.registers, **fragment.left}.items():
        if type.width > 64:
            raise Unsupported(f"{name} is {type}: an array has elements of 64 bits at most; evaluate them one by one")
    for name in fragment.inputs:
        if name not in values:
            why = "of arrays, what a guard may leave as it was needs one too"
            raise TypeError(f"the operand {name} has no value: {why}")
    try:
        shape = np.broadcast_shapes(*(np.shape(value) for value in values.values()))
    except ValueError:
        shapes = ", ".join(f"{n} {v.shape}" for n, v in values.items() if np.shape(v))
        raise TypeError(f"the operands' shapes do not fit one another: {shapes}") from None
    columns = []  # an element for each row, or one for all
    for name in fragment.inputs:
        if np.shape(values[name]):
            columns.append(np.ascontiguousarray(np.broadcast_to(values[name], shape)).reshape(-1))
        else:
            columns.append(np.array([values[name]], storage(_type(fragment, name))))
    results = Columns()
    for name, column in zip(fragment.outputs, _computed(again, columns, shape, profile), strict=True):
        results[name] = column.reshape(shape)
    results.types, results.inputs = {**fragment.registers, **fragment.left}, values
    return results


def _type(fragment: SymbolicFragment, name: str) -> Type:
    """The type of an input: of a register, or of a special register as it is read."""
    from ptxspec.language.specials import special_registers

    return fragment.registers.get(name) or special_registers()[name]


def _computed(
    again: CachedFragment, columns: list[np.ndarray], shape: tuple[int, ...], profile: str
) -> list[np.ndarray]:
    """A column for each output. Rows that need a result which the profile leaves open are evaluated one by one."""
    fragment, count = again.fragment, int(np.prod(shape, dtype=np.int64))
    are_columns = tuple(bool(np.shape(column)) and column.size == count and count != 1 for column in columns)
    outputs = _compiled(again, are_columns, profile)(columns, count)
    if len(outputs) == len(fragment.outputs):
        return outputs
    open_rows = np.flatnonzero(outputs.pop())
    for row in open_rows:
        cells = (column[row] if each else column[0] for column, each in zip(columns, are_columns, strict=True))
        values = {name: cell.item() for name, cell in zip(fragment.inputs, cells, strict=True)}
        results = executed_again(again, values, profile)
        for name, column in zip(fragment.outputs, outputs, strict=True):
            column[row] = results[name]
    return outputs


def _compiled(again: CachedFragment, are_columns: tuple[bool, ...], profile: str) -> CompiledLoop:
    """The loop for operands of which these are arrays, as it was kept, or new."""
    compiled: CompiledLoop | None = again.loops.get((profile, are_columns))
    if compiled is None:
        with making:
            compiled = again.loops.get((profile, are_columns))
            compiled = compiled or _loop(again.fragment, are_columns, known_profile(profile))
            while len(again.loops) >= MOST:
                del again.loops[next(iter(again.loops))]
            again.loops[profile, are_columns] = compiled
    return compiled


def _loop(fragment: SymbolicFragment, are_columns: tuple[bool, ...], profile: Profile) -> CompiledLoop:
    """The outputs of a fragment as a loop, and, if the profile leaves something open that has a part in them, whether that is
    needed."""
    inputs = tuple((n, _type(fragment, n), each) for n, each in zip(fragment.inputs, are_columns, strict=True))
    outputs = []
    for name, term in fragment.outputs.items():
        type = fragment.left[name]
        outputs.append((type, term if type.kind == "pred" else low_bits(term, type.width)))
    memo: dict[int, Any] = {}
    terms = [term for step in fragment.steps for term in (*step.writes.values(), step.holds) if term is not None]
    needed = reached((resolve(term, profile.settled, memo) for term in terms), lambda freedom: True)
    if needed is not FALSE:
        outputs.append((TYPES["pred"], needed))
    return CompiledLoop(
        RowLoop(inputs, tuple(outputs)), lambda f: profile.term(f) if profile.chooses(f) else constant(0)
    )


def bits_of(name: str, value: Any, type: Type, taken: Type | None = None) -> Any:
    """An operand's bits as `as_bits` gives them, of an array as an array of unsigned integers, or of bool for a predicate. Raises
    TypeError for what does not fit."""
    if not getattr(value, "shape", ()):
        return as_bits(name, value, type, taken)
    if type.width > 64:
        raise Unsupported(f"{name} is {type}: an array has elements of 64 bits at most; evaluate them one by one")
    array = np.asarray(value)
    kind = array.dtype.kind
    if type.kind == "pred":
        if kind == "b" or (kind in "iu" and ((array == 0) | (array == 1)).all()):
            return array.astype(bool)
        raise TypeError(f"{name} is a predicate: pass an array of True and False")
    if kind == "b":
        raise TypeError(f"{name} is {type}, not a predicate")
    if kind == "f" and array.dtype.itemsize <= 8:
        return _patterns(name, array, type, taken)
    if kind in "iu":
        return _words(name, array, type)
    raise TypeError(f"{name}: an array of {array.dtype} is no operand; pass integers, floating-point numbers or bools")


def _words(name: str, array: np.ndarray, type: Type) -> np.ndarray:
    """Integers as words of the type's width: negative ones as two's complement."""
    if array.size and array.dtype.itemsize * 8 > type.width:
        for value in (int(array.min()), int(array.max())):
            if not -(1 << (type.width - 1)) <= value < 1 << type.width:
                raise TypeError(f"{name} is {type}: {value} does not fit")
    return array.astype(storage(type))


def _patterns(name: str, array: np.ndarray, type: Type, taken: Type | None) -> np.ndarray:
    """Floating-point numbers, rounded to the type's width, as its patterns."""
    if taken is not None and taken.is_integer:
        raise TypeError(f"{name} is {taken}: an array of {array.dtype} has no integers; pass such")
    if type.width not in (16, 32, 64):
        raise TypeError(f"{name} is {type}: no floating-point number has that width")
    if type.name != f"f{type.width}" and type.kind != "b":
        raise TypeError(f"{name} is {type}: pass its bits, as integers")
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = array.astype(f"f{type.width // 8}")
    beyond = np.isinf(rounded) & np.isfinite(array)
    if beyond.any():
        raise TypeError(f"{name} is {type}: {array[beyond][0]} is beyond its range")
    patterns = np.ascontiguousarray(rounded).view(storage(type))
    if (
        type.width == 16 and array.dtype.itemsize > 2
    ):  # a NaN of another format becomes one NaN here, whatever its payload
        patterns = np.where(np.isnan(array), patterns & 0x8000 | 0x7E00, patterns)
    return patterns
