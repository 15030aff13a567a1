"""The same bytes for any number of threads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from masktron.methods import method_named
from masktron.synthesis.threads import blas_in_one_thread


@pytest.mark.few(2)
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


def test_every_library_of_linear_algebra_is_limited_and_let_go_again() -> None:
    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        assert threads() == {2}
        with blas_in_one_thread():
            assert threads() == {1}
        assert threads() == {2}
