"""What the machine knows of a kernel before a launch: of each instruction where threads go on, whom they meet there, and what
they give. Worked out once a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.machine.driver import codes, inventory
from ptxspec.machine.driver.places import BARRIERS
from ptxspec.machine.program import KernelProgram, constant_arrival, more_words

#: a table's name, and its numbers
Tables = Mapping[str, list[int]]


class KernelTables(NamedTuple):
    """The numbers and tables of the driver's machine that are the same in every launch of a kernel."""

    numbers: Mapping[str, int]
    tables: Tables


def kernel_tables(program: KernelProgram, engine: str) -> KernelTables:
    """What is known of a kernel under the engine of this name."""
    roles, blocks = program.roles, program.flow.blocks
    work = contracts.limits().WORK[engine]
    rows = inventory.rows()
    landings = [i for i, b in enumerate(blocks) if b.finishes is not None and roles.of_warp[b.finishes]]
    order = contracts.schedule()
    numbers = {
        "blocks": len(blocks), "landings": len(landings), "meets": int(roles.meet), "in_clusters": int(roles.of_cluster.any()),
        "turn_length": order.TURN, "round_length": order.ROUND, "barrier_words": rows["barriers"],
        "part_words": rows["parts"], "patience_words": rows["patience"], "meeting_words": rows["meetings"],
        "warp_meeting_words": rows["warp_meetings"],
        "visit_words": rows["visits"], "more_words": more_words(program), "observes": int(program.flow.observed.meetings),
    }  # fmt: skip
    tables = {
        **inventory.tables(roles, _resumes(program), (work.waiting, work.image, work.system)),
        "landing": landings,
        **_fixed(program),
    }
    return KernelTables(numbers, tables)


def _resumes(program: KernelProgram) -> list[int]:
    """For each instruction the block at which threads go on that waited there."""
    blocks = program.flow.blocks
    resumes = [0] * len(program.kernel.code)
    for block in blocks:
        if block.finishes is None and block.end:
            resumes[block.end - 1] = len(blocks) if block.taken is None else block.taken
    return resumes


def _fixed(program: KernelProgram) -> dict[str, list[int]]:
    """For each instruction what is known of those that meet there, and what each gives then."""
    roles = program.roles
    rows = []
    for i, op in enumerate(program.kernel.code):
        given = constant_arrival(program, op)
        if given is None:
            rows.append((codes.UNKNOWN, 0, 0, 0))
            continue
        number, named, _ = given
        whole = roles.of_cta[i] and not roles.counts[i] and named < 0 and 0 <= number < BARRIERS
        rows.append((codes.WHOLE_CTA if whole else codes.FIXED, *given))
    names = ("fixed", "fixed_number", "fixed_named", "fixed_value")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
