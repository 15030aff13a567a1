"""Results as text: which module draws the tables of which result, and what becomes of them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from importlib import import_module
from types import MappingProxyType, ModuleType

from rich.console import Console, RenderableType

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
