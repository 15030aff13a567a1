"""Variables of a Stata file that are going to hold what a recoding writes: numbers of classes with their labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from masktron.recodings import exact_number
from masktron.sources.column_forms import ColumnForm
from masktron.sources.tables.pyreadstat_files import require_short
from masktron.sources.tables.stata_sections import StataFile
from masktron.sources.tables.stored_values import StoredColumn

_LARGEST: Mapping[np.dtype[Any], int] = {
    np.dtype(np.int8): 100,
    np.dtype(np.int16): 32_740,
    np.dtype(np.int32): 2_147_483_620,
}
"""Of the integer types; what is above stands for missing values."""
_SHOWN = {"i1": "%8.0g", "i2": "%8.0g", "i4": "%12.0g", "f4": "%9.0g", "f8": "%10.0g"}
"""Formats that Stata gives to numbers."""
_FIRST_MISSING = 2_147_483_621
_LONGEST_LABEL = 32_000


def reshaped_stored(stored: StoredColumn, form: ColumnForm) -> StoredColumn:
    """Return a column of numbers in a type that holds all that is to be written: its own if it can."""
    if not form.values or stored.text:
        return stored
    numbers = [number for value in form.values if (number := exact_number(value)) is not None]
    kind, whole = stored.values.dtype, all(number.denominator == 1 for number in numbers)
    if kind.kind == "i":
        largest = max((abs(number) for number in numbers), default=0)
        wider = (one for one, most in _LARGEST.items() if one.itemsize >= kind.itemsize and largest <= most)
        kind = next(wider, np.dtype(np.float64)) if whole else np.dtype(np.float64)
    size = len(stored.values)
    return StoredColumn(stored.name, np.zeros(size, dtype=kind), np.ones(size, dtype=np.bool_))


def reshaped_file(file: StataFile, at: int, stored: StoredColumn, form: ColumnForm) -> StataFile:
    """Return a file in which a variable has another type, format and set of labels.

    Parameters
    ----------
    file : StataFile
    at : int
        Position of the variable.
    stored : StoredColumn
        As `reshaped_stored` has made it.
    form : ColumnForm

    Raises
    ------
    UsageError
        A label is too long.
    """
    require_short(form, _LONGEST_LABEL, stored.name, "Stata")
    if form.values and not stored.text:
        kind = f"{stored.values.dtype.kind}{stored.values.dtype.itemsize}"
        file = file.of_type(at, kind, _SHOWN[kind])
    if stored.text:
        return file  # Stata has no labels of texts
    return file.of_labels(at, dict(sorted(_coded(form.labels))))


def _coded(labels: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield labels by the numbers that stand for values, and for extended missing values."""
    for code, label in labels.items():
        number = exact_number(code)
        if number is not None and number.denominator == 1:
            yield int(number), label
        elif number is None:
            yield _FIRST_MISSING + ord(code[1]) - ord("a") + 1, label
