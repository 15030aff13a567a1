"""What `combine` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from masktron.results.result import JobResult
from masktron.serialised import Known

if TYPE_CHECKING:
    from masktron.measures.combining import Combined

type Synthetic = Literal["partially", "fully", "population"]
"""What releases are, to those who combine estimates from them."""


@dataclass(frozen=True, slots=True, repr=False)
class CombineResult(JobResult):
    """Combined estimates.

    Attributes
    ----------
    synthetic : {"partially", "fully", "population"}
        Which rule was taken: that of partially or fully synthetic releases, or of samples of synthetic populations.
    level : float
        Of the confidence intervals.
    quantities : mapping of str to Combined
    """

    JOB: ClassVar = "combine"
    KEYS: ClassVar = "synthetic level quantities=_named"
    EXACT: ClassVar = frozenset({"level", "_named"})

    synthetic: Synthetic
    level: Known
    quantities: Mapping[str, Combined]

    def __getitem__(self, name: str) -> Combined:
        """Return what is known of a quantity."""
        return self.quantities[name]

    @property
    def _named(self) -> tuple[Combined, ...]:
        return tuple(replace(one, name=name) for name, one in self.quantities.items())
