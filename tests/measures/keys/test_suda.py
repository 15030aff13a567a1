"""Minimal sample uniques against all sets of fields of each record, in many small files; scores by hand."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest

from key_files import Keys, small_files
from masktron.measures.keys import suda


def msus(keys: Keys, largest: int) -> list[list[tuple[int, ...]]]:
    """Of each record, by definition."""
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    fields = range(len(keys))

    def alone(row: tuple[int, ...], chosen: tuple[int, ...]) -> bool:
        held = all(row[at] >= 0 for at in chosen)
        return held and sum(all(other[at] == row[at] for at in chosen) for other in rows) == 1

    found = []
    for row in rows:
        unique = [set(s) for size in range(1, largest + 1) for s in combinations(fields, size) if alone(row, s)]
        found.append([tuple(sorted(s)) for s in unique if not any(other < s for other in unique)])
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("largest", [1, 2, 3, 5])
def test_by_definition(largest: int) -> None:
    several = 0
    for _, keys in small_files(120, fields=5):
        fields, expected = len(keys), msus(keys, largest)
        found = suda(keys, largest)
        assert found.smallest.tolist() == [min(map(len, own), default=0) for own in expected]
        last = min(largest, fields - 1)
        score = {size: prod(fields - at for at in range(size, last + 1)) for size in range(1, fields + 1)}
        scores = [sum(score[len(one)] for one in own) for own in expected]
        assert found.scores.tolist() == scores
        sizes = [sum(len(one) == size for own in expected for one in own) for size in range(1, fields + 1)]
        assert list(found.sizes) == sizes[: len(found.sizes)]
        assert not any(sizes[len(found.sizes) :])
        total = sum(scores)
        for at in range(fields):
            own = sum(score[len(one)] for ones in expected for one in ones if at in one)
            assert found.by_field[at] == pytest.approx(100 * own / total if total else 0)
            assert found.by_value[at].sum() == pytest.approx(found.by_field[at])
        several += sum(len(own) > 1 for own in expected)
    assert several > 100 or largest == 1, "records with several MSUs"


def test_scores_by_hand() -> None:
    # of four keys up to three values: an MSU of one value scores 3 * 2 * 1, of two 2 * 1, of three 1
    columns = [0, 1, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0]
    found = suda([np.array(column) for column in columns], 3)
    # the first by its first value; the others by that of 1 and 1, or two values with the first key, or none of one
    assert found.scores.tolist() == [6, 1, 2, 2, 2]
    assert (found.smallest.tolist(), found.sizes) == ([1, 3, 2, 2, 2], (1, 3, 1))
    assert found.by_field[3] == 0, "a field that is the same for all tells nobody apart"


def test_contribution_by_value() -> None:
    found = suda([np.array([0, 0, 0, 1, 2])], 1)
    assert found.by_value[0].tolist() == [0, 50, 50]
    assert found.share == 40


def test_disclosure_is_that_of_data_intrusion_simulation_on_average() -> None:
    # by both keys 3 records are alone and 4 are in pairs
    keys = [np.array([0, 0, 1, 1, 2, 2, 3]), np.array([0, 0, 1, 1, 2, 3, 4])]
    found = suda(keys, 2, fraction=0.1)
    theta = 0.1 * 3 / (0.1 * 3 + 0.9 * 4)
    assert found.disclosure[found.scores > 0].mean() == pytest.approx(theta)
    assert (found.disclosure[:4] == 0).all()
    assert found.disclosure[6] == max(found.disclosure)
    assert suda(keys, 2).disclosure.max() == 1, "where the file is the population, a match is right"


def test_what_is_told_and_refused() -> None:
    told: list[tuple[int, int]] = []
    suda([np.array([0, 1])] * 4, 2, told=lambda done, of: told.append((done, of)))
    assert told[0] == (0, 10)
    assert told[-1] == (10, 10)
    assert np.isnan(suda([np.empty(0, dtype=np.int32)]).share)
