"""Individual risk against the sum over populations and against integrals; what follows for households and files."""

from __future__ import annotations

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from scipy.integrate import quad

from masktron.measures.keys import global_risk, household_risk, individual_risk, key_frequencies, population_uniques
from masktron.measures.keys.combinations import KeyFrequencies


def risk(f: float, population: float) -> float:
    return float(individual_risk(KeyFrequencies(np.array([f]), np.array([population])))[0])


@pytest.mark.parametrize("f", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(9, 10)])
def test_it_is_the_mean_of_one_over_the_size_in_the_population(f: int, p: Fraction) -> None:
    share = float(p)
    expected = sum(comb(h - 1, f - 1) * share**f * (1 - share) ** (h - f) / h for h in range(f, 900))
    assert risk(f, f / share) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.499, 0.5, 0.9, 1 - 1e-9])
def test_closed_forms_for_few_records(p: float) -> None:
    q = 1 - p
    if q > 0.01:  # else nothing but rounding is left of them
        assert risk(1, 1 / p) == pytest.approx(-p * log(p) / q, rel=1e-10)
        assert risk(2, 2 / p) == pytest.approx(p * (p * log(p) + q) / q**2, rel=1e-10)
        assert risk(3, 3 / p) == pytest.approx(p * (q * (3 * q - 2) - 2 * p**2 * log(p)) / (2 * q**3), rel=1e-9)
    for f in (1.0, 1.5, 2.25, 49.0, 49.5, 50.0, 1000.0):
        value, _ = quad(
            lambda v, f=f: p * v ** (f - 1) / (p + q * v), 0, 1, epsabs=0, epsrel=1e-11, points=[p], limit=400
        )
        assert risk(f, f / p) == pytest.approx(value, rel=1e-7)


def test_where_the_file_is_the_population_it_is_one_in_f() -> None:
    frequencies = key_frequencies([np.array([0, 0, 0, 1, 2, 2])])
    assert individual_risk(frequencies).tolist() == pytest.approx([1 / 3] * 3 + [1] + [1 / 2] * 2)
    assert population_uniques(frequencies) == 1
    few = key_frequencies([np.array([0, 1, 1])], np.array([0.2, 1, 1]))
    assert individual_risk(few)[0] == 1, "a weight below 1 makes nobody surer than sure"


def test_a_record_alone_that_stands_for_many_is_found_seldom() -> None:
    found = individual_risk(key_frequencies([np.arange(3)], np.array([1.0, 10.0, 1000.0])))
    assert found.tolist() == pytest.approx([1, log(10) / 9, log(1000) / 999])
    frequencies = key_frequencies([np.array([0, 1, 1, 2])], np.array([4.0, 9.0, 9.0, 10.0]))
    assert population_uniques(frequencies) == pytest.approx(1 / 4 + 1 / 10)


def test_households() -> None:
    risks = np.array([0.5, 0.5, 0.1, 1.0, 0.0, 1e-12, 1e-12, 0.25])
    found = household_risk(risks, np.array([0, 0, 1, 2, 2, 7, 7, -1]))
    assert found.tolist() == pytest.approx([0.75, 0.75, 0.1, 1, 1, 2e-12, 2e-12, 0.25], rel=1e-11)


def test_the_risk_of_a_file_is_the_sum() -> None:
    found = global_risk(np.full(400, 0.25))
    assert (found.expected, found.mean, found.per_cent, found.largest) == (100, 0.25, 25, 0.25)
    assert np.isnan(global_risk(np.empty(0)).mean)
