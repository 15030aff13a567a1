"""Files that a user names: plain ones only, and what may not be overwritten."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from masktron.addresses import AddressPath, is_inside, shortened
from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.problems.problem import Problem

SCHEMATRON = ("http://purl.oclc.org/dsdl/schematron", "http://www.ascc.net/xml/schematron")
"""Namespaces of rulebooks."""
_HEAD = 65536
LARGE = 64 << 20
"""Bytes to which anything may be unpacked; beyond it, `MOST_PACKED` times what is packed."""
MOST_PACKED = 200
"""Tables are packed 10 to 50 to one; what is made to fill the memory, 1,000 to one and more."""


def refuse_special(path: Path, error: type[MasktronError]) -> None:
    """Refuse a pipe, a device or a socket: it may never end, and most files are read more than once.

    Raises
    ------
    MasktronError
        Of the class `error`. What is not there at all is left to whoever opens it.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise error(Problem("not-a-plain-file", path))


def most_unpacked(packed: int) -> int:
    """Return to how many bytes what is packed may be unpacked."""
    return max(LARGE, MOST_PACKED * packed)


def require_unpacked(size: int, packed: int, what: str, where: str) -> None:
    """Refuse what was packed to fill the memory of whoever unpacks it.

    Parameters
    ----------
    size, packed : int
        Bytes.
    what, where : str
        For the message.

    Raises
    ------
    DocumentError
    """
    if size > most_unpacked(packed):
        most = most_unpacked(packed)
        raise DocumentError.of("unpacks-too-large", where, part=what, packed=packed, most=most, ratio=MOST_PACKED)


def read_text(path: Path, what: str) -> str:
    """Read a small text file in UTF-8, with or without a byte order mark.

    Raises
    ------
    UsageError
        It cannot be read, is no plain file, or is not UTF-8.
    """
    refuse_special(path, UsageError)
    try:
        if path.stat().st_size > LARGE:
            raise UsageError.of("cannot-read", path, file=what, reason=f"it is larger than {LARGE >> 20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError.of("not-utf-8", path, file=what) from error
    except FileNotFoundError as error:
        raise UsageError.of("cannot-read", path, file=what, reason="the file does not exist") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError.of("cannot-read", path, file=what, reason=reason) from error


class RepeatedNameError(ValueError):
    """A name stands twice in a JSON object."""


def parse_json(text: str) -> Any:
    """Parse JSON whose objects have each name once: where it stands twice, one of its values would be lost.

    Raises
    ------
    RepeatedNameError
        An object has a name twice.
    ValueError, RecursionError
        The text is not JSON, or is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_with_names_once)


def _with_names_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise RepeatedNameError(f"{name!r} is there twice")
        table[name] = value
    return table


def refuse_leading_out(output: Path) -> None:
    """Refuse an output that is a link to somewhere outside its folder: whoever sent the folder may have put it there.

    Raises
    ------
    UsageError
    """
    if output.is_symlink() and not is_inside(output, output.parent):
        raise UsageError.of("output-outside-folder", output, target=shortened(output.readlink()))


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file: by links of both kinds, or by spelling where case does not count.

    A table in a database is no file; two addresses are the same where they name the same table.
    """
    if isinstance(one, AddressPath) or isinstance(other, AddressPath):
        return one == other
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return one.resolve() == other.resolve()


def is_rulebook(path: Path) -> bool:
    """Whether an existing file looks like Schematron: a rulebook, or a part that one includes."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except (OSError, ValueError):
        return False
    return any(namespace.encode() in head for namespace in SCHEMATRON)


def refuse_outputs(
    outputs: Mapping[str, Path],
    inputs: Mapping[str, Path | None],
    made: Path | None = None,
    renewed: Collection[str] = (),
) -> None:
    """Refuse, before anything is computed, an output that cannot be written or would overwrite what must stay.

    Parameters
    ----------
    outputs, inputs : mapping of str to Path
        By the names that messages use. No output may be an input, another output or any rulebook.
    made : Path, optional
        A folder that the run makes where it is not there.
    renewed : collection of str
        Names of outputs that may take the place of a rulebook: that of a former run.

    Raises
    ------
    UsageError
        Naming the output and what is in its way. Whether a database takes a table is found out where it is written.
    """
    taken = {path: what for what, path in inputs.items() if path is not None}
    taken |= {file: what for path, what in taken.items() if (file := _database_of(path)) is not None}
    for name, path in outputs.items():
        if isinstance(path, AddressPath):
            if path in taken:
                raise UsageError.of("would-overwrite", path, output=name, taken=taken[path])
            taken[path] = f"the table of {name}"
            if (file := _database_of(path)) is not None:
                refuse_leading_out(file)
                taken[file] = f"the database of {name}"
            continue
        for other, what in taken.items():
            if same_file(path, other):
                raise UsageError.of("would-overwrite", path, output=name, taken=what)
        if name not in renewed and is_rulebook(path):
            raise UsageError.of("would-overwrite", path, output=name, taken="a rulebook")
        if path.is_dir():
            raise UsageError.of("would-overwrite", path, output=name, taken="a folder")
        refuse_leading_out(path)
        if not path.parent.is_dir() and (made is None or path.parent.resolve() != made.resolve()):
            raise UsageError.of("no-folder-for-output", path.parent, output=name)
        taken[path] = f"the file of {name}"


def _database_of(path: Path) -> Path | None:
    return Path(path.address.connection) if isinstance(path, AddressPath) and path.address.is_file else None


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
