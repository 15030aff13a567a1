"""Disclosure risk and score: the named variants, and the paper's figures on its data."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from masktron.measures import disclosure_risk, linkage, score
from masktron.measures.interval_disclosure import by_deviation, by_ranks
from masktron.measures.linkage_variants import by_groups, by_knowledge, second
from masktron.measures.score import INTERVALS, LINKAGES, DisclosureRisk
from masktron.partitions.mdav import partition, standardise

RNG = np.random.default_rng(8)
ORIGINAL = np.round(RNG.lognormal(size=(120, 4)), 1)
MASKED = np.round(0.9 * ORIGINAL + 0.2 * RNG.normal(size=ORIGINAL.shape), 1)
GROUPS = [[0, 1], [2, 3]]


def test_names() -> None:
    expected = {
        "all": linkage(ORIGINAL, MASKED),
        "second": second(ORIGINAL, MASKED),
        "groups": by_groups(ORIGINAL, MASKED, GROUPS),
        "knowledge": by_knowledge(ORIGINAL, MASKED, 3),
        "ranks": by_ranks(ORIGINAL, MASKED),
        "ranks-in-original": by_ranks(ORIGINAL, MASKED, ranks_in="original"),
        "deviation": by_deviation(ORIGINAL, MASKED),
        "deviation-of-masked": by_deviation(ORIGINAL, MASKED, deviation_of="masked"),
    }
    assert set(expected) == {*LINKAGES, *INTERVALS}
    assert len(set(expected.values())) == len(expected), "each name has a figure of its own here"
    for first, then in product(LINKAGES, INTERVALS):
        risk = disclosure_risk(ORIGINAL, MASKED, linkage=first, interval=then, groups=GROUPS, known=3)
        assert risk == DisclosureRisk(expected[first], expected[then])
        assert risk.total == pytest.approx((expected[first] + expected[then]) / 2)
    assert disclosure_risk(ORIGINAL, MASKED) == DisclosureRisk(expected["all"], expected["ranks"])


def test_corners() -> None:
    distinct = np.arange(20.0)[:, np.newaxis]
    same = disclosure_risk(distinct, distinct)
    assert same.total == 100
    # data that were not masked have a score of 50
    assert score(0, same.total) == 50
    assert score(30, 40) == score(40, 30) == 35
    assert disclosure_risk(np.empty((0, 1)), np.empty((0, 1))).total == 0


CENSUS = [
    *("AFNLWGT", "AGI", "EMCONTRB", "ERNVAL", "FEDTAX", "FICA", "INTVAL", "PEARNVAL", "POTHVAL", "PTOTVAL"),
    *("STATETAX", "TAXINC", "WSALVAL"),
]
BLOCKS = [list(range(start, min(start + 3, 13))) for start in range(0, 13, 3)]


def blind_means(original: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Scenario S2: three variables at a time, in the order of the paper."""
    masked = original.copy()
    for block in BLOCKS:
        label = partition(standardise(original[:, block]), k)
        sizes = np.bincount(label)
        for column in block:
            masked[:, column] = (np.bincount(label, original[:, column]) / sizes)[label]
    return masked


@pytest.mark.parametrize(
    ("k", "loss", "knowledge", "by_groups_and_ranks"),
    [(4, 19.08, 34.39, 34.6), (6, 27.29, 35.00, 35.3), (10, 37.43, 35.77, None), (20, 48.09, 36.25, None)],
)
def test_figures_of_scenario_s2(
    shared_data: Path, k: int, loss: float, knowledge: float, by_groups_and_ranks: float | None
) -> None:
    """The losses are probabilistic information losses of the same files, so that only risk is measured here."""
    original = pd.read_csv(shared_data / "census.csv")[CENSUS].to_numpy(dtype=np.float64)
    masked = blind_means(original, k)
    risk = disclosure_risk(original, masked, linkage="knowledge", known=6, interval="deviation")
    assert score(loss, risk.total) == pytest.approx(knowledge, abs=0.02)
    if by_groups_and_ranks is not None:
        risk = disclosure_risk(original, masked, linkage="groups", groups=BLOCKS)
        assert score(loss, risk.total) == pytest.approx(by_groups_and_ranks, abs=0.5)
    assert disclosure_risk(original, masked).linkage > 75
