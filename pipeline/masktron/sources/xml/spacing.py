"""White space of the written file: one for all records, as how a record was written may tell where it came from."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from masktron.sources.record_layout import Layout
from masktron.sources.xml.microdata import iter_records


@dataclass(frozen=True, slots=True)
class Spacing:
    """White space.

    Attributes
    ----------
    inner, closing : str
        Before each field of a record, and behind the last.
    between : str
        Between records.
    """

    inner: str
    closing: str
    between: str


def spacing_of(source: Path, layout: Layout) -> Spacing:
    """Take it from the first record with fields, and from behind the first record.

    Raises
    ------
    DocumentError
        The file cannot be read.
    """
    between: str | None = None
    with closing(iter_records(source, layout)) as records:
        for record in records:
            between = between if between is not None else record.tail or ""
            etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
            if len(record):
                return Spacing(*map(plain_space, (record.text or "", record[-1].tail or "", between)))
    return Spacing("", "", plain_space(between or ""))


def plain_space(space: str) -> str:
    """Return white space without the returns that only a reference can have put there."""
    return space.replace("\r", "\n")
