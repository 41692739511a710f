"""The kernels that run litmus tests on a GPU: they can be assembled, our machine shows nothing in them that the model forbids, and
what a GPU was seen to do is allowed."""

from __future__ import annotations

import ctypes
import json
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.language.check import check
from ptxspec.machine.module import Module
from ptxspec.machine.owned import Memory
from ptxspec.query.litmus.shapes import shapes
from ptxspec.query.litmus.verdicts import impossible
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.shapes import Shape, ShapeCase
from ptxspec_workshop.generate.shape_kernels import ShapeKernel, module
from ptxspec_workshop.generate.shape_launches import PLACEMENTS, Placement, launch_of
from ptxspec_workshop.generate.shape_shared import MOST_GROUPS
from ptxspec_workshop.record import shape_answers, shape_recorder
from ptxspec_workshop.record.driver import Gpu, GpuError
from ptxspec_workshop.record.machine_code import LEVELS
from ptxspec_workshop.record.shape_runs import EngineBoard, GpuBoard, ShapeRunner
from ptxspec_workshop.site import litmus_tables

ASKED = shape_answers.asked_cases()


@cache
def by_shape() -> dict[str, list[ShapeCase]]:
    cases: dict[str, list[ShapeCase]] = {}
    for case in ASKED:
        cases.setdefault(case.shape.name, []).append(case)
    return cases


def case_of(name: str, **words: str) -> ShapeCase:
    return next(c for c in shapes()[name].cases if words.items() <= c.words.items())


def seen(text: str, placements: tuple[Placement, ...] = PLACEMENTS, seed: int = 1, **how: Any) -> Counter[str]:
    """What our machine shows of a test in some placements, on as many CTAs as for one multiprocessor."""
    kernel = ShapeKernel(text)
    board = EngineBoard([kernel], schedule=f"random:{seed}", time_limit=60, **how)
    runner = ShapeRunner(board, [kernel], 1, 1, placements)
    return sum((runner.run(kernel, k, seed + k) for k in range(len(placements))), Counter[str]())


def recorded(case: ShapeCase, counts: Counter[str]) -> dict[str, Any]:
    return {"tests": {shape_answers.digest_of(case.text): {"-O3": dict(counts)}}}


# the kernels --------------------------------------------------------------------------------------------------------------


def test_most_tests_are_asked_and_the_others_have_a_reason() -> None:
    assert len(ASKED) > 600
    refusals = Counter(map(shape_answers.refusal_of, shape_answers.every_case()))
    assert refusals.keys() - {""} <= shape_answers.REFUSALS.keys()
    assert shape_answers.kernel_of(case_of("MP by a proxy").text).refusal == "another proxy"
    assert shape_answers.kernel_of(case_of("barrier", wait="bar.sync 1").text).refusal == "waits for ever"
    assert shape_answers.kernel_of(case_of("MP", place="cta 0,gpu 1").text).refusal == "two GPUs"
    assert shape_answers.refusal_of(case_of("MP by a box", at="0")) == "a tensor map"
    assert shape_answers.refusal_of(case_of("product of a store")) == "not PTX"
    assert shape_answers.refusal_of(case_of("an arrival for two", count="1")) == "breaks a rule"


def test_a_barrier_that_counts_more_threads_than_come_waits_for_ever() -> None:
    text = (
        "PTX b\n{{ x = 0; }}\nP0@cta 0,gpu 0 | P1@cta {},gpu 0 ;\nbar.sync 0, {} | bar.sync 0, {} ;\nexists (x == 1)\n"
    )
    refusals = {(cta, n): ShapeKernel(text.format(cta, n, n)).refusal for cta in (0, 1) for n in (1, 2)}
    assert refusals == {(0, 1): "waits for ever", (0, 2): "", (1, 1): "", (1, 2): "waits for ever"}


@pytest.mark.parametrize(
    "text",
    [
        "PTX s\n{ .shared .b32 x = 0; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == 1)\n",
        "PTX r\n{ .shared .b32 y; }\nP0@cta 1,cluster 0,gpu 0 ;\nld.weak r0, y ;\nexists (P0:r0 == 1)\n",
        "PTX w\n{ .b64 x = 0; }\nP0@cta 0,gpu 0 ;\nst.weak.global.b64 [x], 1 ;\nexists (x == 1)\n",
    ],
)
def test_what_no_kernel_says_is_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        ShapeKernel(text)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", by_shape())
def test_the_kernels_are_ptx(name: str) -> None:
    kernels = [shape_answers.kernel_of(case.text) for case in by_shape()[name]]
    assert len(check(module(kernels)).kernels) == sum(2 + kernel.has_values for kernel in kernels)


