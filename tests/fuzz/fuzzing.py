"""The house of the fuzzers: cases made from seeds, run in a process of their own, and made small when they fail.

    python tests/fuzz/fuzzing.py launch 17              what becomes of the case that the seed 17 makes; made small if it fails
    python tests/fuzz/fuzzing.py launch 17 --show       its text
    python tests/fuzz/fuzzing.py launch 0 --count 500   500 cases from seed 0 on; what was seen in them, and the findings

A fuzzer is a module of this folder with `make`, `judge`, `SECONDS` and `GIBIBYTES` (see Fuzzer). A case that ends its process, by a
signal, for want of memory or after too many seconds of processor time, is a finding with its seed, and the next case goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import json
import os
import re
import resource
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "model")]

from ptxspec_workshop.generate.fuzzing.reduction import fewer  # noqa: E402

FUZZERS = {
    "launch": "launches",
    "brief": "brief_launches",
    "text": "texts",
    "linking": "links",
    "kept": "kept_files",
    "certificate": "certificates",
    "constants": "constants",
}
#: cases that one process runs; it begins as a copy of one that has imported everything, and keeps what it learns of forms
TOGETHER = 250
#: cases between two lines of progress
TOLD = 25
#: seconds that making a finding small may take
PATIENCE = 60.0
#: characters of a case that are shown with a finding
SHOWN = 12_000


class Fuzzer(Protocol):
    """What a fuzzer's module has."""

    SECONDS: int
    """processor time that a case may take"""
    GIBIBYTES: int
    """address space that a case may take"""

    def make(self, seed: int) -> list[str]:
        """The texts of a case. The same ones for a seed every time."""

    def judge(self, seed: int, texts: Sequence[str]) -> Counter[str]:
        """What was seen in a case. Raises Finding, or anything else, if something is wrong. The texts may be smaller ones than
        the seed makes."""


class Finding(Exception):
    """Something is wrong. `kind` is what stays the same while the case is made smaller."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind, self.message = kind, message


class Unfit(Exception):
    """The texts are no case: what was taken away from them was needed."""


class Failure(NamedTuple):
    """A finding, as it is shown."""

    seed: int
    kind: str
    message: str


class Report(NamedTuple):
    """What some cases came to."""

    cases: int
    seen: Counter[str]
    failures: list[Failure]

    def __str__(self) -> str:
        table = "\n".join(f"  {count:8}  {what}" for what, count in sorted(self.seen.items()))
        shown = "\n".join(f"seed {f.seed}: {f.kind}\n{f.message}" for f in self.failures)
        return f"{self.cases} cases\n{table}\n{len(self.failures)} findings {[f.seed for f in self.failures]}\n{shown}"


def fuzzer(name: str) -> Fuzzer:
    """The fuzzer of a name of FUZZERS."""
    found: Fuzzer = importlib.import_module(FUZZERS[name])  # type: ignore[assignment]
    return found


# one case ----------------------------------------------------------------------------------------------------------------


def _judged(own: Fuzzer, seed: int, texts: Sequence[str] | None) -> dict[str, object]:
    """The case's outcome, as it goes through a pipe. Without texts they are made from the seed."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + own.SECONDS, most))
    try:
        return {"seed": seed, "seen": own.judge(seed, own.make(seed) if texts is None else texts)}
    except Unfit as unfit:
        return {"seed": seed, "kind": "unfit", "message": str(unfit)}
    except Finding as finding:
        return {"seed": seed, "kind": finding.kind, "message": finding.message}
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
        where = f" in {Path(frame.filename).name}, {frame.name}" if frame else ""
        message = "".join(traceback.format_exception(error))
        return {"seed": seed, "kind": f"{type(error).__name__}{where}", "message": message[-6000:]}


def outcomes(own: Fuzzer, cases: Sequence[tuple[int, Sequence[str] | None]]) -> Iterator[dict[str, object]]:
    """The outcomes of cases (a seed, and texts or None), which run in copies of this process, one copy after the other."""
    left = list(cases)
    while left:
        now = left[:TOGETHER]
        done = 0
        with _copy(own, now) as (lines, process):
            for line in lines:
                done += 1
                yield json.loads(line)
        if done < len(now):  # the copy has ended before its time
            status = os.waitstatus_to_exitcode(process[0])
            yield {"seed": now[done][0], "kind": "the process ended", "message": _end(own, status)}
            done += 1
        left = left[done:]


