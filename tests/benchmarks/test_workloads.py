"""Each workload computes what its C version computes, in both engines, and the page about them shows the stored figures."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import suite
from workloads import build
from workloads.cases import WORKLOADS
from workloads.device import HERE, Device, Twin, compile_c, compiler, differences

import ptxspec

#: a kernel is compiled in less than a second
QUICK = {"saxpy", "hash", "histogram", "warp_scan"}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for C versions; without a compiler a test says loudly that it did not run."""
    if compiler() is None:
        pytest.skip("NO GCC: that workloads compute what C computes was NOT tested")
    return tmp_path_factory.mktemp("libraries")


def small(name: str, engine: str, schedule: str = "round-robin") -> Device:
    """A workload after its run at the size of tests."""
    workload = WORKLOADS[name]
    device = Device(
        ptxspec.load(workload.ptx.read_text()), workload.make(workload.small), engine=engine, schedule=schedule
    )
    device.run()
    return device


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in WORKLOADS]
)
def test_engines_and_c_agree(name: str, libraries: Path) -> None:
    workload, native = WORKLOADS[name], small(name, "native")
    twin = Twin(name, native.case, compile_c(name, libraries))
    twin.run()
    assert differences(workload, native, twin) == []
    exact = small(name, "exact")
    assert differences(workload._replace(tolerance=None), native, exact) == []
    assert native.steps == exact.steps
    assert any((native[output] != native.case.values[output]).any() for output in native.case.outputs)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in WORKLOADS]
)
def test_turns_of_warps_compute_the_same(name: str, libraries: Path) -> None:
    native = small(name, "native", "warps")
    twin = Twin(name, native.case, compile_c(name, libraries))
    twin.run()
    assert differences(WORKLOADS[name], native, twin) == []


def test_each_source_has_its_ptx_its_c_and_its_cases() -> None:
    for suffix in ("cu", "ptx", "c"):
        assert {path.stem for path in HERE.glob(f"*.{suffix}")} == WORKLOADS.keys()


def test_a_difference_is_noticed(libraries: Path) -> None:
    device = small("saxpy", "native")
    twin = Twin("saxpy", device.case, compile_c("saxpy", libraries))
    twin.run()
    twin.values["y"][7] *= 1 + 2.0**-20
    (disagreement,) = differences(WORKLOADS["saxpy"], device, twin)
    assert disagreement.startswith("y[7] is ") and disagreement.endswith("1 of 1000 differ")
    roughly = WORKLOADS["saxpy"]._replace(tolerance=1e-5)
    assert differences(roughly, device, twin) == []
    twin.values["y"][9] = np.nan
    assert differences(roughly, device, twin)[0].startswith("y[9] is ")


@pytest.mark.slow
def test_digests_and_ciphers_are_those_of_the_standards() -> None:
    device = small("sha256", "native")
    for message, digest in zip(device["in"], device["out"], strict=True):
        assert hashlib.sha256(message.astype(">u4").tobytes()).digest() == digest.astype(">u4").tobytes()
    # FIPS 197, appendix C.1
    assert small("aes", "native")["out"][0].astype(">u4").tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@pytest.mark.long
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_ptx_is_what_nvcc_makes(name: str) -> None:
    path = HERE / f"{name}.ptx"
    release = next(line for line in path.read_text().splitlines() if "release" in line)
    if shutil.which("nvcc") is None:
        pytest.skip("NO NVCC: that the PTX is what nvcc makes of the source was NOT tested")
    made = build.compiled(path.with_suffix(".cu"))
    if release not in made:
        pytest.skip("ANOTHER NVCC: that the PTX is what nvcc 13.0 makes of the source was NOT tested")
    assert made == path.read_text()


def test_the_suite_measures_a_subset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = suite.main(["--only", "histogram", "--repeats", "1", "--json", str(tmp_path / "figures.json")])
    (row,) = figures["workloads"]
    assert json.loads((tmp_path / "figures.json").read_text()) == figures
    assert row["workload"] == "histogram" and row["engine"] > 0 and row["steps"] > 10**6
    assert "histogram" in capsys.readouterr().out


def test_the_page_shows_the_stored_figures() -> None:
    page, figures = suite.PAGE.read_text(), json.loads(suite.STORED.read_text())
    assert page == suite.page_with(page, figures)
    assert [row["workload"] for row in figures["workloads"]] == list(WORKLOADS)
    assert all(row["differences"] == [] for row in figures["workloads"])
