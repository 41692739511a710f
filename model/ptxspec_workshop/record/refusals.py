"""What NVIDIA's assembler says of each kernel of a module, in the version that knows the module's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ptxspec.evidence.assembler import assemble, newest_ptxas, ptxas
from ptxspec.evidence.kernels.instruction_kernels import TODAY, FormKernel, module_for, names_sampler
from ptxspec.evidence.kernels.instruction_modules import module
from ptxspec_workshop.generate.former_modules import FORMER


class Refusal(NamedTuple):
    """A kernel that ptxas does not accept, and what it says."""

    kernel: FormKernel
    message: str


def assembler_for(version: str, target: str) -> tuple[str, str]:
    """(the path of the assembler that is asked about a module of this version and target, the target that it is told): the
    newest for what 13.0 does not know. Raises FileNotFoundError if it is not there."""
    newer = tuple(map(int, version.split("."))) > tuple(map(int, TODAY[0].split(".")))
    later = target[-1] in "af" or int(target.removeprefix("sm_")) > 90
    return newest_ptxas() if newer else ptxas(), target if later else TODAY[1]


#: kernels of a module
TOGETHER = 500


def refusals(kernels: Sequence[FormKernel]) -> list[Refusal]:
    """The kernels that ptxas does not accept, each with its first complaint. Those whose forms newer modules have no longer
    are assembled in an older one, and those whose forms came later in a newer one, by a newer ptxas. Raises FileNotFoundError if
    there is none."""
    result: list[Refusal] = []
    for apart in (False, True):
        places: dict[tuple[str, str], list[FormKernel]] = {}
        for kernel in kernels:
            if kernel.form.removal is None and names_sampler(kernel) is apart:
                places.setdefault(module_for(kernel.form), []).append(kernel)
        for place, members in places.items():
            result += _refusals(members, *place)
    for gone, place in FORMER.items():
        result += _refusals([k for k in kernels if k.form.removal == gone], *place)
    return result


def _refusals(kernels: Sequence[FormKernel], version: str, target: str) -> list[Refusal]:
    """Those of all modules that hold these kernels: ptxas takes longer for each kernel the more of them a module has."""
    parts = (kernels[i : i + TOGETHER] for i in range(0, len(kernels), TOGETHER))
    return [refusal for part in parts for refusal in _refusals_of_module(part, version, target)]


def _refusals_of_module(kernels: Sequence[FormKernel], version: str, target: str) -> list[Refusal]:
    """It stops at many errors, so a module with refused kernels is assembled again without them."""
    result: list[Refusal] = []
    remaining, by, arch = list(kernels), *assembler_for(version, target)
    while remaining:
        text = module(remaining, version, target)
        errors = assemble(text, arch, "-O0", by=by)
        if not errors:
            break
        ends = []
        line = module([], version, target).count("\n") - 1
        for kernel in remaining:
            line += kernel.text.count("\n") + 1
            ends.append(line)
        refused: dict[int, str] = {}
        for number, message in errors:
            index = next((i for i, end in enumerate(ends) if number <= end), None) if number else None
            if index is None:
                raise RuntimeError(f"ptxas: line {number}: {message}")
            refused.setdefault(index, message)
        result += [Refusal(remaining[i], message) for i, message in refused.items()]
        remaining = [k for i, k in enumerate(remaining) if i not in refused]
    return result
