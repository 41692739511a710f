"""What the statements of a random module refer to: forms, functions, images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import NamedTuple

from ptxspec_workshop.generate.fuzzing.alphabet import EveryForm
from ptxspec_workshop.generate.fuzzing.random_statements import RandomFunction


class ModuleImage(NamedTuple):
    """An image of a module: its name, what it is declared as, its geometry, the type of its channels, how many of these, and how
    it is read."""

    name: str
    opaque: str
    geometry: str
    dtype: str
    channels: int
    filter: str = "nearest"
    normalized: bool = False
    fractions: bool = False

    @property
    def result(self) -> str:
        """The type that lookups have."""
        if self.fractions or self.dtype.startswith("float"):
            return "f32"
        return "u32" if self.dtype.startswith("u") else "s32"


class Surroundings:
    """What the statements of a module refer to. `features` are what modules need not have: `today`, `stack` and the like;
    statements of `kinds` are there in any case, and others are `among` these. Its entry has the least or the greatest of `sizes`
    in instructions, or a number between them, before it ends."""

    def __init__(
        self,
        letters: EveryForm,
        features: set[str],
        kinds: Sequence[str],
        among: Container[str],
        sizes: tuple[int, int] = (10, 60),
    ):
        self.letters, self.features, self.kinds, self.among, self.sizes = letters, features, kinds, among, sizes
        self.functions: list[RandomFunction] = []
        #: functions that an indirect call may reach, and whether a table in memory has their addresses
        self.alike: list[RandomFunction] = []
        self.has_table = False
        self.textures: list[ModuleImage] = []
        self.surfaces: list[ModuleImage] = []
        self.hazards = 0
        #: how often statements of a kind were written, ends, and what may break a rule
        self.written: Counter[str] = Counter()
