"""``masktron rerun``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, override

from masktron.commands import running
from masktron.commands.base import DataFile, MaybeRulebook, Out, Tables, table_places
from masktron.commands.offered import offered
from masktron.commands.release_pages import Releases
from masktron.declared import HOW, OUTPUT, require, setting
from masktron.errors import MasktronError, UsageError
from masktron.problems.problem import Note
from masktron.problems.wording import options_of
from masktron.progress import Progress, no_progress
from masktron.setting_values import FilePath, MaybeFilePath

if TYPE_CHECKING:
    from masktron.results import RerunResult


def _kinds(given: Sequence[str]) -> tuple[str, ...]:
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    require(listed, "a list of kinds of changes", given, 'such as ["new-field"]')
    return tuple(given)


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
    names_manifest = "new_manifest"
    takes_file = False

    manifest: FilePath = setting(
        "The manifest of the run that is to be repeated.",
        kw_only=False,
        metavar="MANIFEST",
        reads="the manifest of the last run",
    )
    data: DataFile = setting(kw_only=False)
    out: Out = setting("The masked file, or table.", kw_only=False)
    rules: MaybeRulebook = setting(
        "The rulebook, where it has moved or is another one.", default=None, shown="that of the last run"
    )
    new_manifest: MaybeFilePath = setting(
        "Manifest of this run; by default x.manifest.json beside x.xml.",
        OUTPUT, default=None, option="--manifest", metavar="FILE", writes=True,
    )  # fmt: skip
    accept: Sequence[str] = setting(
        "Go on in spite of changes of this kind, such as new-field or other-rule.",
        HOW, converter=_kinds, default=(), metavar="KIND", page="repeating",
    )  # fmt: skip
    tables: Tables = setting(
        "The table of a level of nested records; that of the last run for a level without one.",
        converter=table_places,
        factory=dict,
        option="--table",
        reads="the table",
    )
    dry_run: bool = setting(
        "Say what has changed and what would happen; write nothing.", HOW, default=False, page="repeating"
    )

    @override
    def refuse_outputs(self, written: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
        page = "--html" if self.html is not None else "--html-public" if self.html_public is not None else ""
        if self.dry_run and page:
            why = ": a dry run masks nothing"
            raise UsageError.of("given-twice", one=page, other="a dry run", why=why)
        super().refuse_outputs(written, inputs)

    @override
    def carry_out(self, progress: Progress) -> Any:
        json = None if running.is_stdout(self.json) else self.json
        beside = {"--json": json, "--html": self.html, "--html-public": self.html_public}
        result = self.run(progress, beside={option: one for option, one in beside.items() if one is not None})
        return result, None if self.dry_run else self.pages(progress)

    @override
    def tell(self, result: Any) -> None:
        from masktron.report.rendering import tables_of

        made, pages = result
        if self.verbose and made.run is not None:
            running.show(tables_of(made.run), self.json)
        running.report(made, self.json)
        if made.run is not None:
            self.tell_release(made.run, pages)

    @override
    def tell_refusal(self, error: Any) -> None:
        from masktron.jobs.rerun.repeating import InvalidNextFileError
        from masktron.report.tables.rerun import changes_shown

        if isinstance(error, InvalidNextFileError):
            running.show(changes_shown(error.changes), self.json)
        super().tell_refusal(error)

    def run(self, progress: Progress = no_progress, beside: Mapping[str, Path] | None = None) -> RerunResult:
        """Repeat the run; `beside` is what is written beside the release."""
        from masktron.jobs.rerun.repeating import Repeating, run_rerun

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
            if not takes.issuperset(options_of(error.problem)):
                error.then(Note("rerun takes such settings from the manifest; for others, run `masktron mask`"))
            raise
