"""What a GPU answers to the cases for textures and surfaces: `python -m ptxspec_workshop.record.image_recorder FOLDER` on a
machine that has one. Writes FOLDER/images.npz, an array a case, and FOLDER/images.json. Only the CUDA driver and ptxas are
needed."""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from ptxspec_workshop.generate.image_cases import SurfaceCase
from ptxspec_workshop.generate.image_kernels import kernel_text
from ptxspec_workshop.generate.image_sweeps import cases
from ptxspec_workshop.record.driver import GpuError
from ptxspec_workshop.record.image_driver import ImageGpu
from ptxspec_workshop.record.machine_code import LEVELS, assemble, assembled_modules


def trapping() -> list[SurfaceCase]:
    """Cases of which some rows lie outside, with .trap."""
    surfaces = [
        c for c in cases() if isinstance(c, SurfaceCase) and c.vector == 1 and c.channels < 3 and not c.spelling
    ]
    by_kind = {(c.access, c.geometry): c._replace(outside="trap") for c in surfaces}
    return list(by_kind.values())


def traps(case: SurfaceCase) -> str:
    """What becomes of the launch of such a case: the driver's error, or "ends"."""
    try:
        ImageGpu().answer(case, assemble(kernel_text(case), "-O3"))
    except GpuError as error:
        return str(error)
    return "ends"


def _stops() -> dict[str, str]:
    """What becomes of each launch that traps, in a process of its own."""
    messages = {}
    for index, case in enumerate(trapping()):
        command = [sys.executable, "-m", __spec__.name, "--trap", str(index)]
        run = subprocess.run(command, capture_output=True, text=True)
        messages[case.name] = run.stdout.strip() or run.stderr.strip()[-200:]
    return messages


def main(folder: str) -> int:
    gpu = ImageGpu()
    all_cases = cases()
    cubins = dict(assembled_modules(sorted({kernel_text(case) for case in all_cases}), str))
    answers: dict[str, np.ndarray] = {}
    refused: dict[str, str] = {}
    differing: list[str] = []
    for case in all_cases:
        try:
            answers_of_levels = [gpu.answer(case, cubins[kernel_text(case)][level]) for level in LEVELS]
        except GpuError as error:
            refused[case.name] = str(error)
            continue
        if not np.array_equal(answers_of_levels[0], answers_of_levels[1]):
            differing.append(case.name)
        answers[case.name] = answers_of_levels[1]
    Path(folder).mkdir(parents=True, exist_ok=True)
    # numpy's types hold any keyword for allow_pickle
    np.savez_compressed(Path(folder, "images.npz"), **answers)  # type: ignore[arg-type]
    facts = {
        "date": datetime.date.today().isoformat(), "device": gpu.name, "driver": gpu.driver, "cases": len(answers),
        "refused": refused, "levels differ": differing, "traps": _stops(),
        "digest": hashlib.sha256(b"".join(n.encode() + a.tobytes() for n, a in sorted(answers.items()))).hexdigest(),
    }  # fmt: skip
    Path(folder, "images.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(facts, indent=1)[:6000])
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--trap":
        print(traps(trapping()[int(sys.argv[2])]))
    else:
        sys.exit(main(sys.argv[1]))
