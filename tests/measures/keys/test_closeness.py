"""t-closeness and beta-likeness class by class; the worked example of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from key_files import classes_of, small_files
from masktron.measures.keys import beta_likeness, t_closeness


def test_class_by_class() -> None:
    far = 0
    for rng, keys in small_files(200, fields=2):
        secret = rng.integers(-1, 5, len(keys[0])) * 2  # codes that do not occur between those that do
        secret[secret < 0] = -1
        found, beta = t_closeness(keys, secret), beta_likeness(keys, secret)
        values = np.unique(secret[secret >= 0])
        for rows in classes_of(keys):
            own = np.array([secret[row] for row in rows if secret[row] >= 0])
            for row in rows:
                if secret[row] < 0:
                    assert np.isnan([found.equal[row], found.ordered[row], beta[row]]).all()
                    continue
                p = np.array([(own == value).mean() for value in values])
                q = np.array([(secret[secret >= 0] == value).mean() for value in values])
                places = np.arange(len(values))
                steps = max(1, len(values) - 1)
                assert found.equal[row] == pytest.approx(abs(p - q).sum() / 2)
                assert found.ordered[row] == pytest.approx(wasserstein_distance(places, places, p, q) / steps)
                assert beta[row] == pytest.approx(max(0, ((p - q) / q).max()))
                far += found.ordered[row] > 0.2
    assert far > 100


def test_the_example_of_the_paper() -> None:
    """Salaries 3k to 11k once each; {3k, 4k, 5k} is 0.375 away and {6k, 8k, 11k} 0.167 (Li et al. 2007, 5.1)."""
    salaries = np.arange(9)  # 3k, 4k, ..., 11k
    keys = [np.array([0, 0, 0, 1, 2, 1, 2, 2, 1])]
    found = t_closeness(keys, salaries)
    assert found.ordered[0] == pytest.approx(0.375)
    assert found.ordered[3] == pytest.approx(0.167, abs=5e-4)
    assert found.equal[0] == pytest.approx(2 / 3)


def test_a_field_without_a_value_or_with_one() -> None:
    keys = [np.array([0, 0, 1])]
    assert np.isnan(t_closeness(keys, np.full(3, -1)).ordered).all()
    assert np.isnan(beta_likeness(keys, np.full(3, -1))).all()
    assert t_closeness(keys, np.full(3, 7)).ordered.tolist() == [0, 0, 0]
