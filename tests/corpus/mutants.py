"""Modules, and modules with one thing changed: what the checker and ptxas say of them.

python tests/corpus/mutants.py COUNT SEED [FAMILY …] [--new COUNT] [--ptxas PATH] makes so many mutants of each family (seeds.py: what
nvcc prints, and what people write), and so many new modules of it, and prints for each how often both agree and what they differ in,
most frequent first, and one figure for all together.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from changes import HAND, KINDS, mutated
from seeds import DRAWN, FAMILIES, drawn, modules, seeds

from ptxspec.evidence.assembler import ptxas
from ptxspec.language.check import check
from ptxspec.language.diagnostics import PtxError
from ptxspec.language.gaps import gaps_of

#: larger modules are not mutated: an assembler's time goes with their size
LARGEST = 9000

#: how the complaints begin that are none: a signal, or an error within ptxas
CRASHES = (
    "exit ",
    "ptxas fatal   : Attempted to Dereference Out of Bounds",
    "ptxas fatal   : Memory allocation failure",
    "ptxas fatal   : (C7907) Internal compiler error",
)


class Mutant(NamedTuple):
    """`what` says from which module it comes, and what was done to it."""

    what: str
    text: str


class Verdict(NamedTuple):
    """The first complaint of each, None where the module is accepted."""

    mutant: Mutant
    ours: str | None
    theirs: str | None
    seconds: float  #: that the checker took
    gaps: tuple[str, ...] = ()  #: the families without a page that an accepted module has instructions of

    @property
    def crashed(self) -> bool:
        """Whether ptxas broke down instead of giving a verdict."""
        return self.theirs is not None and self.theirs.startswith(CRASHES)

    @property
    def dropped(self) -> bool:
        """Whether ptxas gives no verdict because addresses have 32 bits, which they have by ours too (AMB-294)."""
        said = self.theirs is not None and re.search("32-Bit (ABI|compilation)", self.theirs) is not None
        return said and (self.ours is not None or check(self.mutant.text).address_size == 32)

    @property
    def agrees(self) -> bool:
        return (self.ours is None) == (self.theirs is None)


def mutants(count: int, seed: int, family: str = "nvcc") -> Iterator[Mutant]:
    """Of modules that the checker accepts. The same for the same seed."""
    rng = random.Random(seed)
    kinds = KINDS if family == "nvcc" else HAND
    sources = {}
    for source, own in seeds(family).items():
        small = {name: text for name, text in own.items() if len(text) <= LARGEST and complaint(text) is None}
        sources[source] = sorted(small.items())
    while count:
        source = next(iter(sources)) if len(sources) == 1 else rng.choice(list(sources))
        name, text = rng.choice(sources[source])
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        made = mutated(kind, text, rng)
        if made is not None and made != text:
            count -= 1
            yield Mutant(f"{name}: {kind}" if len(sources) == 1 else f"{source}: {name}: {kind}", made)


def complaint(text: str) -> str | None:
    """The checker's first complaint. Whatever else it raises is a defect, and goes on up."""
    try:
        check(text)
    except PtxError as error:
        return f"{error.diagnostics[0].message} | {error.diagnostics[0].source.strip()}"
    return None


def families(text: str) -> tuple[str, ...]:
    """The families of the gaps of a module that the checker accepts."""
    return tuple(dict.fromkeys(gap.message.split(" is PTX (")[0] for gap in gaps_of(check(text))))


