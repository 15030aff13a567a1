"""Connections: those of one user of this machine are accepted."""

from __future__ import annotations

import logging
import socket
import struct
from contextlib import suppress
from time import monotonic
from typing import Any

from masktron.web.access.answer_headers import HEADERS
from masktron.web.access.peers import OwnPeers

_LOG = logging.getLogger("masktron.web")

MOST_REFUSED = 50
"""Foreign connections that are refused in one go, before the server does its other work."""
MOST_ANSWERED = 20
"""Foreign connections in a second that get an answer and a line in the log; all others are reset."""
_RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which closing a socket keeps no port in use."""

_FOREIGN = (
    "This server is for the user of this machine who has started it, and this connection is another user's, or it "
    "does not show whose it is. Connect as that user, as ssh -L does. A proxy has to connect as the account that "
    "--proxy-account names."
)


class OwnListener(socket.socket):
    """A listening socket that accepts connections of one user of this machine and refuses all others.

    Another user can open connections faster than a server can set them up. So a foreign connection is closed where it
    is accepted: no protocol and no task is made for it, and it counts towards no limit of the user's connections.

    Parameters
    ----------
    family : AddressFamily
    peers : OwnPeers or None
        Recognises the connections of the user; None accepts everybody's.
    """

    def __init__(self, family: socket.AddressFamily, peers: OwnPeers | None) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._peers = peers
        self._second, self._refused = 0.0, 0

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection of the user.

        Raises
        ------
        BlockingIOError
            None is waiting, or many foreign ones are: the event loop does its other work and calls again.
        """
        for _ in range(MOST_REFUSED):
            connection, address = super().accept()
            if self._peers is None or self._peers.admit(address[:2], connection.getsockname()[:2]):
                return connection, address
            with connection, suppress(OSError):  # the other end may have closed it already
                self._refuse(connection)
        raise BlockingIOError

    def _refuse(self, connection: socket.socket) -> None:
        """Answer a foreign connection; where there are many, reset it."""
        if (now := monotonic()) >= self._second + 1.0:
            self._second, self._refused = now, 0
        self._refused += 1
        if self._refused > MOST_ANSWERED:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return
        _LOG.info("a connection refused: not of the user who has started the server")
        connection.setblocking(False)
        connection.send(_forbidden(_FOREIGN))


def _forbidden(text: str) -> bytes:
    headers = {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(text.encode())),
        "connection": "close",
        **HEADERS,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 403 Forbidden\r\n{lines}\r\n{text}".encode()
