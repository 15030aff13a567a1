"""What was done to the fields before they were masked, as a manifest says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails


@dataclass(frozen=True, slots=True)
class Recoded:
    """A field that was recoded.

    Attributes
    ----------
    recoding : Recoding
    how : str
        As the settings say it.
    """

    recoding: Recoding
    how: str

    @property
    def kind(self) -> str:
        """What it is called in manifests and results."""
        return "recoding"

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `treatments_from` builds it again, with no other file."""
        return {"kind": self.kind, "field": self.recoding.field, "how": self.how, **_plain(self.recoding)}


type Treatment = Recoded
"""One step, in the order in which they are done."""


def treatments_from(content: Any) -> tuple[Treatment, ...]:
    """Read the treatments of a manifest.

    Raises
    ------
    KeyError, TypeError, ValueError
        Something is missing, of the wrong type, or nonsense.
    """
    if not isinstance(content, list):
        raise TypeError("'treatments' is not a list")
    found = []
    for one in content:
        if not isinstance(one, Mapping) or one["kind"] != "recoding":
            raise ValueError("a treatment is of no kind that this version knows")
        found.append(Recoded(_recoding(one), _text(one["how"])))
    fields = [one.recoding.field for one in found]
    if len({*fields}) < len(fields):
        raise ValueError("a field is recoded twice")
    return tuple(found)


def recodings_in(treatments: Iterable[Treatment]) -> dict[str, Recoding]:
    """Return the recodings among treatments, by field."""
    return {one.recoding.field: one.recoding for one in treatments if isinstance(one, Recoded)}


def _plain(recoding: Recoding) -> dict[str, Any]:
    match recoding:
        case ListRecoding(labels=labels):
            return {"to": "listed", "labels": dict(labels)}
        case IntervalRecoding():
            breaks = [str(one) for one in recoding.breaks]
            return {"to": "classes", "breaks": breaks, "labels": list(recoding.labels), "whole": recoding.whole}
        case Rounded():
            return {"to": "multiples", "base": str(recoding.base), "decimals": recoding.decimals}
        case Tails():
            return {
                "to": "tails",
                "bottom": _side(recoding.bottom, recoding.bottom_label),
                "top": _side(recoding.top, recoding.top_label),
            }
        case _:
            raise TypeError(f"{type(recoding).__name__} has no form in a manifest")


def _side(bound: Fraction | None, label: str) -> dict[str, str] | None:
    return None if bound is None else {"bound": str(bound), "label": label}


def _recoding(one: Mapping[str, Any]) -> Recoding:
    field, to = _text(one["field"]), one["to"]
    if to == "listed":
        if not isinstance(one["labels"], Mapping):
            raise TypeError("'labels' is not a table")
        return ListRecoding(field, {_text(value): _text(label) for value, label in one["labels"].items()})
    if to == "classes":
        breaks = tuple(_number(text) for text in _list(one["breaks"]))
        labels = tuple(_text(label) for label in _list(one["labels"]))
        if len(breaks) != len(labels) or not breaks or any(low >= high for low, high in pairwise(breaks)):
            raise ValueError("the breaks of a recoding are not rising, or have other labels")
        if not isinstance(one["whole"], bool):
            raise TypeError("'whole' is not true or false")
        return IntervalRecoding(field, breaks, labels, one["whole"])
    if to == "multiples":
        base, decimals = _number(one["base"]), one["decimals"]
        if base <= 0 or not isinstance(decimals, int) or isinstance(decimals, bool) or decimals < 0:
            raise ValueError("the base of a recoding, or its decimals, are out of range")
        return Rounded(field, base, decimals)
    if to == "tails":
        bottom, top = (_bounded(one[side]) for side in ("bottom", "top"))
        return Tails(field, bottom[0], bottom[1], top[0], top[1])
    raise ValueError("a recoding is of no kind that this version knows")


def _bounded(side: Any) -> tuple[Fraction | None, str]:
    if side is None:
        return None, ""
    if not isinstance(side, Mapping):
        raise TypeError("a tail is not a table")
    return _number(side["bound"]), _text(side["label"])


def _number(text: Any) -> Fraction:
    return Fraction(_text(text))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a treatment has something else where a text should be")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a treatment has something else where a list should be")
    return value
