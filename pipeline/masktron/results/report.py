"""What `report` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from masktron.problems.problem import Sentence
from masktron.results.result import JobResult
from masktron.results.verdict import ReleaseVerdict
from masktron.serialised import Serialised


@dataclass(frozen=True, slots=True)
class PageResult(Serialised):
    """A page that was written.

    Attributes
    ----------
    path : str
    edition : {"internal", "public", "plain"}
        For inside the agency; for whoever gets the file; without anything of a record.
    pictures : int
    """

    path: str
    edition: Literal["internal", "public", "plain"]
    pictures: int


@dataclass(frozen=True, slots=True, repr=False)
class ReportResult(JobResult):
    """Pages of a result that was kept.

    Attributes
    ----------
    source : str
        The JSON of a result, or the manifest.
    about : str
        The command whose result it is.
    pages : tuple of PageResult
    notes : tuple of str
        What the pages lack, and why.
    verdict : ReleaseVerdict or None
        That the result has; None where it is not about a masked file.
    """

    JOB: ClassVar = "report"

    source: str
    about: str
    pages: tuple[PageResult, ...]
    notes: tuple[Sentence, ...] = ()
    verdict: ReleaseVerdict | None = None
