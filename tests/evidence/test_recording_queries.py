"""Attributes of images from a GPU into the answers and back, with a driver that is our machine (pretending_images.py)."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pretending
import pretending_images
import pytest

import ptxspec
from ptxspec.evidence import assembler as tools
from ptxspec_workshop.compare.image_runs import computed
from ptxspec_workshop.generate.image_cases import QueryCase, SurfaceCase, TextureCase
from ptxspec_workshop.generate.image_kernels import kernel_text
from ptxspec_workshop.generate.image_sweeps import cases
from ptxspec_workshop.record import gaps, image_answers, image_recorder, machine_code
from ptxspec_workshop.record.driver import GpuError

QUERIES = [case for case in cases() if isinstance(case, QueryCase)]
#: what only another driver than CUDA's may answer
UNKNOWN = ("channel_order", "memory_layout")


def test_every_query_is_asked_about_every_kind_of_image() -> None:
    """Of every form of txq and suq there is a case for each geometry, for several levels, for linear memory and for every channel."""
    for opcode in ("txq", "suq"):
        for form in ptxspec.forms(opcode):
            images = [case.image for case in QUERIES if case.spelling == form.mnemonic]
            geometries = {"1d", "2d", "3d", "a1d", "a2d"} | ({"cube", "acube"} if opcode == "txq" else set())
            assert {image.geometry for image in images} == geometries
            assert {image.channel for image in images} == {"u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32"}
            assert {image.channels for image in images} == {1, 2, 4}
            textures = [image for image in images if isinstance(image, TextureCase)]
            assert {i.geometry for i in textures if i.levels > 1} == {i.geometry for i in textures}
            assert {i.geometry for i in textures if i.linear} == ({"1d", "2d"} if textures else set())
            assert not textures or {(i.normalized, i.fractions) for i in textures} == {
                (True, False),
                (False, False),
                (True, True),
            }
            assert not textures or {i.filter for i in textures} == {"nearest", "linear"}
            for n in range(3):
                assert not textures or {i.address[n] for i in textures} == {"wrap", "mirror", "clamp", "border"}


@pytest.mark.parametrize("name", sorted(case.name for case in QUERIES)[::40])
def test_both_engines_answer_the_same(name: str) -> None:
    (case,) = (c for c in QUERIES if c.name == name)
    assert np.array_equal(computed(case, "native"), computed(case, "exact"))


def test_queries_are_accepted_by_ptxas(assembler: str) -> None:
    texts = sorted({kernel_text(case) for case in QUERIES})
    assert len(texts) == len([*ptxspec.forms("txq"), *ptxspec.forms("suq")]) == 24
    for text in texts:
        for level in ("-O0", "-O3"):
            assert tools.assemble(text, "sm_90", level) == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that records what a driver answers to some opcodes."""
    few = [*[c for c in cases() if not isinstance(c, QueryCase)][:2], *QUERIES[::7]]
    for place in (image_recorder, image_answers):
        monkeypatch.setattr(place, "cases", lambda: few)
    monkeypatch.setattr(machine_code, "assemble", pretending.assemble)
    monkeypatch.setattr(tools, "version", lambda: "none")
    others = ctypes.CDLL

    def record(folder: Path, *opcodes: str, **what: Any) -> list[Any]:
        driver = pretending_images.ImageDriver(**what)
        monkeypatch.setattr(ctypes, "CDLL", lambda name, *how: driver if "libcuda" in str(name) else others(name, *how))
        assert image_recorder.main(str(folder), *opcodes) == 0
        if driver.faulting is not None:
            return few
        assert not any(driver.modules) and not any(driver.images.values()) and not any(driver.described.values())
        assert not any(driver.memory.values())
        return few

    yield record


def begun(folder: Path) -> dict[str, np.ndarray]:
    """A folder with two older answers, of which none is asked again."""
    first = {case.name: np.zeros((2, 4), np.uint32) for case in [c for c in cases() if isinstance(c, TextureCase)][:2]}
    facts = {"date": "2020-01-01", "device": "none", "driver": "13.0", "refused": {}, "levels differ": [], "traps": {},
             "differing": {next(iter(first)): 2}}  # fmt: skip
    image_answers.write(folder, facts, first)
    return first


