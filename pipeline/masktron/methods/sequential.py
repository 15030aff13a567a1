"""Sequential regressions: every variable is drawn from its regression on the ones before it."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, ModelDrawn
from masktron.methods.base import Drawn, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import parameter
from masktron.synthesis.regressions import LEAST_FREEDOM, draw_regressions


class SequentialMethod(ConditionedMethod):
    """Synthetic records from regressions, one variable after another: normal for numbers, logistic for categories.

    The order of the variables is that of the columns. Estimates taken as they are give one and the same distribution
    whatever the order: the normal one with the means and covariances of the file.

    Parameters
    ----------
    bayesian : bool
        Whether coefficients and residual variances are drawn from their posterior (normal and inverse chi-squared).
        Releases that are combined afterwards need that; a single one is nearer to the original without.
    conditions, nominal, strata : sequence of int
        See `conditioned.ConditionedMethod`. Conditions are regressors; rare categories are pooled.
    random_state : int, RandomState instance or None
        Seed of the estimator.

    Notes
    -----
    Source: Domingo-Ferrer et al., model-based hybrid (2012), section 4 ("Synthetic"); Raghunathan, Reiter and Rubin
    (2003).
    """

    name: ClassVar[str] = "sequential"
    title: ClassVar[str] = "Sequential regressions"
    says: ClassVar[str] = (
        "Draws each variable from a regression on the fields that stay and on the variables drawn before it: normal "
        "for numbers, multinomial logistic for categories."
    )
    when: ClassVar[str] = "No value may be near its original, and users need means, covariances and regressions."
    source: ClassVar[str] = "Oganian and Domingo-Ferrer 2012, section 4; Raghunathan, Reiter and Rubin 2003"
    attacker: ClassVar[str] = (
        "Values are drawn from regressions on all records alone: with the secret, too, there is nothing to invert "
        "for a record. Whoever knows the fields that stay of a respondent learns what the regressions say of such "
        "records. Two releases with other secrets tell the regressions better, and no record."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means in expectation; variances and covariances as well with bayesian=false, else they come out larger by "
        "what few records leave unknown",
        "means of each category among the conditions, in expectation; categories of few records count as one",
        "linear relations that every record satisfies, to rounding",
        "columns with one value",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "zeros, bounds and skewness of numbers",
        "slopes and spreads that differ between categories: they become the same in all",
        "relations with unmasked fields that are not conditions",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.REGRESSION

    categories: ClassVar[bool] = True

    bayesian: bool = parameter(
        "Draw the parameters of each regression from their posterior, or take their estimates.", default=True
    )

    @property
    def contract(self) -> MethodContract:
        """All values are drawn from a model."""
        return ModelDrawn()

    def least(self, variables: int) -> int:
        """Return the records that leave five degrees of freedom to the last regression."""
        return variables + LEAST_FREEDOM

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Draw records; see `Method.mask`."""
        require_records(len(values), self.least(values.shape[1]), self.name)
        made = draw_regressions(
            values,
            generator,
            bayesian=self.bayesian,
            nominal=context.kinds.of("nominal"),
            conditions=context.conditions,
        )
        return Drawn(made)
