"""Latent classes: model-based hybrid data for numbers and categories together."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats
from masktron.methods.base import Drawn, RecordContext
from masktron.methods.model_hybrid import ModelHybridMethod
from masktron.methods.parameters import parameter
from masktron.synthesis.mixture import MixtureSearch


class LatentClassMethod(ModelHybridMethod):
    """Model-based hybrid data with categories.

    The components of the mixture are latent classes: within one, numbers are normal, and each nominal variable has
    shares of its own, independent of all other variables. What relates categories with each other and with numbers
    is carried by the classes.

    Parameters
    ----------
    k, fewest, most, family, exact, iterations, random_state, conditions, nominal, strata
        As in `model_hybrid.ModelHybridMethod`. Exact draws also have each category as often in a cluster
        as the original; plain ones are drawn from its shares, smoothed by one record with those of the file.
    starts : int
        Random starts of EM, beside those from agglomeration.

    Notes
    -----
    Source: Oganian and Domingo-Ferrer (2012), section 5, which asks for it and leaves open how; the mixture is that
    of Everitt (1988) with covariances within classes.
    """

    name: ClassVar[str] = "latent_class"
    title: ClassVar[str] = "Latent classes"
    says: ClassVar[str] = (
        "Draws numbers and categories for each latent class, in which they are independent, in cells of like "
        "conditions."
    )
    when: ClassVar[str] = "Numbers and nominal variables that have to be masked together."
    source: ClassVar[str] = "Oganian and Domingo-Ferrer 2012, section 5 (outlook); Everitt 1988"
    attacker: ClassVar[str] = (
        "Values are drawn from means, covariances and shares of clusters alone: with the secret, too, there is "
        "nothing to invert for a record. With exact=true whoever knows all records of the file or of a cell of like "
        "conditions but one computes that one from means and shares, but for rounding."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means and covariances of the numbers, within each cluster, in each cell of like conditions and in the file; "
        "exactly with exact draws",
        "shares of all categories, there as well; exactly with exact draws",
        "linear relations between numbers that hold exactly in the file",
    )
    categories: ClassVar[bool] = True

    starts: int = parameter("Starts of EM around records drawn at random, beside the two trees.", default=1, least=0)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Draw numbers and categories of each record for its cluster."""
        return self._draw(values, context.kinds.of("nominal"), generator)

    def search(self) -> MixtureSearch:
        """Which mixtures are tried, and from where."""
        return replace(super().search(), drawn=int(self.starts))
