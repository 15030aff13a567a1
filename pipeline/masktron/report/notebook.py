"""Results in a notebook: the heart of the page as HTML, and the picture that says most."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from markupsafe import escape

from masktron.errors import UsageError
from masktron.report.pages.html import heart_of
from masktron.report.pictures.canvas import drawn_on
from masktron.report.rendering import PAGES, page_of, text_of
from masktron.results import JobResult, ValidateResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAYS_MOST = MappingProxyType(
    {
        "validate": "failures-by-rule",
        "explain": "graph-of-rules",
        "mask": "risk-and-utility",
        "assess": "risk-and-utility",
        "tune": "risk-utility-map",
    }
)
"""The picture of the page of a result that is drawn for `plot`."""


def html_in_short(result: JobResult) -> str:
    """Return the answer, the facts and the first table of a result; of one without a page, its text.

    It shows counts and names, and never a finding.
    """
    if type(result) not in PAGES:
        return f"<pre>{escape(text_of(result))}</pre>"
    return heart_of(page_of(_without_findings(result)))


def plotted(result: JobResult, ax: Axes | None) -> Axes:
    """Draw the picture of a result that says most.

    Raises
    ------
    UsageError
        There is nothing to draw, such as no rule that fails; or matplotlib is not installed.
    """
    wanted = _SAYS_MOST[result.JOB]
    for picture in page_of(_without_findings(result)).pictures:
        if picture.name == wanted:
            return drawn_on(picture.sketch, ax)
    raise UsageError.of("nothing-to-plot", job=result.JOB)


def _without_findings(result: JobResult) -> JobResult:
    return replace(result, release_safe=True) if isinstance(result, ValidateResult) else result
