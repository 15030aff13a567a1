"""What the jobs return: frozen results with a table for the eye and plain data for machines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from masktron.errors import Exit

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from masktron.evaluation.findings import Evaluation, Finding
    from masktron.measures.figures import Measured
    from masktron.partitions.kdcut import Cut
    from masktron.preflight.conclusions import Coverage, Preflight, Tie
    from masktron.rulebook.schema import Check, Rulebook
    from masktron.thresholds import Threshold

SCHEMA_VERSION = 1
CONFIDENTIAL = "CONFIDENTIAL: messages, keys, values and locations show single records."
"""What every report says that can show values."""
INTERNAL = (
    "CONFIDENTIAL: for inside the agency; it shows totals and counts of the original, and may name original records "
    "that were left out."
)


FEW = 5
"""A rule that fires on fewer records than this is hardly tested."""


@dataclass(frozen=True, slots=True)
class Untested:
    """Why a rule is not tested by a file.

    Attributes
    ----------
    what, hint : str
        In a sentence each, as an error has them.
    misnamed : bool
        Whether it asks for a name or a place that the file does not have, as a misspelt rule does.
    allowed : bool
        Whether somebody said that it may be so.
    """

    what: str
    hint: str
    misnamed: bool
    allowed: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {slot.name: getattr(self, slot.name) for slot in fields(self)}


@dataclass(frozen=True, slots=True)
class Tested:
    """How many rules a file tests.

    Attributes
    ----------
    rules : int
        In play.
    untested : tuple of str
        Rules whose context matches no node, or that read a field that the file never has; then those that were not
        evaluated.
    few : tuple of str
        Rules on records that fired on fewer than `FEW` of them, where the file has as many.
    """

    rules: int
    untested: tuple[str, ...]
    few: tuple[str, ...]

    @classmethod
    def of(cls, rules: Iterable[RuleResult], records: int, unevaluated: Sequence[str] = ()) -> Tested:
        """Count the rules of a result, and the ids of those that were not evaluated."""
        rules = tuple(rules)
        untested = (*(rule.id for rule in rules if rule.untested is not None), *unevaluated)
        thin = (rule for rule in rules if rule.of_records and rule.untested is None)
        return cls(
            len(rules) + len(unevaluated), untested, tuple(rule.id for rule in thin if rule.reached < FEW <= records)
        )

    def __str__(self) -> str:
        noun = "rule" if self.rules == 1 else "rules"
        said = f"{self.rules - len(self.untested)} of {self.rules} {noun} tested"
        if self.few:
            said += f", {len(self.few)} of them on fewer than {FEW} records: {', '.join(self.few)}"
        return said + (f"; not tested: {', '.join(self.untested)}" if self.untested else "")

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        tested = self.rules - len(self.untested)
        return {"rules": self.rules, "tested": tested, "untested": list(self.untested), "few": list(self.few)}


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule on one file.

    Attributes
    ----------
    id : str
    kind : str
        Its class: linear, product, values, governing, domain, cross-record or opaque.
    fired, failed, errors : int
        Nodes on which it was evaluated, failed, and raised a dynamic error.
    soft : bool
        Marked as a warning in the rulebook; never the reason for an exit code, unless a threshold names it.
    origin : str
        File and line.
    text : str
        What the rulebook says of it, with the expressions of ``value-of`` in the place of values.
    allowed : Threshold or None
        Failures and errors that do not count.
    of_records : bool
        Whether it fires on records or on their fields; one on the root fires once and asks of the whole file.
    untested : Untested or None
        Where it fires on nothing, or reads a field that the file never has.
    """

    id: str
    kind: str
    fired: int
    failed: int
    errors: int
    soft: bool
    origin: str
    text: str = ""
    allowed: Threshold | None = None
    of_records: bool = True
    untested: Untested | None = None

    @property
    def violations(self) -> int:
        """Failures and errors."""
        return self.failed + self.errors

    @property
    def reached(self) -> int:
        """Nodes on which it was tried, with a verdict or an error."""
        return self.fired + self.errors

    @property
    def idle(self) -> bool:
        """Whether it is hard and tests nothing although nobody said that this may be so."""
        return self.untested is not None and not self.untested.allowed and not self.soft

    @property
    def passes(self) -> bool:
        """Whether the rule is no reason for an exit code: it holds, is soft, or fails no more than it may.

        A hard rule that tests nothing does not pass, unless it may.
        """
        if self.idle:
            return False
        if self.allowed is not None:
            return self.allowed.admits(self.violations, self.fired)
        return self.soft or not self.violations

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "id": self.id,
            "class": self.kind,
            "fired": self.fired,
            "failed": self.failed,
            "errors": self.errors,
            "soft": self.soft,
            "origin": self.origin,
            "untested": None if self.untested is None else self.untested.as_dict(),
        }

    def as_full_dict(self) -> dict[str, Any]:
        """The same with text, threshold and verdict, as the results of `validate` and `check` have them."""
        allowed = None if self.allowed is None else str(self.allowed)
        return {**self.as_dict(), "text": self.text, "allowed": allowed, "passes": self.passes}


