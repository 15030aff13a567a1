"""Information loss of MDAV on the reference files, against the figures in print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from masktron.aggregators.mean import Mean
from masktron.measures.information_loss import information_loss
from masktron.partitions.mdav import partition, standardise
from reproduction.data import Values, census, eia

PRINTED: Mapping[str, Mapping[int, float]] = {
    "Census, 13 variables": {3: 5.692, 4: 7.495, 5: 9.088, 10: 14.156},
    "EIA, 11 variables": {3: 0.483, 4: 0.671, 5: 1.667, 10: 3.840},
    "EIA without UTILITYID": {3: 0.592, 4: 0.812, 5: 1.588, 10: 3.270},
}
"""100 SSE/SST by k."""


@dataclass(frozen=True, slots=True)
class Loss:
    """100 SSE/SST of one file and k."""

    file: str
    k: int
    printed: float
    ours: float


def mdav_table(folder: Path) -> tuple[Loss, ...]:
    """Mask both files by MDAV and means over all variables at once."""
    amounts = eia(folder)
    files = zip(PRINTED, (census(folder), amounts, amounts[:, 1:]), strict=True)
    return tuple(
        Loss(name, k, printed, _loss(values, k)) for name, values in files for k, printed in PRINTED[name].items()
    )


def _loss(values: Values, k: int) -> float:
    labels = partition(standardise(values), k)
    return information_loss(values, Mean().aggregate(values, labels)[labels])
