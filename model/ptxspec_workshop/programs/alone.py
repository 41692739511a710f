"""Programs that need nothing from outside: a module whose variables hold what goes in and what comes out, run alone.

The entry takes no parameters. Its directives say how many threads there are: `.reqntid` those of a CTA, `.reqnctapercluster` the
CTAs; else there is one. What images its names stand for is said in comments: see `images.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import ptxspec
from ptxspec import contracts
from ptxspec.language.checked import Kernel, Place
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.module import Module
from ptxspec.terms.types import TYPES, Type
from ptxspec_workshop.programs.images import ProgramImages, images_of
from ptxspec_workshop.programs.leaving import LeftRegisters, left


class Unrunnable(ValueError):
    """Why a text is no program that runs alone, in a sentence."""


class VariableContents(NamedTuple):
    """What a variable of the module held, or an image: the bits of its elements, before and after."""

    name: str
    type: Type
    is_array: bool
    before: list[int]
    after: list[int]


class ProgramOutcome(NamedTuple):
    """What a program left: the registers of each thread in order, their types, what is in memory, what was printed, and the error
    that ended the launch, if one did. Memory is then as it was."""

    threads: list[LeftRegisters]
    types: dict[str, Type]
    held: list[VariableContents]
    printed: str
    error: LaunchError | None


def entry_of(module: Module) -> Kernel:
    """The entry of a module that runs alone. Raises Unrunnable."""
    kernels = list(module.checked.kernels.values())
    if len(kernels) != 1:
        raise Unrunnable(f"a program has one entry, this one has {len(kernels)}")
    if kernels[0].parameters:
        raise Unrunnable(f"{kernels[0].name} takes parameters: here variables of the module hold what goes in")
    return kernels[0]


def run(text: str, time_limit: float | None = None) -> ProgramOutcome:
    """Run a program under the exact engine. Raises PtxError, Unrunnable, and ValueError for a launch that cannot be."""
    module = ptxspec.load(text, "program")
    kernel = entry_of(module)
    images = images_of(text)
    for name, thing in images.things.items():
        module.bind(name, thing)
    before = contents(module, images)
    printed: list[str] = []
    threads: list[LeftRegisters] = []
    error = None
    try:
        threads = left(module, kernel.name, printed.append, time_limit)
    except LaunchError as why:
        error = why
    after = contents(module, images)
    held = [VariableContents(*key, old, new) for (key, old), new in zip(before.items(), after.values(), strict=True)]
    return ProgramOutcome(threads, dict(kernel.registers), held, "".join(printed), error)


def contents(module: Module, images: ProgramImages) -> dict[tuple[str, Type, bool], list[int]]:
    """By its name, type, and whether it has several, the elements of each variable in .global or .const, and of each surface."""
    result = {}
    for place in variables(module):
        type = place.type or TYPES["b8"]
        result[place.name, type, place.size > type.bytes] = elements(module.read(place.name).tobytes(), type)
    for name, type, data in images.surfaces():
        result[name, type, True] = elements(data, type)
    return result


def variables(module: Module) -> list[Place]:
    """The variables that a host may read."""
    spaces = contracts.state_spaces.SPACES
    places = module.checked.places.values()
    return [
        p for p in places if p.space in spaces and spaces[p.space].initialized and not p.opaque and "@" not in p.name
    ]


def elements(data: bytes, type: Type) -> list[int]:
    """The bits of the elements that lie in bytes one after the other."""
    return [int.from_bytes(data[at : at + type.bytes], "little") for at in range(0, len(data), type.bytes)]
