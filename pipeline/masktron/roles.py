"""Who is who among the fields: declared roles, completed and checked against the data."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Kind, Role
from masktron.errors import DocumentError, UsageError, did_you_mean
from masktron.setting_values import ALL_FIELDS
from masktron.sources.lexical import XML_SPACE, parse_number
from masktron.sources.records import Column, Records, Status

ROLE_HINT = (
    "to remove {them}: {roles}; or for each --role FIELD=untouched (written as it is), --role FIELD=record-id "
    "(written as it is, links records), --role FIELD=quasi-identifier (written as it is, known to others) or "
    "--role FIELD=confidential (masked as categories); --nominal FIELD and "
    "--ordinal FIELD=LOW,MID,HIGH are for codes, --missing FIELD=CODE for values that mean 'missing'"
)
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


class UnnamedError(UsageError):
    """Text fields have no role.

    Attributes
    ----------
    fields : tuple of str
    """

    def __init__(self, fields: Iterable[str], what: str, *, where: str, hint: str) -> None:
        super().__init__(what, where=where, hint=hint)
        self.fields = tuple(fields)


def resolve_roles(records: Records, config: Config, *, weights_later: bool = False) -> tuple[FieldFacts, ...]:
    """Give every field of the file a role, in file order.

    A numeric field without a declared role is confidential, and so is one that is declared as nominal or ordinal.
    Another text field without a role stops the run, since it may name a respondent.

    Parameters
    ----------
    records : Records
    config : Config
    weights_later : bool
        Leave the weights to `require_weights`, since some records are not going to be kept.

    Raises
    ------
    UsageError
        A role or a kind is declared for a field that the file does not have, or a kind for a weight; an order holds
        a missing code; there is more than one weight; a text field has no role; or no field is left to mask.
    DocumentError
        A numeric field holds text, a value is not in the declared order, or a weight is missing, negative or not a
        number.
    """
    refuse_unknown_fields(config, list(records.columns), str(records.source))
    _refuse_unnamed(records, config)
    facts = tuple(_facts(column, config, records) for column in records.columns.values())
    weights = [fact.name for fact in facts if fact.role is Role.WEIGHT]
    if len(weights) > 1:
        raise UsageError(f"two fields are declared as the weight: {', '.join(weights)}", hint="keep one of them")
    if not weights_later:
        require_weights(records, facts)
    if not any(fact.role is Role.CONFIDENTIAL for fact in facts):
        raise UsageError(
            "no field is left to mask",
            where=str(records.source),
            hint="numeric fields are masked unless they have another role; declare one: --role FIELD=confidential",
        )
    return facts


def refuse_unknown_fields(config: Config, names: Sequence[str], source: str) -> None:
    """Refuse settings for fields that a file does not have, all at once, each with the names that are near.

    Raises
    ------
    UsageError
    """
    known, has = frozenset(names), names
    declared: dict[str, list[str]] = {}
    settings: dict[str, Iterable[str]] = {
        "a recoding": config.recode,
        "a role": [name for name in config.roles if name not in config.recode],
        "missing codes": [name for name in config.missing if name != ALL_FIELDS],
        "the kind nominal": config.nominal,
        "the kind ordinal": config.ordinal,
        "the kind numeric": config.numeric,
        "the mark of a quasi-identifier": config.quasi_identifiers,
    }
    for setting, fields in settings.items():
        for name in fields:
            if name not in known:
                declared.setdefault(name, []).append(setting)
    if not declared:
        return
    names = list(declared)
    if len(names) == 1:
        kinds = declared[names[0]]
        are = "are" if len(kinds) > 1 or "missing codes" in kinds else "is"
        what = f"{' and '.join(kinds)} {are} declared for {names[0]!r}, a field that the file does not have"
        hint = did_you_mean(names[0], has)
    else:
        listed = ", ".join(f"{name!r} ({', '.join(kinds)})" for name, kinds in declared.items())
        what = f"settings are declared for {len(names)} fields that the file does not have: {listed}"
        near = {name: did_you_mean(name, has) for name in names}
        asked = [f"{name}: {hint}" for name, hint in near.items() if hint.endswith("?")]
        others = next((hint for hint in near.values() if not hint.endswith("?")), "")
        hint = " ".join(filter(None, (*asked, others)))
    raise UsageError(what, where=source, hint=hint)


def _refuse_unnamed(records: Records, config: Config) -> None:
    """Refuse text fields of which nobody says what they are, all at once."""
    names = [
        name
        for name, column in records.columns.items()
        if name not in config.roles and config.kind_of(name) is None and _holds_text(column)
    ]
    if not names:
        return
    one = len(names) == 1
    raise UnnamedError(
        names,
        f"the text field {names[0]!r} has no role; it may name a respondent"
        if one
        else f"{len(names)} text fields have no role, and may name respondents: {', '.join(names)}",
        where=str(records.source),
        hint=ROLE_HINT.format(
            them="it" if one else "them",
            roles=" ".join(f"--role {shlex.quote(f'{name}={Role.IDENTIFIER}')}" for name in names),
        ),
    )


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


def _facts(column: Column, config: Config, records: Records) -> FieldFacts:
    name = column.field.name
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
        raise UsageError(f"the weight {name!r} is declared as {kind}", hint="a weight is a number; keep one of them")
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


def _refuse_text(column: Column, records: Records) -> None:
    at = int(np.flatnonzero(column.present & ~column.is_number)[0])
    raise DocumentError(
        f"the numeric field {column.field.name!r} holds a text in record {at + 1}",
        where=f"{records.source}:{records.lines[at]}",
        hint=f"correct it, declare it as a missing code (--missing {column.field.name}=CODE), or if its values are "
        f"codes without an order, the field as nominal (--nominal {column.field.name})",
    )


def _check_order(column: Column, order: tuple[str, ...], codes: tuple[str, ...], records: Records) -> None:
    """Refuse an order that names a missing code, or that lacks a value; the value itself is not shown."""
    name = column.field.name
    if both := sorted(set(order).intersection(codes)):
        raise UsageError(
            f"the order of {name!r} holds {', '.join(map(repr, both))}, which is declared to mean 'missing'",
            hint="keep one of them: a missing value has no place in an order",
        )
    lacking = column.present & np.isnan(ranks(column, order))
    if not lacking.any():
        return
    at = int(np.flatnonzero(lacking)[0])
    what = "that its declared order lacks" if order else "that is no number and so has no place in their order"
    raise DocumentError(
        f"the ordinal field {name!r} holds a value in record {at + 1} {what}",
        where=f"{records.source}:{records.lines[at]}",
        hint=f"name all its values, from the lowest to the highest: --ordinal {name}=LOW,MID,HIGH; or correct the "
        f"value, or declare it as a missing code: --missing {name}=CODE",
    )


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


def require_weights(records: Records, facts: Iterable[FieldFacts], keep: NDArray[np.bool_] | None = None) -> None:
    """Refuse a weight that is missing, or no positive number, in a record.

    Parameters
    ----------
    records : Records
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


def _check_weight(records: Records, name: str, keep: NDArray[np.bool_] | None) -> None:
    column = records.columns[name]
    wrong = ~(column.values > 0)
    bad = np.flatnonzero(wrong if keep is None else wrong & keep)
    if bad.size:
        at = int(bad[0])
        raise DocumentError(
            f"the weight {name!r} of record {at + 1} is not a positive number",
            where=f"{records.source}:{records.lines[at]}",
            hint="weights must be there and above 0 in every record",
        )
