"""The keys of a masked file, and what several figures ask of them, found once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.measures.keys.combinations import KeyFrequencies, combined, key_frequencies
from masktron.measures.keys.individual_risk import (
    ReidentificationRisk,
    global_risk,
    individual_risk,
    population_uniques,
)
from masktron.measures.keys.log_linear import LogLinearRisk, log_linear_risk
from masktron.measures.keys.read_off import ReadOff
from masktron.measures.keys.suda import LARGEST_SET, Uniqueness, suda

SHARED_WEIGHT = 10
"""Records by values of the weight from which it is a key of the log-linear model. A model that knows a value from m
records overstates the risk by some 1/m, as E(1/m) of a Poisson m is about (1 + 1/m) / E(m)."""


@dataclass(frozen=True, eq=False)
class KeyFile:
    """The quasi-identifiers of a masked file.

    Attributes
    ----------
    names : tuple of str
        At least one.
    columns : mapping of str to ndarray of int32, shape (n,) each
        Codes of their values as the masked file has them, -1 where missing.
    stated : bool
        Whether somebody named them; else they are what was not masked.
    weight : str or None
        That of them which is the weight.
    weights : ndarray of float64, shape (n,), or None
    told : mapping of str to ReadOff
        By key: its hidden cells that can be read off other fields; the right ones are filled in here.
    as_written : KeyFile or None
        The keys without these cells, where they were filled in.
    """

    names: tuple[str, ...]
    columns: Mapping[str, NDArray[np.int32]]
    stated: bool
    weight: str | None = None
    weights: NDArray[np.float64] | None = None
    told: Mapping[str, ReadOff] = MappingProxyType({})
    as_written: KeyFile | None = None

    def __len__(self) -> int:
        return len(self.columns[self.names[0]])

    @property
    def codes(self) -> Sequence[NDArray[np.int32]]:
        """The columns, in the order of the names."""
        return [self.columns[name] for name in self.names]

    @property
    def lacking(self) -> int:
        """Records that lack a value of a key."""
        return int(np.logical_or.reduce([codes < 0 for codes in self.codes]).sum())

    @property
    def fraction(self) -> float:
        """Records by the sum of their weights, at most 1; 1 without weights."""
        return 1.0 if self.weights is None else min(1.0, len(self) / float(self.weights.sum()))

    @cached_property
    def frequencies(self) -> KeyFrequencies:
        """How many records share a combination, with missing values as wildcards."""
        return key_frequencies(self.codes, self.weights)

    @cached_property
    def without_weight(self) -> KeyFrequencies | None:
        """The same by all keys but the weight; None where that is no key, or the only one."""
        others = [self.columns[name] for name in self.names if name != self.weight]
        return key_frequencies(others, self.weights) if 0 < len(others) < len(self.names) else None

    @cached_property
    def risk(self) -> ReidentificationRisk:
        """What individual risks add up to, by the weights alone."""
        return global_risk(individual_risk(self.frequencies))

    @cached_property
    def alone_by_weights(self) -> float:
        """Sample uniques that are expected to be alone in the population, by the weights alone."""
        return population_uniques(self.frequencies)

    @cached_property
    def modelled_names(self) -> tuple[str, ...]:
        """The keys of the log-linear model: not a weight whose values few records share."""
        if self.weight is None or len(self) >= SHARED_WEIGHT * len(np.unique(self.columns[self.weight])):
            return self.names
        return tuple(name for name in self.names if name != self.weight)

    @cached_property
    def modelled(self) -> LogLinearRisk | None:
        """Risk of all records by a log-linear model; None where it has no key."""
        names = self.modelled_names
        frequencies = self.frequencies if names == self.names else self.without_weight
        if frequencies is None:
            return None
        return log_linear_risk([self.columns[name] for name in names], self.weights, frequencies=frequencies)

    @property
    def mean_risk(self) -> float:
        """Mean risk of a record, from 0 to 1: the larger of the two estimates."""
        return self.risk.mean if self.modelled is None else max(self.risk.mean, self.modelled.mean)

    @property
    def alone_in_population(self) -> float:
        """Sample uniques that are expected to be alone in the population: the larger of the two estimates."""
        return self.alone_by_weights if self.modelled is None else max(self.alone_by_weights, self.modelled.tau1)

    @property
    def looked_at(self) -> int:
        """Records times sets of fields in which minimal sample uniques are looked for: what that takes."""
        sizes = range(1, min(LARGEST_SET, len(self.names)) + 1)
        return len(self) * sum(math.comb(len(self.names), size) for size in sizes)

    @cached_property
    def uniqueness(self) -> Uniqueness:
        """Minimal sample uniques of up to three values."""
        return suda(self.codes, fraction=self.fraction)

    @property
    def has_uniqueness(self) -> bool:
        """Whether somebody has asked for minimal sample uniques already, which take longest."""
        return "uniqueness" in self.__dict__

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Number the combinations, shape (n,); a missing value is one of its own."""
        return combined(self.codes, len(self))[0]
