"""The same bytes for any number of threads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from masktron.methods import method_named


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("noise", {}),
        ("noise", {"exact": True}),
        ("ipso", {}),
        ("muralidhar_sarathy", {}),
        ("microhybrid", {"k": 500}),
        ("hybrid_micro", {"k": 500}),
    ],
)
def test_threads_do_not_change_what_is_drawn(name: str, parameters: Mapping[str, object]) -> None:
    values = np.random.default_rng(0).lognormal(size=(4000, 12))
    values = np.column_stack([values, values[:, 0] + values[:, 1]])
    drawn = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            drawn.append(method_named(name)(**parameters).mask(values, np.random.default_rng(1)).values)
    assert np.array_equal(*drawn)