def test_the_instructions_are_those_of_the_test() -> None:
    kernel = ShapeKernel(
        case_of("MP", before="fence.acq_rel.gpu", behind="fence.acq_rel.gpu", place="cta 1,gpu 0").text
    )
    text = kernel.kernels()
    body = text[text.index("THREAD0:") : text.index("THREAD1:")].partition("DELAYED:")[2].split("\n")
    assert body[1:4] == ["st.weak.global.b32 [%a0], 1;", "fence.acq_rel.gpu;", "st.weak.global.b32 [%a1], 1;"]
    assert (kernel.clusters, kernel.ctas, kernel.warps) == (2, 1, 1)
    assert kernel.addresses == ["x", "flag", "flag", "x", "x", "flag"]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_locations_do_not_overlap(placement: Placement) -> None:
    """Those of all instances, of two that are neighbours, and of the last one and the end."""
    for cases in by_shape().values():
        kernel = shape_answers.kernel_of(cases[0].text)
        launch = launch_of(kernel, placement, 4, 3)
        stride, apart = launch.settings["stride"], launch.settings["apart"]
        instances = np.arange(launch.instances)[:, None] * stride + np.arange(kernel.locations)[None, :] * apart
        places = np.sort(instances.ravel())
        if kernel.locations:
            assert kernel.locations * launch.instances == 1 or np.diff(places).min() >= kernel.room
            assert places[-1] + kernel.room <= launch.extent
            assert not any(places % kernel.room)
        assert launch.grid % launch.cluster == 0
        assert not (kernel.has_barriers and launch.block != 32 * kernel.warps)


#: shapes of which each case accesses what an operation in flight changes, which ends a launch
IN_FLIGHT = {"load beside a bulk reduction"}


@pytest.mark.parametrize("name", by_shape())
@pytest.mark.slow
def test_our_machine_shows_nothing_forbidden(name: str) -> None:
    case = next((c for c in by_shape()[name] if c.outcome == "forbidden"), by_shape()[name][0])
    if name in IN_FLIGHT:
        with pytest.raises(ptxspec.LaunchError, match="in flight"):
            seen(case.text, (PLACEMENTS[0], PLACEMENTS[4]))
        return
    counts = seen(case.text, (PLACEMENTS[0], PLACEMENTS[4]))
    assert list(shape_answers.unlawful([case], recorded(case, counts))) == []


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_places_in_shared_memory_do_not_overlap(placement: Placement) -> None:
    kernel = ShapeKernel(case_of("buffer used again").text)
    assert kernel.shared == ["y", "full", "empty"]
    launch = launch_of(kernel, placement, 4, 12)
    groups = 12 * launch.settings["slots"]
    assert 0 < groups <= MOST_GROUPS
    instances = np.arange(32 * groups)[:, None] * launch.shared_stride + np.arange(3)[None, :] * launch.shared_apart
    places = np.sort(instances.ravel())
    assert np.diff(places).min() == 16
    declared = re.search(r"pieces\[(\d+)\]", kernel.kernels())
    assert declared is not None
    assert places[-1] + 16 <= int(declared[1]) <= 48 << 10


def test_shared_memory_of_an_instance() -> None:
    """Each variable where the test says so: also one that an instruction has as an operand without brackets."""
    text = ShapeKernel(case_of("arrival from another CTA").text).kernels()
    bodies = [part.partition("DELAYED:\n")[2] for part in text.split("THREAD")[1:]]
    assert [body.splitlines()[:2] for body in bodies[-2:]] == [
        ["mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%s0], 0;", "@p ld.weak.global.b32 r0, [%a1];"],
        ["mapa.shared::cluster.u32 a, %s0, 0;", "st.weak.global.b32 [%a1], 1;"],
    ]
    assert "mbarrier.init.shared.b64 [%y], 1;" in text
    assert text.count("barrier.cluster.arrive") == 2


