"""Which values the classes of a hierarchy hold, as whoever gets the masked file may be told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from masktron.report.pages.plain_reader import PlainData
from masktron.results.public_release import PublicClass

_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+")


def public_classes(treatments: Iterable[PlainData]) -> dict[str, tuple[PublicClass, ...]]:
    """Return the classes of each field that was recoded by a hierarchy, from a manifest.

    They are those of the whole hierarchy at the level of the release: whether a record had a value, and how many had,
    plays no part. A hierarchy of whole numbers may begin and end with the least and greatest value of the original,
    and so its outer classes are told as open. Of other numbers the values may be those of records, and are not told.

    Parameters
    ----------
    treatments : iterable of PlainData
        As a manifest has them.
    """
    listed = (one for one in treatments if one.has("to") and one.text("to") == "listed")
    found = {
        one.text("field"): _classes({value: str(label) for value, label in one.part("labels").items()})
        for one in listed
    }
    return {field: classes for field, classes in found.items() if classes}


def _classes(labels: Mapping[str, str]) -> tuple[PublicClass, ...]:
    values: dict[str, list[str]] = {}
    for value, label in labels.items():
        values.setdefault(label, []).append(value)
    if all(held == [label] for label, held in values.items()):
        return ()
    if all(map(_WHOLE.fullmatch, labels)):
        return _in_runs(labels)
    if all(map(_NUMBER.fullmatch, labels)):
        return ()
    return tuple(PublicClass(label, ", ".join(held)) for label, held in values.items())


def _in_runs(labels: Mapping[str, str]) -> tuple[PublicClass, ...]:
    """Return classes of whole numbers, each as runs; the first and the last number are not told."""
    ordered = sorted(labels, key=int)
    runs = [(label, list(own)) for label, own in groupby(ordered, key=labels.__getitem__)]
    told: dict[str, list[str]] = {}
    for at, (label, own) in enumerate(runs):
        told.setdefault(label, []).append(_run(own, first=at == 0, last=at == len(runs) - 1))
    return tuple(PublicClass(label, ", ".join(own)) for label, own in told.items())


def _run(values: Sequence[str], *, first: bool, last: bool) -> str:
    if first and last:
        return "all values"
    if first:
        return f"up to {values[-1]}"
    if last:
        return f"{values[0]} or more"
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
