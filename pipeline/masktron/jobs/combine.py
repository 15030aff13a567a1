"""Combine what an analyst estimated from several synthetic releases."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from masktron.errors import UsageError, Where
from masktron.files import RepeatedNameError, parse_json, read_text
from masktron.measures.combining import combine
from masktron.problems.problem import Place
from masktron.results import CombineResult

type Estimates = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Estimates and variances of each quantity, release by release."""


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
        raise UsageError.of("bad-estimates", reason="there are none")
    combined = {}
    for name, (points, variances) in estimates.items():
        try:
            combined[name] = combine(points, variances, full=full, population=population, level=level, ratio=ratio)
        except UsageError as error:
            raise error.at(name) from None
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
            raise UsageError.of("bad-estimates", path, reason="the header does not name estimate and variance")
        if len(set(header)) < len(header):
            raise UsageError.of("bad-estimates", path, reason="the header names a column twice")
        for fields in rows:
            if not fields:
                continue
            where = Place(str(path), rows.line_num)
            if len(fields) > len(header):
                reason = f"there are {len(fields)} values, and the header names {len(header)}"
                raise UsageError.of("bad-estimates", where, reason=reason)
            row = dict(zip(header, fields, strict=False))
            points, variances = found.setdefault(row.get("name", "").strip() or "estimate", ([], []))
            points.append(_number(row.get("estimate"), where))
            variances.append(_number(row.get("variance"), where))
    except csv.Error as error:
        raise UsageError.of("bad-estimates", Place(str(path), rows.line_num), reason=str(error)) from error
    return found


def _from_json(text: str, path: Path) -> Estimates:
    try:
        content = parse_json(text)
        return {
            name: (_numbers(one["estimates"], f"{path}: {name}"), _numbers(one["variances"], f"{path}: {name}"))
            for name, one in content.items()
        }
    except UsageError:
        raise
    except RepeatedNameError as error:
        raise UsageError.of("bad-estimates", path, reason=str(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError.of("bad-estimates", path, reason="this is not the JSON of estimates") from error


def _numbers(values: object, where: str) -> list[float]:
    # texts and objects can be gone through as well, and are no releases
    if not isinstance(values, list):
        raise TypeError(values)
    return [_number(value, where) for value in values]


def _number(value: object, where: Where) -> float:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise UsageError.of("bad-value", where, name="an estimate", expected="a number such as 1234.5", given=repr(value))
