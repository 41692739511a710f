"""The multifunction unit's definitions give what an H200 gave, bit by bit, and are near to what the functions are in truth."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxspec.evidence import assembler
from ptxspec.terms import TYPES
from ptxspec.terms.core import integer
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.profiles import CHOICES, Profile
from ptxspec.terms.symbolic import Script, ground
from ptxspec.terms.vocabulary import make
from ptxspec_workshop.compare import checksums
from ptxspec_workshop.generate import multifunction_kernels, multifunction_operands
from ptxspec_workshop.record import multifunction_answers

ANSWERS = multifunction_answers.read()
BY_NAME = {f.instruction: f for f in multifunction_operands.FUNCTIONS}
every_function = pytest.mark.parametrize("function", multifunction_operands.FUNCTIONS, ids=lambda f: f.instruction)


def columns(function: multifunction_operands.MultifunctionInstruction) -> list[np.ndarray]:
    kept = [f"{function.kind}{j}" for j in range(2)]
    return [ANSWERS.samples[name] for name in kept if name in ANSWERS.samples]


def rows(function: multifunction_operands.MultifunctionInstruction, step: int) -> list[tuple[dict[str, int], int]]:
    """Every step-th sample: the operands by name, and what the GPU gave."""
    answers = ANSWERS.answers[function.instruction]
    taken = [column[::step].tolist() for column in (*columns(function), answers)]
    return [(dict(zip("xy", values, strict=False)), want) for *values, want in zip(*taken, strict=True)]


def test_the_answers_are_those_of_a_gpu_for_every_function() -> None:
    assert ANSWERS.facts["device"] == "NVIDIA H200"
    assert ANSWERS.facts["instructions"] == [f.instruction for f in multifunction_operands.FUNCTIONS] == list(BY_NAME)
    assert set(ANSWERS.blocks) == set(ANSWERS.answers) == set(BY_NAME)
    assert all(len(b) == multifunction_operands.BLOCKS for b in ANSWERS.blocks.values())
    assert multifunction_operands.BLOCKS * multifunction_operands.BLOCK == ANSWERS.facts["operands"] == 1 << 32
    for kind, made in multifunction_operands.samples().items():
        for j, column in enumerate(made):
            assert np.array_equal(column, ANSWERS.samples[f"{kind}{j}"])
            assert len(column) > 1000


@every_function
def test_compiled_definitions_give_the_sample_answers(
    function: multifunction_operands.MultifunctionInstruction,
) -> None:
    (run,) = checksums.compiled([function])
    got, want = run(columns(function)), ANSWERS.answers[function.instruction]
    wrong = np.flatnonzero(got != want)
    assert len(got) == len(want) and not len(wrong), [
        [hex(int(c[i])) for c in (*columns(function), got, want)] for i in wrong[:5]
    ]


@every_function
def test_exact_evaluation_gives_the_sample_answers(function: multifunction_operands.MultifunctionInstruction) -> None:
    term = function.meaning.results[0].values[0]
    for values, want in rows(function, 5):
        assert evaluate(term, values) == want, values


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [f for f in BY_NAME if ".ftz" not in f or "f64" in f])
def test_formulas_give_the_sample_answers(name: str) -> None:
    function = BY_NAME[name]
    term = function.meaning.results[0].values[0]
    for values, want in rows(function, 1999 if "f64" in name else 499):
        script = Script()
        env = {n: script.const(v, function.width) for n, v in values.items()}
        assert ground(script, Lowering(script, env).low(term, function.width), function.width) == want, values


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("number", "function"), list(enumerate(multifunction_operands.FUNCTIONS)), ids=list(BY_NAME))
def test_a_block_has_the_checksum_of_the_answers(
    number: int, function: multifunction_operands.MultifunctionInstruction
) -> None:
    """One block of 2^23 operands each, among those whose results vary; `--compare` looks at all."""
    block = 120 + number * 3 % 16
    assert checksums.differing(function, ANSWERS.blocks[function.instruction], [block]) == []


def test_a_wrong_answer_changes_the_checksum() -> None:
    function = BY_NAME["rcp.approx.ftz.f32"]
    (run,) = checksums.compiled([function])

    def nearly(operands: list[np.ndarray]) -> np.ndarray:
        answer = run(operands)
        answer[operands[0] == 0x3F812345] ^= 1
        return answer

    block = 0x3F812345 >> 23
    want = int(ANSWERS.blocks[function.instruction][block])
    assert checksums.checksum(function, run, block) == want != checksums.checksum(function, nearly, block)
    changed = ANSWERS.blocks[function.instruction].copy()
    changed[3] ^= np.uint64(1)
    assert checksums.differing(function, changed, [3]) == [3]


def test_all_operands_were_compared_with_the_tables_of_today() -> None:
    compared = json.loads((multifunction_answers.KEPT / "compared.json").read_text())
    assert compared["tables"] == checksums.table_digests()
    assert (
        compared["checksums"] == ANSWERS.facts["digests"]["blocks"]
        and compared["blocks"] == multifunction_operands.BLOCKS
    )
    assert compared["differing"] == dict.fromkeys(BY_NAME, 0)


def test_answers_that_were_changed_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    shutil.copytree(multifunction_answers.KEPT, folder)
    assert multifunction_answers.read(folder).facts == ANSWERS.facts
    data = bytearray((folder / "blocks.npz").read_bytes())
    data[500] ^= 1
    (folder / "blocks.npz").write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"blocks\.npz: the digest is not the recorded one"):
        multifunction_answers.read(folder)


def test_the_gpus_kernels_are_accepted(tmp_path: Path) -> None:
    source = tmp_path / "unit.ptx"
    source.write_text(multifunction_kernels.kernels())
    command = [assembler.ptxas(), "-arch=sm_90", "-O0", str(source), "-o", str(tmp_path / "unit.cubin")]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
    assert multifunction_kernels.kernels().count(".visible .entry") == 2 * len(multifunction_operands.FUNCTIONS)


# The functions themselves ----------------------------------------------------------------------------------------------

TRUTH: dict[str, tuple[Any, float]] = {
    # (the function in double precision, the greatest relative error, counted in 2^-23)
    "rcp": (lambda x: 1 / x, 1),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2 ** (23 - 22.9)),
    "sqrt": (np.sqrt, 1),
}


@pytest.mark.parametrize("opcode", TRUTH)
@pytest.mark.parametrize("suffix", [".approx.ftz.f32", ".approx.f32"])
def test_relative_errors_are_within_the_bounds_of_ptx(opcode: str, suffix: str) -> None:
    function, most = TRUTH[opcode]
    x = np.random.default_rng(5).integers(0x01000000, 0x7E000000, 1 << 20).astype(np.uint32)
    (run,) = checksums.compiled([BY_NAME[opcode + suffix]])
    got, want = run([x]).view(np.float32).astype(float), function(x.view(np.float32).astype(float))
    error = np.abs(got / want - 1)
    assert 2**-25 < error.max() <= most * 2**-23


def test_logarithms_powers_and_waves_are_within_the_bounds_of_ptx() -> None:
    random = np.random.default_rng(6)
    names = ["lg2.approx.f32", "ex2.approx.f32", "sin.approx.f32", "cos.approx.f32"]
    lg2, ex2, sin, cos = checksums.compiled([BY_NAME[n] for n in names])
    x = (2 ** random.uniform(-1, 1, 1 << 18)).astype(np.float32)
    assert np.abs(lg2([x.view(np.uint32)]).view(np.float32) - np.log2(x.astype(float))).max() < 2**-22
    x = random.uniform(-120, 120, 1 << 18).astype(np.float32)
    power = ex2([x.view(np.uint32)]).view(np.float32).astype(float)
    assert np.abs(power / 2.0 ** x.astype(float) - 1).max() < 2**-22
    x = random.uniform(-np.pi, np.pi, 1 << 18).astype(np.float32)
    for run, function in ((sin, np.sin), (cos, np.cos)):
        error = np.abs(run([x.view(np.uint32)]).view(np.float32) - function(x.astype(float)))
        assert error.max() < 2**-20.5


def test_hyperbolic_tangents_are_within_the_bound_of_ptx() -> None:
    x = np.random.default_rng(9).uniform(-9, 9, 1 << 18).astype(np.float32)
    (run,) = checksums.compiled([BY_NAME["tanh.approx.f32"]])
    error = np.abs(run([x.view(np.uint32)]).view(np.float32) / np.tanh(x.astype(float)) - 1)
    assert 2**-20 < error.max() < 2**-16 < 2**-11


def test_quotients_are_within_two_ulps() -> None:
    """Of the rounded quotient: some are off from the exact one by 2.09."""
    random = np.random.default_rng(7)
    x, y = (random.uniform(1, 2, 1 << 18).astype(np.float32) for _ in range(2))
    for name in ("div.approx.f32", "div.full.f32", "div.approx.ftz.f32", "div.full.ftz.f32"):
        (run,) = checksums.compiled([BY_NAME[name]])
        got = run([x.view(np.uint32), y.view(np.uint32)]).view(np.float32).astype(float)
        want = x / y
        assert (np.abs(got - want) <= 2 * np.where(want < 1, 2.0**-24, 2.0**-23)).all()


def test_double_precision_is_improved_almost_to_the_last_place() -> None:
    x = np.exp(np.random.default_rng(8).uniform(-300, 300, 1 << 16))
    (run,) = checksums.compiled([BY_NAME["rsqrt.approx.f64"]])
    got = run([x.view(np.uint64)]).view(np.float64)
    assert np.abs(got * np.sqrt(x) - 1).max() < 2**-51


# The profile -----------------------------------------------------------------------------------------------------------

SLUGS = {
    "approximate-rcp": "rcp.approx", "approximate-rsqrt": "rsqrt.approx", "approximate-sqrt": "sqrt.approx",
    "approximate-div": "div.approx", "full-range-div": "div.full", "approximate-sin": "sin.approx",
    "approximate-cos": "cos.approx", "approximate-lg2": "lg2.approx", "approximate-ex2": "ex2.approx",
    "approximate-tanh": "tanh.approx", "approximate-rcp-double": "rcp.approx", "approximate-rsqrt-double": "rsqrt.approx",
}  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_hopper_chooses_what_the_unit_gives(slug: str) -> None:
    """The choices take the operands, and whether there is .ftz where both is possible."""
    profile = Profile("hopper")
    assert slug in CHOICES["hopper"]
    type = TYPES["f64" if slug.endswith("double") else "f32"]
    given = {"approximate-rcp-double": (True,), "approximate-tanh": (False,)}.get(slug)
    for ftz in given or (True, False):
        function = BY_NAME[f"{SLUGS[slug]}{'.ftz' if ftz else ''}{type}"]
        for values, want in rows(function, 97):
            operands = (*values.values(), *(() if given else (int(ftz),)))
            freedom = make(
                "freedom", tuple(map(integer, operands)), (slug, type.width, "approximate", type, None, "", "")
            )
            assert profile.value(freedom, operands) == want
