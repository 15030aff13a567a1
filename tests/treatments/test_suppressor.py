"""Local suppression as a transformer: scikit-learn's own checks, and the promise in numbers and in texts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from examples import as_full
from masktron.treatments.suppressor import LocalSuppressor

TOGETHER = "what is left out of a record depends on the others"
FAILURES = {"check_methods_subset_invariance": TOGETHER}
BY_CHANCE = "check_methods_sample_order_invariance"
"""Whether another order of the records, which the check draws without a seed, changes something, is chance."""
CASES = [
    case
    for case in parametrize_with_checks(
        [LocalSuppressor(k=2, random_state=0)], expected_failed_checks=lambda _: FAILURES
    ).args[1]
    if BY_CHANCE not in str(case)
]


@pytest.mark.parametrize(
    ("estimator", "check"),
    [case if number % 4 == 0 else as_full(case) for number, case in enumerate(CASES)],
    ids=lambda part: type(part).__name__ if hasattr(part, "get_params") else getattr(part, "func", part).__name__,
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_texts_and_numbers_keep_the_promise() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 5, (80, 3)).astype(float)
    numbers[::7, 1] = np.nan
    texts = np.array(["a", "b", "c", "d", "e", None], dtype=object)[np.nan_to_num(numbers, nan=5).astype(int)]
    for values in (numbers, texts):
        own = LocalSuppressor(k=3, random_state=2)
        written = own.fit_transform(values)
        rows = Counter(tuple("?" if value is None or value != value else value for value in row) for row in written)  # noqa: PLR0124
        assert min(rows.values()) >= 3
        assert own.suppression_.cells.any()
        assert (written[~own.suppression_.cells] == values[~own.suppression_.cells]).sum() > 150
        assert str(own.transform(values).tolist()) == str(written.tolist())
        assert not np.array_equal(clone(own).fit(values[:40]).suppression_.cells, own.suppression_.cells[:40])


def test_only_the_records_that_it_was_fitted_to_are_written_as_decided() -> None:
    # with the last record, which is alone, one of the others becomes missing: each time another
    values = np.array([[0.0, 5.0]] * 20 + [[1.0, 5.0]])
    own = LocalSuppressor(k=2, random_state=np.random.RandomState(5))
    with pytest.raises(NotFittedError):
        own.transform(values)
    written = own.fit_transform(values)
    for _ in range(4):
        assert np.array_equal(own.transform(values), written, equal_nan=True)
    others = np.array([[7.0, 5.0]] * 21)
    assert np.array_equal(own.transform(others), others)
