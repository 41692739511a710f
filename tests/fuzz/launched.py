"""Both sides of a pair in one kernel: each of many threads runs them on operands and memory of its own, under either engine.

Nothing of how the prover reads a text is used but the types of its registers. The kernel loads what a side reads, runs it, and stores
the registers compared; the sides have a copy of the buffers each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from touching import SIZE, Memory

import ptxspec
from ptxspec.query.questions import Goal
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.types import TYPES, Type

#: the name of what tells which sides run: bit 0 the left one, bit 1 the right one
BOTH, EITHER = 3, (1, 2)

HEAD = """.version 8.0
.target sm_90
.address_size 64
{extern}.visible .entry k(.param .u64 operands, .param .u64 results, .param .u32 which, .param .u64 back{parameters})
{{
    .reg .b32 %own, %which, %side, %word;
    .reg .b64 %in, %out, %base, %back;
    .reg .b64 %lo, %hi, %c<{columns}>;
    .reg .pred %skip;
    mov.u32 %own, %tid.x;
    ld.param.u64 %in, [operands];
    mad.wide.u32 %in, %own, {stride}, %in;
    ld.param.u32 %which, [which];
    ld.param.u64 %out, [results];
    mad.wide.u32 %out, %own, {results}, %out;
    ld.param.u64 %back, [back];
"""


def even(count: int) -> int:
    """Columns that vectors of two can load: at least two."""
    return max(2, count + count % 2)


class Left(NamedTuple):
    """What a launch left: by side and name the values of all threads, and by side and buffer their bytes."""

    registers: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
    memory: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]


class Sides:
    """A kernel of both sides. `names` are the operands, in the order of the columns that it takes."""

    def __init__(self, asked: Goal, memory: Memory | None):
        self.memory = memory
        self.own = [] if memory is None else ["m"] + (["n"] if memory.alias is None else [])
        self.names = (
            [n for n in asked.inputs.types if "[" not in n and n not in ("m", "n")]
            if memory
            else list(asked.inputs.types)
        )
        self.compared = {n: t for n, t in asked.compared.items() if "[" not in n}
        self.types = asked.inputs.types
        shared = memory is not None and memory.space == "shared"
        parameters = "".join(f", .param .u64 {b}_at" for b in self.own)
        head = HEAD.format(
            extern=".extern .shared .align 16 .b8 space[];\n" if shared else "",
            parameters=parameters,
            stride=8 * even(len(self.names)),
            results=16 * even(len(self.compared)),
            columns=max(even(len(self.names)), even(len(self.compared))),
        )
        head += "".join(
            f"    ld.global.v2.b64 {{%c{k}, %c{k + 1}}}, [%in+{8 * k}];\n" for k in range(0, len(self.names), 2)
        )
        body = "".join(self._side(number, side) for number, side in enumerate(asked.sides))
        self.text = f"{head}{body}    ret;\n}}\n"
        self.module = ptxspec.load(self.text)

    def _side(self, number: int, side: Any) -> str:
        declared = {n: t for n, t in side.registers.items() if "[" not in n}
        declared |= {n: t for n, t in self.types.items() if n in self.names}
        # what nothing but a path reads or writes which no thread takes is no input, and no register of the walk's
        labels = set(re.findall(r"(\w+):(?!:)", side.text))
        named = set(re.findall(r"\b(?:[abc]|[xy]R\d+)\b", side.text)) - labels - declared.keys()
        declared |= dict.fromkeys(sorted(named), TYPES["b32"])
        declared.pop(CONDITION_CODE, None)
        for pointer in ("m", "n") if self.memory else ():
            declared.pop(pointer, None)
        lines = [
            f"    and.b32 %side, %which, {1 << number}; setp.eq.u32 %skip, %side, 0; @%skip bra past{number};",
            "    {",
        ]
        lines += [f"    .reg .{t.name} {n};" for n, t in declared.items()]
        lines += self._pointers(number)
        lines += [self._load(n, self.types[n], f"%c{k}") for k, n in enumerate(self.names)]
        lines.append(f"    {side.text}")
        kept = [self._put(n, declared.get(n, t), f"%d{k}") for k, (n, t) in enumerate(self.compared.items())]
        lines += [f"    .reg .b64 %d<{even(len(kept))}>;", *kept]
        at = 8 * even(len(kept)) * number
        lines += [f"    st.global.v2.b64 [%out+{at + 8 * k}], {{%d{k}, %d{k + 1}}};" for k in range(0, len(kept), 2)]
        return "\n".join([*lines, *self._back(number), "    }", f"past{number}:", ""])

    def _pointers(self, number: int) -> list[str]:
        """The buffers of a thread: the right side's lie `back` bytes behind the left side's."""
        if self.memory is None:
            return []
        bits = self.memory.bits
        found = [f"    .reg .b{bits} m, n;"]
        for buffer in self.own:
            found.append(f"    ld.param.u64 %base, [{buffer}_at];")
            found.append(f"    mad.wide.u32 %base, %own, {SIZE}, %base;")
            if number:
                found.append("    add.u64 %base, %base, %back;")
            if bits == 64:
                found.append(f"    mov.b64 {buffer}, %base;")
                continue
            found.append(f"    mov.u32 {buffer}, space; mad.lo.u32 {buffer}, %own, {SIZE}, {buffer};")
            found.append(f"    ld.global.v2.u64 {{%lo, %hi}}, [%base]; st.shared.v2.u64 [{buffer}], {{%lo, %hi}};")
        if self.memory.alias is not None:
            found.append(f"    add.u{bits} n, m, {self.memory.alias};")
        return found

    def _back(self, number: int) -> list[str]:
        """Shared memory copied to where it came from."""
        if self.memory is None or self.memory.space != "shared":
            return []
        found = [f"    ld.param.u64 %base, [m_at]; mad.wide.u32 %base, %own, {SIZE}, %base;"]
        if number:
            found.append("    add.u64 %base, %base, %back;")
        found.append(f"    mov.u32 %word, space; mad.lo.u32 %word, %own, {SIZE}, %word;")
        found.append("    ld.shared.v2.u64 {%lo, %hi}, [%word]; st.global.v2.u64 [%base], {%lo, %hi};")
        return found

    def _load(self, name: str, type: Type, column: str) -> str:
        if name == CONDITION_CODE:  # all ones and a carry carry; all ones and nothing do not
            return f"    cvt.u32.u64 %word, {column}; add.cc.u32 %word, %word, -1;"
        if type.kind == "pred":
            return f"    setp.ne.u64 {name}, {column}, 0;"
        return f"    mov.b64 {name}, {column};" if type.width == 64 else f"    cvt.u{type.width}.u64 {name}, {column};"

    def _put(self, name: str, type: Type, column: str) -> str:
        if name == CONDITION_CODE:
            return f"    addc.u32 %word, 0, 0; cvt.u64.u32 {column}, %word;"
        if type.kind == "pred":
            return f"    selp.u64 {column}, 1, 0, {name};"
        return f"    mov.b64 {column}, {name};" if type.width == 64 else f"    cvt.u64.u{type.width} {column}, {name};"

    def run(self, values: Mapping[str, Sequence[int]], count: int, engine: Any, which: int = BOTH) -> Left | str:
        """Launch so many threads on these values by name, where `m[3]` is a byte; or what the launch says of a rule that is broken."""
        columns = np.zeros((count, even(len(self.names))), np.uint64)
        for k, name in enumerate(self.names):
            columns[:, k] = np.array([int(v) for v in values[name]], np.uint64)
        copies = 2 if which == BOTH else 1
        buffers = [self._bytes(b, values, count, copies) for b in self.own]
        half = even(len(self.compared))
        results = np.zeros((count, 2 * half), np.uint64)
        back = count * SIZE if which == BOTH else 0
        shared = self.memory is not None and self.memory.space == "shared"
        try:
            self.module.launch(
                "k", block=count, args=[columns, results, np.uint32(which), np.uint64(back), *buffers], engine=engine,
                profile="hopper", dynamic_shared=SIZE * count if shared else 0,
            )  # fmt: skip
        except ptxspec.LaunchError as error:
            return str(error).partition("\n")[0]
        found = [{n: results[:, half * side + k] for k, n in enumerate(self.compared)} for side in (0, 1)]
        at = [
            {
                b: data[side * count :] if copies == 2 and side else data[:count]
                for b, data in zip(self.own, buffers, strict=True)
            }
            for side in (0, 1)
        ]
        return Left((found[0], found[1]), (at[0], at[1]))

    def _bytes(self, buffer: str, values: Mapping[str, Sequence[int]], count: int, copies: int) -> np.ndarray:
        data = np.zeros((count, SIZE), np.uint8)
        for i in range(SIZE):
            known = values.get(f"{buffer}[{i}]")
            data[:, i] = np.arange(count) * 37 + i * 11 if known is None else [int(v) for v in known]
        return np.concatenate([data] * copies)


def differing(one: Left, other: Left, sides: tuple[int, int], compared: Mapping[str, Type] | None = None) -> set[int]:
    """The threads whose sides left something else."""
    x, y = one.registers[sides[0]], other.registers[sides[1]]
    found: set[int] = set()
    for name in x:
        type = None if compared is None else compared[name]
        mask = np.uint64(2**64 - 1 if type is None else (1 << type.width) - 1 if type.kind != "pred" else 1)
        found |= set(np.flatnonzero((x[name] & mask) != (y[name] & mask)).tolist())
    for buffer, data in one.memory[sides[0]].items():
        found |= set(np.flatnonzero((data != other.memory[sides[1]][buffer]).any(axis=1)).tolist())
    return found


def left_by(found: Left, side: int, row: int, compared: Mapping[str, Type]) -> dict[str, Any]:
    """What a side left in a thread, by the names that are compared."""
    wanted: dict[str, Any] = {}
    for name, type in compared.items():
        if "[" in name:
            buffer, number = name.rstrip("]").split("[")
            wanted[name] = int(found.memory[side][buffer][row, int(number)])
        else:
            bits = int(found.registers[side][name][row])
            wanted[name] = bool(bits) if type.kind == "pred" else bits & ((1 << type.width) - 1)
    return wanted
