"""Settings from the file of settings and from options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from masktron.config import Config, Register
    from masktron.level_settings import GivenTables


def settings_from(
    path: Path | None,
    role: list[str] | None = None,
    missing: list[str] | None = None,
    nominal: list[str] | None = None,
    ordinal: list[str] | None = None,
    limit: list[str] | None = None,
    numeric: list[str] | None = None,
    quasi_identifier: list[str] | None = None,
    document: list[str] | None = None,
    format_option: list[str] | None = None,
    recode: list[str] | None = None,
    pram: list[str] | None = None,
    swap: str | None = None,
    table: list[str] | None = None,
    register: Path | None = None,
    salt: Path | None = None,
    judging: bool = False,
    **changes: Any,
) -> Config:
    """Settings from the file, overridden by options; `judging` as for `masktron.config.found_config`."""
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
    roles = {**config.roles, **parse_roles(role or [])}
    codes = parse_missing(missing or [])
    merged = {
        name: config.missing.get(name, frozenset()) | codes.get(name, frozenset())
        for name in (*config.missing, *codes)
    }
    limits = {**config.limits, **parse_limits(limit or [])}
    given = parse_documents(document or [])
    orders, named = parse_orders(ordinal or []), tuple(dict.fromkeys(nominal or ()))
    counted = tuple(dict.fromkeys(numeric or ()))
    return config.updated(
        roles=roles,
        missing=merged,
        limits=limits,
        documents={**config.documents, **given},
        format_options={**config.format_options, **parse_format_options(format_option or [])},
        recode={**config.recode, **parse_recodings(recode or [])},
        pram={**config.pram, **parse_pram(pram or [])},
        levels=with_tables(config.levels, parse_tables(table or [])),
        swap=config.swap if swap is None else {**config.swap, "regions": swap.split(",")},
        spare_documents=config.spare_documents - given.keys(),
        nominal=(*(name for name in config.nominal if name not in (*orders, *named, *counted)), *named),
        ordinal={
            **{name: order for name, order in config.ordinal.items() if name not in (*named, *counted)},
            **orders,
        },
        quasi_identifiers=(*config.quasi_identifiers, *(quasi_identifier or ())),
        numeric=(*(name for name in config.numeric if name not in (*orders, *named, *counted)), *counted),
        register=register_from(register, salt, config.register),
        **changes,
    )


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
