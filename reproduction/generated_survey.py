"""A survey of persons with eight keys, six numbers and a weight, that obeys reproduction/key_survey/survey.sch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

SETTINGS = Path(__file__).parent / "key_survey"
"""Rules, settings and hierarchies."""
RECORDS = 100_000
SEED = 22
CHILD, WORKING, RETIRED = range(3)
_OCCUPATIONS = (
    (0.00, 0.00, 0.00, 0.05, 0.30, 0.10, 0.10, 0.15, 0.30),
    (0.04, 0.03, 0.15, 0.20, 0.25, 0.03, 0.15, 0.10, 0.05),
    (0.15, 0.45, 0.25, 0.10, 0.05, 0.00, 0.00, 0.00, 0.00),
    (0.15, 0.80, 0.05, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
)
"""Shares of the occupations 1 to 9, by education from 1 to 4."""


class _Draws:
    """Draws from shares, by the uniform stream alone: others may differ between versions of numpy."""

    def __init__(self, seed: int) -> None:
        self.uniform = np.random.Generator(np.random.PCG64(seed)).random

    def pick(self, shares: ArrayLike, size: int) -> NDArray[np.int64]:
        """Draw positions with these shares, shape (size,)."""
        bounds = np.cumsum(np.asarray(shares, dtype=np.float64))
        return np.searchsorted(bounds / bounds[-1], self.uniform(size), side="right")

    def skewed(self, median: float, spread: float, size: int) -> NDArray[np.float64]:
        """Draw positive numbers with a long tail: of the logistic distribution on the scale of logarithms."""
        u = self.uniform(size)
        return median * (u / (1 - u)) ** spread


def survey(records: int = RECORDS, seed: int = SEED) -> pd.DataFrame:
    """Draw the survey.

    Parameters
    ----------
    records, seed : int

    Returns
    -------
    DataFrame
        Integers, missing where a key is missing, and the weight with two decimals.
    """
    draws = _Draws(seed)
    keys = _keys(draws, records)
    table = keys | _numbers(draws, keys, records) | {"WEIGHT": _weights(draws, keys)}
    for name, share in (("EDUC", 0.02), ("MARITAL", 0.01)):
        table[name] = np.where(draws.uniform(records) < share, -1, table[name])
    frame = pd.DataFrame({"ID": np.arange(1, records + 1), **table})
    for name in ("URBAN", "EDUC", "OCC", "HHSIZE", "MARITAL"):
        frame[name] = frame[name].astype("Int64").mask(frame[name] < 0)
    return frame


def write_survey(path: Path, records: int = RECORDS, seed: int = SEED) -> Path:
    """Write the survey as CSV."""
    survey(records, seed).to_csv(path, index=False, float_format="%.2f", lineterminator="\n")
    return path


def _keys(draws: _Draws, n: int) -> dict[str, NDArray[np.int64]]:
    kind = draws.pick([0.22, 0.55, 0.23], n)
    by_kind = [kind == CHILD, kind == WORKING]
    age = np.select(
        by_kind,
        [
            2 + 5 * draws.pick([1, 1, 1], n),
            17 + 5 * draws.pick([0.6, 0.9, 1, 1, 1, 1, 1, 1, 0.9, 0.8], n),
        ],
        67 + 5 * draws.pick([1, 0.9, 0.7, 0.5, 0.3, 0.1], n),
    )
    region = draws.pick([0.3, 0.2, 0.15, 0.12, 0.1, 0.07, 0.04, 0.02], n)
    urban = np.select([region == 0, region == 1], [0, draws.pick([0.85, 0.15], n)], draws.pick([0.25, 0.45, 0.3], n))
    education = np.select([age < 12, age < 17], [0, 1], 1 + draws.pick([0.12, 0.5, 0.3, 0.08], n))
    occupation = np.full(n, -1)
    for level, shares in enumerate(_OCCUPATIONS, start=1):
        rows = np.flatnonzero((kind == WORKING) & (education == level))
        rows = rows[draws.uniform(len(rows)) < 0.78]
        occupation[rows] = 1 + draws.pick(shares, len(rows))
    size = np.select(
        by_kind,
        [2 + draws.pick([0.15, 0.45, 0.3, 0.07, 0.02, 0.01], n), 1 + draws.pick([20, 30, 22, 20, 6, 1.5, 0.5], n)],
        1 + draws.pick([0.4, 0.55, 0.05], n),
    )
    return {
        "AGE": age,
        "SEX": 1 + draws.pick([1, 1], n),
        "REGION": np.array([f"R{one}" for one in range(1, 9)])[region],
        "URBAN": 1 + urban,
        "EDUC": education,
        "OCC": occupation,
        "HHSIZE": size,
        "MARITAL": _marital(draws, kind, size),
    }


def _marital(draws: _Draws, kind: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw 1 never married, 2 married, 3 divorced, 4 widowed."""
    n = len(kind)
    working = np.select(
        [size == 1, size == 2],
        [draws.pick([0.75, 0, 0.2, 0.05], n), draws.pick([0.3, 0.65, 0.05, 0], n)],
        draws.pick([0.1, 0.85, 0.05, 0], n),
    )
    retired = np.where(size == 1, draws.pick([0.15, 0, 0.15, 0.7], n), draws.pick([0.03, 0.9, 0.02, 0.05], n))
    return 1 + np.select([kind == CHILD, kind == WORKING], [0, working], retired)


def _numbers(draws: _Draws, keys: dict[str, NDArray[np.int64]], n: int) -> dict[str, NDArray[np.int64]]:
    works, child = keys["OCC"] > 0, keys["AGE"] < 15
    usual = np.array([40, 38, 20, 50])[draws.pick([0.4, 0.3, 0.2, 0.1], n)]
    hours = np.where(works, np.clip(usual + draws.pick(np.ones(11), n) - 5, 1, 80), 0)
    wage = np.where(works, np.rint(hours * draws.skewed(60, 0.25, n) * (1 + 0.2 * keys["EDUC"])), 0)
    other = np.where(child, 0, np.rint(np.where(keys["AGE"] >= 67, 1400, 150) * draws.skewed(1, 0.4, n)))
    income = wage + other
    tax = np.where(income < 500, 0, np.floor(0.22 * np.maximum(income - 500, 0)))
    rent = np.minimum(np.where(draws.uniform(n) < 0.5, 0, np.rint(draws.skewed(700, 0.2, n))), 5000)
    values = {"HOURS": hours, "WAGE": wage, "OTHER": other, "INCOME": income, "TAX": tax, "RENT": rent}
    return {name: own.astype(np.int64) for name, own in values.items()}


def _weights(draws: _Draws, keys: dict[str, NDArray[np.int64]]) -> NDArray[np.float64]:
    """Weights of the design, by region, times a correction for nonresponse between 0.8 and 1.2."""
    design = np.where(np.isin(keys["REGION"], ["R6", "R7", "R8"]), 15.0, 22.0)
    return np.asarray(np.round(design * (0.8 + 0.4 * draws.uniform(len(design))), 2))
