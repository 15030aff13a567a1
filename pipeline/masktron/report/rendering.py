"""Results as text: which module draws the tables of which result, and what becomes of them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

from masktron.errors import UsageError
from masktron.problems.problem import Known
from masktron.results import (
    AssessResult,
    CheckResult,
    CombineResult,
    ConvertResult,
    DemoResult,
    DescribeResult,
    DoctorResult,
    ExplainResult,
    HierarchyResult,
    JobResult,
    KeysResult,
    MaskResult,
    MetadataResult,
    RecodeResult,
    RefusalResult,
    ReportResult,
    RerunResult,
    RulesResult,
    SuggestResult,
    TuneResult,
    ValidateResult,
)
from masktron.serialised import read_plain

if TYPE_CHECKING:
    from masktron.report.pages.page import Page

WIDTH = 118
TABLES = MappingProxyType(
    {
        ValidateResult: "validate",
        ExplainResult: "explain",
        MaskResult: "mask",
        CheckResult: "check",
        AssessResult: "assess",
        CombineResult: "combine",
        ConvertResult: "convert",
        DoctorResult: "doctor",
        DemoResult: "demo",
        MetadataResult: "metadata",
        HierarchyResult: "hierarchy",
        RecodeResult: "recode",
        KeysResult: "key_treatments",
        ReportResult: "report",
        RerunResult: "rerun",
        RefusalResult: "refusal",
        DescribeResult: "describe",
        RulesResult: "rules",
        SuggestResult: "suggest",
        TuneResult: "tune",
    }
)
"""The module of `masktron.report.tables` whose function ``tables`` draws a result; it is loaded when there is one.

Its function ``summary`` draws the result so that it fits a screen, where it has one.
"""


PAGES: Mapping[type[JobResult], str] = MappingProxyType(
    {
        ValidateResult: "validate_page",
        ExplainResult: "explain_page",
        MaskResult: "mask_page",
        CheckResult: "check_page",
        AssessResult: "assess_page",
        TuneResult: "tune_page",
    }
)
"""The function that makes a page of a result, and its module in `masktron.report.pages`."""


def page_of(result: JobResult) -> Page:
    """Make a page of a result that is one of `PAGES`."""
    name = PAGES[type(result)]
    page: Page = getattr(import_module(f"masktron.report.pages.{name}"), name)(result)
    return page


def result_from(content: Mapping[str, Any], path: Path) -> JobResult:
    """Read a result of which there are pages from its JSON.

    Raises
    ------
    UsageError
        There are no pages of it, or it is none; it names the place.
    """
    kinds = {kind.JOB: kind for kind in PAGES}
    if (job := str(content["job"])) not in kinds:
        raise UsageError.of(
            "unknown-name", path, kind="page of a result of", name=job, known=Known(job, tuple(kinds))
        )
    return read_told(kinds[job], content, path)


def read_told[Kind](kind: type[Kind], content: Any, path: Path) -> Kind:
    """Read JSON by a declared type.

    Raises
    ------
    UsageError
        It is none; it names the place.
    """
    try:
        found: Kind = read_plain(kind, content, "")
    except ValueError as error:
        raise UsageError.of("not-a-result", path, reason=str(error)) from error
    return found


def _drawing(result: JobResult) -> ModuleType:
    return import_module(f"masktron.report.tables.{TABLES[type(result)]}")


def tables_of(result: JobResult) -> list[RenderableType]:
    """Draw a result: counts and names, and values of records only of `describe` and `suggest`, which say so."""
    drawn: list[RenderableType] = _drawing(result).tables(result)
    return drawn


def summary_of(result: JobResult) -> list[RenderableType]:
    """Draw a result so that it fits a screen: what `tables_of` has beside that is counted; all of it without one."""
    module = _drawing(result)
    drawn: list[RenderableType] = getattr(module, "summary", module.tables)(result)
    return drawn


def text_of(result: JobResult) -> str:
    """Draw a result as plain text."""
    return render(tables_of(result))


def render(parts: Iterable[RenderableType], *, width: int = WIDTH) -> str:
    """Render to plain text, for `repr` and logs."""
    stream = io.StringIO()
    show(parts, Console(file=stream, width=width, color_system=None, highlight=False, emoji=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip().split("\n"))


def show(parts: Iterable[RenderableType], console: Console) -> None:
    """Print to a console."""
    for part in parts:
        console.print(part)
