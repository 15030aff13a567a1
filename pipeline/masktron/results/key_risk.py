"""What keys tell of a masked file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.measures.keys.key_file import KeyFile

_BELOW = (2, 3, 5)


@dataclass(frozen=True, slots=True)
class KeyRisk(Serialised):
    """The risk of what others may know; counts of records, and no value of one.

    Attributes
    ----------
    fields : tuple of str
        The quasi-identifiers.
    stated : bool
        Whether somebody named them; else they are what was not masked.
    weight : str or None
        That of them which is the weight.
    records : int
    k : float
        The fewest records that share a combination.
    below : mapping of str to int
        Records that share theirs with fewer than 2, 3 and 5, themselves included.
    below_without_weight : mapping of str to int, or None
        The same by the other keys alone.
    k_without_weight : float or None
        The fewest records that share a combination of these.
    population_uniques : float
        Records expected to be alone in the population.
    expected, low, high : float
        Re-identifications, with an interval of 95 per cent given the risks.
    mean, largest : float
        Risk of a record, from 0 to 1.
    modelled_uniques, modelled_matches : tuple of float
        By a log-linear model of main effects: records alone in the population, and right matches among the records
        that are alone in the file; each with its interval of 95 per cent given the model.
    wildcards : bool
        Whether a missing value matches every value; where there are too many patterns of them, it is one of its own.
    minimal_uniques : tuple of int, or None
        Minimal sample uniques of one value, two and three; None where they were not looked for.
    contributions : mapping of str to float, or None
        Of their scores, what comes from each field, in per cent.
    """

    KEYS: ClassVar = (
        "fields stated weight records k below below_without_weight k_without_weight population_uniques "
        "expected low high mean largest modelled_uniques modelled_matches wildcards minimal_uniques contributions"
    )

    fields: tuple[str, ...]
    stated: bool
    weight: str | None
    records: int
    k: float
    below: Mapping[str, int]
    below_without_weight: Mapping[str, int] | None
    population_uniques: float
    expected: float
    low: float
    high: float
    mean: float
    largest: float
    modelled_uniques: tuple[float, float, float]
    modelled_matches: tuple[float, float, float]
    wildcards: bool
    minimal_uniques: tuple[int, ...] | None
    contributions: Mapping[str, float] | None
    k_without_weight: float | None = None

    @classmethod
    def of(cls, keys: KeyFile) -> KeyRisk:
        """Put together what is known of the keys of a file."""
        others, model = keys.without_weight, keys.modelled
        unique = keys.uniqueness if keys.has_uniqueness else None
        return cls(
            fields=keys.names,
            stated=keys.stated,
            weight=keys.weight,
            records=len(keys),
            k=keys.frequencies.smallest,
            below={str(k): keys.frequencies.below(k) for k in _BELOW},
            below_without_weight=None if others is None else {str(k): others.below(k) for k in _BELOW},
            population_uniques=keys.alone_in_population,
            expected=keys.risk.expected,
            low=keys.risk.low,
            high=keys.risk.high,
            mean=keys.risk.mean,
            largest=keys.risk.largest,
            modelled_uniques=(model.tau1, *model.tau1_interval),
            modelled_matches=(model.tau2, *model.tau2_interval),
            wildcards=keys.frequencies.wildcards,
            minimal_uniques=None if unique is None else unique.sizes,
            contributions=None if unique is None else dict(zip(keys.names, unique.by_field.tolist(), strict=True)),
            k_without_weight=None if others is None else others.smallest,
        )
