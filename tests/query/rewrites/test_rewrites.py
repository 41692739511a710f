"""Rewrites of a thread beside any other threads: the classic wrong ones are refuted by a program, and right ones are proved."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from rewritten_pairs import judged

import ptxspec
from ptxspec import contracts
from ptxspec.evidence import precomputed
from ptxspec.query.litmus.shapes import shapes, status_of, verdict_on
from ptxspec.query.rewrites.contexts import Rewrite, witness
from ptxspec.query.rewrites.simulation import Simulation
from ptxspec.query.rewrites.stated import stated_witness
from ptxspec.query.rewrites.steps import line_of
from ptxspec.query.rewrites.table import EDITION, axioms, decide, decided, model, tables, takes_what_is_stored

BUFFERS = {"p": 4, "q": 4}
WRITE, READ = "st.global.u32 [p], a; ", "ld.global.u32 d, [p]; "
RELEASE, ACQUIRE = "st.release.gpu.global.u32 [q], 1; ", "ld.acquire.gpu.global.u32 x, [q]; "
ATOMIC = "atom.relaxed.gpu.global.add.u32 d, [p], 1;"

#: by name the original, what it must not become, and an axiom that forbids that
WRONG = {
    "a store behind a release": (WRITE + RELEASE, RELEASE + WRITE, "Causality"),
    "a store before a release fence": (
        WRITE + "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [q], 1;",
        "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [q], 1; " + WRITE,
        "Causality",
    ),
    "a load before an acquire": (ACQUIRE + READ, READ + ACQUIRE, "Causality"),
    "no fence.sc between a store and a load": (
        WRITE + "fence.sc.gpu; ld.global.u32 d, [q];",
        WRITE + "ld.global.u32 d, [q];",
        "Causality",
    ),
    "a relaxed store for a release": (WRITE + RELEASE, WRITE + RELEASE.replace("release", "relaxed"), "Causality"),
    "a relaxed load for an acquire": (ACQUIRE + READ, ACQUIRE.replace("acquire", "relaxed") + READ, "Causality"),
    "a narrower scope": (WRITE + RELEASE, WRITE + RELEASE.replace("gpu", "cta"), ""),
    "one load for two across an acquire": (
        f"ld.relaxed.gpu.global.u32 d, [p]; {ACQUIRE} ld.relaxed.gpu.global.u32 e, [p];",
        f"ld.relaxed.gpu.global.u32 d, [p]; {ACQUIRE} mov.u32 e, d;",
        "Causality",
    ),
    "a load and a store for an atomic operation": (
        ATOMIC,
        "ld.relaxed.gpu.global.u32 d, [p]; add.u32 y, d, 1; st.relaxed.gpu.global.u32 [p], y;",
        "Atomicity",
    ),
}

#: the original, what it may become, and the rewrites of which that consists
RIGHT = [
    (RELEASE + WRITE, WRITE + RELEASE, 1),
    (READ + ACQUIRE, ACQUIRE + READ, 1),
    (WRITE + "ld.global.u32 d, [q];", "ld.global.u32 d, [q]; " + WRITE, 1),
    (WRITE + RELEASE.replace("release", "relaxed"), WRITE + RELEASE, 1),
    (WRITE + RELEASE.replace("gpu", "cta"), WRITE + RELEASE.replace("gpu", "sys"), 1),
    (RELEASE.replace("1;", "3;") + RELEASE, RELEASE, 1),
    ("fence.release.gpu; fence.sc.gpu;" + WRITE, "fence.sc.gpu;" + WRITE, 1),
    (WRITE, WRITE + "fence.sc.gpu;", 1),
    (READ + "fence.acquire.gpu; " + WRITE.replace("p", "q"), "fence.acq_rel.gpu; " + READ + WRITE.replace("p", "q"), 2),
]


def asked(left: str, right: str, **how: Any) -> ptxspec.Verdict:
    return ptxspec.prove(left, right, **{"relation": "refines", "buffers": BUFFERS, **how})


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_rewrites_are_refuted(name: str) -> None:
    left, right, axiom = WRONG[name]
    verdict = asked(left, right)
    assert verdict.status == "refuted" and verdict.witness is not None, verdict
    assert verdict.witness.allowed_by == "right" and (not axiom or axiom in verdict.witness.axioms)
    for text, status in ((verdict.witness.left, "forbidden"), (verdict.witness.right, "allowed")):
        assert ptxspec.litmus(text).status == ptxspec.litmus(text, by="solver").status == status, text
    if "one load" not in name:  # in which a thread alone could tell, if another one did not write
        assert asked(left, right, context="alone").status in ("proved", "exhausted")


@pytest.mark.sample(8)
@pytest.mark.parametrize(("left", "right", "count"), RIGHT)
def test_right_rewrites_are_proved(left: str, right: str, count: int) -> None:
    verdict = asked(left, right, context="any")
    assert verdict.status == "proved" and verdict.reason.count(";") == count - 1, verdict
    assert verdict.statement is not None and verdict.statement.notes[0] == "Beside any other threads."


def test_values_count() -> None:
    """What is written and left is compared for whatever is read."""
    assert asked(RELEASE + WRITE, "add.u32 b, a, 0; st.global.u32 [p], b; " + RELEASE).status == "proved"
    copied = "st.relaxed.gpu.global.u32 [p], 1; ld.relaxed.gpu.global.u32 d, [p]; st.{}.gpu.global.u32 [q], {};"
    assert asked(copied.format("relaxed", "d"), copied.format("release", "d")).status == "proved"
    verdict = asked(copied.format("relaxed", "d"), copied.format("release", "1"))
    assert verdict.status == "refuted" and verdict.witness is not None, verdict
    assert asked(copied.format("relaxed", "d"), copied.format("release", "1"), context="alone").status == "proved"


def test_accesses_without_an_order_count_if_that_is_asked() -> None:
    twice = "ld.global.u32 d, [p]; ld.global.u32 e, [p];"
    once = "ld.global.u32 d, [p]; mov.u32 e, d;"
    assert asked(twice, once).status == "proved"
    verdict = asked(once, twice, context="any")
    assert verdict.status == "refuted" and verdict.witness is not None
    assert asked(WRITE + RELEASE, RELEASE + WRITE, context="alone").status == "proved"
    assert asked("add.u32 d, a, b;", "add.u32 d, b, a;", context="any", buffers={}).status == "proved"
    with pytest.raises(ValueError, match="no context is called 'all'"):
        asked(WRITE, WRITE, context="all")


def test_what_is_not_decided_is_said() -> None:
    for left, right, why in (
        ("ld.volatile.global.u32 d, [p];", "ld.relaxed.sys.global.u32 d, [p];", "may be seen by more than threads"),
        ("fence.proxy.alias;" + WRITE, WRITE, "neither an access nor a fence"),
        ("@s fence.sc.gpu; " + WRITE, WRITE, "on some paths alone"),
        ("st.relaxed.gpu.global.v2.u32 [p], {a, b};", "st.global.v2.u32 [p], {a, b};", "accesses a vector"),
        ("st.relaxed.gpu.global.u32 [p], 0; ld.relaxed.gpu.global.u16 d, [p+2];", "st.relaxed.gpu.global.u32 [p], 0; mov.u16 d, 0;", "overlap"),
    ):  # fmt: skip
        verdict = asked(left, right, buffers={"p": 8})
        assert verdict.status == "unsupported" and why in verdict.reason, verdict


# the table ------------------------------------------------------------------------------------------------------------


def test_the_table_is_that_of_the_pages() -> None:
    known = precomputed.rewrites()
    assert known is not None, "python -m ptxspec_workshop.ledger.rewrites"
    assert {name: len(cells) for name, cells in known["tables"].items()} == {n: len(c) for n, c in tables().items()}
    for name, cases in tables().items():
        for case, cell in zip(cases, known["tables"][name], strict=True):
            assert (case.row, case.column) == (cell["row"], cell["column"])
            assert ("tests" in cell) == (cell["status"] == "wrong")
    words = {(n, c["row"], c["column"]): c["status"] for n, cells in known["tables"].items() for c in cells}
    assert words["reorder", "ld.acquire.gpu", "ld.weak"] == words["reorder", "st.weak", "st.release.gpu"] == "wrong"
    assert words["reorder", "ld.weak", "ld.acquire.gpu"] == words["reorder", "st.release.gpu", "st.weak"] == "right"
    assert (
        words["single", "fence.sc.gpu", "left out"]
        == words["single", "atom.relaxed.gpu", "a load and a store"]
        == "wrong"
    )


@pytest.mark.parametrize("name", tables())
@pytest.mark.slow
def test_cells_are_computed_again(name: str) -> None:
    known = precomputed.rewrites()
    assert known is not None
    for case, cell in list(zip(tables()[name], known["tables"][name], strict=True))[::25]:
        if cell["status"] != "open":
            assert decided(case).status == cell["status"], case
        if cell["status"] == "wrong":
            statuses = [ptxspec.litmus(text).status for text in cell["tests"]]
            assert statuses == ["forbidden", "allowed"], cell["tests"]


@pytest.mark.slow
def test_what_is_shown_of_all_programs_no_program_contradicts() -> None:
    known = precomputed.rewrites()
    assert known is not None
    right = [
        case
        for name, cases in tables().items()
        for case, cell in zip(cases, known["tables"][name], strict=True)
        if cell["status"] == "right"
    ]
    assert len(right) > 100
    for case in right[::12]:
        assert witness(model(), Rewrite(line_of(case.before), line_of(case.after)), others=[1]) is None, case


#: rewrites that only a stated program tells, which has accesses of two sizes, weak or atomic ones, or several scopes
STATED = {
    ("reorder", "ld.acquire.gpu", "fence.acquire.gpu"), ("reorder", "atom.acquire.gpu", "fence.acquire.gpu"),
    ("reorder", "atom.acq_rel.gpu", "fence.acquire.gpu"), ("reorder", "fence.release.gpu", "st.release.gpu"),
    ("reorder", "fence.release.gpu", "atom.release.gpu"), ("reorder", "fence.release.gpu", "atom.acq_rel.gpu"),
    ("merge", "st.relaxed.gpu; st.weak", "second"), ("forward", "st.weak", "ld.relaxed.gpu"),
    ("single", "ld.relaxed.gpu", "left out"), ("single", "ld.weak", "left out"),
}  # fmt: skip


@pytest.mark.sample(4, lambda takes, **_: [takes])
@pytest.mark.parametrize(
    ("store", "load", "instead", "takes"),
    [
        ("st.weak x, 1", "ld.weak r1, x", "mov r1, 1", True),
        ("st.release.gpu x, 1", "ld.relaxed.gpu r1, x", "mov r1, 1", True),
        ("st.relaxed.sys x, r9", "ld.relaxed.sys r1, x", "mov r1, r9", True),
        ("st.weak x, 1", "ld.weak r1, x", "mov r1, 2", False),
        ("st.weak x, 1", "ld.weak r1, y", "mov r1, 1", False),
        ("st.weak x, 1", "ld.relaxed.gpu r1, x", "mov r1, 1", False),
        ("st.relaxed.cta x, 1", "ld.relaxed.gpu r1, x", "mov r1, 1", False),
        ("st.relaxed.gpu x, 1", "ld.acquire.gpu r1, x", "mov r1, 1", False),
        ("st.relaxed.sys x, 1", "ld.volatile r1, x", "mov r1, 1", False),
        ("st.relaxed.sys x, 1", "ld.mmio.sys r1, x", "mov r1, 1", False),
        ("atom.relaxed.gpu.exch r0, x, 1", "ld.relaxed.gpu r1, x", "mov r1, 1", False),
        ("ld.weak r0, x", "ld.weak r1, x", "mov r1, r0", False),
    ],
)
def test_what_may_take_what_is_stored(store: str, load: str, instead: str, takes: bool) -> None:
    sizes = {"x": 4, "y": 4}
    before, after = (line_of(cells, sizes, {"r9": 3}) for cells in ([store, load], [store, instead]))
    rewrite = Rewrite(before, after, None, sizes, {"r9": 3})
    assert takes_what_is_stored(rewrite) == takes
    assert not takes or decide(rewrite).status == "right"


@pytest.mark.slow
@pytest.mark.parametrize("load", ["ld.weak", "ld.relaxed.gpu"])
@pytest.mark.parametrize("store", ["st.relaxed.gpu", "st.release.gpu", "st.weak"])
def test_no_program_tells_that_a_load_takes_what_is_stored(store: str, load: str) -> None:
    before, after = (line_of([f"{store} x, 1", last]) for last in (f"{load} r1, x", "mov r1, 1"))
    assert witness(model(), Rewrite(before, after)) is None


@pytest.mark.slow
def test_programs_that_are_stated_tell() -> None:
    known = precomputed.rewrites()
    assert known is not None
    status = {(n, c["row"], c["column"]): c["status"] for n, cells in known["tables"].items() for c in cells}
    assert "open" not in status.values()
    for name, cases in tables().items():
        for case in cases:
            if (name, case.row, case.column) in STATED:
                result = stated_witness(Rewrite(line_of(case.before), line_of(case.after), case.stands), EDITION)
                assert result is not None and axioms(result), case
                assert status[name, case.row, case.column] == "wrong"
    right = Rewrite(line_of(["ld.weak r0, x", "ld.weak r1, x"]), line_of(["ld.weak r1, x", "ld.weak r0, x"]), (1, 0))
    assert stated_witness(right, EDITION) is None
    assert stated_witness(right._replace(whole=True), EDITION) is None


def test_what_follows_from_the_axioms_is_used() -> None:
    """Loads of one location, of which the first is weak, change places; two become one, and two fences do."""
    weak, relaxed, fence = (
        line_of([cell]).steps[0].shape for cell in ("ld.weak r0, x", "ld.relaxed.gpu r0, x", "fence.sc.gpu")
    )
    for before, after, stands, shown in (
        ((weak, relaxed), (relaxed, weak), (1, 0), True),
        ((relaxed, weak), (weak, relaxed), (1, 0), False),
        ((relaxed, relaxed), (relaxed,), (0, 0), True),
        ((relaxed, weak), (weak,), (0, 0), False),
        ((fence, fence), (fence,), (0, 0), True),
        ((fence, weak, fence), (weak, fence), (1, 0, 1), False),
    ):
        assert (Simulation(model(), before, after, stands).broken == "") is shown, (before, after)


@pytest.mark.slow
def test_what_follows_from_the_axioms_changes_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """No execution that keeps the axioms breaks what is said to follow: asked as further axioms, nothing else is forbidden."""
    page, lemmas = contracts.axioms, contracts.rewrites
    further = (lemmas.keeps_observations, lemmas.keeps_base_causality, lemmas.keeps_patterns)
    more = {f.__name__: next(iter(page.ALL.values()))._replace(name=f.__name__, claim=f) for f in further}
    cases = [case for shape in shapes().values() for case in shape.cases if float(case.model) >= 7.5]
    monkeypatch.setattr(page, "ALL", {**page.ALL, **more})
    assert [case.name for case in cases if status_of(case, verdict_on(case)) != case.outcome] == []


def test_a_step_that_nothing_stands_for_is_not_shown() -> None:
    store, load = line_of(["st.relaxed.gpu x, 1"]).steps, line_of(["ld.acquire.gpu r0, x"]).steps
    assert not Simulation(model(), store, store, (0,)).broken
    assert Simulation(model(), load, store, (0,)).broken
    assert Simulation(model(), (*store, *store), store, (0, 0)).broken == ""
    assert Simulation(model(), line_of(["fence.sc.gpu"]).steps, line_of(["fence.sc.cta"]).steps, (0,)).broken


# random pairs -----------------------------------------------------------------------------------------------------------


def worth(counts: Counter[str]) -> None:
    total = counts.total()
    assert counts["proved"] > total / 5 and counts["refuted"] > total / 5 and counts["unsupported"] < total / 5, counts


@pytest.mark.slow
def test_random_pairs() -> None:
    assert {"proved", "refuted"} <= {*map(judged, range(10))}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(200, 320, 40))
def test_more_random_pairs(first: int) -> None:
    worth(Counter(map(judged, range(first, first + 40))))


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 3000, 250))
def test_many_random_pairs(first: int) -> None:
    worth(Counter(map(judged, range(first, first + 250))))
