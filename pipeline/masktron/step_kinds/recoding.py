"""Recoding: fields are written in classes, and rules ask of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from masktron.recoding_settings import FromHierarchy, how_of
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails, of_field
from masktron.serialised import read_plain
from masktron.step_kinds.base import Pair, Treatment, settings_of


@dataclass(frozen=True, slots=True)
class Recoded(Treatment):
    """A field that was recoded.

    Attributes
    ----------
    recoding : Recoding
    how : str
        As the settings say it.
    names : mapping of str to str
        What classes are called in the labels of the file, where numbers stand for them.
    """

    kind = "recoding"
    asked_by = ("recode",)
    order = "recode"
    outcome = "written in classes"
    named_as = "recoded"
    broken = helps = ""
    computed = True

    recoding: Recoding
    how: str
    names: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def fields_of(cls, config: Any) -> tuple[str, ...]:
        """Return the fields of the setting."""
        return tuple(config.recode)

    @classmethod
    def renamed(cls, said: Mapping[str, str], names: Callable[[str], Sequence[str]]) -> dict[str, str]:
        """Return how fields are recoded that are called otherwise."""
        return {one: how for name, how in said.items() for one in names(name)}

    @property
    def changed(self) -> tuple[str, ...]:
        """The field."""
        return (self.recoding.field,)

    def told(self, *, outcome: bool) -> Iterator[tuple[str, str]]:
        """Say how the field is recoded, without the name of a file."""
        how = how_of(self.recoding.field, self.how)
        told = f"level {how.level} of a hierarchy" if isinstance(how, FromHierarchy) else self.how
        yield self.recoding.field, f"{told}, written as numbers with labels" if self.names else told

    def wide(self, names: Callable[[Iterable[str]], tuple[str, ...]]) -> Iterator[Recoded]:
        """Yield a recoding of each wide field."""
        return (replace(self, recoding=of_field(self.recoding, name)) for name in names(self.changed))

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `read` builds it again."""
        names = {"names": dict(self.names)} if self.names else {}
        return {"kind": self.kind, "field": self.recoding.field, "how": self.how, **_plain(self.recoding), **names}

    @classmethod
    def read(cls, plain: Any, place: str) -> Recoded:
        """Read it, by what values are recoded to."""
        told: _Recoded = read_plain(_Recoded, plain, place)
        if told.to not in _RECODINGS:
            raise ValueError("a recoding is of no kind that this version knows")
        recoding = read_plain(_RECODINGS[told.to], plain, place)
        if isinstance(recoding, _Tails):
            bottom, top = recoding.bottom or _Side(), recoding.top or _Side()
            recoding = Tails(recoding.field, bottom.bound, bottom.label, top.bound, top.label)
        found = cls(recoding, told.how, told.names)
        found.require_sense()
        return found

    def require_sense(self) -> None:
        """Refuse breaks that do not rise, and a base that is none."""
        match self.recoding:
            case IntervalRecoding(breaks=breaks, labels=labels):
                if len(breaks) != len(labels) or not breaks or any(low >= high for low, high in pairwise(breaks)):
                    raise ValueError("the breaks of a recoding are not rising, or have other labels")
            case Rounded(base=base, decimals=decimals) if base <= 0 or decimals < 0:
                raise ValueError("the base of a recoding, or its decimals, are out of range")

    @classmethod
    def compared(cls, done: Sequence[Recoded], config: Mapping[str, Any], *, nested: bool) -> Pair:
        """Compare how each field is recoded."""
        return dict(settings_of(config, "recode", str)), {one.recoding.field: one.how for one in done}


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


@dataclass(frozen=True, slots=True)
class _Side:
    bound: Fraction | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class _Tails:
    field: str
    bottom: _Side | None
    top: _Side | None


@dataclass(frozen=True, slots=True)
class _Recoded:
    to: str
    how: str
    names: Mapping[str, str] = field(default_factory=dict)


_RECODINGS: Mapping[str, type] = {
    "listed": ListRecoding,
    "classes": IntervalRecoding,
    "multiples": Rounded,
    "tails": _Tails,
}
