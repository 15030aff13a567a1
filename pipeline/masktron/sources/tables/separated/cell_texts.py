"""The first reading of CSV, with pyarrow: cells as text."""

from __future__ import annotations

from codecs import BOM_UTF8

import pyarrow as pa
import pyarrow.csv

from masktron.sources.tables.separated.csv_dialect import CsvDialect

_BLOCK = 1 << 23
"""Bytes that are read at once, or more where a record is longer."""
_LARGEST = (1 << 31) - 1


def cells_of(
    data: bytes | memoryview,
    dialect: CsvDialect,
    count: int,
    longest: int,
    *,
    breaks: bool,
    null: tuple[str, ...] | None,
) -> pa.Table:
    """Read records that are known to be sound.

    Parameters
    ----------
    data : bytes
        Records alone, in UTF-8.
    dialect : CsvDialect
    count : int
        Of columns.
    longest : int
        Bytes of the longest record.
    breaks : bool
        Whether a cell may go over several lines.
    null : tuple of str, optional
        Cells that mean that there is no value; by default none is.

    Returns
    -------
    pyarrow.Table
        Columns of strings, named ``0``, ``1``, ...
    """
    names = [str(at) for at in range(count)]
    if not len(data):
        return pa.table({name: pa.chunked_array([], type=pa.string()) for name in names})
    if bytes(data[: len(BOM_UTF8)]) == BOM_UTF8:
        # pyarrow takes it for a mark, and drops it
        data = BOM_UTF8 + bytes(data)
    if data[-1] not in b"\n\r":
        # pyarrow does not read a first line that does not end
        data = bytes(data) + dialect.ending.encode()
    return pa.csv.read_csv(
        pa.BufferReader(data),
        pa.csv.ReadOptions(column_names=names, block_size=min(max(_BLOCK, 2 * longest + 64), _LARGEST)),
        pa.csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            double_quote=bool(dialect.quote) and not dialect.escape,
            escape_char=dialect.escape or False,
            newlines_in_values=breaks,
            ignore_empty_lines=False,
        ),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""] if null is None else ["", *null],
            strings_can_be_null=null is not None,
            quoted_strings_can_be_null=True,
        ),
    )
