"""Kernels that nvcc made of cooperative groups' clusters, against NumPy."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from launching import both

import ptxspec

KEPT = Path(__file__).resolve().parents[1] / "corpus" / "compiled.json.xz"
MODULES = {k: v for k, v in json.loads(lzma.decompress(KEPT.read_bytes())).items() if k.split()[0] == "clusters"}
pytestmark = pytest.mark.parametrize(
    "source",
    [
        pytest.param(text, id=name, marks=pytest.mark.slow if name.endswith("-G") else ())
        for name, text in MODULES.items()
    ],
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("cluster", "grid"), [(4, 8), (8, 8), (1, 2)])
@pytest.mark.slow
def test_a_histogram_with_bins_in_all_ctas(source: str, cluster: int, grid: int) -> None:
    each = 24
    values = np.random.default_rng(cluster).integers(0, each * cluster, 300, np.uint32)
    arguments = [values, np.uint32(values.size), np.zeros(each * cluster, np.uint32), np.uint32(each)]
    shape = {"grid": grid, "block": 32, "cluster": cluster, "dynamic_shared": 4 * each}
    out = both(source, arguments, "spread_histogram", **shape)[2]
    assert np.array_equal(out, np.bincount(values, minlength=out.size))


def test_a_sum_that_every_cta_forms(source: str) -> None:
    """Clusters of 2 by 1 by 2, as the source says; multiples of a power of two, so that every order gives one sum."""
    values = np.random.default_rng(7).integers(-(2**20), 2**20, (4, 2, 2, 20)) / 64
    sums, ranks = np.zeros((4, 2, 2)), np.zeros((4, 2, 2, 4), np.uint32)
    _, sums, ranks = both(source, [values, sums, ranks], "sum_of_cluster", grid=(2, 2, 4), block=20)
    wanted = values.sum(axis=3).reshape(2, 2, 2, 1, 2).sum(axis=(1, 4))
    assert np.array_equal(sums, wanted.repeat(2, axis=0).repeat(2, axis=2).reshape(sums.shape))
    # what the CTA of rank r writes into each: ten times its rank, and the rank of its own variable
    assert np.array_equal(ranks, np.broadcast_to(np.arange(4, dtype=np.uint32) * 11, ranks.shape))


@pytest.mark.slow
def test_a_queue_in_the_first_cta(source: str) -> None:
    values = np.random.default_rng(3).integers(-1000, 1000, (2, 4, 40), np.int32)
    out, count = np.zeros((2, 512), np.int64), np.zeros(2, np.uint32)
    shape = {"grid": 8, "block": 40, "cluster": 4}
    _, out, count, _ = both(source, [values, out, count, np.int32(250)], "collect", **shape)
    for i in range(2):
        chosen = [int(v) ** 2 * 100 + rank for rank in range(4) for v in values[i, rank] if v > 250]
        assert count[i] == len(chosen)
        assert sorted(out[i, : count[i]].tolist()) == sorted(chosen)


def test_a_launch_that_does_not_fit(source: str) -> None:
    module = ptxspec.load(source)
    with pytest.raises(ValueError, match="no multiple of the cluster"):
        module.launch("sum_of_cluster", (3, 1, 2), 32, [0, 0, 0])
    with pytest.raises(ValueError, match="requires clusters"):
        module.launch("sum_of_cluster", (4, 1, 2), 32, [0, 0, 0], cluster=2)
