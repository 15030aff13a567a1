"""PRAM against enumeration: expected frequencies, admitted values, odds, and a contract that finds what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.errors import InfeasibleError, UsageError
from masktron.streams import Streams
from masktron.treatments.pram import pram_law, randomised
from pram_files import made_up, rows_of
from refusals import refused

type Judge = Callable[[Sequence[NDArray[np.intp]]], NDArray[np.bool_]]


def most_change(file: dict[str, Any], minimum: float) -> float:
    """The largest share that can change, read from what the error says."""
    try:
        law = pram_law(**file, change=1 - 1e-9, minimum=minimum)
    except UsageError as error:
        return float(error.what.rsplit(" ", 2)[-2]) / 100
    return law.figures.expected / law.figures.records


@pytest.mark.parametrize("seed", range(60))
def test_expected_frequencies_are_those_of_the_file_and_nothing_else_is_drawn(seed: int) -> None:
    file = made_up(seed)
    minimum = (0.0, 0.3, 0.7)[seed % 3]
    if not (known := np.logical_and.reduce([one >= 0 for one in file["columns"]])).any():
        return
    share = 0.6 * most_change(file, minimum)
    if share == 0:
        return  # every group has one value: other tests
    law = pram_law(**file, change=share, minimum=minimum)
    rows = rows_of(law)
    weights = np.ones(len(known)) if file["weights"] is None else file["weights"]
    assert rows[known].sum(axis=1) == pytest.approx(1)
    own = rows[np.flatnonzero(known), law.value[known]]
    assert (1 - own).sum() == pytest.approx(share * known.sum())
    assert own.min() >= minimum - 1e-12
    truth = np.bincount(law.value[known], weights[known], len(law.domain))
    assert (weights[:, None] * rows).sum(axis=0) == pytest.approx(truth)
    for stratum in () if file["strata"] is None else (0, 1):
        part = known & (file["strata"] == stratum)
        inside = (weights[part, None] * rows[part]).sum(axis=0)
        assert inside == pytest.approx(np.bincount(law.value[part], weights[part], len(law.domain)))
    admitted = np.stack(
        [
            file["admissible"]([np.where(known, c, o) for c, o in zip(one, file["columns"], strict=True)])
            for one in law.domain
        ],
        axis=1,
    )
    assert not (rows[known] > 0)[~admitted[known]].any()
    assert ((rows > 0)[known] & admitted[known]).sum() > known.sum()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_drawn_is_admitted_and_what_is_missing_stays(seed: int) -> None:
    file = made_up(seed)
    share = 0.9 * most_change(file, 0.0)
    if share == 0:
        return
    law = pram_law(**file, change=share)
    drawn = randomised(law, Streams(bytes(range(32)), str(seed)).generator("pram"), allow_alone=True)
    for was, now in zip(file["columns"], drawn.codes, strict=True):
        assert ((was < 0) == (now < 0)).all()
        lacking = law.value < 0
        assert (was[lacking] == now[lacking]).all()
    assert file["admissible"](drawn.codes).all()
    different = np.logical_or.reduce([a != b for a, b in zip(file["columns"], drawn.codes, strict=True)])
    assert drawn.changed == different.sum()


def test_outcomes_of_a_tiny_file_by_enumeration() -> None:
    """All published files of four records with their probabilities: mean counts, and what is known of a record."""
    columns = [np.array([0, 0, 1, 2])]
    law = pram_law(columns, change=0.3)
    rows = rows_of(law)
    mean, truths, published = np.zeros(3), np.zeros((3, 3)), np.zeros(3)
    for outcome in product(range(3), repeat=4):
        p = float(np.prod([rows[i, v] for i, v in enumerate(outcome)]))
        mean += p * np.bincount(outcome, minlength=3)
        for record, value in enumerate(outcome):
            truths[columns[0][record], value] += p
            published[value] += p
    assert mean == pytest.approx([2, 1, 1])
    # the share changed: a (1 - 1/4 - 1/16 - 1/16) = 0.3
    a = 0.3 / 0.625
    assert rows[3] == pytest.approx([a / 2, a / 4, 1 - a + a / 4])
    assert law.figures.confidence == pytest.approx((truths / published).max())
    assert law.figures.confidence == pytest.approx(1 - a / 2)
    assert law.figures.odds == pytest.approx((1 - a + a / 4) / (a / 4))


def test_draws_have_the_probabilities_of_the_law() -> None:
    columns = [np.repeat([0, 1, 2, 1, 0], [11_000, 5_500, 1_800, 300, 700])]
    other = np.repeat([0, 1], [18_300, 1000])
    law = pram_law(columns, change=0.2, admissible=lambda c: (other == 0) | (c[0] < 2))
    drawn = randomised(law, Streams(bytes(range(32))).generator("pram")).codes[0]
    for group in (0, 1):
        for value in range(3):
            rows = (other == group) & (columns[0] == value)
            if rows.any():
                one = law.groups[law.group[np.flatnonzero(rows)[0]]]
                expected = np.zeros(3)
                expected[one.values] = one.matrix[one.values.tolist().index(value)]
                found = np.bincount(drawn[rows], minlength=3) / rows.sum()
                assert np.abs(found - expected).max() < 5 * 0.5 / rows.sum() ** 0.5
    assert not (drawn[other == 1] == 2).any()


def test_a_record_is_drawn_by_its_place_and_not_by_its_group() -> None:
    columns = [np.array([0, 1] * 50)]
    law = pram_law(columns, change=0.3)
    one = randomised(law, Streams(bytes(range(32))).generator("pram"))
    swapped = randomised(pram_law([1 - columns[0]], change=0.3), Streams(bytes(range(32))).generator("pram"))
    assert one.codes[0].tolist() != columns[0].tolist()
    assert one.changed == (one.codes[0] != columns[0]).sum()
    assert swapped.changed > 0
    other = randomised(law, Streams(bytes(range(1, 33))).generator("pram"))
    assert (other.codes[0] != one.codes[0]).any()


@pytest.mark.parametrize("seed", range(40))
def test_a_given_matrix_is_made_invariant(seed: int) -> None:
    file = made_up(seed)
    file["columns"] = file["columns"][:1]
    file["admissible"] = None
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet([0.5] * 6, size=6)  # two values that no record has
    law = pram_law(**file, matrix=matrix)
    known = law.value >= 0
    weights = np.ones(len(known)) if file["weights"] is None else file["weights"]
    rows = rows_of(law)
    assert (weights[:, None] * rows).sum(axis=0) == pytest.approx(np.bincount(law.value[known], weights[known]))
    assert (weights @ rows_with(matrix, file["columns"][0]))[: len(rows[0])] != pytest.approx(weights @ rows)


def rows_with(matrix: NDArray[np.float64], column: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.where(column[:, None] >= 0, matrix[column], 0)


def test_an_invariant_matrix_by_hand() -> None:
    """Shares 1/2, 1/2 and P = [[1, 0], [1/2, 1/2]]: drawn are 3/4 and 1/4, so Q = [[2/3, 1/3], [0, 1]]."""
    law = pram_law([np.array([0, 1])], matrix=np.array([[1, 0], [0.5, 0.5]]))
    assert law.groups[0].matrix == pytest.approx(np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]]))
    assert law.figures.odds == pytest.approx(2)
    assert law.figures.confidence == pytest.approx(2 / 3)


def test_odds_are_infinite_where_a_value_has_its_own_records_alone() -> None:
    law = pram_law([np.array([0, 1, 2])], matrix=np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]))
    assert law.figures.odds == np.inf
    assert law.figures.confidence == 1


def test_records_that_stay_are_refused_or_counted() -> None:
    """Of the first group all have 0 and may have 1; of the second the rules give 1."""
    column, other = np.array([0, 0, 1, 0, 1, 0]), np.array([0, 0, 1, 2, 2, 2])

    def judge(proposed: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (other != 1) | (proposed[0] == 1)
        return found

    alone = pram_law([column], change=0.2, admissible=judge, strata=other)
    assert (alone.figures.alone, alone.figures.given) == (2, 1)
    generator = Streams(bytes(range(32))).generator("pram")
    with refused(InfeasibleError, "pram-no-choice", alone=2, records=6):
        randomised(alone, generator)
    assert randomised(alone, generator, allow_alone=True).codes[0][:3].tolist() == [0, 0, 1]
    with refused(UsageError, "pram-share-too-large", most=0):
        pram_law([column], change=0.2, strata=np.arange(6))
    with refused(InfeasibleError, "pram-no-choice", alone=6):
        randomised(pram_law([column], matrix=np.eye(2)), generator)
