"""IPSO: other values with the same means and covariances, for a whole file."""

from __future__ import annotations

from typing import ClassVar, Literal, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, ModelDrawn
from masktron.methods.base import Drawn, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import parameter
from masktron.synthesis.ipso import ipso
from masktron.synthesis.moments import require_change, require_freedom
from masktron.synthesis.regression import regress


class IpsoMethod(ConditionedMethod):
    """Information preserving statistical obfuscation.

    Parameters
    ----------
    variant : {"plain", "strict"}
        Whether what is drawn may be correlated with the originals given the conditions; with strict it is not.
    conditions, nominal, strata : sequence of int
        See `conditioned.ConditionedMethod`. Conditions are Y of the papers: numbers as they are, and an
        indicator for each category, of which rare ones are pooled.
    random_state : int, RandomState or None
        Used by the estimator alone.

    Notes
    -----
    Source: Burridge (2003); Domingo-Ferrer and Gonzalez-Nicolas (2009), section 2.1. Their bounds on the number of
    records are not enough: with as many degrees of freedom as variables, one variable gets its originals back, or
    their mirror image. Here two more are needed; strict needs twice the variables, since draws are orthogonal to the
    originals.

    A constant column stays constant: its moments say so, and all records share it.
    """

    name: ClassVar[str] = "ipso"
    title: ClassVar[str] = "IPSO"
    says: ClassVar[str] = "Draws values anew; means, covariances and regressions on fields that stay are exact."
    when: ClassVar[str] = "Users fit linear models to the whole file, and nothing else of it has to stay."
    source: ClassVar[str] = "Burridge 2003; Domingo-Ferrer and Gonzalez-Nicolas 2009, section 2.1"
    attacker: ClassVar[str] = (
        "Values are drawn from means and covariances of all records alone: with the secret, too, there is nothing to "
        "invert for a record. But these are exact, and so is the mean of each category among the conditions. Whoever "
        "knows all records of the file or of a category but one computes that one, but for rounding."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means, variances and covariances, also with conditions, exactly",
        "means of each category among the conditions, exactly; categories of few records count as one",
        "exact linear relations between variables",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "slopes and spreads that differ between categories: they become the same in all",
        "relations with unmasked fields that are not conditions",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.EXACT

    variant: Literal["plain", "strict"] = parameter(
        "With strict, drawn values are uncorrelated with the originals beyond what conditions explain.",
        default="plain",
    )

    @property
    def contract(self) -> MethodContract:
        """Drawn from a model of all records."""
        return ModelDrawn()

    def least(self, variables: int) -> int:
        """Return the fewest records for variables that are linearly independent."""
        masked = variables - len(tuple(self.conditions or ()))
        return variables + 3 if self.variant == "plain" else variables + 1 + max(masked, 2)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Draw all records anew; see `Method.mask`."""
        require_records(len(values), 2, self.name)
        strict = self.variant == "strict"
        kept = np.empty((len(values), 0)) if context.conditions is None else context.conditions.regressors()
        regression = regress(values[None], kept[None])
        require_freedom(regression, self.name, strict=strict)
        require_change(regression, self.name)
        return Drawn(ipso(regression, generator, strict=strict)[0])
