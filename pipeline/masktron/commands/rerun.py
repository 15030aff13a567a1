"""``masktron rerun``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, override

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands import running
from masktron.commands.base import (
    Line,
    Releases,
    data_argument,
    out_option,
    path,
    place,
    rules_option,
    table_places,
    tables_option,
)
from masktron.commands.mask import ReleaseLine, written_manifest
from masktron.commands.offered import offered
from masktron.commands.release_pages import ReleasePages
from masktron.config import Config
from masktron.declared import HOW, OUTPUT, Shape, WrongValue, checked, declared
from masktron.errors import MasktronError, UsageError
from masktron.progress import Progress, no_progress
from masktron.setting_values import switch

if TYPE_CHECKING:
    from masktron.results import RerunResult


def _kinds(given: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise WrongValue(f" must be a list of kinds of changes, not {given!r}", '{name}=["new-field"]')
    return tuple(given)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class RerunLine(ReleaseLine):
    """What `rerun` shows."""

    @override
    def refuse_outputs(
        self,
        written: Mapping[str, Path | None],
        inputs: Mapping[str, Path | None],
        own: Mapping[str, Any],
        config: Config | None = None,
    ) -> None:
        page = "--html" if self.html is not None else "--html-public" if self.html_public is not None else ""
        if own.get("dry_run") and page:
            raise UsageError(
                f"{page} and --dry-run are both given", hint="a dry run masks nothing: leave the page out"
            )
        outputs = {**written, "--manifest": written_manifest(own["out"], own.get("new_manifest"))}
        running.check_outputs(outputs, inputs)

    @override
    def carry_out(self, command: Any, progress: Progress) -> Any:
        json = None if running.is_stdout(self.json) else self.json
        beside = {"--json": json, "--html": self.html, "--html-public": self.html_public}
        result = command.run(progress, beside={option: one for option, one in beside.items() if one is not None})
        return result, self.pages(command, written_manifest(command.out, command.new_manifest), progress)

    @override
    def pages(self, command: Any, manifest: Path, progress: Progress) -> ReleasePages:
        return ReleasePages() if command.dry_run else super().pages(command, manifest, progress)

    @override
    def tell(self, command: Any, result: Any) -> None:
        from masktron.report.rendering import tables_of
        from masktron.report.tables.mask import values_shown

        made, pages = result
        if self.verbose and made.run is not None:
            running.show(tables_of(made.run), self.json)
        running.report(made, self.json)
        if made.run is not None:
            if self.show_values:
                running.show(values_shown(made.run), self.json)
            running.show(pages.told(made.run, written_manifest(command.out, command.new_manifest)), self.json)
        pages.require()

    @override
    def tell_refusal(self, command: Any, error: Any) -> None:
        from masktron.jobs.rerun import InvalidNextFileError
        from masktron.report.tables.rerun import changes_shown

        if isinstance(error, InvalidNextFileError):
            running.show(changes_shown(error.changes), self.json)
        super().tell_refusal(command, error)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Rerun(Releases):
    """Do on another file what a run of `mask` has done, and compare both.

    Settings, rules and method are those of the manifest. A file or rules that do not fit any more are refused, with
    all that has changed. The same file gives the same bytes. What to look at and the verdict are those of this run.

    Returns
    -------
    RerunResult
        ``changes``, ``figures``, ``blocks`` and ``failures`` of both runs; ``run`` is the result of `mask`.

    Raises
    ------
    ChangedInputError
        The file or the rules do not fit any more; ``result`` has all changes.
    UsageError, RulebookError, DocumentError, InfeasibleError, ViolationError, ResourceError
        As for `mask`.

    Notes
    -----
    ``recode`` and ``pram`` say where the same hierarchies and matrices are now. Another file has a secret of its own.
    """

    name = "rerun"
    line: ClassVar[type[Line]] = RerunLine
    takes_file = False

    manifest: Path = field(
        converter=path,
        metadata=declared(
            "The manifest of the run that is to be repeated.",
            metavar="MANIFEST",
            reads="the manifest of the last run",
        ),
    )
    data: Path = field(converter=place, metadata=data_argument())
    out: Path = field(converter=place, metadata=out_option("The masked file, or table."))
    rules: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(path),
        metadata=rules_option("The rulebook, where it has moved or is another one.", shown="that of the last run"),
    )
    new_manifest: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(path),
        metadata=declared(
            "Manifest of this run; by default x.manifest.json beside x.xml.", OUTPUT, "--manifest", metavar="FILE",
            writes=True,
        ),
    )  # fmt: skip
    accept: Sequence[str] = field(
        default=(),
        kw_only=True,
        converter=_kinds,
        metadata=declared(
            "Go on in spite of changes of this kind, such as new-field or other-rule; repeatable.",
            HOW, metavar="KIND", form=Shape.LIST, page="repeating",
        ),
    )  # fmt: skip
    tables: Mapping[str, Path] = field(
        factory=dict,
        kw_only=True,
        converter=table_places,
        metadata=tables_option(
            "The table of a level of nested records; that of the last run for a level without one; repeatable.",
            "--table",
            "the table",
        ),
    )
    dry_run: bool = field(
        default=False,
        kw_only=True,
        converter=switch,
        metadata=declared(
            "Say what has changed and what would happen; write nothing.",
            HOW,
            form=Shape.SWITCH,
            page="repeating",
        ),
    )

    def run(self, progress: Progress = no_progress, beside: Mapping[str, Path] | None = None) -> RerunResult:
        """Repeat the run; `beside` is what is written beside the release."""
        from masktron.jobs.rerun import Repeating, run_rerun

        how = Repeating(
            rules=self.rules,
            manifest=self.new_manifest,
            accept=tuple(self.accept),
            tables=self.tables,
            settings={name: getattr(self, name) for name in self.given},
            again=self.again,
            replaces=self.replace,
            dry_run=self.dry_run,
            beside=beside or {},
        )
        try:
            return run_rerun(self.manifest, self.data, self.out, how, progress=progress)
        except MasktronError as error:
            takes = {spelling for one in offered(Rerun) for spelling in one.spellings}
            if not takes.issuperset(re.findall(r"--[a-z][a-z-]*", error.hint)):
                error.hint += "; rerun takes such settings from the manifest: for others, run masktron mask"
            raise
