"""What was done to the fields before they were masked, as a manifest says it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any, ClassVar

from masktron.perturbation_settings import SWAP_NAMES, PramSettings, SwapSettings
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails
from masktron.serialised import read_plain


@dataclass(frozen=True, slots=True)
class Recoded:
    """A field that was recoded.

    Attributes
    ----------
    recoding : Recoding
    how : str
        As the settings say it.
    names : mapping of str to str
        What classes are called in the labels of the file, where numbers stand for them.
    """

    kind: ClassVar[str] = "recoding"
    recoding: Recoding
    how: str
    names: Mapping[str, str] = MappingProxyType({})

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields that it may have changed."""
        return (self.recoding.field,)

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `treatments_from` builds it again, with no other file."""
        names = {"names": dict(self.names)} if self.names else {}
        return {"kind": self.kind, "field": self.recoding.field, "how": self.how, **_plain(self.recoding), **names}


@dataclass(frozen=True, slots=True)
class SharedKeys:
    """At least k records share each combination of keys as it is written.

    Attributes
    ----------
    k : int
    subsets : int or None
        Size of the subsets of keys of which that is said; None for all keys together.
    missing_matches : bool
        Whether a missing value counts as every value.
    """

    kind: ClassVar[str] = "shared-keys"
    k: int
    subsets: int | None = None
    missing_matches: bool = False

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        keys = "all keys" if self.subsets is None else f"any {self.subsets} keys"
        gaps = "matches every value" if self.missing_matches else "is a value of its own"
        return f"at least {self.k} records share each combination of {keys} as written, where a missing value {gaps}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: the kind and the parameters."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Keys of which cells were left out.

    Attributes
    ----------
    fields : tuple of str
        The keys.
    also : tuple of str
        Fields that are no keys and may be left out beside one, as rules demand it.
    contract : SharedKeys
        What holds of the keys as they are written.
    cells : mapping of str to (int, int)
        Of each field: cells that were left out, and cells that there were.
    says : str
        What it cost, in one sentence.
    """

    kind: ClassVar[str] = "suppression"
    fields: tuple[str, ...]
    also: tuple[str, ...]
    contract: SharedKeys
    cells: Mapping[str, tuple[int, int]] = MappingProxyType({})
    says: str = ""

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields that it may have changed."""
        return (*self.fields, *self.also)

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `treatments_from` builds it again."""
        return {
            "kind": self.kind,
            "fields": list(self.fields),
            "also": list(self.also),
            "contract": self.contract.as_dict(),
            "cells": {name: list(one) for name, one in self.cells.items()},
            "says": self.says,
        }


@dataclass(frozen=True, slots=True)
class Postrandomised:
    """A field, or several together, of which values were drawn anew.

    Attributes
    ----------
    fields : tuple of str
    settings : PramSettings
        Its matrix is that of `matrix`, and no file.
    values : tuple of str
        To which rows and columns of the matrix belong; empty where a share was asked for.
    matrix : tuple of tuple of float
    weight : str or None
        The field by which expected frequencies are weighted.
    let_go : tuple of str
        Rules that were not asked.
    figures : mapping of str to number
        What the law protects and changes: see `masktron.treatments.pram.PramFigures`.
    """

    kind: ClassVar[str] = "pram"
    fields: tuple[str, ...]
    settings: PramSettings
    values: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    weight: str | None
    let_go: tuple[str, ...]
    figures: Mapping[str, float | None] = MappingProxyType({})

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields that it may have changed."""
        return self.fields

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `treatments_from` builds it again, with no other file."""
        how = self.settings
        return {
            "kind": self.kind,
            "fields": list(self.fields),
            "change": how.change,
            "stay": how.stay,
            "within": list(how.within),
            "alone": how.alone,
            "household": how.household,
            "values": list(self.values),
            "matrix": [list(row) for row in self.matrix],
            "weight": self.weight,
            "let_go": list(self.let_go),
            "figures": dict(self.figures),
        }