@dataclass(frozen=True, slots=True)
class RecordFinding:
    """One node that breaks one rule. Confidential: key, message and values show values of a record.

    Attributes
    ----------
    rule : str
    kind : str
        failed-assert, successful-report or error.
    severity : str
        error, warning or note, by the role or flag of the rule.
    record : int or None
        Position in the file, from 1; None outside all records.
    key : str or None
        Content of the key field of the record.
    line : int
    column : int or None
        In characters, from 1; None where it is not known.
    location : str
        XPath.
    message : str
    values : mapping of str to str, tuple of str, or None
        The fields that the rule reads, None where absent; repeated ones as a tuple.
    artefact : bool
        Whether the rule holds in exact decimals and fails for the rounding of doubles alone.
    diagnostics : tuple of (str, str, str)
        The diagnostics and properties that the rule names: which of both, id, and text, filled in for the record.
    """

    rule: str
    kind: str
    severity: str
    record: int | None
    key: str | None
    line: int
    column: int | None
    location: str
    message: str
    values: Mapping[str, str | tuple[str, ...] | None]
    artefact: bool
    diagnostics: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, finding: Finding, check: Check) -> RecordFinding:
        """Put the finding of a check into the words of reports."""
        return cls(
            rule=check.id,
            kind=finding.kind,
            severity=severity(check),
            record=finding.record + 1 if finding.record >= 0 else None,
            key=finding.key,
            line=finding.line,
            column=finding.column or None,
            location=finding.location,
            message=finding.message,
            values=by_field(finding.values),
            artefact=finding.artefact,
            diagnostics=diagnostics_of(finding, check),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        values = {name: list(text) if isinstance(text, tuple) else text for name, text in self.values.items()}
        plain = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        return plain | {"values": values, "diagnostics": diagnostics_dict(self.diagnostics)}


def diagnostics_of(finding: Finding, check: Check) -> tuple[tuple[str, str, str], ...]:
    """Return the diagnostics and properties of a finding: kind, id and text; an error in the test has none."""
    return tuple((note.kind, note.id, text) for note, text in zip(check.notes, finding.notes, strict=False))


def diagnostics_dict(told: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """Return diagnostics and properties as JSON has them."""
    return [{"kind": kind, "id": named, "text": text} for kind, named, text in told]


def by_field(values: Iterable[tuple[str, str | None]]) -> dict[str, str | tuple[str, ...] | None]:
    """Return what a finding shows of its record by field; a repeated one has a tuple."""
    found: dict[str, str | tuple[str, ...] | None] = {}
    for name, text in values:
        before = found.get(name)
        if before is None or text is None:
            found[name] = text
        else:
            found[name] = (*((before,) if isinstance(before, str) else before), text)
    return found


def severity(check: Check) -> Literal["error", "warning", "note"]:
    """How grave a violation of a check is, by what its role, flag or severity says."""
    if not check.soft:
        return "error"
    words = {word.strip().lower() for word in (check.role or "", check.severity or "", *(check.flag or "").split())}
    return "warning" if words & {"warning", "warn", "soft"} else "note"


@dataclass(frozen=True, slots=True)
class ValidateResult:
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
    """

    data: str
    records: int
    violations: int
    warnings: int
    rules: tuple[RuleResult, ...]
    notes: tuple[str, ...]
    engine: str
    evaluation: Evaluation = field(repr=False, compare=False)
    rulebook: Rulebook = field(repr=False, compare=False)
    limit: int | None = 1000
    release_safe: bool = False

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
        return _exit_code(self.rules, holds=self.valid)

    @property
    def findings(self) -> tuple[RecordFinding, ...]:
        """The first findings of each rule (as many as the limit allows), by rule and record. Confidential."""
        checks = self.rulebook.checks
        return tuple(RecordFinding.of(finding, checks[finding.check]) for finding in self.evaluation.findings)

    def to_frame(self) -> pd.DataFrame:
        """Return the listed findings as a data frame, a row each, with a column for each attribute. Confidential."""
        import pandas as pd

        columns = [slot.name for slot in fields(RecordFinding)]
        frame = pd.DataFrame([finding.as_dict() for finding in self.findings], columns=columns)
        return frame.astype({"record": "Int64", "line": "int64", "column": "Int64", "artefact": "bool"})

    def as_dict(self, *, findings: bool = True) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/validate.schema.json``.

        Parameters
        ----------
        findings : bool
            Whether to list findings, which makes it confidential; without them it holds counts and names only.
        """
        told = findings and not self.release_safe
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "validate",
            "confidential": CONFIDENTIAL if told else None,
            "data": self.data,
            "valid": self.valid,
            "records": self.records,
            "violations": self.violations,
            "warnings": self.warnings,
            "tested": self.tested.as_dict(),
            "rules": [rule.as_full_dict() for rule in self.rules],
            "notes": list(self.notes),
            "engine": self.engine,
            "limit": self.limit if told else 0,
            "findings": [finding.as_dict() for finding in self.findings] if told else [],
        }

    def __repr__(self) -> str:
        from masktron.report.tables import render, validate_tables

        return render(validate_tables(self))


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """What masktron makes of a rule; counts, tier and plan only with data.

    Attributes
    ----------
    kind : str
        Its class.
    form : str
        What it says in plain mathematics; empty where that is not understood.
    reason : str
        Why it is not understood, or what it asks of several records.
    failed : int or None
        Failures and errors.
    block : tuple of str, or None
        The fields that are masked together on its account.
    candidates : tuple of str
        The aggregators that keep the rules of the block; if there are several, `mask` takes what loses least.
    aggregator : str or None
        The candidate, if there is only one.
    why : str or None
        Why these aggregators and no others; or without a block, why the rule is not kept by masking.
    tier : str or None
        How it is evaluated: ``1: columns``, or with the reason ``2: record by record (...)``, ``2: across records,
        two passes (...)`` or ``3: whole document (...)``.
    soft : bool
        Whether a failure is only reported.
    marks : tuple of str
        The attributes that say so, such as ``role="info"``; of a hard rule those that do not.
    """

    id: str
    kind: str
    variables: tuple[str, ...]
    form: str
    reason: str
    lints: tuple[str, ...]
    origin: str
    test: str
    context: str
    fired: int | None = None
    failed: int | None = None
    block: tuple[str, ...] | None = None
    aggregator: str | None = None
    why: str | None = None
    tier: str | None = None
    candidates: tuple[str, ...] = ()
    soft: bool = False
    marks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "id": self.id,
            "class": self.kind,
            "soft": self.soft,
            "marks": list(self.marks),
            "variables": list(self.variables),
            "form": self.form,
            "reason": self.reason,
            "lints": list(self.lints),
            "origin": self.origin,
            "context": self.context,
            "test": self.test,
            "fired": self.fired,
            "failed": self.failed,
            "block": None if self.block is None else list(self.block),
            "candidates": list(self.candidates),
            "aggregator": self.aggregator,
            "why": self.why,
            "tier": self.tier,
        }


