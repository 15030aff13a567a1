"""The settings of a candidate as a file of settings, so that the next `mask` does what was tried."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from masktron.config import Config, Register, config_from
from masktron.errors import UsageError
from masktron.files import read_text
from masktron.toml_text import toml_key, toml_text, toml_value
from masktron.write.atomic import atomic_path

CHANGED = ("k", "method", "grouping", "aggregator")
"""Settings of a candidate that are one line each; its parameters are a table."""
_KEPT_OUT = frozenset({"key", "seed", "spare_documents"})
"""What has no place in a file of settings."""
_TABLE = re.compile(r"\s*\[")


def write_settings(path: Path, config: Config) -> None:
    """Write settings; where the file is there, only the lines that say how to mask are changed.

    Parameters
    ----------
    path : Path
    config : Config
        With the candidate in it, as `TuneRecipe.settings` returns it.

    Raises
    ------
    UsageError
        The file that is there cannot be changed so that it says this: options were given beside it, say.
    """
    text = text_with(config, path)
    with atomic_path(path, released=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


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
        one.name: _plain(getattr(config, one.name), path)
        for one in fields(Config)
        if one.name not in _KEPT_OUT
        and (one.name in ("k", "method") or getattr(config, one.name) != getattr(usual, one.name))
    }
    made = toml_text(own)
    if apart := _apart(_read(made, path), config, path):
        raise UsageError(
            f"the settings cannot be written to a file: {', '.join(apart)}",
            where=str(path),
            hint="leave them out, or take the line of the candidate from tune.json",
        )
    return made


def changed(text: str, config: Config, path: Path) -> str:
    """Return the text of a file of settings with a candidate in it; comments and all else stay.

    Raises
    ------
    UsageError
        It would not say this then.
    """
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if _TABLE.match(line)), len(lines))
    wanted = {name: _plain(getattr(config, name), path) for name in CHANGED}
    top = [line for line in lines[:start] if not re.match(r"\s*(?:params\b.*=)", line)]
    for name, value in wanted.items():
        line = None if value is None else f"{name} = {toml_value(value)}"
        places = [at for at, one in enumerate(top) if re.match(rf"\s*{name}\s*=", one)]
        for at in reversed(places):
            top[at : at + 1] = [line] if line is not None and at == places[0] else []
        usual = getattr(Config(), name)
        if not places and line is not None and getattr(config, name) != usual:
            at = next(
                (at for at, one in enumerate(top) if one.strip() and not one.lstrip().startswith("#")), len(top)
            )
            top.insert(at, line)
    rest = list(_without_params(lines[start:]))
    if config.params:
        own = [f"{toml_key(key)} = {toml_value(_plain(value, path))}" for key, value in config.params.items()]
        rest = ["", "[params]", *own, "", *rest] if rest else ["", "[params]", *own]
    made = "\n".join([*top, *rest]).rstrip() + "\n"
    _require_same(made, text, config, path)
    return made


def _without_params(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if _TABLE.match(line):
            inside = re.match(r"\s*\[params\]", line) is not None
        if not inside:
            yield line


def _require_same(made: str, before: str, config: Config, path: Path) -> None:
    """Refuse a text that does not say what it has to, or says something else than before."""
    hint = "name a file that is not there: --write FILE"
    try:
        now, former = tomllib.loads(made), tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise UsageError("the settings there cannot be changed", where=str(path), hint=hint) from error
    loose = {*CHANGED, "params"}
    same = _without(now, loose) == _without(former, loose)
    apart = _apart(_read(made, path), config, path)
    if apart or not same:
        raise UsageError(
            f"the settings there would not say what was tried: {', '.join(apart) or 'other settings would change'}",
            where=str(path),
            hint=f"options were given beside the file; {hint}",
        )


def _read(text: str, path: Path) -> Config:
    """Read settings as `mask` does."""
    return config_from(
        {name: value for name, value in tomllib.loads(text).items() if name != "tune"}, where=str(path)
    )


def _apart(found: Config, config: Config, path: Path) -> list[str]:
    """Name the settings in which two differ; on how many processes compute nothing depends."""
    return [
        one.name
        for one in fields(Config)
        if one.name not in _KEPT_OUT | {"workers"}
        and _plain(getattr(found, one.name), path) != _plain(getattr(config, one.name), path)
    ]


def _without(table: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


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
    raise UsageError(f"a setting cannot be written to a file: it is a {type(value).__name__}", where=str(path))
