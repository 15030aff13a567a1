"""What a method promises about the protection of the records: a closed union, each with its sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

ORIGINAL = "the original"
"""What has the variance that noise is a share of, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class IdenticalGroups:
    """At least k records share each combination of masked values, block by block."""

    kind: ClassVar[str] = "identical-groups"
    k: int

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return f"in each block of variables, at least {self.k} records share each combination of masked values"

    @property
    def says_of_whole_records(self) -> str:
        """The promise where groups are the same in all blocks, and nothing is solved in each record."""
        return f"at least {self.k} records share each combination of the values of all masked fields"


@dataclass(frozen=True, slots=True)
class PartitionedSynthesis:
    """The values of a record are drawn for a group of at least k, from what the group has in common."""

    kind: ClassVar[str] = "partitioned-synthesis"
    k: int

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return (
            f"values of each record are drawn for a group of at least {self.k} records, from figures of "
            "groups alone; the records of a group need not be alike"
        )


@dataclass(frozen=True, slots=True)
class NoiseAdded:
    """Noise with this share of the variance is added to every drawn value.

    Attributes
    ----------
    share : float
    of : str
        What has the variance.
    """

    kind: ClassVar[str] = "noise-added"
    share: float
    of: str = ORIGINAL

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return f"noise with {100 * self.share:g} % of the variance of {self.of} is part of every drawn value"


@dataclass(frozen=True, slots=True)
class ModelDrawn:
    """All drawn values of a record are from a model of the file."""

    kind: ClassVar[str] = "model-drawn"

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return "every drawn value is from a model that is fitted to many records"


@dataclass(frozen=True, slots=True)
class MarkedReplaced:
    """Every value beyond a threshold is replaced by drawn ones; all others stay as they are."""

    kind: ClassVar[str] = "marked-replaced"
    cluster: int

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return (
            f"every value beyond its threshold is replaced by one drawn from a cluster of at least {self.cluster} "
            "such records; values within the thresholds are those of the respondents"
        )


@dataclass(frozen=True, slots=True)
class ValuesExchanged:
    """The values of each drawn field change places among the records."""

    kind: ClassVar[str] = "values-exchanged"

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        return (
            "values of each field change places among the records, and stay in the file as often as before, but for "
            "what rules move"
        )


type MethodContract = (
    IdenticalGroups | PartitionedSynthesis | NoiseAdded | ModelDrawn | MarkedReplaced | ValuesExchanged
)
"""What `check` tests of a masked file, from the manifest."""

KINDS: tuple[type[MethodContract], ...] = (
    IdenticalGroups,
    PartitionedSynthesis,
    NoiseAdded,
    ModelDrawn,
    MarkedReplaced,
    ValuesExchanged,
)


def as_plain(contract: MethodContract) -> dict[str, Any]:
    """Return a contract as plain data: its kind and its parameters."""
    return {"kind": contract.kind, **asdict(contract)}


def contract_from(plain: Mapping[str, Any]) -> MethodContract:
    """Build a contract from plain data.

    Raises
    ------
    KeyError, TypeError, ValueError
        Something is missing, of a wrong type, or no contract.
    """
    for kind in KINDS:
        if kind.kind == plain["kind"]:
            values = {one.name: _parameter(one.name, plain[one.name]) for one in fields(kind)}
            if unknown := sorted(plain.keys() - {"kind", *values}):
                raise ValueError(f"a contract of the kind {kind.kind} has no {unknown[0]!r}")
            return kind(**values)
    raise ValueError(f"there is no contract of the kind {plain['kind']!r}")


def _parameter(name: str, value: Any) -> Any:
    """Check a parameter: a share above 0, what it is a share of, or the number of records of a group."""
    allowed = {"share": int | float, "of": str}.get(name, int)
    if not isinstance(value, allowed) or isinstance(value, bool):
        raise TypeError(f"{name!r} of the contract is not of the right kind")
    if isinstance(value, int | float) and not (
        math.isfinite(value) and value >= (2 if allowed is int else 0) and value
    ):
        raise ValueError(f"{name} of the contract is {value!r}")
    return value
