"""Keys treated under the rules beside the usual order: what both leave is counted again, with pandas alone."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import masktron
from reproduction import keys_compared
from reproduction.generated_survey import RECORDS, SETTINGS, survey, write_survey
from reproduction.key_page import page
from reproduction.keys_compared import Case, Compared, compared
from reproduction.usual_order import locally_suppressed, microaggregated

KEYS = ["AGE", "SEX", "REGION", "URBAN", "EDUC", "OCC", "HHSIZE", "MARITAL"]
SMALL = 3000
"""As many as are suppressed exactly."""
NUMERIC: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "income-sum": lambda d: d.WAGE + d.OTHER == d.INCOME,
    "tax-limit": lambda d: 2 * d.TAX <= d.INCOME,
    "low-tax": lambda d: (d.INCOME >= 500) | (d.TAX == 0),
    "hours-range": lambda d: d.HOURS.between(0, 80),
    "rent-range": lambda d: d.RENT.between(0, 5000),
    "wage-hours": lambda d: (d.HOURS > 0) | (d.WAGE == 0),
    "occupation-hours": lambda d: d.OCC.isna() | (d.HOURS >= 1),
}
"""Rules on numbers, which recoding leaves as they are."""


def alike(table: pd.DataFrame, names: list[str]) -> pd.Series:
    return table.groupby(names, dropna=False)[names[0]].transform("size")


def global_risk(table: pd.DataFrame, names: list[str]) -> float:
    """Per cent, by every pair of records and the integral of Franconi and Polettini; missing matches every value."""
    codes = np.column_stack([pd.factorize(table[name])[0] for name in names])
    match = np.ones((len(table), len(table)), dtype=np.bool_)
    for own in codes.T:
        match &= (own[:, None] == own) | (own[:, None] < 0) | (own < 0)
    f, population = match.sum(axis=1), match @ table.WEIGHT.to_numpy()
    p = (f / population)[:, None]
    v = np.linspace(0, 1, 4001)
    return float(100 * (p[:, 0] * np.trapezoid(v ** (f[:, None] - 1) / (p + (1 - p) * v), v, axis=1)).mean())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Compared, Path]:
    """The survey with few records, and so with fewer classes."""
    folder = tmp_path_factory.mktemp("survey")
    shutil.copytree(SETTINGS, folder / "settings")
    settings = folder / "settings" / "survey.toml"
    text = settings.read_text()
    for before, now in (
        ("0,15,25,35,45,55,65", "0,15,65"),
        ("global_risk = 1", "global_risk = 4"),  # the log-linear model takes a small sample for riskier
        ('"region.csv"', '"region.csv:2"'),
        ("top:5", "top:3"),
    ):
        assert before in text
        text = text.replace(before, now)
    settings.write_text(text)
    case = Case("survey", write_survey(folder / "survey.csv", SMALL), SETTINGS / "survey.sch", settings)
    (folder / "out").mkdir()
    return compared(case, folder / "out"), folder


@pytest.mark.full
def test_three_are_alike_the_risk_is_within_its_limit_and_rules_hold(small: tuple[Compared, Path]) -> None:
    found, folder = small
    released = pd.read_csv(folder / "out" / "survey.csv")
    assert found.reached
    assert alike(released, [*KEYS, "WEIGHT"]).min() >= 3
    figures = {one.name: one.value for one in found.result.figures}
    told = found.result.keys
    assert told is not None and told.model_expected is not None
    by_weights = global_risk(released, [*KEYS, "WEIGHT"])
    assert by_weights == pytest.approx(100 * told.expected / SMALL, rel=1e-3)
    assert by_weights < 1
    assert figures["global_risk"] == pytest.approx(100 * max(told.expected, told.model_expected) / SMALL)
    assert figures["global_risk"] < 4
    assert found.before.below > 0.5 * SMALL
    for name, rule in NUMERIC.items():
        assert rule(released).all(), name
        assert found.ours.broken[name] == 0
    assert {one.fate for one in found.result.fates} >= {"exact", "weakened"}
    original = pd.read_csv(folder / "survey.csv")
    gone = {name: int((released[name].isna() & original[name].notna()).sum()) for name in KEYS}
    assert gone == dict(found.ours.suppressed)
    assert sum(gone.values()) > 0


@pytest.mark.full
def test_what_the_usual_order_breaks_is_what_pandas_counts(small: tuple[Compared, Path]) -> None:
    found, folder = small
    usual = pd.read_csv(folder / "out" / "survey-usual.csv")
    counted = {name: int((~rule(usual)).sum()) for name, rule in NUMERIC.items()}
    assert counted == {name: found.usual.broken[name] for name in NUMERIC}
    assert counted["income-sum"] > 100
    assert found.usual.risk.k >= 3
    text = page([found])
    assert f"| `income-sum` | 0 | {counted['income-sum']:,} |" in text
    assert text.count("| survey | masktron |") == 2


@pytest.mark.parametrize("seed", range(40))
def test_local_suppression_leaves_k_matches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = [rng.integers(0, most, 25).astype(np.int32) for most in (9, 7, 6)]
    left = np.column_stack(locally_suppressed(keys, 3))
    before = np.column_stack(keys)
    matches = ((left[:, None] == left) | (left[:, None] < 0) | (left < 0)).all(axis=2).sum(axis=1)
    assert matches.min() >= 3
    assert ((left == before) | (left < 0)).all()
    own = (before[:, None] == before).all(axis=2).sum(axis=1)
    assert (left[own >= 3] >= 0).all()
    assert (left < 0).any() == (own < 3).any()


def test_the_least_important_key_goes_first() -> None:
    keys = [np.array(own, dtype=np.int32) for own in ([0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 0])]
    least = partial(locally_suppressed, keys, 2)
    assert (np.column_stack(least(importance=[1, 3, 2])) < 0).sum(axis=0).tolist() == [1, 1, 0]
    assert (np.column_stack(least(importance=[3, 1, 2])) < 0).sum(axis=0).tolist() == [2, 0, 0]


def test_a_record_that_differs_in_two_keys_loses_both() -> None:
    keys = [np.array([0, 0, 0, 1], dtype=np.int32)] * 2  # without either key alone, nobody matches the last record
    assert np.column_stack(locally_suppressed(keys, 2)).tolist() == [[0, 0], [0, 0], [0, 0], [-1, -1]]


def test_numbers_become_means_of_groups_of_k_by_their_pattern_of_gaps() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["A", "B"])
    table.loc[:9, "B"] = np.nan
    masked = microaggregated(table, 5)
    assert masked.isna().equals(table.isna())
    for part in (slice(0, 9), slice(10, 39)):
        assert np.allclose(masked.loc[part].mean(), table.loc[part].mean(), equal_nan=True)
        assert masked.loc[part].round(9).value_counts(dropna=False).min() >= 5


@pytest.mark.full
def test_a_hundred_thousand_records(tmp_path: Path) -> None:
    table = survey()
    assert len(table) == RECORDS
    assert 0.25 < (alike(table, KEYS) < 3).mean() < 0.35
    data, out = write_survey(tmp_path / "survey.csv"), tmp_path / "out.csv"
    result = masktron.mask(data, SETTINGS / "survey.sch", out, config=masktron.load_config(SETTINGS / "survey.toml"))
    assert result.valid
    assert [engine.agrees for engine in result.engines][:2] == [True, True]
    assert alike(pd.read_csv(out), [*KEYS, "WEIGHT"]).min() >= 3
    assert next(one.value for one in result.figures if one.name == "global_risk") < 1


@pytest.mark.full
def test_the_command_writes_the_page_and_says_what_was_missed(
    small: tuple[Compared, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(keys_compared, "compared", lambda case, folder: small[0])
    out = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["keys_compared", "--records", "50", "--only", "survey", "--out", str(out)])
    assert keys_compared.main() == 0
    assert out.read_text() == page([small[0]])
    assert "none missed" in capsys.readouterr().out
