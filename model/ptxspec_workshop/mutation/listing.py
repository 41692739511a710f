"""Which of all possible mistakes a campaign plants: a fixed spread of them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache

from ptxspec.literate import finder
from ptxspec_workshop.mutation.mutants import Mutant, of_page
from ptxspec_workshop.mutation.reach import graph

#: mutants of a page that a campaign plants, by its folder: those with definitions, and those whose functions these share
FOLDERS = {"instructions": 3, "arithmetic": 16, "operands": 10, "types": 8, "matrices": 8, "textures": 6}


def spread(mutants: Iterable[Mutant], count: int) -> list[Mutant]:
    """Some of a page's mutants: as many functions and kinds as there can be, else in an order that their ids make."""
    waiting = sorted(mutants, key=lambda m: hashlib.sha256(m.id.encode()).digest())
    chosen: list[Mutant] = []
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    while waiting and len(chosen) < count:
        best = min(
            waiting, key=lambda m: (seen["place"][f"{m.line}:{m.column}"], seen["f"][m.function], seen["k"][m.kind])
        )
        waiting.remove(best)
        chosen.append(best)
        seen["place"][f"{best.line}:{best.column}"] += 1
        seen["f"][best.function] += 1
        seen["k"][best.kind] += 1
    return chosen


@cache
def listed() -> tuple[Mutant, ...]:
    """The mutants of a campaign, page by page."""
    reached = graph()
    chosen: list[Mutant] = []
    for module, path in finder.pages("ptxspec.spec"):
        folder = module.split(".")[2]
        if path.stem != "index" and folder in FOLDERS:
            chosen += spread([m for m in of_page(module) if reached.opcodes(m)], FOLDERS[folder])
    return tuple(chosen)
