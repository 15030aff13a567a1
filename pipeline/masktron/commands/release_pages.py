"""Pages that are written with a masked file, and what is said of them below the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from masktron.errors import MasktronError
    from masktron.progress import Progress
    from masktron.results import MaskResult, ReportResult


@dataclass(frozen=True, slots=True)
class ReleasePages:
    """What became of the pages of a file that is in its place.

    Attributes
    ----------
    written : ReportResult or None
        None where nobody wants any, or where they cannot be written.
    problem : MasktronError or None
        Why they cannot be written: to be raised once all is said of the release, which is written.
    """

    written: ReportResult | None = None
    problem: MasktronError | None = None

    def told(self, result: MaskResult, manifest: Path) -> list[RenderableType]:
        """Say which pages were written, and what the page for others tells of few left-out records.

        Parameters
        ----------
        result : MaskResult
        manifest : Path
            Of the run, which is written. It says whether records that fewer than k are composed like were left out,
            too.

        Raises
        ------
        UsageError
            The manifest cannot be read any more.
        """
        if self.written is None:
            return []
        from masktron.jobs.report import read_result
        from masktron.report.rendering import tables_of
        from masktron.results.public_release import FEW_LEFT_OUT

        parts = tables_of(replace(self.written, verdict=None))  # which stands above
        left_out = result.records_in - result.records_out
        if any(page.edition == "public" for page in self.written.pages) and 0 < left_out < FEW_LEFT_OUT:
            settings = read_result(manifest).part("config")
            rare = bool(result.levels) and settings.text("rare_units") == "exclude"
            parts.append(_few_left_out(left_out, rare=rare))
        return parts

    def require(self) -> None:
        """Raise the problem, if there is one."""
        if self.problem is not None:
            raise self.problem


def pages_of_release(
    manifest: Path,
    *,
    masked: Path,
    original: Path,
    rules: Path | None,
    html: Path | None,
    html_public: Path | None,
    progress: Progress,
) -> ReleasePages:
    """Write the pages of a file that was just masked.

    Parameters
    ----------
    rules : Path or None
        None: where the manifest says they are.
    """
    if html is None and html_public is None:
        return ReleasePages()
    from masktron.errors import MasktronError
    from masktron.jobs.report import run_report

    try:
        written = run_report(
            manifest,
            masked=masked,
            original=original,
            rules=rules,
            html=html,
            html_public=html_public,
            own=True,
            progress=progress,
        )
    except MasktronError as error:
        error.what = f"the file is masked and in its place, and its pages are not written: {error.what}"
        rulebook = "" if html_public is None else f" --rules {rules or 'RULES.sch'}"
        error.hint = (
            f"mask nothing again: masktron report {manifest} --masked {masked} --original {original}{rulebook} makes "
            "them (--html, --html-public)"
        )
        return ReleasePages(problem=error)
    return ReleasePages(written)


def _few_left_out(count: int, *, rare: bool) -> str:
    """Say what a page for others tells of few left-out records; of nested files some may be rare ones.

    Parameters
    ----------
    count : int
    rare : bool
        Whether records that few are composed like were to be left out, too.
    """
    from masktron.counts import counted

    also = ", or that fewer than k are composed like," if rare else ""
    learns = "that his answers broke a rule" + (", or that few households are like his" if rare else "")
    return (
        f"note: {counted(count, 'record')} that broke a rule{also} {'is' if count == 1 else 'are'} left out, and the "
        "page for others says so: whoever knows that somebody took part and misses him in the file "
        f"learns {learns}; correct these records, or keep the page"
    )
