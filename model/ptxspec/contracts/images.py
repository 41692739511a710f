"""What the pages about textures owe the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Int


class Cubes(Protocol):
    """spec/textures/cube.md."""

    @property
    def FACES(self) -> int:
        """The faces of a cube."""


class Levels(Protocol):
    """spec/textures/levels.md. A level of detail counts in units of 2^−8."""

    def bound(self, x: Int) -> Int:
        """The level that a pattern of single precision says where a sampler bounds levels."""

    def bias_of(self, x: Int) -> Int:
        """The bias that a pattern of single precision says."""


cubes = page("textures.cube", Cubes)
levels = page("textures.levels", Levels)
