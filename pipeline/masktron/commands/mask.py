"""``masktron mask``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, override

from masktron.commands import running
from masktron.commands.base import MaybeOut, UnderRules, frames, renamed_columns
from masktron.commands.release_pages import Releases
from masktron.config import Role
from masktron.declared import HOW, OUTPUT, setting
from masktron.errors import Exit, UsageError
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import MaybeFilePath

if TYPE_CHECKING:
    from masktron.results import MaskResult

INDEX = (
    "the index of the data frame is that of the original and leads every record back to it: drop it before a "
    "release, with result.data.reset_index(drop=True)"
)


def _recoded(command: Mask) -> dict[str, Path]:
    """Return the files that recoding reads and writes."""
    if not command.recode or command.out is None:
        return {}
    from masktron.jobs.translated_rules import files_of_recoding

    return files_of_recoding(command, command.rules_out, command.out)


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
    takes_all = True

    out: MaybeOut = setting("The masked file, or table.", default=None, kw_only=False, needed=True)
    manifest: MaybeFilePath = setting(
        "Confidential manifest; by default x.manifest.json beside x.xml.",
        OUTPUT,
        default=None,
        metavar="FILE",
        writes=True,
    )
    rules_out: MaybeFilePath = setting(
        "The rules as the recoding leaves them, where it changes some; by default x.rules.sch beside x.xml.",
        OUTPUT, default=None, metavar="FILE", page="recoding",
    )  # fmt: skip
    resume: bool = setting(
        "Go on from the units that a run which was ended has finished, if nothing has changed.",
        HOW, default=False, page="large-files",
    )  # fmt: skip

    @override
    def refuse_outputs(self, written: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
        read = {name: one for name, one in inputs.items() if name != "the secret"}
        super().refuse_outputs(written, {**read, **_recoded(self)})
        # a manifest that gives the secret may be written anew: it gets the same secret
        running.check_outputs({**written, "--manifest": None}, {"the secret": inputs.get("the secret")})

    @override
    def carry_out(self, progress: Progress) -> Any:
        return self.run(progress), self.pages(progress)

    @override
    def tell(self, result: Any) -> None:
        made, pages = result
        running.report(made, self.json, verbose=self.verbose, found=self.found)
        self.tell_release(made, pages)

    @override
    def tell_refusal(self, error: Any) -> None:
        from masktron.jobs.originals import InvalidOriginalError

        if isinstance(error, InvalidOriginalError):
            own = self.json if error.refusal is None else None
            said = "nothing is masked; what the original breaks stands in"
            running.report(error.result, own, self.html, written=said, found=self.found)
        if error.refusal is not None:
            running.report(error.refusal, self.json, found=self.found)

    @override
    def code(self, result: Any) -> Exit:
        return Exit.COMPLIES if result[0].valid else Exit.VIOLATION

    def run(self, progress: Progress = no_progress) -> MaskResult:
        """Mask the file or the frame."""
        if frames(self.data):
            return self._of_frame(progress)
        if self.out is None:
            raise UsageError.of(
                "needs-setting",
                name="mask",
                needed="the name of a file to write",
                setting='mask("in.xml", "rules.sch", "out.xml")',
            )
        return self._written(self.out, progress)

    def _written(self, out: Path, progress: Progress) -> MaskResult:
        from masktron.jobs.run_places import MaskRequest
        from masktron.jobs.search.refusal import run_mask_or_suggest

        request = MaskRequest(
            self.data,
            self.rules,
            out,
            config=self.settled,
            manifest=self.manifest,
            rules_out=self.rules_out,
            replaces=self.replace,
            again=self.again,
            resume=self.resume,
        )
        return run_mask_or_suggest(request, progress)

    def _of_frame(self, progress: Progress) -> MaskResult:
        """Mask a data frame; without a name for a file, nothing is kept on disk."""
        import pandas as pd

        from masktron.scratch import private_folder
        from masktron.sources.frame_path import FramePath
        from masktron.sources.tables.pandas_back import require_one_type

        self.require_no_format(self.data)
        if self.resume:
            raise UsageError.of(
                "setting-not-usable", name=Setting("--resume"), reason="a data frame is masked in one run"
            )
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
