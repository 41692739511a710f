"""Taking a step of the machine once for each of many threads, one after the other, each on records that the last left behind.

Records of one kind are the rows of an array, a column a field; which row a step works on is said by an array of indices. All
values are words of 64 bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter, Library
from ptxspec.terms.python_code import Script
from ptxspec.terms.steps import State, Step


class Broken(NamedTuple):
    """A rule that a step broke, and for which of the threads."""

    rule: str
    which: int


class Folded(NamedTuple):
    """What the steps gave beside records: a row for each of the step's results; up to the one that broke a rule, if one did."""

    results: np.ndarray
    broken: Broken | None


class Folder(Protocol):
    """An interpretation of steps."""

    def __call__(self, step: Step, rows: list[tuple[np.ndarray, np.ndarray]], operands: list[np.ndarray]) -> Folded:
        """Take the step as often as the operands have elements. `rows` are, for each record that the step is given, the array
        of all there are and the indices of those to work on. The arrays are changed in place."""


def records(kind: type[State], count: int) -> np.ndarray:
    """So many records of a kind, whose fields are all zero."""
    return np.zeros((count, len(kind.fields)), np.uint64)


def column(kind: type[State], array: np.ndarray, field: str) -> np.ndarray:
    """A field of all records of a kind, as signed words; a view of the array."""
    return array[:, list(kind.fields).index(field)].view(np.int64)


def words(values: np.ndarray | int, like: np.ndarray) -> np.ndarray:
    """An operand for each of as many threads as `like` has elements; negative numbers as their low 64 bits."""
    given = np.asarray(values)
    if given.shape != like.shape:
        given = np.full(like.shape, given)
    return np.ascontiguousarray(given.astype(np.int64, copy=False)).view(np.uint64)


def exact(step: Step, rows: list[tuple[np.ndarray, np.ndarray]], operands: list[np.ndarray]) -> Folded:
    """Folds over Python's integers."""
    count = _count(rows, operands)
    results = np.zeros((len(step.results), count), np.uint64)
    changed = sum(len(port.words) for port in step.outputs if port.is_state)
    function = scripted(step)
    for i in range(count):
        given = [word for array, index in rows for word in array[index[i]].tolist()]
        rule, *found = function(*given, *(int(operand[i]) for operand in operands))
        if rule is not None:
            return Folded(results, Broken(rule, i))
        at = 0
        for port, (array, index) in zip(step.states[: step.changes], rows, strict=False):
            array[index[i]] = found[at : at + len(port.words)]
            at += len(port.words)
        results[:, i] = found[changed:]
    return Folded(results, None)


@cache
def scripted(step: Step) -> Callable[..., Any]:
    """A step as a Python function of words: those of its records, then its operands. It gives the rule that was broken, or None
    and the words that the step gives."""
    types = {n: t for port in (*step.states, *step.operands) for n, t in port.words.items()}
    names = {name: f"w{k}" for k, name in enumerate(types)}

    def bind(name: str) -> str:
        type = types[name]
        return f"bool({names[name]} & 1)" if type.kind == "pred" else f"{names[name]} & {(1 << type.width) - 1}"

    script = Script(bind)
    requirements, terms = step.meaning
    for rule, condition in requirements:
        script.say(f"if not {script.value(condition)}: return ({rule!r},)")
    found = "".join(f", int({script.value(term)})" for term in terms)
    return script.function(list(names.values()), f"(None{found})")


def _count(rows: list[tuple[np.ndarray, np.ndarray]], operands: list[np.ndarray]) -> int:
    return len(rows[0][1]) if rows else len(operands[0])


def native(step: Step, rows: list[tuple[np.ndarray, np.ndarray]], operands: list[np.ndarray]) -> Folded:
    """Folds in machine code."""
    count = _count(rows, operands)
    results = np.zeros((len(step.results), count), np.uint64)
    indices = [np.ascontiguousarray(index, np.int64) for _, index in rows]
    arrays = [array for array, _ in rows]
    if any(
        len(index) != count or (count and not 0 <= index.min() <= index.max() < len(array))
        for index, array in zip(indices, arrays, strict=True)
    ):
        raise IndexError(f"{step.__name__}: a record that is not there")
    given = [*arrays, *indices, *operands, results]
    pointers = (ctypes.c_void_p * len(given))(*(a.ctypes.data for a in given))
    stopped = compiled(step).run(pointers, count)
    if stopped == count:
        return Folded(results, None)
    which, rule = stopped & (1 << 32) - 1, (stopped >> 32) - 1
    return Folded(results, Broken(step.meaning.requirements[rule].rule, which))