@dataclass(frozen=True, slots=True)
class ExplainResult:
    """What masktron makes of a rulebook, and with data what it would do.

    Attributes
    ----------
    obstacle : str or None
        Why `mask` would stop, where it would.
    preflight : Preflight
        What the rules say about each other.
    ties : tuple of Tie
        Rules that read masked and unmasked fields; without data, by the declared roles alone.
    coverage : tuple of Coverage
        What the records test of each rule; empty without data.
    tested : Tested or None
        How many rules the data test.
    """

    rulebook: str
    version: str
    rules: tuple[RuleExplanation, ...]
    notes: tuple[str, ...]
    obstacle: str | None
    preflight: Preflight
    ties: tuple[Tie, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    tested: Tested | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/explain.schema.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "explain",
            "rulebook": self.rulebook,
            "xpath": self.version,
            "rules": [rule.as_dict() for rule in self.rules],
            "notes": list(self.notes),
            "obstacle": self.obstacle,
            "preflight": self.preflight.as_dict(),
            "ties": [tie.as_dict() for tie in self.ties],
            "coverage": [covered.as_dict() for covered in self.coverage],
            "tested": None if self.tested is None else self.tested.as_dict(),
        }

    def __repr__(self) -> str:
        from masktron.report.tables import explain_tables, render

        return render(explain_tables(self))


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """One of the aggregators that were tried for a block.

    Attributes
    ----------
    information_loss : float
        As in `BlockResult`, and lost values count as if the mean of the file replaced them; NaN where it was not
        carried out.
    copied_share : float
        Share of the records in groups that copy one of their records, 0 to 1; NaN where it was not carried out.
    verdict : str
        Taken, or why not.
    solved : tuple of str
        Fields that it solves in each record.
    """

    aggregator: str
    information_loss: float
    copied_share: float
    verdict: str
    solved: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "aggregator": self.aggregator,
            "information_loss": _number(self.information_loss),
            "copied_share": _number(self.copied_share),
            "verdict": self.verdict,
            "solved": list(self.solved),
        }


