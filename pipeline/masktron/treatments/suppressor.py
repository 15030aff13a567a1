"""Local suppression as a transformer of scikit-learn. It knows no edit rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from masktron.kernels.distinct import codes_of
from masktron.treatments.suppression import LocalSuppression, local_suppression


class LocalSuppressor(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Leave out cells of keys until every combination is shared by k records.

    What is left out depends on all records: `transform` returns the records that the estimator was fitted to as `fit`
    has decided, and decides anew for others.

    Parameters
    ----------
    k : int
        Records that share each combination as it is written; at least 2.
    subsets : int, optional
        Size of the subsets of keys of which that holds; all keys together where not given.
    importance : sequence of float, optional
        What it costs to leave out a cell of each key.
    missing_matches : bool
        Whether a missing value matches every value.
    random_state : int, RandomState or None
        For a release, a secret: `masktron.mask` takes its draws from the secret of the release.

    Attributes
    ----------
    suppression_ : LocalSuppression
        What was decided, and the bound of what it costs at least.
    written_ : ndarray, shape (n, m)
        The records; NaN (None among texts) where a cell is left out.
    """

    def __init__(
        self,
        k: int = 3,
        *,
        subsets: int | None = None,
        importance: Sequence[float] | None = None,
        missing_matches: bool = False,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.subsets = subsets
        self.importance = importance
        self.missing_matches = missing_matches
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: N803 -- scikit-learn's names
        """Decide which cells are left out.

        Parameters
        ----------
        X : array-like, shape (n, m)
            Numbers or texts; NaN or None where a value is missing.
        y : object
            Not looked at.

        Raises
        ------
        UsageError
            A parameter is wrong.
        InfeasibleError
            There are fewer than k records.
        """
        del y
        values = self._values(X, reset=True)
        self.suppression_, self.written_ = self._decided(values)
        self._fitted_to = values
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> NDArray[Any]:  # noqa: N803
        """Decide, and return the records as they are written, shape (n, m)."""
        del params
        return self.fit(X, y).written_.copy()

    def transform(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Return the records as they are written, shape (n, m)."""
        check_is_fitted(self, "written_")
        values = self._values(X, reset=False)
        if values.shape == self._fitted_to.shape:
            both = np.vstack([self._fitted_to, values])
            if all(np.array_equal(*_codes(column).reshape(2, -1)) for column in both.T):
                return self.written_.copy()
        return self._decided(values)[1]

    def _values(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:  # noqa: N803
        checked: NDArray[Any] = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
        return checked if checked.dtype.kind == "O" or checked.dtype.kind in "US" else checked.astype(np.float64)

    def _decided(self, values: NDArray[Any]) -> tuple[LocalSuppression, NDArray[Any]]:
        plain = values.dtype.kind == "f"
        columns = [_codes(column) for column in values.T]
        state = check_random_state(self.random_state)
        generator = np.random.default_rng(state.randint(np.iinfo(np.int32).max, size=4))
        found = local_suppression(
            columns,
            self.k,
            generator,
            subsets=self.subsets,
            importance=self.importance,
            missing_matches=self.missing_matches,
        )
        written = values.copy() if plain else values.astype(object)
        written[found.cells] = np.nan if plain else None
        return found, written

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _codes(column: NDArray[Any]) -> NDArray[np.int32]:
    return codes_of(column if column.dtype.kind == "f" else column.astype(object))
