"""Random programs put to a GPU: `python -m ptxspec_workshop.record.program_recorder FOLDER [--count 1500] [--seed 0]` on a
machine that has one. `--jobs` and `--scheduler` say who assembles the programs and runs them here.

Programs are assembled at -O0 and at -O3, and the answers of both are compared with our machine's. What is kept is a digest of
each program's text and one of its answers (program_answers.py). A program that differs is made as small as possible and written
out.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ptxspec.base.campaign_options import where_options
from ptxspec.base.campaigns import WorkerOptions
from ptxspec.base.parallel import on_all_cores
from ptxspec.evidence import assembler
from ptxspec.evidence.choices import PROFILE
from ptxspec_workshop.compare.program_runs import answers_here, differing
from ptxspec_workshop.generate.fuzzing.alphabet import names
from ptxspec_workshop.generate.fuzzing.layout import CELL_NAMES, THREADS
from ptxspec_workshop.generate.fuzzing.random_program import RandomProgram, module
from ptxspec_workshop.generate.fuzzing.random_statements import flat
from ptxspec_workshop.generate.fuzzing.reduction import reduced
from ptxspec_workshop.record.driver import Gpu
from ptxspec_workshop.record.machine_code import LEVELS, assemble
from ptxspec_workshop.record.program_answers import digest_of, digest_of_text, recorded_programs
from ptxspec_workshop.record.recorder import room_for, run_kernels

#: programs a module
_TOGETHER = 10
#: so many of these run under the exact engine too
_BY_BOTH = 2


class _Ready(NamedTuple):
    """Programs of one module with their machine code and our answers."""

    seeds: list[int]
    code: dict[str, bytes]
    digests: list[str]
    ours: list[np.ndarray]
    both: dict[int, bool]
    """for some of them, whether our two engines agree"""


def _prepare(job: tuple[Path, list[int]]) -> list[_Ready]:
    """Programs of one module; where the assembler fails, of a module each, and those it fails at are without code."""
    folder, seeds = job
    programs = recorded_programs(seeds, folder)
    text = module(programs)
    try:
        code = {level: assemble(text, level) for level in LEVELS}
    except subprocess.CalledProcessError:
        if len(seeds) > 1:
            return [ready for seed in seeds for ready in _prepare((folder, [seed]))]
        return [_Ready(seeds, {}, [digest_of_text(programs[0])], [], {})]
    ours = answers_here(programs)
    exact = answers_here(programs[:_BY_BOTH], "exact")
    both = {s: bool((a == b).all()) for s, a, b in zip(seeds, exact, ours, strict=False)}
    return [_Ready(seeds, code, [digest_of_text(p) for p in programs], ours, both)]


def _values(answers: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """The first cells that differ: the thread, the cell's name, and what each answers."""
    wrong = np.argwhere((answers["-O0"] != answers["-O3"]) | (answers["ours"] != answers["-O3"]))
    return [
        {"thread": int(t), "cell": CELL_NAMES[c], **{who: hex(int(a[t, c])) for who, a in answers.items()}}
        for t, c in wrong[:6]
    ]


class _Outcome(NamedTuple):
    """What came of all programs: the lines of answers.txt by seed, the seeds that no assembler accepts, the seeds that ran
    under both engines and whether these agree, and the programs that differ with whom."""

    lines: dict[int, str]
    refused: list[int]
    both: dict[int, bool]
    failing: list[tuple[RandomProgram, str]]

    def facts(self, gpu: Gpu, first: int, forms: int) -> dict[str, Any]:
        """What answers.json says."""
        seeds = sorted(self.lines)
        return {
            "device": gpu.name,
            "driver": gpu.driver,
            "ptxas": assembler.version(),
            "date": datetime.date.today().isoformat(),
            "profile": PROFILE,
            "programs": len(seeds),
            "not assembled": self.refused,
            "first seed": first,
            "threads": THREADS,
            "forms": forms,
            "texts": hashlib.sha256("".join(self.lines[s].split()[1] for s in seeds).encode()).hexdigest(),
            "under both engines": len(self.both),
            "engines differing": sorted(seed for seed, same in self.both.items() if not same),
            "differing": {str(p.seed): who for p, who in self.failing},
        }


