"""What `validate` returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.errors import Exit
from masktron.problems.problem import Sentence
from masktron.results.record_findings import RecordFinding
from masktron.results.result import CONFIDENTIAL, JobResult, PlottedResult
from masktron.results.rules import RuleResult, Tested, exit_code_of
from masktron.serialised import Serialised

if TYPE_CHECKING:
    import pandas as pd

    from masktron.evaluation.findings import Evaluation
    from masktron.rulebook.schema import Rulebook


@dataclass(frozen=True, slots=True)
class FieldMeaning(Serialised):
    """What the file, or the metadata beside it, say of a field that a rule reads.

    Attributes
    ----------
    name : str
    label : str
        Empty where there is none.
    labels, missing : mapping of str to str
        Labels of values, and of codes that mean 'missing', by lexeme.
    """

    name: str
    label: str
    labels: Mapping[str, str]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True, repr=False)
class ValidateResult(JobResult, PlottedResult):
    """Whether a file obeys its rules.

    Attributes
    ----------
    records : int
    violations : int
        Failed asserts, fired reports and errors of hard rules, summed over rules and records.
    warnings : int
        The same of soft rules.
    notes : tuple of str
        What the user should know: repairs of the rulebook, lints, rules that never fired or need the whole file,
        findings that are rounding artefacts.
    engine : str
        Name and version of the engine that decided.
    limit : int or None
        Findings listed per rule, None for all.
    release_safe : bool
        Whether all findings were left out, so that no value of a record is in it.
    fields : tuple of FieldMeaning
        The fields that rules read and of which something is said.
    """

    JOB: ClassVar = "validate"
    KEYS: ClassVar = (
        "confidential data valid records violations warnings tested rules=_rules_in_full notes engine "
        "limit=_limit_told findings=_findings_told fields"
    )

    data: str
    records: int
    violations: int
    warnings: int
    rules: tuple[RuleResult, ...]
    notes: tuple[Sentence, ...]
    engine: str
    evaluation: Evaluation = field(repr=False, compare=False)
    rulebook: Rulebook = field(repr=False, compare=False)
    limit: int | None = 1000
    release_safe: bool = False
    fields: tuple[FieldMeaning, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether each hard rule is tested, and none fails more than it may: by default, whether none is violated."""
        return all(rule.passes for rule in self.rules)

    @property
    def tested(self) -> Tested:
        """How many rules the file tests."""
        return Tested.of(self.rules, self.records)

    @property
    def exit_code(self) -> Exit:
        """What the command line returns: a rule that asks for what the file does not have is wrong itself."""
        return exit_code_of(self.rules, holds=self.valid)

    @property
    def findings(self) -> tuple[RecordFinding, ...]:
        """The first findings of each rule (as many as the limit allows), by rule and record. Confidential."""
        checks = self.rulebook.checks
        return tuple(RecordFinding.of(finding, checks[finding.check]) for finding in self.evaluation.findings)

    @property
    def confidential(self) -> str | None:
        """The warning that stands in reports with findings."""
        return None if self.release_safe else CONFIDENTIAL

    @property
    def _rules_in_full(self) -> Sequence[dict[str, Any]]:
        return [rule.as_full_dict() for rule in self.rules]

    @property
    def _limit_told(self) -> int | None:
        return 0 if self.release_safe else self.limit

    @property
    def _findings_told(self) -> tuple[RecordFinding, ...]:
        return () if self.release_safe else self.findings

    def as_dict(self, *, findings: bool = True) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/validate.schema.json``.

        Parameters
        ----------
        findings : bool
            Whether to list findings, which makes it confidential; without them it holds counts and names only.
        """
        return JobResult.as_dict(self if findings else replace(self, release_safe=True))

    def to_frame(self) -> pd.DataFrame:
        """Return the listed findings as a data frame, a row each, with a column for each attribute. Confidential."""
        import pandas as pd

        columns = [slot.name for slot in dataclasses.fields(RecordFinding)]
        frame = pd.DataFrame([finding.as_dict() for finding in self.findings], columns=columns)
        return frame.astype({"record": "Int64", "line": "int64", "column": "Int64", "artefact": "bool"})
