"""Who is asked: an assembler with or without a GPU, a library, or our native engine. Whatever it does, we go on."""

from __future__ import annotations

import hashlib
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ptxspec.base.processes import MOST_OUTPUT, Process, Reply, run_program
from ptxspec.evidence.choices import PROFILE
from ptxspec_workshop.fuzz import library
from ptxspec_workshop.fuzz.behaviours import launched
from ptxspec_workshop.fuzz.cases import FuzzCase
from ptxspec_workshop.generate.cases import FILL, Launch

#: the target of programs, as the assembler is told; a GPU that runs them has at least this compute capability
ARCH, CAPABILITY = "sm_90", (9, 0)
#: seconds in which an assembler says its version
SECONDS_FOR_VERSION = 60.0
Kind = Literal["left", "accepted", "refused", "crashed", "hung"]


class TargetAnswer(NamedTuple):
    """What a target said to a case: `who` is a level of the assembler or nothing, `memory` the rows that were left, if `kind` is
    "left", and `message` what went wrong otherwise."""

    who: str
    kind: Kind
    message: str = ""
    memory: np.ndarray | None = None


class Ptxas(NamedTuple):
    """An assembler, at some levels; `runs` says whether a GPU executes what it makes."""

    path: str
    levels: tuple[str, ...]
    runs: bool = False

    @property
    def executes(self) -> bool:
        """Whether there is a GPU that runs programs."""
        return self.runs

    def ask(self, case: FuzzCase, limit: float) -> list[TargetAnswer]:
        """What comes of a case, each step in so many seconds."""
        return [self._answer_at(case, level, limit) for level in self.levels]

    def _answer_at(self, case: FuzzCase, level: str, limit: float) -> TargetAnswer:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "m.ptx"), Path(folder, "m.cubin")
            source.write_text(case.text)
            command = [self.path, f"-arch={ARCH}", "-w", level, str(source), "-o", str(target)]
            run = run_program(command, limit)
            if run.late:
                return TargetAnswer(level, "hung", f"no answer within {limit:g} seconds")
            message = run.output.decode(errors="backslashreplace").replace(str(source), "m.ptx").strip()
            if run.wrote_much:
                return TargetAnswer(level, "hung", f"more than {MOST_OUTPUT >> 20} MiB of output: {message}"[:2000])
            # a shell passes the signal that ended a program on as 128 and more; ptxas itself ends with 255 where it refuses
            if run.status < 0 or 128 < run.status <= 128 + 64:
                number = -run.status if run.status < 0 else run.status - 128
                return TargetAnswer(level, "crashed", f"signal {number}: {message}"[:2000])
            if run.status or not target.is_file():
                return TargetAnswer(level, "refused", message[:2000] or f"status {run.status}")
            cubin = target.read_bytes()
        if not self.runs:
            return TargetAnswer(level, "accepted")
        return _answer(level, _sandbox().ask(_on_gpu, (cubin, case), limit))

    def facts(self) -> dict[str, Any]:
        """What it is. Raises OSError for a path that cannot be called."""
        run = run_program([self.path, "--version"], SECONDS_FOR_VERSION, MOST_OUTPUT)
        if run.late or run.wrote_much:
            raise OSError(f"{self.path} --version {'does not end' if run.late else 'does not stop writing'}")
        text = run.output.decode(errors="backslashreplace")
        version = re.search(r"release (\d+\.\d+)", text)
        return {
            "ptxas": self.path,
            "version": version[1] if version else text.strip()[:200],
            "levels": list(self.levels),
        }


class LibraryTarget(NamedTuple):
    """A shared library with ptx_run."""

    path: str

    @property
    def executes(self) -> bool:
        """Whether the target runs programs."""
        return True

    def ask(self, case: FuzzCase, limit: float) -> list[TargetAnswer]:
        """What a launch leaves."""
        request = library.LibraryLaunch(self.path, case.text, case.cells, np.full_like(case.cells, FILL))
        return [_answer("", _sandbox().ask(library.run, request, limit))]

    def facts(self) -> dict[str, Any]:
        """What it is. Raises OSError for what cannot be loaded."""
        process = Process(listens=True)
        try:
            reply = process.ask(library.check, self.path, 60)
        finally:
            process.close()
        if reply.kind != "done":
            raise OSError(f"{self.path} is no library with ptx_run: {reply.value or reply.message}")
        return {"library": self.path, "sha256": hashlib.sha256(Path(self.path).read_bytes()).hexdigest()}


class Native(NamedTuple):
    """Our native engine, against the exact one."""

    @property
    def executes(self) -> bool:
        """Whether the target runs programs."""
        return True

    def ask(self, case: FuzzCase, limit: float) -> list[TargetAnswer]:
        """What a launch leaves."""
        return [_answer("", _sandbox().ask(_by_native, case, limit))]

    def facts(self) -> dict[str, Any]:
        return {"engine": "native"}


Target = Ptxas | LibraryTarget | Native


class GpuFacts(NamedTuple):
    """The GPU of the machine that does the work; `reason` says why there is none that could run programs."""

    name: str = ""
    driver: str = ""
    reason: str = ""


def gpu(_: object = None) -> GpuFacts:
    """What GPU there is."""
    from ptxspec_workshop.record import driver

    try:
        device = driver.Gpu()
        capability = device.capability()
    except (OSError, driver.GpuError) as error:
        return GpuFacts(reason=f"there is no GPU: {error}")
    if capability < CAPABILITY:
        return GpuFacts(device.name, device.driver, f"{device.name} cannot run programs for {ARCH}")
    return GpuFacts(device.name, device.driver)


def _on_gpu(request: tuple[bytes, FuzzCase]) -> np.ndarray:
    """Runs in a process of its own, which an error of the driver ends: its context is of no use any more."""
    cubin, case = request
    device = _gpu()
    places = device.allocate(case.cells.nbytes), device.allocate(case.cells.nbytes)
    image = device.load(cubin)
    answer: np.ndarray = device.run(image, case.name, Launch(case.cells), *places)
    device.call("cuModuleUnload", image)
    device.free(*places)
    return answer


@cache
def _gpu() -> Any:
    from ptxspec_workshop.record.driver import Gpu

    return Gpu()


def _by_native(case: FuzzCase) -> np.ndarray:
    return launched(case, "native", profile=PROFILE)


@cache
def _sandbox() -> Process:
    """The process in which targets run; this one goes on when it ends."""
    return Process(listens=True)


def _answer(who: str, reply: Reply) -> TargetAnswer:
    if reply.kind == "done":
        return TargetAnswer(who, "left", memory=reply.value)
    if reply.kind == "late":
        return TargetAnswer(who, "hung", reply.message)
    if reply.kind == "ended":
        return TargetAnswer(who, "crashed", reply.message)
    _sandbox().close()
    return TargetAnswer(who, "refused", f"{type(reply.value).__name__}: {reply.value}")
