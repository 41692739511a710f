"""Random programs: those that a GPU answered give the same here, bit by bit, and the few on which it differs are known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxspec.evidence import choices
from ptxspec.evidence.location import FOLDER
from ptxspec.language.check import check
from ptxspec.language.forms import registry
from ptxspec.machine.module import Module
from ptxspec_workshop.compare import program_runs
from ptxspec_workshop.generate import cases
from ptxspec_workshop.generate.fuzzing import layout, random_statements, reduction
from ptxspec_workshop.record import program_answers

#: by GPU what it answered, and where that is kept
FOLDERS = {"H200": program_answers.KEPT, "H100": FOLDER / "h100" / "programs"}
ANSWERS = {gpu: program_answers.read(folder) for gpu, folder in FOLDERS.items()}
#: the smallest programs on which the machine, or one of its levels, gives something else than we do
DIFFERING: dict[str, dict[str, Any]] = {
    name: case
    for folder in FOLDERS.values()
    for name, case in json.loads((folder / "differing.json").read_text()).items()
}


def answers_of(gpu: str) -> program_answers.ProgramAnswers:
    answers = ANSWERS[gpu]
    assert answers is not None
    return answers


def agreeing(gpu: str = "H200") -> list[int]:
    """The seeds whose programs gave the same at both levels and here."""
    answers = answers_of(gpu)
    return [seed for seed in answers.digests if str(seed) not in answers.facts["differing"]]


def compared(seeds: list[int], engine: str, gpu: str = "H200") -> None:
    answers = answers_of(gpu)
    made = program_answers.recorded_programs(seeds, FOLDERS[gpu])
    for program, answer in zip(made, program_runs.answers_here(made, engine), strict=True):
        text, recorded = answers.digests[program.seed]
        assert program_answers.digest_of_text(program) == text, f"{program.seed} is not the program that was recorded"
        assert program_answers.digest_of(answer) == recorded, (
            f"{program.seed} gives something else than the machine did"
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gpu", "engine", "start"),
    [
        ("H200", "exact", 0),
        ("H200", "exact", 500),
        ("H200", "native", 300),
        ("H100", "exact", 0),
        ("H100", "native", 900),
    ],
)
def test_a_few_programs_give_what_the_machine_gave(gpu: str, engine: str, start: int) -> None:
    compared(agreeing(gpu)[start : start + 4], engine, gpu)


@pytest.mark.long
@pytest.mark.parametrize("gpu", FOLDERS)
@pytest.mark.parametrize("start", range(0, 1600, 60))
def test_all_programs_give_what_the_machine_gave(gpu: str, start: int) -> None:
    seeds = agreeing(gpu)[start : start + 60]
    compared(seeds, "exact", gpu)
    compared(seeds[:6], "native", gpu)


@pytest.mark.parametrize("gpu", FOLDERS)
def test_the_record_is_of_more_than_a_thousand(gpu: str) -> None:
    answers = answers_of(gpu)
    assert gpu in answers.facts["device"] and answers.facts["profile"] == choices.PROFILE
    assert len(answers.digests) == answers.facts["programs"] and len(agreeing(gpu)) >= 1000
    assert answers.facts["engines differing"] == [] and answers.facts["under both engines"] >= 300
    assert len({text for text, _ in answers.digests.values()}) == len(answers.digests)
    assert len({answer for _, answer in answers.digests.values()}) == len(answers.digests)


def test_every_difference_is_in_the_register() -> None:
    recorded = {f"p{seed}": who for gpu in FOLDERS for seed, who in answers_of(gpu).facts["differing"].items()}
    assert recorded.keys() <= DIFFERING.keys()
    text = Path(registry().pages["ptxspec.spec.ambiguities"].__file__).read_text()
    headings = re.findall(r"^## (AMB-\d+) ", text, flags=re.M)
    for name, case in DIFFERING.items():
        assert case["entry"] in headings, name
        assert name not in recorded or case["who"] == recorded[name], name


@pytest.mark.sample(4)
@pytest.mark.one_in(2)
@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("name", DIFFERING)
def test_where_the_machine_differs_we_stay_as_we_are(name: str, engine: str) -> None:
    """The values that were recorded as ours are so still. At -O0 the machine agrees, where only -O3 rewrites."""
    case = DIFFERING[name]
    module = Module(check(case["text"]))
    out = np.full((layout.THREADS, layout.CELLS), cases.FILL, np.uint64)
    arguments = [layout.inputs(case["seed"]), out]
    module.launch(module.kernels[0], 1, layout.THREADS, arguments, profile=choices.PROFILE, engine=engine)
    assert case["values"]
    for value in case["values"]:
        got = int(out[value["thread"], layout.CELL_NAMES.index(value["cell"])])
        assert hex(got) == value["ours"], value
        machine = {value["-O0"], value["-O3"]}
        assert len(machine) == (2 if case["who"] == "levels" else 1) and machine != {value["ours"]}


@pytest.mark.slow
def test_a_wrong_answer_is_found() -> None:
    """A bit of a register of one thread is enough, at one level or at both."""
    (program,) = program_answers.recorded_programs([agreeing()[0]])
    (ours,) = program_runs.answers_here([program], "exact")
    wrong = ours.copy()
    wrong[63, 3] ^= np.uint64(1)
    assert program_answers.digest_of(wrong) != program_answers.digest_of(ours)
    assert program_runs.differing({"ours": ours, "-O0": ours, "-O3": ours}) == ""
    assert program_runs.differing({"ours": ours, "-O0": ours, "-O3": wrong}) == "levels"
    assert program_runs.differing({"ours": ours, "-O0": wrong, "-O3": wrong}) == "ours"


def test_a_program_is_made_small() -> None:
    """Down to the one statement that matters, wherever it stands."""
    (program,) = program_answers.recorded_programs([7])
    lines = re.findall(r"^.*cvt\..*;$", random_statements.flat(program.body), flags=re.M)
    assert program.size > 10 and lines
    small = reduction.reduced(program, lambda p: lines[-1] in p.text(), 20)
    assert small.size < program.size / 4
    assert lines[-1] in small.text()
    assert program.text() == program_answers.recorded_programs([7])[0].text(), "the program itself stays"


@pytest.mark.slow
def test_programs_are_reproducible_and_have_everything() -> None:
    first, again = ([p.text() for p in program_answers.recorded_programs(range(200))] for _ in range(2))
    assert first == again
    assert np.array_equal(layout.inputs(5), layout.inputs(5))
    text = "".join(first)
    for needed in (".branchtargets", "brx.idx", "call (", "ld.param", ".func (.reg", ".func (.param", "bar.sync", "@!%p",
                   "bra FINISH", "shfl.sync", "vote.sync", "redux.sync", "match.", "bar.red", "atom.shared", "red.",
                   "addc.cc", "madc", "subc", "ld.shared", "st.local", ".v4.", "0f", "0d", "|_"):  # fmt: skip
        assert needed in text, needed
    kinds = program_answers.recorded_forms().kinds
    opcodes = {forms[0][0].syntax.opcode for of_kind in kinds.values() for forms in of_kind}
    assert len(opcodes) > 75
    assert not [opcode for opcode in opcodes if f"{opcode}." not in text]
