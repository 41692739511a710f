"""Triton's kernels on the specification: compiled by Triton for a target, run here, without a GPU.

What Triton prints needs facts that the PTX does not have: how many warps a CTA has, how many bytes of dynamic shared memory, how
many of global memory each CTA works in, and the boxes in which tensors are copied that the host describes. A `TritonKernel` is
the text with them; a file keeps it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ptxspec
from ptxspec.base.files import write_whole
from ptxspec.base.options import TensorSwizzle
from ptxspec.machine.launch_plan import Outcome
from ptxspec.machine.module import Module

#: the hints that a parameter's type may have in a signature: its value is a multiple of 16, or is 1
_HINTS = ("16", "1")
#: by their numbers in what Triton says of a descriptor
_SWIZZLES: tuple[TensorSwizzle, ...] = ("none", "32B", "64B", "128B")


class DescribedArgument(NamedTuple):
    """An argument that a kernel gets as a tensor map: its position among those that are not constants, and how it is copied.
    `box` has the extents of a box in the order of the array's axes."""

    position: int
    box: tuple[int, ...]
    swizzle: TensorSwizzle


@dataclass(frozen=True)
class ConfiguredTritonKernel:
    """A kernel with its grid: call it with the kernel's arguments, without those that were constants when it was compiled."""

    kernel: TritonKernel
    grid: int | Sequence[int]

    def __call__(self, *args: Any, **how: Any) -> Outcome:
        """Launch the kernel. An array stands for a tensor descriptor. `how` is what `Module.launch` takes beside its arguments,
        such as `engine` or `profile`. Raises what it does."""
        kernel = self.kernel
        programs = self.grid if isinstance(self.grid, int) else math.prod(self.grid)
        # Triton's own parameters: what the programs work in, and what a profiler writes
        scratch = [np.zeros(kernel.scratch * programs, np.uint8) if kernel.scratch else np.uint64(0), np.uint64(0)]
        given: list[Any] = []
        described = {each.position: each for each in kernel.described}
        for position, value in enumerate(args):
            given += _descriptor(value, described[position]) if position in described else [value]
        return kernel.module.launch(
            kernel.name, self.grid, 32 * kernel.warps, [*given, *scratch], dynamic_shared=kernel.shared, **how
        )


@dataclass(frozen=True)
class TritonKernel:
    """What Triton made of a function: `kernel[grid](…)` launches it. `shared` and `scratch` are bytes for each CTA, of dynamic
    shared memory and of global memory."""

    name: str
    ptx: str
    warps: int
    shared: int = 0
    scratch: int = 0
    described: tuple[DescribedArgument, ...] = ()

    @cached_property
    def module(self) -> Module:
        """The loaded text. Raises PtxError if the specification does not take what Triton printed."""
        return ptxspec.load(self.ptx, f"{self.name}.ptx")

    def __getitem__(self, grid: int | Sequence[int]) -> ConfiguredTritonKernel:
        return ConfiguredTritonKernel(self, grid)

    def keep(self, path: str | Path) -> None:
        """Write the kernel into a file, for `kept`."""
        write_whole(Path(path), (json.dumps(asdict(self), indent=1) + "\n").encode())


def kept(path: str | Path) -> TritonKernel:
    """The kernel in a file that `TritonKernel.keep` wrote. Triton is not needed. Raises OSError, and TypeError or ValueError for
    what is no such file."""
    return from_facts(json.loads(Path(path).read_text()))


def from_facts(facts: dict[str, Any]) -> TritonKernel:
    """The kernel whose fields were kept as JSON. Raises TypeError or ValueError for other facts."""
    described = tuple(
        DescribedArgument(position, tuple(box), swizzle) for position, box, swizzle in facts.get("described", ())
    )
    return TritonKernel(**{**facts, "described": described})


def compiled(function: Any, signature: str, target: int = 80, **options: Any) -> TritonKernel:
    """A function marked `triton.jit` compiled by Triton for a target, 80 for sm_80. `signature` is that of
    `triton.tools.compile`: for each parameter its type or, for a constant, its value, such as "*fp32:16, *fp32:16, i32, 256",
    where ":16" promises a multiple of 16 and ":1" the value 1. `options` are Triton's, such as `num_warps` and `num_stages`.
    Raises ValueError for a signature that is none, or a kernel whose programs are clusters; and what Triton raises; ImportError
    without Triton."""
    from triton import compile
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types, constants, hints = _read(function.arg_names, signature)
    source = ASTSource(function, types, constants, hints)
    made = compile(source, target=GPUTarget("cuda", target, 32), options=options)
    facts = made.metadata
    if facts.num_ctas != 1:
        raise ValueError(
            f"a program of {facts.name} is {facts.num_ctas} CTAs: clusters of Triton's are not launched here"
        )
    scratch = -(-facts.global_scratch_size // facts.global_scratch_align) * facts.global_scratch_align
    return TritonKernel(
        facts.name, made.asm["ptx"], facts.num_warps, facts.shared, scratch, _described(types, facts.tensordesc_meta)
    )


def _described(types: dict[str, str], boxes: Sequence[dict[str, Any]]) -> tuple[DescribedArgument, ...]:
    """What the host is to describe, given what Triton says of each descriptor."""
    given = [type for type in types.values() if type != "constexpr"]
    positions = [position for position, type in enumerate(given) if type.startswith("tensordesc")]
    return tuple(
        DescribedArgument(position, tuple(each["block_size"]), _SWIZZLES[each["swizzle"]])
        for position, each in zip(positions, boxes, strict=True)
    )


def _descriptor(array: np.ndarray, how: DescribedArgument) -> list[Any]:
    """The parameters that Triton has for a descriptor: the tensor map, the array's extents, and its strides in elements."""
    strides = [np.int64(stride // array.itemsize) for stride in array.strides]
    tensor = ptxspec.TensorMap(array, box=how.box[::-1], swizzle=how.swizzle)
    return [tensor, *map(np.int32, array.shape), *strides]


def _read(names: Sequence[str], signature: str) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int], Any]]:
    """A signature as Triton's compiler takes it: types by name, constants by name, and what is promised of parameters by
    position. Raises ValueError."""
    words = [word.strip() for word in re.split(r",(?![^<]*>)", signature)]
    if len(words) != len(names):
        raise ValueError(f"{len(words)} types or values for the {len(names)} parameters {', '.join(names)}")
    types: dict[str, str] = {}
    constants: dict[str, Any] = {}
    hints: dict[tuple[int], Any] = {}
    for i, (name, word) in enumerate(zip(names, words, strict=True)):
        type, colon, hint = word.partition(":")
        if colon and hint not in _HINTS:
            raise ValueError(f"{word}: a hint is :16 or :1")
        value = int(hint) if hint == "1" else _number(word)
        if value is not None:
            types[name], constants[name] = "constexpr", value
            continue
        types[name] = type
        if hint:
            hints[(i,)] = [["tt.divisibility", 16]]
    return types, constants, hints


def _number(word: str) -> int | float | None:
    """The number that a word is, None if it is a type."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return None
