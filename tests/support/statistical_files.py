"""Files of statistical packages: samples in a format, and data sets of SAS, which nothing else writes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyreadstat

from made_columns import cells_of, dataset_of
from masktron.sources.dataset import Dataset
from masktron.sources.known_formats import table_format
from masktron.sources.opening import open_source
from masktron.sources.tables.release import Release
from masktron.sources.variables import Variable


def first_records(xml: Path, count: int, out: Path) -> Path:
    """Write the first records of a file in XML."""
    source = open_source(xml)
    source.write(out, {}, keep=np.arange(len(source.records())) < count)
    return out


def table_of_xml(xml: Path) -> Dataset:
    """Return a flat XML file as a table that says nothing of its columns."""
    columns = open_source(xml).records().columns
    cells = {name: pa.array(column.lexemes.tolist(), pa.string()) for name, column in columns.items()}
    return dataset_of(tuple(Variable(name, name) for name in cells), pa.table(cells))


def table_of_texts(columns: dict[str, list[str | None]], **variables: Variable) -> Dataset:
    """Return a table with these lexemes."""
    said = tuple(variables.get(name, Variable(name, name)) for name in columns)
    cells = pa.table({name: pa.array(texts, pa.string()) for name, texts in columns.items()})
    return dataset_of(said, cells)


def written(xml: Path, name: str, out: Path) -> Path:
    """Write an XML file in a format of tables."""
    table_format(name).write(out, Release.new(table_of_xml(xml)))
    return out


def read_cells(path: Path) -> dict[str, list[str | None]]:
    """Return the lexemes that both readers of a file agree on."""
    source = open_source(path)
    source.records()
    cells = cells_of(getattr(source, "table"))  # noqa: B009 -- of a table source
    return {name: cells[name].to_pylist() for name in cells.column_names}


def write_sas7bdat(
    path: Path, columns: dict[str, Sequence[float | str | None]], formats: dict[str, str], labels: dict[str, str]
) -> None:
    """Write a SAS data set with ReadStat, the C library in pyreadstat, whose own interface does not offer it.

    Parameters
    ----------
    columns : mapping of str to sequence
        Texts where all values are; in columns of numbers a text of one letter is a special missing value.
    """
    folder = Path(pyreadstat.__file__).parent
    read_stat = ctypes.CDLL(str(next(folder.glob("_readstat_writer*"))))
    for name in ("readstat_writer_init", "readstat_add_variable", "readstat_get_variable"):
        getattr(read_stat, name).restype = ctypes.c_void_p
    pointer = ctypes.c_void_p
    writer = pointer(read_stat.readstat_writer_init())
    pieces: list[bytes] = []

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, pointer, ctypes.c_size_t, pointer)
    def take(data: int, size: int, _: int) -> int:
        pieces.append(ctypes.string_at(data, size))
        return size

    read_stat.readstat_set_data_writer(writer, take)
    variables = []
    for name, values in columns.items():
        text = all(isinstance(value, str) and len(value) != 1 for value in values)
        width = max(len(value) for value in values if isinstance(value, str)) if text else 0
        kind = 0 if text else 5
        variable = pointer(read_stat.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width)))
        if name in formats:
            read_stat.readstat_variable_set_format(variable, formats[name].encode())
        if name in labels:
            read_stat.readstat_variable_set_label(variable, labels[name].encode())
        variables.append((variable, text, values))
    rows = len(variables[0][2])
    assert read_stat.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(rows)) == 0
    for row in range(rows):
        read_stat.readstat_begin_row(writer)
        for variable, text, values in variables:
            value = values[row]
            if value is None:
                result = read_stat.readstat_insert_missing_value(writer, variable)
            elif text:
                result = read_stat.readstat_insert_string_value(writer, variable, str(value).encode())
            elif isinstance(value, str):
                tag = ctypes.c_char(value.encode())
                result = read_stat.readstat_insert_tagged_missing_value(writer, variable, tag)
            else:
                result = read_stat.readstat_insert_double_value(writer, variable, ctypes.c_double(value))
            assert result == 0
        read_stat.readstat_end_row(writer)
    assert read_stat.readstat_end_writing(writer) == 0
    read_stat.readstat_writer_free(writer)
    path.write_bytes(b"".join(pieces))
