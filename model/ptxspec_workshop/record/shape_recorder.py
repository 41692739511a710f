"""The litmus tests of the pages, put to a GPU: `python -m ptxspec_workshop.record.shape_recorder FOLDER SECONDS [--missing]` on a
machine with one. With --missing only those are run that the folder's file has no answer to, which are added to it.

Each test that PTX can say is assembled by ptxas at -O0 and at -O3 and runs in turn in all placements, for an equal share of the
seconds. Kept are the numbers of times that each outcome was seen, as the tests come to an end. Since a kernel may hang, tests run
in processes of their own; one whose process is silent for too long is named under "failed" and left out.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ptxspec.evidence import assembler
from ptxspec.terms.shapes import ShapeCase
from ptxspec_workshop.generate.shape_kernels import ShapeKernel, module
from ptxspec_workshop.generate.shape_launches import PLACEMENTS
from ptxspec_workshop.record import shape_answers
from ptxspec_workshop.record.driver import Gpu, GpuError
from ptxspec_workshop.record.machine_code import LEVELS, assembled_modules
from ptxspec_workshop.record.shape_answers import asked_cases, digest_of_cases, kernel_of, stored, write
from ptxspec_workshop.record.shape_runs import Board, GpuBoard, ShapeRunner

#: tests of a process, rounds of a launch, and seconds after which a silent process is ended
AT_ONCE, ROUNDS, PATIENCE = 50, 12, 40.0


def counts_of(runner: ShapeRunner, kernel: ShapeKernel, seconds: float) -> Counter[str]:
    """How often each outcome is seen in so much time, at least in one launch of each placement."""
    counts: Counter[str] = Counter()
    began, seed = time.monotonic(), 0
    while not seed or time.monotonic() - began < seconds:
        for placement in range(len(runner.placements)):
            seed += 1
            counts += runner.run(kernel, placement, seed * 0x9E3779B1)
    return counts


def answer(boards: dict[str, Board], kernels: Sequence[ShapeKernel], multiprocessors: int, seconds: float) -> None:
    """Run tests on a board for each level of the assembler, and print a line when one begins and another one with its counts."""
    runners = {level: ShapeRunner(board, kernels, multiprocessors, ROUNDS) for level, board in boards.items()}
    for kernel in kernels:
        for level, runner in runners.items():
            print("begin", kernel.digest, level, flush=True)
            counts = counts_of(runner, kernel, seconds)
            print("end", kernel.digest, level, json.dumps(dict(sorted(counts.items()))), flush=True)


def worker(folder: str, seconds: str, *digests: str) -> int:
    """Run some tests, whose machine code lies in a folder, on the first GPU."""
    gpu = Gpu()
    boards = {level: GpuBoard(gpu, Path(folder, f"code{level}").read_bytes()) for level in LEVELS}
    kernels = {kernel_of(case.text).digest: kernel_of(case.text) for case in asked_cases()}
    answer({**boards}, [kernels[d] for d in digests], boards[LEVELS[0]].multiprocessors(), float(seconds))
    return 0


def lines_of(command: Sequence[str], patience: float) -> tuple[list[str], str]:
    """The lines that a process prints, and what was wrong with it, if anything. It is ended if it is silent for too long."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors)
        size, last, wrong = 0, time.monotonic(), ""
        while process.poll() is None:
            time.sleep(0.05)
            if (now := os.fstat(out.fileno()).st_size) != size:
                size, last = now, time.monotonic()
            elif time.monotonic() - last > patience:
                process.kill()
                process.wait()
                wrong = f"no answer in {patience:g} seconds"
        out.seek(0)
        errors.seek(0)
        if process.returncode and not wrong:
            wrong = (errors.read().strip().splitlines() or ["it ended"])[-1]
        return out.read().splitlines(), wrong


def answered(
    folder: str, digests: Sequence[str], seconds: float
) -> Iterator[tuple[str, str, dict[str, int] | None, str]]:
    """For each test and level the counts, or what was wrong. Tests behind one that fails go on in another process."""
    left = list(digests)
    while left:
        command = [
            sys.executable,
            "-m",
            "ptxspec_workshop.record.shape_recorder",
            "--worker",
            folder,
            str(seconds),
            *left,
        ]
        lines, wrong = lines_of(command, PATIENCE + seconds)
        begun: tuple[str, str] | None = None
        for line in lines:
            what, digest, level, *counts = line.split(" ", 3)
            begun = (digest, level) if what == "begin" else None
            if what == "end":
                yield digest, level, json.loads(counts[0]), ""
        if not wrong:
            return
        if begun is None:
            raise GpuError(wrong)
        yield *begun, None, wrong
        left = left[left.index(begun[0]) + 1 :]


def _digest(case: ShapeCase) -> str:
    return kernel_of(case.text).digest


def joined(facts: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Add to the facts of a recording those of an earlier one of the same device and placements, whose answers stay. Raises
    GpuError if it is of others."""
    for key in ("device", "placements"):
        if facts[key] != before[key]:
            raise GpuError(f"what was recorded before has another {key}: {before[key]}, not {facts[key]}")
    for key in ("driver", "ptxas", "date"):
        facts[key] = ", ".join(dict.fromkeys([*before[key].split(", "), facts[key]]))


def main(name: str, seconds: str, *options: str) -> int:
    """Record all tests within about so many seconds, or those that are missing."""
    folder, gpu, cases = Path(name), Gpu(), asked_cases()
    facts: dict[str, Any] = {"device": gpu.name, "driver": gpu.driver, "ptxas": assembler.version()}
    facts |= {"date": datetime.date.today().isoformat(), "shapes": digest_of_cases(cases), "failed": {}}
    facts["placements"] = [list(placement) for placement in PLACEMENTS]
    tests: dict[str, dict[str, dict[str, int]]] = {}
    if "--missing" in options and (before := stored(folder)) is not None:
        joined(facts, before)
        tests |= {d: before["tests"][d] for d in map(_digest, cases) if before["tests"].get(d, {}).keys() == {*LEVELS}}
        cases = [case for case in cases if _digest(case) not in tests]
    share = float(seconds) / max(1, len(cases)) / len(LEVELS)
    by_digest = {_digest(case): case for case in cases}
    groups = [cases[i : i + AT_ONCE] for i in range(0, len(cases), AT_ONCE)]
    for group, code in assembled_modules(groups, lambda group: module([kernel_of(case.text) for case in group])):
        with tempfile.TemporaryDirectory() as place:
            for level, cubin in code.items():
                Path(place, f"code{level}").write_bytes(cubin)
            for digest, level, counts, wrong in answered(place, [*map(_digest, group)], share):
                if counts is None:
                    facts["failed"][f"{digest} {level}"] = wrong
                    print(f"{by_digest[digest].name} at {level}: {wrong}", flush=True)
                else:
                    tests.setdefault(digest, {})[level] = counts
        write(folder, facts, tests)
        print(f"{len(tests)} tests", flush=True)
    print(*shape_answers.counted({"tests": tests}), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        sys.exit(worker(*sys.argv[2:]))
    sys.exit(main(*sys.argv[1:]))
