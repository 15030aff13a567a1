"""A run that was refused: what remedies are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Role
from masktron.roles import FieldFacts
from masktron.sources.dataset import Dataset


@dataclass(frozen=True, slots=True)
class RefusedRun:
    """What remedies are made of.

    Attributes
    ----------
    config : Config
        As it was stated.
    fields : mapping of str to FieldFacts
        Empty where the original was refused.
    rules : mapping of str to frozenset of str
        Fields that a rule reads, by its id.
    records : Dataset or None
        Those that would be released.
    heights : mapping of str to int
        Of fields recoded by a hierarchy: its highest level that leaves more than one value.
    """

    config: Config
    fields: Mapping[str, FieldFacts] = field(default_factory=dict)
    rules: Mapping[str, frozenset[str]] = field(default_factory=dict)
    records: Dataset | None = None
    heights: Mapping[str, int] = field(default_factory=dict)

    @property
    def masked(self) -> tuple[str, ...]:
        """The fields that are masked."""
        return tuple(name for name, fact in self.fields.items() if fact.role is Role.CONFIDENTIAL)

    @property
    def keys(self) -> tuple[str, ...]:
        """The quasi-identifiers that are written as they are, but for the weight."""
        return tuple(name for name, fact in self.fields.items() if fact.role is Role.QUASI_IDENTIFIER)

    @property
    def masked_keys(self) -> tuple[str, ...]:
        """The quasi-identifiers that are masked, or may be where the fields are not known."""
        return tuple(name for name in self.config.quasi_identifiers if name in self.masked or not self.fields)

    def groups(self, k: int) -> bool:
        """Tell whether the records make two groups of k, as far as that is known."""
        return self.records is None or len(self.records) >= 2 * k

    def values(self, name: str) -> int:
        """Return how many different values a field has."""
        return 0 if self.records is None else len(self.records.columns[name].texts())

    def width(self, name: str, classes: int) -> int:
        """Return the width that makes at most so many classes: 1, 2 or 5 by a power of ten; 0 for texts."""
        numbers = self._numbers(name)
        if not numbers.size:
            return 0
        least = (float(numbers.max()) - float(numbers.min())) / classes
        widths = (step * 10**power for power in range(15) for step in (1, 2, 5))
        return next((width for width in widths if width >= least), 0)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a field; none where it has texts, too."""
        column = None if self.records is None else self.records.columns[name]
        if column is None or not bool(column.is_number[column.present].all()):
            return np.empty(0)
        return column.values[column.present]

    def whole(self, name: str) -> bool:
        """Tell whether all values of a field are whole numbers."""
        if self.records is None:
            return False
        column = self.records.columns[name]
        return not column.decimals and bool(column.is_number[column.present].all())
