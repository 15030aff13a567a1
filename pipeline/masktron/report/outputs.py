"""The reports that a run writes: all in one pass over the findings, each whole or not there."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from masktron.evaluation.findings import Finding
from masktron.report.formats import EXAMPLES, FORMATS, Report, ReportTarget
from masktron.report.text import plain
from masktron.results import ValidateResult
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.write.atomic import atomic_path, open_part

STDOUT = Path("-")


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
    """Where reports go.

    Attributes
    ----------
    paths : mapping of str to Path or None
        By the name of the format, one of `FORMATS`; None for those that nobody wants. For JSON ``-`` is standard
        output.
    limit : int or None
        Findings of each rule in the formats that are not complete; None for all.
    """

    paths: Mapping[str, Path | None] = field(default_factory=dict)
    limit: int | None = 1000

    def files(self) -> dict[str, Path]:
        """Return the paths by the options that name them."""
        return {f"--{name}": path for name in FORMATS if (path := self.paths.get(name)) is not None}

    @property
    def needed(self) -> int | None:
        """How many of the first findings of each rule the reports need; None for all."""
        complete = any(FORMATS[name].complete for name, path in self.paths.items() if path is not None)
        return None if complete or self.limit is None else max(self.limit, EXAMPLES)

    def told(self, *, release_safe: bool) -> list[str]:
        """Name the reports, and say where they are confidential."""
        paths = [path.as_posix() for path in self.files().values() if path != STDOUT]
        mark = "" if release_safe else ", CONFIDENTIAL"
        return [f"written{mark}: {plain(', '.join(paths))}"] if paths else []

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
                target = ReportTarget(stream, rulebook, layout, data, folder, self.limit)
                report = FORMATS[option.removeprefix("--")].opened(target)
                stack.callback(report.close)
                reports.append(report)
            yield Reports(reports)


def _stream(stack: ExitStack, path: Path) -> tuple[IO[bytes], Path]:
    """Open an output; also return a folder for what has to be kept until it is written."""
    if path == STDOUT:
        return sys.stdout.buffer, Path(tempfile.gettempdir())
    part = stack.enter_context(atomic_path(path))
    return stack.enter_context(open_part(part, path)), part.parent