@dataclass(frozen=True, slots=True)
class Swapped:
    """Regions that records, or households, have exchanged in pairs.

    Attributes
    ----------
    settings : SwapSettings
        With the keys that were taken.
    pairs : int
        How many.
    let_go : tuple of str
        Rules that were not asked.
    figures : mapping of str to number or list
        See `masktron.treatments.record_swapping.RecordSwaps`, and for ``levels`` its `LevelFigures`.
    """

    kind: ClassVar[str] = "swapping"
    settings: SwapSettings
    pairs: int
    let_go: tuple[str, ...]
    figures: Mapping[str, Any] = MappingProxyType({})

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields that it may have changed."""
        return self.fields

    @property
    def fields(self) -> tuple[str, ...]:
        """The regions, from coarse to fine."""
        return self.settings.regions

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `treatments_from` builds it again."""
        said = {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(self.settings).items()}
        more = {"pairs": self.pairs, "let_go": list(self.let_go), "figures": dict(self.figures)}
        return {"kind": self.kind, **said, **more}


@dataclass(frozen=True, slots=True)
class Reweighted:
    """A weight that took over the weights of records left out.

    Attributes
    ----------
    field : str
        The weight.
    within : tuple of str
        Records that are alike in these fields are a class.
    factors : mapping of tuple of (str or None) to Fraction
        By class, what its weights were multiplied by; classes whose weights stay are absent.
    decimals : int
        Digits behind the point that new weights are rounded to.
    """

    kind: ClassVar[str] = "reweighting"
    field: str
    within: tuple[str, ...]
    factors: Mapping[tuple[str | None, ...], Fraction]
    decimals: int

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields that it may have changed."""
        return (self.field,)

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `treatments_from` builds it again."""
        factors = [{"class": list(key), "factor": str(factor)} for key, factor in self.factors.items()]
        return {
            "kind": self.kind,
            "field": self.field,
            "within": list(self.within),
            "factors": factors,
            "decimals": self.decimals,
        }


type Treatment = Recoded | Postrandomised | Swapped | Suppressed | Reweighted
"""One step, in the order in which they are done."""


def treatments_from(content: Sequence[Any]) -> tuple[Treatment, ...]:
    """Read the treatments of a manifest.

    Raises
    ------
    ValueError
        Something is missing, of the wrong type, or nonsense.
    """
    found: list[Treatment] = []
    for number, one in enumerate(content):
        place = f"treatments[{number}]"
        kind = read_plain(str, read_plain(Mapping[str, Any], one, place).get("kind"), f"{place}.kind")
        if kind not in _READERS:
            raise ValueError(f"{place} is of no kind that this version knows")
        found.append(_READERS[kind](one, place))
    fields = [one.recoding.field for one in found if isinstance(one, Recoded)]
    if len({*fields}) < len(fields):
        raise ValueError("a field is recoded twice")
    return tuple(found)


def recodings_in(treatments: Iterable[Treatment]) -> dict[str, Recoding]:
    """Return the recodings among treatments, by field."""
    return {one.recoding.field: one.recoding for one in treatments if isinstance(one, Recoded)}


def names_in(treatments: Iterable[Treatment]) -> dict[str, Mapping[str, str]]:
    """Return what classes are called of which numbers stand in the file, by field."""
    return {one.recoding.field: one.names for one in treatments if isinstance(one, Recoded) and one.names}


def reweighted_in(treatments: Iterable[Treatment]) -> tuple[Reweighted, ...]:
    """Return what took over the weights of records left out: one treatment, or none."""
    return tuple(one for one in treatments if isinstance(one, Reweighted))


def suppressed_in(treatments: Iterable[Treatment]) -> tuple[Suppressed, ...]:
    """Return the suppressions among treatments."""
    return tuple(one for one in treatments if isinstance(one, Suppressed))


def plain_settings(treatments: Iterable[Treatment]) -> list[dict[str, Any]]:
    """Return treatments as plain data without what came of them, and without the words of the settings.

    Later draws depend on it. The words may have the path of a file, which is another one in another folder.
    """
    passed = ("figures", "how")
    return [{name: one for name, one in each.as_dict().items() if name not in passed} for each in treatments]


def perturbed_in(treatments: Iterable[Treatment]) -> tuple[Postrandomised | Swapped, ...]:
    """Return what was drawn anew or swapped among treatments."""
    return tuple(one for one in treatments if isinstance(one, Postrandomised | Swapped))


def perturbed_fields(treatments: Iterable[Treatment]) -> tuple[str, ...]:
    """Return the fields that were drawn anew or swapped: each in one treatment."""
    return tuple(name for one in perturbed_in(treatments) for name in one.fields)


