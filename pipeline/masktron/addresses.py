"""Addresses of tables in databases, which may stand wherever the name of a file of microdata may."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

from masktron.errors import UsageError

SCHEMES = ("sqlite", "duckdb", "postgresql", "postgres")
HIDDEN = "***"
"""Stands for a password."""
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):", re.IGNORECASE)
_ACCOUNT = re.compile(r"([a-z][a-z0-9+.-]*:)//[^/]*@", re.IGNORECASE)
"""An address of another kind, which may hold a password."""
_OF_SERVER = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)
_ARGUMENTS = 45
"""Where ``/proc/self/stat`` says, behind the name of the program, at which address its arguments begin."""
_FILES = ("sqlite", "duckdb")
_OWN = ("table", "query")
_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a table of a database is.

    Attributes
    ----------
    scheme : str
        ``sqlite``, ``duckdb`` or ``postgresql``.
    connection : str
        A path, or what libpq takes. It may hold a password: never shown.
    table, query : str
        One of the two; a table of PostgreSQL may have a schema before it, with a point.
    shown : str
        The address for messages, results and manifests: without a password.
    secrets : tuple of str
        What no message may show: passwords, as they are written and as they are.
    """

    scheme: str
    connection: str = field(repr=False)
    table: str
    query: str
    shown: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_file(self) -> bool:
        """Whether the database is a file, which formats of tables read themselves."""
        return self.scheme in _FILES


class AddressPath(Path):
    """An address where the name of a file may stand: a name for messages, which only sources know how to open.

    It is a `Path` so that whatever passes on the name of a file, and opens none, takes both. Two are equal that name
    one table of one database, with whatever password.

    Parameters
    ----------
    address : Address
    writing : object, optional
        Where the table is being written: who holds the open transaction, for the eyes of the format alone.

    Attributes
    ----------
    ready : bool
        All is done for the table that is being written but the end of its transaction.
    """

    def __init__(self, address: Address, writing: Any = None) -> None:
        super().__init__(address.shown)
        self.address, self.writing, self.ready = address, writing, False

    def __str__(self) -> str:
        return self.address.shown

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.address,)

    def with_segments(self, *segments: Any) -> Path:  # type: ignore[override] # such as the folder that it is not in
        """Return a plain path: what is made of an address is none."""
        return Path(*segments)

    @property
    def opened(self) -> Path:
        """What its format opens: the file of a database, or one that is to be copied there; else the address."""
        if not self.address.is_file:
            return self
        return Path(self.address.connection) if self.writing is None else Path(self.writing.staged)

    @property
    def options(self) -> dict[str, str]:
        """What its format is told; what is being written has one table."""
        if not self.address.is_file or self.writing is not None:
            return {}
        return {"table": self.address.table} if self.address.table else {"query": self.address.query}

    @property
    def name(self) -> str:
        """The table without its schema; ``query`` for what a query returns."""
        return self.address.table.rpartition(".")[2] or "query"

    @property
    def suffix(self) -> str:
        """An address has no suffix."""
        return ""


def is_address(text: str) -> bool:
    """Whether a text begins as the address of a table does."""
    return _ADDRESS.match(text) is not None


def is_any_address(text: str) -> bool:
    """Whether a text begins as an address does, of a table or of anything else with an account."""
    return is_address(text) or _ACCOUNT.match(text) is not None


def path_of(text: str) -> Path:
    """Return the path of a file, or the address of a table.

    Parameters
    ----------
    text : str
        As it was given, before anything made a path of it: a path has no double slashes.

    Raises
    ------
    UsageError
        It begins as an address does, and is none.
    """
    if is_address(text):
        return AddressPath(parse_address(text))
    if found := _ACCOUNT.match(text):
        raise UsageError.of(
            "bad-address", f"{found[1]}...", reason=f"masktron reads nothing at addresses that begin with {found[1]}"
        )
    return Path(text)


def file_path(text: str) -> Path:
    """Read the path of a file on the command line."""
    if is_any_address(text):
        raise ValueError(f"it must be the path of a file, not the address {hidden(text)}")
    return Path(text)


def address_in(argument: str) -> str:
    """Return the address of a server in an argument of a command, such as ``--out=postgresql://...``, or nothing."""
    found = _OF_SERVER.search(argument)
    return "" if found is None else argument[found.start() :]


def hide_passwords(arguments: Sequence[str]) -> None:
    """Overwrite passwords in the command of this process, as the system shows it to everybody; on Linux alone.

    Parameters
    ----------
    arguments : sequence of str
        As they were given.
    """
    raw = [os.fsencode(argument) for argument in arguments]
    shown = [os.fsencode(_starred(argument)) for argument in arguments]
    if raw == shown or sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    begin, end = int(fields[_ARGUMENTS]), int(fields[_ARGUMENTS + 1])
    if 0 < begin < end:
        content = ctypes.string_at(begin, end - begin)
        for own, other in zip(raw, shown, strict=True):
            content = content.replace(own, other)
        ctypes.memmove(begin, content, end - begin)


def _starred(argument: str) -> str:
    """Return an argument with stars for passwords, in as many bytes."""
    text = address_in(argument)
    kept = argument[: len(argument) - len(text)]
    try:
        secrets = parse_address(text).secrets if text else ()
    except UsageError:
        return kept + "*" * len(os.fsencode(text))
    for secret in sorted(secrets, key=len, reverse=True):
        stars = "*" * len(os.fsencode(secret))
        text = text.replace(f":{secret}@", f":{stars}@").replace(f"={secret}", f"={stars}")
    return kept + text


