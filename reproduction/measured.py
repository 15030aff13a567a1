"""The measures of a masked file, and the readings of SCORE that are made of them.

This is the only module that says where measures come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from masktron.measures.interval_disclosure import by_deviation, by_ranks
from masktron.measures.linkage import linkage
from masktron.measures.linkage_variants import by_groups, by_knowledge
from masktron.measures.pil import pil
from masktron.measures.score import score
from reproduction.data import MEASURED, Values
from reproduction.scenarios import groups_of

KNOWN = 6
"""The most variables that the intruder of the documented reading knows."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What is measured of V1 to V13 of a masked file, all in per cent.

    Attributes
    ----------
    k : int
    pil : float
    by_knowledge, by_groups, linkage : float
        DBRL: averaged over intruders who know the first 1, ..., 6 variables; over intruders who know the variables of
        one block; for one who knows all.
    by_deviation, by_ranks : float
        ID: SDID, and by ranks in the masked file.
    """

    k: int
    pil: float
    by_knowledge: float
    by_groups: float
    linkage: float
    by_deviation: float
    by_ranks: float


def figures(original: Values, masked: Values, k: int, blocks: Sequence[Sequence[int]]) -> Figures:
    """Measure a masked file whose variables were masked in these blocks."""
    x, y = original[:, :MEASURED], masked[:, :MEASURED]
    return Figures(
        k,
        pil(x, y).total,
        by_knowledge(x, y, KNOWN),
        by_groups(x, y, groups_of(blocks)),
        linkage(x, y),
        by_deviation(x, y),
        by_ranks(x, y),
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read "DBRL" and "ID" in the paper.

    Attributes
    ----------
    name : str
        As in a sentence.
    dbrl, interval : str
        Fields of `Figures`.
    """

    name: str
    dbrl: Literal["by_knowledge", "by_groups", "linkage"]
    interval: Literal["by_deviation", "by_ranks"]

    def linked(self, one: Figures) -> float:
        """DBRL."""
        return float(getattr(one, self.dbrl))

    def disclosed(self, one: Figures) -> float:
        """ID."""
        return float(getattr(one, self.interval))

    def risk(self, one: Figures) -> float:
        """DR."""
        return (self.linked(one) + self.disclosed(one)) / 2

    def score(self, one: Figures) -> float:
        """SCORE."""
        return score(one.pil, self.risk(one))


DOCUMENTED = Reading("DBRL of an intruder who knows the first 1 to 6 variables, averaged; SDID", "by_knowledge",
                     "by_deviation")  # fmt: skip
GROUPED = Reading("DBRL by block, averaged; ID by ranks", "by_groups", "by_ranks")
WHOLE = Reading("DBRL with all 13 variables; ID by ranks", "linkage", "by_ranks")
READINGS = (DOCUMENTED, GROUPED, WHOLE)
