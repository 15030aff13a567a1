"""``masktron validate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, override

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands import running
from masktron.commands.base import (
    Judges,
    Line,
    UnderRules,
    VerbosePageLine,
    original_option,
    report_option,
    source,
)
from masktron.declared import OUTPUT, Shape, WrongValue, checked, declared
from masktron.progress import Progress, no_progress
from masktron.report.formats import FORMATS
from masktron.setting_values import switch, text

if TYPE_CHECKING:
    from masktron.results import ValidateResult

KEPT = 1000
"""Findings of each rule that `validate` keeps in memory to count rounding artefacts among, where no report does."""


def _most(given: int | str | None) -> int | None:
    if given == "all":
        return None
    if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 0):
        raise WrongValue(f" must be an integer of at least 0, or None for all, not {given!r}")
    return given


def _number_or_all(text: str) -> int | str:
    if text != "all" and not (text.isascii() and text.isdigit()):
        raise ValueError(f"it must be a number of findings or all, not {text!r}")
    return text if text == "all" else int(text)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class ValidateLine(VerbosePageLine):
    """Reports of single findings."""

    svrl: Path | None = field(default=None, metadata=report_option("svrl"))
    csv: Path | None = field(default=None, metadata=report_option("csv"))
    sarif: Path | None = field(default=None, metadata=report_option("sarif"))
    junit: Path | None = field(default=None, metadata=report_option("junit"))

    @override
    def carry_out(self, command: Any, progress: Progress) -> Any:
        """Let libxml2 read a large file while the rest is loaded, and write reports."""
        with running.judging(command.data) as judge:
            from masktron.report.outputs import Outputs

            # each format has an option of its name
            outputs = Outputs({one: getattr(self, one) for one in FORMATS}, command.max_findings)
            most = KEPT if outputs.limit is None else min(outputs.limit, KEPT)
            result = command.run(progress, limit=most, outputs=outputs, judge=judge)
        return result, outputs

    @override
    def tell(self, command: Any, result: Any) -> None:
        found, outputs = result
        from masktron.report.rendering import tables_of

        running.show_found(command.found, self.json)
        others = running.without_note(found, command.found)
        told = outputs.told(release_safe=command.release_safe)
        if self.verbose:
            running.show([*tables_of(others), *told], self.json)
        else:
            running.show_in_short(others, self.json, told)

    @override
    def code(self, result: Any) -> Any:
        return result[0].exit_code


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Validate(UnderRules, Judges):
    """Evaluate every rule on every record.

    Reports show values of single records and say that they are confidential, unless --release-safe leaves them out.

    Returns
    -------
    ValidateResult
        ``findings`` lists what is wrong, record by record; ``to_frame()`` has it as a data frame.

    Raises
    ------
    RulebookError, DocumentError, UsageError, ResourceError
    """

    name = "validate"
    line: ClassVar[type[Line]] = ValidateLine

    original: Path | None = field(default=None, converter=optional(source), metadata=original_option())
    record_id: str | None = field(
        default=None,
        converter=optional(text),
        metadata=declared(
            "Field that names the record in reports.", OUTPUT, metavar="FIELD",
            shown="the key of its level, the role record-id or identifier, else @id",
        ),
    )  # fmt: skip
    max_findings: int | None = field(
        default=KEPT,
        converter=_most,
        metadata=declared(
            "Findings per rule in JSON and SARIF; counts are always exact.", OUTPUT, metavar="N|all",
            read=_number_or_all,
        ),
    )  # fmt: skip
    release_safe: bool = field(
        default=False,
        converter=switch,
        metadata=declared(
            "Counts only: no value, id or place of a record in any output.", OUTPUT, form=Shape.SWITCH,
            page="how-to/validating",
        ),
    )  # fmt: skip

    def run(self, progress: Progress = no_progress, **more: Any) -> ValidateResult:
        """Validate; `more` is for `run_validate`."""
        from masktron.executor.which import asked_executor
        from masktron.jobs.validate import run_validate
        from masktron.thresholds import thresholds

        self.require_no_format(self.data, self.original)
        return run_validate(
            self.data,
            self.rules,
            original=self.original,
            documents=self.documents,
            spare_documents=self.spare_documents,
            reading=self.reading,
            phase=self.phase,
            record_id=self.record_id,
            roles=self.roles,
            max_failures=thresholds(self.max_failures),
            allow_unfired=self.allow_unfired,
            allow_empty=self.allow_empty,
            release_safe=self.release_safe,
            executor=asked_executor(self.settled),
            notes=[self.found] if self.found else [],
            progress=progress,
            **{"limit": self.max_findings, **more},
        )
