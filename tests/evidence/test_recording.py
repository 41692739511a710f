"""From a GPU into the answers and back, with a driver that is our machine (pretending.py)."""

from __future__ import annotations

import ctypes
import json
from functools import cache
from pathlib import Path
from typing import Any

import pretending
import pytest

import ptxspec
from ptxspec.evidence import assembler
from ptxspec.language.forms import Form
from ptxspec_workshop.generate import product_operands
from ptxspec_workshop.record import __main__ as recording
from ptxspec_workshop.record import families, gaps, kernel_family, machine_code, program_answers, program_recorder
from ptxspec_workshop.record.families import (
    AIMED_MATRICES,
    CLUSTERS,
    EFFECTS,
    FAMILIES,
    FUNCTIONS,
    LATER_FUNCTIONS,
    OBJECTS,
    WARPGROUPS,
    WARPS,
)

#: a form or some of each kind of kernel
ASKED = [
    ("bfe", "bfe.s32"), ("addc", "addc.cc.u32"), ("atom", "atom.global.cas.b128"),
    ("setp", "setp.lt.u32"), ("shfl", "shfl.up.b32"), ("match", "match.all.sync.b32"), ("bar", "bar.red.popc.u32"),
    ("ld", "ld.const.v2.u32"), ("st", "st.param.u8"), ("bra", "bra"), ("red", "red.relaxed.cta.global.add.u32"),
    ("ld", "ld.shared::cluster.u32"), ("mapa", "mapa.u64"), ("barrier", "barrier.cluster.wait"),
    ("mma", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"), ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x2.trans.b16"),
    ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16"), ("mma", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"),
]  # fmt: skip


@cache
def chosen() -> list[Form]:
    return [f for opcode, mnemonic in ASKED for f in ptxspec.forms(opcode) if f.mnemonic == mnemonic]


def put_in_place(monkeypatch: pytest.MonkeyPatch, driver: pretending.Driver) -> None:
    """Have the library of CUDA's driver be another."""
    others = ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda name, *how: driver if "libcuda" in str(name) else others(name, *how))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Records into a folder what a driver answers to some forms; the driver."""
    monkeypatch.setattr(assembler, "version", lambda: "none")
    for place in (machine_code, program_recorder):
        monkeypatch.setattr(place, "assemble", pretending.assemble)
    for place in (families, kernel_family, recording):
        monkeypatch.setattr(place, "forms", chosen)

    def record(folder: Path, *opcodes: str, **what: Any) -> pretending.Driver:
        driver = pretending.Driver(**what)
        put_in_place(monkeypatch, driver)
        assert recording.main(str(folder), *opcodes) == 0
        assert not any(driver.modules), "every module is unloaded"
        return driver

    return record


@pytest.mark.slow
def test_what_is_recorded_is_what_a_gpu_answered(asked: Any, tmp_path: Path) -> None:
    """Our machine gives what the H200 gave: so what it is recorded to give is what the H200 is recorded to have given."""
    launched = asked(tmp_path).launches
    every = (*(family for family in FAMILIES.values() if family not in (OBJECTS, WARPGROUPS)), AIMED_MATRICES)
    assert launched == 2 * sum(len(c.launches) for family in every for c in family.every())
    assert LATER_FUNCTIONS.every() == [] and LATER_FUNCTIONS.read(tmp_path) is None
    for name, family in FAMILIES.items():
        if family in (LATER_FUNCTIONS, OBJECTS, WARPGROUPS):  # which are recorded alone
            continue
        kept, known = family.read(tmp_path), family.read()
        assert kept is not None and known is not None
        assert set(kept.values) == {c.name for c in family.every()} and len(kept.values) >= 3, name
        assert (
            kept.facts["device"] == "none" and kept.facts["profile"] == "hopper" and kept.facts["seed"] == family.seed
        )
        assert ("rows" in kept.facts) == (family is FUNCTIONS) and kept.facts["differences"] == []
        for case in family.every():
            assert not case.differs(kept.values[case.name], known.values[case.name]).any(), case.name
        count, differences = family.compare(family.every(), kept)
        assert count == sum(map(len, kept.values.values())) and differences == []
    warps = json.loads((tmp_path / "warps.json").read_text())["forms"]
    assert warps["shfl.up.b32 d|p, a, b, c;"] == 1024
    assert {p.name for p in tmp_path.iterdir()} == {
        "answers.json",
        "answers.npz",
        "warps.json",
        "warps.npz",
        "matrices.json",
        "matrices.npz",
        "effects",
        "clusters",
        "aimed",
    }


@pytest.mark.slow
def test_aimed_products_are_recorded_alone(asked: Any, tmp_path: Path) -> None:
    (case,) = AIMED_MATRICES.cases(chosen())
    assert asked(tmp_path, "--aimed").launches == 2 * len(case.launches)
    assert {p.name for p in tmp_path.iterdir()} == {"aimed"}
    kept = AIMED_MATRICES.read(tmp_path)
    assert kept is not None and set(kept.values) == {case.name} and kept.facts["seed"] == AIMED_MATRICES.seed
    assert AIMED_MATRICES.compare([case], kept) == (len(kept.values[case.name]), [])


@pytest.mark.slow
def test_products_of_warpgroups_are_recorded_alone_and_judged_later(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By eight columns at a time, too, and by the ledger."""
    mnemonics = ("wgmma.fence.sync.aligned", "wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8")
    some = [form for form in ptxspec.forms("wgmma") if form.mnemonic in mnemonics and "a_desc" not in str(form)]
    for place in (families, kernel_family):
        monkeypatch.setattr(place, "forms", lambda: some)
    every = WARPGROUPS.every()
    assert len(every) == 2 + product_operands.VARIATIONS
    assert asked(tmp_path, "--warpgroups").launches == 2 * sum(len(case.launches) for case in every)
    assert {p.name for p in tmp_path.iterdir()} == {"warpgroups"}
    kept = WARPGROUPS.read(tmp_path)
    assert kept is not None and set(kept.values) == {case.name for case in every} and kept.facts["differences"] == []
    assert WARPGROUPS.compare(every, kept) == (sum(map(len, kept.values.values())), [])
    known = {name: kept if family is WARPGROUPS else None for name, family in FAMILIES.items()}
    entries = [gaps.entry(form, known, set()) for form in some]
    assert [(entry["agrees"], entry["vectors"]) for entry in entries if entry] == [(True, 2)] * 2
    assert [entry and entry["agrees"] for entry in (gaps.entry(form, known, {str(some[1])}) for form in some)] == [
        True,
        False,
    ]
    assert [gaps.unasked(form) for form in some] == [None, None]


