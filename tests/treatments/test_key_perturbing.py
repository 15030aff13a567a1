"""PRAM and record swapping are transformers of scikit-learn, with the results of their functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from masktron.errors import UsageError
from masktron.treatments.key_perturbing import Pram, RecordSwapping
from refusals import refused

TOGETHER = "a perturbed record depends on the records that are perturbed with it"
BY_CHANCE = "check_methods_sample_order_invariance"
"""Whether another order of the records, which the check draws without a seed, changes something, is chance."""
CASES = [
    case
    for case in parametrize_with_checks(
        [Pram(), RecordSwapping()], expected_failed_checks=lambda _: {"check_methods_subset_invariance": TOGETHER}
    ).args[1]
    if BY_CHANCE not in str(case)
]


@pytest.mark.full
@pytest.mark.parametrize(("estimator", "check"), CASES)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_pram_of_columns() -> None:
    values = np.column_stack([np.repeat([1.5, 2.5], 500), np.repeat([7.0, 8, 9, 7], 250)])
    masked = Pram(change=0.2, random_state=1).fit_transform(values)
    assert {*masked[:, 0]} == {1.5, 2.5}
    assert ((masked != values).mean(axis=0) == pytest.approx([0.2, 0.2], abs=0.06)) and (masked != values).any()
    assert Pram(change=0.2, random_state=1).fit(values).transform(values).tobytes() == masked.tobytes()
    with refused(UsageError, "pram-share-too-large", most=50):
        Pram(change=0.6).fit(values)


def test_regions_of_columns_change_places() -> None:
    values = np.column_stack([np.tile([10.0, 20, 30], 40), np.arange(120) % 2, np.arange(120)])
    masked = RecordSwapping(similar=(1,), rate=0.5, random_state=2).fit_transform(values)
    assert (masked[:, 1:] == values[:, 1:]).all()
    moved = masked[:, 0] != values[:, 0]
    assert moved.sum() == pytest.approx(60, abs=2)
    for value in (0, 1):
        part = values[:, 1] == value
        assert sorted(masked[part, 0]) == sorted(values[part, 0])
