"""Numbers that look like codes: few different integers, or with zeros before them.

Means of codes say nothing, and look like data. So a field that looks like one of codes is not masked as a number
before somebody says what it is, unless a rule adds, multiplies or orders it, as rules do with quantities only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from masktron.classify import Edit
from masktron.classify.forms import form_of, variables_of_atom
from masktron.config import Config, Role
from masktron.constraints import Atom, CrossRecordEdit, Linear, OpaqueEdit, Polynomial, Product
from masktron.errors import UsageError
from masktron.read.lexical import XML_SPACE, is_integer
from masktron.read.records import Column, Records
from masktron.roles import FieldFacts

MOST_CODES = 15
"""Different integers up to which a field may be one of codes."""
RECORDS_A_CODE = 5
"""Records that each of them stands in on average, at least; where they are fewer, few values come of few records."""
_LEADING_ZERO = re.compile(f"[{XML_SPACE}]*[+-]?0[0-9]+")


@dataclass(frozen=True, slots=True)
class Suspects:
    """Fields that look like codes, by name, with the number of their different values.

    Attributes
    ----------
    codes : tuple of (str, int)
        No rule treats them as quantities.
    quantities : tuple of (str, int)
        Some rule does.
    """

    codes: tuple[tuple[str, int], ...]
    quantities: tuple[tuple[str, int], ...]

    def require_kinds(self, source: str) -> None:
        """Refuse to mask codes as numbers.

        Raises
        ------
        UsageError
            There are some; names all of them, with options to copy.
        """
        if not self.codes:
            return
        found = ", ".join(f"{name} has {count} different values" for name, count in self.codes)
        nominal = " ".join(f"--nominal {name}" for name, _ in self.codes)
        taken = "it as a quantity" if len(self.codes) == 1 else "them as quantities"
        raise UsageError(
            f"{found}: codes? They would be averaged, and no rule treats {taken}",
            where=source,
            hint=f"for codes: {nominal} (or --ordinal FIELD, in the order of their numbers); for quantities: "
            + " ".join(f"--numeric {name}" for name, _ in self.codes),
        )

    def notes(self) -> tuple[str, ...]:
        """Say which few integers are taken for quantities."""
        if not self.quantities:
            return ()
        names = ", ".join(f"{name} ({count} different values)" for name, count in self.quantities)
        return (
            f"few different integers, masked as numbers since rules treat them as quantities: {names}; declare codes "
            "with --nominal or --ordinal, quantities with --numeric",
        )


def suspects(records: Records, facts: Sequence[FieldFacts], edits: Sequence[Edit], config: Config) -> Suspects:
    """Find the fields that would be masked as numbers and look like codes.

    A field looks like one of codes where all its values are written as integers, and either one of them begins with a
    zero that counts for nothing (``01``), or there are 2 to `MOST_CODES` different ones and at least `RECORDS_A_CODE`
    records for each of them on average. A rule treats it as a quantity where it adds or multiplies it, or puts it in
    order with another field; a comparison with a constant, a set of values or the equality of two fields does not.

    Fields that are declared as numeric are quantities.
    """
    asked = [fact.name for fact in facts if fact.numeric and fact.role is Role.CONFIDENTIAL]
    counts = {name: _values_of_codes(records.columns[name]) for name in asked if name not in config.numeric}
    treated = {name for edit in edits for name in _quantities(edit)}
    found = [(name, count) for name, count in counts.items() if count]
    return Suspects(
        tuple(one for one in found if one[0] not in treated), tuple(one for one in found if one[0] in treated)
    )


def _values_of_codes(column: Column) -> int:
    """Return how many different values a field has that looks like one of codes, and 0 for any other."""
    if column.decimals:
        return 0
    held = column.lexemes[column.present].tolist()
    # most amounts end here: there are very many of them
    many = len(np.unique(column.values[column.present])) > MOST_CODES
    if many and not any(map(_LEADING_ZERO.match, held)):
        return 0
    distinct = {str(lexeme).strip(XML_SPACE) for lexeme in set(held)}
    if not all(map(is_integer, distinct)):
        return 0
    few = 2 <= len(distinct) <= MOST_CODES and len(held) >= RECORDS_A_CODE * len(distinct)
    return len(distinct) if few or any(map(_LEADING_ZERO.fullmatch, distinct)) else 0


def _quantities(edit: Edit) -> Iterator[str]:
    """Yield the fields that a rule adds, multiplies, or puts in order with another one."""
    match edit.constraint:
        case OpaqueEdit():
            return
        case CrossRecordEdit(bounds=bounds):
            for bound in bounds:
                yield from (tally.field for tally, _ in bound.terms if tally.function in ("sum", "avg"))
        case constraint:
            for disjunct in form_of(constraint):
                for atom in disjunct:
                    if _reckons(atom):
                        yield from variables_of_atom(atom)


def _reckons(atom: Atom) -> bool:
    if isinstance(atom, Linear):
        plain = atom.relation == "=" and not atom.bound and len(atom.terms) == 2
        return not (plain and sum(factor for _, factor in atom.terms) == 0)
    return isinstance(atom, Product | Polynomial)
