"""Answers where threads meet: the cases, an oracle of NumPy's over their rows, and the way from a GPU into the vectors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence import gpu, vectors, warps
from ptxspec.language.check import check
from ptxspec.machine.launch import Module

ANSWERS = warps.read()
OPCODES = ("shfl", "vote", "activemask", "match", "redux", "elect", "bar", "barrier")


def case(mnemonic: str, count: int | None = None) -> Any:
    """The recorded form of a mnemonic (with so many sources)."""
    found = [(f, a) for f, a in warps.cases() if f.mnemonic == mnemonic]
    return next(c for c in found if count is None or len(warps.operands(*c)) == count)


def test_every_form_whose_results_depend_on_other_threads_is_a_case() -> None:
    assert {f.syntax.opcode for f, _ in warps.cases()} >= set(OPCODES)
    without_results = {"bar.sync", "bar.cta.sync", "bar.arrive", "bar.cta.arrive", "bar.warp.sync"}
    recorded = {f.mnemonic for f, _ in warps.cases()}
    for opcode in OPCODES:
        for form in ptxspec.forms(opcode):
            if "cluster" in form.modifiers:  # test_clusters_of_the_gpu.py
                continue
            has_none = form.mnemonic in without_results or re.match(r"barrier(\.cta)?\.(sync|arrive)", form.mnemonic)
            assert (form.mnemonic in recorded) != bool(has_none), form


@pytest.mark.parametrize("opcode", OPCODES)
def test_the_recorded_answers_are_ours(opcode: str) -> None:
    if ANSWERS is None:
        pytest.skip("NO ORACLE: no GPU has answered the forms of warps and barriers yet")
    count, differences = warps.compare(ptxspec.forms(opcode), ANSWERS)
    assert count >= 512
    assert not differences, "\n".join(map(str, differences[:5]))


def test_every_answer_is_of_a_case() -> None:
    if ANSWERS is None:
        pytest.skip("NO ORACLE: no GPU has answered the forms of warps and barriers yet")
    assert set(ANSWERS.values) == set(ANSWERS.facts["forms"]) <= {warps.key(f, absent) for f, absent in warps.cases()}


def test_rows_are_reproducible_and_lanes_are_in_their_masks() -> None:
    for form, absent in warps.cases():
        names = warps.operands(form, absent)
        assert len(names) <= warps.TAKES_PART // 8
        again = warps.launches(form, absent)
        for launch, other in zip(warps.launches(form, absent), again, strict=True):
            assert np.array_equal(launch.cells, other.cells) and len(launch.cells) % 32 == 0
            assert launch.cells.nbytes <= 2 * vectors.ROWS * gpu.STRIDE
            assert np.array_equal(launch.takes_part, launch.cells[:, warps.TAKES_PART // 8] != 0)
            if "membermask" in names:
                mask = launch.cells[:, names.index("membermask")]
                lane = np.arange(len(mask), dtype=np.uint64) % np.uint64(32)
                assert np.array_equal(mask >> lane & np.uint64(1) != 0, launch.takes_part)
                taking = mask[launch.takes_part]
                assert len(set(taking.tolist())) > 8 and int(taking.max()) == 0xFFFFFFFF


def groups(launch: warps.Launch, column: int | None) -> list[np.ndarray]:
    """The rows of each group of lanes that execute the instruction together."""
    found = []
    for first in range(0, len(launch.cells), 32):
        rows = np.arange(first, first + 32)[launch.takes_part[first : first + 32]]
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


@pytest.mark.parametrize("engine", ["native", "exact"])
def test_what_we_give_is_what_numpy_gives(engine: str) -> None:
    chosen = [case(m) for m in ORACLES]
    ours = warps.answers_here(chosen, "hopper", engine)
    compared = 0
    for form, absent in chosen:
        answer, at = ours[warps.key(form, absent)], 0
        names = warps.operands(form, absent)
        for launch in warps.launches(form, absent):
            part = answer[at : at + len(launch.cells)]
            at += len(launch.cells)
            assert not part[~launch.takes_part].any()
            for rows in groups(launch, names.index("membermask") if "membermask" in names else None):
                wanted = ORACLES[form.mnemonic](launch.cells[rows, 0], rows)
                assert part[rows, 0].tolist() == [int(w) for w in wanted], (form, rows)
                compared += len(rows)
    assert compared > 5000


@pytest.mark.parametrize(("mnemonic", "operands"), [("bar.red.popc.u32", 2), ("barrier.cta.red.and.pred", 3),
                                                    ("bar.red.or.pred", 3)])  # fmt: skip
def test_what_we_give_at_barriers(mnemonic: str, operands: int) -> None:
    form, absent = case(mnemonic, operands)
    answer, at = warps.answers_here([(form, absent)], "hopper")[str(form)], 0
    how = {"popc": np.sum, "and": np.all, "or": np.any}[mnemonic.split(".red.")[1].split(".")[0]]
    seen = set()
    for launch in warps.launches(form, absent):
        part = answer[at : at + len(launch.cells), 0]
        at += len(launch.cells)
        for barrier in np.unique(launch.cells[:, 0]):
            mine = launch.takes_part & (launch.cells[:, 0] == barrier)
            wanted = int(how(launch.cells[mine, operands - 1]))
            assert part[mine].tolist() == [wanted] * int(mine.sum())
            seen.add(wanted)
    assert len(seen) > 1


class Pretender:
    """A GPU that is our machine; `wrong` are the launches, counted from the first, of which a bit is flipped."""

    def __init__(self, wrong: tuple[int, ...] = ()):
        self.wrong, self.launched, self.unloaded = wrong, 0, 0

    def load(self, image: bytes) -> Module:
        return Module(check(image.decode()))

    def allocate(self, size: int) -> int:
        return size

    def call(self, function: str, *arguments: Any) -> None:
        assert function == "cuModuleUnload"
        self.unloaded += 1

    def run(self, image: Module, name: str, data: np.ndarray, into: int, out_of: int) -> np.ndarray:
        assert data.nbytes <= into
        out = np.full_like(data, 0xA5A5A5A5A5A5A5A5)
        image.launch(name, 1, len(data), [data.copy(), out, bytes(64)])
        if self.launched in self.wrong:
            out[0, 0] ^= np.uint64(1)
        self.launched += 1
        return out


def test_from_a_gpu_into_the_vectors_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded can be read and compared; a wrong answer is reported, and named as one of -O0 or -O3."""
    chosen = [case("shfl.up.b32"), case("match.all.sync.b32"), case("vote.sync.ballot.b32")]
    monkeypatch.setattr(warps, "cases", lambda: chosen)
    monkeypatch.setattr(gpu, "assemble", lambda text, level: text.encode())
    facts = {"device": "none", "profile": "hopper", "rows": 1}
    good = Pretender()
    assert warps.record(good, tmp_path, facts) == (3, 0)
    assert (good.launched, good.unloaded) == (3 * 2 * 2, 4)
    recorded = warps.read(tmp_path)
    assert recorded is not None and recorded.facts["forms"] == {str(f): 1024 for f, _ in chosen}
    assert warps.compare([f for f, _ in chosen], recorded) == (3 * 1024, [])
    # the launches of a form: two at -O0, then two at -O3
    assert warps.record(Pretender((6,)), tmp_path, facts) == (3, 1)
    (row,) = json.loads((tmp_path / "warps.json").read_text())["differences"]
    assert (row["form"], row["O0"], row["O3"], row["levels"]) == (str(chosen[1][0]), 0, 1, 1)
    wrong = warps.read(tmp_path)
    assert wrong is not None
    _, (difference,) = warps.compare([f for f, _ in chosen], wrong)
    assert difference.row == 0 and difference.ours[0] ^ difference.gpu[0] == 1 and "match.all" in str(difference)
    (tmp_path / "warps.npz").write_bytes(b"x")
    with pytest.raises(ValueError, match="digest"):
        warps.read(tmp_path)
    assert warps.read(tmp_path / "nowhere") is None


def test_rows_that_hang_on_a_freedom_are_known() -> None:
    """Under a full mask a shuffle reads only from lanes that take part; under others some rows are open."""
    form, absent = case("shfl.sync.bfly.b32")
    is_open = warps.open_rows(form, absent)
    cells = np.concatenate([launch.cells for launch in warps.launches(form, absent)])
    mask, part = cells[:, 3], cells[:, warps.TAKES_PART // 8] != 0
    assert is_open.any() and not is_open[mask == 0xFFFFFFFF].any() and not is_open[~part].any()
    alone = mask == 0x80000000
    # a lane alone: what it takes is open unless it takes from itself
    ours = warps.answers_here([(form, absent)], "hopper")[str(form)][:, 0]
    assert np.array_equal(is_open[alone], ours[alone] != cells[alone, 0])
    assert not warps.open_rows(*case("vote.sync.any.pred")).any()
