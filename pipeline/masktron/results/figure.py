"""Figures of risk and utility, totals, shares of categories; what keys tell, and the levels of nested files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from masktron.problems.level_names import AS_THEY_ARE, LevelNames
from masktron.serialised import Known, Percent, Serialised, Share, read_plain

if TYPE_CHECKING:
    from masktron.figures import Better, Group, Unit
    from masktron.measures.figures import Measured
    from masktron.measures.keys.key_file import KeyFile
    from masktron.sources.level_tree import Tree


@dataclass(frozen=True, slots=True)
class TotalResult(Serialised):
    """The weighted total of a masked number, in the records in which it is present.

    Attributes
    ----------
    before, after : float
        In the original and in the masked file; without a weight every record counts once.
    change : float
        Per cent of the magnitude before; NaN where that is 0.
    records : int
        In which it is present, before or after: the smaller number.
    """

    KEYS: ClassVar = "field=name before after change records"
    EXACT: ClassVar = frozenset({"before", "after"})

    name: str
    before: float
    after: float
    change: float
    records: int


@dataclass(frozen=True, slots=True)
class CategoryCount(Serialised):
    """Weights of the records that hold a category, in the original and in the masked file. Confidential."""

    category: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class CategoryResult(Serialised):
    """The weighted counts of the categories of a masked field.

    Attributes
    ----------
    kind : {"nominal", "ordinal"}
    distance : float
        Total variation distance between the distributions before and after, per cent; NaN without values.
    before, after : mapping of str to float
        Weights of the records that hold each category, in the original and in the masked file. Confidential.
    """

    KEYS: ClassVar = "field=name kind distance counts"

    name: str
    kind: Literal["nominal", "ordinal"]
    distance: Percent
    before: Mapping[str, float] = field(repr=False)
    after: Mapping[str, float] = field(repr=False)

    @property
    def counts(self) -> tuple[CategoryCount, ...]:
        """What it was and is of each category. Confidential."""
        return tuple(CategoryCount(name, count, self.after[name]) for name, count in self.before.items())

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the counts as mappings."""
        counts = read_plain(tuple[CategoryCount, ...], told.get("counts"), "counts")
        return {when: {one.category: getattr(one, when) for one in counts} for when in ("before", "after")}


