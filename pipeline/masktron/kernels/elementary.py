"""Logarithms, exponentials and powers that have the same bits on every processor.

A library of the system, and numpy with AVX-512, take others of several formulas by what the processor can do, which
differ in the last digit. These are made of sums, products and quotients of doubles, each an operation of numpy of its
own, which IEEE 754 rounds in one way. Errors are below 1 unit in the last place, as those of the formulas taken.

Source: fdlibm (Sun Microsystems 1993), e_log.c and e_exp.c.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

type _Numbers = NDArray[np.float64]

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; the first has so many zeros at its end that products with exponents are exact."""
_PER_LN2 = 1.44269504088896338700e00
_OF_LOGARITHM = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
_OF_EXPONENTIAL = (
    4.13813679705723846039e-08,
    -1.65339022054652515390e-06,
    6.61375632143793436117e-05,
    -2.77777777770155933842e-03,
    1.66666666666666019037e-01,
)
_BLOCK = 1 << 12
"""Numbers that are raised together: they stay in the cache."""
_FRACTION, _BIAS = 52, 1023
"""Bits of the fraction of a double, and what is added to its exponent."""
_ROOT_OF_HALF = 0x3FE6A09E667F3BCD
"""Bits of the root of 1/2: fractions are taken from it to its double."""
_LEAST, _LEAST_NORMAL = 2.0**-1074, 2.0**-1022
_RAISED_BY = 54
_RAISED = 2.0**_RAISED_BY
"""Brings the smallest doubles, which have no full fraction, among the others."""
_LEAST_POWER = -324
_POWERS_OF_TEN = [float(f"1e{power}") for power in range(_LEAST_POWER, 309)]
_TENS = np.array(_POWERS_OF_TEN)
_LARGEST = 800.0
"""Beyond, exponentials are infinite or zero."""


def logarithm(values: _Numbers) -> _Numbers:
    """Return natural logarithms.

    Parameters
    ----------
    values : ndarray of float64
        Positive and finite.
    """
    return _by_blocks(values, _logarithm)


def exponential(values: _Numbers) -> _Numbers:
    """Return e to the power of values; 0 where that is too small for a double, infinity where it is too large.

    Parameters
    ----------
    values : ndarray of float64
        Not NaN.
    """
    return _by_blocks(values, _exponential)


def power(values: _Numbers, exponent: float) -> _Numbers:
    """Return values to the power of a positive number.

    Parameters
    ----------
    values : ndarray of float64
        From 0 to 1.
    exponent : float
        Positive. The relative error is up to as many roundings as the logarithm of the result says.
    """

    def raised(part: _Numbers) -> _Numbers:
        positive = np.maximum(part, _LEAST)
        found = _exponential(exponent * _logarithm(positive))
        found[part == 0.0] = 0.0
        return found

    return _by_blocks(values, raised)


def decimal_magnitudes(values: _Numbers) -> NDArray[np.int64]:
    """Return the exponents of the largest powers of ten that are not above values, by comparing.

    A logarithm to base 10 need not be whole at a power of ten, and its floor is another one then.

    Parameters
    ----------
    values : ndarray of float64
        Positive and finite.
    """
    return np.asarray(np.searchsorted(_TENS, values, side="right") - 1 + _LEAST_POWER, dtype=np.int64)


def decimal_magnitude(value: float) -> int:
    """Return what `decimal_magnitudes` returns, of one number."""
    return bisect.bisect_right(_POWERS_OF_TEN, value) - 1 + _LEAST_POWER


def _by_blocks(values: _Numbers, function: Callable[[_Numbers], _Numbers]) -> _Numbers:
    given = np.ascontiguousarray(values, dtype=np.float64).ravel()
    found = np.empty_like(given)
    for start in range(0, len(given), _BLOCK):
        found[start : start + _BLOCK] = function(given[start : start + _BLOCK])
    return found.reshape(values.shape)


def _logarithm(values: _Numbers) -> _Numbers:
    small = values < _LEAST_NORMAL
    raised = values * np.where(small, _RAISED, 1.0) if small.any() else values
    bits = raised.view(np.int64)
    exponents = (bits - _ROOT_OF_HALF) >> _FRACTION
    rest = (bits - (exponents << _FRACTION)).view(np.float64) - 1.0
    powers = exponents.astype(np.float64)
    powers -= _RAISED_BY * small
    ratio = rest / (2.0 + rest)
    square = ratio * ratio
    series = _polynomial(square, _OF_LOGARITHM)
    series *= square
    half = rest * rest
    half *= 0.5
    series += half
    series *= ratio
    series += powers * _LN2_LOW
    half -= series
    half -= rest
    powers *= _LN2_HIGH
    powers -= half
    return powers


def _exponential(values: _Numbers) -> _Numbers:
    bounded = np.minimum(np.maximum(values, -_LARGEST), _LARGEST)
    powers = np.rint(bounded * _PER_LN2)
    whole = powers.astype(np.int64)
    bounded -= powers * _LN2_HIGH
    powers *= _LN2_LOW
    rest = bounded - powers
    square = rest * rest
    part = rest - square * _polynomial(square, _OF_EXPONENTIAL)
    rest *= part
    rest /= 2.0 - part
    powers -= rest
    powers -= bounded
    found = 1.0 - powers
    half = whole >> 1
    with np.errstate(over="ignore", under="ignore"):
        # in two steps, as 2 to the whole power may be no double where the result is one
        found *= _two_to(half)
        found *= _two_to(whole - half)
    return found


def _two_to(powers: NDArray[np.int64]) -> _Numbers:
    return ((powers + _BIAS) << _FRACTION).view(np.float64)


def _polynomial(values: _Numbers, coefficients: tuple[float, ...]) -> _Numbers:
    """Evaluate a polynomial, the coefficient of the highest power first."""
    found = values * coefficients[0]
    for coefficient in coefficients[1:-1]:
        found += coefficient
        found *= values
    found += coefficients[-1]
    return found