def test_first_values_of_memory_and_registers() -> None:
    text = (
        "PTX f\n{ x = 2; .b128 z = 3; .shared .b32 y = 1; P0:r2 = 9; }\nP0@cta 0,gpu 0 ;\nld.weak r0, x ;\nld.weak r1, y ;\n"
        "ld.global.u32 r3, [z] ;\nsetp.eq.u32 q, r0, 1 ;\n@!q exit ;\nmov r2, 8 ;\n"
        "exists (P0:r0 == 1 /\\ P0:r1 == 1 /\\ P0:r2 == 1 /\\ P0:r3 == 1)\n"
    )
    assert seen(text, PLACEMENTS).keys() == {"2 1 9 3"}


def test_different_outcomes_come_about() -> None:
    case = case_of("SB", place="cta 1,gpu 0", write="st.relaxed.gpu", fence0="fence.sc.gpu", fence1="fence.sc.gpu")
    assert seen(case.text).keys() == {"0 1", "1 0", "1 1"}


@pytest.mark.slow
def test_a_wait_sees_a_phase_or_none() -> None:
    counts = seen(case_of("arrival from another CTA").text)
    assert counts.keys() == {"1", "9"}


def test_a_value_that_no_counter_is_for_is_told() -> None:
    text = "PTX o\n{ x = 0; }\nP0@cta 0,gpu 0 ;\nst.relaxed.gpu.global.b32 [x], 3 ;\nmul r1, 1, 1 ;\nld.weak r0, x ;\nmul r0, r0, 7 ;\nexists (P0:r0 == 1)\n"
    counts = seen(text, PLACEMENTS[:1])
    assert list(counts) == ["other 21"]
    assert impossible(text, [(21,), (3,)]) == {(3,)}


# outcomes and the model ---------------------------------------------------------------------------------------------------


def test_outcomes_that_no_execution_has() -> None:
    every = {(a, b) for a in (0, 1, 2) for b in (0, 1)}
    relaxed = case_of("MP", write="st.relaxed.gpu", read="ld.relaxed.gpu", before="", behind="", place="cta 1,gpu 0")
    assert impossible(relaxed.text, every) == {(2, 0), (2, 1)}
    released = case_of("MP", write="st.release.gpu", read="ld.acquire.gpu", before="", behind="", place="cta 1,gpu 0")
    assert impossible(released.text, every) == {(1, 0), (2, 0), (2, 1)}
    assert impossible(case_of("CoWW").text, [(0,), (1,), (2,)]) == {(0,), (1,)}
    undefined = next(c for c in shapes()["torn"].cases if c.outcome == "undefined")
    assert impossible(undefined.text, [(9, 9)]) == set()


def test_what_is_forbidden_and_seen_is_noticed() -> None:
    case = case_of("MP", write="st.release.gpu", read="ld.acquire.gpu", before="", behind="", place="cta 1,gpu 0")
    facts = recorded(case, Counter({"0 0": 5, "1 0": 2, "1 1": 3}))
    (wrong,) = shape_answers.unlawful([case], facts)
    assert (wrong.case, wrong.outcome, wrong.counts) == (case, "1 0", {"-O3": 2})
    sighting = shape_answers.sighting(case, facts)
    assert sighting is not None
    assert (sighting.runs, sighting.seen) == ({"-O3": 10}, {"-O3": 2})


# the recorder -------------------------------------------------------------------------------------------------------------


