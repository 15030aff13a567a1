"""Every method as a transformer of scikit-learn.

They mask arrays and know no edit rules; `masktron.mask` keeps rules. A masked record depends on the others that were
masked with it: `transform` returns the masked records for the array that the estimator was fitted to, and masks
another one anew.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from masktron import methods
from masktron.methods.base import Drawn, Method


class Masker(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What all of them share; beside a method, which has the constructor.

    Attributes
    ----------
    masked_ : ndarray of float64, shape (n, p)
        The masked records.
    labels_ : ndarray of intp, shape (n,), or None
        Group of each record, for methods that form groups.
    """

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: N803 -- scikit-learn's names
        """Mask records.

        Parameters
        ----------
        X : array-like of float, shape (n, p)
            Without missing values.
        y : array-like, shape (n,) or (n, c), optional
            Class of each record, for methods that need one.

        Raises
        ------
        UsageError
            A parameter is wrong, or the class is missing.
        InfeasibleError
            There are too few records, or the method cannot keep its promise.
        """
        values = self._values(X, reset=True)
        drawn = self._drawn(values, self._classes(y, len(values)))
        self.masked_ = drawn.values
        self.labels_ = drawn.labels
        self._fitted_to = values
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> NDArray[np.float64]:  # noqa: N803
        """Mask records and return them, shape (n, p)."""
        del params
        return self.fit(X, y).masked_.copy()

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Return the masked records, shape (n, p): those of `fit` for its array, else they are masked anew.

        Raises
        ------
        UsageError
            The method needs a class, and these are other records.
        """
        check_is_fitted(self, "masked_")
        values = self._values(X, reset=False)
        if values.shape == self._fitted_to.shape and np.array_equal(values, self._fitted_to):
            return self.masked_.copy()
        return self._drawn(values, self._classes(None, len(values))).values

    def _values(self, X: ArrayLike, *, reset: bool) -> NDArray[np.float64]:  # noqa: N803
        checked: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=reset)
        return checked

    def _classes(self, y: ArrayLike | None, n: int) -> NDArray[np.intp] | None:
        if y is None or not self._method.needs_class:
            self._method.require_class(given=y is not None)
            return None
        columns = np.asarray(y).reshape(n, -1)
        return np.stack([np.unique(column, return_inverse=True)[1] for column in columns.T], axis=1).astype(np.intp)

    def _drawn(self, values: NDArray[np.float64], classes: NDArray[np.intp] | None) -> Drawn:
        state = check_random_state(getattr(self, "random_state", None))
        generator = np.random.default_rng(state.randint(np.iinfo(np.int32).max, size=4))
        return self._method.check().mask(values, generator, classes=classes)

    @property
    def _method(self) -> Method:
        assert isinstance(self, Method)  # noqa: S101 -- every estimator is one
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._method.needs_class
        return tags


class Mdav(Masker, methods.mdav.Mdav):
    """`masktron.methods.mdav.Mdav` for scikit-learn."""


class Fuzzy(Masker, methods.fuzzy.Fuzzy):
    """`masktron.methods.fuzzy.Fuzzy` for scikit-learn."""


ALL: tuple[type[Masker], ...] = (
    Mdav,
    Fuzzy,
)  # fmt: skip
"""One for each method."""
