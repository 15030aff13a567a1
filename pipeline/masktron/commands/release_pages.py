"""Commands that make a release: its pages, which are written with the masked file, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, override

from masktron.commands import running
from masktron.commands.base import PUBLIC_PAGE, Paged, Replaces, ReportFile, Verbose
from masktron.declared import LIMITS, OUTPUT, setting
from masktron.problems.problem import Problem
from masktron.progress import Progress

if TYPE_CHECKING:
    from masktron.errors import MasktronError
    from masktron.results import MaskResult, ReportResult


class Releases(Replaces, Verbose, Paged):
    """A command that makes a release.

    Attributes
    ----------
    names_manifest : str
        The field with the name of the manifest that is written.
    """

    names_manifest: ClassVar[str] = "manifest"

    again: str | None = setting(
        "Release records that the register has; the reason goes into register and manifest.",
        LIMITS,
        default=None,
        metavar="REASON",
        page="repeating",
    )
    show_values: bool = setting(
        "Print three values of each masked field before and after masking: CONFIDENTIAL.",
        OUTPUT,
        default=False,
        init=False,
    )
    html_public: ReportFile = setting(PUBLIC_PAGE, default=None, init=False)

    @property
    def written_manifest(self) -> Path:
        """Where the manifest of the release goes."""
        from masktron.sources.output_names import manifest_beside

        named: Path | None = getattr(self, self.names_manifest)
        return named or manifest_beside(self._files.out)

    @property
    def _files(self) -> Any:
        """The command, as one that has an original, rules and an output."""
        return self

    @override
    def refuse_outputs(self, written: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
        running.check_outputs({**written, "--manifest": self.written_manifest}, inputs)

    def pages(self, progress: Progress) -> ReportResult | MasktronError | None:
        """Write the pages of a release that is in its place.

        Returns
        -------
        ReportResult, MasktronError or None
            The error is to be raised once all is said of the release, which is written.
        """
        if self.html is None and self.html_public is None:
            return None
        from masktron.errors import MasktronError
        from masktron.jobs.report import run_report
        from masktron.results import shown

        masked, original, rules = self._files.out, self._files.data, self._files.rules
        try:
            return run_report(
                self.written_manifest,
                masked=masked,
                original=original,
                rules=rules,
                html=self.html,
                html_public=self.html_public,
                own=True,
                progress=progress,
            )
        except MasktronError as error:
            named = "RULES.sch" if rules is None else shown(rules)
            rulebook = f" --rules {named}" if named and self.html_public is not None else ""
            error.problem = Problem(
                "pages-missing",
                error.problem.place,
                problem=error.problem,
                manifest=self.written_manifest,
                masked=masked,
                original=original,
                rulebook=rulebook,
            )
            return error

    def tell_release(self, made: MaskResult, pages: ReportResult | MasktronError | None) -> None:
        """Show values where they are wanted, and say which pages were written.

        Raises
        ------
        MasktronError
            The pages could not be written.
        """
        from masktron.errors import MasktronError
        from masktron.report.rendering import tables_of
        from masktron.report.tables.mask import values_shown

        if self.show_values:
            running.show(values_shown(made), self.json)
        if isinstance(pages, MasktronError):
            raise pages
        if pages is not None:
            running.show(tables_of(replace(pages, verdict=None)), self.json)  # the verdict stands above
            running.show(self._few_left_out(made, pages), self.json)

    def _few_left_out(self, made: MaskResult, pages: ReportResult) -> list[str]:
        """Say what a page for others tells of few left-out records; of nested files some may be rare ones."""
        from masktron.counts import counted
        from masktron.jobs.report import read_result
        from masktron.results.public_release import FEW_LEFT_OUT

        count = made.records_in - made.records_out
        if not (any(page.edition == "public" for page in pages.pages) and 0 < count < FEW_LEFT_OUT):
            return []
        # the manifest says whether records that few are composed like were to be left out, too
        rare = bool(made.levels) and read_result(self.written_manifest)["config"]["rare_units"] == "exclude"
        also = ", or that fewer than k are composed like," if rare else ""
        learns = "that his answers broke a rule" + (", or that few households are like his" if rare else "")
        return [
            f"note: {counted(count, 'record')} that broke a rule{also} {'is' if count == 1 else 'are'} left out, and "
            "the page for others says so: whoever knows that somebody took part and misses him in the file "
            f"learns {learns}; correct these records, or keep the page"
        ]
