"""Answers where threads meet: the cases, and an oracle of NumPy's over their rows."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import ptxspec
from ptxspec.base.options import Engine
from ptxspec.evidence.kernels import operand_rows
from ptxspec_workshop.compare.kernel_runs import CachedMachine
from ptxspec_workshop.compare.open_rows import open_rows
from ptxspec_workshop.generate import cases, warp_cases
from ptxspec_workshop.generate.warp_cases import WarpCase, taking_part
from ptxspec_workshop.record.families import WARPS

ANSWERS = WARPS.read()
OPCODES = ("shfl", "vote", "activemask", "match", "redux", "elect", "bar", "barrier")


@cache
def every_case() -> list[WarpCase]:
    return warp_cases.cases(form for opcode in OPCODES for form in ptxspec.forms(opcode))


def case(mnemonic: str, count: int | None = None) -> WarpCase:
    """The case of a mnemonic (with so many sources)."""
    found = [c for c in every_case() if c.form.mnemonic == mnemonic]
    return next(c for c in found if count is None or len(warp_cases.operands(*c)) == count)


def answers_here(chosen: list[WarpCase], engine: Engine = "native") -> dict[str, np.ndarray]:
    return CachedMachine("hopper", engine).answers(chosen)


def test_every_form_whose_results_depend_on_other_threads_is_a_case() -> None:
    assert {f.syntax.opcode for f, _ in every_case()} >= set(OPCODES)
    without_results = {"bar.sync", "bar.cta.sync", "bar.arrive", "bar.cta.arrive", "bar.warp.sync"}
    recorded = {f.mnemonic for f, _ in every_case()}
    for opcode in OPCODES:
        for form in ptxspec.forms(opcode):
            if "cluster" in form.modifiers:  # test_clusters_of_the_gpu.py
                continue
            has_none = form.mnemonic in without_results or re.match(r"barrier(\.cta)?\.(sync|arrive)", form.mnemonic)
            assert (form.mnemonic in recorded) != bool(has_none), form


def test_every_answer_is_of_a_case() -> None:
    if ANSWERS is None:
        pytest.skip("NO ORACLE: no GPU has answered the forms of warps and barriers yet")
    assert set(ANSWERS.values) == set(ANSWERS.facts["forms"]) <= {cases.key(f, absent) for f, absent in every_case()}


def test_rows_are_reproducible_and_lanes_are_in_their_masks() -> None:
    for form, absent in every_case():
        names = warp_cases.operands(form, absent)
        assert len(names) <= warp_cases.TAKES_PART // 8
        again = warp_cases.launches(form, absent)
        for launch, other in zip(warp_cases.launches(form, absent), again, strict=True):
            assert np.array_equal(launch.cells, other.cells) and len(launch.cells) % 32 == 0
            assert launch.cells.nbytes <= 2 * operand_rows.ROWS * cases.STRIDE
            assert np.array_equal(taking_part(launch), launch.cells[:, warp_cases.TAKES_PART // 8] != 0)
            if "membermask" in names:
                mask = launch.cells[:, names.index("membermask")]
                lane = np.arange(len(mask), dtype=np.uint64) % np.uint64(32)
                assert np.array_equal(mask >> lane & np.uint64(1) != 0, taking_part(launch))
                taking = mask[taking_part(launch)]
                assert len(set(taking.tolist())) > 8 and int(taking.max()) == 0xFFFFFFFF


def groups(launch: cases.Launch, column: int | None) -> list[np.ndarray]:
    """The rows of each group of lanes that execute the instruction together."""
    found = []
    for first in range(0, len(launch.cells), 32):
        rows = np.arange(first, first + 32)[taking_part(launch)[first : first + 32]]
        masks = launch.cells[rows, column] if column is not None else np.zeros(len(rows))
        found += [rows[masks == mask] for mask in np.unique(masks)]
    return found


def lanes(rows: np.ndarray) -> int:
    return sum(1 << int(i) % 32 for i in rows)


ORACLES = {
    "vote.sync.all.pred": lambda a, rows: [a.all()] * len(a),
    "vote.sync.uni.pred": lambda a, rows: [a.all() or not a.any()] * len(a),
    "vote.ballot.b32": lambda a, rows: [lanes(rows[a != 0])] * len(a),
    "vote.any.pred": lambda a, rows: [a.any()] * len(a),
    "activemask.b32": lambda a, rows: [lanes(rows)] * len(rows),
    "match.any.sync.b64": lambda a, rows: [lanes(rows[a == v]) for v in a],
    "match.all.sync.b32": lambda a, rows: [lanes(rows) if (a == a[0]).all() else 0] * len(a),
    "redux.sync.add.s32": lambda a, rows: [int(a.sum()) & 0xFFFFFFFF] * len(a),
    "redux.sync.min.s32": lambda a, rows: [int(a.astype(np.uint32).view(np.int32).min()) & 0xFFFFFFFF] * len(a),
    "redux.sync.max.u32": lambda a, rows: [a.max()] * len(a),
    "redux.sync.xor.b32": lambda a, rows: [np.bitwise_xor.reduce(a)] * len(a),
    "elect.sync": lambda a, rows: [rows[0] % 32] * len(rows),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "exact"])
def test_what_we_give_is_what_numpy_gives(engine: Engine) -> None:
    chosen = [case(m) for m in ORACLES]
    ours = answers_here(chosen, engine)
    compared = 0
    for form, absent in chosen:
        answer, at = ours[cases.key(form, absent)], 0
        names = warp_cases.operands(form, absent)
        for launch in warp_cases.launches(form, absent):
            part = answer[at : at + len(launch.cells)]
            at += len(launch.cells)
            assert not part[~taking_part(launch)].any()
            for rows in groups(launch, names.index("membermask") if "membermask" in names else None):
                wanted = ORACLES[form.mnemonic](launch.cells[rows, 0], rows)
                assert part[rows, 0].tolist() == [int(w) for w in wanted], (form, rows)
                compared += len(rows)
    assert compared > 5000


@pytest.mark.parametrize(("mnemonic", "operands"), [("bar.red.popc.u32", 2), ("barrier.cta.red.and.pred", 3),
                                                    ("bar.red.or.pred", 3)])  # fmt: skip
def test_what_we_give_at_barriers(mnemonic: str, operands: int) -> None:
    form, absent = case(mnemonic, operands)
    answer, at = answers_here([WarpCase(form, absent)])[str(form)], 0
    how = {"popc": np.sum, "and": np.all, "or": np.any}[mnemonic.split(".red.")[1].split(".")[0]]
    seen = set()
    for launch in warp_cases.launches(form, absent):
        part = answer[at : at + len(launch.cells), 0]
        at += len(launch.cells)
        for barrier in np.unique(launch.cells[:, 0]):
            mine = taking_part(launch) & (launch.cells[:, 0] == barrier)
            wanted = int(how(launch.cells[mine, operands - 1]))
            assert part[mine].tolist() == [wanted] * int(mine.sum())
            seen.add(wanted)
    assert len(seen) > 1


def test_rows_that_hang_on_a_freedom_are_known() -> None:
    """Under a full mask a shuffle reads only from lanes that take part; under others some rows are open."""
    form, absent = case("shfl.sync.bfly.b32")
    is_open = open_rows(form, absent)
    cells = np.concatenate([launch.cells for launch in warp_cases.launches(form, absent)])
    mask, part = cells[:, 3], cells[:, warp_cases.TAKES_PART // 8] != 0
    assert is_open.any() and not is_open[mask == 0xFFFFFFFF].any() and not is_open[~part].any()
    alone = mask == 0x80000000
    # a lane alone: what it takes is open unless it takes from itself
    ours = answers_here([WarpCase(form, absent)])[str(form)][:, 0]
    assert np.array_equal(is_open[alone], ours[alone] != cells[alone, 0])
    assert not open_rows(*case("vote.sync.any.pred")).any()
