"""PRAM and record swapping as transformers of scikit-learn: they know no edit rules; `masktron.mask` keeps rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from masktron.estimators import ArrayMasker
from masktron.treatments.pram import pram_law, randomised
from masktron.treatments.record_swapping import record_swaps


class KeyPerturber(ArrayMasker):
    """What both share. A perturbed record depends on the others that were perturbed with it.

    Attributes
    ----------
    masked_ : ndarray, shape (n, p)
        The records of `fit`, perturbed.
    """

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: N803 -- scikit-learn's names
        """Perturb records.

        Parameters
        ----------
        X : array-like of float, shape (n, p)
            Codes or numbers, of which equal ones are one value; without missing values.
        y : array-like, optional
            Not looked at.

        Raises
        ------
        UsageError
            A parameter is wrong.
        InfeasibleError
            The values allow no such treatment.
        """
        del y
        values = validate_data(self, X, dtype=np.float64, reset=True, ensure_min_samples=2)
        self.masked_ = self._masked(values)
        self._fitted_to = values
        return self


class Pram(KeyPerturber):
    """Invariant PRAM of each column by itself (`masktron.treatments.pram`).

    Parameters
    ----------
    change : float
        Share of the records that is expected to change in each column.
    minimum : float
        Probability with which every value stays at least.
    random_state : int, RandomState instance or None
        What protects a release comes from a secret, not from here: see `masktron.mask`.
    """

    def __init__(self, change: float = 0.1, minimum: float = 0.0, random_state: object = None) -> None:
        self.change = change
        self.minimum = minimum
        self.random_state = random_state

    def _masked(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        generator = self._generator()
        found = values.copy()
        for at, column in enumerate(values.T):
            distinct, codes = np.unique(column, return_inverse=True)
            law = pram_law([codes], change=self.change, minimum=self.minimum)
            found[:, at] = distinct[randomised(law, generator).codes[0]]
        return found


class RecordSwapping(KeyPerturber):
    """Targeted record swapping (`masktron.treatments.record_swapping`): columns of regions change places.

    Parameters
    ----------
    regions, keys, similar : sequence of int
        Columns: of regions from coarse to fine, of what makes a record rare, and of what agrees in a pair.
    k : int
        A record is at risk where fewer than k records of its region share its keys.
    rate : float
        Share of the records that is to be swapped.
    least_regions : int
        Where a record goes is drawn from at least so many other regions.
    random_state : int, RandomState instance or None
        What protects a release comes from a secret, not from here: see `masktron.mask`.
    """

    def __init__(
        self,
        regions: Sequence[int] = (0,),
        keys: Sequence[int] = (),
        similar: Sequence[int] = (),
        k: int = 3,
        rate: float = 0.1,
        least_regions: int = 2,
        random_state: object = None,
    ) -> None:
        self.regions = regions
        self.keys = keys
        self.similar = similar
        self.k = k
        self.rate = rate
        self.least_regions = least_regions
        self.random_state = random_state

    def _masked(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        distinct = [np.unique(column, return_inverse=True) for column in values.T]
        codes = [inverse for _, inverse in distinct]
        swaps = record_swaps(
            [codes[at] for at in self.regions],
            self._generator(),
            keys=[codes[at] for at in self.keys],
            similar=[codes[at] for at in self.similar],
            k=self.k,
            rate=self.rate,
            least_regions=self.least_regions,
        )
        found = values.copy()
        for at, column in zip(self.regions, swaps.regions, strict=True):
            found[:, at] = distinct[at][0][column]
        return found
