"""Disclosure risk and score: one figure for what linkage and intervals give away, and one that adds utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.errors import UsageError
from masktron.measures.interval_disclosure import by_deviation, by_ranks
from masktron.measures.linkage import linkage as over_all_variables
from masktron.measures.linkage_variants import by_groups, by_knowledge, second
from masktron.problems.problem import Known

LinkageName = Literal["all", "second", "groups", "knowledge"]
"""All variables; the own original nearest or second nearest; by groups of variables; by what an intruder knows."""
IntervalName = Literal["ranks", "ranks-in-original", "deviation", "deviation-of-masked"]
"""Ranks in the masked file, or in the original; standard deviation of the original, or of the masked file."""

LINKAGES: tuple[LinkageName, ...] = get_args(LinkageName)
INTERVALS: tuple[IntervalName, ...] = get_args(IntervalName)


@dataclass(frozen=True, slots=True)
class DisclosureRisk:
    """Disclosure risk of a masked file, per cent.

    Attributes
    ----------
    linkage : float
        Record linkage (DBRL) in the variant that was asked for.
    interval : float
        Interval disclosure (ID or SDID) in the variant that was asked for.
    """

    linkage: float
    interval: float

    @property
    def total(self) -> float:
        """Mean of both (DR)."""
        return (self.linkage + self.interval) / 2.0


def linkage_by_name(
    name: LinkageName,
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    *,
    groups: Sequence[Sequence[int]] | None = None,
    known: int | None = None,
    workers: int = 1,
) -> float:
    """Compute the variant of linkage that has a name, per cent.

    Parameters
    ----------
    name : LinkageName
        "all", "second", "groups" (which needs `groups`) or "knowledge" (which needs `known`).
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    groups : sequence of sequence of int, optional
        Columns of each group of variables.
    known : int, optional
        How many variables the best informed intruder knows.
    workers : int
        Threads for a file of many records; the result does not depend on them.

    Returns
    -------
    float

    Raises
    ------
    UsageError
        The variant is unknown or lacks what it needs; or that of the variant.
    """
    _require_name("linkage", name, LINKAGES)
    match name:
        case "all":
            return over_all_variables(original, masked, workers=workers)
        case "second":
            return second(original, masked, workers=workers)
        case "groups":
            if groups is None:
                raise UsageError.of("bad-value", name="groups", expected="groups of variables", given="None")
            return by_groups(original, masked, groups, workers=workers)
        case "knowledge":
            if known is None:
                raise UsageError.of("bad-value", name="known", expected="a number of variables", given="None")
            return by_knowledge(original, masked, known, workers=workers)


def interval_by_name(name: IntervalName, original: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    """Compute the variant of interval disclosure that has a name, over half-widths of 1 to 10 %, per cent.

    Parameters
    ----------
    name : IntervalName
        "ranks", "ranks-in-original", "deviation" or "deviation-of-masked".
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.

    Returns
    -------
    float

    Raises
    ------
    UsageError
        The variant is unknown; or that of the variant.
    """
    _require_name("interval disclosure", name, INTERVALS)
    match name:
        case "ranks":
            return by_ranks(original, masked)
        case "ranks-in-original":
            return by_ranks(original, masked, ranks_in="original")
        case "deviation":
            return by_deviation(original, masked)
        case "deviation-of-masked":
            return by_deviation(original, masked, deviation_of="masked")


def disclosure_risk(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    *,
    linkage: LinkageName = "all",
    interval: IntervalName = "ranks",
    groups: Sequence[Sequence[int]] | None = None,
    known: int | None = None,
    workers: int = 1,
) -> DisclosureRisk:
    """Compute ``DR = (DBRL + ID) / 2`` with the named variants of both.

    Rules for ties, missing values and constant variables are those of the variants. The defaults are those of a risk
    that is to be shown: an intruder who knows all variables, and ranks in the file that is released.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    linkage, interval : LinkageName, IntervalName
        Which variants.
    groups, known, workers
        As in `linkage_by_name`.

    Returns
    -------
    DisclosureRisk
        100 % for identical files whose records all differ.

    Raises
    ------
    UsageError
        Those of the variants.

    Notes
    -----
    Source: Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods for microdata;
    constrained microaggregation (2009, section 5), which names no variant: linkage "knowledge" with 6 of 13 variables
    and interval "deviation" come closest to its figures, or linkage "groups" and interval "ranks".
    """
    return DisclosureRisk(
        linkage_by_name(linkage, original, masked, groups=groups, known=known, workers=workers),
        interval_by_name(interval, original, masked),
    )


def score(loss: float, risk: float) -> float:
    """Compute ``SCORE = (PIL + DR) / 2``: the lower, the better.

    Parameters
    ----------
    loss, risk : float
        Probabilistic information loss and disclosure risk, per cent.

    Returns
    -------
    float
        Per cent; 50 for data that were not masked and whose records all differ.

    Raises
    ------
    UsageError
        One of them is no number from 0 to 100.

    Notes
    -----
    Source: constrained microaggregation (2009, section 5).
    """
    for name, value in (("loss", loss), ("risk", risk)):
        require_value(0 <= value <= 100, name, "from 0 to 100 (per cent)", value)
    return (loss + risk) / 2.0


def _require_name(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UsageError.of("unknown-name", kind=f"variant of {what}", name=name, known=Known(name, tuple(names)))
