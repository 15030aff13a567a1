"""What two files have to be for a measure of numbers to compare them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError


def require_comparable(original: NDArray[np.float64], masked: NDArray[np.float64], infinite: str = "") -> None:
    """Refuse files that have not the same records and variables, or infinite values where these mean nothing.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
    infinite : str
        What an infinite value lacks, such as "has no mean"; where it is empty, such values are let through.

    Raises
    ------
    UsageError
    """
    if original.shape != masked.shape or original.ndim != 2:
        raise UsageError(f"files of shapes {original.shape} and {masked.shape} cannot be compared")
    if infinite and (np.isinf(original).any() or np.isinf(masked).any()):
        raise UsageError(f"an infinite value {infinite}")
