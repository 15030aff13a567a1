"""Rules on a field alone: a list of codes, bounds, whole numbers, values that never lack or never come twice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.likely_roles import MOST_CODES, RECORDS_A_CODE
from masktron.proposals import candidate
from masktron.proposals.candidate import (
    CODES,
    INTEGER,
    NOT_NEGATIVE,
    RANGE,
    REQUIRED,
    UNIQUE,
    FieldPaths,
    RuleKind,
    ShownValue,
    Strength,
    SuggestedRule,
    decimal,
    held,
    is_one_of,
    known,
)
from masktron.proposals.profiles import MOST_TEXTS, FieldProfile
from masktron.sources.lexical import parse_number

FEWEST = 20
"""Values from which a field alone suggests anything."""
_TIMES_BEYOND = 5
"""How many times as large as all others a few values are that a bound leaves out."""
_SHARED_BY = 3
"""Records that have to share the greatest value, for a bound that lies on it."""
_OTHERS = 0.05
"""Share of values beside a list of labels, up to which it is proposed."""
_LN10 = math.log(10)


def single_field(field: FieldProfile, paths: FieldPaths) -> Iterator[SuggestedRule]:
    """Yield the rules that a field by itself suggests.

    Parameters
    ----------
    field : FieldProfile
    paths : FieldPaths
    """
    count = int(field.present.sum())
    if count < FEWEST:
        return
    unique = _unique(field, paths)
    if unique is not None:
        yield unique
    if field.complete:
        yield _required(field, paths)
    if field.role is Role.IDENTIFIER or (unique is not None and names_records(field)):
        return
    listed = _codes(field, paths)
    if listed is not None:
        yield listed
    elif field.exact is not None:
        yield from _number(field, paths)


def names_records(field: FieldProfile) -> bool:
    """Whether values that never come twice do nothing but tell records apart: texts, attributes, running numbers."""
    if field.exact is None or field.column.name.startswith("@") or field.role in (Role.IDENTIFIER, Role.RECORD_ID):
        return True
    steps = np.diff(field.exact)
    return bool((steps > 0).all() or (steps < 0).all())


def _required(field: FieldProfile, paths: FieldPaths) -> SuggestedRule:
    path, count = paths[field.name], len(field.present)
    test = f"number({path}) = number({path})" if field.by_number else f"normalize-space({path}) != ''"
    written = (is_one_of(path, field, [code]) for code in field.codes)
    apart = [f"not({one})" for one in written if one is not None] if field.codes else []
    none = np.zeros(count, dtype=np.bool_)
    return SuggestedRule(
        REQUIRED,
        (field.name,),
        f"required-{field.name}",
        (),
        " and ".join([test, *apart]),
        (f"{field.name} is missing.",),
        ~none,
        none,
        "fair",
        f"no record of {count:,} lacks it: were it left out at random, then in at most {_percent(3 / count)} of all "
        "records (95 % confidence)",
    )


def _unique(field: FieldProfile, paths: FieldPaths) -> SuggestedRule | None:
    """Propose that no value comes twice, where values drawn from their range would have met."""
    count = len(field.present)
    if not field.complete or len(field.texts) != count or field.places:
        return None
    path = paths[field.name]
    if field.exact is not None and field.role is not Role.IDENTIFIER:
        spread = int(field.exact.max() - field.exact.min()) + 1
        # values without a rule meet: n records in R places stay apart with probability exp(-n(n-1)/2R) at most
        expected = -count * (count - 1) / (2 * spread) / _LN10
        if expected > candidate.PLAUSIBLE:
            return None
        evidence = (
            f"{count:,} different whole numbers within a range of {int(_rounded_up(Fraction(spread))):,}: drawn at "
            "random, some would be the same"
        )
    elif field.numeric and field.role is not Role.IDENTIFIER:
        return None
    else:
        expected, evidence = 0.0, f"{count:,} records have {count:,} different texts"
    none = np.zeros(count, dtype=np.bool_)
    return SuggestedRule(
        UNIQUE,
        (field.name,),
        f"unique-{field.name}",
        (),
        f"not({path} = preceding-sibling::*/{path})",
        (f"{field.name} ", ShownValue(path), " stands in an earlier record as well."),
        ~none,
        none,
        "strong" if names_records(field) else "guess",
        evidence,
        expected,
    )


def _codes(field: FieldProfile, paths: FieldPaths) -> SuggestedRule | None:
    """Propose a list of values: those with labels, or the few that occur."""
    labels = [value for value in field.variable.labels if value not in field.codes]
    if labels and (field.coded or not field.numeric):
        listed = _fitting(field, labels)
        if listed is not None:
            return listed_candidate(field, paths, labels, listed, "they are the values with labels", "fair")
    number, count = len(field.texts), sum(field.texts.values())
    most = MOST_CODES if field.numeric else MOST_TEXTS
    if not field.coded or not 2 <= number <= most or count < RECORDS_A_CODE * number:
        return None
    values = sorted(field.texts, key=_natural)
    once = sum(1 for times in field.texts.values() if times == 1)
    evidence = (
        f"{count:,} values are {number} different ones, {once} of them in a single record: the next record has "
        f"another one with a probability of about {_percent(max(once, 1) / count)} (Good-Turing)"
    )
    fails = np.zeros(len(field.present), dtype=np.bool_)
    return listed_candidate(field, paths, values, fails, evidence, "guess" if once else "fair")


def _fitting(field: FieldProfile, labels: list[str]) -> NDArray[np.bool_] | None:
    """Return the records whose value has no label; None where they are many."""
    if field.by_number:
        numbers = np.array([parse_number(label) for label in labels])
        fails = field.present & ~np.isin(field.column.values, numbers)
    else:
        known_values = set(labels)
        unknown = np.array([text not in known_values for text in field.column.lexicon.objects()], dtype=np.bool_)
        fails = field.present & field.column.where(unknown)
    return None if fails.sum() > _OTHERS * field.present.sum() else fails


def listed_candidate(
    field: FieldProfile, paths: FieldPaths, values: list[str], fails: NDArray[np.bool_], evidence: str, strength: str
) -> SuggestedRule | None:
    """Return the rule that a field has one of some values; None where XPath 1.0 cannot write one of them."""
    path = paths[field.name]
    if field.by_number and not all(parse_number(value) == parse_number(value) for value in values):
        return None
    test = is_one_of(path, field, values)
    if test is None:
        return None
    return SuggestedRule(
        CODES,
        (field.name,),
        f"codes-{field.name}",
        known(path, field) if field.by_number else held(path, field),
        test,
        (f"{field.name} ", ShownValue(path), " is not one of its codes."),
        field.present,
        fails,
        "guess" if strength == "guess" else "fair",
        evidence,
    )


def _number(field: FieldProfile, paths: FieldPaths) -> Iterator[SuggestedRule]:
    """Yield the bounds of a number, and that it is whole."""
    if field.exact is None or field.coded or len(field.texts) < 2:
        return
    path, unit = paths[field.name], Fraction(1, 10**field.places)
    values = field.exact[field.present]
    count = len(values)
    none = np.zeros(len(field.present), dtype=np.bool_)

    def rule(
        kind: RuleKind, test: str, says: str, strength: Strength, evidence: str, fails: NDArray[np.bool_] = none
    ) -> SuggestedRule:
        return SuggestedRule(
            kind,
            (field.name,),
            f"{kind.name}-{field.name}",
            known(path, field),
            test,
            (f"{field.name} ", ShownValue(path), says),
            field.present,
            fails,
            strength,
            evidence,
        )

    below = field.present & (field.exact < 0)
    natural = candidate.errors(values[values != 0])
    if natural and below.any():
        evidence = f"{int(below.sum()):,} of {count:,} values are below 0, apart from the others, as errors are"
        yield rule(NOT_NEGATIVE, f"{path} >= 0", " is negative.", "fair", evidence, below)
    elif natural:
        evidence = f"none of {count:,} values is below 0: of all, at most {_percent(3 / count)} are (95 % confidence)"
        yield rule(NOT_NEGATIVE, f"{path} >= 0", " is negative.", "fair", evidence)
    if not field.places:
        yield rule(
            INTEGER,
            f"number({path}) = floor({path})",
            " is not a whole number.",
            "fair",
            f"all {count:,} values are whole numbers",
        )
    bounds, beyond = [], none
    for sign, numbers in ((-1, -field.exact), (1, field.exact)):
        size = numbers[field.present & (numbers > 0)]
        if (natural and sign < 0) or not len(size):
            continue
        largest = _largest_usual(size)
        bound = sign * _beyond(largest * unit, int((size == largest).sum()))
        bounds.append(("<=" if sign > 0 else ">=", bound))
        beyond = beyond | (field.present & (numbers > math.floor(abs(bound) / unit)))
    if bounds:
        inside = (
            f"{count - int(beyond.sum()):,} values lie within it{', and others far beyond' if beyond.any() else ''}"
        )
        said = " and ".join(f"{'at least' if sign == '>=' else 'at most'} {decimal(bound)}" for sign, bound in bounds)
        yield rule(
            RANGE,
            " and ".join(f"{path} {sign} {decimal(bound)}" for sign, bound in bounds),
            f" is not {said}.",
            "guess",
            f"{inside}; the bound is the next of 1, 2, 5, 10, 20, 50, ... and not the extreme "
            "value itself, which a respondent has given: put in its place what the survey knows",
            beyond,
        )


def _largest_usual(values: NDArray[np.int64]) -> int:
    """Return the largest of some numbers above 0; of few that are many times as large as all others, none counts."""
    tail = np.sort(values)[-int(candidate.MOST_ERRORS * len(values)) - 1 :]
    gaps = np.flatnonzero(tail[1:] >= _TIMES_BEYOND * tail[:-1])
    return int(tail[gaps[0] if len(gaps) else -1])


def _beyond(extreme: Fraction, shared: int) -> Fraction:
    """Return the next round number; above one that few records share."""
    bound = _rounded_up(extreme)
    if bound == extreme and shared < _SHARED_BY:
        bound = _rounded_up(extreme * Fraction(1001, 1000))
    return bound


def _rounded_up(value: Fraction) -> Fraction:
    """Return the least of 1, 2, 5 times a power of ten that is not below a positive number."""
    power = Fraction(10) ** math.floor(math.log10(value))
    while power > value:  # the logarithm is rounded
        power /= 10
    return next(step * power for step in (1, 2, 5, 10, 20) if step * power >= value)


def _natural(text: str) -> tuple[float, str]:
    number = parse_number(text)
    return (math.inf if math.isnan(number) else number, text)


def _percent(share: float) -> str:
    return f"{100 * min(share, 1.0):.2g} %"