class Driver:
    """A CUDA driver that is our machine: it has the functions of libcuda that the recorder calls, and loads PTX for machine
    code."""

    def __init__(self) -> None:
        self.memory, self.modules, self.functions = Memory(), list[Module](), list[tuple[Module, str]]()
        self.mapped: list[int] = []

    def __getattr__(self, name: str) -> Any:
        quiet = (
            "cuInit",
            "cuDeviceGet",
            "cuDevicePrimaryCtxRetain",
            "cuCtxSetCurrent",
            "cuCtxSynchronize",
            "cuMemSetAccess",
        )
        assert name in quiet, name
        return lambda *_: 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:
        name.value = b"NVIDIA H100 80GB HBM3"
        return 0

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = 13000
        return 0

    def cuDeviceGetAttribute(self, count: Any, attribute: int, device: Any) -> int:
        assert attribute == 16
        count._obj.value = 1
        return 0

    def cuMemAlloc_v2(self, pointer: Any, size: Any) -> int:
        pointer._obj.value = int(self.memory.allocate(size.value))
        return 0

    def cuMemCreate(self, handle: Any, size: Any, properties: Any, flags: Any) -> int:
        assert (properties._obj.type, properties._obj.place.type, ctypes.sizeof(properties._obj)) == (1, 1, 32)
        assert size.value % (2 << 20) == 0
        handle._obj.value = int(self.memory.allocate(size.value))
        return 0

    def cuMemAddressReserve(self, address: Any, size: Any, alignment: Any, wanted: Any, flags: Any) -> int:
        address._obj.value = int(self.memory.allocate(size.value))
        return 0

    def cuMemMap(self, address: Any, size: Any, offset: Any, handle: Any, flags: Any) -> int:
        self.mapped.append(handle.value)
        return 0

    def cuMemsetD8_v2(self, place: Any, value: Any, size: Any) -> int:
        self.memory.view(place.value, np.uint8, size.value)[:] = value.value
        return 0

    def cuMemcpyHtoD_v2(self, place: Any, source: Any, size: Any) -> int:
        ctypes.memmove(self.memory.view(place.value, np.uint8, size.value).ctypes.data, source, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target: Any, place: Any, size: Any) -> int:
        ctypes.memmove(target, self.memory.view(place.value, np.uint8, size.value).ctypes.data, size.value)
        return 0

    def cuModuleLoadData(self, handle: Any, image: bytes) -> int:
        self.modules.append(Module(check(image.decode())))
        handle._obj.value = len(self.modules)
        return 0

    def cuModuleGetFunction(self, function: Any, handle: Any, name: bytes) -> int:
        self.functions.append((self.modules[handle.value - 1], name.decode()))
        function._obj.value = len(self.functions)
        return 0

    def cuLaunchKernelEx(self, asked: Any, function: Any, pointers: Any, extra: Any) -> int:
        shape, (loaded, name) = asked._obj, self.functions[function.value - 1]
        cluster = tuple(shape.attributes[0].cluster) if shape.count else None
        settings = ctypes.cast(pointers[0], ctypes.POINTER(ctypes.c_uint64))[0]
        loaded.launch(name, tuple(shape.grid), tuple(shape.block), [settings], cluster=cluster, memory=self.memory)
        return 0


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    pretended, others = Driver(), ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda n, *how: pretended if "libcuda" in str(n) else others(n, *how))
    monkeypatch.setattr(shape_recorder, "ROUNDS", 1)
    return pretended


def test_a_worker_runs_tests(driver: Driver, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [case_of("cluster barrier"), case_of("MP", place="cta 1,gpu 0")]
    digests = [shape_answers.digest_of(case.text) for case in cases]
    for level in LEVELS:
        (tmp_path / f"code{level}").write_text(module([ShapeKernel(case.text) for case in cases]))
    shape_recorder.worker(str(tmp_path), "0", *digests)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        [what, digest, level] for digest in digests for level in LEVELS for what in ("begin", "end")
    ]
    counts = json.loads(lines[1].split(" ", 3)[3])
    assert counts.keys() == {"1"}
    assert counts["1"] > 1_000


def test_two_addresses_of_the_same_bytes(driver: Driver) -> None:
    kernel = ShapeKernel(case_of("alias").text)
    assert kernel.aliases
    assert kernel.addresses == ["x", "y", "x", "y"]
    board = GpuBoard(Gpu(), module([kernel]).encode())
    first, second = board.allocate_twice(100)
    assert first != second
    assert len(set(driver.mapped)) == 1 < len(driver.mapped)


