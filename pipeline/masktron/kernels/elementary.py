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
_CENTRAL_SQUARE, _TAIL_FROM = 0.180625, 1.6
_CENTRAL_OVER = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_CENTRAL_UNDER = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_TAIL_OVER = (
    7.7454501427834140764e-4,
    2.2723844989269184583e-2,
    2.4178072517745061177e-1,
    1.2704582524523683826e0,
    3.6478483247632046050e0,
    5.7694972214606914055e0,
    4.6303378461565452959e0,
    1.4234371107496835773e0,
)
_TAIL_UNDER = (
    1.0507500716444168432e-9,
    5.4759380849953449460e-4,
    1.5198666563616457197e-2,
    1.4810397642748007459e-1,
    6.8976733498510000455e-1,
    1.6763848301838038494e0,
    2.0531916266377588219e0,
    1.0,
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


def normal_quantile(shares: _Numbers) -> _Numbers:
    """Return the standard normal numbers below which shares of the distribution are.

    Parameters
    ----------
    shares : ndarray of float64
        From 1e-11 to 1 - 1e-11.

    Notes
    -----
    Source: Wichura (1988), Algorithm AS 241, Applied Statistics 37(3), PPND16, without the branch for shares that are
    nearer to 0 or 1. The relative error is about 1e-16, but for roundings.
    """
    return _by_blocks(shares, _normal_quantile)


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


def _normal_quantile(shares: _Numbers) -> _Numbers:
    beside = shares - 0.5
    central = _CENTRAL_SQUARE - beside * beside
    # the central formula is taken up to 0.425 beside the middle, the other one beyond it
    middle = np.maximum(central, 0.0)
    found = beside * _polynomial(middle, _CENTRAL_OVER) / _polynomial(middle, _CENTRAL_UNDER)
    tail = np.sqrt(-_logarithm(np.where(central >= 0.0, 0.075, np.minimum(shares, 1.0 - shares)))) - _TAIL_FROM
    beyond = _polynomial(tail, _TAIL_OVER) / _polynomial(tail, _TAIL_UNDER)
    return np.where(central >= 0.0, found, np.copysign(beyond, beside))


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
