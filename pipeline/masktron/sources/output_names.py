"""Names of what is written: in the format of what was read, with the manifest beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from masktron.addresses import AddressPath, is_address
from masktron.config import ReadOptions
from masktron.errors import UsageError
from masktron.files import read_text
from masktron.problems.problem import Setting
from masktron.sources.frame_path import FramePath
from masktron.sources.known_formats import (
    XML,
    format_of_name,
    require_written,
    suffixes_of,
    table_format,
    written_formats,
)
from masktron.sources.other_formats import FOREIGN

_FOREIGN = {**FOREIGN, ".sch": "a rulebook"}


def manifest_beside(out: Path) -> Path:
    """Return where the manifest of a file goes unless somebody says otherwise: ``x.manifest.json`` for ``x.csv``.

    That of a table of a database goes to the folder in which masktron runs.
    """
    if isinstance(out, AddressPath):
        return Path(f"{out.name}.manifest.json")
    return out.with_name(f"{stem_of(out)}.manifest.json")


def described_output(path: Path) -> str | None:
    """Return the output that a manifest describes, the name of a file or an address; None where it is no manifest."""
    try:
        if path.is_file() and not _begins_as_json(path):  # a masked file may be large, and is not read to the end
            return None
        output = json.loads(read_text(path, "manifest"))["output"]["path"]
        return str(output) if is_address(output) else Path(output).name
    except (OSError, UsageError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _begins_as_json(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"")


def numbered(manifest: Path, number: int) -> Path:
    """Return the place where a manifest is kept in the place of which a new one comes: ``m.manifest.1.json``."""
    return manifest.with_name(f"{manifest.stem}.{number}{manifest.suffix}")


def is_numbered(path: Path, manifest: Path) -> bool:
    """Tell whether a path is such a place of a manifest, whatever its number."""
    number = path.stem.removeprefix(f"{manifest.stem}.")
    named = number.isascii() and number.isdigit() and path.name == numbered(manifest, int(number)).name
    return named and path.parent.resolve() == manifest.parent.resolve()


def stem_of(path: Path) -> str:
    """Return the name of a file without what says its format."""
    name = path.name
    ends = (suffix for suffix in suffixes_of(None) if name.lower().endswith(suffix))
    return name[: len(name) - max(map(len, ends), default=0)]


def table_beside(out: Path, level: str, data: Path) -> Path:
    """Return where a further table of a release goes unless somebody says: ``x.Person.csv`` beside ``x.csv``.

    Parameters
    ----------
    out : Path
        Where the table of the data goes.
    level : str
        Name of the level of the other table.
    data : Path
        That table in the original, whose format it has.

    Raises
    ------
    UsageError
        The one goes to a database, and the other one is a file.
    """
    if isinstance(out, AddressPath):
        if not (isinstance(data, AddressPath) and out.address.table):
            raise UsageError.of(
                "needs-setting",
                out,
                name=f"the table of {level}",
                needed="an output",
                setting=f"[levels.{level}] out = ...",
            )
        table = f"{out.address.table}_{level}"
        shown = out.address.shown.removesuffix(out.address.table) + table
        return AddressPath(replace(out.address, table=table, shown=shown))
    ending = out.suffix if isinstance(data, AddressPath) else data.name[len(stem_of(data)) :]
    return out.with_name(f"{stem_of(out)}.{level}{ending}")


def refuse_query(data: Path, reading: ReadOptions) -> None:
    """Refuse to release what a query of a database in a file returns, before anything is computed.

    Raises
    ------
    UsageError
        It would have the name of no table.
    """
    asked = data.address.query if isinstance(data, AddressPath) and data.address.is_file else ""
    if asked or reading.options.get("query"):
        table = "?table=NAME" if asked else Setting("--format-option", ("table=NAME",))
        raise UsageError.of("query-not-written", data, table=table)


def refuse_other_names(out: Path, read: str, data: Path) -> None:
    """Refuse to give a masked file the name of another format than it will have.

    Parameters
    ----------
    out : Path
    read : str
        The format of the original.
    data : Path
        The original.

    Raises
    ------
    UsageError
    """
    if isinstance(data, FramePath):
        _require_format(out)
        return
    writes, found = written_formats(read), format_of_name(out)
    if found in writes or (found is None and read == XML and out.suffix.lower() not in _FOREIGN):
        if read != XML and (why := table_format(read).misnamed(data, out)):
            raise UsageError.of(
                "output-name", out, found=f"another kind of file: {why}", formats=writes, names=(data.name,)
            )
        return
    if found is not None:
        require_written(out, found)
    names: tuple[str, ...] = (data.name,)
    if not isinstance(out, AddressPath):
        ends = [suffix for name in writes for suffix in suffixes_of(name)[:1]]
        names = tuple(out.with_name(out.stem + suffix).name for suffix in ends)
        names = names or ("postgresql://USER@HOST/DB?table=NAME",)
    raise UsageError.of(
        "output-name",
        out,
        found=f"format {found}" if found else _FOREIGN.get(out.suffix.lower(), "no known format"),
        formats=writes,
        names=names,
    )


def _require_format(out: Path) -> None:
    """Refuse a name that does not say in which format a data frame is to be written."""
    if isinstance(out, FramePath) or out.suffix.lower() == ".xml":
        return
    found = format_of_name(out)
    if found is None:
        raise UsageError.of(
            "output-name",
            out,
            found="no known format",
            formats=("parquet", "csv", "xml"),
            names=(f"{out.stem}.parquet", f"{out.stem}.csv", f"{out.stem}.xml"),
        )
    require_written(out, found)
