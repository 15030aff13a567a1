"""What `convert` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masktron.problems.problem import Sentence
from masktron.results.result import JobResult


@dataclass(frozen=True, slots=True, repr=False)
class ConvertResult(JobResult):
    """A file in another format.

    Attributes
    ----------
    data, output : str
        The files.
    source_format, target_format : str
    records : int
    columns : tuple of str
        Names, as the file has them.
    losses : tuple of str
        What the original says and the new file does not; a value is never among it.
    notes : tuple of str
        What a user should know of how the original reads; what it says may be quoted.
    """

    JOB: ClassVar = "convert"
    KEYS: ClassVar = "data output source_format target_format records columns losses notes"

    data: str
    output: str
    source_format: str
    target_format: str
    records: int
    columns: tuple[str, ...]
    losses: tuple[Sentence, ...]
    notes: tuple[Sentence, ...]
