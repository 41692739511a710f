"""A solver in a process of its own, which can be ended at any time: `python -m ptxspec.query.solvers.worker NAME` reads
a question as JSON and prints what the solver says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import ptxspec.query.solvers.bitwuzla_solver as bitwuzla_solver
import ptxspec.query.solvers.z3_solver as z3_solver
from ptxspec.query.solvers.answers import Said

#: seconds beyond its time after which a process ends itself, whatever the solver does
GRACE = 10


def started(
    name: str, text: str, constants: Mapping[str, int], timeout: float, is_float: bool
) -> subprocess.Popen[str]:
    """The process of a solver that works on a script. Whoever starts it ends it."""
    import ptxspec

    folder = str(Path(ptxspec.__file__).resolve().parents[1])
    path = os.pathsep.join(p for p in (folder, os.environ.get("PYTHONPATH", "")) if p)
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    question = {"text": text, "constants": dict(constants), "timeout": timeout, "is_float": is_float}
    try:
        stdin = process.stdin
        assert stdin is not None
        stdin.write(json.dumps(question))
        stdin.close()
    except BrokenPipeError:
        pass  # it ended at once: what it said is read like any other's
    except BaseException:
        ended(process)
        raise
    return process


def ended(process: subprocess.Popen[str]) -> None:
    """End a process, and wait until it is gone."""
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def read(stream: IO[str], name: str) -> Said:
    """What a process said at its end. One that was killed, or that ran out of memory, says nothing."""
    try:
        return Said(**json.loads(stream.read()))
    except (ValueError, TypeError):
        return Said("the solver's process ended without an answer", {}, name)


def main() -> None:
    """Answer one question."""
    question = json.loads(sys.stdin.read())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started the process ends it
    if hasattr(signal, "alarm"):  # also if that one was killed
        signal.alarm(int(question["timeout"]) + GRACE)
    text, constants, timeout = question["text"], question["constants"], question["timeout"]
    try:
        if sys.argv[1] == "bitwuzla":
            said = bitwuzla_solver.ask(text, constants, timeout)
        else:
            said = z3_solver.ask(text, constants, timeout, question["is_float"])
    except MemoryError:
        said = Said("out of memory", {}, sys.argv[1])
    print(json.dumps(said._asdict()))


if __name__ == "__main__":
    main()
