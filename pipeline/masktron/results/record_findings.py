"""Single nodes that break a rule, in the words of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.evaluation.findings import Finding, MemberValues
    from masktron.rulebook.schema import Check


class Diagnostic(NamedTuple):
    """A diagnostic or a property of a rule, as `kind` says, with its text for a record."""

    kind: str
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
    kind: str
    severity: str
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
