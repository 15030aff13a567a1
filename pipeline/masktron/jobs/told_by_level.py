"""Results of nested files: one row for a field of a level, whatever positions its wide records have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from masktron.jobs.level_wording import LevelWording, merged
from masktron.measures.weighted_totals import WeightedTotal
from masktron.problems.problem import Field, Note, Problem, Setting
from masktron.problems.wording import sentence
from masktron.results import CategoryResult, KeyRisk, KeysResult, KeyValues, MaskResult, TotalResult

_NOT_SAID = frozenset(
    {
        *("output", "manifest", "rules_file", "rulebook", "data", "order", "masked", "original", "excluded", "html"),
        *("texts_before", "texts_after", "limits"),
    }
)
"""Attributes that name files or hold data."""
_NAMED = frozenset({"field", "name", "correlated"})
"""Attributes that are a name, or several with commas between."""
_NAMES = frozenset(
    {"variables", "rules", "fields", "unmasked", "identifying", "numeric", "categorical", "solved", "model_pairs"}
)
"""Attributes that list names, each by level."""


def told_by_level[T](result: T, wording: LevelWording, cells: Mapping[str, int] | None = None) -> T:
    """Return a result that names fields and rules by level.

    Totals are sums over all positions, shares are means over all cells, and what a key contributes is that of the
    position that contributes most: sets of keys have several. What is told of one field keeps its position.

    Parameters
    ----------
    result : result of a job
    wording : LevelWording
    cells : mapping of str to int, optional
        How many cells fields of wide records have, for means of shares.
    """
    if not wording.known:
        return result
    if isinstance(result, MaskResult):
        result = replace(
            result,
            totals=tuple(
                _total(name, rows) for name, rows in merged(result.totals, lambda r: r.name, wording).items()
            ),
            categories=tuple(
                _category(name, rows) for name, rows in merged(result.categories, lambda r: r.name, wording).items()
            ),
            unchanged=_means(result.unchanged, wording, cells or {}),
            # members have values at many positions: those of the first stand for the field
            values=tuple(
                replace(rows[0], field=name)
                for name, rows in merged(result.values, lambda r: r.field, wording).items()
            ),
        )
    if isinstance(result, KeysResult):
        rows = merged(result.fields, lambda r: r.field, wording)
        result = replace(result, fields=tuple(_key_values(name, own) for name, own in rows.items()))
    found: T = _told(result, wording, "")
    return found


def _total(name: str, rows: list[TotalResult]) -> TotalResult:
    before, after = math.fsum(row.before for row in rows), math.fsum(row.after for row in rows)
    records = sum(row.records for row in rows)
    return TotalResult(name, before, after, WeightedTotal(before, after, records).change, records)


def _category(name: str, rows: list[CategoryResult]) -> CategoryResult:
    if len(rows) == 1:
        return replace(rows[0], name=name)
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for row in rows:
        for own, sums in ((row.before, before), (row.after, after)):
            for category, count in own.items():
                sums[category] = sums.get(category, 0.0) + count
    totals = sum(before.values()), sum(after.values())
    distance = math.nan
    if all(totals):
        shares = (before.get(one, 0.0) / totals[0] - after.get(one, 0.0) / totals[1] for one in {**before, **after})
        distance = 50 * math.fsum(map(abs, shares))
    return CategoryResult(name, rows[0].kind, distance, before, after)


def _key_values(name: str, rows: list[KeyValues]) -> KeyValues:
    values = _counts([row.values for row in rows])
    classes = _counts([row.classes for row in rows])
    different = max(row.different for row in rows) if values is None else len(values)
    return KeyValues(name, different, values, classes)


def _counts(rows: list[Mapping[str, int] | None]) -> dict[str, int] | None:
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    found: Counter[str] = Counter()
    for row in known:
        found.update(row)
    return dict(found.most_common())


def _means(shares: Mapping[str, float], wording: LevelWording, cells: Mapping[str, int]) -> dict[str, float]:
    found = {}
    for name, own in merged(list(shares), str, wording).items():
        counts = [(shares[one], cells.get(one, 1)) for one in own if not math.isnan(shares[one])]
        total = sum(count for _, count in counts)
        found[name] = math.fsum(share * count for share, count in counts) / total if total else math.nan
    return found


def _told(value: Any, wording: LevelWording, attribute: str) -> Any:  # noqa: PLR0911 -- a case for each kind
    if isinstance(value, Problem):
        return value.renamed(wording.named)
    if isinstance(value, Setting):
        return replace(value, values=tuple(map(wording.given, value.values)))
    if isinstance(value, str):
        several = value.split(", ") if attribute in _NAMED else [value]
        if wording.known.keys().isdisjoint(several):
            return value
        return sentence(Note("{names}", names=[wording.named(Field(one)) for one in several]))
    if is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for one in fields(value):
            if one.init and one.name not in _NOT_SAID:
                changed[one.name] = _told(getattr(value, one.name), wording, one.name)
        if isinstance(value, KeyRisk) and value.contributions is not None:
            changed["contributions"] = _most(value.contributions, wording)
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple):
        if attribute in _NAMES and value and all(isinstance(one, str) for one in value):
            return wording.names(value)
        told = tuple(_told(one, wording, attribute) for one in value)
        return tuple(dict.fromkeys(told)) if all(isinstance(one, Setting) for one in told) else told
    if isinstance(value, Mapping) and value and all(isinstance(key, str) for key in value):
        return {wording.name(key): _told(one, wording, attribute) for key, one in value.items()}
    return value


def _most(shares: Mapping[str, float], wording: LevelWording) -> dict[str, float]:
    return {name: max(shares[one] for one in own) for name, own in merged(list(shares), str, wording).items()}
