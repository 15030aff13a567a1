"""What a field holds, as the search for rules needs it: exact integers, texts with their counts, what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Kind, Role
from masktron.likely_roles import called_like_codes, code_reason
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import XML_SPACE
from masktron.sources.variables import NONE, Variable

MOST_PLACES = 6
"""Fraction digits up to which numbers are added."""
_EXACT = 1 << 50
"""Integers below this come out of a double without doubt: a rounding moves them by less than a quarter."""
_ROOM = 1 << 54
"""Hundreds of terms stay within int64."""
MOST_TEXTS = 50
"""Different texts up to which a field may have a list of them."""
_NOT_XPATH = re.compile(r"[eE+]")
_LEADING_ZERO = re.compile(f"[{XML_SPACE}]*-?0[0-9]")


@dataclass(frozen=True, slots=True, eq=False)
class FieldProfile:
    """A field of the records.

    Attributes
    ----------
    name : str
    column : Column
    present : ndarray of bool, shape (n,)
        Records with a value that is no code for a missing one.
    numeric : bool
        All values are numbers, and XPath 1.0 reads each of them.
    places : int
        Largest number of fraction digits.
    exact : ndarray of int64, shape (n,), or None
        ``value * 10**places``, 0 where nothing is present; None where that is not exact.
    texts : mapping of str to int
        How often each lexeme stands there, of those present.
    coded : bool
        The values are categories: somebody says so, or they look like codes.
    role : Role or None
    codes : tuple of str
        Lexemes that mean 'missing'.
    absent : bool
        Some record has no such element, or an empty one.
    variable : Variable
        What the file says of it.
    """

    name: str
    column: Column
    present: NDArray[np.bool_]
    numeric: bool
    places: int
    exact: NDArray[np.int64] | None
    texts: Mapping[str, int]
    coded: bool
    role: Role | None
    codes: tuple[str, ...]
    absent: bool
    variable: Variable

    @property
    def complete(self) -> bool:
        """Whether every record has a value."""
        return bool(self.present.all())

    @property
    def quantity(self) -> bool:
        """Whether it is reckoned with."""
        return self.exact is not None and not self.coded and self.role is not Role.IDENTIFIER

    @property
    def by_number(self) -> bool:
        """Whether its values are compared as numbers, and not as texts."""
        return self.numeric and not any(map(_LEADING_ZERO.match, self.texts))


def profiles_of(records: Dataset, config: Config, variables: Mapping[str, Variable]) -> dict[str, FieldProfile]:
    """Look at each field once.

    Parameters
    ----------
    records : Dataset
    config : Config
        With the kinds, roles and codes that are declared, by the file as well.
    variables : mapping of str to Variable
        By name.

    Returns
    -------
    dict of str to FieldProfile
        In the order of the file, without fields that hold nothing.
    """
    found = {}
    for name, column in records.columns.items():
        present = column.present
        if not present.any():
            continue
        texts = Counter(column.lexemes[present].tolist())
        numeric = column.numeric and not column.typed.text and _NOT_XPATH.search("".join(texts)) is None
        codes = config.missing.get(name, frozenset()) | config.missing.get("*", frozenset())
        kind = config.kind_of(name)
        found[name] = FieldProfile(
            name=name,
            column=column,
            present=present,
            numeric=numeric,
            places=column.decimals,
            exact=exact_of(column) if numeric else None,
            texts=texts,
            coded=_coded(name, texts, kind, numeric=numeric),
            role=config.roles.get(name),
            codes=tuple(sorted(codes)),
            absent=bool(((column.status == Status.ABSENT) | (column.status == Status.EMPTY)).any()),
            variable=variables.get(name, Variable(name, name, labels=NONE)),
        )
    return found


def exact_of(column: Column) -> NDArray[np.int64] | None:
    """Return the numbers of a column as integers in units of their last digit; None where that is not exact."""
    if column.decimals > MOST_PLACES:
        return None
    scaled = np.where(column.present, column.values, 0.0) * 10.0**column.decimals
    if np.abs(scaled).max(initial=0.0) >= _EXACT:
        return None
    return np.rint(scaled).astype(np.int64)


def aligned(fields: list[FieldProfile], places: int) -> list[NDArray[np.int64] | None]:
    """Return fields in units of the same digit; None where that leaves no room to add."""
    found: list[NDArray[np.int64] | None] = []
    for field in fields:
        factor = 10 ** (places - field.places)
        largest = 0 if field.exact is None else int(np.abs(field.exact).max(initial=0))
        found.append(None if field.exact is None or largest * factor >= _ROOM else field.exact * factor)
    return found


def _coded(name: str, texts: Mapping[str, int], kind: Kind | None, *, numeric: bool) -> bool:
    if kind is not None or not numeric:
        return kind is not Kind.NUMBER
    # years are in order with each other, whatever masking asks about them
    return bool(
        code_reason(
            name if called_like_codes(name, years=False) else "", {t.strip(XML_SPACE): n for t, n in texts.items()}
        )
    )
