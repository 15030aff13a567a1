"""``masktron assess``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, override

from masktron.commands import running
from masktron.commands.base import Paged, Source, Verbose, released_order, require_files
from masktron.commands.check import OnRelease
from masktron.declared import HOW, IN, Declared, Shape, Taken, require, setting, with_commas
from masktron.progress import Progress, no_progress
from masktron.setting_values import File, path, place, typed_place

if TYPE_CHECKING:
    from masktron.results import AssessResult


def _several(read: Callable[[File], Path], given: _Given) -> list[Path]:
    return [read(one) for one in ([given] if isinstance(given, str | PathLike) else given or ())]


type _Given = File | Sequence[File] | None
type _Files = Annotated[Taken[Sequence[Path], _Given], Declared(converter=partial(_several, path))]
type _Places = Annotated[
    Taken[Sequence[Path], _Given], Declared(converter=partial(_several, place), read=typed_place)
]


def _measures(given: Sequence[str]) -> Sequence[str]:
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    require(listed and all(isinstance(one, str) for one in given), "a list of names", given, 'such as ["linkage"]')
    return given


class Assess(OnRelease, Verbose, Paged):
    """Compare a masked file with its original.

    Roles, kinds and missing codes count where there is no manifest.

    Returns
    -------
    AssessResult
        ``result["linkage"]`` is a figure; ``to_frame()`` has all with their meaning.

    Raises
    ------
    UsageError, DocumentError

    Notes
    -----
    Without a manifest, data frames are put together by their indices, unless that of the masked one simply counts
    from 0; and files by a field that differs in every record and has the same values in both, or has the role
    record-id. Else figures that compare record by record need `same_order`.
    """

    name = "assess"
    takes_others = True

    original: Source = setting(
        "The file that was masked, or table.", IN, kw_only=False, metavar="DATA.xml", reads="the original"
    )
    measures: Sequence[str] | None = setting(
        "Figures to compute, with commas between.",
        HOW, converter=_measures, default=None, metavar="NAMES", shown="all",
        read=lambda text: with_commas("", [text]), page="how-to/assessing", form=Shape.VALUE,
    )  # fmt: skip
    class_field: str | None = setting(
        "Field that sorts records into classes, for their figures.",
        IN,
        default=None,
        option="--class",
        metavar="FIELD",
    )
    against: _Places = setting(
        "An earlier release of the same respondents; counts the values that both releases together reveal.",
        IN, default=(), metavar="EARLIER.xml", reads="the earlier release",
    )  # fmt: skip
    against_original: _Places = setting(
        "The original of the earlier release; one for each release, in the same order.",
        IN, default=(), metavar="DATA.xml", shown="the same original", reads="the original of the earlier release",
    )  # fmt: skip
    against_manifest: _Files = setting(
        "The manifest of the earlier release; one for each release, in the same order.",
        IN, default=(), metavar="FILE", shown="the one beside it", reads="the manifest of the earlier release",
    )  # fmt: skip

    @override
    def carry_out(self, progress: Progress) -> Any:
        return self.run(progress, html=self.html)

    @override
    def tell(self, result: Any) -> None:
        from masktron.report.text import plain

        running.report(result, self.json, verbose=self.verbose, found=self.found)
        if self.html is not None:
            running.show([f"written, CONFIDENTIAL: {plain(self.html.as_posix())}"], self.json)

    def run(self, progress: Progress = no_progress, html: Path | None = None) -> AssessResult:
        """Compare the files, and write a page where one is wanted."""
        from masktron.jobs.assess import AssessRequest, run_assess
        from masktron.jobs.twice import earlier_releases
        from masktron.level_settings import GivenTables

        require_files(self.manifest, self.masked, self.original)
        self.require_no_format(self.masked, self.original)
        request = AssessRequest(
            self.masked,
            self.original,
            manifest=self.manifest,
            config=self.settled,
            measures=self.measures,
            class_field=self.class_field,
            stated=released_order(self.masked, self.original, same_order=self.same_order),
            tables=GivenTables(self.tables, self.original_tables),
            against=earlier_releases([*self.against], [*self.against_original], [*self.against_manifest]),
            html=html,
        )
        return run_assess(request, progress)
