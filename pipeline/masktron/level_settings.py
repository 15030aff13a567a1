"""Which tables, or which columns of one table, are the levels of nested records: ``[levels]`` of the settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from masktron.addresses import is_address, path_of
from masktron.errors import UsageError
from masktron.trust import FORMAT_OPTIONS, HARMLESS, NAMED_ONLY, declared, one_file, trust_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_EXAMPLE = '[levels.Household] key = "HID" and [levels.Person] data = "persons.csv"'
_OF_TABLES = ("data", "out", "format", "format_options")
"""What is said of a table of its own."""


@dataclass(frozen=True, slots=True)
class LevelSetting:
    """What is said of one level of nested records that stand in tables.

    Attributes
    ----------
    name : str
        Of the records, as rules name their element.
    key : tuple of str
        Columns that tell its records apart: over the file where other levels name them, else in the record above.
    parent : str
        Name of the level above; empty for the top level.
    parent_key : tuple of str
        Columns that hold the key of the record above, in the order of that key.
    data : Path or None
        Its table: a file, or an address; None where it stands in the table of the data, or of its parent.
    out : Path or None
        Where the table of a release goes; beside the output where None.
    same_table : bool
        Whether its records are rows of the table of the level above, of which each holds its own part of the columns.
    fields : tuple of str or None
        Columns of its own, where the level below stands in the same table.
    format : str or None
        Name of the format of `data`; what its name says when None.
    format_options : mapping of str to str
        What the format is told.
    numbered : tuple of str
        Columns of the key that hold no values of the original, but numbers of the release. No setting.
    """

    name: str
    key: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    parent: str = field(default="", metadata=HARMLESS)
    parent_key: tuple[str, ...] = field(default=(), metadata=HARMLESS)
    data: Path | None = field(default=None, metadata=declared(files=one_file, option="--table {}=FILE"))
    out: Path | None = field(default=None, metadata=NAMED_ONLY)
    same_table: bool = field(default=False, metadata=HARMLESS)
    fields: tuple[str, ...] | None = field(default=None, metadata=HARMLESS)
    format: str | None = field(default=None, metadata=HARMLESS)
    format_options: Mapping[str, str] = field(default_factory=dict, metadata=FORMAT_OPTIONS)
    numbered: tuple[str, ...] = ()


type LevelSettings = Mapping[str, LevelSetting]
"""By name: the top level first, each before those within it."""


@dataclass(frozen=True, slots=True)
class GivenTables:
    """Tables that somebody names of a masked file and of its original, by level, where they lie elsewhere."""

    masked: Mapping[str, Path] = field(default_factory=dict)
    original: Mapping[str, Path] = field(default_factory=dict)


NO_TABLES = GivenTables()


def levels_from(value: object, where: str) -> LevelSettings:
    """Read the levels of the settings.

    Parameters
    ----------
    value : mapping of str to mapping
        By the name of a level, what is said of it; or levels as this function returns them.
    where : str
        The file of settings, in whose folder the files lie; empty where there is none.

    Raises
    ------
    UsageError
        They are not a table of tables, or say what does not go together.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"levels must be a table of levels, not {value!r}", where=where, hint=f"such as {_EXAMPLE}")
    found = {str(name): _level(name, said, where) for name, said in value.items()}
    return _ordered(found, where) if found else {}


def with_tables(
    levels: LevelSettings, tables: Mapping[str, Path], *, keep_format: bool = False, option: str = "--table"
) -> LevelSettings:
    """Return levels with other files as their tables.

    Parameters
    ----------
    levels : mapping of str to LevelSetting
    tables : mapping of str to Path
        By level.
    keep_format : bool
        A file whose name ends like that of the former table is read as that was.
    option : str
        What names the tables, for messages.

    Raises
    ------
    UsageError
        There is no such level, or it has no table of its own.
    """
    for name in tables:
        if name not in levels or levels[name].data is None:
            own = ", ".join(one.name for one in levels.values() if one.data is not None) or "none"
            raise UsageError(
                f"a table is given for {name!r}, which is no level with a table of its own",
                where=f"{option} {name}",
                hint=f"the settings have {own} under [levels]",
            )
    return {
        name: _with_table(one, tables[name], keep_format=keep_format) if name in tables else one
        for name, one in levels.items()
    }


def _with_table(one: LevelSetting, table: Path, *, keep_format: bool) -> LevelSetting:
    alike = one.data is not None and table.suffix.lower() == one.data.suffix.lower()
    if keep_format and alike and not is_address(str(table)) and not is_address(str(one.data)):
        return replace(one, data=table)
    return replace(one, data=table, format=None, format_options={})


