"""Log-linear risk: fits against closed forms and margins, and measures against populations that were drawn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import poisson

from masktron.errors import UsageError
from masktron.measures.keys import log_linear, log_linear_risk


def by_hand(unseen: list[float]) -> tuple[float, float]:
    tau1 = tau2 = 0.0
    for h in unseen:
        masses = poisson.pmf(np.arange(4000), h)
        tau1 += float(masses[0])
        tau2 += float((masses / np.arange(1, 4001)).sum())
    return tau1, tau2


def test_main_effects_are_products_of_shares() -> None:
    rng = np.random.default_rng(0)
    keys = [rng.integers(0, size, 60) for size in (3, 4, 5)]
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    fitted = [60 * np.prod([np.mean(key == value) for key, value in zip(keys, row, strict=True)]) for row in rows]
    unseen = [9 * mu for row, mu in zip(rows, fitted, strict=True) if rows.count(row) == 1]
    found = log_linear_risk(keys, 0.1)
    assert found.uniques == len(unseen) > 5
    assert (found.tau1, found.tau2) == pytest.approx(by_hand(unseen))


def test_two_way_interactions_keep_two_way_margins_and_have_no_other() -> None:
    table = np.random.default_rng(3).integers(1, 30, size=(3, 4, 2, 2)).astype(np.float64)
    fitted, rounds = log_linear.proportionally_fitted(table)
    assert 1 < rounds < 200
    for rest in combinations(range(4), 2):
        assert fitted.sum(axis=rest) == pytest.approx(table.sum(axis=rest), rel=1e-6)
    logs = np.log(fitted)
    for axes in combinations(range(4), 3):
        effect = logs
        for axis in axes:
            effect = np.diff(effect, axis=axis)
        assert abs(effect).max() < 1e-9


def test_two_keys_with_their_interaction_are_saturated() -> None:
    keys = [np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 0, 1])]
    found = log_linear_risk(keys, 0.5, "two-way")
    # every sample unique has mu = 1: h = 1
    assert found.uniques == 2
    assert (found.tau1, found.tau2) == pytest.approx((2 * np.exp(-1), 2 * (1 - np.exp(-1))), rel=1e-6)


def test_what_a_census_shows_is_sure() -> None:
    found = log_linear_risk([np.array([0, 1, 1, 2, -1])], 1.0)
    assert (found.uniques, found.tau1, found.tau2) == (2, 2, 2), "a record that lacks a key is left out"
    assert found.tau1_interval == found.tau2_interval == (2, 2)


@pytest.mark.parametrize("h", [0.0, 1e-9, 0.3, 0.999, 1.0, 7.0, 39.9, 40.1, 300.0])
def test_moments_of_one_over_a_size(h: float) -> None:
    sizes = np.arange(1, 3000)
    masses = poisson.pmf(sizes - 1, h)
    assert log_linear._mean_inverse(np.array([h]))[0] == pytest.approx((masses / sizes).sum(), rel=1e-12)
    assert log_linear._mean_inverse_square(np.array([h]))[0] == pytest.approx((masses / sizes**2).sum(), rel=1e-11)


def test_drawn_populations_are_within_the_intervals() -> None:
    """Populations of the model, of which a tenth is drawn: the true numbers are known."""
    rng, inside1, inside2 = np.random.default_rng(11), 0, 0
    shares = [rng.dirichlet(np.full(size, 2.0)) for size in (12, 10, 8)]
    for _ in range(60):
        keys = [rng.choice(len(share), 20_000, p=share) for share in shares]
        cell = np.ravel_multi_index(tuple(keys), (12, 10, 8))
        sizes = np.bincount(cell, minlength=960)
        drawn = rng.random(20_000) < 0.1
        alone = np.bincount(cell[drawn], minlength=960) == 1
        found = log_linear_risk([key[drawn] for key in keys], 0.1)
        assert found.uniques == alone.sum()
        inside1 += found.tau1_interval[0] <= (alone & (sizes == 1)).sum() <= found.tau1_interval[1]
        inside2 += found.tau2_interval[0] <= (1 / sizes[alone]).sum() <= found.tau2_interval[1]
    assert (inside1 >= 50, inside2 >= 50) == (True, True), (inside1, inside2)


def test_bounds() -> None:
    with pytest.raises(UsageError, match="fraction"):
        log_linear_risk([np.array([0])], 0)
    many = [np.arange(300), np.arange(300), np.arange(300)]
    with pytest.raises(UsageError, match="27,000,000 cells"):
        log_linear_risk(many, 0.5, "two-way")
    assert log_linear_risk([np.array([-1])], 0.5, "two-way").uniques == 0


def test_a_unique_of_rare_values_and_two_by_chance() -> None:
    """The example of docs/keys.md: margins 60, 38, 2 and 70, 28, 2."""
    cells = {"Na": 47, "Nb": 13, "Sa": 22, "Sb": 15, "Sc": 1, "Xa": 1, "Xc": 1}
    rows = [key for key, many in cells.items() for _ in range(many)]
    keys = [np.array(["NSX".index(row[0]) for row in rows]), np.array(["abc".index(row[1]) for row in rows])]
    found = log_linear_risk(keys, 0.1)
    assert found.uniques == 3
    assert found.tau1 == pytest.approx(sum(np.exp(-9 * mu) for mu in (2 * 2 / 100, 38 * 2 / 100, 2 * 70 / 100)))
    assert round(found.tau1, 2) == 0.70
