"""Definitions as compiled loops over columns of operands: the native interpretation, many rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptxspec.evidence.choices import settled
from ptxspec.evidence.kernels.signatures import inputs_of, results_of
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.loops import RowLoop, callable_at, function, stored_bits
from ptxspec.terms.native import CodeSource, Library, pays_as_vectors
from ptxspec.terms.types import Type


def column(values: Sequence[int], type: Type) -> np.ndarray:
    """Values of a type as machine code has them: an element each, of its size; of 128 bits, two of 64, the low one first."""
    if type.width == 128:
        words = b"".join(v.to_bytes(16, "little") for v in values)
        return np.frombuffer(words, np.uint64).reshape(-1, 2).copy()
    return np.array(values, dtype=f"u{stored_bits(type) // 8}")


def _blank(count: int, type: Type) -> np.ndarray:
    """A column of zeros."""
    return np.zeros((count, 2), np.uint64) if type.width == 128 else np.zeros(count, f"u{stored_bits(type) // 8}")


def number_at(column: np.ndarray, i: int) -> int:
    """The value in a place of a column."""
    return int(column[i]) if column.ndim == 1 else int(column[i, 0]) | int(column[i, 1]) << 64


def run_native(
    meanings: Sequence[Meaning], tables: Sequence[list[tuple[int, ...]]], choose: Callable[[Any], Any] = settled
) -> list[list[np.ndarray]]:
    """The results of each meaning over its rows, computed by one library of compiled loops; `choose` resolves freedoms."""
    compiled = compile_loops(meanings, choose)
    answers = []
    for meaning, table, run in zip(meanings, tables, compiled, strict=True):
        inputs = [column([row[k] for row in table], t) for k, (_, t) in enumerate(inputs_of(meaning))]
        answers.append(run(inputs))
    return answers


def compile_loops(
    meanings: Sequence[Meaning], choose: Callable[[Any], Any], level: int = 0
) -> list[Callable[[list[np.ndarray]], list[np.ndarray]]]:
    """For each meaning a function from columns of operands, contiguous arrays of raw bits, to columns of results."""
    needs: set[str] = set()
    loops = [
        RowLoop(tuple((name, type, True) for name, type in inputs_of(meaning)), tuple(results_of(meaning)))
        for meaning in meanings
    ]
    text = "\n".join(function(f"form{i}", loop, needs, choose) for i, loop in enumerate(loops))
    library = Library(CodeSource(text, needs, level=level, vectorize=level > 0 and pays_as_vectors(text)))

    def bind(i: int, loop: RowLoop) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
        call = callable_at(library.address(f"form{i}"), loop)

        def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
            assert library  # its code lives as long as this function
            count = len(inputs[0])
            outputs = [_blank(count, type) for type, _ in loop.outputs]
            if count:
                call(*(array.ctypes.data for array in (*inputs, *outputs)), count)
            return outputs

        return run

    return [bind(i, loop) for i, loop in enumerate(loops)]
