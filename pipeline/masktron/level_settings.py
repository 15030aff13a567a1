"""Which tables, or which columns of one table, are the levels of nested records: ``[levels]`` of the settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from dataclasses import field as part
from pathlib import Path
from typing import Annotated, Any

from masktron.addresses import is_address
from masktron.declared import Declared, Settings, Taken, Trust, WrongValue, declared_in, part_of, require, setting
from masktron.errors import UsageError
from masktron.problems.problem import Known, Note, Setting, SettingName
from masktron.setting_values import FormatOptions, MaybePlace, table
from masktron.trust import FORMAT_OPTIONS, one_file

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_EXAMPLE = 'such as [levels.Household] key = "HID" and [levels.Person] data = "persons.csv"'
_OF_TABLES = ("data", "out", "format", "format_options")
"""What is said of a table of its own."""


def _columns(given: _Given) -> tuple[str, ...]:
    listed = () if given is None else (given,) if isinstance(given, str) else given
    fine = isinstance(listed, list | tuple) and all(isinstance(one, str) and one for one in listed)
    require(fine, "a column, or a list of columns", given)
    require(len({*listed}) == len(listed), "a list that has each column once", given)
    return tuple(listed)


type _Given = str | list[str] | tuple[str, ...] | None
type Columns = Annotated[Taken[tuple[str, ...], _Given], Declared(converter=_columns)]
type MaybeColumns = Annotated[Taken[tuple[str, ...] | None, _Given], Declared(converter=_columns)]


class LevelSetting(Settings):
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
    key: Columns = setting("Columns that tell records apart.", default=())
    parent: str = setting("The level above.", default="")
    parent_key: Columns = setting("Columns that hold the key of the record above.", default=())
    data: MaybePlace = setting("Its table.", default=None, trust=Trust(files=one_file, instead="--table {}=FILE"))
    out: MaybePlace = setting(
        "Where the table of a release goes.", default=None, trust=Trust(named_only=True, files=one_file)
    )
    same_table: bool = setting("Whether it stands in the table of the level above.", default=False)
    fields: MaybeColumns = setting("Columns of its own, where the level below has others.", default=None)
    format: str | None = setting("The format of its table.", default=None)
    format_options: FormatOptions = setting("What the format is told.", factory=dict, trust=FORMAT_OPTIONS)
    numbered: tuple[str, ...] = field(default=())


type LevelSettings = Mapping[str, LevelSetting]
"""By name: the top level first, each before those within it."""


@dataclass(frozen=True, slots=True)
class GivenTables:
    """Tables that somebody names of a masked file and of its original, by level, where they lie elsewhere."""

    masked: Mapping[str, Path] = part(default_factory=dict)
    original: Mapping[str, Path] = part(default_factory=dict)


NO_TABLES = GivenTables()


def levels_from(value: object) -> LevelSettings:
    """Read the levels of the settings.

    Parameters
    ----------
    value : mapping of str to mapping
        By the name of a level, what is said of it; or levels as this function returns them.

    Raises
    ------
    UsageError
        They are not a table of tables, or say what does not go together.
    """
    try:
        found = {str(name): _level(name, said) for name, said in table(value, "of levels", _EXAMPLE).items()}
        return _ordered(found) if found else {}
    except WrongValue as wrong:
        raise UsageError(wrong.of_setting("levels")) from None


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
            known = Known(name, tuple(own for own, _ in tables_named(levels)))
            asked_by = Note(", which {option} names", option=Setting(option, (f"{name}={tables[name]}",)))
            kind = "level with a table of its own"
            raise UsageError.of("unknown-name", kind=kind, name=name, asked_by=asked_by, known=known)
    return {
        name: _with_table(one, tables[name], keep_format=keep_format) if name in tables else one
        for name, one in levels.items()
    }


def _with_table(one: LevelSetting, table: Path, *, keep_format: bool) -> LevelSetting:
    alike = one.data is not None and table.suffix.lower() == one.data.suffix.lower()
    if keep_format and alike and not is_address(str(table)) and not is_address(str(one.data)):
        return replace(one, data=table)
    return replace(one, data=table, format=None, format_options={})


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


def _level(name: object, said: object) -> LevelSetting:
    if isinstance(said, LevelSetting):
        return said
    require(isinstance(name, str) and _NAME.fullmatch(name), "a table of names of elements", name, _EXAMPLE)
    return part_of(name, _read_level, str(name), said)


def _read_level(name: str, said: Any) -> LevelSetting:
    require(isinstance(said, Mapping), "a table", said, _EXAMPLE)
    known = (*declared_in(LevelSetting),)
    if strange := [key for key in said if key not in known and key not in ("name", "numbered")]:
        raise WrongValue("unknown-name", strange[0], known=Known(strange[0], known), kind="setting")
    given = {key: one for key, one in said.items() if key != "name" and one is not None}
    try:
        given["numbered"] = part_of("numbered", _columns, said.get("numbered"))
        return LevelSetting(name=name, **given)
    except UsageError as error:
        part = SettingName("levels", (name, error.setting))
        raise UsageError(error.problem.naming(name=part)) from None


def _ordered(given: Mapping[str, LevelSetting]) -> LevelSettings:
    """Return levels with the parents that they leave out, the top first, each before those within it."""
    tops = [name for name, one in given.items() if not (one.parent or one.data is not None or one.same_table)]
    require(len(tops) == 1, "a table with one level that has no data, parent or same_table", tops, _EXAMPLE)
    named = {name: _with_parent(one, tops[0]) for name, one in given.items()}
    found: dict[str, LevelSetting] = {tops[0]: named[tops[0]]}
    while waiting := [one for one in named.values() if one.name not in found]:
        ready = [one for one in waiting if one.parent in found]
        if not ready:
            name, parent = waiting[0].name, waiting[0].parent
            known = Known(parent, tuple(named))
            part_of(name, part_of, "parent", require, False, "a level above it", parent, known)
        for one in ready:
            found[one.name] = _with_parent_key(one, found[one.parent])
    require(len(found) > 1, "a table of two levels or more", [*found], f"{_EXAMPLE}; a flat file has no levels")
    _require_sense(found)
    return found


def _with_parent(one: LevelSetting, top: str) -> LevelSetting:
    return one if one.name == top or one.parent else replace(one, parent=top)


def _with_parent_key(one: LevelSetting, parent: LevelSetting) -> LevelSetting:
    """Return a level with the columns that join it; they are called as in the level above where nobody says."""
    if not parent.key:
        hint = f'name the column that tells its records apart, such as key = "HID": {one.name} stands in it'
        raise WrongValue("bad-value", parent.name, "key", expected="one column or more", given="none", hint=hint)
    if one.same_table:
        return one
    columns = one.parent_key or parent.key
    if len(columns) != len(parent.key):
        expected = f"{len(parent.key)} columns, as the key of {parent.name} is"
        raise WrongValue("bad-value", one.name, "parent_key", expected=expected, given=len(columns))
    return replace(one, parent_key=columns)


def _require_sense(levels: LevelSettings) -> None:
    """Refuse levels that have no table, or say of it what is not there."""
    within = [one.parent for one in levels.values() if one.same_table]
    for one in levels.values():
        part_of(one.name, _require_sense_of, one, within.count(one.name))


def _require_sense_of(one: LevelSetting, within: int) -> None:
    if one.parent and (one.data is None) != one.same_table:
        given = "both" if one.same_table else "neither"
        raise WrongValue("bad-value", expected="given either data or same_table = true", given=given)
    require(within < 2, "in a table with one other level at most", within, "a row holds one record of each level")
    idle = [(name, "has a table of its own") for name in _OF_TABLES if one.data is None and getattr(one, name)]
    idle += [("parent_key", "has a table of its own")] if one.same_table and one.parent_key else []
    idle += [("fields", "has another one in its table")] if one.fields is not None and not within else []
    if idle:
        raise WrongValue("setting-not-usable", idle[0][0], reason=f"only a level that {idle[0][1]} takes it")
