"""``masktron validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

from masktron.commands import running
from masktron.commands.base import Judges, MaybeOriginal, Paged, ReportFile, UnderRules, Verbose
from masktron.declared import OUTPUT, WrongValue, setting
from masktron.progress import Progress, no_progress
from masktron.report.formats import FORMATS

if TYPE_CHECKING:
    from masktron.results import ValidateResult

KEPT = 1000
"""Findings of each rule that `validate` keeps in memory to count rounding artefacts among, where no report does."""


def _most(given: int | str | None) -> int | None:
    if given == "all":
        return None
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    raise WrongValue("bad-value", expected="an integer of at least 0, or None for all", given=repr(given))


def _number_or_all(text: str) -> int | str:
    if text != "all" and not (text.isascii() and text.isdigit()):
        raise ValueError(f"it must be a number of findings or all, not {text!r}")
    return text if text == "all" else int(text)


class Validate(UnderRules, Judges, Verbose, Paged):
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

    original: MaybeOriginal = setting(default=None)
    record_id: str | None = setting(
        "Field that names the record in reports.",
        OUTPUT, default=None, metavar="FIELD",
        shown="the key of its level, the role record-id or identifier, else @id",
    )  # fmt: skip
    max_findings: int | None = setting(
        "Findings per rule in JSON and SARIF; counts are always exact.",
        OUTPUT, converter=_most, default=KEPT, metavar="N|all", read=_number_or_all,
    )  # fmt: skip
    release_safe: bool = setting(
        "Counts only: no value, id or place of a record in any output.",
        OUTPUT, default=False, page="how-to/validating",
    )  # fmt: skip

    svrl: ReportFile = setting(FORMATS["svrl"].help, default=None, init=False)
    csv: ReportFile = setting(FORMATS["csv"].help, default=None, init=False)
    sarif: ReportFile = setting(FORMATS["sarif"].help, default=None, init=False)
    junit: ReportFile = setting(FORMATS["junit"].help, default=None, init=False)

    @override
    def carry_out(self, progress: Progress) -> Any:
        # libxml2 reads a large file while the rest is loaded
        with running.judging(self.data) as judge:
            from masktron.report.outputs import Outputs

            # each format has an option of its name
            outputs = Outputs({one: getattr(self, one) for one in FORMATS}, self.max_findings)
            most = KEPT if outputs.limit is None else min(outputs.limit, KEPT)
            result = self.run(progress, limit=most, outputs=outputs, judge=judge)
        return result, outputs

    @override
    def tell(self, result: Any) -> None:
        found, outputs = result
        from masktron.report.rendering import tables_of

        running.show_found(self.found, self.json)
        others = running.without_note(found, self.found)
        told = outputs.told(release_safe=self.release_safe)
        if self.verbose:
            running.show([*tables_of(others), *told], self.json)
        else:
            running.show_in_short(others, self.json, told)

    @override
    def code(self, result: Any) -> Any:
        return result[0].exit_code

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
            missing=self.missing,
            max_failures=thresholds(self.max_failures),
            allow_unfired=self.allow_unfired,
            allow_empty=self.allow_empty,
            release_safe=self.release_safe,
            executor=asked_executor(self.settled),
            notes=[self.found] if self.found else [],
            progress=progress,
            **{"limit": self.max_findings, **more},
        )
