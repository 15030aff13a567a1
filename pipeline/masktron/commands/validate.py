"""``masktron validate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, override

from masktron.commands import running
from masktron.commands.base import (
    OF_SETTINGS,
    Judges,
    MaybeOriginal,
    Microdata,
    Paged,
    ReportFile,
    RulebookOrNone,
    Verbose,
    source,
)
from masktron.declared import OUTPUT, Shape, Taken, WrongValue, setting
from masktron.errors import UsageError
from masktron.progress import Progress, no_progress
from masktron.report.formats import FORMATS
from masktron.setting_values import File, typed_place

if TYPE_CHECKING:
    from masktron.report.outputs import Outputs
    from masktron.results import ValidateResult
    from masktron.sources.opening import EarlyReader

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


type Several = list[File] | tuple[File, ...]


def _sources(given: Microdata | Several) -> Path | tuple[Path, ...]:
    return tuple(map(source, given)) if isinstance(given, list | tuple) else source(given)


def _one_or_several(_: str, places: Sequence[Any]) -> Any:
    return places[0] if len(places) == 1 else [*places]


class Validate(Judges, Verbose, Paged):
    """Evaluate every rule on every record, or on every document.

    Several files are judged one after the other by a rulebook that is compiled once, those in XML as documents unless
    --record names the element of a record. Reports about them are one for all, but SVRL and HTML: there the name is
    that of a folder, which gets one for each.

    Reports show values of single records and say that they are confidential, unless --release-safe leaves them out.

    Returns
    -------
    ValidateResult
        ``findings`` lists what is wrong, record by record; ``to_frame()`` has it as a data frame. Of a list of files,
        ``documents`` has the result of each.

    Raises
    ------
    RulebookError, DocumentError, UsageError, ResourceError
    """

    name = "validate"

    data: Taken[Path | tuple[Path, ...], Microdata | Several] = setting(
        "Microdata in XML, CSV, Parquet, SPSS ...: see masktron formats; or documents in XML, all under the rules.",
        converter=_sources, kw_only=False, metavar="DATA...", form=Shape.LIST, collect=_one_or_several,
        read=typed_place, reads="the data", page="how-to/documents",
    )  # fmt: skip
    rules: RulebookOrNone = setting(default=None, kw_only=False, shown=OF_SETTINGS)
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
        with ExitStack() as stack:
            # libxml2 reads a large file while the rest is loaded
            judge = stack.enter_context(running.judging(self.data)) if isinstance(self.data, Path) else None
            from masktron.report.outputs import Outputs

            # each format has an option of its name
            outputs = Outputs({one: getattr(self, one) for one in FORMATS}, self.max_findings)
            result = self.run(progress, outputs, judge)
        return result, outputs

    @override
    def refuse_outputs(self, written: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
        if isinstance(self.data, Path):
            super().refuse_outputs(written, inputs)
            return
        folders = {f"--{name}" for name, one in FORMATS.items() if one.around is None}
        for option in folders:
            folder = written.get(option)
            if folder is not None and folder.exists() and not folder.is_dir():
                raise UsageError.of(
                    "would-overwrite", folder, output=option, taken="a file, and no folder of reports"
                )
        files = {option: path for option, path in written.items() if option not in folders}
        super().refuse_outputs(files, inputs)

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

    def run(
        self, progress: Progress = no_progress, outputs: Outputs | None = None, judge: EarlyReader | None = None
    ) -> ValidateResult:
        """Validate; on the command line, write reports, and go on where libxml2 has begun to read."""
        from masktron.executor.which import asked_executor
        from masktron.jobs.validate import ValidateRequest, run_validate

        self.require_no_format(*((self.data,) if isinstance(self.data, Path) else self.data), self.original)
        request = ValidateRequest(
            self.rules,
            config=self.settled,
            original=self.original,
            record_id=self.record_id,
            limit=self.max_findings,
            allow_empty=self.allow_empty,
            release_safe=self.release_safe,
        )
        if outputs is not None:
            limit = KEPT if self.max_findings is None else min(self.max_findings, KEPT)
            request = replace(request, limit=limit, outputs=outputs)
        executor = asked_executor(self.settled)
        if isinstance(self.data, Path):
            return run_validate(self.data, request, progress=progress, judge=judge, executor=executor)
        from masktron.jobs.several_documents import run_validate_several

        return run_validate_several(self.data, request, progress=progress, executor=executor)
