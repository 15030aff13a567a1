"""Estimates of the risk of keys beside a known population: the table of docs/keys.md is that of its command."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from paths import ROOT
from reproduction import key_estimates
from reproduction.key_estimates import BEGIN, END, SETTINGS, People, people, sample, sampled

PAGE = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def everybody() -> People:
    return people()


def rows_of(text: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| sex")]


def numbers(cell: str) -> list[float]:
    return [float(one.replace(",", "")) for one in re.findall(r"[\d.,]+", cell)]


def test_what_the_page_concludes() -> None:
    rows = rows_of(PAGE)
    assert [row[0] for row in rows] == [", ".join(keys) for keys in SETTINGS]
    weights, model, larger = (np.array([numbers(row[at]) for row in rows]) for at in (2, 4, 5))
    assert (weights.max(), weights.min()) == (pytest.approx(1.2, abs=0.05), pytest.approx(1 / 9, abs=0.01))
    assert ((model >= 0.9) & (model <= 1.2)).all()
    assert (larger >= 0.9).all()
    true, alone = (np.array([numbers(row[at]) for row in rows]) for at in (7, 10))
    assert (alone >= 0.86 * true).all()
    held = np.array([numbers(row[3]) for row in rows])
    assert (held < 0.9 * key_estimates.SAMPLES).sum() == 14, "of 18: no interval of 95 % is that"


@pytest.mark.full
def test_the_truth_is_counted(everybody: People) -> None:
    """With pandas alone, for one sample."""
    rows, weights = sample(everybody, "unequal", np.random.default_rng([key_estimates.SEED, 3]))
    assert weights.sum() == pytest.approx(key_estimates.PEOPLE)
    keys = list(SETTINGS[1])
    frame = pd.DataFrame({name: everybody[name] for name in keys})
    sizes = frame.groupby(keys)[keys[0]].transform("size")[rows]
    own = frame.iloc[rows].groupby(keys)[keys[0]].transform("size")
    found = sampled(everybody, keys, "unequal", 3)
    assert found.found[0] == pytest.approx((1 / sizes).sum())
    assert found.alone[0] == ((sizes == 1) & (own == 1)).sum()


@pytest.mark.full
def test_the_page_is_written_by_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "keys.md"
    own.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    monkeypatch.setattr(sys, "argv", ["key_estimates", "--page", str(own)])
    assert key_estimates.main() == 0
    text = own.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"\n{END}\nafter\n")
    compare(rows_of(text), rows_of(PAGE))


def test_a_page_without_the_place_of_the_table_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "keys.md"
    own.write_text("nothing\n")
    monkeypatch.setattr(sys, "argv", ["key_estimates", "--page", str(own)])
    monkeypatch.setattr(key_estimates, "people", lambda: pytest.fail("nothing is computed"))
    assert (key_estimates.main(), own.read_text()) == (2, "nothing\n")


def compare(found: list[list[str]], shown: list[list[str]]) -> None:
    """Other versions of numpy may draw others."""
    assert len(found) == len(shown) > 0
    for own, other in zip(found, shown, strict=True):
        assert own[0] == other[0]
        for at in (1, 2, 4, 5, 7, 8, 9, 10):
            assert numbers(own[at]) == pytest.approx(numbers(other[at]), rel=0.05, abs=1.5)
