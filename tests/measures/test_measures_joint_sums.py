"""Sums of several partitions solved together: an example by hand, and combinations against least squares."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from examples import parts
from masktron.measures.joint_sums import determined_by_sums


def determined(groups: list[NDArray[np.intp]], error: NDArray[np.float64]) -> dict[int, tuple[float, float]]:
    nothing = np.zeros(len(groups[0]), dtype=np.bool_)
    found = determined_by_sums(groups, error, np.abs(error), nothing)
    return {
        int(at): (float(a), float(b))
        for values, low, high in found
        for at, a, b in zip(values, low, high, strict=True)
    }


def test_three_sums_of_two_tell_all_three_values() -> None:
    """With x + y, x + z and y + z off by 2, 4 and 0, x = (2 + 4 - 0) / 2 is off by 3, and so by at most 3."""
    groups = [np.array(one, dtype=np.intp) for one in ([0, 0, -1], [1, -1, 1], [-1, 2, 2])]
    found = determined(groups, np.array([2.0, 4.0, 0.0]))
    assert {at: pytest.approx(own, abs=1e-6) for at, own in found.items()} == {
        0: (-6.0, 0.0),
        1: (-2.0, 4.0),
        2: (-4.0, 2.0),
    }


@pytest.mark.parametrize("seed", parts(range(60), 10))
def test_determined_values_are_those_that_least_squares_gives_back(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(5, 25))
    own = [generator.integers(0, n // 2, n) for _ in range(3)]
    groups = [(one + at * n).astype(np.intp) for at, one in enumerate(own)]
    rows = np.array(
        [[float(sum_ == one[at]) for at in range(n)] for sum_ in range(3 * n) for one in (groups[sum_ // n],)]
    )
    known = np.diag(np.linalg.pinv(rows) @ rows)
    found = determined(groups, np.zeros(3 * n))
    assert {*found} == {at for at in range(n) if abs(known[at] - 1) < 1e-9}
    assert all(max(map(abs, ends)) < 1e-6 for ends in found.values())