def test_functions_that_no_h200_was_asked_about_are_recorded_alone(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lop3 = [form for form in ptxspec.forms("lop3") if len(form.meaning().results) == 2]
    for place in (families, kernel_family):
        monkeypatch.setattr(place, "forms", lambda: [*chosen(), *lop3])
    assert asked(tmp_path, "--later").launches == 2 * len(lop3) == 4
    assert {p.name for p in tmp_path.iterdir()} == {"functions"}
    kept = LATER_FUNCTIONS.read(tmp_path)
    assert kept is not None and set(kept.values) == set(map(str, lop3)) and kept.facts["rows"] == 512
    assert LATER_FUNCTIONS.compare(lop3, kept) == (1024, []) and kept.facts["differences"] == []
    predicates = [kept.values[str(form)][:, 1] for form in lop3]
    assert all(0 < rows.sum() < len(rows) for rows in predicates) and (predicates[0] != predicates[1]).any()


def entries(family: families.KernelFamily, folder: Path) -> list[dict[str, Any]]:
    kept = family.read(folder)
    assert kept is not None
    return kept.facts["differences"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "counts"), [pytest.param(("-O0",), (1, 0, 1), marks=pytest.mark.long), (("-O3",), (0, 1, 1))]
)
def test_a_wrong_answer_is_reported(levels: tuple[str, ...], counts: Any, asked: Any, tmp_path: Path) -> None:
    """Of the first kernel of each module one row is wrong, and is named as one of -O0 or of -O3."""
    asked(tmp_path, wrong=tuple((level, "k0") for level in levels))
    for family, least in ((FUNCTIONS, 1), (WARPS, 2), (EFFECTS, 3), (CLUSTERS, 1)):
        found = entries(family, tmp_path)
        assert len(found) >= least
        for one in found:
            # a launch for each of the two of a warp's form
            many = 2 if "shfl" in one["form"] or "match" in one["form"] else 1
            told = tuple(one[what] for what in ("O0", "O3", "levels"))
            assert told == tuple(many * n for n in counts) or "bar.red" in one["form"], one
        kept = family.read(tmp_path)
        assert kept is not None
        _, differences = family.compare(family.every(), kept)
        assert {d.form for d in differences} == ({d["form"] for d in found} if "-O3" in levels else set())
        assert all(d.ours is None or d.ours[0] ^ d.gpu[0] == 1 for d in differences)
    assert all(e["open"] >= 0 and len(e["examples"]) >= 1 for e in entries(WARPS, tmp_path))
    one = entries(WARPS, tmp_path)[0]["examples"][0]
    assert set(one) == {"row", "open", "operands", "ours", "O0", "O3"}


