"""Where records and fields stand in the XML that rules mean."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

TABLE_PATH = ("Data", "Record")
"""What stands around the fields of a table where nobody says it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A variable of the file: a child element or an attribute of the record.

    Attributes
    ----------
    name : str
        The name that rules, options and reports use: the local name, ``@`` before it for an attribute.
    tag : str
        Clark name, ``{namespace}local`` or ``local``, without ``@``.
    attribute : bool
    """

    name: str
    tag: str
    attribute: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Where records and fields stand in the document.

    Attributes
    ----------
    record_path : tuple of str
        Clark names from the root element to the record element, both included.
    fields : tuple of Field
        In the order in which the file first shows them.
    root_attributes, nsmap
        Attributes and namespace declarations of the root element.
    encoding : str
    """

    record_path: tuple[str, ...]
    fields: tuple[Field, ...]
    root_attributes: tuple[tuple[str, str], ...] = ()
    nsmap: tuple[tuple[str | None, str], ...] = ()
    encoding: str = "UTF-8"

    def field(self, name: str) -> Field | None:
        """Return the field with this name, or None."""
        return next((f for f in self.fields if f.name == name), None)

    @property
    def record_tag(self) -> str:
        """Clark name of the record element."""
        return self.record_path[-1]


@dataclass(frozen=True, slots=True)
class Shape:
    """Whether the file is a plain table: like records, each with single fields that hold text only.

    Attributes
    ----------
    flat : bool
    reason : str
        What is not flat, in one sentence; empty for a flat file.
    line : int
        Where that was first seen; 0 for a flat file.
    single : frozenset of str
        Of a file that is not flat, the fields that stand in a record once at most, with a text alone.
    """

    flat: bool
    reason: str = ""
    line: int = 0
    single: frozenset[str] = dataclass_field(default=frozenset(), compare=False)
