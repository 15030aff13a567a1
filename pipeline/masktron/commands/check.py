"""``masktron check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from masktron.commands.base import (
    OF_SETTINGS,
    Command,
    Judges,
    MaybeOriginal,
    Paged,
    RulebookOrNone,
    Source,
    Tables,
    Verbose,
    released_order,
    require_files,
    table_places,
)
from masktron.declared import IN, setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import MaybeFilePath

if TYPE_CHECKING:
    from masktron.config import ReadOptions
    from masktron.results import CheckResult


class OnRelease(Command):
    """A command that reads a masked file, and compares it with its original."""

    hides = ("levels",)

    masked: Source = setting("The masked file, or table.", kw_only=False, metavar="MASKED", reads="the masked file")
    manifest: MaybeFilePath = setting(
        "The manifest that mask wrote: what was masked how, and in which order.",
        IN, default=None, metavar="FILE", reads="the manifest",
    )  # fmt: skip
    tables: Tables = setting(
        "The table of a level of the masked file, where it does not lie beside that.",
        converter=table_places, factory=dict, option="--table", reads="the masked table",
    )  # fmt: skip
    original_tables: Tables = setting(
        "The table of a level of the original, in the place of the one in [levels] or in the manifest.",
        converter=table_places,
        factory=dict,
        option="--original-table",
        reads="the original table",
    )
    same_order: bool = setting(
        "Without a manifest: the masked records are in the order of the original.",
        IN, default=False, page="how-to/assessing",
    )  # fmt: skip


class Check(OnRelease, Judges, Verbose, Paged):
    """Check a masked file: its edits, and as far as manifest and original are given its contract.

    Returns
    -------
    CheckResult

    Raises
    ------
    UsageError, RulebookError, DocumentError, ResourceError
        Among others, where a data frame, which is no file, is to be compared with a manifest.
    """

    name = "check"
    judging = True

    rules: RulebookOrNone = setting(default=None, kw_only=False, shown=OF_SETTINGS)
    original: MaybeOriginal = setting(default=None)

    def run(self, progress: Progress = no_progress) -> CheckResult:
        """Check the file."""
        from masktron.jobs.check import CheckRequest, require_inputs, run_check
        from masktron.level_settings import GivenTables

        require_files(self.manifest, self.masked, self.original)
        self.require_no_format(self.masked, self.original)
        require_inputs(self.given.get("limits", {}), self.original, self.manifest)
        said = self.given.keys() & {"format", "format_options"}
        request = CheckRequest(
            self.masked,
            self.rules,
            config=self.settled,
            original=self.original,
            manifest=self.manifest,
            reading=None if said else _as_named(self.masked, self.original, self.reading),
            allow_empty=self.allow_empty,
            stated=released_order(self.masked, self.original, same_order=self.same_order),
            tables=GivenTables(self.tables, self.original_tables),
        )
        return run_check(request, progress)


def _as_named(masked: Path, original: Path | None, reading: ReadOptions) -> ReadOptions:
    """Return how a masked file is read that was converted: settings say how files of the original's format are."""
    from masktron.sources.known_formats import format_of_name

    if original is None or format_of_name(masked) == format_of_name(original):
        return reading
    return replace(reading, format=None, options={})
