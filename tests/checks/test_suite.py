"""Kernels with a fault, and the same without it: what the checks of a launch tell of the one, and that they are silent of the other."""

from __future__ import annotations

import gc
import shutil
import warnings
from typing import Any

import numpy as np
import pytest
from fault_cases import (
    BY_NAME,
    CASES,
    LEAKS,
    RACES,
    SCHEDULES,
    SUITE,
    UNINITIALIZED,
    UNSEEN,
    WORDS,
    Case,
    Piece,
    mark_at,
    marks_of,
    module_of,
)
from make_suite import compile_kernel

import ptxspec

ENGINES = ("native", "exact")
#: a case that takes the exact engine nine seconds
SPINNING = "flag_unpublished"


class Launched:
    """A launch of a kernel that is right, or has its fault, with a check. `error` is what ended it, if that was a rule of launches."""

    def __init__(self, case: Case, fault: bool, engine: str, schedule: str, check: str, findings: str = "collect"):
        self.case, self.memory, self.given = case, ptxspec.Memory(), case.args()
        module = module_of(case.name, fault)
        if case.image is not None:
            surface = ptxspec.Surface(np.zeros(case.image, np.uint32))
            module.bind("image", surface)
            if ".texref" in case.source.read_text():
                module.bind("texture", ptxspec.Texture(surface, address="clamp"))
        self.args = [self._argument(given, fault) for given in self.given]
        self.error: ptxspec.LaunchError | None = None
        self.findings: tuple[ptxspec.LaunchFinding, ...] = ()
        try:
            outcome = module.launch(
                "k", case.grid, case.block, self.args, cluster=case.cluster, dynamic_shared=case.dynamic_shared, engine=engine,
                schedule=schedule, memory=self.memory, check=check, findings=findings,
            )  # fmt: skip
            self.findings = outcome.findings
        except ptxspec.LaunchError as error:
            self.error, self.findings = error, error.findings

    def _argument(self, given: Any, fault: bool) -> Any:
        if isinstance(given, np.ndarray):
            return given.copy()
        if not isinstance(given, Piece):
            return given
        zeros = given.filled and not fault
        return self.memory.put(np.zeros(given.size, np.uint8)) if zeros else self.memory.allocate(given.size)

    def check_results(self) -> None:
        for number, wanted in self.case.want(*self.given).items():
            result = self.args[number]
            if not isinstance(result, np.ndarray):
                result = self.memory.view(result, np.int32)
            if callable(wanted):
                assert wanted(result), result
            else:
                np.testing.assert_array_equal(result, wanted)

    def place(self, *instructions: ptxspec.Where | None) -> frozenset[str]:
        """The names of the lines of instructions."""
        return frozenset(mark_at(self.case, True, where.line) for where in instructions if where is not None)

    @property
    def is_told(self) -> bool:
        """Whether the fault is told: by findings, all where they should be, or by a rule that it breaks."""
        wrong = [
            str(finding)
            for finding in self.findings
            if self.place(finding.where, finding.other) not in self.case.places
        ]
        assert not wrong, "\n\n".join(wrong)
        if self.error is not None:
            assert self.error.rule in self.case.rules, self.error
            assert self.place(self.error.where, self.error.other) in self.case.places, self.error
        return bool(self.findings) or self.error is not None


def check_right(case: Case, engine: str, schedule: str) -> None:
    launched = Launched(case, False, engine, schedule, "all")
    assert launched.error is None and not launched.findings, launched.error or "\n".join(map(str, launched.findings))
    launched.check_results()


def check_fault(case: Case, engine: str, schedule: str) -> None:
    launched = Launched(case, True, engine, schedule, case.kind)
    told = launched.is_told
    assert told or (case.schedules is not None and schedule not in case.schedules), "nothing is told"
    assert all(finding.kind == case.kind for finding in launched.findings)
    if launched.findings and case.name in WORDS:
        assert any(WORDS[case.name] in finding.note for finding in launched.findings), [
            f.note for f in launched.findings
        ]


