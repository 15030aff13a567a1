"""What is written for classes in the format of a file: their labels, or numbers that have these labels there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails, exact_number
from masktron.sources.column import ColumnForm
from masktron.sources.lexical import XML_SPACE
from masktron.sources.source import Source
from masktron.sources.variables import NONE, Variable


@dataclass(frozen=True, slots=True)
class WrittenClasses:
    """A recoding as it is written.

    Attributes
    ----------
    recoding : Recoding
        Its labels are what stands in the file.
    lexemes : tuple of str
        What stands in the file for each class, in the order of the classes; none where numbers stay numbers.
    names : mapping of str to str
        What classes are called, where numbers stand for them.
    ordered : bool
        Whether the order of classes is that of their values.
    """

    recoding: Recoding
    lexemes: tuple[str, ...] = ()
    names: Mapping[str, str] = NONE
    ordered: bool = False

    def form(self, variable: Variable | None, missing: Collection[str], kept: Iterable[str]) -> ColumnForm | None:
        """Return what the column is like; None where its type and its labels are right for what is written.

        A label stays where what is written still means the value that it was given to, and no other: of codes for
        missing values, and of values that are written as they were and are the only ones that are.

        Parameters
        ----------
        variable : Variable or None
            What the file says of it.
        missing : collection of str
            What means 'missing' in the field.
        kept : iterable of str
            Lexemes that records have and that are written as they were, since they are missing values.
        """
        said = {} if variable is None else {**variable.labels, **variable.missing}
        labels = {code: label for code, label in said.items() if label}
        true = {code: label for code, label in labels.items() if code in missing or self._stays(code)}
        if not self.lexemes:
            return ColumnForm(labels=true) if len(true) < len(labels) else None
        others = (one for one in kept if one not in self.lexemes)
        return ColumnForm((*self.lexemes, *others), {**true, **self.names}, self.ordered)

    def _stays(self, code: str) -> bool:
        recoding = self.recoding
        match recoding:
            case ListRecoding():
                return [value for value, label in recoding.labels.items() if label == code] == [code]
            case IntervalRecoding() | Rounded():
                return False
            case Tails():
                return recoding.label_of(code) == code and code not in (recoding.bottom_label, recoding.top_label)
            case _:
                raise TypeError(f"{type(recoding).__name__} is of no kind that is written")


def written_classes(
    recoding: Recoding, source: Source, missing: Collection[str], order: tuple[str, ...] = ()
) -> WrittenClasses:
    """Return a recoding with what is written for its classes in the format of a file.

    What a list says of codes for missing values is left out, as they stay as they are.

    Parameters
    ----------
    recoding : Recoding
    source : Source
    missing : collection of str
        What means 'missing' in the field.
    order : tuple of str
        Values of the field from the lowest to the highest, where they have an order that is not that of numbers.

    Raises
    ------
    UsageError
        The format has nothing to write for the classes.
    """
    if isinstance(recoding, Rounded):
        return WrittenClasses(recoding)
    if isinstance(recoding, Tails):
        return WrittenClasses(_tails(recoding, source, missing))
    if isinstance(recoding, ListRecoding):
        there = {value: one for value, one in recoding.labels.items() if value.strip(XML_SPACE) not in missing}
        recoding = replace(recoding, labels=there or recoding.labels)
        labels, ordered = _listed(recoding, order)
    elif isinstance(recoding, IntervalRecoding):
        labels, ordered = list(dict.fromkeys(recoding.labels)), True
    else:
        raise TypeError(f"{type(recoding).__name__} is of no kind that is written")
    codes = dict(zip(labels, source.class_values(recoding.field, labels, missing), strict=True))
    plain = all(code == label or _same_number(code, label) for label, code in codes.items())
    names = NONE if plain else {code: label for label, code in codes.items()}
    return WrittenClasses(_with_labels(recoding, codes), tuple(dict.fromkeys(codes.values())), names, ordered)


def _with_labels(recoding: ListRecoding | IntervalRecoding, codes: Mapping[str, str]) -> Recoding:
    if isinstance(recoding, IntervalRecoding):
        return replace(recoding, labels=tuple(codes[label] for label in recoding.labels))
    return replace(recoding, labels={value: codes[label] for value, label in recoding.labels.items()})


def _tails(recoding: Tails, source: Source, missing: Collection[str]) -> Tails:
    """Return tails with numbers as the file has them."""
    sides = [label for label in (recoding.bottom_label, recoding.top_label) if label]
    written = dict(zip(sides, source.class_values(recoding.field, sides, missing), strict=True))
    bottom, top = (written.get(label, "") for label in (recoding.bottom_label, recoding.top_label))
    return replace(recoding, bottom_label=bottom, top_label=top)


def _listed(recoding: ListRecoding, order: tuple[str, ...]) -> tuple[list[str], bool]:
    """Return the labels of a list, and whether they are in order: from low to high where no two classes cross.

    Else they are in the order in which they are listed first.
    """
    members: dict[str, list[str]] = {}
    for value, label in recoding.labels.items():
        members.setdefault(label, []).append(value)
    ends: list[tuple[Fraction, Fraction, str]] = []
    places = {value: Fraction(at) for at, value in enumerate(order)}
    by_place = places.keys() >= recoding.labels.keys()
    for label, values in members.items():
        numbers = [places[value] if by_place else exact_number(value) for value in values]
        known = [number for number in numbers if number is not None]
        if len(known) < len(values):
            return list(members), False
        ends.append((min(known), max(known), label))
    ends.sort()
    if any(lower[1] >= upper[0] for lower, upper in pairwise(ends)):
        return list(members), False
    return [label for _, _, label in ends], True


def _same_number(code: str, label: str) -> bool:
    """Whether a label is what stands in the file, but for zeros at the end of its fraction."""
    number = exact_number(code)
    return number is not None and "." in label and number == exact_number(label)
