"""Weights verified: factors and texts of who spreads them, found by themselves, and false ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from made_columns import column_of_cells
from masktron.jobs.reweighted import factors_of, reweighted_column
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Reweighted
from masktron.verify.weights import reweighted, weight_deviations


@pytest.mark.parametrize("seed", range(20))
def test_factors_and_texts_are_those_of_who_spreads(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 80
    keep = rng.random(n) > 0.2
    columns = [
        column_of_cells(rng.choice(["0.5", "1", "07.25", "+3", "-1", "", "x"], n), name="W"),
        column_of_cells(rng.choice(["a", " a", "b", "-9", None], n), ["-9"], name="G"),
        column_of_cells(rng.choice(["1", "2"], n), name="H"),
    ]
    records, within = Dataset.of_columns(Path("d"), columns, n), ("G", "H")[: 1 + seed % 2]
    factors = factors_of(records, keep, "W", within)
    step = Reweighted("W", within, factors, seed % 4)
    assert [*weight_deviations(step, records, keep)] == []
    assert reweighted(step, records).lexemes.tolist() == reweighted_column(records, step).lexemes.tolist()
    key = next(iter(factors))
    for other in ({**factors, key: factors[key] + Fraction(1, 999)}, {k: v for k, v in factors.items() if k != key}):
        assert len([*weight_deviations(Reweighted("W", within, other, 3), records, keep)]) == 1


def test_a_class_of_which_no_record_is_left_has_no_factor() -> None:
    columns = [column_of_cells([1, 2, 3], name="W"), column_of_cells("aab", name="G")]
    records = Dataset.of_columns(Path("d"), columns, 3)
    step = Reweighted("W", ("G",), {("a",): Fraction(3)}, 0)
    (problem,) = weight_deviations(step, records, np.array([True, False, False]))
    assert "cannot have been spread as the manifest says: 1 class has no record left" in str(problem)
    assert [*weight_deviations(step, records, np.array([True, False, True]))] == []
