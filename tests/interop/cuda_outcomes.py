"""What comes of each mistake in the programs of cuda_programs.py, and by which way of launching it is told first: cuda_outcomes.json.

Run it after a change of a program, a mistake or a rule: python tests/interop/cuda_outcomes.py [PROGRAM…]
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cuda_compile import RIGHT, kept
from cuda_programs import PROGRAMS

import ptxspec

KEPT = Path(__file__).resolve().parent / "cuda_outcomes.json"
WRONG = "wrong result"
#: what may differ between runs of a GPU, and then what is looked for, in the order in which mistakes are told soonest
WAYS: dict[str, dict[str, Any]] = {
    "late": {"copies": "late"},
    "early": {"copies": "early"},
    "each": {"copies": "each"},
    **{f"random {i}": {"copies": f"random:{i}", "schedule": f"random:{i}"} for i in (1, 2, 3)},
    "uninitialized": {"copies": "late", "check": "uninitialized"},
    "race": {"copies": "late", "check": "race"},
}


def outcome(name: str, what: str = RIGHT, engine: Any = "native", short: bool = False, **how: Any) -> str:
    """The rule under which a launch ends, or WRONG, or nothing if the results are right. What Hopper chooses counts."""
    launch = PROGRAMS[name].launch(short or "check" in how)
    module = ptxspec.load(kept()[name][what], f"{name}.ptx")
    options = {"engine": engine, "profile": "hopper", "time_limit": 300.0, **how}
    try:
        module.launch(name, launch.grid, launch.block, launch.args, dynamic_shared=launch.shared, **options)
    except ptxspec.LaunchError as error:
        return error.rule
    assert all(want.any() for want in launch.expected)
    same = all(np.array_equal(*both) for both in zip(launch.out, launch.expected, strict=True))
    return "" if same else WRONG


def first_told(name: str, what: str) -> tuple[str, str]:
    """What comes of a mistake, and the way that tells. Raises ValueError if none does."""
    for way, how in WAYS.items():
        comes = outcome(name, what, **how)
        if comes:
            return comes, way
    raise ValueError(f"{name}: nothing tells that {what}")


@cache
def outcomes() -> dict[str, dict[str, list[str]]]:
    """What is kept: by program and mistake, what comes of it, and the way."""
    found: dict[str, dict[str, list[str]]] = json.loads(KEPT.read_text())
    return found


def main() -> None:
    told = outcomes() if KEPT.exists() else {}
    for name in sys.argv[1:] or PROGRAMS:
        told[name] = {what: list(first_told(name, what)) for what in PROGRAMS[name].mistakes}
        print(name, len(told[name]), flush=True)
    KEPT.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