def refusal(text: str, by: str | None = None, arch: str = "sm_90") -> str | None:
    """The first complaint of ptxas for a target. `by` is the path of another ptxas."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "m.ptx")
        source.write_text(text)
        command = [by or ptxas(), f"-arch={arch}", "-O0", str(source), "-o", str(Path(folder, "m.cubin"))]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
        except subprocess.TimeoutExpired:
            return "exit: no answer in a minute"
    if not run.returncode:
        return None
    errors = [line for line in (run.stdout + run.stderr).splitlines() if re.search("error|fatal", line)]
    found = re.search(r"line (\d+); \w+ *: (.*)", errors[0]) if errors else None
    if found is None:
        return errors[0] if errors else f"exit {run.returncode}"
    lines = text.splitlines()
    return f"{found[2]} | {lines[min(int(found[1]), len(lines)) - 1].strip()}"


def verdicts(found: Iterable[Mutant], workers: int = 2, by: str | None = None) -> Iterator[Verdict]:
    """Both verdicts on each; ptxas, or the one at a path, runs as often as there are workers, at the same time."""
    found = list(found)
    with ThreadPoolExecutor(workers) as pool:
        refusals = pool.map(lambda m: refusal(m.text, by, _arch(m.text)), found)
        for mutant, theirs in zip(found, refusals, strict=True):
            begun = time.thread_time()
            ours = complaint(mutant.text)
            taken = time.thread_time() - begun
            gaps = families(mutant.text) if ours is None else ()
            yield Verdict(mutant, ours, theirs, taken, gaps)


def _arch(text: str) -> str:
    """The target for which ptxas is asked."""
    return "sm_90a" if re.search(r"\.\s*target\s+sm_90a", text) else "sm_90"


def difference(verdict: Verdict) -> str:
    """What a difference has in common with others: the message, without names and numbers."""
    message = verdict.ours or verdict.theirs or ""
    message = re.sub(r"'[^']*'|%\w+|\d+", "#", message.split(" | ")[0])
    return ("we refuse: " if verdict.ours else "ptxas refuses: ") + message


class Account:
    """How often both gave one verdict, where ptxas gave one, and what they differ in. Modules with gaps are counted apart, by
    family: of their operands the checker knows nothing."""

    def __init__(self) -> None:
        self.seen = Counter[tuple[bool, bool]]()
        self.crashes = self.dropped = 0
        self.gaps = Counter[str]()
        self.differences: dict[str, list[Verdict]] = {}

    def add(self, found: Iterable[Verdict]) -> None:
        for verdict in found:
            if verdict.crashed:
                self.crashes += 1
                continue
            if verdict.dropped:
                self.dropped += 1
                continue
            if verdict.gaps:
                self.gaps[", ".join(verdict.gaps)] += 1
                continue
            self.seen[verdict.ours is None, verdict.theirs is None] += 1
            if not verdict.agrees:
                self.differences.setdefault(difference(verdict), []).append(verdict)

    @property
    def same(self) -> int:
        return self.seen[True, True] + self.seen[False, False]

    @property
    def agreement(self) -> float:
        return self.same / max(1, self.seen.total())

    def __str__(self) -> str:
        seen = self.seen
        return (
            f"both accept {seen[True, True]}, both refuse {seen[False, False]}, we alone refuse {seen[False, True]}, ptxas"
            f" alone {seen[True, False]}; ptxas broke down on {self.crashes}; addresses of 32 bits"
            f" in {self.dropped}; with gaps {self.gaps.total()}:"
            f" agreement {100 * self.agreement:.2f} %"
        )

    @property
    def families(self) -> Counter[str]:
        """How many modules have gaps of a family."""
        found = Counter[str]()
        for names, count in self.gaps.items():
            found.update(dict.fromkeys(names.split(", "), count))
        return found

    def table(self) -> Iterator[str]:
        for name, count in self.families.most_common():
            yield f"{count:4} with a gap: {name}"
        for what, found in sorted(self.differences.items(), key=lambda item: -len(item[1])):
            yield f"{len(found):4} {what}"
            for verdict in found[:3]:
                said = (verdict.ours or verdict.theirs or "").split(" | ")[-1]
                yield f"       {said}   ({verdict.mutant.what})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="mutants of each family")
    parser.add_argument("seed", type=int)
    parser.add_argument("family", nargs="*", default=[*FAMILIES])
    parser.add_argument("--new", type=int, default=0, help="new modules of each family that can be drawn")
    parser.add_argument("--ptxas", help="another ptxas than the one of this version's evidence")
    options = parser.parse_args()
    if unknown := set(options.family) - FAMILIES.keys():
        parser.error(f"no family is called {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    all_of_them: list[Account] = []

    def told(what: str, found: Iterable[Mutant]) -> None:
        account = Account()
        account.add(verdicts(found, by=options.ptxas))
        all_of_them.append(account)
        print(f"{what}: {account}", *account.table(), sep="\n", flush=True)

    for family in options.family:
        whole = modules(family)
        told(f"{family}, {len(whole)} modules", (Mutant(name, text) for name, text in whole.items()))
        if options.new and family in DRAWN:
            new = drawn(family, options.new, options.seed)
            told(f"{family}, {len(new)} new modules", (Mutant(name, text) for name, text in new.items()))
        told(f"{family}, {options.count} mutants", mutants(options.count, options.seed, family))
    same, total = sum(a.same for a in all_of_them), sum(a.seen.total() for a in all_of_them)
    print(f"in all {total} modules and mutants: agreement {100 * same / total:.2f} %")


if __name__ == "__main__":
    main()
