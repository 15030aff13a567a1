"""The tables of a release of nested records: where each goes, and where it is found beside the released file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from masktron.config import ReadOptions
from masktron.errors import UsageError
from masktron.level_settings import LevelSetting, LevelSettings, level_paths, released_levels, with_tables
from masktron.problems.problem import Setting
from masktron.results import shown
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.level_tree import LevelPath
from masktron.sources.opening import format_of
from masktron.sources.output_names import refuse_other_names, table_beside
from masktron.sources.source import Source
from masktron.sources.tables.column_names import xml_name
from masktron.sources.wide.wide_source import as_read
from masktron.trust import file_beside
from masktron.write.manifest import DescribedRelease, read_manifest
from masktron.write.publication import require_new, require_together

TABLES_GONE = (
    "a table of the masked file or of the original was not found beside these or the manifest, so that pages have "
    "no pictures and figures of values: put all tables of a file into one folder"
)
"""What is said where a table beside that of the data has moved."""
_ALONE = "the output"
"""Stands for the level of a release that is one file."""


@dataclass(frozen=True, slots=True)
class ReleasedTables:
    """Where the tables of a release go.

    Attributes
    ----------
    top : str
        Name of the top level among `places`.
    places : mapping of str to Path
        By the names of levels, the table of the data among them.
    inputs, outputs : mapping of str to Path
        The tables beside that of the data, by what messages call them.
    """

    top: str
    places: Mapping[str, Path]
    inputs: Mapping[str, Path]
    outputs: Mapping[str, Path]

    @property
    def named(self) -> dict[str, str]:
        """Where the tables beside that of the data go, as results have it."""
        return {name: shown(place) for name, place in self.places.items() if name != self.top}

    def require_new(self, data: Path, *, replaces: bool) -> None:
        """Refuse, before anything is computed, a table that a database does not take.

        Raises
        ------
        DocumentError, UsageError
        """
        for place in self.places.values():
            require_new(place, [data, *self.inputs.values()], replaces=replaces)


def tables_of_release(data: Path, out: Path, levels: LevelSettings) -> ReleasedTables:
    """Return where the tables of a release go; of one file, that alone.

    Parameters
    ----------
    data : Path
        The original.
    out : Path
        Where its table goes.
    levels : mapping of str to LevelSetting

    Raises
    ------
    UsageError
        A place has the name of another format, or the tables cannot appear together.
    """
    top = next(iter(levels), _ALONE)
    places, inputs = {top: out}, {}
    for name, one in levels.items():
        if one.data is not None:
            places[name] = one.out or table_beside(out, name, one.data)
            inputs[f"the table of {name}"] = one.data
            refuse_other_names(places[name], format_of(one.data, _reading(one)), one.data)
    require_together(places)
    outputs = {f"the output of {name}": place for name, place in places.items() if name != top}
    return ReleasedTables(top, places, inputs, outputs)


def _reading(one: LevelSetting) -> ReadOptions:
    return ReadOptions(format=one.format, options=one.format_options)


def of_release(
    reading: ReadOptions,
    masked: Path,
    removed: Collection[str] = (),
    tables: Mapping[str, Path] = MappingProxyType({}),
) -> ReadOptions:
    """Return how a release is read, given how its original is: its tables lie beside it.

    Parameters
    ----------
    reading : ReadOptions
    masked : Path
        The released file.
    removed : collection of str
        Fields that were not released, as the manifest names them.
    tables : mapping of str to Path
        By level, those that lie elsewhere.

    Raises
    ------
    UsageError
        A table is named of no level that has one.
    """
    if not reading.levels:
        return with_other_tables(reading, tables)
    gone: dict[str, list[str]] = {}
    paths = level_paths(reading.levels)
    for name, one in reading.levels.items():
        columns = dict.fromkeys((*one.key, *(one.fields or ())))
        gone[name] = [column for column in columns if _is_among(removed, paths[name], column)]
    levels = {
        name: one if one.data is None else replace(one, data=one.out or table_beside(masked, name, one.data))
        for name, one in released_levels(reading.levels, gone).items()
    }
    return with_other_tables(replace(reading, levels=levels), tables)


def with_other_tables(reading: ReadOptions, tables: Mapping[str, Path], option: str = "--table") -> ReadOptions:
    """Return how a file is read of which some tables lie elsewhere.

    Parameters
    ----------
    reading : ReadOptions
    tables : mapping of str to Path
        By level.
    option : str
        What names them, for messages.

    Raises
    ------
    UsageError
        A table is named of no level that has one.
    """
    if not tables:
        return reading
    return replace(reading, levels=with_tables(reading.levels, tables, keep_format=True, option=option))


def tables_located(
    reading: ReadOptions, manifest: Path, masked: Path, original: Path | None
) -> tuple[ReadOptions, list[str]]:
    """Return how files are read whose tables a manifest names: only tables beside files that the user named count.

    Parameters
    ----------
    reading : ReadOptions
        As the manifest has it.
    manifest, masked, original : Path
        As the user named them; the original may be None.

    Returns
    -------
    ReadOptions
    list of str
        Levels whose table of the original lies elsewhere.
    """
    levels, elsewhere = dict(reading.levels), []
    for name, one in reading.levels.items():
        out = None if one.out is None else file_beside(one.out, masked, manifest)
        data = one.data
        if data is not None and original is not None and (data := file_beside(data, original, manifest)) is None:
            elsewhere.append(name)
        levels[name] = replace(one, out=out, data=data or one.data)
    return replace(reading, levels=levels), elsewhere


def described_release_of(
    manifest: Path, masked: Path, original: Path | None, stated: LevelSettings, named: Collection[str] = ()
) -> DescribedRelease:
    """Read a manifest for a command that compares files which the user named.

    Parameters
    ----------
    manifest, masked, original : Path
        As the user named them; the original may be None.
    stated : mapping of str to LevelSetting
        Levels that the user states; those of the manifest do not count then.
    named : collection of str
        Levels whose table of the original the user names.

    Raises
    ------
    UsageError
        It is no manifest; or it names a table of the original that the user has to name.
    """
    described = read_manifest(manifest)
    reading, elsewhere = tables_located(described.reading, manifest, masked, original)
    if not stated and (unnamed := [name for name in elsewhere if name not in named]):
        level, table = unnamed[0], described.reading.levels[unnamed[0]].data
        needed = f"a file, since {table} is not beside the original"
        given = Setting("--original-table", (f"{level}=FILE",))
        raise UsageError.of("needs-setting", manifest, name=f"the table of {level}", needed=needed, setting=given)
    return replace(described, reading=reading)


def digests_of_tables(source: Source, places: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return what a manifest says of the tables beside that of the data: where each is, and its SHA-256.

    Parameters
    ----------
    source : Source
        Nested records in tables, or their units; any other source has no such tables.
    places : mapping of str to str, optional
        What the tables are going to be called, by level.
    """
    own = as_read(source)
    others = own.others if isinstance(own, JoinedSource) else {}
    if not others:
        return {}
    return {
        "tables": {
            name: {"path": (places or {}).get(name, shown(table.path)), "sha256": table.digest}
            for name, table in others.items()
        }
    }


def _is_among(names: Collection[str], path: LevelPath, column: str) -> bool:
    """Whether a column of a level is among wide fields, in whatever place: ``Age`` as ``Person.2.Age``."""
    places = "".join(rf"{re.escape(kind)}\.[0-9]+\." for kind in path)
    wide = re.compile(places + re.escape(xml_name(column).removeprefix("@")))
    return any(wide.fullmatch(name.removeprefix("@")) for name in names)
