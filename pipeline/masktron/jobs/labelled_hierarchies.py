"""Hierarchies that call the values of a field by the labels that a file, or a description of it, has for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from masktron.errors import UsageError
from masktron.hierarchies import Hierarchy
from masktron.problems.problem import Field
from masktron.sources.variables import Variable


def hierarchy_of_values(
    hierarchy: Hierarchy, path: Path, present: Collection[str], variable: Variable | None
) -> Hierarchy:
    """Return a hierarchy of the values of a field, where it calls some of them by their labels.

    A text is the value that is written so, if the field has one, in a record or among those with labels; else it is
    each value that has it for its label. What is neither stays as it is: it may come in next year's file.

    Parameters
    ----------
    hierarchy : Hierarchy
        As it was read.
    path : Path
        Its file, for messages.
    present : collection of str
        Values that records have.
    variable : Variable or None
        What is said of the field.

    Raises
    ------
    UsageError
        A text is a value and the label of another one; or a value has two rows that do not say the same.
    """
    labels = {} if variable is None else {**variable.labels, **variable.missing}
    named: dict[str, list[str]] = {}
    for value, label in labels.items():
        named.setdefault(label.strip(), []).append(value)
    known = {*present, *labels}
    if not any(text in named and text not in known for text in hierarchy.levels[0]):
        return hierarchy
    found: dict[str, str] = {}
    for text in hierarchy.levels[0]:
        for value in _meant(text, known, named, hierarchy.field, path):
            other = found.setdefault(value, text)
            if any(labels_at[other] != labels_at[text] for labels_at in hierarchy.levels[1:]):
                both = other, text
                raise UsageError.of("hierarchy-ambiguous", path, field=Field(hierarchy.field), values=both)
    return Hierarchy(hierarchy.field, tuple(_levels(hierarchy, found)))


def _meant(
    text: str, known: Collection[str], named: Mapping[str, list[str]], field: str, path: Path
) -> tuple[str, ...]:
    """Return the values that a text of a hierarchy stands for."""
    others = [value for value in named.get(text, ()) if value != text]
    if text in known and others:
        both = text, others[0]
        raise UsageError.of("hierarchy-ambiguous", path, field=Field(field), values=both)
    return (text,) if text in known or not others else tuple(others)


def _levels(hierarchy: Hierarchy, found: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    yield MappingProxyType({value: value for value in found})
    for labels in hierarchy.levels[1:]:
        yield MappingProxyType({value: labels[text] for value, text in found.items()})
