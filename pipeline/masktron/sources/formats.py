"""Formats of microdata, and the one way to open a file of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from masktron.config import did_you_mean
from masktron.errors import UsageError
from masktron.progress import Progress
from masktron.sources.source import Source
from masktron.sources.xml.wellformed import WellFormedness
from masktron.sources.xml.xml_source import XmlSource

type EarlyReader = WellFormedness
"""Who has begun to read a file before it is opened: libxml2, of a file in XML."""
XML = "xml"
"""The format of files whose suffix says nothing else."""


class Opener(Protocol):
    """Makes a source of a path."""

    def __call__(
        self, path: Path, *, record: str | None = None, hints: Collection[str] = (), progress: Progress | None = None
    ) -> Source:
        """Return the source, without reading the file as yet."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A format of microdata.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        In lower case, each with its point.
    opener : callable
        Makes a source of a path; what names the record element is for formats that have elements.
    """

    name: str
    suffixes: tuple[str, ...]
    opener: Opener


_FORMATS: dict[str, Format] = {XML: Format(XML, (".xml",), XmlSource)}


@contextmanager
def registered(added: Format) -> Iterator[None]:
    """Know one more format within a context.

    Raises
    ------
    ValueError
        There is one of this name, or for one of its suffixes.
    """
    taken = {suffix for known in _FORMATS.values() for suffix in known.suffixes}
    if added.name in _FORMATS or taken.intersection(added.suffixes):
        raise ValueError(f"there is a format {added.name!r}, or one for {', '.join(added.suffixes)}")
    _FORMATS[added.name] = added
    try:
        yield
    finally:
        del _FORMATS[added.name]


def open_source(
    path: Path,
    *,
    record: str | None = None,
    hints: Collection[str] = (),
    format: str | None = None,  # noqa: A002 -- what it is called in every reader of tables
    progress: Progress | None = None,
    judge: EarlyReader | None = None,
) -> Source:
    """Return the source of a file. Nothing is read before it is asked for something.

    Parameters
    ----------
    path : Path
    record : str, optional
        Name of the record element, where a format has one.
    hints : collection of str
        Names of elements that rules have as contexts: one of them is the record, most likely.
    format : str, optional
        Name of the format; by default what the suffix says, and XML where that says nothing.
    progress : callable, optional
        Told of what takes long.
    judge : EarlyReader, optional
        Of this file.

    Raises
    ------
    UsageError
        There is no such format.
    """
    if format is None:
        suffix = path.suffix.lower()
        format = next((one.name for one in _FORMATS.values() if suffix in one.suffixes), XML)  # noqa: A001
    if format not in _FORMATS:
        raise UsageError(
            f"there is no format {format!r} of microdata", where=str(path), hint=did_you_mean(format, _FORMATS)
        )
    if format == XML:
        return XmlSource(path, record=record, hints=hints, progress=progress, judge=judge)
    return _FORMATS[format].opener(path, record=record, hints=hints, progress=progress)
