"""Which fields of a masked file others may know: its quasi-identifiers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.figures import figure_of
from masktron.jobs.ordering import WRITTEN
from masktron.measures.keys.key_file import KeyFile
from masktron.problems.problem import Setting
from masktron.roles import FieldFacts
from masktron.sources.column import Column

NO_KEYS = "a quasi-identifier, and no field is named as one or written as it was"
TO_NAME_KEYS = (Setting("--quasi-identifier", ("FIELD",)), Setting("--role", ("FIELD=quasi-identifier",)))
"""What names quasi-identifiers."""


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Names of the quasi-identifiers.

    Attributes
    ----------
    names : tuple of str
        In the order of the file; empty where there is none.
    stated : bool
        Whether somebody named them.
    weight : str or None
        The weight, which is one of them where it is written.
    """

    names: tuple[str, ...]
    stated: bool
    weight: str | None

    def classes(self, columns: Mapping[str, Column]) -> NDArray[np.int64] | None:
        """Number records by what they have in all of them, shape (n,); None where there is none."""
        found = self.of(columns, None)
        return None if found is None else found.classes

    def of(self, columns: Mapping[str, Column], weights: NDArray[np.float64] | None) -> KeyFile | None:
        """Return their columns, those that there are; None where there is none.

        Parameters
        ----------
        columns : mapping of str to Column
            As the masked file has them.
        weights : ndarray of float64, shape (n,), or None
            In the same order.
        """
        there = tuple(name for name in self.names if name in columns)
        if not there:
            return None
        codes = {name: columns[name].numbered(held=True) for name in there}
        return KeyFile(there, codes, self.stated, self.weight if self.weight in there else None, weights)


def known_keys(roles: Mapping[str, Role], marked: Collection[str], telling: Collection[str] = ()) -> KnownKeys:
    """Return the quasi-identifiers by the roles of the fields.

    Those that have the role or the mark, and the weight. Where none has, all fields that are written as they were
    but for numbers of records (the role `Role.RECORD_ID`) and what tells every record by itself.

    Parameters
    ----------
    roles : mapping of str to Role
        Of the fields of the file, in its order; a field that is removed is no quasi-identifier.
    marked : collection of str
        `Config.quasi_identifiers`.
    telling : collection of str
        Fields that differ in every record.
    """
    weight = next((name for name, role in roles.items() if role is Role.WEIGHT), None)
    named = {
        name
        for name, role in roles.items()
        if role is Role.QUASI_IDENTIFIER or (name in marked and role is not Role.IDENTIFIER)
    }
    if named:
        return KnownKeys(tuple(name for name in roles if name in named or name == weight), True, weight)
    taken = [
        name
        for name, role in roles.items()
        if role in WRITTEN and role is not Role.RECORD_ID and (name not in telling or role is Role.WEIGHT)
    ]
    return KnownKeys(tuple(taken), False, weight)


def unmasked_fields(roles: Mapping[str, Role]) -> KnownKeys:
    """Return all that is written as it was but for the role `Role.RECORD_ID`, whether or not somebody named it."""
    return known_keys(without_mark(roles), ())


def without_mark(roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return the roles with none that names a quasi-identifier."""
    return {name: Role.UNTOUCHED if role is Role.QUASI_IDENTIFIER else role for name, role in roles.items()}


def keys_of_run(fields: Sequence[FieldFacts], config: Config, telling: Collection[str]) -> KnownKeys:
    """Return the quasi-identifiers of the file that a run of `mask` writes, as `known_keys` does."""
    return known_keys({fact.name: fact.role for fact in fields}, config.quasi_identifiers, telling)


def needs_keys(what: str | Setting, where: str = "") -> UsageError:
    """Return the error that something needs a quasi-identifier, where there is none."""
    return UsageError.of("needs-setting", where, name=what, needed="a quasi-identifier", setting=TO_NAME_KEYS)


def refuse_limits_without_keys(limits: Iterable[str], keys: KnownKeys) -> None:
    """Refuse limits on figures of keys where there is no key.

    Raises
    ------
    UsageError
        Naming the figure.
    """
    for name in limits:
        if "keys" in figure_of(name).needs and not keys.names:
            raise UsageError.of("needs-setting", name=name, needed="a quasi-identifier", setting=TO_NAME_KEYS)


def require_keys(names: Iterable[str], keys: KeyFile | None) -> None:
    """Refuse figures of keys that somebody asks for by name where there is no key.

    Raises
    ------
    UsageError
        Naming the figure.
    """
    asked = [name for name in names if "keys" in figure_of(name).needs]
    if asked and keys is None:
        raise UsageError.of("needs-setting", name=asked, needed="a quasi-identifier", setting=TO_NAME_KEYS)
