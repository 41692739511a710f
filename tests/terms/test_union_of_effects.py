"""The effects are a closed union: every one of its members comes from a page, and is answered for wherever one is asked about."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args

import pytest

import ptxspec
from ptxspec.language.checked import Op
from ptxspec.language.forms import Form
from ptxspec.machine.driver import codes
from ptxspec.machine.flow import ending
from ptxspec.machine.kernel_tables import Role, role_of
from ptxspec.machine.program import arrival_operands
from ptxspec.query.outcomes import description_of, refused
from ptxspec.terms import effects
from ptxspec.terms.core import Bool, Int, Term
from ptxspec.terms.effects import (
    Access,
    Asynchronous,
    Check,
    Checking,
    Effect,
    Ending,
    Fencing,
    Jump,
    Pause,
    StackUse,
    Stop,
    lands,
    terms_of,
)

#: for each class an instruction that has the effect, the word that users read for it, and what it means to threads that meet
KNOWN: dict[str, tuple[str, str, Role]] = {
    "Load": ("ld.global.u32", "load", Role()),
    "Store": ("st.global.u32", "store", Role()),
    "Update": ("atom.global.add.u32", "update", Role()),
    "Fence": ("fence.sc.gpu", "fence", Role()),
    "GridDependency": ("griddepcontrol.wait", "grids", Role()),
    "Check": ("prefetch.tensormap", "check", Role()),
    "Initiate": ("cp.async.ca.shared.global", "copy", Role()),
    "Follow": ("cp.async.mbarrier.arrive.b64", "copy", Role()),
    "Advance": ("cp.async.wait_group", "copy", Role()),
    "Await": ("mbarrier.test_wait.b64", "object", Role(codes.OBJECT)),
    "Collective": ("match.any.sync.b32", "collective", Role(codes.WARP)),
    "Arrive": ("bar.arrive", "barrier", Role(codes.CTA_BARRIER, waits=False, aligned=True)),
    "Wait": ("bar.red.popc.u32", "barrier", Role(codes.CTA_BARRIER, reduces=True, aligned=True)),
    "ClusterArrive": ("barrier.cluster.arrive", "barrier", Role(codes.CLUSTER_BARRIER, waits=False)),
    "ClusterWait": ("barrier.cluster.wait", "barrier", Role(codes.CLUSTER_BARRIER)),
    "Branch": ("bra", "branch", Role()),
    "IndexedBranch": ("brx.idx", "branch", Role()),
    "Call": ("call", "call", Role()),
    "Return": ("ret", "return", Role()),
    "Exit": ("exit", "exit", Role()),
    "Stop": ("trap", "stop", Role()),
    "ImageAccess": ("tex.2d.v4.f32.f32", "image", Role(codes.HOST)),
    "StackEnd": ("stacksave.u32", "stack", Role()),
    "Reserve": ("alloca.u32", "stack", Role()),
    "Release": ("stackrestore.u32", "stack", Role()),
}
#: the checks of a launch cause these, and no page
OF_CHECKS = get_args(Checking)
MEMBERS = [member for member in get_args(Effect) if member not in OF_CHECKS]
each_class = pytest.mark.parametrize("member", MEMBERS, ids=lambda c: c.__name__)


@cache
def form(mnemonic: str) -> Form:
    return next(f for f in ptxspec.forms(mnemonic.split(".")[0]) if f.mnemonic == mnemonic)


def example(member: type[Any]) -> Any:
    found = form(KNOWN[member.__name__][0])
    meaning = found.meaning(found.absences[-1])
    return next((effect for effect in meaning.more if type(effect) is member), meaning.effect)


def test_the_union_has_every_class_of_the_module() -> None:
    own = [c for _, c in inspect.getmembers(effects, inspect.isclass) if c.__module__ == effects.__name__]
    classes = {c for c in own if not issubclass(c, Enum)} - {effects.RepeatedAccess}  # which is a part of some
    assert classes == {*MEMBERS, *OF_CHECKS} and len(get_args(Effect)) == len(classes)
    assert {c.__name__ for c in MEMBERS} == set(KNOWN)


@each_class
def test_a_page_has_it_and_nobody_changes_it(member: type[Any]) -> None:
    effect = example(member)
    assert type(effect) is member and is_dataclass(member) and inspect.getdoc(member)
    for field in fields(member):
        with pytest.raises(FrozenInstanceError):
            setattr(effect, field.name, None)
    operands = [v for f in fields(member) if isinstance(v := getattr(effect, f.name), Term)]
    assert set(operands) <= set(terms_of(effect)) and all(isinstance(t, Int | Bool) for t in terms_of(effect))


@each_class
def test_users_read_a_word_for_it_and_threads_meet_by_it(member: type[Any]) -> None:
    effect = example(member)
    mnemonic, word, role = KNOWN[member.__name__]
    assert description_of(effect)[0] == word and description_of(effect)[1]
    assert role_of(effect) == role
    with pytest.raises(ptxspec.Unsupported, match=rf"\({word}\)"):
        raise refused(mnemonic, effect)


@each_class
def test_it_belongs_to_one_group_and_ends_a_block_or_not(member: type[Any]) -> None:
    effect, found = example(member), form(KNOWN[member.__name__][0])
    groups = [
        isinstance(effect, group) for group in (Access, Fencing, Check, Asynchronous, StackUse, Jump, Stop, Pause)
    ]
    assert sum(groups) == 1
    plan = type("Plan", (), {"meaning": found.meaning(found.absences[-1])._replace(effect=effect)})
    op = Op(plan, (), None, 0)  # type: ignore[arg-type]
    assert (
        (ending(op) is effect)
        == isinstance(effect, Ending)
        == (not isinstance(effect, Access | Fencing | Check | Asynchronous | StackUse))
    )
    if isinstance(effect, Pause):
        assert all(isinstance(term, Int) for term in arrival_operands(effect))
    assert lands(effect) == (member.__name__ in ("Collective", "ImageAccess", "Wait"))


def test_results_land_only_where_a_barrier_counts() -> None:
    found = form("bar.sync")
    assert not lands(found.meaning(found.absences[-1]).effect) and not lands(None)


def test_accesses_that_differ_in_hints_alone_are_the_same() -> None:
    plain, hinted, narrow = (form(m).meaning().effect for m in ("ld.global.u32", "ld.global.cg.u32", "ld.global.u16"))
    assert isinstance(plain, Access) and isinstance(hinted, Access) and plain.how != hinted.how
    assert len({plain, hinted}) == 1 and len({plain, narrow}) == 2


@pytest.mark.parametrize(
    ("mnemonic", "count", "size"),
    [("ld.global.v4.u16", 4, 8), ("st.global.v2.f64", 2, 16), ("atom.global.add.f16x2", 1, 4)],
)
def test_the_bytes_of_an_access(mnemonic: str, count: int, size: int) -> None:
    found = [
        f
        for f in ptxspec.forms(mnemonic.split(".")[0])
        if f.mnemonic in (mnemonic, mnemonic.replace(".add.", ".add.noftz."))
    ]
    effect = found[0].meaning(found[0].absences[-1]).effect
    assert isinstance(effect, Access) and (effect.count, effect.bytes) == (count, size)
