"""``masktron report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands.base import (
    Plain,
    page_option,
    path,
    place,
    public_page_option,
    rules_option,
    typed_place,
)
from masktron.declared import IN, checked, declared
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import ReportResult


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Report(Plain):
    """Write pages with pictures of a result that was kept: one HTML file each, readable without a network.

    Returns
    -------
    ReportResult

    Raises
    ------
    UsageError, RulebookError, DocumentError
        Among others, where files are not those of the manifest, by their SHA-256.
    """

    name = "report"

    result: Path = field(
        converter=path,
        metadata=declared(
            "What a command wrote with --json, or the manifest of mask, which has the most to show.",
            metavar="RESULT.json",
            reads="the result",
        ),
    )
    masked: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(place),
        metadata=declared(
            "The masked file, if it is not where the manifest says.", IN, metavar="FILE", read=typed_place,
            reads="the masked file",
        ),
    )  # fmt: skip
    original: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(place),
        metadata=declared(
            "The original, if it is not where the manifest says.", IN, metavar="FILE", read=typed_place,
            reads="the original",
        ),
    )  # fmt: skip
    rules: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(path),
        metadata=rules_option("The rulebook, if it is not where the manifest says."),
    )
    html: Path | None = field(default=None, kw_only=True, converter=optional(path), metadata=page_option())
    html_public: Path | None = field(
        default=None, kw_only=True, converter=optional(path), metadata=public_page_option()
    )

    def run(self, progress: Progress = no_progress) -> ReportResult:
        """Write the pages."""
        from masktron.jobs.report import run_report

        return run_report(
            self.result,
            masked=self.masked,
            original=self.original,
            rules=self.rules,
            html=self.html,
            html_public=self.html_public,
            progress=progress,
        )
