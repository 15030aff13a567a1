"""``masktron mask``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, override

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands import running
from masktron.commands.base import (
    Line,
    Releases,
    UnderRules,
    VerbosePageLine,
    frames,
    out_option,
    path,
    place,
    public_page_option,
    renamed_columns,
)
from masktron.commands.release_pages import ReleasePages, pages_of_release
from masktron.config import Config, Role
from masktron.declared import HOW, OUTPUT, Shape, checked, declared
from masktron.errors import Exit, UsageError
from masktron.progress import Progress, no_progress
from masktron.setting_values import switch

if TYPE_CHECKING:
    from masktron.results import MaskResult

INDEX = (
    "the index of the data frame is that of the original and leads every record back to it: drop it before a "
    "release, with result.data.reset_index(drop=True)"
)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class ReleaseLine(VerbosePageLine):
    """Pages of a release, and values for inside the agency."""

    show_values: bool = field(
        default=False,
        metadata=declared(
            "Print three values of each masked field before and after masking: CONFIDENTIAL.",
            OUTPUT,
            form=Shape.SWITCH,
        ),
    )
    html_public: Path | None = field(default=None, metadata=public_page_option())

    def pages(self, command: Any, manifest: Path, progress: Progress) -> ReleasePages:
        """Write the pages of a release that is in its place."""
        return pages_of_release(
            manifest,
            masked=command.out,
            original=command.data,
            rules=command.rules,
            html=self.html,
            html_public=self.html_public,
            progress=progress,
        )


def written_manifest(out: Path, manifest: Path | None) -> Path:
    """Return where the manifest of a release goes."""
    from masktron.sources.output_names import manifest_beside

    return manifest or manifest_beside(out)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class MaskLine(ReleaseLine):
    """What `mask` shows."""

    @override
    def refuse_outputs(
        self,
        written: Mapping[str, Path | None],
        inputs: Mapping[str, Path | None],
        own: Mapping[str, Any],
        config: Config | None = None,
    ) -> None:
        outputs = {**written, "--manifest": written_manifest(own["out"], own.get("manifest"))}
        beside = {} if config is None else _recoded(config, own)
        secret = {name: one for name, one in inputs.items() if name == "the secret"}
        running.check_outputs(outputs, {**{name: inputs[name] for name in inputs.keys() - secret}, **beside})
        # a manifest that gives the secret may be written anew: it gets the same secret
        running.check_outputs({**outputs, "--manifest": None}, secret)

    @override
    def carry_out(self, command: Any, progress: Progress) -> Any:
        result = command.run(progress)
        return result, self.pages(command, written_manifest(command.out, command.manifest), progress)

    @override
    def tell(self, command: Any, result: Any) -> None:
        from masktron.report.tables.mask import values_shown

        made, pages = result
        running.report(made, self.json, verbose=self.verbose, found=command.found)
        if self.show_values:
            running.show(values_shown(made), self.json)
        running.show(pages.told(made, written_manifest(command.out, command.manifest)), self.json)
        pages.require()

    @override
    def tell_refusal(self, command: Any, error: Any) -> None:
        from masktron.jobs.originals import InvalidOriginalError

        if isinstance(error, InvalidOriginalError):
            own = self.json if error.refusal is None else None
            said = "nothing is masked; what the original breaks stands in"
            running.report(error.result, own, self.html, written=said, found=command.found)
        if error.refusal is not None:
            running.report(error.refusal, self.json, found=command.found)

    @override
    def code(self, result: Any) -> Exit:
        return Exit.COMPLIES if result[0].valid else Exit.VIOLATION


def _recoded(config: Config, own: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files that recoding reads and writes."""
    if not config.recode:
        return {}
    from masktron.jobs.treated import files_of_recoding

    return files_of_recoding(config, own.get("rules_out"), own["out"])


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Mask(UnderRules, Releases):
    """Mask records so that every rule still holds, and verify the written file.

    Returns
    -------
    MaskResult
        With ``data``, the masked records, where `data` was a data frame.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InfeasibleError, ViolationError, ResourceError
        With ``on_refusal="suggest"``, the attribute ``refusal`` of an InfeasibleError or ViolationError is a
        RefusalResult: what could help, and what it costs.

    Notes
    -----
    A data frame comes back with its types, the labels of its columns and its index, without identifiers and records
    that were left out. A masked value that its type cannot hold stops the run, as rounding could break a rule. Its
    index links each row to the original: drop it before a release. Columns whose labels are no XML names have others
    in rules and settings, as in files: ``annual income`` is ``annual_x0020_income``, 2024 is ``_x0032_024``.
    Booleans, and categorical columns of numbers, are masked as categories, those of texts when they are ordered or
    have a role.

    A frame of polars or pyarrow, or a relation of DuckDB, comes back as one of the same kind, with the types of its
    columns; one of another library as a `pyarrow.Table`. Categories that no released record has any more are gone.
    Without `out`, which a file needs, nothing is kept on disk.
    """

    name = "mask"
    line: ClassVar[type[Line]] = MaskLine
    takes_all = True

    out: Path | None = field(
        default=None, converter=optional(place), metadata=out_option("The masked file, or table.", needed=True)
    )
    manifest: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(path),
        metadata=declared(
            "Confidential manifest; by default x.manifest.json beside x.xml.", OUTPUT, metavar="FILE", writes=True
        ),
    )
    rules_out: Path | None = field(
        default=None,
        kw_only=True,
        converter=optional(path),
        metadata=declared(
            "The rules as the recoding leaves them, where it changes some; by default x.rules.sch beside x.xml.",
            OUTPUT, metavar="FILE", read=Path, page="recoding",
        ),
    )  # fmt: skip
    resume: bool = field(
        default=False,
        kw_only=True,
        converter=switch,
        metadata=declared(
            "Go on from the units that a run which was ended has finished, if nothing has changed.",
            HOW, form=Shape.SWITCH, page="large-files",
        ),
    )  # fmt: skip

    def run(self, progress: Progress = no_progress) -> MaskResult:
        """Mask the file or the frame."""
        if frames(self.data):
            return self._of_frame(progress)
        if self.out is None:
            raise UsageError("mask needs the name of a file to write", hint='mask("in.xml", "rules.sch", "out.xml")')
        return self._written(self.out, progress)

    def _written(self, out: Path, progress: Progress) -> MaskResult:
        from masktron.jobs.remedies.on_refusal import run_mask_or_suggest

        return run_mask_or_suggest(
            self.data,
            self.rules,
            out,
            config=self.settled,
            manifest=self.manifest,
            rules_out=self.rules_out,
            replaces=self.replace,
            again=self.again,
            resume=self.resume,
            progress=progress,
        )

    def _of_frame(self, progress: Progress) -> MaskResult:
        """Mask a data frame; without a name for a file, nothing is kept on disk."""
        import pandas as pd

        from masktron.scratch import private_folder
        from masktron.sources.frame_path import FramePath
        from masktron.sources.tables.pandas_back import require_one_type

        self.require_no_format(self.data)
        if self.resume:
            raise UsageError("a data frame is masked in one run, and there is nothing to go on from")
        frame = getattr(self.data, "frame", None)
        if isinstance(frame, pd.DataFrame):
            unmasked = {name for name, role in self.roles.items() if role is not Role.CONFIDENTIAL}
            require_one_type(frame, unmasked)
        with private_folder() as folder:
            result = self._written(self.out or FramePath(folder / "masked"), progress)
        index = [INDEX] if isinstance(frame, pd.DataFrame) else []
        return replace(
            result,
            rules_file="" if self.out is None and self.rules_out is None else result.rules_file,
            output="" if self.out is None else result.output,
            manifest="" if self.out is None and self.manifest is None else result.manifest,
            notes=(*result.notes, *renamed_columns(self.data), *index),
        )
