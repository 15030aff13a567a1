"""Model-based hybrid data: moments, clusters, refusals, and what is said of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from masktron.methods.base import Drawn
from masktron.methods.model_hybrid import ModelHybridMethod
from ugly_files import RELATION, moments_differ, ugly


def masked(values: np.ndarray, seed: int = 0, **parameters: object) -> Drawn:
    return ModelHybridMethod(**parameters).check().mask(values, np.random.default_rng(seed))  # type: ignore[arg-type]


def keeps_what_it_declares(seed: int) -> None:
    values = ugly(seed)
    drawn = masked(values, seed)
    assert drawn.labels is not None
    assert np.isfinite(drawn.values).all()
    assert moments_differ(values, drawn.values) < 1e-9
    assert np.bincount(drawn.labels).min() >= 5
    for label in range(int(drawn.labels.max()) + 1):
        own = drawn.labels == label
        assert moments_differ(values[own], drawn.values[own]) < 1e-9
    assert np.abs(drawn.values[:, :3] @ RELATION).max() <= 1e-9 * np.abs(values).max()


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_ugly_files(seed: int) -> None:
    keeps_what_it_declares(seed)


@pytest.mark.full
def test_many_ugly_files() -> None:
    for seed in range(4, 400):
        keeps_what_it_declares(seed)


def test_diabetes_is_drawn_for_three_clusters(shared_data: Path) -> None:
    values = pd.read_csv(shared_data / "diabetes_reaven_miller.csv")[["glucose", "insulin", "sspg"]].to_numpy(float)
    drawn = masked(values)
    assert drawn.labels is not None
    assert sorted(np.bincount(drawn.labels).tolist()) == [28, 36, 81]
    assert drawn.notes == (
        "mixture of 3 normal components, family VVV: log-likelihood -2303.5, BIC -4751.3 (2 log L - parameters x "
        "log n: larger is better)",
    )
    assert moments_differ(values, drawn.values) < 1e-12


@pytest.mark.full
def test_draws_follow_the_clusters_not_one_normal_distribution() -> None:
    generator = np.random.default_rng(1)
    values = np.where(generator.random((300, 1)) < 0.7, 0, 30) + generator.normal(size=(300, 2))
    drawn = masked(values)
    assert set(np.unique(np.round(drawn.values[:, 0] / 30)).tolist()) == {0, 1}
    assert (np.round(drawn.values / 30) == np.round(values / 30)).all()


@pytest.mark.full
def test_plain_draws_do_not_have_the_moments() -> None:
    values = np.random.default_rng(0).normal(size=(300, 2))
    assert 1e-4 < moments_differ(values, masked(values, exact=False).values) < 0.5


def test_clusters_that_are_too_small_are_joined_and_it_is_said() -> None:
    generator = np.random.default_rng(2)
    # a third of the records is spread out, but only half of these are nearer to that component than to the other
    values = np.concatenate([generator.normal(0, 1, (200, 1)), generator.normal(0, 4, (100, 1))])
    apart, together = masked(values, k=40, most=2), masked(values, k=80, most=2)
    assert apart.labels is not None
    assert 40 <= np.bincount(apart.labels).min() < 80
    assert together.labels is not None
    assert set(together.labels.tolist()) == {0}
    assert "mixture of 2 normal" in together.notes[0]
    assert together.notes[1] == "clusters of fewer than 80 records were joined with the nearest ones (1)"


def test_singular_components_are_said() -> None:
    generator = np.random.default_rng(0)
    values = np.column_stack(
        [generator.normal(size=200), np.where(np.arange(200) % 2, 0.0, generator.normal(5, 1, 200))]
    )
    drawn = masked(values, most=2)
    assert any("1 of 2 components are nearly singular" in note for note in drawn.notes)
    assert (drawn.values[1::2, 1] == 0).all()


def test_a_sample_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.synthesis.mixture.AGGLOMERATED", 100)
    drawn = masked(np.random.default_rng(0).normal(size=(150, 2)), most=3)
    assert drawn.notes[-1] == "EM was started from the agglomeration of 100 records that were drawn"


@pytest.mark.full
def test_a_family_that_is_asked_for() -> None:
    values = np.random.default_rng(0).normal(size=(150, 2))
    assert "family EEI" in masked(values, family="EEI").notes[0]
    assert "mixture of 4 normal" in masked(values, fewest=4, most=4).notes[0]
    assert "mixture of 1 normal" in masked(values, fewest=1).notes[0]
    assert len(masked(values, fewest=1).notes) == 1


def test_fewer_components_than_asked_for_are_said() -> None:
    values = np.array([1, 2, 3, 4, 11, 12, 14, 15.0])[:, None]
    (note,) = masked(values, k=4).notes
    assert "mixture of 2 normal" in note
    notes = masked(values, k=5).notes
    assert "mixture of 1 normal" in notes[0]
    assert notes[1:] == ("no mixture of 2 or more components has 5 records in each: fewer were taken",)


def test_no_value_comes_back() -> None:
    values = np.random.default_rng(0).lognormal(size=(500, 3))
    assert not np.isin(masked(values).values, values).any()


@pytest.mark.parametrize(("unit", "told"), [(2.0**700, "-3901.0"), (2.0**-700, "3862.2")])
def test_units_whose_squares_are_none_count_in_the_likelihood(unit: float, told: str) -> None:
    values = np.array([1, 2, 3, 4, 11, 12, 14, 15.0])[:, None]
    # -19.4 less 8 log(unit)
    assert f"log-likelihood {told}, BIC" in masked(values * unit, k=4).notes[0]


def test_equal_records_stay_and_it_is_said() -> None:
    values = np.concatenate([np.full((12, 2), 700.0), np.random.default_rng(0).normal(size=(12, 2))])
    drawn = masked(values, most=2)
    assert (drawn.values[:12] == 700).all()
    assert "12 of 24 records stay as they are: those of their group are equal" in drawn.notes
