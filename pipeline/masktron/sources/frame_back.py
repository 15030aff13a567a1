"""Masked records as a data frame with the types, the labels and the index of the one that went in."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.sources.frame import field_names, lexemes_of, precision_of
from masktron.sources.lexical import parse_number
from masktron.sources.records import Records, Typed


@dataclass(frozen=True, slots=True)
class Restored:
    """Masked records as a data frame.

    Attributes
    ----------
    frame : DataFrame
    respelled : tuple of str
        Fields in which the frame has the numbers of the file, but writes some of them in another way (``2.5`` for
        ``2.50``), so that a rule on their text could see a difference.
    """

    frame: pd.DataFrame
    respelled: tuple[str, ...]


def restored(
    records: Records, frame: pd.DataFrame, rows: NDArray[np.intp], removed: Collection[str] = ()
) -> Restored:
    """Return masked records with the types, the labels and the index of the frame that they come from.

    A cell whose lexeme has not changed keeps the very object that it held. Any other gets the value of its lexeme,
    and is written again to see that it has.

    Parameters
    ----------
    records : Records
        Of the masked file.
    frame : DataFrame
        What was masked.
    rows : ndarray of intp, shape (len(records),)
        The position in `frame` of each record.
    removed : collection of str
        Fields that were not to be written.

    Raises
    ------
    UsageError
        A masked value does not fit the type of its column; names the column, and what to do.
    """
    same = len(rows) == len(frame) and bool((rows == np.arange(len(frame))).all())
    index = frame.index if same else frame.index[rows]
    columns, respelled = {}, []
    for at, name in enumerate(field_names(frame)):
        if name in removed:
            continue
        released = records.columns.get(name)  # a field without any value is not in the file
        lexemes = np.full(len(rows), None, dtype=object) if released is None else released.lexemes
        columns[at], spelled = _restored(frame.iloc[:, at], lexemes, rows)
        columns[at].index = index
        if not spelled:
            respelled.append(name)
    found = pd.DataFrame(columns, index=index)
    found.columns = frame.columns[list(columns)]
    found.attrs = dict(frame.attrs)
    return Restored(found, tuple(respelled))


def require_one_type(frame: pd.DataFrame, unmasked: Collection[str] = ()) -> None:
    """Refuse a column whose values could not be told apart again by their texts, unless it is not masked.

    Raises
    ------
    UsageError
        A column of objects holds values of more than one type, or two categories have the same text; names it.
    """
    for at, name in enumerate(field_names(frame)):
        column = frame.iloc[:, at]
        if name in unmasked:
            continue
        if isinstance(column.dtype, pd.CategoricalDtype):
            lexemes = lexemes_of(pd.Series(column.dtype.categories, name=column.name))
            what = "two categories with the same text" if len(set(lexemes)) < len(lexemes) else ""
        else:
            objects = column[column.notna()].tolist() if pd.api.types.is_object_dtype(column.dtype) else []
            types = sorted(set(map(_type_of, objects)))
            what = f"values of several types, {' and '.join(types)}" if len(types) > 1 else ""
        if what:
            raise UsageError(
                f"column {column.name!r} holds {what}, so masked values would have no certain type",
                hint=f"convert it, for example frame.astype({{{column.name!r}: 'string'}}), or do not mask it, for "
                f"example roles={{{name!r}: 'untouched'}}",
            )


def types_of(frame: pd.DataFrame) -> dict[str, Typed]:
    """Return, for the fields of which types say more than lexemes, what they say."""
    found = {}
    for at, name in enumerate(field_names(frame)):
        column = frame.iloc[:, at]
        kind: Any = column.dtype
        if pd.api.types.is_float_dtype(column.dtype):
            found[name] = Typed(bits=np.finfo(precision_of(column.dtype)).nmant + 1)
        elif pd.api.types.is_integer_dtype(column.dtype):
            found[name] = Typed.integer(8 * kind.itemsize, signed=not pd.api.types.is_unsigned_integer_dtype(kind))
        elif _is_text(column) and column.notna().any():
            found[name] = Typed(text=True)
    return found


def _is_text(column: pd.Series[Any]) -> bool:
    """Whether a column holds texts, or periods: that of a year looks like a number."""
    if pd.api.types.is_object_dtype(column.dtype):
        return any(isinstance(value, str) for value in column.tolist())
    return isinstance(column.dtype, pd.PeriodDtype) or pd.api.types.is_string_dtype(column.dtype)


def _restored(
    column: pd.Series[Any], lexemes: NDArray[np.object_], rows: NDArray[np.intp]
) -> tuple[pd.Series[Any], bool]:
    """Return a column with masked values, and whether it writes all of them as the file does."""
    if isinstance(column.dtype, pd.SparseDtype):  # knows no new values
        dense, same = _restored(pd.Series(np.asarray(column), name=column.name), lexemes, rows)
        return dense.astype(column.dtype), same
    own = column.iloc[rows].reset_index(drop=True)
    changed = np.flatnonzero(lexemes_of(own) != lexemes)
    if not changed.size:
        return own, True
    new = lexemes[changed]
    if not pd.api.types.is_object_dtype(column.dtype) and not pd.api.types.is_string_dtype(column.dtype):
        new[new == ""] = None
    codes, distinct = pd.factorize(new)
    held = codes >= 0
    target: Any = own.array.copy()
    try:
        if held.any():
            target[changed[held]] = _values(column, distinct.tolist()).take(codes[held])
        if not held.all():
            target[changed[~held]] = _missing(column)
        found = pd.Series(target, dtype=column.dtype, name=column.name, copy=False)
        written = lexemes_of(found)
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
    return found, not unlike.size


class _UnfitError(Exception):
    """Why a type cannot hold a value, in words that show none."""


def _refusal(column: pd.Series[Any], why: str) -> UsageError:
    kind = column.dtype
    wider = next((name for test, name in _WIDER if test(kind)), "string")
    return UsageError(
        f"column {column.name!r} of type {kind} cannot hold a masked value: {why}",
        hint=f"give it a type that can before it is masked: frame.astype({{{column.name!r}: {wider!r}}})",
    )


def _values(column: pd.Series[Any], lexemes: list[str]) -> Any:
    """Return an array of the type of a column that holds the values of some lexemes."""
    kind: Any = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        categories = pd.Index(lexemes_of(pd.Series(kind.categories, name=column.name)), dtype=object)
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
    """Return values that the column has by their texts; texts and decimal fractions may be new."""
    kind: Any = column.dtype
    own = lexemes_of(column)
    present = np.flatnonzero(~column.isna().to_numpy(dtype=bool))
    first = present[np.unique(own[present].astype(str), return_index=True)[1]]
    places = pd.Index(own[first], dtype=object).get_indexer(pd.Index(lexemes, dtype=object))
    if (places >= 0).all():
        return column.array.take(first[places])
    parse = _PARSED.get(_type_of(column.iloc[present[0]])) if present.size else None
    if parse is None:
        raise _UnfitError("it is none of the values of the column")
    made = np.empty(len(lexemes), dtype=object)
    made[:] = [parse(lexeme) for lexeme in lexemes]
    return made if pd.api.types.is_object_dtype(kind) else pd.array(made, dtype=kind)


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
_PARSED: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {"str": str, "Decimal": Decimal, "int": int, "float": float}
)
_WIDER: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (pd.api.types.is_bool_dtype, "boolean"),
    (pd.api.types.is_integer_dtype, "Int64"),
    (pd.api.types.is_float_dtype, "float64"),
)
