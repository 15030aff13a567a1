"""Values of the columns of a pandas data frame as lexemes, which mean what those of typed columns of files mean."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field
from masktron.sources.lexical import NOT_IN_XML
from masktron.sources.tables.arrow_lexemes import plain
from masktron.sources.tables.column_names import xml_names

_INFINITE = "infinity is not a number in XML microdata"


def columns_of(frame: pd.DataFrame, where: str) -> dict[str, str]:
    """Return the name of each column in rules and settings, with the text of its label.

    A label that is no text is written as one, the parts of a tuple with ``_`` between them; names are those of
    columns of files: ``annual income`` is ``annual_x0020_income``, 2024 is ``_x0032_024``.

    Raises
    ------
    UsageError
        Two columns would have the same name, or one has none.
    """
    given: list[object] = list(frame.columns)
    labels = ["_".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in given]
    try:
        names = xml_names(labels, where)
    except DocumentError as error:
        raise UsageError(error.problem) from None
    return dict(zip(names, labels, strict=True))


def lexemes_of_series(column: pd.Series[Any]) -> NDArray[np.object_]:
    """Return the texts of the values of a column, None where one is missing.

    Parameters
    ----------
    column : Series, n values

    Returns
    -------
    ndarray of object, shape (n,)

    Raises
    ------
    UsageError
        A value has no text form, or one that XML forbids; names the column.
    """
    why = ""
    found = np.empty(0, dtype=object)
    try:
        found = _lexemes(column)
    except (TypeError, ValueError) as problem:
        why = str(problem)
    if any(lexeme is not None and NOT_IN_XML.search(lexeme) for lexeme in pd.unique(found)):
        why = "XML has no control characters and no surrogates"
    if why:
        raise UsageError.of(
            "frame-column",
            field=Field(str(column.name)),
            label=repr(column.name),
            detail=f"holds a value that cannot be written: {why}",
            type="string",
        )
    return found


def _lexemes(column: pd.Series[Any]) -> NDArray[np.object_]:
    kind = column.dtype
    if isinstance(kind, pd.SparseDtype):
        return _lexemes(pd.Series(np.asarray(column)))
    if isinstance(kind, pd.CategoricalDtype):
        categories = _lexemes(pd.Series(kind.categories))
        known = np.array([*categories, None], dtype=object)  # None where the code is -1
        return known[column.cat.codes.to_numpy(dtype=np.intp)]
    missing = column.isna().to_numpy(dtype=bool)
    present = column[~missing]
    found = np.full(len(column), None, dtype=object)
    if pd.api.types.is_bool_dtype(kind):
        found[~missing] = np.where(present.to_numpy(dtype=bool), "true", "false")
    elif pd.api.types.is_integer_dtype(kind):
        signed = not pd.api.types.is_unsigned_integer_dtype(kind)
        found[~missing] = present.to_numpy(dtype=np.int64 if signed else np.uint64).astype(str)
    elif pd.api.types.is_float_dtype(kind):
        found[~missing] = _of_floats(present.to_numpy(dtype=precision_of(kind)))
    elif isinstance(kind, pd.StringDtype) or pd.api.types.is_object_dtype(kind):
        found[~missing] = list(map(lexeme_of, present.tolist()))
    else:
        codes, distinct = pd.factorize(present)
        found[~missing] = np.array([lexeme_of(value) for value in distinct.tolist()], dtype=object)[codes]
    return found


def precision_of(kind: Any) -> np.dtype[Any]:
    """Return the type of numpy that a column of numbers has, whatever library holds it."""
    if isinstance(kind, np.dtype):
        return kind
    found: np.dtype[Any] = np.dtype(kind.subtype if isinstance(kind, pd.SparseDtype) else kind.numpy_dtype)
    return found


def _of_floats(values: NDArray[np.floating[Any]]) -> NDArray[np.object_]:
    """Write numbers as `lexeme_of` does, each as the shortest decimal of its own precision."""
    if np.isinf(values).any():
        raise ValueError(_INFINITE)
    distinct, codes = np.unique(values, return_inverse=True)
    if (distinct == 0).any():  # 0 and -0 are equal, and not the same
        distinct, codes = values, np.arange(len(values))
    texts: NDArray[np.object_] = distinct.astype(str).astype(object)
    for at, text in enumerate(texts.tolist()):
        if text.endswith(".0"):
            texts[at] = text[:-2]
        elif "e" in text:
            texts[at] = plain(Decimal(text))
    return texts[codes]


def lexeme_of(value: object) -> str | None:
    """Return the text of one value, None for a missing one.

    Raises
    ------
    TypeError
        The type has no text form here.
    ValueError
        The number is infinite.
    """
    if isinstance(value, str):
        return str(value)
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    for types, write in _WRITERS:
        if isinstance(value, types):
            return write(value)
    raise TypeError(f"{type(value).__name__} has no text form")


def _decimal(value: Decimal) -> str | None:
    if not value.is_finite():
        if value.is_nan():
            return None
        raise ValueError(_INFINITE)
    return plain(value)


def _float(value: float | np.floating[Any]) -> str | None:
    if np.isnan(value):
        return None
    if np.isinf(value):
        raise ValueError(_INFINITE)
    return plain(Decimal(str(value)))


def _moment(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        return f"{_short(value.astimezone(datetime.UTC).replace(tzinfo=None).isoformat())}Z"
    return _short(value.isoformat())


def _short(text: str) -> str:
    head, point, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{head}{point}{fraction}" if fraction else head


def _time(value: datetime.time) -> str:
    if value.tzinfo is not None:
        raise TypeError("a time of the day with a time zone has no text form")
    return _short(value.isoformat())


_WRITERS: tuple[tuple[tuple[type, ...], Callable[[Any], str | None]], ...] = (
    ((bool, np.bool_), lambda value: "true" if value else "false"),
    ((int, np.integer), lambda value: str(int(value))),
    ((float, np.floating), _float),
    ((Decimal,), _decimal),
    ((datetime.datetime,), _moment),
    ((datetime.date,), lambda value: value.isoformat()),
    ((datetime.time,), _time),
    ((datetime.timedelta, np.timedelta64), lambda value: pd.Timedelta(value).isoformat()),
    ((np.datetime64,), lambda value: _short(pd.Timestamp(value).isoformat())),
    ((pd.Period, pd.Interval), str),
)
"""The text form of each type, the first that fits: a boolean is an integer, too, and a time stamp is a date."""
