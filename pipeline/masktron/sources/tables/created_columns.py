"""Columns of any table as a statistical package would store them: numbers, moments or texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_lexemes import is_text
from masktron.sources.tables.arrow_values import UnfitError, all_short_decimals, unfit_field
from masktron.sources.tables.column_strings import distinct_strings
from masktron.sources.tables.release import losses_by_column
from masktron.sources.tables.stored_values import Clock, StoredColumn, stored_column
from masktron.sources.variables import Variable

type ClockOf = Callable[[Literal["date", "datetime", "time"]], Clock]


@dataclass(frozen=True, slots=True, eq=False)
class Created:
    """A column that is to be written.

    Attributes
    ----------
    column : StoredColumn
    decimals : int
        Most fraction digits of its lexemes, or those of its type.
    width : int
        Characters of the longest, with all fraction digits of its type.
    """

    column: StoredColumn
    decimals: int = 0
    width: int = 0

    def value(self, code: str) -> Any:
        """Return a code as the column stores it, as an object of Python; without a leading point for a tag.

        Raises
        ------
        UsageError
            The column cannot hold it.
        """
        if self.column.text:
            return code
        if re.fullmatch(r"\.[A-Za-z_]", code):
            return code[1:]
        try:
            one = stored_column(
                self.column.name, pa.chunked_array([[code]]), np.dtype(np.float64), clock=self.column.clock
            )
        except UnfitError as problem:
            detail = f"the label of a code does not fit, as {problem}"
            raise unfit_field("a column of numbers", self.column.name, detail) from None
        return float(one.values[0])


def created_column(
    variable: Variable, cells: pa.ChunkedArray, clock: ClockOf, tags: frozenset[str] = frozenset()
) -> Created:
    """Return a column that no file has, or not in this type, as one of numbers, moments or texts.

    A column that says no type is one of numbers if all its values are written as numbers that a double keeps: without
    leading zeros, sign or exponent, with at most 15 digits. Else it is one of texts. Texts among which codes for
    missing values are declared are numbers, too, if they are written so and no fraction ends with a zero.

    Parameters
    ----------
    variable : Variable
    cells : pyarrow.ChunkedArray
        Its lexemes.
    clock : callable
        How the package counts dates, datetimes and times.
    tags : frozenset of str
        Codes for missing values that are no numbers and that columns of numbers can hold.

    Raises
    ------
    UsageError
        A value does not fit; names the column.
    """
    # packages know one way to be empty
    cells = pc.if_else(pc.equal(pc.utf8_trim(cells, " \t\r\n"), ""), None, cells)
    texts = pc.drop_null(
        pa.chunked_array([*cells.cast(pa.string()).chunks, pa.array(variable.recoded or (), pa.string())]).unique()
    )
    texts = texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(sorted(tags), pa.string()))))
    moments = _clock(variable, clock)
    number = moments is not None or _holds_numbers(variable, texts)
    kind: np.dtype[Any] = np.dtype(np.float64 if number else np.object_)
    try:
        stored = stored_column(variable.column, cells, kind, tags, clock=moments)
    except UnfitError as problem:
        raise unfit_field("a number of double precision", variable.column, problem) from None
    decimals, width = _shown(texts, variable) if number and moments is None and len(texts) else (0, 0)
    return Created(stored, decimals, width)


def _shown(texts: pa.Array, variable: Variable) -> tuple[int, int]:
    """Return the fraction digits and the characters of the longest number; decimals have those of their scale."""
    behind = pc.max(pc.utf8_length(pc.replace_substring_regex(texts, r"^[^.]*\.?", ""))).as_py()
    longest = pc.max(pc.utf8_length(texts)).as_py()
    if variable.stored is not None and pa.types.is_decimal(variable.stored) and variable.stored.scale > behind:
        behind = variable.stored.scale
        longest = max(
            longest, pc.max(pc.utf8_length(pc.replace_substring_regex(texts, r"\..*$", ""))).as_py() + 1 + behind
        )
    return behind, longest


def _clock(variable: Variable, clock: ClockOf) -> Clock | None:
    kind = variable.stored
    if kind is None:
        return None
    if pa.types.is_date(kind):
        return clock("date")
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return clock("datetime")
    return clock("time") if pa.types.is_time(kind) else None


def _holds_numbers(variable: Variable, texts: pa.Array) -> bool:
    kind = variable.stored
    if variable.typed.text or (kind is not None and is_text(kind)):
        if variable.typed.text or not variable.missing or not len(texts):
            return False
        zeros = pc.match_substring_regex(texts, r"\.[0-9]*0$")  # that of 10.50 would not come back
        return all_short_decimals(texts) and not pc.any(zeros).as_py()
    if kind is not None and pa.types.is_dictionary(kind):
        return False
    if kind is not None and not pa.types.is_null(kind):
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
    return bool(len(texts)) and all_short_decimals(texts)


def texts_lost(dataset: Dataset) -> Iterator[str]:
    """Say what texts lose in packages, which fill them with blanks."""

    def has_blanks(one: Variable) -> bool:
        return bool(
            pc.any(
                pc.match_substring_regex(distinct_strings(dataset.columns[one.name]), "^[ \\t\\r\\n]*$| $")
            ).as_py()
        )

    yield from losses_by_column(dataset, ("blanks at the end of texts, and texts of nothing else", has_blanks))