@dataclass(frozen=True, slots=True)
class SolvedResult:
    """A field that an equality of a rule gives in each record.

    Attributes
    ----------
    field, rule : str
    disjunct, atom : int
        Which alternative of the rule's form holds the equality, and where; both from 0.
    """

    field: str
    rule: str
    disjunct: int
    atom: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {"field": self.field, "rule": self.rule, "disjunct": self.disjunct, "atom": self.atom}


@dataclass(frozen=True, slots=True)
class CutResult:
    """A stratum with more records than are partitioned together; the largest one, where there are several.

    Attributes
    ----------
    records : int
    blocks : int
        Into which it was cut.
    largest : int
        Records of the largest.
    information_loss : float
        What the cut costs: percentage points of 100 SSE/SST in the coordinates in which groups are formed, with their
        means. It can be negative.
    measured : bool
        Whether this is the difference to what is formed without a cut; otherwise it is an estimate, which does not
        know that rules move records between groups.
    """

    records: int
    blocks: int
    largest: int
    information_loss: float
    measured: bool

    @classmethod
    def of(cls, cut: Cut, total: float) -> CutResult:
        """Put a cut into the words of reports; `total` is the sum of squares of the file."""
        return cls(cut.records, cut.blocks, cut.largest, cut.loss(total), cut.measured)

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "records": self.records,
            "blocks": self.blocks,
            "largest": self.largest,
            "information_loss": _number(self.information_loss),
            "measured": self.measured,
        }


@dataclass(frozen=True, slots=True)
class BlockResult:
    """One block after masking.

    Attributes
    ----------
    groups : int
        Of records that share one prototype; the number of records where each has values of its own.
    min_group : int
        Smallest number of records that share one prototype as written; solved fields apart.
    exits : mapping of str to int
        Groups by how settle found their prototype.
    observed_share : float
        Groups that publish the values of one observed record, per cent of the records: those that are copied, and in
        a block of observed aggregators all whose prototype one of their records holds.
    copied : int
        Groups that publish one record's values in the place of an aggregate, since no other obeys the rules or since
        this record rules its group: what ``max_observed_share`` is about.
    coincident : int
        Groups whose aggregate equals one of their records by chance.
    revealed : int
        Values that all members of a group of two or more had, and that are published: see
        `masktron.measures.revealed`.
    dominated : int
        Groups in which one record holds more than nine tenths of the weight.
    information_loss : float
        100 SSE/SST over the block's numeric variables, standardised; NaN where it has none.
    candidates : tuple of CandidateResult
        What came of each aggregator that keeps the rules, where there were several.
    solved : tuple of SolvedResult
        Fields that follow in each record from the others and from its unmasked fields. Groups share the other fields;
        these do not count for `min_group` where a rule gives them.
    cut : CutResult or None
        Where more records than ``max_block_records`` would have been partitioned together.
    """

    variables: tuple[str, ...]
    rules: tuple[str, ...]
    aggregator: str
    reason: str
    groups: int
    min_group: int
    exits: Mapping[str, int]
    observed_share: float
    copied: int
    coincident: int
    revealed: int
    dominated: int
    information_loss: float
    candidates: tuple[CandidateResult, ...] = ()
    solved: tuple[SolvedResult, ...] = ()
    cut: CutResult | None = None

    @property
    def drawn(self) -> bool:
        """Whether every record has values of its own, so that there are no groups."""
        return self.aggregator == "drawn"

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "variables": list(self.variables),
            "rules": list(self.rules),
            "aggregator": self.aggregator,
            "reason": self.reason,
            "groups": self.groups,
            "min_group": self.min_group,
            "exits": dict(self.exits),
            "observed_share": _number(self.observed_share),
            "copied": self.copied,
            "coincident": self.coincident,
            "revealed": self.revealed,
            "dominated": self.dominated,
            "information_loss": _number(self.information_loss),
            "candidates": [candidate.as_dict() for candidate in self.candidates],
            "solved": [solved.as_dict() for solved in self.solved],
            "cut": None if self.cut is None else self.cut.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class TotalResult:
    """The weighted total of a masked number, in the records in which it is present.

    Attributes
    ----------
    before, after : float
        In the original and in the masked file; without a weight every record counts once.
    change : float
        Per cent of the magnitude before; NaN where that is 0.
    records : int
        In which it is present, before or after: the smaller number.
    """

    name: str
    before: float
    after: float
    change: float
    records: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "field": self.name,
            "before": self.before if math.isfinite(self.before) else None,
            "after": self.after if math.isfinite(self.after) else None,
            "change": _number(self.change),
            "records": self.records,
        }


