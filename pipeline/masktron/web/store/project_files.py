"""The files of a project that its pages write: one table of their names, and of what becomes of each kind.

All of them have a history. Everything else in the folder of a project is an upload, or of a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A kind of file.

    Attributes
    ----------
    names : pattern
        That its names match as a whole: no folder, and nothing hidden.
    downloaded : bool
        Whether a browser may have it, at ``download/NAME``.
    copied : bool
        Whether each run works with a copy of it, as it was when the run was asked for.
    """

    names: re.Pattern[str]
    downloaded: bool
    copied: bool

    def matches(self, name: str) -> bool:
        """Whether a file of this name is of this kind."""
        return self.names.fullmatch(name) is not None


FACTS = ProjectFile(re.compile(r"project\.json"), downloaded=False, copied=False)
"""What it is called, and which file its data are."""
SETTINGS = ProjectFile(re.compile(r"masktron\.toml"), downloaded=True, copied=True)
RULEBOOKS = ProjectFile(re.compile(r"[^./\0][^/\0]*\.sch"), downloaded=True, copied=True)
"""The rulebook, and what it takes in."""
HIERARCHIES = ProjectFile(re.compile(r"[^./\0][^/\0]*\.hierarchy\.csv"), downloaded=True, copied=True)
"""Classes of the values of fields, which settings name under ``[recode]``."""
PROJECT_FILES = (FACTS, SETTINGS, RULEBOOKS, HIERARCHIES)


def project_file(name: str) -> ProjectFile | None:
    """Return of which kind a file in the folder of a project is; None where pages do not write it."""
    return next((one for one in PROJECT_FILES if one.matches(name)), None)
