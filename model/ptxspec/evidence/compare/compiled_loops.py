"""Definitions as compiled loops over columns of operands: the native interpretation, many rows at a time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptxspec.evidence.compare.choices import settled
from ptxspec.evidence.generate.signatures import inputs_of, results_of
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter, Library
from ptxspec.terms.types import Type


def _storage(type: Type) -> int:
    """Bits of the array element that holds a value of the type."""
    return max(8, type.width)


def column(values: Sequence[int], type: Type) -> np.ndarray:
    """Values of a type as machine code has them: an element each, of its size; of 128 bits, two of 64, the low one first."""
    if type.width == 128:
        words = b"".join(v.to_bytes(16, "little") for v in values)
        return np.frombuffer(words, np.uint64).reshape(-1, 2).copy()
    return np.array(values, dtype=f"u{_storage(type) // 8}")


def _blank(count: int, type: Type) -> np.ndarray:
    """A column of zeros."""
    return np.zeros((count, 2), np.uint64) if type.width == 128 else np.zeros(count, f"u{_storage(type) // 8}")


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
    text = "\n".join(_function(f"form{i}", meaning, needs, choose) for i, meaning in enumerate(meanings))
    library = Library(text, needs, level=level, vectorize=None if level else False)

    def bind(i: int, meaning: Meaning) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address(f"form{i}"))
        types = [t for t, _ in results_of(meaning)]

        def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
            assert library  # its code lives as long as this function
            count = len(inputs[0])
            outputs = [_blank(count, t) for t in types]
            pointers = (ctypes.c_void_p * (len(inputs) + len(outputs)))(*[a.ctypes.data for a in [*inputs, *outputs]])
            call(ctypes.cast(pointers, ctypes.c_void_p), count)
            return outputs

        return run

    return [bind(i, meaning) for i, meaning in enumerate(meanings)]


def _function(name: str, meaning: Meaning, needs: set[str], choose: Callable[[Any], Any]) -> str:
    """LLVM text of a loop over rows: void name(ptr arrays, i64 count)."""
    lines: list[str] = []
    emitter = Emitter(lines, needs, choose)
    inputs, results = inputs_of(meaning), results_of(meaning)
    head = []
    env: dict[str, str] = {}
    for k in range(len(inputs) + len(results)):
        head.append(f"  %q{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %p{k} = load ptr, ptr %q{k}")
    for k, (variable, type) in enumerate(inputs):
        n = _storage(type)
        where = emitter.emit(f"getelementptr i{n}, ptr %p{k}, i64 %i")
        value = emitter.emit(f"load i{n}, ptr {where}, align {min(n, 64) // 8}")
        env[variable] = emitter.emit(f"trunc i{n} {value} to i1") if type.kind == "pred" else value
    lowering = Lowering(emitter, env)
    for k, (type, value) in enumerate(results, len(inputs)):
        n = _storage(type)
        if type.kind == "pred":
            word = emitter.emit(f"zext i1 {lowering.truth(value)} to i8")
        else:
            word = lowering.low(value, type.width)
        where = emitter.emit(f"getelementptr i{n}, ptr %p{k}, i64 %i")
        lines.append(f"  store i{n} {word}, ptr {where}, align {min(n, 64) // 8}")
    return "\n".join(
        [
            f"define void @{name}(ptr %arrays, i64 %count) {{\nentry:",
            *head,
            "  br label %loop\nloop:\n  %i = phi i64 [0, %entry], [%next, %loop]",
            *lines,
            "  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %count\n  br i1 %more, label %loop, label %done",
            "done:\n  ret void\n}",
        ]
    )
