"""The settings of a candidate as a file of settings, so that the next `mask` does what was tried."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from masktron.addresses import AddressPath
from masktron.config import APART, Config, Role, config_from
from masktron.declared import about, declared_in, names
from masktron.errors import UsageError
from masktron.files import read_text
from masktron.level_settings import LevelSetting
from masktron.perturbation_settings import pram_relative_to
from masktron.recoding_settings import relative_to, resolved
from masktron.rules_given import table_of
from masktron.setting_values import Register
from masktron.settings_file import located
from masktron.toml_text import TomlText, toml_text, toml_value
from masktron.write.atomic import atomic_path

CHANGED = ("k", "method", "grouping", "aggregator")
"""Settings of a candidate that are one line each; its parameters are a table."""
_OF_KEYS = about(Config, "treating") - {"allow_lost"} | {"roles"}
"""Settings of treatments: what else is said in them is not changed."""
_KEPT_OUT = names(Config, lambda one: one.confidential)
"""What has no place in a file of settings."""


def write_settings(path: Path, config: Config) -> None:
    """Write settings; where the file is there, only how to mask and the limits are changed.

    Parameters
    ----------
    path : Path
    config : Config
        With those of the candidate in it.

    Raises
    ------
    UsageError
        The file that is there cannot be changed so that it says this: options were given beside it, say.
    """
    text = text_with(config, path)
    newline = "\r\n" if path.exists() and b"\r\n" in path.read_bytes() else "\n"
    with atomic_path(path, released=True) as temporary:
        temporary.write_text(text, encoding="utf-8", newline=newline)


def text_with(config: Config, path: Path) -> str:
    """Return what a file is going to say, in the place of the one that is there; see `write_settings`."""
    return changed(read_text(path, "configuration"), config, path) if path.exists() else settings_text(config, path)


def settings_text(config: Config, path: Path) -> str:
    """Return settings as TOML: those that are not what they are by themselves.

    Parameters
    ----------
    config : Config
    path : Path
        Of the file: paths in it start at its folder.

    Raises
    ------
    UsageError
        A file of settings cannot say them.
    """
    usual = Config()
    own = {
        name: _said(config, name, path)
        for name in declared_in(Config)
        if name not in _KEPT_OUT and (name in ("k", "method") or getattr(config, name) != getattr(usual, name))
    }
    if config.given_rules:
        own["rules"] = table_of(config.given_rules)
    made = toml_text(own)
    if apart := _apart(_read(made, path), config, path):
        raise UsageError.of("cannot-write-settings", path, reason="TOML would say something else of ", settings=apart)
    return made


def changed(text: str, config: Config, path: Path) -> str:
    """Return the text of a file of settings with a candidate in it; comments and all else stay.

    Raises
    ------
    UsageError
        It would not say this then.
    """
    try:
        former = tomllib.loads(text)
    except ValueError as error:
        raise UsageError.of("cannot-write-settings", path, reason=f"it is not TOML: {error}", settings=()) from error
    there = TomlText(text)
    for name in CHANGED:
        value = _plain(getattr(config, name), path)
        if name in former and value is None:
            there.remove((name,))
        elif (name in former and toml_value(former[name]) != toml_value(value)) or (
            name not in former and getattr(config, name) != getattr(Config(), name)
        ):
            there.put((name,), toml_value(value))
    there.assign("params", former.get("params"), _plain(config.params, path))
    _put_treatments(there, former, config, path)
    there.assign("limits", former.get("limits"), _limits(config.limits, former.get("limits")))
    made = str(there)
    _require_same(made, former, config, path)
    return made


def _put_treatments(there: TomlText, former: Mapping[str, Any], config: Config, path: Path) -> None:
    """Put into a text how keys are treated: k where it stands, and roles that recoding gives to fields."""
    own = former.get("recode", {})
    same = {name: how for name, how in own.items() if resolved(how, path.parent) == config.recode.get(name)}
    there.assign("recode", own, {**_said(config, "recode", path), **same})
    _put_draws(there, former, config, path)
    keys = former.get("keys", {})
    if config.key_k is None:
        there.remove(("key_k",))
        there.remove(("keys",))
    elif "k" not in keys:
        there.assign("key_k", former.get("key_k"), config.key_k)
    elif keys["k"] != config.key_k:
        there.put(("keys", "k"), str(config.key_k))
    roles = former.get("roles", {})
    known = {name: str(role) for name, role in config.roles.items() if role is Role.QUASI_IDENTIFIER}
    there.assign("roles", roles, {**known, **roles})


def _put_draws(there: TomlText, former: Mapping[str, Any], config: Config, path: Path) -> None:
    """Put into a text how fields are drawn anew and swapped; what says the same already stays as it is written."""
    own = former.get("pram", {})
    known = located(config_from({"pram": own}, where=str(path)), path).pram
    same = {name: how for name, how in own.items() if known[name] == config.pram.get(name)}
    there.assign("pram", own, {**_said(config, "pram", path), **same})
    swap = former.get("swap", {})
    if config_from({"swap": swap}, where=str(path)).swap != config.swap:
        there.assign("swap", swap, _said(config, "swap", path))


def _limits(limits: Mapping[str, float], former: object) -> dict[str, object]:
    """Return the limits that a candidate was chosen under; those that are there already as they are written there."""
    there = former if isinstance(former, Mapping) else {}
    return {
        name: there[name] if there.get(name) == bound else int(bound) if bound.is_integer() else bound
        for name, bound in limits.items()
    }


def _require_same(made: str, former: Mapping[str, Any], config: Config, path: Path) -> None:
    """Refuse a text that does not say what it has to, or says something else than before."""
    try:
        now = tomllib.loads(made)
    except ValueError as error:
        raise UsageError.of("cannot-write-settings", path, reason="it cannot be changed", settings=()) from error
    loose = {*CHANGED, "params", "limits", *_OF_KEYS}
    same = _without(now, loose) == _without(former, loose)
    apart = _apart(_read(made, path), config, path)
    if apart or not same:
        reason = "since options were given beside it, it would differ in "
        raise UsageError.of("cannot-write-settings", path, reason=reason, settings=apart or ["others"])


def _read(text: str, path: Path) -> Config:
    """Read settings as `mask` does."""
    table = {name: value for name, value in tomllib.loads(text).items() if name not in APART}
    return located(config_from(table, where=str(path)), path)


def _apart(found: Config, config: Config, path: Path) -> list[str]:
    """Name the settings in which two differ; on how many processes compute nothing depends."""
    return [
        name
        for name in declared_in(Config)
        if name not in _KEPT_OUT | about(Config, "running") and _said(found, name, path) != _said(config, name, path)
    ]


def _without(table: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


def _said(config: Config, name: str, path: Path) -> Any:
    """Return a setting as a file says it; hierarchies and matrices start at the folder of the file."""
    if name == "recode":
        return {field: relative_to(how, path.parent) for field, how in config.recode.items()}
    if name == "pram":
        return {field: pram_relative_to(how, path.parent) for field, how in config.pram.items()}
    if name == "levels":
        return {level: _level(one, path) for level, one in config.levels.items()}
    return _plain(getattr(config, name), path)


def _level(level: LevelSetting, path: Path) -> dict[str, Any]:
    """Return what a file says of a level of nested records; an address is no path."""
    said = {one.name: getattr(level, one.name) for one in fields(LevelSetting) if one.name != "name"}
    return {
        name: str(one) if isinstance(one, AddressPath) else _plain(one, path) for name, one in said.items() if one
    }


def _plain(value: Any, path: Path) -> Any:
    """Return a setting as TOML has it.

    Raises
    ------
    UsageError
        TOML has nothing for a value of this type.
    """
    if isinstance(value, Register):
        return {name: _plain(getattr(value, name), path) for name in ("path", "salt")}
    if isinstance(value, Mapping):
        return {str(key): _plain(one, path) for key, one in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(one, path) for one in value]
    if isinstance(value, Path):
        return Path(os.path.relpath(value, path.parent)).as_posix()
    if value is None or isinstance(value, str | bool | int | float):
        return str(value) if isinstance(value, str) else value
    raise UsageError.of("cannot-write-settings", path, reason=f"TOML has no {type(value).__name__}", settings=())