class Compiled:
    """A step's machine code: `run(arrays, count)` gives the count, or, of the thread that broke a rule, its place in the low half
    and one more than the rule's in the high half."""

    def __init__(self, step: Step):
        self.step = step
        needs: set[str] = set()
        self.library = Library(self._text(needs), needs, vectorize=False)
        self.run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self.library.address("fold"))

    def _text(self, needs: set[str]) -> str:
        step = self.step
        lines: list[str] = []
        emitter = Emitter(lines, needs)
        states, own = len(step.states), {}
        env: dict[str, str] = {}
        for k, port in enumerate(step.states):
            at = f"%row{k}"
            lines.append(
                f"  %at{k} = getelementptr i64, ptr %array{states + k}, i64 %i\n  %index{k} = load i64, ptr %at{k}"
            )
            lines.append(f"  %start{k} = mul i64 %index{k}, {len(port.words)}")
            lines.append(f"  {at} = getelementptr i64, ptr %array{k}, i64 %start{k}")
            own[port.name] = at
            for place, (name, type) in enumerate(port.words.items()):
                env[name] = self._load(emitter, emitter.emit(f"getelementptr i64, ptr {at}, i64 {place}"), type)
        for k, port in enumerate(step.operands, 2 * states):
            env[port.name] = self._load(emitter, emitter.emit(f"getelementptr i64, ptr %array{k}, i64 %i"), port.type)
        lowering = Lowering(emitter, env)
        requirements, terms = step.meaning
        for k, (_, condition) in enumerate(requirements):
            lines.append(f"  br i1 {lowering.truth(condition)}, label %kept{k}, label %broken{k}\nkept{k}:")
        words = [(name, type) for port in step.outputs for name, type in port.words.items()]
        found = [self._word(emitter, lowering, term, type) for term, (_, type) in zip(terms, words, strict=True)]
        for port in step.states[: step.changes]:
            for place in range(len(port.words)):
                cell = emitter.emit(f"getelementptr i64, ptr {own[port.name]}, i64 {place}")
                lines.append(f"  store i64 {found.pop(0)}, ptr {cell}")
        last = 2 * states + len(step.operands)
        for k, word in enumerate(found):
            row = emitter.emit(f"add i64 %i, {emitter.emit(f'mul i64 %n, {k}')}")
            lines.append(f"  store i64 {word}, ptr {emitter.emit(f'getelementptr i64, ptr %array{last}, i64 {row}')}")
        heads = [
            f"  %pointer{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %array{k} = load ptr, ptr %pointer{k}"
            for k in range(last + 1)
        ]
        broken = [
            f"broken{k}:\n  %code{k} = or i64 %i, {k + 1 << 32}\n  ret i64 %code{k}" for k in range(len(requirements))
        ]
        body = ["define i64 @fold(ptr %arrays, i64 %n) {", "entry:", *heads, "  %any = icmp sgt i64 %n, 0",
                "  br i1 %any, label %each, label %done", "each:", "  %i = phi i64 [0, %entry], [%i1, %next]", *lines,
                "  br label %next", "next:", "  %i1 = add i64 %i, 1", "  %more = icmp slt i64 %i1, %n",
                "  br i1 %more, label %each, label %done", "done:", "  ret i64 %n", *broken, "}"]  # fmt: skip
        return "\n".join(body)

    def _load(self, emitter: Emitter, pointer: str, type: Any) -> str:
        name = f"%l{len(emitter.lines)}"  # named by hand: a record may be loaded twice, with a store in between
        emitter.lines.append(f"  {name} = load i64, ptr {pointer}")
        return name if type.width == 64 else emitter.truncate(name, 64, type.width)

    def _word(self, emitter: Emitter, lowering: Lowering, term: Any, type: Any) -> str:
        if type.kind == "pred":
            return emitter.emit(f"zext i1 {lowering.truth(term)} to i64")
        word = lowering.low(term, type.width)
        return word if type.width == 64 else emitter.extend(word, type.width, 64, False)


@cache
def compiled(step: Step) -> Compiled:
    return Compiled(step)
