"""A launch in parts: what each may access, that the merged result is that of one process bit for bit, and the page about it."""

from __future__ import annotations

import functools
import json
import os
import signal
from pathlib import Path

import distribution
import numpy as np
import pytest
import suite
from distribution import SPLITS, DividedLaunch, Part, PartResult, execute
from workloads.cases import WORKLOADS
from workloads.device import Device

import ptxspec
from ptxspec.base import campaigns
from ptxspec.base.campaigns import WorkerOptions

#: sizes whose CTAs are several parts
SIZES = {"saxpy": 1 << 16, "matmul": 64, "tree": 1 << 16, "mandelbrot": 64, "hash": 1 << 12, "histogram": 1 << 14}
#: a kernel is compiled in less than a second
QUICK = {"saxpy", "hash", "histogram"}


@functools.cache
def launch(name: str) -> DividedLaunch:
    return DividedLaunch(name, WORKLOADS[name].make(SIZES[name]))


def in_one_process(name: str) -> dict[str, bytes]:
    device = Device(ptxspec.load(WORKLOADS[name].ptx.read_text()), launch(name).case)
    device.run()
    return {output: device[output].tobytes() for output in device.case.outputs}


def merged(name: str, results: list[PartResult]) -> dict[str, bytes]:
    return {output: values.tobytes() for output, values in launch(name).merged(results).items()}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in SPLITS]
)
def test_parts_compute_what_one_process_does(name: str) -> None:
    """In any order, and by any number of parts; every output is another than before."""
    expected = in_one_process(name)
    for count in (4, 2):
        results = [execute(part) for part in launch(name).parts(count)]
        assert len({result.first for result in results}) == count
        assert merged(name, results) == merged(name, results[::-1]) == expected
        assert merged(name, results[1:]) != expected
    assert all(launch(name).elements(output).tobytes() != data for output, data in expected.items())


def test_a_part_has_nothing_of_the_others() -> None:
    part = launch("saxpy").parts(4)[1]
    address, elements = part.memory["x"]
    assert len(elements) == SIZES["saxpy"] // 4
    short = part._replace(memory={**part.memory, "x": (address, elements[:-1])})
    with pytest.raises(ptxspec.LaunchError, match="4 bytes directly past the end of x") as raised:
        execute(short)
    assert raised.value.rule == "out of bounds"


def test_what_differs_in_a_part_is_refused() -> None:
    head = ".address_size 64\n.entry k() { .reg .b32 %r1; "
    text = distribution.displaced(f"{head} mov.u32 %r1, %ctaid.x; mov.u32 %r1, %nctaid.x; ret; }}", "x")
    assert text.count("first_cta") == text.count("all_ctas") == 2
    for name in ("%clusterid.x", "%smid", "%gridid", "%clock64"):
        with pytest.raises(ValueError, match=f"in a part of a grid {name.partition('.')[0]} may have another value"):
            distribution.displaced(f"{head} mov.u32 %r1, {name}; ret; }}", "x")
    with pytest.raises(ValueError, match=r"by mov\.u32 alone"):
        distribution.displaced(f"{head} cvt.u16.u32 %r1, %ctaid.x; ret; }}", "x")
    assert distribution.displaced(f"{head} mov.u32 %r1, %ctaid.y; ret; }}", "x").count("first_cta") == 1
    with pytest.raises(ValueError, match="16 CTAs are not 3 parts"):
        launch("hash").parts(3)


def ends_its_process_once(item: tuple[str, Part]) -> PartResult:
    """Begins a part, writes to its memory, and is gone, the first time that somebody asks."""
    path, part = item
    if not Path(path).exists():
        Path(path).touch()
        execute(part)
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(part)


@pytest.mark.slow
def test_two_processes_of_which_one_dies(tmp_path: Path) -> None:
    """Its CTAs are executed again, in another process: nothing is lost, and nothing is counted twice."""
    expected = in_one_process("histogram")
    items = [(str(part.first), (str(tmp_path / str(part.first)), part)) for part in launch("histogram").parts(4)]
    results = list(campaigns.values(ends_its_process_once, items, WorkerOptions(jobs=2)))
    assert merged("histogram", results) == expected
    assert os.getpid() not in {result.process for result in results}


@pytest.mark.slow
def test_the_benchmark_compares_and_measures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(distribution, "SIZES", SIZES)
    file = tmp_path / "figures.json"
    figures = distribution.main(["--only", "hash", "--rounds", "1", "--json", str(file)])
    (row,) = figures["workloads"]
    assert json.loads(file.read_text()) == figures and figures["per_item"].keys() >= {"processes"}
    assert (row["parts"], row["there"], row["back"]) == (4, 8 * SIZES["hash"], 4 * SIZES["hash"])
    assert all(row[name] > 0 for name in ("one", "threads", "processes", "processes_first"))
    monkeypatch.setattr(DividedLaunch, "merged", lambda self, results: {"out": np.zeros(1)})
    with pytest.raises(AssertionError, match="hash: processes compute something else"):
        distribution.measured("hash", SIZES["hash"], {"processes": WorkerOptions(2)}, 2, 1)


def test_the_page_shows_what_is_stored_and_what_is_computed() -> None:
    page, figures = distribution.PAGE.read_text(), json.loads(distribution.STORED.read_text())
    assert page == distribution.page_with(page, distribution.texts(figures))
    assert [row["workload"] for row in figures["workloads"]] == list(SPLITS)
    rows = {row["workload"]: row for row in json.loads(suite.STORED.read_text())["workloads"]}
    saxpy = distribution.computed(rows["saxpy"])
    assert saxpy["pieces"] == pytest.approx(12 * 2**20 * distribution.STEPS / rows["saxpy"]["steps"])
    matmul = distribution.computed(rows["matmul"])
    assert matmul["whole"] == pytest.approx(4 * 4588**2, rel=1e-3) and matmul["pieces"] == 3 * matmul["whole"]
    with pytest.raises(ValueError, match="no place for what is computed"):
        distribution.page_with(page.replace("<!-- end of computed -->", ""), {"computed": ""})
