"""Numbers, texts and moments as statistical packages store them, as lexemes and back."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.problems.problem import Field
from masktron.sources.lexical import XML_SPACE, fraction_digits, parse_number
from masktron.sources.tables.arrow_columns import values_of
from masktron.sources.tables.arrow_lexemes import lexemes_of
from masktron.sources.tables.arrow_values import UnfitError, all_short_decimals, no_room
from masktron.sources.variables import Typed

_DAY = 86_400
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)?(?:(?(date)T)(?P<sign>-?)(?P<h>\d\d+):(?P<m>[0-5]\d):(?P<s>[0-5]\d(?:\.\d+)?))?"
)

type Stored = NDArray[Any]
"""float64, float32, int8, int16, int32, or object for texts."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How a package counts time.

    Attributes
    ----------
    what : {"date", "datetime", "time"}
    origin : date
        Where days begin to count.
    seconds : Decimal
        Of its unit: 86400 for days, 0.001 for milliseconds.
    """

    what: Literal["date", "datetime", "time"]
    origin: datetime.date
    seconds: Decimal

    def lexeme(self, value: float) -> str:
        """Write a moment as ISO 8601 does; hours of a time are as many as there are.

        A date that has a time of the day shows it.

        Raises
        ------
        UnfitError
            It is not between the years 1 and 9999.
        """
        seconds = Decimal(repr(value)) * self.seconds
        if self.what == "time":
            return f"{'-' if seconds < 0 else ''}{_clock_time(abs(seconds))}"
        days = int(seconds // _DAY)
        rest = seconds - days * _DAY
        if rest < 0:
            days, rest = days - 1, rest + _DAY
        ordinal = self.origin.toordinal() + days
        if not 1 <= ordinal <= datetime.date.max.toordinal():
            raise UnfitError("a date beyond the years 1 to 9999")
        date = datetime.date.fromordinal(ordinal).isoformat()
        return date if self.what == "date" and not rest else f"{date}T{_clock_time(rest)}"

    def value(self, lexeme: str) -> float:
        """Return the number that stands for a moment.

        Raises
        ------
        UnfitError
            It is none, or no double is it exactly.
        """
        found = _MOMENT.fullmatch(lexeme)
        if not lexeme or found is None or (found["date"] is None) != (self.what == "time"):
            raise UnfitError(f"it is not a {self.what}")
        seconds = Decimal(0)
        if found["h"] is not None:
            seconds = int(found["h"]) * 3600 + int(found["m"]) * 60 + Decimal(found["s"])
            seconds = -seconds if found["sign"] else seconds
        if found["date"] is not None:
            try:
                day = datetime.date.fromisoformat(found["date"])
            except ValueError:
                raise UnfitError(f"it is not a {self.what}") from None
            seconds += (day - self.origin).days * _DAY
        value = float(seconds / self.seconds)
        if Decimal(repr(value)) * self.seconds != seconds:
            raise UnfitError("it would be another moment")
        return value

    @property
    def arrow(self) -> pa.DataType:
        """The type that holds such moments elsewhere."""
        return {"date": pa.date32(), "datetime": pa.timestamp("us"), "time": pa.time64("us")}[self.what]


def _clock_time(seconds: Decimal) -> str:
    whole = int(seconds)
    fraction = f"{(seconds - whole).normalize():f}"[1:] if seconds != whole else ""
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}{fraction}"


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumn:
    """A column as a package stores it.

    Attributes
    ----------
    name : str
        As the file has it.
    values : ndarray, shape (n,)
        Anything where a cell is absent or has a tag.
    absent : ndarray of bool, shape (n,)
    tags : ndarray of object, shape (n,), or None
        Codes for missing values that are no numbers, such as ``.a``; None in all other cells.
    clock : Clock or None
        Of moments.
    decimals : int or None
        Fraction digits that its display format shows, where the format has any.
    width : int or None
        Characters that its display format shows.
    """

    name: str
    values: Stored
    absent: NDArray[np.bool_]
    tags: NDArray[np.object_] | None = None
    clock: Clock | None = None
    decimals: int | None = None
    width: int | None = None

    @property
    def text(self) -> bool:
        """Whether its values are texts."""
        return self.values.dtype == np.object_

    @property
    def texts(self) -> list[str]:
        """Its texts, empty where one is absent."""
        return ["" if gone else text for text, gone in zip(self.values, self.absent, strict=True)]

    @property
    def typed(self) -> Typed:
        """What the type says of the values that it can hold."""
        if self.text:
            return Typed(text=True)
        if self.values.dtype.kind != "f":
            return Typed.integer(8 * self.values.itemsize)
        bits = {8: 53, 4: 24}[self.values.itemsize]
        if self.clock is not None:
            return Typed(bits=bits)
        shown = self._shown()
        upper = None if shown.width is None else Fraction(10**shown.width - 1)
        lower = None if shown.width is None else -Fraction(10 ** (shown.width - 1) - 1)
        format_of = None if self.width is None or self.decimals is None else (self.width, self.decimals)
        return Typed(bits=bits, lower=lower, upper=upper, places=shown.decimals, shown=format_of)

    @property
    def arrow(self) -> pa.DataType:
        """The type that holds its values in another format: texts where there are codes that are no numbers."""
        if self.text or (self.tags is not None and any(tag is not None for tag in self.tags)):
            return pa.string()
        if self.clock is not None:
            return self._moment_type(self.clock)
        if self.values.dtype.kind == "f" and self.decimals == 0:
            held = self.values[~self.absent]
            if bool((held == np.floor(held)).all()) and bool((np.abs(held) <= 2.0**53).all()):
                return pa.int64()
        return pa.from_numpy_dtype(self.values.dtype)

    def _moment_type(self, clock: Clock) -> pa.DataType:
        """Dates that have a time of the day are datetimes elsewhere, and times beyond a day are texts."""
        held = self.values[~self.absent].astype(np.float64)
        day = _DAY / float(clock.seconds)
        if clock.what == "time":
            return clock.arrow if bool(((held >= 0) & (held < day)).all()) else pa.string()
        return pa.timestamp("us") if clock.what == "date" and (held % day).any() else clock.arrow

    def lexemes(self, where: str) -> pa.ChunkedArray:
        """Return its values as strings, null where one is absent.

        Raises
        ------
        DocumentError
            A value has no text form.
        """
        if self.text:
            return pa.chunked_array([pa.array(self.values, mask=self.absent, type=pa.string())])
        empty = self.absent if self.tags is None else self.absent | (self.tags != None)  # noqa: E711 -- elementwise
        if self.clock is None:
            plain = lexemes_of(pa.chunked_array([pa.array(self.values, mask=empty)]), self.name, where)
        else:
            plain = pa.chunked_array([pa.array(self._moments(self.clock, empty, where), type=pa.string())])
        if self.tags is None:
            return plain
        return pc.coalesce(pa.chunked_array([pa.array(self.tags, type=pa.string())]), plain)

    def _moments(self, clock: Clock, empty: NDArray[np.bool_], where: str) -> NDArray[np.object_]:
        found = np.full(len(self.values), None, dtype=np.object_)
        distinct, which = np.unique(self.values[~empty], return_inverse=True)
        try:
            texts = [clock.lexeme(float(value)) for value in distinct]
        except UnfitError as problem:
            raise DocumentError.of("value-not-readable", where, field=Field(self.name), detail=str(problem)) from None
        found[~empty] = np.array(texts, dtype=np.object_)[which]
        return found

    def released(
        self, rows: NDArray[np.intp], changed: NDArray[np.bool_], lexemes: pa.ChunkedArray, tags: frozenset[str]
    ) -> StoredColumn:
        """Return some rows of it, in their order; cells that have not changed are what they were.

        Parameters
        ----------
        rows : ndarray of intp, shape (m,)
        changed : ndarray of bool, shape (m,)
        lexemes : pyarrow.ChunkedArray
            Of the cells, shape (m,).
        tags : frozenset of str
            Codes that are no numbers and that it can hold.

        Raises
        ------
        UsageError
            It cannot hold a masked value.
        """
        taken = replace(
            self,
            values=self.values[rows],
            absent=self.absent[rows],
            tags=None if self.tags is None else self.tags[rows],
        )
        if not changed.any():
            return taken
        try:
            new = self._of(lexemes.filter(pa.array(changed)), tags)
        except UnfitError as problem:
            raise no_room(self.name, problem, "a wider format or type") from None
        taken.values[changed], taken.absent[changed] = new.values, new.absent
        if new.tags is not None or taken.tags is not None:
            mixed = np.full(len(rows), None, dtype=np.object_) if taken.tags is None else taken.tags
            mixed[changed] = None if new.tags is None else new.tags
            taken = replace(taken, tags=mixed)
        return taken

    def holds(self, lexemes: Sequence[str], tags: frozenset[str]) -> bool:
        """Whether its type and its display format hold some values."""
        try:
            self._of(pa.chunked_array([lexemes], pa.string()), tags)
        except UnfitError:
            return False
        return True

    def _of(self, lexemes: pa.ChunkedArray, tags: frozenset[str]) -> StoredColumn:
        """Return other cells in its type, as its display format shows them."""
        shown = self._shown()
        return stored_column(
            self.name,
            lexemes,
            self.values.dtype,
            tags,
            clock=self.clock,
            decimals=shown.decimals,
            width=shown.width,
        )

    def _shown(self) -> StoredColumn:
        """Return the column with the digits that its format shows, or that its values have: these may be more."""
        decimals = None if self.decimals is None else max(self.decimals, self._fraction_digits())
        width = self.width
        if width is not None and self.values.dtype.kind == "f" and self.clock is None:
            held = self.values[~self.absent & np.isfinite(self.values)]
            ends = (held.min(), held.max()) if held.size else ()
            width = max((width, *(len(f"{round(Decimal(repr(float(end)))):d}") for end in ends)))
        return replace(self, decimals=decimals, width=width)

    def _fraction_digits(self) -> int:
        if self.values.dtype.kind != "f" or self.clock is not None:
            return 0
        held = np.unique(self.values[~self.absent])
        held = held[held != np.floor(held)]
        return max((fraction_digits(repr(float(value))) for value in held), default=0)


def stored_column(
    name: str,
    lexemes: pa.ChunkedArray,
    kind: np.dtype[Any],
    tags: frozenset[str] = frozenset(),
    *,
    clock: Clock | None = None,
    decimals: int | None = None,
    width: int | None = None,
) -> StoredColumn:
    """Return lexemes as a package stores them.

    Raises
    ------
    UnfitError
        The type or the format cannot hold one.
    """
    absent = pc.is_null(lexemes).to_numpy().astype(np.bool_)
    if kind == np.object_:
        return StoredColumn(name, np.array(pc.fill_null(lexemes, "").to_pylist(), dtype=np.object_), absent)
    found = None
    if tags:
        tagged = pc.fill_null(pc.is_in(lexemes, value_set=pa.array(sorted(tags))), False)
        if pc.any(tagged).as_py():
            found = np.array(pc.if_else(tagged, lexemes, None).to_pylist(), dtype=np.object_)
            lexemes = pc.if_else(tagged, None, lexemes)
    encoded = pc.dictionary_encode(lexemes).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk
        return StoredColumn(name, np.zeros(0, dtype=kind), absent, found, clock, decimals, width)
    if clock is None and decimals is None and kind == np.float64 and all_short_decimals(encoded.dictionary):
        values = pc.fill_null(encoded.dictionary.cast(pa.float64()).take(encoded.indices), 0.0).to_numpy()
        return StoredColumn(name, values.copy(), absent, found, clock, decimals, width)
    texts = [text.strip(XML_SPACE) for text in encoded.dictionary.to_pylist()]
    if clock is not None:
        numbers = np.array([clock.value(text) for text in texts], dtype=np.float64)
        distinct = numbers.astype(kind)
        if (distinct != numbers).any():
            raise UnfitError("it is out of range")
    else:
        if decimals is not None:
            for text in texts:
                _require_shown(text, decimals, width)
        distinct = values_of(pa.chunked_array([pa.array(texts, pa.string())]), pa.from_numpy_dtype(kind)).to_numpy()
    values = np.zeros(len(lexemes), dtype=kind)
    which = pc.fill_null(encoded.indices, 0).to_numpy()
    if len(distinct):
        values = distinct[which].astype(kind)
    return StoredColumn(name, values, absent, found, clock, decimals, width)


def _require_shown(text: str, decimals: int, width: int | None) -> None:
    if np.isnan(parse_number(text)):
        return  # what is no number is refused as such
    if fraction_digits(text) > decimals and Decimal(text) != round(Decimal(text), decimals):
        raise UnfitError(f"it has more than the {decimals} fraction digits of its format")
    if width is not None and len(f"{round(Decimal(text)):d}") > width:
        raise UnfitError(f"it has more than the {width} characters of its format")
