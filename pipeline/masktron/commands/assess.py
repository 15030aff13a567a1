"""``masktron assess``."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, override

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands import running
from masktron.commands.base import (
    Line,
    VerbosePageLine,
    path,
    place,
    released_order,
    require_files,
    source,
    typed_place,
)
from masktron.commands.check import OnRelease
from masktron.declared import HOW, IN, Shape, WrongValue, checked, declared, with_commas
from masktron.progress import Progress, no_progress
from masktron.setting_values import File, text

if TYPE_CHECKING:
    from masktron.results import AssessResult


def _places(given: File | Sequence[File] | None) -> list[Path]:
    if given is None:
        return []
    return [place(one) for one in ([given] if isinstance(given, str | PathLike) else given)]


def _paths(given: File | Sequence[File] | None) -> list[Path]:
    if given is None:
        return []
    return [path(one) for one in ([given] if isinstance(given, str | PathLike) else given)]


def _measures(given: Sequence[str]) -> Sequence[str]:
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    if not listed or not all(isinstance(one, str) for one in given):
        raise WrongValue(f" must be a list of names, not {given!r}", 'for example ["linkage"]')
    return given


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class AssessLine(VerbosePageLine):
    """A page that is drawn with the figures."""

    @override
    def carry_out(self, command: Any, progress: Progress) -> Any:
        return command.run(progress, html=self.html)

    @override
    def tell(self, command: Any, result: Any) -> None:
        from masktron.report.text import plain

        running.report(result, self.json, verbose=self.verbose, found=command.found)
        if self.html is not None:
            running.show([f"written, CONFIDENTIAL: {plain(self.html.as_posix())}"], self.json)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Assess(OnRelease):
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
    line: ClassVar[type[Line]] = AssessLine

    original: Path = field(
        converter=source,
        metadata=declared(
            "The file that was masked, or table.", IN, metavar="DATA.xml", read=typed_place, reads="the original"
        ),
    )
    measures: Sequence[str] | None = field(
        default=None,
        kw_only=True,
        converter=optional(_measures),
        metadata=declared(
            "Figures to compute, with commas between.", HOW, metavar="NAMES", shown="all",
            read=lambda text: with_commas("", [text]), page="how-to/assessing",
        ),
    )  # fmt: skip
    class_field: str | None = field(
        default=None,
        kw_only=True,
        converter=optional(text),
        metadata=declared(
            "Field that sorts records into classes, for their figures.", IN, "--class", metavar="FIELD"
        ),
    )
    against: Sequence[Path] = field(
        default=(),
        kw_only=True,
        converter=_places,
        metadata=declared(
            "An earlier release of the same respondents: how many values it and this one give away; repeatable.",
            IN, metavar="EARLIER.xml", form=Shape.LIST, read=typed_place, reads="the earlier release",
        ),
    )  # fmt: skip
    against_original: Sequence[Path] = field(
        default=(),
        kw_only=True,
        converter=_places,
        metadata=declared(
            "What the earlier release was made of; one for each, in the same order.",
            IN, metavar="DATA.xml", form=Shape.LIST, read=typed_place, shown="the same original",
            reads="the original of the earlier release",
        ),
    )  # fmt: skip
    against_manifest: Sequence[Path] = field(
        default=(),
        kw_only=True,
        converter=_paths,
        metadata=declared(
            "The manifest of the earlier release; one for each, in the same order.",
            IN, metavar="FILE", form=Shape.LIST, shown="the one beside it",
            reads="the manifest of the earlier release",
        ),
    )  # fmt: skip

    def run(self, progress: Progress = no_progress, **more: Any) -> AssessResult:
        """Compare the files; `more` is for `run_assess`."""
        from masktron.jobs.assess import run_assess
        from masktron.jobs.twice import earlier_releases
        from masktron.level_settings import GivenTables

        require_files(self.manifest, self.masked, self.original)
        self.require_no_format(self.masked, self.original)
        return run_assess(
            self.masked,
            self.original,
            manifest=self.manifest,
            config=self.settled,
            measures=self.measures,
            class_field=self.class_field,
            stated=released_order(self.masked, self.original, same_order=self.same_order),
            tables=GivenTables(self.tables, self.original_tables),
            against=earlier_releases([*self.against], [*self.against_original], [*self.against_manifest]),
            progress=progress,
            **more,
        )
