"""The numbers of two files as measures take them, and what they have to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting
from masktron.errors import UsageError


@dataclass(frozen=True, slots=True, eq=False)
class FieldPairs:
    """The numbers of an original and of a masked file, one field after the other.

    For measures that look at each field by itself: of a large file, the columns of one field are in memory at a time,
    and not those of all.

    Attributes
    ----------
    columns : callable
        Returns the column of the original and that of the masked file by the number of the field, shape (n,) each;
        NaN where missing.
    fields : sequence of int
        The numbers of the fields, in their order.
    records : int
        n.
    weights : tuple of two ndarray of float64, shape (n,), or None
        Survey weights of the original and of the masked file; None where every record counts once.
    """

    columns: Callable[[int], tuple[NDArray[np.float64], NDArray[np.float64]]]
    fields: Sequence[int]
    records: int
    weights: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        return map(self.columns, self.fields)

    @property
    def shape(self) -> tuple[int, int]:
        """Records and fields."""
        return self.records, len(self.fields)

    def side(self, side: int) -> Iterator[NDArray[np.float64]]:
        """Yield the columns of the original, 0, or of the masked file, 1.

        Raises
        ------
        UsageError
            A value of either file is infinite.
        """
        for pair in self:
            require_finite(*pair)
            yield pair[side]

    def of(self, fields: Sequence[int]) -> Self:
        """Return some of the fields, by their places in the order of all."""
        return type(self)(self.columns, [self.fields[at] for at in fields], self.records, self.weights)

    def relative_weights(self, side: int) -> NDArray[np.float64] | None:
        """Return the weights of one file divided by the largest, so that no sum overflows."""
        return None if self.weights is None else self.weights[side] / self.weights[side].max(initial=0.0)

    @classmethod
    def over(
        cls,
        original: NDArray[np.float64],
        masked: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Return those of two arrays of shape (n, p), with the same weights, shape (n,).

        Raises
        ------
        UsageError
            The shapes differ.
        """
        require_comparable(original, masked, finite=False)
        both = None if weights is None else (weights, weights)
        if weights is not None:
            require_fitting(weights.shape == (len(original),), original=original, weights=weights)
        return cls(lambda at: (original[:, at], masked[:, at]), range(original.shape[1]), len(original), both)


def require_finite(*arrays: NDArray[np.float64]) -> None:
    """Refuse infinite values where these mean nothing.

    Raises
    ------
    UsageError
    """
    if any(np.isinf(one).any() for one in arrays):
        raise UsageError.of("unusable-values", kind="infinite")


def require_comparable(original: NDArray[np.float64], masked: NDArray[np.float64], *, finite: bool = True) -> None:
    """Refuse files that have not the same records and variables, or infinite values where these mean nothing.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
    finite : bool
        Whether infinite values are refused.

    Raises
    ------
    UsageError
    """
    require_fitting(original.shape == masked.shape and original.ndim == 2, original=original, masked=masked)
    if finite:
        require_finite(original, masked)


def require_classes(groups: NDArray[np.integer], classes: NDArray[np.integer]) -> None:
    """Refuse groups and classes of different records, and codes below 0, where -1 is no missing class.

    Parameters
    ----------
    groups, classes : ndarray of int, shape (n,)

    Raises
    ------
    UsageError
    """
    require_fitting(groups.shape == classes.shape and groups.ndim == 1, groups=groups, classes=classes)
    require_bounds(0, groups=groups)
    require_bounds(-1, classes=classes)


def require_bounds(least: float, most: float = math.inf, **arrays: NDArray[Any]) -> None:
    """Refuse numbers outside bounds, and missing ones, by the names of their arrays.

    Raises
    ------
    UsageError
    """
    for name, one in arrays.items():
        wrong = one[~((one >= least) & (one <= most))]
        if wrong.size:
            bounds = f"{least} or more" if most == math.inf else f"from {least} to {most}"
            raise UsageError.of("bad-value", name=f"each number of {name}", expected=bounds, given=wrong[0])
