"""Combine what an analyst estimated from several synthetic releases."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from masktron.errors import UsageError
from masktron.files import read_text
from masktron.measures.combining import Combined, combine
from masktron.results import SCHEMA_VERSION

type Estimates = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Estimates and variances of each quantity, release by release."""

_LINES = "a line 'name,estimate,variance' for each quantity and release, below a header with these words"


@dataclass(frozen=True, slots=True)
class CombineResult:
    """Combined estimates.

    Attributes
    ----------
    full : bool
        Whether the rule is that of fully synthetic releases.
    level : float
        Of the confidence intervals.
    quantities : mapping of str to Combined
    """

    full: bool
    level: float
    quantities: Mapping[str, Combined]

    def __getitem__(self, name: str) -> Combined:
        """Return what is known of a quantity."""
        return self.quantities[name]

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/combine.schema.json``; null for a bound that is infinite."""
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "combine",
            "synthetic": "fully" if self.full else "partially",
            "level": self.level,
            "quantities": [
                {"name": name, **{key: _finite(value) for key, value in asdict(one).items()}}
                for name, one in self.quantities.items()
            ],
        }

    def __repr__(self) -> str:
        from masktron.report.combined import combine_tables  # noqa: PLC0415 -- only where somebody prints it
        from masktron.report.tables import render  # noqa: PLC0415

        return render(combine_tables(self))


def run_combine(
    estimates: Estimates, *, full: bool = False, level: float = 0.95, ratio: float = 1.0
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
            combined[name] = combine(points, variances, full=full, level=level, ratio=ratio)
        except UsageError as error:
            error.where = name
            raise
    return CombineResult(full, level, combined)


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
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    if not {"estimate", "variance"} <= set(rows.fieldnames or ()):
        raise UsageError("the header does not name estimate and variance", where=str(path), hint=_LINES)
    found: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        points, variances = found.setdefault(row.get("name") or "estimate", ([], []))
        where = f"{path}:{rows.line_num}"
        points.append(_number(row["estimate"], where))
        variances.append(_number(row["variance"], where))
    return found


def _from_json(text: str, path: Path) -> Estimates:
    form = '{"name": {"estimates": [..], "variances": [..]}, ..}'
    try:
        content = json.loads(text)
        return {
            name: (
                [_number(value, f"{path}: {name}") for value in one["estimates"]],
                [_number(value, f"{path}: {name}") for value in one["variances"]],
            )
            for name, one in content.items()
        }
    except UsageError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("this is not the JSON of estimates", where=str(path), hint=form) from error


def _number(value: object, where: str) -> float:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise UsageError(f"{value!r} is no number", where=where, hint="write it like 1234.5")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