def hidden(text: str) -> str:
    """Return an address with ``***`` for its passwords."""
    try:
        found = parse_address(text)
    except UsageError:
        return f"{text.partition(':')[0]}:{HIDDEN}"
    for secret in sorted(found.secrets, key=len, reverse=True):
        head, mark, query = text.partition("?")
        text = f"{_without(head, secret)}{mark}{_without(query, secret)}"
    return text


def _without(text: str, secret: str) -> str:
    return text.replace(f":{secret}@", f":{HIDDEN}@").replace(f"={secret}", f"={HIDDEN}")


def parse_address(text: str) -> Address:
    """Read an address: ``sqlite:FILE?table=NAME``, ``duckdb:FILE?query=SELECT ...``, ``postgresql://USER@HOST/DB?...``.

    Parameters
    ----------
    text : str
        As it was given, before anything made a path of it.

    Raises
    ------
    UsageError
        It is no address, or names neither a table nor a query, or both. What was given is not quoted, as it may hold
        a password.
    """
    head, _, tail = text.partition("?")
    scheme, _, place = head.partition(":")
    scheme = scheme.lower().replace("postgresql", "postgres").replace("postgres", "postgresql")
    if scheme not in SCHEMES:
        raise UsageError.of("bad-address", reason=f"it has to begin with {', '.join(SCHEMES[:-1])} and a colon")
    given = parse_qsl(tail, keep_blank_values=True)
    own = [(name, value) for name, value in given if name in _OWN]
    others = [(name, value) for name, value in given if name not in _OWN]
    if len(own) != 1 or not own[0][1].strip():
        raise UsageError.of("bad-address", f"{scheme}:...", reason="it has to name a table or a query")
    reader = _file if scheme in _FILES else _server
    connection, shown, secrets = reader(scheme, place, others)
    ((name, value),) = own
    shown += f"{'&' if '?' in shown else '?'}{name}={value}"
    table, query = (value, "") if name == "table" else ("", value)
    return Address(scheme, connection, table, query, shown, secrets)


def _file(scheme: str, place: str, others: list[tuple[str, str]]) -> tuple[str, str, tuple[str, ...]]:
    host = place.startswith("//") and not place.startswith("///")
    file = unquote(place.removeprefix("//"))
    if host or others or not file:
        raise UsageError.of(
            "bad-address", f"{scheme}:...", reason="it has to name a file without host or further parameters"
        )
    return file, f"{scheme}:{file}", ()


def _server(scheme: str, place: str, others: list[tuple[str, str]]) -> tuple[str, str, tuple[str, ...]]:
    authority, slash, database = place.removeprefix("//").partition("/")
    account, at, hosts = authority.rpartition("@")
    user, _, password = account.partition(":")
    if (
        not place.startswith("//")
        or "@" in account
        or "@" in database
        or not all(map(_PORT.fullmatch, hosts.split(",")))
    ):
        raise UsageError.of(
            "bad-address",
            f"{scheme}:...",
            reason="it has to name a host and a database, with special characters as codes",
        )
    public = [(name, value) for name, value in others if "password" not in name.lower()]
    rest, told = (f"?{urlencode(pairs, safe='/')}" if pairs else "" for pairs in (others, public))
    secrets = [password, unquote(password)]
    secrets += [
        text for name, value in others if (name, value) not in public for text in (value, urlencode({"": value})[1:])
    ]
    return (
        f"postgresql://{authority}{slash}{database}{rest}",
        f"postgresql://{user}{at}{hosts}{slash}{database}{told}",
        tuple(dict.fromkeys(filter(None, secrets))),
    )


_TYPED: ContextVar[dict[str, str]] = ContextVar("typed")
"""Addresses with passwords, by what the command line has in their place."""


@contextmanager
def without_passwords(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give arguments that whoever reads the command line may quote; `typed_path` knows the passwords in them."""
    addresses = {one: address_in(one) for one in arguments}
    shown = [
        one.removesuffix(addresses[one]) + (hidden(addresses[one]) if addresses[one] else "") for one in arguments
    ]
    token = _TYPED.set({hidden(address): address for address in addresses.values() if address})
    try:
        yield shown
    finally:
        _TYPED.reset(token)


def typed_path(text: str) -> Path:
    """Return the path, or the address, that the command line has: see `without_passwords`."""
    return path_of(_TYPED.get({}).get(text, text))


_LONGEST = 200
"""Characters of a path that messages show."""


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path leads to a place in a folder, whatever links are on the way.

    What lies elsewhere by its name alone is not looked up: that may be another machine. A path that the system cannot
    follow, such as a link to itself, leads nowhere.
    """
    if is_address(str(path)) or "\0" in str(path):
        return False
    try:
        real = folder.resolve()
        named = Path(os.path.abspath(path))  # noqa: PTH100 -- asks the system for nothing, and takes out ".."
        near = (real, Path(os.path.abspath(folder)))  # noqa: PTH100
        return any(named.is_relative_to(one) for one in near) and path.resolve().is_relative_to(real)
    except (OSError, RuntimeError):
        return False


def shortened(path: Path) -> str:
    """Return a path for a message: of a long one, the beginning and the end."""
    text = str(path)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 :]}"
