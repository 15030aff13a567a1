"""Values that masking left as they were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.read.records import Column


def unchanged(original: Column, masked: Column) -> float:
    """Values of a field that are written as they were, per cent of its values.

    Numbers are compared as numbers, whatever their spelling; all else as text.

    Parameters
    ----------
    original, masked : Column
        The same records in the same order.

    Returns
    -------
    float
        NaN where the original has no value.
    """
    present = original.present
    if not present.any():
        return float("nan")
    return 100.0 * int(same_cells(original, masked)[present].sum()) / int(present.sum())


def published_as_it_was(original: Column, masked: Column) -> bool:
    """Whether every record gets its own value of a field back, where records have different ones."""
    held = {str(cell) for cell in _cells(original)[original.present].tolist()}
    return len(held) > 1 and bool(same_cells(original, masked)[original.present].all())


def same_cells(original: Column, masked: Column) -> NDArray[np.bool_]:
    """Which cells hold the same number, or where one is no number, the same text; shape (n,)."""
    numbers = original.is_number & masked.is_number
    same: NDArray[np.bool_] = np.where(numbers, original.values == masked.values, original.lexemes == masked.lexemes)
    return same


def _cells(column: Column) -> NDArray[np.object_]:
    return np.where(column.is_number, column.values.astype(np.object_), column.lexemes)
