"""Data frames to the plain XML format and back."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lxml import etree

from masktron.errors import DocumentError, UsageError
from masktron.read.records import Column, Records

_PLAIN_DIGITS = 40
"""Numbers that need more characters than this without an exponent are written with one."""


def write_frame(frame: pd.DataFrame, path: str | Path, *, record: str = "Record", root: str = "Data") -> None:
    """Write a data frame as microdata in XML: one element per row, one child element per value.

    Integers, also in a column of floats, are written without a fraction; floats as the shortest decimal that
    reads back equal, without exponent unless that is very long; booleans as ``true`` and ``false``; dates in ISO
    form. What pandas calls missing is left out. A column ``@name`` becomes an attribute. The index is not
    written.

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
        A column or element name is not an XML name, two columns are named alike, or a value cannot be written
        (infinity, control characters, types without a text form); names the column.
    DocumentError
        The file cannot be written.
    """
    for name in (record, root):
        _check_name(name, f"the element name {name!r}")
    writers = _cell_writers(frame)
    columns = [frame.iloc[:, i].tolist() for i in range(frame.shape[1])]
    try:
        with Path(path).open("wb") as stream:
            stream.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<' + root.encode() + b">\n")
            for row in zip(*columns, strict=True):
                element = etree.Element(record)
                for write, value in zip(writers, row, strict=True):
                    write(element, value)
                etree.indent(element, level=1)
                element.tail = "\n"
                stream.write(b"  " + etree.tostring(element, encoding="UTF-8"))
            stream.write(b"</" + root.encode() + b">\n")
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else str(problem)
        raise DocumentError(f"the file cannot be written: {reason}", where=str(path)) from None


def _check_name(name: object, label: str) -> str:
    if isinstance(name, str) and "{" not in name:
        with suppress(ValueError):
            return etree.QName(name).localname
    hint = "use letters, digits, '_', '-' and '.', and begin with a letter or '_'"
    raise UsageError(f"{label} is not an XML name", hint=hint)


def _cell_writers(frame: pd.DataFrame) -> list[Callable[[etree._Element, object], None]]:
    seen: set[Hashable] = set()
    writers = []
    for label in frame.columns:
        if label in seen:
            raise UsageError(f"two columns are named {label!r}", hint="rename one of them")
        seen.add(label)
        attribute = isinstance(label, str) and label.startswith("@")
        name = _check_name(label[1:] if attribute else label, f"the column name {label!r}")
        writers.append(_cell_writer(name, str(label), attribute))
    return writers


def _cell_writer(name: str, label: str, attribute: bool) -> Callable[[etree._Element, object], None]:
    def write(element: etree._Element, value: object) -> None:
        try:
            text = lexeme_of(value)
            if text is None:
                return
            if attribute:
                element.set(name, text)
            else:
                etree.SubElement(element, name).text = text
        except (TypeError, ValueError) as problem:
            what = f"column {label!r} holds a value that cannot be written: {problem}"
            raise UsageError(what, hint="convert the column to numbers or text") from None

    return write


def lexeme_of(value: object) -> str | None:
    """Return the text of one value, None for a missing one.

    Raises
    ------
    TypeError
        The type has no text form here.
    ValueError
        The number is infinite.
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating, Decimal)):
        return _number(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no text form")


def _number(value: float | np.floating[Any] | Decimal) -> str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError("infinity is not a number in XML microdata")
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    plain = format(exact, "f")
    if not isinstance(value, Decimal) and "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return plain if len(plain) <= _PLAIN_DIGITS else str(exact)


def to_frame(records: Records) -> pd.DataFrame:
    """Return the columns of a file as a data frame, one row per record, in file order.

    A field whose every value is a number becomes int64 (no fractions, none missing, in range) or float64, with
    NaN for what is absent, empty or a missing code. Any other field keeps its lexemes as objects, None where
    absent.
    """
    return pd.DataFrame({name: _series(column) for name, column in records.columns.items()})


def _series(column: Column) -> pd.Series[Any]:
    if not column.numeric:
        return pd.Series(column.lexemes, dtype=object)
    if column.decimals == 0 and column.present.all():
        try:
            # through int, not through the double: 2**53 + 1 is an integer too
            return pd.Series([int(Decimal(str(lexeme).strip())) for lexeme in column.lexemes], dtype="int64")
        except OverflowError:
            pass
    return pd.Series(column.values, dtype="float64")
