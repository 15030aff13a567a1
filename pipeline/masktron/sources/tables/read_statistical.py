"""The second reading of files of statistical packages: objects of Python as texts, by rules of its own.

Nothing here is used by the first reading but the names of formats; what both make of a value is compared.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal

import numpy as np

from masktron.sources.tables.table_format import LexemeRow

type ClockWords = tuple[Literal["date", "datetime", "time"], str, str]
"""What a number counts: kind of moment, first day, unit."""

_SAS = "1960-01-01"
_LONG = 40


def stata_clock(shown: str) -> ClockWords | None:
    """Return what a format of Stata shows a number as; weeks, months and the like are counted, so numbers."""
    plain = shown.replace("%-", "%")
    if plain.startswith(("%td", "%d")):
        return "date", _SAS, "days"
    if plain.startswith("%tc"):
        time_only = plain.startswith(("%tcHH", "%tchh"))
        return ("time" if time_only else "datetime"), _SAS, "milliseconds"
    return None


_SAS_DATES = (
    "DATE DDMMYY MMDDYY YYMMDD YYMON MONYY MMYY YYMM YEAR MONNAME WEEKDATE WEEKDATX WORDDATE WORDDATX JULIAN JULDAY "
    "QTR QTRR YYQ YYQR DAY DOWNAME MONTH E8601DA B8601DA IS8601DA DDMMYYB DDMMYYC DDMMYYD DDMMYYN DDMMYYP DDMMYYS "
    "MMDDYYB MMDDYYC MMDDYYD MMDDYYN MMDDYYP MMDDYYS YYMMDDB YYMMDDC YYMMDDD YYMMDDN YYMMDDP YYMMDDS NENGO"
)
_SAS_DATETIMES = "DATETIME DATEAMPM MDYAMPM DTDATE DTMONYY DTWKDATX DTYEAR DTYYQC E8601DT B8601DT B8601DN IS8601DT"
_SAS_TIMES = "TIME TIMEAMPM HHMM HOUR MMSS TOD E8601TM B8601TM IS8601TM"
_SAS_CLOCKS: Mapping[str, ClockWords] = {
    **dict.fromkeys(_SAS_DATES.split(), ("date", _SAS, "days")),
    **dict.fromkeys(_SAS_DATETIMES.split(), ("datetime", _SAS, "seconds")),
    **dict.fromkeys(_SAS_TIMES.split(), ("time", _SAS, "seconds")),
}


def sas_clock(shown: str | None) -> ClockWords | None:
    """Return what a format of SAS, with its width or without, shows a number as."""
    plain = (shown or "").upper()
    return _SAS_CLOCKS.get(plain) or _SAS_CLOCKS.get(plain.partition(".")[0].rstrip("0123456789"))


def rows_again(columns: Iterable[Sequence[object]], clocks: Sequence[ClockWords | None]) -> Iterator[LexemeRow]:
    """Yield rows of texts, from columns of objects."""
    texts = [[_text(value, clock) for value in column] for column, clock in zip(columns, clocks, strict=True)]
    return zip(*texts, strict=True)


def _text(value: object, clock: ClockWords | None) -> str | None:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return value if value.strip() else None
    if clock is not None:
        return _moment(float(value), clock)  # type: ignore[arg-type]
    if isinstance(value, np.float32):
        return _number(Decimal(str(value)))
    if isinstance(value, int | np.integer):
        return str(int(value))
    return _number(Decimal(repr(float(value))))  # type: ignore[arg-type]


def _number(number: Decimal) -> str:
    whole = number.to_integral_value()
    text = f"{whole:f}" if number == whole else f"{number.normalize():f}"
    return text if len(text) <= _LONG else str(number)


def _moment(value: float, clock: ClockWords) -> str:
    what, first, unit = clock
    # in microseconds where that is exact, so that the standard library counts
    exact = Decimal(repr(value)) * {"seconds": 1_000_000, "days": 86_400_000_000, "milliseconds": 1000}[unit]
    micro = int(exact // 1) - (1 if exact % 1 < 0 else 0)
    finer = exact - micro
    if what == "time":
        below = exact < 0
        whole, rest = divmod(abs(int(exact)), 1_000_000)
        fraction = f"{rest:06d}{_tail(abs(exact) % 1)}".rstrip("0")
        clock_text = f"{whole // 3600:02d}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
        return f"{'-' if below else ''}{clock_text}{'.' + fraction if fraction else ''}"
    moment = datetime.datetime.fromisoformat(first) + datetime.timedelta(microseconds=micro)
    fraction = f"{moment.microsecond:06d}{_tail(finer)}".rstrip("0")
    if what == "date" and not fraction and moment.time() == datetime.time():
        return moment.date().isoformat()
    return f"{moment.isoformat(timespec='seconds')}{'.' + fraction if fraction else ''}"


def _tail(finer: Decimal) -> str:
    return f"{finer:f}".partition(".")[2]