@dataclass(frozen=True, slots=True)
class CategoryResult:
    """The weighted counts of the categories of a masked field.

    Attributes
    ----------
    kind : str
        ``nominal`` or ``ordinal``.
    distance : float
        Total variation distance between the distributions before and after, per cent; NaN without values.
    before, after : mapping of str to float
        Weights of the records that hold each category, in the original and in the masked file. Confidential.
    """

    name: str
    kind: str
    distance: float
    before: Mapping[str, float] = field(repr=False)
    after: Mapping[str, float] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "field": self.name,
            "kind": self.kind,
            "distance": _number(self.distance),
            "counts": [
                {"category": category, "before": _number(count), "after": _number(self.after[category])}
                for category, count in self.before.items()
            ],
        }


@dataclass(frozen=True, slots=True)
class FigureResult:
    """One figure of risk, utility or contract: see `masktron.figures`.

    Attributes
    ----------
    name : str
    group : str
        ``contract``, ``risk`` or ``utility``.
    value : float
        NaN where the files have nothing of what it is about.
    unit : str
        ``%``, ``records``, or empty.
    better : str
        ``lower`` or ``higher``.
    field : str
        Where it is worst, for figures that are looked at field by field; else empty.
    meaning : str
        What it says and what is usual.
    """

    name: str
    group: str
    value: float
    unit: str
    better: str
    field: str
    meaning: str

    @classmethod
    def of(cls, measured: Measured) -> FigureResult:
        """Put a figure into the words of reports."""
        figure = measured.figure
        return cls(
            figure.name,
            figure.group,
            measured.value,
            figure.unit,
            figure.better,
            measured.field,
            figure.meaning,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        # nine digits that count: some figures are small by nature
        value = float(f"{self.value:.9g}") if math.isfinite(self.value) else None
        return {
            "figure": self.name,
            "group": self.group,
            "value": value,
            "unit": self.unit,
            "better": self.better,
            "field": self.field or None,
            "meaning": self.meaning,
        }


@dataclass(frozen=True, slots=True)
class AssessResult:
    """What masking cost and what risk is left: a masked file against its original.

    Attributes
    ----------
    masked, original : str
        The files.
    records : int
        Of the masked file, each compared with its own original.
    numeric, categorical : tuple of str
        Fields that were compared as numbers, and as categories.
    figures : tuple of FigureResult
        In the order contract, risk, utility.
    notes : tuple of str
        What was taken for granted, and what could not be told.
    """

    masked: str
    original: str
    records: int
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    figures: tuple[FigureResult, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        """Return the value of a figure: ``result["linkage"]``."""
        return {figure.name: figure.value for figure in self.figures}[name]

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a data frame, a row each, with a column for each attribute."""
        import pandas as pd

        rows = [{slot.name: getattr(figure, slot.name) for slot in fields(figure)} for figure in self.figures]
        return pd.DataFrame(rows, columns=[slot.name for slot in fields(FigureResult)])

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/assess.schema.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "assess",
            "masked": self.masked,
            "original": self.original,
            "records": self.records,
            "numeric": list(self.numeric),
            "categorical": list(self.categorical),
            "figures": [figure.as_dict() for figure in self.figures],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        from masktron.report.tables import assess_tables, render

        return render(assess_tables(self))


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A total over the file that masking had shifted, and that was mended.

    Attributes
    ----------
    before, after : float
        How far it was off, in steps of the grid, and how far it is now.
    groups : int
        Groups whose prototypes moved, for this and the other totals together.
    """

    rule: str
    before: float
    after: float
    groups: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rule": self.rule,
            "before": _number(self.before),
            "after": _number(self.after),
            "groups": self.groups,
        }


@dataclass(frozen=True, slots=True)
class EngineResult:
    """What one engine says of the written file.

    Attributes
    ----------
    violations : int
        Without those that known deviations explain.
    agrees : bool
        Whether nothing that it says otherwise is without a known reason.
    deviations : tuple of str
        Names of the known deviations that were met; ``docs/engines.md`` has them.
    rules : int
        How many of the binding rules it judged; `violations` and `agrees` speak of these.
    not_judged : tuple of str
        Binding rules that look across records of a large file and that it could not be asked about, each with the
        reason.
    """

    engine: str
    records: int
    violations: int
    agrees: bool
    notes: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    rules: int = field(kw_only=True)
    not_judged: tuple[str, ...] = field(default=(), kw_only=True)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "engine": self.engine,
            "rules": self.rules,
            "records": self.records,
            "violations": self.violations,
            "agrees": self.agrees,
            "deviations": list(self.deviations),
            "notes": list(self.notes),
            "not_judged": list(self.not_judged),
        }


