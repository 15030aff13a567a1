"""Logarithms, exponentials and powers of our own against those of the system."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from masktron.kernels.elementary import (
    decimal_magnitude,
    decimal_magnitudes,
    exponential,
    logarithm,
    normal_quantile,
    power,
)

LEAST = 5e-324


def within(found: np.ndarray, reference: np.ndarray, units: float) -> bool:
    return bool((np.abs(found - reference) <= units * np.spacing(np.abs(reference))).all())


def test_logarithms() -> None:
    generator = np.random.default_rng(0)
    values = np.concatenate(
        [
            np.exp(generator.uniform(-744, 709, 20_000)),
            generator.uniform(0.5, 2.0, 20_000),
            1 + np.arange(-9, 9) * 1e-15,
        ]
    )
    assert within(logarithm(values), np.log(values), 2)
    edges = np.array([LEAST, 1e-310, np.finfo(float).tiny, 1.0, np.finfo(float).max])
    assert within(logarithm(edges), np.log(edges), 2)
    assert logarithm(np.ones((2, 3))).tolist() == [[0.0] * 3] * 2


def test_exponentials() -> None:
    generator = np.random.default_rng(1)
    values = np.concatenate([generator.uniform(-745, 709.7, 20_000), generator.uniform(-1.0, 1.0, 20_000)])
    assert within(exponential(values), np.exp(values), 2)
    limits = exponential(np.array([-np.inf, -746.0, -0.0, 0.0, 710.0, np.inf]))
    assert limits.tolist() == [0.0, 0.0, 1.0, 1.0, np.inf, np.inf]


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.1, 10.0])
def test_powers(exponent: float) -> None:
    values = np.concatenate([np.random.default_rng(2).uniform(0.0, 1.0, 9_000), [LEAST, 1e-30, 0.0, 1.0]])
    found = power(values.reshape(-1, 1), exponent)[:, 0]
    assert found == pytest.approx(values**exponent, rel=1e-12, abs=LEAST)
    assert found[-2:].tolist() == [0.0, 1.0]


def test_normal_quantiles() -> None:
    shares = np.concatenate(
        [np.linspace(1e-11, 1 - 1e-11, 20_001), 10.0 ** -np.linspace(0.31, 11, 500), [0.075, 0.925]]
    )
    found, wanted = normal_quantile(shares), ndtri(shares)
    assert np.abs(found - wanted).max() < 1e-14
    tails = np.abs(wanted) > 1.0
    assert within(found[tails], wanted[tails], 8)
    assert normal_quantile(np.array([[0.5], [0.25]])).tolist() == [
        [0.0],
        [pytest.approx(-0.6744897501960817, rel=1e-15)],
    ]


def test_magnitudes_are_exact_at_powers_of_ten() -> None:
    powers = np.arange(-323, 309)
    tens = np.array([float(f"1e{power}") for power in powers])
    assert np.array_equal(decimal_magnitudes(tens), powers)
    assert np.array_equal(decimal_magnitudes(np.nextafter(tens, 0.0)), powers - 1)
    edges = [LEAST, 0.1, 9.999999999999998, 999.9999999999999, 1000.0, np.finfo(float).max]
    assert [decimal_magnitude(edge) for edge in edges] == [-324, -1, 0, 2, 3, 308]
