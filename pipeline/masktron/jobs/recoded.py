"""Recodings on columns: made for the records of a file from what settings say, and applied to their values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.counts import counted
from masktron.errors import DocumentError, InfeasibleError, RefusalFacts, UsageError
from masktron.hierarchies import read_hierarchy
from masktron.jobs.labelled_hierarchies import hierarchy_of_values
from masktron.jobs.reweighted import reweighted_column
from masktron.problems.problem import Field, Place
from masktron.recoding_settings import (
    Breaks,
    CodedTails,
    FromHierarchy,
    Multiples,
    Statistic,
    Widths,
    how_of,
)
from masktron.recodings import IntervalRecoding, Recoding, Rounded, Tails, decimal_text, exact_number
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import XML_SPACE
from masktron.sources.source import Source
from masktron.sources.variables import Variable
from masktron.step_kinds import Recoded, Reweighted, Treatment

MOST_CLASSES = 1000
"""Classes of one width: more are a mistake, or no protection."""


def recoding_of(
    name: str,
    records: Dataset,
    keep: NDArray[np.bool_],
    config: Config,
    weight: str | None,
    variable: Variable | None = None,
) -> Recoding:
    """Make the recoding of a field as the settings say it.

    Parameters
    ----------
    name : str
    records : Dataset
        Of the original.
    keep : ndarray of bool, shape (n,)
        Records that are released: bounds of classes and tails are theirs.
    config : Config
    weight : str or None
        The field with the weights, which means and medians of tails honour.
    variable : Variable, optional
        What is said of the field: a hierarchy may call its values by their labels.

    Raises
    ------
    UsageError
        The hierarchy cannot be used, or its first row names levels; a field without numbers is to have classes of
        numbers; or there would be more than `MOST_CLASSES`, or
        none.
    InfeasibleError
        A tail or class has fewer than k records, or one with more than half of the weight.
    """
    column = records.columns[name]
    setting = f"recode.{name}"
    how = how_of(setting, config.recode[name])
    weights = None if weight in (None, name) else records.columns[weight]
    if not isinstance(how, FromHierarchy) and np.isnan(column.values[keep]).all():
        texts = bool(column.present[keep].any())
        if texts or isinstance(how, Widths):  # whose classes begin at the lowest number
            kind, held = config.recode[name].partition(":")[0].strip(), "text" if texts else "no value"
            raise UsageError.of("recoding-needs-numbers", records.path, field=Field(name), kind=kind, held=held)

    def grouped() -> _Grouped:
        return _Grouped(setting, column, _exact(column), keep, weights, config.k, str(records.path))

    match how:
        case FromHierarchy():
            hierarchy = hierarchy_of_values(read_hierarchy(how.path, name), how.path, texts_of(column), variable)
            hierarchy.require_no_names(how.path, texts_of(column))
            return hierarchy.recoding(how.level)
        case Widths():
            return _of_width(setting, how, column, keep)
        case Breaks():
            whole = not column.decimals and all(one.denominator == 1 for one in how.breaks)
            labels = _labels(how.breaks, whole=whole) if how.statistic is None else _means(grouped(), how)
            return IntervalRecoding(name, how.breaks, labels, whole)
        case Multiples():
            return Rounded(name, how.base, max(column.decimals, _decimals(how.base)))
        case CodedTails():
            return _tails(grouped(), how)


def texts_of(column: Column) -> set[str]:
    """Return the values of a column that are there, without white space around them."""
    there = column.used & (column.states == Status.PRESENT)
    return {str(text).strip(XML_SPACE) for text in column.lexicon.objects()[there].tolist()}


def missing_texts_of(column: Column) -> list[str]:
    """Return what stands in cells of a column and means 'missing', in order."""
    there = column.used & np.isin(column.states, (Status.CODE, Status.EMPTY))
    return sorted({str(text) for text in column.lexicon.objects()[there].tolist()})


def variable_of(source: Source, name: str) -> Variable | None:
    """Return what is said of a field, in the file and beside it."""
    return next((one for one in source.variables if one.name == name), None)


def _of_width(setting: str, how: Widths, column: Column, keep: NDArray[np.bool_]) -> IntervalRecoding:
    values = column.values[keep]
    low, high = (math.floor(Fraction(end(values)) / how.width) for end in (np.nanmin, np.nanmax))
    if high - low >= MOST_CLASSES:
        raise UsageError.of(
            "too-many-values",
            Place(field=Field(column.name)),
            number=high - low + 1,
            things="classes",
            most=MOST_CLASSES,
        )
    breaks = tuple(step * how.width for step in range(low, high + 2))
    whole = not column.decimals and how.width.denominator == 1
    return IntervalRecoding(column.name, breaks, _labels(breaks, whole=whole), whole)


def _labels(breaks: Sequence[Fraction], *, whole: bool) -> tuple[str, ...]:
    """Name intervals: ``15-19`` of integers, ``15 to under 20`` of other numbers, ``65+`` the last."""
    decimals = max(map(_decimals, breaks))
    texts = [decimal_text(one, decimals) for one in breaks]
    if not whole:
        return (*(f"{low} to under {high}" for low, high in pairwise(texts)), f"{texts[-1]}+")
    joint = "-" if breaks[0] >= 0 else " to "
    ends = [int(one) - 1 for one in breaks[1:]]
    named = (low if int(low) == end else f"{low}{joint}{end}" for low, end in zip(texts, ends, strict=False))
    return (*named, f"{texts[-1]}+")


def _decimals(number: Fraction) -> int:
    """Fraction digits of a decimal."""
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    return digits


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """A field of which a number is written for all values of a tail, or of a class; with the number of each text."""

    setting: str
    column: Column
    numbers: Sequence[Fraction | None]
    keep: NDArray[np.bool_]
    weights: Column | None
    k: int
    source: str


def _tails(of: _Grouped, how: CodedTails) -> Tails:
    bottom = None if how.bottom is None else _tail(of, "bottom", how.bottom, lambda value, at: value <= at)
    top = None if how.top is None else _tail(of, "top", how.top, lambda value, at: value >= at)
    return Tails(
        of.column.name,
        None if how.bottom is None else how.bottom[0],
        bottom or "",
        None if how.top is None else how.top[0],
        top or "",
    )


def _tail(
    of: _Grouped, side: str, asked: tuple[Fraction, Statistic], within: Callable[[Fraction, Fraction], bool]
) -> str:
    bound, statistic = asked
    return _one_for_all(of, f"the {side}", statistic, lambda value: within(value, bound))


def _means(of: _Grouped, how: Breaks) -> tuple[str, ...]:
    """Return what is written for each class between breaks."""
    ends: tuple[Fraction | None, ...] = (*how.breaks[1:], None)
    statistic: Statistic = how.statistic or "mean"

    def of_class(low: Fraction, high: Fraction | None) -> str:
        what = f"the class from {float(low):g}"
        return _one_for_all(of, what, statistic, lambda value: low <= value and (high is None or value < high))

    return tuple(of_class(low, high) for low, high in zip(how.breaks, ends, strict=True))


def _one_for_all(of: _Grouped, what: str, statistic: Statistic, inside: Callable[[Fraction], bool]) -> str:
    """Return one number for many values: their weighted mean or median, in exact arithmetic, rounded half to even."""
    within = np.array([value is not None and inside(value) for value in of.numbers], dtype=np.bool_)
    rows = np.flatnonzero(of.column.where(within) & of.keep)
    if len(rows) < of.k:
        raise _telling(of, what, f"{counted(len(rows), 'record')}, fewer than k = {of.k}", statistic, len(rows))
    weights = [Fraction(1)] if of.weights is None else [one or Fraction(0) for one in _exact(of.weights)]
    own = of.column.codes[rows].tolist()
    counts = [0] * len(rows) if of.weights is None else of.weights.codes[rows].tolist()
    _refuse_dominated(of, what, statistic, [weights[one] for one in counts])
    total: dict[Fraction, Fraction] = {}
    for (code, weight), times in Counter(zip(own, counts, strict=True)).items():
        value = of.numbers[code]
        if value is not None:
            total[value] = total.get(value, Fraction(0)) + weights[weight] * times
    found = _mean(total) if statistic == "mean" else _median(total)
    return decimal_text(found, of.column.decimals)


def _refuse_dominated(of: _Grouped, what: str, statistic: Statistic, weights: Sequence[Fraction]) -> None:
    """Refuse a number that is about that of one record, since this record has more than half of the weight."""
    if 2 * max(weights) > sum(weights):
        raise _telling(of, what, "one record with more than half of the weight", statistic, 1)


def _telling(of: _Grouped, part: str, reason: str, statistic: str, records: int) -> InfeasibleError:
    place, facts = Place(of.source, field=Field(of.column.name)), [RefusalFacts("keys", records=records)]
    return InfeasibleError.of(
        "small-class", place, part=part, reason=reason, statistic=statistic, k=of.k, facts=facts
    )


def _exact(column: Column) -> list[Fraction | None]:
    """Return the number of each text of a column, exactly; None where it is none."""
    texts = column.lexicon.objects()
    return [
        None if math.isnan(number) else exact_number(str(text))
        for text, number in zip(texts, column.numbers.tolist(), strict=True)
    ]


def _mean(weights: Mapping[Fraction, Fraction]) -> Fraction:
    return sum((value * weight for value, weight in weights.items()), Fraction(0)) / sum(weights.values())


def _median(weights: Mapping[Fraction, Fraction]) -> Fraction:
    """Return the value at half of the weight; where that is between two values, the number half-way between them."""
    half, below = sum(weights.values()) / 2, Fraction(0)
    values = sorted(weights)
    for at, value in enumerate(values):
        below += weights[value]
        if below == half:
            return (value + values[at + 1]) / 2
        if below > half:
            return value
    raise ValueError("weights are above 0")


def checked_recoding(
    recoding: Recoding, records: Dataset, keep: NDArray[np.bool_], codes: frozenset[str] = frozenset()
) -> Column:
    """Return a recoded field in which every value has a class; what is missing stays as it is.

    Parameters
    ----------
    recoding : Recoding
    records : Dataset
    keep : ndarray of bool, shape (n,)
        Records that are released: each value of theirs must have a class.
    codes : frozenset of str
        What means 'missing' in the field: no class may be called so.

    Raises
    ------
    DocumentError
        A value has no class; names the record.
    UsageError
        A label would be taken for a missing value.
    """
    column = records.columns[recoding.field]
    texts, unknown = _written(column, recoding)
    bad = np.flatnonzero(column.where(unknown) & keep)
    if len(bad):
        at = int(bad[0])
        raise DocumentError.of(
            "value-without-class",
            Place(str(records.path), records.lines[at], record=at + 1),
            field=Field(recoding.field),
            records=len(bad),
        )
    labels = set(texts[column.used & (column.states == Status.PRESENT)].tolist())
    if taken := [one for one in labels if not one.strip() or one.strip() in codes]:
        raise UsageError.of(
            "bad-value",
            Place(str(records.path), field=Field(recoding.field)),
            name="a label of a class",
            expected="a text that does not mean 'missing'",
            given=repr(taken[0]),
        )
    return recoded_column(column, recoding)


def _written(column: Column, recoding: Recoding) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    """What is written for each text of a column, shape (m,), and which of them have no class and are as they were."""
    texts = column.lexicon.objects()
    unknown = np.zeros(len(texts), dtype=np.bool_)
    for at in np.flatnonzero(column.used & (column.states == Status.PRESENT)).tolist():
        label = recoding.label_of(texts[at])
        unknown[at] = label is None
        texts[at] = texts[at] if label is None else label
    return texts, unknown


def recoded_column(column: Column, recoding: Recoding) -> Column:
    """Return a column as a recoding writes it; values without a class are as they were."""
    texts, _ = _written(column, recoding)
    return Column.of_texts(column.variable, texts.tolist(), column.codes, column.known.missing)


def as_treated(records: Dataset, treatments: Iterable[Treatment]) -> Dataset:
    """Return records of an original as treatments leave them, but for what was drawn, swapped or suppressed."""
    for one in treatments:
        there = one.changed if one.computed and {*one.reads} <= records.columns.keys() else ()
        records = records.with_columns({name: COMPUTED[type(one)](records, one) for name in there})
    return records


def _recoded_again(records: Dataset, done: Recoded) -> Column:
    return recoded_column(records.columns[done.recoding.field], done.recoding)


COMPUTED: Mapping[type[Treatment], Callable[[Dataset, Any], Column]] = {
    Recoded: _recoded_again,
    Reweighted: reweighted_column,
}
"""What computes the field of an original again that a step of a kind has computed."""


def missing_codes_of(name: str, config: Config) -> frozenset[str]:
    """Return what means 'missing' in a field."""
    nothing: frozenset[str] = frozenset()
    return config.missing.get(name, nothing) | config.missing.get(ALL_FIELDS, nothing)


def hierarchy_files(config: Config) -> dict[str, Path]:
    """Return the files of hierarchies by the names that messages have for them."""
    found = {name: how_of(f"recode.{name}", how) for name, how in config.recode.items()}
    return {f"the hierarchy of {name}": how.path for name, how in found.items() if isinstance(how, FromHierarchy)}
