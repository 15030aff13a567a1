"""Files that cannot be compared are refused by every measure of two files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from masktron import measures
from masktron.errors import UsageError

COMPARED: tuple[Callable[..., object], ...] = (
    *(measures.biases, measures.il1s, measures.linkage, measures.second, measures.pil),
    *(measures.by_ranks, measures.by_deviation, measures.subdomains, measures.true_cells),
    *(measures.pmse, measures.pmse_cart),
    partial(measures.by_groups, groups=[[0]]),
    partial(measures.by_knowledge, known=1),
)


@pytest.mark.parametrize("measure", COMPARED, ids=lambda one: getattr(one, "func", one).__name__)
def test_files_of_other_shapes_and_infinite_values(measure: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match=r"cannot be (compared|linked)|no cells in common"):
        measure(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(UsageError, match="infinite"):
        measure(np.zeros((3, 2)), np.full((3, 2), np.inf))
