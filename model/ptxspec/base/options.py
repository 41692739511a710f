"""The strings that options of public functions take and that results contain: types for type checkers, and sets at run time."""

from __future__ import annotations

from typing import Literal

#: what executes a launch: "native" is compiled code, "exact" interprets the kernel with Python's integers
Engine = Literal["native", "exact"]
#: when the pieces of asynchronous copies (cp.async) land: "early", at the instruction; "late", where the thread has waited;
#: "each", one before each turn of a thread; or "random:SEED"
Copies = str
#: which products and sums without rounding modifiers are contracted to fused multiply-adds
Contract = Literal["none", "all"]
#: the faults that a launch can be checked for: races, values that nothing initialized, memory that is not freed, or "all"
Check = Literal["race", "uninitialized", "leak", "all"]
CHECKS = ("race", "uninitialized", "leak")
#: whether a launch with findings raises a LaunchError, or returns them
OnFindings = Literal["raise", "collect"]
#: the same for a proof, where "any" stands for every choice of an assembler
Contraction = Literal["none", "all", "any"]
#: how a proof compares NaNs whose bits PTX leaves open: "any" is as good as another, or their "payloads" count
Nan = Literal["any", "payloads"]
#: the relation to prove between two fragments: "equal", or "refines": the left one allows every behaviour of the right one
Relation = Literal["equal", "refines"]
#: beside which other threads a proof holds: "any" others, or none, so that a thread is "alone"
Context = Literal["any", "alone"]
#: the verdict of a proof; see `ptxspec.Verdict`
Status = Literal["proved", "refuted", "exhausted", "vacuous", "approximated", "unknown", "unsupported"]
#: what a litmus test's outcome is, and how that is decided
LitmusStatus = Literal["allowed", "forbidden", "undefined", "unknown"]
#: whether a thread of a litmus test may spin forever
LivenessStatus = Literal["live", "spins", "unknown"]
LitmusMethod = Literal["enumeration", "solver"]
#: the solver: z3, Bitwuzla, or "portfolio", both in parallel
Solver = Literal["z3", "bitwuzla", "portfolio"]
#: the kinds of results that PTX leaves open; "deviation" is an erratum: a GPU returns another result than PTX states
Freedom = Literal["unspecified", "approximate", "undefined", "machine-specific", "deviation"]
#: the geometries of textures: "a" is for arrays of layers, "ms" for multisampled images. Manual: 5.3
Geometry = Literal["1d", "a1d", "2d", "a2d", "2dms", "a2dms", "3d", "cube", "acube"]
#: the geometries of surfaces. Manual: 5.3
SurfaceGeometry = Literal["1d", "a1d", "2d", "a2d", "3d"]
#: how a lookup treats coordinates outside the image; "clamp" is "clamp_to_edge", and "border" is "clamp_to_border". Manual: 5.3.2
AddressMode = Literal["wrap", "mirror", "clamp", "clamp_ogl", "border", "clamp_to_edge", "clamp_to_border"]
#: "nearest" reads the nearest texel; "linear" interpolates linearly between neighbouring texels. Manual: 5.3.2
FilterMode = Literal["nearest", "linear"]
#: "element" returns integer texels as integers, "normalized_float" as fractions in [0, 1] or [−1, 1]
ReadMode = Literal["element", "normalized_float"]
#: the memory layout of an image: "array" is a CUDA array, "linear" is linear memory
Layout = Literal["array", "linear"]
#: the mode of a tensor map: boxes are parts of the tensor, or pixels one after the other. Manual: 5.5.2
TensorMode = Literal["tile", "im2col"]
#: the span in which chunks of 16 bytes of a box are exchanged in shared memory. Manual: 5.5.7
TensorSwizzle = Literal["none", "32B", "64B", "128B"]
#: what elements of a box become that lie outside of the tensor. Manual: 5.5.3.3
TensorFill = Literal["zero", "nan"]
#: how many bytes of L2 a copy of a box may fetch at once
TensorPromotion = Literal["none", "64B", "128B", "256B"]
