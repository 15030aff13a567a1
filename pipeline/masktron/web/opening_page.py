"""The page that leads a browser to the server, for its owner alone, as long as the server runs.

An address in the arguments of a process could be read by every user of the machine. And a second ``masktron web`` on
the same folder finds the server by this page.
"""

from __future__ import annotations

import hashlib
import os
import re
from html import escape, unescape
from pathlib import Path

from masktron.web.store.disk import write_bytes

_SNAPS = Path("/snap")


class OpeningPage:
    """A page with the address that opens the next browser.

    Parameters
    ----------
    folder : Path
        Of the projects; the page is there, if browsers can read it there.
    """

    def __init__(self, folder: Path) -> None:
        home = Path.home()
        hidden = any(part.startswith(".") for part in folder.parts)
        # a browser in a snap sees nothing hidden, and its own /tmp alone
        if hidden and _SNAPS.is_dir() and os.access(home, os.W_OK):
            self.path = home / f"masktron-web-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}.html"
        else:
            self.path = folder / "open.html"

    def write(self, address: str) -> None:
        """Lead to an address from now on.

        Parameters
        ----------
        address : str
            With the token.

        Raises
        ------
        ResourceError, OSError
            It cannot be written.
        """
        text = (
            f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>masktron</title>\n'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
            f'<p><a href="{escape(address)}">masktron web</a></p>\n'
        )
        write_bytes(self.path, text.encode())

    def address(self) -> str | None:
        """Return the address; None where there is no page, or others could have written or read it."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return None
        with os.fdopen(descriptor, encoding="utf-8") as stream:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                return None
            address = re.search(r'href="([^"]*)"', stream.read())
        return None if address is None else unescape(address[1])

    def remove(self) -> None:
        """Remove it, as the server ends."""
        self.path.unlink(missing_ok=True)
