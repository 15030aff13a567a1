"""Seeded draws and number texts shared by the sample generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from statistics import NormalDist

import numpy as np
from lxml import etree


class Draws:
    """Random draws whose values do not depend on the version of numpy.

    Only the uniform stream of PCG64 is used: numpy may change its other distributions between versions, and
    the committed samples must come out byte for byte.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return a number in [low, high)."""
        return low + (high - low) * float(self._generator.random())

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.uniform() < probability

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self.uniform() * (high - low + 1))

    def peaked(self, low: int, high: int) -> int:
        """Return an integer from low to high with a triangular density."""
        return low + int((self.uniform() + self.uniform()) / 2 * (high - low + 1))

    def lognormal(self, median: float, sigma: float, ceiling: float) -> int:
        """Return a lognormal number, at most ``ceiling``, as a whole number."""
        quantile = NormalDist().inv_cdf(self.uniform(1e-9, 1.0))
        return round(min(median * exp(sigma * quantile), ceiling))

    def choose[T](self, options: Mapping[T, float]) -> T:
        """Return one of the options; the values are probabilities and add up to one."""
        left = self.uniform()
        for option, probability in options.items():
            left -= probability
            if left < 0:
                return option
        return next(reversed(list(options)))

    def pick[T](self, options: Sequence[T]) -> T:
        """Return one of the options, all equally likely."""
        return options[self.integer(0, len(options) - 1)]


def cents(amount: int) -> str:
    """Write an amount in cents with two decimals."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02d}"


def to_cents(text: str) -> int:
    """Read an amount with two decimals as cents."""
    return round(float(text) * 100)


def as_libxml2(text: str) -> float:
    """Read a number as libxml2's ``number()`` does, which can be one unit in the last place off."""
    value = etree.XPath("number($text)")(etree.Element("any"), text=text)
    if not isinstance(value, float):
        raise TypeError(f"number() gave {value!r}")
    return value


def readings(*texts: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Read numbers twice: correctly rounded, and as libxml2 does."""
    return tuple(float(text) for text in texts), tuple(as_libxml2(text) for text in texts)
