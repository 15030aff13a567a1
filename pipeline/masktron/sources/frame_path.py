"""A data frame where jobs pass paths: what stands for it on no disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

FRAME = "data frame"
"""Stands for the path of a data frame in results and messages."""


class FramePath(Path):
    """Stands for a data frame in memory, or for the place where a masked one goes. There is no such file.

    Parameters
    ----------
    *segments : str or path
    frame : object, optional
        The frame; None until one is put there.
    """

    frame: Any

    def __init__(self, *segments: str | os.PathLike[str], frame: Any = None) -> None:
        super().__init__(*segments)
        self.frame = frame

    @classmethod
    def of(cls, frame: Any) -> FramePath:
        """Return what stands for a frame."""
        return cls(FRAME, frame=frame)

    def with_segments(self, *segments: str | os.PathLike[str]) -> Path:  # type: ignore[override]
        """Return an ordinary path: what lies beside or above is a file."""
        return Path(*segments)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Say that there is no file.

        Raises
        ------
        FileNotFoundError
        """
        del follow_symlinks
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))

    def samefile(self, other_path: str | os.PathLike[str]) -> bool:
        """Whether something else stands for the same frame, or for one that is equal to it."""
        if not isinstance(other_path, FramePath):
            return False
        one, other = self.frame, other_path.frame
        return one is other or (type(one) is type(other) and hasattr(type(one), "equals") and bool(one.equals(other)))
