"""A kernel around a few instructions: each thread loads its operands from memory, and stores what the instructions left.

An assembler cannot know the operands, so that it computes nothing but what the instructions themselves spell out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

#: 64-bit cells of input and of output of a thread
CELLS = 8
#: the name of the kernel
NAME = "case"
#: what a cell of the output holds before the launch
FILL = 0xA5A5A5A5A5A5A5A5
#: the version and the target of a module
HEAD = ("8.6", "sm_90")


def kernel(
    body: str,
    inputs: Mapping[str, str],
    results: Mapping[str, str],
    before: str = "",
    head: tuple[str, str] = HEAD,
) -> str:
    """The PTX of a module with one kernel. `inputs` and `results` name registers with their types without the point, as in
    {"a": "b64"}; `before` stands in front of the kernel. Raises ValueError for more registers than there are cells."""
    if max(len(inputs), len(results)) > CELLS:
        raise ValueError(f"a case has at most {CELLS} operands and {CELLS} results")
    types = {**inputs, **results}
    lines = [f".version {head[0]}", f".target {head[1]}", ".address_size 64"]
    lines += [before.strip()] if before else []
    lines += [f".visible .entry {NAME}(.param .u64 in, .param .u64 out)", "{"]
    lines += [".reg .b64 %in, %out; .reg .b32 %own; .reg .b16 %half;"]
    lines += [f".reg .{type} {name};" for name, type in types.items()]
    lines += ["ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %own, %tid.x;"]
    lines += [f"mad.wide.u32 %{end}, %own, {8 * CELLS}, %{end};" for end in ("in", "out")]
    lines += [_load(name, type, 8 * i) for i, (name, type) in enumerate(inputs.items())]
    lines += [line.strip() for line in body.strip().splitlines()]
    lines += [_store(name, type, 8 * i) for i, (name, type) in enumerate(results.items())]
    return "\n".join([*lines, "ret;", "}"]) + "\n"


def _load(name: str, type: str, offset: int) -> str:
    if type == "pred":
        return f"ld.global.b16 %half, [%in+{offset}]; setp.ne.b16 {name}, %half, 0;"
    return f"ld.global.{type} {name}, [%in+{offset}];"


def _store(name: str, type: str, offset: int) -> str:
    if type == "pred":
        return f"selp.u16 %half, 1, 0, {name}; st.global.b16 [%out+{offset}], %half;"
    return f"st.global.{type} [%out+{offset}], {name};"


def cells(inputs: Mapping[str, str], rows: Sequence[Mapping[str, int]]) -> np.ndarray:
    """What the kernel's input holds: a row of cells a thread. Values are bits; negative ones are two's complement. Raises
    ValueError for a row that does not name just the inputs."""
    array = np.zeros((len(rows), CELLS), np.uint64)
    for i, row in enumerate(rows):
        if set(row) != set(inputs):
            raise ValueError(f"a row of {sorted(row)} for the operands {sorted(inputs)}")
        for j, name in enumerate(inputs):
            array[i, j] = row[name] & 0xFFFFFFFFFFFFFFFF
    return array
