"""Products and sums that may be contracted, put to a GPU: `python -m ptxspec_workshop.record.contraction FOLDER` on a machine
that has one.

Kept is a digest of each kernel's text with its inputs, and of its answers at -O0 and at -O3. Either is right if it is what our
machine answers with `contract="none"` or with `contract="all"`: which, PTX leaves to the assembler.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptxspec.base.options import Engine
from ptxspec.evidence import assembler
from ptxspec.evidence.choices import PROFILE
from ptxspec_workshop.compare.kernel_runs import launched, load
from ptxspec_workshop.generate.contraction_kernels import ContractionKernel, kernels, module
from ptxspec_workshop.record.machine_code import LEVELS, assemble
from ptxspec_workshop.record.program_answers import digest_of, digest_of_question
from ptxspec_workshop.record.stored_answers import H200

#: the file in a GPU's folder
NAME = "contraction.json"


def digest_of_kernel(kernel: ContractionKernel) -> str:
    """That of what is run: the kernel and its inputs."""
    return digest_of_question(module([kernel]), kernel.launches[0].cells)


def answers_here(asked_kernels: Sequence[ContractionKernel], engine: Engine = "native") -> dict[str, dict[str, str]]:
    """For each way to contract, the digests of what our machine answers, by the kernels' names."""
    loaded = load(module(asked_kernels))
    return {
        contract: {
            k.name: digest_of(
                k.kept(launched(loaded, k.name, k.launches, profile=PROFILE, engine=engine, contract=contract))
            )
            for k in asked_kernels
        }
        for contract in ("none", "all")
    }


def read(folder: Path = H200) -> dict[str, Any] | None:
    """The answers of a GPU's folder, or None if there are none: facts, and under "kernels" by name the digests of the question
    and of the answers at either level."""
    path = folder / NAME
    return json.loads(path.read_text()) if path.is_file() else None


def main(folder: str) -> int:
    from ptxspec_workshop.record.driver import Gpu
    from ptxspec_workshop.record.recorder import room_for, run_kernels

    gpu, all_kernels = Gpu(), kernels()
    text, ours = module(all_kernels), answers_here(all_kernels)
    code = {level: assemble(text, level) for level in LEVELS}
    results: dict[str, Any] = {}
    counts = dict.fromkeys(("none", "all", "neither"), 0)
    for kernel, got in zip(
        all_kernels, run_kernels(gpu, code, {k.name: k for k in all_kernels}, *room_for(gpu, all_kernels)), strict=True
    ):
        results[kernel.name] = {"asked": digest_of_kernel(kernel)}
        for level, answer in got.items():
            digest = results[kernel.name][level] = digest_of(answer)
            ways = [way for way in ("none", "all") if ours[way][kernel.name] == digest]
            counts[ways[0] if ways else "neither"] += 1
            if not ways:
                print(f"{kernel.name} at {level} is neither", kernel.text(), sep="\n")
    facts = {"device": gpu.name, "driver": gpu.driver, "ptxas": assembler.version()}
    facts |= {"date": datetime.date.today().isoformat(), "profile": PROFILE}
    Path(folder, NAME).write_text(json.dumps({**facts, "kernels": results}, indent=0) + "\n")
    print(json.dumps(facts), counts)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
