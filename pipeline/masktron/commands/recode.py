"""``masktron recode``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from masktron.commands.base import UnderRules, files, mapping
from masktron.declared import HOW, IN, LIMITS, OUTPUT, setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import MaybeFilePath

if TYPE_CHECKING:
    from masktron.results import RecodeResult

_K = 3
"""Records that share a combination of keys where nobody says otherwise."""


class Recode(UnderRules):
    """Find the recodings of keys that lose least and reach k, and say what they make of rules and of risk.

    Keys are the fields with a hierarchy and all others that are named as quasi-identifiers and are not masked;
    --key-k says how many records share a combination, 3 by default.

    Returns
    -------
    RecodeResult
        ``recode`` is what ``mask(recode=...)`` takes.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InvalidOriginalError, InfeasibleError
    """

    name = "recode"
    takes_all = True

    hierarchies: Mapping[str, Path] = setting(
        "The hierarchy of a key: CSV with a value and its labels in each row, as ARX has it.",
        IN, converter=files, factory=dict, kw_only=False, needed=True, option="--hierarchy", metavar="FIELD=FILE",
        example="AGE=age.csv", stripped=True, page="recoding", reads="the hierarchy",
    )  # fmt: skip
    suppressed: int | str = setting(
        "Records that may have fewer, and are left to local suppression.",
        HOW,
        default=0,
        metavar="N|P%",
        page="recoding",
    )
    loss: str = setting(
        "Measure of loss: entropy, precision or discernibility.",
        HOW,
        default="entropy",
        metavar="NAME",
        page="recoding",
    )
    importance: Mapping[str, float] = setting(
        "How much a loss in a key counts beside others; 1 by default.",
        HOW, converter=mapping, factory=dict, metavar="FIELD=NUMBER", example="AGE=2", stripped=True, page="recoding",
    )  # fmt: skip
    diversity: Mapping[str, int] = setting(
        "Different values of a masked field beside each combination, at least.",
        LIMITS, converter=mapping, factory=dict, metavar="FIELD=L", example="INCOME=2", stripped=True,
        page="suppression",
    )  # fmt: skip
    header: bool = setting("The first row of the hierarchies has names.", IN, default=False, page="recoding")
    write: MaybeFilePath = setting(
        "Write the recommended recoding as settings to this new file.",
        OUTPUT,
        default=None,
        metavar="FILE",
        writes=True,
    )

    def run(self, progress: Progress = no_progress) -> RecodeResult:
        """Search recodings."""
        from masktron.jobs.recode import RecodeWishes, run_recode, suppressed_records

        self.require_no_format(self.data)
        wishes = RecodeWishes(
            k=_K if self.key_k is None else self.key_k,
            suppressed=suppressed_records(str(self.suppressed)),
            loss=self.loss,
            importance=self.importance,
            diversity=self.diversity,
            allow_lost=self.allow_lost,
            header=self.header,
        )
        return run_recode(
            self.data, self.rules, self.hierarchies, wishes, config=self.settled, write=self.write, progress=progress
        )
