"""Which solver is asked: one, or several side by side, of which the first that answers is believed and the others are ended."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, get_args

import ptxspec.query.solvers.bitwuzla_solver as bitwuzla_solver
import ptxspec.query.solvers.z3_solver as z3_solver
from ptxspec.base.options import Solver
from ptxspec.query.solvers.answers import SolverReply

#: seconds that z3 has alone, in this process, before others are started beside it
HEAD_START = 0.5


def members(solver: Solver) -> tuple[str, ...]:
    """The solvers that are asked. Raises ValueError for a name that is none, and for Bitwuzla by name where it is not
    installed."""
    if solver not in get_args(Solver):
        raise ValueError(f"no solver is called {solver!r}; there are {', '.join(get_args(Solver))}")
    if solver == "bitwuzla" and not bitwuzla_solver.is_installed():
        raise bitwuzla_solver.MissingSolver(bitwuzla_solver.INSTALL)
    if solver == "portfolio":
        return ("z3", "bitwuzla") if bitwuzla_solver.is_installed() else ("z3",)
    return (solver,)


def versions(solver: Solver) -> str:
    """The solvers that are asked, with their versions."""
    known = {"z3": z3_solver.version, "bitwuzla": bitwuzla_solver.version}
    return " and ".join(known[name]() for name in members(solver))


def note(solver: Solver) -> str:
    """What a portfolio lacks on this machine, or nothing."""
    return bitwuzla_solver.INSTALL if solver == "portfolio" and not bitwuzla_solver.is_installed() else ""


def ask(text: str, constants: Mapping[str, int], timeout: float, is_float: bool, solver: Solver = "z3") -> SolverReply:
    """What is said of a script with these constants (name -> width, 0 for a truth value) within `timeout` seconds."""
    names = members(solver)
    if names == ("z3",):
        return z3_solver.ask(text, constants, timeout, is_float)
    begun = time.monotonic()
    if "z3" in names:
        reply = z3_solver.ask(text, constants, min(HEAD_START, timeout), is_float)
        if reply.is_settled or timeout <= HEAD_START:
            return reply
    left = max(0.001, timeout - (time.monotonic() - begun))
    return _raced(names, text, constants, left, is_float)


def _raced(
    names: tuple[str, ...], text: str, constants: Mapping[str, int], timeout: float, is_float: bool
) -> SolverReply:
    """The first answer of several processes; without one, what the last of them said."""
    deadline = time.monotonic() + timeout
    running = {}
    last = SolverReply("timeout", {}, " and ".join(names))
    with selectors.DefaultSelector() as waiting:
        try:
            for name in names:
                process = running[name] = started(name, text, constants, timeout, is_float)
                assert process.stdout is not None
                waiting.register(process.stdout, selectors.EVENT_READ, name)
            while waiting.get_map():
                ready = waiting.select(max(0.0, deadline + 1.0 - time.monotonic()))
                if not ready:
                    return last
                for key, _ in ready:
                    waiting.unregister(key.fileobj)
                    stream = running[key.data].stdout
                    assert stream is not None
                    reply = read(stream, key.data)
                    if reply.is_settled:
                        return reply
                    last = reply if reply.status != "timeout" else last
        finally:
            for process in running.values():
                ended(process)
    return last


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


def read(stream: IO[str], name: str) -> SolverReply:
    """What a process said at its end. One that was killed, or that ran out of memory, says nothing."""
    try:
        return SolverReply(**json.loads(stream.read()))
    except (ValueError, TypeError):
        return SolverReply("the solver's process ended without an answer", {}, name)


def main() -> None:
    """Answer one question."""
    question = json.loads(sys.stdin.read())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started the process ends it
    if hasattr(signal, "alarm"):  # also if that one was killed
        signal.alarm(int(question["timeout"]) + GRACE)
    text, constants, timeout = question["text"], question["constants"], question["timeout"]
    try:
        if sys.argv[1] == "bitwuzla":
            reply = bitwuzla_solver.ask(text, constants, timeout)
        else:
            reply = z3_solver.ask(text, constants, timeout, question["is_float"])
    except MemoryError:
        reply = SolverReply("out of memory", {}, sys.argv[1])
    print(json.dumps(reply._asdict()))


if __name__ == "__main__":
    main()