@pytest.mark.sample(6, lambda case: [case.kind])
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow if c.name == SPINNING else ()) for c in CASES],
    ids=lambda case: case.name,
)
def test_the_fault_is_told_and_the_right_kernel_is_silent(case: Case) -> None:
    """Under one engine, in one schedule."""
    engine = ENGINES[CASES.index(case) % 2]
    schedule = (case.schedules or SCHEDULES)[0]
    check_right(case, engine, schedule)
    check_fault(case, engine, schedule)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_in_ten_schedules(case: Case, engine: str) -> None:
    for schedule in SCHEDULES:
        check_right(case, engine, schedule)
        check_fault(case, engine, schedule)
    gc.collect()  # modules are in cycles, and few objects hold much memory


@pytest.mark.sample(3, lambda case, engine: [engine, *case.rules])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", UNSEEN, ids=lambda case: case.name)
def test_what_no_check_tells(case: Case, engine: str) -> None:
    """Guides say that these are not told: where one is, they are to be changed."""
    for schedule in ("round-robin", "random:1"):
        check_right(case, engine, schedule)
        assert not Launched(case, True, engine, schedule, case.kind).findings


@pytest.mark.parametrize("name", ["broadcast", "u_struct"])
def test_a_launch_with_findings_ends_in_an_error(name: str) -> None:
    case = BY_NAME[name]
    launched = Launched(case, True, "native", "auto", case.kind, findings="raise")
    assert launched.error is not None and launched.error.rule == case.kind and launched.findings
    first = launched.findings[0]
    assert (launched.error.where, launched.error.other) == (first.where, first.other)


def test_findings_have_the_lines_of_cuda() -> None:
    """Where the code was not inlined; of what was, `.loc` tells the line in its header first."""
    case = BY_NAME["wrong_place"]
    lines = {("wrong_place.cu", number) for number in marks_of(case.name)}
    for finding in Launched(case, True, "native", "auto", "race").findings:
        assert finding.other is not None and {finding.where.origin, finding.other.origin} == lines


def test_the_suite_is_whole() -> None:
    """Each kernel is a case, each case has its kernels, and the lines that it names."""
    sources = {path.name.split(".")[0] for path in SUITE.iterdir()}
    assert sources == set(BY_NAME) and len(BY_NAME) == len(CASES) + len(UNSEEN)
    assert sum(map(len, RACES.values())) + len(UNINITIALIZED) + len(LEAKS) == len(CASES) >= 90
    assert all(len(group) >= 6 for group in RACES.values()) and set(WORDS) <= set(BY_NAME)
    for case in BY_NAME.values():
        made = [case.source.with_suffix(end) for end in (".ptx", ".fault.ptx")] if case.source.suffix == ".cu" else []
        assert all(path.exists() for path in made), case.name
        assert frozenset().union(*case.places) - {"from"} <= set(marks_of(case.name).values()), case.name
        assert (not case.at) == (case in UNSEEN) and set(case.schedules or ()) <= set(SCHEDULES), case.name


@pytest.mark.long
@pytest.mark.parametrize(
    "case", [case for case in BY_NAME.values() if case.source.suffix == ".cu"], ids=lambda case: case.name
)
def test_kernels_are_what_nvcc_makes_of_them(case: Case) -> None:
    if shutil.which("nvcc") is None:
        reason = "NO NVCC: that the suite's PTX is what its CUDA is compiled to was NOT tested"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    for ending, options in ((".ptx", ()), (".fault.ptx", ("-DFAULT",))):
        stored = case.source.with_suffix(ending).read_text()
        assert without_strings(compile_kernel(case.source, *options)) == without_strings(stored)


def without_strings(text: str) -> str:
    """A text without the strings of its debugging information, in which nvcc has names made of the folder that it runs in."""
    return text.partition("\t.section\t.debug_str")[0]
