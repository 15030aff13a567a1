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
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from masktron import methods
from masktron.errors import InfeasibleError, UsageError
from masktron.methods.base import Drawn, Method


class ArrayMasker(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What transformers of arrays share: a masked record depends on the others that were masked with it.

    Attributes
    ----------
    masked_ : ndarray of float64, shape (n, p)
        The masked records.
    """

    masked_: NDArray[np.float64]
    _fitted_to: NDArray[np.float64]

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: N803 -- scikit-learn's names
        """Mask records."""
        raise NotImplementedError

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
        values: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=False)
        if values.shape == self._fitted_to.shape and np.array_equal(values, self._fitted_to):
            return self.masked_.copy()
        return self._masked(values)

    def _masked(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _generator(self) -> np.random.Generator:
        state = check_random_state(getattr(self, "random_state", None))
        return np.random.default_rng(state.randint(np.iinfo(np.int32).max, size=4))


class Masker(ArrayMasker):
    """What all of them share; beside a method, which has the constructor.

    Attributes
    ----------
    masked_ : ndarray of float64, shape (n, p)
        The masked records.
    labels_ : ndarray of intp, shape (n,), or None
        Group of each record, for methods that form groups.
    notes_ : tuple of str
        What the user has to know of this run, as `mask` prints it: larger groups, components that were regularised,
        classes that groups give away.
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
        values = validate_data(self, X, dtype=np.float64, reset=True)
        drawn = self._drawn(values, self._classes(y, len(values)))
        self.masked_ = drawn.values
        self.labels_ = drawn.labels
        self.notes_ = drawn.notes
        self._fitted_to = values
        return self

    def _masked(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._drawn(values, self._classes(None, len(values))).values

    def _classes(self, y: ArrayLike | None, n: int) -> NDArray[np.intp] | None:
        if not self._method.needs_class:
            return None
        if y is None:
            raise UsageError.of("y-missing", method=self._method.name)
        given = check_array(y, dtype=None, ensure_2d=False, input_name="y")
        if len(given) != n:
            raise UsageError.of("arrays-differ", shapes=(f"y of shape {given.shape}", f"X of {n} records"))
        columns = given.reshape(n, -1)
        return np.stack([np.unique(column, return_inverse=True)[1] for column in columns.T], axis=1).astype(np.intp)

    def _drawn(self, values: NDArray[np.float64], classes: NDArray[np.intp] | None) -> Drawn:
        if len(values) == 1:
            what, least = f"{self._method.name} (n_samples = 1)", self._method.least(values.shape[1])
            raise InfeasibleError.of("too-few-records", what=what, least=least, records=1)
        return self._method.check().mask(values, self._generator(), classes=classes)

    @property
    def _method(self) -> Method:
        assert isinstance(self, Method)  # noqa: S101 -- every estimator is one
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._method.needs_class
        return tags


class Mdav(Masker, methods.mdav.MdavMethod):
    """`masktron.methods.mdav.MdavMethod` for scikit-learn."""


class MdavGeneric(Masker, methods.mdav_generic.MdavGenericMethod):
    """`masktron.methods.mdav_generic.MdavGenericMethod` for scikit-learn."""


class Univariate(Masker, methods.univariate.UnivariateMethod):
    """`masktron.methods.univariate.UnivariateMethod` for scikit-learn."""


class MuApprox(Masker, methods.mu_approx.MuApproxMethod):
    """`masktron.methods.mu_approx.MuApproxMethod` for scikit-learn."""


class Mst(Masker, methods.mst.MstMethod):
    """`masktron.methods.mst.MstMethod` for scikit-learn."""


class TCloseness(Masker, methods.t_closeness.TClosenessMethod):
    """`masktron.methods.t_closeness.TClosenessMethod` for scikit-learn."""


class Crest(Masker, methods.crest.CrestMethod):
    """`masktron.methods.crest.CrestMethod` for scikit-learn."""


class Fuzzy(Masker, methods.fuzzy.FuzzyMethod):
    """`masktron.methods.fuzzy.FuzzyMethod` for scikit-learn."""


class CampCrest(Masker, methods.camp_crest.CampCrestMethod):
    """`masktron.methods.camp_crest.CampCrestMethod` for scikit-learn."""


class Noise(Masker, methods.noise.NoiseMethod):
    """`masktron.methods.noise.NoiseMethod` for scikit-learn."""


class Ipso(Masker, methods.ipso.IpsoMethod):
    """`masktron.methods.ipso.IpsoMethod` for scikit-learn."""


class Microhybrid(Masker, methods.microhybrid.MicrohybridMethod):
    """`masktron.methods.microhybrid.MicrohybridMethod` for scikit-learn."""


class MuralidharSarathy(Masker, methods.muralidhar_sarathy.MuralidharSarathyMethod):
    """`masktron.methods.muralidhar_sarathy.MuralidharSarathyMethod` for scikit-learn."""


class HybridMicro(Masker, methods.hybrid_micro.HybridMicroMethod):
    """`masktron.methods.hybrid_micro.HybridMicroMethod` for scikit-learn."""


class ModelHybrid(Masker, methods.model_hybrid.ModelHybridMethod):
    """`masktron.methods.model_hybrid.ModelHybridMethod` for scikit-learn."""


class LatentClass(Masker, methods.latent_class.LatentClassMethod):
    """`masktron.methods.latent_class.LatentClassMethod` for scikit-learn."""


class Sequential(Masker, methods.sequential.SequentialMethod):
    """`masktron.methods.sequential.SequentialMethod` for scikit-learn."""


class Cart(Masker, methods.cart.CartMethod):
    """`masktron.methods.cart.CartMethod` for scikit-learn."""


class Hierarchical(Masker, methods.hierarchical.HierarchicalMethod):
    """`masktron.methods.hierarchical.HierarchicalMethod` for scikit-learn."""


class RankSwapping(Masker, methods.rank_swapping.RankSwappingMethod):
    """`masktron.methods.rank_swapping.RankSwappingMethod` for scikit-learn."""


class Shuffling(Masker, methods.shuffling.ShufflingMethod):
    """`masktron.methods.shuffling.ShufflingMethod` for scikit-learn."""


ALL: tuple[type[Masker], ...] = (
    Mdav,
    MdavGeneric,
    Univariate,
    MuApprox,
    Mst,
    TCloseness,
    Crest,
    Fuzzy,
    CampCrest,
    Noise,
    Ipso,
    Microhybrid,
    MuralidharSarathy,
    HybridMicro,
    ModelHybrid,
    LatentClass,
    Sequential,
    Cart,
    Hierarchical,
    RankSwapping,
    Shuffling,
)
"""One for each method."""
