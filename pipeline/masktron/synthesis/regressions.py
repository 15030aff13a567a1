"""Sequential regressions: every column drawn from its normal regression on the columns before it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.errors import InfeasibleError
from masktron.synthesis.bootstrap import bayesian_bootstrap
from masktron.synthesis.conditions import MOST, RECORDS, Conditions, indicators, levels_of
from masktron.synthesis.free_columns import TOLD, basis
from masktron.synthesis.moments import refuse_original
from masktron.synthesis.threads import blas_in_one_thread
from masktron.synthesis.trees import pooled

LEAST_FREEDOM = 5
"""Degrees of freedom that every regression keeps: with fewer, drawn values have no fourth moment."""
_CLASSES = 500
"""Classes of a logistic regression at most: its memory is their number times that of the records."""
_STEPS = 200
"""Of the fit of a logistic regression, at most."""


def draw_regressions(
    values: Floats,
    generator: np.random.Generator,
    *,
    bayesian: bool = True,
    nominal: NDArray[np.bool_] | None = None,
    conditions: Conditions | None = None,
) -> Floats:
    """Draw as many records as there are, column after column.

    Column j is ``a + sum_i c_i u_i + s e`` with e standard normal, where the u are the coordinates of the conditions
    and the columns before it in an orthogonal basis of the original (`masktron.synthesis.free_columns`). In this
    basis the coefficients are independent given s: plug-in takes the estimates, with ``s^2 = RSS / (n - 1)`` so that
    the covariances of what is drawn are those of the file whatever the order, and the Bayesian draw takes
    ``s^2 = RSS / chi2(f)``, f the degrees of freedom, and ``c_i`` normal around its estimate with variance ``s^2``,
    a with ``s^2 / n``. A category is drawn from the multinomial logistic regression on the same coordinates.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite; categories as codes.
    generator : numpy.random.Generator
    bayesian : bool
        Whether coefficients and residual variances are drawn from their posterior under the flat prior; logistic
        regressions are then of records with the weights of a Bayesian bootstrap.
    nominal : ndarray of bool, shape (p,), optional
        Columns of codes.
    conditions : Conditions, optional
        Of the same records.

    Returns
    -------
    ndarray of float64, shape (n, p)

    Raises
    ------
    InfeasibleError
        A regression has fewer than 5 degrees of freedom, or conditions give a variable exactly.

    Notes
    -----
    Theorem: a linear relation that all records satisfy, between numbers that are drawn and numbers that stay, holds
    in the draws, to rounding. Proof: in the order of the columns, the last of the relation is a function of the ones
    before it, so that its residual is zero, it has no coordinate of its own, and it is that function of the drawn
    columns.
    """
    n, p = values.shape
    kinds = np.zeros(p, dtype=np.bool_) if nominal is None else nominal
    given = np.empty((n, 0)) if conditions is None else conditions.regressors()
    most = min(MOST, n // RECORDS) - given.shape[1] - int((~kinds).sum())
    factors = _Factors.of(values, kinds, most)
    chain = _Chain(np.column_stack([given, *(factors.columns(j, values[:, j]) for j in range(p))]))
    chain.take(given)
    drawn = np.empty((n, p))
    for j in range(p):
        if kinds[j]:
            drawn[:, j] = _category(values[:, j], chain, generator, bayesian=bayesian)
        else:
            if chain.told_by(given.shape[1]):
                refuse_original("sequential", j, n, "conditions")
            drawn[:, j] = chain.drawn(generator, bayesian=bayesian)
        chain.take(factors.columns(j, drawn[:, j]))
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class _Factors:
    """How columns stand in a regression: numbers as they are, categories as indicators of their levels."""

    known: dict[int, tuple[Floats, Labels]]

    @classmethod
    def of(cls, values: Floats, nominal: NDArray[np.bool_], most: int) -> Self:
        places = np.flatnonzero(nominal).tolist()
        coded = [np.unique(values[:, j], return_inverse=True) for j in places]
        levels = levels_of([codes.astype(np.intp) for _, codes in coded], LEAST_FREEDOM, most)
        return cls({j: (support, own) for j, (support, _), own in zip(places, coded, levels, strict=True)})

    def columns(self, column: int, values: Floats) -> Floats:
        """Return the columns of one variable, shape (n, columns)."""
        if column not in self.known:
            return values[:, None]
        support, levels = self.known[column]
        return indicators(levels, np.searchsorted(support, values))


class _Chain:
    """Columns of the original in their order, and what is drawn for them, in one orthogonal basis."""

    def __init__(self, values: Floats) -> None:
        self._held = basis(values)
        self.original = self._held.coordinates(values)
        self.made = np.zeros(values.shape)
        self.at = 0

    def before(self) -> NDArray[np.intp]:
        """Which columns before the next one have a coordinate."""
        return np.flatnonzero(self._held.free[: self.at])

    def told_by(self, count: int) -> bool:
        """Tell whether the first columns alone give the next one, which varies."""
        held, j = self._held, self.at
        traces = TOLD * np.sqrt(len(self.made))
        tells = np.abs(held.loads[:j, j]) > traces
        return bool(not held.free[j] and tells[:count].any() and not tells[count:].any())

    def drawn(self, generator: np.random.Generator, *, bayesian: bool) -> Floats:
        """Draw the next column from its normal regression."""
        n, j, held, before = len(self.made), self.at, self._held, self.before()
        standardised = held.told(j, self.made)
        if held.free[j]:
            freedom = n - 1 - len(before)
            if freedom < LEAST_FREEDOM:
                what, least = f"a regression on {len(before)} variables", len(before) + 1 + LEAST_FREEDOM
                raise InfeasibleError.of("too-few-records", what=what, least=least, records=n)
            rss = held.loads[j, j] ** 2
            if bayesian:
                spread = np.sqrt(rss / generator.chisquare(freedom))
                shifts = spread * generator.standard_normal(len(before) + 1)
                standardised += shifts[0] / np.sqrt(n)
                standardised += np.einsum("ij,j->i", self.made[:, before], shifts[1:])
            else:
                spread = np.sqrt(rss / (n - 1))
            standardised += spread * generator.standard_normal(n)
        return np.asarray(held.center[j] + held.scale[j] * standardised)

    def take(self, columns: Floats) -> None:
        """Take what was drawn for the next columns."""
        for column in columns.T:
            if self._held.free[self.at]:
                standardised = self._held.standardised(self.at, column)
                self.made[:, self.at] = self._held.coordinate(self.at, standardised, self.made)
            self.at += 1


def _category(own: Floats, chain: _Chain, generator: np.random.Generator, *, bayesian: bool) -> Floats:
    """Draw categories from their multinomial logistic regression on what was drawn before.

    The coefficients, of coordinates with variance 1, have a normal prior with variance 1. Categories of few records
    are one class, in which they are drawn as often as they are there.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 -- loads slowly
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    n, before = len(own), chain.before()
    support, codes = np.unique(own, return_inverse=True)
    classes = pooled(codes, len(support), max(LEAST_FREEDOM, n // _CLASSES))[codes]
    reached = np.zeros(n, dtype=np.intp)
    if before.size and classes.max() > 0:
        weights = generator.standard_exponential(n) if bayesian else np.ones(n)
        with warnings.catch_warnings(), blas_in_one_thread():
            # what is not fitted to the last digit is a model as well
            warnings.simplefilter("ignore", ConvergenceWarning)
            kind: Any = LogisticRegression
            model = kind(max_iter=_STEPS)
            fitted = model.fit(np.sqrt(n) * chain.original[:, before], classes, weights)
            limits = np.cumsum(fitted.predict_proba(np.sqrt(n) * chain.made[:, before]), axis=1)
        above = np.minimum((generator.random((n, 1)) > limits).sum(axis=1), len(fitted.classes_) - 1)
        reached = fitted.classes_[above].astype(np.intp)
    else:
        classes = reached
    return np.asarray(own[bayesian_bootstrap(classes, reached, generator)])
