"""A file that is judged as a written one is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from masktron.jobs.job import Job
from masktron.jobs.revalidate import Asking, Revalidation
from masktron.judge.findings import Evaluation
from masktron.sources.source import Source


def revalidate(
    written: Source, job: Job, *, binding: Collection[int], decided: Evaluation | None = None, **options: Any
) -> Revalidation:
    """Ask all engines about a file."""
    with Asking(job, written=written, **options) as asking:
        return asking.revalidation(binding, decided)
