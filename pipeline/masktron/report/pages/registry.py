"""Which module makes a page of which result."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from masktron.report.pages.plain_reader import PlainData

if TYPE_CHECKING:
    from masktron.report.pages.page import Page
    from masktron.results import JobResult

PAGES = MappingProxyType(
    {
        "validate": "validate_page",
        "explain": "explain_page",
        "mask": "mask_page",
        "check": "check_page",
        "assess": "assess_page",
        "tune": "tune_page",
    }
)
"""The function that makes a page of a result, and its module in this package, by the job."""


def page_of(result: JobResult) -> Page:
    """Make a page of a result of one of the jobs in `PAGES`."""
    return page_of_plain(PlainData(result.as_dict()))


def page_of_plain(result: PlainData) -> Page:
    """Make a page of the plain data of a result.

    Raises
    ------
    UsageError
        The plain data are not those of a result.
    """
    name = PAGES[result.text("job")]
    maker: Callable[..., Page] = getattr(import_module(f"masktron.report.pages.{name}"), name)
    return maker(result)
