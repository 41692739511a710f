"""Laws: each under proofs/ is decided as its page states and means something; all are kept until a page changes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ptxspec.spec.textures import addressing

from ptxspec.query import laws
from ptxspec.query.solvers import solve
from ptxspec.terms.core import Bool
from ptxspec.terms.steps import StepClaim, taken
from ptxspec.terms.vocabulary import TRUE

LAWS = laws.of_proofs()
BY_SENTENCE = {law.sentence: law for law in LAWS}


def name(law: StepClaim) -> str:
    return f"{Path(law.path).stem}: {law.sentence}"


def test_there_are_enough() -> None:
    assert sum(law.holds for law in LAWS) >= 80
    assert sum(not law.holds for law in LAWS) >= 20
    assert len(BY_SENTENCE) == len(LAWS)


@pytest.mark.sample(4, lambda law: [Path(law.path).stem])
@pytest.mark.parametrize("law", LAWS, ids=name)
def test_a_law_is_decided_as_stated(law: StepClaim) -> None:
    assert laws.check(law).status == laws.expected(law)


@pytest.mark.parametrize("law", [law for law in LAWS if law.holds], ids=name)
def test_a_law_is_about_something(law: StepClaim) -> None:
    """Where a law has a condition there are operands that meet it."""
    _, said = taken(law.function, *(port.variables() for port in law.inputs))
    premise = said.args[0].args[0] if said.op == "any" and said.args[0].op == "not" else TRUE
    assert solve(premise, laws.formula(law)[1], 60).status == "sat"


# what a law notices ---------------------------------------------------------------------------------------------------

Texel = Callable[[str, Any, Any], Any]


def mirrored_one_off(texel: Texel) -> Texel:
    return lambda mode, index, size: texel(mode, index + 1 if mode == "mirror" else index, size)


def wrapped_as_in_c(texel: Texel) -> Texel:
    from ptxspec.terms import remainder

    return lambda mode, index, size: remainder(index, size) if mode == "wrap" else texel(mode, index, size)


def clamped_one_off(texel: Texel) -> Texel:
    return lambda mode, index, size: texel(mode, index, size - 1 if mode.startswith("clamp") else size)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (mirrored_one_off, "mirror is symmetric about the beginning of a texture"),
        (wrapped_as_in_c, "every addressing mode reads a texel that there is"),
        (clamped_one_off, "clamping reads the nearest texel there is"),
    ],
)
def test_a_fault_is_noticed(fault: Callable[[Texel], Texel], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law = BY_SENTENCE[sentence]
    monkeypatch.setitem(law.function.__globals__, "texel", fault(addressing.texel))
    assert laws.check(law).status == "refuted"


# what is kept ---------------------------------------------------------------------------------------------------------


def test_verdicts_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver is asked once, and again when a definition changes; what it did not decide is not kept."""
    few, asked = LAWS[:3], []
    answers = iter(["proved", "refuted", "exhausted"])

    def one(i: int) -> tuple[int, dict[str, Any]]:
        asked.append(i)
        return i, {"status": next(answers), "values": {"a": i}}

    monkeypatch.setattr(laws, "load_all", lambda: few)
    monkeypatch.setattr(laws, "on_all_cores", lambda function, items, where: map(one, items))
    store = tmp_path / "laws.json"
    statuses = lambda: [verdict["status"] for _, verdict in laws.update("a", store)]  # noqa: E731
    assert statuses() == ["proved", "refuted", "exhausted"]
    assert [laws.kept(law, "a", store) for law in few[1:]] == [{"status": "refuted", "values": {"a": 1}}, None]
    answers = iter(["proved"])
    assert statuses() == ["proved", "refuted", "proved"]
    answers = iter(["proved"] * 3)
    laws.update("b", store)
    assert asked == [0, 1, 2, 2, 0, 1, 2]


def test_a_law_that_is_not_as_stated_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from ptxspec.query import identities

    law = next(law for law in LAWS if law.holds)
    monkeypatch.setattr(laws, "update", lambda definitions, where: [(law, {"status": "refuted", "values": {}})])
    assert not identities._laws_hold()
    told = capsys.readouterr().out
    assert law.sentence in told and "1 laws of states and functions: 0 proved, 1 refuted, 1 not as stated" in told


def test_a_law_that_is_always_false_is_refuted() -> None:
    def never() -> Bool:
        return ~TRUE

    assert laws.check(LAWS[0]._replace(function=never)).status == "refuted"


def test_workers_number_laws_as_whoever_asks_them() -> None:
    """In whatever order pages were loaded: here the last page that states any is loaded first."""
    program = (
        "from ptxspec.literate import finder; finder.install(); finder.load('ptxspec.spec.variables.index')\n"
        "from ptxspec.query import laws\n"
        "print([(claim.path, claim.line) for claim in laws.load_all()])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.strip() == str([(claim.path, claim.line) for claim in laws.load_all()])
