"""What classification yields for each check."""

from __future__ import annotations

from dataclasses import dataclass

from masktron.constraints import (
    Constraint,
    CrossRecordEdit,
    DomainEdit,
    GoverningEdit,
    LinearEdit,
    OpaqueEdit,
    ProductEdit,
    ValueEdit,
)
from masktron.read.rulebook import Check


@dataclass(frozen=True, slots=True)
class Edit:
    """A check, understood.

    Attributes
    ----------
    check : Check
    pattern : str
        Identifier of its pattern.
    constraint : Constraint
    variables : tuple of str
        Every field that the rule reads: in the test, in predicates of contexts, in contexts of earlier rules, in
        variables. Sorted.
    lints : tuple of str
    """

    check: Check
    pattern: str
    constraint: Constraint
    variables: tuple[str, ...]
    lints: tuple[str, ...]

    @property
    def name(self) -> str:  # noqa: PLR0911 -- one branch per class
        """Name of the class, as users know it."""
        match self.constraint:
            case LinearEdit():
                return "linear"
            case ProductEdit():
                return "product"
            case ValueEdit():
                return "values"
            case GoverningEdit():
                return "governing"
            case DomainEdit():
                return "domain"
            case CrossRecordEdit():
                return "cross-record"
            case OpaqueEdit():
                return "opaque"
