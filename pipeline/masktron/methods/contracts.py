"""What a method promises about the protection of the records: a closed union, each with its sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IdenticalGroups:
    """At least k records share each combination of masked values, block by block."""

    k: int

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return f"in each block of variables, at least {self.k} records share each combination of masked values"


@dataclass(frozen=True, slots=True)
class PartitionedSynthesis:
    """The values of a record are drawn for a group of at least k, from what the group has in common."""

    k: int

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return (
            f"the masked values of each record are drawn for a group of at least {self.k} records, from figures of "
            "groups alone; records are not identical"
        )


@dataclass(frozen=True, slots=True)
class NoiseAdded:
    """Noise with this share of the variance is added to every value.

    Attributes
    ----------
    share : float
    of : str
        What has the variance.
    """

    share: float
    of: str = "the original"

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return f"noise with {100 * self.share:g} % of the variance of {self.of} is part of every masked value"


@dataclass(frozen=True, slots=True)
class ModelDrawn:
    """All values of a record are drawn from a model of the file."""

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return "every masked value is drawn from a model that is fitted to many records"


@dataclass(frozen=True, slots=True)
class MarkedReplaced:
    """Every value beyond a threshold is replaced by drawn ones; all others stay as they are."""

    cluster: int

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return (
            f"every value beyond its threshold is replaced by one drawn from a cluster of at least {self.cluster} "
            "such records; values within the thresholds are those of the respondents"
        )


type Contract = IdenticalGroups | PartitionedSynthesis | NoiseAdded | ModelDrawn | MarkedReplaced
"""What `check` tests of a masked file, from the manifest."""