def test_a_test_that_fails_is_named_and_the_next_ones_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that hangs at the second of three tests, and one that ends with an error there."""
    monkeypatch.setattr(shape_recorder, "PATIENCE", 2.0)
    lines_of = shape_recorder.lines_of
    prints = 'print("begin {0} -O0\\nend {0} -O0 {{}}", flush=True);'
    for stop, wrong in (
        ("import time; time.sleep(60)", "no answer in 2 seconds"),
        ("raise OSError('lost')", "OSError: lost"),
    ):
        scripts = iter([prints.format("a") + f'print("begin b -O0", flush=True); {stop}', prints.format("c")])
        commands: list[Any] = []

        def replaced(command: Any, patience: float, scripts: Any = scripts, commands: Any = commands) -> Any:
            commands.append(command)
            return lines_of([sys.executable, "-c", next(scripts)], patience)

        with monkeypatch.context() as patch:
            patch.setattr(shape_recorder, "lines_of", replaced)
            got = list(shape_recorder.answered("folder", ["a", "b", "c"], 0))
        assert [(digest, counts) for digest, _, counts, _ in got] == [("a", {}), ("b", None), ("c", {})]
        assert got[1][3] == wrong
        assert [command[-1] for command in commands] == ["c", "c"]
        assert commands[1][-2] == "0"


def test_a_process_that_never_begins_is_an_error() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shape_recorder, "lines_of", lambda *_: ([], "no driver"))
        with pytest.raises(GpuError, match="no driver"):
            list(shape_recorder.answered("folder", ["a"], 0))


def test_all_tests_are_recorded(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One test hangs at -O3, and one shows what is forbidden."""
    hangs, wrong = ASKED[0], case_of("MP", write="st.release.gpu", read="ld.acquire.gpu", place="cta 1,gpu 0")
    digest = shape_answers.digest_of(wrong.text)

    def answered(folder: str, digests: list[str], seconds: float) -> Any:
        assert Path(folder, "code-O0").read_bytes() == Path(folder, "code-O3").read_bytes() == b"code"
        assert seconds == pytest.approx(90 / len(ASKED))
        for name in digests:
            stops = name == shape_answers.digest_of(hangs.text)
            yield name, "-O0", {"1 0": 2} if name == digest else {}, ""
            yield name, "-O3", None if stops else {}, "no answer" if stops else ""

    monkeypatch.setattr(shape_recorder, "answered", answered)
    monkeypatch.setattr(
        shape_recorder, "assembled_modules", lambda groups, text: [(g, dict.fromkeys(LEVELS, b"code")) for g in groups]
    )
    assert shape_recorder.main(str(tmp_path), "180") == 0
    facts = shape_answers.stored(tmp_path)
    assert facts is not None
    assert facts["device"] == "NVIDIA H100 80GB HBM3"
    assert facts["failed"] == {f"{shape_answers.digest_of(hangs.text)} -O3": "no answer"}
    assert facts["shapes"] == shape_answers.digest_of_cases(ASKED)
    assert len(facts["tests"]) == len(ASKED)
    printed = capsys.readouterr().out
    assert f"{hangs.name} at -O3: no answer" in printed
    assert f"FORBIDDEN and seen: {wrong.name}" in printed
    assert printed.count("FORBIDDEN") == 1


