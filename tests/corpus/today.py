"""What today's tools print (collect.py), and what becomes of it with one thing changed, beside the verdicts of ptxas 13.5, which are kept.

python tests/corpus/today.py COUNT SEED makes so many mutants, asks ptxas about all modules and mutants, and keeps what it says. Without
arguments it holds our verdicts of today against those kept, and prints what differs, most frequent first.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from changes import LATER_TARGETS, TODAY, mutated
from collect import kept
from mutants import LARGEST, Account, Mutant, Verdict, complaint, families, refusal

from ptxspec.evidence.assembler import newest_ptxas

KEPT = Path(__file__).resolve().parent / "today_verdicts.json.xz"


class Change(NamedTuple):
    """A module's name, the kind of what was done to it, the place from `start` to `end` and what stands there now; and what
    ptxas says, None where it accepts it."""

    module: str
    kind: str
    start: int
    end: int
    new: str
    theirs: str | None

    @property
    def mutant(self) -> Mutant:
        text = modules()[self.module]
        return Mutant(f"{self.module}: {self.kind}", text[: self.start] + self.new + text[self.end :])


@cache
def modules() -> dict[str, str]:
    """All that is kept, by the tool and the module's name."""
    return {f"{tool}: {name}": text for tool, own in kept().items() for name, text in own["modules"].items()}


def changes(count: int, seed: int, accepted: set[str]) -> Iterator[Change]:
    """Of modules that ptxas accepts and that are not too large: as many of each tool. No verdicts yet; the same for the same seed."""
    rng = random.Random(seed)
    sources: dict[str, list[str]] = {}
    for name, text in modules().items():
        if name in accepted and len(text) <= LARGEST:
            sources.setdefault(name.split(":")[0], []).append(name)
    seen = set()
    while len(seen) < count:
        name = rng.choice(sources[rng.choice(list(sources))])
        text = modules()[name]
        kind = rng.choices(list(TODAY), list(TODAY.values()))[0]
        made = mutated(kind, text, rng)
        if made is None or made == text or made in seen:
            continue
        seen.add(made)
        start = alike(text, made)
        behind = alike(text[start:][::-1], made[start:][::-1])
        yield Change(name, kind, start, len(text) - behind, made[start : len(made) - behind], None)


def alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def arch(text: str, fallback: str) -> str:
    """What ptxas is told to assemble for: the module's target if it is a later one, sm_90 for all before."""
    found = re.search(r"\.target\s+(sm_\w+)", text)
    target = found[1] if found and found[1] in LATER_TARGETS else fallback
    number = int(re.sub(r"\D", "", target))
    return target if number > 90 or target[-1] in "af" else "sm_90"


def asked(found: Iterable[tuple[str, str]], workers: int = 2) -> list[str | None]:
    """What ptxas 13.5 says of each text; with it comes a target for those that name none that is known."""
    by = newest_ptxas()
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda pair: refusal(pair[0], by, arch(*pair)), found))


def target_of(name: str) -> str:
    return name.rsplit(" ", 1)[1]


def ask(count: int, seed: int) -> None:
    """Ask about all modules and so many mutants, and keep the verdicts."""
    own = dict(zip(modules(), asked((text, target_of(name)) for name, text in modules().items()), strict=True))
    made = list(changes(count, seed, {name for name, theirs in own.items() if theirs is None}))
    said = asked((one.mutant.text, target_of(one.module)) for one in made)
    release = subprocess.run([newest_ptxas(), "--version"], capture_output=True, text=True, check=True).stdout
    found = {
        "ptxas": re.search(r"V([\d.]+)", release)[1],  # type: ignore[index]
        "seed": seed,
        "modules": own,
        "mutants": [one._replace(theirs=theirs) for one, theirs in zip(made, said, strict=True)],
    }
    KEPT.write_bytes(lzma.compress(json.dumps(found, indent=0).encode(), preset=9))
    print(f"{len(own)} modules, {len(made)} mutants, {KEPT.stat().st_size} bytes kept")


@cache
def _kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(KEPT.read_bytes()))
    return found


def assembler() -> str:
    """The version of ptxas that gave the verdicts."""
    return str(_kept()["ptxas"])


def of_modules() -> dict[str, str | None]:
    """What ptxas says of each module, by its name."""
    return dict(_kept()["modules"])


def of_mutants() -> list[Change]:
    return [Change(*one) for one in _kept()["mutants"]]


def judged(mutant: Mutant, theirs: str | None) -> Verdict:
    """Both verdicts, that of ptxas as it is kept."""
    begun = time.thread_time()
    ours = complaint(mutant.text)
    taken = time.thread_time() - begun
    return Verdict(mutant, ours, theirs, taken, families(mutant.text) if ours is None else ())


def main() -> None:
    if len(sys.argv) == 3:
        ask(int(sys.argv[1]), int(sys.argv[2]))
    whole, changed = Account(), Account()
    whole.add(judged(Mutant(name, modules()[name]), theirs) for name, theirs in of_modules().items())
    changed.add(judged(one.mutant, one.theirs) for one in of_mutants())
    for title, account in (("modules", whole), ("mutants", changed)):
        print(f"ptxas {assembler()}, {title}: {account}", *account.table(), sep="\n")


if __name__ == "__main__":
    main()
