"""Linkage within classes against every pair of records."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.measures.linkage import linkage
from masktron.measures.linkage_within import linkage_within


def by_pairs(original: np.ndarray, masked: np.ndarray, classes: np.ndarray) -> float:
    """Link each masked record among the original ones of its class, standardised there."""
    credit = 0.0
    for code in set(classes.tolist()):
        own = classes == code
        before, after = original[own], masked[own]
        spread = before.std(axis=0)
        varies = spread > 0
        before, after = (
            (one[:, varies] - original[own].mean(axis=0)[varies]) / spread[varies] for one in (before, after)
        )
        for at in range(len(after)):
            distances = ((before - after[at]) ** 2).sum(axis=1)
            nearest = np.isclose(distances, distances.min(), rtol=1e-12, atol=1e-12)
            credit += nearest[at] / nearest.sum()
    return 100 * credit / len(original)


@pytest.mark.parametrize("seed", range(5))
def test_each_class_is_linked_by_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    original = rng.normal(size=(60, 3)) * [1, 10, 100]
    masked = original + rng.normal(size=original.shape) * [0.5, 5, 50]
    classes = rng.integers(0, 4, size=60)
    assert linkage_within(original, masked, classes) == pytest.approx(by_pairs(original, masked, classes))
    assert linkage_within(original, masked, np.zeros(60, dtype=int)) == pytest.approx(linkage(original, masked))


def test_who_knows_more_links_more_of_a_class_of_one() -> None:
    original = np.array([[0.0], [1.0], [2.0]])
    masked = np.array([[2.0], [1.0], [0.0]])
    assert linkage_within(original, masked, np.array([0, 1, 2])) == 100.0
    assert linkage_within(original, masked, np.array([0, 0, 0])) == pytest.approx(100 / 3)
    assert linkage_within(original[:0], masked[:0], np.zeros(0, dtype=int)) == 0.0
