"""A rule that the data suggest, before it has a number: its XPath, its words, and the records that speak for it."""

from __future__ import annotations

import typing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

type RuleKind = typing.Literal[
    "total",
    "multiple",
    "equal",
    "order",
    "if-then",
    "unique",
    "codes",
    "not-negative",
    "integer",
    "required",
    "range",
]
KINDS: tuple[RuleKind, ...] = (
    "total",
    "multiple",
    "equal",
    "unique",
    "order",
    "if-then",
    "not-negative",
    "codes",
    "integer",
    "required",
    "range",
)
"""In the order in which equally strong ones are listed."""
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
    kind : str
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
