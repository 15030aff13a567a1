"""Rules of a generated rulebook, before they are spelled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pairs.values import written

type Class = Literal["linear", "product", "values", "governing", "domain", "cross-record"]
"""The classes of the edit paper: EC-LC, EC-NLC, EC-PV, EC-GV, the domain of the original, and several records."""

type Label = Literal[
    "total", "balance", "inequality", "product", "ratio", "ratio bound", "range", "set", "integrality", "multiple",
    "pattern", "order", "if-then", "either-or", "exclusion", "combination", "filter", "domain", "unique key",
    "file total", "file count",
]  # fmt: skip

_PLACE = re.compile(r"\{([A-Z]\w*)\}")


@dataclass(frozen=True, slots=True)
class Compare:
    """``left op right``: expressions with ``{NAME}`` for fields."""

    left: str
    op: Literal["=", "<=", "<", ">=", ">"]
    right: str
    exact_order: bool = False
    """The doubles agree in this order of evaluation only."""

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Balance:
    """``|difference| <= tolerance``."""

    difference: str
    tolerance: str

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.difference,)


@dataclass(frozen=True, slots=True)
class Between:
    """An interval with both ends."""

    name: str
    low: str
    high: str

    @property
    def sources(self) -> tuple[str, ...]:
        return (f"{{{self.name}}}",)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A set of texts (quoted) or numbers."""

    name: str
    values: tuple[str, ...]
    text: bool

    @property
    def sources(self) -> tuple[str, ...]:
        return (f"{{{self.name}}}",)


@dataclass(frozen=True, slots=True)
class Raw:
    """A condition that has one spelling for each version of XPath, with ``{NAME}`` for fields as they are."""

    old: str
    new: str

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.old,)


type Atom = Compare | Balance | Between | OneOf | Raw
type Cases = tuple[tuple[Atom, ...], ...]
"""A disjunction of conjunctions."""


def variables_in(*atoms: Atom) -> tuple[str, ...]:
    """Return the names of the fields that atoms read, without repetitions."""
    return tuple(dict.fromkeys(name for atom in atoms for text in atom.sources for name in _PLACE.findall(text)))


@dataclass(frozen=True, slots=True)
class Edit:
    """IF antecedent THEN consequent ELSE otherwise; most rules have a consequent only."""

    id: str
    label: Label
    kind: Class
    consequent: Cases
    antecedent: tuple[Atom, ...] = ()
    otherwise: Cases | None = None

    @property
    def condition(self) -> tuple[str, ...]:
        return variables_in(*self.antecedent)

    @property
    def variables(self) -> tuple[str, ...]:
        cases = (*self.consequent, *(self.otherwise or ()))
        return variables_in(*self.antecedent, *(atom for case in cases for atom in case))


def always(*atoms: Atom) -> Cases:
    """Return a consequent that is one conjunction."""
    return (tuple(atoms),)


def place(name: str) -> str:
    return f"{{{name}}}"


def combined(terms: list[tuple[int, str]]) -> str:
    """Write a linear combination, from the left."""
    text = ""
    for position, (coefficient, name) in enumerate(terms):
        size = place(name) if abs(coefficient) == 1 else f"{abs(coefficient)} * {place(name)}"
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {size}" if position else (f"-{size}" if coefficient < 0 else size)
    return text


def literal(value: Fraction) -> str:
    return written(value)
