"""Columns of a few texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.tables.column_strings import column_of, strings_of
from masktron.sources.tables.release import Release
from masktron.sources.variables import Variable


def column_of_cells(cells: Iterable[object], missing: Collection[str] = (), name: str = "A") -> Column:
    """Return a column of cells, None where the field is absent; numbers are written as Python writes them."""
    texts = [None if cell is None else str(cell) for cell in cells]
    return Column.of_cells(Variable.named(name), texts, frozenset(missing))


def new_column(texts: Iterable[str | None], codes: Sequence[int] | NDArray[np.integer]) -> Column:
    """Return new texts of a field, given which of them each record gets."""
    return Column.of_texts(Variable.named("new"), list(texts), np.asarray(codes))


def cells_of(dataset: Dataset) -> pa.Table:
    """Return the cells of a flat dataset as strings."""
    return pa.table({name: strings_of(column) for name, column in dataset.columns.items()})


def dataset_of(variables: Iterable[Variable], cells: pa.Table, **said: Any) -> Dataset:
    """Return a table of strings, and what is said of its columns and of all of it."""
    columns = [column_of(one, cells[one.name]) for one in variables]
    return replace(Dataset.of_columns(Path("made"), columns, len(cells)), **said)


def release_of(original: Dataset, cells: pa.Table, rows: NDArray[np.intp], masked: Collection[str] = ()) -> Release:
    """Return what is to be written of a table, given its cells as strings and the row of each record."""
    variables = [one for one in original.variables if one.name in cells.column_names]
    return Release(original, dataset_of(variables, cells, title=original.title), rows, frozenset(masked))
