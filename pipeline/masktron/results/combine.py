"""What `combine` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.results.result import JobResult
from masktron.serialised import told_by_key

if TYPE_CHECKING:
    from masktron.measures.combining import Combined


@dataclass(frozen=True, slots=True, repr=False)
class CombineResult(JobResult):
    """Combined estimates.

    Attributes
    ----------
    full : bool
        Whether the rule is that of fully synthetic releases.
    level : float
        Of the confidence intervals.
    quantities : mapping of str to Combined
    """

    JOB: ClassVar = "combine"
    KEYS: ClassVar = "synthetic level quantities=_named"
    EXACT: ClassVar = frozenset({"level", "_named"})

    full: bool
    level: float
    quantities: Mapping[str, Combined]

    def __getitem__(self, name: str) -> Combined:
        """Return what is known of a quantity."""
        return self.quantities[name]

    @property
    def synthetic(self) -> str:
        """How much of the releases is synthetic: ``fully`` or ``partially``."""
        return "fully" if self.full else "partially"

    @property
    def _named(self) -> list[dict[str, Any]]:
        return [{"name": name, **told_by_key(one, exact=True)} for name, one in self.quantities.items()]
