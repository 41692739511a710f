"""What a GPU answers to the cases for textures and surfaces: `python -m ptxspec_workshop.record.image_recorder FOLDER [OPCODE …]`
on a machine that has one. Writes FOLDER/answers.npz, an array a case, and FOLDER/answers.json. Only the CUDA driver and ptxas are
needed.

With opcodes only their cases are asked; the folder's other answers are kept, if the same device and driver gave them. Which
answers differ from the definitions is told afterwards, without a GPU, by image_answers.py.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence import assembler
from ptxspec_workshop.generate.image_cases import ImageCase, SurfaceCase
from ptxspec_workshop.generate.image_kernels import kernel_text, mnemonic
from ptxspec_workshop.generate.image_sweeps import cases
from ptxspec_workshop.record import image_answers
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


class Asked(NamedTuple):
    """What came of asking: the answers at -O3 by the cases' names; the driver's error by the names of cases that it refused, or
    by the spelling of an instruction if it does not load the kernel; the names of those that -O0 answers in another way."""

    values: dict[str, np.ndarray]
    refused: dict[str, str]
    levels_differ: list[str]


def ask(gpu: ImageGpu, asked: Sequence[ImageCase]) -> Asked:
    """Put cases to a GPU. After one that faults no other can be asked: these are neither answered nor refused."""
    cubins = dict(assembled_modules(sorted({kernel_text(case) for case in asked}), str))
    errors = {text: _refusals(gpu, code) for text, code in cubins.items()}
    done = Asked({}, {}, [])
    for case in asked:
        text = kernel_text(case)
        if errors[text]:
            done.refused[mnemonic(case)] = errors[text]
            continue
        try:
            plain, optimized = (gpu.answer(case, cubins[text][level]) for level in LEVELS)
        except GpuError as error:
            done.refused[case.name] = str(error)
            if gpu.is_lost():
                print(f"no case after {case.name} could be asked", file=sys.stderr)
                break
            continue
        if not np.array_equal(plain, optimized):
            done.levels_differ.append(case.name)
        done.values[case.name] = optimized
    return done


def _refusals(gpu: ImageGpu, code: dict[str, bytes]) -> str:
    """The driver's errors for a kernel that it does not load, at either level; else nothing."""
    errors = {level: gpu.refusal(cubin) for level, cubin in code.items()}
    told = {error or "loaded" for error in errors.values()}
    if told == {"loaded"}:
        return ""
    return (
        told.pop() if len(told) == 1 else ", ".join(f"{level}: {error or 'loaded'}" for level, error in errors.items())
    )


def added(
    folder: Path, opcodes: Collection[str], asked: Asked, facts: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A folder's facts and answers with new ones in the place of those of some opcodes. Raises GpuError if something else gave
    the former."""
    before = image_answers.read(folder)
    if before is None or any(before.facts[k] != facts[k] for k in ("device", "driver")):
        raise GpuError(f"{folder} has no answers of this device and driver to which others could be added")
    replaced = {case.name for case in cases() if image_answers.opcode_of(case) in opcodes}
    values = {name: rows for name, rows in before.values.items() if name not in replaced} | asked.values
    refused = {k: v for k, v in before.facts["refused"].items() if k not in replaced and k.split(".")[0] not in opcodes}
    later = {opcode: {k: facts[k] for k in ("date", "ptxas")} for opcode in opcodes}
    kept = {
        **before.facts,
        "refused": refused | asked.refused,
        "levels differ": [n for n in before.facts["levels differ"] if n not in replaced] + asked.levels_differ,
        "differing": {n: count for n, count in before.facts["differing"].items() if n not in replaced},
        "later": {**before.facts.get("later", {}), **later},
    }
    return kept, values


def main(name: str, *opcodes: str) -> int:
    folder, gpu = Path(name), ImageGpu()
    asked = ask(gpu, [case for case in cases() if not opcodes or image_answers.opcode_of(case) in opcodes])
    facts: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "device": gpu.name,
        "driver": gpu.driver,
        "ptxas": assembler.version(),
    }
    values = asked.values
    if opcodes:
        facts, values = added(folder, opcodes, asked, facts)
    else:
        facts |= {"refused": asked.refused, "levels differ": asked.levels_differ, "traps": _stops(), "differing": {}}
    image_answers.write(folder, facts, values)
    print(f"{len(asked.values)} cases answered, {len(asked.levels_differ)} of them otherwise at -O0; refused:")
    print(json.dumps(asked.refused, indent=1)[:6000])
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--trap":
        print(traps(trapping()[int(sys.argv[2])]))
    else:
        sys.exit(main(*sys.argv[1:]))
