"""Lexemes as columns of a pandas data frame, with the types, the labels and the index of the one that went in."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.problems.problem import Field
from masktron.sources.lexical import parse_number
from masktron.sources.tables.arrow_columns import categories_of, without_categories
from masktron.sources.tables.pandas_lexemes import columns_of, lexemes_of_series, precision_of
from masktron.sources.tables.release import Release


def released_frame(
    frame: pd.DataFrame, release: Release, new: Mapping[str, pd.Series[Any]] = MappingProxyType({})
) -> pd.DataFrame:
    """Return the released records as a data frame.

    A cell of a column that was not masked keeps the very object that it held. All cells of a masked column get the
    value of their lexeme, so that no object tells whether it was there before. Columns that are masked or lack
    records have only the categories of their records, so that these depend on released cells alone. Nothing stays in
    memory behind a missing value.

    Parameters
    ----------
    frame : DataFrame
        What was masked.
    release : Release
        Of its table.
    new : mapping of str to Series, optional
        Released columns of other types than the frame has, by the name of the field.

    Raises
    ------
    UsageError
        A masked value does not fit the type of its column; names the column, and what to do.
    """
    rows = release.rows
    same = len(rows) == len(frame) and bool((rows == np.arange(len(frame))).all())
    index = frame.index if same else _shortened(frame.index, rows)
    released, columns = release.dataset.columns, {}
    for at, name in enumerate(columns_of(frame, "")):
        if name not in released:
            continue
        lexemes = np.array(release.cells(name).to_pylist(), dtype=object)
        columns[at] = new[name] if name in new else _restored(frame.iloc[:, at], lexemes, rows, release.changed(name))
        columns[at].index = index
    found = pd.DataFrame(columns, index=index)
    found.columns = frame.columns[list(columns)]
    found.attrs = dict(frame.attrs)
    return found


def require_one_type(frame: pd.DataFrame, unmasked: Collection[str] = ()) -> None:
    """Refuse a column whose values could not be told apart again by their texts, unless it is not masked.

    Raises
    ------
    UsageError
        A column of objects holds values of more than one type, or two categories have the same text; names it.
    """
    for at, name in enumerate(columns_of(frame, "")):
        column = frame.iloc[:, at]
        if name in unmasked:
            continue
        if isinstance(column.dtype, pd.CategoricalDtype):
            lexemes = lexemes_of_series(pd.Series(column.dtype.categories, name=column.name))
            what = "two categories with the same text" if len(set(lexemes)) < len(lexemes) else ""
        else:
            objects = column[column.notna()].tolist() if pd.api.types.is_object_dtype(column.dtype) else []
            types = sorted(set(map(_type_of, objects)))
            what = f"values of several types, {' and '.join(types)}" if len(types) > 1 else ""
        if what:
            raise UsageError.of(
                "frame-column",
                field=Field(name),
                label=repr(column.name),
                detail=f"holds {what}, so masked values would have no certain type",
                type="string",
            )


def _restored(
    column: pd.Series[Any], lexemes: NDArray[np.object_], rows: NDArray[np.intp], changed: NDArray[np.bool_]
) -> pd.Series[Any]:
    """Return a column in which the cells that have changed have the values of their lexemes."""
    if isinstance(column.dtype, pd.SparseDtype):  # knows no new values
        dense = _restored(pd.Series(np.asarray(column), name=column.name), lexemes, rows, changed)
        return dense.astype(column.dtype)
    own = column.iloc[rows].reset_index(drop=True)
    places = np.flatnonzero(changed)
    found = own if not places.size else _recoded(column, own, places, lexemes)
    whole = not places.size and len(rows) == len(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return found if whole else found.cat.remove_unused_categories()
    bare = _bare(found.array, None if whole else set(lexemes.tolist()))
    return pd.Series(bare, dtype=found.dtype, name=column.name, copy=False)


def _recoded(
    column: pd.Series[Any], own: pd.Series[Any], places: NDArray[np.intp], lexemes: NDArray[np.object_]
) -> pd.Series[Any]:
    new = lexemes[places]
    if not pd.api.types.is_object_dtype(column.dtype) and not pd.api.types.is_string_dtype(column.dtype):
        new[new == ""] = None
    codes, distinct = pd.factorize(new)
    held = codes >= 0
    target: Any = own.array.copy()
    try:
        if held.any():
            target[places[held]] = _values(column, distinct.tolist()).take(codes[held])
        if not held.all():
            target[places[~held]] = _missing(column)
        found = pd.Series(target, dtype=column.dtype, name=column.name, copy=False)
        written = lexemes_of_series(found)
    except _UnfitError as problem:
        raise _refusal(column, str(problem)) from None
    except OverflowError:
        raise _refusal(column, "it is out of range") from None
    except (ValueError, TypeError, ArithmeticError):
        # what a library says may show the value
        raise _refusal(column, "it is not of that type") from None
    unlike = np.flatnonzero(written != lexemes)
    if not all(_same(*pair) for pair in {(written[at], lexemes[at]) for at in unlike.tolist()}):
        raise _refusal(column, "it would be another number")
    return found


def _shortened(index: pd.Index[Any], rows: NDArray[np.intp]) -> pd.Index[Any]:
    """Return the labels of some records, without levels or categories that only others have."""
    found = index[rows]
    if isinstance(found, pd.MultiIndex):
        return found.remove_unused_levels()
    return found.remove_unused_categories() if isinstance(found, pd.CategoricalIndex) else found


def _bare(values: Any, categories: Collection[object] | None) -> Any:
    """Return the same array with nothing behind its missing values, where one that was deleted may still be.

    Parameters
    ----------
    values : array of pandas
    categories : collection of lexemes, optional
        Those that stay, where it has categories of Arrow; all by default.
    """
    kind = values.dtype
    if isinstance(values, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        absent = np.asarray(values.isna(), dtype=np.bool_)
        return type(values)(values.to_numpy(dtype=kind.numpy_dtype, na_value=kind.type(0)), absent)
    if not (isinstance(kind, pd.ArrowDtype) or getattr(kind, "storage", "") == "pyarrow"):
        return values
    held = values.__arrow_array__()
    there = held.is_valid().to_numpy()
    held = held.drop_null().take(pa.array(np.cumsum(there) - 1, pa.int64(), mask=~there))
    if categories is not None and pa.types.is_dictionary(held.type):
        held = without_categories(held, set(categories_of(held)).difference(categories))
    return pd.array(held, dtype=kind)


class _UnfitError(Exception):
    """Why a type cannot hold a value, in words that show none."""


def _refusal(column: pd.Series[Any], why: str) -> UsageError:
    kind = column.dtype
    wider = next((name for test, name in _WIDER if test(kind)), "string")
    return UsageError.of(
        "frame-column",
        field=Field(str(column.name)),
        label=repr(column.name),
        detail=f"of type {kind} cannot hold a masked value: {why}",
        type=wider,
    )


def _values(column: pd.Series[Any], lexemes: list[str]) -> Any:
    """Return an array of the type of a column that holds the values of some lexemes."""
    kind: Any = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        categories = pd.Index(lexemes_of_series(pd.Series(kind.categories, name=column.name)), dtype=object)
        return pd.Categorical.from_codes(_found(categories, lexemes, "it is none of the categories"), dtype=kind)
    if pd.api.types.is_bool_dtype(kind):
        truths = pd.Index(["false", "true"], dtype=object)
        return pd.array(_found(truths, lexemes, "it is neither true nor false").astype(bool), dtype=kind)
    if pd.api.types.is_integer_dtype(kind):
        numbers = [Decimal(lexeme.strip()) for lexeme in lexemes]
        if any(number != int(number) for number in numbers):
            raise _UnfitError("it has a fraction")
        # numpy refuses a number out of range, where other libraries may begin anew from below
        checked = np.array(list(map(int, numbers)), dtype=precision_of(kind))
        return pd.array(checked, dtype=kind)
    if pd.api.types.is_float_dtype(kind):
        with np.errstate(over="ignore"):
            fractions = np.array(lexemes, dtype=str).astype(precision_of(kind))
        if not np.isfinite(fractions).all():
            raise OverflowError
        return pd.array(fractions, dtype=kind)
    if isinstance(kind, pd.StringDtype):
        return pd.array(lexemes, dtype=kind)
    return _values_known(column, lexemes)


def _values_known(column: pd.Series[Any], lexemes: list[str]) -> Any:
    """Return values that the column has by their texts; texts, numbers as objects and decimals may be new."""
    kind: Any = column.dtype
    present = np.flatnonzero(~column.isna().to_numpy(dtype=bool))
    first = _type_of(column.iloc[present[0]]) if present.size else ""
    parse = _PARSED.get(first)
    if first == "Decimal":
        places = min((_exponent(value) for value in column.iloc[present]), default=0)
        made = _objects([_scaled(Decimal(lexeme), places) for lexeme in lexemes])
        return made if pd.api.types.is_object_dtype(kind) else pd.array(made, dtype=kind)
    own = lexemes_of_series(column)
    holders = present[np.unique(own[present].astype(str), return_index=True)[1]]
    known = pd.Index(own[holders], dtype=object).get_indexer(pd.Index(lexemes, dtype=object))
    if (known >= 0).all():
        return column.array.take(holders[known])
    if parse is None:
        raise _UnfitError("it is none of the values of the column")
    made = _objects([parse(lexeme) for lexeme in lexemes])
    return made if pd.api.types.is_object_dtype(kind) else pd.array(made, dtype=kind)


def _objects(values: list[object]) -> NDArray[np.object_]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return min(0, exponent) if isinstance(exponent, int) else 0


def _scaled(value: Decimal, exponent: int) -> Decimal:
    """Return a decimal with as many digits behind the point as its column has, or more where it needs them."""
    sign, digits, own = value.as_tuple()
    more = int(own) - exponent
    return Decimal((sign, digits + (0,) * more, exponent)) if more > 0 else value


def _found(known: pd.Index[Any], lexemes: list[str], otherwise: str) -> NDArray[np.intp]:
    places = known.get_indexer(pd.Index(lexemes, dtype=object))
    if (places < 0).any():
        raise _UnfitError(otherwise)
    return places


def _missing(column: pd.Series[Any]) -> Any:
    """Return what a missing value is in a column."""
    kind: Any = column.dtype
    if not isinstance(kind, np.dtype):
        return kind.na_value
    if kind.kind in "biu":
        raise _UnfitError("it is missing, and this type knows no missing values")
    if pd.api.types.is_object_dtype(kind):
        gone = column[column.isna().to_numpy(dtype=bool)]
        return gone.iloc[0] if len(gone) else None
    return pd.NaT if kind.kind in "mM" else np.nan


def _same(one: str | None, other: str | None) -> bool:
    """Whether two texts are one number, or nothing both."""
    if not one or not other:
        return not one and not other
    if np.isnan(parse_number(one)) or np.isnan(parse_number(other)):
        return False
    return Decimal(one.strip()) == Decimal(other.strip())


def _type_of(value: object) -> str:
    """Name the type of a value; those that are written alike are one."""
    for name, types in _TYPES.items():
        if isinstance(value, types):
            return name
    return type(value).__name__


_TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "bool": (bool, np.bool_),
        "int": (int, np.integer),
        "float": (float, np.floating),
        "str": (str,),
        "datetime": (datetime.datetime, np.datetime64),
        "timedelta": (datetime.timedelta, np.timedelta64),
    }
)
_PARSED: Mapping[str, Callable[[str], object]] = MappingProxyType({"str": str, "int": int, "float": float})
_WIDER: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (pd.api.types.is_bool_dtype, "boolean"),
    (pd.api.types.is_integer_dtype, "Int64"),
    (pd.api.types.is_float_dtype, "float64"),
)
