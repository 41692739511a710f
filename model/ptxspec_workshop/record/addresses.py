"""Addresses that leave their 32 bits, put to a GPU: `python -m ptxspec_workshop.record.addresses FOLDER` on a machine with one.

Kept is a digest of each kernel's text with its inputs, and of its answers at -O0 and at -O3; "error" where the launch ends with
one. Since nothing can be launched after that, each kernel is asked in a process of its own.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptxspec.base.options import Engine
from ptxspec.evidence import assembler
from ptxspec.evidence.choices import PROFILE
from ptxspec_workshop.compare.kernel_runs import launched, load
from ptxspec_workshop.generate.address_kernels import AddressKernel, kernels, module
from ptxspec_workshop.record.machine_code import LEVELS, assemble
from ptxspec_workshop.record.program_answers import digest_of, digest_of_question
from ptxspec_workshop.record.stored_answers import H100

#: the file in a GPU's folder
NAME = "addresses.json"
#: seconds for one kernel
PATIENCE = 120


def digest_of_kernel(kernel: AddressKernel) -> str:
    """That of what is run: the kernel and its inputs."""
    return digest_of_question(module([kernel]), kernel.launches[0].cells)


def answers_here(asked_kernels: Sequence[AddressKernel], engine: Engine = "native") -> dict[str, str]:
    """The digests of what our machine answers, by the kernels' names."""
    loaded = load(module(asked_kernels))
    return {
        k.name: digest_of(k.kept(launched(loaded, k.name, k.launches, profile=PROFILE, engine=engine)))
        for k in asked_kernels
    }


def read(folder: Path = H100) -> dict[str, Any] | None:
    """The answers of a GPU's folder, or None if there are none: facts, and under "kernels" by name the digests of the question
    and of the answers at either level."""
    path = folder / NAME
    return json.loads(path.read_text()) if path.is_file() else None


def answer(name: str, level: str) -> str:
    """The digest of what the GPU answers to one kernel. Raises GpuError if the launch ends with an error."""
    from ptxspec_workshop.record.driver import Gpu
    from ptxspec_workshop.record.recorder import room_for

    gpu, kernel = Gpu(), next(k for k in kernels() if k.name == name)
    image = gpu.load(assemble(module([kernel]), level))
    return digest_of(
        kernel.kept([gpu.run(image, name, launch, *room_for(gpu, [kernel])) for launch in kernel.launches])
    )


def answer_of_process(name: str, level: str) -> str:
    """The same by a process of its own; "error" if it ends with one of the GPU's."""
    command = [sys.executable, "-m", "ptxspec_workshop.record.addresses", name, level]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode == 0:
        return done.stdout.split()[-1]
    if "GpuError: cuCtxSynchronize" in done.stderr:
        return "error"
    raise RuntimeError(done.stderr)


def main(folder: str) -> int:
    from ptxspec_workshop.record.driver import Gpu

    gpu, all_kernels = Gpu(), kernels()
    ours, results, counts = answers_here(all_kernels), {}, Counter[str]()
    for kernel in all_kernels:
        results[kernel.name] = {"what": kernel.title, "asked": digest_of_kernel(kernel)}
        for level in LEVELS:
            digest = results[kernel.name][level] = answer_of_process(kernel.name, level)
            verdict = "ours" if digest == ours[kernel.name] else "error" if digest == "error" else "another"
            counts[verdict] += 1
            if verdict != "ours":
                print(f"{kernel.title} at {level}: {verdict}", flush=True)
    facts = {"device": gpu.name, "driver": gpu.driver, "ptxas": assembler.version()}
    facts |= {"date": datetime.date.today().isoformat(), "profile": PROFILE}
    Path(folder, NAME).write_text(json.dumps({**facts, "kernels": results}, indent=0) + "\n")
    print(json.dumps(facts), dict(counts))
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(answer(*sys.argv[1:]))
        sys.exit(0)
    sys.exit(main(*sys.argv[1:]))
