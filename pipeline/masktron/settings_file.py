"""Files of settings: those that somebody names, and the one that lies in the folder."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from masktron.addresses import AddressPath, is_inside, shortened
from masktron.config import APART, Config, config_from
from masktron.declared import declared_in, names
from masktron.errors import UsageError
from masktron.files import read_text
from masktron.problems.problem import Note, Place, Problem, Setting, SettingName
from masktron.rules_given import GivenRules, rules_in
from masktron.toml_text import TomlText
from masktron.trust import (
    ReadFile,
    files_read,
    named_only_in,
    relocated,
    trust_of,
    weakened_in,
)


def load_config(path: str | PathLike[str]) -> Config:
    """Read a TOML file of settings.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    Config

    Raises
    ------
    UsageError
        The file is missing or malformed, or it holds an unknown key, role or a value of the wrong type.
    """
    if not isinstance(path, str | PathLike):
        raise UsageError.of("bad-value", name="path", expected="the name of a file", given=repr(path))
    return _config_in(read_toml(Path(path)), Path(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as plain data.

    Raises
    ------
    UsageError
        The file is missing or malformed.
    """
    return toml_of(read_text(path, "configuration"), path)


def toml_of(text: str, path: str | Path) -> dict[str, Any]:
    """Read TOML as plain data.

    Parameters
    ----------
    text : str
    path : str or Path
        For errors.

    Raises
    ------
    UsageError
        It is malformed; with the line, and what to write there where a key is repeated or a text has no quotes.
    """
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(_malformed(text, path, str(error))) from error
    except RecursionError as error:
        raise UsageError.of("not-toml", path, reason="nested too deeply") from error


_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")
"""How errors of `tomllib` end."""
_BARE = re.compile(r"[A-Za-z_./~][^][{},#\"'\\]*")
"""A text without quotes."""


def _malformed(text: str, path: str | Path, reason: str) -> Problem:
    if (at := _AT.search(reason)) is None:
        return Problem("not-toml", path, reason=reason)
    line, column = map(int, at.groups())
    place = Place(str(path), line, column)
    written, reason = text.split("\n")[line - 1], reason[: at.start()]
    if reason == "Cannot overwrite a value" or reason.startswith("Cannot declare"):
        return Problem("key-twice", place, key=written.partition("=")[0].strip())
    if reason == "Invalid value" and (bare := _BARE.match(written, column - 1)) is not None:
        said = bare[0].strip()
        quoted = said.lower() if said.lower() in ("true", "false") else f'"{said}"'
        whole = written[: column - 1] + quoted + written[column - 1 + len(said) :]
        return Problem("text-without-quotes", place, said=said, whole=whole.strip())
    return Problem("not-toml", place, reason=reason)


def found_config(path: Path, *, judge: str = "") -> Config:
    """Read a TOML file of settings that the user did not name: see `masktron.trust`.

    Parameters
    ----------
    path : Path
    judge : str
        The command, where it judges somebody's work. Then the settings leave out what relaxes a judgement.

    Raises
    ------
    UsageError
        As for `load_config`; or the file says what only a file that the user named may say.
    """
    table = read_toml(path)
    config = _config_in(table, path)
    for setting in named_only_in(table, Config):
        why, section = "a file that nobody named may not decide it", isinstance(table[setting[0]], Mapping)
        raise untrusted(path, setting, why, "" if section or len(setting) > 1 else f"--{setting[0]}", section=section)
    require_beside(config, path)
    weak = weakened_in(config)
    if judge:
        config, declared = _without(config, weak), declared_in(Config)
        # what the command does not take from any file was not ignored
        weak = {name: weak[name] for name in weak if name == "roles" or judge in declared[name].commands.split()}
    if not weak:
        return config
    said = ", ".join(f"{name} ({_in_short(part)})" for name, part in weak.items())
    if judge:
        ignored = (
            "{file} in this folder relaxes {said}; this was ignored, as nobody named the file. To apply it: {option}"
        )
        option = Setting("--config", (str(path),))
        return replace(config, found=Note(ignored, file=path.name, said=said, option=option))
    return replace(config, found=f"{path.name} in this folder relaxes {said}, for commands that use these settings")


