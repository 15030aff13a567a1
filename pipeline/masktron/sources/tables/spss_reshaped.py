"""Variables of an SPSS file that are going to hold what a recoding writes: numbers of classes with their labels."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from masktron.recodings import exact_number
from masktron.sources.column_forms import ColumnForm
from masktron.sources.lexical import fraction_digits
from masktron.sources.tables.arrow_values import unfit_field
from masktron.sources.tables.stored_values import StoredColumn

_LONGEST_LABEL = 120
"""Bytes of the label of a value."""


def reshaped_stored(stored: StoredColumn, form: ColumnForm) -> StoredColumn:
    """Return a column of numbers, plain ones, that shows as many digits as what is to be written has."""
    if not form.values or stored.text:
        return stored
    decimals = max(map(fraction_digits, form.values))
    width = max(*map(len, form.values), stored.width or 0)
    empty = np.ones(len(stored.values), dtype=np.bool_)
    return StoredColumn(stored.name, np.zeros(len(empty)), empty, decimals=decimals, width=width)


def reshaped_meta(meta: Any, stored: StoredColumn, form: ColumnForm) -> Any:
    """Return what a file says of its variables, with other labels of the values of one, and another format.

    Parameters
    ----------
    meta : object
        As pyreadstat has it.
    stored : StoredColumn
        As `reshaped_stored` has made it.
    form : ColumnForm

    Raises
    ------
    UsageError
        A label is too long; or moments become numbers, and some are declared as missing.
    """
    name, found = stored.name, copy(meta)
    require_short(form, _LONGEST_LABEL, name, "SPSS")
    values = dict(meta.variable_value_labels)
    labelled = {_value(stored, code): label for code, label in form.labels.items()}
    values[name] = labelled
    if not labelled:
        del values[name]
    found.variable_value_labels = values
    if form.values and not stored.text:
        found.original_variable_types = {**meta.original_variable_types, name: f"F{stored.width}.{stored.decimals}"}
        measure = "ordinal" if form.ordered and meta.variable_measure.get(name) != "nominal" else "nominal"
        found.variable_measure = {**meta.variable_measure, name: measure}
    return found


def require_plain(stored: StoredColumn, meta: Any, form: ColumnForm) -> None:
    """Refuse to make numbers of moments some of which mean 'missing' and stay: they would be other values.

    Raises
    ------
    UsageError
    """
    if stored.text or stored.clock is None or not form.values:
        return
    if meta.missing_ranges.get(stored.name) or any(exact_number(value) is None for value in form.values):
        detail = "its dates or times that mean 'missing' would become numbers of classes; make them system-missing"
        raise unfit_field("SPSS", stored.name, detail)


def require_short(form: ColumnForm, most: int, name: str, package: str) -> None:
    """Refuse labels that a package would cut.

    Raises
    ------
    UsageError
    """
    for label in form.labels.values():
        if len(label.encode()) > most:
            detail = f"the label of a class has more than {most} bytes; shorten it in the hierarchy"
            raise unfit_field(package, name, detail)


def _value(stored: StoredColumn, code: str) -> Any:
    """Return a value of which something is said, as pyreadstat has it."""
    number = None if stored.text else exact_number(code)
    return code if number is None else float(number)
