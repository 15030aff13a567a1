"""What `rerun` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from masktron.problems.problem import Sentence
from masktron.results.mask import MaskResult
from masktron.results.result import JobResult
from masktron.results.rules import TreatmentResult
from masktron.results.verdict import ConcernResult, ReleaseVerdict
from masktron.serialised import Serialised


@dataclass(frozen=True, slots=True)
class ChangeResult(Serialised):
    """What is not as it was in the last run.

    Attributes
    ----------
    kind : str
        One of `masktron.jobs.rerun.changes.KINDS`.
    place : str
        The field, rule, document or package; empty for the file.
    what : str
        In a sentence, without a value of a record.
    refuses : bool
        Whether it stands in the way of the run.
    """

    kind: str
    place: str
    what: Sentence
    refuses: bool


@dataclass(frozen=True, slots=True)
class FigureChange(Serialised):
    """A figure of both runs; NaN where one of them has none."""

    EXACT: ClassVar = frozenset({"before", "after"})
    KEYS: ClassVar = "figure=name unit before after"

    name: str
    unit: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class BlockChange(Serialised):
    """A block of both runs.

    Attributes
    ----------
    variables : tuple of str
    aggregator_before, aggregator_after : str
        Empty where there was no such block.
    groups_before, groups_after : int
    loss_before, loss_after : float
        Information loss, per cent; NaN where it has none.
    """

    variables: tuple[str, ...]
    aggregator_before: str
    aggregator_after: str
    groups_before: int
    groups_after: int
    loss_before: float
    loss_after: float


@dataclass(frozen=True, slots=True)
class FailureChange(Serialised):
    """A rule that fails otherwise in the masked file than it did: one that may fail."""

    rule: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, repr=False)
class RerunResult(JobResult):
    """A run that repeats another one, beside that.

    Attributes
    ----------
    former : str
        The manifest of the former run.
    data : str
    output, manifest : str
        The files; what they would be for a dry run.
    tables : mapping of str to str
        By level, the tables beside the output, where keys join several.
    dry_run : bool
        Nothing was masked.
    same_original : bool
        The file is the one of the former run.
    same_bytes : bool or None
        For the same original: the masked file is the same to the byte; None where nothing was compared.
    changes : tuple of ChangeResult
    records_before, records_after : int
        Released records; 0 after a dry run.
    excluded_before, excluded_after : int
        Records that were left out as they break a rule.
    figures : tuple of FigureChange
    blocks : tuple of BlockChange
    failures : tuple of FailureChange
    notes : tuple of str
    treatments : tuple of TreatmentResult
    concerns : tuple of ConcernResult
        What somebody has to look at before the file is published.
    run : MaskResult or None
        All of the run; None for a dry run.
    """

    JOB: ClassVar = "rerun"
    KEYS: ClassVar = (
        "former data output manifest tables dry_run same_original same_bytes changes records_before records_after "
        "excluded_before excluded_after figures blocks failures notes treatments concerns verdict"
    )

    former: str
    data: str
    output: str
    manifest: str
    tables: Mapping[str, str]
    dry_run: bool
    same_original: bool
    same_bytes: bool | None
    changes: tuple[ChangeResult, ...]
    records_before: int
    records_after: int
    excluded_before: int
    excluded_after: int
    figures: tuple[FigureChange, ...] = ()
    blocks: tuple[BlockChange, ...] = ()
    failures: tuple[FailureChange, ...] = ()
    notes: tuple[Sentence, ...] = ()
    treatments: tuple[TreatmentResult, ...] = ()
    concerns: tuple[ConcernResult, ...] = ()
    run: MaskResult | None = field(default=None, repr=False)

    @property
    def verdict(self) -> ReleaseVerdict | None:
        """Whether the rules hold, and how well respondents are protected; None for a dry run."""
        return None if self.run is None else self.run.verdict

    @property
    def refused(self) -> tuple[ChangeResult, ...]:
        """Changes that stand in the way."""
        return tuple(change for change in self.changes if change.refuses)