@pytest.mark.slow
def test_queries_are_added_to_what_was_answered(asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = begun(tmp_path)
    few = asked(tmp_path, "txq", "suq", unknown=UNKNOWN)
    kept = image_answers.read(tmp_path)
    assert kept is not None and kept.facts["date"] == "2020-01-01"
    assert set(kept.facts["later"]) == {"txq", "suq"} and kept.facts["later"]["txq"]["ptxas"] == "none"
    wanted = {c.name: c for c in few if isinstance(c, QueryCase) and not any(word in c.spelling for word in UNKNOWN)}
    assert set(kept.values) == {*before, *wanted}
    assert {c.spelling for c in few if isinstance(c, QueryCase)} - {c.spelling for c in wanted.values()} == {
        s for s in kept.facts["refused"] if " of " not in s
    }
    assert all((kept.values[name] == rows).all() for name, rows in before.items())
    for name, case in wanted.items():
        assert np.array_equal(kept.values[name], computed(case, "exact")), name
    assert kept.facts["cases"] == len(kept.values) and kept.facts["levels differ"] == []
    assert "cuModuleLoadData: it is not known (300)" in capsys.readouterr().out


def test_nothing_is_said_of_cases_after_a_fault(asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the cases before, there are answers; of those after, neither answers nor refusals."""
    begun(tmp_path)
    few = [c for c in asked(tmp_path, "suq", faulting=3) if c.spelling.startswith("suq")]
    kept = image_answers.read(tmp_path)
    assert kept is not None and list(kept.facts["refused"]) == [few[1].name]
    assert few[0].name in kept.values and not any(case.name in kept.values for case in few[1:])
    assert f"no case after {few[1].name} could be asked" in capsys.readouterr().err


def test_answers_of_something_else_are_not_added_to(asked: Any, tmp_path: Path) -> None:
    with pytest.raises(GpuError, match="no answers of this device and driver"):
        asked(tmp_path, "suq", unknown=("suq",))
    begun(tmp_path)
    path = tmp_path / "answers.json"
    path.write_text(path.read_text().replace('"13.0"', '"12.0"'))
    with pytest.raises(GpuError, match="no answers of this device and driver"):
        asked(tmp_path, "suq", unknown=("suq",))


def test_answers_that_were_changed_are_refused(tmp_path: Path) -> None:
    begun(tmp_path)
    path = tmp_path / "answers.json"
    path.write_text(path.read_text().replace('"digest": "', '"digest": "0'))
    with pytest.raises(ValueError, match="digest"):
        image_answers.read(tmp_path)
    with pytest.raises(ValueError, match="no answers"):
        image_answers.main(str(tmp_path / "nowhere"))


@pytest.mark.slow
def test_what_differs_is_printed_and_noted(asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One answer is wrong, and -O0 gives others everywhere."""
    begun(tmp_path)
    few = asked(tmp_path, "suq", unlike=1)
    kept = image_answers.read(tmp_path)
    assert kept is not None
    suq = [c for c in few if isinstance(c, QueryCase) and isinstance(c.image, SurfaceCase)]
    assert kept.facts["levels differ"] == [c.name for c in suq]
    wrong = next(c for c in suq if c.spelling == "suq.height.b32" and c.image.geometry == "2d")
    right = int(kept.values[wrong.name][0, 0])
    values = {**kept.values, wrong.name: kept.values[wrong.name] ^ np.uint32(0x100)}
    image_answers.write(tmp_path, kept.facts, values)
    capsys.readouterr()
    assert image_answers.main(str(tmp_path), "suq") == 0
    told = capsys.readouterr().out
    assert (
        f"{wrong.name}: 1 differ\n  row 0 of 0x0: the GPU gave {right ^ 0x100:#x}, the pages give {right:#x}\n" in told
    )
    assert told.endswith("1 cases differ\n")
    differing = json.loads((tmp_path / "answers.json").read_text())["differing"]
    assert differing == {**kept.facts["differing"], wrong.name: 1} and len(differing) == 2
    image_answers.write(tmp_path, {**kept.facts, "differing": differing}, kept.values)
    assert image_answers.main(str(tmp_path), "suq") == 0
    assert json.loads((tmp_path / "answers.json").read_text())["differing"] == kept.facts["differing"]


@pytest.mark.slow
def test_what_the_driver_refuses_is_no_gap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Answered, refused or a gap: each form for attributes is one of these, and the ledger says which machine answered when."""
    queries = [*ptxspec.forms("txq"), *ptxspec.forms("suq")]
    facts = {"date": "2020-01-01", "device": "x", "refused": {"txq.num_samples.b32": "cuModuleLoadData: y (3)"}, "differing": {},
             "later": {"txq": {"date": "2021-02-03", "ptxas": "13.0"}}}  # fmt: skip
    answered = {case.name for case in QUERIES if case.spelling in ("txq.width.b32", "suq.width.b32")}
    monkeypatch.setattr(image_answers, "_facts", lambda: facts)
    monkeypatch.setattr(image_answers, "_recorded_names", lambda: frozenset(answered))
    entries = {form.mnemonic: gaps.entry(form, gaps.records(), set()) for form in queries}
    reasons = {form.mnemonic: gaps.unasked(form) for form in queries}
    assert {m: (e["date"], e["vectors"]) for m, e in entries.items() if e} == {
        "txq.width.b32": ("2021-02-03", len({c.image for c in QUERIES if c.spelling == "txq.width.b32"})),
        "suq.width.b32": ("2020-01-01", len({c.image for c in QUERIES if c.spelling == "suq.width.b32"})),
    }
    assert {m: r for m, r in reasons.items() if r} == {
        "txq.num_samples.b32": "CUDA's driver does not run it: cuModuleLoadData: y (3)"
    }
