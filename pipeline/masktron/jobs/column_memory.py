"""Records as columns, in memory where they are few beside it, and else in files that are mapped to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType

import masktron.memory as costs
from masktron.large_arrays import arrays_in_files
from masktron.memory import memory_of_run
from masktron.progress import Told, untold
from masktron.scratch import folder_on_disk, private_folder, require_room
from masktron.sources.dataset import Dataset
from masktron.sources.source import Source


def arrays_of_run(records: int, fields: int, memory: int | None) -> AbstractContextManager[None]:
    """Have arrays with an entry for each record put into files where the columns of so many records are."""
    return arrays_in_files(wanted=not _fit(records * fields * costs.COLUMN_CELL, memory))


def _fit(size: int, memory: int | None) -> bool:
    return size * costs.COLUMN_SHARE <= memory_of_run(memory)


def read_columns(
    source: Source,
    *,
    missing: Mapping[str, frozenset[str]] = MappingProxyType({}),
    memory: int | None = None,
    told: Told = untold,
) -> Dataset:
    """Read the records of a file; on Windows, which removes no file that is mapped, always into memory.

    Parameters
    ----------
    source : Source
    missing : mapping of str to frozenset of str
        Declared missing codes by field name, ``*`` for all fields.
    memory : int, optional
        Bytes that the run may take; half of what is free when not given.
    told : callable, optional
        Told of the records read, and of how many there are.

    Raises
    ------
    DocumentError
        The file cannot be read, or a record is not flat; or there is too little room for temporary files.
    """
    if not _in_files(source, memory):
        return source.records(missing=missing, told=told)
    with private_folder(folder_on_disk()[0]) as folder:
        require_room(folder, _needed(source) + source.beside_columns, what=f"reading {source.path.name} into files")
        return source.records(missing=missing, told=told, storage=folder)


def column_notes(source: Source, memory: int | None = None) -> tuple[str, ...]:
    """Say where columns that were to be kept out of memory are in memory all the same."""
    if not _in_files(source, memory) or folder_on_disk()[1]:
        return ()
    return (
        "columns were read into temporary files to save memory, and the folder for these is memory itself: name one "
        "that is on a disk (TMPDIR)",
    )


def _in_files(source: Source, memory: int | None) -> bool:
    return sys.platform != "win32" and not _fit(_needed(source), memory)


def _needed(source: Source) -> int:
    """Return how many bytes the columns of a file take, about."""
    return source.estimate() * len(source.layout.fields) * costs.COLUMN_CELL
