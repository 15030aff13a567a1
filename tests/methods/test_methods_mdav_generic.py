"""MDAV-generic as a method: aggregates of each kind, options for several kinds, refusals."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.contracts import IdenticalGroups
from masktron.errors import InfeasibleError
from masktron.estimators import MdavGeneric as Estimator
from masktron.methods.mdav import MdavMethod
from masktron.methods.mdav_generic import MdavGenericMethod, Mixed
from masktron.partitions.column_kinds import Kinds
from refusals import refused

RNG = np.random.default_rng
MIXED: tuple[Mixed, ...] = get_args(Mixed.__value__)


def mixture(n: int = 80) -> NDArray[np.float64]:
    """Income, its class and a region."""
    rng = RNG(8)
    income = np.round(rng.lognormal(8.0, 1.0, n))
    return np.column_stack([income, np.searchsorted([1000, 3000, 9000], income), rng.integers(1, 5, n)])


@pytest.mark.parametrize("mixed", MIXED)
def test_each_kind_has_its_aggregate(mixed: Mixed) -> None:
    values = mixture()
    method = MdavGenericMethod(4, mixed=mixed, ordinal=[1], nominal=[2]).check()
    drawn = method.mask(values, RNG(0))
    assert np.isin(drawn.values[:, 1], values[:, 1]).all()
    assert np.isin(drawn.values[:, 2], values[:, 2]).all()
    assert drawn.values[:, 0].mean() == pytest.approx(values[:, 0].mean())
    assert method.contract == IdenticalGroups(4)
    if drawn.labels is None:
        assert mixed == "per_type"
        for column in drawn.values.T:
            assert np.unique(column, return_counts=True)[1].min() >= 4
        return
    for group in range(drawn.labels.max() + 1):
        own, made = values[drawn.labels == group], drawn.values[drawn.labels == group]
        assert len(own) >= 4
        assert (made == made[0]).all()
        assert made[0, 1] == np.sort(own[:, 1])[(len(own) - 1) // 2]
        counts = np.bincount(own[:, 2].astype(int))
        assert counts[int(made[0, 2])] == counts.max()


def test_a_partition_for_each_kind_is_that_of_the_kind_alone() -> None:
    values = mixture()
    masked = MdavGenericMethod(4, mixed="per_type", ordinal=[1], nominal=[2]).mask(values, RNG(0)).values
    for column, known in ((0, {}), (1, {"ordinal": [0]}), (2, {"nominal": [0]})):
        alone = MdavGenericMethod(4, **known).mask(values[:, [column]], RNG(0)).values  # type: ignore[arg-type]
        assert (masked[:, [column]] == alone).all()


def test_numbers_alone_are_masked_as_by_mdav() -> None:
    values = RNG(3).normal(size=(60, 3))
    for mixed in MIXED:
        drawn = MdavGenericMethod(5, mixed=mixed).mask(values, RNG(0))
        assert drawn.labels is not None
        expected = MdavMethod(5).mask(values, RNG(0))
        assert (drawn.labels == expected.labels).all()
        assert drawn.values == pytest.approx(expected.values, rel=1e-12)


def test_columns_marked_as_nominal_are_so() -> None:
    values = mixture()[:, [0, 2]]
    marked = MdavGenericMethod(4).mask(values, RNG(0), nominal=np.array([False, True]))
    assert (marked.values == MdavGenericMethod(4, nominal=[1]).mask(values, RNG(0)).values).all()


def test_per_type_has_no_partition_of_several_kinds() -> None:
    method = MdavGenericMethod(2, mixed="per_type")
    points = RNG(1).normal(size=(9, 2))
    kinds = Kinds(("number", "ordinal"), (1, 1))
    with refused(InfeasibleError, "kinds-masked-together", kinds=("number", "ordinal")):
        method.partition(points, kinds=kinds)
    points[:, 1] = 0.0
    assert (method.partition(points, kinds=kinds) == method.partition(points)).all()


@pytest.mark.parametrize("mixed", ["together", "imposed", "consensus"])
@pytest.mark.parametrize("n", [3, 4, 5, 17])
def test_ugly_columns(mixed: Mixed, n: int) -> None:
    """Constant columns of each kind, duplicates, barely enough records."""
    rng = RNG(n)
    values = np.column_stack(
        [np.zeros(n), 1e12 * rng.integers(0, 2, n), rng.integers(0, 3, n), np.full(n, 7.0), rng.integers(0, 2, n)]
    )
    drawn = MdavGenericMethod(3, mixed=mixed, ordinal=[2, 3], nominal=[0, 4]).mask(values, RNG(0))
    assert drawn.labels is not None
    assert np.bincount(drawn.labels).min() >= 3
    assert np.isfinite(drawn.values).all()


@pytest.mark.parametrize("mixed", MIXED)
def test_the_worked_example_of_the_page(mixed: Mixed) -> None:
    values = np.array([[10.0, 1, 1], [12, 1, 1], [14, 2, 1], [50, 3, 2], [54, 3, 2], [40, 2, 1]])
    masked = Estimator(k=3, mixed=mixed, ordinal=[1], nominal=[2]).fit_transform(values)
    assert masked[:, 0].tolist() == [12.0] * 3 + [48.0] * 3
    assert masked[:, 1].tolist() == [1.0] * 3 + [3.0] * 3
    assert masked[:, 2].tolist() == ([2.0, 1.0, 1.0, 2.0, 2.0, 1.0] if mixed == "per_type" else [1.0] * 3 + [2.0] * 3)
