"""Columns of a few texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.sources.column import Column
from masktron.sources.variables import Variable


def column_of_cells(cells: Iterable[object], missing: Collection[str] = (), name: str = "A") -> Column:
    """Return a column of cells, None where the field is absent; numbers are written as Python writes them."""
    texts = [None if cell is None else str(cell) for cell in cells]
    return Column.of_cells(Variable.named(name), texts, frozenset(missing))


def new_column(texts: Iterable[str | None], codes: Sequence[int] | NDArray[np.integer]) -> Column:
    """Return new texts of a field, given which of them each record gets."""
    return Column.of_texts(Variable.named("new"), list(texts), np.asarray(codes))
