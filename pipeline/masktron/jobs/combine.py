"""Combine what an analyst estimated from several synthetic releases."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from masktron.errors import UsageError
from masktron.files import RepeatedNameError, parse_json, read_text
from masktron.measures.combining import combine
from masktron.results import CombineResult

type Estimates = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Estimates and variances of each quantity, release by release."""

_LINES = "a line 'name,estimate,variance' for each quantity and release, below a header with these words"


def run_combine(
    estimates: Estimates, *, full: bool = False, population: bool = False, level: float = 0.95, ratio: float = 1.0
) -> CombineResult:
    """Combine estimates, quantity by quantity.

    Raises
    ------
    UsageError
        Naming the quantity that cannot be combined.
    """
    if not estimates:
        raise UsageError("there is nothing to combine", hint=_LINES)
    combined = {}
    for name, (points, variances) in estimates.items():
        try:
            combined[name] = combine(points, variances, full=full, population=population, level=level, ratio=ratio)
        except UsageError as error:
            error.where = name
            raise
    return CombineResult("population" if population else "fully" if full else "partially", level, combined)


def read_estimates(path: Path) -> Estimates:
    """Read estimates: JSON where the name of the file ends so, else CSV.

    Raises
    ------
    UsageError
        The file cannot be read, or does not have the form.
    """
    text = read_text(path, "estimates")
    return _from_json(text, path) if path.suffix.lower() == ".json" else _from_csv(text, path)


def _from_csv(text: str, path: Path) -> Estimates:
    rows = csv.reader(io.StringIO(text), skipinitialspace=True)
    found: dict[str, tuple[list[float], list[float]]] = {}
    try:
        header = [word.strip() for word in next((row for row in rows if row), [])]
        if not {"estimate", "variance"} <= set(header):
            raise UsageError("the header does not name estimate and variance", where=str(path), hint=_LINES)
        if len(set(header)) < len(header):
            raise UsageError("the header names a column twice", where=str(path), hint=_LINES)
        for fields in rows:
            if not fields:
                continue
            where = f"{path}:{rows.line_num}"
            if len(fields) > len(header):
                raise UsageError(
                    f"there are {len(fields)} values, and the header names {len(header)}",
                    where=where,
                    hint="write a decimal point, not a comma; quote a name with commas",
                )
            row = dict(zip(header, fields, strict=False))
            points, variances = found.setdefault(row.get("name", "").strip() or "estimate", ([], []))
            points.append(_number(row.get("estimate"), where))
            variances.append(_number(row.get("variance"), where))
    except csv.Error as error:
        raise UsageError(f"this is no CSV: {error}", where=f"{path}:{rows.line_num}", hint=_LINES) from error
    return found


def _from_json(text: str, path: Path) -> Estimates:
    form = '{"name": {"estimates": [..], "variances": [..]}, ..}'
    try:
        content = parse_json(text)
        return {
            name: (_numbers(one["estimates"], f"{path}: {name}"), _numbers(one["variances"], f"{path}: {name}"))
            for name, one in content.items()
        }
    except UsageError as error:
        error.where = error.where or str(path)
        raise
    except RepeatedNameError as error:
        hint = "give each quantity once, with the values of all releases"
        raise UsageError(str(error), where=str(path), hint=hint) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("this is not the JSON of estimates", where=str(path), hint=form) from error


def _numbers(values: object, where: str) -> list[float]:
    # texts and objects can be gone through as well, and are no releases
    if not isinstance(values, list):
        raise TypeError(values)
    return [_number(value, where) for value in values]


def _number(value: object, where: str) -> float:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise UsageError(f"{value!r} is no number", where=where, hint="write it like 1234.5")
