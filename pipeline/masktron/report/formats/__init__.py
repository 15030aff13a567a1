"""The file formats of findings. A new one is a module here with a `Report`, and an entry in `FORMATS`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from masktron.judge import Finding
    from masktron.results import ValidateResult
    from masktron.rulebook.schema import Rulebook
    from masktron.sources.record_layout import Layout


SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """What a report is written from, and where to.

    Attributes
    ----------
    stream : binary file
        To write to when all findings are there, or before.
    rulebook : Rulebook
    layout : Layout or None
        For the path of the records; not needed for single findings.
    data : str
        The file as the user named it.
    folder : Path
        Where findings are kept until all are there.
    limit : int or None
        Findings of each rule in reports that are not complete; None for all.
    among : int or None
        Which of the documents in one report this is, from 0; None where a report is about one file.
    """

    stream: IO[bytes]
    rulebook: Rulebook
    layout: Layout | None
    data: str
    folder: Path
    limit: int | None
    among: int | None = None


class Report(Protocol):
    """Something that takes findings one by one and is written when all are there."""

    def __init__(self, target: ReportTarget) -> None: ...

    def add(self, finding: Finding) -> None:
        """Take a finding; those of one check come in the order of the records."""
        ...

    def finish(self, result: ValidateResult) -> None:
        """Write the report."""
        ...

    def close(self) -> None:
        """Give up what is kept of the findings."""
        ...


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A format that findings are written in.

    Attributes
    ----------
    report : str
        The class and its module in this package, loaded when there is something to write.
    help : str
        Of the option of the command line that is called as the format is.
    complete : bool
        Whether it has every finding, and not the first ones of each rule.
    around : tuple of str, or None
        What stands before, between and behind several documents in one report; None where each has its own.
    """

    report: str
    help: str
    complete: bool = False
    around: tuple[str, str, str] | None = None

    def opened(self, target: ReportTarget) -> Report:
        """Begin a report."""
        module, _, name = self.report.partition(".")
        kind: type[Report] = getattr(import_module(f"{__name__}.{module}"), name)
        return kind(target)


FORMATS = MappingProxyType(
    {
        "json": ReportFormat(
            "json_report.JsonReport",
            "Write the result as JSON; - for stdout.",
            around=('{\n"documents": [\n', ",\n", "\n],\n"),
        ),
        "svrl": ReportFormat("svrl.SvrlReport", "Write every finding as SVRL.", complete=True),
        "csv": ReportFormat(
            "csv_report.CsvReport", "Write every finding as CSV, a line each.", complete=True, around=("", "", "")
        ),
        "sarif": ReportFormat(
            "sarif.SarifReport",
            "Write findings as SARIF 2.1.0.",
            around=(f'{{"$schema": "{SARIF_SCHEMA}", "version": "2.1.0", "runs": [\n', ",\n", "]}\n"),
        ),
        "html": ReportFormat("html_report.HtmlReport", "Write a page with pictures, as HTML.", complete=True),
        "junit": ReportFormat(
            "junit.JunitReport",
            "Write the rules as test cases, as JUnit XML.",
            around=('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n', "", "</testsuites>\n"),
        ),
    }
)
"""All formats, by their names."""
EXAMPLES = 10
"""Findings that a failing test case of JUnit shows."""
