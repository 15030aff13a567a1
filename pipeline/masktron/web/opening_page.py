"""The page that leads a browser to the server: an address in a process's arguments could be read by every user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

_SNAPS = Path("/snap")


@contextmanager
def opening_page(folder: Path, address: str) -> Iterator[Path]:
    """Write a page, for its owner alone, that leads to an address, and remove it in the end.

    Parameters
    ----------
    folder : Path
        Where it is to be, if browsers can read it there.
    address : str
        With the token.

    Raises
    ------
    OSError
        It cannot be written.
    """
    descriptor, name = tempfile.mkstemp(".html", "masktron-web-", _readable(folder))
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(
                f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>masktron</title>\n'
                f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
                f'<p><a href="{escape(address)}">masktron web</a></p>\n'
            )
        yield path
    finally:
        path.unlink(missing_ok=True)


def _readable(folder: Path) -> Path:
    """Return the folder, or the user's: a browser in a snap sees nothing hidden, and its own /tmp alone."""
    hidden = any(part.startswith(".") for part in folder.parts)
    home = Path.home()
    return home if hidden and _SNAPS.is_dir() and os.access(home, os.W_OK) else folder
