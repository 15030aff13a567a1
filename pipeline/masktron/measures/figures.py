"""How each figure of `masktron.figures` is computed from two files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from masktron.figures import Figure, figure_of
from masktron.measures.achieved_k import achieved_k
from masktron.measures.assessed import Assessed
from masktron.measures.information_loss import information_loss
from masktron.measures.linkage import linkage
from masktron.measures.unchanged import same_cells


@dataclass(frozen=True, slots=True)
class Worst:
    """The value of a figure that is looked at field by field, and the field where it is worst."""

    value: float
    field: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure and its value.

    Attributes
    ----------
    figure : Figure
    value : float
        NaN where the files have nothing of what it is about.
    field : str
        Where it is worst, for figures that are looked at field by field; else empty.
    """

    figure: Figure
    value: float
    field: str = ""


def measure(
    names: Iterable[str], files: Assessed, begin: Callable[[str], None] | None = None
) -> tuple[Measured, ...]:
    """Compute some figures.

    Parameters
    ----------
    names : iterable of str
        Of `masktron.figures.FIGURES`; what they need has to be known of the files.
    files : Assessed
    begin : callable, optional
        Called with the name of each figure before it is computed.

    Raises
    ------
    UsageError
        A value is infinite.
    """
    found = []
    for name in names:
        if begin is not None:
            begin(name)
        value = files.known[name] if name in files.known else COMPUTED[name](files)
        found.append(
            Measured(figure_of(name), value.value, value.field)
            if isinstance(value, Worst)
            else Measured(figure_of(name), value)
        )
    return tuple(found)


def _linkage(files: Assessed) -> float:
    return linkage(files.before, files.after, workers=files.workers) if files.numeric else math.nan


def _information_loss(files: Assessed) -> float:
    return files.once(information_loss) if files.numeric else math.nan


def _block_k(files: Assessed) -> float:
    return float(min(int(np.bincount(groups).min()) for groups in files.groups))


def _whole_record_k(files: Assessed) -> float:
    return float(achieved_k(list(files.codes.values())))


def _medoid_share(files: Assessed) -> float:
    """Refuse to guess: that a group equals a record does not tell whether it was made so."""
    return files.known["medoid_share"]


def _unchanged(files: Assessed) -> float:
    same = present = 0
    for name, column in files.original.items():
        same += int(same_cells(column, files.masked[name])[column.present].sum())
        present += int(column.present.sum())
    return 100.0 * same / present if present else math.nan


def _total_change(files: Assessed) -> float | Worst:
    return _worst({name: abs(total.change) for name, total in zip(files.numeric, files.totals, strict=True)})


def _category_change(files: Assessed) -> float | Worst:
    return _worst({name: shares.distance for name, shares in files.categories.items()})


def _worst(values: Mapping[str, float]) -> float | Worst:
    """Take the largest; a field for which there is no value, such as a total that grew from nothing, is worse."""
    if not values:
        return math.nan
    name = max(values, key=lambda one: math.inf if math.isnan(values[one]) else values[one])
    return Worst(values[name], name)


COMPUTED: Mapping[str, Callable[[Assessed], float | Worst]] = MappingProxyType(
    {
        "block_k": _block_k,
        "medoid_share": _medoid_share,
        "whole_record_k": _whole_record_k,
        "linkage": _linkage,
        "unchanged": _unchanged,
        "information_loss": _information_loss,
        "total_change": _total_change,
        "category_change": _category_change,
    }
)
"""The function of each figure, by its name."""