def require_beside(settings: Any, path: Path, within: tuple[str, ...] = ()) -> None:
    """Refuse a file of settings that names files outside its folder.

    Parameters
    ----------
    settings : Config, or another dataclass of settings
    path : Path
        The file.
    within : tuple of str
        The table of the file that has the settings.

    Raises
    ------
    UsageError
    """
    for one in files_read(settings):
        if not is_inside(one.path, path.parent):
            why = f"a file outside this folder: {shortened(one.path)}"
            raise untrusted(path, (*within, *one.setting), why, one.option)


def untrusted(
    path: Path, setting: tuple[str, ...], why: str, option: str = "", *, section: bool = False
) -> UsageError:
    """Return the error for a setting, or a section, that a file may have only where the user names the file."""
    line = TomlText(read_text(path, "configuration").replace("\r\n", "\n")).line_of(setting)
    named, config = SettingName(setting[0], setting[1:]), Setting("--config", (str(path),))
    place = Place(str(path), line)
    instead: object = None
    if section and len(setting) == 1:
        instead = f"; or delete the section [{named}]"
    elif option:
        name, _, value = option.partition(" ")
        given = Setting(name, (value,) if value else ())
        instead = Note("; or delete line {line}, and give {option}", line=line, option=given)
    return UsageError.of("untrusted-setting", place, setting=named, why=why, config=config, instead=instead)


def _in_short(part: Any) -> str:
    """Show a part of a setting on part of a line."""
    listed = [str(one) for one in part] if isinstance(part, tuple | Mapping) else [str(part)]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _without[T](settings: T, weak: Mapping[str, Any]) -> T:
    """Return settings without the parts that relax a judgement."""
    held: Any = settings
    changes: dict[str, Any] = {}
    for name, part in weak.items():
        value, usual = getattr(settings, name), declared_in(type(held))[name].default
        if trust_of(type(held))[name].levels is not None:
            changes[name] = {level: _without(one, part.get(level, {})) for level, one in value.items()}
        elif isinstance(value, Mapping):
            changes[name] = {key: one for key, one in value.items() if key not in part}
        else:
            changes[name] = usual
    changed: T = replace(held, **changes)
    return changed


def _config_in(table: Mapping[str, Any], path: Path) -> Config:
    """Build settings from what a file of settings says; the files that it names start at its folder."""
    for name in names(Config, lambda one: one.confidential).intersection(table):
        raise UsageError.of("secret-in-settings", path, setting=SettingName(name))
    if table.get("swap") == {}:
        raise UsageError.of(
            "needs-setting",
            path,
            name=SettingName("swap"),
            needed="the fields to swap, from coarse to fine",
            setting=Setting("--swap", ("COUNTY,MUNICIPALITY",)),
        )
    # what tune is asked to try changes nothing for other commands
    config = config_from({name: value for name, value in table.items() if name not in APART}, where=str(path))
    rules = rules_in(table["rules"], read_text(path, "configuration"), str(path)) if "rules" in table else None
    return located(replace(config, given_rules=rules, spare_documents=frozenset(config.documents)), path)


def rules_of_settings(path: Path) -> GivenRules:
    """Return the rules in a file of settings.

    Raises
    ------
    UsageError
        It is missing or malformed, or it has none.
    """
    rules = rules_in(read_toml(path).get("rules", {}), read_text(path, "configuration"), str(path))
    if rules is None:
        raise UsageError.of("rules-not-there", path)
    return rules


def located[T](settings: T, path: Path) -> T:
    """Return settings whose files start at the folder of the file that names them; addresses are no paths."""

    def place(one: ReadFile) -> Path:
        return one.path if isinstance(one.path, AddressPath) else path.parent / one.path

    return relocated(settings, place)
