"""The cap on observed records: what it counts, and that it is rounded up to whole groups."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.errors import InfeasibleError
from masktron.masking import MaskedBlock
from masktron.masking.observed import observed_groups, refuse_observed
from masktron.methods.grouping import Grouping
from masktron.plan import Block
from masktron.settle.prototypes import Settled


def block_of(aggregator: str, *exits: str, pooled: int = 0) -> MaskedBlock:
    groups = len(exits)
    flags = np.arange(groups) < pooled
    grouping = Grouping(np.repeat(np.arange(groups), 5), flags, flags)
    settled = Settled(np.full((groups, 2), "1", dtype=object), np.array(exits))
    return MaskedBlock(Block(("A", "B"), (), (), (0,), aggregator, ""), grouping, settled)


@pytest.mark.parametrize(
    ("medoids", "records", "most", "stops"),
    [
        (1, 20, 1.0, False),
        (2, 20, 1.0, True),
        (1, 20, 0.0, True),
        (0, 20, 0.0, False),
        (3, 300, 1.0, False),
        (4, 300, 1.0, True),
        (4, 301, 1.0, False),
        (11, 1000, 1.1, False),
        (12, 1000, 1.1, True),
        (20, 20, 100.0, False),
    ],
)
def test_the_cap_is_a_share_rounded_up_to_a_group(medoids: int, records: int, most: float, stops: bool) -> None:
    masked = block_of("mean", *["medoid"] * medoids, "rounded", "median")
    assert observed_groups(masked) == medoids
    if not stops:
        refuse_observed([masked], records, most)
        return
    with pytest.raises(InfeasibleError) as caught:
        refuse_observed([masked], records, most, where="d.xml")
    assert f"A, B: {medoids} group" in caught.value.what
    assert f"{100 * medoids / records:.2g} % of the records" in caught.value.what
    assert "--max-observed-share" in caught.value.hint


@pytest.mark.parametrize("aggregator", ["mean", "geometric_mean", "derive"])
def test_what_was_to_be_a_mean_is_capped(aggregator: str) -> None:
    with pytest.raises(InfeasibleError, match="2 of them since a pattern of missing values"):
        refuse_observed([block_of(aggregator, "medoid", "medoid", "medoid", pooled=2)], 50, 1.0)


@pytest.mark.parametrize("aggregator", ["median", "mode", "medoid"])
def test_what_is_observed_by_plan_is_counted_only(aggregator: str) -> None:
    masked = block_of(aggregator, "medoid", "medoid", "medoid")
    assert observed_groups(masked) == 3
    refuse_observed([masked], 50, 0.0)


def test_each_block_has_its_own_cap_and_all_that_are_over_are_named() -> None:
    one, two = block_of("mean", "medoid", "medoid"), block_of("derive", *["medoid"] * 3)
    refuse_observed([one, one, one], 200, 1.0)
    with pytest.raises(InfeasibleError, match=r"2 groups.*; A, B: 3 groups"):
        refuse_observed([one, two], 100, 1.0)
