"""Propensity scores: how well a model tells masked records from original ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.kernels.logistic import logistic
from masktron.kernels.polynomials import basis, factors
from masktron.kernels.standardise import standardised
from masktron.measures.base import require_comparable
from masktron.synthesis.threads import blas_in_one_thread

Terms = Literal["squares", "cubic"]
MIXED_UP_TO = 7
"""Variables up to which "cubic" has all products of three (119 terms); with more it has cubes alone."""
CART_RECORDS = 10_000
PERMUTATIONS = 20
LEAF = 20
"""Rows of both files in a leaf of the tree, at least; fewer respondents than that make no tree."""
_DEPTH, _CERTAIN = 8, 1e-6


@dataclass(frozen=True, slots=True)
class Pmse:
    """What a logistic regression tells of membership.

    Attributes
    ----------
    value : float
        Mean squared distance of the scores from 1/2: 0 where nothing tells the files apart, 1/4 where all is told.
    null_synthesis : float
        Expected of synthetic records drawn from the very distribution of the original: ``p / (8 N)`` with p
        `parameters` and N rows of both files together.
    null_halves : float
        Expected of two random halves of one file: ``p / (4 N)``.
    ratio : float
        ``value / null_synthesis``; 0 without a term.
    terms : {"squares", "cubic"}
    parameters : int
        Terms in the model without the constant, after `dropped` were dropped.
    dropped : int
        Terms that the others give: exact relations, constants, duplicates.
    certain : float
        Per cent of the rows of both files with a score within 1e-6 of 0 or 1. At 100 the terms separate the files,
        between 0 and 100 probably a part of them: `value` is then the limit, and the nulls say little.
    records : int
        Respondents that were compared; fewer than the files have for a sample.
    converged : bool
        False where the regression was given up, so that `value` may be too small.
    """

    value: float
    null_synthesis: float
    null_halves: float
    ratio: float
    terms: Terms
    parameters: int
    dropped: int
    certain: float
    records: int
    converged: bool


@dataclass(frozen=True, slots=True)
class PmseCart:
    """What a classification tree tells of membership.

    Attributes
    ----------
    value : float
        Mean squared distance from 1/2 of the shares of masked rows in the leaves.
    null : float
        Mean of the same for permuted labels: what is expected of two random halves of one file.
    ratio : float
        ``value / null``; 0 where no tree has more than one leaf, so that both are 0.
    permutations, records : int
        Trees of the null; respondents that were compared.
    """

    value: float
    null: float
    ratio: float
    permutations: int
    records: int


def pmse(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    terms: Terms = "squares",
    *,
    sample: int | None = None,
    seed: int = 0,
) -> Pmse:
    """Compute the propensity score mean squared error with a logistic regression.

    Both files are stacked, and whether a row is masked is regressed, without a penalty, on main effects, products of
    two variables and squares; "cubic" adds all products of three variables up to 7 variables, else cubes. Masking
    that keeps means and covariances exactly scores exactly 0 with "squares", whatever it does to the rest of the
    distribution: "cubic" or `pmse_cart` belongs beside it.

    Variables are standardised over both files first, so units do not matter. A missing value is put at the mean, and
    whether it is missing is one more main effect. A variable that is constant over both files has no term; one that
    is constant in the original alone tells the files apart and has. Terms that others give (but for 1e-7 of their
    standard deviation) are dropped: V14 = V9 + V10 in both files changes nothing. If only the original obeys such a
    relation, the square of what is left tells every record: the value is 1/4, as it should be. It is also 1/4 where
    there are as many terms as rows. Ties need no rule: equal rows have equal scores.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Finite, or NaN where missing. Only a sample depends on the order of the records.
    terms : {"squares", "cubic"}
    sample, seed : int
        Compare at most so many respondents, drawn without replacement; all with None.

    Returns
    -------
    Pmse
        All figures 0 without records, variables or a term. Identical files have 0.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, the sample is below 1, or `terms` is another word.

    Notes
    -----
    Source: model-based hybrid (2012), section 4, equation (9); Woo, Reiter, Oganian, Karr (2009). Nulls: Snoke, Raab,
    Nowok, Dibben and Slavkovic (2018), General and specific utility measures for synthetic data, whose
    ``(k - 1) (1 - c)^2 c / N`` is p / (8 N) for files of one size. By simulation N counts the rows of both files.
    They hold where p is small beside N: census with 13 variables, resampled, has 1.05 times the first with p at 4 per
    cent of N (1.07 with cubes), and its halves 1.09 times the second with p at 8 per cent (1.13).
    """
    require_value(terms in ("squares", "cubic"), "terms", "squares or cubic", repr(terms))
    original, masked = _compared(original, masked, sample, seed)
    n, p = original.shape
    rows = _variables(np.concatenate([original, masked]))
    listed = factors(3 if terms == "cubic" else 2, p, mixed=p <= MIXED_UP_TO)
    listed += [(-1, gap) for gap in range(p, len(rows))]
    # Blocks are small: more threads gain little, wait for each other on a busy machine, and add up in another order.
    with blas_in_one_thread():
        space = basis(rows, listed)
        scores, converged = logistic(space.blocks(), np.arange(2 * n) >= n, space.rank + 1)
    value = _distance(scores)
    null = space.rank / (16 * n) if n else 0.0
    return Pmse(
        value=value,
        null_synthesis=null,
        null_halves=2 * null,
        ratio=value / null if null else 0.0,
        terms=terms,
        parameters=space.rank,
        dropped=len(listed) - space.rank,
        certain=100.0 * float((np.abs(scores - 0.5) > 0.5 - _CERTAIN).mean()) if n else 0.0,
        records=n,
        converged=converged,
    )


def pmse_cart(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    *,
    sample: int | None = CART_RECORDS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> PmseCart:
    """Compute the propensity score mean squared error with a classification tree.

    The tree of scikit-learn (Gini) has depth 8 at most and 20 rows of both files in a leaf at least. It sees the
    ranks of the values over both files, so only their order matters; a missing value has the lowest rank. Scores are
    those of the rows that the tree was grown on: it fits noise too, and only the ratio to the null tells how much
    (Snoke et al. 2018).

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Finite, or NaN where missing.
    sample, seed : int
        Compare at most so many respondents, drawn without replacement; all with None. The seed is that of the
        permutations too, and of the order in which a tree tries variables that are equally good.
    permutations : int
        Trees grown for the null, at least 1.

    Returns
    -------
    PmseCart
        All figures 0 without records or variables. Identical files have 0.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, the sample or the number of permutations is below 1.
    """
    require_value(permutations >= 1, "permutations", "1 or more", permutations)
    original, masked = _compared(original, masked, sample, seed)
    n, p = original.shape
    if not n or not p:
        return PmseCart(0.0, 0.0, 0.0, permutations, n)
    rows = np.stack([_ranks(column) for column in np.concatenate([original, masked]).T], axis=1)
    labels, rng = np.arange(2 * n) >= n, np.random.default_rng(seed)
    value = _tree(rows, labels, seed)
    null = float(np.mean([_tree(rows, rng.permutation(labels), seed) for _ in range(permutations)]))
    return PmseCart(value, null, value / null if null else 0.0, permutations, n)


def _compared(
    original: NDArray[np.float64], masked: NDArray[np.float64], sample: int | None, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    require_comparable(original, masked)
    if sample is None:
        return original, masked
    require_value(sample >= 1, "sample", "1 or more, or None for all records", sample)
    if len(original) <= sample:
        return original, masked
    chosen = np.sort(np.random.default_rng(seed).choice(len(original), sample, replace=False))
    return original[chosen], masked[chosen]


def _variables(both: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standardised variables with missing values at the mean, then for those that have some whether it is missing."""
    gaps = np.isnan(both)
    some = gaps.any(axis=0) & ~gaps.all(axis=0)
    return np.concatenate([np.nan_to_num(standardised(both), nan=0.0).T, gaps.T[some]])


def _distance(scores: NDArray[np.float64]) -> float:
    return float(np.square(scores - 0.5).mean()) if scores.size else 0.0


def _ranks(column: NDArray[np.float64]) -> NDArray[np.float32]:
    """Ranks of distinct values: what the tree's single precision holds exactly, unlike the values."""
    _, ranks = np.unique(column, return_inverse=True)
    return np.where(np.isnan(column), -1, ranks).astype(np.float32)


def _tree(rows: NDArray[np.float32], labels: NDArray[np.bool_], seed: int) -> float:
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 -- a second, for this measure alone

    tree = DecisionTreeClassifier(max_depth=_DEPTH, min_samples_leaf=LEAF, random_state=seed)  # type: ignore[no-untyped-call]
    return _distance(tree.fit(rows, labels).predict_proba(rows)[:, -1])
