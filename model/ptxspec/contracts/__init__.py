"""The pages that the model takes names from: `contracts.access` is the page of access checks.

For mypy each is the page itself, if pages are laid out for it (`ptxspec.literate.lint`): a name that a page lacks, or an argument
of another type, is an error at the model's line. In a run, a page is loaded when it is first named here, and a name that it lacks
is an AttributeError that names both. Nothing here is a rule of PTX, and the model names no page elsewhere.
"""

# ruff: noqa: F401

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

from ptxspec.literate import finder
from ptxspec.literate.documents import DocumentError

if TYPE_CHECKING:
    from ptxspec.spec import gaps
    from ptxspec.spec.arithmetic import approximation, contraction, floating_point, rounding
    from ptxspec.spec.directives import debugging
    from ptxspec.spec.directives import index as directives
    from ptxspec.spec.functions import index as functions
    from ptxspec.spec.functions import linking
    from ptxspec.spec.functions import system as system_functions
    from ptxspec.spec.instructions import index as mnemonics
    from ptxspec.spec.instructions.control import index as control_flow
    from ptxspec.spec.machine import (
        access,
        asynchrony,
        barriers,
        clusters,
        divergence,
        initialization,
        limits,
        multicast,
        product_groups,
        schedule,
        threads,
        warps,
    )
    from ptxspec.spec.machine import memory as memory_rules
    from ptxspec.spec.machine import order as memory_order
    from ptxspec.spec.matrices import descriptors, fragments, scales, tiles, warpgroups
    from ptxspec.spec.memory_model import (
        asynchronous_operations,
        axioms,
        causality,
        coherence,
        cpp,
        liveness,
        objects,
        operations,
        races,
        rewrites,
        scopes,
        stale_reads,
        synchronization,
    )
    from ptxspec.spec.operands import type_checking
    from ptxspec.spec.special_registers import thread_coordinates
    from ptxspec.spec.state_spaces import banks, generic_addressing
    from ptxspec.spec.state_spaces import index as state_spaces
    from ptxspec.spec.syntax import constant_expressions, literals
    from ptxspec.spec.tensors import boxes, swizzles
    from ptxspec.spec.tensors import encoding as tensor_encoding
    from ptxspec.spec.tensors import limits as tensor_limits
    from ptxspec.spec.tensors import maps as tensor_maps
    from ptxspec.spec.textures import addressing, formats, images, levels
    from ptxspec.spec.textures import lookup as lookups
    from ptxspec.spec.types import index as types
    from ptxspec.spec.variables import attributes, initializers, opaque_types
    from ptxspec.spec.variables import index as variables
else:

    def __getattr__(name: str) -> ModuleType:
        """The page of a name above, which is loaded now; from then on the name is an attribute like any other."""
        if name not in PAGES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # what the pages of state spaces declare belongs to the page that lists them
        for declaring, _ in finder.pages(SPECIFICATION, "state_spaces") if name == "state_spaces" else ():
            finder.load(declaring)
        return globals().setdefault(name, resolved(PAGES[name]))


#: the package whose modules are the specification's pages
SPECIFICATION = "ptxspec.spec"
#: the pages imported above for mypy, by their names here
PAGES = {
    "access": "machine.access",
    "addressing": "textures.addressing",
    "approximation": "arithmetic.approximation",
    "asynchrony": "machine.asynchrony",
    "attributes": "variables.attributes",
    "banks": "state_spaces.banks",
    "barriers": "machine.barriers",
    "clusters": "machine.clusters",
    "constant_expressions": "syntax.constant_expressions",
    "contraction": "arithmetic.contraction",
    "control_flow": "instructions.control.index",
    "debugging": "directives.debugging",
    "descriptors": "matrices.descriptors",
    "directives": "directives.index",
    "divergence": "machine.divergence",
    "floating_point": "arithmetic.floating_point",
    "formats": "textures.formats",
    "fragments": "matrices.fragments",
    "functions": "functions.index",
    "gaps": "gaps",
    "generic_addressing": "state_spaces.generic_addressing",
    "images": "textures.images",
    "initialization": "machine.initialization",
    "initializers": "variables.initializers",
    "levels": "textures.levels",
    "limits": "machine.limits",
    "linking": "functions.linking",
    "literals": "syntax.literals",
    "lookups": "textures.lookup",
    "memory_order": "machine.order",
    "memory_rules": "machine.memory",
    "mnemonics": "instructions.index",
    "multicast": "machine.multicast",
    "opaque_types": "variables.opaque_types",
    "product_groups": "machine.product_groups",
    "rounding": "arithmetic.rounding",
    "scales": "matrices.scales",
    "schedule": "machine.schedule",
    "state_spaces": "state_spaces.index",
    "system_functions": "functions.system",
    "thread_coordinates": "special_registers.thread_coordinates",
    "threads": "machine.threads",
    "tiles": "matrices.tiles",
    "type_checking": "operands.type_checking",
    "types": "types.index",
    "variables": "variables.index",
    "boxes": "tensors.boxes",
    "swizzles": "tensors.swizzles",
    "tensor_encoding": "tensors.encoding",
    "tensor_limits": "tensors.limits",
    "tensor_maps": "tensors.maps",
    "asynchronous_operations": "memory_model.asynchronous_operations",
    "axioms": "memory_model.axioms",
    "causality": "memory_model.causality",
    "coherence": "memory_model.coherence",
    "cpp": "memory_model.cpp",
    "liveness": "memory_model.liveness",
    "objects": "memory_model.objects",
    "operations": "memory_model.operations",
    "races": "memory_model.races",
    "rewrites": "memory_model.rewrites",
    "scopes": "memory_model.scopes",
    "stale_reads": "memory_model.stale_reads",
    "synchronization": "memory_model.synchronization",
    "warpgroups": "matrices.warpgroups",
    "warps": "machine.warps",
}


class ContractError(DocumentError):
    """There is no page that the model takes names from. `path` is the name of its module."""


class UnitFunction(Protocol):
    """A page of spec/multifunction-unit/ that interpolates in a table."""

    @property
    def TABLE(self) -> tuple[tuple[int, ...], ...]:
        """The coefficients as a chip answers them: all of degree 0, then of degree 1, then of degree 2."""


@cache
def unit_function(page: str) -> UnitFunction:
    """The page of this name in spec/multifunction-unit/."""
    return cast(UnitFunction, resolved(f"multifunction_unit.{page}"))


def resolved(page: str) -> ModuleType:
    """The page of a module's name below the specification, such as "machine.limits". Raises ContractError if there is none."""
    module = f"{SPECIFICATION}.{page}"
    try:
        loaded = finder.load(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ContractError(module, 1, "there is no such page, which the model takes names from") from None
    if getattr(loaded, "__file__", None) is None:
        raise ContractError(module, 1, "this is a folder, no page, which the model takes names from")
    return loaded
