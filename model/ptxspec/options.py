"""The closed sets of words that public functions take and give back, for type checkers and for those who ask at run time."""

from __future__ import annotations

from typing import Literal

#: what executes a launch: Python's integers, or compiled code
Engine = Literal["native", "exact"]
#: when copies happen that finish later: where they are begun, where they are waited for, or where a seed says
Copies = Literal["early", "late"] | int
#: which products and sums without rounding modifiers are contracted
Contract = Literal["none", "all"]
#: the same for a question to the prover, or as the assembler likes
Contraction = Literal["none", "all", "any"]
#: what two fragments are asked to be: equal, or the right one a refinement of the left one
Relation = Literal["equal", "refines"]
#: what comes of a question to the prover
Status = Literal["proved", "refuted", "exhausted", "vacuous", "approximated", "unknown", "unsupported"]
#: who is asked to settle a question: z3, Bitwuzla, or both side by side
Solver = Literal["z3", "bitwuzla", "portfolio"]
#: the kinds of results that PTX leaves open, and the one that a machine is known to get differently
Freedom = Literal["unspecified", "approximate", "undefined", "machine-specific", "deviation"]
#: the shapes of images
Geometry = Literal["1d", "a1d", "2d", "a2d", "2dms", "a2dms", "3d", "cube", "acube"]
#: the shapes of images that kernels may write
SurfaceGeometry = Literal["1d", "a1d", "2d", "a2d", "3d"]
#: what becomes of coordinates outside of an image
AddressMode = Literal["wrap", "mirror", "clamp", "clamp_ogl", "border", "clamp_to_edge", "clamp_to_border"]
#: how many texels a lookup takes
FilterMode = Literal["nearest", "linear"]
#: what a lookup makes of integers
ReadMode = Literal["element", "normalized_float"]
#: how the texels of an image lie in memory
Layout = Literal["array", "linear"]
