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
    population_uniques, expected : float
        By the weights: records expected to be alone in the population, and expected re-identifications.
    mean, largest : float
        Risk of a record, from 0 to 1, likewise.
    model_uniques, model_expected : float or None
        The same two numbers by a log-linear model; None where it has no key.
    model_pairs : tuple of tuple of str
        Keys whose interaction the model has; empty for main effects alone.
    model_without : str or None
        The weight, where the model leaves it out as few records share its values.
    missing : int
        Records that lack a value of a key.
    wildcards : bool
        Whether a missing value matches every value; where there are too many patterns of them, it is one of its own.
    minimal_uniques : tuple of int, or None
        Minimal sample uniques of one value, two and three; None where they were not looked for.
    contributions : mapping of str to float, or None
        Of their scores, what comes from each field, in per cent.
    """

    KEYS: ClassVar = (
        "fields stated weight records k below below_without_weight k_without_weight population_uniques "
        "expected mean largest model_uniques model_expected model_pairs model_without missing wildcards "
        "minimal_uniques contributions"
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
    mean: float
    largest: float
    model_uniques: float | None
    model_expected: float | None
    model_pairs: tuple[tuple[str, ...], ...]
    model_without: str | None
    missing: int
    wildcards: bool
    minimal_uniques: tuple[int, ...] | None
    contributions: Mapping[str, float] | None
    k_without_weight: float | None = None

    @classmethod
    def of(cls, keys: KeyFile) -> KeyRisk:
        """Put together what is known of the keys of a file."""
        others, model, names = keys.without_weight, keys.modelled, keys.modelled_names
        unique = keys.uniqueness if keys.has_uniqueness else None
        return cls(
            fields=keys.names,
            stated=keys.stated,
            weight=keys.weight,
            records=len(keys),
            k=keys.frequencies.smallest,
            below={str(k): keys.frequencies.below(k) for k in _BELOW},
            below_without_weight=None if others is None else {str(k): others.below(k) for k in _BELOW},
            population_uniques=keys.alone_by_weights,
            expected=keys.risk.expected,
            mean=keys.risk.mean,
            largest=keys.risk.largest,
            model_uniques=None if model is None else model.tau1,
            model_expected=None if model is None else model.expected,
            model_pairs=() if model is None else tuple((names[a], names[b]) for a, b in model.pairs),
            model_without=keys.weight if names != keys.names else None,
            missing=keys.lacking,
            wildcards=keys.frequencies.wildcards,
            minimal_uniques=None if unique is None else unique.sizes,
            contributions=None if unique is None else dict(zip(keys.names, unique.by_field.tolist(), strict=True)),
            k_without_weight=None if others is None else others.smallest,
        )
