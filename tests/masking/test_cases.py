"""Cases of rules for many groups at once: which of them each target tries, in which order."""

from __future__ import annotations

from typing import cast

import numpy as np

from masktron.masking.block.joint_search import MAX_RANKS, ProjectedTargets, by_distance
from masktron.settle.bulk import Bulk

FAR = np.inf


def projected(*distances: float) -> ProjectedTargets:
    return ProjectedTargets(cast("Bulk", None), {"A": np.arange(len(distances), dtype=float)}, np.array(distances))


def test_each_target_tries_its_cases_by_distance() -> None:
    cases = [projected(1.0, 5.0, FAR), projected(2.0, 3.0, FAR), projected(2.0, FAR, 9.0)]
    ranks = [[one.distances.tolist() for one in rank] for rank in by_distance(cases)]
    assert ranks == [
        [[1.0, FAR, FAR], [FAR, 3.0, FAR], [FAR, FAR, 9.0]],
        [[FAR, 5.0, FAR], [2.0, FAR, FAR], [FAR, FAR, FAR]],
        [[FAR, FAR, FAR], [FAR, FAR, FAR], [2.0, FAR, FAR]],
    ]
    assert list(by_distance([])) == []
    assert len(list(by_distance([projected(1.0)] * (MAX_RANKS + 3)))) == MAX_RANKS


def test_some_targets_and_those_that_are_near() -> None:
    one = projected(1.0, 5.0, FAR)
    assert one.upto(2.0).distances.tolist() == [1.0, FAR, FAR]
    some = one.take(np.array([1, 0]))
    assert (some.distances.tolist(), some.points["A"].tolist()) == ([5.0, 1.0], [1.0, 0.0])
