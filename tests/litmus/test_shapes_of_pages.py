"""What the pages say of their shapes is what the axioms say, by enumeration and by a solver; and every part of the axioms is
needed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from model_mutants import PAGES, Mutant, mutants, planted

from ptxspec import contracts
from ptxspec.query.litmus.shapes import shapes, status_of, verdict_on
from ptxspec.query.litmus.verdicts import litmus
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace
from ptxspec.terms.orders import Order, Proxy
from ptxspec.terms.relations import AXIOMS, MemoryModel
from ptxspec.terms.shapes import ShapeCase

CASES = [case for shape in shapes().values() for case in shape.cases]


def differ(case: ShapeCase) -> bool:
    """Whether the verdict is another one than the page says."""
    try:
        return status_of(case, verdict_on(case)) != case.outcome
    except (Unsupported, ValueError, AssertionError, AttributeError, IndexError, TypeError):
        return True


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", shapes())
def test_the_pages_are_right(name: str) -> None:
    for case in shapes()[name].cases:
        assert status_of(case, verdict_on(case)) == case.outcome, f"line {case.line}: {case.name}\n{case.text}"


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", shapes())
def test_a_solver_agrees(name: str) -> None:
    for case in shapes()[name].cases:
        assert status_of(case, verdict_on(case, by="solver")) == case.outcome, (
            f"line {case.line}: {case.name}\n{case.text}"
        )


def test_there_are_many() -> None:
    assert len(CASES) > 500
    assert len([case for case in CASES if case.outcome == "forbidden"]) > 200
    assert len({case.text + case.model for case in CASES}) > 500


# every part is needed -------------------------------------------------------------------------------------------------

#: mistakes with which no program has another outcome, and why
SAME = {
    "overlap_completely: without overlap(a, b)": "only operations on memory are asked",
    "is_strong: without accesses_memory(a)": "barriers have no scope",
    "is_strong: without a.order is not Order.WEAK": "weak operations have no scope",
    "morally_strong: without is_strong(a)": "weak operations have no scope",
    "morally_strong: without is_strong(b)": "weak operations have no scope",
    "morally_strong: without precedes(a, b)": "a thread's own writes precede its reads in causality order, or by SC-per-Location",
    "morally_strong: without not model.since(7, 5)": "before there was one proxy",
    "release_pattern: without writes(last)": "what is observed is a write",
    "release_pattern: without is_strong(last)": "what is observed is morally strong, or of one thread",
    "release_pattern: without is_fence(first) or overlap(first, last)": "the ends of the patterns are morally strong",
    "acquire_pattern: without reads(first)": "what observes is a read",
    "acquire_pattern: without is_strong(first)": "what observes is morally strong, or of one thread",
    "acquire_pattern: without is_fence(last) or overlap(first, last)": "the ends of the patterns are morally strong",
    "acquire_pattern: without overlap(first, last)": "the ends of the patterns are morally strong",
    "leads_out: without is_about(fence, a)": "behind an asynchronous access is the fence of its end",
    "proxy_preserved: only base": "the axioms ask of one location",
    "proxy_preserved: only aliased | from_start": "the axioms ask of one location",
    "causality: without overlap(a, b)": "the axioms ask of one location",
    "ordered_writes: without writes(a)": "a read has no successor in coherence order that is a write of another order",
    "ordered_writes: without same_location(a, b)": "causality order between writes is of one location",
    "coherence: no closure": "no program is known that tells",
    "communication: only coherence(model)": "a read that is morally strong follows its write in causality order",
    "conflict: without a is not b": "an operation overlaps itself completely",
    "conflict: without writes(a)": "the pair is found the other way round",
    "conflict: without writes(b)": "the pair is found the other way round",
    "first_edition: without a.address is not None": "a location has an address",
    "keeps_fence_sc: only fenced_before": "no outcome depends on the axiom, as its page says",
    "keeps_single_copies: no inverse": "SC-per-Location forbids the same",
    "keeps_atomicity: only each(is_atomic)": "Causality forbids the same of what is not morally strong",
    "keeps_atomicity: only morally_strong(model)": "a read that writes is atomic",
    "keeps_atomicity: only between": "Causality forbids the same of what is not morally strong",
}
FUNCTIONS = sorted({(mutant.module, mutant.function) for mutant in mutants()})


def is_noticed(mutant: Mutant, order: list[ShapeCase]) -> bool:
    with planted(mutant):
        if any(refusals_differ(text, first) for text, first in EDITIONS) or not (
            fences_connect() and checks_ask_for_fences() and steps_on_objects_do_not_conflict()
        ):
            return True
        for case in order:
            if differ(case):
                order.remove(case)
                order.insert(0, case)  # which may well notice the next one
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("module", "function"), FUNCTIONS, ids=[f for _, f in FUNCTIONS])
def test_every_part_is_needed(module: str, function: str) -> None:
    """A page from which a part of a definition is left out says something else of a shape, or refuses something else."""
    order = sorted(CASES, key=lambda case: (case.model, case.line))[::-1]
    for mutant in mutants():
        key = f"{mutant.function}: {mutant.words}"
        if (mutant.module, mutant.function) == (module, function) and key not in SAME:
            assert is_noticed(mutant, order), str(mutant)


def test_what_is_the_same_is_there() -> None:
    keys = {f"{mutant.function}: {mutant.words}" for mutant in mutants()}
    assert SAME.keys() <= keys, SAME.keys() - keys


#: axioms on which by themselves no outcome of the newest edition depends, as their page says
IMPLIED = {"Coherence", "Fence-SC", "single-copy Atomicity", "Atomicity"}


def leave_out(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    page = contracts.axioms
    monkeypatch.setattr(page, "ALL", {name: axiom for name, axiom in page.ALL.items() if name not in names})


@pytest.mark.slow
@pytest.mark.parametrize("names", [("No-Thin-Air",), ("Causality",), ("SC-per-Location",)])
def test_axioms_are_needed(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out(names, monkeypatch)
    noticed = {case.model for case in CASES if differ(case)}
    assert "9.1" in noticed


@pytest.mark.slow
def test_the_first_edition_needs_an_axiom_for_a_location(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out(("SC-per-Location",), monkeypatch)
    assert any(differ(case) for case in CASES if case.model == "6.0")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(IMPLIED))
def test_an_axiom_follows_from_the_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out((name,), monkeypatch)
    assert [case.name for case in CASES if case.model != "6.0" and differ(case)] == []


# editions -------------------------------------------------------------------------------------------------------------


def alone(cell: str, place: str = "cta 0,gpu 0", memory: str = "x = 0;") -> str:
    return f"PTX one\n{{ {memory} }}\nP0@{place} ;\n{cell} ;\nexists (x == 0)"


#: what a thread does, and the edition whose model speaks of it first
EDITIONS = [
    (alone("st.relaxed.gpu x, 1"), "6.0"),
    (alone("fence.sc.sys"), "6.0"),
    (alone("bar.sync 0"), "6.0"),
    (alone("fence.proxy.alias"), "7.5"),
    (alone("ld.weak r0, y", memory="x = 0; y @ generic aliases x;"), "7.5"),
    (alone("sust.weak s, 1", memory="x = 0; s @ surface aliases x;"), "7.5"),
    (alone("ld.relaxed.cluster r0, x"), "7.8"),
    (alone("barrier.cluster.arrive", "cta 0,cluster 0,gpu 0"), "7.8"),
    (alone("st.mmio.sys x, 1"), "8.2"),
    (alone("fence.acquire.gpu"), "8.6"),
    (alone("fence.release.cta"), "8.6"),
    (alone("cp.async.ca.shared.global [y], [x], 4", memory="x = 0; .shared .b32 y;"), "7.0"),
    (alone("mbarrier.arrive.shared.b64 _, [bar]", memory="x = 0; .shared mbarrier bar = 1;"), "7.0"),
    (alone("cp.async.bulk.global.shared::cta.bulk_group [x], [y], 16", memory=".b128 x; .shared .b128 y;"), "8.0"),
    (alone("fence.proxy.async"), "8.0"),
    (alone("fence.proxy.tensormap::generic.release.gpu"), "8.0"),
    (alone("mbarrier.arrive.release.cluster.shared.b64 _, [bar]", memory="x = 0; .shared mbarrier bar = 1;"), "8.0"),
    (alone("st.release.gpu x, 1"), "6.0"),
    (alone("ld.acquire.gpu r0, x"), "6.0"),
]
ALL = ["6.0", "6.5", "6.9", "7.0", "7.4", "7.5", "7.7", "7.8", "8.1", "8.2", "8.5", "8.6", "9.0", "9.1", "9.4"]


def is_refused(text: str, model: str) -> bool:
    try:
        litmus(text, model)
    except Unsupported:
        return True
    return False


def refusals_differ(text: str, first: str) -> bool:
    """Whether other editions speak of a test than those from its first one on."""
    try:
        return any(
            is_refused(text, model) != (float(model) < float(first))
            for model in ("6.0", "6.9", "7.0", "7.4", "7.7", "7.8", "8.0", "8.1", "8.5", "9.1")
        )
    except (AttributeError, ValueError, TypeError):
        return True


@pytest.mark.parametrize(("text", "first"), EDITIONS)
def test_editions_speak_of_what_they_have(text: str, first: str) -> None:
    for model in ALL:
        assert is_refused(text, model) == (float(model) < float(first)), model


def test_names_of_editions() -> None:
    text = alone("st.weak x, 1")
    assert litmus(text, "ptx-7.5").model == "7.5"
    for name in ("5.0", "10.1", "9", "newest", ""):
        with pytest.raises(ValueError, match=r"6\.0 to 9\.4"):
            litmus(text, name)


@pytest.mark.slow
def test_the_model_without_a_mistake_is_as_it_was() -> None:
    """What the mutants are made by changes nothing of itself."""
    with planted(None):
        assert not any(differ(case) for case in CASES[::10])
    assert len(AXIOMS) == 7 and all(hasattr(contracts, page) for page in PAGES)


def checks_ask_for_fences() -> bool:
    """Whether checks of launches ask for a proxy fence between accesses by different proxies, or by one other than the generic one
    in different CTAs; but not behind an asynchronous operation."""

    def access(proxy: Proxy, cta: int, kind: OperationKind = OperationKind.READ) -> Operation:
        return Operation(kind, cta, ThreadPlace(cta, cta, 0), 0, "", Order.WEAK, None, proxy)

    generic, texture, other = access(Proxy.GENERIC, 0), access(Proxy.TEXTURE, 0), access(Proxy.TEXTURE, 1)
    written, later = access(Proxy.GENERIC, 0, OperationKind.WRITE), access(Proxy.ASYNC, 1)
    needs = contracts.races.needs_no_proxy_fence
    free = [
        (generic, access(Proxy.GENERIC, 1)),
        (texture, access(Proxy.TEXTURE, 0)),
        (later, generic),
        (later, access(Proxy.ASYNC, 0)),
    ]
    fenced = [
        (generic, texture),
        (texture, generic),
        (texture, other),
        (generic, later),
        (written, later),
        (texture, later),
        (later, texture),
    ]
    return all(needs(a, b) for a, b in free) and not any(needs(a, b) for a, b in fenced)


def steps_on_objects_do_not_conflict() -> bool:
    """Whether two steps on one object do not conflict, and a plain access conflicts with one, whichever is first."""
    here, place = ByteRange("bar", 0, 8), ThreadPlace(0, 0, 0)

    def write(thread: int, on_object: bool) -> Operation:
        fields = {"address": here, "location": here, "on_object": on_object}
        return Operation(OperationKind.WRITE, thread, place, 0, "", Order.WEAK, **fields)  # type: ignore[arg-type]

    conflict = contracts.races.conflict
    step, plain = write(0, True), write(0, False)
    told = [conflict(plain, write(1, flag)) and conflict(write(1, flag), plain) for flag in (True, False)]
    return all(told) and not conflict(step, write(1, True))


def test_steps_on_objects() -> None:
    assert steps_on_objects_do_not_conflict()


def fences_connect() -> bool:
    """Whether a fence with an order is for what its kind says, later accesses first and earlier ones behind, and one without for
    both directions; and of those for tensor maps not the one that releases."""
    kind, proxies = OperationKind.PROXY_FENCE, (Proxy.TENSORMAP, Proxy.GENERIC)
    one_way = Operation(kind, 0, ThreadPlace(0, 0, 0), 0, "", Order.ACQUIRE, proxies=proxies)
    releases = replace(one_way, order=Order.RELEASE)
    of_copies = replace(releases, proxies=(Proxy.ASYNC, Proxy.GENERIC))
    both = replace(one_way, order=None)
    connects, there, back = (
        contracts.causality.connects,
        (Proxy.GENERIC, Proxy.TENSORMAP),
        (Proxy.TENSORMAP, Proxy.GENERIC),
    )
    other = connects(both, Proxy.ASYNC, Proxy.GENERIC)
    return (
        connects(one_way, *there)
        and connects(both, *there)
        and connects(both, *back)
        and not connects(one_way, *back)
        and not connects(releases, *there)
        and connects(of_copies, Proxy.GENERIC, Proxy.ASYNC)
        and not other
    )


def test_proxy_fences_in_one_direction() -> None:
    assert fences_connect()


def test_relations_are_the_same_each_time() -> None:
    model = MemoryModel((9, 1))
    assert contracts.causality.causality(model) is contracts.causality.causality(model)
