"""The host's side of a launch: what it does whenever the driver comes back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked
from ptxspec.machine.batch import Extents
from ptxspec.machine.driver import codes, machine
from ptxspec.machine.driver.places import BARRIERS
from ptxspec.machine.engine import Fault, Program, Running, describe, fixed
from ptxspec.machine.errors import LaunchError, Violation, Where
from ptxspec.machine.imaging import ImageFault, Unit
from ptxspec.machine.limits import Limits
from ptxspec.machine.memory import Memory
from ptxspec.machine.misuse import misuse, stuck
from ptxspec.machine.system import System, SystemFault, system_function
from ptxspec.terms.exact import NoChoice


class Host(NamedTuple):
    """What a launch consists of."""

    checked: Checked
    program: Program
    extents: Extents
    memory: Memory
    unit: Unit
    system: System
    limits: Limits

    def run(self, running: Running, slots: int, worker: int, workers: int, host_empties: bool) -> int:
        """Run every so manieth batch of the grid to its end; how many steps that took. Raises LaunchError if the program breaks a
        rule."""
        self._prepare(running, slots, host_empties)
        running.set("first", worker * slots)
        running.set("apart", workers * slots)
        self.limits.at_batch(worker, worker * slots)
        while True:
            code = running.run()
            steps = running.get("steps")
            match code:
                case codes.DONE:
                    self.limits.went_on(worker, steps, running.get("ended"))
                    return steps
                case codes.PAUSE:
                    self.limits.at_batch(worker, running.get("first"))
                    self.limits.check()
                    self.limits.went_on(worker, steps, running.get("ended"))
                    running.set("pause_at", steps + running.get("extra") + self.limits.pause)
                case codes.RENEW:
                    self.limits.at_batch(worker, running.get("first"))
                    self.limits.check()
                    self.memory.clear()
                    running.empty()
                    running.set("stage", codes.EMPTIED)
                case codes.ASK:
                    self.limits.check()
                    self._serve(running)
                    running.set("stage", codes.ANSWERED)
                case codes.FAULT:
                    raise self._fault(running, running.fault())
                case codes.LIMIT:
                    raise self.limits.too_many_steps()
                case codes.MISUSE:
                    raise self._misuse(running, *misuse(running))
                case codes.STUCK:
                    raise self._misuse(running, *stuck(running, self.program.roles, self.extents))
                case _:
                    raise AssertionError(f"the driver came back with {code}")

    def _prepare(self, running: Running, slots: int, host_empties: bool) -> None:
        order = contracts.divergence()
        threads = contracts.threads()
        flow, roles, extents = self.program.flow, self.program.roles, self.extents
        blocks = flow.blocks
        resumes = [0] * len(self.program.kernel.code)
        for block in blocks:
            if block.finishes is None and block.end:
                resumes[block.end - 1] = len(blocks) if block.taken is None else block.taken
        landings = [i for i, b in enumerate(blocks) if b.finishes is not None and roles.of_warp[b.finishes]]
        rows = machine.rows()
        numbers = {
            "ctas": extents.ctas, "slots": slots, "threads": extents.threads, "cluster": extents.cluster_size,
            "warps_in_cta": contracts.warps().warps_of(extents.threads), "blocks": len(blocks), "landings": len(landings),
            "meets": int(roles.meet), "in_clusters": int(roles.of_cluster.any()),
            "host_empties": int(host_empties), "lacking": threads.lanes_without_thread(extents.threads),
            "turn_length": order.TURN, "round_length": order.ROUND, "stage": codes.EMPTIED,
            "barrier_words": rows["barriers"], "part_words": rows["parts"], "patience_words": rows["patience"],
            "visit_words": rows["visits"], "pause_at": self.limits.pause, **self.limits.numbers(),
        }  # fmt: skip
        for name, value in numbers.items():
            running.set(name, value)
        for name, values in machine.tables(roles, resumes, self.limits.prices()).items():
            running.table(name, values)
        running.table("landing", landings)
        for name, values in self._fixed().items():
            running.table(name, values)

    def _fixed(self) -> dict[str, list[int]]:
        """For each instruction what is known of those that meet there, and what each gives then."""
        roles = self.program.roles
        rows = []
        for i, op in enumerate(self.program.kernel.code):
            known = fixed(self.program, op)
            if known is None:
                rows.append((codes.UNKNOWN, 0, 0, 0))
                continue
            number, named, _ = known
            whole = roles.of_cta[i] and not roles.counts[i] and named < 0 and 0 <= number < BARRIERS
            rows.append((codes.WHOLE_CTA if whole else codes.FIXED, *known))
        names = ("fixed", "fixed_number", "fixed_named", "fixed_value")
        return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}

    def _serve(self, running: Running) -> None:
        """Let the images and the system answer those threads that ask them, instruction by instruction, and lane by lane."""
        lanes = np.sort(running.column("asking")[: running.get("asked")].astype(np.int64))
        at = running.column("waits_at")[lanes]
        for op in np.unique(at).tolist():
            own = lanes[at == op]
            function = system_function(self.program.kernel, self.program.kernel.code[op])
            try:
                if function is not None:
                    self.system.serve(function, own, running.request, running.answer)
                else:
                    self.unit.serve(self.program.kernel.code[op], own, running.request, running.answer)
            except SystemFault as fault:
                raise self._fault(running, Fault(fault.lane, op, fault.address, fault.error)) from None
            except ImageFault as fault:
                raise self._fault(running, Fault(fault.lane, op, None, fault.error)) from None

    def _where(self, running: Running, lane: int, op: int) -> Where:
        thread, cta = self.extents.where(lane, running.get("first"))
        source = self.checked.source
        at = self.program.kernel.code[op]
        return Where(thread, cta, *source.place(at.position), describe(at, source.text), source.column(at.position))

    def _misuse(self, running: Running, rule: str, note: str, lane: int, op: int) -> LaunchError:
        return LaunchError(rule, note, self._where(running, lane, op))

    def _fault(self, running: Running, fault: Fault) -> LaunchError:
        where = self._where(running, fault.lane, fault.op)
        if isinstance(fault.error, NoChoice):
            return open_result(fault.error, where)
        assert isinstance(fault.error, Violation)
        return LaunchError(fault.error.rule, fault.error.note, where, fault.address)


def open_result(error: NoChoice, where: Where | None) -> LaunchError:
    """What is said of a result that PTX leaves open, and that nothing has chosen."""
    slug = error.freedom.attrs[0]
    note = f"the {error.freedom.attrs[2]} result {slug!r} was needed, and the profile chooses nothing"
    if where is None:
        note += "; the native engine needs a profile with every choice, the exact engine only those that are met"
    return LaunchError("no choice", note, where, page="spec/ambiguities.md")
