"""Recodings: the classes that settings make of an original, and what its values are written as by a manifest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, count, pairwise
from math import floor
from operator import ge, le
from typing import Self, assert_never

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.errors import UsageError
from masktron.problems.problem import Field, Note, Sentence
from masktron.recoding_settings import Breaks, CodedTails, FromHierarchy, Multiples, Statistic, Widths, how_of
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import XML_SPACE
from masktron.step_kinds import Recoded
from masktron.verify.cells import number_of, rounded_text
from masktron.verify.findings import Findings
from masktron.verify.release import Release

_MOST_CLASSES = 1000


def recoded(step: Recoded, before: Dataset) -> Column:
    """Return a field as a recoding of a manifest writes it; what means 'missing' or has no class stays as it is."""
    column = before.columns[step.recoding.field]
    texts = column.lexicon.objects()
    for at, label in _labels(step, column).items():
        texts[at] = texts[at] if label is None else label
    return Column.of_texts(column.variable, texts.tolist(), column.codes, column.known.missing)


def _labels(step: Recoded, column: Column) -> dict[int, str | None]:
    """Return what is written for each text of a column that is a value; None where it has no class."""
    texts = column.lexicon.objects()
    values = np.flatnonzero(column.used & (column.states == Status.PRESENT))
    return {at: _label(step.recoding, str(texts[at])) for at in values.tolist()}


def _label(recoding: Recoding, text: str) -> str | None:
    """Return what is written for a value; None where it has no class."""
    number = number_of(text)
    match recoding:
        case ListRecoding(labels=labels):
            return labels.get(text, labels.get(text.strip(XML_SPACE)))
        case _ if number is None:
            return None
        case IntervalRecoding():
            below = bisect_right(recoding.breaks, number)
            return recoding.labels[below - 1] if below and (number.denominator == 1 or not recoding.whole) else None
        case Rounded():
            return rounded_text(round(number / recoding.base) * recoding.base, recoding.decimals)
        case Tails():
            if recoding.bottom is not None and number <= recoding.bottom:
                return recoding.bottom_label
            return recoding.top_label if recoding.top is not None and number >= recoding.top else text
        case _:
            raise TypeError(f"{type(recoding).__name__} is of no kind that a manifest has")


def verify(step: Recoded, release: Release) -> Findings:
    """Test whether the classes of a manifest are those that its settings make of the original that it describes."""
    original, described = release.original, release.described
    if original is None or not release.is_original or step.recoding.field not in original.columns:
        return Findings()
    return Findings([*class_deviations(step, original, release.keep, described.k, described.weight)])


def class_deviations(
    step: Recoded, original: Dataset, keep: NDArray[np.bool_], k: int, weight: str | None
) -> Iterator[Sentence]:
    """Say where the classes of a manifest are not those that its settings make of an original.

    The file of a hierarchy is not read: of its classes, only that they are listed is verified.

    Parameters
    ----------
    step : Recoded
    original : Dataset
        All its records, n.
    keep : ndarray of bool, shape (n,)
        Those that were released: bounds of classes and means are theirs.
    k : int
        So many records at least share a mean or median.
    weight : str or None
        The field by which means and medians are weighted.
    """
    name = step.recoding.field
    column = original.columns[name]
    without = np.zeros(len(column.lexicon), dtype=np.bool_)
    without[[at for at, label in _labels(step, column).items() if label is None]] = True
    if records := int((column.where(without) & keep).sum()):
        yield f"the field {name} is recoded, and the values of {counted(records, 'record')} have no class"
    try:
        how = how_of(f"recode.{name}", step.how)
        if isinstance(how, FromHierarchy):
            made = isinstance(step.recoding, ListRecoding)
        else:
            weights = None if weight in (None, name) else original.columns[weight]
            made = _made_by(how, step, _Released.of(column, weights, keep, k))
    except _CannotBeError as error:
        yield f"the field {name} cannot have been recoded as the manifest says: {error}"
    except UsageError as error:
        said = "the field {field} cannot have been recoded as the manifest says: {problem}"
        yield Note(said, field=Field(name), problem=error.problem)
    else:
        if not made:
            yield (
                f"the field {name} is recoded to other values than {step.how} makes of the original: those of the "
                "manifest are not those of the run"
            )


class _CannotBeError(Exception):
    """The settings make no recoding of an original."""


def _made_by(how: Widths | Breaks | Multiples | CodedTails, step: Recoded, of: _Released) -> bool:
    """Tell whether settings make the recoding of a manifest."""
    recoding = step.recoding
    if not len(of.values) and (of.texts or isinstance(how, Widths)):
        raise _CannotBeError("it has no number")
    match how:
        case Widths(width=width):
            low, high = (floor(Fraction(float(end)) / width) for end in (of.values.min(), of.values.max()))
            if high - low >= _MOST_CLASSES:
                raise _CannotBeError(f"there would be {high - low + 1:,} classes")
            breaks = tuple(at * width for at in range(low, high + 2))
            return _has_classes(step, of, breaks, _names(breaks, whole=of.whole(breaks)))
        case Breaks(breaks=breaks, statistic=statistic):
            whole = of.whole(breaks)
            labels = _names(breaks, whole=whole) if statistic is None else of.class_numbers(breaks, statistic)
            return _has_classes(step, of, breaks, labels)
        case Multiples(base=base):
            digits = max(of.column.decimals, _digits(base))
            return isinstance(recoding, Rounded) and (recoding.base, recoding.decimals) == (base, digits)
        case CodedTails(bottom=bottom, top=top):
            bottom_at, low_label = of.tail("the bottom", bottom, le)
            top_at, high_label = of.tail("the top", top, ge)
            return (
                isinstance(recoding, Tails)
                and (recoding.bottom, recoding.top) == (bottom_at, top_at)
                and _alike(recoding.bottom_label, low_label)
                and _alike(recoding.top_label, high_label)
            )
        case _:
            assert_never(how)


def _has_classes(step: Recoded, of: _Released, breaks: tuple[Fraction, ...], meant: Sequence[str]) -> bool:
    """Tell whether a recoding has the classes between breaks, and calls them as it should."""
    recoding = step.recoding
    if not isinstance(recoding, IntervalRecoding):
        return False
    if (recoding.breaks, recoding.whole) != (breaks, of.whole(breaks)):
        return False
    shown = [step.names.get(label, label) for label in recoding.labels]
    return len(shown) == len(meant) and all(map(_alike, shown, meant))


def _names(breaks: tuple[Fraction, ...], *, whole: bool) -> list[str]:
    """Name the classes between breaks: by first and last integer, or by their bounds; the last by its first."""
    digits = max(map(_digits, breaks))
    texts = [rounded_text(one, digits) for one in breaks]
    if whole:
        to = "-" if breaks[0] >= 0 else " to "
        named = [f"{low}{to}{high - 1}" if high - low > 1 else str(low) for low, high in pairwise(breaks)]
    else:
        named = [f"{low} to under {high}" for low, high in pairwise(texts)]
    return [*named, f"{texts[-1]}+"]


def _digits(number: Fraction) -> int:
    """Count the fraction digits of a decimal."""
    return next(digits for digits in count() if (number * 10**digits).denominator == 1)


def _alike(one: str, other: str) -> bool:
    """Tell whether two labels are equal, or one number: formats write zeros at the end of a fraction or not."""
    return one == other or (number_of(one) is not None and number_of(one) == number_of(other))


@dataclass(frozen=True, slots=True, eq=False)
class _Released:
    """The values of a field in the records that were released.

    Attributes
    ----------
    column : Column
        Of all records.
    numbers : list of Fraction or None
        Of each text of the column.
    values : ndarray of float64
        The numbers of the released records.
    texts : bool
        Whether these have any value.
    weights : Column or None
    keep : ndarray of bool, shape (n,)
    k : int
    """

    column: Column
    numbers: list[Fraction | None]
    values: NDArray[np.float64]
    texts: bool
    weights: Column | None
    keep: NDArray[np.bool_]
    k: int

    @classmethod
    def of(cls, column: Column, weights: Column | None, keep: NDArray[np.bool_], k: int) -> Self:
        values = column.values[keep]
        texts = bool(column.present[keep].any())
        return cls(column, _numbers(column), values[~np.isnan(values)], texts, weights, keep, k)

    def whole(self, breaks: tuple[Fraction, ...]) -> bool:
        """Tell whether all values and bounds are integers."""
        return self.column.decimals == 0 and all(one.denominator == 1 for one in breaks)

    def class_numbers(self, breaks: tuple[Fraction, ...], statistic: Statistic) -> list[str]:
        """Return the number that is written for each class between breaks."""
        place = np.array([0 if one is None else bisect_right(breaks, one) for one in self.numbers])
        return [self.one_for_all("a class", statistic, place == at) for at in range(1, len(breaks) + 1)]

    def tail(
        self, part: str, asked: tuple[Fraction, Statistic] | None, beyond: Callable[[Fraction, Fraction], bool]
    ) -> tuple[Fraction | None, str]:
        """Return the bound of a tail, and the number that is written for it."""
        if asked is None:
            return None, ""
        bound, statistic = asked
        within = np.array([one is not None and beyond(one, bound) for one in self.numbers], dtype=np.bool_)
        return bound, self.one_for_all(part, statistic, within)

    def one_for_all(self, part: str, statistic: Statistic, within: NDArray[np.bool_]) -> str:
        """Return the weighted mean or median of the records that have some texts, as it is written for them."""
        rows = np.flatnonzero(self.column.where(within) & self.keep)
        if len(rows) < self.k:
            raise _CannotBeError(f"{part} has {counted(len(rows), 'record')}, fewer than k = {self.k}")
        weights = [Fraction(1)] if self.weights is None else [one or Fraction(0) for one in _numbers(self.weights)]
        own = np.zeros(len(rows), dtype=np.int32) if self.weights is None else self.weights.codes[rows]
        pairs = Counter(zip(self.column.codes[rows].tolist(), own.tolist(), strict=True))
        total = sum((weights[weight] * times for (_, weight), times in pairs.items()), Fraction(0))
        if not total or 2 * max(weights[weight] for _, weight in pairs) > total:
            raise _CannotBeError(f"{part} has one record with more than half of the weight")
        spread = sorted(
            (self.numbers[code] or Fraction(0), weights[weight] * times) for (code, weight), times in pairs.items()
        )
        if statistic == "mean":
            found = sum((number * weight for number, weight in spread), Fraction(0)) / total
        else:
            below = [*accumulate(weight for _, weight in spread)]
            low, high = bisect_left(below, total / 2), bisect_right(below, total / 2)
            found = (spread[low][0] + spread[high][0]) / 2
        return rounded_text(found, self.column.decimals)


def _numbers(column: Column) -> list[Fraction | None]:
    """Return the number of each text of a column, exactly; None where it is none."""
    known = (~np.isnan(column.numbers)).tolist()
    return [
        number_of(str(text)) if there else None for text, there in zip(column.lexicon.objects(), known, strict=True)
    ]
