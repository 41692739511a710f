"""The example kernels with a word or two exchanged: whatever they do then, both engines do the same."""

from __future__ import annotations

import random
import re
import runpy
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, arguments

import ptxspec

pytestmark = pytest.mark.sample(4)

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SIZES = {"hash": (150, 2), "mandelbrot": (17, 5, 4), "matmul": (4, 5, 6), "reduction": (150, 2, 32), "saxpy": 150}
WORDS = re.compile(r"\s+|[\w.%$]+|.")


@cache
def example(name: str) -> tuple[str, str, dict[str, Any]]:
    """(the kernel's name, its text, a small launch)"""
    reference = runpy.run_path(str(EXAMPLES / name / "reference.py"))
    reference["SIZES"]["small"] = SIZES[name]
    return reference["KERNEL"], reference["PTX"].read_text(), reference["case"]("small")


def mutant(text: str, rng: random.Random) -> str:
    """The text with up to three words of its body deleted, exchanged, or replaced, mostly by others of their kind."""
    head, brace, body = text.partition("{")
    words = WORDS.findall(body)
    for _ in range(rng.choice([1, 1, 2, 3])):
        places = [i for i, word in enumerate(words) if not word.isspace()]
        i, j, kind = rng.choice(places), rng.choice(places), rng.randrange(6)
        if kind == 0:
            del words[i]
        elif kind == 1:
            words[i], words[j] = words[j], words[i]
        elif kind == 2:
            words[i] = words[j]
        else:
            stem = re.sub(r"\d+", "", words[i])[:3]
            words[i] = words[rng.choice([k for k in places if re.sub(r"\d+", "", words[k])[:3] == stem])]
    return head + brace + "".join(words)


def outcome(name: str, text: str, engine: str) -> tuple[object, ...]:
    """What the launch did: the arrays and the steps, or the error, before which the arrays are as they were."""
    kernel, _, case = example(name)
    args = arguments(case["args"])
    try:
        done = ptxspec.load(text).launch(kernel, case["grid"], case["block"], args, engine=engine, step_limit=30_000)
    except ptxspec.LaunchError as error:
        for before, after in zip(case["args"], args, strict=True):
            assert not isinstance(before, np.ndarray) or before.tobytes() == after.tobytes()
        return error.rule, str(error)
    return "", done.steps, *(a.tobytes() for a in args if isinstance(a, np.ndarray))


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_mutants(name: str) -> None:
    """Eight for each example that differ from it and can still be loaded."""
    rng, seen = random.Random(name), Counter[object]()
    text = example(name)[1]
    while seen.total() < 8:
        changed = mutant(text, rng)
        try:
            ptxspec.load(changed)
        except ptxspec.PtxError:
            continue
        exact, native = (outcome(name, changed, engine) for engine in ENGINES)
        assert exact == native, changed
        seen[exact[0]] += 1
    assert seen[""], "none of them ran to its end"
