"""What all results of jobs have: a table for the eye, and plain data for machines."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from masktron.serialised import Serialised, told_by_key

SCHEMA_VERSION = 1
CONFIDENTIAL = "CONFIDENTIAL: messages, keys, values and locations show single records."
"""What every report says that can show values."""


class JobResult(Serialised):
    """What a job returns: its `repr` is what the command line prints.

    Attributes
    ----------
    JOB : str
        The command; ``schemas/JOB.schema.json`` has its keys.
    """

    __slots__ = ()
    JOB: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain data with the stable keys of ``schemas/JOB.schema.json``, where JOB is the name of the command."""
        return {"schema_version": SCHEMA_VERSION, "job": self.JOB, **told_by_key(self)}

    def __repr__(self) -> str:
        return from_report("rendering.text_of", self)


def from_report(function: str, result: object) -> str:
    """Put a result into words: the only place where results know that there are reports, when somebody asks for them.

    Reports import results. The other way round goes by name: `function` is ``module.function`` in `masktron.report`.
    """
    module, _, name = function.partition(".")
    said: str = getattr(import_module(f"masktron.report.{module}"), name)(result)
    return said


def shown(path: Path) -> str:
    """Return a path as the user gave it, with forward slashes."""
    return path.as_posix()
