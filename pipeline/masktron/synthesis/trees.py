"""Trees of regression and classification: the leaves in which records are alike in what is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.kernels.linear_algebra import eigen_decomposition, product

SKETCH = 16
"""Columns of the outcome of a variable with more categories than that."""
MOST_CELLS = 64
"""Leaves of a tree whose leaves are cells."""
_NOTICEABLE, _BESIDE = 10.0, 2.0
"""What a split of cells has to explain, in units of what one does that means nothing: of one variable, as an F
statistic, and beside it of each other one."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A variable that trees ask about: for the records of the file, and for those that are drawn.

    Attributes
    ----------
    original : ndarray of float64, shape (n,)
        Numbers, or codes of categories; NaN where missing.
    drawn : ndarray of float64, shape (m,)
    nominal : bool
        Whether they are codes.
    """

    original: Floats
    drawn: Floats
    nominal: bool

    def columns(self, outcome: Floats, k: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return what a tree reads of it, shapes (n,) and (m,): the ranks of numbers, or the places of categories.

        Parameters
        ----------
        outcome : ndarray of float64, shape (n, d)
            Of the records of the file.
        k : int
            Categories of fewer records share one place.

        Notes
        -----
        Categories stand in the order of their mean outcome: the best split in two parts is then one of the order
        (Breiman et al. 1984, section 4.2.2). Where outcomes are vectors, that is the order along the first principal
        component of these means (Coppersmith, Hong and Hosking 1999). Time grows as n log n, however many categories
        there are. Ranks, because trees compare single-precision numbers, and only their order counts; what lies
        between two values of the original has a rank between theirs. What is missing comes first.
        """
        support = np.unique(self.original[~np.isnan(self.original)])
        if not self.nominal:
            low, high = (
                [np.searchsorted(support, one, side=side) for one in (self.original, self.drawn)]
                for side in ("left", "right")
            )  # fmt: skip
            ranks = [
                np.where(np.isnan(one), -1.0, (below + above) / 2.0).astype(np.float32)
                for one, below, above in zip((self.original, self.drawn), low, high, strict=True)
            ]
            return ranks[0], ranks[1]
        codes, drawn = (
            np.where(np.isnan(one), len(support), np.searchsorted(support, one))
            for one in (self.original, self.drawn)
        )
        levels = pooled(codes, len(support) + 1, k)
        own = levels[codes]
        sizes = np.bincount(own)
        sums = np.stack([np.bincount(own, column) for column in outcome.T], axis=1)
        means = sums / np.maximum(sizes, 1)[:, None]
        places = _along(means, sizes).astype(np.float32)
        return places[own], places[levels[drawn]]


def pooled(codes: Labels, count: int, least: int, apart: NDArray[np.bool_] | None = None) -> Labels:
    """Return the level of each of `count` categories: those of fewer than `least` records are one, the last.

    Where these are fewer than `least` records together, they are one with the largest other level, whose figures they
    change least.

    Parameters
    ----------
    codes : ndarray of intp, shape (n,)
    count, least : int
    apart : ndarray of bool, shape (count,), optional
        Categories that may have a level of their own; all by default.
    """
    sizes = np.bincount(codes, minlength=count)
    large = (sizes >= least) & (True if apart is None else apart)
    levels = np.where(large, np.cumsum(large) - 1, large.sum())
    if 0 < sizes[~large].sum() < least and large.any():
        levels[~large] = levels[np.where(large, sizes, -1).argmax()]
    return np.asarray(levels, dtype=np.intp)


def outcome_of(values: Floats, generator: np.random.Generator, *, nominal: bool) -> Floats:
    """Return a variable as trees are grown on it, shape (n, d).

    Notes
    -----
    Of categories, the indicators: the squared error that a split explains is then what it takes from the Gini
    impurity. Of more than `SKETCH` categories, that many normal combinations of these, which keep squared distances
    in expectation (Johnson and Lindenstrauss 1984), so that time does not grow with their number.
    """
    if not nominal:
        # a power of two: squares of large numbers do not overflow
        return np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1]))[:, None]
    support, codes = np.unique(values, return_inverse=True)
    count = len(support)
    table = np.eye(count) if count <= SKETCH else generator.standard_normal((count, SKETCH)) / np.sqrt(SKETCH)
    indicators: Floats = table[codes]
    return indicators


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The leaf of every record of the file, and of every drawn one, from 0."""

    original: Labels
    drawn: Labels

    @classmethod
    def grown(
        cls,
        outcome: Floats,
        questions: list[Question],
        k: int,
        generator: np.random.Generator,
        *,
        cells: bool = False,
    ) -> Self:
        """Grow a tree with at least k records in each leaf.

        Parameters
        ----------
        outcome : ndarray of float64, shape (n, d)
        questions : list of Question
        k : int
        generator : numpy.random.Generator
            Breaks ties between questions.
        cells : bool
            Whether only splits are made that explain more than chance would, and at most `MOST_CELLS` leaves.
        """
        from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 -- loads slowly

        n = len(outcome)
        # asked for even where no tree is grown, so that draws stay apart
        seed = int(generator.integers(2**31))
        drawn = len(questions[0].drawn) if questions else n
        if not questions or (outcome == outcome[0]).all():
            return cls(np.zeros(n, dtype=np.intp), np.zeros(drawn, dtype=np.intp))
        asked = [question.columns(outcome, k) for question in questions]
        kind: Any = DecisionTreeRegressor
        tree = kind(
            min_samples_leaf=k,
            random_state=seed,
            max_leaf_nodes=MOST_CELLS if cells else None,
            min_impurity_decrease=_noticeable(outcome) if cells else 0.0,
        )
        tree.fit(np.stack([own for own, _ in asked], axis=1), outcome)
        original, reached = (tree.apply(np.stack(side, axis=1)) for side in zip(*asked, strict=True))
        found, leaves = np.unique(original, return_inverse=True)
        return cls(leaves.astype(np.intp), np.searchsorted(found, reached).astype(np.intp))


def _noticeable(outcome: Floats) -> float:
    """Return the mean decrease of variance from which a split is taken for cells."""
    n, d = outcome.shape
    return float((_NOTICEABLE + _BESIDE * (d - 1)) / d / n * outcome.var(axis=0).mean())


def _along(means: Floats, sizes: Labels) -> Floats:
    """Return the places of levels, shape (levels,): ranks of their means where these differ most."""
    along = means[:, 0]
    if means.shape[1] > 1:
        weights = sizes / max(int(sizes.sum()), 1)
        centred = means - np.einsum("l,ld->d", weights, means)
        spread = product((centred * weights[:, None]).T, centred)
        along = np.einsum("ld,d->l", centred, eigen_decomposition((spread + spread.T) / 2)[1][:, 0])
    return np.asarray(np.unique(along, return_inverse=True)[1], dtype=np.float64)
