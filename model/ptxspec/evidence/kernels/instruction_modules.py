"""Modules of one-instruction kernels, with what these need and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ptxspec.evidence.kernels.instruction_kernels import IN_BODY, PARAMETERS, TODAY, FormKernel, words_in
from ptxspec.evidence.kernels.kernel_operands import FUNCTIONS, SAMPLER


def module_around(texts: Sequence[str], version: str = TODAY[0], target: str = TODAY[1]) -> str:
    """The PTX module in which the texts of one-instruction kernels stand. All of them, or none, name a sampler."""
    number = tuple(map(int, version.split(".")))
    bodies = [t if number >= (1, 4) else t.replace(f"{PARAMETERS}\n{{", f"\n{{{IN_BODY}") for t in texts]
    used = words_in(bodies)
    opaque = number >= (1, 5)
    variables = {
        "constant": ".const .align 16 .b8 constant[64];",
        "shared_by_all": ".global .align 16 .b8 shared_by_all[64];",
        "some_texture": ".global .texref some_texture;" if opaque else ".tex .u32 some_texture;",
        "some_surface": ".global .surfref some_surface;",
        SAMPLER: f".global .samplerref {SAMPLER};",
        **FUNCTIONS,
    }
    head = [
        f".version {version}",
        f".target {target}{', texmode_independent' if SAMPLER in used else ''}",
        *([".address_size 64"] if number >= (2, 3) else ()),
        *(text for name, text in variables.items() if name in used),
    ]
    return "\n".join([*head, *bodies, ""])


def alone(kernel: FormKernel, version: str, target: str) -> str:
    """The PTX module of one kernel for somebody else, without the parameter that it does not read, and without a label to which
    nothing branches."""
    text = module([kernel], version, target).replace(PARAMETERS, "(.param .u64 in, .param .u64 out)")
    return text if len(re.findall(r"\btarget\b", text)) > 2 else text.replace("target:\n", "")


def module(kernels: Iterable[FormKernel], version: str = TODAY[0], target: str = TODAY[1]) -> str:
    """A PTX module of one-instruction kernels."""
    return module_around([k.text for k in kernels], version, target)
