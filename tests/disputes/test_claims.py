"""What the pages under docs/disputes/ state is what the prover and the recorded answers say; a wrong claim is noticed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ptxspec.base.places import DOCUMENTS
from ptxspec.evidence.location import FOLDER
from ptxspec.pages.register import entries
from ptxspec_workshop.disputes import claims, readings, recorded
from ptxspec_workshop.disputes.claims import LEVELS, VERSIONS, AssemblerFault, Dispute, load_all

CLAIMS = load_all()
BY_TITLE = {claim.title: claim for claim in CLAIMS.faults}
SECONDS = 120.0


@pytest.fixture
def planted() -> Iterator[None]:
    """Claims that a test states do not stay."""
    kept = (list(claims.DISPUTES), list(claims.FAULTS), list(claims.EXTENTS))
    yield
    claims.DISPUTES[:], claims.FAULTS[:], claims.EXTENTS[:] = kept


# faults ---------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(4)
@pytest.mark.parametrize("fault", CLAIMS.faults, ids=lambda fault: fault.title)
def test_just_the_stated_versions_and_levels_fail(fault: AssemblerFault) -> None:
    found = recorded.judged(fault)
    assert found.compared, f"{fault.place}: every row is left out"
    assert found.ways == fault.ways, f"{fault.place}: {found.differing}"


def test_a_claim_of_a_version_that_does_not_fail_is_noticed() -> None:
    sound = BY_TITLE["a shift by a copied sum"]
    assert recorded.judged(sound).ways == frozenset() != sound._replace(failing={"13.5": (3,)}).ways


def test_a_claim_that_leaves_out_a_failing_version_is_noticed() -> None:
    failing = BY_TITLE["a shift by a sum"]
    assert recorded.judged(failing).ways == set(recorded.WAYS) != failing._replace(failing={"13.0": LEVELS}).ways


def test_one_bit_of_a_recorded_answer_is_compared() -> None:
    sound = BY_TITLE["a shift by a copied sum"]
    answers = recorded.answers(sound).copy()
    answers[1 + recorded.WAYS.index(("13.5", 3)), 4, 0] ^= np.uint64(1 << 40)
    assert recorded.judged_by(sound, answers).ways == {("13.5", 3)}


def test_rows_whose_result_is_open_take_no_part() -> None:
    """The one operand that is a NaN makes a sum that is one."""
    found = recorded.judged(BY_TITLE["a shift by a sum"])
    assert (found.compared, found.left_out) == (21, 1)


def test_the_first_row_that_differs_is_shown() -> None:
    found = recorded.judged(BY_TITLE["a shift by a sum"]).example
    assert found is not None
    operands, stated, left = found
    assert operands == {"a": 0x123456789ABCDEF1, "x": 0x3F800000}
    assert stated == {"d": 0, "r": 0x40000000}
    assert left == {"d": (0x123456789ABCDEF1 << 2) & 0xFFFFFFFFFFFFFFFF, "r": 0x40000000}  # 1.0 + 1.0 is 2


def test_a_kernel_that_nobody_asked_about_is_an_error() -> None:
    fault = BY_TITLE["a shift by a sum"]
    with pytest.raises(recorded.NotRecorded, match="no GPU was asked"):
        recorded.judged(fault._replace(ptx=fault.ptx.replace("add.f32", "sub.f32")))


def test_a_version_or_a_level_that_was_not_asked_is_refused(planted: None) -> None:
    for failing in ({"12.0": "0"}, {"13.0": "4"}):
        with pytest.raises(ValueError, match="was asked"):
            claims.fault("planted", "AMB-001", "mov.b32 d, a;", {"a": "b32"}, {"d": "b32"}, failing)


def test_every_entry_is_in_the_register() -> None:
    known = {entry.number for entry in entries(DOCUMENTS).values()}
    assert {fault.entry for fault in CLAIMS.faults} <= known


def test_there_are_enough_and_some_that_end_a_fault() -> None:
    assert len(CLAIMS.faults) >= 70 and len(CLAIMS.disputes) >= 30
    assert sum(not fault.ways for fault in CLAIMS.faults) >= 15
    assert [title for title, n in Counter(c.title for c in (*CLAIMS.faults, *CLAIMS.disputes)).items() if n > 1] == []


# the record -----------------------------------------------------------------------------------------------------------


def test_the_record_is_whole() -> None:
    kept = recorded.record("kernels")
    assert kept.facts["ptxas"].keys() == set(VERSIONS)
    for name, text in kept.facts["kernels"].items():
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == name
        assert kept.values[name].shape[0] == 1 + len(recorded.WAYS)
    assert kept.values.keys() == kept.facts["kernels"].keys()
    whole = sum(path.stat().st_size for path in (FOLDER / "disputes").iterdir())
    assert whole < 1_800 * len(kept.values)  # bytes of a kernel, its operands and eight answers


def test_a_changed_record_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "disputes"
    folder.mkdir()
    for path in (FOLDER / "disputes").iterdir():
        data = path.read_bytes()
        (folder / path.name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if path.suffix == ".npz" else data)
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="digest"):
        recorded.record.__wrapped__("kernels")
    monkeypatch.setattr(recorded, "FOLDER", tmp_path / "nothing")
    with pytest.raises(recorded.NotRecorded, match="not installed"):
        recorded.record.__wrapped__("kernels")


# the extent -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extent", CLAIMS.extents, ids=lambda extent: extent.reader)
def test_the_machine_reads_the_value_after_every_writer_that_makes_a_fault(extent: claims.Extent) -> None:
    found = recorded.reach(extent)
    assert not any(found.unexplained.values())
    facts = recorded.record("extent").facts
    for way, own in found.wrong.items():
        assert set(own) == set(facts["wrong"][extent.reader][way]) - set(facts["left out"])


def test_another_reading_of_the_machine_does_not_fit() -> None:
    (shift, store) = CLAIMS.extents
    nearest = store._replace(machine=store.machine.replace("rzi", "rni"))
    assert recorded.reach(nearest).unexplained["13.0 -O3"]
    short = shift._replace(machine="cvt.rzi.u32.f32 n, r;\nshl.b64 d, a, n;")
    assert recorded.reach(short).unexplained["13.5 -O0"]
    with pytest.raises(recorded.NotRecorded, match="not kept"):
        recorded.reach(shift._replace(reader="shr.s64"))


def test_what_the_page_says_of_writers() -> None:
    (shift, _) = CLAIMS.extents
    found = recorded.reach(shift)
    wrong = set(found.wrong["13.5 -O3"])
    assert all(set(own) == wrong for own in found.wrong.values())
    assert {"ld.global.f32", "mov.f32", "selp.f32", "atom.add.f32", "call .f32", "add.f32; mov.f32"} <= wrong
    sound = {"copysign.f32", "div.approx.f32", "lg2.approx.f32", "branch", "add.f32; mov.b32", "add.f32, xor r 0"}
    assert sound <= recorded.record("extent").facts["writers"].keys() - wrong


def test_what_helps_is_what_the_page_says() -> None:
    """Of a sum that some instruction copies: an instruction of bits or integers helps, and one of numbers does not."""
    (shift, store) = CLAIMS.extents
    between = {
        "mov.b32",
        "mov.u32",
        "mov.s32",
        "mov.b32 {h,l}; mov.b32",
        "selp.b32",
        "cvt.u32.u32",
        "prmt",
        "and.b32 63",
    }
    between |= {"or.b32 0", "or.b32 itself", "shl.b32 0", "add.u32 0", "min.u32 64", "mov.b32 itself"}
    between |= {"st.b32, ld.b32", "st.f32, ld.b32"}
    helps = {f"add.f32; {name}" for name in between} | {"add.f32, xor r 0", "add.f32 to f32; mov.b32"}
    does_not = {"add.f32; mov.f32", "add.f32; selp.f32", "add.f32; st.b32, ld.f32"}
    assert helps | does_not <= recorded.record("extent").facts["writers"].keys()
    assert {
        name for name in recorded.record("extent").facts["writers"] if name.startswith("add.f32; ")
    } <= helps | does_not
    for found in (recorded.reach(shift), recorded.reach(store)):
        assert not any(helps & set(own) for own in found.wrong.values())
        assert all(does_not <= set(own) for own in found.wrong.values() if own)


def test_other_pairs_are_wrong_as_the_page_says() -> None:
    """Of these the record has counts of threads alone."""
    wrong = recorded.record("extent").facts["wrong"]
    for version in VERSIONS:
        assert wrong["cvt.rn.f32.u32"][f"{version} -O3"] == {"abs.s32": 1}
        assert wrong["shl.b16"][f"{version} -O3"] == wrong["shr.u16"][f"{version} -O3"] == {"cnot.b32": 64}
        assert wrong["shr.s16"][f"{version} -O3"] == {"cvt.rzi.u32.f32": 7, "cnot.b32": 1}
        for reader in ("cvt.rn.f32.u32", "shl.b16", "shr.u16", "shr.s16"):
            assert not wrong[reader][f"{version} -O0"]


# disputes -------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(4)
@pytest.mark.parametrize("dispute", CLAIMS.disputes, ids=lambda dispute: dispute.title)
def test_the_verdict_is_as_stated_and_the_machine_is_with_the_definition(dispute: Dispute) -> None:
    found = readings.judged(dispute, SECONDS)
    assert found.status == dispute.expected, str(dispute.place)
    assert found.right and (found.right == found.wrong) == (dispute.expected == "proved")
    assert (found.agree, found.as_reading) == (found.telling, 0)


def test_a_reading_that_holds_is_noticed() -> None:
    dispute = CLAIMS.disputes[0]
    found = readings.judged(dispute._replace(reading=dispute.ptx), SECONDS)
    assert found.status == "proved" and found.right == found.wrong and found.telling == 0


def test_most_disputes_are_answered_by_the_machine() -> None:
    asked = [readings.recorded_form(dispute.ptx) is not None for dispute in CLAIMS.disputes]
    assert sum(asked) >= 20 and not all(asked)
