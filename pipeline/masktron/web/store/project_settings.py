"""The settings of a project: ``masktron.toml`` in its folder, checked before it is written, with its history."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from copy import deepcopy
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from masktron.addresses import is_inside
from masktron.config import APART, Config, config_from
from masktron.errors import UsageError
from masktron.perturbation_settings import pram_settings
from masktron.problems.problem import Place, SettingName
from masktron.recoding_settings import FromHierarchy, how_of
from masktron.settings_file import toml_of
from masktron.toml_text import TomlText, toml_text
from masktron.trust import named_only_in
from masktron.web.store.disk import bytes_of
from masktron.web.store.project_files import HIERARCHIES

NAME = "masktron.toml"
_KEPT = 50_000
"""Characters of settings whose meaning is kept: it depends on their text alone."""


class ProjectSettings:
    """Reads and writes the settings of a project.

    Parameters
    ----------
    folder : Path
        Of the project.
    write : callable
        Writes files with history: by name, what was done (``said``), and by whom (``by``).
    lock : context manager
        Held from reading to writing, since two windows may be open.
    """

    def __init__(self, folder: Path, write: Callable[..., None], lock: AbstractContextManager[object]) -> None:
        self._path = folder / NAME
        self._write = write
        self._lock = lock

    @property
    def text(self) -> str:
        """The file as it is; empty where there is none.

        Raises
        ------
        UsageError
            Somebody has written a file that is not in UTF-8.
        """
        return text_of(bytes_of(self._path) or b"")

    @property
    def is_there(self) -> bool:
        """Whether there are any."""
        return bool(bytes_of(self._path))

    @property
    def table(self) -> dict[str, Any]:
        """What the file says, as plain data.

        Raises
        ------
        UsageError
            Somebody has written a file that is no TOML.
        """
        return table_of(self.text)

    @property
    def config(self) -> Config:
        """What the file means; as `masktron.config.load_config` reads it.

        Raises
        ------
        UsageError
            It has unknown settings, or values that they cannot have.
        """
        text = self.text
        self._refuse_links(table_of(text))
        return _config_of(text) if len(text) < _KEPT else _checked(table_of(text))

    def version(self, names: Collection[str]) -> str:
        """Return a text that is another one as soon as one of some settings changes."""
        try:
            said = {name: value for name, value in self.table.items() if name in names}
        except UsageError:  # somebody has broken the file: whoever saves is told
            return hashlib.sha256(bytes_of(self._path) or b"").hexdigest()[:16]
        return hashlib.sha256(toml_text(said).encode()).hexdigest()[:16]

    def update(self, changes: Mapping[str, Any], *, said: str) -> None:
        """Change some settings; one that is None goes. Comments and all else stay as they are.

        Raises
        ------
        UsageError
            A value is not what its setting can have, or names a file outside the project: nothing is written.
        """
        with self._lock:
            self._write({NAME: self.changed(changes).encode()}, said=said)

    def changed(self, changes: Mapping[str, Any]) -> str:
        """Return the file with other settings, as `update` would write it.

        Raises
        ------
        UsageError
            As for `update`.
        """
        former = self.table
        wanted = {name: value for name, value in {**former, **changes}.items() if value is not None}
        _checked(wanted)
        there = TomlText(self.text.replace("\r\n", "\n"))
        for name, value in changes.items():
            there.assign(name, former.get(name), value)
        # what is too intricate to be changed where it stands is written anew
        return str(there) if _says(str(there), wanted) else toml_text(wanted)

    def replace(self, text: str, *, said: str) -> None:
        """Take another file of settings as it is.

        Raises
        ------
        UsageError
            As `update` does, or it is no TOML.
        """
        _checked(table_of(text))
        self._write({NAME: text.encode()}, said=said)

    def for_run(
        self, depth: int, *, without: Collection[str] = (), changes: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the settings for a copy that lies so many folders below: what it names is still found.

        Hierarchies are copied beside it.

        Parameters
        ----------
        depth : int
        without : collection of str
            Settings that are left out.
        changes : mapping, optional
            Other settings, which are tried out: see `changed`.
        """
        text = self.text if changes is None else self.changed(changes)
        _checked(table_of(text))
        self._refuse_links(table_of(text))
        return (_below if len(text) < _KEPT else _below.__wrapped__)(text, depth, frozenset(without))

    def _refuse_links(self, table: Mapping[str, Any]) -> None:
        """Refuse a file of the project that is a link to another place."""
        folder = self._path.parent
        for name, paths in _paths(table).items():
            for path in paths.values():
                if not is_inside(folder / path, folder):
                    raise _outside(name)

    def named_files(self) -> dict[str, list[str]]:
        """Return the files that the settings name for a command to read, by the name of the setting.

        Raises
        ------
        UsageError
            Somebody has written a file that is no TOML.
        """
        return {name: [*paths.values()] for name, paths in _paths(self.table).items() if name != "register"}


