"""Reports in JSON with a long list in them: written piece by piece, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from masktron.evaluation.findings import Finding
from masktron.evaluation.spool import Spool
from masktron.results import RecordFinding, ValidateResult
from masktron.rulebook.schema import Rulebook
from masktron.write.manifest import dump, dump_line


class Listed:
    """The first findings of each check as lines of JSON, kept on disk.

    Parameters
    ----------
    folder : Path
        Where they are kept.
    limit : int or None
        How many of each check; None for all.
    """

    def __init__(self, folder: Path, limit: int | None) -> None:
        self._spool = Spool(folder)
        self._limit = limit
        self._taken: dict[int, int] = {}

    def close(self) -> None:
        """Give them up."""
        self._spool.__exit__(None, None, None)

    def wants(self, check: int) -> bool:
        """Whether there is room for one more finding of a check; it counts as taken then."""
        taken = self._taken.get(check, 0)
        if self._limit is not None and taken >= self._limit:
            return False
        self._taken[check] = taken + 1
        return True

    def add(self, check: int, content: Mapping[str, Any]) -> None:
        """Take one."""
        self._spool.add(check, f",\n{dump_line(content)}")

    def write(self, stream: IO[bytes], content: Mapping[str, Any], name: str, checks: Iterable[int]) -> None:
        """Write a document, with the list in the place of its last empty one, which is called `name`."""
        empty = f'"{name}": []'
        before, found, after = dump(content).rpartition(empty)
        if not found:
            raise ValueError(f"the document has no empty list {name!r}")
        stream.write(before.encode())
        stream.write(f'"{name}": ['.encode())
        skipped = 1  # the comma before the first
        for check in checks:
            for piece in self._spool.pieces(check):
                stream.write(piece[skipped:])
                skipped = 0 if piece else skipped
        stream.write(b"]" if skipped else b"\n]")
        stream.write(after.encode())


class JsonReport:
    """The result as JSON, as ``ValidateResult.as_dict`` has it, with the first findings of each rule.

    Parameters
    ----------
    stream : binary file
    rulebook : Rulebook
    folder : Path
        Where findings are kept until all are there.
    limit : int or None
        Findings of each rule; None for all.
    """

    def __init__(self, stream: IO[bytes], rulebook: Rulebook, folder: Path, limit: int | None) -> None:
        self._stream = stream
        self._rulebook = rulebook
        self._limit = limit
        self._listed = Listed(folder, limit)

    def close(self) -> None:
        """Give up what is kept of the findings."""
        self._listed.close()

    def add(self, finding: Finding) -> None:
        """Take a finding; those of one check come in the order of the records."""
        if self._listed.wants(finding.check):
            told = RecordFinding.of(finding, self._rulebook.checks[finding.check])
            self._listed.add(finding.check, told.as_dict())

    def finish(self, result: ValidateResult) -> None:
        """Write the report."""
        content = result.as_dict()
        if not result.release_safe:
            content |= {"limit": self._limit, "findings": []}
        self._listed.write(self._stream, content, "findings", range(len(self._rulebook.checks)))
        self._stream.flush()
