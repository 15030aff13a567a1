"""``masktron report``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

from masktron.commands import running
from masktron.commands.base import PAGE, PUBLIC_PAGE, MaybeRulebook, Page, Plain
from masktron.declared import IN, setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import FilePath, MaybePlace

if TYPE_CHECKING:
    from masktron.results import ReportResult


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

    result: FilePath = setting(
        "What a command wrote with --json, or the manifest of mask, which has the most to show.",
        kw_only=False,
        metavar="RESULT.json",
        reads="the result",
    )
    masked: MaybePlace = setting(
        "The masked file, if it is not where the manifest says.",
        IN, default=None, metavar="FILE", reads="the masked file",
    )  # fmt: skip
    original: MaybePlace = setting(
        "The original, if it is not where the manifest says.", IN, default=None, metavar="FILE", reads="the original"
    )
    rules: MaybeRulebook = setting("The rulebook, if it is not where the manifest says.", default=None)
    html: Page = setting(PAGE, default=None)
    html_public: Page = setting(PUBLIC_PAGE, default=None)

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

    @override
    def tell(self, result: Any) -> None:
        running.report(result, self.json)  # its pages are written, and there is none about that
