"""What all results of jobs have: a table for the eye, and plain data for machines."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.problems.readers import reading, result_reader
from masktron.resources import NO_RULES
from masktron.serialised import Serialised, told_by_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA_VERSION = 1
CONFIDENTIAL = "CONFIDENTIAL: messages, keys, values and locations show single records."
"""What every report says that can show values."""


class JobResult(Serialised):
    """What a job returns: its `repr` is what the command line prints with ``--verbose``.

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

    def for_reader(self) -> dict[str, Any]:
        """Plain data for a file of JSON, worded for whoever reads that: see `masktron.problems.readers`."""
        with reading(result_reader()):
            return self.as_dict()

    def __repr__(self) -> str:
        return str(from_report("rendering.text_of", self))

    def _repr_html_(self) -> str:
        """The heart of it for a notebook: counts and names, as `repr` has them."""
        return str(from_report("notebook.html_in_short", self))


class PlottedResult:
    """A result of which a picture is the answer."""

    __slots__ = ()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the picture that says most, as the page of the result has it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new one when not given.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        UsageError
            There is nothing to draw, or matplotlib is not installed (``pip install "masktron[report]"``).
        """
        drawn: Axes = from_report("notebook.plotted", self, ax)
        return drawn


def from_report(function: str, *arguments: object) -> Any:
    """Ask for a report of a result: the only place where results know that there are reports.

    Reports import results. The other way round goes by name: `function` is ``module.function`` in `masktron.report`.
    """
    module, _, name = function.partition(".")
    return getattr(import_module(f"masktron.report.{module}"), name)(*arguments)


def shown(path: Path) -> str:
    """Return a path as the user gave it, with forward slashes; nothing for the rulebook where nobody gave one."""
    return "" if path == NO_RULES else path.as_posix()
