"""The fuzzers of launches, texts, links, of files that are kept, of certificates and of constants: minutes here, an hour with the tests that are marked long. And the house they live in.

A failure names its seed, and the line that shows it again: `python tests/fuzz/fuzzing.py FUZZER SEED`.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import certificates
import constants
import fuzzing
import kept_files
import pytest

from ptxspec_workshop.generate.fuzzing import random_module, reduction, statement_kinds
from ptxspec_workshop.generate.fuzzing.random_statements import flat

#: for each fuzzer: cases of a chunk, and chunks; of launches a case has ten or two, of programs with constants sixty-four
SOME = {
    "launch": (20, 1),
    "brief": (100, 1),
    "text": (80, 1),
    "linking": (80, 1),
    "kept": (150, 1),
    "certificate": (150, 1),
    "constants": (4, 1),
}
MANY = {
    "launch": (500, 20),
    "brief": (2500, 10),
    "text": (5000, 16),
    "linking": (5000, 12),
    "kept": (5000, 1),
    "certificate": (5000, 2),
    "constants": (50, 16),
}


def chunks(sizes: dict[str, tuple[int, int]], first: int) -> list[Any]:
    return [
        pytest.param(name, first + i * count, count, id=f"{name} {first + i * count}")
        for name, (count, often) in sizes.items()
        for i in range(often)
    ]


def check(name: str, first: int, count: int) -> None:
    report = fuzzing.chunk(name, first, count)
    print(report)
    assert not report.failures, str(report)
    assert report.cases == count
    CHECKS[name](report.seen, count)


def launches_are_mixed(seen: Counter[str], count: int, each: int = 10) -> None:
    """So many launches, of which some break rules and most do not; every kind of statement was executed."""
    assert seen["launches"] == count * each
    faults = seen["launches"] - seen["ended"]
    assert 0.03 < faults / seen["launches"] < 0.4
    assert len([what for what in seen if what.startswith("rule")]) >= 4
    kinds = {f"executed: {place}" for place in statement_kinds.PLACES if place not in RARE}
    missing = kinds - seen.keys()
    assert len(missing) <= (0 if count >= 500 else len(kinds) // 4), missing
    assert seen["unit: warps"] > 0.2 * seen["wanted: warps"] and seen["unit: threads"] > 0.4 * seen["launches"]


def brief_launches_are_mixed(seen: Counter[str], count: int) -> None:
    """As above, and for each module once turns of threads were wanted and once those of warps."""
    assert seen["wanted: round-robin"] == seen["wanted: warps"] == count
    launches_are_mixed(seen, count, 2)


#: what need not be executed in a few cases
RARE = {"hazard"} | {f"{what} ends with {how}" for what in ("function", "entry") for how in statement_kinds.ENDS}


def texts_are_mixed(seen: Counter[str], count: int) -> None:
    assert seen["loaded"] > 0.03 * count and seen["refused"] > 0.4 * count and seen["readable, refused"] > 0.03 * count


def links_are_mixed(seen: Counter[str], count: int) -> None:
    assert seen["linked"] > 0.03 * count and seen["refused together"] > 0.03 * count


def kept_files_are_mixed(seen: Counter[str], count: int) -> None:
    """Of every kind of file, for every reader; some are believed, and most not."""
    assert 0.05 * count < seen["planted"] < seen["made"]
    assert {f"reader {name}" for name in kept_files.READERS} <= seen.keys()
    assert len([what for what in seen if what.startswith("file ")]) > (0.6 if count < 1000 else 0.99) * len(
        kept_files.FILES
    )


def certificates_are_mixed(seen: Counter[str], count: int) -> None:
    assert min(seen["refused"], seen["does not hold"], seen["holds"]) > 0.03 * count
    assert {f"kind {name}" for name in certificates.KINDS} <= seen.keys()


def constants_are_mixed(seen: Counter[str], count: int) -> None:
    """All roundings of the operations, with operands that cancel among them; loops, and lines without one."""
    assert seen["programs"] == count * constants.PROGRAMS and 0.4 < seen["loops"] / (count * constants.GROUPS) < 1
    assert all(seen[f"rounding: {way}"] > count for way in ("rn", "rz", "rm", "rp"))
    assert all(seen[f"opcode: {opcode}"] > count for opcode in constants.OPPOSITES)
    assert seen["opcode: cvt"] > count


CHECKS = {
    "launch": launches_are_mixed,
    "brief": brief_launches_are_mixed,
    "text": texts_are_mixed,
    "linking": links_are_mixed,
    "kept": kept_files_are_mixed,
    "certificate": certificates_are_mixed,
    "constants": constants_are_mixed,
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "first", "count"), chunks(SOME, 0))
def test_some(name: str, first: int, count: int) -> None:
    check(name, first, count)


@pytest.mark.long
@pytest.mark.parametrize(("name", "first", "count"), chunks(MANY, 1_000_000))
def test_many(name: str, first: int, count: int) -> None:
    check(name, first, count)


def test_so_many_launches() -> None:
    count, often = MANY["launch"]
    assert count * often * 10 >= 100_000
    count, often = MANY["constants"]
    assert count * often * constants.PROGRAMS >= 50_000


# the house ----------------------------------------------------------------------------------------------------------------


def wrong(seed: int, texts: Sequence[str]) -> Counter[str]:
    """A judge of texts of words: some of which are wrong in several ways."""
    (text,) = texts
    if "begin" not in text:
        raise fuzzing.Unfit("no beginning")
    if "raise" in text:
        raise fuzzing.Finding("raised", f"in {text}")
    if "zero" in text:
        1 / 0  # noqa: B018
    if "signal" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "memory" in text:
        bytearray(3 << 30)
    if "forever" in text:
        end = time.monotonic() + 100
        while time.monotonic() < end:
            pass
    return Counter({"fine": 1})


CASES = ["begin", "begin raise", "begin zero", "begin signal", "nothing", "begin memory", "begin forever", "begin end"]
KINDS = [None, "raised", "ZeroDivisionError", "the process ended", "unfit", "MemoryError", "the process ended", None]
HOUSE: Any = SimpleNamespace(make=lambda seed: [CASES[seed]], judge=wrong, SECONDS=1, GIBIBYTES=2)


@pytest.mark.slow
def test_what_is_found() -> None:
    """Of cases in one process, and after the end of it in another, each has its outcome."""
    found = list(fuzzing.outcomes(HOUSE, [(seed, None) for seed in range(len(CASES))]))
    assert [f["seed"] for f in found] == list(range(len(CASES)))
    for outcome, kind in zip(found, KINDS, strict=True):
        assert str(outcome.get("kind")).startswith(str(kind)), outcome
    assert found[0]["seen"] == {"fine": 1}
    assert "SIGSEGV" in str(found[3]["message"]) and "processor time" in str(found[6]["message"])


@pytest.mark.parametrize(("word", "kind"), [("raise", "raised"), ("signal", "the process ended")])
@pytest.mark.slow
def test_cases_become_small(word: str, kind: str) -> None:
    text = (
        "".join(f"line {i} of\nwords\n" for i in range(20))
        .replace("line 3 ", "begin 3 ")
        .replace("line 15", f"{word} 15")
    )
    (small,) = fuzzing.reduced(HOUSE, 0, [text], kind)
    assert small.split() == ["begin", word]


def test_a_difference_of_the_engines_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an engine that adds one too much."""
    import launches

    exact = launches.Loaded.outcome

    def outcome(self: Any, launch: Any) -> dict[str, Any]:
        found = exact(self, launch)
        return {**found, "steps": [steps + (self.engine == "native") for steps in found["steps"]]}

    monkeypatch.setattr(launches.Loaded, "outcome", outcome)
    with pytest.raises(fuzzing.Finding, match="launch 0"):
        launches.judge(3, launches.make(3))


