"""What `metadata` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masktron.problems.problem import Sentence
from masktron.results.result import JobResult


@dataclass(frozen=True, slots=True, repr=False)
class MetadataResult(JobResult):
    """A description of the variables of a file.

    Attributes
    ----------
    data, output : str
        The files.
    standard : str
        ``ddi`` or ``tableschema``.
    fields : int
        All fields of the file.
    described : tuple of str
        Those of which more is known than the name.
    notes : tuple of str
        What is known and not written.
    """

    JOB: ClassVar = "metadata"
    KEYS: ClassVar = "data output standard fields described notes"

    data: str
    output: str
    standard: str
    fields: int
    described: tuple[str, ...]
    notes: tuple[Sentence, ...]
