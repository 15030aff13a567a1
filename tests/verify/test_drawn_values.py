"""Draws verified: the same law as that of who draws, found by itself, and every way to break it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.streams import Streams
from masktron.treatments.pram import pram_law, randomised
from masktron.verify.drawn_values import CannotBeDrawnError, draw_deviations, success_bounds
from masktron.verify.drawn_values import _by_matrix as by_matrix
from masktron.verify.drawn_values import _by_share as by_share
from masktron.verify.drawn_values import _groups as groups_of
from masktron.verify.record_rules import Admitted
from pram_files import Judge, group_of, made_up

ORIGINAL: NDArray[np.intp] = np.repeat([1, 0, 1, 2], [500, 500, 500, 1000])
OTHER = np.repeat([1, 0], [1000, 1500])


def admits(proposed: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """The value 2 in some records alone."""
    found: NDArray[np.bool_] = (OTHER == 0) | (proposed[0] < 2)
    return found


def found_in(
    columns: Sequence[NDArray[np.intp]], written: Sequence[NDArray[np.intp]], judge: Judge | None = None, **law: Any
) -> set[str]:
    group = group_of(columns, judge)
    return {one.kind for one in draw_deviations(np.stack(columns, 1), np.stack(written, 1), group, **law)}


@pytest.mark.parametrize("seed", range(60))
def test_the_law_is_that_of_who_draws(seed: int) -> None:
    """Two that share no code find the same groups, shares and probabilities, or none for the same files."""
    file = made_up(seed)
    table, group = np.stack(file["columns"], axis=1), group_of(**file)
    known = np.flatnonzero((table >= 0).all(axis=1))
    weights = np.ones(len(table)) if file["weights"] is None else file["weights"]
    by_rng = np.random.default_rng(seed)
    if seed % 4 == 0 and table.shape[1] == 1:
        matrix = by_rng.dirichlet([0.5] * 6, size=6)
        matrix = np.where((matrix < 0.05) | (np.arange(6) == 5), 0, matrix)  # a value that nothing becomes
        matrix[:, 0] += 0.01
        matrix /= matrix.sum(axis=1, keepdims=True)
        law = pram_law(**file, matrix=matrix)
        groups = groups_of(table[:, 0], group, known, weights)
        found = [by_matrix(matrix[one.values], one.shares) for one in groups]
    else:
        change, stay = float(by_rng.choice([0.05, 0.2, 0.5])), (0.0, 0.3, 0.7)[seed % 3]
        rows = np.unique(table, axis=0, return_inverse=True)[1]
        groups = groups_of(rows, group, known, weights)
        try:
            law = pram_law(**file, change=change, minimum=stay)
        except UsageError:
            with pytest.raises(CannotBeDrawnError):
                by_share(groups, change, stay)
            return
        found = by_share(groups, change, stay)
    of_row = {int(row): (own, which) for which, own in enumerate(groups) for row in own.rows}
    for row in known.tolist():
        mine, which = of_row[row]
        theirs = law.groups[law.group[row]]
        assert mine.counts.tolist() == theirs.counts.tolist()
        assert found[which] == pytest.approx(theirs.matrix, abs=1e-12)
        assert ((found[which] > 0) == (theirs.matrix > 0)).all()


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_found_in_what_is_drawn(seed: int) -> None:
    file = made_up(seed)
    try:
        law = pram_law(**file, change=0.1)
    except UsageError:
        return
    drawn = randomised(law, Streams(bytes(range(32)), str(seed)).generator("pram"), allow_alone=True)
    was, now = np.stack(file["columns"], axis=1), np.stack(drawn.codes, axis=1)
    assert [*draw_deviations(was, now, group_of(**file), change=0.1, weights=file["weights"])] == []


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        (lambda codes: codes[0].__setitem__(0, -1), "missing"),
        (lambda codes: codes[0].__setitem__(0, 2), "excluded"),
        (lambda codes: codes[0].__setitem__(0, 7), "excluded"),
        (lambda codes: codes[0].__setitem__(slice(None), ORIGINAL), "changed"),
        (lambda codes: codes[0].__setitem__(slice(1, 1500), 1), "frequency"),
    ],
)
def test_the_contract_finds_what_breaks_it(spoil: Callable[[Any], None], kind: str) -> None:
    law = pram_law([ORIGINAL], change=0.3, admissible=admits)
    codes = randomised(law, Streams(bytes(range(32))).generator("pram")).codes
    assert found_in([ORIGINAL], codes, admits, change=0.3) == set()
    spoil(codes)
    assert kind in found_in([ORIGINAL], codes, admits, change=0.3)
    hidden = np.ones(len(ORIGINAL), dtype=np.bool_)  # of what is hidden nothing is said
    assert found_in([ORIGINAL], codes, admits, change=0.3, hidden=hidden) == set()


def test_the_contract_is_wrong_about_good_files_as_seldom_as_it_says() -> None:
    column = np.repeat([0, 1, 2], [30, 20, 5])
    law, streams = pram_law([column], change=0.3), Streams(bytes(range(32)))
    drawn = [randomised(law, streams.generator("pram", i)).codes for i in range(300)]
    bad = sum(bool(found_in([column], codes, change=0.3, error=0.2)) for codes in drawn)
    assert 0 < bad <= 0.2 * 300


@pytest.mark.parametrize(("trials", "mean"), [(1, 0.3), (7, 0.1), (7, 6.9), (40, 20.0), (40, 40.0), (40, 0.0)])
def test_bounds_of_successes_are_quantiles_of_the_binomial(trials: int, mean: float) -> None:
    p = mean / trials
    chances = [comb(trials, s) * p**s * (1 - p) ** (trials - s) for s in range(trials + 1)]
    low = [s for s in range(trials + 1) if s <= mean - 1 and sum(chances[: s + 1]) <= 0.01]
    high = [s for s in range(trials + 1) if s >= mean + 1 and sum(chances[s:]) <= 0.01]
    assert success_bounds(trials, mean, 0.01) == (len(low), trials - len(high))
    assert success_bounds(0, 0.0, 0.01) == (0, 0)


@pytest.mark.parametrize("seed", range(10))
def test_what_all_rules_admit_in_all_records_of_a_unit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    each = rng.random((2, 40, 5)) < 0.7
    one, two = (Admitted(*reversed(np.unique(own, axis=0, return_inverse=True))) for own in each)
    both = one.and_also(two)
    assert (both.sets[both.which] == each.all(axis=0)).all()
    units = np.unique(rng.integers(0, 15, 40), return_inverse=True)[1]
    of_units = both.of_units(units)
    meant = [each[:, units == unit].all(axis=(0, 1)) for unit in range(units.max() + 1)]
    assert (of_units.sets[of_units.which] == meant).all()
    assert len(np.unique(of_units.sets, axis=0)) == len(of_units.sets)
