"""What `demo` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from masktron.results.check import CheckResult
from masktron.results.mask import MaskResult
from masktron.results.result import JobResult
from masktron.results.validate import ValidateResult
from masktron.serialised import Serialised


@dataclass(frozen=True, slots=True)
class SampleResult(Serialised):
    """The three jobs on one sample."""

    KEYS: ClassVar = "sample validate=_counted mask=masked check"

    sample: str
    before: ValidateResult
    masked: MaskResult
    check: CheckResult

    @property
    def _counted(self) -> ValidateResult:
        return replace(self.before, release_safe=True)


@dataclass(frozen=True, slots=True, repr=False)
class DemoResult(JobResult):
    """The three jobs on every sample."""

    JOB: ClassVar = "demo"
    KEYS: ClassVar = "complies samples"

    samples: tuple[SampleResult, ...]

    @property
    def complies(self) -> bool:
        """Whether every masked file does."""
        return all(sample.check.complies for sample in self.samples)
