"""Fields that another one governs: IF A has a code, or is 0, THEN B is 0, is above 0, lacks, or does not lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.proposals import candidate
from masktron.proposals.candidate import (
    IF_THEN,
    FieldPaths,
    ShownValue,
    SuggestedRule,
    held,
    is_missing,
    is_one_of,
    known,
)
from masktron.proposals.profiles import FieldProfile

FEWEST_RECORDS = 10
"""Records in which the IF holds."""
MOST_CODES = 20
FEWER_THAN_USUAL = 20
"""How much rarer exceptions are than records without the THEN are among all: what is usual anyway is no condition."""


@dataclass(frozen=True, slots=True, eq=False)
class _Condition:
    """What an IF says: a test, and the records that satisfy it."""

    field: FieldProfile
    value: str
    rows: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Conclusion:
    """What a THEN says, of the records that it can be asked of."""

    field: FieldProfile
    name: str
    asked: NDArray[np.bool_]
    holds: NDArray[np.bool_]
    test: Callable[[str], str]
    says: str


def governed(fields: Sequence[FieldProfile], paths: FieldPaths) -> Iterator[SuggestedRule]:
    """Yield the rules IF A THEN B that hold where the IF does, but for errors, and that no chance explains.

    Codes of A with the same THEN are one rule.

    Parameters
    ----------
    fields : sequence of FieldProfile
    paths : FieldPaths
    """
    conditions = [condition for field in fields for condition in _conditions(field)]
    conclusions = [conclusion for field in fields for conclusion in _conclusions(field)]
    among = len(conditions) * len(conclusions)
    for conclusion in conclusions:
        usual = (int(conclusion.holds.sum()) + 1) / (int(conclusion.asked.sum()) + 2)
        by_field: dict[str, list[tuple[_Condition, float]]] = {}
        for condition in conditions:
            if condition.field.name == conclusion.field.name:
                continue
            asked = conclusion.asked & condition.rows
            count, fails = int(asked.sum()), int((asked & ~conclusion.holds).sum())
            most = min(candidate.MOST_ERRORS, (1 - usual) / FEWER_THAN_USUAL)
            if count < FEWEST_RECORDS or fails > most * count:
                continue
            expected = candidate.expected(among, count - fails, fails, usual)
            if expected <= candidate.PLAUSIBLE:
                by_field.setdefault(condition.field.name, []).append((condition, expected))
        for found in by_field.values():
            made = _candidate([one for one, _ in found], min(e for _, e in found), conclusion, usual, paths)
            if made is not None:
                yield made


def _conditions(field: FieldProfile) -> Iterator[_Condition]:
    if field.role is Role.IDENTIFIER:
        return
    if field.coded and 2 <= len(field.texts) <= MOST_CODES:
        lexemes = field.column.lexemes
        for value in sorted(field.texts):
            if field.texts[value] >= FEWEST_RECORDS:
                yield _Condition(field, value, field.present & (lexemes == value))
    elif field.quantity and field.exact is not None:
        zero = field.present & (field.exact == 0)
        if FEWEST_RECORDS <= zero.sum() < field.present.sum():
            yield _Condition(field, "0", zero)


def _conclusions(field: FieldProfile) -> Iterator[_Conclusion]:
    if field.role is Role.IDENTIFIER:
        return
    if field.quantity and field.exact is not None:
        zero, positive = field.exact == 0, field.exact > 0
        if (zero & field.present).any() and (~zero & field.present).any():
            yield _Conclusion(field, "zero", field.present, zero, lambda p: f"number({p}) = 0", "is not 0")
        if (positive & field.present).any() and (~positive & field.present).any():
            yield _Conclusion(field, "above-zero", field.present, positive, lambda p: f"{p} > 0", "is not above 0")
    if not field.complete:
        every = np.ones(len(field.present), dtype=np.bool_)
        yield _Conclusion(field, "missing", every, ~field.present, lambda p: is_missing(p, field), "has a value")
        yield _Conclusion(
            field, "there", every, field.present, lambda p: f"not({is_missing(p, field)})", "has no value"
        )


def _candidate(
    conditions: list[_Condition], expected: float, conclusion: _Conclusion, usual: float, paths: FieldPaths
) -> SuggestedRule | None:
    field, other = conditions[0].field, conclusion.field
    path, target = paths[field.name], paths[other.name]
    rows = np.logical_or.reduce([one.rows for one in conditions])
    values = [one.value for one in conditions]
    condition = is_one_of(path, field, values) if field.coded else f"number({path}) = 0"
    if condition is None:
        return None
    asked = conclusion.asked & rows
    fails = asked & ~conclusion.holds
    count, wrong = int(asked.sum()), int(fails.sum())
    then = conclusion.test(target)
    guards = () if conclusion.name in ("missing", "there") else known(target, other)
    if field.coded and field.role is not Role.IDENTIFIER and not field.complete:
        guards = (*(held(path, field) if not field.by_number else known(path, field)), *guards)
    elif not field.complete:
        guards = (*known(path, field), *guards)
    return SuggestedRule(
        IF_THEN,
        (field.name, other.name),
        f"if-{field.name}-{other.name}-{conclusion.name}",
        guards,
        f"not({condition}) or {then if ' or ' not in then else f'({then})'}",
        (f"{field.name} ", ShownValue(path), f", and {other.name} {conclusion.says}: ", ShownValue(target), "."),
        asked,
        fails,
        candidate.strength(expected, wrong),
        f"{count:,} records satisfy the IF, and {f'{count - wrong:,}' if wrong else 'all'} of them the THEN, which "
        f"holds in {100 * usual:.2g} % of all",
        expected,
        tuple(
            ((field.name, f"={value}" if field.coded else "zero"), (other.name, conclusion.name)) for value in values
        ),
    )
