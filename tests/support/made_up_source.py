"""A format that nobody uses: blocks of ``field=value`` lines with a blank line between records.

# a comment, which is not written
Id=1
A=3
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from masktron.errors import DocumentError
from masktron.problems.problem import Field, Place
from masktron.sources.known_formats import Format, registered
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.table_format import Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import NONE, Variable


class BlockFormat(TableFormat):
    """Records in blocks of lines."""

    name: ClassVar[str] = "blocks"

    def read(self, path: Path, options: Options) -> Table:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise DocumentError.of("cannot-read", path, file="file", reason=error.strerror) from error
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
                    raise DocumentError.of(
                        "unknown-name", Place(str(path), number), kind="field", name=Field(line), known=None
                    )
                records[-1][name] = value
            last = line
        columns = list(dict.fromkeys(name for record in records for name in record))
        names = xml_names(columns, str(path))
        cells = {name: pa.array([record.get(name) for record in records], pa.string()) for name in names}
        variables = tuple(Variable(name, column) for name, column in zip(names, columns, strict=True))
        return Table(variables, pa.table(cells), carried=starts)

    def read_again(self, path: Path, table: Table) -> SecondReading:
        text = "\n".join(line for line in path.read_text(encoding="utf-8").split("\n") if line[:1] != "#")
        blocks = [block.strip("\n").split("\n") for block in text.strip("\n").split("\n\n") if block.strip("\n")]
        rows = [dict(line.split("=", 1) for line in block) for block in blocks]
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        return SecondReading(columns, ([row.get(name) for name in columns] for row in rows))

    def line_of(self, table: Table, record: int) -> int:
        starts: list[int] = table.carried
        return starts[record]

    def write(self, target: Path, release: TableRelease, options: Options = NONE) -> None:
        blocks = (
            "".join(f"{name}={value}\n" for name, value in row.items() if value is not None)
            for row in release.cells.to_pylist()
        )
        target.write_text("\n".join(blocks), encoding="utf-8")


@contextmanager
def blocks_known() -> Iterator[None]:
    """Know the format within a context."""
    with registered(Format("blocks", (".blocks",), "blocks of lines", __name__, BlockFormat.__name__)):
        yield
