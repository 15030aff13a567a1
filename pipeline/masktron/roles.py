"""Who is who among the fields: declared roles, completed and checked against the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.errors import DocumentError, UsageError
from masktron.perturbation_settings import together
from masktron.problems.problem import Field, Known, Note, Place, Setting
from masktron.problems.problem import fields as problem_fields
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import XML_SPACE, parse_number

_CATEGORIES = (Kind.NOMINAL, Kind.ORDINAL)


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """What the plan needs to know of a field.

    Attributes
    ----------
    numeric : bool
        Masked as a number; otherwise as categories.
    declared_category : bool
        Whether a field that is not masked is declared as nominal or ordinal.
    order : tuple of str, or None
        Its categories from the lowest to the highest; empty where they are numbers in their own order, None where
        they have no order.
    lowest : float
        Smallest number that it holds; minus infinity where it holds none or text.
    codes : tuple of str
        Lexemes that mean 'missing' in it.
    gaps : bool
        Whether a value is missing in some record.
    """

    name: str
    role: Role
    numeric: bool
    lowest: float
    codes: tuple[str, ...] = ()
    gaps: bool = True
    order: tuple[str, ...] | None = None
    declared_category: bool = False

    @property
    def lowest_read(self) -> float:
        """Smallest number that a rule can read in it: rules see a missing code that is a number as this number."""
        return min([self.lowest, *map(float, self.code_numbers)]) if self.gaps else self.lowest

    @property
    def kind(self) -> Kind:
        """What its values are: numbers, or categories with or without an order."""
        if self.numeric:
            return Kind.NUMBER
        return Kind.NOMINAL if self.order is None else Kind.ORDINAL

    @property
    def ordered_by_number(self) -> bool:
        """Whether a higher place in the order means a larger number, as rules compare values, and only then."""
        if self.order is None:
            return False
        numbers = [parse_number(lexeme) for lexeme in self.order]
        return all(low < high for low, high in pairwise(numbers))  # NaN is neither below nor above

    @property
    def code_numbers(self) -> frozenset[Fraction]:
        """Those of the codes that are numbers."""
        return frozenset(Fraction(code.strip()) for code in self.codes if not math.isnan(parse_number(code)))


def resolve_roles(records: Dataset, config: Config, *, weights_later: bool = False) -> tuple[FieldFacts, ...]:
    """Give every field of the file a role, in file order.

    A numeric field without a declared role is confidential, and so is one that is declared as nominal or ordinal.
    Another text field without a role stops the run, since it may name a respondent.

    Parameters
    ----------
    records : Dataset
    config : Config
    weights_later : bool
        Leave the weights to `require_weights`, since some records are not going to be kept.

    Raises
    ------
    UsageError
        A role or a kind is declared for a field that the file does not have, or a kind for a weight; an order holds
        a missing code; there is more than one weight; or a text field has no role.
    DocumentError
        A numeric field holds text, a value is not in the declared order, or a weight is missing, negative or not a
        number.
    """
    refuse_unknown_fields(config, list(records.columns), str(records.path))
    _refuse_unnamed(records, config)
    facts = tuple(_facts(column, config, records) for column in records.columns.values())
    weights = [fact.name for fact in facts if fact.role is Role.WEIGHT]
    if len(weights) > 1:
        named = problem_fields(weights)
        raise UsageError.of(
            "given-twice",
            records.path,
            one=named[0],
            other=named[1:],
            to=" as the weight",
            why=Note(": [[--role {fields}=weight]]", fields=named),
        )
    if not weights_later:
        require_weights(records, facts)
    return facts


def refuse_unknown_fields(config: Config, names: Sequence[str], source: str) -> None:
    """Refuse settings for fields that a file does not have, all at once, each with the names that are near.

    Raises
    ------
    UsageError
    """
    treated: dict[str, Iterable[str]] = {
        "--recode": config.recode,
        "--pram": [name for names in config.pram for name in together(names)],
        "--swap": config.swap.get("regions", ()),
    }
    declared: dict[str, Iterable[str]] = {
        **treated,
        "--role": [name for name in config.roles if name not in chain(*treated.values())],
        "--missing": [name for name in config.missing if name != ALL_FIELDS],
        "--nominal": config.nominal,
        "--ordinal": config.ordinal,
        "--numeric": config.numeric,
        "--quasi-identifier": config.quasi_identifiers,
    }
    known = frozenset(names)
    unknown = dict.fromkeys(name for given in declared.values() for name in given if name not in known)
    if unknown:
        settings = tuple(
            Setting(option) for option, given in declared.items() if not unknown.keys().isdisjoint(given)
        )
        alike = {name: [one for one in names if one.casefold() == name.casefold()] for name in unknown}
        near = {name: tuple(alike[name] or get_close_matches(name, names)) for name in unknown}
        hints = tuple(Known(name, one) for name, one in near.items() if one) or (
            Known(next(iter(unknown)), tuple(names)),
        )
        asked_by = Note(", which {settings:and} {settings:names|name}", settings=settings)
        raise UsageError.of(
            "unknown-name", source, name=problem_fields(unknown), known=hints, kind="field", asked_by=asked_by
        )


def _refuse_unnamed(records: Dataset, config: Config) -> None:
    """Refuse text fields of which nobody says what they are, all at once."""
    names = [
        name
        for name, column in records.columns.items()
        if name not in config.roles and config.kind_of(name) is None and _holds_text(column)
    ]
    if names:
        dated = problem_fields(name for name in names if records.columns[name].variable.moments)
        dates = Note("; {fields:and} {fields:holds|hold} dates or times", fields=dated) if dated else ""
        raise UsageError.of("no-role", records.path, fields=problem_fields(names), dates=dates)


def _holds_text(column: Column) -> bool:
    """Whether a field holds texts, and not for the most part numbers."""
    texts, numbers = _counts(column, None)
    return texts > 0 and numbers <= texts


def _counts(column: Column, kind: Kind | None) -> tuple[int, int]:
    """How many values are texts, and how many are numbers: none in a column of texts that nobody calls numbers."""
    present = int(column.present.sum())
    texts_alone = column.typed.text and kind is not Kind.NUMBER
    numbers = 0 if texts_alone else int(column.is_number[column.present].sum())
    return present - numbers, numbers


def _facts(column: Column, config: Config, records: Dataset) -> FieldFacts:
    name = column.name
    role = config.roles.get(name)
    kind = config.kind_of(name)
    texts, numbers = _counts(column, kind)
    lowest = float(np.nanmin(column.values)) if numbers and not texts else -np.inf
    codes = tuple(sorted(config.missing.get(name, frozenset()) | config.missing.get(ALL_FIELDS, frozenset())))
    gaps = not bool(column.present.all())
    if role in (Role.IDENTIFIER, Role.RECORD_ID, Role.UNTOUCHED, Role.QUASI_IDENTIFIER):
        numeric = texts == 0 and numbers > 0
        return FieldFacts(name, role, numeric, lowest, codes, gaps, declared_category=kind in _CATEGORIES)
    if role is Role.WEIGHT and kind in _CATEGORIES:
        to = Note(" for {field}", field=Field(name))
        raise UsageError.of("given-twice", one=Role.WEIGHT, other=kind, to=to)
    if kind in _CATEGORIES and (texts or numbers):
        order = config.ordinal.get(name)
        if order is not None:
            _check_order(column, order, codes, records)
        return FieldFacts(name, role or Role.CONFIDENTIAL, False, lowest, codes, gaps, order)
    if texts and (numbers > texts or kind is Kind.NUMBER):
        _refuse_text(column, records)
    if not texts and not numbers and role is None:
        # A field that never holds a value has nothing to mask; it is written as it is.
        return FieldFacts(name, Role.UNTOUCHED, False, lowest, codes, gaps)
    return FieldFacts(name, role or Role.CONFIDENTIAL, texts == 0, lowest, codes, gaps)


def _refuse_text(column: Column, records: Dataset) -> None:
    at = int(np.flatnonzero(column.present & ~column.is_number)[0])
    place = Place(str(records.path), int(records.lines[at]), record=at + 1)
    raise DocumentError.of("text-in-numbers", place, field=Field(column.name))


def _check_order(column: Column, order: tuple[str, ...], codes: tuple[str, ...], records: Dataset) -> None:
    """Refuse an order that names a missing code, or that lacks a value; the value itself is not shown."""
    name = column.name
    if both := sorted(set(order).intersection(codes)):
        detail = f"has {counted(len(both), 'value')} that {'means' if len(both) == 1 else 'mean'} 'missing'"
        raise UsageError.of("bad-order", field=Field(name), detail=detail)
    lacking = column.present & np.isnan(ranks(column, order))
    if not lacking.any():
        return
    at = int(np.flatnonzero(lacking)[0])
    detail = "lacks the value of this record" if order else "has no place for the text of this record"
    place = Place(str(records.path), int(records.lines[at]), record=at + 1)
    raise DocumentError.of("bad-order", place, field=Field(name), detail=detail)


def ranks(column: Column, order: tuple[str, ...]) -> NDArray[np.float64]:
    """Place the values of an ordinal field in their order.

    Parameters
    ----------
    column : Column
    order : tuple of str
        Values from the lowest to the highest, compared without white space around; empty for numbers in their order.

    Returns
    -------
    ndarray of float64, shape (n,)
        Place in `order`, or among the numbers of the column, from 0; NaN where the value is missing or has none.
    """
    used = column.used
    found = np.full(len(used), np.nan)
    if not order:
        known = used & ~np.isnan(column.numbers)
        found[known] = np.unique(column.numbers[known], return_inverse=True)[1]
        return found[column.codes]
    place = {lexeme: rank for rank, lexeme in enumerate(order)}
    present = np.flatnonzero(used & (column.states == Status.PRESENT))
    found[present] = [place.get(str(text).strip(XML_SPACE), np.nan) for text in column.lexicon.some(present)]
    return found[column.codes]


def require_weights(records: Dataset, facts: Iterable[FieldFacts], keep: NDArray[np.bool_] | None = None) -> None:
    """Refuse a weight that is missing, or no positive number, in a record.

    Parameters
    ----------
    records : Dataset
    facts : iterable of FieldFacts
    keep : ndarray of bool, shape (n,), optional
        The records that count; all by default.

    Raises
    ------
    DocumentError
        Naming the first such record of the file.
    """
    for fact in facts:
        if fact.role is Role.WEIGHT:
            _check_weight(records, fact.name, keep)


def _check_weight(records: Dataset, name: str, keep: NDArray[np.bool_] | None) -> None:
    column = records.columns[name]
    wrong = ~(column.values > 0)
    bad = np.flatnonzero(wrong if keep is None else wrong & keep)
    if bad.size:
        at = int(bad[0])
        place = Place(str(records.path), int(records.lines[at]), record=at + 1)
        raise DocumentError.of("bad-weights", place, field=Field(name))