def parse_tables(assignments: Iterable[str], option: str = "--table") -> dict[str, Path]:
    """Read ``LEVEL=FILE`` options; an address may stand for the file.

    Parameters
    ----------
    assignments : iterable of str
    option : str
        Its name, for messages.

    Raises
    ------
    UsageError
        An assignment is not of that form, or a level is given twice.
    """
    found: dict[str, Path] = {}
    for assignment in assignments:
        name, equals, place = assignment.partition("=")
        if not (name and equals and place):
            raise UsageError(
                f"{option} {assignment!r} is not of the form LEVEL=FILE",
                hint=f"for example {option} Person=persons.csv",
            )
        if name in found:
            raise UsageError(f"{option} gives {name!r} two tables", hint="keep one of them")
        found[name] = path_of(place)
    return found


def tables_named(levels: LevelSettings) -> list[tuple[str, Path]]:
    """Return the tables of levels that have one of their own, each with the name of the level."""
    return [(name, one.data) for name, one in levels.items() if one.data is not None]


def level_paths(levels: LevelSettings) -> dict[str, tuple[str, ...]]:
    """Return the path of each level by its name: the names of the levels on it below the top level.

    Parameters
    ----------
    levels : mapping of str to LevelSetting
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, one in levels.items():
        found[name] = (*found[one.parent], name) if one.parent else ()
    return found


def released_levels(levels: LevelSettings, removed: Mapping[str, Collection[str]]) -> LevelSettings:
    """Return the levels of a release: a removed key holds numbers where it joins rows, and is gone elsewhere.

    Parameters
    ----------
    levels : mapping of str to LevelSetting
    removed : mapping of str to collection of str
        By level, fields that were not released.
    """
    return {
        name: _released(one, frozenset(removed.get(name, ())), joins=joining(levels, name))
        for name, one in levels.items()
    }


def joining(levels: LevelSettings, name: str) -> bool:
    """Whether the key of a level says which records of another table, or which rows, belong to it."""
    return any(one.parent == name for one in levels.values())


def _released(one: LevelSetting, removed: frozenset[str], *, joins: bool) -> LevelSetting:
    gone = tuple(name for name in one.key if name in removed)
    kept = (
        None if one.fields is None else tuple(name for name in one.fields if name not in removed or name in one.key)
    )
    if joins:
        return replace(one, numbered=tuple(dict.fromkeys((*one.numbered, *gone))), fields=kept)
    return replace(one, key=tuple(name for name in one.key if name not in gone), fields=kept)


def _level(name: object, said: object, where: str) -> LevelSetting:
    if isinstance(said, LevelSetting):
        return said
    setting = f"levels.{name}"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f"levels: {name!r} cannot be the name of an element", where=where, hint=f"such as {_EXAMPLE}"
        )
    if not isinstance(said, Mapping):
        raise UsageError(f"{setting} must be a table, not {said!r}", where=where, hint=f"such as {_EXAMPLE}")
    known = [*trust_of(LevelSetting)]
    if strange := [key for key in said if key not in known and key not in ("name", "numbered")]:
        raise UsageError(f"{setting} has no setting {strange[0]!r}", where=where, hint=f"it has {', '.join(known)}")
    same = said.get("same_table", False)
    if not isinstance(same, bool):
        raise UsageError(f"{setting}.same_table must be true or false, not {same!r}", where=where)
    own = said.get("fields")
    return LevelSetting(
        name,
        key=_columns(f"{setting}.key", said.get("key"), where),
        parent=_text(f"{setting}.parent", said.get("parent"), where) or "",
        parent_key=_columns(f"{setting}.parent_key", said.get("parent_key"), where),
        data=_path(f"{setting}.data", said.get("data"), where),
        out=_path(f"{setting}.out", said.get("out"), where),
        same_table=same,
        fields=None if own is None else _columns(f"{setting}.fields", own, where),
        format=_text(f"{setting}.format", said.get("format"), where),
        format_options=_options(f"{setting}.format_options", said.get("format_options"), where),
        numbered=_columns(f"{setting}.numbered", said.get("numbered"), where),
    )


def _columns(setting: str, value: object, where: str) -> tuple[str, ...]:
    given = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) and one for one in given):
        raise UsageError(f"{setting} must be a column, or a list of columns, not {value!r}", where=where)
    if len(set(given)) < len(given):
        raise UsageError(f"{setting} names a column twice", where=where)
    return tuple(given)


def _text(setting: str, value: object, where: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{setting} must be a name, not {value!r}", where=where)
    return value or None


def _path(setting: str, value: object, where: str) -> Path | None:
    if value is None or isinstance(value, Path):
        return value if value is None or is_address(str(value)) else Path(where).parent / value
    if not isinstance(value, str | PathLike) or not str(value):
        raise UsageError(f"{setting} must be a file, or the address of a table, not {value!r}", where=where)
    text = str(value)
    # a path in a file of settings starts at its folder
    return path_of(text) if is_address(text) else Path(where).parent / path_of(text)


def _options(setting: str, value: object, where: str) -> dict[str, str]:
    given: Any = {} if value is None else value
    if not isinstance(given, Mapping) or not all(isinstance(one, str | int | float) for one in given.values()):
        raise UsageError(f"{setting} must be a table NAME = value, not {value!r}", where=where)
    return {str(name): str(one).lower() if isinstance(one, bool) else str(one) for name, one in given.items()}


def _ordered(given: Mapping[str, LevelSetting], where: str) -> LevelSettings:
    """Return levels with the parents that they leave out, the top first, each before those within it."""
    tops = [name for name, one in given.items() if not (one.parent or one.data is not None or one.same_table)]
    if len(tops) != 1:
        said = f"{', '.join(tops)} have" if tops else "each level has"
        raise UsageError(
            f"levels: one level is that of the data, and {said} {'neither' if tops else 'a'} data, parent "
            f"{'nor' if tops else 'or'} same_table",
            where=where,
            hint=f"such as {_EXAMPLE}",
        )
    named = {name: _with_parent(one, tops[0]) for name, one in given.items()}
    found: dict[str, LevelSetting] = {tops[0]: named[tops[0]]}
    while waiting := [one for one in named.values() if one.name not in found]:
        ready = [one for one in waiting if one.parent in found]
        if not ready:
            raise UsageError(
                f"levels.{waiting[0].name}: the parent {waiting[0].parent!r} is no level above it",
                where=where,
                hint=f"the levels are {', '.join(named)}",
            )
        for one in ready:
            found[one.name] = _with_parent_key(one, found[one.parent], where)
    if len(found) < 2:
        raise UsageError(
            "levels: a single level is no nested file",
            where=where,
            hint=f"name the level within it, such as {_EXAMPLE}; or leave [levels] out",
        )
    _require_sense(found, where)
    return found


def _with_parent(one: LevelSetting, top: str) -> LevelSetting:
    return one if one.name == top or one.parent else replace(one, parent=top)


def _with_parent_key(one: LevelSetting, parent: LevelSetting, where: str) -> LevelSetting:
    """Return a level with the columns that join it; they are called as in the level above where nobody says."""
    if not parent.key:
        raise UsageError(
            f"levels.{parent.name} has no key, and {one.name} stands in it",
            where=where,
            hint=f'name the column that tells a {parent.name} from others: key = "HID"',
        )
    if one.same_table:
        return one
    columns = one.parent_key or parent.key
    if len(columns) != len(parent.key):
        raise UsageError(
            f"levels.{one.name}.parent_key has {len(columns)} columns for the {len(parent.key)} of the key of "
            f"{parent.name}",
            where=where,
        )
    return replace(one, parent_key=columns)


def _require_sense(levels: LevelSettings, where: str) -> None:
    """Refuse levels that have no table, or say of it what is not there."""
    within = [one.parent for one in levels.values() if one.same_table]
    for one in levels.values():
        setting = f"levels.{one.name}"
        if one.parent and (one.data is None) != one.same_table:
            what = "stands in the same table and has data" if one.same_table else "has neither data nor same_table"
            raise UsageError(f"{setting} {what}", where=where, hint="name its file as data, or say same_table = true")
        if one.same_table and one.parent_key:
            raise UsageError(
                f"{setting} stands in the table of {one.parent} and has a parent_key",
                where=where,
                hint=f"leave it out: the key of {one.parent} says which rows belong together",
            )
        if one.data is None and (idle := [name for name in _OF_TABLES if getattr(one, name)]):
            raise UsageError(f"{setting}.{idle[0]} is given, and it has no table of its own", where=where)
        if within.count(one.name) > 1:
            raise UsageError(
                f"{setting}: two levels are rows of its table", where=where, hint="a row holds one of each level"
            )
        if one.fields is not None and one.name not in within:
            raise UsageError(
                f"{setting}.fields is given, and no level below stands in its table",
                where=where,
                hint="leave it out: all columns of its rows are its own",
            )
