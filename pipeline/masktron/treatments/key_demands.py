"""What recoded keys must reach, and which records break it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.errors import UsageError
from masktron.treatments.roll_up import KeyGroups

_SLACK = 1e-12
"""By which share a mean of risks may lie above its limit: the order in which combinations are added up changes it."""


@dataclass(frozen=True, slots=True)
class KeyDemands:
    """What keys must reach. Every demand is monotone: a node above one that reaches it does so, too.

    Attributes
    ----------
    k : int
        Records that share each combination, at least.
    suppressed : int
        Records that may break `k` or `diversity`: they are left to local suppression.
    diversity : mapping of str to int
        For confidential fields, how many different values each combination has beside it, at least (distinct
        l-diversity). A record without a value of the field does not break it.
    mean_risk : float or None
        Mean individual risk of all records, at most, from 0 to 1; those that are left to suppress count as they are.

    Raises
    ------
    UsageError
        A number is out of its range.

    Notes
    -----
    Why all are monotone. A recoding puts combinations together. Let f be the records of a combination, F the sum of
    their weights, p = min(1, f / F).

    - k and l: f and the number of different values of a union are no smaller than those of its parts, so that who
      breaks neither before breaks neither after. So the records that break one are ever fewer.
    - Risk: the records of a combination have together the risk S(f, p) = E(p / (p + (1 - p) V)), with V of the
      distribution Beta(f, 1) (`individual_risk`: the integral of f v^(f-1) p / (p + (1 - p) v)). It falls in
      v and rises in p, and V rises with f: so S falls in f and rises in p. The p of a union is no larger than the
      larger p of its parts (f / F of a union lies between theirs), and its f no smaller than that part's: its S is at
      most that part's S, and so at most the sum.

    Source: Machanavajjhala et al. (2007), monotonicity of l-diversity; El Emam et al. (2009), with suppression.
    """

    k: int
    suppressed: int = 0
    diversity: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    mean_risk: float | None = None

    def __post_init__(self) -> None:
        if self.k < 1 or any(least < 1 for least in self.diversity.values()):
            raise UsageError.of("bad-value", name="k and l of keys", expected="1 or more", given="less")
        require_value(self.suppressed >= 0, "suppressed", "0 or more", self.suppressed)
        require_value(
            self.mean_risk is None or 0 < self.mean_risk <= 1, "mean_risk", "above 0 and at most 1", self.mean_risk
        )

    def left(self, groups: KeyGroups) -> NDArray[np.int64]:
        """Count the records of each combination that break k or l, shape (d,)."""
        small = groups.sizes < self.k
        left = np.where(small, groups.sizes, 0)
        if not self.diversity:
            return left
        names = list(groups.diverse)
        alike = np.zeros((len(groups), len(names)), dtype=np.bool_)
        for name, least in self.diversity.items():
            alike[:, names.index(name)] = groups.diverse[name].different(len(groups)) < least
        for at, pattern in enumerate(groups.patterns):
            breaks = ~small & (alike & pattern).any(axis=1)
            left += np.where(breaks, groups.having[:, at], 0)
        return left

    def hold(self, groups: KeyGroups, left: NDArray[np.int64]) -> bool:
        """Tell whether a node reaches them, given what `left` counts there."""
        if int(left.sum()) > self.suppressed:
            return False
        return self.mean_risk is None or groups.mean_risk <= self.mean_risk * (1 + _SLACK)
