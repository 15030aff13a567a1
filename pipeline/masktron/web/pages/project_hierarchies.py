"""The hierarchies of a project: a file for each field, beside its rules and settings."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from masktron.errors import UsageError
from masktron.hierarchies import Hierarchy, hierarchy_in, written
from masktron.web.store.disk import bytes_of
from masktron.web.store.kept_files import kept_by_stamp
from masktron.web.store.projects import Project

MOST_BYTES = 2_000_000
"""Of a hierarchy: pages read it whole."""
_LONGEST = 80


def hierarchy_name(field: str) -> str:
    """Return the name of the file with the hierarchy of a field; no two fields have the same."""
    plain = re.sub(r"_x|[^A-Za-z0-9_-]", lambda found: f"_x{ord(found[0][0]):x}_{found[0][1:]}", field)
    if len(plain) > _LONGEST:
        plain = f"{plain[:_LONGEST]}-{hashlib.sha256(field.encode()).hexdigest()[:12]}"
    return f"{plain}.hierarchy.csv"


def hierarchy_of(project: Project, field: str) -> Hierarchy | None:
    """Return the hierarchy of a field; None where it has none, or somebody has written another file there."""
    try:
        return _KEPT(project.folder / hierarchy_name(field))
    except UsageError:
        return None


def text_of_hierarchy(project: Project, field: str) -> bytes:
    """Return the file with the hierarchy of a field as it is; empty where there is none."""
    return bytes_of(project.folder / hierarchy_name(field)) or b""


def checked_hierarchy(content: bytes, field: str, *, header: bool = False) -> bytes:
    """Return a hierarchy as it is kept: what was typed or uploaded, once it has been read.

    Raises
    ------
    UsageError
        It is none; the line is named.
    """
    name = hierarchy_name(field)
    if len(content) > MOST_BYTES:
        raise UsageError.of("wrong-upload", reason=f"the hierarchy has more than {MOST_BYTES // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError.of("not-utf-8", name, file="hierarchy") from error
    return written(hierarchy_in(text, Path(name), field, header=header))


def _read(path: str) -> Hierarchy:
    content = bytes_of(path) or b""
    name = Path(path).name
    try:
        return hierarchy_in(content.decode("utf-8-sig"), Path(name), name.removesuffix(".hierarchy.csv"))
    except UnicodeDecodeError as error:
        raise UsageError.of("not-utf-8", name, file="hierarchy") from error


_KEPT = kept_by_stamp(_read, files=50)
