"""Frames of any library that speaks the Arrow C stream: what they hold as an Arrow file, and back into their kind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.ipc

from masktron.errors import UsageError, ViolationError
from masktron.scratch import create_private
from masktron.sources.tables.arrow_lexemes import has_text, lexemes_of
from masktron.sources.tables.column_names import xml_name


@runtime_checkable
class ArrowFrame(Protocol):
    """A frame of polars, pyarrow, DuckDB or another library: see the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the records."""


def is_arrow_frame(given: object) -> bool:
    """Whether something is no path, and can be read as a stream of Arrow's."""
    return isinstance(given, ArrowFrame) and not isinstance(given, type)


def write_arrow_frame(frame: ArrowFrame, path: Path, what: str) -> None:
    """Write the records of a frame, for the eyes of the owner alone.

    Parameters
    ----------
    frame : ArrowFrame
    path : Path
        Of a file that is not there.
    what : str
        What the frame is to the caller, for messages.

    Raises
    ------
    UsageError
        It is a single column, or has a type that Arrow does not.
    """
    try:
        values = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UsageError(
            f"{what}, of type {type(frame).__name__}, cannot be read as a table: {str(error).partition(chr(10))[0]}",
            hint="give a frame with one row per record; convert columns of types that Arrow does not have",
        ) from None
    os.close(create_private(path))
    with pa.ipc.new_file(str(path), values.schema) as writer:
        # dictionaries of a file are the same in all blocks
        writer.write_table(values.unify_dictionaries())


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of an Arrow file."""
    with pa.ipc.open_file(str(path)) as reader:
        return tuple(reader.schema.names)


def renamed(path: Path) -> str:
    """Say which columns have other names in rules and settings; empty where none has."""
    other = [f"{label!r} is {xml_name(label)}" for label in column_names(path) if xml_name(label) != label]
    return f"columns whose names are no XML names have others in rules and settings: {', '.join(other)}" * bool(other)


def read_arrow_frame(path: Path, like: ArrowFrame) -> Any:
    """Return the records of an Arrow file as a frame of the kind that another one is.

    Of polars that is a DataFrame, of DuckDB a relation of the same connection with the same types; a
    `pyarrow.Table` for everything else.

    Raises
    ------
    ViolationError
        The library does not hold what the file says.
    """
    with pa.ipc.open_file(str(path)) as reader:
        values = reader.read_all()
    library = type(like).__module__.partition(".")[0].lstrip("_")
    if library == "polars":
        made: Any = type(like)(values)  # type: ignore[call-arg]
    elif library == "duckdb":
        made = _relation(values, like)
    else:
        return values
    _require_same(values, pa.table(made), type(like).__name__)
    return made


def _relation(masked_records: pa.Table, like: Any) -> Any:
    """Return a relation; DuckDB finds the records by the name of the variable, and keeps them."""
    known = dict(zip(like.columns, like.types, strict=True))
    columns = [
        f"CAST({quoted} AS {known[name]}) AS {quoted}"
        for name in masked_records.column_names
        for quoted in ['"' + name.replace('"', '""') + '"']
    ]
    return like.query("masked_records_view", f"SELECT {', '.join(columns)} FROM masked_records")  # noqa: S608


def _require_same(values: pa.Table, made: pa.Table, kind: str) -> None:
    alike = made.column_names == values.column_names and len(made) == len(values)
    for name in values.column_names if alike else ():
        one, other = values[name], made[name]
        alike = alike and has_text(other.type)
        alike = alike and lexemes_of(one, name, "").to_pylist() == lexemes_of(other, name, "").to_pylist()
    if not alike:
        raise ViolationError(
            f"{kind} does not hold the masked records as they were verified",
            hint="mask a pyarrow Table, or a file",
        )
