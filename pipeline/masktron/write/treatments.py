"""What was done to the fields before they were masked, as a manifest says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar

from masktron.perturbation_settings import SWAP_NAMES, PramSettings, SwapSettings
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails


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


def treatments_from(content: Any) -> tuple[Treatment, ...]:
    """Read the treatments of a manifest.

    Raises
    ------
    KeyError, TypeError, ValueError
        Something is missing, of the wrong type, or nonsense.
    """
    if not isinstance(content, list):
        raise TypeError("'treatments' is not a list")
    found: list[Treatment] = []
    for one in content:
        if isinstance(one, Mapping) and one["kind"] == "recoding":
            found.append(Recoded(_recoding(one), _text(one["how"]), _texts(one.get("names", {}))))
        elif isinstance(one, Mapping) and one["kind"] == "suppression":
            found.append(_suppressed(one))
        elif isinstance(one, Mapping) and one["kind"] == "pram":
            found.append(_postrandomised(one))
        elif isinstance(one, Mapping) and one["kind"] == "swapping":
            found.append(_swapped(one))
        elif isinstance(one, Mapping) and one["kind"] == "reweighting":
            found.append(_reweighted(one))
        else:
            raise ValueError("a treatment is of no kind that this version knows")
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


def _swapped(one: Mapping[str, Any]) -> Swapped:
    said = {name: one[name] for name in SWAP_NAMES}
    for name in ("regions", "keys", "similar"):
        said[name] = tuple(_text(each) for each in _list(said[name]))
    numbers = [said["k"], said["least_regions"], one["pairs"], said["required"] or 0]
    if not said["regions"] or any(not isinstance(number, int) or number < 0 for number in numbers):
        raise ValueError("records were swapped, and it is not said how")
    if said["household"] is not None:
        _text(said["household"])
    return Swapped(SwapSettings(**said), one["pairs"], tuple(_text(name) for name in _list(one["let_go"])))


def _reweighted(one: Mapping[str, Any]) -> Reweighted:
    within, decimals = tuple(_text(name) for name in _list(one["within"])), one["decimals"]
    factors: dict[tuple[str | None, ...], Fraction] = {}
    for each in _list(one["factors"]):
        key = tuple(None if text is None else _text(text) for text in _list(each["class"]))
        factors[key] = _number(each["factor"])
        if len(key) != len(within) or factors[key] <= 1:
            raise ValueError("a factor of weights is of no class, or not above 1")
    if not within or not isinstance(decimals, int) or isinstance(decimals, bool) or not 0 <= decimals <= 40:
        raise ValueError("weights were spread, and it is not said how")
    return Reweighted(_text(one["field"]), within, factors, decimals)


def _postrandomised(one: Mapping[str, Any]) -> Postrandomised:
    change, stay, alone = one["change"], one["stay"], one["alone"]
    weight, household = (None if one[part] is None else _text(one[part]) for part in ("weight", "household"))
    matrix = tuple(tuple(float(entry) for entry in _list(row)) for row in _list(one["matrix"]))
    fields, values, within, let_go = (
        tuple(_text(name) for name in _list(one[part])) for part in ("fields", "values", "within", "let_go")
    )
    square = all(len(row) == len(values) for row in matrix) and len(matrix) == len(values)
    if not fields or (change is None) != bool(values) or not square:
        raise ValueError("values were drawn anew, and it is not said how")
    if not isinstance(alone, bool):
        raise TypeError("'alone' is not true or false")
    settings = PramSettings(None if change is None else float(change), float(stay), None, within, alone, household)
    return Postrandomised(fields, settings, values, matrix, weight, let_go)


def _suppressed(one: Mapping[str, Any]) -> Suppressed:
    contract = one["contract"]
    k, subsets, matches = contract["k"], contract["subsets"], contract["missing_matches"]
    numbers = (k,) if subsets is None else (k, subsets)
    if contract["kind"] != SharedKeys.kind or not isinstance(matches, bool):
        raise ValueError("what holds of suppressed keys is of no kind that this version knows")
    if any(not isinstance(number, int) or isinstance(number, bool) or number < 1 for number in numbers):
        raise ValueError("k or the size of subsets of keys is out of range")
    fields, also = (tuple(_text(name) for name in _list(one[part])) for part in ("fields", "also"))
    if not fields:
        raise ValueError("keys were suppressed, and none is named")
    cells = one.get("cells", {})
    if not isinstance(cells, Mapping) or any(
        not isinstance(count, int) or isinstance(count, bool) or count < 0
        for counts in cells.values()
        for count in _list(counts)
    ):
        raise TypeError("numbers of suppressed cells are no numbers")
    gone = {_text(name): (counts[0], counts[1]) for name, counts in cells.items() if len(counts) == 2}
    if len(gone) < len(cells) or not {*gone} <= {*fields, *also}:
        raise ValueError("numbers of suppressed cells are not those of the keys")
    return Suppressed(fields, also, SharedKeys(k, subsets, matches), gone)


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
        return ListRecoding(field, _texts(one["labels"]))
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


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TypeError("a treatment has something else where labels should be")
    return {_text(one): _text(label) for one, label in value.items()}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a treatment has something else where a list should be")
    return value
