"""The host's side of a launch: what it does whenever the driver comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked
from ptxspec.machine.batch import Extents
from ptxspec.machine.counting import CountCollector
from ptxspec.machine.driver import codes
from ptxspec.machine.engine import EngineRun, PreparedProgram, ThreadFault
from ptxspec.machine.errors import LaunchError, Violation, Where
from ptxspec.machine.heap import SystemCall
from ptxspec.machine.image_notes import ImageNotes
from ptxspec.machine.imaging import ImageFault, ImageUnit
from ptxspec.machine.limits import LaunchLimits
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.misuse import misuse, stuck
from ptxspec.machine.program import KernelProgram, describe, where_is
from ptxspec.machine.system import System, SystemFault, system_function
from ptxspec.machine.turn_schedule import TurnSchedule
from ptxspec.terms.exact import NoChoice

if TYPE_CHECKING:
    from ptxspec.machine.events import EventReceiver


class Host(NamedTuple):
    """What a launch consists of."""

    checked: Checked
    program: KernelProgram
    extents: Extents
    memory: LaunchMemory
    unit: ImageUnit
    system: System
    limits: LaunchLimits
    schedule: TurnSchedule
    counting: CountCollector | None
    receivers: tuple[EventReceiver, ...]

    def begin(self, prepared: PreparedProgram, slots: int, worker: int, workers: int, host_empties: int) -> EngineRun:
        """Make one of so many workers ready, of which so many CTAs are resident at once."""
        running = prepared.start(self.memory, self.extents, slots, worker, self.limits.check)
        self._set_numbers(running, slots, workers, host_empties)
        self.schedule.begin(running)
        if self.receivers:
            running.observe(self.tell)
        return running

    def tell(self, rows: np.ndarray) -> None:
        """Tell of events: rows of `events.WORDS`, in the order in which they happened."""
        for receiver in self.receivers:
            receiver.tell(rows)

    def run(self, running: EngineRun, worker: int) -> int:
        """Run CTAs until none is left that no worker has taken; how many steps that took. Raises LaunchError if the program
        breaks a rule."""
        self.limits.begin_batch(worker, running.get("first"))
        try:
            while not self.answers(running, worker, running.run()):
                pass
        finally:
            self.schedule.note(running)
        if self.counting is not None:
            self.counting.gather(running.counted())
        return running.get("steps")

    def answers(self, running: EngineRun, worker: int, code: int) -> bool:
        """Do what the driver came back for, as its code says; whether all CTAs have ended. Raises LaunchError if the launch
        ends in an error."""
        if self.receivers:
            running.tell_events()
        steps = running.get("steps")
        match code:
            case codes.DONE:
                self.limits.note_progress(worker, steps, running.get("ended"))
            case codes.PAUSE:
                self.limits.begin_batch(worker, running.get("first"))
                self.limits.check()
                self.limits.note_progress(worker, steps, running.get("ended"))
                running.set("pause_at", steps + running.get("extra_cost") + self.limits.pause)
            case codes.RENEW:
                self.limits.begin_batch(worker, running.get("first"))
                self.limits.check()
                self.memory.clear(running.get("first"))
                running.empty()
                running.set("stage", codes.EMPTIED)
            case codes.ASK:
                self.limits.check()
                self._serve(running)
                running.set("stage", codes.ANSWERED)
            case codes.CHOOSE:
                self.limits.check()
                self.schedule.serve(running)
            case codes.UNABLE:
                raise self._unable(running)
            case codes.FAULT | codes.COMPLETION:
                raise self._fault(running, running.fault())
            case codes.LIMIT:
                raise self.limits.too_many_steps()
            case codes.MISUSE:
                raise self._misuse(running, *misuse(running, self._described))
            case codes.STUCK:
                raise self._misuse(running, *stuck(running, self.extents, self.program.kernel, self._described))
            case _:
                raise AssertionError(f"the driver came back with {code}")
        return code == codes.DONE

    def _unable(self, running: EngineRun) -> LaunchError:
        """What is said of a choice that names a thread which cannot run."""
        number = len(self.schedule.made) + running.get("noted")
        note = f"choice {number} of the schedule, counted from 0, names thread {running.get('fault_thread')}, which cannot run"
        return LaunchError("schedule", note)

    def _set_numbers(self, running: EngineRun, slots: int, workers: int, host_empties: int) -> None:
        """Let the machine have the numbers that say what this launch is, and what it may take."""
        threads, extents = contracts.threads, self.extents
        stage = codes.NEW if host_empties == codes.FILLS else codes.EMPTIED
        numbers = {
            "ctas": extents.ctas, "workers": workers, "slots": slots, "threads": extents.threads, "cluster": extents.cluster_size,
            "warps_in_cta": contracts.warps.warps_of(extents.threads), "host_empties": host_empties,
            "lacking": threads.lanes_without_thread(extents.threads), "stage": stage, "pause_at": self.limits.pause,
            **self.limits.numbers(),
        }  # fmt: skip
        for name, value in numbers.items():
            running.set(name, value)

    def _serve(self, running: EngineRun) -> None:
        """Let the images and the system answer those threads that ask them, instruction by instruction, and thread by thread."""
        threads = np.sort(running.column("requesters")[: running.get("requests")].astype(np.int64))
        at = running.column("waits_at")[threads]
        for op in np.unique(at).tolist():
            waiters = threads[at == op]
            function = system_function(self.program.kernel, self.program.kernel.code[op])
            try:
                if function is not None:
                    call = SystemCall(self.program, self.extents, op, running.get("first"))
                    self.system.serve(function, call, waiters, running.request, running.answer)
                else:
                    notes = self._notes(running, op)
                    self.unit.serve(self.program.kernel.code[op], waiters, running.request, running.answer, notes)
            except SystemFault as fault:
                raise self._fault(running, ThreadFault(fault.thread, op, fault.address, fault.error)) from None
            except ImageFault as fault:
                raise self._fault(running, ThreadFault(fault.thread, op, None, fault.error)) from None

    def _notes(self, running: EngineRun, op: int) -> ImageNotes | None:
        """Where an instruction's accesses to images go, if they are counted or told."""
        observed = self.program.flow.observed
        tell = self.tell if self.receivers and observed.accesses else None
        moved = running.counted().images[op] if observed.counts else None
        return None if tell is None and moved is None else ImageNotes(op, running.get("first"), tell, moved)

    def _where(self, running: EngineRun, thread: int, op: int) -> Where:
        place = self.extents.where(thread, running.get("first"))
        return where_is(self.checked, self.program.kernel.code[op], place)

    def _described(self, op: int) -> str:
        """An instruction, and its line."""
        at, source = self.program.kernel.code[op], self.checked.source
        return f"{describe(at, source.text)} (line {source.place(at.position)[1]})"

    def _misuse(self, running: EngineRun, rule: str, note: str, thread: int, op: int) -> LaunchError:
        return LaunchError(rule, note, self._where(running, thread, op))

    def _fault(self, running: EngineRun, fault: ThreadFault) -> LaunchError:
        where = self._where(running, fault.thread, fault.op)._replace(
            registers={name.partition("@")[0]: int(value) for name, value in fault.registers.items()}
        )
        if isinstance(fault.error, NoChoice):
            return open_result(fault.error, where)
        assert isinstance(fault.error, Violation)
        raced = fault.error.other
        other = None if raced is None else self._where(running, raced.thread, raced.op)
        return LaunchError(fault.error.rule, fault.error.note, where, fault.address, other=other)


def open_result(error: NoChoice, where: Where | None) -> LaunchError:
    """What is said of a result that PTX leaves open, and that nothing has chosen."""
    slug = error.freedom.attrs[0]
    note = (
        f"the {error.freedom.attrs[2]} result {slug!r} was needed, and the profile does not choose it; the profile hopper "
        "chooses what an H200 does, and a seed a value that PTX allows"
    )
    if where is None:
        note += "; the native engine needs a profile with every choice, the exact engine only those that are met"
    return LaunchError("no choice", note, where, page="spec/ambiguities.md")
