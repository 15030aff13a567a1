"""Model-based hybrid data: normal draws for the clusters of a Gaussian mixture."""

from __future__ import annotations

from typing import ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.contracts import MethodContract, PartitionedSynthesis
from masktron.errors import InfeasibleError
from masktron.methods.base import Drawn, GroupedMethod, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import parameter
from masktron.synthesis.em import FAMILIES, CovarianceFamily
from masktron.synthesis.mixture import MixtureSearch
from masktron.synthesis.model_based import draw_clusters
from masktron.synthesis.within import SPARE


class ModelHybridMethod(GroupedMethod, ConditionedMethod):
    """Model-based hybrid data.

    A Gaussian mixture is fitted, its size and family of covariances chosen by BIC, and the values of each record are
    drawn from the normal distribution of its cluster.

    Parameters
    ----------
    k : int
        Fewest records of a cluster; at least 3 more than it has dimensions are needed anyway.
    fewest, most : int
        Components that are tried. Fewer are where the records do not suffice for so many clusters.
    family : {None, "EII", "VII", "EEI", "VVI", "EEE", "VVV"}
        Covariances; None for that with the largest BIC.
    exact : bool
        Draws moved and scaled to the moments of the cluster, else plain draws.
    iterations : int
        Steps of EM at most.
    random_state : int, RandomState or None
        For the estimator.

    Notes
    -----
    Source: Oganian and Domingo-Ferrer (2012), section 2; Fraley and Raftery (2002).
    """

    name: ClassVar[str] = "model_hybrid"
    title: ClassVar[str] = "Model-based hybrid data"
    says: ClassVar[str] = (
        "Draws values from the normal distribution of each cluster of a Gaussian mixture, in cells of like "
        "conditions."
    )
    when: ClassVar[str] = "Numbers that form clusters, or are far from normal, and analyses by means and covariances."
    source: ClassVar[str] = "Oganian and Domingo-Ferrer 2012, section 2"
    attacker: ClassVar[str] = (
        "Values are drawn from means and covariances of clusters alone: with the secret, too, there is nothing to "
        "invert for a record. With exact=true whoever knows all records of the file or of a cell of like conditions "
        "but one computes that one from the means, but for rounding."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means and covariances of all variables, within each cluster, in each cell of like conditions and in the "
        "file; exactly with exact draws",
        "linear relations that hold exactly in the file",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "differences by condition within a cell",
        "relations with unmasked fields that are not conditions",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.CELLS

    fewest: int = parameter("Fewest components of a mixture that is tried.", default=2, least=1)
    most: int = parameter("Most components of a mixture that is tried.", default=10, least=1)
    family: CovarianceFamily | None = parameter(
        "Covariances of the components as in mclust: EII, VII spherical, EEI, VVI diagonal, EEE, VVV any; E the same "
        "for all components, V one for each; auto takes the family with the largest BIC.",
        default=None,
    )
    exact: bool = parameter(
        "Whether draws get the moments of their cluster exactly, or in expectation.", default=True
    )
    iterations: int = parameter("Steps of EM, after which a mixture is left out.", default=500, least=1)

    @property
    def contract(self) -> MethodContract:
        """Draws for clusters of at least k."""
        return PartitionedSynthesis(int(self.k))

    def check(self) -> Self:
        """Refuse parameters that are wrong, and more components at least than at most."""
        super().check()
        if self.fewest > self.most:
            raise self.parameters["fewest"].error(self.fewest, f"at most {self.most}, the value of most")
        return self

    def least(self, variables: int) -> int:
        """Three records more than variables, and k."""
        return max(int(self.k), variables + SPARE)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Draw the values of each record for its cluster."""
        return self._draw(values, np.zeros(values.shape[1], dtype=bool), generator)

    def search(self) -> MixtureSearch:
        """Which mixtures are tried."""
        families = tuple(one for one in FAMILIES if self.family in {None, one})
        return MixtureSearch(int(self.fewest), int(self.most), families, int(self.k), int(self.iterations))

    def _draw(self, values: Floats, nominal: NDArray[np.bool_], generator: np.random.Generator) -> Drawn:
        require_records(len(values), self.least(int((~nominal).sum())), self.name)
        try:
            made = draw_clusters(values, nominal, self.search(), generator, exact=self.exact)
        except InfeasibleError as refused:
            refused.at(self.name)
            raise
        return Drawn(made.values, made.labels, made.notes)
