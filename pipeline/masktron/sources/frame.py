"""Data frames as microdata in the plain XML format: names of fields, lexemes of values, the file."""

from __future__ import annotations

import datetime
import math
import os
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.sources.lexical import NOT_IN_XML

_PLAIN_DIGITS = 40
"""Numbers that need more characters than this without an exponent are written with one."""
_ROWS = 1 << 14
"""Rows that are texts in memory at once."""
_NOT_IN_NAMES = re.compile(r"[^\w.\-]")
_IN_ATTRIBUTES = {'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
_IN_ELEMENTS = {"\r": "&#13;"}


def write_frame(frame: pd.DataFrame, path: str | Path, *, record: str = "Record", root: str = "Data") -> None:
    """Write a data frame as microdata in XML: one element per row, one child element per value.

    Integers, also in a column of floats, are written without a fraction; floats as the shortest decimal that
    reads back equal in their own precision, without exponent unless that is very long; booleans as ``true`` and
    ``false``; dates in ISO form. What pandas calls missing is left out. A column ``@name`` becomes an attribute. The
    index is not written.

    Parameters
    ----------
    frame : DataFrame
    path : str or Path
        Written directly; wrap it in `masktron.write.atomic.atomic_path` where a file may already be there.
    record, root : str
        Names of the elements.

    Raises
    ------
    UsageError
        An element name is not an XML name, two columns are or would be named alike, or a value cannot be written
        (infinity, control characters, types without a text form); names the column.
    DocumentError
        The file cannot be written.
    """
    for name in (record, root):
        if not _is_name(name):
            hint = "use letters, digits, '_', '-' and '.', and begin with a letter or '_'"
            raise UsageError(f"the element name {name!r} is not an XML name", hint=hint)
    names = field_names(frame)
    try:
        with Path(path).open("w", encoding="UTF-8", newline="\n") as stream:
            stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n')
            for start in range(0, len(frame), _ROWS):
                stream.writelines(_records(frame.iloc[start : start + _ROWS], names, record))
            stream.write(f"</{root}>\n")
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else str(problem)
        raise DocumentError(f"the file cannot be written: {reason}", where=str(path)) from None


def field_names(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the names of the columns in the file, in rules and in settings, in their order.

    A label that is an XML name is its own, with ``@`` before it that of an attribute. In any other one, also a number
    or the parts of a tuple joined by ``_``, each character that XML forbids becomes ``_``; one more stands before it
    where it would begin with a digit, a point or a hyphen: ``annual income`` is ``annual_income``, 2024 is ``_2024``.

    Raises
    ------
    UsageError
        Two columns would have the same name.
    """
    owners: dict[str, object] = {}
    for label in frame.columns:
        name = _field_name(label)
        if name in owners:
            other = owners[name]
            what = (
                f"two columns are named {label!r}"
                if other == label and type(other) is type(label)
                else (f"the columns {other!r} and {label!r} would both be named {name!r} in rules")
            )
            raise UsageError(what, hint="rename one of them")
        owners[name] = label
    return tuple(owners)


def _field_name(label: object) -> str:
    text = "_".join(map(str, label)) if isinstance(label, tuple) else str(label)
    attribute = isinstance(label, str) and label.startswith("@")
    name = text[attribute:]
    if not _is_name(name) or (attribute and name == "xmlns"):
        name = _NOT_IN_NAMES.sub("_", name)
        name = name if _is_name(name) and name != "xmlns" else f"_{name}"
    # \w knows letters that XML names do not
    if not _is_name(name):
        name = re.sub(r"[^A-Za-z0-9_.\-]", "_", name)
    return f"@{name}" if attribute else name


def _is_name(name: str) -> bool:
    with suppress(ValueError):
        return "{" not in name and bool(etree.QName(name).localname)
    return False


def _records(rows: pd.DataFrame, names: tuple[str, ...], record: str) -> list[str]:
    """Write some rows, a text each."""
    attributes, elements = [], []
    for at, name in enumerate(names):
        lexemes = lexemes_of(rows.iloc[:, at])
        if name.startswith("@"):
            attributes.append(_wrapped(lexemes, f' {name[1:]}="', '"', _IN_ATTRIBUTES))
        else:
            elements.append(_wrapped(lexemes, f"    <{name}>", f"</{name}>\n", _IN_ELEMENTS))
    texts = []
    for row in range(len(rows)):
        head = f"  <{record}{''.join(column[row] for column in attributes)}"
        inner = "".join([column[row] for column in elements])
        texts.append(f"{head}>\n{inner}  </{record}>\n" if inner else f"{head}/>\n")
    return texts


def _wrapped(lexemes: NDArray[np.object_], before: str, after: str, special: dict[str, str]) -> list[str]:
    """Put the tags of a field around its values; nothing where there is none."""
    codes, distinct = pd.factorize(lexemes)
    texts = [f"{before}{escape(lexeme, special)}{after}" for lexeme in distinct]
    texts.append("")  # where the code is -1
    return [texts[code] for code in codes.tolist()]


def lexemes_of(column: pd.Series[Any]) -> NDArray[np.object_]:
    """Return the texts of the values of a column, None where one is missing.

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
        what = f"column {column.name!r} holds a value that cannot be written: {why}"
        raise UsageError(what, hint="convert the column to numbers or text")
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
        raise ValueError("infinity is not a number in XML microdata")
    distinct, codes = np.unique(values, return_inverse=True)
    if (distinct == 0).any():  # 0 and -0 are equal, and not the same
        distinct, codes = values, np.arange(len(values))
    texts: NDArray[np.object_] = distinct.astype(str).astype(object)
    for at, text in enumerate(texts.tolist()):
        if text.endswith(".0"):
            texts[at] = text[:-2]
        elif "e" in text:
            texts[at] = _plain(Decimal(text))
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
        raise ValueError("infinity is not a number in XML microdata")
    plain = format(value, "f")
    return plain if len(plain) <= _PLAIN_DIGITS else str(value)


def _float(value: float | np.floating[Any]) -> str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError("infinity is not a number in XML microdata")
    return _plain(Decimal(str(value)))


def _plain(exact: Decimal) -> str:
    plain = format(exact, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return plain if len(plain) <= _PLAIN_DIGITS else str(exact)


_WRITERS: tuple[tuple[tuple[type, ...], Callable[[Any], str | None]], ...] = (
    ((bool, np.bool_), lambda value: "true" if value else "false"),
    ((int, np.integer), lambda value: str(int(value))),
    ((float, np.floating), _float),
    ((Decimal,), _decimal),
    ((datetime.date, datetime.time), lambda value: value.isoformat()),
    ((datetime.timedelta, np.timedelta64), lambda value: pd.Timedelta(value).isoformat()),
    ((np.datetime64,), lambda value: pd.Timestamp(value).isoformat()),
    ((pd.Period, pd.Interval), str),
)
"""The text form of each type, the first that fits: a boolean is an integer, too, and a time stamp is a date."""
