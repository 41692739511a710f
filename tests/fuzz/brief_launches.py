"""Small random modules, launched once with a thread as the unit of execution and once with a warp, or some times with the same
arrays, each under the exact engine and under the native one. A case takes a quarter of the time of one of `launches`, so that there
can be many more modules."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import launches

from ptxspec_workshop.generate.fuzzing import random_module

SECONDS, GIBIBYTES = launches.SECONDS, launches.GIBIBYTES
#: for each unit of execution, a thread and a warp
SCHEDULES = ("round-robin", "warps")
#: fast code takes LLVM most of a case's time: half of the cases have it
PATIENCE = (*launches.PATIENCE, launches.PATIENCE[-1])
#: steps after which a launch ends, unless it has fewer
STEPS = 10_000


def make(seed: int) -> list[str]:
    return [random_module.brief(seed).text()]


def judge(seed: int, texts: Sequence[str]) -> Counter[str]:
    module = random_module.brief(seed).surroundings
    source = random.Random(f"brief launches {seed}")
    planned = []
    for schedule in SCHEDULES:
        launch = launches.drawn(source, module)
        times = source.choice((1, 1, 1, 4))
        planned.append(launch._replace(schedule=schedule, limit=min(launch.limit, STEPS), times=times))
    return launches.compared(seed, module, texts, planned, PATIENCE)