@lru_cache(maxsize=32)
def _below(text: str, depth: int, without: frozenset[str]) -> bytes:
    """Return settings for a copy so many folders below."""
    table = table_of(text)
    for name, paths in _paths(table).items():
        for key, path in paths.items():
            place = table if key is None else table[name]
            place[name if key is None else key] = f"{'../' * depth}{path}"
    left_out = [table.pop(name) for name in without if name in table]
    # byte for byte what is in the project, where nothing in it depends on the folder
    return toml_text(table).encode() if left_out or _paths(table) else text.encode()


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    """Whether a text means a table; tables of nothing mean nothing."""
    try:
        return tomllib.loads(text) == {name: value for name, value in wanted.items() if value != {}}
    except tomllib.TOMLDecodeError:
        return False


def text_of(content: bytes) -> str:
    """Return the text of settings.

    Raises
    ------
    UsageError
        It is not in UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError.of("not-utf-8", Place(NAME, line), file="file of settings") from error


def table_of(text: str) -> dict[str, Any]:
    """Read TOML.

    Raises
    ------
    UsageError
        It is none.
    """
    return deepcopy(_parsed(text)) if len(text) < _KEPT else toml_of(text, NAME)


@lru_cache(maxsize=64)
def _parsed(text: str) -> dict[str, Any]:
    return toml_of(text, NAME)


@lru_cache(maxsize=32)
def _config_of(text: str) -> Config:
    return _checked(table_of(text))


def _checked(table: Mapping[str, Any]) -> Config:
    for setting in named_only_in(table, Config):
        if setting != ("register",):  # whose files lie in the project
            why = "each run has its own secret, works on this machine and writes into the project"
            raise _not_here(SettingName(setting[0], setting[1:]), why)
    if "rules" in table:
        shell = "masktron rules masktron.toml --to schematron --data DATA --out rules.sch"
        raise _not_here(SettingName("rules"), f"its rules are a rulebook, which `{shell}` writes in a shell")
    config = config_from({name: value for name, value in table.items() if name not in APART}, where=NAME)
    _require_one_table(config)
    for name, paths in _paths(table).items():
        for path in paths.values():
            _require_inside(name, path)
    for name, how in config.recode.items():
        _require_own_hierarchy(name, how)
    for name, how in config.pram.items():
        _require_no_matrix(name, how)
    return config


def _require_one_table(config: Config) -> None:
    """Refuse levels with tables of their own: a project masks one file."""
    for level in config.levels.values():
        if level.data is not None or level.out is not None:
            why = "it masks one file: join the tables into one with a row for each member, or upload nested XML"
            raise _not_here(SettingName("levels", (level.name, "data")), why)


def hierarchies_of(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of hierarchies that settings name, by field; those that are none are left to the checks."""
    recode = table.get("recode", {})
    found = {name: how_of("recode", how) for name, how in recode.items()} if isinstance(recode, Mapping) else {}
    return {name: how.path.as_posix() for name, how in found.items() if isinstance(how, FromHierarchy)}


def _require_own_hierarchy(name: str, how: str) -> None:
    """Refuse a hierarchy that is no file of the project: a run reads what settings name."""
    named = how_of(f"recode.{name}", how)
    if isinstance(named, FromHierarchy) and not HIERARCHIES.matches(named.path.as_posix()):
        raise _outside("recode", name)


def _require_no_matrix(name: str, how: str) -> None:
    """Refuse the file of a matrix, as projects keep none: a run reads what settings name."""
    if pram_settings(f"pram.{name}", how).matrix is not None:
        why = "it keeps no files of matrices: give the share that is expected to change, such as change:0.1"
        raise _not_here(SettingName("pram", (name,)), why)


def _paths(table: Mapping[str, Any]) -> dict[str, dict[str | None, str]]:
    """Return what names files: the path by the key in the table of a setting, or by None where it has no table."""
    found: dict[str, dict[str | None, str]] = {}
    for name in ("documents", "metadata", "register"):
        value = table.get(name)
        if isinstance(value, str):
            found[name] = {None: value}
        elif isinstance(value, Mapping):
            found[name] = {key: str(path) for key, path in value.items()}
    return found


def _require_inside(name: str, path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts or "\\" in path or "\0" in path:
        raise _outside(name)


def _outside(*name: str) -> UsageError:
    return UsageError.of("file-outside-project", NAME, setting=SettingName(name[0], name[1:]))


def _not_here(setting: SettingName, why: str) -> UsageError:
    return UsageError.of("not-in-projects", NAME, setting=setting, reason=why)
