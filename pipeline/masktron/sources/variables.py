"""What a file says of its variables beside their values: labels, kinds, codes for missing values, types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from masktron.config import Kind
from masktron.sources.records import UNTYPED, Typed

if TYPE_CHECKING:
    import pyarrow as pa

NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Variable:
    """What a file, or a description beside it, says of a column.

    Attributes
    ----------
    name : str
        As rules, settings and results have it: see `masktron.sources.tables.column_names.xml_name`.
    column : str
        As the file has it.
    label : str
        The description of the variable; empty where there is none.
    labels : mapping of str to str
        Labels of values, by lexeme.
    missing : mapping of str to str
        Lexemes that mean 'missing' to the format, each with its label, which may be empty.
    kind : Kind or None
        What the format says that its values are.
    order : tuple of str
        Of an ordinal variable: all categories from the lowest to the highest, where the format has them.
    weight : bool
        The format says that this is the survey weight.
    typed : Typed
        What the type of the column can hold.
    stored : pyarrow.DataType or None
        The type that holds its values in another format; text when None.
    observed : frozenset of str
        Those of `missing` and `order` that nobody declared: only cells, or the categories of a type, tell them.
    ranges : tuple of str
        Ranges of values that mean 'missing', in words, such as ``90 to 99``.
    spans : tuple of (float, float)
        The same ranges as numbers that are stored; infinite where they are open.
    recoded : tuple of str or None
        Where its values were recoded: all lexemes that are written, those of classes in their order, none where the
        type of the column holds them in any case; None elsewhere. See `class_values.recoded`.
    listed : bool
        Somebody has listed its values, or put them in an order: in a description, as the enumeration of a database,
        as ordered categories. Texts without that may be names, also where they are stored as categories.
    """

    name: str
    column: str
    label: str = ""
    labels: Mapping[str, str] = NONE
    missing: Mapping[str, str] = NONE
    kind: Kind | None = None
    order: tuple[str, ...] = ()
    weight: bool = False
    typed: Typed = UNTYPED
    stored: pa.DataType | None = None
    observed: frozenset[str] = frozenset()
    ranges: tuple[str, ...] = ()
    spans: tuple[tuple[float, float], ...] = ()
    listed: bool = False
    recoded: tuple[str, ...] | None = None

    @property
    def declared_missing(self) -> Mapping[str, str]:
        """Codes that mean 'missing', whatever records hold, each with its label."""
        return {code: label for code, label in self.missing.items() if code not in self.observed}

    @property
    def declared_order(self) -> tuple[str, ...]:
        """Categories from the lowest to the highest, whatever records hold."""
        return tuple(value for value in self.order if value not in self.observed)
