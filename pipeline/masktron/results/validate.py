"""What `validate` returns, and the single nodes that break a rule, in the words of reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from masktron.errors import Exit
from masktron.problems.problem import Problem, Sentence
from masktron.results.result import CONFIDENTIAL, JobResult, PlottedResult
from masktron.results.rules import RuleResult, Tested, exit_code_of
from masktron.serialised import Serialised, read_plain

if TYPE_CHECKING:
    import pandas as pd

    from masktron.judge import Evaluation, Finding, FindingKind, MemberValues
    from masktron.rulebook.schema import Check, Rulebook


class Diagnostic(NamedTuple):
    """A diagnostic or a property of a rule, as `kind` says, with its text for a record."""

    kind: Literal["diagnostic", "property"]
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordFinding(Serialised):
    """One node that breaks one rule. Confidential: record id, message and values show values of a record.

    Attributes
    ----------
    rule : str
    kind : str
        failed-assert, successful-report or error.
    severity : str
        error, warning or note, by the role or flag of the rule.
    record : int or None
        Position in the file, from 1; None outside all records.
    record_id : str or None
        Content of the field that names the record.
    line : int
    column : int or None
        In characters, from 1; None where it is not known.
    location : str
        XPath.
    message : str
    values : mapping of str to str, tuple of str, or None
        The fields that the rule reads, None where absent; repeated ones, and those of members, as a tuple.
    artefact : bool
        Whether the rule holds in exact decimals and fails for the rounding of doubles alone.
    diagnostics : tuple of Diagnostic
        The diagnostics and properties that the rule names: which of both, id, and text, filled in for the record.
    member : str or None
        Which record within the record it is about: ``Person 2``, ``Person 2 (PID 17)``.
    more : mapping of str to int
        Of fields of members, how many values there are beyond those in `values`.
    """

    rule: str
    kind: FindingKind
    severity: Literal["error", "warning", "note"]
    record: int | None
    record_id: str | None
    line: int
    column: int | None
    location: str
    message: str
    values: Mapping[str, str | tuple[str, ...] | None]
    artefact: bool
    diagnostics: tuple[Diagnostic, ...] = ()
    member: str | None = None
    more: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, finding: Finding, check: Check) -> RecordFinding:
        """Put the finding of a check into the words of reports."""
        return cls(
            rule=check.id,
            kind=finding.kind,
            severity=severity(check),
            record=finding.record + 1 if finding.record >= 0 else None,
            record_id=finding.record_id,
            line=finding.line,
            column=finding.column or None,
            location=finding.location,
            message=finding.message,
            values=by_field(finding.values, finding.among),
            artefact=finding.artefact,
            diagnostics=diagnostics_of(finding, check),
            member=finding.member,
            more=more_of(finding.among),
        )


def diagnostics_of(finding: Finding, check: Check) -> tuple[Diagnostic, ...]:
    """Return the diagnostics and properties of a finding; an error in the test has none."""
    return tuple(Diagnostic(note.kind, note.id, text) for note, text in zip(check.notes, finding.notes, strict=False))


def by_field(
    values: Iterable[tuple[str, str | None]], among: Iterable[MemberValues] = ()
) -> dict[str, str | tuple[str, ...] | None]:
    """Return what a finding shows of its record by field; a repeated one, and one of members, has a tuple."""
    found: dict[str, str | tuple[str, ...] | None] = {}
    for name, text in values:
        before = found.get(name)
        if before is None or text is None:
            found[name] = text
        else:
            found[name] = (*((before,) if isinstance(before, str) else before), text)
    return found | {one.name: one.texts for one in among}


def more_of(among: Iterable[MemberValues]) -> dict[str, int]:
    """Return how many values of members a finding does not list, by field."""
    return {one.name: one.more for one in among if one.more}


def severity(check: Check) -> Literal["error", "warning", "note"]:
    """How grave a violation of a check is, by what its role, flag or severity says."""
    if not check.soft:
        return "error"
    words = {word.strip().lower() for word in (check.role or "", check.severity or "", *(check.flag or "").split())}
    return "warning" if words & {"warning", "warn", "soft"} else "note"


@dataclass(frozen=True, slots=True)
class UnreadDocument(Serialised):
    """One of several documents that could not be judged.

    Attributes
    ----------
    data : str
        As the user named it.
    problem : Problem
    exit_code : Exit
        What the command line returns for this document alone.
    """

    data: str
    problem: Problem
    exit_code: Exit


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
    is_document : bool
        Whether the file was judged as one document, without records.
    documents : tuple of ValidateResult
        Of several files, the result of each; then the counts here are their sums.
    unread : tuple of UnreadDocument
        Of several files, those that could not be judged.
    evaluation, rulebook : Evaluation, Rulebook or None
        What findings are made of; None of a result that was read back.
    listed : tuple of RecordFinding
        Findings of a result that was read back.
    """

    JOB: ClassVar = "validate"
    KEYS: ClassVar = (
        "confidential data valid records violations warnings tested rules notes engine "
        "limit=_limit_told findings=_findings_told fields documents unread"
    )

    data: str
    records: int
    violations: int
    warnings: int
    rules: tuple[RuleResult, ...]
    notes: tuple[Sentence, ...]
    engine: str
    evaluation: Evaluation | None = field(default=None, repr=False, compare=False)
    rulebook: Rulebook | None = field(default=None, repr=False, compare=False)
    limit: int | None = 1000
    release_safe: bool = False
    fields: tuple[FieldMeaning, ...] = ()
    is_document: bool = False
    documents: tuple[ValidateResult, ...] = ()
    unread: tuple[UnreadDocument, ...] = ()
    listed: tuple[RecordFinding, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the findings as they are listed."""
        listed = read_plain(tuple[RecordFinding, ...], told.get("findings", []), "findings")
        return {"listed": listed, "release_safe": told.get("confidential") is None}

    @property
    def valid(self) -> bool:
        """Whether each hard rule is tested, and none fails more than it may: by default, whether none is violated.

        Several files are valid where each of them is.
        """
        if self.documents or self.unread:
            return not self.unread and all(one.valid for one in self.documents)
        return all(rule.passes for rule in self.rules)

    @property
    def tested(self) -> Tested:
        """How many rules the file tests."""
        return Tested.of(self.rules, self.records)

    @property
    def exit_code(self) -> Exit:
        """What the command line returns: a rule that asks for what the file does not have is wrong itself.

        Of several files it is the highest of them.
        """
        if self.documents or self.unread:
            return max(*(one.exit_code for one in self.documents), *(one.exit_code for one in self.unread), Exit(0))
        return exit_code_of(self.rules, holds=self.valid)

    @property
    def findings(self) -> tuple[RecordFinding, ...]:
        """The first findings of each rule (as many as the limit allows), by rule and record. Confidential.

        Those of several files stand in the results of these.
        """
        if self.evaluation is None or self.rulebook is None:
            return self.listed
        checks = self.rulebook.checks
        return tuple(RecordFinding.of(finding, checks[finding.check]) for finding in self.evaluation.findings)

    @property
    def confidential(self) -> str | None:
        """The warning that stands in reports with findings."""
        return None if self.release_safe else CONFIDENTIAL

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
        safe = tuple(replace(one, release_safe=True) for one in self.documents)
        return JobResult.as_dict(self if findings else replace(self, release_safe=True, documents=safe))

    def to_frame(self) -> pd.DataFrame:
        """Return the listed findings as a data frame, a row each, with a column for each attribute. Confidential.

        Those of several files have the name of the file before them.
        """
        import pandas as pd

        if self.documents:
            each = [one.to_frame() for one in self.documents]
            for one, frame in zip(self.documents, each, strict=True):
                frame.insert(0, "data", one.data)
            return pd.concat(each, ignore_index=True)
        columns = [slot.name for slot in dataclasses.fields(RecordFinding)]
        frame = pd.DataFrame([finding.as_dict() for finding in self.findings], columns=columns)
        return frame.astype({"record": "Int64", "line": "int64", "column": "Int64", "artefact": "bool"})
