"""``masktron check``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands.base import (
    Command,
    Judges,
    Line,
    VerbosePageLine,
    original_option,
    path,
    released_order,
    require_files,
    rules_option,
    source,
    table_places,
    tables_option,
    typed_place,
)
from masktron.declared import IN, Shape, checked, declared
from masktron.progress import Progress, no_progress
from masktron.setting_values import switch

if TYPE_CHECKING:
    from masktron.config import ReadOptions
    from masktron.results import CheckResult


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class OnRelease(Command):
    """A command that reads a masked file, and compares it with its original."""

    hides = ("levels",)

    masked: Path = field(
        converter=source,
        metadata=declared("The masked file, or table.", metavar="MASKED", read=typed_place, reads="the masked file"),
    )
    manifest: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(path),
        metadata=declared(
            "The manifest that mask wrote: what was masked how, and in which order.", IN, metavar="FILE",
            reads="the manifest",
        ),
    )  # fmt: skip
    tables: Mapping[str, Path] = field(
        factory=dict,
        kw_only=True,
        converter=table_places,
        metadata=tables_option(
            "The table of a level of the masked file, where it does not lie beside that; repeatable.", "--table",
            "the masked table",
        ),
    )  # fmt: skip
    original_tables: Mapping[str, Path] = field(
        factory=dict,
        kw_only=True,
        converter=table_places,
        metadata=tables_option(
            "The table of a level of the original, in the place of the one in [levels] or in the manifest; "
            "repeatable.",
            "--original-table",
            "the original table",
        ),
    )
    same_order: bool = field(
        default=False,
        kw_only=True,
        converter=switch,
        metadata=declared(
            "Without a manifest: the masked records are in the order of the original.", IN, form=Shape.SWITCH,
            page="how-to/assessing",
        ),
    )  # fmt: skip


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Check(OnRelease, Judges):
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
    line: ClassVar[type[Line]] = VerbosePageLine

    rules: Path = field(converter=path, metadata=rules_option())
    original: Path | None = field(default=None, kw_only=True, converter=optional(source), metadata=original_option())

    def run(self, progress: Progress = no_progress) -> CheckResult:
        """Check the file."""
        from masktron.jobs.check import require_inputs, run_check
        from masktron.level_settings import GivenTables
        from masktron.thresholds import thresholds

        require_files(self.manifest, self.masked, self.original)
        self.require_no_format(self.masked, self.original)
        require_inputs(self.given.get("limits", {}), self.original, self.manifest)
        said = self.given.keys() & {"format", "format_options"}
        return run_check(
            self.masked,
            self.rules,
            original=self.original,
            documents=self.documents,
            spare_documents=self.spare_documents,
            manifest=self.manifest,
            reading=self.reading if said else _as_named(self.masked, self.original, self.reading),
            original_reading=self.reading,
            phase=self.phase,
            max_failures=thresholds(self.max_failures),
            limits=self.limits,
            allow_unfired=self.allow_unfired,
            allow_empty=self.allow_empty,
            config=self.settled,
            stated=released_order(self.masked, self.original, same_order=self.same_order),
            tables=GivenTables(self.tables, self.original_tables),
            progress=progress,
        )


def _as_named(masked: Path, original: Path | None, reading: ReadOptions) -> ReadOptions:
    """Return how a masked file is read that was converted: settings say how files of the original's format are."""
    from masktron.sources.known_formats import format_of_name

    if original is None or format_of_name(masked) == format_of_name(original):
        return reading
    return replace(reading, format=None, options={})
