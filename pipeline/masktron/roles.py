"""Who is who among the fields: declared roles, completed and checked against the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masktron.config import ALL_FIELDS, Config, Role, did_you_mean
from masktron.errors import DocumentError, UsageError
from masktron.read.lexical import parse_number
from masktron.read.records import Column, Records

ROLE_HINT = "declare it: --role {name}=identifier (removed), =untouched (written as it is) or =confidential (masked)"


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """What the plan needs to know of a field.

    Attributes
    ----------
    numeric : bool
        Masked as a number; otherwise as categories.
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

    @property
    def code_numbers(self) -> frozenset[Fraction]:
        """Those of the codes that are numbers."""
        return frozenset(Fraction(code.strip()) for code in self.codes if not math.isnan(parse_number(code)))


def resolve_roles(records: Records, config: Config) -> tuple[FieldFacts, ...]:
    """Give every field of the file a role, in file order.

    A numeric field without a declared role is confidential. A text field without one stops the run, since it may
    name a respondent.

    Raises
    ------
    UsageError
        A role is declared for a field that the file does not have, there is more than one weight, a text field has
        no role, or no field is left to mask.
    DocumentError
        A numeric field holds text, or a weight is missing, negative or not a number.
    """
    _refuse_unknown(config.roles, records, "a role")
    _refuse_unknown({name: None for name in config.missing if name != ALL_FIELDS}, records, "missing codes")
    facts = tuple(_facts(column, config, records) for column in records.columns.values())
    weights = [fact.name for fact in facts if fact.role is Role.WEIGHT]
    if len(weights) > 1:
        raise UsageError(f"two fields are declared as the weight: {', '.join(weights)}", hint="keep one of them")
    for name in weights:
        _check_weight(records, name)
    if not any(fact.role is Role.CONFIDENTIAL for fact in facts):
        raise UsageError(
            "no field is left to mask",
            where=str(records.source),
            hint="numeric fields are masked unless they have another role; declare at least one =confidential",
        )
    return facts


def _refuse_unknown(names: Mapping[str, object], records: Records, what: str) -> None:
    for name in names:
        if name not in records.columns:
            raise UsageError(
                f"{what} is declared for {name!r}, a field that the file does not have",
                where=str(records.source),
                hint=did_you_mean(name, records.columns),
            )


def _facts(column: Column, config: Config, records: Records) -> FieldFacts:
    name = column.field.name
    role = config.roles.get(name)
    numbers = int(column.is_number[column.present].sum())
    texts = int(column.present.sum()) - numbers
    lowest = float(np.nanmin(column.values)) if numbers and not texts else -np.inf
    codes = tuple(sorted(config.missing.get(name, frozenset()) | config.missing.get(ALL_FIELDS, frozenset())))
    gaps = not bool(column.present.all())
    if role in (Role.IDENTIFIER, Role.KEY, Role.UNTOUCHED):
        return FieldFacts(name, role, texts == 0 and numbers > 0, lowest, codes, gaps)
    if texts and numbers > texts:
        _refuse_text(column, records)
    if texts and role is None:
        raise UsageError(
            f"the text field {name!r} has no role; it may name a respondent",
            where=str(records.source),
            hint=ROLE_HINT.format(name=name),
        )
    if not texts and not numbers and role is None:
        # A field that never holds a value has nothing to mask; it is written as it is.
        return FieldFacts(name, Role.UNTOUCHED, False, lowest, codes, gaps)
    return FieldFacts(name, role or Role.CONFIDENTIAL, texts == 0, lowest, codes, gaps)


def _refuse_text(column: Column, records: Records) -> None:
    at = int(np.flatnonzero(column.present & ~column.is_number)[0])
    raise DocumentError(
        f"the numeric field {column.field.name!r} holds a text in record {at + 1}",
        where=f"{records.source}:{records.lines[at]}",
        hint=f"correct it, or declare it as a missing code: --missing {column.field.name}=CODE",
    )


def _check_weight(records: Records, name: str) -> None:
    column = records.columns[name]
    bad = np.flatnonzero(~(column.values > 0))
    if bad.size:
        at = int(bad[0])
        raise DocumentError(
            f"the weight {name!r} of record {at + 1} is not a positive number",
            where=f"{records.source}:{records.lines[at]}",
            hint="weights must be there and above 0 in every record",
        )
