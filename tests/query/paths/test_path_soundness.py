"""Random programs: what is proved holds where both engines run it, and what is refuted differs there.

    python tests/query/paths/test_path_soundness.py FIRST COUNT [warp]

goes through the pairs of these seeds, and prints the counts of the verdicts.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from path_programs import LANES, SIZE, Runner, pair

import ptxspec

#: inputs on which what is proved is run
ROWS = 12
_TYPICAL = np.array([0, 1, 2, 3, 5, 8, 31, 255, 1 << 31, (1 << 32) - 1, 12345678], np.uint32)


def judged(seed: int, warp: bool) -> str:
    """The verdict on a pair, once launches have borne it out."""
    left, right = pair(seed, warp)
    buffers = None if warp else {"m": SIZE}
    verdict = ptxspec.prove(left, right, timeout=20, buffers=buffers, warp=warp, compare=["*"], nan="payloads")
    runners, lanes = (Runner(left), Runner(right)), LANES if warp else 1
    said = f"seed {seed}, warp={warp}: {verdict.status} {verdict.reason}\n{left}\n--- and\n{right}"
    if verdict.status == "proved":
        rng = np.random.default_rng(seed)
        for row in range(ROWS):
            inputs = rng.choice(_TYPICAL, (lanes, 2))
            memory = rng.integers(0, 256, SIZE).astype(np.uint8)
            engines = ("exact", "native") if row < 2 else ("native",)
            for engine in engines:
                first, second = (r.run(inputs, memory, engine) for r in runners)
                assert first == second, f"{engine}, {inputs.tolist()}, {memory.tolist()}\n{said}"
    if verdict.counterexample is not None:
        found = verdict.counterexample.inputs
        inputs = np.array([[found.get(name, 0) for name in _names(i, warp)] for i in range(lanes)], np.uint32)
        memory = np.array([found.get(f"m[{i}]", 0) for i in range(SIZE)], np.uint8)
        for engine in ("exact", "native"):
            first, second = (r.run(inputs, memory, engine) for r in runners)
            assert first != second, f"{engine}, {found}\n{said}"
    assert verdict.status in ("proved", "refuted", "exhausted"), said
    return verdict.status


def _names(lane: int, warp: bool) -> list[str]:
    return [f"a[{lane}]", f"b[{lane}]"] if warp else ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("warp", [False, True])
def test_some_random_programs(warp: bool) -> None:
    counts = Counter(judged(seed, warp) for seed in (range(2, 7) if not warp else (1, 5)))
    assert counts["proved"] and counts["refuted"]


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_random_programs(first: int) -> None:
    counts = Counter(judged(seed, warp=False) for seed in range(first, first + 100))
    assert counts["proved"] > 10 and counts["refuted"] > 10 and counts["exhausted"] < 5


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 1200, 20))
def test_many_random_programs_of_warps(first: int) -> None:
    counts = Counter(judged(seed, warp=True) for seed in range(first, first + 20))
    assert counts["proved"] and counts["refuted"] and counts["exhausted"] < 3


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    print(dict(Counter(judged(seed, "warp" in sys.argv) for seed in range(first, first + count))))
