"""Data shuffling: values go to other records, in an order that a normal copula draws."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.contracts import MethodContract, ValuesExchanged
from masktron.methods.base import Drawn, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.synthesis.exchanging import BrokenRules, exchanged
from masktron.synthesis.free_columns import FreeColumns
from masktron.synthesis.moments import refuse_original
from masktron.synthesis.shuffling import explained, shuffled

LEAST_RECORDS = 5
"""Records beyond the variables from which correlations are found."""
NEAR = 0.05
"""Share of the records within which values are exchanged once more for the sake of rules."""


class ShufflingMethod(ConditionedMethod):
    """Data shuffling by the normal copula.

    Parameters
    ----------
    conditions, nominal, strata : sequence of int
        See `conditioned.ConditionedMethod`. Numbers among the conditions are S of the paper; values are
        exchanged within cells of like categories.
    random_state : int, RandomState or None
        Used by the estimator alone.

    Notes
    -----
    Source: Muralidhar and Sarathy (2006), Management Science 52(5). Given the conditions, what a record gets does
    not depend on what it had. Variables that others give exactly are not shuffled but computed; see `FreeColumns`.
    """

    name: ClassVar[str] = "shuffling"
    title: ClassVar[str] = "Data shuffling"
    says: ClassVar[str] = (
        "Moves each value to another record of like categories, so that variables, and numbers that stay, rank the "
        "records together as before."
    )
    when: ClassVar[str] = (
        "Distributions of single variables and rank correlations have to stay, and records must not be near their "
        "originals."
    )
    source: ClassVar[str] = "Muralidhar and Sarathy 2006, section 3"
    attacker: ClassVar[str] = (
        "All values of the file are published, and so its extremes, in the cell of like categories from which they "
        "come; what is not is whose they are. Beyond what conditions tell of a respondent there is nothing to find: "
        "with the secret, too, the order is drawn from rank correlations of the cell. Two releases with other "
        "secrets tell these better, and no record."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "every value of each variable as often as before, but of variables that others give exactly",
        "rank correlations between variables, also with numbers among the conditions, in expectation",
        "means of each cell of like categories, exactly",
        "exact linear relations between variables, to rounding",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "relations that rank correlations of pairs do not tell: such that rise and fall, of three variables, or of "
        "zeros",
        "differences by category within a cell",
        "relations with unmasked fields that are not conditions",
        "sums over records with weights: every record counts once",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.NUMBERS
    orders: ClassVar[bool] = True
    exchanges: ClassVar[bool] = True

    @property
    def contract(self) -> MethodContract:
        """Values change places."""
        return ValuesExchanged()

    def least(self, variables: int) -> int:
        """Return the records from which rank correlations of so many variables are found."""
        return variables + LEAST_RECORDS

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Shuffle the values of all records; see `Method.mask`."""
        n, p = values.shape
        require_records(n, self.least(p), self.name)
        known = np.ones((n, p), dtype=np.bool_) if context.known is None else context.known
        given = np.empty((n, 0)) if context.conditions is None else context.conditions.regressors()
        beside = np.concatenate([values, given], axis=1)
        columns = FreeColumns.of(beside, np.arange(beside.shape[1]) >= p)
        free = columns.free & (np.arange(beside.shape[1]) < p)
        self._require_change(values, given, free[:p])
        drawn = beside.copy()
        drawn[:, free] = shuffled(beside[:, free], given, generator, known=known[:, free[:p]])
        if context.broken is None:
            return Drawn(columns.completed(drawn)[:, :p])
        count = context.broken.count
        read = np.concatenate([context.broken.read, np.zeros(given.shape[1], dtype=np.bool_)])
        made = exchanged(
            beside,
            drawn,
            generator,
            broken=BrokenRules(read, lambda made, positions: count(made[:, :p], positions)),
            columns=free & columns.telling(read),
            known=np.concatenate([known, np.ones(given.shape, dtype=np.bool_)], axis=1),
            near=max(1, int(NEAR * n)),
            completed=columns.completed,
        )
        return Drawn(made[:, :p])

    def _require_change(self, values: Floats, given: Floats, free: NDArray[np.bool_]) -> None:
        """Refuse variables whose values, or whose order, conditions give away."""
        varies = values.min(axis=0) < values.max(axis=0)
        told = np.zeros(values.shape[1], dtype=np.bool_)
        for column in np.flatnonzero(varies).tolist():
            with_it = np.concatenate([given, values[:, [column]]], axis=1)
            beside = np.arange(with_it.shape[1]) < with_it.shape[1] - 1
            told[column] = not FreeColumns.of(with_it, beside).free[-1]
        told[free] |= explained(values[:, free], given)
        if told.any():
            refuse_original(self.name, int(np.flatnonzero(told)[0]), len(values), "conditions")