@pytest.mark.slow
def test_kernels_that_write_nothing_are_noticed(asked: Any, tmp_path: Path) -> None:
    asked(tmp_path, silent=True)
    for family in (EFFECTS, CLUSTERS):
        kept = family.read(tmp_path)
        assert kept is not None
        # but for those that leave the bytes as they were
        wrong = {d["form"] for d in kept.facts["differences"]}
        assert wrong == {c.name for c in family.every()}
        assert all(d["O0"] == d["O3"] > 0 == d["levels"] for d in kept.facts["differences"])


@pytest.mark.slow
def test_answers_of_some_opcodes_are_added(asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "record", lambda *_: (0, 0))  # the other families, which come after
    asked(tmp_path, wrong=(("-O3", "k0"),))
    (before,) = entries(FUNCTIONS, tmp_path)
    assert before["form"].startswith("bfe.s32")
    asked(tmp_path, "setp", wrong=(("-O0", "k0"),))
    found = entries(FUNCTIONS, tmp_path)
    assert found[0] == before and found[1]["form"].startswith("setp.lt.u32") and len(found) == 2
    kept = FUNCTIONS.read(tmp_path)
    assert kept is not None and len(kept.values) == len(FUNCTIONS.every())
    asked(tmp_path, "bfe")
    assert [e["form"] for e in entries(FUNCTIONS, tmp_path)] == [found[1]["form"]]
    monkeypatch.setattr(assembler, "version", lambda: "another")
    with pytest.raises(recording.GpuError, match="no answers of this device"):
        asked(tmp_path, "bfe")


def test_an_archive_that_was_changed_is_refused(tmp_path: Path) -> None:
    known = WARPS.read()
    assert known is not None
    WARPS.write(tmp_path, {"device": "none", "rows": 1}, known.values, [])
    again = WARPS.read(tmp_path)
    assert again is not None and again.facts["device"] == "none" and again.facts["forms"] == known.facts["forms"]
    assert all((again.values[name] == rows).all() for name, rows in known.values.items())
    (tmp_path / "warps.npz").write_bytes(b"x")
    with pytest.raises(ValueError, match="digest"):
        WARPS.read(tmp_path)
    assert all(family.read(tmp_path / "nowhere") is None for family in FAMILIES.values())


@pytest.mark.slow
@pytest.mark.usefixtures("asked")
def test_programs_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of those that an H200 answered; one differs at one level, and is made smaller."""
    spelled = (
        program_answers.gzip.decompress((program_answers.KEPT / "forms.txt.gz").read_bytes()).decode().splitlines()
    )
    monkeypatch.setattr(program_recorder, "names", lambda: spelled)
    monkeypatch.setattr(program_recorder, "on_all_cores", lambda function, items, where: map(function, items))
    put_in_place(monkeypatch, pretending.Driver((("-O0", "p1"),)))
    assert program_recorder.main(str(tmp_path), 2, 0, 1, 1.0) == 0
    kept, known = program_answers.read(tmp_path), program_answers.read()
    assert kept is not None and known is not None
    assert kept.digests == {seed: known.digests[seed] for seed in range(2)}
    assert kept.facts["differing"] == {"1": "levels"}
    assert kept.facts["programs"] == 2 and kept.facts["engines differing"] == [] == kept.facts["not assembled"]
    smallest = json.loads((tmp_path / "differing.json").read_text())
    assert set(smallest) == {"p1"} and smallest["p1"]["who"] == "levels"
    assert smallest["p1"]["values"][0]["cell"] == "%r0"
