"""Settings from the file of settings and from options."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from masktron.config import Config, Register
    from masktron.level_settings import GivenTables


def settings_from(
    path: Path | None, given: Mapping[str, Any], *, other: Collection[str] = (), judging: bool = False, **changes: Any
) -> Config:
    """Settings from the file, overridden by the options of a command.

    Parameters
    ----------
    path : Path, or None
        The file, where one is named.
    given : mapping
        The arguments of the command by name: an option that is called as a setting is this setting.
    other : collection of str
        Options that are called as a setting, and are something else.
    judging : bool
        As for `masktron.config.found_config`.
    changes
        Settings that no option gives by itself.
    """
    from masktron.config import (
        Config,
        found_config,
        load_config,
        parse_documents,
        parse_format_options,
        parse_limits,
        parse_missing,
        parse_orders,
        parse_pram,
        parse_recodings,
        parse_roles,
    )
    from masktron.level_settings import parse_tables, with_tables

    if path is None and (found := settings_file(None)) is not None:
        Console(stderr=True, highlight=False, emoji=False).print(f"settings from {found}")
        config = found_config(found, judging=judging)
    else:
        config = Config() if path is None else load_config(path)
    given = {name: value for name, value in given.items() if name not in other}

    def texts(name: str) -> list[str]:
        return given.get(name) or []

    codes = parse_missing(texts("missing"))
    missing = {
        name: config.missing.get(name, frozenset()) | codes.get(name, frozenset())
        for name in (*config.missing, *codes)
    }
    documents = parse_documents(texts("document"))
    orders, named = parse_orders(texts("ordinal")), tuple(dict.fromkeys(texts("nominal")))
    counted, swap = tuple(dict.fromkeys(texts("numeric"))), given.get("swap")
    merged: dict[str, Any] = {
        "roles": {**config.roles, **parse_roles(texts("role"))},
        "missing": missing,
        "limits": {**config.limits, **parse_limits(texts("limit"))},
        "documents": {**config.documents, **documents},
        "format_options": {**config.format_options, **parse_format_options(texts("format_option"))},
        "recode": {**config.recode, **parse_recodings(texts("recode"))},
        "pram": {**config.pram, **parse_pram(texts("pram"))},
        "levels": with_tables(config.levels, parse_tables(texts("table"))),
        "swap": config.swap if swap is None else {**config.swap, "regions": swap.split(",")},
        "spare_documents": config.spare_documents - documents.keys(),
        "nominal": (*(name for name in config.nominal if name not in (*orders, *named, *counted)), *named),
        "ordinal": {
            **{name: order for name, order in config.ordinal.items() if name not in (*named, *counted)},
            **orders,
        },
        "quasi_identifiers": (*config.quasi_identifiers, *texts("quasi_identifier")),
        "numeric": (*(name for name in config.numeric if name not in (*orders, *named, *counted)), *counted),
        "register": register_from(given.get("register"), given.get("salt"), config.register),
    }
    as_given = {field.name: _set(given.get(field.name)) for field in fields(Config)}
    return config.updated(**as_given | merged | changes)


def _set(value: Any) -> Any:
    """Return what an option sets: lists are tuples, and what is empty or off sets nothing."""
    return tuple(value) or None if isinstance(value, list) else None if value is False else value


def register_from(path: Path | None, salt: Path | None, named: Register | None = None) -> Register | None:
    """Return the register of releases: as options say, else the one of a file that the user named."""
    from masktron.config import Register
    from masktron.errors import UsageError

    path = path or (None if named is None else named.path)
    if path is None:
        if salt is not None:
            raise UsageError("--salt is given, and no register", hint="name it, too: --register FILE")
        return None
    kept = None if named is None or named.path != path else named.salt
    return Register(path, salt or kept or path.with_name(f"{path.name}.salt"))


def inputs_beside(settings: Config) -> dict[str, Path]:
    """Return the documents of the rules, and the tables of levels, by the names that messages have for them."""
    documents = {f"the document {name!r}": path for name, path in settings.documents.items()}
    tables = {name: one.data for name, one in settings.levels.items() if one.data is not None}
    return documents | {f"the table of {name}": path for name, path in tables.items()}


def given_tables(masked: list[str] | None, original: list[str] | None) -> GivenTables:
    """Return the tables that options name of a masked file and of its original."""
    from masktron.level_settings import GivenTables, parse_tables

    return GivenTables(parse_tables(masked or []), parse_tables(original or [], "--original-table"))


def named_tables(tables: GivenTables) -> dict[str, Path]:
    """Return tables that options name, by the names that messages have for them."""
    masked = {f"the masked table of {name}": path for name, path in tables.masked.items()}
    return masked | {f"the original table of {name}": path for name, path in tables.original.items()}


def settings_file(named: Path | None) -> Path | None:
    """Return the file of settings: the one that was named, else the one in this folder."""
    default = Path("masktron.toml")
    return named or (default if default.is_file() else None)