def _ask(gpu: Gpu, target: Path, prepared: list[_Ready]) -> _Outcome:
    """Put all programs to the GPU."""
    refused = sorted(seed for ready in prepared if not ready.code for seed in ready.seeds)
    assembled = [ready for ready in prepared if ready.code]
    both = {seed: same for ready in assembled for seed, same in ready.both.items()}
    into, out_of = room_for(gpu, recorded_programs([assembled[0].seeds[0]], target)) if assembled else (None, None)
    lines: dict[int, str] = {}
    failing: list[tuple[RandomProgram, str]] = []
    for ready in assembled:
        programs = {p.name: p for p in recorded_programs(ready.seeds, target)}
        answered = run_kernels(gpu, ready.code, programs, into, out_of)
        for program, digest, ours, answers in zip(programs.values(), ready.digests, ready.ours, answered, strict=True):
            lines[program.seed] = f"{program.seed} {digest} {digest_of(answers['-O3'])}"
            who = differing({**answers, "ours": ours})
            if who:
                failing.append((program, who))
    return _Outcome(lines, refused, both, sorted(failing, key=lambda f: f[0].seed))


def _answers_of(gpu: Gpu, program: RandomProgram) -> dict[str, np.ndarray]:
    """What a program gives at both levels, and on our machine."""
    code = {level: assemble(module([program]), level) for level in LEVELS}
    places = room_for(gpu, [program])
    (answers,) = run_kernels(gpu, code, {program.name: program}, *places)
    gpu.free(*places)
    return {"ours": answers_here([program], "exact")[0], **answers}  # which need not compile each try


def _reduce(gpu: Gpu, program: RandomProgram, who: str, seconds: float) -> tuple[RandomProgram, dict[str, Any]]:
    """(the smallest program found that differs in the same way, what differing.json says of it)"""

    def fails(smaller: RandomProgram) -> bool:
        try:
            return differing(_answers_of(gpu, smaller)) == who
        except (subprocess.CalledProcessError, ValueError):  # a label that is no longer there
            return False

    small = reduced(program, fails, seconds)
    answers = _answers_of(gpu, small)
    entry = None  # of the register of ambiguities, to be named by who looks into it
    finding = {"seed": small.seed, "who": differing(answers), "text": module([small]), "entry": entry}
    return small, {**finding, "values": _values(answers)}


def _shown(small: RandomProgram) -> str:
    """The statements of a program and of the functions that it calls, on one line."""
    bodies = [flat(f.body) for f in small.functions if f"{f.name}," in flat(small.body)] + [flat(small.body)]
    return " // ".join(bodies).replace("\n", " ")


def main(
    folder: str, count: int, first: int, reductions: int, seconds: float, where: WorkerOptions = WorkerOptions()
) -> int:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    spelled = "\n".join([*names(), ""]).encode()
    (target / "forms.txt.gz").write_bytes(gzip.compress(spelled, 9, mtime=0))
    seeds = list(range(first, first + count))
    begin = time.monotonic()
    jobs = [(target, seeds[i : i + _TOGETHER]) for i in range(0, count, _TOGETHER)]
    prepared = [ready for several in on_all_cores(_prepare, jobs, where) for ready in several]
    print(f"{count} programs assembled and run here: {time.monotonic() - begin:.0f} s", flush=True)
    gpu = Gpu()
    outcome = _ask(gpu, target, prepared)
    facts = outcome.facts(gpu, first, spelled.count(b"\n"))
    (target / "answers.json").write_text(json.dumps(facts, indent=1) + "\n")
    (target / "answers.txt").write_text("".join(outcome.lines[s] + "\n" for s in sorted(outcome.lines)))
    print(json.dumps({k: v for k, v in facts.items() if k != "differing"}))
    agreeing = len(outcome.lines) - len(outcome.failing)
    print(f"{agreeing} programs agree on every bit; differing: {facts['differing']}", flush=True)
    begin = time.monotonic()
    smallest = {}
    for program, who in outcome.failing[:reductions]:
        if time.monotonic() - begin > seconds:
            break
        small, smallest[program.name] = _reduce(gpu, program, who, min(20, seconds))
        print(f"{small.seed} {who} {_shown(small)}", *smallest[program.name]["values"][:2], sep="\n  ", flush=True)
    (target / "differing.json").write_text(json.dumps(smallest, indent=1) + "\n")
    return 0


@click.command()
@click.argument("folder")
@click.option("--count", default=1500, show_default=True, help="Programs.")
@click.option("--seed", default=0, show_default=True, help="The seed of the first.")
@click.option("--reductions", default=12, show_default=True, help="Programs that differ which are made small, at most.")
@click.option("--seconds", default=60.0, show_default=True, help="For making them small.")
@where_options
def command(folder: str, count: int, seed: int, reductions: int, seconds: float, where: WorkerOptions) -> None:
    """Put random programs to the GPU of this machine, and keep what it answers in FOLDER."""
    sys.exit(main(folder, count, seed, reductions, seconds, where))


if __name__ == "__main__":
    command()
