"""What Numba, Triton, tinygrad and nvcc 13.5 print today, and what becomes of it with one thing changed: our verdict beside that of
ptxas 13.5, which is kept. Gaps, of which the checker knows no more than their names, are counted apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest
import today
from collect import kept
from known import accounted
from mutants import Account, Mutant

#: of the modules and of the mutants, one in so many is looked at in each run; the long test looks at all
MODULES, MUTANTS = 24, 36
#: for the longest of them, on a machine with other work
SECONDS = 30


def pairs(every: int = 1, of_mutants: int = 1) -> Iterable[tuple[Mutant, str | None]]:
    """Modules and mutants, each with what ptxas said."""
    modules = today.modules()
    yield from [(Mutant(name, modules[name]), theirs) for name, theirs in today.of_modules().items()][::every]
    yield from [(one.mutant, one.theirs) for one in today.of_mutants()[::of_mutants]]


def agreed(found: Iterable[tuple[Mutant, str | None]]) -> Account:
    """The account of what was found. A page that comes makes verdicts of gaps: one of a sample may differ for a new reason."""
    return accounted((today.judged(mutant, theirs) for mutant, theirs in found), SECONDS, few=1)


def test_what_is_kept() -> None:
    """Of each tool many modules, of PTX 9.5 but for tinygrad's, for all sorts of targets; and 5,000 mutants, with verdicts of 13.5."""
    modules = today.modules()
    tools = Counter(name.split(":")[0] for name in modules)
    assert tools.keys() == {"numba", "triton", "tinygrad", "nvcc"} and min(tools.values()) >= 40
    newest = [text for text in modules.values() if ".version 9.5" in text]
    assert len(newest) >= 300 and len(set(newest)) == len(newest)
    targets = {re.search(r"\.target (\w+)", text)[1] for text in newest}  # type: ignore[index]
    assert targets >= {
        "sm_75",
        "sm_80",
        "sm_89",
        "sm_90",
        "sm_90a",
        "sm_100",
        "sm_100f",
        "sm_103",
        "sm_110",
        "sm_120a",
        "sm_121",
    }
    assert sum("inline" in name for name in modules) >= 40
    assert all(re.fullmatch(r"[\d.]+", own["version"]) for own in kept().values())
    assert not any(
        "/" in text for text in re.findall(r'"([^"\n]*)"', "\n".join(newest)) if text.endswith((".cu", ".py"))
    )
    assert today.assembler().startswith("13.5.") and today.of_modules().keys() == modules.keys()
    assert len(today.of_mutants()) >= 5000
    assert all(theirs is None for theirs in today.of_modules().values())


@pytest.mark.slow
def test_some_modules_and_mutants() -> None:
    account = agreed(pairs(MODULES, MUTANTS))
    assert account.agreement >= 0.98 and min(account.seen[True, True], account.seen[False, False]) > 45


@pytest.mark.long
def test_all_modules_and_mutants() -> None:
    account = agreed(pairs())
    print(account, *account.table(), sep="\n")
    assert account.agreement >= 0.995
    assert account.seen.total() > 0.97 * len(list(pairs()))


@pytest.mark.parametrize("count", [50, pytest.param(0, marks=pytest.mark.long)])
def test_ptxas_says_what_is_kept(count: int, newest_assembler: str) -> None:
    """Of some mutants; of all modules and mutants, if it has the time."""
    names = [*today.of_modules(), *(one.module for one in today.of_mutants())]
    found = list(zip(names, pairs(), strict=True))
    if count:
        found = found[:: len(found) // count]
    said = today.asked((mutant.text, today.target_of(name)) for name, (mutant, _) in found)
    differing = [m.what for (_, (m, theirs)), now in zip(found, said, strict=True) if (theirs is None) != (now is None)]
    assert len(differing) <= len(found) // 1000, differing


def test_a_target_that_is_no_target() -> None:
    """ptxas is told a target that it knows, whatever the module says."""
    assert today.arch(".version 9.5\n.target sm_100f\n", "sm_75") == "sm_100f"
    assert today.arch(".version 9.5\n.target sm_80, debug\n", "sm_120a") == "sm_90"
    assert today.arch(".version 9.5\n.target sm_5\n", "sm_120a") == "sm_120a"
