"""The reports that a run writes: all in one pass over the findings, each whole or not there."""

from __future__ import annotations

import io
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Self

from masktron.files import refuse_outputs
from masktron.judge import Finding
from masktron.report.formats import EXAMPLES, FORMATS, Report, ReportTarget
from masktron.report.text import plain
from masktron.results import ValidateResult
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.write.atomic import atomic_path, open_part
from masktron.write.manifest import dump

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
    shared : mapping of str to BytesIO
        By the name of the format, the part of a document in a report about several.
    among : int
        Which of these documents it is, from 0.
    """

    paths: Mapping[str, Path | None] = field(default_factory=dict)
    limit: int | None = 1000
    shared: Mapping[str, io.BytesIO] = field(default_factory=dict)
    among: int = 0

    def named(self) -> list[tuple[str, Path]]:
        """Return the formats that have a path, in the order of `FORMATS`."""
        return [(name, path) for name in FORMATS if (path := self.paths.get(name)) is not None]

    def files(self) -> dict[str, Path]:
        """Return the paths by the options that name them."""
        return {f"--{name}": path for name, path in self.named()}

    @property
    def needed(self) -> int | None:
        """How many of the first findings of each rule the reports need; None for all."""
        wanted = {*self.shared, *(name for name, path in self.paths.items() if path is not None)}
        complete = any(FORMATS[name].complete for name in wanted)
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
            targets = {name: _stream(stack, path) for name, path in self.named()}
            targets |= {name: (part, Path(tempfile.gettempdir())) for name, part in self.shared.items()}
            for name, (stream, folder) in targets.items():
                among = self.among if name in self.shared else None
                report = FORMATS[name].opened(ReportTarget(stream, rulebook, layout, data, folder, self.limit, among))
                stack.callback(report.close)
                reports.append(report)
            yield Reports(reports)


class DocumentOutputs:
    """Reports on several documents: one about all where the format has room for them, else one each in a folder.

    Parameters
    ----------
    outputs : Outputs
        Of a format that is about one document, the path is that of a folder.
    """

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._shared: dict[str, tuple[IO[bytes], Path]] = {}
        self._names: Counter[str] = Counter()
        self._written = 0

    @property
    def folders(self) -> dict[str, Path]:
        """The folders, by format."""
        return {name: path for name, path in self._outputs.named() if FORMATS[name].around is None}

    @contextmanager
    def together(self) -> Iterator[Self]:
        """Open the reports about all documents; they appear when the block ends, all or none.

        Raises
        ------
        DocumentError
            A file cannot be written.
        """
        with ExitStack() as stack:
            for name, path in self._outputs.named():
                if name in self.folders:
                    path.mkdir(exist_ok=True)
                    continue
                self._shared[name] = _stream(stack, path)
                self._shared[name][0].write(_around(name)[0])
            yield self

    def of(self, data: Path) -> Outputs:
        """Return the outputs for the next document.

        Raises
        ------
        UsageError
            A report would overwrite what must stay, or a link leads out of the folder.
        """
        name = data.name if not self._names[data.name] else f"{data.stem}-{self._names[data.name] + 1}{data.suffix}"
        self._names[data.name] += 1
        files = {one: folder / f"{name}.{one}" for one, folder in self.folders.items()}
        refuse_outputs({f"--{one}": file for one, file in files.items()}, {"the data": data})
        return Outputs(files, self._outputs.limit, {one: io.BytesIO() for one in self._shared}, self._written)

    def add(self, outputs: Outputs) -> None:
        """Take over what a document has in the reports about all of them."""
        for name, part in outputs.shared.items():
            stream = self._shared[name][0]
            stream.write(_around(name)[1] * bool(self._written) + part.getvalue())
        self._written += 1

    def finish(self, total: ValidateResult) -> None:
        """Write the ends of the reports about all documents."""
        for name, (stream, _) in self._shared.items():
            stream.write(_around(name)[2])
            if name == "json":
                counts = replace(total, documents=()).for_reader()
                del counts["documents"]  # which have been written
                stream.write(dump(counts)[2:].encode())
            stream.flush()


def _around(name: str) -> tuple[bytes, bytes, bytes]:
    before, between, behind = FORMATS[name].around or ("", "", "")
    return before.encode(), between.encode(), behind.encode()


def _stream(stack: ExitStack, path: Path) -> tuple[IO[bytes], Path]:
    """Open an output; also return a folder for what has to be kept until it is written."""
    if path == STDOUT:
        return sys.stdout.buffer, Path(tempfile.gettempdir())
    part = stack.enter_context(atomic_path(path))
    return stack.enter_context(open_part(part, path)), part.parent
