"""What nvcc prints and what people write, and what becomes of it with one thing changed: our verdict beside that of ptxas for sm_90."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from known import KNOWN, accounted
from mutants import Account, Mutant, Verdict, complaint, mutants, refusal, verdicts
from seeds import modules, seeds

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec.language.check import check
from ptxspec.language.gaps import gaps_of

#: sources of which nvcc's output is refused: what the first complaint says, and why
MISSING = {"external": ("nothing defines", "other modules do; ptxas refuses it too when it is alone")}


def test_the_corpus() -> None:
    assert len({name.split()[0] for name in modules()}) >= 40
    assert {name.split()[1] for name in modules()} == {"sm_75", "sm_80", "sm_86", "sm_90"}


@pytest.mark.sample(4)
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sorted(modules()))
def test_what_nvcc_prints(name: str) -> None:
    """It is accepted, or refused because of what is known to be missing."""
    ours = complaint(modules()[name])
    source = name.split()[0]
    if source in MISSING:
        assert ours is not None and re.match(MISSING[source][0], ours), ours
        return
    assert ours is None
    assert not gaps_of(check(modules()[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in sorted(modules()) if name.startswith("asynchronous ")])
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_copies_that_finish_later_run(name: str, engine: str) -> None:
    """For an early target nvcc copies by loads and stores; without optimization, by calls of many functions."""
    values = np.arange(256, dtype=np.int32)
    found = np.zeros_like(values)
    ptxspec.load(modules()[name]).launch("_Z1kPK4int4PS_", block=64, args=[values, found], engine=engine)
    assert np.array_equal(found.reshape(64, 4), values.reshape(64, 4)[::-1])


@pytest.mark.parametrize("name", [name for name in sorted(modules()) if name.startswith("tensors ")])
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_tiles_are_multiplied(name: str, engine: str) -> None:
    """B lies by columns."""
    source = np.random.default_rng(3)
    a, b = (source.integers(-9, 10, (16, 16)).astype(np.float16) for _ in "ab")
    found = np.zeros((16, 16), np.float32)
    ptxspec.load(modules()[name]).launch("_Z1kP6__halfS0_Pf", block=32, args=[a, b, found], engine=engine)
    assert np.array_equal(found, a.astype(float) @ b.T.astype(float))


@pytest.mark.slow
def test_what_people_write() -> None:
    """All modules are accepted but for some of the declarations."""
    found = seeds("hand")
    assert len(found["written"]) >= 27 and len(found["examples"]) > 100 and len(found["forms"]) > 300
    assert [
        name for source, own in found.items() if source != "declarations" for name in own if complaint(own[name])
    ] == []


def test_what_may_differ_is_in_the_register() -> None:
    register = Path(DOCUMENTS, "spec/ambiguities.md").read_text()
    assert all(f"## {why} " in register for why in KNOWN.values() if why.startswith("AMB"))


#: for one module of at most 9,000 characters, on a machine with other work
SECONDS = 10
#: at most, for the whole process, which keeps what it has learned of all instructions
GIBIBYTES = 2


def of_mutants(family: str, count: int, seed: int) -> list[Verdict]:
    """Both verdicts on each mutant. A difference that is not known fails, as does any exception, and what costs too much."""
    found = list(verdicts(mutants(count, seed, family)))
    account = accounted(found, SECONDS)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < GIBIBYTES << 20
    assert (
        min(account.seen[True, True], account.seen[False, False])
        > count // {"nvcc": 4, "hand": 6, "hopper": 12}[family]
    )
    return found


def account_of(found: Iterable[Verdict]) -> Account:
    account = Account()
    account.add(found)
    return account


@pytest.mark.slow
@pytest.mark.parametrize(("family", "count"), [("nvcc", 120), ("hand", 160), ("hopper", 160)])
def test_mutants(assembler: str, family: str, count: int) -> None:
    """No difference is unknown. So few say little of a rate, for which the long test is: where 13 in a thousand differ, one set in
    two hundred has more than six of 160, and one in six more than three."""
    assert account_of(of_mutants(family, count, 20261124)).agreement >= 0.96


#: what people write has a source that is not drawn from programs: single declarations that other tests ask ptxas about because it is
#: laxer there than any text, or might be. Its differences say how many of these were thought of
DECLARATIONS = "declarations: "


@pytest.mark.long
@pytest.mark.parametrize("family", ["nvcc", "hand"])
def test_many_modules_and_mutants(family: str, assembler: str) -> None:
    """Modules and mutants together; the single declarations are counted apart, and with all others."""
    changed = of_mutants(family, 10_000, 20261122)
    own = list(verdicts(Mutant(name, text) for name, text in modules(family).items()))
    parts = {"all": account_of([*own, *changed])}
    if family == "hand":
        single = [verdict.mutant.what.startswith(DECLARATIONS) for verdict in [*own, *changed]]
        for part, wanted in (("modules", False), ("declarations", True)):
            chosen = (v for v, is_single in zip([*own, *changed], single, strict=True) if is_single is wanted)
            parts[part] = account_of(chosen)
        assert sum(parts[part].seen.total() for part in ("modules", "declarations")) == parts["all"].seen.total()
    for part, account in parts.items():
        print(f"{family}, {part}, {account.seen.total()}: {account}")
    for part, account in parts.items():
        assert account.agreement >= LEAST[family, part], (family, part, str(account))


#: how often both verdicts are the same, at least. What people write is made of what may differ, for a good part
LEAST = {("nvcc", "all"): 0.995, ("hand", "modules"): 0.994, ("hand", "declarations"): 0.985, ("hand", "all"): 0.993}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(modules()))
def test_ptxas_takes_what_nvcc_prints(assembler: str, name: str) -> None:
    theirs = refusal(modules()[name])
    assert (theirs is None) == (name.split()[0] != "external"), theirs
