"""A format that nobody uses: blocks of ``field=value`` lines with a blank line between records.

# a comment, which is not written
Id=1
A=3
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from masktron.errors import DocumentError
from masktron.sources.converted import CellTexts, ConvertedSource
from masktron.sources.formats import Format, registered


class BlockSource(ConvertedSource):
    """Records in blocks of lines."""

    def read_cells(self) -> CellTexts:
        return self._read()[0]

    def line_of(self, record: int) -> int:
        return self._read()[1][record]

    def _read(self) -> tuple[CellTexts, list[int]]:
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise DocumentError(f"cannot read the file: {error.strerror}", where=str(self.path)) from error
        records: list[dict[str, str]] = []
        starts: list[int] = []
        last = ""
        for number, line in enumerate(lines, start=1):
            if line.startswith("#"):
                continue
            if line and not last:
                records.append({})
                starts.append(number)
            if line:
                name, found, value = line.partition("=")
                if not found:
                    raise DocumentError(f"{line!r} is no field", where=f"{self.path}:{number}")
                records[-1][name] = value
            last = line
        names = dict.fromkeys(name for record in records for name in record)
        return {name: [record.get(name) for record in records] for name in names}, starts

    def write_cells(self, target: Path, cells: CellTexts) -> None:
        rows = zip(*cells.values(), strict=True)
        blocks = (
            "".join(f"{name}={value}\n" for name, value in zip(cells, row, strict=True) if value is not None)
            for row in rows
        )
        target.write_text("\n".join(blocks), encoding="utf-8")


@contextmanager
def blocks_known() -> Iterator[None]:
    """Know the format within a context."""
    with registered(Format("blocks", (".blocks",), BlockSource)):
        yield
