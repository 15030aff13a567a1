"""Two nested files side by side for pictures: the records that were masked as a whole, then each level by itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from masktron.jobs.level_files import LevelFile
from masktron.jobs.level_wording import LevelWording
from masktron.jobs.side_by_side import side_by_side
from masktron.jobs.told_by_level import told_by_level
from masktron.measures.assessed import Assessed
from masktron.progress import Told, untold
from masktron.results.side_by_side import SideBySide


def side_by_side_of_levels(
    files: Assessed,
    levels: Sequence[LevelFile],
    k: int,
    wording: LevelWording,
    told: Told = untold,
    drawn: Collection[str] = (),
) -> SideBySide:
    """Summarise two files, and each of their levels; of flat files, them alone.

    Parameters
    ----------
    files : Assessed
        Of a nested file the records that were masked, with all their members.
    levels : sequence of LevelFile
    k : int
    wording : LevelWording
        What fields of wide records are called.
    told : callable, optional
    drawn : collection of str
        As for `masktron.jobs.side_by_side.side_by_side`.

    Raises
    ------
    UsageError
        A value is infinite.
    """
    whole = told_by_level(side_by_side(files, k, told, drawn), wording)
    return replace(whole, levels={one.level: side_by_side(one.files, k, intruders=False) for one in levels})
