"""A rule that the data suggest, before it has a number: its XPath, its words, and the records that speak for it."""

from __future__ import annotations

import typing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A kind of rule that data suggest.

    Attributes
    ----------
    name : str
        As results and ``schemas/suggest.schema.json`` have it; docs/suggesting.md says what it means.
    premise : bool
        Whether other rules may follow from it, by the algebra of the pre-flight.
    related : bool
        Whether it is asked if it follows from others.
    needs_value : bool
        Whether its fields have to have a value for it to hold.
    """

    name: str
    premise: bool = True
    related: bool = False
    needs_value: bool = True


KINDS = (
    TOTAL := RuleKind("total"),
    MULTIPLE := RuleKind("multiple", related=True),
    EQUAL := RuleKind("equal", related=True),
    UNIQUE := RuleKind("unique", premise=False, needs_value=False),
    ORDER := RuleKind("order", related=True),
    IF_THEN := RuleKind("if-then", related=True, needs_value=False),
    NOT_NEGATIVE := RuleKind("not-negative"),
    CODES := RuleKind("codes"),
    INTEGER := RuleKind("integer", premise=False),
    REQUIRED := RuleKind("required", premise=False, needs_value=False),
    RANGE := RuleKind("range", premise=False),
)
"""All kinds, in the order in which equally strong ones are listed."""
type Strength = typing.Literal["strong", "fair", "guess"]
LEVELS: tuple[Strength, ...] = ("strong", "fair", "guess")


type FieldState = tuple[str, str]
"""What may hold of a record: a field, and ``zero``, ``above-zero``, ``missing``, ``there``, or ``=`` with a code."""


@dataclass(frozen=True, slots=True)
class ShownValue:
    """An XPath expression the value of which a message shows."""

    path: str


@dataclass(frozen=True, slots=True, eq=False)
class SuggestedRule:
    """A rule that the records suggest.

    Attributes
    ----------
    kind : RuleKind
    fields : tuple of str
    name : str
        What its id is made of.
    guards : tuple of str
        Conditions on the record, beside its name, in XPath.
    test : str
        In XPath 1.0.
    message : tuple of (str or ShownValue)
        What a record that breaks it is told.
    applies, fails : ndarray of bool, shape (n,)
        Records that it is asked of, and those that break it.
    strength : str
    evidence : str
        How likely it is chance, in a sentence.
    expected : float
        Logarithm of the expected number of such rules by chance; 0 where nobody can tell.
    steps : tuple of (FieldState, FieldState)
        What it says as IF the one THEN the other, as far as that is all.
    """

    kind: RuleKind
    fields: tuple[str, ...]
    name: str
    guards: tuple[str, ...]
    test: str
    message: tuple[str | ShownValue, ...]
    applies: NDArray[np.bool_]
    fails: NDArray[np.bool_]
    strength: Strength
    evidence: str
    expected: float = 0.0
    steps: tuple[tuple[FieldState, FieldState], ...] = ()