def test_only_missing_tests_are_recorded(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers that the file has stay, if they are to what is asked, at both levels; it says of both recordings when they were."""
    kept, half, *others = (shape_answers.digest_of(case.text) for case in ASKED)
    facts = {
        "device": "NVIDIA H100 80GB HBM3",
        "driver": "13.0",
        "ptxas": "12.9",
        "date": "2026-01-01",
        "failed": {"x": "lost"},
    }
    facts["placements"] = [list(placement) for placement in PLACEMENTS]
    before = {
        kept: {level: {"7": 1} for level in LEVELS},
        half: {"-O0": {"7": 1}},
        "gone": {level: {"7": 1} for level in LEVELS},
    }
    shape_answers.write(tmp_path, facts, before)
    asked: list[str] = []

    def answered(folder: str, digests: list[str], seconds: float) -> Any:
        asked.extend(digests)
        assert seconds == pytest.approx(90 / (len(ASKED) - 1))
        yield from ((digest, level, {"1": 3}, "") for digest in digests for level in LEVELS)

    monkeypatch.setattr(shape_recorder, "answered", answered)
    monkeypatch.setattr(
        shape_recorder, "assembled_modules", lambda groups, text: [(g, dict.fromkeys(LEVELS, b"code")) for g in groups]
    )
    monkeypatch.setattr(shape_answers, "counted", lambda facts: [])
    assert shape_recorder.main(str(tmp_path), "180", "--missing") == 0
    assert asked == [half, *others]
    after = shape_answers.stored(tmp_path)
    assert after is not None
    assert after["tests"] == {kept: before[kept]} | {digest: {level: {"1": 3} for level in LEVELS} for digest in asked}
    assert after["failed"] == {}
    assert after["ptxas"].split(", ")[0] == "12.9"
    assert after["date"].startswith("2026-01-01, 2")
    shape_answers.write(tmp_path, {**facts, "device": "another"}, before)
    with pytest.raises(GpuError, match="another device"):
        shape_recorder.main(str(tmp_path), "180", "--missing")


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    assert shape_answers.stored(tmp_path) is None
    tests = {"b": {"-O0": {"0 1": 5}}, "a": {"-O3": {"other 7": 1}}}
    shape_answers.write(tmp_path, {"device": "none", "failed": {}}, tests)
    assert shape_answers.stored(tmp_path) == {"device": "none", "failed": {}, "tests": tests}
    assert len((tmp_path / shape_answers.NAME).read_text().splitlines()) == 4


# what a GPU was seen to do ------------------------------------------------------------------------------------------------


def facts_of_gpu() -> dict[str, Any]:
    facts = shape_answers.stored()
    if facts is None:
        pytest.skip("no GPU has been asked about the shapes yet")
    return facts


def test_a_gpu_was_asked_these_tests() -> None:
    facts = facts_of_gpu()
    assert facts["shapes"] == shape_answers.digest_of_cases(ASKED)
    assert facts["failed"] == {}
    for case in ASKED:
        sighting = shape_answers.sighting(case, facts)
        assert sighting is not None, case.name
        assert sighting.runs.keys() == {*LEVELS}, case.name
        assert min(sighting.runs.values()) >= 1_000_000, case.name


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", by_shape())
def test_a_gpu_showed_nothing_forbidden(name: str) -> None:
    assert list(shape_answers.unlawful(by_shape()[name], facts_of_gpu())) == []


def test_the_check_of_what_was_recorded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    case = case_of("MP", write="st.release.gpu", read="ld.acquire.gpu", before="", behind="", place="cta 1,gpu 0")
    for outcome, status in (("1 1", 0), ("1 0", 1)):
        facts = {**recorded(case, Counter({outcome: 4})), "failed": {}}
        monkeypatch.setattr(shape_answers, "stored", lambda facts=facts: facts)
        assert shape_answers.main() == status
        printed = capsys.readouterr().out
        assert (f"{case.name}: 1 0: {{'-O3': 4}}" in printed) == bool(status)
        assert f"1 stated outcomes are forbidden and {'seen' if status else 'not seen'}" in printed
        assert f"{status} outcomes that were seen are forbidden" in printed
    monkeypatch.setattr(shape_answers, "stored", lambda: None)
    assert shape_answers.main() == 1


# pages --------------------------------------------------------------------------------------------------------------------


def test_pages_say_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    shape: Shape = shapes()["S"]
    allowed = next(c for c in shape.cases if c.outcome == "allowed")
    forbidden = next(c for c in shape.cases if c.outcome == "forbidden")
    tests = {
        shape_answers.digest_of(allowed.text): {
            "-O0": {"1 2": 1_200, "0 1": 800},
            "-O3": {"1 2": 34, "0 2": 2_000_000},
        },
        shape_answers.digest_of(forbidden.text): {"-O0": {"1 1": 1_000}, "-O3": {"0 1": 3_000}},
    }
    facts = {"device": "NVIDIA H100 80GB HBM3", "driver": "13.0", "ptxas": "13.0", "date": "2026-11-28", "failed": {}}
    monkeypatch.setattr(shape_answers, "stored", lambda: {**facts, "tests": tests})
    table = litmus_tables.markdown("S", "spec/memory-model/shapes/two-writers")
    assert "| H100 |" in table
    assert "seen 1,234 of 2,002,034 |" in table
    assert "not seen in 4,000 |" in table
    summary = litmus_tables.summary()
    assert "2 programs" in summary
    assert "was never seen" in summary
    assert "Whatever else was seen is allowed, too." in summary
    tests[shape_answers.digest_of(forbidden.text)]["-O3"]["1 2"] = 1
    assert "[seen of 1.]{.gap}" in litmus_tables.summary()
    assert "[1 outcomes that were seen are forbidden.]{.gap}" in litmus_tables.summary()


def test_pages_say_that_no_gpu_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_answers, "stored", lambda: None)
    assert "H100" not in litmus_tables.markdown("S", "spec/memory-model/shapes/two-writers")
    assert litmus_tables.summary() == "No GPU has been asked yet.\n"
