"""What `hierarchy` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masktron.results.result import JobResult


@dataclass(frozen=True, slots=True, repr=False)
class HierarchyResult(JobResult):
    """A hierarchy that was made of the values of a field.

    Attributes
    ----------
    data, output : str
        The files.
    field : str
    values : int
        Rows of the hierarchy.
    classes : tuple of int
        Labels of each level, from 1 up.
    """

    JOB: ClassVar = "hierarchy"

    data: str
    output: str
    field: str
    values: int
    classes: tuple[int, ...]