@dataclass(frozen=True, slots=True)
class MomentResult:
    """Mean and variance of a drawn number: as the method drew it, and as it is written.

    Attributes
    ----------
    mean_drawn, mean_written : float
        Mean less that of the original, in standard deviations of the original.
    variance_drawn, variance_written : float
        Divided by that of the original.
    """

    name: str
    mean_drawn: float
    mean_written: float
    variance_drawn: float
    variance_written: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "field": self.name,
            "mean_drawn": _number(self.mean_drawn),
            "mean_written": _number(self.mean_written),
            "variance_drawn": _number(self.variance_drawn),
            "variance_written": _number(self.variance_written),
        }


@dataclass(frozen=True, slots=True)
class CorrelationResult:
    """The correlation of two drawn numbers: in the original, as drawn and as written; NaN where there is none."""

    fields: tuple[str, str]
    original: float
    drawn: float
    written: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "fields": list(self.fields),
            "original": _number(self.original),
            "drawn": _number(self.drawn),
            "written": _number(self.written),
        }


@dataclass(frozen=True, slots=True)
class UnmovedResult:
    """Records that came out as they went in, in all masked fields.

    Attributes
    ----------
    untouched : int
        Nothing of theirs was to be replaced.
    drawn : int
        They drew the values that they had, or these are the values of their group.
    given_back : int
        They drew others, and got their own back when the rules were kept.
    rare : int
        Of those that were to be replaced, the ones that fewer than k records of the original are like.
    """

    untouched: int
    drawn: int
    given_back: int
    rare: int

    @property
    def records(self) -> int:
        """All of them."""
        return self.untouched + self.drawn + self.given_back

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DrawResult:
    """What a method that draws did, and what keeping the rules made of it.

    Attributes
    ----------
    strata : int
        Parts of the file in which it drew: by alternatives of rules, and by what is missing.
    groups, smallest : int or None
        Groups of the method, and records of the smallest; None where it forms none.
    moments : tuple of MomentResult
        One for each drawn number.
    worst_drawn, worst_written : CorrelationResult or None
        The two of them whose correlation is farthest from that of the original, as drawn and as written; None where
        no two of them vary.
    unmoved_by : UnmovedResult
        Records that came out as they went in, in all masked fields, by the reason.
    """

    strata: int
    groups: int | None
    smallest: int | None
    moments: tuple[MomentResult, ...]
    worst_drawn: CorrelationResult | None
    worst_written: CorrelationResult | None
    unmoved_by: UnmovedResult

    @property
    def unmoved(self) -> int:
        """Records that came out as they went in, in all masked fields."""
        return self.unmoved_by.records

    @property
    def variance_drawn(self) -> MomentResult | None:
        """The number whose variance as drawn is farthest from that of the original; None where there is none."""
        return max(self.moments, key=lambda one: _off(one.variance_drawn), default=None)

    @property
    def variance_written(self) -> MomentResult | None:
        """The number whose variance as written is farthest from that of the original; None where there is none."""
        return max(self.moments, key=lambda one: _off(one.variance_written), default=None)

    @property
    def correlation_drawn(self) -> float:
        """Largest difference of a correlation as drawn to that of the original."""
        return abs(self.worst_drawn.drawn - self.worst_drawn.original) if self.worst_drawn else 0.0

    @property
    def correlation_written(self) -> float:
        """Largest difference of a correlation as written to that of the original."""
        return abs(self.worst_written.written - self.worst_written.original) if self.worst_written else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys."""
        return {
            "strata": self.strata,
            "groups": self.groups,
            "smallest": self.smallest,
            "moments": [moment.as_dict() for moment in self.moments],
            "correlation_drawn": _number(self.correlation_drawn),
            "correlation_written": _number(self.correlation_written),
            "worst_drawn": None if self.worst_drawn is None else self.worst_drawn.as_dict(),
            "worst_written": None if self.worst_written is None else self.worst_written.as_dict(),
            "unmoved": self.unmoved,
            "unmoved_by": self.unmoved_by.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class MaskResult:
    """A masked file and what is known of it.

    Attributes
    ----------
    output, manifest : str
        The files; empty where a data frame was masked without one.
    k, min_group, whole_record_k : int
        Asked for; the smallest group over all blocks; the smallest number of records alike in all masked fields.
    linkage : float
        Distance-based record linkage over all masked numeric variables, per cent.
    information_loss : float
        100 SSE/SST over all masked numeric variables, standardised.
    totals : tuple of TotalResult
        Weighted totals of the masked numbers before and after.
    categories : tuple of CategoryResult
        Weighted counts of the masked categories before and after.
    unchanged : mapping of str to float
        For each masked field, the values that are written as they were, per cent of its values; NaN without any.
    violations : int
        Of hard rules that apply and were not let go, over all records of the written file.
    repairs : tuple of RepairResult
        Totals over the file that were mended.
    figures : tuple of FigureResult
        Those that cost little, and those that have a limit; `assess` has all.
    excluded : tuple of int
        Positions (from 0) of original records left out since they break a rule: confidential.
    left_out : mapping of str to int
        What else of the original was not released: comments, processing instructions, document types, declarations
        of namespaces, attributes of elements around the records.
    method : str
    promise : str
        The protection contract of the method, in a sentence.
    draw : DrawResult or None
        For methods that draw values for each record.
    contract : str
        The kind of the protection contract.
    unmasked : tuple of str
        Fields that are written as they were.
    original_order : bool
        Whether the records stand in the order of the original, and no field tells that order that is written as it
        was and differs in every record.
    identifying : tuple of str
        Fields that are written as they were and differ in every record.
    order : ndarray of intp, shape (records_out,), or None
        Written record i is record ``order[i]`` of those that were kept, in the order of the original; None where they
        stand in that order. A secret: it is in no output but the manifest.
    """

    output: str
    manifest: str
    records_in: int
    records_out: int
    k: int
    min_group: int
    whole_record_k: int
    linkage: float
    information_loss: float
    totals: tuple[TotalResult, ...]
    categories: tuple[CategoryResult, ...]
    unchanged: Mapping[str, float]
    violations: int
    blocks: tuple[BlockResult, ...]
    rules: tuple[RuleResult, ...]
    engines: tuple[EngineResult, ...]
    not_applicable: Mapping[str, str]
    allowed: tuple[str, ...]
    notes: tuple[str, ...]
    repairs: tuple[RepairResult, ...] = ()
    figures: tuple[FigureResult, ...] = ()
    excluded: tuple[int, ...] = field(default=(), repr=False)
    left_out: Mapping[str, int] = field(default_factory=dict)
    method: str = "mdav"
    promise: str = ""
    draw: DrawResult | None = None
    contract: str = "identical-groups"
    unmasked: tuple[str, ...] = ()
    original_order: bool = False
    identifying: tuple[str, ...] = ()
    data: pd.DataFrame | None = field(default=None, repr=False, compare=False)
    order: NDArray[np.intp] | None = field(default=None, repr=False, compare=False)

    @property
    def valid(self) -> bool:
        """Whether the written file obeys every rule that was to be kept, in every engine."""
        return self.violations == 0 and all(engine.agrees for engine in self.engines)

    @property
    def tested(self) -> Tested:
        """How many of the rules that were to be kept the written file tests."""
        return Tested.of(self.rules, self.records_out)

    @property
    def verdict(self) -> str:
        """What was and what was not protected, in a few sentences."""
        from masktron.report.verdict import verdict

        return verdict(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/mask.schema.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "mask",
            "notice": INTERNAL,
            "output": self.output,
            "manifest": self.manifest,
            "valid": self.valid,
            "method": self.method,
            "promise": self.promise,
            "verdict": self.verdict,
            "records_in": self.records_in,
            "records_out": self.records_out,
            "k": self.k,
            "min_group": self.min_group,
            "whole_record_k": self.whole_record_k,
            "linkage": _number(self.linkage),
            "information_loss": _number(self.information_loss),
            "totals": [total.as_dict() for total in self.totals],
            "categories": [category.as_dict() for category in self.categories],
            "unchanged": {name: _number(share) for name, share in self.unchanged.items()},
            "violations": self.violations,
            "blocks": [block.as_dict() for block in self.blocks],
            "repairs": [repair.as_dict() for repair in self.repairs],
            "draw": None if self.draw is None else self.draw.as_dict(),
            "figures": [figure.as_dict() for figure in self.figures],
            "tested": self.tested.as_dict(),
            "rules": [rule.as_dict() for rule in self.rules],
            "engines": [engine.as_dict() for engine in self.engines],
            "not_applicable": dict(self.not_applicable),
            "allowed": list(self.allowed),
            "notes": list(self.notes),
            "excluded": [position + 1 for position in self.excluded],
            "left_out": dict(self.left_out),
            "original_order": self.original_order,
            "identifying": list(self.identifying),
        }

    def __repr__(self) -> str:
        from masktron.report.tables import mask_tables, render

        return render(mask_tables(self))


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether a masked file complies with its rules and its contract.

    Attributes
    ----------
    problems : tuple of str
        What is wrong besides violated rules.
    min_group : int or None
        Smallest group over the blocks of the manifest; None where it could not be checked.
    checked, not_checked : tuple of str
        What was verified, and what could not be for want of the original or the manifest.
    notes : tuple of str
        What the user should know although it breaks nothing.
    figures : tuple of FigureResult
        Those that have a limit.
    unevaluated : tuple of str
        Rules that were left out: without their document, on removed fields, or let go when the file was masked.
    """

    data: str
    records: int
    violations: int
    warnings: int
    min_group: int | None
    problems: tuple[str, ...]
    checked: tuple[str, ...]
    not_checked: tuple[str, ...]
    rules: tuple[RuleResult, ...]
    notes: tuple[str, ...] = ()
    figures: tuple[FigureResult, ...] = ()
    unevaluated: tuple[str, ...] = ()

    @property
    def complies(self) -> bool:
        """Whether each hard rule is tested, none fails too often, and the contract holds as far as it was checked."""
        return all(rule.passes for rule in self.rules) and not self.problems

    @property
    def tested(self) -> Tested:
        """How many rules of the rulebook the file tests."""
        return Tested.of(self.rules, self.records, self.unevaluated)

    @property
    def exit_code(self) -> Exit:
        """What the command line returns, as for `ValidateResult`."""
        return _exit_code(self.rules, holds=self.complies)

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/check.schema.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "job": "check",
            "data": self.data,
            "complies": self.complies,
            "records": self.records,
            "violations": self.violations,
            "warnings": self.warnings,
            "min_group": self.min_group,
            "problems": list(self.problems),
            "checked": list(self.checked),
            "not_checked": list(self.not_checked),
            "notes": list(self.notes),
            "figures": [figure.as_dict() for figure in self.figures],
            "tested": self.tested.as_dict(),
            "rules": [rule.as_full_dict() for rule in self.rules],
        }

    def __repr__(self) -> str:
        from masktron.report.tables import check_tables, render

        return render(check_tables(self))


def _exit_code(rules: Iterable[RuleResult], *, holds: bool) -> Exit:
    if any(rule.idle and rule.untested is not None and rule.untested.misnamed for rule in rules):
        return Exit.RULEBOOK
    return Exit.COMPLIES if holds else Exit.VIOLATION


def shown(path: Path) -> str:
    """Return a path as the user gave it, with forward slashes."""
    return path.as_posix()


def _off(ratio: float) -> float:
    """How far a ratio of variances is from 1: a half is as far as two."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def _number(value: float) -> float | None:
    """Round for a report; JSON has no NaN and no infinity."""
    return round(value, 6) if math.isfinite(value) else None
