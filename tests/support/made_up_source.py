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

import numpy as np

from masktron.errors import DocumentError
from masktron.problems.problem import Field, Place
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.known_formats import Format, registered
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import Options, SecondReading, TableFormat
from masktron.sources.variables import NONE, Variable


class BlockFormat(TableFormat):
    """Records in blocks of lines."""

    name: ClassVar[str] = "blocks"

    def read(self, path: Path, options: Options) -> Dataset:
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
        cells = [
            Column.of_cells(Variable(name, column), [record.get(column) for record in records])
            for name, column in zip(xml_names(columns, str(path)), columns, strict=True)
        ]
        return Dataset.of_columns(path, cells, np.array(starts, dtype=np.int64))

    def read_again(self, path: Path, table: Dataset) -> SecondReading:
        text = "\n".join(line for line in path.read_text(encoding="utf-8").split("\n") if line[:1] != "#")
        blocks = [block.strip("\n").split("\n") for block in text.strip("\n").split("\n\n") if block.strip("\n")]
        rows = [dict(line.split("=", 1) for line in block) for block in blocks]
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        return SecondReading(columns, ([row.get(name) for name in columns] for row in rows))

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        columns = {name: column.lexemes for name, column in release.dataset.columns.items()}
        blocks = (
            "".join(f"{name}={texts[at]}\n" for name, texts in columns.items() if texts[at] is not None)
            for at in range(len(release.rows))
        )
        target.write_text("\n".join(blocks), encoding="utf-8")


@contextmanager
def blocks_known() -> Iterator[None]:
    """Know the format within a context."""
    with registered(Format("blocks", (".blocks",), "blocks of lines", __name__, BlockFormat.__name__)):
        yield
