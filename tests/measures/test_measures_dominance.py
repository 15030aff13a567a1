"""Dominance against intruders who estimate every value, one after the other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from examples import parts
from masktron.measures.dominance import Dominance, p_percent


def totals(values: NDArray[np.float64], groups: NDArray[np.int64]) -> list[list[Fraction]]:
    """Contributions to every total, the largest first."""
    found = []
    for column in values.T:
        for label in np.unique(groups):
            own = [Fraction(value) for value in column[(groups == label) & ~np.isnan(column)].tolist()]
            if own:
                found.append(sorted(own, reverse=True))
    return found


def estimated(contributions: list[Fraction], percent: int) -> list[bool]:
    """Whether the largest contributor of the others, who bounds a value by the total, is off by less than p %."""
    found = []
    for place, value in enumerate(contributions):
        others = contributions[:place] + contributions[place + 1 :]
        bound = sum(contributions) - (others[0] if others else 0)
        found.append((bound - value) * 100 < percent * value)
    return found


def shares(sensitive: list[bool], at_risk: list[bool]) -> Dominance:
    def share(those: list[bool]) -> float:
        return 100 * sum(those) / len(those) if those else 0.0

    return Dominance(len(sensitive), share(sensitive), share(at_risk))


def by_p_percent(values: NDArray[np.float64], groups: NDArray[np.int64], percent: int) -> Dominance:
    found = [estimated(contributions, percent) for contributions in totals(values, groups)]
    # the rule itself asks for the largest one alone
    return shares([those[0] for those in found], [one for those in found for one in those])


def agrees(found: Dominance, expected: Dominance) -> bool:
    return found.totals == expected.totals and (found.sensitive, found.values) == pytest.approx(
        (expected.sensitive, expected.values)
    )


@pytest.mark.parametrize("seed", parts(range(200), 48))
def test_every_value_and_its_intruder(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 50)), int(rng.integers(1, 4))
    # powers make some contributions dominate, small integers make ties and figures at the very bound
    values = rng.integers(0, int(rng.integers(2, 60)), size=(n, p)).astype(np.float64) ** (1 + seed % 3)
    groups = rng.integers(-2, 1 + n // 4, size=n)
    if seed % 3 == 0:
        values[rng.random((n, p)) < 0.2] = np.nan
    for percent in (1, 10, 50, 100):
        assert agrees(p_percent(values, groups, percent), by_p_percent(values, groups, percent))


def test_by_hand() -> None:
    values = np.array([[100.0], [50], [9], [100], [50], [10], [7], [0], [0]])
    groups = np.array([0, 0, 0, 1, 1, 1, 2, 3, 3])
    # 9 < 10 % of 100, but not of 50; 10 is not below 10; a single one gives itself away; zeros nothing
    found = p_percent(values, groups, 10)
    assert agrees(found, Dominance(4, 50, 100 * 2 / 9))


def test_monotone_and_independent_of_order_and_unit() -> None:
    rng = np.random.default_rng(5)
    values, groups = rng.lognormal(sigma=2, size=(400, 3)), rng.integers(0, 100, size=400)
    found = [p_percent(values, groups, percent) for percent in (1, 5, 20, 60, 100)]
    assert [one.sensitive for one in found] == sorted(one.sensitive for one in found)
    assert [one.values for one in found] == sorted(one.values for one in found)
    assert found[0].sensitive < found[-1].sensitive
    order = rng.permutation(400)
    assert p_percent(values[order] * 1024, groups[order], 20) == found[2]
    assert p_percent(values * 2.0**1014, -groups, 20) == p_percent(values * 2.0**-1000, groups, 20) == found[2]


def test_a_small_rest_does_not_vanish_beside_a_large_total() -> None:
    values = np.array([[1e300], [1.0], [1e-20], [1e-20]])
    assert p_percent(values, np.zeros(4, dtype=np.int64), 1).values == 50
    values[:, 0] = [1e17, 3, 2, 1]
    # the rest of 3 is as large as the second one: taken as a difference from the total it would be 0
    assert p_percent(values, np.zeros(4, dtype=np.int64), 100).values == 25


def test_nothing_to_add_up() -> None:
    nothing = Dominance(0, 0, 0)
    for values in (np.empty((0, 2)), np.full((0, 0), np.nan), np.full((3, 1), np.nan)):
        groups = np.zeros(len(values), dtype=np.int64)
        assert p_percent(values, groups) == nothing
    zeros = np.zeros((3, 1))
    assert p_percent(zeros, np.arange(3)) == Dominance(3, 0, 0)
    ones = np.ones((2, 1))
    assert p_percent(ones, np.zeros(2, dtype=np.int64)) == Dominance(1, 100, 100)
