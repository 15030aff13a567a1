"""Variables of any kind as points, so that Euclidean distance means the distance of each kind.

Squared distances of several variables add up: put their columns side by side. Numbers are standardised, by
`masktron.partitions.mdav.standardise`; categories are encoded here.

Source of the distances: Domingo-Ferrer and Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through
microaggregation, Data Mining and Knowledge Discovery 11.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.partitions.mdav import standardise
from masktron.problems.problem import Field, Place

_MOST_CELLS = 50_000_000
"""Bound on records times categories: 400 MB of coordinates."""


def encode_ordinal(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place one ordinal variable by rank: two categories are the farther apart the more categories lie between them.

    Ranks are standardised like numbers, so that an ordinal variable weighs as much as a numeric one beside it; the
    source divides by the number of categories instead.

    Parameters
    ----------
    ranks : ndarray of float64, shape (n,)
        Place of each record's category in the order; NaN where the value is missing.

    Returns
    -------
    ndarray of float64, shape (n, 1)
        Of zero mean and unit variance, or zeros where there is one category only; NaN stays NaN.

    Raises
    ------
    UsageError
        A rank is infinite.
    """
    return standardise(ranks[:, np.newaxis])


def encode_nominal(values: NDArray[Any], name: str = "") -> NDArray[np.float64]:
    """Place the categories of one nominal variable at distance 1 from each other.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Text or codes.
    name : str, optional
        Of the field, for the message of an error.

    Returns
    -------
    ndarray of float64, shape (n, categories)
        One coordinate for each category, in sorted order: sqrt(1/2) in its own, 0 elsewhere. None where there is
        one category only.

    Raises
    ------
    UsageError
        A value is missing, or there are so many categories that the field looks like an identifier.
    """
    _require_present(values)
    categories, code = np.unique(values, return_inverse=True)
    count, many = len(values), len(categories)
    if count * many > _MOST_CELLS:
        raise UsageError.of("too-many-categories", categories=many, records=count, field=Field(name or "FIELD"))
    if len(categories) < 2:
        return np.zeros((count, 0))
    points = np.zeros((count, len(categories)))
    points[np.arange(count), code] = np.sqrt(0.5)
    return points


def _require_present(values: NDArray[Any]) -> None:
    if values.dtype.kind == "O":
        missing = np.array(
            [value is None or (isinstance(value, float) and math.isnan(value)) for value in values], dtype=np.bool_
        )
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=np.bool_)
    if missing.any():
        raise UsageError.of("missing-values", Place(record=int(np.flatnonzero(missing)[0]) + 1))