@dataclass(frozen=True, slots=True)
class _Swap:
    regions: tuple[str, ...]
    household: str | None
    keys: tuple[str, ...]
    k: int
    similar: tuple[str, ...]
    required: int | None
    rate: float
    least_regions: int
    pairs: int
    let_go: tuple[str, ...]


def _swapped(plain: Any, place: str) -> Swapped:
    told: _Swap = read_plain(_Swap, plain, place)
    if not told.regions or min(told.k, told.least_regions, told.pairs, told.required or 0) < 0:
        raise ValueError("records were swapped, and it is not said how")
    return Swapped(SwapSettings(**{name: getattr(told, name) for name in SWAP_NAMES}), told.pairs, told.let_go)


@dataclass(frozen=True, slots=True)
class _Factor:
    KEYS: ClassVar[str] = "class=key factor"

    key: tuple[str | None, ...]
    factor: Fraction


@dataclass(frozen=True, slots=True)
class _Spread:
    field: str
    within: tuple[str, ...]
    factors: tuple[_Factor, ...]
    decimals: int


def _reweighted(plain: Any, place: str) -> Reweighted:
    told: _Spread = read_plain(_Spread, plain, place)
    if any(len(one.key) != len(told.within) or one.factor <= 1 for one in told.factors):
        raise ValueError("a factor of weights is of no class, or not above 1")
    if not told.within or not 0 <= told.decimals <= 40:
        raise ValueError("weights were spread, and it is not said how")
    return Reweighted(told.field, told.within, {one.key: one.factor for one in told.factors}, told.decimals)


@dataclass(frozen=True, slots=True)
class _Drawn:
    fields: tuple[str, ...]
    change: float | None
    stay: float
    within: tuple[str, ...]
    alone: bool
    household: str | None
    values: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    weight: str | None
    let_go: tuple[str, ...]


def _postrandomised(plain: Any, place: str) -> Postrandomised:
    told: _Drawn = read_plain(_Drawn, plain, place)
    square = {len(told.matrix), *map(len, told.matrix)} == {len(told.values)}
    numbers = [told.stay, *chain.from_iterable(told.matrix)]
    if not told.fields or (told.change is None) != bool(told.values) or not square or any(map(math.isnan, numbers)):
        raise ValueError("values were drawn anew, and it is not said how")
    settings = PramSettings(told.change, told.stay, None, told.within, told.alone, told.household)
    return Postrandomised(told.fields, settings, told.values, told.matrix, told.weight, told.let_go)


def _suppressed(plain: Any, place: str) -> Suppressed:
    told: Suppressed = read_plain(Suppressed, plain, place)
    contract, counts = told.contract, [*told.cells.values()]
    if plain["contract"].get("kind") != SharedKeys.kind:
        raise ValueError("what holds of suppressed keys is of no kind that this version knows")
    if contract.k < 1 or (contract.subsets is not None and contract.subsets < 1):
        raise ValueError("k or the size of subsets of keys is out of range")
    if not told.fields:
        raise ValueError("keys were suppressed, and none is named")
    if any(len(one) != 2 or min(one) < 0 for one in counts) or not {*told.cells} <= {*told.fields, *told.also}:
        raise ValueError("numbers of suppressed cells are not those of the keys")
    return replace(told, says="")


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


def _recoded(plain: Any, place: str) -> Recoded:
    told: _Recoded = read_plain(_Recoded, plain, place)
    if told.to not in _RECODINGS:
        raise ValueError("a recoding is of no kind that this version knows")
    found = read_plain(_RECODINGS[told.to], plain, place)
    match found:
        case IntervalRecoding(breaks=breaks, labels=labels):
            if len(breaks) != len(labels) or not breaks or any(low >= high for low, high in pairwise(breaks)):
                raise ValueError("the breaks of a recoding are not rising, or have other labels")
        case Rounded(base=base, decimals=decimals) if base <= 0 or decimals < 0:
            raise ValueError("the base of a recoding, or its decimals, are out of range")
        case _Tails():
            bottom, top = found.bottom or _Side(), found.top or _Side()
            found = Tails(found.field, bottom.bound, bottom.label, top.bound, top.label)
    return Recoded(found, told.how, told.names)


_READERS: Mapping[str, Callable[[Any, str], Treatment]] = {
    Recoded.kind: _recoded,
    Suppressed.kind: _suppressed,
    Postrandomised.kind: _postrandomised,
    Swapped.kind: _swapped,
    Reweighted.kind: _reweighted,
}
