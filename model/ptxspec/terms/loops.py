"""Terms as compiled loops over arrays: a row of operands in, a row of results out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptxspec.base.records import NamedTuple
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import CodeSource, Emitter, Library, pays_as_vectors
from ptxspec.terms.types import Type


class RowLoop(NamedTuple):
    """What a loop computes: for each row the values of the terms `outputs`, (type, term) each, from those of the variables
    `inputs`, (name, type, whether each row has its own) each."""

    inputs: tuple[tuple[str, Type, bool], ...]
    outputs: tuple[tuple[Type, Any], ...]


def storage(type: Type) -> np.dtype[Any]:
    """The elements of an array of raw bits of a type: unsigned integers, bool for predicates; no more than 64 bits."""
    return np.dtype(bool) if type.kind == "pred" else np.dtype(f"u{stored_bits(type) // 8}")


def stored_bits(type: Type) -> int:
    """How many bits of memory hold a value of the type."""
    return max(8, type.width)


class CompiledLoop:
    """A loop in machine code. Compiled code keeps no lock of Python's, so that threads run it side by side."""

    def __init__(self, loop: RowLoop, choose: Callable[[Any], Any]):
        """`choose` gives the term that resolves a freedom."""
        needs: set[str] = set()
        self.loop = loop
        text = function("rows", loop, needs, choose)
        self._library = Library(CodeSource(text, needs, vectorize=pays_as_vectors(text)))
        self._call = callable_at(self._library.address("rows"), loop)

    def __call__(self, inputs: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
        """The results of `count` rows: an array for each output. The inputs are contiguous arrays as `storage` says, with as many
        elements as there are rows, or with one where all rows have the same."""
        for array, (name, type, varies) in zip(inputs, self.loop.inputs, strict=True):
            if array.dtype != storage(type) or array.size != (count if varies else 1) or not array.flags.c_contiguous:
                raise ValueError(f"{name}: not {count} contiguous elements of {storage(type)}")
        outputs = [np.empty(count, storage(type)) for type, _ in self.loop.outputs]
        if count:
            self._call(*(array.ctypes.data for array in (*inputs, *outputs)), count)
        return outputs


def callable_at(address: int, loop: RowLoop) -> Callable[..., None]:
    """The compiled function of a loop, which takes the address of each array and the number of rows."""
    pointers = [ctypes.c_void_p] * (len(loop.inputs) + len(loop.outputs))
    return ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(address)


def function(name: str, loop: RowLoop, needs: set[str], choose: Callable[[Any], Any]) -> str:
    """LLVM text of the loop: void name(ptr …, i64 count) with a pointer for each input and each output, to elements of
    `stored_bits`; of 128 bits, they need be aligned to 8 bytes alone. Values that all rows have are loaded before the loop.
    What the text needs of the library is added to `needs`; `choose` gives the term that resolves a freedom."""
    head: list[str] = []
    lines: list[str] = []
    emitter = Emitter(lines, needs, choose)
    env: dict[str, str] = {}
    for k, (variable, type, varies) in enumerate(loop.inputs):
        bits = stored_bits(type)
        word, aligned = f"i{bits}", f"align {min(bits, 64) // 8}"
        if varies:
            at = emitter.emit(f"getelementptr {word}, ptr %in{k}, i64 %i")
            value = emitter.emit(f"load {word}, ptr {at}, {aligned}")
        else:
            value = f"%all{k}"
            head.append(f"  {value} = load {word}, ptr %in{k}, {aligned}")
        env[variable] = emitter.emit(f"trunc {word} {value} to i1") if type.kind == "pred" else value
    lowering = Lowering(emitter, env)
    for k, (type, term) in enumerate(loop.outputs):
        width = stored_bits(type)
        word = (
            emitter.emit(f"zext i1 {lowering.truth(term)} to i8") if type.kind == "pred" else lowering.low(term, width)
        )
        at = emitter.emit(f"getelementptr i{width}, ptr %out{k}, i64 %i")
        lines.append(f"  store i{width} {word}, ptr {at}, align {min(width, 64) // 8}")
    pointers = [f"%in{k}" for k in range(len(loop.inputs))] + [f"%out{k}" for k in range(len(loop.outputs))]
    parameters = ", ".join(f"ptr noalias {pointer}" for pointer in pointers)
    return "\n".join(
        [
            f"define void @{name}({parameters}, i64 %count) {{\nentry:",
            *head,
            "  br label %loop\nloop:\n  %i = phi i64 [0, %entry], [%next, %loop]",
            *lines,
            "  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %count\n  br i1 %more, label %loop, label %done",
            "done:\n  ret void\n}",
        ]
    )
