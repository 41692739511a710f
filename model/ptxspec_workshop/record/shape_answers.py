"""How often a GPU was seen with each outcome of the pages' litmus tests, and what the memory model says of these outcomes:
`python -m ptxspec_workshop.record.shape_answers` holds all that was recorded against it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.query.litmus.reading import holds, read, values_in
from ptxspec.query.litmus.shapes import shapes
from ptxspec.query.litmus.verdicts import impossible
from ptxspec.terms.shapes import OF_LIVENESS, ShapeCase
from ptxspec_workshop.generate.shape_kernels import ShapeKernel
from ptxspec_workshop.generate.shape_requirements import OTHER, digest_of
from ptxspec_workshop.record.stored_answers import H100

#: the file in a GPU's folder
NAME = "shapes.json"
#: the tests that are not put to a GPU, by what their kernels say of them
REFUSALS = {
    "two GPUs": "with threads on two GPUs",
    "another proxy": "that access memory through a texture, a surface or a constant bank, for which PTX has no fences",
    "not PTX": "with an instruction that only a litmus test has",
    "waits for ever": "in which a thread waits at a barrier to which not all threads of its CTA come",
    "a tensor map": "with a tensor map, which describes one location, and runs have many",
    "breaks a rule": "with a step on an mbarrier that breaks a rule, which ends a launch",
}


class Sighting(NamedTuple):
    """How often a test was run, and how often its stated outcome was seen, both at -O0 and at -O3; the code of the assembler."""

    runs: dict[str, int]
    seen: dict[str, int]


class Unlawful(NamedTuple):
    """An outcome that was seen and that the model forbids."""

    case: ShapeCase
    outcome: str
    counts: dict[str, int]


def every_case() -> list[ShapeCase]:
    """One case for each text of the pages' shapes, but for those about liveness: that by the newest model, if there are
    several."""
    cases: dict[str, ShapeCase] = {}
    stated = [c for s in shapes().values() for c in s.cases if c.outcome not in OF_LIVENESS]
    for case in sorted(stated, key=lambda c: -float(c.model)):
        cases.setdefault(case.text, case)
    return sorted(cases.values(), key=lambda case: (case.shape.path, case.line))


@cache
def kernel_of(text: str) -> ShapeKernel:
    """The kernel of a test."""
    return ShapeKernel(text)


def asked_cases() -> list[ShapeCase]:
    """The cases that are put to a GPU."""
    return [case for case in every_case() if not refusal_of(case)]


def refusal_of(case: ShapeCase) -> str:
    """Why a case is not put to a GPU, one of REFUSALS; empty if it is."""
    kernel = kernel_of(case.text)
    return kernel.refusal or ("breaks a rule" if case.outcome == "undefined" and kernel.objects else "")


def digest_of_cases(cases: Sequence[ShapeCase]) -> str:
    """The SHA-256 digest of all tests."""
    return hashlib.sha256("\n".join(sorted(case.text for case in cases)).encode()).hexdigest()


def files(folder: Path = H100) -> list[Path]:
    """The file of a GPU's folder, if it is there."""
    return [path for path in [folder / NAME] if path.is_file()]


def stored(folder: Path = H100) -> dict[str, Any] | None:
    """What is in a GPU's folder, or None if it has not been asked: facts, and under "tests" by the digest of a test and the level
    of the assembler how often each outcome was seen, by its values in the order of the test's condition."""
    for path in files(folder):
        return _stored(path, path.stat().st_mtime_ns)
    return None


@cache
def _stored(path: Path, changed: int) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts


def write(folder: Path, facts: Mapping[str, Any], tests: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Keep facts and counts in a folder, a line a test."""
    head = json.dumps({**facts, "tests": {}})[:-2]
    rows = [f"{json.dumps(name)}: {json.dumps(counts)}" for name, counts in sorted(tests.items())]
    (folder / NAME).write_text(head + "\n" + ",\n".join(rows) + "\n}}\n")


def sighting(case: ShapeCase, facts: Mapping[str, Any]) -> Sighting | None:
    """How often a case was seen; None if it has not been run."""
    levels = facts["tests"].get(digest_of(case.text))
    if not levels:
        return None
    test = read(case.text)
    asked = values_in(test.condition)
    runs, seen = {}, {}
    for level, counts in levels.items():
        runs[level], seen[level] = sum(counts.values()), 0
        for outcome, count in counts.items():
            values = dict(zip(asked, _numbers(outcome), strict=True))
            seen[level] += count if holds(test.condition, values.__getitem__) else 0
    return Sighting(runs, seen)


def counted(facts: Mapping[str, Any]) -> Iterator[str]:
    """How many of the stated outcomes were seen, and each of them that is forbidden and was seen, in words."""
    counts: Counter[str] = Counter()
    for case in asked_cases():
        seen = sighting(case, facts)
        if seen is not None:
            is_seen = any(seen.seen.values())
            counts[f"{case.outcome} and {'seen' if is_seen else 'not seen'}"] += 1
            if case.outcome == "forbidden" and is_seen:
                yield f"FORBIDDEN and seen: {case.name}: {dict(seen.seen)} of {dict(seen.runs)}\n{case.text}"
    yield from (f"{count} stated outcomes are {what}" for what, count in sorted(counts.items()))


def unlawful(cases: Sequence[ShapeCase], facts: Mapping[str, Any]) -> Iterator[Unlawful]:
    """The outcomes of tests that were seen and that the newest model forbids."""
    for case in cases:
        levels = facts["tests"].get(digest_of(case.text), {})
        seen = {_numbers(outcome): outcome for counts in levels.values() for outcome in counts}
        for values in sorted(impossible(case.text, seen) if seen else ()):
            outcome = seen[values]
            yield Unlawful(case, outcome, {level: c[outcome] for level, c in levels.items() if outcome in c})


def _numbers(outcome: str) -> tuple[int, ...]:
    return tuple(int(word) for word in outcome.removeprefix(f"{OTHER} ").split())


def main() -> int:
    """Print what was seen and is forbidden, and how many of the stated outcomes were seen."""
    facts = stored()
    if facts is None:
        print("no GPU has been asked yet")
        return 1
    wrong = list(unlawful(asked_cases(), facts))
    for case, outcome, counts in wrong:
        print(f"{case.name}: {outcome}: {counts}\n{case.text}")
    print(*counted(facts), f"{len(wrong)} outcomes that were seen are forbidden", sep="\n")
    return 1 if wrong or facts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
