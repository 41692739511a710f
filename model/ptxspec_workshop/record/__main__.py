"""What a GPU computes for every form: `python -m ptxspec_workshop.record FOLDER [OPCODE …]` on a machine that has one.

Each form runs alone in a kernel, assembled by ptxas at -O0 and at -O3. The answers are compared with the definitions under a
profile and written to FOLDER, with a summary beside them. Only the CUDA driver and ptxas are needed. With opcodes, of the forms
that are functions of their operands only these are asked; the folder's other answers are kept, if the same device, driver and
assembler gave them. With `--aimed` only the products of matrices are asked whose factors are aimed at limits, with `--later`
only the functions of their operands that an H200 was not asked about, with `--objects` only what is about objects in memory, and
with `--warpgroups` only products of warpgroups. These are held against the definitions later, by `ptxspec_workshop.ledger`.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ptxspec.evidence import assembler
from ptxspec.evidence.choices import PROFILE
from ptxspec.evidence.kernels.operand_rows import ROWS, SEED
from ptxspec.language.forms import forms
from ptxspec_workshop.record.driver import Gpu, GpuError
from ptxspec_workshop.record.families import (
    AIMED_MATRICES,
    CLUSTERS,
    EFFECTS,
    FUNCTIONS,
    LATER_FUNCTIONS,
    MATRICES,
    OBJECTS,
    WARPGROUPS,
    WARPS,
)
from ptxspec_workshop.record.recorder import answers_of_gpu, record

_MUST_AGREE = ("device", "driver", "ptxas", "seed", "profile")
#: what is recorded alone, by the option that asks for it
_ALONE = {
    "--aimed": ("aimed products of matrices", AIMED_MATRICES),
    "--objects": ("objects in memory and bulk copies", OBJECTS),
    "--warpgroups": ("products of warpgroups", WARPGROUPS),
    "--later": ("functions that no H200 was asked about", LATER_FUNCTIONS),
}


def _facts(gpu: Gpu) -> dict[str, Any]:
    return {
        "device": gpu.name,
        "driver": gpu.driver,
        "ptxas": assembler.version(),
        "date": datetime.date.today().isoformat(),
        "rows": ROWS,
        "seed": SEED,
        "profile": PROFILE,
    }


def added(
    folder: Path,
    opcodes: Sequence[str],
    facts: dict[str, Any],
    values: dict[str, np.ndarray],
    differing: list[dict[str, Any]],
) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """A folder's answers and differences with new ones in the place of those of some opcodes. Raises GpuError if something else
    gave the former."""
    before = FUNCTIONS.read(folder)
    if before is None or any(before.facts[k] != facts[k] for k in _MUST_AGREE):
        raise GpuError(f"{folder} has no answers of this device, driver and assembler to which others could be added")
    wanted = {str(v): v for f in forms() if FUNCTIONS.asks(f) for v in f.variants}
    both = {**before.values, **values}
    kept = [d for d in before.facts["differences"] if wanted[d["form"]].syntax.opcode not in opcodes]
    return {name: both[name] for name in wanted}, kept + differing


def _by_opcode(differing: Sequence[dict[str, Any]]) -> None:
    """Print how many forms and rows of each opcode differ."""
    by_opcode: dict[str, list[int]] = {}
    for entry in differing:
        counts = by_opcode.setdefault(entry["form"].split(".")[0], [0, 0, 0, 0])
        for i, value in enumerate((1, entry["O0"], entry["O3"], entry["levels"])):
            counts[i] += value
    for opcode, counts in sorted(by_opcode.items()):
        print(f"{opcode:<8} forms {counts[0]:>4}  rows -O0 {counts[1]:>6}  -O3 {counts[2]:>6}  -O0/-O3 {counts[3]:>6}")


def main(name: str, *opcodes: str) -> int:
    folder, gpu = Path(name), Gpu()
    facts = _facts(gpu)
    if len(opcodes) == 1 and opcodes[0] in _ALONE:
        what, alone = _ALONE[opcodes[0]]
        answered, unlike = record(gpu, alone, folder, facts)
        print(f"{answered} {what}, {unlike} with differences")
        return 0
    cases = FUNCTIONS.cases(f for f in forms() if not opcodes or f.syntax.opcode in opcodes)
    values, differing = answers_of_gpu(gpu, FUNCTIONS, cases, PROFILE)
    count = len(values)
    if opcodes:
        values, differing = added(folder, opcodes, facts, values, differing)
    FUNCTIONS.write(folder, facts, values, differing)
    print(json.dumps(facts))
    print(f"{count} forms, {len(differing)} with differences")
    _by_opcode(differing)
    others = {
        "forms of warps and barriers": WARPS,
        "products of matrices": MATRICES,
        "aimed products of matrices": AIMED_MATRICES,
        "forms with effects": EFFECTS,
        "kernels in clusters": CLUSTERS,
    }
    for what, family in others.items():
        answered, unlike = record(gpu, family, folder, facts)
        print(f"{answered} {what}, {unlike} with differences")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