@contextlib.contextmanager
def _copy(own: Fuzzer, cases: Sequence[tuple[int, Sequence[str] | None]]) -> Iterator[tuple[Iterator[str], list[int]]]:
    """A copy of this process that goes through cases: a line for each outcome, and, afterwards, how it ended."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            os.close(read)
            resource.setrlimit(resource.RLIMIT_AS, (own.GIBIBYTES << 30,) * 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with os.fdopen(write, "w") as pipe:
                for seed, texts in cases:
                    pipe.write(json.dumps(_judged(own, seed, texts)) + "\n")
                    pipe.flush()
        finally:
            os._exit(0)
    os.close(write)
    status: list[int] = []
    with os.fdopen(read) as pipe:
        yield iter(pipe), status
    status.append(os.waitpid(child, 0)[1])


def _end(own: Fuzzer, status: int) -> str:
    names = {
        -11: "SIGSEGV",
        -6: "SIGABRT",
        -24: f"more than {own.SECONDS} s of processor time",
        -9: "SIGKILL",
        -7: "SIGBUS",
    }
    return f"by {names.get(status, f'status {status}')}"


# many cases ---------------------------------------------------------------------------------------------------------------


def run(name: str, first: int, count: int, patience: float = PATIENCE) -> Report:
    """Cases from a seed on, in this process's copies. The first failures are made small, each in so many seconds, and are told on
    the standard error as they come; so is how far it is."""
    own = fuzzer(name)
    seen: Counter[str] = Counter()
    failures: list[Failure] = []
    cases = 0
    for outcome in outcomes(own, [(seed, None) for seed in range(first, first + count)]):
        cases += 1
        if cases % TOLD == 0:
            print(f"{cases} cases, {len(failures)} findings", file=sys.stderr, flush=True)
        if "kind" not in outcome:
            seen.update(outcome["seen"])  # type: ignore[arg-type]
            continue
        seed, kind = int(outcome["seed"]), str(outcome["kind"])  # type: ignore[call-overload]
        texts = own.make(seed)
        small = reduced(own, seed, texts, kind, patience) if len(failures) < 5 and patience else texts
        shown = "\n@@\n".join(small)
        shown = shown if len(shown) < SHOWN else f"{shown[:SHOWN]}\n… {len(shown)} characters"
        again = f"again: python tests/fuzz/fuzzing.py {name} {seed}"
        failures.append(Failure(seed, kind, f"{outcome['message']}\n{again}\n{shown}"))
        print(f"{cases} cases; seed {seed}: {kind}: {str(outcome['message'])[:400]}", file=sys.stderr, flush=True)
    return Report(cases, seen, failures)


def chunk(name: str, first: int, count: int) -> Report:
    """The same in a process of its own, which has nothing of what this one has imported."""
    command = [sys.executable, __file__, name, str(first), "--count", str(count), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-6000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return Report(found["cases"], Counter(found["seen"]), [Failure(*f) for f in found["failures"]])


# smaller cases --------------------------------------------------------------------------------------------------------------


def reduced(own: Fuzzer, seed: int, texts: Sequence[str], kind: str, seconds: float = PATIENCE) -> list[str]:
    """The texts with as many lines, then words, taken away as leave a finding of the same kind, in the time there is."""
    end = time.monotonic() + seconds
    found = list(texts)
    for which in range(len(found)):
        for split in (_lines, _words):

            def fails(parts: Sequence[str], which: int = which) -> bool:
                smaller = [*found[:which], "".join(parts), *found[which + 1 :]]
                (outcome,) = outcomes(own, [(seed, smaller)])
                return outcome.get("kind") == kind

            found[which] = "".join(fewer(split(found[which]), fails, end))
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text) if len(text) < 3000 else [text]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzzer", choices=FUZZERS)
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds to make a failure small in; 0: not at all"
    )
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.show:
        print("\n@@\n".join(fuzzer(options.fuzzer).make(options.seed)))
        return 0
    report = run(options.fuzzer, options.seed, options.count, options.patience)
    if options.json:
        print(json.dumps(report._asdict()))
        return 0
    print(report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.modules["fuzzing"] = sys.modules[
        "__main__"
    ]  # so that a fuzzer's findings are of the classes that are caught here
    sys.exit(main(sys.argv[1:]))
