"""Files that are a plain table of records: surveyed at the speed of libxml2, then read in batches by a kernel."""

from __future__ import annotations

from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from lxml import etree

from masktron.errors import MasktronError
from masktron.progress import Progress
from masktron.sources.columns import Batch
from masktron.sources.flat_records import FlatRecords, RecordSlice
from masktron.sources.level_tree import Tree
from masktron.sources.record_layout import AsDocument, Layout, Shape
from masktron.sources.xml.layout import survey_levels
from masktron.sources.xml.nested_units import SURVEY_BLOCK, compile_first, require_stamp, survey_nested
from masktron.sources.xml.parser import opened
from masktron.sources.xml.prefix import NotPlain, first_record
from masktron.sources.xml.wellformed import WellFormedness, worth_columns

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import NestedFile, PlainFile

_BATCH_BLOCK = 1 << 22
"""Bounds the memory: a batch and its columns take several times this."""
_BATCH_ROWS = 1 << 16
_BATCH_CELLS = 1 << 22
"""Bounds the rows of files with many fields."""


class Surveyed(NamedTuple):
    """What a survey has found.

    Attributes
    ----------
    layout : Layout
    shape : Shape
    plain : PlainFile or None
        Of a flat file that the compiled reader reads.
    tree : Tree or None
        The levels of a nested file.
    nested : NestedFile or None
        Of one that the compiled reader reads.
    """

    layout: Layout
    shape: Shape
    plain: PlainFile | None = None
    tree: Tree | None = None
    nested: NestedFile | None = None


def detect_layout(path: str | Path, *, record: str | None = None, hints: Collection[str] = ()) -> Layout:
    """Find the record element and the fields; see `survey`, which also tells whether the file is flat."""
    return survey(path, record=record, hints=hints)[0]


def survey(path: str | Path, *, record: str | None = None, hints: Collection[str] = ()) -> tuple[Layout, Shape]:
    """Read a whole file and find its record element, its fields and how it deviates from a flat table.

    Parameters
    ----------
    path : str or Path
    record : str, optional
        The record element, by local or Clark name. Without it, the one element that repeats below the root or
        below the only child of the root.
    hints : collection of str
        Local names of elements that rules have as contexts; they decide where the file leaves it open.

    Returns
    -------
    Layout
        Fields in the order in which the file first shows them, attributes before elements. Where two fields
        share a local name, the later one is named by its Clark name. No record: no fields.
    Shape
        For the whole file, not a sample.

    Raises
    ------
    DocumentError
        The file cannot be parsed, or nothing tells which element is the record.
    UsageError
        `record` names no element, or more than one.
    """
    found = survey_file(path, record=record, hints=hints)
    return found.layout, found.shape


def survey_file(
    path: str | Path,
    *,
    record: str | None = None,
    hints: Collection[str] = (),
    progress: Progress | None = None,
    judge: WellFormedness | None = None,
    document: AsDocument = "never",
) -> Surveyed:
    """Do what `survey` does; tell whether batches can be made of the file, and which levels a nested one has.

    Parameters
    ----------
    path, record, hints
        As there.
    progress : callable, optional
        Told of what takes long: that kernels are being compiled.
    judge : WellFormedness, optional
        Of this file, where libxml2 has begun to read it.
    document : {"never", "otherwise", "always"}
        Whether it is judged as one document.

    Raises
    ------
    DocumentError, UsageError
        As there.
    """
    path = Path(path)
    # what cannot be opened is for the exact way to say
    if document != "always" and path.is_file() and worth_columns(path):
        found = survey_plain(path, record=record, hints=hints, progress=progress, judge=judge)
        if found is not None:
            return Surveyed(*found)
        levels = survey_nested(path, record=record, hints=hints, progress=progress, judge=judge)
        if levels is not None:
            layout, shape, tree, nested = levels
            return Surveyed(layout, shape, tree=tree, nested=nested)
    if judge is not None:
        judge.stop()
    layout, shape, levels_known = survey_levels(path, record=record, hints=hints, document=document)
    return Surveyed(layout, shape, tree=levels_known)


def survey_plain(
    path: str | Path,
    *,
    record: str | None = None,
    hints: Collection[str] = (),
    progress: Progress | None = None,
    block: int = SURVEY_BLOCK,
    judge: WellFormedness | None = None,
) -> tuple[Layout, Shape, PlainFile] | None:
    """Survey a flat file at the speed of libxml2; None for every other file, as soon as that is known.

    Parameters
    ----------
    path, record, hints
        As `survey`.
    progress : callable, optional
    block : int
        Bytes that are read at a time.
    judge : WellFormedness, optional

    Returns
    -------
    Layout, Shape, PlainFile
        The first two are those of `masktron.sources.xml.layout.survey_exactly`.
    """
    path = Path(path)
    try:
        with opened(path) as (stream, encoding):
            start = first_record(path, stream, encoding, record, hints)
            compile_first(progress)
            from masktron.sources.xml.flatness import established  # noqa: PLC0415 -- loads numba

            return established(path, stream, encoding, start, record, hints, block, judge)
    except (NotPlain, MasktronError, etree.XMLSyntaxError, expat.ExpatError, UnicodeDecodeError):
        # the exact way reads the file again and says what is wrong with it, where, and in the user's words
        return None


def iter_batches(
    path: str | Path,
    layout: Layout,
    plain: PlainFile,
    *,
    block: int = _BATCH_BLOCK,
    rows: int = _BATCH_ROWS,
    piece: RecordSlice | None = None,
) -> Generator[Batch]:
    """Yield the records of a file in batches.

    Parameters
    ----------
    path : str or Path
    layout, plain
        From `survey_plain`.
    block : int
        Bytes that are read at a time; the next block is read while a batch is worked on.
    rows : int
        Most records of a batch.
    piece : RecordSlice, optional
        One of ``plain.slices``; all records without it.

    Raises
    ------
    DocumentError
        The file cannot be read, or changed since it was surveyed.
    """
    from masktron.sources.xml.blocks import batches_of  # noqa: PLC0415 -- loads numba

    path = Path(path)
    with opened(path) as (stream, _):
        rows = min(rows, max(1, _BATCH_CELLS // max(1, len(layout.fields))))
        yield from batches_of(path, stream, layout, plain, block, rows, piece or plain.whole)


class PlainRecords(FlatRecords):
    """The records of a flat file in XML.

    Parameters
    ----------
    path : Path
    layout, plain
        From `survey_plain`.
    """

    def __init__(self, path: Path, layout: Layout, plain: PlainFile) -> None:
        self.path, self.layout, self._plain = path, layout, plain

    @property
    def around(self) -> None:
        """What is around the records stands in the file."""
        return

    def batches(self) -> Generator[Batch]:
        """Yield the records; see `iter_batches`."""
        return iter_batches(self.path, self.layout, self._plain)

    def slices(self) -> tuple[RecordSlice, ...]:
        """Return the slices that the survey has found."""
        return self._plain.slices

    def batches_in(self, piece: RecordSlice) -> Generator[Batch]:
        """Yield the records of a slice; see `iter_batches`."""
        return iter_batches(self.path, self.layout, self._plain, piece=piece)

    def require_unchanged(self) -> None:
        """Refuse a file that has changed; see `require_stamp`."""
        require_stamp(self.path, self._plain.stamp)
