"""The reports that a run writes: all in one pass over the findings, each whole or not there."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from masktron.evaluation.findings import Finding
from masktron.report.csv_report import CsvReport
from masktron.report.json_report import JsonReport
from masktron.report.junit import EXAMPLES, JunitReport
from masktron.report.sarif import SarifReport
from masktron.report.svrl import SvrlReport
from masktron.results import ValidateResult
from masktron.rulebook.schema import Rulebook
from masktron.sources.records import Layout
from masktron.write.atomic import atomic_path, open_part

STDOUT = Path("-")


class Report(Protocol):
    """Something that takes findings one by one and is written when all are there."""

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
class Reports:
    """The reports of one run."""

    reports: Sequence[Report]

    def add(self, finding: Finding) -> None:
        """Give a finding to every report."""
        for report in self.reports:
            report.add(finding)

    def finish(self, result: ValidateResult) -> None:
        """Write every report."""
        for report in self.reports:
            report.finish(result)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where reports go; None for those that nobody wants.

    Attributes
    ----------
    svrl, csv : Path or None
        Complete: every finding.
    json, sarif : Path or None
        The first `limit` findings of each rule. For JSON ``-`` is standard output.
    junit : Path or None
        One test case a rule, with its first findings.
    limit : int or None
        None for all.
    """

    svrl: Path | None = None
    json: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None
    csv: Path | None = None
    limit: int | None = 1000

    def files(self) -> dict[str, Path]:
        """Return the paths by the options that name them."""
        named = {"--json": self.json, "--svrl": self.svrl, "--csv": self.csv, "--sarif": self.sarif}
        return {option: path for option, path in {**named, "--junit": self.junit}.items() if path is not None}

    @property
    def needed(self) -> int | None:
        """How many of the first findings of each rule the reports need; None for all."""
        if self.svrl is not None or self.csv is not None or self.limit is None:
            return None
        return max(self.limit, EXAMPLES)

    @contextmanager
    def opened(self, rulebook: Rulebook, layout: Layout, data: str) -> Iterator[Reports]:
        """Give the reports, to be filled and finished; they appear when the block ends, all or none.

        Parameters
        ----------
        rulebook : Rulebook
        layout : Layout
        data : str
            The file as the user named it.

        Raises
        ------
        DocumentError
            A file cannot be written.
        """
        with ExitStack() as stack:
            reports: list[Report] = []
            for option, path in self.files().items():
                stream, folder = _stream(stack, path)
                report = self._report(option, stream, folder, rulebook, layout, data)
                stack.callback(report.close)
                reports.append(report)
            yield Reports(reports)

    def _report(
        self, option: str, stream: IO[bytes], folder: Path, rulebook: Rulebook, layout: Layout, data: str
    ) -> Report:
        match option:
            case "--svrl":
                return SvrlReport(stream, rulebook, layout, folder)
            case "--json":
                return JsonReport(stream, rulebook, folder, self.limit)
            case "--junit":
                return JunitReport(stream, rulebook)
            case "--sarif":
                return SarifReport(stream, rulebook, data, folder, self.limit)
            case "--csv":
                return CsvReport(stream, rulebook)
            case _:
                raise ValueError(option)


def _stream(stack: ExitStack, path: Path) -> tuple[IO[bytes], Path]:
    """Open an output; also return a folder for what has to be kept until it is written."""
    if path == STDOUT:
        return sys.stdout.buffer, Path(tempfile.gettempdir())
    part = stack.enter_context(atomic_path(path))
    return stack.enter_context(open_part(part, path)), part.parent
