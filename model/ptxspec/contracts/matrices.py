"""What the pages about matrices owe the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.types import Type


class Fragments(Protocol):
    """spec/matrices/fragments.md: which lane's register holds which element."""

    def shape_of(self, word: str) -> Any:
        """The shape that a modifier names."""

    def place_in_a(self, shape: Any, type: Type, row: Any, k: Any) -> Any:
        """Where an element of A lies: a lane, a register, and a position in it."""

    def place_in_b(self, shape: Any, type: Type, k: Any, column: Any) -> Any:
        """Where an element of B lies."""

    def place_in_c(self, shape: Any, type: Type, row: Any, column: Any) -> Any:
        """Where an element of C or D lies."""


class Scales(Protocol):
    """spec/matrices/scales.md: which lane has which scale."""

    def place_of_row(self, row: Any, block: Any, byte: Any, thread: Any) -> Any:
        """Where the scale of a block of a row of A lies: a lane, and a byte of its register."""

    def place_of_column(self, column: Any, block: Any, byte: Any, thread: Any) -> Any:
        """Where that of a column of B lies."""


fragments = page("matrices.fragments", Fragments)
scales = page("matrices.scales", Scales)


class Tiles(Protocol):
    """spec/matrices/tiles.md: how a tile of a matrix lies in a warp and in memory."""

    #: the opcode of the instructions on tiles
    OPCODE: str

    def shape_of(self, word: str) -> Any:
        """The shape that a modifier names."""

    def rows_and_columns(self, matrix: str, shape: Any) -> tuple[int, int]:
        """How many rows and columns the matrix `a`, `b` or `c` of a product has."""

    def place_in_tile(self, matrix: str, shape: Any, type: Type, row: Any, column: Any) -> Any:
        """Where an element lies: a lane, a register, and a position in it."""

    def usual_stride(self, matrix: str, shape: Any, layout: str) -> int:
        """The stride of a tile in memory where none is given, in elements."""


tiles = page("matrices.tiles", Tiles)
