"""Names that browsers send with files, made harmless."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path, PurePosixPath

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
