"""``masktron convert``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from masktron.commands.base import OnData, Out, Replaces, mapping
from masktron.config import ReadOptions
from masktron.declared import HOW, setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import FormatOptions

if TYPE_CHECKING:
    from masktron.results import ConvertResult


def _named(text: str) -> str:
    if not text:
        raise ValueError("it must be a name")
    return text


class Convert(OnData, Replaces):
    """Write the records of a file or a data frame in another format, read them back, and compare every value.

    --record names the record element, in XML. --metadata says what variables mean; --out has of it what it can hold.

    Returns
    -------
    ConvertResult
        ``losses`` says what the original says and the target cannot hold; a value is never among it.

    Raises
    ------
    UsageError
        The target cannot hold a value or a name; nothing is written.
    DocumentError, ViolationError
    """

    name = "convert"
    takes_file = False

    out: Out = setting("The file, whose name says the format, or table.", kw_only=False, metavar="FILE")
    rename: Mapping[str, str] = setting(
        "Give a column another name, where the format of --out does not allow this one.",
        HOW, converter=mapping, factory=dict, metavar="OLD=NEW", example="'annual income=INCOME'", right=True,
        read=_named, page="formats",
    )  # fmt: skip
    to: str | None = setting(
        "Format of --out, where its name does not say it.", HOW, default=None, metavar="NAME", page="formats"
    )
    to_options: FormatOptions = setting(
        "How --out is to be written.",
        HOW, factory=dict, option="--to-option", metavar="NAME=VALUE", example="'delimiter=;'", page="formats",
    )  # fmt: skip

    def run(self, progress: Progress = no_progress) -> ConvertResult:
        """Convert the file."""
        from masktron.jobs.convert import run_convert

        self.require_no_format(self.data)
        return run_convert(
            self.data,
            self.out,
            reading=self.reading,
            writing=ReadOptions(self.record, self.to, self.to_options),
            rename=self.rename,
            replaces=self.replace,
            progress=progress,
        )
