"""Rank swapping: every value goes to a record whose value is near in rank."""

from __future__ import annotations

import math
from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, ValuesExchanged
from masktron.methods.base import Drawn, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import parameter
from masktron.synthesis.exchanging import exchanged
from masktron.synthesis.free_columns import FreeColumns
from masktron.synthesis.rank_swapping import RankSpread, rank_swapped

FARTHEST = 2
"""Times p that exchanges for the sake of rules may take a value from its original rank, where there is no window."""
LEAST_WIDTH = 5
"""Ranks that values move in the order of, however few the records are."""


class RankSwappingMethod(ConditionedMethod):
    """Rank swapping.

    Parameters
    ----------
    p : float
        How far values move in rank, in per cent of the records that are masked together; above 0, at most 100. Never
        fewer than 5 ranks.
    spread : {"distribution", "buckets", "window"}
        How the way is drawn. Only `window` never exceeds p, as `rankSwap` of sdcMicro, and tells an intruder so. With
        `distribution` about a fifth of the records move farther, and with `buckets` about half.
    random_state : int, RandomState or None
        Used by the estimator alone.

    Notes
    -----
    Source: Moore (1996); Carlson and Salabasis (2002); Domingo-Ferrer and Torra (2001); Nin, Herranz and Torra
    (2008). Variables that others give exactly are not swapped but computed; see `FreeColumns`.
    """

    name: ClassVar[str] = "rank_swapping"
    title: ClassVar[str] = "Rank swapping"
    says: ClassVar[str] = (
        "Exchanges each value with that of a record of like conditions that is near in rank, variable by variable."
    )
    when: ClassVar[str] = "Distributions of single variables have to stay as they are, and order matters most."
    source: ClassVar[str] = (
        "Moore 1996; Carlson and Salabasis 2002; Nin, Herranz and Torra 2008, sections 3 and 4 (attack, spreads)"
    )
    attacker: ClassVar[str] = (
        "All values of the file are published, and so its extremes; what is not is whose they are. Ranks of known "
        "values are known, and variables are swapped independently: whoever knows several variables of a respondent "
        "adds up how likely each record is, and finds most records where p is small. With the secret the exchanges "
        "are undone, and the original comes back. Values stay in their cell of like conditions, so "
        "its extremes are published as its own. Two releases with other secrets are averaged, in ranks."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "every value of each variable as often as before, but of variables that others give exactly",
        "exact linear relations between variables, to rounding",
        "means of each cell of like conditions, exactly",
        "the order of records, nearly: rank correlation with the original of about 1 - 3.4 (p / 100)^2 up to p = 20",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "correlations between variables: rank correlations shrink to (1 - 3.4 (p / 100)^2)^2 of what they were, 85 % "
        "at p = 15",
        "part of the differences by condition within a cell",
        "relations with unmasked fields that are not conditions",
        "sums over records with weights: every record counts once",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.CELLS
    orders: ClassVar[bool] = True
    exchanges: ClassVar[bool] = True

    p: float = parameter("How far values move in rank, in per cent of the records.", default=15.0, above=0, most=100)
    spread: RankSpread = parameter(
        "How the way in ranks is drawn: normal around p / 2 (about a fifth of the records move farther than p), "
        "in buckets of p (about half do), or within a window of p (none does).",
        default="distribution",
    )

    @property
    def contract(self) -> MethodContract:
        """Values change places."""
        return ValuesExchanged()

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Swap the values of all records; see `Method.mask`."""
        n, p = values.shape
        require_records(n, self.least(p), self.name)
        known = np.ones((n, p), dtype=np.bool_) if context.known is None else context.known
        columns = FreeColumns.of(values, np.zeros(p, dtype=np.bool_))
        width = min(max(LEAST_WIDTH, math.ceil(self.p * n / 100)), n - 1)
        drawn = values.copy()
        for column in np.flatnonzero(columns.free).tolist():
            there = np.flatnonzero(known[:, column])
            if len(there) > 1:
                own = min(width, len(there) - 1)
                swapped = rank_swapped(values[there, column], generator, width=own, spread=self.spread)
                drawn[there, column] = swapped
        if context.broken is None:
            return Drawn(columns.completed(drawn))
        made = exchanged(
            values,
            drawn,
            generator,
            broken=context.broken,
            columns=columns.free & columns.telling(context.broken.read),
            known=known,
            near=width,
            limit=width if self.spread == "window" else FARTHEST * width,
            completed=columns.completed,
        )
        return Drawn(made)
