"""The cap on observed records: what it counts, and that it is rounded up to whole groups."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.errors import InfeasibleError
from masktron.masking import MaskedBlock
from masktron.masking.observed import observed_groups, refuse_observed
from masktron.methods.grouping import Grouping
from masktron.plan import Block
from masktron.read.records import Column, Field
from masktron.settle.prototypes import Settled


def block_of(aggregator: str, *exits: str, pooled: int = 0) -> MaskedBlock:
    """Groups of five records; their prototype is their first record's A and their last one's B."""
    groups = len(exits)
    flags = np.arange(groups) < pooled
    grouping = Grouping(np.repeat(np.arange(groups), 5), flags, flags)
    lexemes = np.array([[str(5 * at), str(5 * at + 4)] for at in range(groups)], dtype=object)
    return MaskedBlock(Block(("A", "B"), (), (), (0,), aggregator, ""), grouping, Settled(lexemes, np.array(exits)))


def columns_of(masked: MaskedBlock, *, together: bool = False) -> dict[str, Column]:
    """The records: with `together`, each group's first one holds the whole prototype."""
    n = len(masked.grouping.labels)
    own = [str(at) for at in range(n)]
    other = [str(at + 4) if together and at % 5 == 0 else str(at) for at in range(n)]
    return {
        name: Column(Field(name, name), np.array(texts, dtype=object), np.zeros(n, np.uint8), np.zeros(n), 0)
        for name, texts in (("A", own), ("B", other))
    }


def refuse(*blocks: MaskedBlock, most: float, where: str = "") -> None:
    refuse_observed(blocks, columns_of(blocks[0]), most, where=where)


@pytest.mark.parametrize(
    ("medoids", "groups", "most", "stops"),
    [
        (1, 4, 1.0, False),
        (2, 4, 1.0, True),
        (1, 4, 0.0, True),
        (0, 4, 0.0, False),
        (3, 60, 1.0, False),
        (4, 60, 1.0, True),
        (4, 61, 1.0, False),
        (11, 200, 1.1, False),
        (12, 200, 1.1, True),
        (4, 4, 100.0, False),
    ],
)
def test_the_cap_is_a_share_rounded_up_to_a_group(medoids: int, groups: int, most: float, stops: bool) -> None:
    masked = block_of("mean", *["medoid"] * medoids, *["rounded", "median", "lattice", "finer"] * groups)
    masked = block_of("mean", *masked.settled.exits[:groups].tolist())
    assert observed_groups(masked, columns_of(masked)).sum() == medoids
    if not stops:
        refuse(masked, most=most)
        return
    with pytest.raises(InfeasibleError) as caught:
        refuse(masked, most=most, where="d.xml")
    assert f"A, B: {medoids} group" in caught.value.what
    assert f"{100 * medoids / (5 * groups):.2g} % of the records" in caught.value.what
    assert "--max-observed-share" in caught.value.hint


def test_medians_of_one_record_are_that_record() -> None:
    masked = block_of("mean", "median", "rounded", "median")
    assert not observed_groups(masked, columns_of(masked)).any()
    assert observed_groups(masked, columns_of(masked, together=True)).tolist() == [True, False, True]
    planned = block_of("median", "median", "median", "medoid")
    assert observed_groups(planned, columns_of(planned, together=True)).tolist() == [False, False, True]


@pytest.mark.parametrize("aggregator", ["mean", "geometric_mean", "derive"])
def test_what_was_to_be_a_mean_is_capped(aggregator: str) -> None:
    with pytest.raises(InfeasibleError, match="2 of them since a pattern of missing values"):
        refuse(block_of(aggregator, "medoid", "medoid", "medoid", pooled=2), most=1.0)


@pytest.mark.parametrize("aggregator", ["median", "mode", "medoid"])
def test_what_is_observed_by_plan_is_counted_only(aggregator: str) -> None:
    masked = block_of(aggregator, "medoid", "medoid", "medoid")
    assert observed_groups(masked, columns_of(masked)).sum() == 3
    refuse(masked, most=0.0)


def test_each_block_has_its_own_cap_and_all_that_are_over_are_named() -> None:
    rest = ["rounded"] * 17
    one, two = block_of("mean", "medoid", "rounded", "rounded", *rest), block_of("derive", *["medoid"] * 3, *rest)
    refuse(one, one, one, most=1.0)
    with pytest.raises(InfeasibleError, match=r"record: A, B: 3 groups, 3 % of the records; at most"):
        refuse(one, two, most=1.0)
    with pytest.raises(InfeasibleError, match=r"1 group, 1 % of the records; A, B: 3 groups"):
        refuse(one, two, most=0.0)
