"""Nested files: surveyed at the speed of libxml2, then read in batches of units by a kernel."""

from __future__ import annotations

from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from lxml import etree

from masktron.errors import MasktronError
from masktron.kernels import ready
from masktron.kernels.compiling import said_of_compiling
from masktron.progress import Progress
from masktron.sources.flat_records import UnitBatch, UnitRecords
from masktron.sources.level_tree import Tree
from masktron.sources.record_layout import Layout, Shape
from masktron.sources.xml.parser import opened
from masktron.sources.xml.prefix import NotPlain, first_unit
from masktron.sources.xml.wellformed import Stamp, WellFormedness, stamp_of

if TYPE_CHECKING:
    from masktron.sources.xml.blocks import NestedFile


SURVEY_BLOCK = 1 << 20
"""Bytes that a survey reads at a time: libxml2 refuses to be fed more than 10,000,000 bytes at once."""


def require_stamp(path: Path, stamp: Stamp) -> None:
    """Refuse a file that is no longer the one that was surveyed, as some passes open it anew.

    Raises
    ------
    DocumentError
        It cannot be read, or changed.
    """
    from masktron.sources.xml.blocks import changed  # noqa: PLC0415 -- loads numba

    with opened(path) as (stream, _):
        if stamp_of(stream) != stamp:
            raise changed(path)


def compile_first(progress: Progress | None) -> None:
    """Compile the kernels if that has to be done, and say so first: it takes seconds."""
    if ready.kernels_ready():
        return
    kept = ready.kernels_kept()
    if progress is not None:
        progress(said_of_compiling(kept=kept), 0)
    # where nothing is kept, only what a run needs is compiled, when it does
    if kept:
        ready.compile_kernels()


_BATCH_BLOCK = 1 << 24
"""Bounds the memory: a batch and its columns take several times this."""
_BATCH_ROWS = 1 << 17
_BATCH_CELLS = 1 << 22
"""Bounds the rows of files with many fields."""


def survey_nested(
    path: str | Path,
    *,
    record: str | None = None,
    hints: Collection[str] = (),
    progress: Progress | None = None,
    block: int = SURVEY_BLOCK,
    judge: WellFormedness | None = None,
) -> tuple[Layout, Shape, Tree, NestedFile] | None:
    """Survey a nested file at the speed of libxml2; None for every other file, as soon as that is known.

    Parameters
    ----------
    path, record, hints, progress, block, judge
        As for `masktron.sources.xml.plain.survey_plain`.

    Returns
    -------
    Layout, Shape, Tree, NestedFile
        The first three are those of `masktron.sources.xml.layout.survey_levels`.
    """
    path = Path(path)
    try:
        with opened(path) as (stream, encoding):
            begun = first_unit(path, stream, encoding, record, hints)
            compile_first(progress)
            from masktron.sources.xml.levels_established import levels_established  # noqa: PLC0415 -- loads numba

            return levels_established(path, stream, encoding, begun, record, hints, block, judge)
    except (NotPlain, MasktronError, etree.XMLSyntaxError, expat.ExpatError, UnicodeDecodeError):
        # the exact way reads the file again and says what is wrong with it, where, and in the user's words
        return None


def iter_units(
    path: str | Path, tree: Tree, nested: NestedFile, *, block: int = _BATCH_BLOCK, rows: int = _BATCH_ROWS
) -> Generator[UnitBatch]:
    """Yield the units of a file in batches.

    Parameters
    ----------
    path : str or Path
    tree, nested
        From `survey_nested`.
    block : int
        Bytes that are read at a time; the next block is read while a batch is worked on.
    rows : int
        Most records of a level in a batch.

    Raises
    ------
    DocumentError
        The file cannot be read, or changed since it was surveyed.
    """
    from masktron.sources.xml.blocks import unit_batches_of  # noqa: PLC0415 -- loads numba

    path = Path(path)
    with opened(path) as (stream, _):
        fields = max(1, sum(len(level.fields) for _, level in tree.levels()))
        yield from unit_batches_of(path, stream, tree, nested, block, min(rows, max(1, _BATCH_CELLS // fields)))


class NestedUnits(UnitRecords):
    """The units of a nested file in XML.

    Parameters
    ----------
    path : Path
    tree, nested
        From `survey_nested`.
    """

    def __init__(self, path: Path, tree: Tree, nested: NestedFile) -> None:
        self.path, self.tree, self._nested = path, tree, nested

    def batches(self) -> Generator[UnitBatch]:
        """Yield the units; see `iter_units`."""
        return iter_units(self.path, self.tree, self._nested)

    def require_unchanged(self) -> None:
        """Refuse a file that has changed; see `require_stamp`."""
        require_stamp(self.path, self._nested.stamp)