@dataclass(frozen=True, slots=True)
class FigureResult(Serialised):
    """One figure of risk, utility or contract: see `masktron.figures`.

    Attributes
    ----------
    name : str
    group : {"contract", "risk", "utility"}
    value : float
        NaN where the files have nothing of what it is about.
    unit : str
        ``%``, ``records``, or empty.
    better : {"lower", "higher"}
    field : str
        Where it is worst, for figures that are looked at field by field; else empty.
    meaning : str
        What it says and what is usual.
    interval : tuple of float, or None
        Interval of 95 per cent, for figures that are estimated from a sample of records.
    """

    KEYS: ClassVar = "figure=name group value=_nine_digits interval unit better field=_worst meaning"
    EXACT: ClassVar = frozenset({"_nine_digits"})

    name: str
    group: Group
    value: float
    unit: Unit
    better: Better
    field: str
    meaning: str
    interval: tuple[Known, Known] | None = None

    @property
    def _nine_digits(self) -> float:
        """Digits that count, and not decimals: some figures are small by nature."""
        return float(f"{self.value:.9g}")

    @property
    def _worst(self) -> str | None:
        return self.field or None

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the field, which is null where there is none."""
        return {"field": read_plain(str | None, told.get("field"), "field") or ""}

    @classmethod
    def of(cls, measured: Measured, names: LevelNames = AS_THEY_ARE) -> FigureResult:
        """Put a figure into the words of reports, given what fields are called."""
        figure = measured.figure
        return cls(
            figure.name,
            figure.group,
            measured.value,
            figure.unit,
            figure.better,
            names.shown(measured.field),
            figure.meaning,
            measured.interval,
        )


_BELOW = (2, 3, 5)


@dataclass(frozen=True, slots=True)
class KeyRisk(Serialised):
    """The risk of what others may know; counts of records, and no value of one.

    Attributes
    ----------
    fields : tuple of str
        The quasi-identifiers.
    stated : bool
        Whether somebody named them; else they are what was not masked.
    weight : str or None
        That of them which is the weight.
    records : int
    k : float
        The fewest records that share a combination.
    below : mapping of str to int
        Records that share theirs with fewer than 2, 3 and 5, themselves included.
    below_without_weight : mapping of str to int, or None
        The same by the other keys alone.
    k_without_weight : float or None
        The fewest records that share a combination of these.
    population_uniques, expected : float
        By the weights: records expected to be alone in the population, and expected re-identifications.
    mean, largest : float
        Risk of a record, from 0 to 1, likewise.
    model_uniques, model_expected : float or None
        The same two numbers by a log-linear model; None where it has no key.
    model_pairs : tuple of tuple of str
        Keys whose interaction the model has; empty for main effects alone.
    model_without : str or None
        The weight, where the model leaves it out as few records share its values.
    missing : int
        Records that lack a value of a key.
    wildcards : bool
        Whether a missing value matches every value; where there are too many patterns of them, it is one of its own.
    minimal_uniques : tuple of int, or None
        Minimal sample uniques of one value, two and three; None where they were not looked for.
    contributions : mapping of str to float, or None
        Of their scores, what comes from each field, in per cent; of a field of members, what comes from it at the
        position that contributes most, as sets of keys have several.
    """

    KEYS: ClassVar = (
        "fields stated weight records k below below_without_weight k_without_weight population_uniques "
        "expected mean largest model_uniques model_expected model_pairs model_without missing wildcards "
        "minimal_uniques contributions"
    )

    fields: tuple[str, ...]
    stated: bool
    weight: str | None
    records: int
    k: Known
    below: Mapping[str, int]
    below_without_weight: Mapping[str, int] | None
    population_uniques: Known
    expected: Known
    mean: Share
    largest: Share
    # manifests of before 1.0.0 have no model of all records, and may not say how missing values were compared
    model_uniques: float | None = None
    model_expected: float | None = None
    model_pairs: tuple[tuple[str, ...], ...] = ()
    model_without: str | None = None
    missing: int = 0
    wildcards: bool = True
    minimal_uniques: tuple[int, ...] | None = None
    contributions: Mapping[str, Percent] | None = None
    k_without_weight: float | None = None

    @classmethod
    def of(cls, keys: KeyFile, called: LevelNames = AS_THEY_ARE) -> KeyRisk:
        """Put together what is known of the keys of a file, given what these are called."""
        others, model, names = keys.without_weight, keys.modelled, keys.modelled_names
        unique = keys.uniqueness if keys.has_uniqueness else None
        return cls(
            fields=called.names(keys.names),
            stated=keys.stated,
            weight=None if keys.weight is None else called.shown(keys.weight),
            records=len(keys),
            k=keys.frequencies.smallest,
            below={str(k): keys.frequencies.below(k) for k in _BELOW},
            below_without_weight=None if others is None else {str(k): others.below(k) for k in _BELOW},
            population_uniques=keys.alone_by_weights,
            expected=keys.risk.expected,
            mean=keys.risk.mean,
            largest=keys.risk.largest,
            model_uniques=None if model is None else model.tau1,
            model_expected=None if model is None else model.expected,
            model_pairs=() if model is None else tuple(called.names((names[a], names[b])) for a, b in model.pairs),
            model_without=called.shown(keys.weight) if keys.weight is not None and names != keys.names else None,
            missing=keys.lacking,
            wildcards=keys.frequencies.wildcards,
            minimal_uniques=None if unique is None else unique.sizes,
            contributions=None
            if unique is None
            else _most(dict(zip(keys.names, unique.by_field.tolist(), strict=True)), called),
            k_without_weight=None if others is None else others.smallest,
        )


@dataclass(frozen=True, slots=True)
class LevelDescription(Serialised):
    """One kind of records of a nested file.

    Attributes
    ----------
    level : str
        Names from the unit down, with ``/`` between them.
    records : int
        In the file.
    least, most : int
        In one record of the level above; of the unit, in the file.
    fields : tuple of str
        Of its own, as rules and settings name them.
    """

    KEYS: ClassVar = "level records least most fields"

    level: str
    records: int
    least: int
    most: int
    fields: tuple[str, ...]

    @property
    def parent(self) -> str:
        """Name of the level above; empty for the unit."""
        return self.level.rpartition("/")[0].rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class MaskedLevel(Serialised):
    """What is known of the masked records of one level of a nested file.

    Attributes
    ----------
    level : str
        Names from the unit down, with ``/`` between them.
    records : int
        That are written.
    weight : str
        The field by which they are weighted, their own or that of a level around them; empty where each counts once.
    figures : tuple of FigureResult
        ``whole_record_k``: records alike in all that is masked of them and of the records around them; of units, in
        all that is masked of their members, too. ``linkage``: among the records of units of the same composition.
        Figures of utility are those of the level's own fields.
    """

    KEYS: ClassVar = "level records weight figures"

    level: str
    records: int
    weight: str
    figures: tuple[FigureResult, ...]

    def __getitem__(self, name: str) -> float:
        """Return the value of a figure."""
        return {figure.name: figure.value for figure in self.figures}[name]


def levels_of(tree: Tree | None) -> tuple[LevelDescription, ...]:
    """Describe the levels of a file, each before those within it; none where it is not nested."""
    if tree is None:
        return ()
    return tuple(
        LevelDescription(
            level=tree.shown(path),
            records=level.count,
            least=level.least,
            most=level.most,
            fields=tuple(tree.name_of[path, field] for field in level.fields),
        )
        for path, level in tree.levels()
    )


def _most(shares: Mapping[str, float], called: LevelNames) -> dict[str, float]:
    return {name: max(shares[one] for one in own) for name, own in called.by_level(shares).items()}
