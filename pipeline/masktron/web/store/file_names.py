"""Names that browsers send with files, made harmless; and files of folders that may be picked from."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path, PurePosixPath

from masktron.errors import UsageError

LONGEST = 160
"""Bytes of a name, so that there is room for what temporary files add."""
_REFUSED = re.compile(r"[^\w .,()+=@&%#~'!\[\]{}-]")


def harmless_name(said: str) -> str:
    r"""Return the name under which a file is kept.

    What is left is one name without a folder, without control characters, changes of direction or line ends, neither
    hidden nor like an option, in one form of Unicode, with the suffixes of the original, which say what format it is.

    Parameters
    ----------
    said : str
        As the browser sent it, perhaps with folders of another system: ``C:\\data\\survey.csv``.
    """
    name = unicodedata.normalize("NFC", said).replace("\\", "/").rpartition("/")[2]
    name = _REFUSED.sub("_", name).strip(" .").lstrip("-~. ")
    suffix = "".join(PurePosixPath(name).suffixes[-2:])
    stem = name[: len(name) - len(suffix)] if suffix else name
    while stem and len(f"{stem}{suffix}".encode()) > LONGEST:
        stem = stem[:-1]
    if len(suffix.encode()) > LONGEST:
        stem, suffix = "file", ""
    return f"{stem}{suffix}" if stem.strip() else f"file{suffix}"


def free_name(folder: Path, name: str) -> str:
    """Return a name that no file of a folder has: the same, or with a number before its suffixes."""
    suffix = "".join(PurePosixPath(name).suffixes[-2:])
    stem = name[: len(name) - len(suffix)] if suffix else name
    number, free = 1, name
    while os.path.lexists(folder / free):
        number += 1
        free = f"{stem}-{number}{suffix}"
    return free


def file_in(folder: Path, relative: str) -> Path:
    """Return a file of a folder that may be picked from, itself and not what a link leads to.

    Raises
    ------
    UsageError
        There is no plain file of this name inside: it is absent, hidden, or lies elsewhere by ``..`` or a link.
    """
    found = _inside(folder, relative)
    if found is None or not found.is_file():
        raise UsageError("there is no such file in the folder", hint="pick one from the list")
    return found


def listed(folder: Path, relative: str = "") -> tuple[list[str], list[tuple[str, int]]]:
    """Return the folders, and the files with their sizes, of a folder that may be picked from, without hidden ones.

    Raises
    ------
    UsageError
        There is no such folder inside.
    """
    here = _inside(folder, relative) if relative else folder.resolve()
    if here is None or not here.is_dir():
        raise UsageError("there is no such folder", hint="pick one from the list")
    folders, files = [], []
    with os.scandir(here) as entries:
        for entry in entries:
            if entry.name.startswith(".") or _inside(folder, f"{relative}/{entry.name}".lstrip("/")) is None:
                continue
            if entry.is_dir():
                folders.append(entry.name)
            elif entry.is_file():
                files.append((entry.name, entry.stat().st_size))
    return sorted(folders), sorted(files)


def _inside(folder: Path, relative: str) -> Path | None:
    parts = PurePosixPath(relative).parts
    if not parts or "\0" in relative or any(part.startswith((".", "/")) for part in parts):
        return None
    root = folder.resolve()
    try:
        found = (root / relative).resolve(strict=True)
    except OSError:
        return None
    return found if found.is_relative_to(root) else None
