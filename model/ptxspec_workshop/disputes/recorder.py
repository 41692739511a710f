"""Asks a GPU what the kernels of the pages leave, as two assemblers make them at four levels.

    python -m ptxspec_workshop.disputes.recorder assemble FOLDER    where both assemblers are: a cubin a way, and the operands
    python -m ptxspec_workshop.disputes.recorder ask FOLDER         where the GPU is: what the threads left, in FOLDER/answers.npz
    python -m ptxspec_workshop.disputes.recorder keep FOLDER DATE   add the answers to the record

Kernels that have been asked about are not asked again.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.evidence.location import FOLDER
from ptxspec.terms.types import TYPES
from ptxspec_workshop.disputes.claims import AssemblerFault, load_all
from ptxspec_workshop.disputes.kernels import CELLS, FILL, NAME, cells
from ptxspec_workshop.disputes.recorded import WAYS, key, record
from ptxspec_workshop.record.stored_answers import write_archive

#: threads of a kernel, each with operands of its own
ROWS = 32


def unasked() -> Iterator[AssemblerFault]:
    """The faults of the pages whose kernels the record has not."""
    known = record("kernels").values
    met = set(known)
    for fault in load_all().faults:
        if key(fault) not in met:
            met.add(key(fault))
            yield fault


def operands(fault: AssemblerFault) -> np.ndarray:
    """Rows of cells from the kernel's text alone: special values, and random ones of any size."""
    source = random.Random(fault.text)

    def value(type: str) -> int:
        if type == "pred":
            return source.getrandbits(1)
        width = int(type[1:])
        if source.random() < 0.6:
            return source.choice(special(TYPES[f"u{width}"]) + special(TYPES[f"f{width}"]))
        return source.getrandbits(width) >> source.choice((0, source.randrange(width)))

    rows = [{name: value(type) for name, type in fault.inputs.items()} for _ in range(ROWS)]
    return cells(fault.inputs, rows)


def assemble(folder: Path) -> None:
    """Write the cubins and the operands of all kernels that have not been asked. Raises FileNotFoundError without an
    assembler, and CalledProcessError for a kernel that one does not take."""
    from ptxspec.evidence.assembler import newest_ptxas, ptxas

    programs = {"13.0": ptxas(), "13.5": newest_ptxas()}
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for fault in unasked():
        name = key(fault)
        texts[name] = fault.text
        (folder / f"{name}.ptx").write_text(fault.text)
        np.save(folder / f"{name}.npy", operands(fault))
        for version, level in WAYS:
            target = folder / f"{name}-{version}-{level}.cubin"
            command = [programs[version], "-arch=sm_90", "-w", f"-O{level}", str(folder / f"{name}.ptx")]
            subprocess.run([*command, "-o", str(target)], check=True)
    (folder / "kernels.json").write_text(json.dumps(texts))
    print(f"{len(texts)} kernels, assembled in {len(WAYS)} ways")


def ask(folder: Path) -> None:
    """Run what was assembled. Raises GpuError where a launch fails."""
    from ptxspec_workshop.record.driver import Gpu

    gpu = Gpu()
    answers = {}
    room = 8 * CELLS * ROWS
    into, out_of = gpu.allocate(room), gpu.allocate(room)
    for name in json.loads((folder / "kernels.json").read_text()):
        given = np.load(folder / f"{name}.npy")
        tables = [given]
        for version, level in WAYS:
            image = gpu.load((folder / f"{name}-{version}-{level}.cubin").read_bytes())
            left = np.full_like(given, FILL)
            gpu.upload(given, into)
            gpu.upload(left, out_of)
            gpu.launch(image, NAME, (into, out_of), (1, 1, 1), len(given))
            gpu.download(out_of, left)
            gpu.call("cuModuleUnload", image)
            tables.append(left)
        answers[name] = np.stack(tables)
    np.savez_compressed(folder / "answers.npz", **answers)  # type: ignore[arg-type]
    (folder / "device.json").write_text(json.dumps({"device": gpu.name, "driver": gpu.driver}))
    print(f"{gpu.name}: {len(answers)} kernels")


def keep(folder: Path, date: str) -> None:
    """Add the answers to the record. Raises ValueError if another device gave them, or on another date: the record has one of
    each."""
    kept = record("kernels")
    device = json.loads((folder / "device.json").read_text())
    facts = {what: value for what, value in kept.facts.items() if what not in ("digest", "forms", "differences")}
    if {what: facts[what] for what in (*device, "date")} != {**device, "date": date}:
        raise ValueError(f"{device} on {date} is not what the record is of: {facts['device']}, {facts['date']}")
    with np.load(folder / "answers.npz") as answers:
        values = {**kept.values, **{name: answers[name] for name in answers.files}}
    facts["kernels"] = {**facts["kernels"], **json.loads((folder / "kernels.json").read_text())}
    write_archive(FOLDER / "disputes", "kernels", facts, values, [])
    print(f"{len(values)} kernels in the record")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["assemble", folder]:
            assemble(Path(folder))
        case ["ask", folder]:
            ask(Path(folder))
        case ["keep", folder, date]:
            keep(Path(folder), date)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
