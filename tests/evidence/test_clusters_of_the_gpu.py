"""Clusters do on our machine what they did on an H200, in every form that may reach another CTA."""

from __future__ import annotations

import itertools
import re
from functools import cache

import numpy as np
import pytest

import ptxspec
from ptxspec.language.forms import registry
from ptxspec_workshop.generate import cases, cluster_cases
from ptxspec_workshop.record import stored_answers
from ptxspec_workshop.record.families import CLUSTERS

ANSWERS = CLUSTERS.read()


def opcode_of(name: str) -> str:
    return re.split(r"[. ;]", name)[0]


@cache
def every_case() -> list[cluster_cases.ClusterCase]:
    """Of the opcodes that were answered: the meanings of all forms take minutes."""
    assert ANSWERS is not None
    opcodes = sorted({opcode_of(name) for name in ANSWERS.values} & set(registry().opcodes))
    return cluster_cases.cases(form for o in opcodes for form in ptxspec.forms(o)) + cluster_cases.registers()


def case(name: str) -> cluster_cases.ClusterCase:
    forms = (form for form in ptxspec.forms(opcode_of(name)) if form.mnemonic in name)
    return next(c for c in cluster_cases.cases(forms) if c.name == name)


@pytest.mark.slow
def test_the_recorded_answers_are_what_the_machine_does() -> None:
    assert ANSWERS is not None
    count, differences = CLUSTERS.compare(every_case(), ANSWERS)
    assert count > 64 * 1500
    assert not differences, "\n".join(map(str, differences[:5]))


@pytest.mark.slow
def test_both_engines_do_the_same() -> None:
    """A case of each kind, and of each width that moves."""
    names = [
        "ld.shared::cluster.v2.u64 d, [a]; of another CTA", "ld.u8 d, [a]; of another CTA",
        "st.shared::cluster.v4.f32 [a], b; of another CTA", "st.release.cluster.shared::cluster.u16 [a], b; of another CTA",
        "atom.shared::cluster.cas.b64 d, [a], b, c; of another CTA", "atom.add.noftz.f16x2 d, [a], b; of another CTA",
        "red.relaxed.cluster.shared::cluster.add.f32 [a], b; of another CTA", "mapa.shared::cluster.u32 d, a, b;", "mapa.u64 d, a, b;",
        "mapa.shared::cluster.u64 d, avar, b; with an offset", "getctarank.u64 d, a;", "getctarank.shared::cluster.u32 d, avar;",
        "barrier.cluster.arrive.relaxed;", "barrier.cluster.wait.acquire.aligned;",
    ]  # fmt: skip
    assert ANSWERS is not None
    count, differences = CLUSTERS.compare([*map(case, names), *cluster_cases.registers()], ANSWERS, "native")
    assert count > 64 * len(names) and not differences


@pytest.mark.slow
def test_every_answer_is_of_a_case() -> None:
    assert ANSWERS is not None
    assert ANSWERS.facts["device"] == "NVIDIA H200"
    assert set(ANSWERS.values) <= {c.name for c in every_case()} and len({c.name for c in every_case()}) == len(
        every_case()
    )
    assert {c.name for c in cluster_cases.registers()} <= set(ANSWERS.values)
    for opcode in ("barrier", "mapa", "getctarank"):
        assert any(map(cluster_cases.asks, ptxspec.forms(opcode))), opcode


def test_where_the_assembler_disagrees_with_itself_is_in_the_register() -> None:
    """NaNs of sums of double precision, as in the thread's own shared memory (AMB-088)."""
    assert ANSWERS is not None
    found = ANSWERS.facts["differences"]
    assert found and all(".add.f64" in d["form"] and d["levels"] and not d["O3"] for d in found)


def next_in_cluster(rows: np.ndarray) -> np.ndarray:
    """For each thread the row of the thread of the same number in the next CTA of its cluster."""
    size = cluster_cases.CLUSTER[0]
    return np.roll(rows.reshape(-1, size, cluster_cases.BLOCK, *rows.shape[1:]), -1, axis=1).reshape(rows.shape)


def test_the_answers_by_an_oracle_that_knows_nothing_of_kernels() -> None:
    """Loads, stores and exchanges: bytes of the rows of one CTA come to the next."""
    assert ANSWERS is not None
    for one, name in (("ld.shared::cluster.b64 d, [a]", "; of another CTA"), ("ld.b64 d, [a]", "; of another CTA")):
        own = case(one + name)
        assert np.array_equal(ANSWERS.values[own.name][:, 0], next_in_cluster(own.cells[:, 0]))
    own = case("st.shared::cluster.b64 [a], b; of another CTA")
    assert np.array_equal(next_in_cluster(ANSWERS.values[own.name][:, 0]), own.cells[:, 0])
    own = case("atom.shared::cluster.exch.b64 d, [a], b; of another CTA")
    answer = ANSWERS.values[own.name]
    assert np.array_equal(answer[:, 0], next_in_cluster(own.cells[:, 1]))
    assert np.array_equal(next_in_cluster(answer[:, 1]), own.cells[:, 0])


def test_packed_sums_in_another_cta_are_those_of_integers() -> None:
    """AMB-225: what the H200 gave for halves is what it gives for integers."""
    assert ANSWERS is not None
    for type in ("f16x2", "bf16x2"):
        for name in (
            f"red.shared::cluster.add.noftz.{type} [a], b; of another CTA",
            f"atom.add.noftz.{type} d, [a], b; of another CTA",
        ):
            own, answer = case(name), ANSWERS.values[name]
            total = own.cells[:, 0] + next_in_cluster(own.cells[:, 1])
            assert np.array_equal(next_in_cluster(answer[:, 1]) & np.uint64(0xFFFFFFFF), total & np.uint64(0xFFFFFFFF))


@pytest.mark.parametrize(("grid", "cluster"), cluster_cases.SHAPES)
def test_registers_by_going_through_the_clusters(grid: cases.Extents, cluster: cases.Extents | None) -> None:
    assert ANSWERS is not None
    (own,) = [c for c in cluster_cases.registers() if (c.grid, c.cluster) == (grid, cluster)]
    told = ANSWERS.values[own.name].astype("<u8").view("<u4").reshape(len(own.cells), -1)
    size = cluster or (1, 1, 1)
    for z, y, x in itertools.product(*map(range, grid[::-1])):
        at = (x, y, z)
        first = [a // n for a, n in zip(at, size, strict=True)]
        within = [a % n for a, n in zip(at, size, strict=True)]
        many = [g // n for g, n in zip(grid, size, strict=True)]
        rank = within[0] + size[0] * (within[1] + size[1] * within[2])
        wanted = [*first, 0, *many, 0, *within, 0, *size, 0, rank, np.prod(size), int(cluster is not None)]
        assert told[x + grid[0] * (y + grid[1] * z), : len(wanted)].tolist() == wanted


def test_a_wrong_answer_is_found() -> None:
    assert ANSWERS is not None
    for name in ("mapa.u64 d, a, b;", "st.shared::cluster.u8 [a], b; of another CTA", "barrier.cluster.wait;"):
        wrong = {name: ANSWERS.values[name].copy()}
        wrong[name][5, 0] ^= np.uint64(1)
        count, found = CLUSTERS.compare([case(name)], stored_answers.Answers(ANSWERS.facts, wrong))
        assert count == 64 and [(d.form, d.row) for d in found] == [(name, 5)]
