"""Values that masking left as they were."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from masktron.sources.column import Column


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
    return unchanged_of([(original, masked)])


def unchanged_of(pairs: Iterable[tuple[Column, Column]]) -> float:
    """Values of several columns that are written as they were, as `unchanged`, per cent of all their values."""
    same = there = 0
    for original, masked in pairs:
        present = original.present
        same += int(same_cells(original, masked)[present].sum())
        there += int(present.sum())
    return 100.0 * same / there if there else float("nan")


def published_as_it_was(original: Column, masked: Column) -> bool:
    """Whether every record gets its own value of a field back, where records have different ones."""
    return bool(same_cells(original, masked)[original.present].all()) and _differ(original)


def same_cells(original: Column, masked: Column) -> NDArray[np.bool_]:
    """Which cells hold the same number, or where one is no number, the same text; shape (n,)."""
    same: NDArray[np.bool_] = original.values == masked.values
    # NaN equals nothing, so that only cells that are no number in both are left
    texts = np.flatnonzero(~(original.is_number & masked.is_number))
    same[texts] = original.taken(texts).same_texts(masked.taken(texts))
    return same


def _differ(column: Column) -> bool:
    """Whether two values of a column differ: numbers as numbers, the two zeros included, all else as text."""
    numbers = column.values[column.present & column.is_number].view(np.int64)
    texts = column.taken(column.present & ~column.is_number).texts()
    return bool((len(numbers) and texts) or (len(numbers) and (numbers != numbers[0]).any()) or len(texts) > 1)
