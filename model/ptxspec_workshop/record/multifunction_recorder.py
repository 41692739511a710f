"""All that a GPU's multifunction unit answers: `python -m ptxspec_workshop.record.multifunction_recorder FOLDER` on a machine
that has one, where only the CUDA driver, ptxas and NumPy are needed.

For 2^32 operands of each instruction a checksum a block of 2^23 is kept, and for a sample of operands the answers themselves.
With `--compare [BLOCKS]` the definitions are held against the checksums instead, on any machine: for as many blocks of each
instruction, evenly spread, or for all, in which case compared.json keeps the outcome.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ptxspec.evidence import assembler
from ptxspec_workshop.compare.checksums import differing, table_digests
from ptxspec_workshop.generate.multifunction_kernels import CTAS, THREADS, kernels
from ptxspec_workshop.generate.multifunction_operands import BLOCK, BLOCKS, FUNCTIONS, samples
from ptxspec_workshop.record.driver import Gpu, GpuError
from ptxspec_workshop.record.machine_code import assemble
from ptxspec_workshop.record.multifunction_answers import read


def _answered_at(gpu: Gpu, level: str, taken: dict[str, list[np.ndarray]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(checksums of all blocks, answers to the samples) by instruction, of the code of one level"""
    blocks: dict[str, np.ndarray] = {}
    answers: dict[str, np.ndarray] = {}
    image = gpu.load(assemble(kernels(), level))
    for k, function in enumerate(FUNCTIONS):
        (sums,) = _launch(gpu, image, f"blocks{k}", (CTAS, BLOCKS), [np.zeros(BLOCKS, np.uint64)])
        blocks[function.instruction] = sums
        columns = taken[function.kind]
        count = len(columns[0])
        ctas = -(-count // THREADS)
        cells = np.zeros((ctas * THREADS, 2), np.uint64)
        for j, column in enumerate(columns):
            cells[:count, j] = column
        _, got = _launch(gpu, image, f"sample{k}", (ctas, 1), [cells, np.zeros(len(cells), np.uint64)])
        answers[function.instruction] = got[:count].astype(f"u{function.width // 8}")
    return blocks, answers


def measure(folder: Path) -> dict[str, Any]:
    """Ask the GPU, and write blocks.npz, samples.npz, answers.npz and summary.json."""
    gpu = Gpu()
    taken = samples()
    blocks, answers = _answered_at(gpu, "-O3", taken)
    for measured, other in zip((blocks, answers), _answered_at(gpu, "-O0", taken), strict=True):
        for name, value in measured.items():
            if not np.array_equal(value, other[name]):
                raise GpuError(f"{name}: other answers at -O0 than at -O3")
    folder.mkdir(parents=True, exist_ok=True)
    stored = {
        "blocks": blocks,
        "samples": {f"{kind}{j}": column for kind, columns in taken.items() for j, column in enumerate(columns)},
        "answers": answers,
    }
    digests = {}
    for name, arrays in stored.items():
        np.savez_compressed(folder / f"{name}.npz", **arrays)
        digests[name] = hashlib.sha256((folder / f"{name}.npz").read_bytes()).hexdigest()
    facts = {
        "device": gpu.name,
        "driver": gpu.driver,
        "ptxas": assembler.version(),
        "date": datetime.date.today().isoformat(),
        "digests": digests,
        "operands": BLOCKS * BLOCK,
        "instructions": [f.instruction for f in FUNCTIONS],
    }
    (folder / "summary.json").write_text(json.dumps(facts, indent=1) + "\n")
    return facts


def _launch(gpu: Gpu, image: Any, name: str, grid: tuple[int, int], buffers: list[np.ndarray]) -> list[np.ndarray]:
    """Run a kernel on copies of the buffers; the copies as it leaves them."""
    places = [gpu.upload(b) for b in buffers]
    gpu.launch(image, name, places, (*grid, 1), THREADS)
    after = [np.empty_like(b) for b in buffers]
    for place, copy in zip(places, after, strict=True):
        gpu.download(place, copy)
    gpu.free(*places)
    return after


def main(folder: str, *options: str) -> int:
    if options[:1] != ("--compare",):
        print(json.dumps(measure(Path(folder))))
        return 0
    recorded = read(Path(folder))
    count = int(options[1]) if len(options) > 1 else BLOCKS
    wrong: dict[str, int] = {}
    for function in FUNCTIONS:
        chosen = sorted({k * BLOCKS // count for k in range(count)})
        wrong_rows = differing(function, recorded.blocks[function.instruction], chosen)
        wrong[function.instruction] = len(wrong_rows)
        print(f"{function.instruction:<22} {len(chosen)} blocks, {len(wrong_rows)} differ {wrong_rows[:8]}", flush=True)
    if count == BLOCKS:
        outcome = {
            "date": datetime.date.today().isoformat(),
            "checksums": recorded.facts["digests"]["blocks"],
            "tables": table_digests(),
            "blocks": BLOCKS,
            "differing": wrong,
        }
        Path(folder, "compared.json").write_text(json.dumps(outcome, indent=1) + "\n")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
