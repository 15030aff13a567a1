"""What is evaluated and what of it is kept, in one value for every way in which it can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from masktron.evaluation.programs import Documents
from masktron.evaluation.runner import EngineChoice, engines_of
from masktron.evaluation.shown_fields import NOTHING_SHOWN, Shown
from masktron.evaluation.stylesheet import EngineName
from masktron.evaluation.tally import Sink, VerdictTally
from masktron.executor.contract import Executor
from masktron.rulebook.schema import Rulebook
from masktron.sources.flat_records import FlatRecords
from masktron.sources.record_layout import Layout
from masktron.sources.unit_batches import UnitRecords

if TYPE_CHECKING:
    from masktron.sources.source import Source


class Kept(TypedDict, total=False):
    """What is kept of an evaluation; see `EvaluationRequest`."""

    limit: int | None
    shown: Shown
    sink: Sink | None
    sunk: int | None
    keep_verdicts: bool


class EvaluationOptions(Kept, total=False):
    """What is kept, and how it is found; see `EvaluationRequest`."""

    engine: EngineChoice
    progress: Callable[[int], None] | None
    executor: Executor | None


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationRequest:
    """A file, the rulebook by which it is evaluated, and what is kept of what is found.

    Attributes
    ----------
    path : Path
    rulebook : Rulebook
    layout : Layout
        Of the file.
    flat : FlatRecords, optional
        The records of the file; without them an engine sees every record.
    original : Path, optional
        What ``document()`` in the rules returns, but for documents that the rulebook binds to other files.
    engine : {"auto", "unaided", "libxml2", "saxon"}
        See `EngineChoice`. ``saxon`` evaluates XPath 1.0 in its 1.0 mode.
    limit : int or None
        Number of findings that are kept of each check, all without it; counts are exact all the same.
    shown : Shown
        The key and the fields that findings show.
    sink : callable, optional
        Gets every finding, also those beyond the limit. Those of one check come in the order of the records; checks
        that need the whole document come after the others.
    sunk : int, optional
        The sink needs no more of each check than so many of the first.
    keep_verdicts : bool
        Whether the result has the verdict on each record.
    progress : callable, optional
        Called with the number of records done.
    write : callable, optional
        Writes the document that engines read, and returns where it is; without it, `path` is that document.
    executor : Executor, optional
        Who evaluates the slices of a file that can be cut, entered for that alone; without it, this process reads the
        file from its beginning to its end. What is found is the same. Also who has engines judge slices of a document
        (`masktron.evaluation.cross_check`).
    nested : UnitRecords, optional
        The units of a nested file, in the place of `flat`.
    """

    path: Path
    rulebook: Rulebook
    layout: Layout
    flat: FlatRecords | None = None
    original: Path | None = None
    engine: EngineChoice = "auto"
    limit: int | None = 1000
    shown: Shown = NOTHING_SHOWN
    sink: Sink | None = None
    sunk: int | None = None
    keep_verdicts: bool = True
    progress: Callable[[int], None] | None = None
    write: Callable[[], Path] | None = None
    executor: Executor | None = None
    nested: UnitRecords | None = None

    @classmethod
    def of(
        cls, source: Source, rulebook: Rulebook, original: Source | None = None, **options: Unpack[EvaluationOptions]
    ) -> Self:
        """Ask for the evaluation of a source: of the document that engines read.

        Raises
        ------
        DocumentError, UsageError
            The source cannot be surveyed.
        """
        document = source.document
        other = None if original is None else original.document_path
        return cls(
            document.path,
            rulebook,
            document.layout,
            document.flat,
            other,
            write=document.write,
            nested=document.nested,
            **options,
        )

    def on_document(self) -> Self:
        """Return the request for engines alone, which read a document: it is written now, where it is not there.

        Raises
        ------
        DocumentError
            The file cannot be read a second time, or not as it was the first time.
        """
        if self.write is None:
            return self
        # workers elsewhere do not see it
        own = None if self.executor is None or self.executor.elsewhere else self.executor
        return replace(self, path=self.write(), flat=None, write=None, executor=own)

    @property
    def engines(self) -> tuple[EngineName, ...]:
        """The engine that decides each check.

        Raises
        ------
        UsageError
            The chosen engine does not know the XPath version of a rule.
        """
        return engines_of(self.rulebook, self.layout, self.engine)

    def documents(self, *, known: bool = False) -> Documents | None:
        """Return what ``document()`` in the rules returns; None where they ask for nothing.

        Parameters
        ----------
        known : bool
            Whether the original is known to be well-formed.

        Raises
        ------
        UsageError
            A rule reads the original, and there is none.
        DocumentError
            The original cannot be read.
        """
        return Documents.of(self.rulebook, self.original, known=known)

    def tally(self) -> VerdictTally:
        """Return what gathers the verdicts and keeps what is asked for."""
        return VerdictTally(
            len(self.rulebook.checks), self.limit, self.sink, keep_verdicts=self.keep_verdicts, sunk=self.sunk
        )

    def tell(self, records: int) -> None:
        """Tell how many records are done."""
        if self.progress is not None:
            self.progress(records)
