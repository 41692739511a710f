"""What the pages about textures owe the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Int
    from ptxspec.terms.image_access import Image, Sampler
    from ptxspec.terms.types import Type


class Images(Protocol):
    """spec/textures/images.md: what the host may make an image of."""

    @property
    def Refused(self) -> type[ValueError]:
        """What says that no image is made of what was given."""

    def described(
        self, geometry: str, channels: Sequence[Type], shapes: Sequence[tuple[int, ...]], is_linear: bool
    ) -> Image:
        """The image whose levels are arrays of these shapes, with channels of these types. Raises Refused."""

    def of_surface(self, geometry: str, levels: int) -> None:
        """Raise Refused unless a surface may be of a geometry, and have so many levels."""


class Formats(Protocol):
    """spec/textures/formats.md."""

    @property
    def CHANNELS(self) -> Mapping[str, Type]:
        """The types that channels have, by name."""


class Addressing(Protocol):
    """spec/textures/addressing.md."""

    @property
    def HOST_NAMES(self) -> Mapping[str, str]:
        """The addressing modes by the names that the host has for them."""

    @property
    def NOT_GIVEN(self) -> str:
        """The mode of a direction for which the host gives none."""


class Lookups(Protocol):
    """spec/textures/lookup.md."""

    def may_be_fractions(self, channel: Type) -> bool:
        """Whether channels of a type may be read as fractions."""

    def may_filter(self, image: Image, sampler: Sampler) -> bool:
        """Whether a texture may be made that is looked up so."""

    def combined(self, texture: Sampler, sampler: Sampler) -> Sampler:
        """How a texture is looked up with a sampler of its own."""


class Levels(Protocol):
    """spec/textures/levels.md. A level of detail counts in units of 2^−8."""

    def bound(self, x: Int) -> Int:
        """The level that a pattern of single precision says where a sampler bounds levels."""

    def bias_of(self, x: Int) -> Int:
        """The bias that a pattern of single precision says."""

    def may_bound(self, least: int, greatest: int) -> bool:
        """Whether the host may give a sampler these bounds."""


images = page("textures.images", Images)
formats = page("textures.formats", Formats)
addressing = page("textures.addressing", Addressing)
lookups = page("textures.lookup", Lookups)
levels = page("textures.levels", Levels)
