"""What every partition keeps: groups of at least k records, and refusals that name the cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from masktron.arrays import Floats, Labels
from masktron.errors import InfeasibleError, UsageError
from masktron.methods.mst import MstMethod
from masktron.partitions.crest import crest
from masktron.partitions.mdav import partition
from masktron.partitions.mst import tree_partition
from masktron.partitions.mu_approx import approx_partition
from masktron.partitions.partitioner import Partitioner
from masktron.partitions.univariate import optimal_univariate, projected_partition
from refusals import refused

PARTITIONS: dict[str, Callable[[Floats, int], Labels]] = {
    "mdav": partition,
    "partitioner": Partitioner(),
    "blocks": Partitioner(30),
    "pca": partial(projected_partition, projection="pca"),
    "sum": partial(projected_partition, projection="sum"),
    "univariate": lambda points, k: optimal_univariate(points[:, 0] if points.size else np.zeros(len(points)), k),
    "mst": tree_partition,
    "mu_approx": approx_partition,
    "crest": lambda points, k: crest(points, k, np.arange(len(points)) % 2),
}
BETWEEN = {"mdav", "partitioner", "blocks", "pca", "sum", "univariate", "mu_approx"}
"""Those that promise groups of no more than 2k - 1 records."""
BASE = np.random.default_rng(2).integers(0, 3, 40).astype(np.float64)
UGLY = (
    np.zeros((9, 0)),
    np.ones((9, 3)),
    np.full((9, 2), -0.0) * (np.arange(9) % 2)[:, None],
    np.column_stack((BASE, -BASE)),
    np.column_stack((BASE, 2 * BASE, np.ones(40))),
    np.column_stack((BASE * 1e149, BASE * 1e-300, BASE[::-1] * -1e149)),
    np.column_stack((BASE, np.where(np.arange(40) == 7, 1e149, 0.0))),
    np.where(np.arange(40) < 30, 0.0, np.arange(40.0))[:, None],
)


def test_groups_on_the_unit_scale_have_k_records() -> None:
    assert all(np.bincount(MstMethod(4, scale="unit").partition(points)).min() >= 4 for points in UGLY)


@pytest.mark.parametrize("name", PARTITIONS)
def test_groups_of_ugly_columns_have_k_records(name: str) -> None:
    for points in UGLY:
        for k in (2, 4, 9):
            sizes = np.bincount(PARTITIONS[name](points, k))
            assert sizes.min() >= k
            assert name not in BETWEEN or sizes.max() <= 2 * k - 1


@pytest.mark.parametrize("name", PARTITIONS)
def test_refusals(name: str) -> None:
    made = PARTITIONS[name]
    with refused(InfeasibleError, "too-few-records", least=3, records=2):
        made(np.zeros((2, 1)), 3)
    for points, k, code, where in (
        ([[0.0], [1.0]], 0, "bad-value", ""),
        ([[0.0], [np.nan]], 1, "missing-values", "column 1, record 2"),
        ([[1e200], [0.0]], 1, "values-too-large", ""),
    ):
        with refused(UsageError, code, where=where):
            made(np.array(points), k)
