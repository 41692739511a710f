"""Terms over columns of operands: as compiled code computes them, and as they are defined."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import CodeSource, Emitter, Library
from ptxspec.terms.vectors import VectorEmitter
from ptxspec.terms.vocabulary import variables_in

#: lanes of a vector
LANES = 16
WORDS: dict[int, Any] = {16: np.uint16, 32: np.uint32, 64: np.uint64}


class AsDefined(Emitter):
    """Lowers what stands there: the processor computes nothing but whole numbers."""

    def supplies(self, name: str, static: tuple[Any, ...]) -> bool:
        return False

    def invalid(self, *_: Any) -> None:
        return None

    def intrinsic(self, *_: Any) -> None:
        return None


class Compiled:
    """The low bits of a term over variables a0, a1, … of one width, compiled: in vectors if there are several lanes, or else as it
    is defined, if that is asked for. `lines` are those of LLVM's text that compute it."""

    def __init__(self, term: Any, given: int, width: int, *, lanes: int = 1, as_defined: bool = False):
        names = sorted(variables_in([term]))
        self.given, self.width, self.lanes, self.count = given, width, lanes, len(names)
        self.lines: list[str] = []
        needs: set[str] = set()
        emitter = (AsDefined if as_defined else Emitter)(self.lines, needs)
        if lanes > 1:
            emitter = VectorEmitter(self.lines, needs, lanes=lanes)
            emitter.varying.update(f"%{n}" for n in names)
        result = Lowering(emitter, {n: f"%{n}" for n in names}).low(term, width)
        operand, word = (f"i{n}" if lanes == 1 else f"<{lanes} x i{n}>" for n in (given, width))
        loads = [
            f"  %p{n} = getelementptr i{given}, ptr %{n}s, i64 %k\n  %{n} = load {operand}, ptr %p{n}, align {given // 8}"
            for n in names
        ]
        text = [
            f"define void @run({', '.join(f'ptr %{n}s' for n in names)}, ptr %out, i64 %count) {{\nentry:\n  br label %each",
            "each:\n  %k = phi i64 [0, %entry], [%more, %each]",
            *loads,
            *self.lines,
            f"  %r = getelementptr i{width}, ptr %out, i64 %k\n  store {word} {result}, ptr %r, align {width // 8}",
            f"  %more = add i64 %k, {lanes}\n  %on = icmp ult i64 %more, %count\n  br i1 %on, label %each, label %done",
            "done:\n  ret void\n}",
        ]
        self.library = Library(CodeSource("\n".join(text), needs, vectorize=False))

    def __call__(self, *columns: np.ndarray) -> np.ndarray:
        """The results, of columns of as many operands."""
        assert len(columns) == self.count and all(c.dtype == WORDS[self.given] for c in columns)
        given = [np.ascontiguousarray(c) for c in columns]
        out = np.zeros(len(given[0]), WORDS[self.width])
        assert len(out) % self.lanes == 0
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (self.count + 1), ctypes.c_int64)(self.library.address("run"))
        run(*(c.ctypes.data for c in given), out.ctypes.data, len(out))
        return out


def first_difference(found: np.ndarray, expected: np.ndarray, holds: np.ndarray, columns: Sequence[np.ndarray]) -> str:
    """The first operands, of those that count, of which a result is wrong; nothing if there are none."""
    wrong = np.flatnonzero(holds & (found != expected))
    if not len(wrong):
        return ""
    operands = " ".join(f"{int(c[wrong[0]]):#x}" for c in columns)
    return f"{len(wrong)} are wrong: of {operands} {int(found[wrong[0]]):#x}, not {int(expected[wrong[0]]):#x}"