@pytest.mark.slow
def test_every_kind_is_written() -> None:
    """In the first modules: each kind of statement, each way to end, and each way to break a rule; and two old editions."""
    modules = [random_module.varied(seed) for seed in range(200)]
    written = {what for module in modules for what in module.surroundings.written}
    assert written == {*statement_kinds.PLACES, *(f"wrong {way}" for way in statement_kinds.WRONG)} - NEVER
    assert len({module.edition for module in modules}) == 3
    text = "\n".join(module.text() for module in modules)
    for needed in ("call.uni", "rest[", ".callprototype", ".calltargets", "table[2]", ".noreturn"):
        assert needed in text, needed


#: ways to end that only functions have, or only entries
NEVER = {"function ends with barrier", "function ends with exit", "entry ends with exit of a function",
         "entry ends with barrier of a warp"}  # fmt: skip


def test_what_is_asked_for_is_all_there_is() -> None:
    """A module of some kinds has statements of no other ones."""
    for seed in range(5):
        module = random_module.RandomModule(seed, ["loop"], ["loop", "branch", "plain"])
        kinds = module.surroundings.written.keys() & statement_kinds.KINDS.keys()
        assert "loop" in kinds and kinds <= {"loop", "branch", "plain"}


def test_a_module_is_made_small() -> None:
    """By its statements, down to the one that matters."""
    module = random_module.varied(4)
    last = re.findall(r"^.*;$", flat(module.body), flags=re.M)[-1]
    small = reduction.reduced(module, lambda m: last in m.text(), 5)
    assert last in small.text() and small.size < module.size / 3


@pytest.mark.slow
def test_a_seed_makes_one_case() -> None:
    for name in fuzzing.FUZZERS:
        own = fuzzing.fuzzer(name)
        assert [own.make(s) for s in range(5)] == [own.make(s) for s in range(5)]
        assert len({str(own.make(s)) for s in range(5)}) == 5
    assert "fuzzing" in sys.modules
