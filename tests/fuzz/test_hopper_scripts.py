"""Random scripts of Hopper's instructions: some of them, and what they are made of."""

from __future__ import annotations

import random

import hopper_scripts
import hopper_steps
import pytest
from hopper_launches import PAGE, WARPGROUPS

from ptxspec.language.forms import forms
from ptxspec_workshop.generate import object_cases


def agree(first: int, count: int) -> hopper_scripts.Account:
    account = hopper_scripts.campaign(first, first + count, float("inf"))
    assert account.disagreements == [] and account.launches.total() == count
    return account


@pytest.mark.slow
def test_some_launches() -> None:
    assert agree(PAGE, 12).launches.keys() == {"cluster"}


@pytest.mark.slow
@pytest.mark.parametrize("page", [0, 2, 3, 5])
def test_more_launches(page: int) -> None:
    account = agree(page * PAGE, 40)
    assert account.launches.keys() == {"cluster" if page % WARPGROUPS else "warpgroup"}


def test_what_engines_say_differently_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hopper_scripts, "outcome", lambda seed, engine: ("left", engine))
    assert hopper_scripts.campaign(PAGE, PAGE + 1, 9).disagreements == [
        f"seed {PAGE}: ('left', 'exact') | ('left', 'native')"
    ]


def test_what_breaks_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(seed: int, engine: str) -> None:
        raise KeyError("generic")

    monkeypatch.setattr(hopper_scripts, "outcome", broken)
    (told,) = hopper_scripts.campaign(PAGE, PAGE + 1, 9).disagreements
    assert told.startswith(f"seed {PAGE}: KeyError: 'generic' (test_hopper_scripts.py:")


def test_every_definition_of_hopper_is_drawn() -> None:
    """But those that a script cannot have: what only names addresses is part of each kernel, and no script has memory of several
    devices."""
    words = ("wgmma", "mbarrier", "tensormap", "async", "setmaxnreg", "elect", "griddepcontrol")
    names = {
        f.definition.name for f in forms() if any(w in f.mnemonic for w in words) and (not f.only or "sm_90a" in f.only)
    }
    drawn = {*hopper_steps.DEFINITIONS, *hopper_steps.TOGETHER, *hopper_steps.products(), *object_cases.OPERATIONS}
    assert {name for name in names if not name.startswith(("fence", "prefetch", "multimem"))} <= drawn


def test_a_step_of_each_definition_is_written() -> None:
    seen = {step.definition for seed in range(30) for step in hopper_steps.steps(random.Random(seed), True)}
    assert seen >= {*hopper_steps.TOGETHER, *object_cases.OPERATIONS} and len(seen) >= 50
