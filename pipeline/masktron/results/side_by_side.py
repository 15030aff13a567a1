"""An original and a masked file side by side, as pictures for inside the agency need them. Confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FieldDistribution:
    """The distribution of a number over bins of at least k records.

    Attributes
    ----------
    name : str
    edges : tuple of float
        Between bins: one less than there are.
    step : float
        Of which the edges are multiples.
    before, after : tuple of int
    """

    name: str
    edges: tuple[float, ...]
    step: float
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FieldMoments:
    """Mean, variance and loss of a number.

    Attributes
    ----------
    name : str
    records : int
        With a value in both files.
    mean_before, mean_after : float
        NaN where fewer than k records have a value.
    shift : float
        In standard deviations of the original, as `masktron.measures.kept_variation`.
    ratio : float
        Variance after divided by variance before.
    loss : float
        100 SSE/SST of this field alone.
    """

    name: str
    records: int
    mean_before: float
    mean_after: float
    shift: float
    ratio: float
    loss: float


@dataclass(frozen=True, slots=True)
class FieldShares:
    """Categories of a field, those of fewer than k records joined, in per cent of the records with a value."""

    name: str
    categories: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class KnownFields:
    """What an intruder finds who knows these fields: per cent of the records, as `masktron.measures.linkage`."""

    fields: tuple[str, ...]
    linkage: float


@dataclass(frozen=True, slots=True)
class GroupSizes:
    """How many groups of each size a block has in the masked file."""

    fields: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two files side by side.

    Attributes
    ----------
    records : int
    paired : bool
        Whether it is known which record belongs to which; without that there are no moments of differences, no
        linkage and no group sizes.
    distributions : tuple of FieldDistribution
        Of numbers with at least two bins.
    moments : tuple of FieldMoments
    shares : tuple of FieldShares
    correlated : tuple of str
        Numbers whose correlations follow, in their order.
    before, after : tuple of tuple of float
        Correlations; NaN where there is none.
    known : tuple of KnownFields
        Intruders who know the first number, the first two, and so on.
    groups : tuple of GroupSizes
    unmasked_linkage : float
        Linkage of the original with itself: below 100 where records are alike.
    notes : tuple of str
        What was left out.
    levels : mapping of str to SideBySide
        Of nested files, each level by itself, by its name; none of flat ones. Intruders are those of the whole.
    """

    records: int
    paired: bool
    distributions: tuple[FieldDistribution, ...]
    moments: tuple[FieldMoments, ...]
    shares: tuple[FieldShares, ...]
    correlated: tuple[str, ...]
    before: tuple[tuple[float, ...], ...]
    after: tuple[tuple[float, ...], ...]
    known: tuple[KnownFields, ...]
    groups: tuple[GroupSizes, ...]
    unmasked_linkage: float
    notes: tuple[str, ...] = field(default=())
    levels: Mapping[str, SideBySide] = field(default_factory=dict)
